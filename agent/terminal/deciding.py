"""What a person reads before a decision: the summary of a proposal, its moves, and then what else there is to know.

A sentence that holds for several moves is written once, with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.ledger.rows import MoveRow
from agent.model.proposals import CLOSE_PART, CONTAINER, ROLLING, SPACE, SPLIT, Proposal, ProposedMove
from agent.model.states import WITHDRAWN
from agent.model.summary import lock_text, summary_of
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.terminal.wording import forecast_facts
from connectors.model.formatting import (
    exact_bytes,
    format_bytes,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from connectors.model.moves import Route
from policies.model.moves import MoveReason, missed_wait_ratio

MOVE_COLUMNS = (
    Column("#", number=True), Column("unit", name=True), Column("from", leaves=1), Column("to"),
    Column("size", number=True), Column("saves", number=True), Column("copy", number=True), Column("locked"),
    Column("payback", number=True, leaves=3), Column("meanwhile", leaves=2),
)  # fmt: skip
IN_THE_SUMMARY = frozenset({"latency", "interval wider"})  # facts of a forecast that it has said


def would_run(moves: Sequence[MoveRow]) -> list[ProposedMove]:
    """The moves that an approval is about: those that are not withdrawn; all of them where each is."""
    left = [move.move for move in moves if move.state not in WITHDRAWN]
    return left or [move.move for move in moves]


def print_summary(out: Output, proposal: Proposal, moves: Sequence[ProposedMove], number: int | None = None) -> None:
    """The lines of the summary, and a line for each move; arguments as of ``summary_of``."""
    print_lines(out, proposal, moves, number)
    out.table(MOVE_COLUMNS, [_move_cells(move) for move in moves])


def print_lines(out: Output, proposal: Proposal, moves: Sequence[ProposedMove], number: int | None = None) -> None:
    """The lines alone: again before a question, where the first ones have left the screen."""
    out.facts([(line.name, line.text) for line in summary_of(proposal, moves, number).lines])


def print_details(out: Output, proposal: Proposal, moves: Sequence[ProposedMove]) -> None:
    """What the summary leaves out: why each move, what holds of its route, and how good the plan is."""
    out.heading("in detail")
    print_notes(out, moves)
    out.facts([("to the byte", exact_bytes(sum(move.size_bytes for move in moves))), *_worth(proposal)])


def print_notes(out: Output, moves: Sequence[ProposedMove]) -> None:
    """Why each move; then what else there is to say of them, each sentence once."""
    for move in moves:
        out.sentence(f"{move.ordinal}. {move.sentence}")
    for about, text in said_once("move", ((move.ordinal, text) for move in moves for text in _notes(move))):
        out.sentence(f"{about}: {text}")
    if costs := _costs(moves):
        out.sentence(costs)


def said_once(what: str, said: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    """Sentences in their order with the proposals or moves that they are about: ``("moves 1 and 2", "...")``."""
    about: dict[str, list[int]] = {}
    for number, text in said:
        about.setdefault(text, []).append(number)
    return [(join_numbers(what, numbers), text) for text, numbers in about.items()]


def join_numbers(what: str, numbers: Sequence[int]) -> str:
    """Numbers of something for people, in rising order: ``move 3``, ``moves 3, 4 and 7``, ``moves 1 to 8``."""
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{what}s {numbers[0]} to {numbers[-1]}"
    return f"{what}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _worth(proposal: Proposal) -> Iterator[tuple[str, str]]:
    """How good the plan is; an undo has no comparison, nor has one where no session waits."""
    forecast = [fact for fact in forecast_facts(proposal.forecast)[1:] if fact[0] not in IN_THE_SUMMARY]
    if not proposal.wait_per_hour and not proposal.bound_per_hour:
        yield from forecast
        return
    yield "saved", format_wait(proposal.wait_saved_per_hour)
    yield from _share(proposal)
    yield from _relief(proposal)
    yield from forecast
    yield "best possible", f"{format_wait(proposal.bound_per_hour)}, {_gap_words(proposal)}"
    yield "ceiling", _ceiling(proposal.ceiling_ratio)


def _gap_words(proposal: Proposal) -> str:
    """What the best possible plan might save beyond this one, as a share of all wait."""
    missed = missed_wait_ratio(proposal.wait_per_hour, proposal.bound_per_hour, proposal.wait_saved_per_hour)
    return f"{format_ratio(missed)} of the read wait beyond this" if missed >= 1e-5 else "which this is"


def _share(proposal: Proposal) -> Iterator[tuple[str, str]]:
    """The share of all wait that is saved, with its interval: what the outcome will be held against."""
    low, high = proposal.saved_ratio_low, proposal.saved_ratio_high
    if low is None or high is None or not proposal.wait_per_hour:
        return
    mean = format_ratio(proposal.wait_saved_per_hour / proposal.wait_per_hour)
    yield "of the read wait", f"{mean}, between {format_ratio(max(0.0, low))} and {format_ratio(high)}"


def _relief(proposal: Proposal) -> Iterator[tuple[str, str]]:
    """The effect of shorter or longer queues on units that stay; no line where it is negligible."""
    seconds = proposal.relief_per_hour or 0.0
    if seconds <= -1.0:
        yield "queues", f"what is on faster storage already may cost {format_wait(-seconds)} more"
    elif seconds >= 1.0:
        saved = f"shorter queues may save another {format_wait(seconds)}"
        yield "queues", f"{saved} for objects that stay, if no more work comes"


def _ceiling(ratio: float | None) -> str:
    """The ceiling by Amdahl's law."""
    if ratio is None:
        return "not known: the engine does not tell how long sessions execute"
    return f"{format_ratio(ratio)} of session time is foreground I/O; commits and other waits may get shorter too"


