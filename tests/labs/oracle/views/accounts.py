"""Rows of the DBA_ views about users: quotas, privileges, roles, grants, proxies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.labs.oracle.model import BLOCK, STARTED

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase

Rows = Iterator[dict[str, Any]]


def quotas(db: EmulatedDatabase) -> Rows:
    """DBA_TS_QUOTAS."""
    for user in db.users.values():
        for space, limit in user.quotas.items():
            held = sum(s.bytes for s in db.segments() if (s.owner, s.tablespace) == (user.name, space))
            yield {
                "TABLESPACE_NAME": space, "USERNAME": user.name, "BYTES": held, "MAX_BYTES": limit,
                "BLOCKS": held // BLOCK, "MAX_BLOCKS": limit if limit < 0 else limit // BLOCK, "DROPPED": "NO",
            }  # fmt: skip


def users(db: EmulatedDatabase) -> Rows:
    """DBA_USERS."""
    for user in db.users.values():
        yield {
            "USERNAME": user.name, "USER_ID": user.user_id, "ACCOUNT_STATUS": user.status,
            "DEFAULT_TABLESPACE": user.default_tablespace, "TEMPORARY_TABLESPACE": "TEMP", "CREATED": STARTED,
            "ORACLE_MAINTAINED": "Y" if user.maintained else "N", "COMMON": "NO",
        }  # fmt: skip


def system_privileges(db: EmulatedDatabase) -> Rows:
    """DBA_SYS_PRIVS."""
    for user in db.users.values():
        for privilege in sorted(user.privileges):
            yield {"GRANTEE": user.name, "PRIVILEGE": privilege, "ADMIN_OPTION": "NO"}


def role_privileges(db: EmulatedDatabase) -> Rows:
    """DBA_ROLE_PRIVS."""
    for user in db.users.values():
        for role in sorted(user.roles):
            yield {"GRANTEE": user.name, "GRANTED_ROLE": role, "ADMIN_OPTION": "NO", "DEFAULT_ROLE": "YES"}


def object_privileges(db: EmulatedDatabase) -> Rows:
    """DBA_TAB_PRIVS."""
    for grantee, grants in (("PUBLIC", db.public), *((user.name, user.grants) for user in db.users.values())):
        for privilege, name in sorted(grants):
            owner, _, thing = name.partition(".")
            yield {
                "GRANTEE": grantee, "OWNER": owner, "TABLE_NAME": thing, "PRIVILEGE": privilege, "GRANTOR": owner,
                "GRANTABLE": "NO",
            }  # fmt: skip


def column_privileges(db: EmulatedDatabase) -> Rows:
    """DBA_COL_PRIVS."""
    for grantee, owner, table, column, privilege in sorted(db.column_grants):
        yield {
            "GRANTEE": grantee, "OWNER": owner, "TABLE_NAME": table, "COLUMN_NAME": column, "PRIVILEGE": privilege,
            "GRANTOR": owner, "GRANTABLE": "NO",
        }  # fmt: skip


def proxies(db: EmulatedDatabase) -> Rows:
    """DBA_PROXIES."""
    for user in db.users.values():
        for proxy in sorted(user.proxies):
            yield {"PROXY": proxy, "CLIENT": user.name}
