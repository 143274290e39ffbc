"""How moves, proposals, spaces and forecasts are written, the same in every command.

How a forecast of throughput and latency is written, the same on every surface: commands, JSON, report.

Writes the names that an engine may give to one thing without a statement for each of them, and loses none.

What matters of a proposal, in a few lines: read before its details, and again before the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from typing import Protocol

from agent.model.answers.kind import extend
from agent.model.answers.outcomes import OutcomeShown, StatementCompared, StatementsCompared
from agent.model.answers.plans import (
    CleanUpShown,
    CostOfMove,
    ForecastShown,
    IfInterrupted,
    PlannedMove,
    PlanShown,
    RouteShown,
    StatementShown,
    WorkByHand,
)
from agent.model.outcomes import ComparedStatements, Outcome
from agent.model.proposals import (
    CLOSE_PART,
    CONTAINER,
    DIGEST_SHOWN,
    ROLLING,
    SPACE,
    SPLIT,
    Proposal,
    ProposedMove,
    WorkForecast,
    in_words,
)
from agent.model.states import MoveState
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.output import Output
from connectors.model.formatting import (
    comment,
    commented,
    exact_bytes,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
    is_plain,
    terminated,
    written,
)
from connectors.model.moves import ByHand, Locked, Route, Step
from connectors.model.new_space import makes_or_drops_space
from policies.model.moves import MoveReason, missed_wait_ratio


def forecast_facts(forecast: WorkForecast | None) -> list[tuple[str, str]]:
    """Throughput and latency as measured and as forecast, or why they are not; no line where nothing is known of it."""
    if forecast is None:
        return []
    now, then = forecast.per_second_now, forecast.per_second
    title = f"{forecast.work}/s"
    measured = "not known" if now is None else format_rate(now)
    if then is None or forecast.per_second_low is None or forecast.per_second_high is None:
        return [(title, f"{measured} now; not forecast: {forecast.why_not}")]
    ends = f"between {format_rate(forecast.per_second_low)} and {format_rate(forecast.per_second_high)}"
    asks = "" if forecast.load else "if clients ask as soon as they are answered: "
    more = (("then busiest", forecast.busiest), ("then needed", "; ".join(forecast.needs)),
            ("another limit", forecast.limit), ("interval wider", "; ".join(forecast.assumed)),
            ("not modelled", ", ".join(forecast.unmodelled)))  # fmt: skip
    return [
        (title, f"{measured} now; {asks}{format_rate(then)} forecast, {ends}"),
        *_latency(forecast),
        *_open(forecast, measured),
        *(fact for fact in more if fact[1]),
    ]


def _latency(forecast: WorkForecast) -> list[tuple[str, str]]:
    """What a session spends on one transaction; the ends of the interval where they are known."""
    figures = (forecast.latency_now, forecast.latency, forecast.latency_low, forecast.latency_high)
    known = [format_seconds(figure) for figure in figures if figure is not None]
    if len(known) < len(figures):
        return []
    return [("latency", "{} now, {} forecast, between {} and {}".format(*known))]


def _open(forecast: WorkForecast, measured: str) -> list[tuple[str, str]]:
    """The other answer, as long as it is not known whether clients wait for answers before they ask again."""
    if forecast.load or forecast.latency_now is None or forecast.latency_open is None:
        return []
    latency = f"latency {format_seconds(forecast.latency_now)} becomes {format_seconds(forecast.latency_open)}"
    return [("if work arrives by itself", f"{measured} {forecast.work}/s as now, {latency}")]


def forecast_shown(forecast: WorkForecast | None) -> ForecastShown | None:
    """Throughput and latency as measured and as forecast; None where it was stored without."""
    if forecast is None:
        return None
    return ForecastShown(
        work=forecast.work,
        why_not=forecast.why_not or None,
        limit=forecast.limit or None,
        load=forecast.load or None,
        busiest=forecast.busiest or None,
        needs=forecast.needs,
        assumed=forecast.assumed,
        unmodelled=forecast.unmodelled,
        certainty_ratio=forecast.certainty,
        per_second_now=forecast.per_second_now,
        per_second=forecast.per_second,
        per_second_low=forecast.per_second_low,
        per_second_high=forecast.per_second_high,
        latency_now_seconds=forecast.latency_now,
        latency_seconds=forecast.latency,
        latency_low_seconds=forecast.latency_low,
        latency_high_seconds=forecast.latency_high,
        latency_open_seconds=forecast.latency_open,
        read_wait_per_transaction_seconds=forecast.read_wait,
    )


_TOKENS = re.compile(r'"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*(?:\]|\Z)|[^\s"\[.]+|.', re.DOTALL)  # of any engine's
_NUMBERED = re.compile(r"(.*?)(?<!\d)(\d++)(\D*+)", re.ASCII)  # around the last number
FEWEST = 3  # names that are written by their first and last


@dataclass(frozen=True, slots=True)
class OtherNames:
    """A step and, where each of its variants differs from it in one token only, those tokens.

    Attributes:
        statements: that are written in full: the step's own, and each variant that differs in more than a name.
        names: of the variants that take the place of one token of the step's own statement; a run of names that count
            upwards is its first and its last, each name a pair of the two.
    """

    statements: tuple[str, ...]
    names: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """``"x_ccnew1" to "x_ccnew9"``, "" where there are no other names."""
        return ", ".join(first if first == last else f"{first} to {last}" for first, last in self.names)


def other_names_of(step: Step) -> OtherNames:
    """The step's statements as one, and the names that differ in the others.

    >>> others = tuple(f'DROP INDEX "b_c{n}"' for n in "123")
    >>> step = Step(sql='DROP INDEX "b_c"', purpose="tidy", variants=others)
    >>> other_names_of(step).statements, other_names_of(step).text
    (('DROP INDEX "b_c"',), '"b_c1" to "b_c3"')
    """
    if not all(sql.isprintable() for sql in step.statements):
        return OtherNames(step.statements, ())  # a name over two lines could end the line that lists it
    own = _TOKENS.findall(step.sql)
    found = [(sql, _place_that_differs(own, _TOKENS.findall(sql))) for sql in step.variants]
    places = {place for _, place in found if place is not None}
    if len(places) != 1:  # none, or more than one name: a list would not say which is which
        return OtherNames(step.statements, ())
    (place,) = places
    named = [sql for sql, at in found if at is not None]
    others = tuple(sql for sql, at in found if at is None)
    names = [_TOKENS.findall(sql)[place] for sql in named]
    return OtherNames((step.sql, *others), tuple(_runs(names)))


def _place_that_differs(own: Sequence[str], other: Sequence[str]) -> int | None:
    """Which token is another one; None: none, several, or there are more of them or fewer."""
    if len(own) != len(other):
        return None
    places = [at for at, (one, two) in enumerate(zip(own, other, strict=True)) if one != two]
    return places[0] if len(places) == 1 else None


def _runs(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """First and last of each run of names that count upwards by one; shorter runs name by name."""
    begins = [0, *(at for at, (one, two) in enumerate(pairwise(names), start=1) if not _follows(one, two)), len(names)]
    for begin, end in pairwise(begins):
        if end - begin < FEWEST:
            yield from ((name, name) for name in names[begin:end])
        else:
            yield names[begin], names[end - 1]


def _follows(one: str, two: str) -> bool:
    """Whether the second is the first with its last number counted up by one; none is written with zeros in front."""
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(two)
    if first is None or second is None or first[1] != second[1] or first[3] != second[3]:
        return False
    number = int(first[2])
    return (first[2], second[2]) == (str(number), str(number + 1))


_COSTS = "log_seconds", "blocked_seconds", "follow_up_seconds"  # in addition to copying
MOVE_COLUMNS = (
    Column("#", number=True), Column("unit", name=True), Column("from", leaves=1), Column("to"),
    Column("size", number=True), Column("saves", number=True), Column("copy", number=True, leaves=2),
    Column("payback", number=True, leaves=3), Column("meanwhile"),
)  # fmt: skip


def count_of_moves(moves: Sized) -> str:
    """``1 move`` or ``8 moves``."""
    count = len(moves)
    return f"{count} move{'' if count == 1 else 's'}"


class Proposed(Protocol):
    """What lists say of a proposal, stored or in an answer."""

    @property
    def purpose(self) -> str: ...  # noqa: D102
    @property
    def asked_by(self) -> str | None: ...  # noqa: D102
    @property
    def expires_at(self) -> datetime: ...  # noqa: D102


def question(proposal: Proposed) -> str:
    """What it is for and who wants it: ``drain old_ssd, asked by ann``."""
    words = in_words(proposal.purpose)
    return f"{words}, asked by {proposal.asked_by}" if proposal.asked_by else words


def short_digest(digest: str) -> str:
    """What lists show of a digest, and what --digest takes at least."""
    return digest[:DIGEST_SHOWN]


def state_text(state: MoveState) -> str:
    """The state of a move for people: where its undo is proposed, that it was placed as well.

    >>> state_text(MoveState.UNDO_PROPOSED), state_text(MoveState.HANDED_OVER)
    ('placed, undo proposed', 'handed over')
    """
    return "placed, undo proposed" if state is MoveState.UNDO_PROPOSED else state.words


def print_value(out: Output, proposal: Proposal) -> None:
    """The expected gain of the proposal; with the best possible and the ceiling if it was planned for gain."""
    size, forecast = proposal.bytes_moved, forecast_facts(proposal.forecast)
    moves = ("moves", f"{len(proposal.moves)}, {format_bytes(size)} ({exact_bytes(size)})")
    if not proposal.wait_per_hour and not proposal.bound_per_hour:  # an undo has no comparison; or no session waits
        out.facts([moves, saving(proposal), *forecast])
        return
    out.facts(
        [
            moves,
            ("read wait now", format_wait(proposal.wait_per_hour)),
            saving(proposal),
            *_share(proposal),
            *_relief(proposal),
            *forecast,
            ("best possible", f"{format_wait(proposal.bound_per_hour)}, {_missed(proposal)}"),
            ("ceiling", _ceiling(proposal.ceiling_ratio)),
        ]
    )


def _missed(proposal: Proposal) -> str:
    """What the best possible plan might save beyond this one, as a share of all wait."""
    missed = missed_wait_ratio(proposal.wait_per_hour, proposal.bound_per_hour, proposal.wait_saved_per_hour)
    return f"{format_ratio(missed)} of the read wait beyond this" if missed >= 1e-5 else "which this is"


def saving(proposal: Proposal) -> tuple[str, str]:
    """What is expected, with the interval in which the outcome should lie, after its name: saved, or what it costs."""
    means, low, high = proposal.wait_saved_per_hour, proposal.wait_saved_low_per_hour, proposal.wait_saved_high_per_hour
    if means < 0:
        undone = ", as much as the moves that it takes back were predicted to save" if proposal.is_undo else ""
        return "costs", f"{format_wait(-means)}{_between(high, low, -1)}{undone}"
    return "saved", f"{format_wait(means)}{_between(low, high, 1)}"


def _between(low: float | None, high: float | None, sign: int) -> str:
    """Both ends of an interval, where they are known."""
    if low is None or high is None:
        return ""
    return f", between {format_sessions(sign * low)} and {format_sessions(sign * high)}"


def _share(proposal: Proposal) -> list[tuple[str, str]]:
    """The share of all wait that is saved, with its interval: what the outcome will be held against."""
    low, high = proposal.saved_ratio_low, proposal.saved_ratio_high
    if low is None or high is None or not proposal.wait_per_hour:
        return []
    mean = format_ratio(proposal.wait_saved_per_hour / proposal.wait_per_hour)
    return [("of the read wait", f"{mean}, between {format_ratio(max(0.0, low))} and {format_ratio(high)}")]


def _relief(proposal: Proposal) -> list[tuple[str, str]]:
    """The effect of shorter or longer queues on units that stay; no line where it is negligible."""
    seconds = proposal.relief_per_hour or 0.0
    if abs(seconds) < 1.0:
        return []
    if seconds < 0:
        return [("queues", f"what is on faster storage already may cost {format_wait(-seconds)} more")]
    return [("queues", f"what stays may be spared another {format_wait(seconds)}, if no more work comes")]


def _ceiling(ratio: float | None) -> str:
    """The ceiling by Amdahl's law."""
    if ratio is None:
        return "not known: the engine does not tell how long sessions execute"
    return f"{format_ratio(ratio)} of session time is foreground I/O; commits and other waits may get shorter too"


