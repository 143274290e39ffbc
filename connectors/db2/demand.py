"""Turns counters into signals and waits. Pure; nothing here asks the server.

The reads of a table space are divided among its objects first (``session_reads``). For a table space, Db2 counts reads
by sessions and by prefetchers for each kind of page (DATA, INDEX, XDA, COL). For an object, it counts the pages that
both read, those found in the buffer pool, and scans. So, for each kind::

    reads by sessions of the space  = physical - asynchronous (POOL_ASYNC_k_READS)
    an object's pages not found     = OBJECT_k_L_READS - OBJECT_k_LBP_PAGES_FOUND

A page that was read ahead in time is found when its session asks for it, so pages not found are those that sessions
read themselves. These counts are believed if their sum over a space is about what its sessions read. Elsewhere
(pureScale, where the group pool answers too, or a version without the counter), prefetched pages are given to the
objects that scanned first.

``classify`` makes the signals. Both signals of reads are marked as estimated, because Db2 separates waits from
read-ahead only per table space and kind of page::

    SYNC_READ       = pages that sessions read themselves
    PREFETCHED_READ = the other physical reads
    waited          = SYNC_READ * (POOL_READ_TIME - POOL_ASYNC_READ_TIME) of the space for each of its sessions' reads
                    + its part of PREFETCH_WAIT_TIME, by pages read ahead
                    + its part of DIRECT_READ_TIME, by direct reads

An online backup reads past the buffer pool. Reads during a backup are still demand, except direct reads that no table
made. Writes are known per table space only; they are divided by the rows (for an index: keys) that changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.db2.catalog import Homes
from connectors.db2.counters import KINDS
from connectors.db2.sampler import BACKUPS, DISTURBED_ALL, UNCOUNTED, USUAL, space_key
from connectors.kit.counters import build_demand
from connectors.model.observation import (
    F64,
    I64,
    SIGNALS,
    Bools,
    DatabaseDemand,
    Demand,
    Interval,
    Signal,
    SpaceFigures,
)

BELIEVED = 1.5  # pages not found may come to so many times what sessions read, before they are not believed


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfPages:
    """One kind of page in an interval: of each object shape ``(n,)``, of each space shape ``(spaces,)``."""

    physical: F64
    not_found: F64  # asked for and not in the local buffer pool
    found: F64
    in_order: F64  # pages that scans may have read, at most ``physical``
    space_physical: F64  # NaN: not known
    space_async: F64


def divide(top: F64, bottom: F64) -> F64:
    """Their ratio; 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def sums(values: F64, at: I64, spaces: int) -> F64:
    """What the objects of each space come to, shape ``(spaces,)``."""
    return np.asarray(np.bincount(at, weights=values, minlength=spaces), dtype=np.float64)


def session_reads(kind: KindOfPages, at: I64) -> F64:
    """Pages of each object that sessions read themselves, shape ``(n,)``; the rest was read ahead of them.

    Args:
        kind: of page.
        at: place of each object's table space, shape ``(n,)``.
    """
    spaces = len(kind.space_physical)

    of_objects = sums(kind.physical, at, spaces)
    ahead = _async_of_objects(kind, of_objects)
    by_sessions = of_objects - ahead
    own = np.minimum(kind.not_found, kind.physical)
    not_scanned = kind.physical - _spread(ahead, kind.in_order, kind.physical, at)
    # Where pages were read ahead and none was ever found, the version does not count them: all would look read by
    # sessions.
    some_found = (sums(kind.found, at, spaces) > 0) | (ahead == 0)
    believed = some_found & (sums(own, at, spaces) <= BELIEVED * by_sessions)
    return _spread(by_sessions, np.where(believed[at], own, not_scanned), kind.physical, at)


def _async_of_objects(kind: KindOfPages, of_objects: F64) -> F64:
    """Pages of the objects of each space that prefetchers read; where a space tells nothing, as in all others."""
    known = (kind.space_physical > 0) & ~np.isnan(kind.space_async)
    total = kind.space_physical[known].sum()
    usual = float(kind.space_async[known].sum() / total) if total > 0 else 1.0
    share = np.full(len(known), usual)
    share[known] = kind.space_async[known] / kind.space_physical[known]
    return np.asarray(of_objects * np.clip(share, 0.0, 1.0), dtype=np.float64)


