"""The session that changes something: one statement at a time, which another thread may cancel."""

from __future__ import annotations

import pyodbc

from connectors.sqlserver.session.queries import query
from connectors.sqlserver.session.running import Running
from connectors.sqlserver.session.sessions import close_quietly, fetch, open_connection, whole_seconds
from connectors.sqlserver.settings import SqlserverSettings


class StatementRunner:
    """Sends over one session."""

    def __init__(self, settings: SqlserverSettings) -> None:
        """Open the session.

        Raises:
            CannotConnect: or AuthenticationFailed, as for any connection.
        """
        self._running = Running()
        self.connection = open_connection(settings, name="hotplace move")
        self.number = self._number()

    def send(self, statement: str, limit_seconds: float) -> None:
        """One statement to its end; errors may come with any of its results.

        Raises:
            pyodbc.Error: as the driver raises it.
        """
        self.connection.timeout = whole_seconds(limit_seconds)  # holds for cursors made from now on
        with self._running.cursor(self.connection) as cursor:
            cursor.execute(statement)
            # pyodbc raises what goes wrong later in a batch only when its result is asked for; without this a failed
            # move would look done.
            while cursor.nextset():
                pass

    def cancel(self) -> None:
        """Cancel what runs.

        Raises:
            ConnectorError: the driver refused.
        """
        self._running.cancel()

    def answers(self, limit_seconds: float) -> bool:
        """Whether the server still answers this session: a driver reports its time limit whether or not it does."""
        self.connection.timeout = whole_seconds(limit_seconds)
        try:
            return self._number() == self.number
        except pyodbc.Error:
            return False

    def close(self) -> None:
        """End it."""
        close_quietly(self.connection)

    def _number(self) -> int:
        """Of the session, so that another one can look at it."""
        return int(fetch(self.connection, query("session_id"), ())[0][0])
