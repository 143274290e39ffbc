"""One agent acts on a database at a time: an exclusive lock of an empty table, held by an open transaction."""

from __future__ import annotations

from connectors.base import LockNotObtained, ObjectGone, PrivilegeMissing
from connectors.db2.session.errors import diagnosis_of, translate
from connectors.db2.session.queries import query
from connectors.db2.session.sessions import Connection, DriverError, close_quietly, fetch, open_connection, send
from connectors.db2.settings import Db2Settings
from connectors.findings import Remedy
from connectors.sessions.leases import take_lease

TABLE = "HOTPLACE.LEASE"
MAKE_IT = Remedy(
    "CREATE TABLE HOTPLACE.LEASE (HOLDER VARCHAR(128)); GRANT SELECT ON HOTPLACE.LEASE TO USER ... "
    "(db2-observe.sql of `hotplace deploy privileges --engine db2`)",
    "an empty table that the user may lock: whoever may, can keep an agent from acting",
)


class Db2Lease:
    """Held as long as its transaction lives; Db2 releases it when the process or the connection dies."""

    def __init__(self, connection: Connection) -> None:
        self._connection: Connection | None = connection

    def is_held(self) -> bool:
        """Whether the session that locked the table still answers: the lock lives as long as it does."""
        if self._connection is None:
            return False
        try:
            fetch(self._connection, query("lease_alive").text)
        except DriverError:
            self.release()  # the driver may have reconnected already, and would answer next time, without the lock
            return False
        return True

    def release(self) -> None:
        """End the transaction and the session."""
        connection, self._connection = self._connection, None
        if connection is not None:
            close_quietly(connection)  # which rolls back


def acquire_lease(settings: Db2Settings, holder: str) -> Db2Lease:
    """Take the lease.

    Args:
        settings: where and who.
        holder: says who wants it in the message that the next one gets on this machine's side only; Db2 shows the
            application of the lock's holder (MON_GET_LOCKS).

    Raises:
        LeaseHeld: another agent has it.
        PrivilegeMissing: there is no such table, or it may not be read.
        CannotConnect: or what else connecting raises.
    """
    connection = take_lease(
        lambda: open_connection(settings, statement_seconds=settings.query_timeout, autocommit=False),
        lambda session: _try_take(session, holder),
        lambda _: f"{TABLE} is locked",
        close_quietly,
    )
    return Db2Lease(connection)


def _try_take(connection: Connection, holder: str) -> bool:
    try:
        # One second instead of an endless wait, which is Db2's default: a second agent has to hear at once that there
        # is another.
        send(connection, "SET CURRENT LOCK TIMEOUT 1")
        send(connection, query("lease_take").text)
    except DriverError as error:
        refusal = translate(diagnosis_of(error), f"taking the lease for {holder}")
        if isinstance(refusal, LockNotObtained):
            return False
        if isinstance(refusal, ObjectGone | PrivilegeMissing):
            raise PrivilegeMissing(str(refusal), advice=MAKE_IT, native_code=refusal.native_code) from error
        raise refusal from error
    return True
