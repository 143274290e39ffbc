"""Changes the storage of a table space and stays until its extents are there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from connectors.base import CannotConnect, Clock, LockNotObtained, ObjectGone, OutcomeUnknown, Paused, StatementFailed
from connectors.db2.moving.inspection import Rebalance, is_moving, read_rebalance, space_arrived
from connectors.db2.reading.storage import Storage, TableSpace, read_storage
from connectors.db2.routes.operations import SpaceChange
from connectors.db2.session.sessions import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.formatting import format_seconds
from connectors.model import Step

BACKUP = "BACKUP"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Look:
    """One table space at one instant."""

    space: TableSpace
    storage: Storage
    state: Rebalance

    def has_arrived(self, change: SpaceChange) -> bool:
        """All four facts: no rebalance, mode at rest, no dropped path, every container where the change wants it."""
        return not self.moving and space_arrived(self.storage, self.space, change)

    @property
    def moving(self) -> bool:
        """Extents are being copied, or will be after a RESUME."""
        return is_moving(self.space, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Requests of other threads to the running step."""

    interrupted: threading.Event  # stop watching
    held: threading.Event  # it was suspended on request


class SpaceChanger:
    """Sends ``USING STOGROUP``, ``MANAGED BY AUTOMATIC STORAGE``, ``ADD ... DROP`` and ``REBALANCE``.

    IBM's manual contradicts itself on whether the first begins a rebalance. So REBALANCE is a step of its own, sent
    only if no rebalance has begun.
    """

    def __init__(
        self,
        session: ReadSession,
        send: Callable[[str, str], None],
        settings: Db2Settings,
        clock: Clock,
        signals: Signals,
        *,
        shared: bool,
    ) -> None:
        self._session, self._send, self._settings, self._clock = session, send, settings, clock
        self._signals = signals
        self._shared = shared

    def run(self, step: Step, change: SpaceChange) -> None:
        """Run the step to the end of the rebalance.

        Raises:
            LockNotObtained: a backup is running.
            Paused: it was suspended, by us or by another session.
            OutcomeUnknown: the rebalance goes on, but not watched any longer: on request, the time was up, or the
                server does not answer.
            StatementFailed: it ended and the containers are not all there.
        """
        seen = self._look(change.space)
        if seen.has_arrived(change):
            return
        if seen.state.suspended and change.resumes:
            self._send(step.sql, step.purpose)
        # A statement is sent only to a table space at rest: one whose rebalance goes on, begun before a restart, is
        # waited for.
        elif not seen.moving:
            if change.group and seen.space.group == change.group:
                return  # given to that group before, and nothing copied yet: REBALANCE is the next step
            self._refuse_backup(step)
            self._send(step.sql, step.purpose)
            if not self._result_of(step, lambda: self._begins(change)):
                if change.group:
                    return
                within = format_seconds(self._settings.rebalance_begins_within)
                raise StatementFailed(
                    f"{step.purpose}: no rebalance began within {within}",
                    advice=f"Look at MON_GET_REBALANCE_STATUS and db2diag.log for {change.space}.",
                )
        self._result_of(step, lambda: self._wait(step, change))

    def resume(self, step: Step, change: SpaceChange) -> None:
        """Go on with a rebalance that is held, to its end; its statement is sent only where one is.

        Raises:
            ConnectorError: as ``run``.
        """
        seen = self._look(change.space)
        if seen.has_arrived(change):
            return
        if seen.state.suspended:
            self._send(step.resume_sql, f"going on: {step.purpose}")
        self._result_of(step, lambda: self._wait(step, change))

    def _result_of(self, step: Step, look: Callable[[], Result]) -> Result:
        """The state seen after the statement was sent.

        Raises:
            OutcomeUnknown: the server does not answer. The rebalance may go on, so this must not count as no change.
        """
        try:
            return look()
        except CannotConnect as error:
            raise OutcomeUnknown(
                f"{step.purpose}: sent, and then its outcome could not be read ({error})",
                advice="The rebalance goes on in the server; the catalog is asked what became of it.",
                native_code=error.native_code,
            ) from error

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
            if seen.moving or seen.has_arrived(change):
                return True
            if self._clock.monotonic() >= until or self._signals.interrupted.is_set():
                return False
            self._clock.sleep(min(self._settings.poll_every, self._settings.rebalance_begins_within))

    def _wait(self, step: Step, change: SpaceChange) -> None:
        until = self._clock.monotonic() + (step.timeout_seconds or self._settings.move_timeout)
        idle = still = 0
        while True:
            seen = self._look(change.space)
            if seen.has_arrived(change):
                return
            still = still + 1 if seen.state.suspended else 0
            if still > 1 or (still and self._signals.held.is_set()):  # once may be the moment after a RESUME
                done, extents = seen.state.done_extents, seen.state.extents
                raise Paused(f"{step.purpose}: the rebalance of {change.space} is held, {done} of {extents} extents")
            idle = 0 if seen.moving else idle + 1
            if idle > 1:  # once may be the moment between the last extent and the drop of the old containers
                raise StatementFailed(
                    f"{step.purpose}: the rebalance ended, and {change.space} is not wholly where it should be",
                    advice="Look for its reason in db2diag.log; often the paths of the target were full.",
                )
            if self._signals.interrupted.is_set() or self._clock.monotonic() >= until:
                why = "asked to stop" if self._signals.interrupted.is_set() else "the time for it is up"
                raise OutcomeUnknown(
                    f"{step.purpose}: {why}; the rebalance goes on in the server",
                    advice=f'ALTER TABLESPACE "{change.space}" REBALANCE SUSPEND pauses it.',
                )
            self._clock.sleep(self._settings.poll_every)
