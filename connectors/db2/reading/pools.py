"""What doctor says of buffer pools: how much they answer, and whether reading ahead is any use. Pure but for its query.

A failing prefetch is a matter of configuration; no tier mends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.db2.reading.sampler import column_names
from connectors.db2.reading.space_counters import KINDS, columns_of, hit_ratio
from connectors.db2.session.sessions import ReadSession, Row
from connectors.findings import Finding

MUCH_UNREAD = 0.10  # of the pages that prefetchers brought
WORTH_A_WORD = 10_000  # pages, below which a share says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One buffer pool over all members since they were activated. Ratios are NaN where nothing was asked."""

    name: str
    pages: int  # its size
    hits: float  # share of page requests that the local pool answered
    group_hits: float  # of those that went to the group pool of pureScale, the share it answered
    ahead: int  # pages that prefetchers brought
    unread: int  # of those, thrown out before anybody wanted them
    wait_ms: int  # that sessions waited for prefetchers


def pools_of(rows: Sequence[Row]) -> tuple[Pool, ...]:
    """The pools by the rows of ``buffer_pools``, members summed."""
    names = column_names("buffer_pools")
    numeric = names[2:]
    found = []
    for name in sorted({str(row[0]) for row in rows}):
        columns = columns_of(numeric, [row[2:] for row in rows if row[0] == name])
        c = {column: np.array([values.sum()]) for column, values in columns.items()}
        asked = float((c["POOL_DATA_GBP_L_READS"] + c["POOL_INDEX_GBP_L_READS"])[0])
        missed = float((c["POOL_DATA_GBP_P_READS"] + c["POOL_INDEX_GBP_P_READS"])[0])
        found.append(
            Pool(
                name=name,
                pages=int(c["BP_CUR_BUFFSZ"][0]),
                hits=float(hit_ratio(c)[0]),
                group_hits=(asked - missed) / asked if asked > 0 else float("nan"),
                ahead=int(sum(float(c[f"POOL_ASYNC_{kind}_READS"][0]) for kind in KINDS)),
                unread=int(c["UNREAD_PREFETCH_PAGES"][0]),
                wait_ms=int(c["PREFETCH_WAIT_TIME"][0]),
            )
        )
    return tuple(found)


def pool_findings(session: ReadSession) -> list[Finding]:
    """A finding for each pool, and one more for each whose prefetching fails.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("buffer_pools", doing="looking at buffer pools") or []
    return [finding for pool in pools_of(rows) for finding in _findings(pool)]


def _findings(pool: Pool) -> Iterator[Finding]:
    if not np.isnan(pool.hits):
        group = "" if np.isnan(pool.group_hits) else f", the group pool {pool.group_hits:.1%} of what was asked of it"
        yield Finding.info(
            "buffer_pool",
            f"buffer pool {pool.name} ({pool.pages:,} pages) answered {pool.hits:.1%} of requests{group}",
            "What a pool answers gains nothing by faster storage; hotplace ranks by what it does not.",
            values={"pool": pool.name},
        )
    if pool.ahead >= WORTH_A_WORD and pool.unread > MUCH_UNREAD * pool.ahead:
        yield Finding.warning(
            "buffer_pool_prefetch",
            f"{pool.unread / pool.ahead:.0%} of what was read ahead into {pool.name} was never used "
            f"({pool.wait_ms / 1000:.1f} s waited for it)",
            "A matter of configuration, not of tiers: PREFETCHSIZE, NUM_IOSERVERS, or a larger pool.",
            values={"pool": pool.name},
        )
