"""Ways that are written down for a person and never taken by the agent. Pure.

A whole filegroup changes disks by its files: a new file on the other disk, the old one emptied and removed. That is
online in every edition and may be stopped at any time. It names no other filegroup, so no unit moves in the agent's
eyes: what changes is the tier that the configuration gives to the filegroup. Source: sql-docs, DBCC SHRINKFILE
(EMPTYFILE) and ALTER DATABASE File and Filegroup Options.
"""

from __future__ import annotations

from collections.abc import Sequence

from connectors.model import NoRoute, Step
from connectors.sqlserver.keys import quoted
from connectors.sqlserver.spaces import File

PRIMARY_FILE = 1  # file_id; it holds the database's own tables and can never be emptied (errors 5020, 5212)
LOW_PRIORITY_SINCE = 16
TAG = "/* hotplace written"
PAGES_IN_MB = 128


def by_files(
    database: str, filegroup: str, files: Sequence[File], folder: str, *, major: int
) -> tuple[Step, ...] | NoRoute:
    """Carry a whole filegroup to another disk.

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
    name = f"{filegroup}_moved"
    used = sum(file.used_pages or file.size_pages or 0 for file in own)
    size = max(1, -(-used // PAGES_IN_MB))
    new = f"NAME = {quoted(name)}, FILENAME = {_text(folder + name + '.ndf')}, SIZE = {size}MB"
    statements = [
        (
            f"ALTER DATABASE {quoted(database)} ADD FILE ({new}) TO FILEGROUP {quoted(filegroup)}",
            f"a file of {filegroup} on the other disk",
        )
    ]
    for file in own:
        statements += _empty(database, str(file.name), major)
    return tuple(
        Step(sql=f"{TAG} step {ordinal} */ {sql}", purpose=purpose)
        for ordinal, (sql, purpose) in enumerate(statements, start=1)
    )


def as_text(steps: Sequence[Step]) -> str:
    """Statements for a person to read and run, one after the other, outside of any transaction (errors 226, 8920)."""
    return "; ".join(step.sql.partition("*/ ")[2] for step in steps) + ";"


def _empty(database: str, file: str, major: int) -> list[tuple[str, str]]:
    patience = " WITH WAIT_AT_LOW_PRIORITY (ABORT_AFTER_WAIT = SELF)" if major >= LOW_PRIORITY_SINCE else ""
    return [
        (f"DBCC SHRINKFILE ({_text(file)}, EMPTYFILE){patience}", f"move the pages of {file} to the new file"),
        (
            f"ALTER DATABASE {quoted(database)} REMOVE FILE {quoted(file)}",
            f"remove {file}, refused until it is empty",
        ),
    ]


def _text(value: str) -> str:
    """A literal by T-SQL's rules; DDL takes no parameters."""
    return "N'" + value.replace("'", "''") + "'"
