"""Who is in a database: units with sizes and mean demand, drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I8, I64, NO_PARENT, SIGNALS, Signal, UnitTable

MIB = 2**20
GIB = 2**30
FIRST_ID = 16384

# Shares of the units by what they are; every kind that looks hot and is not, is among them.
RANDOM, SCANNED, CACHED, WRITTEN, IDLE = range(5)
KINDS = (0.62, 0.13, 0.08, 0.07, 0.10)
SIZE_MATTERS = 0.8  # reads grow with this power of the size


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Units as columns. Every unit moves by itself."""

    key: Sequence[str]
    kind: I8  # UnitKind
    size_bytes: I64
    parent: I64  # row of the table an index belongs to, NO_PARENT for a table
    rates: F64  # (SIGNALS, n) mean per second

    def __len__(self) -> int:
        return len(self.size_bytes)

    def units(self, space: int | Sequence[int] = 1) -> UnitTable:
        """The unit table with every unit in the given space (or spaces, one each)."""
        ids = np.arange(len(self), dtype=np.int64) + FIRST_ID
        return UnitTable(
            physical_id=ids,
            key=self.key,
            kind=self.kind,
            size_bytes=self.size_bytes,
            space=np.broadcast_to(np.asarray(space, dtype=np.int32), ids.shape).copy(),
            bundle=ids.copy(),
            parent=np.where(self.parent == NO_PARENT, NO_PARENT, self.parent + FIRST_ID),
        )

    def scaled(self, factor: float) -> Catalogue:
        """The same units, so many times as busy."""
        return replace(self, rates=self.rates * factor)


def mixed(units: int, seed: int, *, total_bytes: int = 600 * GIB, sync_reads: float = 2_000.0) -> Catalogue:
    """A database of every kind: heat by Zipf 0.9, more of it on larger units, log-normal sizes (sigma 1.5).

    About as skewed as the published SAP warehouse (60 and 70 %): the best tenth of the bytes holds 65 % of what can be
    saved, the best fifth 77 %, as means of eight seeds.

    Args:
        units: how many.
        seed: decides everything.
        total_bytes: of all units, about.
        sync_reads: random reads a second that sessions wait for, of all units together.
    """
    draw = np.random.default_rng(seed)
    what = draw.choice(len(KINDS), size=units, p=KINDS)
    size = draw.lognormal(0.0, 1.5, units)
    index = (what == RANDOM) & (draw.random(units) < 1 / 3)
    size[index] *= 0.25
    heat = draw.permutation(1.0 / np.arange(1, units + 1, dtype=np.float64) ** 0.9) * size**SIZE_MATTERS
    tables = np.flatnonzero((what == RANDOM) & ~index)
    parent = np.full(units, NO_PARENT, dtype=np.int64)
    parent[index] = draw.choice(tables, size=int(index.sum()))
    rates = _rates(what, heat, draw)
    rates *= sync_reads / rates[Signal.SYNC_READ].sum()
    return Catalogue(
        key=[f"app.{'ix' if index[row] else 't'}{row:05d}" for row in range(units)],
        kind=np.where(index, UnitKind.INDEX, UnitKind.TABLE).astype(np.int8),
        size_bytes=(size / size.sum() * total_bytes).astype(np.int64) + 8192,
        parent=parent,
        rates=rates,
    )


def _rates(what: I64, heat: F64, draw: np.random.Generator) -> F64:
    """Demand by kind: random reads miss, scans are read ahead, the cached miss nothing, logs are written."""
    rates = np.zeros((SIGNALS, len(what)))
    hits = draw.uniform(2.0, 10.0, len(what))  # logical reads per read that misses
    random, scanned, cached, written = ((what == kind) * heat for kind in (RANDOM, SCANNED, CACHED, WRITTEN))
    rates[Signal.SYNC_READ] = random + 0.02 * scanned
    rates[Signal.PREFETCHED_READ] = 12.0 * scanned + 0.2 * random
    rates[Signal.LOGICAL_READ] = hits * random + 12.0 * scanned + 60.0 * cached + written
    rates[Signal.ASYNC_WRITE] = 0.1 * random + 6.0 * written
    return rates
