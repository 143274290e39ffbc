"""What happened between two samples, and demand in waits that an engine measured.

``difference`` subtracts two samples. If a reset, a gap or a clock makes the counters untrustworthy, the result is a
``Gap``: the interval says nothing, and no heat changes. Nothing is not zero.

``in_measured_waits`` applies where an engine measures how long sessions waited for a unit. Reads are later priced as
``rate * seconds of a read on that tier``, so the unit gets the rate that yields exactly the measured wait at the read
time of its own space in the same interval::

    SYNC_READ   = waited / read time      reads that a session waited for in full
    DIRECT_READ = 0                       they are among those

A wait for a page that is nearly there counts as part of a read; several sessions that wait for one page count as
several. Nothing counts twice, because an engine that measures waits measures all reads of a unit. ``waited`` holds

========== ================================== ============================== =======================================
engine     reads of single pages              what was read ahead            direct reads
========== ================================== ============================== =======================================
Db2        POOL_READ_TIME without prefetchers PREFETCH_WAIT_TIME             DIRECT_READ_TIME
SQL Server page I/O latch waits               the same, behind read-ahead    none: all reads go through the pool
Oracle     db file sequential, parallel read  db file scattered read         direct path read
========== ================================== ============================== =======================================

``Engine.prefetched_share`` is therefore 0 for these engines: reads ahead still load a tier, but add no further wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from connectors.model.formatting import format_seconds
from connectors.model.observation import (
    F64,
    I64,
    ROLE_FIGURES,
    Bools,
    Catalog,
    Counts,
    Demand,
    Interval,
    RoleFigures,
    Sample,
    Signal,
    SpaceFigures,
)

OTHER_EPOCH = "other_epoch"
CLOCK_STOOD_STILL = "clock_stood_still"
TOO_LATE = "too_late"
CLOCKS_DISAGREE = "clocks_disagree"
CONTRADICTED = "contradicted"

_SLACK_RATIO = 1.1  # the wall clock may run ahead of the monotonic one by a tenth ...
_SLACK_SECONDS = 2.0  # ... and this much
_MOST_OF_DATABASE = 3.0  # times the reads that the database counted: counters of units and of the database differ a bit
_LEAST_READS = 1000.0  # of units: fewer are no lifetime's total, whatever the database counted
_READS = (Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Why two samples make no interval; no heat changes because of it."""

    code: str  # one of the words above
    sentence: str


def difference(
    before: Sample, after: Sample, *, longest_seconds: float, known: I64 | None = None, units: I64 | None = None
) -> Interval | Gap:
    """Subtract two samples of one database.

    A unit any of whose counters fell (reset, wrap, dropped) is marked as restarted and has no deltas. A unit that is
    absent from a sample had all its counters at zero there. Only counters that both samples hold are compared.

    Args:
        before: the earlier sample.
        after: the later one.
        longest_seconds: an interval longer than this, by either clock, missed samples (or the machine slept).
        known: physical ids, ascending, that the catalog already had as settled when ``before`` was taken. A unit that
            first appears in ``after`` and is not among them counts as restarted: engines copy the counters of the old
            physical unit to a rebuilt one (PostgreSQL: ``REINDEX CONCURRENTLY``), so its total is not the
            interval's work. None: every unit that appears is taken to have started from zero.
        units: physical ids, ascending, of the catalog when ``after`` was taken. Those of them that are not known count
            as restarted even if ``before`` holds them: a rebuilt unit has counters of its own while it is built, and
            gets those of the old one at the end.

    Returns:
        The interval, holding only units that moved or restarted, or the gap that says why there is none.
    """
    gap = _gap(before, after, longest_seconds)
    if gap is not None:
        return gap
    pair = _join_ids(before.physical_id, after.physical_id)
    restarted = np.zeros(len(pair.ids), dtype=np.bool_)
    if known is not None:
        fresh = pair.only_after()
        # An id that appears for the first time is not a table made a moment ago unless the catalog says so: a rebuild
        # brings its old totals along, and years of reads would count as those of one interval.
        restarted[fresh] = ~_contains(known, pair.ids[fresh])
        if units is not None and units is not known:
            restarted |= _contains(units, pair.ids) & ~_contains(known, pair.ids)
    if after.unread is not None:
        restarted |= _contains(after.unread, pair.ids)
    moved = restarted.copy()
    names = sorted(before.counters.keys() & after.counters.keys())
    for name in names:
        rise = pair.rise(before.counters[name], after.counters[name])
        # One falling counter condemns the whole row: a reset zeroes all of them, but one that was small before may
        # already have passed its old value, and its rise would look like work.
        restarted |= rise < 0
        moved |= rise != 0
    rows = np.flatnonzero(moved)  # few of many: subtracting theirs again is less than keeping every difference
    some = pair.of(rows)
    deltas = {
        name: np.where(restarted[rows], 0.0, some.rise(before.counters[name], after.counters[name])) for name in names
    }
    return Interval(
        started_at=before.taken_at,
        ended_at=after.taken_at,
        seconds=after.monotonic_seconds - before.monotonic_seconds,
        physical_id=some.ids,
        deltas=deltas,
        restarted=restarted[rows],
        database={
            # Figure by figure, and a fallen one is left out: figures of the whole database may be reset by other means
            # than those of units, and the rest of the interval is still good.
            name: total - before.database[name]
            for name, total in after.database.items()
            if name in before.database and total >= before.database[name]
        },
        spaces=_space_rises(before.spaces, after.spaces),
        roles=_role_rises(before.roles, after.roles),
    )


