"""The lease: one acting agent a world, in this process by the world itself, among processes by a file lock."""

from __future__ import annotations

import fcntl
import os

from connectors.base import LeaseHeld
from connectors.simulated.server.world import World


class WorldLease:
    """Held until released, or until the process dies."""

    def __init__(self, world: World, holder: str) -> None:
        """Take it.

        Raises:
            LeaseHeld: another agent has it; the text names it.
        """
        self._world = world
        self._handle: int | None = None
        world.lease(holder)
        self._held = True
        try:
            self._lock_file(holder)
        except LeaseHeld:
            self.release()
            raise

    def _lock_file(self, holder: str) -> None:
        """Keep other processes out, where there is a state file to share."""
        store = self._world.store
        if store is None:
            return
        self._handle = os.open(
            store.path.with_name(store.path.name + ".lease"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = os.pread(self._handle, 500, 0).decode(errors="replace") or "another agent"
            raise LeaseHeld(
                f"{other} acts on this database", advice="Stop it, or let this one only observe."
            ) from error
        # After the lock, never on opening: whoever is refused has to read the holder's name from the file.
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, holder.encode(), 0)

    def is_held(self) -> bool:
        """Whether it is still ours."""
        return self._held

    def release(self) -> None:
        """Give it up; harmless when it is given up already."""
        if self._held:
            self._world.unlease()
        self._held = False
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
