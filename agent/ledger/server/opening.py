"""Opening a ledger on a server: its schema, whether it is one of ours, and bringing its tables up to date.

History and work have a partition for each week there, which the server drops as a whole: no row is deleted by age, so
nothing is left for its autovacuum. ``partitions.sql`` says who makes and drops them, and on whose word.
"""

from __future__ import annotations

from importlib.resources import files

from sqlalchemy import Text, column, select, table
from sqlalchemy.schema import CreateSchema

from agent.ledger.errors import LedgerMissing, LedgerReadOnly
from agent.ledger.server.database import ServerDatabase
from agent.ledger.store.database import Reading, Transaction
from agent.ledger.store.elements import given
from agent.ledger.store.schema import HEAD, alembic_version
from agent.ledger.store.tables import VERSION, create_tables, migrate, require_known

OURS = "audit_head"  # a table that every revision has, besides that of the version
LOCK_OPENING = "SELECT pg_advisory_xact_lock(1752134768, hashtext('opening'))"
_TABLES = table("pg_tables", column("schemaname", Text), column("tablename", Text), schema="pg_catalog")
_SCHEMAS = table("pg_namespace", column("nspname", Text), schema="pg_catalog")
_TABLES_OF = select(_TABLES.c.tablename).where(given(_TABLES.c.schemaname))
_SCHEMA = select(_SCHEMAS).where(given(_SCHEMAS.c.nspname))


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
            require_schema(database, transaction)
            create_tables(transaction)
            divide_history(transaction, database.server.schema_name)
    return found


def _migrate(database: ServerDatabase, transaction: Transaction) -> None:
    """Bring the tables up to date.

    Raises:
        LedgerReadOnly: they belong to another role.
    """
    try:
        migrate(transaction)
        divide_history(transaction, database.server.schema_name)
    except LedgerReadOnly as error:
        raise LedgerReadOnly(
            f"the tables of the ledger {database.name} are older than this hotplace, and its user may not change them",
            advice="Run hotplace rules list once with a login that is a member of the owner's role, then what hotplace "
            "ledger grants prints.",
        ) from error


def divide_history(transaction: Transaction, schema: str) -> None:
    """Give the history of new or migrated tables its partitions; where it has them, only what keeps them.

    Args:
        transaction: that made the tables, or brought them up to date.
        schema: of the ledger, ``[a-z0-9_]`` only.

    Raises:
        LedgerReadOnly: the tables belong to another role.
    """
    text = files(__package__).joinpath("partitions.sql").read_text(encoding="utf-8")
    with transaction.database.own_errors:
        transaction.driver.execute(text.replace("@schema@", schema))


def require_schema(database: ServerDatabase, transaction: Transaction) -> None:
    """Make the schema where it is missing.

    Raises:
        LedgerReadOnly: the user may not.
    """
    schema = database.server.schema_name
    if transaction.first(_SCHEMA, nspname=schema) is not None:
        return
    try:
        with transaction.core() as core:
            core.execute(CreateSchema(schema))
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
    tables = {row.tablename for row in reading.rows(_TABLES_OF, schemaname=database.server.schema_name)}
    if not tables:
        return None
    if not tables >= {OURS, alembic_version.name}:
        raise database.corrupt("the schema holds tables of something else")
    return str(reading.scalar(VERSION))
