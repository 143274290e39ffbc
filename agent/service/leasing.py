"""The right to act on one database: the ledger's lease with its token, and the engine's own lock.

The ledger's lease says which agent of a fleet it is, and its token goes with every write about a move. The engine's
lock holds off agents that use another ledger, and sessions of an agent that has lost the lease.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from agent.ledger.errors import LedgerError
from agent.ledger.leases import Leases
from connectors.base import Connector, Lease


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
        """Put off the end of the ledger's lease, if this agent holds it.

        Raises:
            LeaseLost: another agent has it by now.
            LedgerError: the ledger did not answer.
        """
        with self._taking:
            if self._leases.token(self._database) is not None:
                self._leases.renew(self._database)

    def release(self) -> None:
        """Let another agent act here at once."""
        with self._taking:
            self._release_engine()
            with suppress(LedgerError):  # it runs out by itself
                self._leases.give_back(self._database)

    def _take(self) -> None:
        self._release_engine()  # what is left of a session that no longer answers
        if self._leases.run_out:
            self._leases.take(self._database)
        try:
            self.of_engine = self._connector().acquire_lease(f"hotplace for {self._database}")
            if not self._leases.run_out:  # on one machine the engine decides who it is
                self._leases.take(self._database)
        except BaseException:  # an interrupt too: half of it keeps others out
            self._release_engine()
            with suppress(LedgerError):
                self._leases.give_back(self._database)
            raise

    def _release_engine(self) -> None:
        if self.of_engine is not None:
            self.of_engine.release()
            self.of_engine = None