def print_moves(out: Output, moves: Sequence[ProposedMove]) -> None:
    """The moves in the order they would run, then what each blocks."""
    out.table(MOVE_COLUMNS, [_move_cells(move) for move in moves])
    for move in moves:
        out.sentence(f"{move.ordinal}. {move.sentence}")
        if move.route.by_hand is not None:
            out.sentence(f"   by hand: {move.route.by_hand.because}")
        if move.expected_bytes is not None:
            out.sentence(f"   grows: {_growth(move)}")
        out.sentence(f"   locks: {move.route.locks}")
        if move.stall_seconds:
            out.sentence(f"   stall: {_stall(move)}")
        for line in (*_extra_costs(move), *_if_interrupted(move.route), *_goes_back(move)):
            out.sentence(f"   {line}")
        for note in move.route.notes:
            out.sentence(f"   note: {note}")


def _growth(move: ProposedMove) -> str:
    """How large it is expected to be once it is moved, and up to which size the approval holds."""
    now, then, most = (format_bytes(size or 0) for size in (move.size_bytes, move.expected_bytes, move.largest_bytes))
    return f"{now} now, {then} expected when the approval ends; larger than {most} it is not moved"


def _extra_costs(move: ProposedMove) -> list[str]:
    """Log and follow-up work of a move, and their estimated cost to sessions."""
    route, cost = move.route, move.cost
    lines = [f"log: about {format_bytes(route.log_bytes)} ({route.log_volume})"]
    for work in route.follow_up:
        took = "duration unknown" if work.seconds is None else f"about {format_seconds(work.seconds)}"
        lines.append(f"afterwards: {work.what} ({took})")
    if cost is not None and cost.seconds > 0:
        lines.append(
            f"in addition to copying it costs sessions about {format_seconds(cost.seconds)}: "
            f"{format_seconds(cost.log_seconds)} of log, {format_seconds(cost.blocked_seconds)} of locks, "
            f"{format_seconds(cost.follow_up_seconds)} afterwards (estimated)"
        )
    return lines