def contradiction(demand: Demand) -> Gap | None:
    """Why an interval is refused whose units read far more than their database did; None if they did not.

    Both are counted by the server, from different ends. If its units' reads cannot have happened, some counter
    has been replaced, and which one is not known.

    Args:
        demand: as the connector classified it, before reads are counted in measured waits.
    """
    reads = float(demand.rates[list(_READS)].sum())
    whole = demand.database.reads
    if not whole >= 0 or reads * demand.seconds <= _LEAST_READS or reads <= _MOST_OF_DATABASE * whole:
        return None
    return Gap(
        code=CONTRADICTED,
        sentence=f"By their counters its objects read {reads * demand.seconds:,.0f} blocks from storage, by its own "
        f"the database {whole * demand.seconds:,.0f}: a counter was replaced; nothing is concluded.",
    )


def _role_rises(before: Sequence[RoleFigures], after: Sequence[RoleFigures]) -> tuple[RoleFigures, ...]:
    """Differences of the roles that both samples know; NaN where a figure fell or is not kept."""
    earlier = {(figures.role, figures.name): figures for figures in before}

    both = ((earlier[now.role, now.name], now) for now in after if (now.role, now.name) in earlier)
    return tuple(_role_rise(was, now) for was, now in both)


def _role_rise(was: RoleFigures, now: RoleFigures) -> RoleFigures:
    rises = {name: getattr(now, name) - getattr(was, name) for name in ROLE_FIGURES}
    known: dict[str, Any] = {name: rise if rise >= 0 else nan for name, rise in rises.items()}
    return replace(now, **known)


def _space_rises(before: SpaceFigures | None, after: SpaceFigures | None) -> SpaceFigures | None:
    """Differences of the spaces of ``after``; NaN where a figure fell or the space was not there before."""
    if before is None or after is None:
        return None
    row_of = {name: row for row, name in enumerate(before.name)}
    rows = np.array([row_of.get(name, -1) for name in after.name], dtype=np.int64)

    def rise(was: F64, now: F64) -> F64:
        earlier = np.append(was, np.nan)[rows]  # row -1 is the one past the end: nothing is known of it
        return np.where(now >= earlier, now - earlier, np.nan)

    return SpaceFigures(
        name=after.name,
        reads=rise(before.reads, after.reads),
        read_seconds=rise(before.read_seconds, after.read_seconds),
        writes=rise(before.writes, after.writes),
        write_seconds=rise(before.write_seconds, after.write_seconds),
    )


def _gap(before: Sample, after: Sample, longest_seconds: float) -> Gap | None:
    # Before the clocks: after a failover the counters are another server's, and no length of time makes their
    # difference mean anything.
    if before.epoch != after.epoch:
        return Gap(
            code=OTHER_EPOCH,
            sentence="The counters restarted between the samples (reset, restart, failover); nothing is concluded.",
        )
    seconds = after.monotonic_seconds - before.monotonic_seconds
    if not seconds > 0:
        return Gap(
            code=CLOCK_STOOD_STILL,
            sentence=f"The second sample is {format_seconds(seconds)} after the first by our own clock; "
            "nothing is concluded.",
        )
    wall = (after.taken_at - before.taken_at).total_seconds()
    if max(seconds, wall) > longest_seconds:
        return Gap(
            code=TOO_LATE,
            sentence=f"The samples are {format_seconds(max(seconds, wall))} apart, more than "
            f"{format_seconds(longest_seconds)}: some were missed.",
        )
    # A monotonic clock stops while its machine sleeps, and a database elsewhere goes on counting: dividing by the
    # shorter time would make everything hot. A wall clock that was set forward looks the same and costs one interval.
    if wall > seconds * _SLACK_RATIO + _SLACK_SECONDS:
        return Gap(
            code=CLOCKS_DISAGREE,
            sentence=f"By the wall clock {format_seconds(wall)} passed, by the monotonic one "
            f"{format_seconds(seconds)}: the machine slept or a clock was set; nothing is concluded.",
        )
    return None


