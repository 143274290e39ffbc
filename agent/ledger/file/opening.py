"""Opening a ledger: the file and its rights, whether it is one of ours, and bringing its tables up to date."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent.ledger.errors import LedgerMissing, LedgerMoved, LedgerTooNew, corrupt, read_only
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.reading import where
from agent.ledger.file.revisions import APPLICATION_ID, ARRIVING, HEAD, REVISIONS, VERSION_TABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection

FILE_MODE, FOLDER_MODE = 0o600, 0o700
SMALLEST_DATABASE = 512  # bytes: one page of the smallest kind


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
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    except OSError as error:
        raise read_only(path, str(error.strerror)) from error


def bring_up_to_date(database: FileDatabase) -> str | None:
    """Create or migrate the tables where needed; the revision found, "" for a new file, None when all was in place.

    Raises:
        LedgerCorrupt: not a database, or one of something else.
        LedgerTooNew: a newer hotplace wrote it.
    """
    # Without a lock first: every command opens the ledger, and nearly always there is nothing to do.
    if _revision(database) == HEAD and database.pragma("journal_mode") == "wal":
        return None
    with _alone_in(database.path.parent):
        found = _revision(database)
        # Read again under the lock: another process may have migrated it meanwhile.
        database.pragma("journal_mode=WAL")
        if found == HEAD:
            return None
        with database.write() as transaction:
            transaction.core.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            if found:
                migrate(transaction.core)
            else:
                create_tables(transaction.core)
        return found


def _revision(database: FileDatabase) -> str:
    """The revision of the tables, "" when there are none yet."""
    with database.read() as reading:
        made = where("type = 'table'"), where("name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        tables = {row.name for row in reading.rows("SELECT name FROM sqlite_master", *made)}
        if not tables:
            return ""
        # By the id and not by the names of tables alone: another program's file with a table of versions would be
        # migrated.
        ours = reading.scalar("PRAGMA application_id") == APPLICATION_ID
        if not ours or VERSION_TABLE not in tables:
            raise corrupt(database.path, "it is an SQLite file of something else")
        revision = str(reading.scalar(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608  # our own
    require_known(revision, database.name)
    return revision


def require_known(revision: str, name: str) -> None:
    """Refuse tables of a revision that this version does not know.

    Raises:
        LedgerTooNew: a newer hotplace wrote them.
        LedgerMoved: they are not complete.
    """
    if revision == ARRIVING:
        raise LedgerMoved(
            f"the ledger {name} is not complete: another one is being moved there, or that was broken off",
            advice="Wait for hotplace ledger move, or run it again.",
        )
    if revision not in REVISIONS:
        raise LedgerTooNew(
            f"the ledger {name} was written by a newer hotplace (its tables are {revision}, ours {HEAD})",
            advice="Upgrade hotplace on this machine, or point it at another ledger.",
        )


def create_tables(connection: Connection) -> None:
    """All tables at once: the same as every migration one after the other (tests/ledger/test_schema.py)."""
    from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table, insert

    from agent.ledger.file.schema import metadata

    metadata.create_all(connection, checkfirst=False)
    versions = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), nullable=False))
    versions.append_constraint(PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"))  # as Alembic makes it
    versions.create(connection)
    connection.execute(insert(versions).values(version_num=HEAD))


def migrate(connection: Connection) -> None:
    """Bring tables of an older revision up to date, within the connection's transaction."""
    from alembic import command  # 0.1 s and 10 MB that only an old ledger has to pay
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "agent.ledger:migrations")
    command.upgrade(config, "head")


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
