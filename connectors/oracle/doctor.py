"""What keeps hotplace from seeing or acting, each with the statement that mends it.

``CHECKS`` says what is looked at, what is said and what mends it; ``examine`` reads the facts.

Databases that someone else places: Autonomous Database and Amazon RDS.

What this login may not read or do: each view and privilege by its name, with the GRANT that mends it.

Whether this login may look at the buffer cache, and what a look would cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from connectors.kit.checks import BLOCK_LOOKS, CheckCase, DoctorCheck, Facts, findings_of
from connectors.kit.contract import ConnectorError, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Capability, Finding, Remedy, Severity
from connectors.model.blocks import BLOCK_HEAT
from connectors.model.moves import Route
from connectors.oracle.catalog import DataFile, read_files
from connectors.oracle.lease import lock_remedy
from connectors.oracle.operations import MOVE_DATAFILE, MOVE_TABLE, REBUILD_INDEX, SET_DEGREE
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

OK, INFO, WARNING, ERROR = Severity.OK, Severity.INFO, Severity.WARNING, Severity.ERROR

RDS_FOLDER = "/rdsdbdata"  # of its first volume; others have a number behind it


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
_MOVING = (
    "own_session",
    "blockers",
    "waiting",
    "progress",
    "lease_holder",
    "lease_marked",
    "lock_grant",
    "alter_grant",
)
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


def needed_for(route: Route) -> tuple[str, ...]:
    """System privileges that the steps of a route take, unless the login owns what they name."""
    done = {step.operation.name for step in route.steps if step.operation is not None}
    wanted = {
        BY_OBJECT[0]: {MOVE_TABLE}, BY_OBJECT[1]: {REBUILD_INDEX, SET_DEGREE}, BY_TABLESPACE[0]: {MOVE_DATAFILE},
    }  # fmt: skip
    return tuple(name for name, operations in wanted.items() if operations & done)


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


def _queries(session: ReadSession, server: Server, settings: OracleSettings) -> list[Facts]:
    names = [*_SAMPLED, *_PLANNED, "units_11", *_WATCHED, *_licensed_queries(server, settings)]
    return _answers(session, [_fitting(name, server) for name in names], server.login, about_moving=False)


def _answers(session: ReadSession, names: Sequence[str], login: str, *, about_moving: bool) -> list[Facts]:
    """Each query once without its rows; of those that fail, each view that is not granted."""
    nothing = dict.fromkeys(("allowed", "failed", "stopped"), "")
    found: list[Facts] = []
    missing: dict[str, list[str]] = {}
    stopped: ConnectorError | None = None
    for name in names:
        error = _failure(session, probe(name), _binds(name))
        if error is None:
            found.append({**nothing, "allowed": name})
        elif error.native_code in NO_QUERY_SERVERS:
            stopped = error
        elif isinstance(error, PrivilegeMissing):
            for view in _closed_views(session, name):
                missing.setdefault(view, []).append(name)
        else:
            advice = error.advice or "Read the message of the server."
            found.append({**nothing, "failed": name, "error": error, "remedy": advice})
    if stopped is not None:
        found.append({**nothing, "stopped": stopped.native_code})
    for view, wanted in missing.items():
        severity = _severity(frozenset(wanted), about_moving=about_moving)
        remedy = select_remedy([view], login)
        needed = {"view": view, "wanted": ", ".join(wanted), "severity": severity, "remedy": remedy}
        found.append({**nothing, "user": login, **needed})
    return found


def _severity(wanted: frozenset[str], *, about_moving: bool) -> Severity:
    """How much it matters that these queries cannot be read."""
    if wanted <= _FOR_OUTCOMES:
        return INFO
    return WARNING if about_moving or wanted <= _OPTIONAL else ERROR


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


def _lease_right(session: ReadSession, login: str) -> Iterator[Facts]:
    try:
        granted = session.rows(query("lock_grant"), doing="looking for EXECUTE on DBMS_LOCK")[0][0]
    except PrivilegeMissing:
        return  # reported already
    if not granted:
        yield {"user": login, "remedy": lock_remedy(login)}


QUERIES = ("blocks", "blocks_extents", "blocks_pool", "blocks_read")


def block_capability(session: ReadSession, login: str) -> Capability:
    """Whether this login may look at the buffer cache, and the statements that let it."""
    missing = missing_views(session, QUERIES)
    needs = "the right to read V$BH and where segments lie"
    return Capability.of(BLOCK_HEAT, not missing, needs, select_remedy(missing, login))


def _looks(session: ReadSession, server: Server) -> Facts:
    missing = missing_views(session, QUERIES)
    if missing:
        why = f"{server.login} may not read {' and '.join(missing)}"
        return {"why": why, "remedy": select_remedy(missing, server.login)}
    instance, _, buffers = session.rows(query("blocks_pool"), doing="looking at the buffer pool")[0]
    seen = f"; of the cluster only instance {instance}'s are seen" if server.cluster else ""
    return {
        "why": "",
        "looks": "the hot blocks of large tables can be looked for; a look walks the headers of "
        f"{int(buffers or 0):,} buffers, each under its latch for an instant{seen}",
    }


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


CLOUD_CHECKS = (
    DoctorCheck(
        "services",
        (
            CheckCase(WARNING, "autonomous",
                      "this is an Autonomous Database ({service}): Oracle chooses where its data are",
                      "Leave the level at observe.", when="service", about_moving=True),
        ),
    ),
    DoctorCheck(
        "volumes",
        (
            CheckCase(INFO, "rds", "this is Amazon RDS with volumes {volumes}",
                      "Name the tablespaces of each in a tier of its own.", when="several"),
            CheckCase(WARNING, "rds",
                      "this is Amazon RDS with one volume ({volumes}): all its tablespaces are equally fast",
                      "Add a volume of another speed, or leave the level at observe.", about_moving=True),
        ),
    ),
)  # fmt: skip


def cloud_findings(services: Sequence[str | None], files: Sequence[DataFile]) -> Iterator[Finding]:
    """What a database that someone else places means for moving.

    Args:
        services: of ``sql/cloud.sql``.
        files: data files of the database.
    """
    return findings_of(CLOUD_CHECKS, {"services": lambda: _services(services), "volumes": lambda: _volumes(files)})


def _services(services: Sequence[str | None]) -> Iterator[Facts]:
    return ({"service": service} for service in services)


def _volumes(files: Sequence[DataFile]) -> Iterator[Facts]:
    volumes = sorted({file.path.split("/")[1] for file in files if file.path.startswith(RDS_FOLDER)})
    if volumes:
        yield {"volumes": ", ".join(f"/{volume}" for volume in volumes), "several": len(volumes) > 1}


def _grant_cases(code: str, *, about_moving: bool) -> tuple[CheckCase, ...]:
    """What is said of the queries of a purpose.

    Args:
        code: where query servers do not start.
        about_moving: they are for moves.
    """
    what = "moves are impossible" if about_moving else "each instance is queried separately"
    return (
        CheckCase(OK, "query_{allowed}", "the query {allowed} is allowed", when="allowed"),
        CheckCase(ERROR, "query_{failed}", "{error}", "{remedy}", when="failed"),
        CheckCase(WARNING, code, f"query servers do not start on every instance ({{stopped}}): {what}",
                  "Let parallel_max_servers be above 0 on every instance.", when="stopped", about_moving=about_moving),
        CheckCase(None, "not_granted_{view}", "{user} may not read {view}, which {wanted} need(s)", "{remedy}",
                  about_moving=about_moving),
    )  # fmt: skip


CHECKS = (
    DoctorCheck(
        "server",
        (
            CheckCase(ERROR, "version_unsupported", "{product} is older than 11.2", "Upgrade the database.",
                      when="too_old"),
            CheckCase(WARNING, "version_untried", "{product} is newer than what this connector knows",
                      "Watch the first samples closely.", when="too_new"),
            CheckCase(OK, "version", "{product}"),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "statistics_level", "the server counts what each segment reads", when="counts_segments"),
            CheckCase(ERROR, "statistics_level_basic", "STATISTICS_LEVEL is BASIC: there is nothing to rank by",
                      _LEVEL),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "timed_statistics", "the server measures how long reads take", when="timed"),
            CheckCase(WARNING, "timed_statistics_off",
                      "TIMED_STATISTICS is off: gains are predicted from configured disk speeds, not measured ones",
                      _TIMED),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "primary", "this database accepts DDL", when="writable"),
            CheckCase(WARNING, "standby", "this database is {role}, {open_mode}: hotplace only watches here",
                      "Connect to the primary to move anything."),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(ERROR, "root_container",
                      "this session is in CDB$ROOT, where the objects of a PDB do not resolve",
                      "Set service: to that of a PDB, one entry each.", when="in_root"),
            CheckCase(OK, "container", "this session is in {container}"),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(WARNING, "login_too_strong", "{user} may do far more than hotplace needs",
                      _OBSERVE.format(login="a user of its own"), when="too_strong"),
            CheckCase(OK, "login", "{user} is an ordinary user"),
        ),
    ),
    DoctorCheck(
        "rights",
        (
            CheckCase(OK, "move_rights", "{proxy} acts as {user} and may move what it owns", when="acts_for_owner"),
            CheckCase(OK, "move_rights", "{user} may move what belongs to others", unless="missing"),
            CheckCase(WARNING, "move_rights_missing",
                      "{user} may move only what it owns or was given: {missing} not granted", "{remedy}",
                      about_moving=True),
        ),
    ),
    DoctorCheck(
        "cells",
        (
            CheckCase(WARNING, "exadata",
                      "this is Exadata: its cells keep what is hot on flash by themselves, and moves gain little",
                      "Leave the level at observe.", when="cells"),
            CheckCase(OK, "storage", "the server reports no automatic tiering in the storage"),
        ),
    ),
    *CLOUD_CHECKS,
    DoctorCheck(
        "journal",
        (
            CheckCase(WARNING, "journal_rights_missing",
                      "other schemas' indexes are rebuilt offline: {user} has no {missing}", "{remedy}",
                      about_moving=True),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "heat_map", "the database does not move objects by policies of its own", unless="heat_map"),
            CheckCase(OK, "heat_map", "HEAT_MAP is on; objects with ADO policies are left alone", when="sees_policies"),
            CheckCase(WARNING, "heat_map_on", "HEAT_MAP is on: ADO policies may move objects that hotplace moves",
                      "Pin such objects, or name the licence, licensed: [advanced_compression], so that they are "
                      "looked for."),
        ),
    ),
    # Where a pool is small, more of it may help as much as faster disks.
    DoctorCheck(
        "pools",
        (
            CheckCase(INFO, "buffer_pool_{pool}_{block}",
                      "since the start {missed:.1%} of the blocks asked of pool {pool} ({block} bytes each) were not "
                      "there",
                      "Before buying fast storage ask V$DB_CACHE_ADVICE what a larger pool would spare."),
        ),
    ),
    # What random reads took in each space: whether what is configured as fast is fast.
    DoctorCheck(
        "speeds",
        (
            CheckCase(INFO, "read_times_by_space", "since the start a random read took {speeds}",
                      "Where that contradicts a tier's kind or latency in the configuration, correct the tier.",
                      when="speeds"),
        ),
    ),
    DoctorCheck("queries", _grant_cases("no_query_servers", about_moving=False)),
    DoctorCheck("moving_queries", _grant_cases("no_query_servers_moving", about_moving=True)),
    DoctorCheck(
        "lease_right",
        (
            CheckCase(WARNING, "lease_rights_missing",
                      "{user} may not take the lease, without which nothing is moved", "{remedy}", about_moving=True),
        ),
    ),
    BLOCK_LOOKS,
)  # fmt: skip


def examine(session: ReadSession, server: Server, settings: OracleSettings) -> tuple[Finding, ...]:
    """All findings, what is well included.

    Raises:
        ConnectorError: the server did not answer.
    """
    privileges, roles = rights(session)
    return tuple(
        findings_of(
            CHECKS,
            {
                "server": lambda: (_server(server, roles, settings),),
                "rights": lambda: (_move_rights(server, privileges, settings),),
                "cells": lambda: ({"cells": cells} for (cells,) in _optional(session, "cells")),
                "services": lambda: _services(
                    [row[0] for row in _optional(session, "cloud")] if server.since(18) else []
                ),
                "volumes": lambda: _volumes(_files(session)),
                "journal": lambda: _journal(server, privileges),
                "pools": lambda: _pools(session),
                "speeds": lambda: (_speeds(session, settings),),
                "queries": lambda: _queries(session, server, settings),
                "moving_queries": lambda: _answers(session, _MOVING, server.login, about_moving=True),
                "lease_right": lambda: _lease_right(session, server.login),
                "blocks": lambda: (_looks(session, server),),
            },
        )
    )


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


def _server(server: Server, roles: frozenset[str], settings: OracleSettings) -> Facts:
    return {
        "product": f"Oracle {server.version}, {server.edition or 'edition unknown'}",
        "too_old": server.number < OLDEST,
        "too_new": server.number > NEWEST_KNOWN,
        "counts_segments": server.segment_statistics,
        "timed": server.timed,
        "writable": server.writable,
        "role": server.role,
        "open_mode": server.open_mode,
        "in_root": server.in_root,
        "container": server.container or server.name,
        "user": server.login,
        "too_strong": _too_strong(server, roles),
        "heat_map": server.heat_map,
        "sees_policies": "advanced_compression" in settings.licensed,
    }


def _move_rights(server: Server, privileges: frozenset[str], settings: OracleSettings) -> Facts:
    missing = [name for name in moves_needed(settings) if name not in privileges]
    return {
        "user": server.login,
        "proxy": server.proxy,
        "acts_for_owner": server.proxy and settings.move_by == "object",
        "missing": " and ".join(missing),
        "remedy": system_remedy(missing, server.login, before=f"Run oracle-move.sql ({_SCRIPTS}) for it, or: "),
    }


def _journal(server: Server, privileges: frozenset[str]) -> Iterator[Facts]:
    missing = sorted(JOURNAL_RIGHTS - privileges)
    if "ALTER ANY INDEX" in privileges and missing and OLDEST <= server.number < JOURNAL_SINCE:
        remedy = system_remedy(missing, server.login, behind=" or let it be.")
        yield {"user": server.login, "missing": " and ".join(missing), "remedy": remedy}


def _files(session: ReadSession) -> tuple[DataFile, ...]:
    try:
        return tuple(read_files(session))
    except ConnectorError:
        return ()  # another finding reports what is not granted


def _pools(session: ReadSession) -> Iterator[Facts]:
    """How much misses each buffer pool."""
    for name, block, gets, misses in _optional(session, "pools"):
        if int(gets) >= FEWEST_GETS:
            yield {"pool": name, "block": block, "missed": int(misses) / int(gets)}


def _speeds(session: ReadSession, settings: OracleSettings) -> Facts:
    rows = _optional(session, "files")
    figures = space_figures(rows, by_place=settings.move_by == "tablespace")
    known = (
        f"{1000 * seconds / reads:.2f} ms in {name}"
        for name, reads, seconds in zip(figures.name, figures.reads, figures.read_seconds, strict=True)
        if reads >= FEWEST_READS
    )
    return {"speeds": ", ".join(known)}


def _optional(session: ReadSession, name: str) -> list[Row]:
    """Rows of a query that only informs; another finding reports what is not granted."""
    try:
        return session.rows(query(name), doing="looking at reads")
    except ConnectorError:
        return []
