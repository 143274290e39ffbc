"""What one vector of demand consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Counters = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A table dbo.<name> with a clustered primary key and the index ix_<name>; pages of each partition."""

    space: str
    pages: int = 8000
    lob_pages: int = 0
    heap: bool = False
    boundaries: tuple[object, ...] = ()  # of its partitions, all in ``space``; (): it has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the counters rose by.

    Attributes:
        rows: of sys.dm_db_index_operational_stats, by key of the heap, index or partition.
        files: of sys.dm_io_virtual_file_stats by filegroup: reads, pages read, milliseconds of stall.
        read_ahead: pages of them that were read ahead (Readahead pages/sec).
    """

    rows: Mapping[str, Counters] = field(default_factory=dict)
    files: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    read_ahead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A workload of ``seconds``, its counters, the truth, and what a perfect observer of these counters can say.

    Attributes:
        workload: what sessions do, and how long each read takes them.
        before: totals when the interval begins; a workload of another kind.
        during: what they rise by.
        truth: seconds per second that sessions wait for each unit's reads; what is missing is 0.
        bounds: of units whose wait these counters do not give, only an interval; the others are measured.
        together: units whose waits are measured as one sum only, each set with none other in it.
        order: pairs of units: the first must be said to be waited for longer than the second.
        running: commands of others that run meanwhile.
        held_out: not to be looked at while demand is mended.
    """

    name: str
    workload: str
    tables: Mapping[str, Placed]
    during: Counted
    truth: Mapping[str, float]
    before: Counted = Counted()
    seconds: float = 100.0
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    together: tuple[tuple[str, ...], ...] = ()
    order: tuple[tuple[str, str], ...] = ()
    running: tuple[str, ...] = ()
    held_out: bool = False

    def units(self) -> list[str]:
        """Keys of all units."""
        found = []
        for name, table in self.tables.items():
            parts = [f" partition {n + 1}" for n in range(len(table.boundaries) + 1)] if table.boundaries else [""]
            for part in parts:
                found += [f"[dbo].[{name}]{part}", f"[dbo].[{name}].[ix_{name}]{part}"]
                found += [f"[dbo].[{name}] lob{part}"] if table.lob_pages else []
        return found
