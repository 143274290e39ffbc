"""What may be wrong with a server of a ledger, asked of its catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agent.config.ledger import LedgerServer
from agent.ledger.file.reading import Reading, where
from agent.ledger.file.schema import metadata
from agent.ledger.server.roles import is_divided, role_faults

NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE")
MUST_BE_ON = ("fsync", "full_page_writes")


def missing_privileges(
    reading: Reading, server: LedgerServer, databases: Collection[str], *, made: bool
) -> list[tuple[str, str]]:
    """What the user lacks, each with the statement that gives it.

    Args:
        reading: of the ledger.
        server: whose user it is.
        databases: that the user works for.
        made: the tables are there.
    """
    schema, user = server.schema_name, f'"{server.user}"'
    there = reading.scalar("SELECT 1 FROM pg_namespace", where("nspname = ?", schema)) is not None
    if not there:
        may = reading.scalar("SELECT has_database_privilege(current_database(), 'CREATE')")
        statement = f'CREATE SCHEMA "{schema}" AUTHORIZATION {user};'
        return [] if may else [(f"CREATE on the database {server.dbname}", statement)]
    if not made:
        may = reading.scalar(f"SELECT has_schema_privilege('{schema}', 'CREATE')")  # [a-z0-9_] only
        return (
            [] if may else [(f"CREATE on the schema {schema}", f'GRANT CREATE, USAGE ON SCHEMA "{schema}" TO {user};')]
        )
    if is_divided(reading, schema):
        return list(role_faults(reading, schema, server.user, databases))
    return list(_on_tables(reading, schema, user))


def _on_tables(reading: Reading, schema: str, user: str) -> Iterator[tuple[str, str]]:
    for table in sorted(metadata.tables):
        for privilege in NEEDED:
            question = f"SELECT has_table_privilege('\"{schema}\".{table}', '{privilege}')"  # our own names
            if not reading.scalar(question):
                yield f"{privilege} on {schema}.{table}", f'GRANT {privilege} ON "{schema}".{table} TO {user};'


def may_write(reading: Reading) -> bool:
    """Whether the server is a primary."""
    return not reading.scalar("SELECT pg_is_in_recovery()")


def unsafe_settings(reading: Reading) -> list[tuple[str, str]]:
    """Settings with which the server forgets in a crash what it has acknowledged."""
    found = [(name, str(reading.scalar(f"SHOW {name}"))) for name in MUST_BE_ON]
    return [(name, value) for name, value in found if value != "on"]
