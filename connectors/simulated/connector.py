"""The connector of the simulated engine."""

from __future__ import annotations

import numpy as np

from connectors.base import CannotConnect, Clock, ForegroundReads
from connectors.findings import Capability, Finding
from connectors.model import I64, Bundle, Catalog, Demand, Identity, Inspection, Interval, NoRoute, Route, Sample
from connectors.move_effects import CopyHabits
from connectors.simulated import doctor, routes, sampler
from connectors.simulated.demand import classify
from connectors.simulated.lease import WorldLease
from connectors.simulated.mover import Session
from connectors.simulated.server.world import World, shared_world
from connectors.simulated.settings import SimulatedSettings


class SimulatedConnector:
    """One client of a world. Any number of them may share it."""

    def __init__(self, world: World, *, may_move: bool = True, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or world.clock  # a shared world does not keep it alive, so we do
        self._may_move = may_move
        self._open = True
        self.session = Session(world, self._clock, read_only=True)  # what reading goes over: it cannot change anything

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
        return doctor.capabilities(may_move=self._may_move)

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
        return routes.routes(self._reach_world(), bundle, to_space)

    def foreground_reads(self) -> ForegroundReads:
        """Reads of all sessions; copies are not among them."""
        return sampler.read_foreground(self._reach_world())

    def copy_habits(self) -> CopyHabits:
        """A copy has its share of a device to itself."""
        return CopyHabits(whole=True)

    def inspect(self, route: Route) -> Inspection:
        """Where the bundle is."""
        return routes.inspect(self._reach_world(), route)

    def doctor(self) -> tuple[Finding, ...]:
        """Findings."""
        return doctor.findings(self._reach_world(), may_move=self._may_move)

    def open_mover(self) -> Session:
        """A session that may write."""
        return Session(self._reach_world(), self._clock, read_only=False, may_move=self._may_move)

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
