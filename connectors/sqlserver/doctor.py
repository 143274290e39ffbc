"""What keeps hotplace from seeing or acting, each with the statement that mends it.

What the doctor says of filegroups, files, disks and paused builds; statements for a person to run are printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.kit.contract import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Finding, Remedy, Severity
from connectors.model.formatting import format_bytes
from connectors.model.moves import NoRoute
from connectors.model.observation import Catalog
from connectors.sqlserver import ddl, file_statements, switch_ddl
from connectors.sqlserver.blocks import block_finding
from connectors.sqlserver.catalog import File, read_files, read_volumes
from connectors.sqlserver.ddl import CLOUD
from connectors.sqlserver.definition import data_spaces
from connectors.sqlserver.guards import NOTHING, SINCE, read_log_room
from connectors.sqlserver.keys import Name, quote
from connectors.sqlserver.move_methods import PREFIX
from connectors.sqlserver.sessions import NEWEST, ReadSession
from connectors.sqlserver.settings import SqlserverSettings
from connectors.sqlserver.statements import findings_on as statement_findings
from connectors.sqlserver.statements import profile_findings

HELD_SHARE = 0.5  # of the log; less than this is what any log looks like between two backups
_PASSING = frozenset({NOTHING, "CHECKPOINT"})  # log_reuse_wait_desc of a log that is well
DEVICES: dict[int | None, str] = {0: "solid state", 1: "a disk that seeks"}  # incurs_seek_penalty


def storage_findings(
    session: ReadSession, catalog: Catalog, settings: SqlserverSettings, *, online: bool, database: str
) -> tuple[Finding, ...]:
    """Of storage and what holds it.

    Args:
        session: to read with.
        catalog: as it is now.
        settings: of the database.
        online: the edition builds indexes online.
        database: its name.

    Raises:
        ConnectorError: the server did not answer.
    """
    files = read_files(session)
    by_hand = session.edition not in CLOUD
    write_files = by_hand and not online and settings.move_by == "table"
    return (
        *(_visible(space.name, space.path, space.free_bytes) for space in catalog.spaces),
        *_devices(session, files),
        *_paused_build_findings(session),
        *_log(session),
        *_schemes(session),
        *(_whole_filegroups(session, files, database) if write_files else ()),
        *(_offline(files, database) if by_hand else ()),
        *(_tempdb(session) if by_hand else ()),
    )


def _whole_filegroups(session: ReadSession, files: list[File], database: str) -> list[Finding]:
    """The statements that move it online in every edition; a person fills in the folder."""
    found = []
    for name in dict.fromkeys(file.space for file in files):
        steps = file_statements.filegroup_to_disk(database, name, files, file_statements.FOLDER, major=session.major)
        if not isinstance(steps, NoRoute):
            sentence = (
                f"filegroup {name} as a whole can change disks while it is used, by its files; move_by: filegroup "
                "has hotplace do it"
            )
            found.append(
                Finding.info("whole_filegroup", sentence, file_statements.as_text(steps), values={"space": name})
            )
    return found


def _offline(files: list[File], database: str) -> list[Finding]:
    """The primary file can never be emptied, so its filegroup changes disks offline only."""
    primary = next((file.space for file in files if file.file_id == file_statements.PRIMARY_FILE), None)
    own = [file for file in files if file.space == primary]
    if primary is None:
        return []
    sentence = f"filegroup {primary} has the primary file: as a whole it changes disks while the database is offline"
    return [
        Finding.info(
            "offline_files",
            sentence,
            file_statements.as_text(file_statements.offline_files(database, own)),
            values={"space": primary},
        )
    ]


def _tempdb(session: ReadSession) -> list[Finding]:
    """Tempdb is recreated at every start of the service, at the paths that the catalog names."""
    try:
        rows = session.rows("tempdb_files", doing="looking at tempdb")
    except (ObjectGone, PrivilegeMissing, StatementFailed):
        return []
    steps = file_statements.tempdb_files(file_statements.TempdbFile(*row) for row in rows)
    sentence = f"tempdb has {len(rows)} file(s), which change disks when the service is restarted"
    return [Finding.info("tempdb_files", sentence, file_statements.as_text(steps))] if rows else []


def _paused_build_findings(session: ReadSession) -> list[Finding]:
    """A paused build holds room and refuses DDL; since 2022 the server aborts it after a while."""
    if session.major < SINCE:
        return []
    found = []
    for schema, table, index, paused_at, minutes in session.rows("paused_builds", doing="looking for paused builds"):
        ends = f"; the server gives it up {minutes} minutes later" if minutes else ""
        name = Name(schema, table)
        since = f"{paused_at:%F %T} of the server's time"
        found.append(
            Finding.warning(
                "paused_build",
                f"a build of {index} on {name.key} is paused since {since}{ends}",
                f"{ddl.alter(name, index, 'RESUME')}; or {ddl.alter(name, index, 'ABORT')};",
            )
        )
    return found


_HOLDS = {
    "LOG_BACKUP": "Take a log backup: BACKUP LOG ... TO ...; the recovery model stays as it is.",
    "ACTIVE_TRANSACTION": "Find the oldest transaction: DBCC OPENTRAN;",
    "AVAILABILITY_REPLICA": "See which replica is behind: sys.dm_hadr_database_replica_states.",
    "REPLICATION": "See whether the log reader agent runs: EXEC sys.sp_repltrans;",
}


def _log(session: ReadSession) -> list[Finding]:
    """What of the log is used and cannot be used again; a move writes about what it copies into it."""
    try:
        log = read_log_room(session)
    except PrivilegeMissing:
        return []
    if log is None or log.held_by in _PASSING or log.used < HELD_SHARE * log.total:
        return []
    sentence = (
        f"{log.used / log.total:.0%} of the transaction log are used and cannot be used again because of "
        f"{log.held_by} ({log.recovery_model} recovery model): moves write into what is left"
    )
    remedy = _HOLDS.get(log.held_by, "See log_reuse_wait_desc in sys.databases.")
    return [Finding.warning("log_held", sentence, remedy)]


def _schemes(session: ReadSession) -> list[Finding]:
    """Partition schemes that moves have made and whose NEXT USED a SPLIT has used up: the next one fails for all."""
    spaces = data_spaces(session)
    ours = [space for space in spaces.values() if space.scheme and space.name.startswith(PREFIX)]
    return [
        Finding.warning(
            "next_used_missing",
            f"partition scheme {space.name}, made by a move, has no NEXT USED: the next SPLIT RANGE of "
            f"{space.function} fails with 7707",
            f"{switch_ddl.next_used(space.name, spaces[space.next_or_last].name)};",
        )
        for space in ours
        if space.next_used is None
    ]


def _devices(session: ReadSession, files: list[File]) -> tuple[Finding, ...]:
    """What the server says of the volumes (2019 and newer, on Windows): a hint for the configuration of tiers."""
    volumes = read_volumes(session)
    kinds: dict[str, set[str]] = {}
    for file in files:
        volume = volumes.get(file.file_id or 0)
        if volume is not None and volume.seeks in DEVICES:
            kinds.setdefault(file.space, set()).add(DEVICES[volume.seeks])
    return tuple(_device(space, found) for space, found in kinds.items())


def _device(space: str, found: set[str]) -> Finding:
    said = f"{space} lies on {' and '.join(sorted(found))}"
    if len(found) == 1:
        return Finding.ok("device", said, values={"space": space})
    return Finding.warning(
        "mixed_devices",
        f"{said}: rows are spread over all its files by their free room, so it is no tier",
        "Empty and remove the files on one of them: DBCC SHRINKFILE (..., EMPTYFILE).",
        values={"space": space},
    )


def _visible(name: str, path: str, free_bytes: int | None) -> Finding:
    if free_bytes is not None:
        sentence = f"how much room {name} has can be seen: {path}"
        return Finding.ok("space_visible", sentence, values={"space": name})
    return Finding.info(
        "space_hidden",
        f"how much room {name} has cannot be seen by this login",
        "State the capacity of this space in the configuration.",
        values={"space": name},
    )


OLDEST, NEWEST_TRIED = 11, 17
AZURE_DATABASE, MANAGED_INSTANCE = 5, 8  # EngineEdition
POOL_EXTENSION_SINCE = 12  # 2014
QUERY_STORE_SINCE = 14  # counts read operations since then
YEARS = {11: "2012", 12: "2014", 13: "2016", 14: "2017", 15: "2019", 16: "2022", 17: "2025"}
PERFORMANCE_STATE_SINCE = 16
# What rights give away, as remedies say it.
STATE_GIVES = "what every session of the server does, its statements included, and its files and counters"
DEFINITIONS_GIVES = "definitions of every object of every database, code of procedures included"
ALTER_GIVES = "every object of {}, to change and to drop; with CREATE PROCEDURE also the rows of its owner's tables"
TABLES_GIVE = "tables of its own in schemas that it may alter"


@dataclass(frozen=True, slots=True)
class Rights:
    """The row of ``sql/rights.sql``: 1 may, 0 may not, None unknown to this version."""

    login: str
    view_server_state: int | None
    view_server_performance_state: int | None
    view_database_state: int | None
    view_database_performance_state: int | None
    view_definition: int | None
    alter_database: int | None
    alter_any_dataspace: int | None
    control_database: int | None
    create_table: int | None

    @property
    def sees_server(self) -> bool:
        """Files, counters, other sessions."""
        return bool(self.view_server_state or self.view_server_performance_state)

    @property
    def sees_objects(self) -> bool:
        """Counters of partitions."""
        return self.sees_server or bool(self.view_database_state or self.view_database_performance_state)


def read_rights(session: ReadSession) -> Rights:
    """What this login may do.

    Raises:
        ConnectorError: the server did not answer.
    """
    return Rights(*session.rows("rights", doing="examining rights")[0])


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
    rights, major = read_rights(session), session.major
    return (
        _version(major),
        *_service(session.edition),
        _sees_server(rights, major),
        _sees_definitions(rights),
        *_unseen(session, rights),
        _may_alter(session, rights),
        _dataspace(rights),
        *_may_shrink(rights, settings),
        *_may_copy(session, rights, settings),
        _online(online, edition),
        *_counters(session, rights),
        *_pool_extension(session, rights),
        block_finding(session, sees_server=rights.sees_server),
        *_replicas(session, rights),
        *_query_store(session, settings),
        *statement_findings(session),
        *profile_findings(major, settings),
        *storage_findings(session, catalog, settings, online=online, database=database),
    )


def _version(major: int) -> Finding:
    if major == NEWEST:
        return Finding.ok("version", "an Azure service, which is always the newest version")
    if major < OLDEST:
        sentence = f"version {major} is older than SQL Server 2012"
        return Finding.error("version_unsupported", sentence, "Upgrade.")
    if major > NEWEST_TRIED:
        return Finding.warning(
            "version_untried", f"version {major} is newer than 2025", "Watch the first samples closely."
        )
    return Finding.ok("version", f"SQL Server {YEARS[major]}")


def _service(edition: int) -> tuple[Finding, ...]:
    """What the Azure services leave to do here."""
    if edition == AZURE_DATABASE:
        sentence = (
            "Azure SQL Database has the filegroup PRIMARY alone, on storage that the service chooses: nothing to move"
        )
        return (Finding.info("nothing_to_move", sentence, "Choose a service tier with faster storage."),)
    if edition == MANAGED_INSTANCE:
        sentence = (
            "on the General Purpose tier of Azure SQL Managed Instance the I/O a second of a file grow with its size: "
            "filegroups differ in speed by the size of their files"
        )
        remedy = (
            "Name a filegroup of large files as the fast tier, or use Business Critical, where all are on local SSD."
        )
        return (Finding.info("managed_instance", sentence, remedy),)
    return ()


def _sees_server(rights: Rights, major: int) -> Finding:
    if rights.sees_server:
        return Finding.ok("server_state", f"{rights.login} may see files, counters and other sessions")
    right = "VIEW SERVER PERFORMANCE STATE" if major >= PERFORMANCE_STATE_SINCE else "VIEW SERVER STATE"
    severity = Severity.WARNING if rights.sees_objects else Severity.ERROR
    return Finding(
        severity=severity,
        code="server_state_missing",
        sentence=f"{rights.login} may not see files, read times, free space or whether a move still runs",
        remedy=Remedy(f"USE master; GRANT {right} TO {quote(rights.login)};", STATE_GIVES),
    )


def _sees_definitions(rights: Rights) -> Finding:
    if rights.view_definition:
        return Finding.ok("definitions", f"{rights.login} sees every table and index, filters included")
    return Finding.warning(
        "definitions_missing",
        f"{rights.login} sees only what it has rights on, and no filter of an index",
        Remedy(f"USE master; GRANT VIEW ANY DEFINITION TO {quote(rights.login)};", DEFINITIONS_GIVES),
    )


def _unseen(session: ReadSession, rights: Rights) -> tuple[Finding, ...]:
    """Tables whose counters are seen and whose definition is not: their demand is left aside."""
    if not rights.sees_objects:
        return ()
    try:
        count, example = session.rows("unseen", doing="looking for tables that cannot be seen")[0]
    except PrivilegeMissing:
        return ()
    if not count:
        return ()
    login = quote(rights.login)
    return (
        Finding.warning(
            "tables_unseen",
            f"{count} table(s) have counters and may not be seen by {rights.login}, that of object_id {example} among "
            "them: what they are waited for is left aside",
            Remedy(
                f"GRANT VIEW DEFINITION TO {login}; where a DENY hides single tables, "
                f"REVOKE VIEW DEFINITION ON OBJECT::... FROM {login}; "
                f"SELECT OBJECT_SCHEMA_NAME({example}), OBJECT_NAME({example}) names it",
                "definitions of every object in this database, code of procedures included",
            ),
        ),
    )


def _may_alter(session: ReadSession, rights: Rights) -> Finding:
    missing, example, schema = session.rows("may_alter", doing="examining rights on tables")[0]
    if not missing:
        return Finding.ok("alter", f"{rights.login} may move every table it sees")
    return Finding.warning(
        "alter_missing",
        f"{rights.login} may not move {missing} table(s), {example} among them",
        Remedy(f"GRANT ALTER ON SCHEMA::{schema} TO {quote(rights.login)};", ALTER_GIVES.format(schema)),
    )


def _dataspace(rights: Rights) -> Finding:
    if rights.alter_any_dataspace or rights.alter_database:
        return Finding.ok("dataspace", f"{rights.login} may make partition schemes")
    return Finding.warning(
        "dataspace_missing",
        f"{rights.login} may not make partition schemes: single partitions and large objects cannot be moved",
        Remedy(
            f"GRANT ALTER ANY DATASPACE TO {quote(rights.login)};",
            "filegroups, partition schemes and partition functions of this database, to make, change and drop them",
        ),
    )


def _may_shrink(rights: Rights, settings: SqlserverSettings) -> tuple[Finding, ...]:
    """Only members of db_owner may empty files of the database."""
    if settings.move_by != "filegroup":
        return ()
    if rights.control_database:
        return (Finding.ok("shrink", f"{rights.login} may empty and remove files"),)
    sentence = f"{rights.login} may not empty files, which move_by: filegroup does"
    remedy = Remedy(
        f"ALTER ROLE db_owner ADD MEMBER {quote(rights.login)};",
        "this database as a whole: every row, every right in it, and to drop it; move_by: object needs none of that",
    )
    return (Finding.warning("shrink_missing", sentence, remedy),)


def _may_copy(session: ReadSession, rights: Rights, settings: SqlserverSettings) -> tuple[Finding, ...]:
    """Copying a partition is the only way that reads rows."""
    if settings.partitions != "switched":
        return ()
    missing, example, schema = session.rows("may_copy", doing="examining rights on partitioned tables")[0]
    if rights.create_table and not missing:
        return (Finding.ok("copy", f"{rights.login} may copy every partition it sees"),)
    if not missing:
        sentence = f"{rights.login} may not make the tables that partitions: switched copies into"
        remedy = Remedy(f"GRANT CREATE TABLE TO {quote(rights.login)};", TABLES_GIVE)
        return (Finding.warning("copy_missing", sentence, remedy),)
    return (
        Finding.warning(
            "copy_missing",
            f"{rights.login} may not copy partitions of {missing} table(s), {example} among them",
            Remedy(
                f"GRANT CREATE TABLE TO {quote(rights.login)}; "
                f"GRANT SELECT, INSERT ON SCHEMA::{schema} TO {quote(rights.login)};",
                f"every row of {schema}, to read and to add to, and {TABLES_GIVE}",
            ),
        ),
    )


def _online(online: bool, edition: str) -> Finding:
    if online:
        return Finding.ok("online", f"{edition} builds indexes while the table is used")
    return Finding.info(
        "online_missing",
        f"{edition} locks the table while its index is built",
        "Move in a maintenance window, or use Enterprise edition.",
    )


def _counters(session: ReadSession, rights: Rights) -> tuple[Finding, ...]:
    """No row at all means that registering the counters failed when the service started."""
    if not rights.sees_server:
        return ()
    totals = {
        str(name): int(value) for name, value in session.rows("counters", doing="looking at performance counters")
    }
    if totals and "Transactions/sec" not in totals:
        return (
            Finding.warning(
                "transactions_missing",
                "the server counts no transactions under the name of this database, nor under its physical name: no "
                "outcome of a move can be measured by work done",
                "Look for the database's instance_name of 'Transactions/sec' in sys.dm_os_performance_counters, and "
                "report it.",
            ),
        )
    if totals:
        return _buffer_pool(totals, session.rows("page_life", doing="looking at the buffer pool")[0][0])
    return (
        Finding.warning(
            "counters_missing",
            "the server has no performance counters (error 3409 in its log): transactions are not counted",
            "Run lodctr on the server's perf-*sqlctr.ini and restart the service.",
        ),
    )


def _buffer_pool(totals: Mapping[str, int], life: int | None) -> tuple[Finding, ...]:
    """The true miss rate and what of it was read ahead, since the service started."""
    asked, read = totals.get("Page lookups/sec", 0), totals.get("Page reads/sec", 0)
    if not asked or not read:
        return (Finding.ok("buffer_pool", "no page has been read from disk since the service started"),)
    said = (
        f"since the service started {read / asked:.2%} of the pages that were asked for came from disk, "
        f"{totals.get('Readahead pages/sec', 0) / read:.0%} of those ahead of time"
    )
    return (
        Finding.ok("buffer_pool", said if life is None else f"{said}; a page stays in memory for about {life} s now"),
    )


def _pool_extension(session: ReadSession, rights: Rights) -> tuple[Finding, ...]:
    """Pages that memory had no room for are read from its file; what sessions wait for is what it does not hold."""
    if not rights.sees_server or session.major < POOL_EXTENSION_SINCE:
        return ()
    try:
        rows = session.rows("pool_extension", doing="looking at the buffer-pool extension")
    except (ObjectGone, PrivilegeMissing, StatementFailed):  # not every Azure service has the view
        return ()
    return tuple(
        Finding.info(
            "pool_extension",
            f"the buffer-pool extension {path} of {format_bytes(int(kib) * 1024)} serves part of what memory misses: "
            "short waits of an object may be reads of that file, wherever the object lies",
            "Compare waits with it and without it before more fast storage is bought.",
        )
        for path, kib in rows
    )


def _query_store(session: ReadSession, settings: SqlserverSettings) -> tuple[Finding, ...]:
    """Pages a read since it began to keep them: near 1 the reads are random, far above they are read ahead."""
    if not settings.query_store or session.major < QUERY_STORE_SINCE:
        return ()
    try:
        rows = session.rows("query_store", doing="asking Query Store")
    except PrivilegeMissing:
        return ()
    state, pages, reads = rows[0] if rows else ("OFF", None, None)
    if state not in {"READ_WRITE", "READ_ONLY"}:
        remedy = "ALTER DATABASE CURRENT SET QUERY_STORE = ON; or query_store: false"
        return (Finding.warning("query_store_off", f"Query Store is {state} in this database", remedy),)
    if not reads:
        return (Finding.ok("query_store", "Query Store has seen no physical read yet"),)
    said = f"by Query Store a read fetched {pages / reads:.1f} pages on average: {pages:.0f} pages in {reads:.0f} reads"
    return (Finding.ok("query_store", said),)


def _replicas(session: ReadSession, rights: Rights) -> tuple[Finding, ...]:
    if not rights.sees_server:
        return ()
    try:
        rows = session.rows("replicas", doing="looking at replicas")
    except PrivilegeMissing:
        return ()
    suspended = [row for row in rows if row[1]]
    if not suspended:
        return ()
    sentence = f"{len(suspended)} replica(s) of this database are suspended: nothing is moved"
    return (Finding.warning("replica_suspended", sentence, "ALTER DATABASE ... SET HADR RESUME on that replica."),)