def _if_interrupted(route: Route) -> list[str]:
    """How many statements may follow an interrupted attempt, what they lock and copy; the statements are in the SQL."""
    if not route.tidy_steps:
        return []
    count = len(route.tidy_steps)
    more = f"at most {count} more statement{'' if count == 1 else 's'}"
    copies = f", which copy at most {format_bytes(route.tidy_bytes)}" if route.tidy_bytes else ""
    return [
        f"only if an attempt is interrupted: {more}{copies}",
        *([f"   locks: {route.tidy_locks}"] if route.tidy_locks else []),
    ]


def _goes_back(move: ProposedMove) -> list[str]:
    """What is approved with a move of a group for the case that the group cannot be completed."""
    if not move.goes_back:
        return []
    takes = f"it takes about {format_seconds(move.copy_seconds)} and counts for windows and limits"
    return [f"only if its group cannot be completed: it goes back to {move.from_space}, approved with it; {takes}"]


def print_statements(out: Output, moves: Sequence[ProposedMove], *, in_full: bool = False) -> None:
    """The exact statements of the moves, those that only an interrupted attempt needs included (``move_sql``)."""
    out.heading("the exact statements")
    for move in moves:
        print_script(out, move_sql(move, in_full=in_full))
    after = dict.fromkeys(line for move in moves if move.route.by_hand for line in move.route.by_hand.after)
    if last := [line for line in after if not line.startswith(comment(""))]:  # the file of --script says more
        print_script(out, "\n".join([comment("last, once for all moves by hand"), *map(written, last)]))


