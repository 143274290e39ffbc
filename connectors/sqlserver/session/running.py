"""The statement that a session runs, which another thread may cancel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyodbc

from connectors.sqlserver.session.errors import connection_broke, diagnose, translate


class Running:
    """Cursors of one session, one at a time."""

    def __init__(self) -> None:
        self._lives = threading.Lock()
        self._cursor: pyodbc.Cursor | None = None

    @contextmanager
    def cursor(self, connection: pyodbc.Connection) -> Iterator[pyodbc.Cursor]:
        """A new cursor, closed at the end."""
        cursor = connection.cursor()
        with self._lives:
            self._cursor = cursor
        try:
            yield cursor
        finally:
            with self._lives:
                self._cursor = None
                _close(cursor)

    def cancel(self) -> None:
        """Cancel what runs; the cursor must not be freed meanwhile, which would take the process down.

        Raises:
            ConnectorError: the driver refused.
        """
        with self._lives:
            if self._cursor is None:
                return
            try:
                self._cursor.cancel()
            except pyodbc.Error as error:
                seen = diagnose(error)
                if not connection_broke(seen):
                    raise translate(seen, "cancelling the running statement") from error


def _close(cursor: pyodbc.Cursor) -> None:
    """Close; with its session broken it is closed already."""
    try:
        cursor.close()
    except pyodbc.Error as error:
        seen = diagnose(error)
        if not connection_broke(seen) and seen.state != "HY000":
            raise
