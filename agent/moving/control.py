"""Read times of statements that read nothing of what moved: what the device does without the moves. Pure.

A neighbour, a backup or a scrub slows down all reads of a device for hours, and one cannot tell that from harm by the
waits of the moves' own time alone. Statements that read only what stays are slowed down by it as well and by the moves
hardly: they are the control (difference in differences).

Engines do not count which units a statement reads, and texts are not looked at. But the reads of what moved are the sum
over statements of the share that each of them reads there. A regression over the intervals before the moves gives these
shares, with their errors, and so does one of all reads. A statement is a control where the first is surely small beside
the second. Where all statements rise and fall together the errors are large, and none is: then nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent.model.outcomes import StatementInterval
from agent.moving.usual_wait import Evidence
from connectors.model.observation import F64, Bools

MOST_STATEMENTS = 30  # those that read most
LEAST_INTERVALS = 30
INTERVALS_A_STATEMENT = 4  # at least, that its share is found from
MOST_APART = 0.2  # of an interval of statements, by which intervals of units may differ from it
MOST_MOVED = 0.1  # of a control's reads, of what moved
ERRORS = 4.0  # standard errors on either side: among thirty none is taken by chance
LEAST_CONTROLS = 2  # one alone may have become faster for a reason of its own
LEAST_READS = 20.0  # of a control in an interval, for a mean


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReads:
    """Reads of units by interval, in the order of time; columns of one length."""

    since: F64  # seconds
    until: F64
    moved: F64  # count of those of what moved
    every: F64  # of all

    def within(self, interval: StatementInterval) -> tuple[float, float]:
        """Both, of the intervals that end within one of statements; NaN where they are of another time than that."""
        ends = [interval.started_at.timestamp(), interval.ended_at.timestamp()]
        rows = slice(*np.searchsorted(self.until, ends, side="right"))
        lasted = float((self.until[rows] - self.since[rows]).sum())
        # History is folded after a day, and an interval of ten minutes is not one of three minutes of statements.
        if abs(lasted - interval.length) > MOST_APART * interval.length:
            return np.nan, np.nan
        return float(self.moved[rows].sum()), float(self.every[rows].sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """How slow the reads of statements are that read nothing of what moved; columns of one length, ascending."""

    ids: tuple[str, ...]
    since: F64  # seconds
    until: F64
    slower: F64  # logarithm of the time of a read over what it usually is

    def beside(self, evidence: Evidence) -> Evidence:
        """The evidence with it, at the intervals where it is known."""
        first = np.searchsorted(self.until, evidence.at - evidence.seconds, side="right")
        end = np.searchsorted(self.since, evidence.at, side="left")
        known = end > first
        total = np.concatenate(([0.0], np.cumsum(self.slower)))
        slower = (total[end] - total[first])[known] / (end - first)[known]
        return replace(evidence.rows(known), control=slower)


def find_control(
    before: Sequence[StatementInterval], after: Sequence[StatementInterval], units: UnitReads
) -> Control | None:
    """The control of moves; None where no statements are known that surely read nothing of what moved.

    Args:
        before: statements of the days before the first move, the oldest first.
        after: those after settling.
        units: reads of units before.
    """
    if not before or not after:
        return None
    counted = np.array([units.within(each) for each in before])
    known = np.flatnonzero(np.isfinite(counted).all(axis=1))
    if len(known) < LEAST_INTERVALS:
        return None
    of_units = [before[row] for row in known.tolist()]
    names = _most_reads(of_units, len(known) // INTERVALS_A_STATEMENT)
    are = _are_controls(of_units, names, counted[known])
    ids = tuple(name for name, is_one in zip(names, are, strict=True) if is_one)
    return _slower(ids, [*before, *after], len(before)) if len(ids) >= LEAST_CONTROLS else None


def _most_reads(intervals: Sequence[StatementInterval], most: int) -> list[str]:
    sums: dict[str, float] = {}
    for each in intervals:
        for id_, reads in zip(each.ids, each.reads.tolist(), strict=True):
            sums[id_] = sums.get(id_, 0.0) + reads
    known = [id_ for id_, reads in sums.items() if reads > 0]  # NaN: not counted
    return sorted(known, key=lambda id_: (-sums[id_], id_))[: min(most, MOST_STATEMENTS)]


def _are_controls(intervals: Sequence[StatementInterval], names: Sequence[str], counted: F64) -> Bools:
    """Which statements surely read nothing of what moved, by reads of units ``(intervals, moved and all)``."""
    reads = _table(intervals, names, "reads")
    rest = np.array([float(np.nansum(each.reads)) for each in intervals]) - reads.sum(axis=1)
    seconds = np.array([each.length for each in intervals])
    columns = np.column_stack((reads, rest, seconds))  # besides statements: others, and what comes with time
    scale = np.abs(columns).max(axis=0)
    some = scale > 0
    design = columns[:, some] / scale[some]
    shares, _, rank, _ = np.linalg.lstsq(design, counted, rcond=1e-9)
    if rank < design.shape[1]:
        return np.zeros(len(names), dtype=np.bool_)
    left = counted - design @ shares
    freedom = max(1, len(design) - rank)
    errors = np.sqrt(np.outer(np.diag(np.linalg.inv(design.T @ design)), np.square(left).sum(axis=0) / freedom))
    count = len(names)  # all of them read something: no column of theirs was left out
    most_moved = np.abs(shares[:count, 0]) + ERRORS * errors[:count, 0]
    least_read = shares[:count, 1] - ERRORS * errors[:count, 1]
    return np.asarray(most_moved <= MOST_MOVED * least_read)


def _slower(ids: Sequence[str], intervals: Sequence[StatementInterval], before: int) -> Control | None:
    """By interval; each statement against its own usual time, so that another mix of them is nothing."""
    reads, waits = _table(intervals, ids, "reads"), _table(intervals, ids, "read_wait")
    known = (reads >= LEAST_READS) & (waits > 0)
    times = np.log(np.divide(waits, reads, out=np.ones_like(waits), where=known))
    weight = np.where(known, reads, 0.0)
    usual = weight[:before].sum(axis=0)
    used = usual > 0
    if int(used.sum()) < LEAST_CONTROLS:
        return None
    weight, times, usual = weight[:, used], times[:, used], usual[used]
    middle = (weight[:before] * times[:before]).sum(axis=0) / usual
    whole = weight.sum(axis=1)
    rows = whole > 0
    slower = (weight * (times - middle))[rows].sum(axis=1) / whole[rows]
    since, until = (
        np.array([getattr(each, name).timestamp() for each in intervals])[rows] for name in ("started_at", "ended_at")
    )
    return Control(ids=tuple(np.array(ids)[used].tolist()), since=since, until=until, slower=slower)


def _table(intervals: Sequence[StatementInterval], names: Sequence[str], column: str) -> F64:
    """One figure of some statements, 0 where they did not run or it is not counted. Shape ``(intervals, names)``."""
    at = {name: place for place, name in enumerate(names)}
    found = np.zeros((len(intervals), len(names)))
    for row, each in enumerate(intervals):
        for id_, value in zip(each.ids, getattr(each, column).tolist(), strict=True):
            if id_ in at:
                found[row, at[id_]] = value
    return np.nan_to_num(found)
