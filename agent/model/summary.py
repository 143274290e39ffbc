"""What a person decides on, in a few lines: gain, locks, time, bytes, the way back, and how sure all of it is.

One summary is made of a proposal, here and nowhere else. ``plan``, ``show``, ``approve``, the demo, the report and the
live page print its lines as they are; programs read its figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.model.answers.summary import DecisionSummary, LockExpected, SummaryLine
from agent.model.proposals import Proposal, ProposedMove, WorkForecast
from connectors.model.formatting import (
    format_between,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from connectors.model.moves import Locked

NO_LOCK = "none: sessions read and write all the while"
NAMED_LOCKS = 2  # objects that are named in a line; of more their number, the table of moves has all
LOCK_LINES = 2


def summary_of(proposal: Proposal, moves: Sequence[ProposedMove], number: int | None = None) -> DecisionSummary:
    """The summary of what would run.

    Args:
        proposal: what was expected of all of it.
        moves: those of it that would run.
        number: of the proposal; None: it is not stored.
    """
    locks = tuple(lock_expected(move) for move in moves if move.stall_seconds != 0.0 or move.route.lock_seconds)
    low, high = copying_between(moves)
    lines = (
        *_gain(proposal),
        *_locks(locks),
        ("takes", _takes(moves, low, high)),
        ("copies", _copies(proposal, moves)),
        *_by_hand(moves),
        *_way_back(proposal, moves, number),
        ("how sure", "; ".join(_how_sure(proposal, moves))),
    )
    return DecisionSummary(
        lines=tuple(SummaryLine(name=name, text=text) for name, text in lines),
        locks=locks,
        copy_low_seconds=low,
        copy_high_seconds=high,
        log_bytes=sum(move.route.log_bytes for move in moves),
        certainty_ratio=None if proposal.forecast is None else proposal.forecast.certainty,
    )


def named_lines(summary: DecisionSummary) -> Iterator[tuple[str, str]]:
    """Its lines, each with the name of what it is about."""
    name = ""
    for line in summary.lines:
        name = line.name or name
        yield name, line.text


def lock_expected(move: ProposedMove) -> LockExpected:
    """What sessions can't do while a move runs, and for how long."""
    between = move.stall_interval_seconds
    return LockExpected(
        unit=move.what,
        locked=move.route.locked,
        low_seconds=None if between is None else between[0],
        high_seconds=None if between is None else between[1],
        queue_seconds=move.route.lock_seconds,
    )


def lock_text(move: ProposedMove) -> str:
    """The same as a cell of a table: ``up to 500 ms``, ``writes, 1 s to 4 s``, ``no``."""
    if move.stall_seconds == 0.0:
        return "no"
    between = move.stall_interval_seconds
    if between is None:
        return "not known"
    writes = "writes, " if move.route.locked is Locked.WRITES else ""
    return writes + format_between(*between)


def copying_between(moves: Sequence[ProposedMove]) -> tuple[float, float]:
    """How long all copies take, one after another: the sums of the ends of their intervals, in seconds."""
    ends = [move.copy_interval_seconds or (move.copy_seconds, move.copy_seconds) for move in moves]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


def _gain(proposal: Proposal) -> Iterator[tuple[str, str]]:
    """Throughput, latency and waits, before and after, each with its interval; the name stands at the first only."""
    lines = [*_throughput(proposal.forecast), _waits(proposal)]
    name = "costs" if proposal.wait_saved_per_hour < 0 else "gain"
    return ((name if at == 0 else "", line) for at, line in enumerate(lines))


def gain_in_a_line(proposal: Proposal) -> str:
    """The sessions that wait, before and after: for a list of proposals."""
    return f"{'costs' if proposal.wait_saved_per_hour < 0 else 'gain'} {_waits(proposal)}"


def _throughput(forecast: WorkForecast | None) -> Iterator[str]:
    if forecast is None:
        return
    now, then, low, high = (
        forecast.per_second_now, forecast.per_second, forecast.per_second_low, forecast.per_second_high,
    )  # fmt: skip
    if now is None or then is None or low is None or high is None:
        measured = "not known" if now is None else format_rate(now)
        yield f"{forecast.work}/s {measured} now; not forecast: {forecast.why_not}"
        return
    answered = "" if forecast.load else ", if clients await answers"
    ends = f"({format_rate(low)} to {format_rate(high)})"
    yield f"{forecast.work}/s {format_rate(now)} -> {format_rate(then)} {ends}{answered}"
    times = forecast.latency_now, forecast.latency, forecast.latency_low, forecast.latency_high
    known = [format_seconds(each) for each in times if each is not None]
    if len(known) == len(times):
        yield "latency {} -> {} ({} to {})".format(*known)


