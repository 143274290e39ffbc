"""What the doctor says of filegroups, files, disks and paused builds; statements for a person to run are printed."""

from __future__ import annotations

from connectors.base import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.findings import Finding
from connectors.model import Catalog, NoRoute
from connectors.sqlserver.moving.resumable_operations import SINCE
from connectors.sqlserver.reading.catalog import read_files, read_volumes
from connectors.sqlserver.reading.definition import data_spaces
from connectors.sqlserver.reading.keys import Name
from connectors.sqlserver.reading.log_room import NOTHING, read_log_room
from connectors.sqlserver.reading.spaces import File
from connectors.sqlserver.routes import ddl, file_statements, switch_ddl
from connectors.sqlserver.routes.move_methods import PREFIX
from connectors.sqlserver.routes.online import CLOUD
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

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
