"""What an engine shows: spaces, units, samples, intervals and demand, as frozen dataclasses that know no engine.

``SpaceFigures`` and ``RoleFigures`` hold I/O that belongs to no unit: of whole spaces, and of logs, temporary and undo
space.

Units are many, so what exists once per unit is a column: a numpy array whose row ``i`` belongs to unit ``i``. Spaces,
routes, steps and findings are few, and are objects. Those of a move are in ``connectors.model.moves``, which works
without numpy.

Times are aware and in UTC, durations are seconds, sizes are bytes, rates are per second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from connectors.model.formatting import format_seconds
from connectors.model.moves import Container, Step, UnitKind

_F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceFigures:
    """I/O per space, for engines that time it there: totals in a Sample, differences in an Interval, rates in a Demand.

    A figure that the engine does not keep is NaN.
    """

    name: tuple[str, ...]  # of Space
    reads: _F64  # random ones that sessions waited for
    read_seconds: _F64  # how long they waited for those
    writes: _F64
    write_seconds: _F64

    def __post_init__(self) -> None:
        lengths = {len(c) for c in (self.name, self.reads, self.read_seconds, self.writes, self.write_seconds)}
        if len(lengths) > 1:
            raise ValueError(f"columns of space figures differ in length: {sorted(lengths)}")


class Role(StrEnum):
    """What a device does for the database besides holding units."""

    LOG = "log"
    TEMP = "temp"  # sorts and temporary tables
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFigures:
    """I/O of a log, temporary or undo space: totals in a Sample, differences in an Interval, rates in a Demand.

    A figure that the engine does not keep is NaN.
    """

    role: Role
    name: str  # the engine's own word for it, or the space
    reads: float = float("nan")
    read_seconds: float = float("nan")
    writes: float = float("nan")
    write_seconds: float = float("nan")
    waited_seconds: float = float("nan")  # that sessions waited for it, of either kind
    written_bytes: float = float("nan")
    active_seconds: float = float("nan")  # that all sessions it serves spent executing; NaN: it serves this database
    note: str = ""  # what must be known of these figures: a bound, what is not timed and why

    def per_second(self, seconds: float) -> RoleFigures:
        """Differences as rates."""
        return replace(self, **{name: getattr(self, name) / seconds for name in ROLE_FIGURES})


ROLE_FIGURES = tuple(f.name for f in fields(RoleFigures) if f.name not in ("role", "name", "note"))


F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I16 = NDArray[np.int16]
I8 = NDArray[np.int8]
Counts = I64 | I32 | I16  # whole numbers of 0 or more, the narrowest type in which all of them fit
Bools = NDArray[np.bool_]

NO_PARENT = -1
PARENTS = 3  # at most: an index or LOB, its subpartition, partition, table
REBUILT = frozenset({UnitKind.INDEX, UnitKind.INDEX_PARTITION, UnitKind.LOB})  # under another id
NO_WIDE = -1


class Signal(IntEnum):
    """The rows of a demand matrix. All but the first are I/O that reaches storage, by who waits for it."""

    LOGICAL_READ = 0  # blocks asked of the buffer pool, hit or miss: how busy the unit is, not how slow
    SYNC_READ = 1  # random reads that a session waited for
    PREFETCHED_READ = 2  # sequential or read ahead of the session that wants it
    DIRECT_READ = 3  # past the buffer pool, by the session itself
    ASYNC_WRITE = 4  # written later by a background process
    SYNC_WRITE = 5  # written while a session waits (log-like)


SIGNALS = len(Signal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which database this is, as the engine itself says."""

    engine: str
    version: str  # as the engine prints it
    version_number: tuple[int, ...]  # comparable, e.g. (18, 4)
    edition: str  # "" where the engine has only one
    database: str
    fingerprint: str  # the same for the same data wherever it is reached from; keys ledger and lease
    topology: str  # "single", "replica", ...
    writable: bool  # False on a standby: hotplace only watches there


