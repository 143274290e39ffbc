"""What the rooms of the ledger need of the database under it: short transactions, whichever kind it is.

Two kinds fulfil it: ``file.database`` (SQLite, one machine) and ``server.database`` (PostgreSQL, many agents).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from agent.ledger.errors import LedgerCorrupt

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agent.ledger.file.reading import Reading
    from agent.ledger.file.transaction import Transaction


LONGEST_SECONDS = 10.0  # of giving back, half of what other writers wait for


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """What became of free pages."""

    bytes: int  # given back
    free_bytes: int  # still free within the file
    sentence: str  # why no more was given back; "" where all that is not spare was


class Upkeep(Protocol):
    """The size of what the ledger is stored in."""

    def give_back(self, longest_seconds: float = LONGEST_SECONDS) -> GivenBack:
        """Give back what the ledger no longer needs; readers and writers go on meanwhile.

        Raises:
            LedgerBusy, LedgerFull: nothing was given back.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Rows of history that went because of their age."""

    rows: int
    bytes: int  # of their blobs


class Expiry(Protocol):
    """The end of history."""

    def drop(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Drop what is older than it is kept.

        Args:
            now: by the agent's clock.
            kept_seconds: as this agent is configured.
            databases: those of which this agent keeps history; a file drops that of all.
        """
        ...


class Database(Protocol):
    """Short transactions on one ledger. Safe to use from several threads."""

    @property
    def lease_seconds(self) -> float:
        """How long a lease lasts without being renewed; inf: until another process of the machine takes it."""
        ...

    def now(self, reading: Reading) -> datetime:
        """The time by the clock that all who write here have in common."""
        ...

    @property
    def name(self) -> str:
        """The ledger in messages: its file, or user, host and schema."""
        ...

    def read(self) -> AbstractContextManager[Reading]:
        """One consistent snapshot; writers are not blocked."""
        ...

    def read_by_core(self) -> AbstractContextManager[Connection]:
        """The same for statements of SQLAlchemy's Core."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """One transaction, alone of its kind from its start; commits at the end, rolls back on any error.

        Args:
            durable: what was decided or is about to be done: it survives a power cut once this returns, and no other
                decision is made meanwhile. False: samples, of which the last may be lost.
        """
        ...

    def write_apart(self) -> AbstractContextManager[Transaction]:
        """A durable transaction that waits for decisions only where it locks the same row."""
        ...

    def size_bytes(self) -> int:
        """What it takes on the disk."""
        ...

    def find_damage(self) -> str:
        """What is wrong with the storage under it; "" where nothing was found."""
        ...

    def corrupt(self, detail: str) -> LedgerCorrupt:
        """The error that says that something stored is damaged."""
        ...

    def close(self) -> None:
        """End all connections."""
        ...
