"""How moves, proposals, spaces and forecasts are written, the same in every command.

How a forecast of throughput and latency is written, the same on every surface: commands, JSON, report.

Writes the names that an engine may give to one thing without a statement for each of them, and loses none.
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
    DIGEST_SHOWN,
    Proposal,
    ProposedMove,
    WorkForecast,
    in_words,
)
from agent.model.states import MoveState
from agent.model.summary import summary_of
from agent.model.units_of_measure import format_when
from agent.terminal.output import Output
from connectors.model.formatting import (
    comment,
    commented,
    format_rate,
    format_seconds,
    is_plain,
    with_semicolon,
    written,
)
from connectors.model.moves import ByHand, Route, Step
from connectors.model.new_space import makes_or_drops_space


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
    lines += [written(with_semicolon(setting)) for setting in route.prologue]
    if route.patient_prologue:
        lines.append(comment("instead of these, where all that is in the way gives way within that time:"))
        lines += commented(map(with_semicolon, route.patient_prologue))
    for step in route.steps:
        lines += [comment(step.purpose), written(with_semicolon(step.sql))]
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


def with_other_names(step: Step) -> list[str]:
    """The statements of a step; names that one of them may have instead stand behind it."""
    found = other_names_of(step)
    first, *others = found.statements
    return [f"{first} -- or, in place of this name, {found.text}" if found.names else first, *others]


def _as_comments(purpose: str, statements: Iterable[str]) -> list[str]:
    """Statements that who runs the script does not run, below what they are for."""
    return [comment(purpose), *commented(map(with_semicolon, statements))]


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


def plan_shown(proposal: Proposal, moves: Sequence[ProposedMove] | None = None, number: int | None = None) -> PlanShown:
    """A plan's value and moves as an answer has them.

    Args:
        proposal: the plan.
        moves: those that would run; None: all.
        number: of the proposal; None: it is not stored.
    """
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
        summary=summary_of(proposal, proposal.moves if moves is None else moves, number),
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
        statements=answer.statements, because=answer.because, run_with=answer.run_with or None,
        before=(*answer.opening, *answer.before), after=answer.after, undo=answer.undo,
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