def _notes(move: ProposedMove) -> Iterator[str]:
    """What holds of a move besides its figures; the same sentence for moves by the same route."""
    route = move.route
    if route.by_hand is not None:
        yield f"by hand: {route.by_hand.because}"
    if move.expected_bytes is not None:
        yield f"grows: {_growth(move)}"
    yield f"locks: {route.locks}"
    yield f"log: {route.log_volume}"
    for work in route.follow_up:
        took = "duration unknown" if work.seconds is None else f"about {format_seconds(work.seconds)}"
        yield f"afterwards: {work.what} ({took})"
    yield from _if_interrupted(route)
    if move.goes_back:
        yield (
            f"only if its group cannot be completed: it goes back to {move.from_space}, approved with it; it takes "
            f"about {format_seconds(move.copy_seconds)} and counts for windows and limits"
        )
    for note in route.notes:
        yield f"note: {note}"


def _growth(move: ProposedMove) -> str:
    """How large it is expected to be once it is moved, and up to which size the approval holds."""
    now, then, most = (format_bytes(size or 0) for size in (move.size_bytes, move.expected_bytes, move.largest_bytes))
    return f"{now} now, {then} expected when the approval ends; larger than {most} it is not moved"


def _if_interrupted(route: Route) -> Iterator[str]:
    """How many statements may follow an interrupted attempt, what they lock and copy; the statements are in the SQL."""
    if not route.tidy_steps:
        return
    count = len(route.tidy_steps)
    copies = f", which copy at most {format_bytes(route.tidy_bytes)}" if route.tidy_bytes else ""
    locks = f"; locks: {route.tidy_locks}" if route.tidy_locks else ""
    yield f"only if an attempt is interrupted: at most {count} more statement{'' if count == 1 else 's'}{copies}{locks}"


def _costs(moves: Sequence[ProposedMove]) -> str:
    """What all moves cost sessions besides copying; "" where nothing is estimated."""
    costs = [move.cost for move in moves if move.cost is not None]
    total = sum(cost.seconds for cost in costs)
    if not total > 0:
        return ""
    log, blocked, later = (
        format_seconds(sum(getattr(cost, name) for cost in costs))
        for name in ("log_seconds", "blocked_seconds", "follow_up_seconds")
    )
    return (
        f"in addition to copying, sessions wait about {format_seconds(total)}: {log} for log, {blocked} for locks, "
        f"{later} afterwards (estimated)"
    )


def _move_cells(move: ProposedMove) -> tuple[str, ...]:
    return (
        str(move.ordinal),
        move.what,
        move.from_space if move.from_space == move.from_tier else f"{move.from_space} ({move.from_tier})",
        move.to_space if move.to_space == move.to_tier else f"{move.to_space} ({move.to_tier})",
        format_bytes(move.size_bytes),
        format_sessions(move.wait_saved_per_hour),
        format_seconds(move.copy_seconds),
        lock_text(move),
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
