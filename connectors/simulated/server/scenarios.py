"""The worlds one can ask for. Each is a pure function of seed and size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from connectors.model import NO_PARENT, UnitKind
from connectors.simulated.server.devices import HDD, SSD, Device
from connectors.simulated.server.language import qualify
from connectors.simulated.server.units import FIRST_ID, Units, UnitSpec, build

MB = 10**6
GB = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSpec:
    """A space with its one container on one device."""

    name: str
    device: Device
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
