"""What keeps hotplace from seeing or acting, each with the statement that mends it.

Databases that someone else places: Autonomous Database and Amazon RDS.

What this login may not read or do: each view and privilege by its name, with the GRANT that mends it.

Whether this login may look at the buffer cache, and what a look would cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from connectors.kit.contract import ConnectorError, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Capability, Finding, Remedy, Severity
from connectors.model.blocks import BLOCK_HEAT
from connectors.oracle.catalog import DataFile, read_files
from connectors.oracle.lease import lock_remedy
from connectors.oracle.sampler import space_figures
from connectors.oracle.sessions import (
    CONTAINERS_SINCE,
    JOURNAL_RIGHTS,
    JOURNAL_SINCE,
    NO_QUERY_SERVERS,
    ReadSession,
    Row,
    Server,
    granted_on,
    probe,
    probe_view,
    query,
    views_of,
)
from connectors.oracle.settings import OracleSettings

RDS_FOLDER = "/rdsdbdata"  # of its first volume; others have a number behind it


def cloud_findings(services: Sequence[str | None], files: Sequence[DataFile]) -> Iterator[Finding]:
    """What such a database means for moving.

    Args:
        services: of ``sql/cloud.sql``.
        files: data files of the database.
    """
    for service in services:
        if service:
            sentence = f"this is an Autonomous Database ({service}): Oracle chooses where its data are"
            yield Finding.warning("autonomous", sentence, "Leave the level at observe.", about_moving=True)
    volumes = sorted({file.path.split("/")[1] for file in files if file.path.startswith(RDS_FOLDER)})
    if len(volumes) == 1:
        sentence = f"this is Amazon RDS with one volume (/{volumes[0]}): all its tablespaces are equally fast"
        remedy = "Add a volume of another speed, or leave the level at observe."
        yield Finding.warning("rds", sentence, remedy, about_moving=True)
    elif volumes:
        sentence = f"this is Amazon RDS with volumes {', '.join(f'/{volume}' for volume in volumes)}"
        yield Finding.info("rds", sentence, "Name the tablespaces of each in a tier of its own.")


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


QUERIES = ("blocks", "blocks_extents", "blocks_pool", "blocks_read")


def block_capability(session: ReadSession, login: str) -> Capability:
    """Whether this login may look at the buffer cache, and the statements that let it."""
    missing = missing_views(session, QUERIES)
    needs = "the right to read V$BH and where segments lie"
    return Capability.of(BLOCK_HEAT, not missing, needs, select_remedy(missing, login))


def block_finding(session: ReadSession, login: str, *, cluster: bool) -> Finding:
    """For the doctor; nothing else of hotplace needs it, so that it is no warning."""
    missing = missing_views(session, QUERIES)
    if missing:
        views = " and ".join(missing)
        sentence = f"large tables are not looked into: {login} may not read {views}"
        return Finding.info("block_looks", sentence, select_remedy(missing, login))
    instance, _, buffers = session.rows(query("blocks_pool"), doing="looking at the buffer pool")[0]
    seen = f"; of the cluster only instance {instance}'s are seen" if cluster else ""
    return Finding.ok(
        "block_looks",
        f"the hot blocks of large tables can be looked for; a look walks the headers of {int(buffers or 0):,} buffers, "
        f"each under its latch for an instant{seen}",
    )


OLDEST, NEWEST_KNOWN = (11, 2), (23, 99)
TOO_MUCH = frozenset({"DBA", "SYSDBA"})
FEWEST_GETS, FEWEST_READS = 100_000, 1000  # below that, a ratio or a mean says nothing
_SCRIPTS = "hotplace deploy privileges --engine oracle"
_OBSERVE = f"Run oracle-observe.sql ({_SCRIPTS}) for {{login}}."


def capabilities(session: ReadSession, server: Server, settings: OracleSettings) -> tuple[Capability, ...]:
    """What release, edition, options and this login allow, each with its reason."""
    privileges, _ = rights(session)
    needed = moves_needed(settings)
    may_move = server.writable and (bool(server.proxy) or all(name in privileges for name in needed))
    return (
        Capability.of("object_counters", server.segment_statistics, "STATISTICS_LEVEL of TYPICAL", _LEVEL),
        Capability.of("read_times", server.timed, "TIMED_STATISTICS", _TIMED),
        Capability.of("moves", may_move, f"a primary, and {' and '.join(needed)}", system_remedy(needed, "...")),
        Capability.of(
            "online_moves",
            server.online and server.allows(12, 1),
            "Enterprise Edition 12.1 (COMPATIBLE too)",
            _ONLINE,
        ),
        Capability.of("online_index_moves", server.online, "the option Online Index Build", _ONLINE),
        Capability.of("partitioning", server.has("Partitioning"), "the option Partitioning", _PARTITIONING),
        block_capability(session, server.login),
    )


_LEVEL = "ALTER SYSTEM SET statistics_level = TYPICAL;"
_TIMED = "ALTER SYSTEM SET timed_statistics = TRUE;"
_ONLINE = "Move in a window in which no session writes to the object."
_PARTITIONING = "Whole tables are moved instead."


def examine(session: ReadSession, server: Server, settings: OracleSettings) -> tuple[Finding, ...]:
    """All findings, what is well included.

    Raises:
        ConnectorError: the server did not answer.
    """
    privileges, roles = rights(session)
    found = [_version(server), _level(server), _times(server), _role(server), _container(server)]
    found += [_login(server, roles), _may_move(server, privileges, settings), *_exadata(session)]
    found += cloud_findings(
        [row[0] for row in _optional(session, "cloud")] if server.since(18) else [], _files(session)
    )
    found += _journal(server, privileges)
    found += [_heat_map(server, settings), *_pools(session), *_speeds(session, settings)]
    found += examine_grants(session, server, settings)
    return (*found, block_finding(session, server.login, cluster=server.cluster))


def insist_on_modest_login(session: ReadSession, server: Server) -> None:
    """Refuse to act as SYS, SYSTEM or a DBA.

    Raises:
        StatementFailed: the login is one of those.
        ConnectorError: the server did not answer.
    """
    if _too_strong(server, rights(session)[1]):
        raise StatementFailed(
            f"{server.login} may do far more than hotplace needs: nothing is moved with it",
            advice=f"Use a user of its own (oracle-move.sql of `{_SCRIPTS}`), or set strong_login: true.",
        )


def _too_strong(server: Server, roles: frozenset[str]) -> bool:
    return server.login in {"SYS", "SYSTEM"} or bool(roles & TOO_MUCH)


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
        return Finding.error("version_unsupported", f"{text} is older than 11.2", "Upgrade the database.")
    if server.number > NEWEST_KNOWN:
        sentence = f"{text} is newer than what this connector knows"
        return Finding.warning("version_untried", sentence, "Watch the first samples closely.")
    return Finding.ok("version", text)


def _level(server: Server) -> Finding:
    if server.segment_statistics:
        return Finding.ok("statistics_level", "the server counts what each segment reads")
    sentence = "STATISTICS_LEVEL is BASIC: there is nothing to rank by"
    return Finding.error("statistics_level_basic", sentence, _LEVEL)


def _times(server: Server) -> Finding:
    if server.timed:
        return Finding.ok("timed_statistics", "the server measures how long reads take")
    sentence = "TIMED_STATISTICS is off: gains are predicted from configured disk speeds, not measured ones"
    return Finding.warning("timed_statistics_off", sentence, _TIMED)


def _role(server: Server) -> Finding:
    if server.writable:
        return Finding.ok("primary", "this database accepts DDL")
    sentence = f"this database is {server.role}, {server.open_mode}: hotplace only watches here"
    return Finding.warning("standby", sentence, "Connect to the primary to move anything.")


def _container(server: Server) -> Finding:
    if server.in_root:
        sentence = "this session is in CDB$ROOT, where the objects of a PDB do not resolve"
        return Finding.error("root_container", sentence, "Set service: to that of a PDB, one entry each.")
    return Finding.ok("container", f"this session is in {server.container or server.name}")


def _login(server: Server, roles: frozenset[str]) -> Finding:
    if _too_strong(server, roles):
        sentence = f"{server.login} may do far more than hotplace needs"
        return Finding.warning("login_too_strong", sentence, _OBSERVE.format(login="a user of its own"))
    return Finding.ok("login", f"{server.login} is an ordinary user")


def _may_move(server: Server, privileges: frozenset[str], settings: OracleSettings) -> Finding:
    if server.proxy and settings.move_by == "object":
        return Finding.ok("move_rights", f"{server.proxy} acts as {server.login} and may move what it owns")
    missing = [name for name in moves_needed(settings) if name not in privileges]
    if not missing:
        return Finding.ok("move_rights", f"{server.login} may move what belongs to others")
    return Finding.warning(
        "move_rights_missing",
        f"{server.login} may move only what it owns or was given: {' and '.join(missing)} not granted",
        system_remedy(missing, server.login, before=f"Run oracle-move.sql ({_SCRIPTS}) for it, or: "),
        about_moving=True,
    )


def _journal(server: Server, privileges: frozenset[str]) -> Iterator[Finding]:
    missing = sorted(JOURNAL_RIGHTS - privileges)
    if "ALTER ANY INDEX" in privileges and missing and OLDEST <= server.number < JOURNAL_SINCE:
        yield Finding.warning(
            "journal_rights_missing",
            f"other schemas' indexes are rebuilt offline: {server.login} has no {' and '.join(missing)}",
            system_remedy(missing, server.login, behind=" or let it be."),
            about_moving=True,
        )


def _files(session: ReadSession) -> tuple[DataFile, ...]:
    try:
        return tuple(read_files(session))
    except ConnectorError:
        return ()  # another finding reports what is not granted


def _exadata(session: ReadSession) -> Iterator[Finding]:
    for (cells,) in _optional(session, "cells"):
        if not cells:
            yield Finding.ok("storage", "the server reports no automatic tiering in the storage")
        else:
            sentence = "this is Exadata: its cells keep what is hot on flash by themselves, and moves gain little"
            yield Finding.warning("exadata", sentence, "Leave the level at observe.")


def _pools(session: ReadSession) -> Iterator[Finding]:
    """How much misses each buffer pool: where a pool is small, more of it may help as much as faster disks."""
    for name, block, gets, misses in _optional(session, "pools"):
        if int(gets) >= FEWEST_GETS:
            sentence = (
                f"since the start {int(misses) / int(gets):.1%} of the blocks asked of pool {name} "
                f"({block} bytes each) were not there"
            )
            remedy = "Before buying fast storage ask V$DB_CACHE_ADVICE what a larger pool would spare."
            yield Finding.info(f"buffer_pool_{name}_{block}", sentence, remedy)


def _speeds(session: ReadSession, settings: OracleSettings) -> Iterator[Finding]:
    """What random reads took in each space: whether what is configured as fast is fast."""
    rows = _optional(session, "files")
    figures = space_figures(rows, by_place=settings.move_by == "tablespace")
    known = [
        f"{1000 * seconds / reads:.2f} ms in {name}"
        for name, reads, seconds in zip(figures.name, figures.reads, figures.read_seconds, strict=True)
        if reads >= FEWEST_READS
    ]
    if known:
        sentence = f"since the start a random read took {', '.join(known)}"
        remedy = "Where that contradicts a tier's kind or latency in the configuration, correct the tier."
        yield Finding.info("read_times_by_space", sentence, remedy)


def _heat_map(server: Server, settings: OracleSettings) -> Finding:
    if not server.heat_map:
        return Finding.ok("heat_map", "the database does not move objects by policies of its own")
    if "advanced_compression" in settings.licensed:
        return Finding.ok("heat_map", "HEAT_MAP is on; objects with ADO policies are left alone")
    sentence = "HEAT_MAP is on: ADO policies may move objects that hotplace moves"
    remedy = "Pin such objects, or name the licence, licensed: [advanced_compression], so that they are looked for."
    return Finding.warning("heat_map_on", sentence, remedy)


def _optional(session: ReadSession, name: str) -> list[Row]:
    """Rows of a query that only informs; another finding reports what is not granted."""
    try:
        return session.rows(query(name), doing="looking at reads")
    except ConnectorError:
        return []
