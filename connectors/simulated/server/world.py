"""The simulated server: everything connections share. All access goes through ``turn``."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from connectors.base import Clock, LeaseHeld
from connectors.simulated.server import saved
from connectors.simulated.server.faults import FaultKind
from connectors.simulated.server.scenarios import Scenario
from connectors.simulated.server.state import StateFile, process_lives
from connectors.simulated.server.world_state import WorldState
from connectors.simulated.settings import SimulatedSettings


class World(WorldState):
    """One simulated server with its database, its disks and its users, shared by all connections to it."""

    def __init__(self, settings: SimulatedSettings, clock: Clock, scenario: Scenario | None = None) -> None:
        """A new world, or the one that the state file holds.

        Args:
            settings: which one.
            clock: passes the time.
            scenario: use this instead of the one that settings name; only for worlds without a state file.

        Raises:
            CannotConnect: the state file is another world's, or cannot be read.
        """
        super().__init__(settings, clock, scenario)
        self.store = StateFile(settings.state.absolute()) if settings.state else None
        self._lock = threading.RLock()
        self._depth = 0
        self.locked: dict[str, int] = {}  # key of a unit -> sessions that use it
        self.leased_to = ""
        with self.turn():
            pass

    @property
    def fingerprint(self) -> str:
        """The same wherever this world is reached from."""
        chosen = self.settings
        where = self.store.path if self.store else ""
        text = f"{self.scenario.name}/{chosen.seed}/{chosen.units}/{where}"
        return "simulated-" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the world exclusively, brought up to the present; changes are stored at the end."""
        with self._lock:
            if self._depth:  # within a turn already
                yield
                return
            with self.store.exclusive() if self.store else nullcontext():
                self._depth += 1
                try:
                    if self.store and (content := self.store.read_change()):
                        saved.restore(self, content)
                        # Only after restoring: a damaged file counts as unread until it is mended, and nothing
                        # overwrites it meanwhile.
                        self.store.accept()
                    self.advance()
                    self._roll_back_the_dead()
                    try:
                        yield
                    finally:  # a refused statement may have used up a fault, or time
                        if self.store:
                            self.store.write(saved.content_of(self))
                finally:
                    self._depth -= 1

    def _roll_back_the_dead(self) -> None:
        """Abandon moves whose process has died, so that they hold no room and no lock."""
        running = self.placement.running
        for token in [t for t, move in running.items() if not move.paused and not process_lives(move.process)]:
            self.placement.abandon(token)
            self.mark_changed()

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """A session uses the unit inside the block, so that it cannot be moved."""
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
            LeaseHeld: another agent has it.
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
    alive: the connections do.

    Raises:
        CannotConnect: as ``World``.
    """
    # The watching and the moving account differ in `may_move` only and have to meet in one world.
    key = settings.model_copy(update={"may_move": True})
    with _SHARING:
        if id(clock) not in _SHARED:
            _SHARED[id(clock)] = {}
            # Removed with the clock: a later clock may get the same id, and its world would start with the old one's
            # past.
            weakref.finalize(clock, _SHARED.pop, id(clock))
        worlds = _SHARED[id(clock)]
        if key not in worlds:
            worlds[key] = World(key, weakref.proxy(clock))
        return worlds[key]
