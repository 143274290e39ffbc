"""What one vector of demand consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Counters = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A table of schema APP with the table spaces of its parts."""

    space: str
    pages: int
    indexes: Mapping[str, int]  # pages by name; IID in that order
    index_space: str = ""  # "": as the data
    long_space: str = ""
    lob_pages: int = 0
    organized: str = "R"

    def homes(self) -> tuple[str, str, str]:
        """Table spaces of data, indexes and LOBs."""
        return self.space, self.index_space or self.space, self.long_space or self.space


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the counters of one member rose by."""

    tables: Mapping[str, Counters] = field(default_factory=dict)  # MON_GET_TABLE
    indexes: Mapping[str, Counters] = field(default_factory=dict)  # MON_GET_INDEX
    spaces: Mapping[str, Counters] = field(default_factory=dict)  # MON_GET_TABLESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A workload of ``seconds``, its counters, the truth, and what a perfect observer of these counters can say.

    Attributes:
        workload: what sessions do, and how long each read takes them; read times are of the workload, no engine's.
        storage: storage group by table space.
        before: totals when the interval begins, on each member; a workload of another kind.
        during: what they rise by, by member.
        truth: seconds per second that sessions wait for each unit's reads; what is missing is 0.
        bounds: of units whose wait these counters do not give, only an interval; the others are measured.
        order: pairs of units: the first must be said to be waited for longer than the second.
        elsewhere_ms: waits in a space that belong to no unit: temporary tables, a backup.
        utility: kind of a utility that runs meanwhile, "" none.
    """

    name: str
    workload: str
    storage: Mapping[str, str]
    tables: Mapping[str, Placed]
    during: tuple[Counted, ...]
    truth: Mapping[str, float]
    seconds: float = 100.0
    before: Counted = Counted()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    order: tuple[tuple[str, str], ...] = ()
    elsewhere_ms: Mapping[str, int] = field(default_factory=dict)
    utility: str = ""
    held_out: bool = False

    def units(self) -> list[str]:
        """Keys of all units."""
        found = []
        for name, table in self.tables.items():
            found += [f"APP.{name}", *(f"index APP.{index}" for index in table.indexes)]
            found += [f"APP.{name} lob"] if table.lob_pages else []
        return found