def _spread(pages: F64, first: F64, most: F64, at: I64) -> F64:
    """Divide pages of each space among its objects, by ``first``; what is left over by what they can still take.

    Args:
        pages: of each space, at most the sum of ``most`` there.
        first: of each object, at most ``most``.
        most: that each object can take.
        at: place of each object's space.
    """
    spaces = len(pages)
    wanted = sums(first, at, spaces)
    given = first * np.minimum(1.0, divide(pages, wanted))[at]
    left = np.maximum(0.0, pages - sums(given, at, spaces))
    # What is left over goes by what each can still take: shared out by size alone, an object would get more reads than
    # it had.
    can_take = np.maximum(0.0, most - given)
    room = sums(can_take, at, spaces)
    return np.asarray(given + can_take * np.minimum(1.0, divide(left, room))[at], dtype=np.float64)


def spread_seconds(seconds: F64, weight: F64, of_space: F64, at: I64) -> F64:
    """Divide waits of each space among its objects by what they did of all that was done there.

    Args:
        seconds: of each space; NaN where it is not known.
        weight: of each object.
        of_space: the same of each space as a whole; what of it no object did keeps its part of the wait.
        at: place of each object's space.
    """
    done = np.maximum(np.nan_to_num(of_space), sums(weight, at, len(seconds)))
    return np.asarray(divide(weight, done[at]) * seconds[at], dtype=np.float64)


ESTIMATED = frozenset({Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE})
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class InSpaces:
    """The table spaces of the units of an interval."""

    interval: Interval
    numbers: I64  # shape (spaces,)
    at: I64  # place of each unit's in ``numbers``, shape (n,)

    def figure(self, word: str) -> F64:
        """A figure of each table space, NaN where it fell or is not known; shape ``(spaces,)``."""
        found = self.interval.database
        return np.array([found.get(space_key(word, int(n)), np.nan) for n in self.numbers], dtype=np.float64)

    def sums(self, values: F64) -> F64:
        """What the units of each space come to, shape ``(spaces,)``."""
        return sums(values, self.at, len(self.numbers))


def classify(interval: Interval, homes: Homes) -> Demand:
    """Rates by unit and signal, and waits by unit.

    Args:
        interval: deltas with the counters of ``counters.COUNTERS``.
        homes: the table space of each unit by the last catalog; units it does not know are not observed.
    """
    if interval.database.get(UNCOUNTED, 0.0) > 0:
        return _nothing_known(interval, homes)
    home = homes_of(homes, interval.physical_id)
    numbers, at = np.unique(home, return_inverse=True)
    places = InSpaces(interval, numbers, at)
    sync, ahead = reads_of_units(places)
    direct = direct_seconds(places)
    counts = np.zeros((SIGNALS, len(home)))
    counts[Signal.LOGICAL_READ] = interval.deltas["logical_reads"]
    counts[Signal.SYNC_READ] = sync
    counts[Signal.PREFETCHED_READ] = ahead
    counts[Signal.DIRECT_READ] = interval.deltas["direct_read_requests"]
    counts[Signal.ASYNC_WRITE] = _pages_written(places)
    return build_demand(
        interval,
        counts,
        _is_observed(interval, home),
        estimated=ESTIMATED,
        database=_database(interval, direct),
        spaces=_space_rates(interval),
        waited_seconds=pool_seconds(places, sync, ahead) + direct,
    )


def _nothing_known(interval: Interval, homes: Homes) -> Demand:
    """The server counts no objects (before 10.1): every unit is listed as not observed; absent would be cold."""
    units = len(homes.physical_id)
    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=homes.physical_id,
        rates=np.zeros((SIGNALS, units)),
        observed=np.zeros(units, dtype=np.bool_),
        estimated=ESTIMATED,
        database=interval.database_rates(),
        spaces=_space_rates(interval),
        roles=interval.role_rates(),
    )


def homes_of(homes: Homes, physical_id: I64) -> I64:
    """Table space number of each id, NOWHERE for one that the catalog does not know."""
    if not len(homes.physical_id):
        return np.full(len(physical_id), NOWHERE, dtype=np.int64)
    at = np.minimum(np.searchsorted(homes.physical_id, physical_id), len(homes.physical_id) - 1)
    return np.where(homes.physical_id[at] == physical_id, homes.space[at], NOWHERE).astype(np.int64)


def reads_of_units(places: InSpaces) -> tuple[F64, F64]:
    """Pages that sessions read themselves, and those read ahead of them; shape ``(n,)`` each."""
    physical = places.interval.deltas["physical_reads"]
    sync = np.zeros(len(places.at))
    for kind in KINDS:
        sync += session_reads(_pages(places, kind), places.at)
    return sync, np.maximum(0.0, physical - sync)


