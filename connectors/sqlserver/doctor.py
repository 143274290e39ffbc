"""What keeps hotplace from seeing or acting, each with the statement that mends it.

``CHECKS`` says what is looked at, what is said and what mends it; ``examine`` reads the facts: rights of the login,
editions and services, counters, then filegroups, files, disks and paused builds. Statements for a person to run are
printed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping

from connectors.kit.checks import BLOCK_LOOKS, STATEMENTS, CheckCase, DoctorCheck, Facts, findings_of
from connectors.kit.contract import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Finding, Remedy, Severity
from connectors.model.moves import NoRoute
from connectors.model.observation import Catalog
from connectors.sqlserver import ddl, file_statements, switch_ddl
from connectors.sqlserver.blocks import look_facts
from connectors.sqlserver.catalog import File, read_files, read_volumes
from connectors.sqlserver.ddl import CLOUD
from connectors.sqlserver.definition import data_spaces
from connectors.sqlserver.guards import NOTHING, SINCE, Rights, read_log_room, read_rights
from connectors.sqlserver.keys import Name, quote
from connectors.sqlserver.move_methods import PREFIX
from connectors.sqlserver.sessions import NEWEST, YEARS, ReadSession
from connectors.sqlserver.settings import SqlserverSettings
from connectors.sqlserver.statements import PROFILES, profile_facts, statement_facts

OK, INFO, WARNING, ERROR = Severity.OK, Severity.INFO, Severity.WARNING, Severity.ERROR

HELD_SHARE = 0.5  # of the log; less than this is what any log looks like between two backups
_PASSING = frozenset({NOTHING, "CHECKPOINT"})  # log_reuse_wait_desc of a log that is well
DEVICES: dict[int | None, str] = {0: "solid state", 1: "a disk that seeks"}  # incurs_seek_penalty
OLDEST, NEWEST_TRIED = 11, 17
AZURE_DATABASE, MANAGED_INSTANCE = 5, 8  # EngineEdition
POOL_EXTENSION_SINCE = 12  # 2014
QUERY_STORE_SINCE = 14  # counts read operations since then
PERFORMANCE_STATE_SINCE = 16
# What rights give away, as remedies say it.
STATE_GIVES = "what every session of the server does, its statements included, and its files and counters"
DEFINITIONS_GIVES = "definitions of every object of every database, code of procedures included"
ALTER_GIVES = (
    "every object of {schema}, to change and to drop; with CREATE PROCEDURE also the rows of its owner's tables"
)
TABLES_GIVE = "tables of its own in schemas that it may alter"
_HOLDS = {
    "LOG_BACKUP": "Take a log backup: BACKUP LOG ... TO ...; the recovery model stays as it is.",
    "ACTIVE_TRANSACTION": "Find the oldest transaction: DBCC OPENTRAN;",
    "AVAILABILITY_REPLICA": "See which replica is behind: sys.dm_hadr_database_replica_states.",
    "REPLICATION": "See whether the log reader agent runs: EXEC sys.sp_repltrans;",
}

CHECKS = (
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "version", "an Azure service, which is always the newest version", when="service"),
            CheckCase(ERROR, "version_unsupported", "version {major} is older than SQL Server 2012", "Upgrade.",
                      when="too_old"),
            CheckCase(WARNING, "version_untried", "version {major} is newer than 2025",
                      "Watch the first samples closely.", when="too_new"),
            CheckCase(OK, "version", "SQL Server {year}"),
        ),
    ),
    # What the Azure services leave to do here.
    DoctorCheck(
        "server",
        (
            CheckCase(INFO, "nothing_to_move",
                      "Azure SQL Database has the filegroup PRIMARY alone, on storage that the service chooses: "
                      "nothing to move",
                      "Choose a service tier with faster storage.", when="azure_database"),
            CheckCase(INFO, "managed_instance",
                      "on the General Purpose tier of Azure SQL Managed Instance the I/O a second of a file grow with "
                      "its size: filegroups differ in speed by the size of their files",
                      "Name a filegroup of large files as the fast tier, or use Business Critical, where all are on "
                      "local SSD.", when="managed_instance"),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "server_state", "{user} may see files, counters and other sessions", when="sees_server"),
            CheckCase(None, "server_state_missing",
                      "{user} may not see files, read times, free space or whether a move still runs",
                      Remedy("USE master; GRANT {state_right} TO {login};", STATE_GIVES)),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "definitions", "{user} sees every table and index, filters included", when="definitions"),
            CheckCase(WARNING, "definitions_missing",
                      "{user} sees only what it has rights on, and no filter of an index",
                      Remedy("USE master; GRANT VIEW ANY DEFINITION TO {login};", DEFINITIONS_GIVES)),
        ),
    ),
    # Tables whose counters are seen and whose definition is not: their demand is left aside.
    DoctorCheck(
        "unseen",
        (
            CheckCase(WARNING, "tables_unseen",
                      "{count} table(s) have counters and may not be seen by {user}, that of object_id {example} among "
                      "them: what they are waited for is left aside",
                      Remedy("GRANT VIEW DEFINITION TO {login}; where a DENY hides single tables, "
                             "REVOKE VIEW DEFINITION ON OBJECT::... FROM {login}; "
                             "SELECT OBJECT_SCHEMA_NAME({example}), OBJECT_NAME({example}) names it",
                             "definitions of every object in this database, code of procedures included")),
        ),
    ),
    DoctorCheck(
        "may_alter",
        (
            CheckCase(OK, "alter", "{user} may move every table it sees", unless="missing"),
            CheckCase(WARNING, "alter_missing", "{user} may not move {missing} table(s), {example} among them",
                      Remedy("GRANT ALTER ON SCHEMA::{schema} TO {login};", ALTER_GIVES)),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "dataspace", "{user} may make partition schemes", when="dataspaces"),
            CheckCase(WARNING, "dataspace_missing",
                      "{user} may not make partition schemes: single partitions and large objects cannot be moved",
                      Remedy("GRANT ALTER ANY DATASPACE TO {login};",
                             "filegroups, partition schemes and partition functions of this database, to make, change "
                             "and drop them")),
        ),
    ),
    # Only members of db_owner may empty files of the database.
    DoctorCheck(
        "shrinking",
        (
            CheckCase(OK, "shrink", "{user} may empty and remove files", when="controls"),
            CheckCase(WARNING, "shrink_missing", "{user} may not empty files, which move_by: filegroup does",
                      Remedy("ALTER ROLE db_owner ADD MEMBER {login};",
                             "this database as a whole: every row, every right in it, and to drop it; move_by: object "
                             "needs none of that")),
        ),
    ),
    # Copying a partition is the only way that reads rows.
    DoctorCheck(
        "copying",
        (
            CheckCase(WARNING, "copy_missing",
                      "{user} may not copy partitions of {missing} table(s), {example} among them",
                      Remedy("GRANT CREATE TABLE TO {login}; GRANT SELECT, INSERT ON SCHEMA::{schema} TO {login};",
                             f"every row of {{schema}}, to read and to add to, and {TABLES_GIVE}"), when="missing"),
            CheckCase(OK, "copy", "{user} may copy every partition it sees", when="makes_tables"),
            CheckCase(WARNING, "copy_missing",
                      "{user} may not make the tables that partitions: switched copies into",
                      Remedy("GRANT CREATE TABLE TO {login};", TABLES_GIVE)),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "online", "{edition} builds indexes while the table is used", when="online"),
            CheckCase(INFO, "online_missing", "{edition} locks the table while its index is built",
                      "Move in a maintenance window, or use Enterprise edition."),
        ),
    ),
    # No row at all means that registering the counters failed when the service started.
    DoctorCheck(
        "counters",
        (
            CheckCase(WARNING, "counters_missing",
                      "the server has no performance counters (error 3409 in its log): transactions are not counted",
                      "Run lodctr on the server's perf-*sqlctr.ini and restart the service.", when="absent"),
            CheckCase(WARNING, "transactions_missing",
                      "the server counts no transactions under the name of this database, nor under its physical name: "
                      "no outcome of a move can be measured by work done",
                      "Look for its instance_name of 'Transactions/sec' in sys.dm_os_performance_counters, and report "
                      "it.", when="uncounted"),
            CheckCase(OK, "buffer_pool", "no page has been read from disk since the service started", unless="read"),
            # The true miss rate and what of it was read ahead.
            CheckCase(OK, "buffer_pool",
                      "since the service started {missed:.2%} of the pages that were asked for came from disk, "
                      "{ahead:.0%} of those ahead of time{life}"),
        ),
    ),
    # Pages that memory had no room for are read from its file; what sessions wait for is what it does not hold.
    DoctorCheck(
        "pool_extension",
        (
            CheckCase(INFO, "pool_extension",
                      "the buffer-pool extension {path} of {size:bytes} serves part of what memory misses: short waits "
                      "of an object may be reads of that file, wherever the object lies",
                      "Compare waits with it and without it before more fast storage is bought."),
        ),
    ),
    BLOCK_LOOKS,
    DoctorCheck(
        "replicas",
        (
            CheckCase(WARNING, "replica_suspended",
                      "{suspended} replica(s) of this database are suspended: nothing is moved",
                      "ALTER DATABASE ... SET HADR RESUME on that replica.", when="suspended"),
        ),
    ),
    # Pages a read since it began to keep them: near 1 the reads are random, far above they are read ahead.
    DoctorCheck(
        "query_store",
        (
            CheckCase(WARNING, "query_store_off", "Query Store is {state} in this database",
                      "ALTER DATABASE CURRENT SET QUERY_STORE = ON; or query_store: false", unless="keeps"),
            CheckCase(OK, "query_store", "Query Store has seen no physical read yet", unless="reads"),
            CheckCase(OK, "query_store",
                      "by Query Store a read fetched {average:.1f} pages on average: {pages:.0f} pages in {reads:.0f} "
                      "reads"),
        ),
    ),
    STATEMENTS,
    PROFILES,
    DoctorCheck(
        "spaces",
        (
            CheckCase(OK, "space_visible", "how much room {space} has can be seen: {path}",
                      when="room_known", values={"space": "{space}"}),
            CheckCase(INFO, "space_hidden", "how much room {space} has cannot be seen by this login",
                      "State the capacity of this space in the configuration.", values={"space": "{space}"}),
        ),
    ),
    # What the server says of the volumes (2019 and newer, on Windows): a hint for the configuration of tiers.
    DoctorCheck(
        "devices",
        (
            CheckCase(WARNING, "mixed_devices",
                      "{space} lies on {devices}: rows are spread over all its files by their free room, so it is no "
                      "tier",
                      "Empty and remove the files on one of them: DBCC SHRINKFILE (..., EMPTYFILE).",
                      when="mixed", values={"space": "{space}"}),
            CheckCase(OK, "device", "{space} lies on {devices}", values={"space": "{space}"}),
        ),
    ),
    # A paused build holds room and refuses DDL; since 2022 the server aborts it after a while.
    DoctorCheck(
        "paused_builds",
        (
            CheckCase(WARNING, "paused_build",
                      "a build of {index} on {table} is paused since {paused_at:%F %T} of the server's time{ends}",
                      "{remedy}"),
        ),
    ),
    # What of the log is used and cannot be used again; a move writes about what it copies into it.
    DoctorCheck(
        "log",
        (
            CheckCase(WARNING, "log_held",
                      "{used:.0%} of the transaction log are used and cannot be used again because of {held_by} "
                      "({recovery_model} recovery model): moves write into what is left",
                      "{remedy}"),
        ),
    ),
    # Partition schemes that moves have made and whose NEXT USED a SPLIT has used up: the next one fails for all.
    DoctorCheck(
        "schemes",
        (
            CheckCase(WARNING, "next_used_missing",
                      "partition scheme {scheme}, made by a move, has no NEXT USED: the next SPLIT RANGE of {function} "
                      "fails with 7707",
                      "{remedy}"),
        ),
    ),
    # Online in every edition; a person fills in the folder.
    DoctorCheck(
        "whole_filegroups",
        (
            CheckCase(INFO, "whole_filegroup",
                      "filegroup {space} as a whole can change disks while it is used, by its files; "
                      "move_by: filegroup has hotplace do it",
                      "{remedy}", values={"space": "{space}"}),
        ),
    ),
    # The primary file can never be emptied, so its filegroup changes disks offline only.
    DoctorCheck(
        "offline_files",
        (
            CheckCase(INFO, "offline_files",
                      "filegroup {space} has the primary file: as a whole it changes disks while the database is "
                      "offline",
                      "{remedy}", values={"space": "{space}"}),
        ),
    ),
    # Tempdb is recreated at every start of the service, at the paths that the catalog names.
    DoctorCheck(
        "tempdb",
        (
            CheckCase(INFO, "tempdb_files",
                      "tempdb has {count} file(s), which change disks when the service is restarted", "{remedy}"),
        ),
    ),
)  # fmt: skip


def examine(
    session: ReadSession,
    catalog: Catalog,
    settings: SqlserverSettings,
    *,
    online: bool,
    edition: str,
    database: str,
) -> tuple[Finding, ...]:
    """All findings, what is well included.

    Args:
        session: to read with.
        catalog: as it is now.
        settings: of the database.
        online: the edition builds indexes online.
        edition: as the server prints it.
        database: its name.

    Raises:
        ConnectorError: the server did not answer.
    """
    rights = read_rights(session)
    by_hand = session.edition not in CLOUD
    write_files = by_hand and not online and settings.move_by == "table"
    server = {**_server(session, rights), "online": online, "edition": edition}

    @functools.cache
    def files() -> list[File]:
        return read_files(session)

    return tuple(
        findings_of(
            CHECKS,
            {
                "server": lambda: (server,),
                "unseen": lambda: _unseen(session, rights, server),
                "may_alter": lambda: ({**server, **_find_unaltered(session)},),
                "shrinking": lambda: (server,) if settings.move_by == "filegroup" else (),
                "copying": lambda: _copying(session, settings, server),
                "counters": lambda: _counters(session, rights),
                "pool_extension": lambda: _pool_extension(session, rights),
                "blocks": lambda: (look_facts(session, sees_server=rights.sees_server),),
                "replicas": lambda: _replicas(session, rights),
                "query_store": lambda: _query_store(session, settings),
                "statements": lambda: (statement_facts(session),),
                "profiles": lambda: profile_facts(session.major, settings),
                "spaces": lambda: (
                    {"space": space.name, "path": space.path, "room_known": space.free_bytes is not None}
                    for space in catalog.spaces
                ),
                "devices": lambda: _devices(session, files()),
                "paused_builds": lambda: _paused_builds(session),
                "log": lambda: _log(session),
                "schemes": lambda: _schemes(session),
                "whole_filegroups": lambda: _whole_filegroups(session, files(), database) if write_files else (),
                "offline_files": lambda: _offline(files(), database) if by_hand else (),
                "tempdb": lambda: _tempdb(session) if by_hand else (),
            },
        )
    )


def _server(session: ReadSession, rights: Rights) -> Facts:
    major = session.major
    return {
        "major": major,
        "year": YEARS.get(major, ""),
        "service": major == NEWEST,
        "too_old": major < OLDEST,
        "too_new": major > NEWEST_TRIED,
        "azure_database": session.edition == AZURE_DATABASE,
        "managed_instance": session.edition == MANAGED_INSTANCE,
        "user": rights.login,
        "login": quote(rights.login),
        "sees_server": rights.sees_server,
        "severity": WARNING if rights.sees_objects else ERROR,
        "state_right": "VIEW SERVER PERFORMANCE STATE" if major >= PERFORMANCE_STATE_SINCE else "VIEW SERVER STATE",
        "definitions": rights.view_definition,
        "dataspaces": rights.alter_any_dataspace or rights.alter_database,
        "controls": rights.control_database,
        "makes_tables": rights.create_table,
    }


def _unseen(session: ReadSession, rights: Rights, server: Facts) -> Iterator[Facts]:
    if not rights.sees_objects:
        return
    try:
        count, example = session.rows("unseen", doing="looking for tables that cannot be seen")[0]
    except PrivilegeMissing:
        return
    if count:
        yield {**server, "count": count, "example": example}


def _find_unaltered(session: ReadSession) -> Facts:
    row = session.rows("may_alter", doing="examining rights on tables")[0]
    return dict(zip(("missing", "example", "schema"), row, strict=True))


def _copying(session: ReadSession, settings: SqlserverSettings, server: Facts) -> Iterator[Facts]:
    if settings.partitions == "switched":
        row = session.rows("may_copy", doing="examining rights on partitioned tables")[0]
        yield {**server, **dict(zip(("missing", "example", "schema"), row, strict=True))}


def _counters(session: ReadSession, rights: Rights) -> Iterator[Facts]:
    """What the buffer pool answered since the service started."""
    if not rights.sees_server:
        return
    rows = session.rows("counters", doing="looking at performance counters")
    totals: Mapping[str, int] = {str(name): int(value) for name, value in rows}
    life = session.rows("page_life", doing="looking at the buffer pool")[0][0] if totals else None
    asked, read = totals.get("Page lookups/sec", 0), totals.get("Page reads/sec", 0)
    yield {
        "absent": not totals,
        "uncounted": bool(totals) and "Transactions/sec" not in totals,
        "read": asked and read,
        "missed": read / (asked or 1),
        "ahead": totals.get("Readahead pages/sec", 0) / (read or 1),
        "life": "" if life is None else f"; a page stays in memory for about {life} s now",
    }


def _pool_extension(session: ReadSession, rights: Rights) -> Iterator[Facts]:
    if not rights.sees_server or session.major < POOL_EXTENSION_SINCE:
        return
    try:
        rows = session.rows("pool_extension", doing="looking at the buffer-pool extension")
    except (ObjectGone, PrivilegeMissing, StatementFailed):  # not every Azure service has the view
        return
    for path, kib in rows:
        yield {"path": path, "size": int(kib) * 1024}


def _replicas(session: ReadSession, rights: Rights) -> Iterator[Facts]:
    if not rights.sees_server:
        return
    try:
        rows = session.rows("replicas", doing="looking at replicas")
    except PrivilegeMissing:
        return
    yield {"suspended": sum(bool(row[1]) for row in rows)}


def _query_store(session: ReadSession, settings: SqlserverSettings) -> Iterator[Facts]:
    if not settings.query_store or session.major < QUERY_STORE_SINCE:
        return
    try:
        rows = session.rows("query_store", doing="asking Query Store")
    except PrivilegeMissing:
        return
    state, pages, reads = rows[0] if rows else ("OFF", None, None)
    keeps = state in {"READ_WRITE", "READ_ONLY"}
    average = pages / reads if keeps and reads else 0.0
    yield {"state": state, "keeps": keeps, "pages": pages, "reads": reads, "average": average}


def _devices(session: ReadSession, files: list[File]) -> Iterator[Facts]:
    volumes = read_volumes(session)
    kinds: dict[str, set[str]] = {}
    for file in files:
        volume = volumes.get(file.file_id or 0)
        if volume is not None and volume.seeks in DEVICES:
            kinds.setdefault(file.space, set()).add(DEVICES[volume.seeks])
    for space, found in kinds.items():
        yield {"space": space, "devices": " and ".join(sorted(found)), "mixed": len(found) > 1}


def _paused_builds(session: ReadSession) -> Iterator[Facts]:
    if session.major < SINCE:
        return
    for schema, table, index, paused_at, minutes in session.rows("paused_builds", doing="looking for paused builds"):
        name = Name(schema, table)
        yield {
            "index": index,
            "table": name.key,
            "paused_at": paused_at,
            "ends": f"; the server gives it up {minutes} minutes later" if minutes else "",
            "remedy": f"{ddl.alter(name, index, 'RESUME')}; or {ddl.alter(name, index, 'ABORT')};",
        }


def _log(session: ReadSession) -> Iterator[Facts]:
    try:
        log = read_log_room(session)
    except PrivilegeMissing:
        return
    if log is None or log.held_by in _PASSING or log.used < HELD_SHARE * log.total:
        return
    yield {
        "used": log.used / log.total,
        "held_by": log.held_by,
        "recovery_model": log.recovery_model,
        "remedy": _HOLDS.get(log.held_by, "See log_reuse_wait_desc in sys.databases."),
    }


def _schemes(session: ReadSession) -> Iterator[Facts]:
    spaces = data_spaces(session)
    for space in spaces.values():
        if space.scheme and space.name.startswith(PREFIX) and space.next_used is None:
            remedy = f"{switch_ddl.next_used(space.name, spaces[space.next_or_last].name)};"
            yield {"scheme": space.name, "function": space.function, "remedy": remedy}


def _whole_filegroups(session: ReadSession, files: list[File], database: str) -> Iterator[Facts]:
    for name in dict.fromkeys(file.space for file in files):
        steps = file_statements.filegroup_to_disk(database, name, files, file_statements.FOLDER, major=session.major)
        if not isinstance(steps, NoRoute):
            yield {"space": name, "remedy": file_statements.as_text(steps)}


def _offline(files: list[File], database: str) -> Iterable[Facts]:
    primary = next((file.space for file in files if file.file_id == file_statements.PRIMARY_FILE), None)
    if primary is None:
        return ()
    own = [file for file in files if file.space == primary]
    return ({"space": primary, "remedy": file_statements.as_text(file_statements.offline_files(database, own))},)


def _tempdb(session: ReadSession) -> Iterable[Facts]:
    try:
        rows = session.rows("tempdb_files", doing="looking at tempdb")
    except (ObjectGone, PrivilegeMissing, StatementFailed):
        return ()
    steps = file_statements.tempdb_files(file_statements.TempdbFile(*row) for row in rows)
    return ({"count": len(rows), "remedy": file_statements.as_text(steps)},) if rows else ()
