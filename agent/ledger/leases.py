"""Leases: which process may act on a database, with a token that every write about a move carries.

What was learned carries it too: what an earlier holder knows is older than what the next one has stored since.

Each holder gets a token larger than those before. A write about a move checks within its own transaction that its token
is still the newest, under a lock (``FOR SHARE``) that the next holder waits for: what an agent had checked
before it was frozen, or cut off from the ledger, counts for nothing once another one has taken over. A statement is
sent after its intent only, so neither is a statement.

On a server a lease ends when it is not renewed for a while, by the clock of the server and no other. On a
file it lasts until another process of the machine takes it, which does so once the engine has given it its own lock.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.errors import LeaseLost
from agent.ledger.store.database import Database, Row, Transaction
from agent.ledger.store.schema import given, leases
from connectors.kit.contract import LeaseHeld

_LEASES = select(leases)
_LEASE = _LEASES.where(given(leases.c.database))
# The writer of a file is alone: SQLite's dialect leaves the locks out.
_LOCKED = {"SHARE": _LEASE.with_for_update(read=True), "UPDATE": _LEASE.with_for_update()}
NOT_HELD = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """Who may act on a database."""

    database: str
    token: int
    holder: str  # process, in words
    session: str  # the same, in a word that is never used again; "": given back
    seconds: float  # it lasts so long without being renewed
    left_seconds: float  # by the clock of the server; negative: run out, inf: until another one takes it

    @property
    def is_in_force(self) -> bool:
        """Whether no other process may take it."""
        # A lease that ends later than it lasts was written before the clock of the server was set back, or by a server
        # that another one has replaced: an agent that lives renews it, and a dead one would else hold it for hours.
        return self.session != NOT_HELD and 0 < self.left_seconds <= self.seconds

    @property
    def sentence(self) -> str:
        """Who has it, and for how long."""
        return f"{self.holder}, whose lease {self.token} ends in {self.left_seconds:.0f} s unless it is renewed"


class Leases:
    """The leases of one process, by database. Safe from several threads.

    Attributes:
        seconds: how long one lasts without being renewed; inf: on a file.
    """

    def __init__(self, database: Database, chain: AuditChain, actor: str) -> None:
        self._database = database
        self._chain = chain
        self._holder = actor
        self.session = secrets.token_hex(8)  # a process number is used again, and one process may open two ledgers
        self._tokens: dict[str, int] = {}
        self._given: dict[str, int] = {}  # the same, and those that were given back since
        self._lost: set[str] = set()  # that another process has taken; the old token stays, so that it is refused
        self.seconds = database.lease_seconds

    @property
    def run_out(self) -> bool:
        """Whether a lease ends unless it is renewed."""
        return not math.isinf(self.seconds)

    def token(self, database: str) -> int | None:
        """What this process was given last; None: nothing, or it was given back, or lost by what is known."""
        return None if database in self._lost else self._tokens.get(database)

    def was_taken(self, database: str) -> bool:
        """Whether this process was given the lease and has not given it back; it may have lost it since."""
        return database in self._tokens

    def take(self, database: str) -> LeaseRow | None:
        """Become the holder, or stay it; durable when this returns.

        Returns:
            The lease of another process that had run out and was taken, if there was one.

        Raises:
            LeaseHeld: another process is, and its lease has not run out.
        """
        with self._database.write() as transaction:
            before = self._row(transaction, database, lock="UPDATE")
            others = before is not None and before.session not in {NOT_HELD, self.session}
            if before is not None and others and self.run_out and before.is_in_force:
                raise LeaseHeld(
                    f"another agent acts on {database}: {before.sentence}",
                    advice="Stop the other agent, or wait for its lease with hotplace run --standby.",
                )
            token = 1 if before is None else before.token + (before.session != self.session)
            self._put(transaction, database, token)
            if before is not None and others and self.run_out:
                self._chain.append(transaction, "lease.taken_over", database, token=token, was=before.holder)
        self._tokens[database] = self._given[database] = token
        self._lost.discard(database)
        return before if others else None

    def renew(self, database: str) -> None:
        """Put off the end of a lease that this process holds.

        Raises:
            LeaseLost: another process has it by now.
        """
        with self._database.write_apart() as transaction:
            # One that has run out is renewed like any other: its token is the newest as long as no other process took
            # the lease, and what was written under it stands.
            self.require(transaction, database, lock="UPDATE")
            if database in self._tokens:
                self._put(transaction, database, self._tokens[database])

    def give_back(self, database: str) -> None:
        """Let another process take it at once; no effect where another one has it."""
        token = self._tokens.pop(database, None)
        self._lost.discard(database)
        if token is None:
            return
        with self._database.write_apart() as transaction:
            row = self._row(transaction, database, lock="UPDATE")
            if row is not None and (row.token, row.session) == (token, self.session):
                self._put(transaction, database, token, session=NOT_HELD)

    def rows(self) -> list[LeaseRow]:
        """All of them, by the name of the database."""
        with self._database.read() as reading:
            now = self._database.now(reading)
            found = sorted(reading.rows(_LEASES), key=lambda row: str(row.database))
            return [_lease_row(row, now) for row in found]

    def require(self, transaction: Transaction, database: str, *, lock: str = "SHARE") -> None:
        """Check, until the end of a transaction, that no other process has taken the lease.

        Raises:
            LeaseLost: one has. Also where this process holds none, and another one does.
        """
        row = self._row(transaction, database, lock=lock)
        if row is None or (row.session == NOT_HELD and database not in self._tokens):
            return
        if (row.token, row.session) == (self._tokens.get(database), self.session):
            return
        if database in self._tokens or (self.run_out and row.is_in_force):
            raise self._is_lost(row)

    def require_not_succeeded(self, transaction: Transaction, database: str) -> None:
        """The same for what commands write too: refuses only a process that was given the lease itself.

        Raises:
            LeaseLost: another process has been given it since.
        """
        if database not in self._given:
            return
        row = self._row(transaction, database, lock="SHARE")
        if row is None or row.session == self.session:
            return
        # Of a machine's own file a command may have taken it for a moment; the daemon then goes on as it did.
        if row.session == NOT_HELD and (row.token == self._given[database] or not self.run_out):
            return
        raise self._is_lost(row)

    def _is_lost(self, row: LeaseRow) -> LeaseLost:
        if row.database in self._tokens:
            self._lost.add(row.database)
        return LeaseLost(
            f"another agent acts on {row.database} by now: {row.sentence}",
            advice="Nothing was written or sent. That agent reconciles what runs.",
        )

    def _row(self, transaction: Transaction, database: str, *, lock: str) -> LeaseRow | None:
        row = transaction.first(_LOCKED[lock], database=database)
        # The clock after the lock: a wait for it may have taken longer than the lease lasts.
        return None if row is None else _lease_row(row, self._database.now(transaction))

    def _put(self, transaction: Transaction, database: str, token: int, *, session: str | None = None) -> None:
        end = self._database.now(transaction) + timedelta(seconds=self.seconds) if self.run_out else None
        values = {
            "database": database, "token": token, "holder": self._holder, "expires_at": end,
            "session": self.session if session is None else session, "seconds": self.seconds if self.run_out else 0.0,
        }  # fmt: skip
        transaction.put(leases, [values])


def _lease_row(row: Row, now: datetime) -> LeaseRow:
    left = math.inf if row.expires_at is None else (row.expires_at - now).total_seconds()
    return LeaseRow(
        database=row.database,
        token=row.token,
        holder=row.holder,
        session=row.session,
        seconds=row.seconds,
        left_seconds=left,
    )
