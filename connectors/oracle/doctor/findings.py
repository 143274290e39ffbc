"""What keeps hotplace from seeing or acting, each with the statement that mends it."""

from __future__ import annotations

from collections.abc import Iterator

from connectors.base import ConnectorError, StatementFailed
from connectors.findings import Capability, Finding
from connectors.oracle.doctor.clouds import cloud_findings
from connectors.oracle.doctor.grants import examine_grants, moves_needed, system_remedy
from connectors.oracle.doctor.looks import block_capability, block_finding
from connectors.oracle.reading.sampler import space_figures
from connectors.oracle.reading.spaces import DataFile, read_files
from connectors.oracle.session.queries import query
from connectors.oracle.session.server import JOURNAL_RIGHTS, JOURNAL_SINCE, Server
from connectors.oracle.session.sessions import ReadSession, Row
from connectors.oracle.settings import OracleSettings

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
