"""A ledger's file from its making to its end: its rights, whether it is one of ours, its tables, and its closing.

It is closed for good once what it holds is elsewhere: read on, written never again, by any process.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import select, text

from agent.ledger.errors import LedgerMissing, corrupt, read_only
from agent.ledger.file.database import CLOSING, MASTER, MOVED, MOVED_TO, FileDatabase
from agent.ledger.store.database import Reading, Transaction
from agent.ledger.store.schema import APPLICATION_ID, HEAD, alembic_version, begins_with, metadata
from agent.ledger.store.tables import VERSION, create_tables, migrate, require_known
from connectors.kit.files import give_to_owner_of

FILE_MODE, FOLDER_MODE = 0o600, 0o700
SMALLEST_DATABASE = 512  # bytes: one page of the smallest kind
_TABLES = select(MASTER.c.name).where(MASTER.c.type == "table", ~begins_with(MASTER.c.name, "sqlite_"))
_APPLICATION = text("PRAGMA application_id")


def prepare_file(path: Path, *, create: bool) -> None:
    """See to it that the file exists, only its owner may read it, and it can be written.

    SQLite gives the -wal and -shm files the same mode. An existing file is never opened here: closing it
    would drop the locks that this process holds on it through SQLite.

    Raises:
        LedgerMissing: there is none, or an empty one, and none is to be made.
        LedgerCorrupt: the path is no file.
        LedgerReadOnly: file or folder cannot be written.
    """
    if create and not path.exists():
        _create(path)
    if not path.exists():
        raise LedgerMissing(
            f"there is no ledger at {path}", advice="Start hotplace once, or correct the ledger's path."
        )
    if not path.is_file():
        raise corrupt(path, "it is not a file")
    if 0 < path.stat().st_size < SMALLEST_DATABASE:
        raise corrupt(path, "it is too short to be an SQLite file")  # SQLite would take it for empty and overwrite it
    if not create and path.stat().st_size == 0:
        raise LedgerMissing(
            f"the ledger {path} is empty", advice="Restore a backup, or start hotplace once to fill it."
        )
    for place, needed in ((path, os.R_OK | os.W_OK), (path.parent, os.R_OK | os.W_OK | os.X_OK)):
        # Asked before SQLite does: it would open a file that it cannot write read-only, and fail at the first decision
        # instead of at the start.
        if not os.access(place, needed, effective_ids=os.access in os.supports_effective_ids):
            raise read_only(path, f"no right to write {place}")
    status = path.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        path.chmod(FILE_MODE)


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process was faster
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
            try:
                give_to_owner_of(handle, path.parent)
            finally:
                os.close(handle)
    except OSError as error:
        raise read_only(path, str(error.strerror)) from error


def bring_up_to_date(database: FileDatabase) -> str | None:
    """Create or migrate the tables where needed; the revision found, "" for a new file, None when all was in place.

    Raises:
        LedgerCorrupt: not a database, or one of something else.
        LedgerTooNew: a newer hotplace wrote it.
    """
    # Without a lock first: every command opens the ledger, and nearly always there is nothing to do.
    if revision_of(database) == HEAD and database.pragma("journal_mode") == "wal":
        return None
    with _alone_in(database.path.parent):
        found = revision_of(database)
        # Read again under the lock: another process may have migrated it meanwhile.
        database.pragma("journal_mode=WAL")
        if found == HEAD:
            return None
        with database.write() as transaction:
            transaction.driver.execute(f"PRAGMA application_id={APPLICATION_ID}")
            if found:
                migrate(transaction)
            else:
                create_tables(transaction)
        return found


def revision_of(database: FileDatabase) -> str:
    """The revision of the tables, "" when there are none yet."""
    with database.read() as reading:
        tables = {row.name for row in reading.rows(_TABLES)}
        if not tables:
            return ""
        # By the id and not by the names of tables alone: another program's file with a table of versions would be
        # migrated.
        ours = reading.scalar(_APPLICATION) == APPLICATION_ID
        if not ours or alembic_version.name not in tables:
            raise corrupt(database.path, "it is an SQLite file of something else")
        revision = str(reading.scalar(VERSION))
    require_known(revision, database.name)
    return revision


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes that open a ledger in this folder waiting: SQLite does not queue for a change to WAL."""
    # The folder and not the file: closing another handle of the file would drop the locks that SQLite holds on it in
    # this process (POSIX).
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# -- closing for good ------------------------------------------------------------------------------------------------


def close_for_writing(transaction: Transaction, where_to: str) -> None:
    """Let the file refuse every change, also of a process that has it open; the error says where it went."""
    # Triggers and not the file's mode: a running agent has the file open, and looks at no mode again.
    sentence = _text(where_to)
    for name in metadata.tables:
        for change in ("INSERT", "UPDATE", "DELETE"):
            transaction.driver.execute(
                f'CREATE TRIGGER IF NOT EXISTS "{MOVED}_{name}_{change}" BEFORE {change} ON "{name}" '
                f"BEGIN SELECT RAISE(ABORT, {sentence}); END"
            )


def is_closed(reading: Reading) -> bool:
    """Whether the file was closed."""
    return reading.first(CLOSING) is not None


def went_to(reading: Reading, where_to: str) -> bool:
    """Whether that is where it went."""
    trigger = reading.scalar(CLOSING)
    return trigger is not None and _text(where_to) in trigger


def _text(where_to: str) -> str:
    escaped = where_to.replace("'", "''")
    return f"'{MOVED_TO}{escaped}'"
