"""The worlds one can ask for: units, devices, and how each follows from a seed.

The units of a simulated database and what a transaction does to them, as columns.

Devices as queues, and what a closed population of sessions gets out of them.

The worlds one can ask for. Each is a pure function of seed and size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I8, I32, I64, NO_PARENT, Bools
from connectors.simulated.language import qualify

FIRST_ID = 16384
COUNTERS = ("logical_reads", "sync_reads", "prefetched_reads", "async_writes")  # pages, cumulative


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSpec:
    """One unit, declared. Rates are pages per transaction of the whole workload."""

    key: str
    kind: UnitKind
    size_bytes: int
    space: str
    random_reads: float = 0.0  # by key; a session waits for each that misses the buffer pool
    working_share: float = 1.0  # of the unit that random reads go to
    sequential_reads: float = 0.0  # by scans; read ahead, past the buffer pool
    writes: float = 0.0  # later, by a background process
    parent: str = ""  # key of the table it belongs to
    with_parent: bool = False  # moves as one bundle with it

    def plain(self) -> dict[str, Any]:
        """As JSON values; ``UnitSpec(**plain)`` is the inverse."""
        return {**asdict(self), "kind": int(self.kind)}


@dataclass(slots=True)
class Units:
    """Columns, one row per unit that ever was. Rows never move; dropped ones are no longer ``alive``."""

    keys: list[str]
    physical_id: I64
    kind: I8
    size_bytes: I64
    space: I32
    bundle: I64
    parent: I64
    random_reads: F64
    working_bytes: F64
    sequential_reads: F64
    writes: F64
    alive: Bools

    def __len__(self) -> int:
        return len(self.keys)

    def append(self, more: Units) -> None:
        """Add rows."""
        self.keys.extend(more.keys)
        for column in fields(self):
            if column.name != "keys":
                joined = np.concatenate([getattr(self, column.name), getattr(more, column.name)])
                setattr(self, column.name, joined)


def build(
    specs: Sequence[UnitSpec], spaces: Sequence[str], first_id: int = FIRST_ID, known: Mapping[str, int] | None = None
) -> Units:
    """Columns for a few declared units; a parent stands before its children.

    Args:
        specs: what is declared.
        spaces: names, by row.
        first_id: physical id of the first unit.
        known: physical ids of units that are there, by key: they may be parents.

    Raises:
        LookupError: a spec names a parent or space that is not there.
    """
    ids = {**(known or {}), **{spec.key: first_id + at for at, spec in enumerate(specs)}}
    rows = {name: row for row, name in enumerate(spaces)}
    parents = [ids[spec.parent] if spec.parent else NO_PARENT for spec in specs]
    bundles = [p if spec.with_parent else ids[spec.key] for spec, p in zip(specs, parents, strict=True)]
    sizes = np.array([spec.size_bytes for spec in specs], dtype=np.int64)
    return Units(
        keys=[spec.key for spec in specs],
        physical_id=np.arange(first_id, first_id + len(specs), dtype=np.int64),
        kind=np.array([spec.kind for spec in specs], dtype=np.int8),
        size_bytes=sizes,
        space=np.array([rows[spec.space] for spec in specs], dtype=np.int32),
        bundle=np.array(bundles, dtype=np.int64),
        parent=np.array(parents, dtype=np.int64),
        random_reads=np.array([spec.random_reads for spec in specs], dtype=np.float64),
        working_bytes=np.array([spec.size_bytes * spec.working_share for spec in specs], dtype=np.float64),
        sequential_reads=np.array([spec.sequential_reads for spec in specs], dtype=np.float64),
        writes=np.array([spec.writes for spec in specs], dtype=np.float64),
        alive=np.ones(len(specs), dtype=np.bool_),
    )


LARGEST_BACKGROUND = 0.95  # share of a device that background work can take from sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDevice:
    """One device: service times in seconds, as many requests at a time as it has channels."""

    name: str
    random_seconds: float
    sequential_seconds: float  # per block, read ahead, seeks between interleaved streams included
    write_seconds: float  # per block, written sorted by a background process
    bytes_per_second: float
    channels: int


# 15k drive: 180 IOPS, 5.5 ms; a scan among random reads pays one seek each 128 KiB (6.2 ms / 16 blocks)
HDD = SimulatedDevice(
    name="hdd",
    random_seconds=1 / 180,
    sequential_seconds=0.39e-3,
    write_seconds=1e-3,
    bytes_per_second=160e6,
    channels=1,
)
SSD = SimulatedDevice(
    name="ssd",
    random_seconds=0.2e-3,
    sequential_seconds=0.02e-3,
    write_seconds=0.1e-3,
    bytes_per_second=500e6,
    channels=4,
)


def mean_value(demand: F64, channels: F64, sessions: int, think_seconds: float) -> tuple[float, F64]:
    """Exact mean value analysis of one closed class (Reiser and Lavenberg 1980).

    A station with m channels counts as a queue of demand/m and a delay of the rest (Seidmann 1987).

    Args:
        demand: seconds of service a transaction needs at each station, shape ``(k,)``.
        channels: servers of each station, shape ``(k,)``.
        sessions: how many there are.
        think_seconds: what a session pauses between transactions.

    Returns:
        Transactions per second, and seconds a transaction spends at each station, waiting included, shape ``(k,)``.
    """
    queueing = demand / channels
    delay = demand - queueing
    fixed = think_seconds + float(delay.sum())
    throughput, residence, waiting = 0.0, queueing, np.zeros_like(queueing)
    for population in range(1, sessions + 1):
        residence = queueing * (1.0 + waiting)
        throughput = population / (fixed + float(residence.sum()))
        waiting = throughput * residence
    return throughput, residence + delay


def with_background(
    demand: F64, background: F64, taken: F64, channels: F64, sessions: int, think_seconds: float
) -> tuple[float, F64]:
    """``mean_value`` where the stations also do work in the background.

    Args:
        demand: as in ``mean_value``.
        background: seconds of such work per transaction at each station (written pages).
        taken: share of each station that something else takes (a copy), 0 to 1.
        channels: as in ``mean_value``.
        sessions: as in ``mean_value``.
        think_seconds: as in ``mean_value``.

    Returns:
        As ``mean_value``: the fixed point where background work follows the throughput, found by bisection.
    """

    def answer(throughput: float) -> tuple[float, F64]:
        busy = np.minimum(throughput * background / channels + taken, LARGEST_BACKGROUND)
        return mean_value(demand / (1.0 - busy), channels, sessions, think_seconds)

    # Bisection and not iteration of the answer: where background work is large, more throughput slows reads so much
    # that an iteration jumps to and fro. The answer falls with the throughput asked for, so there is one crossing.
    low, high = 0.0, answer(0.0)[0]
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if answer(middle)[0] > middle else (low, middle)
    return answer((low + high) / 2.0)


MB = 10**6
GB = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSpec:
    """A space with its one container on one device."""

    name: str
    device: SimulatedDevice
    capacity_bytes: int

    @property
    def path(self) -> str:
        """Where its container would be."""
        return f"/simulated/{self.device.name}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A database with its storage and its sessions."""

    name: str
    spaces: tuple[SpaceSpec, ...]
    units: Units
    pool_bytes: int
    sessions: int
    think_seconds: float
    cpu_seconds: float  # of one transaction
    cores: int
    commit_seconds: float  # a session waits this long for the log at the end of a transaction


