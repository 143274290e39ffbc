"""How moves, proposals and spaces are written, the same in every command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import asdict
from datetime import datetime
from typing import Protocol

from agent.answers.kind import extend
from agent.answers.outcomes import OutcomeShown, StatementCompared, StatementsCompared
from agent.answers.plans import (
    CleanUpShown,
    CostOfMove,
    IfInterrupted,
    PlannedMove,
    PlanShown,
    RouteShown,
    StatementShown,
)
from agent.model.outcomes import Outcome
from agent.model.proposals import CLOSE, CONTAINER, DIGEST_SHOWN, ROLLING, SPLIT, Proposal, ProposedMove
from agent.model.purposes import in_words
from agent.model.statements import ComparedStatements
from agent.model.states import MoveState
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.terminal.throughput import forecast_facts, forecast_shown
from agent.terminal.variants import OtherNames, other_names_of
from connectors.formatting import exact_bytes, format_bytes, format_ratio, format_seconds, format_sessions, format_wait
from connectors.move_effects import Locked
from connectors.route import Route, Step
from connectors.scripts import comment, commented, written
from policies.model.moves import MoveReason, missed_wait_ratio

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

    >>> state_text(MoveState.UNDO_PROPOSED), state_text(MoveState.KEPT)
    ('placed, undo proposed', 'kept')
    """
    return "placed, undo proposed" if state is MoveState.UNDO_PROPOSED else str(state.value)


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
    return f"{format_ratio(ratio)} of session time is foreground I/O; nothing gains more"


def print_moves(out: Output, moves: Sequence[ProposedMove]) -> None:
    """The moves in the order they would run, then what each blocks."""
    out.table(MOVE_COLUMNS, [_move_cells(move) for move in moves])
    for move in moves:
        out.sentence(f"{move.ordinal}. {move.sentence}")
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
    return f"{who} stand still for about {format_seconds(move.copy_seconds)}{waits if move.route.lock_seconds else ''}"


def move_sql(move: ProposedMove, *, in_full: bool = False) -> str:
    """The statements of one move as a script: comments say what each is for, everything else is sent as it stands.

    Statements that only an interrupted attempt needs are comments: who runs the script must not run them. So are those
    with a name in them that would break a line or steer a terminal (``connectors.scripts``).

    Args:
        move: as it was proposed.
        in_full: write each of those out, even where only the name differs that the engine gives to what is left over.
    """
    route = move.route
    lines = [comment(f"move {move.ordinal}: {move.what} from {move.from_space} to {move.to_space}")]
    lines += [written(_with_semicolon(setting)) for setting in route.prologue]
    if route.patient_prologue:
        lines.append(comment("instead of these, where only background work that gives way is in the way:"))
        lines += commented(map(_with_semicolon, route.patient_prologue))
    for step in route.steps:
        lines += [comment(step.purpose), written(_with_semicolon(step.sql))]
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
    return [comment(purpose), *commented(map(_with_semicolon, statements))]


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
        stall_seconds=move.stall_seconds,
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
        statements=_statements(route.steps),
        undo=_statements(route.undo_steps),
        if_interrupted=if_interrupted(route),
    )


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
        "online" if move.route.online else "blocks",
    )


_NO_PAYBACK: dict[str, str] = {
    MoveReason.MAKE_ROOM: "makes room", MoveReason.PIN: "pinned", MoveReason.CLEAR: "clears",
    MoveReason.LEVEL: "evens out", MoveReason.DRAIN: "empties", MoveReason.GROWTH: "lets others grow",
    CONTAINER: "empties", ROLLING: "by the calendar", SPLIT: "splits", CLOSE: "closes",
}  # fmt: skip


def _payback(move: ProposedMove) -> str:
    """When the move has earned its cost; for what need not, what it is for."""
    if move.payback_seconds is None:
        return _NO_PAYBACK.get(move.reason, "none")
    return format_seconds(move.payback_seconds)


def _with_semicolon(sql: str) -> str:
    text = sql.rstrip()
    return text if text.endswith(";") else f"{text};"


def outcome_shown(outcome: Outcome) -> OutcomeShown:
    """What was measured and what was predicted of it."""
    found = outcome.statements
    return extend(OutcomeShown, outcome, statements=None if found is None else _statements_compared(found))


def _statements_compared(found: ComparedStatements) -> StatementsCompared:
    lists = {
        name: tuple(extend(StatementCompared, each) for each in changes)
        for name, changes in (("slower", found.slower), ("faster", found.faster))
    }
    return extend(StatementsCompared, found, **lists)
