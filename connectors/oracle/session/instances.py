"""Counters of every instance of a cluster.

GV$ views answer for all instances over one session, by query servers on each. Where those cannot start (ORA-12850, or
ORA-12801 around it), each instance is asked over a session of its own, which reads the V$ views. What both ways return
is the same: rows of all instances, to be summed.
"""

from __future__ import annotations

from connectors.base import CannotConnect, ConnectorError
from connectors.oracle.session.driver import Driver
from connectors.oracle.session.queries import of_one_instance, query
from connectors.oracle.session.sessions import ReadSession, Row
from connectors.oracle.settings import OracleSettings
from connectors.recording.tap import Tap

NO_QUERY_SERVERS = frozenset({"ORA-12850", "ORA-12801"})
EPOCHS = {"epoch": "epoch_one", "epoch_container": "epoch_one_container"}


class Instances:
    """Asks all instances, over one session as long as that works."""

    def __init__(self, session: ReadSession, driver: Driver, settings: OracleSettings, tap: Tap | None = None) -> None:
        """Opens nothing; sessions to single instances are opened when they are needed."""
        self._session = session
        self._driver = driver
        self._settings = settings
        self._tap = tap
        self._single: dict[str, ReadSession] = {}
        self.one_by_one = False  # query servers could not start

    def rows(self, name: str, *, doing: str) -> list[Row]:
        """Rows of that query of every instance that is up.

        Raises:
            ConnectorError: a subclass that says what may be done; an instance that does not answer is not zero.
        """
        if not self.one_by_one:
            try:
                return self._session.rows(query(name), doing=doing)
            except ConnectorError as error:
                if error.native_code not in NO_QUERY_SERVERS:
                    raise
                self._go_one_by_one(error)
        text = query(EPOCHS[name]) if name in EPOCHS else of_one_instance(name)
        return [row for session in self._sessions() for row in session.rows(text, doing=doing)]

    def close(self) -> None:
        """End the sessions to single instances."""
        for session in self._single.values():
            session.close()

    def _go_one_by_one(self, error: ConnectorError) -> None:
        if self._settings.dsn:
            raise CannotConnect(
                f"{error}; and a dsn does not tell how to reach each instance",
                advice="Give host, port and service instead of dsn, or let query servers start on every instance.",
                native_code=error.native_code,
            ) from error
        self.one_by_one = True

    def _sessions(self) -> list[ReadSession]:
        """One to each instance that is up now; who has left is forgotten."""
        found = self._session.rows(query("instances"), doing="looking for instances")
        names = [str(name).rpartition(":")[2] for _, name in found]  # some releases put the host before a colon
        for name in self._single.keys() - set(names):
            self._single.pop(name).close()
        for name in names:
            if name not in self._single:
                settings = self._settings.to_instance(name)
                self._single[name] = ReadSession(self._driver, settings, action=f"watch {name}", tap=self._tap)
        return [self._single[name] for name in names]