def oltp(seed: int, units: int) -> Scenario:
    """One of each kind that matters: what deserves fast storage, and every decoy that only looks so.

    ``orders`` and its index are hot and read at random; ``products`` is busiest and fully cached; ``events`` is large
    and scanned; ``history`` is only appended to; ``archive_2019`` is cold and sits on ssd; of ``measurements`` only
    the newest partition is hot; ``documents`` moves with its LOB as one bundle.
    """
    del seed, units  # nothing in it is left to chance
    spaces = (
        SpaceSpec(name="hdd", device=HDD, capacity_bytes=100 * GB),
        SpaceSpec(name="ssd", device=SSD, capacity_bytes=8 * GB),
    )
    return Scenario(
        name="oltp",
        spaces=spaces,
        units=build(_shop(), [space.name for space in spaces]),
        pool_bytes=512 * MB,
        sessions=16,
        think_seconds=0.01,
        cpu_seconds=0.4e-3,
        cores=4,
        commit_seconds=1e-3,
    )


def _shop() -> list[UnitSpec]:
    """The units of ``oltp``."""

    def table(name: str, size_bytes: int, space: str = "hdd", **more: float) -> UnitSpec:
        key = qualify("shop", name)
        return UnitSpec(key=key, kind=UnitKind.TABLE, size_bytes=size_bytes, space=space, **more)  # type: ignore[arg-type]  # fields by name

    def index(name: str, parent: str, size_bytes: int, **more: float) -> UnitSpec:
        return UnitSpec(
            key=qualify("shop", name), kind=UnitKind.INDEX, size_bytes=size_bytes, space="hdd",
            parent=qualify("shop", parent), **more,  # type: ignore[arg-type]  # fields by name
        )  # fmt: skip

    specs = [
        table("orders", 2 * GB, random_reads=2.0, working_share=0.6, writes=0.3),
        index("orders_pkey", "orders", 300 * MB, random_reads=1.0, writes=0.05),
        index("orders_by_customer", "orders", 250 * MB, random_reads=0.6, writes=0.05),
        table("customers", 600 * MB, random_reads=0.3),
        index("customers_pkey", "customers", 80 * MB, random_reads=0.3),
        table("products", 40 * MB, random_reads=30.0),
        index("products_pkey", "products", 5 * MB, random_reads=10.0),
        table("events", 8 * GB, sequential_reads=4.0),
        table("history", 4 * GB, writes=0.5),
        table("archive_2019", 6 * GB, space="ssd"),
        index("archive_2019_pkey", "archive_2019", 400 * MB),
        table("documents", 500 * MB, random_reads=0.2),
        UnitSpec(
            key=f'{qualify("shop", "documents")} LOB "body"', kind=UnitKind.LOB, size_bytes=1500 * MB, space="hdd",
            random_reads=0.4, parent=qualify("shop", "documents"), with_parent=True,
        ),
        table("measurements", 0),
    ]  # fmt: skip
    for quarter, reads in ((1, 0.0), (2, 0.0), (3, 0.02), (4, 1.0)):
        parent = qualify("shop", "measurements")
        key = qualify("shop", f"measurements_2024q{quarter}")
        specs.append(
            UnitSpec(
                key=key, kind=UnitKind.TABLE_PARTITION, size_bytes=GB, space="hdd", random_reads=reads, parent=parent
            )
        )
    return specs


