"""The simulated server that connections share, and the file that it is saved to.

The state file of a world: only what differs from the scenario is written.

The state file: what differs from the scenario, as JSON, replaced atomically, one process at a time.

The simulated server: everything connections share. All access goes through ``turn``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from connectors.kit.contract import CannotConnect, Clock, LeaseHeld
from connectors.model.moves import UnitKind
from connectors.model.observation import Bools
from connectors.simulated.scenarios import Scenario, UnitSpec
from connectors.simulated.settings import FaultKind, SimulatedSettings
from connectors.simulated.world_state import RunningCopy, WorldState

FORMAT = 1
SCALARS = ("work", "reset_at", "resets", "virtual_seconds", "anchor")


def _identity(world: WorldState) -> dict[str, Any]:
    """What identifies the world that a file belongs to."""
    return {
        "format": FORMAT,
        "scenario": world.scenario.name,
        "seed": world.settings.seed,
        "units": len(world.scenario.units),
    }


def _differing(world: WorldState) -> Bools:
    """Units that are not as the scenario and the last reset left them; created ones always differ."""
    start, units = world.scenario.units, world.placement.units
    n = len(start)
    differs = (world.since != world.reset_at) | world.extra.any(axis=0) | ~units.alive
    differs[:n] |= (units.space[:n] != start.space) | (units.physical_id[:n] != start.physical_id)
    differs[n:] = True
    return np.asarray(differs, dtype=np.bool_)


def content_of(world: WorldState) -> dict[str, Any]:
    """The world as JSON values."""
    units = world.placement.units
    rows = [
        [
            int(row), int(units.physical_id[row]), int(units.space[row]), bool(units.alive[row]),
            float(world.since[row]), [float(value) for value in world.extra[:, row]],
        ]
        for row in np.flatnonzero(_differing(world))
    ]  # fmt: skip
    return {
        **_identity(world),
        **{name: getattr(world, name) for name in SCALARS},
        "totals": world.totals,
        "seen": world.faults.seen,
        "created": [[first_id, [spec.plain() for spec in specs]] for first_id, specs in world.created],
        "rows": rows,
        "running": [asdict(move) for move in world.placement.running.values()],
        "last_token": world.placement.last_token,
    }


def restore(world: WorldState, content: dict[str, Any]) -> None:
    """Bring the world to what a file holds.

    Raises:
        CannotConnect: the file is of another world or damaged.
    """
    wanted = _identity(world)
    found = {name: content.get(name) for name in wanted}
    if found != wanted:
        raise CannotConnect(
            f"the state file holds another world: {found}, configured is {wanted}",
            advice="Name another file in `state`, or configure the world that it holds.",
        )
    try:
        _fill(world, content)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        world.start_over()
        raise CannotConnect(
            f"the state file is damaged: {error!r}", advice="Restore it, or remove it to start over."
        ) from error


def _fill(world: WorldState, content: dict[str, Any]) -> None:
    world.start_over()
    _create_again(world, content["created"])
    for name in SCALARS:
        setattr(world, name, content[name])
    world.totals = {name: float(content["totals"].get(name, 0.0)) for name in world.totals}
    world.faults.seen = dict(content["seen"])
    world.since[:] = world.reset_at
    units = world.placement.units
    for row, physical_id, space, alive, since, extra in content["rows"]:
        units.physical_id[row], units.space[row], units.alive[row] = physical_id, space, alive
        world.since[row], world.extra[:, row] = since, extra
    world.placement.running = {move["token"]: RunningCopy(**move) for move in content["running"]}
    world.placement.last_token = content["last_token"]
    world.placement.index()
    world.mark_changed()


def _create_again(world: WorldState, created: list[tuple[int, list[dict[str, Any]]]]) -> None:
    """Append the rows of created units; which of them still live, and where, the rows of the file say."""
    for first_id, plain in created:
        world.append(first_id, [UnitSpec(**{**spec, "kind": UnitKind(spec["kind"])}) for spec in plain])


class StateFile:
    """One file, with a lock file next to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._lock_handle = -1

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes out.

        Raises:
            CannotConnect: the folder does not let us.
        """
        try:
            handle = os.open(
                self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise CannotConnect(
                f"cannot lock the state file {self.path}: {error.strerror}",
                advice="Create its folder and let this user write there.",
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._lock_handle = handle
            yield
        finally:
            os.close(handle)

    def read_change(self) -> dict[str, Any] | None:
        """The content of the file; None if it is unchanged since we last read or wrote it, or missing.

        Raises:
            CannotConnect: it is no state file.
        """
        if not self.path.exists() or self._stamp() == self._seen:
            return None
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CannotConnect(
                f"the state file {self.path} cannot be read: {error}", advice="Restore it, or remove it to start over."
            ) from error
        if not isinstance(content, dict):
            raise CannotConnect(f"{self.path} is no state file", advice="Name another file in `state`.")
        return content

    def accept(self) -> None:
        """Note that the content of ``read_change`` was taken over. Without this nothing overwrites the file."""
        self._seen = self._stamp()

    def write(self, content: dict[str, Any]) -> None:
        """Replace the file atomically: a reader sees the old or the new one.

        Raises:
            CannotConnect: the folder does not let us.
        """
        new = self.path.with_name(self.path.name + ".new")
        try:
            # Before the file is replaced: a death in between makes others read an unchanged file once more, where the
            # other order would let them miss a change.
            os.pwrite(self._lock_handle, b"%020d" % (self._serial() + 1), 0)
            # It holds names of units and what a ledger would: for this user alone, whatever the umask says.
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)  # one that a dead process has left may have other rights
                file.write(json.dumps(content))
            new.replace(self.path)
        except OSError as error:
            raise CannotConnect(
                f"cannot write the state file {self.path}: {error.strerror}", advice="Check its folder and its room."
            ) from error
        self._seen = self._stamp()

    def _serial(self) -> int:
        """How often the file was written; kept in the lock file, as times and inodes are too coarse to tell."""
        return int(os.pread(self._lock_handle, 20, 0) or b"0")

    def _stamp(self) -> tuple[int, int, int]:
        """Identifies a version of the file; only while we hold the lock."""
        status = self.path.stat()
        return self._serial(), status.st_ino, status.st_mtime_ns


def process_lives(process: int) -> bool:
    """Whether a process of that id runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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
                        restore(self, content)
                        # Only after restoring: a damaged file counts as unread until it is mended, and nothing
                        # overwrites it meanwhile.
                        self.store.accept()
                    self.advance()
                    self._roll_back_the_dead()
                    try:
                        yield
                    finally:  # a refused statement may have used up a fault, or time
                        if self.store:
                            self.store.write(content_of(self))
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
