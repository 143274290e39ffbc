"""The session that changes something: one statement at a time, which another thread may cancel."""

from __future__ import annotations

import threading

import pyodbc

from connectors.sqlserver.errors import connection_broke, diagnose, translate
from connectors.sqlserver.queries import query
from connectors.sqlserver.session import close_quietly, fetch, open_connection, whole_seconds
from connectors.sqlserver.settings import SqlserverSettings


class Hand:
    """Sends over one session."""

    def __init__(self, settings: SqlserverSettings) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._cursor_lives = threading.Lock()
        self._running: pyodbc.Cursor | None = None
        self.connection = open_connection(settings, name="hotplace move")
        self.number = self._number()

    def send(self, statement: str, limit_seconds: float) -> None:
        """One statement to its end; errors may come with any of its results.

        Raises:
            pyodbc.Error: as the driver raises it.
        """
        self.connection.timeout = whole_seconds(limit_seconds)  # holds for cursors made from now on
        cursor = self.connection.cursor()
        with self._cursor_lives:
            self._running = cursor
        try:
            cursor.execute(statement)
            while cursor.nextset():
                pass
        finally:
            with self._cursor_lives:
                self._running = None
                _close_cursor(cursor)

    def cancel(self) -> None:
        """Cancel what runs; the cursor must not be freed meanwhile, which would take the process down.

        Raises:
            ConnectorError: the driver refused.
        """
        with self._cursor_lives:
            if self._running is None:
                return
            try:
                self._running.cancel()
            except pyodbc.Error as error:
                seen = diagnose(error)
                if not connection_broke(seen):
                    raise translate(seen, "cancelling the running step") from error

    def close(self) -> None:
        """End it."""
        close_quietly(self.connection)

    def _number(self) -> int:
        """Of the session, so that another one can look at it."""
        return int(fetch(self.connection, query("session_id"), ())[0][0])


def _close_cursor(cursor: pyodbc.Cursor) -> None:
    """Close; with its session broken it is closed already."""
    try:
        cursor.close()
    except pyodbc.Error as error:
        seen = diagnose(error)
        if not connection_broke(seen) and seen.state != "HY000":
            raise
