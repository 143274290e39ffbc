"""What stands behind the wire: whoever executes the statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.labs.tns.values import OracleType


class OracleError(Exception):
    """An error as the server reports it; ``str`` is the whole text with its ORA- number."""

    def __init__(self, number: int, text: str, *, offset: int = 0) -> None:
        super().__init__(f"ORA-{number:05}: {text}")
        self.number = number
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Column:
    """Description of one column of an answer."""

    name: str
    kind: OracleType
    size: int = 0  # bytes, of character and raw types
    precision: int = 0
    scale: int = -127  # of NUMBER: no scale declared
    nullable: bool = True
    national: bool = False


@dataclass(slots=True)
class Bind:
    """One bind: its value per execution, and what PL/SQL assigned to it."""

    kind: int
    size: int
    values: list[Any]
    national: bool = False
    out: Any = None
    assigned: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement gave: rows of a query, or a count of rows."""

    columns: tuple[Column, ...] = ()
    rows: Sequence[Sequence[Any]] = ()
    rowcount: int = 0


@dataclass(slots=True)
class Client:
    """What the driver said about itself."""

    user: str
    service: str
    instance: str = ""  # asked for by name, of a cluster
    program: str = ""
    machine: str = ""
    os_user: str = ""
    module: str = ""
    action: str = ""
    client_identifier: str = ""
    proxy_client: str = ""
    extra: dict[str, str] = field(default_factory=dict)


class Session(Protocol):
    """One session. ``cancel`` comes from another thread; everything else from one."""

    session_id: int
    serial: int
    client: Client

    def execute(self, sql: str, binds: Sequence[Bind], executions: int) -> Answer:
        """Run one statement. Raises OracleError."""
        ...

    def in_transaction(self) -> bool:
        """Whether anything is uncommitted."""
        ...

    def commit(self) -> None:
        """Make it durable."""
        ...

    def rollback(self) -> None:
        """Take it back."""
        ...

    def cancel(self) -> None:
        """Make the running statement end with ORA-01013."""
        ...

    def close(self, *, orderly: bool) -> None:
        """The client has logged off, or its connection broke."""
        ...


class Database(Protocol):
    """One database with its services."""

    version: tuple[int, ...]

    def serves(self, service: str, instance: str) -> bool:
        """Whether the listener knows it, on that instance if one is named."""
        ...

    def password(self, user: str) -> str | None:
        """The clear password, None for an unknown user."""
        ...

    def refuse_login(self, client: Client) -> OracleError | None:
        """What the database says after the right password: locked, expired, no CREATE SESSION."""
        ...

    def open(self, client: Client) -> Session:
        """A new session."""
        ...
