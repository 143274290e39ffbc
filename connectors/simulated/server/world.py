"""The simulated server: everything connections share. All access goes through ``turn``."""

from __future__ import annotations

import copy
import hashlib
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np

from connectors.base import Clock, LeaseHeld
from connectors.model import F64, I64
from connectors.simulated.server import saved
from connectors.simulated.server.faults import FaultKind, FaultPlan
from connectors.simulated.server.placement import Placement
from connectors.simulated.server.scenarios import SCENARIOS, Scenario
from connectors.simulated.server.state import StateFile, process_lives
from connectors.simulated.server.units import COUNTERS, Units, UnitSpec, build
from connectors.simulated.server.workload import Rates, Workload, pages_per_transaction
from connectors.simulated.settings import SimulatedSettings

TOTALS = ("transactions", "reads", "read_seconds", "write_seconds", "active_seconds")


class World:
    """One simulated server with its database, its disks and its users.

    Counters of units are never stepped: a unit has ``extra + pages * (work - since)`` pages, where ``work`` counts
    transactions. So a sample costs the same however long ago the last one was.
    """

    def __init__(self, settings: SimulatedSettings, clock: Clock, scenario: Scenario | None = None) -> None:
        """A new world, or the one that the state file holds.

        Args:
            settings: which one.
            clock: passes the time.
            scenario: use this instead of the one that settings name; only for worlds without a state file.

        Raises:
            CannotConnect: the state file is another world's, or cannot be read.
        """
        self.settings = settings
        self.clock = clock
        self.scenario = scenario or SCENARIOS[settings.scenario](settings.seed, settings.units)
        self.faults = FaultPlan(settings.faults, settings.seed)
        self.store = StateFile(settings.state.absolute()) if settings.state else None
        self._lock = threading.RLock()
        self._depth = 0
        self._workload = Workload(self.scenario)
        self._pristine_pages = pages_per_transaction(self.scenario.units, self.scenario.pool_bytes)
        self.locked: dict[str, int] = {}  # key of a unit -> sessions that use it
        self.leased_to = ""
        self.begin_anew()
        with self.turn():
            pass

    @property
    def fingerprint(self) -> str:
        """The same wherever this world is reached from."""
        chosen = self.settings
        where = self.store.path if self.store else ""
        text = f"{self.scenario.name}/{chosen.seed}/{chosen.units}/{where}"
        return "simulated-" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def begin_anew(self) -> None:
        """Everything as the scenario declares it, at time zero."""
        start = self.scenario.units
        units = copy.copy(start)
        units.keys = list(start.keys)
        for column in ("physical_id", "space", "alive"):
            setattr(units, column, getattr(start, column).copy())
        self.placement = Placement(units, self.scenario.spaces)
        self.pages = self._pristine_pages
        self.extra = np.zeros((len(COUNTERS), len(units)), dtype=np.float64)
        self.since = np.zeros(len(units), dtype=np.float64)
        self.created: list[tuple[int, list[UnitSpec]]] = []  # first physical id and units of each create()
        self.work = 0.0  # transactions since the beginning
        self.reset_at = 0.0  # work when all counters last started anew
        self.resets = 0
        self.totals = dict.fromkeys(TOTALS, 0.0)
        self.virtual_seconds = 0.0
        self.anchor = self.clock.monotonic()
        self._rates: Rates | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Be alone with the world, in the present; what was changed is kept."""
        with self._lock:
            if self._depth:  # within a turn already
                yield
                return
            with self.store.exclusive() if self.store else nullcontext():
                self._depth += 1
                try:
                    if self.store and (content := self.store.read_change()):
                        saved.restore(self, content)
                        self.store.accept()
                    self._advance()
                    self._roll_back_the_dead()
                    try:
                        yield
                    finally:  # a refused statement may have used up a fault, or time
                        if self.store:
                            self.store.write(saved.content_of(self))
                finally:
                    self._depth -= 1

    def _advance(self) -> None:
        """Let the sessions work for the time that has passed."""
        now = self.clock.monotonic()
        seconds = max(0.0, now - self.anchor) * self.settings.speed  # below 0: the machine was started anew
        self.anchor = now
        if not seconds:
            return
        per_second = self.rates().plain()
        self.virtual_seconds += seconds
        self.work += per_second["transactions"] * seconds
        for name in TOTALS:
            self.totals[name] += per_second[name] * seconds

    def _roll_back_the_dead(self) -> None:
        """Moves whose process has died hold no room and block nobody."""
        running = self.placement.running
        for token in [t for t, move in running.items() if not move.paused and not process_lives(move.process)]:
            self.placement.abandon(token)
            self.mark_changed()

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
        """Somebody reads pages of a unit from storage.

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

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """A session uses the unit inside, so that nobody can move it."""
        self.locked[key] = self.locked.get(key, 0) + 1
        try:
            yield
        finally:
            self.locked[key] -= 1

    def is_locked(self, rows: list[int]) -> bool:
        """Whether a session uses one of the units, or the table one belongs to."""
        units = self.placement.units
        involved = {int(units.physical_id[row]) for row in rows} | {int(units.parent[row]) for row in rows}
        held = (self.placement.row(key) for key, sessions in self.locked.items() if sessions)
        return any(row is not None and int(units.physical_id[row]) in involved for row in held)

    def sample_faults(self) -> bool:
        """Let the faults of a sample happen; True when the sample is lost."""
        if self.faults.strikes(FaultKind.COUNTER_RESET):
            self.reset_counters()
        if fault := self.faults.strikes(FaultKind.UNIT_RESET):
            self.reset_unit(fault.unit)
        return self.faults.strikes(FaultKind.LOST_SAMPLE) is not None

    def lease(self, holder: str) -> None:
        """Give the lease within this world.

        Raises:
            LeaseHeld: somebody has it.
        """
        with self._lock:
            if self.leased_to:
                raise LeaseHeld(
                    f"{self.leased_to} acts on this database", advice="Stop it, or run this one as an observer."
                )
            self.leased_to = holder

    def unlease(self) -> None:
        """Take the lease back."""
        with self._lock:
            self.leased_to = ""


_SHARED: dict[int, dict[SimulatedSettings, World]] = {}  # by id of a living clock
_SHARING = threading.Lock()


def shared_world(settings: SimulatedSettings, clock: Clock) -> World:
    """The world of these settings and this very clock in this process, made when there is none.

    It lives as long as the clock, however often connections to it are closed and opened. So it must not keep the clock
    alive: whoever uses the world does.

    Raises:
        CannotConnect: as ``World``.
    """
    key = settings.model_copy(update={"may_move": True})
    with _SHARING:
        if id(clock) not in _SHARED:
            _SHARED[id(clock)] = {}
            weakref.finalize(clock, _SHARED.pop, id(clock))
        worlds = _SHARED[id(clock)]
        if key not in worlds:
            worlds[key] = World(key, weakref.proxy(clock))
        return worlds[key]