def print_script(out: Output, script: str) -> None:
    """The lines of a script as they are; there is no other line in it than those that its writer began."""
    for line in script.rstrip("\n").split("\n"):
        out.line(line)


def _stall(move: ProposedMove) -> str:
    """Whom its lock keeps out for how long, in seconds."""
    who = "sessions that write to it" if move.route.locked is Locked.WRITES else "sessions that use it"
    if move.route.locked is Locked.BRIEFLY:
        return f"{who} stand still for {format_seconds(move.route.lock_seconds)} at most"
    waits = f", and {format_seconds(move.route.lock_seconds)} at most before while it waits for its lock"
    still, between = format_seconds(move.stall_seconds or 0.0), move.stall_interval_seconds
    ends = "" if between is None else f" ({format_seconds(between[0])} to {format_seconds(between[1])})"
    return f"{who} stand still for about {still}{ends}{waits if move.route.lock_seconds else ''}"


BY_A_PERSON = "by hand: hotplace sends none of it"


def move_sql(move: ProposedMove, *, in_full: bool = False) -> str:
    """The statements of one move as a script: comments say what each is for, everything else is sent as it stands.

    Statements that only an interrupted attempt needs are comments: who runs the script must not run them. So are those
    with a name in them that would break a line or steer a terminal (``connectors.model.formatting``).

    Args:
        move: as it was proposed.
        in_full: write each of those out, even where only the name differs that the engine gives to what is left over.
    """
    route = move.route
    way = "" if makes_or_drops_space(move.route) else f" from {move.from_space} to {move.to_space}"
    lines = [comment(f"move {move.ordinal}: {move.what}{way}")]
    if route.by_hand is not None:
        said = route.by_hand.statements
        whole = map(written, said) if all(map(is_plain, said)) else commented(said)
        return "\n".join([*lines, comment(BY_A_PERSON), *whole]) + "\n"
    lines += [written(terminated(setting)) for setting in route.prologue]
    if route.patient_prologue:
        lines.append(comment("instead of these, where only background work that gives way is in the way:"))
        lines += commented(map(terminated, route.patient_prologue))
    for step in route.steps:
        lines += [comment(step.purpose), written(terminated(step.sql))]
    if move.goes_back:
        lines.append(comment("only if its group cannot be completed, to take it back:"))
        lines += [line for step in route.undo_steps for line in _as_comments(step.purpose, [step.sql])]
    if route.tidy_steps:
        lines.append(comment("only if an attempt is interrupted, and only those of them that it made necessary:"))
        lines += [line for step in route.tidy_steps for line in _tidying(step, in_full=in_full)]
    return "\n".join(lines) + "\n"


