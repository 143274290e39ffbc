"""What this login may not read or do: each view and privilege by its name, with the GRANT that mends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from connectors.base import ConnectorError, PrivilegeMissing
from connectors.findings import Finding, Remedy, Severity
from connectors.oracle.moving.lease import lock_remedy
from connectors.oracle.session.instances import NO_QUERY_SERVERS
from connectors.oracle.session.queries import granted_on, probe, probe_view, query, views_of
from connectors.oracle.session.server import CONTAINERS_SINCE, Server
from connectors.oracle.session.sessions import ReadSession
from connectors.oracle.settings import OracleSettings

BY_OBJECT, BY_TABLESPACE = ("ALTER ANY TABLE", "ALTER ANY INDEX"), ("ALTER DATABASE",)
GIVES = {  # what a system privilege reaches that this connector may ask for
    "ALTER ANY TABLE": "tables of every schema but that of SYS, to change them",
    "ALTER ANY INDEX": "indexes of every schema but that of SYS, to change them",
    "ALTER DATABASE": "files, logs and the state of the whole database",
    "CREATE ANY TABLE": "tables in every schema but that of SYS",
    "CREATE ANY INDEX": "indexes in every schema but that of SYS, whose expressions run with their owners' rights",
}
_BIND = re.compile(r":\w+")
_SAMPLED = ("epoch", "sample", "files", "system", "roles", "pools", "statements")
_OPTIONAL = frozenset({"roles", "roles_container"})  # without them there are fewer figures; everything else works
_FOR_OUTCOMES = frozenset({"statements"})  # without them an outcome does not say which statements became slower
_PLANNED = (
    "spaces",
    "datafiles",
    "owners",
    "objects",
    "table",
    "table_parts",
    "indexes",
    "lob",
    "lob_part",
    "table_segment",
    "two_spaces",
    "quota",
)
_WATCHED = ("running", "journal")
_MOVING = ("own_session", "blockers", "waiting", "progress", "lease_holder", "lease_marked", "lock_grant")
_OF_CONTAINER = {"epoch": "epoch_container", "units_11": "units", "awr": "awr_container"}


def select_remedy(views: Sequence[str], login: str) -> Remedy:
    """SELECT on some views; "" of none.

    Args:
        views: as queries name them.
        login: as the server names it.
    """
    if not views:
        return Remedy("")
    text = " ".join(f"GRANT SELECT ON {granted_on(view)} TO {login};" for view in views)
    return Remedy(text, f"what {' and '.join(views)} show of all users, their statements and objects included")


def system_remedy(privileges: Sequence[str], login: str, *, before: str = "", behind: str = "") -> Remedy:
    """System privileges, with what each gives away and the narrower way.

    Args:
        privileges: of ``GIVES``.
        login: as the server names it.
        before: words before the statement.
        behind: words behind it.
    """
    given = "; ".join(f"{name}: {GIVES[name]}" for name in privileges)
    return Remedy(
        f"{before}GRANT {', '.join(privileges)} TO {login};{behind}", f"{given}; oracle-move.sql names narrower ways"
    )


def moves_needed(settings: OracleSettings) -> tuple[str, ...]:
    """System privileges without which only what the login owns, or was given, can be moved."""
    return BY_TABLESPACE if settings.move_by == "tablespace" else BY_OBJECT


def examine_grants(session: ReadSession, server: Server, settings: OracleSettings) -> Iterator[Finding]:
    """Each query once without its rows; of those that fail, each view that is not granted.

    Raises:
        ConnectorError: the server did not answer.
    """
    names = [*_SAMPLED, *_PLANNED, "units_11", *_WATCHED, *_licensed_queries(server, settings)]
    yield from _of_queries(session, [_fitting(name, server) for name in names], server.login, about_moving=False)
    yield from _of_queries(session, _MOVING, server.login, about_moving=True)
    yield from _lock(session, server.login)


def _licensed_queries(server: Server, settings: OracleSettings) -> Iterator[str]:
    if "diagnostics_pack" in settings.licensed:
        yield "awr"
    if "advanced_compression" in settings.licensed and server.since(*CONTAINERS_SINCE):
        yield "ado"


def _fitting(name: str, server: Server) -> str:
    """The query of that name for this release and container."""
    if name in {"system", "roles", "awr"}:
        return f"{name}_container" if server.in_cdb else name
    return _OF_CONTAINER.get(name, name) if server.since(*CONTAINERS_SINCE) else name


def _of_queries(session: ReadSession, names: Sequence[str], login: str, *, about_moving: bool) -> Iterator[Finding]:
    missing: dict[str, list[str]] = {}
    stopped: ConnectorError | None = None
    for name in names:
        error = _failure(session, probe(name), _binds(name))
        if error is None:
            yield Finding.ok(f"query_{name}", f"the query {name} is allowed")
        elif error.native_code in NO_QUERY_SERVERS:
            stopped = error
        elif isinstance(error, PrivilegeMissing):
            for view in _closed_views(session, name):
                missing.setdefault(view, []).append(name)
        else:
            yield Finding.error(f"query_{name}", str(error), error.advice or "Read the message of the server.")
    if stopped is not None:
        yield _one_by_one(stopped, about_moving=about_moving)
    for view, wanted in missing.items():
        yield _not_granted(view, wanted, login, about_moving=about_moving)


def missing_views(session: ReadSession, names: Sequence[str]) -> tuple[str, ...]:
    """Views that these queries read and the login may not.

    Raises:
        ConnectorError: the server did not answer.
    """
    closed = [name for name in names if isinstance(_failure(session, probe(name), _binds(name)), PrivilegeMissing)]
    return tuple(dict.fromkeys(view for name in closed for view in _closed_views(session, name)))


def _closed_views(session: ReadSession, name: str) -> tuple[str, ...]:
    """Of a query that is refused: the views that are, or all of them where each alone is not."""
    views = tuple(view for view in views_of(name) if _failure(session, probe_view(view), {}) is not None)
    return views or views_of(name)


def _failure(session: ReadSession, statement: str, values: dict[str, None]) -> ConnectorError | None:
    try:
        session.rows(statement, values, doing="trying what is granted")
    except ConnectorError as error:
        # Without a code it was not the server that refused, and every further query would fail alike.
        if error.native_code:
            return error
        raise
    return None


def _binds(name: str) -> dict[str, None]:
    """Every bind of the query as NULL."""
    # Literals first: the colons of 'HH24:MI:SS' are no binds.
    return {bind[1:]: None for bind in _BIND.findall(re.sub(r"'[^']*'", "", query(name)))}


def _not_granted(view: str, wanted: Sequence[str], login: str, *, about_moving: bool) -> Finding:
    severity = Severity.WARNING if about_moving or set(wanted) <= _OPTIONAL else Severity.ERROR
    return Finding(
        severity=Severity.INFO if set(wanted) <= _FOR_OUTCOMES else severity,
        code=f"not_granted_{view}",
        sentence=f"{login} may not read {view}, which {', '.join(wanted)} need(s)",
        remedy=select_remedy([view], login),
        about_moving=about_moving,
    )


def _one_by_one(error: ConnectorError, *, about_moving: bool) -> Finding:
    what = "moves are impossible" if about_moving else "each instance is queried separately"
    return Finding.warning(
        "no_query_servers_moving" if about_moving else "no_query_servers",
        f"query servers do not start on every instance ({error.native_code}): {what}",
        "Let parallel_max_servers be above 0 on every instance.",
        about_moving=about_moving,
    )


def _lock(session: ReadSession, login: str) -> Iterator[Finding]:
    try:
        granted = session.rows(query("lock_grant"), doing="looking for EXECUTE on DBMS_LOCK")[0][0]
    except PrivilegeMissing:
        return  # reported already
    if not granted:
        yield Finding.warning(
            "lease_rights_missing",
            f"{login} may not take the lease, without which nothing is moved",
            lock_remedy(login),
            about_moving=True,
        )
