"""What a TDS server asks of whatever answers its statements. Neutral: another wire could ask the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tests.labs.tds.values import Column, Value


class ServerError(Exception):
    """An error as the server numbers it; the batch ends there."""

    def __init__(self, number: int, message: str, *, severity: int = 16, state: int = 1, also: int = 0) -> None:
        super().__init__(message)
        self.number = number
        self.also = also  # number of a general error that the server sends after it
        self.severity = severity
        self.state = state


class LoginRefused(ServerError):
    """Error 18456 and its like: the connection closes after it."""


class Cancelled(Exception):
    """The client sent an attention, or has gone."""


@dataclass(frozen=True, slots=True)
class Login:
    """What LOGIN7 says."""

    user: str
    password: str = field(repr=False)
    database: str
    program: str
    host: str
    read_only: bool = False  # ApplicationIntent=ReadOnly: would be content with a secondary


@dataclass(frozen=True, slots=True)
class Rows:
    """A result set."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Count:
    """A statement without rows is done; ``rows`` None: it counts none."""

    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Info:
    """A message of low severity."""

    number: int
    message: str


Result = Rows | Count | Info


class Session(Protocol):
    """One login."""

    database: str
    cancelled: threading.Event  # set by the wire when an attention comes or the client goes

    @property
    def ended(self) -> bool:
        """Whether the server closes the connection after the answer to the last request."""
        ...

    def run(self, sql: str, parameters: Mapping[str, Value]) -> Iterator[Result]:
        """Run a batch; raises ServerError or Cancelled."""
        ...

    def call(self, procedure: str, arguments: Iterable[tuple[str, Value]]) -> Iterator[Result]:
        """Run a stored procedure named by an RPC; raises ServerError."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def commit(self) -> None:
        """Keep what the transaction did."""
        ...

    def rollback(self) -> None:
        """Take back what the transaction did."""
        ...

    def close(self) -> None:
        """The connection has ended, one way or another."""
        ...


class Backend(Protocol):
    """Lets users in."""

    name: str
    version: tuple[int, int, int]

    def login(self, login: Login, spid: int, cut: threading.Event) -> Session:
        """Open a session; ``cut`` ends the connection once the backend sets it. Raises LoginRefused."""
        ...
