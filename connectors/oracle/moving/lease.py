"""One agent acts on a database at a time: a user lock (DBMS_LOCK) on a session of its own, valid on all instances."""

from __future__ import annotations

from contextlib import suppress

from connectors.base import PrivilegeMissing
from connectors.oracle.session.driver import Connection, Driver, code_of, words_of
from connectors.oracle.session.errors import translate
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import Row, end, open_connection
from connectors.oracle.settings import OracleSettings
from connectors.sessions.leases import take_lease

LEASE_ID = 0x1B6F7470  # below 1073741824, as DBMS_LOCK asks of ids that applications choose
TAKEN = "ORA-20054"  # what sql/lease_take.sql raises
NOT_COMPILED = "ORA-06550"  # of a block that names nothing but DBMS_LOCK


class OracleLease:
    """Held as long as its session lives; the server releases it when the process or the connection dies."""

    def __init__(self, driver: Driver, connection: Connection) -> None:
        self._driver = driver
        self._connection: Connection | None = connection

    def is_held(self) -> bool:
        """Whether this very session still holds the lock."""
        if self._connection is None:
            return False
        try:
            return any(ours for _, _, _, ours in _holders(self._connection))
        except self._driver.error:
            return False  # a session that cannot answer holds nothing that can be relied on

    def release(self) -> None:
        """Give the lock up, and end the session; one that is gone holds nothing."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(self._driver.error):  # ending the session releases it as well
            _run(connection, "lease_release")
        end(self._driver, connection)


def acquire_lease(driver: Driver, settings: OracleSettings, holder: str) -> OracleLease:
    """Take the lease.

    Raises:
        LeaseHeld: another agent has it.
        PrivilegeMissing: EXECUTE on DBMS_LOCK is not granted.
        CannotConnect: or what else connecting raises.
    """
    connection = take_lease(
        lambda: open_connection(driver, settings, action=f"lease {holder}"),
        lambda session: _try_take(driver, session, settings),
        lambda session: _find_holder(driver, session),
        lambda session: end(driver, session),
    )
    return OracleLease(driver, connection)


def _try_take(driver: Driver, connection: Connection, settings: OracleSettings) -> bool:
    try:
        _run(connection, "lease_take")
    except driver.error as error:
        if code_of(error) == TAKEN:
            return False
        # Without the grant the block does not compile, and the error speaks of an undeclared name and not of
        # privileges.
        if code_of(error) == NOT_COMPILED:
            raise PrivilegeMissing(
                f"taking the lease: {words_of(error)}",
                advice=f"GRANT EXECUTE ON SYS.DBMS_LOCK TO {settings.user or 'the user of this login'};",
                native_code=NOT_COMPILED,
            ) from error
        raise translate(error, "taking the lease") from error
    return True


def _find_holder(driver: Driver, connection: Connection) -> str:
    """Who holds it, as far as this login may know."""
    try:
        holders = _holders(connection)
    except driver.error:
        return ""
    for sid, action, machine, _ in holders:
        return f"{action or 'a session'} (session {sid}, from {machine})"
    return ""


def _run(connection: Connection, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query(name), {"id": LEASE_ID})


def _holders(connection: Connection) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query("lease_holder"), {"id": LEASE_ID})
        return cursor.fetchall()
