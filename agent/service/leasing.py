"""The right to act on one database: the ledger's lease with its token, and the engine's own lock.

The ledger's lease says which agent of a fleet it is, and its token goes with every write about a move. The engine's
lock holds off agents that use another ledger, and sessions of an agent that has lost the lease.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from agent.ledger.errors import LedgerError
from agent.ledger.leases import Leases
from connectors.kit.contract import Connector, ConnectorError, EndsHolders, Lease, NamesStranger


class Leasing:
    """Takes both, keeps both, gives both back. Safe from several threads."""

    def __init__(self, database: str, leases: Leases, connector: Callable[[], Connector]) -> None:
        """Nothing is taken yet.

        Args:
            database: its name.
            leases: the ledger's.
            connector: whose session holds the engine's lock.
        """
        self._database = database
        self._leases = leases
        self._connector = connector
        self._taking = threading.Lock()
        self.of_engine: Lease | None = None
        self._unreached_since: float | None = (
            None  # by the monotonic clock: the engine's lock is gone and not to be had
        )

    @property
    def is_taken(self) -> bool:
        """Whether both were taken, by what is known here."""
        return self.of_engine is not None and self._leases.token(self._database) is not None

    def find_stranger(self) -> str:
        """Who has the engine's lock though it is no agent, and keeps no one from acting; "" for no one."""
        with self._taking:
            if self._stranger and self.of_engine is not None:
                self.of_engine.is_held()  # asked again: it takes the lock once the stranger has let go
            return self._stranger

    @property
    def _stranger(self) -> str:
        return self.of_engine.stranger if isinstance(self.of_engine, NamesStranger) else ""

    def hold(self) -> None:
        """Hold both, taking what is not held.

        Raises:
            LeaseHeld: another agent acts here.
            ConnectorError, LedgerError: engine or ledger did not answer.
        """
        with self._taking:  # two threads would each open a session, and the second be refused because of the first
            # The engine is asked each time: its lock ends with its session, and another agent may have it since. The
            # ledger is asked by each write.
            if self.of_engine is not None and self.of_engine.is_held() and self._leases.token(self._database):
                return
            self._take()

    def keep(self) -> None:
        """Put off the end of the ledger's lease, if this agent holds it and reaches the database.

        Raises:
            LeaseLost: another agent has it by now.
            ConnectorError: the database has not answered for as long as a lease lasts; the lease was given back.
            LedgerError: the ledger did not answer.
        """
        with self._taking:
            # What was lost too, by what a write has met meanwhile: renewing says so to the caller.
            if not self._leases.was_taken(self._database):
                return
            self._leases.renew(self._database)
            self._let_others_reach_it()

    def release(self) -> None:
        """Let another agent act here at once."""
        with self._taking:
            self._give_back()

    def _let_others_reach_it(self) -> None:
        """Give the ledger's lease back where this agent has not reached the database for as long as a lease lasts."""
        try:
            if self.of_engine is None or not self.of_engine.is_held():
                self._release_engine()
                self.of_engine = self._connector().acquire_lease(self._name)
            self._unreached_since = None
        except ConnectorError:
            now = time.monotonic()
            self._unreached_since = self._unreached_since or now
            if now - self._unreached_since >= self._leases.seconds:
                self._unreached_since = None
                self._leases.give_back(self._database)
                raise

    @property
    def _name(self) -> str:
        """Of the session that has the engine's lock: who takes over ends it by the word of its holder."""
        # The process first: whoever finds the lock taken looks for it. Names of sessions are cut at their end.
        return f"agent pid {os.getpid()} {self._leases.session} for {self._database}"

    def _take(self) -> None:
        self._release_engine()  # what is left of a session that no longer answers
        connector, before = self._connector(), None
        if self._leases.run_out:
            connector.identify()  # first: an agent that cannot reach the database keeps no other from it
            before = self._leases.take(self._database)
        with ExitStack() as unless_taken:  # half of it would keep others out
            unless_taken.callback(self._give_back)
            if before is not None and isinstance(connector, EndsHolders):
                connector.end_holder(before.session)
            self.of_engine = connector.acquire_lease(self._name)
            if not self._leases.run_out:  # on one machine the engine decides who it is
                self._leases.take(self._database)
            unless_taken.pop_all()

    def _give_back(self) -> None:
        self._release_engine()
        with suppress(LedgerError):  # it runs out
            self._leases.give_back(self._database)

    def _release_engine(self) -> None:
        if self.of_engine is not None:
            self.of_engine.release()
            self.of_engine = None