def _tidying(step: Step, *, in_full: bool) -> list[str]:
    """What removes a leftover, as comments; ``in_full``: with every name that it may have."""
    found = OtherNames(step.statements, ()) if in_full else other_names_of(step)
    lines = _as_comments(step.purpose, found.statements)
    if found.names:
        lines[-len(found.statements)] += f" -- or, in place of this name, {found.text}"
    return lines


def _as_comments(purpose: str, statements: Iterable[str]) -> list[str]:
    """Statements that who runs the script does not run, below what they are for."""
    return [comment(purpose), *commented(map(terminated, statements))]


def _end(interval: tuple[float, float] | None, at: int) -> float | None:
    return None if interval is None else interval[at]


def planned_move(move: ProposedMove) -> PlannedMove:
    """One move as an answer has it."""
    return extend(
        PlannedMove,
        route_shown(move.route),
        ordinal=move.ordinal,
        unit=move.key,
        units=tuple(move.route.bundle.unit_keys),
        as_a_whole=move.route.bundle.wide or None,
        bytes=move.size_bytes,
        expected_bytes=move.expected_bytes,
        largest_bytes=move.largest_bytes,
        from_space=move.from_space,
        to_space=move.to_space,
        from_tier=move.from_tier,
        to_tier=move.to_tier,
        reason=move.reason,
        group=move.group,
        goes_back_with_group=move.goes_back,
        why=move.sentence,
        wait_saved_per_hour_seconds=move.wait_saved_per_hour,
        copy_seconds=move.copy_seconds,
        payback_seconds=move.payback_seconds,
        copy_low_seconds=_end(move.copy_interval_seconds, 0),
        copy_high_seconds=_end(move.copy_interval_seconds, 1),
        stall_seconds=move.stall_seconds,
        stall_low_seconds=_end(move.stall_interval_seconds, 0),
        stall_high_seconds=_end(move.stall_interval_seconds, 1),
        cost_seconds=None if move.cost is None else CostOfMove(**{name: getattr(move.cost, name) for name in _COSTS}),
    )