def _pages(places: InSpaces, kind: str) -> KindOfPages:
    d = places.interval.deltas
    columns = d["column_reads"]
    others = {"INDEX": d["index_reads"], "XDA": d["xda_reads"], "COL": columns}
    physical = np.maximum(0.0, others.get(kind, d["physical_reads"] - sum(others.values())))
    if kind == "COL":
        asked, found = d["column_logical_reads"], d["column_found_pages"]
    else:  # a unit has pages of one kind, and a table those of columns besides
        asked = d["logical_reads"] - d["column_logical_reads"]
        found = d["found_pages"] - d["column_found_pages"]
    # Logical reads are counted for a unit in all, so those without physical reads of this kind say nothing of it.
    asked, found = np.where(physical > 0, asked, 0.0), np.where(physical > 0, found, 0.0)
    # each look-up is a scan of an index that reads a leaf; a scan of a table reads all of it
    scanned = physical - d["scans"] if kind == "INDEX" else np.where(d["scans"] > 0, physical, 0.0)
    return KindOfPages(
        physical=physical,
        not_found=np.maximum(0.0, asked - found),
        found=found,
        in_order=np.maximum(0.0, scanned),
        space_physical=places.figure(f"physical {kind}"),
        space_async=places.figure(f"async {kind}"),
    )


def pool_seconds(places: InSpaces, sync: F64, ahead: F64) -> F64:
    """Seconds that sessions waited for pages of each unit, read by themselves or ahead of them; NaN where not known."""
    physical = sum(places.figure(f"physical {kind}") for kind in KINDS)
    by_prefetchers = sum(places.figure(f"async {kind}") for kind in KINDS)
    by_sessions = np.maximum(0.0, physical - by_prefetchers)
    read = spread_seconds(places.figure("sync_seconds"), sync, by_sessions, places.at)
    waited = spread_seconds(places.figure("prefetch_seconds"), ahead, np.asarray(by_prefetchers), places.at)
    return read + waited


def direct_seconds(places: InSpaces) -> F64:
    """Seconds that sessions waited for direct reads of each unit.

    A backup and others read directly too, with larger requests: units have their part of the requests or of the
    sectors, whichever is less.
    """
    requests, sectors = places.interval.deltas["direct_read_requests"], places.interval.deltas["direct_read_sectors"]
    of_requests, of_sectors = places.sums(requests), places.sums(sectors)
    by_requests = divide(of_requests, np.maximum(of_requests, np.nan_to_num(places.figure("direct_requests"))))
    by_sectors = divide(of_sectors, np.maximum(of_sectors, np.nan_to_num(places.figure("direct_sectors"))))
    known = np.where(of_sectors > 0, np.minimum(by_requests, by_sectors), by_requests)
    seconds = known * places.figure("direct_seconds")
    # Under a backup the time of all requests is mostly its own, see ``sampler``; else this is no less than the above.
    return spread_seconds(np.fmin(seconds, by_requests * places.figure(USUAL)), requests, of_requests, places.at)


def _database(interval: Interval, direct: F64) -> DatabaseDemand:
    """While a backup runs, only direct reads of units are waits of sessions."""
    found = interval.database_rates()
    if not interval.database.get(BACKUPS, 0.0) > 0:
        return found
    every = sum(n for name, n in interval.database.items() if name.startswith("direct_seconds of "))
    of_others = max(0.0, every - float(np.nansum(direct)))
    return replace(found, read_wait=found.read_wait - of_others / interval.seconds)


def _pages_written(places: InSpaces) -> F64:
    """Pages written of each unit: those of its space, by its part of the rows that changed there."""
    changed = places.interval.deltas["rows_changed"]
    written = np.nan_to_num(places.figure("written"))
    return np.asarray(written[places.at] * divide(changed, places.sums(changed)[places.at]), dtype=np.float64)


def _is_observed(interval: Interval, home: I64) -> Bools:
    """What the interval says anything about: not what restarted, nor what a utility read through the buffer pool."""
    if interval.database.get(DISTURBED_ALL, 0.0) > 0:
        return np.zeros(len(home), dtype=np.bool_)
    return np.asarray((home != NOWHERE) & ~interval.restarted & (interval.deltas["disturbed"] == 0))


def _space_rates(interval: Interval) -> SpaceFigures | None:
    found = interval.spaces
    if found is None:
        return None
    return SpaceFigures(
        name=found.name,
        reads=found.reads / interval.seconds,
        read_seconds=found.read_seconds / interval.seconds,
        writes=found.writes / interval.seconds,
        write_seconds=found.write_seconds / interval.seconds,
    )
