"""Arithmetic over the counters of table spaces. Pure.

Formulas of IBM's db2mon.sql: the asynchronous counters cover temporary pages too, so those belong into the physical
reads they are subtracted from, or the difference goes negative. Column-organised pages (COL, 10.5) count like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.model import F64

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

    Only the times of reads are over all kinds; how many were read ahead is told of each.
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