def plan_shown(proposal: Proposal) -> PlanShown:
    """A plan's value and moves as an answer has them."""
    return PlanShown(
        created_at=proposal.created_at,
        expires_at=proposal.expires_at,
        bytes=proposal.bytes_moved,
        wait_per_hour_seconds=proposal.wait_per_hour,
        wait_saved_per_hour_seconds=proposal.wait_saved_per_hour,
        wait_saved_low_per_hour_seconds=proposal.wait_saved_low_per_hour,
        wait_saved_high_per_hour_seconds=proposal.wait_saved_high_per_hour,
        saved_ratio_low=proposal.saved_ratio_low,
        saved_ratio_high=proposal.saved_ratio_high,
        relief_per_hour_seconds=proposal.relief_per_hour,
        bound_per_hour_seconds=proposal.bound_per_hour,
        gap_ratio=proposal.gap_ratio,
        ceiling_ratio=proposal.ceiling_ratio,
        forecast=forecast_shown(proposal.forecast),
        moves=tuple(planned_move(move) for move in proposal.moves),
    )


def expiry(proposal: Proposed) -> str:
    """When it can no longer be approved."""
    return f"expires {format_when(proposal.expires_at)}"


def route_shown(route: Route) -> RouteShown:
    """How a unit moves, as an answer has it."""
    return RouteShown(
        route=route.name,
        online=route.online,
        locks=route.locks,
        locked=route.locked,
        lock_seconds=route.lock_seconds,
        log_bytes=route.log_bytes,
        log_volume=route.log_volume,
        follow_up=tuple(asdict(work) for work in route.follow_up),
        keeps=tuple(asdict(kept) for kept in route.keeps),
        transient_bytes=route.transient_bytes,
        stays_bytes=route.stays_bytes,
        notes=tuple(route.notes),
        prologue=tuple(route.prologue),
        patient_prologue=tuple(route.patient_prologue),
        statements=_statements(() if route.by_hand else route.steps),
        undo=_statements(() if route.by_hand else route.undo_steps),
        if_interrupted=if_interrupted(route),
        by_hand=work_by_hand(route.by_hand),
    )


def work_by_hand(answer: object) -> WorkByHand | None:
    """What a person has to do, where that is the answer."""
    if not isinstance(answer, ByHand):
        return None
    return WorkByHand(
        statements=answer.statements, because=answer.because, run_with=answer.run_with or None, before=answer.before,
        after=answer.after, undo=answer.undo,
    )  # fmt: skip


def _statements(steps: Iterable[Step]) -> tuple[StatementShown, ...]:
    return tuple(StatementShown(sql=step.sql, purpose=step.purpose) for step in steps)


def if_interrupted(route: Route) -> IfInterrupted:
    """What may follow an interrupted attempt."""
    return IfInterrupted(
        statements=tuple(
            CleanUpShown(sql=step.sql, variants=tuple(step.variants), purpose=step.purpose) for step in route.tidy_steps
        ),
        locks=route.tidy_locks or None,
        bytes=route.tidy_bytes,
    )


