"""One agent acts on a database at a time; and what its moves make standbys and the log wait for.

One agent acts on a database at a time: an exclusive lock of an empty table, held by an open transaction.

What a move writes goes through the log: to the standbys of HADR, and it fills the active log until it commits.
"""

from __future__ import annotations

from math import nan

from connectors.db2.errors import diagnosis_of, translate
from connectors.db2.sessions import (
    Connection,
    DriverError,
    ReadSession,
    close_quietly,
    fetch,
    open_connection,
    query,
    send,
)
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import Crowding, LockNotObtained, ObjectGone, PrivilegeMissing
from connectors.kit.findings import Remedy
from connectors.kit.sessions import of_followers, of_log, take_lease, worst

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


DISCONNECTED = "DISCONNECTED"  # it catches up from archived logs once it is back; nothing waits for it


def find_crowding(session: ReadSession, settings: Db2Settings) -> Crowding:
    """The standby that is furthest behind and the fullest log; nothing where this version or login cannot tell.

    Raises:
        ConnectorError: the server did not answer.
    """
    standbys = session.optional_rows("standbys", doing="looking at standbys") or []
    behind = max(((gap or 0) + (replay or 0) for _, state, gap, replay in standbys if state != DISCONNECTED), default=0)
    members = session.optional_rows("log_room", doing="looking at the active log") or []
    full = max((_used_ratio(int(free or -1), int(used or 0)) for _, free, used in members), default=nan)
    return worst(
        of_followers("a standby", behind, settings.replica_queue_mib, settings.replica_queue_abort_mib),
        of_log("the active log", full, settings.log_used_percent, settings.log_used_abort_percent),
    )


def _used_ratio(free: int, used: int) -> float:
    """Of the whole active log; 0 where it has no end."""
    return used / (free + used) if free >= 0 and free + used > 0 else 0.0
