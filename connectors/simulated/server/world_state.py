"""What a simulated server holds: units, their counters and the totals of the database, at one time."""

from __future__ import annotations

import copy
from dataclasses import fields

import numpy as np

from connectors.base import Clock
from connectors.model import F64, I64
from connectors.simulated.server.faults import FaultPlan
from connectors.simulated.server.placement import Placement
from connectors.simulated.server.scenarios import SCENARIOS, Scenario
from connectors.simulated.server.units import COUNTERS, Units, UnitSpec, build
from connectors.simulated.server.workload import Rates, Workload, pages_per_transaction
from connectors.simulated.settings import SimulatedSettings

TOTALS = tuple(each.name for each in fields(Rates))


class WorldState:
    """Units, counters and totals; ``World`` shares them among connections and keeps them in a file.

    Counters of units are never stepped: a unit has ``extra + pages * (work - since)`` pages, where ``work`` counts
    transactions. So a sample costs the same however long ago the last one was.
    """

    def __init__(self, settings: SimulatedSettings, clock: Clock, scenario: Scenario | None = None) -> None:
        """The state as the scenario declares it.

        Args:
            settings: name the scenario, its seed and size, and the faults.
            clock: passes the time.
            scenario: use this instead of the one that settings name.
        """
        self.settings = settings
        self.clock = clock
        self.scenario = scenario or SCENARIOS[settings.scenario](settings.seed, settings.units)
        self.faults = FaultPlan(settings.faults, settings.seed)
        self._workload = Workload(self.scenario)
        # Once: where units lie changes how long their reads take, not how many of them miss the buffer pool.
        self._initial_pages = pages_per_transaction(self.scenario.units, self.scenario.pool_bytes)
        self.start_over()

    def start_over(self) -> None:
        """Everything as the scenario declares it, at time zero."""
        start = self.scenario.units
        units = copy.copy(start)
        units.keys = list(start.keys)
        for column in ("physical_id", "space", "alive"):
            setattr(units, column, getattr(start, column).copy())
        self.placement = Placement(units, self.scenario.spaces)
        self.pages = self._initial_pages
        self.extra = np.zeros((len(COUNTERS), len(units)), dtype=np.float64)
        self.since = np.zeros(len(units), dtype=np.float64)
        self.created: list[tuple[int, list[UnitSpec]]] = []  # first physical id and units of each create()
        self.work = 0.0  # transactions since the beginning
        self.reset_at = 0.0  # work when all counters were last reset
        self.resets = 0
        self.totals = dict.fromkeys(TOTALS, 0.0)
        self.virtual_seconds = 0.0
        self.anchor = self.clock.monotonic()
        self._rates: Rates | None = None

    def advance(self) -> None:
        """Let the sessions work for the time that has passed."""
        now = self.clock.monotonic()
        seconds = max(0.0, now - self.anchor) * self.settings.speed  # below 0: the machine was restarted
        self.anchor = now
        if not seconds:
            return
        per_second = self.rates().plain()
        self.virtual_seconds += seconds
        self.work += per_second["transactions"] * seconds
        for name in TOTALS:
            self.totals[name] += per_second[name] * seconds

    def rates(self) -> Rates:
        """What happens per virtual second as long as nothing changes."""
        if self._rates is None:
            self._rates = self._workload.rates(self.placement, self.pages)
        return self._rates

    def mark_changed(self) -> None:
        """Placement or running moves are no longer what they were."""
        self._rates = None

    def counters(self) -> I64:
        """Pages by counter and unit, shape ``(len(COUNTERS), n)``."""
        return np.floor(self.extra + self.pages * (self.work - self.since)).astype(np.int64)

    def reset_counters(self) -> None:
        """As after a restart or by a DBA: another epoch, everything from zero."""
        self.resets += 1
        self.reset_at = self.work
        self.since[:] = self.work
        self.extra[:] = 0.0
        self.totals = dict.fromkeys(TOTALS, 0.0)

    def reset_unit(self, key: str) -> None:
        """The counters of one unit start from zero and the epoch does not tell."""
        row = self.placement.row(key)
        if row is None:
            row = int(np.argmax(np.where(self.placement.units.alive, self.pages[COUNTERS.index("sync_reads")], -1.0)))
        self.since[row] = self.work
        self.extra[:, row] = 0.0

    def create(self, specs: list[UnitSpec]) -> None:
        """New units without a workload of their own; read them with ``touch``.

        Raises:
            SpaceFull: no room.
            StatementFailed: a key is taken.
        """
        first_id = self.placement.next_id()
        self.placement.check_room(self._build_units(first_id, specs))
        self.append(first_id, specs)

    def append(self, first_id: int, specs: list[UnitSpec]) -> None:
        """As ``create``, without asking whether it may be."""
        more = self._build_units(first_id, specs)
        self.placement.units.append(more)
        self.placement.index()
        self.created.append((first_id, specs))
        self.pages = np.hstack([self.pages, pages_per_transaction(more, 0.0)])
        self.extra = np.hstack([self.extra, np.zeros((len(COUNTERS), len(more)))])
        self.since = np.append(self.since, np.full(len(more), self.work))
        self.mark_changed()

    def _build_units(self, first_id: int, specs: list[UnitSpec]) -> Units:
        return build(specs, [space.name for space in self.scenario.spaces], first_id)

    def drop(self, key: str) -> None:
        """Remove a table with all that belongs to it, or an index; harmless when it is gone."""
        self.placement.drop(key)
        self.mark_changed()

    def touch(self, key: str, *, random_pages: int = 0, scanned_pages: int = 0) -> None:
        """Read pages of a unit from storage, as a session would.

        Raises:
            KeyError: there is no such unit.
        """
        row = self.placement.row(key)
        if row is None:
            raise KeyError(key)
        device = self.scenario.spaces[int(self.placement.units.space[row])].device
        pages: F64 = np.array([random_pages + scanned_pages, random_pages, scanned_pages, 0.0])
        self.extra[:, row] += pages
        waited = random_pages * device.random_seconds + scanned_pages * device.sequential_seconds
        for name, value in (("reads", random_pages + scanned_pages), ("read_seconds", waited)):
            self.totals[name] += value
        self.totals["active_seconds"] += waited
