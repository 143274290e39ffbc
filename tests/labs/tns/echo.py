"""A backend that answers what a test tells it to, for tests of the wire alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.labs.tns.backend import Answer, Bind, Client, Column, OracleError
from tests.labs.tns.values import OracleType

Reply = Callable[["EchoSession", str, Sequence[Bind], int], Answer]


class EchoSession:
    """Hands each statement to the database's reply."""

    session_id, serial = 17, 4711

    def __init__(self, database: EchoDatabase, client: Client) -> None:
        self.database = database
        self.client = client
        self.cancelled = threading.Event()
        self.waiting = threading.Event()  # it has come to its long statement
        self.open = False
        self.ended: list[str] = []

    def execute(self, sql: str, binds: Sequence[Bind], executions: int) -> Answer:
        """As the test wants."""
        self.cancelled.clear()
        if sql.startswith("INSERT"):
            self.open = True
        return self.database.reply(self, sql, binds, executions)

    def wait(self, seconds: float) -> None:
        """A long statement. Raises OracleError ORA-01013."""
        if self.cancelled.wait(seconds):
            raise OracleError(1013, "user requested cancel of current operation")

    def in_transaction(self) -> bool:
        """Since the last INSERT."""
        return self.open

    def commit(self) -> None:
        """Remembered."""
        self.open = False
        self.ended.append("commit")

    def rollback(self) -> None:
        """Remembered."""
        self.open = False
        self.ended.append("rollback")

    def cancel(self) -> None:
        """Wake the long statement."""
        self.cancelled.set()

    def close(self, *, orderly: bool) -> None:
        """Remembered."""
        self.ended.append("logoff" if orderly else "gone")


class EchoDatabase:
    """Serves ``echo`` to SCOTT."""

    version: tuple[int, ...] = (19, 22, 0, 0, 0)

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.sessions: list[EchoSession] = []
        self.refusal: OracleError | None = None

    def serves(self, service: str, instance: str) -> bool:
        """One service, on one instance without a name."""
        return service == "echo" and not instance

    def password(self, user: str) -> str | None:
        """One user."""
        return "tiger" if user == "SCOTT" else None

    def refuse_login(self, client: Client) -> OracleError | None:
        """As the test wants."""
        return self.refusal

    def open(self, client: Client) -> EchoSession:
        """Keep it in sight."""
        self.sessions.append(EchoSession(self, client))
        return self.sessions[-1]


def rows(columns: Sequence[tuple[str, OracleType]], values: Sequence[Sequence[Any]]) -> Answer:
    """An answer of a query."""
    return Answer(tuple(Column(name, kind, 4000 if kind in (1, 23) else 0) for name, kind in columns), values)
