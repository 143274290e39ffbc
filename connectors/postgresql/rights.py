"""What the rights give away that this connector may ask for, and owners whose rights are never handed over."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connectors.findings import Remedy
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

MONITOR_GIVES = (
    "texts of other sessions' statements, all settings and statistics, and names of files of the whole server"
)
LIST_FILES_GIVES = "names, sizes and times of all files that the server's user can reach"
SCHEMA_GIVES = "{} may make tables and functions in {}, which others may find there by name"
SPACE_GIVES = "{} may fill that tablespace"
OWNER_GIVES = "all that {} may do: read, change and drop whatever it owns"
NEW_OWNER = "app_owner"  # proposed where neither the schema nor the database has a modest owner


def monitor_remedy(login: str) -> Remedy:
    """Membership of pg_monitor for a login, quoted."""
    return Remedy(f"GRANT pg_monitor TO {login};", MONITOR_GIVES)


def read_powers(session: ReadSession, roles: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """What each of those roles may do beyond its own objects and the session's login may not; modest ones are left out.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found: dict[str, tuple[str, ...]] = {}
    for role, power in session.rows(
        query("role_powers"), {"roles": sorted(roles)}, doing="looking at rights of owners"
    ):
        found[role] = (*found.get(role, ()), power)
    return found


def owner_remedy(owner: str, login: str, *, owns_database: bool = False) -> Remedy:
    """Membership of an owner without powers.

    Args:
        owner: quoted.
        login: quoted.
        owns_database: it owns the whole database.
    """
    gives = OWNER_GIVES.format(owner) + (", and the database itself" if owns_database else "")
    return Remedy(f"GRANT {owner} TO {login};", gives)


def refused_owner_remedy(relation: str, kind: str, role: str) -> Remedy:
    """What to do about a relation whose owner is never handed over.

    Args:
        relation: a table or materialized view, quoted.
        kind: pg_class.relkind.
        role: one without powers that may own it, quoted; "": there is none yet.
    """
    what = "MATERIALIZED VIEW" if kind == "m" else "TABLE"
    make = "" if role else f"CREATE ROLE {NEW_OWNER} NOLOGIN; "
    return Remedy(
        f"Change the owner, or leave these where they are: {make}ALTER {what} {relation} OWNER TO {role or NEW_OWNER};",
        f"{role or NEW_OWNER} may do anything with them then; foreign keys are checked with its rights",
    )
