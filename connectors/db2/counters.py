"""Arithmetic over the counters of tables, indexes and table spaces. Pure.

Counters of objects (``of_tables``, ``of_indexes``) rise per member; ``by_unit`` adds the members up. A table that was
dropped and created again, or moved, keeps its name and starts again at zero. The place of its file is therefore sampled
as a pair of counters, ``home`` and ``home_complement``. When the file changes place, one of the two falls, and the
interval is not mistaken for work.

Counters of table spaces (``space_totals``, ``reads_by_kind``) follow the formulas of IBM's db2mon.sql. The asynchronous
counters include temporary pages, so the physical reads from which they are subtracted must include them too; otherwise
the difference turns negative. Column-organised pages (COL, since 10.5) count like the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Any

import numpy as np

from connectors.db2.names import Part, physical_id
from connectors.db2.sessions import Row
from connectors.kit.counters import GroupBy, busy
from connectors.model.observation import F64, I64

# How the rows of one unit make up its counter.
_FOLDED_BY = {
    "logical_reads": np.add,
    "physical_reads": np.add,  # by sessions and prefetchers alike: Db2 does not tell them apart for an object
    "found_pages": np.add,  # that were in the local buffer pool when they were asked for, read ahead or not
    "index_reads": np.add,  # physical ones by kind of page; the rest of physical_reads are data pages
    "xda_reads": np.add,
    "column_reads": np.add,
    "column_logical_reads": np.add,
    "column_found_pages": np.add,
    "scans": np.add,
    "direct_read_requests": np.add,
    "direct_read_sectors": np.add,
    "rows_changed": np.add,  # of an index: keys updated
    "disturbed": np.maximum,  # samples at which a utility worked on it
    "home": np.maximum,
    "home_complement": np.minimum,  # the complement of the greatest home
}
COUNTERS = tuple(_FOLDED_BY)
MARKS = ("disturbed", "home", "home_complement")  # that count no work
_FILE_BITS = 20
_ALL_HOMES = 2**52
Disturbed = Mapping[tuple[str, str], int]  # by schema and name of the table


@dataclass(frozen=True, slots=True)
class Counted:
    """Some rows: the unit of each, of shape ``(rows,)``, and its counters, ``(len(COUNTERS), rows)``."""

    unit: I64
    counters: I64


def of_tables(rows: Sequence[Row], disturbed: Disturbed) -> Counted:
    """Rows of ``sample_tables``, at least one; a row whose LOB object was read makes two."""
    columns = tuple(zip(*rows, strict=True))
    schemas, names, partitions = _texts(columns[0]), _texts(columns[1]), columns[2]
    space, file, data, data_read, xda, xda_read, col, col_read = map(_numbers, columns[4:12])
    scans, _, inserted, updated, deleted, direct = map(_numbers, columns[12:18])
    sectors, data_found, xda_found, col_found = map(_numbers, columns[19:23])
    touched = _utility_samples(disturbed, schemas, names)
    home = (np.maximum(space, 0) << _FILE_BITS) + np.maximum(file, 0)
    tables = _with_counters(
        _units(Part.TABLE, schemas, names, repeat(0), partitions),
        logical_reads=data + col,
        physical_reads=data_read + col_read,
        found_pages=data_found + col_found,
        column_reads=col_read,
        column_logical_reads=col,
        column_found_pages=col_found,
        scans=scans,
        rows_changed=inserted + updated + deleted,
        disturbed=touched,
        home=home,
        # A place is no counter: it may rise or fall. With its complement one of the two always falls when it changes.
        home_complement=_ALL_HOMES - home,
    )
    some = (xda != 0) | (xda_read != 0) | (direct != 0)
    lobs = _with_counters(
        _units(Part.LOB, *(compress(column, some) for column in (schemas, names, repeat(0), partitions))),
        logical_reads=xda[some],
        physical_reads=xda_read[some],
        xda_reads=xda_read[some],
        found_pages=xda_found[some],
        direct_read_requests=direct[some],
        direct_read_sectors=sectors[some],
        disturbed=touched[some],
    )
    return _concatenate((tables, lobs))


def of_indexes(rows: Sequence[Row], disturbed: Disturbed) -> Counted:
    """Rows of ``sample_indexes``, at least one."""
    columns = tuple(zip(*rows, strict=True))
    schemas, names, numbers, partitions = _texts(columns[0]), _texts(columns[1]), _numbers(columns[2]), columns[3]
    return _with_counters(
        _units(Part.INDEX, schemas, names, numbers.tolist(), partitions),
        logical_reads=_numbers(columns[5]),
        physical_reads=_numbers(columns[6]),
        index_reads=_numbers(columns[6]),
        found_pages=_numbers(columns[9]),
        scans=_numbers(columns[7]),
        rows_changed=_numbers(columns[8]),
        disturbed=_utility_samples(disturbed, schemas, names),
    )


def by_unit(parts: Sequence[Counted]) -> tuple[I64, I64]:
    """Ids ascending and counters of shape ``(len(COUNTERS), units)``, members added up; idle units are absent."""
    rows = _concatenate(parts)
    groups = GroupBy(rows.unit)
    counters = np.empty((len(COUNTERS), len(groups.starts)), dtype=np.int64)
    for total, column, by in zip(counters, rows.counters, _FOLDED_BY.values(), strict=True):
        total[:] = groups.aggregate(column, by)
    return busy(groups.keys[0], counters)


def _concatenate(parts: Sequence[Counted]) -> Counted:
    none = _with_counters(np.zeros(0, dtype=np.int64))
    parts = (none, *parts)
    return Counted(
        np.concatenate([part.unit for part in parts]), np.concatenate([part.counters for part in parts], axis=1)
    )


def _with_counters(unit: I64, **columns: I64) -> Counted:
    """Those counters; the others are zero."""
    counters = np.zeros((len(COUNTERS), len(unit)), dtype=np.int64)
    for name, column in columns.items():
        counters[COUNTERS.index(name)] = column
    return Counted(unit, counters)


def _units(
    part: Part, schemas: Iterable[str], names: Iterable[str], numbers: Iterable[int], partitions: Iterable[int | None]
) -> I64:
    return np.fromiter(map(physical_id, repeat(part), schemas, names, numbers, partitions), dtype=np.int64)


def _utility_samples(disturbed: Disturbed, schemas: Sequence[str], names: Sequence[str]) -> I64:
    """At how many samples a utility worked on the table of each row."""
    if not disturbed:
        return np.zeros(len(names), dtype=np.int64)
    tables = zip(schemas, names, strict=True)
    return np.fromiter(map(disturbed.get, tables, repeat(0)), dtype=np.int64, count=len(names))


def _texts(values: Sequence[str]) -> list[str]:
    """A column of names without the padding of CHAR."""
    return [value.rstrip() for value in values]


def _numbers(values: Sequence[Any]) -> I64:
    """A column of whole numbers; NULL, which a column that the version lacks is, counts as 0."""
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except TypeError:  # there is a NULL in it
        return np.fromiter((value or 0 for value in values), dtype=np.int64, count=len(values))


KINDS = ("DATA", "INDEX", "XDA", "COL")
MILLISECONDS = 1000.0
Columns = Mapping[str, F64]


def columns_of(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Columns:
    """Rows as numeric columns by name; NULL, which a column that the version lacks is, counts as 0."""
    return {
        name: np.array([float(row[at] or 0) for row in rows], dtype=np.float64)  # type: ignore[arg-type]  # numbers or NULL
        for at, name in enumerate(names)
    }


@dataclass(frozen=True, slots=True)
class SpaceTotals:
    """Totals since activation, one per row that was given: reads and writes in pages, times in seconds."""

    physical: F64
    asynchronous: F64
    sync: F64  # read by the session that waited, one page an I/O
    sync_read_seconds: F64
    sync_writes: F64  # by the session that needed the page's place
    sync_write_seconds: F64
    async_writes: F64


def space_totals(c: Columns) -> SpaceTotals:
    """Figures of each row of ``sample_spaces``."""
    physical = sum(c[f"POOL_{kind}_P_READS"] + c[f"POOL_TEMP_{kind}_P_READS"] for kind in KINDS)
    asynchronous = sum(c[f"POOL_ASYNC_{kind}_READS"] for kind in KINDS)
    writes = sum(c[f"POOL_{kind}_WRITES"] for kind in KINDS)
    async_writes = sum(c[f"POOL_ASYNC_{kind}_WRITES"] for kind in KINDS)
    return SpaceTotals(
        physical=np.asarray(physical),
        asynchronous=np.asarray(asynchronous),
        sync=np.maximum(0.0, physical - asynchronous),
        sync_read_seconds=np.maximum(0.0, c["POOL_READ_TIME"] - c["POOL_ASYNC_READ_TIME"]) / MILLISECONDS,
        sync_writes=np.maximum(0.0, writes - async_writes),
        sync_write_seconds=np.maximum(0.0, c["POOL_WRITE_TIME"] - c["POOL_ASYNC_WRITE_TIME"]) / MILLISECONDS,
        async_writes=np.asarray(async_writes),
    )


def reads_by_kind(c: Columns) -> dict[str, F64]:
    """Pages read of each kind, and of them those by prefetchers, for each row: "physical DATA", "async DATA" ...

    Only the times of reads are over all kinds; how many were read ahead is given for each.
    """
    found: dict[str, F64] = {}
    for kind in KINDS:
        found[f"physical {kind}"] = c[f"POOL_{kind}_P_READS"] + c[f"POOL_TEMP_{kind}_P_READS"]
        found[f"async {kind}"] = c[f"POOL_ASYNC_{kind}_READS"]
    return found


def hit_ratio(c: Columns) -> F64:
    """Share of page requests that the local pool answered, by IBM's formula since 10.1; NaN where nothing was asked.

    Pages found, less those a prefetcher found; on pureScale a local miss may still be a hit in the group pool.
    """
    found = sum(c[f"POOL_{kind}_LBP_PAGES_FOUND"] - c[f"POOL_ASYNC_{kind}_LBP_PAGES_FOUND"] for kind in KINDS)
    asked = np.asarray(sum(c[f"POOL_{kind}_L_READS"] + c[f"POOL_TEMP_{kind}_L_READS"] for kind in KINDS))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(asked > 0, found / asked, np.nan)


def skew(by_member: F64) -> float:
    """How unevenly members work, ``1 - average / maximum``: 0 is even, near 1 one does it all; 0 where none does."""
    if not len(by_member) or by_member.max() <= 0:
        return 0.0
    return float(1.0 - by_member.mean() / by_member.max())
