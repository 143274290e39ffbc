"""The transaction log: what is written into it, how far its file grows, and what keeps it from being used again."""

from __future__ import annotations

from tests.labs.sqlserver.instance import Database
from tests.labs.sqlserver.storage import PAGE, Volume
from tests.labs.tds.backend import ServerError

# Inferred, not documented: what connectors/sqlserver budgets for a fully logged build, so that a route that
# budgets less runs into 9002 here.
LOG_FACTOR = 1.2
IDLE_PAGES = 128  # that an idle log uses


def volume_of_log(database: Database) -> Volume:
    """Of its own, or the first file's."""
    return database.log_volume or next(iter(database.storage.files.values())).volume


def is_fully_logged(database: Database, *, online: bool) -> bool:
    """An online build always is; another one in the full recovery model only."""
    return online or database.recovery_model == "FULL"


def write(database: Database, pages: int) -> None:
    """The log of copying so many pages; the file grows as far as it may and its volume has room.

    Raises:
        ServerError: 9002, the log is full; the reason is that of ``log_reuse_wait_desc``.
    """
    written = int(pages * LOG_FACTOR)
    database.log_used += written
    database.unsent_kib += written * database.unsent_share * PAGE / 1024
    while database.log_used > database.log_pages:
        volume = volume_of_log(database)
        most = database.log_pages if database.log_max_size is None else database.log_max_size
        allowed = volume.available_bytes // PAGE if most == -1 else most - database.log_pages
        more = min(database.log_growth, allowed, volume.available_bytes // PAGE)
        if more <= 0:
            why = "ACTIVE_TRANSACTION" if database.log_reuse_wait == "NOTHING" else database.log_reuse_wait
            message = f"The transaction log for database '{database.name}' is full due to '{why}'."
            raise ServerError(9002, message, severity=17, state=4)
        database.log_pages += more
        volume.available_bytes -= more * PAGE


def let_go(database: Database) -> None:
    """A transaction has ended: in the simple model its log may be used again, in the others after a log backup."""
    if database.recovery_model == "SIMPLE" and database.log_reuse_wait == "NOTHING":
        database.log_used = IDLE_PAGES
    elif database.recovery_model != "SIMPLE" and database.log_used > IDLE_PAGES:
        database.log_reuse_wait = "LOG_BACKUP"


def back_up(database: Database) -> None:
    """BACKUP LOG: what was written may be written over."""
    database.log_used, database.log_reuse_wait = IDLE_PAGES, "NOTHING"
