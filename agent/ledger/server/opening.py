"""Opening a ledger on a server: its schema, whether it is one of ours, and bringing its tables up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent.ledger.errors import LedgerMissing, LedgerReadOnly
from agent.ledger.file.opening import create_tables, migrate, require_known
from agent.ledger.file.reading import Reading, where
from agent.ledger.file.revisions import HEAD, VERSION_TABLE
from agent.ledger.server.database import ServerDatabase
from agent.ledger.server.partitions import divide_history

if TYPE_CHECKING:
    from sqlalchemy import CursorResult

    from agent.ledger.file.transaction import Transaction

OURS = "audit_head"  # a table that every revision has, besides that of the version
LOCK_OPENING = "SELECT pg_advisory_xact_lock(1752134768, hashtext('opening'))"


def bring_up_to_date(database: ServerDatabase, *, create: bool) -> str | None:
    """Create or migrate the tables where needed; the revision found, "" for a new ledger, None when all was in place.

    Raises:
        LedgerMissing: there is none, and none is to be made.
        LedgerCorrupt: the schema holds something else.
        LedgerTooNew: a newer hotplace wrote it.
        LedgerReadOnly: the user may not create the schema or its tables.
    """
    if read_revision(database) == HEAD:
        return None
    with database.write_after(LOCK_OPENING) as transaction:
        found = read_revision(database)  # again under the lock: another process may have made it meanwhile
        if found == HEAD:
            return None
        if not found and not create:
            raise LedgerMissing(
                f"there is no ledger at {database.name}", advice="Start hotplace once, or correct ledger.postgresql."
            )
        if found:
            _migrate(database, transaction)
        else:
            require_schema(database, transaction.core.exec_driver_sql)
            create_tables(transaction.core)
            divide_history(transaction, database.server.schema_name)
    return found


def _migrate(database: ServerDatabase, transaction: Transaction) -> None:
    """Bring the tables up to date.

    Raises:
        LedgerReadOnly: they belong to another role.
    """
    try:
        migrate(transaction.core)
        divide_history(transaction, database.server.schema_name)
    except LedgerReadOnly as error:
        raise LedgerReadOnly(
            f"the tables of the ledger {database.name} are older than this hotplace, and its user may not change them",
            advice="Run hotplace rules list once with a login that is a member of the owner's role, then what hotplace "
            "ledger grants prints.",
        ) from error


def require_schema(database: ServerDatabase, execute: Callable[[str], CursorResult[Any]]) -> None:
    """Make the schema where it is missing.

    Raises:
        LedgerReadOnly: the user may not.
    """
    schema = database.server.schema_name
    if execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'").first() is not None:  # noqa: S608  # [a-z0-9_]
        return
    try:
        execute(f'CREATE SCHEMA "{schema}"')
    except LedgerReadOnly as error:
        raise LedgerReadOnly(
            f"the ledger {database.name} has no schema {schema} yet, and its user may not create it",
            advice=f'Let an administrator run: CREATE SCHEMA "{schema}" AUTHORIZATION "{database.server.user}";',
        ) from error


def read_revision(database: ServerDatabase) -> str:
    """The revision of the tables, "" when there are none yet.

    Raises:
        LedgerCorrupt: the schema holds something else.
        LedgerTooNew: a newer hotplace wrote it.
        LedgerMoved: another ledger is being moved there.
    """
    with database.read() as reading:
        revision = read_version(database, reading)
    if revision is None:
        return ""
    require_known(revision, database.name)
    return revision


def read_version(database: ServerDatabase, reading: Reading) -> str | None:
    """What the tables say that they are, known or not; None when there are none yet.

    Raises:
        LedgerCorrupt: the schema holds something else.
    """
    here = where("schemaname = ?", database.server.schema_name)
    tables = {row.tablename for row in reading.rows("SELECT tablename FROM pg_catalog.pg_tables", here)}
    if not tables:
        return None
    if not tables >= {OURS, VERSION_TABLE}:
        raise database.corrupt("the schema holds tables of something else")
    return str(reading.scalar(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608  # our own
