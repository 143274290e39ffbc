"""Inspects a running move over a second session: an index that is built, or files that are emptied.

It is used by two threads, the mover's and the one that reads progress; a lock lets one query run at a time.
"""

from __future__ import annotations

import threading
from typing import Protocol

from connectors.base import ConnectorError
from connectors.model import Route, Step
from connectors.sqlserver.moving.plan_drift import drift_reason
from connectors.sqlserver.moving.resumable_operations import Operation, of_route, operations
from connectors.sqlserver.reading.catalog import read_files
from connectors.sqlserver.reading.definition import Definition, find
from connectors.sqlserver.reading.keys import name_of
from connectors.sqlserver.reading.partitioning import knowing
from connectors.sqlserver.reading.spaces import PAGE, File
from connectors.sqlserver.routes.file_move import FileRoute
from connectors.sqlserver.routes.online import Server
from connectors.sqlserver.routes.operations import file_step_of
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings


class MoveInspector(Protocol):
    """Inspection of a running move, as the mover needs it."""

    cancel_holds: bool  # to hold a step is to cancel it

    def against(self) -> str:
        """Why the route no longer fits the catalog, "" where it does."""
        ...

    def done_before(self, step: Step, /) -> bool:
        """Whether what the step does has been done, so that it is not sent again."""
        ...

    def is_held(self) -> bool | None:
        """Whether the running step has come to rest and can go on; None: there is nothing to hold."""
        ...

    def bytes_built(self, step: Step, /) -> int | None:
        """Bytes that are where they should be; None: unknown."""
        ...

    def is_gone(self) -> bool:
        """Whether what is moved is not there any more."""
        ...


class BuildInspector:
    """An index that is built in another filegroup."""

    cancel_holds = False

    def __init__(self, session: ReadSession, turn: threading.Lock, route: Route, settings: SqlserverSettings) -> None:
        """Look the table up.

        Raises:
            ConnectorError: the server did not answer.
        """
        self._session, self._turn, self._route, self._settings = session, turn, route, settings
        self._found = self._definition()
        with turn:
            self._found = knowing(session, self._found)

    def against(self) -> str:
        """See ``freshness``."""
        server = Server(major=self._session.major, edition=self._session.edition)
        return drift_reason(self._found, self._route, server, self._settings)

    def done_before(self, _: Step, /) -> bool:
        """Never: a build that has ended has changed what the route was compared with."""
        return False

    def is_held(self) -> bool | None:
        """By the server's list of resumable operations."""
        operation = self._operation()
        return None if operation is None else operation.paused

    def bytes_built(self, step: Step) -> int | None:
        """Bytes that a resumable build has allocated."""
        operation = self._operation() if step.pausable else None
        return None if operation is None or operation.pages is None else operation.pages * PAGE

    def is_gone(self) -> bool:
        """The table or the index."""
        try:
            found = self._definition()
        except ConnectorError:  # the error of the statement itself is reported
            return False
        return found is None or found.index is None

    def _definition(self) -> Definition | None:
        with self._turn:
            return find(self._session, name_of(self._route.bundle.key))

    def _operation(self) -> Operation | None:
        """The resumable build of this route, None where there is none or it cannot be read."""
        if self._found is None:
            return None
        try:
            with self._turn:
                return of_route(operations(self._session, self._found.owner.object_id), self._route)
        except ConnectorError:  # as if there were none: the error of the statement itself is reported
            return None


class FileInspector:
    """Files of a filegroup that are emptied into new ones."""

    cancel_holds = True

    def __init__(self, session: ReadSession, turn: threading.Lock, route: Route, files: FileRoute) -> None:
        self._session, self._turn, self._route, self._files = session, turn, route, files

    def against(self) -> str:
        """A filegroup has another file by now, or not one of those that were approved."""
        if not (self._files.filegroup and self._files.old):
            return ""  # it only tidies up, or one file goes or comes and the others stay
        own = self._own()
        strange = own.keys() - {*self._files.old, *self._files.new}
        # A file that somebody has added takes the pages of those that are emptied, on whichever disk it lies.
        if strange:
            return f"{sorted(strange)[0]} is a file of {self._files.filegroup} that this plan does not know"
        begun = own.keys() & set(self._files.new)
        missing = set(self._files.old) - own.keys()
        return f"{sorted(missing)[0]} is no file of {self._files.filegroup} any more" if missing and not begun else ""

    def done_before(self, step: Step) -> bool:
        """A file that is there is not added, one that is gone is not emptied or removed."""
        wanted = file_step_of(step)
        if wanted is None:
            return False
        there = wanted.file in {file.name for file in self._all()}
        return there if wanted.action == "add" else not there

    def is_held(self) -> bool | None:
        """A cancelled DBCC SHRINKFILE is: what it has moved stays moved."""
        return True

    def bytes_built(self, _: Step, /) -> int | None:
        """Bytes that have left the old files."""
        try:
            files = [file for file in self._all() if file.name in self._files.old]
        except ConnectorError:
            return None
        if any(file.used_pages is None for file in files):
            return None
        return self._route.bundle.size_bytes - sum(file.used_pages or 0 for file in files) * PAGE

    def is_gone(self) -> bool:
        """The filegroup."""
        return bool(self._files.filegroup) and not self._own()

    def snapshot_seconds(self) -> int | None:
        """How long the oldest reader of a snapshot has been at it; None where there is none."""
        with self._turn:
            rows = self._session.rows("snapshots", doing="looking for readers of snapshots")
        return int(rows[0][1]) if rows else None

    @property
    def major(self) -> int:
        """Version of the server."""
        return self._session.major

    def _all(self) -> list[File]:
        with self._turn:
            return read_files(self._session)

    def _own(self) -> dict[str, File]:
        return {str(f.name): f for f in self._all() if f.space == self._files.filegroup and f.name is not None}