def _move_cells(move: ProposedMove) -> tuple[str, ...]:
    return (
        str(move.ordinal),
        move.what,
        f"{move.from_space} ({move.from_tier})",
        f"{move.to_space} ({move.to_tier})",
        format_bytes(move.size_bytes),
        format_sessions(move.wait_saved_per_hour),
        format_seconds(move.copy_seconds),
        _payback(move),
        "by hand" if move.by_hand else "online" if move.route.online else "blocks",
    )


_NO_PAYBACK: dict[str, str] = {
    MoveReason.MAKE_ROOM: "makes room", MoveReason.PIN: "pinned", MoveReason.CLEAR: "clears",
    MoveReason.LEVEL: "evens out", MoveReason.DRAIN: "empties", MoveReason.GROWTH: "lets others grow",
    CONTAINER: "empties", ROLLING: "by the calendar", SPLIT: "splits", CLOSE_PART: "closes", SPACE: "makes a space",
}  # fmt: skip


def _payback(move: ProposedMove) -> str:
    """When the move has earned its cost; for what need not, what it is for."""
    if move.payback_seconds is None:
        return _NO_PAYBACK.get(move.reason, "none")
    return format_seconds(move.payback_seconds)


def outcome_shown(outcome: Outcome) -> OutcomeShown:
    """What was measured and what was predicted of it."""
    found = outcome.statements
    return extend(OutcomeShown, outcome, statements=None if found is None else _statements_compared(found))


def _statements_compared(found: ComparedStatements) -> StatementsCompared:
    lists = {
        name: tuple(extend(StatementCompared, each) for each in changes)
        for name, changes in (("slower", found.slower), ("faster", found.faster), ("grown", found.grown))
    }
    return extend(StatementsCompared, found, **lists)


NO_LOCK = "none: sessions read and write all the while"


def essentials(number: int, proposal: Proposal, moves: Sequence[ProposedMove]) -> list[tuple[str, str]]:
    """Names and values.

    Args:
        number: of the proposal.
        proposal: what was expected of all of it.
        moves: those that would run.
    """
    size = sum(move.size_bytes for move in moves)
    lines = [
        ("would run", f"{_count(moves, len(proposal.moves))}, {format_bytes(size)} ({exact_bytes(size)})"),
        saving(proposal),
        *_by_hand(moves),
        ("longest stop", _longest_stop(moves)),
        ("longest wait", _longest_wait(moves)),
    ]
    if not proposal.is_undo:
        lines.append(("way back", f"hotplace undo --proposal {number} proposes it, at any time after the moves"))
    return lines


def _by_hand(moves: Sequence[ProposedMove]) -> list[tuple[str, str]]:
    """How many of them a person carries out; no line where it is none."""
    hands = [move for move in moves if move.by_hand]
    return [("by hand", f"{count_of_moves(hands)}, by a person; hotplace sends no statement of it")] if hands else []


def _count(moves: Sequence[ProposedMove], proposed: int) -> str:
    return count_of_moves(moves) + ("" if len(moves) == proposed else f" of {proposed}")


def _longest_stop(moves: Sequence[ProposedMove]) -> str:
    """The move that keeps sessions out the longest."""
    stops = [move for move in moves if move.stall_seconds]
    if not stops:
        return NO_LOCK
    worst = max(stops, key=lambda move: move.stall_seconds or 0.0)
    whom = "writes to" if worst.route.locked is Locked.WRITES else "all use of"
    return f"about {format_seconds(worst.stall_seconds or 0.0)} without {whom} {worst.what}{_others(len(stops) - 1)}"


def _others(count: int) -> str:
    return f"; {count} more {'stops' if count == 1 else 'stop'} sessions for less" if count else ""


def _longest_wait(moves: Sequence[ProposedMove]) -> str:
    """The move behind which others may queue the longest while it waits for its lock."""
    worst = max(moves, key=lambda move: move.route.lock_seconds, default=None)
    if worst is None or not worst.route.lock_seconds:
        return "no move makes others queue for a lock"
    return f"{worst.what} may make others queue {format_seconds(worst.route.lock_seconds)} for its lock"