def _waits(proposal: Proposal) -> str:
    """Sessions that wait for reads, before and after; where the plan was not made for gain, what is saved or added."""
    now, saved = proposal.wait_per_hour, proposal.wait_saved_per_hour
    low, high = proposal.wait_saved_low_per_hour, proposal.wait_saved_high_per_hour
    if not now:
        if saved < 0:
            undone = ", as much as the moves that it takes back were predicted to save" if proposal.is_undo else ""
            return f"{format_wait(-saved)}{_of_sessions(low, high, -1)}{undone}"
        return f"{format_wait(saved)} saved{_of_sessions(low, high, 1)}"
    ends = ""
    if low is not None and high is not None:
        # What waits now is known: how far the load may change, or all read times err, is no part of what is left of it.
        least, most = proposal.saved_ratio_low, proposal.saved_ratio_high
        low = low if least is None else max(low, now * least)
        high = high if most is None else min(high, now * most)
        ends = _of_sessions(max(0.0, now - high), max(0.0, now - low), 1)
    return f"waiting sessions {format_sessions(now)} -> {format_sessions(max(0.0, now - saved))}{ends}"


def _of_sessions(low: float | None, high: float | None, sign: int) -> str:
    """Both ends of an interval in sessions, where they are known."""
    if low is None or high is None:
        return ""
    first, last = sorted((sign * low, sign * high))
    return f" ({format_sessions(first)} to {format_sessions(last)})"


def _locks(locks: Sequence[LockExpected]) -> Iterator[tuple[str, str]]:
    """What sessions can't use, and for how long: objects that are locked alike in one line, the longest first."""
    alike: dict[tuple[object, ...], list[LockExpected]] = {}
    for lock in sorted(locks, key=_longest, reverse=True):
        key = (lock.locked is Locked.WRITES, lock.low_seconds, lock.high_seconds, lock.queue_seconds)
        alike.setdefault(key, []).append(lock)
    groups = list(alike.values())
    lines = [_lock_sentence(group) for group in groups[:LOCK_LINES]]
    if rest := sum(map(len, groups[LOCK_LINES:])):
        lines[-1] += f"; {rest} more for less"
    return (("" if at else "locks", line) for at, line in enumerate(lines or [NO_LOCK]))


def _longest(lock: LockExpected) -> float:
    """What is not known comes first."""
    return float("inf") if lock.high_seconds is None else lock.high_seconds + lock.queue_seconds


def _lock_sentence(alike: Sequence[LockExpected]) -> str:
    first, each = alike[0], " each" if len(alike) > 1 else ""
    names = ", ".join(lock.unit for lock in alike) if len(alike) <= NAMED_LOCKS else f"{len(alike)} objects"
    whom = f"{'no writes to' if first.locked is Locked.WRITES else 'no use of'} {names}"
    if first.low_seconds is None or first.high_seconds is None:
        return f"{whom} for a time that is not known"
    said = f"{whom} for {format_between(first.low_seconds, first.high_seconds)}{each}"
    if first.queue_seconds and first.locked is not Locked.BRIEFLY:
        said += f", after queueing for the lock for up to {format_seconds(first.queue_seconds)}"
    return said


def _takes(moves: Sequence[ProposedMove], low: float, high: float) -> str:
    total = format_seconds(sum(move.copy_seconds for move in moves))
    ends = "" if low == high else f" ({format_seconds(low)} to {format_seconds(high)})"
    return f"{total}{ends} of copying{', one move after another' if len(moves) > 1 else ''}"


def _copies(proposal: Proposal, moves: Sequence[ProposedMove]) -> str:
    count = f"{len(moves)} move{'' if len(moves) == 1 else 's'}"
    of = "" if len(moves) == len(proposal.moves) else f" of {len(proposal.moves)}"
    size = format_bytes(sum(move.size_bytes for move in moves))
    return f"{size} in {count}{of}; about {format_bytes(sum(move.route.log_bytes for move in moves))} of log"


def _by_hand(moves: Sequence[ProposedMove]) -> Iterator[tuple[str, str]]:
    """How many of them a person carries out; no line where it is none."""
    if hands := sum(move.by_hand for move in moves):
        what = f"{hands} move{'' if hands == 1 else 's'}"
        yield "by hand", f"{what}, by a person; hotplace sends no statement of it"


def _way_back(proposal: Proposal, moves: Sequence[ProposedMove], number: int | None) -> Iterator[tuple[str, str]]:
    if proposal.is_undo:
        return
    command = "hotplace undo" if number is None else f"hotplace undo --proposal {number}"
    stuck = [move.what for move in moves if not move.by_hand and not move.route.undo_steps]
    but = f"; not for {', '.join(stuck)}" if stuck else ""
    yield "way back", f"{command} proposes it, at any time after the moves{but}"


def _how_sure(proposal: Proposal, moves: Sequence[ProposedMove]) -> Iterator[str]:
    forecast = proposal.forecast
    if len(moves) < len(proposal.moves):
        yield f"the gain is that of all {len(proposal.moves)} moves that were proposed"
    if forecast is not None:
        yield f"{format_ratio(forecast.certainty)} of outcomes lie within these intervals"
        if forecast.per_second is not None and forecast.assumed:
            yield f"wider, as {', '.join(forecast.assumed)}"
    elif proposal.wait_saved_low_per_hour is not None:
        yield "by waits that were measured, with the interval in which the outcome should lie"
    elif proposal.is_undo:
        yield "without intervals: as long as the moves took or were predicted to take, and as much as they were to save"
    else:
        yield "not known: no interval was computed"
