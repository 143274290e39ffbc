"""Who may see and do what, by server and database permissions."""

from __future__ import annotations

from tests.labs.sqlserver.documented import View
from tests.labs.sqlserver.instance import Account
from tests.labs.tds.backend import ServerError

PERFORMANCE_SPLIT = 16  # VIEW SERVER PERFORMANCE STATE since 2022
DDL_RIGHTS = frozenset({"ALTER", "ALTER ANY DATASPACE", "ALTER ANY SCHEMA", "CREATE TABLE"})
OWN_ROWS = frozenset(
    {"sys.dm_exec_requests", "sys.dm_exec_sessions", "sys.dm_exec_session_wait_stats"}
)  # without the right: this session only

OF_SECURITY = frozenset({"sys.dm_database_encryption_keys"})


def sees_server_state(account: Account, major: int) -> bool:
    """VIEW SERVER STATE, which holds the newer rights."""
    wanted = {"VIEW SERVER STATE"} | ({"VIEW SERVER PERFORMANCE STATE"} if major >= PERFORMANCE_SPLIT else set())
    return account.administrator or bool(wanted & account.server_rights)


def sees_database_state(account: Account, major: int) -> bool:
    """The database's own right, or the server's."""
    wanted = {"VIEW DATABASE STATE"} | ({"VIEW DATABASE PERFORMANCE STATE"} if major >= PERFORMANCE_SPLIT else set())
    return sees_server_state(account, major) or bool(wanted & account.database_rights)


def sees_every_database(account: Account) -> bool:
    """VIEW ANY DATABASE, which public has unless it was taken away."""
    return "VIEW ANY DATABASE" not in account.denied


def sees_definitions(account: Account) -> bool:
    """VIEW DEFINITION; whoever may alter sees too."""
    rights = account.server_rights | account.database_rights
    return account.administrator or bool({"VIEW ANY DEFINITION", "VIEW DEFINITION", "ALTER"} & rights)


def may_alter(account: Account, schema: str) -> bool:
    """ALTER on the database and so on every table, or the owner of the schema, who has CONTROL of what is in it."""
    return account.administrator or "ALTER" in account.database_rights or schema.lower() in account.owns


def may_alter_spaces(account: Account) -> bool:
    """ALTER ANY DATASPACE, which ALTER on the database holds."""
    return account.administrator or bool({"ALTER", "ALTER ANY DATASPACE"} & account.database_rights)


def may_create_tables(account: Account, schema: str) -> bool:
    """CREATE TABLE in the database, and ALTER on the schema."""
    creates = account.administrator or bool({"ALTER", "CREATE TABLE"} & account.database_rights)
    return creates and may_alter(account, schema)


def may_create(account: Account, right: str, schema: str) -> bool:
    """That right in the database, which ALTER holds, and ALTER on the schema."""
    has = account.administrator or bool({"ALTER", right} & account.database_rights)
    return has and may_alter(account, schema)


def owns_rows(account: Account, schema: str) -> bool:
    """SELECT, INSERT and UPDATE on the tables of a schema: its owner's, or given for the database."""
    return schema.lower() in account.owns or may_read_and_write(account)


def may_read_and_write(account: Account) -> bool:
    """SELECT and INSERT on every table, which ALTER does not hold."""
    return account.administrator or {"SELECT", "INSERT"} <= account.database_rights


def check_view(account: Account, view: View, major: int, database: str) -> None:
    """Raises ServerError 300 or 262, each with 297, where the login may not look at it; 229 where it was denied to."""
    if view.name in account.denied:
        name = view.name.partition(".")[2]
        message = (
            f"The SELECT permission was denied on the object '{name}', database 'mssqlsystemresource', schema 'sys'."
        )
        raise ServerError(229, message, severity=14)
    if not view.needs_state() or view.name in OWN_ROWS:
        return
    if view.name in OF_SECURITY and major >= PERFORMANCE_SPLIT:
        if account.administrator or "VIEW SERVER SECURITY STATE" in account.server_rights:
            return
        message = "VIEW SERVER SECURITY STATE permission was denied on object 'server', database 'master'."
        raise ServerError(300, message, severity=14, also=297)
    newer = " PERFORMANCE" if major >= PERFORMANCE_SPLIT else ""
    if sees_server_state(account, major):
        return
    if not view.database_right_will_do():
        message = f"VIEW SERVER{newer} STATE permission was denied on object 'server', database 'master'."
        raise ServerError(300, message, severity=14, also=297)
    if not sees_database_state(account, major):
        message = f"VIEW DATABASE{newer} STATE permission denied in database '{database}'."
        raise ServerError(262, message, severity=14, also=297)


def has_permission(account: Account, major: int, kind: str | None, permission: str) -> int | None:
    """HAS_PERMS_BY_NAME: NULL for a permission that the version does not know."""
    permission = permission.upper()
    if "PERFORMANCE" in permission and major < PERFORMANCE_SPLIT:
        return None
    if kind is None and permission == "VIEW ANY DATABASE":
        return int(sees_every_database(account))
    if kind is None:
        return int(sees_server_state(account, major) if permission.endswith(" STATE") else account.administrator)
    if permission in ("VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE"):
        return int(sees_database_state(account, major))
    if permission == "VIEW DEFINITION":
        return int(sees_definitions(account))
    implied = permission in DDL_RIGHTS and "ALTER" in account.database_rights
    return int(account.administrator or implied or permission in account.database_rights)
