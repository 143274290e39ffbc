"""Statements that add, empty, grow, remove and relocate database files. Pure.

Those that need a folder that only a person knows, or that stop something, are for a person to run: hotplace never sends
them. They begin with ``/* hotplace written``; words in ``<>`` are to be filled in.

Source: sql-docs, ALTER DATABASE File and Filegroup Options.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connectors.model.moves import NoRoute, Step
from connectors.sqlserver.catalog import File
from connectors.sqlserver.ddl import text
from connectors.sqlserver.keys import quote

PRIMARY_FILE = 1  # file_id; it holds the database's own tables and can never be emptied (errors 5020, 5212)
LOW_PRIORITY_SINCE = 16
TAG = "/* hotplace written"
PAGES_IN_MB = 128
FOLDER = "<folder on the other disk>"


@dataclass(frozen=True, slots=True)
class TempdbFile:
    """A row of ``sql/tempdb_files.sql``, in its order."""

    name: str
    path: str


def filegroup_to_disk(
    database: str, filegroup: str, files: Sequence[File], folder: str, *, major: int
) -> tuple[Step, ...] | NoRoute:
    """Carry a whole filegroup to another disk, online in every edition; ``move_by: filegroup`` has the agent do it.

    Args:
        database: its name.
        filegroup: its name.
        files: those of the filegroup.
        folder: on the other disk, as the server spells it, with its last separator. It must be there on every replica
            of an availability group, or the replica is suspended.
        major: version of the server.
    """
    own = [file for file in files if file.space == filegroup and file.file_id is not None]
    if not own:
        return NoRoute(code="no_files", sentence=f"filegroup {filegroup} has no file")
    if any(file.file_id == PRIMARY_FILE for file in own):
        return NoRoute(code="primary_file", sentence=f"{filegroup} has the primary file, which cannot be emptied")
    used = sum(file.used_pages or file.size_pages or 0 for file in own)
    return _steps(
        [
            (
                add_file(database, filegroup, f"{filegroup}_moved", folder, size_pages=used),
                f"a file of {filegroup} on the other disk",
            ),
            *(
                pair
                for file in own
                for pair in (
                    (empty_file(str(file.name), major), f"move the pages of {file.name} to the new file"),
                    (remove_file(database, str(file.name)), f"remove {file.name}, refused until it is empty"),
                )
            ),
        ]
    )


def whole_mb(pages: int) -> int:
    """The size in MB that a statement says for so many pages."""
    return max(1, -(-pages // PAGES_IN_MB))


def add_file(database: str, filegroup: str, name: str, folder: str, *, size_pages: int, more: str = "") -> str:
    """ALTER DATABASE ... ADD FILE with room for so many pages; ``more`` are further options of the file."""
    path = text(folder + name + ".ndf")
    new = f"NAME = {quote(name)}, FILENAME = {path}, SIZE = {whole_mb(size_pages)}MB{more}"
    return f"ALTER DATABASE {quote(database)} ADD FILE ({new}) TO FILEGROUP {quote(filegroup)}"


def empty_file(file: str, major: int) -> str:
    """DBCC SHRINKFILE (..., EMPTYFILE); since 2022 it gives way to readers of a snapshot instead of blocking."""
    patience = " WITH WAIT_AT_LOW_PRIORITY (ABORT_AFTER_WAIT = SELF)" if major >= LOW_PRIORITY_SINCE else ""
    return f"DBCC SHRINKFILE ({text(file)}, EMPTYFILE){patience}"


def remove_file(database: str, file: str) -> str:
    """ALTER DATABASE ... REMOVE FILE."""
    return f"ALTER DATABASE {quote(database)} REMOVE FILE {quote(file)}"


def grow_file(database: str, file: str, size_pages: int) -> str:
    """ALTER DATABASE ... MODIFY FILE to at least so many pages; a file that was being emptied takes new data again."""
    return f"ALTER DATABASE {quote(database)} MODIFY FILE (NAME = {quote(file)}, SIZE = {whole_mb(size_pages)}MB)"


def tempdb_files(files: Iterable[TempdbFile]) -> tuple[Step, ...]:
    """Tempdb to another disk: it is recreated there when the service starts."""
    return _steps(
        (_modify_file("[tempdb]", file.name, file.path), "takes effect at a restart; remove the old file by hand then")
        for file in files
    )


def offline_files(database: str, files: Sequence[File]) -> tuple[Step, ...]:
    """A database's files to another disk while it is offline: what the primary file needs, which cannot be emptied.

    The whole database goes offline, never a file: that would need a restore to come back.
    """
    name = quote(database)
    moved = [file for file in files if file.name and file.path]
    return _steps(
        [
            *((_modify_file(name, str(file.name), str(file.path)), "edits the catalog only") for file in moved),
            (f"ALTER DATABASE {name} SET OFFLINE", "waits for its sessions; then copy the files to the other disk"),
            (f"ALTER DATABASE {name} SET ONLINE", "the plan cache of the whole instance is flushed"),
        ]
    )


def as_text(steps: Sequence[Step]) -> str:
    """Statements for a person to read and run, one after the other, outside of any transaction (errors 226, 8920)."""
    return "; ".join(step.sql.partition("*/ ")[2] for step in steps) + ";"


def _steps(statements: Iterable[tuple[str, str]]) -> tuple[Step, ...]:
    return tuple(
        Step(sql=f"{TAG} step {ordinal} */ {sql}", purpose=purpose)
        for ordinal, (sql, purpose) in enumerate(statements, start=1)
    )


def _modify_file(database: str, name: str, path: str) -> str:
    new = text(FOLDER + _last_part(path))
    return f"ALTER DATABASE {database} MODIFY FILE (NAME = {quote(name)}, FILENAME = {new})"


def _last_part(path: str) -> str:
    """The file's name, on either system."""
    return path.replace("\\", "/").rpartition("/")[2]
