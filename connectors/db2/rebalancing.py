"""Changes the storage of a table space and stays until its extents are there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from connectors.base import Clock, LockNotObtained, ObjectGone, OutcomeUnknown, StatementFailed
from connectors.db2.inspection import Rebalance, at_rest, is_moving, lies_under, read_rebalance
from connectors.db2.session import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.db2.statements import SpaceChange
from connectors.db2.storage import Storage, TableSpace, read_storage
from connectors.model import Step

BACKUP = "BACKUP"


@dataclass(frozen=True, slots=True)
class Look:
    """One table space at one instant."""

    space: TableSpace
    storage: Storage
    state: Rebalance

    def arrived(self, group: str) -> bool:
        """All four facts: no rebalance, mode at rest, no dropped path, every container in the group's paths."""
        named = self.storage.groups.get(group or self.space.group)
        return (
            named is not None
            and self.space.group == named.name
            and at_rest(self.space, self.state)
            and lies_under(self.space, named.paths)
        )

    @property
    def moving(self) -> bool:
        """Extents are being copied, or will be when somebody resumes it."""
        return is_moving(self.space, self.state)


class SpaceChanger:
    """Sends ``USING STOGROUP`` and ``REBALANCE``.

    Whether the first begins a rebalance by itself, IBM's manual says both ways; so the second is a step of its own,
    which is only sent where nothing has begun.
    """

    def __init__(
        self,
        session: ReadSession,
        send: Callable[[str, str], None],
        settings: Db2Settings,
        clock: Clock,
        interrupted: threading.Event,
        *,
        shared: bool,
    ) -> None:
        self._session, self._send, self._settings, self._clock = session, send, settings, clock
        self._interrupted = interrupted
        self._shared = shared

    def run(self, step: Step, change: SpaceChange) -> None:
        """Run the step to the end of the rebalance.

        Raises:
            LockNotObtained: a backup is running.
            OutcomeUnknown: the rebalance goes on, but not watched any longer: on request, or the time was up.
            StatementFailed: it ended and the containers are not all there.
        """
        seen = self._look(change.space)
        if seen.arrived(change.group):
            return
        if not seen.moving:
            if change.group and seen.space.group == change.group:
                return  # given to that group before, and nothing copied yet: REBALANCE is the next step
            self._refuse_backup(step)
            self._send(step.sql, step.purpose)
            if not self._begins(change):
                if change.group:
                    return
                raise StatementFailed(
                    f"{step.purpose}: no rebalance began within {self._settings.rebalance_begins_within:g} s",
                    advice=f"Look at MON_GET_REBALANCE_STATUS and db2diag.log for {change.space}.",
                )
        self._wait(step, change)

    def _refuse_backup(self, step: Step) -> None:
        rows = self._session.optional_rows("utilities", doing="looking for a backup") or []
        if any(str(row[2]).upper() == BACKUP for row in rows):
            raise LockNotObtained(f"{step.purpose}: a backup is running", advice="Wait until it has ended.")

    def _look(self, name: str) -> Look:
        """The rebalance first: when its row is gone, what is read afterwards is how it ended."""
        state = read_rebalance(self._session, name)
        storage = read_storage(self._session, shared=self._shared)
        space = storage.space_named(name)
        if space is None:
            raise ObjectGone(f"table space {name} no longer exists", advice="It was dropped or renamed; plan again.")
        return Look(space, storage, state)

    def _begins(self, change: SpaceChange) -> bool:
        """Whether a rebalance began, or has ended already, within the time given to it."""
        until = self._clock.monotonic() + self._settings.rebalance_begins_within
        while True:
            seen = self._look(change.space)
            if seen.moving or seen.arrived(change.group):
                return True
            if self._clock.monotonic() >= until or self._interrupted.is_set():
                return False
            self._clock.sleep(min(self._settings.poll_every, self._settings.rebalance_begins_within))

    def _wait(self, step: Step, change: SpaceChange) -> None:
        until = self._clock.monotonic() + (step.timeout_seconds or self._settings.move_timeout)
        idle = 0
        while True:
            seen = self._look(change.space)
            if seen.arrived(change.group):
                return
            idle = 0 if seen.moving else idle + 1
            if idle > 1:  # once may be the moment between the last extent and the drop of the old containers
                raise StatementFailed(
                    f"{step.purpose}: the rebalance ended, and {change.space} is not wholly where it should be",
                    advice="Look for its reason in db2diag.log; often the paths of the target were full.",
                )
            if self._interrupted.is_set() or self._clock.monotonic() >= until:
                why = "asked to stop" if self._interrupted.is_set() else "the time for it is up"
                raise OutcomeUnknown(
                    f"{step.purpose}: {why}; the rebalance goes on in the server",
                    advice=f'ALTER TABLESPACE "{change.space}" REBALANCE SUSPEND pauses it.',
                )
            self._clock.sleep(self._settings.poll_every)
