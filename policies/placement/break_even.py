"""The five-minute rule: between two kinds of memory or storage, how often must a page be read to belong in the faster?

J. Gray and G. R. Putzolu, "The 5 Minute Rule for Trading Memory for Disc Accesses", SIGMOD 1987; in the form of
J. Gray and G. Graefe, "The Five-Minute Rule Ten Years Later", SIGMOD Record 26(4), 1997::

    interval = (pages per MB of RAM / accesses per second per disk) * (price per disk drive / price per MB of RAM)

and between any two of three levels as G. Graefe, "The Five-Minute Rule 20 Years Later", ACM Queue 6(4), 2008. In
words: the price of one access per second below over the price of one page above. Prices may be of any currency and any
time, if of the same. The page keeps its place below, as with a cache, so what that would save is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model.observation import F64, I64, SIGNALS, Bools, Signal
from policies.model.settings import GIB

IN_RAM = -1  # row of a tier
_READS, _IN_RUNS = [Signal.SYNC_READ], [Signal.PREFETCHED_READ, Signal.DIRECT_READ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPrice:
    """What a level of storage costs; None where it is not given."""

    name: str
    gib: float | None = None  # of a GiB
    access: float | None = None  # of one access per second

    @classmethod
    def of_drive(cls, name: str, *, gib: float | None, drive_gib: float | None, drive_iops: float | None) -> LevelPrice:
        """By the drives that the level is made of: one access per second is its share of a drive's price."""
        if gib is None or drive_gib is None or drive_iops is None:
            return cls(name=name, gib=gib)
        return cls(name=name, gib=gib, access=gib * drive_gib / drive_iops)


def break_even_seconds(page_bytes: int, above: LevelPrice, below: LevelPrice) -> float:
    """Time between two accesses at which a page costs as much above as its accesses do below.

    A page that is read again sooner belongs above. inf where a page above costs nothing.

    Args:
        page_bytes: of one page.
        above: the faster level, with the price of a GiB.
        below: the slower one, with the price of an access per second.

    Raises:
        ValueError: one of these prices is not known; the message names it.
    """
    if above.gib is None:
        raise ValueError(f"the price of a GiB of {above.name} is not known")
    if below.access is None:
        raise ValueError(f"the price of an access per second of {below.name} is not known")
    page = above.gib * page_bytes / GIB
    return below.access / page if page > 0 else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongSide:
    """Units that belong on the other side of one break-even interval, by what that would spare, most first."""

    rows: I64  # of the unit table
    interval: F64  # seconds between two accesses of one of its pages, in the mean of all its pages
    spares: F64  # in prices of the levels, as long as those are for


def page_intervals(rates: F64, size_bytes: I64, page_bytes: int, run: float = 1.0) -> F64:
    """Seconds between two accesses to a page that reach storage, in the mean of a unit's pages. ``(n,)``.

    inf for a unit that is not read.

    Args:
        rates: (SIGNALS, n) per second.
        size_bytes: (n,)
        page_bytes: of one page, which one read of a signal brings.
        run: share of an access that a block takes which is read within a run.
    """
    if len(rates) != SIGNALS:
        raise ValueError(f"{len(rates)} lines of rates, expected {SIGNALS}")
    reads = rates[_READS].sum(axis=0) + run * rates[_IN_RUNS].sum(axis=0)
    pages = np.maximum(1.0, size_bytes / page_bytes)
    return np.asarray(np.divide(pages, reads, out=np.full(len(reads), inf), where=reads > 0), dtype=np.float64)


def belong_above(interval: F64, size_bytes: I64, there: Bools, above: LevelPrice, seconds: float) -> WrongSide:
    """Units below whose pages are read again sooner than the break-even interval.

    Args:
        interval: (n,) of each unit, see ``page_intervals``.
        size_bytes: (n,)
        there: (n,) units that are on the slower of both levels.
        above: the faster one.
        seconds: the break-even interval.
    """
    return _wrong(there & (interval < seconds), interval, size_bytes, above, seconds)


def belong_below(interval: F64, size_bytes: I64, there: Bools, above: LevelPrice, seconds: float) -> WrongSide:
    """Units above whose pages are read again later than the break-even interval; ``there``: those that are above."""
    return _wrong(there & (interval > seconds), interval, size_bytes, above, seconds)


def _wrong(which: Bools, interval: F64, size_bytes: I64, above: LevelPrice, seconds: float) -> WrongSide:
    """A unit costs its bytes above, and that times interval over break-even of accesses below."""
    held = (above.gib or 0.0) * size_bytes / GIB
    spared = np.abs(held * (seconds / interval - 1.0))
    rows = np.flatnonzero(which & (size_bytes > 0))
    rows = rows[np.argsort(-spared[rows], kind="stable")]
    return WrongSide(rows=rows, interval=interval[rows], spares=spared[rows])
