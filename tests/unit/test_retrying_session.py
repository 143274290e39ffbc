"""The reading session of all engines: one retry over a new connection, and only where the connection broke."""

from __future__ import annotations

import pytest

from connectors.kit.contract import CannotConnect, ConnectorError, StatementFailed
from connectors.kit.sessions import BrokenConnection, RetryingSession


class Broken(Exception):
    """What the driver raises when a connection broke."""


class Session(RetryingSession[int, Exception]):
    """Connections are numbered from 1; those in ``broken`` break at the first query."""

    def __init__(self, broken: set[int]) -> None:
        super().__init__("db.example:1", Exception)
        self.broken = broken
        self.opened: list[int] = []
        self.ended: list[int] = []

    def read(self) -> int:
        """The number of the connection that answered."""
        return self._with_retry(self._number, "reading")

    def refuse(self) -> int:
        """A query that the server refuses."""
        return self._with_retry(lambda _: int("x"), "reading")

    def _number(self, connection: int) -> int:
        if connection in self.broken:
            raise Broken("end of file")
        return connection

    def _connect(self) -> int:
        self.opened.append(len(self.opened) + 1)
        return self.opened[-1]

    def _disconnect(self, connection: int) -> None:
        self.ended.append(connection)

    def _cancel(self, connection: int) -> None:
        raise AssertionError(f"nothing interrupts connection {connection}")

    def _explain(self, error: Exception, doing: str) -> ConnectorError | BrokenConnection:
        if isinstance(error, Broken):
            return BrokenConnection(native_code="08006", words=str(error))
        return StatementFailed(f"{doing}: {error}")


def test_one_connection_serves_every_query() -> None:
    """It opens at the first query and is reused."""
    session = Session(set())
    assert session.opened == []
    assert (session.read(), session.read(), session.opened) == (1, 1, [1])


def test_a_broken_connection_is_replaced_once() -> None:
    """The query is sent again over a new connection; the broken one is closed."""
    session = Session({1})
    assert session.read() == 2
    assert (session.opened, session.ended) == ([1, 2], [1])


def test_a_second_break_is_reported() -> None:
    """Two broken connections in a row are an error with the address, the driver's words and the place to look."""
    session = Session({1, 2})
    with pytest.raises(CannotConnect, match=r"db\.example:1 broke twice \(end of file\)") as raised:
        session.read()
    assert (raised.value.native_code, raised.value.advice) == ("08006", "Look at the server's log.")
    assert session.ended == [1, 2]
    assert session.read() == 3


def test_a_refused_query_is_not_repeated() -> None:
    """The engine's own error is raised, and the connection is kept."""
    session = Session(set())
    with pytest.raises(StatementFailed, match="reading: invalid literal"):
        session.refuse()
    assert (session.read(), session.ended) == (1, [])


def test_a_closed_session_stays_closed() -> None:
    """Closing ends the connection, and no later query opens another."""
    session = Session(set())
    session.read()
    session.close()
    with pytest.raises(CannotConnect, match="this connector was closed"):
        session.read()
    assert (session.opened, session.ended) == ([1], [1])
