"""The connector of the simulated engine, and what its doctor finds.

What the doctor finds in a simulated database: that it is simulated, first of all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from connectors.kit.contract import CannotConnect, Clock, ForegroundReads
from connectors.kit.findings import Capability, Finding
from connectors.model.blocks import BLOCK_HEAT
from connectors.model.moves import Bundle, CopyHabits, NoRoute, Route
from connectors.model.observation import I64, Catalog, Demand, Identity, Inspection, Interval, Sample
from connectors.simulated import mover, sampler
from connectors.simulated.mover import SimulatedSession, WorldLease
from connectors.simulated.sampler import classify
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import World, shared_world

FULL = 0.9  # share of a space from which it is worth a word
NO_POOL = "a simulated world has no pool of blocks"
REAL_ENGINE = "Name a real engine to see real figures."
MAY_MOVE = "Set `may_move: true` for the login that moves."


def findings(world: World, *, may_move: bool) -> tuple[Finding, ...]:
    """Everything worth knowing, what is fine included."""
    return (*_nature(world), *_rights(may_move=may_move), *_spaces(world))


def _nature(world: World) -> Iterator[Finding]:
    yield Finding.ok("connected", f"The simulated scenario {world.scenario.name} answers.")
    yield Finding.info(
        "model",
        "All waits and gains are those of a model; no storage is measured.",
        REAL_ENGINE,
    )
    yield Finding.info("block_looks", f"Large tables are not looked into: {NO_POOL}.", REAL_ENGINE)
    if world.store is None:
        yield Finding.info(
            "in_memory", "The world is forgotten at the end of the process.", "Name a file in `state` to keep it."
        )
    if world.settings.faults:
        kinds = sorted({fault.kind.value for fault in world.settings.faults})
        yield Finding.warning("faults", f"Faults are configured: {', '.join(kinds)}.", "Remove `faults` to have none.")


def _rights(*, may_move: bool) -> Iterator[Finding]:
    if not may_move:
        yield Finding.error("may_not_move", "This login may look and not move.", MAY_MOVE, about_moving=True)


def _spaces(world: World) -> Iterator[Finding]:
    with world.turn():
        free = world.placement.free_bytes()
    for row, space in enumerate(world.placement.spaces):
        share = 1.0 - float(free[row]) / space.capacity_bytes
        if share >= FULL:
            yield Finding.warning(
                "space_nearly_full",
                f"{space.name} is {share:.0%} full.",
                f"Move something cold out of {space.name}.",
                values={"space": space.name},
            )
    if len({space.device.name for space in world.placement.spaces}) == 1:
        yield Finding.warning(
            "one_device",
            "All spaces are on one device, so no move can gain anything.",
            "Add a space on another device.",
        )


def capabilities(*, may_move: bool) -> tuple[Capability, ...]:
    """Capabilities of this login."""
    return (
        Capability(name="object_counters", available=True, because="the simulator counts pages of every unit"),
        Capability(name="sync_reads_measured", available=True, because="it tells waited-for reads from read-ahead"),
        Capability(
            name="move",
            available=may_move,
            because="this login may move" if may_move else "`may_move` is false",
            advice="" if may_move else MAY_MOVE,
        ),
        Capability(
            name="move_online",
            available=may_move,
            because="MOVE ... ONLINE copies while sessions go on" if may_move else "`may_move` is false",
            advice="" if may_move else MAY_MOVE,
        ),
        Capability(name=BLOCK_HEAT, available=False, because=NO_POOL, advice=REAL_ENGINE),
    )


class SimulatedConnector:
    """One client of a world. Any number of them may share it."""

    def __init__(self, world: World, *, may_move: bool = True, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or world.clock  # a shared world does not keep it alive, so we do
        self._may_move = may_move
        self._open = True
        self.session = SimulatedSession(
            world, self._clock, read_only=True
        )  # what reading goes over: it cannot change anything

    def identify(self) -> Identity:
        """The simulated server, identified."""
        world = self._reach_world()
        return Identity(
            engine="simulated",
            version="simulated 1.0",
            version_number=(1, 0),
            edition="",
            database=world.scenario.name,
            fingerprint=world.fingerprint,
            topology="single",
            writable=True,
        )

    def capabilities(self) -> tuple[Capability, ...]:
        """Capabilities of this login."""
        return capabilities(may_move=self._may_move)

    def catalog(self) -> Catalog:
        """Spaces and units."""
        return sampler.read_catalog(self._reach_world())

    def sample(self) -> Sample:
        """Cumulative counters.

        Raises:
            TimedOut: a fault has lost it.
        """
        return sampler.take_sample(self._reach_world())

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """Counters as signals; nothing is estimated."""
        del catalog  # the counters say it all
        return classify(interval)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes of each unit, -1 where it is gone."""
        catalog = self.catalog()
        rows = catalog.units.rows_of(physical_ids)
        sizes = np.append(catalog.units.size_bytes, -1)  # row -1 is the one past the end
        return sizes[rows]

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """Online, then offline; or why not."""
        return mover.routes(self._reach_world(), bundle, to_space)

    def foreground_reads(self) -> ForegroundReads:
        """Reads of all sessions; copies are not among them."""
        return sampler.read_foreground(self._reach_world())

    def copy_habits(self) -> CopyHabits:
        """A copy has its share of a device to itself."""
        return CopyHabits(whole=True)

    def inspect(self, route: Route) -> Inspection:
        """Where the bundle is."""
        return mover.inspect(self._reach_world(), route)

    def doctor(self) -> tuple[Finding, ...]:
        """Findings."""
        return findings(self._reach_world(), may_move=self._may_move)

    def open_mover(self) -> SimulatedSession:
        """A session that may write."""
        return SimulatedSession(self._reach_world(), self._clock, read_only=False, may_move=self._may_move)

    def acquire_lease(self, holder: str) -> WorldLease:
        """Become the one acting agent.

        Raises:
            LeaseHeld: another one is.
        """
        return WorldLease(self._reach_world(), holder)

    def close(self) -> None:
        """End the session."""
        self._open = False

    def _reach_world(self) -> World:
        if not self._open:
            raise CannotConnect("the connector is closed", advice="Connect again.")
        return self._world


def connect(settings: SimulatedSettings, clock: Clock) -> SimulatedConnector:
    """A client of the world of these settings.

    Raises:
        CannotConnect: its state file cannot be used.
    """
    return SimulatedConnector(shared_world(settings, clock), may_move=settings.may_move, clock=clock)