@dataclass(frozen=True, slots=True)
class SpaceVolume:
    """Where a space is: a file system, a disk group, or the size that is configured for it."""

    capacity_bytes: int
    free_bytes: int  # negative: more is there than was allowed

    @property
    def used_bytes(self) -> int:
        """All that is not free, of the space or of anything else."""
        return self.capacity_bytes - self.free_bytes

    @property
    def fill_ratio(self) -> float | None:
        """How full it is, 0 to 1: the one fill that is shown, measured and alerted on; None: it has no size."""
        return self.used_bytes / self.capacity_bytes if self.capacity_bytes > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A tablespace or filegroup: what a move names."""

    name: str
    path: str  # of its first container; "" where the engine does not say
    used_bytes: int
    free_bytes: int | None  # None: the connector cannot know; configuration may
    capacity_bytes: int | None
    containers: tuple[Container, ...] = ()  # (): the engine does not say
    lost: str = ""  # why it cannot take data now, a sentence without its end; "": nothing is known against it
    domain: str = ""  # units move between spaces of the same domain only, as within an ASP of IBM i

    @property
    def volume(self) -> SpaceVolume | None:
        """The room that it shares with whatever else is there; None: neither free bytes nor capacity are known.

        Where both are known, the smaller claim counts.
        """
        if self.capacity_bytes is None and self.free_bytes is None:
            return None
        capacity = self.used_bytes + (self.free_bytes or 0) if self.capacity_bytes is None else self.capacity_bytes
        left = capacity - self.used_bytes
        return SpaceVolume(capacity, left if self.free_bytes is None else min(left, self.free_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """Every unit of one database, as columns sorted by ``physical_id``."""

    physical_id: I64  # the engine's own id, as in Sample; ascending and unique
    key: Sequence[str]  # logical identity: survives rebuilds, renames of files and failovers
    kind: I8  # UnitKind
    size_bytes: I64  # cheap estimate, good for ranking; exact_sizes() before acting
    space: I32  # row in Catalog.spaces
    bundle: I64  # units with the same number move together
    parent: I64  # physical id of the table an index, LOB or partition belongs to, or NO_PARENT
    wide: I32 | None = None  # row in wide_names of what each unit can also move with, or NO_WIDE; None: all NO_WIDE
    wide_names: tuple[str, ...] = ()  # what can move as a whole, unique: "table space TS_DATA"
    uncounted: Bools | None = None  # the engine shows no reads of these, now or later; None: it does of all

    def __post_init__(self) -> None:
        lengths = {
            len(c)
            for c in (self.physical_id, self.key, self.kind, self.size_bytes, self.space, self.bundle, self.parent)
        } | {len(column) for column in (self.wide, self.uncounted) if column is not None}
        if len(lengths) > 1:
            raise ValueError(f"columns of a unit table differ in length: {sorted(lengths)}")
        if len(self.physical_id) > 1 and not bool(np.all(np.diff(self.physical_id) > 0)):
            raise ValueError(f"physical ids of {len(self.physical_id)} units are not ascending and unique")

    def __len__(self) -> int:
        return len(self.physical_id)

    def only(self, rows: I64) -> UnitTable:
        """The table of some units, in ascending order of their rows."""
        return UnitTable(
            physical_id=self.physical_id[rows],
            key=tuple(self.key[row] for row in rows.tolist()),
            kind=self.kind[rows],
            size_bytes=self.size_bytes[rows],
            space=self.space[rows],
            bundle=self.bundle[rows],
            parent=self.parent[rows],
            wide=None if self.wide is None else self.wide[rows],
            wide_names=self.wide_names,
            uncounted=None if self.uncounted is None else self.uncounted[rows],
        )

    def table_ids(self, rows: Sequence[int]) -> tuple[int, ...]:
        """What tells each unit from another one of the same name: its own id, of indexes and LOBs that of their table.

        An index gets another id when it is rebuilt, and is still the same one.
        """
        return tuple(
            int(
                self.parent[row]
                if self.kind[row] in REBUILT and self.parent[row] != NO_PARENT
                else self.physical_id[row]
            )
            for row in rows
        )

    def table_of(self) -> I64:
        """Physical id of the whole table that each unit is part of; of an index of a partition, the partitioned table.

        Shape ``(len(self),)``; a table that is no part of another is its own.
        """
        table = self.physical_id.copy()
        for _ in range(PARENTS):
            above = self.rows_of(table)
            parent = np.where(above >= 0, self.parent[above], NO_PARENT)
            table = np.where(parent == NO_PARENT, table, parent)
        return table

    def rows_of(self, physical_id: I64) -> I64:
        """Row of each given id, or -1 where the table has no such unit. Shape ``(len(physical_id),)``."""
        if not len(self.physical_id):
            return np.full(len(physical_id), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.physical_id, physical_id), len(self.physical_id) - 1)
        return np.where(self.physical_id[at] == physical_id, at, -1).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Spaces and units at one instant."""

    taken_at: datetime
    spaces: tuple[Space, ...]
    units: UnitTable
    # Physical ids, ascending, whose counters may still be replaced by those of another physical unit: an index that is
    # being built in place of one that has counters.
    unsettled: I64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def settled(self) -> I64:
        """Physical ids, ascending, whose counters stay their own; the units' own column where all do."""
        ids = self.units.physical_id
        return np.setdiff1d(ids, self.unsettled, assume_unique=True) if len(self.unsettled) else ids

    def space_row(self, name: str) -> int:
        """Row of the space of that name.

        Raises:
            LookupError: there is none.
        """
        for row, space in enumerate(self.spaces):
            if space.name == name:
                return row
        raise LookupError(f"no space is named {name!r}; there are {', '.join(s.name for s in self.spaces)}")


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the units a sample has read, where reading the counters of all takes too long."""

    units: int
    read: int  # at this turn
    never: int  # of them, not read yet
    oldest_seconds: float  # since the reading of the others that is longest ago

    @property
    def sentence(self) -> str:
        """For people; no full stop."""
        said = f"counters of {self.read:,} of {self.units:,} units were read with this sample"
        if self.never:
            return f"{said}, {self.never:,} have not been read yet"
        return f"{said}, the others up to {format_seconds(self.oldest_seconds)} earlier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Cumulative counters at one instant. A unit that is absent has all its counters at zero."""

    taken_at: datetime
    monotonic_seconds: float  # the agent's own clock that never jumps; only differences mean anything
    epoch: str  # another epoch means the counters were reset (by a DBA, a restart, a failover)
    physical_id: I64  # ascending and unique
    counters: Mapping[str, Counts | F64]  # engine's names; each aligned with physical_id; parts where read by turns
    database: Mapping[str, float]  # cumulative figures of the whole database, see DatabaseDemand
    server_seconds: float  # what this sample cost the server, as far as the connector can tell
    spaces: SpaceFigures | None = None  # totals; None: the engine does not time I/O per space
    roles: tuple[RoleFigures, ...] = ()  # totals; empty: the engine does not tell them apart
    unread: I64 | None = None  # ascending; units whose counters were too many to be read this time; None: all were
    coverage: Coverage | None = None  # None: all were read

    @property
    def unread_sentence(self) -> str:
        """How many were read, and when the others; "" where all were. No full stop."""
        return "" if self.coverage is None else self.coverage.sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What happened between two samples of one epoch."""

    started_at: datetime
    ended_at: datetime
    seconds: float  # > 0, by the monotonic clock
    physical_id: I64  # ascending; units that moved no counter may be absent
    deltas: Mapping[str, F64]  # per counter, >= 0
    restarted: Bools  # a counter of it fell, or it was not read: its deltas are 0 and are no evidence of cold
    database: Mapping[str, float]  # differences; absent where one fell
    spaces: SpaceFigures | None = None  # differences; NaN where one fell or the space is new
    roles: tuple[RoleFigures, ...] = ()  # differences; NaN where one fell

    def role_rates(self) -> tuple[RoleFigures, ...]:
        """The same as ``roles``, per second."""
        return tuple(figures.per_second(self.seconds) for figures in self.roles)

    def database_rates(self) -> DatabaseDemand:
        """The whole database's figures by their usual names, per second; NaN for what was not measured."""

        def rate(name: str) -> float:
            return self.database.get(name, float("nan")) / self.seconds

        return DatabaseDemand(
            reads=rate("reads"),
            read_wait=rate("read_seconds"),
            write_wait=rate("write_seconds"),
            transactions=rate("transactions"),
            active=rate("active_seconds"),
            population=rate("population_seconds"),
            readers=rate("readers_seconds"),
            readers_active=rate("readers_active_seconds"),
            readers_transactions=rate("readers_transactions"),
            processor=rate("processor_seconds"),
            processors=rate("processors_seconds"),
            others_processor=rate("others_processor_seconds"),
            open_ages=rate("open_ages_seconds"),
            oldest_open=rate("oldest_open_seconds"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseDemand:
    """Rates of the whole database; NaN where the engine does not measure."""

    reads: float = float("nan")  # physical reads per second
    read_wait: float = float("nan")  # seconds sessions waited for reads, per second
    write_wait: float = float("nan")
    transactions: float = float("nan")
    active: float = float("nan")  # session seconds spent executing, per second: the Amdahl base
    population: float = float("nan")  # sessions in use on average: at work, or between two of their transactions
    readers: float = float("nan")  # of the sessions in use, those of kinds that wait for reads
    readers_active: float = float("nan")  # session seconds that these spend executing, per second
    readers_transactions: float = float("nan")  # of the transactions, theirs, as far as looks tell
    processor: float = float("nan")  # processor seconds that its server takes, per second
    processors: float = float("nan")  # that its server may use
    others_processor: float = float("nan")  # of these, seconds a second that other programs of the machine take
    open_ages: float = float("nan")  # seconds for which its open transactions have been open, all of them together
    oldest_open: float = float("nan")  # seconds for which the oldest of them has been open
    read_ahead: float = float("nan")  # blocks read ahead of sessions or past the buffer pool, see ``with_background``
    written: float = float("nan")  # blocks written that no session waited for
    scan_reads: float = float("nan")  # of the reads, those of scans whose wait is measured apart: large tables, VACUUM
    scan_wait: float = float("nan")  # of the wait for reads, theirs
    logged: float = float("nan")  # bytes written to the log, or writes to it where only these are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Rates per second between two samples, by unit and signal."""

    ended_at: datetime
    seconds: float
    physical_id: I64  # ascending; absent units had none
    rates: F64  # shape (SIGNALS, len(physical_id)), >= 0
    observed: Bools  # False: the interval says nothing about this unit (its counters restarted)
    estimated: frozenset[Signal]  # signals the engine does not measure: bounds, see the connector
    database: DatabaseDemand
    spaces: SpaceFigures | None = None  # rates per second
    roles: tuple[RoleFigures, ...] = ()  # rates per second
    waited: F64 | None = None  # seconds per second that sessions waited for each unit's reads; NaN, None: not measured

    def __post_init__(self) -> None:
        if self.rates.shape != (SIGNALS, len(self.physical_id)):
            raise ValueError(f"rates have shape {self.rates.shape}, expected {(SIGNALS, len(self.physical_id))}")
        if self.waited is not None and self.waited.shape != self.physical_id.shape:
            raise ValueError(f"waits have shape {self.waited.shape}, expected {self.physical_id.shape}")
        if self.seconds <= 0:
            raise ValueError(f"an interval lasts {self.seconds} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """Something that a statement of a move would wait for, as things are now."""

    sentence: str  # who, since when and in what state; no full stop
    gives_way: bool = False  # in time to a statement that waits long enough: background work, a young transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Remnant:
    """Something that an interrupted run has left: its space and size."""

    space: str
    size_bytes: int


class Home(StrEnum):
    """Where the catalog says a bundle is."""

    SOURCE = "source"
    TARGET = "target"
    SPLIT = "split"  # some units here, some there
    ELSEWHERE = "elsewhere"  # it was moved to a third place
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The truth about a move, read from the engine's catalog."""

    home: Home
    sentence: str
    size_bytes: int
    on_disk: bool | None  # the files were seen in the target's folder; None: cannot look
    leftovers: tuple[Step, ...] = ()  # what would tidy an interrupted run; those among Route.tidy_steps are approved
    running: bool = False  # the server still executes a statement of this move
    finished: bool = False  # it has arrived and none of its own statements is left to send, leftovers aside
    remnants: tuple[Remnant, ...] = ()  # what each of leftovers would remove; empty: not known
    paused: bool = False  # the server holds a statement of this move, and can go on with it
    unfinished: tuple[Step, ...] = ()  # what ends a move that a next try would go on with; sent if none follows


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a running step is."""

    done_bytes: int
    total_bytes: int
    sentence: str
    done_ratios: tuple[float, ...] = ()  # of each of ``Route.transfers``, where the engine tells by phase; (): by bytes
