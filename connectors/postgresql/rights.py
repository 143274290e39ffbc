"""What rights give away, and which ones a login lacks.

What the rights give away that this connector may ask for, and owners whose rights are never handed over.

Which rights a login lacks to move relations, by name; to split a table or close its open part, with the statement that
gives each, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from connectors.kit.findings import Remedy
from connectors.model.moves import NoRoute, Route
from connectors.postgresql.sessions import ReadSession, query

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


def refused_owner_remedy(relations: Sequence[tuple[str, str, str]], of: int = 1) -> Remedy:
    """What to do about relations whose owner is never handed over.

    Args:
        relations: table or materialized view, quoted; pg_class.relkind; and a role without powers that may own it,
            quoted, "" where there is none yet.
        of: how many there are, those that are left out among them.
    """
    heirs = dict.fromkeys(role or NEW_OWNER for _, _, role in relations)
    make = [f"CREATE ROLE {NEW_OWNER} NOLOGIN;"] if any(not role for _, _, role in relations) else []
    change = [
        f"ALTER {'MATERIALIZED VIEW' if kind == 'm' else 'TABLE'} {name} OWNER TO {role or NEW_OWNER};"
        for name, kind, role in relations
    ]
    some = f", here of the first {len(relations)} of {of}" if of > len(relations) else ""
    return Remedy(
        f"Change the owner{some}, or leave these where they are: {' '.join((*make, *change))}",
        f"{' and '.join(heirs)} may do anything with them then; foreign keys are checked with the owner's rights",
    )


def read_only_reason(session: ReadSession) -> str:
    """Why sessions like this one cannot write, with what lets them, a clause; "" where they can.

    As it was when the session began: a setting of the role or database counts for sessions that begin after it.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("read_only"), doing="asking whether sessions can write")
    standby, read_only, login, database = rows[0]
    if standby:
        return "the account that moves has reached a standby, which cannot write: give the primary as move_connection"
    if read_only:
        return (
            f"sessions of {login} begin read-only (default_transaction_read_only): if it is to move, "
            f"ALTER ROLE {login} IN DATABASE {database} SET default_transaction_read_only = off"
        )
    return ""


_OWNER = 1  # number of the owner's rights in ``sql/split_may.sql``


def refuse_rights(session: ReadSession, route: Route) -> NoRoute | None:
    """A refusal that names each right which the session's login lacks for the way there and back; None: none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    operation, space = route.steps[0].operation, route.to_space
    # A closing changes the table that its part belongs to as well.
    key = route.bundle.key if operation is None else operation.text("whole") or route.bundle.key
    values = {"key": key, "space": space, "moves": route.bundle.size_bytes > 0}
    rows = session.rows(query("split_may"), values, doing=f"looking at the rights to split {key}")
    if not rows:
        return None
    owner, named = rows[0][4], rows[0][5]
    powers = read_powers(session, [owner]).get(owner, ()) if rows[0][0] == _OWNER else ()
    if powers:
        return NoRoute(
            code="rights",
            sentence=f"the login that would do it lacks the rights of its owner {owner}, which are never handed "
            f"over, for it has {', '.join(powers)}: change the owner, or leave it as it is: "
            f"ALTER TABLE {named} OWNER TO ...;",
        )
    lacked = ", ".join(f"{what} (giving away {gives})" for _, what, _, gives, *_ in rows)
    remedies = " ".join(f"{row[2]};" for row in rows)
    return NoRoute(code="rights", sentence=f"the login that would do it lacks {lacked}: {remedies}")


def lacking_rights(session: ReadSession, route: Route, *, rebuilds: bool) -> str:
    """What the session's login lacks for the steps of a move, a clause; "" where it lacks nothing.

    Of rights to split it says nothing: without them there is no such route, see ``refuse_rights``.

    Args:
        session: of that login.
        route: of the move.
        rebuilds: whether it rebuilds an index.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if read_only := read_only_reason(session):
        return read_only
    if not route.steps or route.steps[0].operation is not None:
        return ""
    values = {"ids": list(route.bundle.physical_ids), "space": route.to_space, "rebuilds": rebuilds}
    rows = session.rows(query("move_may"), values, doing=f"looking at the rights to move {route.bundle.key}")
    return f"the account that moves lacks {' and '.join(row[0] for row in rows)}" if rows else ""
