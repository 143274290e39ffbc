"""What keeps hotplace from seeing or acting, each with the statement that mends it."""

from __future__ import annotations

from collections.abc import Iterator

from connectors.base import ConnectorError
from connectors.model import Capability, Finding, Severity
from connectors.oracle.queries import probe, query
from connectors.oracle.server import CONTAINERS_SINCE, Server
from connectors.oracle.session import ReadSession

OLDEST, NEWEST_KNOWN = (11, 2), (23, 99)
MOVES = ("ALTER ANY TABLE", "ALTER ANY INDEX")
TOO_MUCH = frozenset({"DBA", "SYSDBA"})
_SAMPLED = ("epoch", "sample", "files", "system")
_PLANNED = ("spaces", "owners")
_OBSERVE = "Run deploy/privileges/oracle-observe.sql for {login}."


def capabilities(session: ReadSession, server: Server) -> tuple[Capability, ...]:
    """What release, edition, options and this login allow, each with its reason."""
    privileges, _ = rights(session)
    may_move = server.writable and all(name in privileges for name in MOVES)
    return (
        _capability("object_counters", server.segment_statistics, "STATISTICS_LEVEL of TYPICAL", _LEVEL),
        _capability("read_times", _timed(server), "TIMED_STATISTICS", _TIMED),
        _capability("moves", may_move, "a primary, and ALTER ANY TABLE and INDEX", f"GRANT {', '.join(MOVES)} TO ..."),
        _capability("online_moves", server.online and server.since(12, 1), "Enterprise Edition 12.1 or later", _ONLINE),
        _capability("online_index_moves", server.online, "the option Online Index Build", _ONLINE),
        _capability("partitioning", server.has("Partitioning"), "the option Partitioning", _PARTITIONING),
    )


_LEVEL = "ALTER SYSTEM SET statistics_level = TYPICAL;"
_TIMED = "ALTER SYSTEM SET timed_statistics = TRUE;"
_ONLINE = "Move in a window in which nobody writes to the object."
_PARTITIONING = "Whole tables are moved instead."


def examine(session: ReadSession, server: Server) -> tuple[Finding, ...]:
    """All findings, what is well included.

    Raises:
        ConnectorError: the server did not answer.
    """
    privileges, roles = rights(session)
    found = [_version(server), _level(server), _times(server), _role(server), _container(server)]
    found += [_login(server, roles), _may_move(server, privileges), _exadata(session)]
    return (*found, *_queries(session, server))


def rights(session: ReadSession) -> tuple[frozenset[str], frozenset[str]]:
    """System privileges and roles of the login.

    Raises:
        ConnectorError: the server did not answer.
    """
    rows = session.rows(query("rights"), doing="looking up privileges")
    return (
        frozenset(name for kind, name in rows if kind == "privilege"),
        frozenset(name for kind, name in rows if kind == "role"),
    )


def _version(server: Server) -> Finding:
    text = f"Oracle {server.version}, {server.edition or 'edition unknown'}"
    if server.number < OLDEST:
        return _finding(Severity.ERROR, "version_unsupported", f"{text} is older than 11.2", "Upgrade the database.")
    if server.number > NEWEST_KNOWN:
        sentence = f"{text} is newer than what this connector knows"
        return _finding(Severity.WARNING, "version_untried", sentence, "Watch the first samples closely.")
    return _finding(Severity.OK, "version", text)


def _level(server: Server) -> Finding:
    if server.segment_statistics:
        return _finding(Severity.OK, "statistics_level", "the server counts what each segment reads")
    sentence = "STATISTICS_LEVEL is BASIC: there is nothing to rank by"
    return _finding(Severity.ERROR, "statistics_level_basic", sentence, _LEVEL)


def _timed(server: Server) -> bool:
    return server.parameters.get("timed_statistics", "").upper() == "TRUE"


def _times(server: Server) -> Finding:
    if _timed(server):
        return _finding(Severity.OK, "timed_statistics", "the server measures how long reads take")
    sentence = "TIMED_STATISTICS is off: gains are predicted from configured disk speeds, not measured ones"
    return _finding(Severity.WARNING, "timed_statistics_off", sentence, _TIMED)


def _role(server: Server) -> Finding:
    if server.writable:
        return _finding(Severity.OK, "primary", "this database accepts DDL")
    sentence = f"this database is {server.role}, {server.open_mode}: hotplace only watches here"
    return _finding(Severity.WARNING, "standby", sentence, "Connect to the primary to move anything.")


def _container(server: Server) -> Finding:
    if server.in_root:
        sentence = "this session is in CDB$ROOT, where the objects of a PDB do not resolve"
        return _finding(Severity.ERROR, "root_container", sentence, "Set service: to that of a PDB, one entry each.")
    return _finding(Severity.OK, "container", f"this session is in {server.container or server.name}")


def _login(server: Server, roles: frozenset[str]) -> Finding:
    if server.login in {"SYS", "SYSTEM"} or roles & TOO_MUCH:
        sentence = f"{server.login} may do far more than hotplace needs"
        return _finding(Severity.WARNING, "login_too_strong", sentence, _OBSERVE.format(login="a user of its own"))
    return _finding(Severity.OK, "login", f"{server.login} is an ordinary user")


def _may_move(server: Server, privileges: frozenset[str]) -> Finding:
    missing = [name for name in MOVES if name not in privileges]
    if not missing:
        return _finding(Severity.OK, "move_rights", f"{server.login} may move tables and indexes of others")
    return _finding(
        Severity.WARNING,
        "move_rights_missing",
        f"{server.login} may move only what it owns or was given: {' and '.join(missing)} not granted",
        f"Run deploy/privileges/oracle-move.sql for it, or: GRANT {', '.join(missing)} TO {server.login};",
    )


def _exadata(session: ReadSession) -> Finding:
    cells = session.rows(query("cells"), doing="looking for storage cells")[0][0]
    if not cells:
        return _finding(Severity.OK, "storage", "the storage does not tier by itself, as far as the server tells")
    sentence = "this is Exadata: its cells keep what is hot on flash by themselves, and moves gain little"
    return _finding(Severity.WARNING, "exadata", sentence, "Leave the level at observe.")


def _queries(session: ReadSession, server: Server) -> Iterator[Finding]:
    """Ask each query of a sample and a plan once without its rows: what is not granted shows."""
    newer = server.number >= CONTAINERS_SINCE
    names = [*_SAMPLED, *_PLANNED, "units" if newer else "units_11"]
    if newer:
        names[0] = "epoch_container"
    if server.in_cdb:
        names[names.index("system")] = "system_container"
    for name in names:
        yield _query(session, name, server.login)


def _query(session: ReadSession, name: str, login: str) -> Finding:
    try:
        session.rows(probe(name), doing=f"trying the query {name}")
    except ConnectorError as error:
        return _finding(Severity.ERROR, f"query_{name}", str(error), _OBSERVE.format(login=login))
    return _finding(Severity.OK, f"query_{name}", f"the query {name} is allowed")


def _finding(severity: Severity, code: str, sentence: str, remedy: str = "") -> Finding:
    return Finding(severity=severity, code=code, sentence=sentence, remedy=remedy)


def _capability(name: str, available: bool, what: str, advice: str) -> Capability:
    verb = "there is" if available else "there is not"
    return Capability(name=name, available=available, because=f"{verb} {what}", advice="" if available else advice)
