"""One agent acts on a database at a time: a user lock (DBMS_LOCK) on a session of its own, valid on all instances."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from connectors.kit.contract import PrivilegeMissing
from connectors.kit.findings import Remedy
from connectors.kit.sessions import Holder, take_public_lease
from connectors.oracle.driver import Driver, DriverConnection, code_of, translate, words_of
from connectors.oracle.sessions import ACTION_CHARACTERS, MODULE, Row, end, open_connection, query
from connectors.oracle.settings import OracleSettings

LEASE_ID = 0x1B6F7470  # below 1073741824, as DBMS_LOCK asks of ids that applications choose
TAKEN = "ORA-20054"  # what sql/lease_take.sql raises
NOT_COMPILED = "ORA-06550"  # of a block that names nothing but DBMS_LOCK
_NAME, _MARK = "lease", "lease!"  # begin the action of a session with the lease; the second acts without the lock
_OWN, _OURS = 4, 5  # columns of sql/lease_holder.sql


def lock_remedy(login: str) -> Remedy:
    """EXECUTE on the package that locks by name."""
    return Remedy(f"GRANT EXECUTE ON SYS.DBMS_LOCK TO {login};", "locks by name, which other programs may wait for")


class OracleLease:
    """Held as long as its session lives; the server releases it when the process or the connection dies."""

    def __init__(self, driver: Driver, connection: DriverConnection, holder: str, stranger: str = "") -> None:
        self._driver = driver
        self._connection: DriverConnection | None = connection
        self._holder = holder
        self._stranger = stranger

    @property
    def stranger(self) -> str:
        """See ``NamesStranger``."""
        return self._stranger

    def is_held(self) -> bool:
        """Whether this very session still holds the lock, or acts without it and no agent has it.

        The lock is taken as soon as the stranger lets it go.
        """
        if self._connection is None:
            return False
        try:
            rows = _ask(self._connection, "lease_holder", {"id": LEASE_ID})
            if any(row[_OURS] for row in rows):
                return True
            return bool(self._stranger) and self._holds_without(self._connection, rows)
        except self._driver.error:
            return False  # a session that cannot answer holds nothing that can be relied on

    def _holds_without(self, connection: DriverConnection, rows: list[Row]) -> bool:
        """Whether it still acts by its mark while a stranger or no one has the lock."""
        if any(row[_OWN] for row in rows):
            return False
        self._stranger = next(map(_in_words, rows), self._stranger)
        with suppress(self._driver.error):  # a stranger was faster once more
            if not rows:
                _run(connection, "lease_take")
                self._stranger, connection.action = "", _action(_NAME, self._holder)
                connection.ping()  # an action goes with the next call
        return True

    def release(self) -> None:
        """Give the lock up, and end the session; one that is gone holds nothing."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        _let_go(self._driver, connection)


def acquire_lease(driver: Driver, settings: OracleSettings, holder: str) -> OracleLease:
    """Take the lease.

    Raises:
        LeaseHeld: another agent has it.
        PrivilegeMissing: EXECUTE on DBMS_LOCK is not granted.
        CannotConnect: or what else connecting raises.
    """
    taken = take_public_lease(
        lambda: open_connection(driver, settings, action=_action(_NAME, holder)),
        lambda session: _try_take(driver, session, settings),
        lambda session: _find_holders(driver, session),
        lambda session: _let_go(driver, session),
        lambda session, without: _act_without(driver, session, holder, without=without),
    )
    return OracleLease(driver, taken.connection, holder, taken.stranger)


def _let_go(driver: Driver, connection: DriverConnection) -> None:
    """Give the lock up, so that no one need wait for the server to notice that the session has ended; end it."""
    with suppress(driver.error):  # ending the session releases it as well
        _run(connection, "lease_release")
    end(driver, connection)


def _try_take(driver: Driver, connection: DriverConnection, settings: OracleSettings) -> bool:
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
                advice=lock_remedy(settings.user or "the user of this login"),
                native_code=NOT_COMPILED,
            ) from error
        raise translate(error, "taking the lease") from error
    return True


def _find_holders(driver: Driver, connection: DriverConnection) -> list[Holder]:
    """Who has it, as far as this login may know."""
    try:
        rows = _ask(connection, "lease_holder", {"id": LEASE_ID})
    except driver.error:
        # GV$LOCK and GV$SESSION may be closed to this login: the lease is refused all the same, without a name.
        return []
    return [Holder(_in_words(row), own=bool(row[_OWN])) for row in rows]


def _act_without(driver: Driver, connection: DriverConnection, holder: str, *, without: bool) -> list[Holder]:
    try:
        if without:
            connection.action = _action(_MARK, holder)  # goes with the next call, before what that asks
        rows = _ask(connection, "lease_marked", {"module": MODULE, "mark": _MARK})
    except driver.error as error:
        if not without:
            return []  # it has the lock, and may not know more
        raise translate(error, "taking the lease") from error
    return [Holder(_in_words(row), own=True) for row in rows if not row[_OURS]]


def _in_words(row: Row) -> str:
    sid, action, machine, user, own, _ours = row
    who = (action if own else "") or "a session"  # what a stranger calls himself says nothing
    return f"{who} (session {sid}, from {machine}), user {user}"


def _action(kind: str, holder: str) -> str:
    return f"{kind} {holder}"[:ACTION_CHARACTERS]


def _run(connection: DriverConnection, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query(name), {"id": LEASE_ID})


def _ask(connection: DriverConnection, name: str, values: Mapping[str, object]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query(name), values)
        return cursor.fetchall()