@dataclass(frozen=True, slots=True)
class _Pair:
    """Ids of two samples, and which rows of each speak of them."""

    ids: I64  # ascending
    was: I64 | None  # row in the earlier sample of each id, -1 where it is absent; None: the ids are its own
    now: I64 | None  # the same of the later one

    def only_after(self) -> I64:
        """Rows of the ids that the earlier sample does not hold."""
        return np.zeros(0, np.int64) if self.was is None else np.flatnonzero(self.was < 0)

    def of(self, rows: I64) -> _Pair:
        """Some of the ids."""
        was, now = (rows if each is None else each[rows] for each in (self.was, self.now))
        return _Pair(self.ids[rows], was, now)

    def rise(self, before: Counts | F64, after: Counts | F64) -> Counts | F64:
        """How much a counter rose for each id."""
        was, now = _take(before, self.was), _take(after, self.now)
        if was.dtype.kind == "f" or now.dtype.kind == "f":
            return np.subtract(now, was, dtype=np.float64)
        # Counters are kept in 32 bits where they fit. Without the wider type a fall, which marks a restart, would wrap
        # around to a huge rise.
        return np.subtract(now, was, dtype=np.int64)


def _join_ids(before: I64, after: I64) -> _Pair:
    """All ids of two ascending columns. Nearly always a sample knows all that the one before knew, and few more."""
    # The usual case by far: nothing was created or dropped since, so no id has to be looked for.
    if before is after or np.array_equal(before, after):
        return _Pair(after, None, None)
    ids = after
    at = _rows(ids, before)
    if bool((at < 0).any()):
        ids = np.concatenate((before, after))
        ids.sort(kind="stable")  # two ascending runs: a merge, not a sort
        first = np.ones(len(ids), dtype=np.bool_)
        first[1:] = ids[1:] != ids[:-1]
        ids = ids[first]
        at = np.searchsorted(ids, before)
    was = np.full(len(ids), -1, dtype=np.int64)
    was[at] = np.arange(len(before))
    return _Pair(ids, was, None if ids is after else _rows(after, ids))


def _rows(column: I64, ids: I64) -> I64:
    if not len(column):
        return np.full(len(ids), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(column, ids), len(column) - 1)
    return np.where(column[at] == ids, at, -1).astype(np.int64)


def _contains(column: I64, ids: I64) -> Bools:
    return _rows(column, ids) >= 0


def _take(counter: Counts | F64, rows: I64 | None) -> Counts | F64:
    """The counter at those rows, 0 for row -1; all of it for None."""
    if rows is None:
        return counter
    if not len(counter):
        return np.zeros(len(rows), dtype=np.int64)
    taken = counter[rows]
    taken[rows < 0] = 0
    return taken


def in_measured_waits(demand: Demand, catalog: Catalog, believed: F64 | None = None) -> Demand:
    """The demand with units' reads by measured wait, where that is known and so is the read time of their space.

    Args:
        demand: of an interval; returned as it is where ``waited`` is None.
        catalog: gives the space of each unit.
        believed: seconds of a read in each space, for those in which this interval timed none: of their tier, which
            later prices them, so that the wait comes out again. Shape ``(spaces,)``, 0 where it is not known.
    """
    if demand.waited is None:
        return demand
    seconds = read_seconds(demand, catalog, believed)[catalog.units.rows_of(demand.physical_id)]
    usable = np.isfinite(demand.waited) & demand.observed & (seconds > 0)
    rates = demand.rates.copy()
    rates[Signal.SYNC_READ] = np.divide(demand.waited, seconds, out=rates[Signal.SYNC_READ], where=usable)
    # Otherwise direct reads would weigh twice: once in the measured wait and once by their number.
    rates[Signal.DIRECT_READ, usable] = 0.0
    return replace(demand, rates=rates)


def read_seconds(demand: Demand, catalog: Catalog, believed: F64 | None = None) -> F64:
    """Seconds of a read in the space of each unit of the catalog, and 0 at the end. Shape ``(units + 1,)``.

    As timed in the space, or by all waits and reads where the server times no space; in a space without a timed read,
    where sessions waited for scans or direct reads alone, what is believed of it.
    """
    mean = _mean_seconds(demand)
    of_space = np.full(len(catalog.spaces), mean)
    if believed is not None and (demand.spaces is not None or not mean > 0):
        # A space without a timed read is priced by what its tier is believed to take. By the read time of an SSD next
        # to it, waits on a disk would become a hundred times as many reads.
        of_space = np.where(believed > 0, believed, mean)
    if demand.spaces is not None:
        row_of = {space.name: row for row, space in enumerate(catalog.spaces)}
        for name, reads, seconds in zip(
            demand.spaces.name, demand.spaces.reads, demand.spaces.read_seconds, strict=True
        ):
            if name in row_of and reads > 0 and seconds > 0:
                of_space[row_of[name]] = seconds / reads
    return np.append(of_space[catalog.units.space], 0.0)  # the last one: of units that have no row, which is -1


def _mean_seconds(demand: Demand) -> float:
    """Of any read that sessions waited for; 0 where none was measured."""
    if demand.waited is None:
        return 0.0
    reads = demand.rates[Signal.SYNC_READ][np.isfinite(demand.waited)].sum()
    return float(np.nansum(demand.waited) / reads) if reads > 0 else 0.0