def eight_tables(seed: int, units: int) -> Scenario:
    """The laboratory of a real PostgreSQL: 8 tables of 67 MB with an index of 11 MB, 85 % of lookups go to the first.

    Measured there with 8 clients on one spindle: 125 transactions a second with all on hdd, 613 with the first table
    and its index on ssd, 14,000 to 20,000 with all on ssd.
    """
    del seed, units
    specs = []
    for number in range(8):
        share = 0.85 if number == 0 else 0.15 / 7
        heap, leaf = qualify("lab", f"t{number}"), qualify("lab", f"t{number}_pkey")
        specs.append(UnitSpec(key=heap, kind=UnitKind.TABLE, size_bytes=67 * MB, space="hdd", random_reads=share))
        specs.append(
            UnitSpec(
                key=leaf, kind=UnitKind.INDEX, size_bytes=11 * MB, space="hdd", random_reads=share, parent=heap
            )  # the upper levels of an index are always cached, so a lookup is one leaf
        )
    spaces = (
        SpaceSpec(name="hdd", device=HDD, capacity_bytes=2 * GB),
        SpaceSpec(name="ssd", device=SSD, capacity_bytes=GB),
    )
    return Scenario(
        name="eight_tables", spaces=spaces, units=build(specs, ["hdd", "ssd"]), pool_bytes=16 * MB, sessions=8,
        think_seconds=0.0, cpu_seconds=0.1e-3, cores=2, commit_seconds=0.0,
    )  # fmt: skip


def synthetic(seed: int, units: int) -> Scenario:
    """As many tables as asked: heat by Zipf 1.1 in an order drawn from the seed, log-normal sizes (sigma 1.8).

    A third of the units are mostly scanned, as heat without waiting. The pool holds 5 %, ssd 10 % of all bytes.
    """
    draw = np.random.default_rng(seed)
    sizes = np.maximum(draw.lognormal(np.log(20 * MB), 1.8, units), 8192).astype(np.int64)
    heat = 1.0 / np.arange(1, units + 1, dtype=np.float64) ** 1.1
    heat = draw.permutation(heat / heat.sum())
    scanned = draw.random(units) < 1 / 3
    total = int(sizes.sum())
    ids = np.arange(FIRST_ID, FIRST_ID + units, dtype=np.int64)
    columns = Units(
        keys=[qualify("app", f"t{number:07d}") for number in range(units)],
        physical_id=ids,
        kind=np.zeros(units, dtype=np.int8),
        size_bytes=sizes,
        space=np.zeros(units, dtype=np.int32),
        bundle=ids.copy(),
        parent=np.full(units, NO_PARENT, dtype=np.int64),
        random_reads=np.where(scanned, 0.3, 3.0) * heat,
        working_bytes=sizes * draw.uniform(0.2, 1.0, units),
        sequential_reads=np.where(scanned, 8.0, 0.0) * heat,
        writes=0.2 * heat,
        alive=np.ones(units, dtype=np.bool_),
    )
    spaces = (
        SpaceSpec(name="hdd", device=HDD, capacity_bytes=2 * total),
        SpaceSpec(name="ssd", device=SSD, capacity_bytes=max(total // 10, 8192)),
    )
    return Scenario(
        name="synthetic", spaces=spaces, units=columns, pool_bytes=total // 20, sessions=16,
        think_seconds=0.01, cpu_seconds=0.4e-3, cores=4, commit_seconds=1e-3,
    )  # fmt: skip


SCENARIOS: dict[str, Callable[[int, int], Scenario]] = {
    "oltp": oltp,
    "synthetic": synthetic,
    "eight_tables": eight_tables,
}
