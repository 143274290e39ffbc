"""A move that is tried with a table of its own and rolled back: what would stop one is known before a person approves.

Rights, read-only sessions, event triggers, extensions that refuse, a tablespace that cannot be written: the server
itself says what its catalog need not show. The table is a temporary one of one row, which no other session sees or
waits for. What only the rows of an object show, as two that are equal under a unique index, no trial can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import psycopg
from psycopg import sql

from connectors.kit.findings import Finding, Remedy
from connectors.postgresql.errors import translate
from connectors.postgresql.sessions import OF_QUERIES, ReadSession, milliseconds, open_connection, query
from connectors.postgresql.settings import PostgresqlSettings

_TABLE, _INDEX = sql.Identifier("pg_temp", "hotplace_trial"), sql.Identifier("pg_temp", "hotplace_trial_pkey")


def try_moves(session: ReadSession, settings: PostgresqlSettings, spaces: Sequence[str]) -> tuple[Finding, ...]:
    """A finding for each tablespace to which nothing could be moved, or one that moves were tried, or why not.

    Args:
        session: to ask whether a trial can be made.
        settings: of the account that moves.
        spaces: tablespaces that moves go to.

    Raises:
        ConnectorError: the server did not answer.
    """
    may, database, login = session.rows(query("trial_may"), doing="asking whether a move can be tried")[0]
    if not may:
        return (
            Finding.info(
                "moves_not_tried",
                f"no move was tried: {login} may make no temporary table here, or this is a standby",
                Remedy(
                    f"GRANT TEMPORARY ON DATABASE {database} TO {login};", f"{login} may make temporary tables there"
                ),
                about_moving=True,
            ),
        )
    options = {
        **OF_QUERIES,
        "lock_timeout": milliseconds(settings.lock_timeout),
        "statement_timeout": milliseconds(settings.statement_timeout),
    }
    found = []
    with closing(open_connection(settings, name="hotplace", options=options)) as writing:
        for space in spaces:
            try:
                with writing.transaction(force_rollback=True):
                    for statement in _statements(space):
                        writing.execute(statement)
            except psycopg.Error as error:
                found.append(_refusal(space, error, settings))
                if writing.closed:
                    break
    said = f"a table of one row was moved to {', '.join(spaces)} and rolled back"
    return tuple(found) or (Finding.ok("moves_tried", said, about_moving=True),)


def _statements(space: str) -> Iterator[sql.Composed]:
    yield sql.SQL("CREATE TEMPORARY TABLE {} (id int) ON COMMIT DROP").format(_TABLE)
    yield sql.SQL("INSERT INTO {} VALUES (1)").format(_TABLE)
    yield sql.SQL("ALTER TABLE {} ADD CONSTRAINT hotplace_trial_pkey PRIMARY KEY (id)").format(_TABLE)
    yield sql.SQL("ALTER TABLE {} SET TABLESPACE {}").format(_TABLE, sql.Identifier(space))
    yield sql.SQL("ALTER INDEX {} SET TABLESPACE {}").format(_INDEX, sql.Identifier(space))
    yield sql.SQL("REINDEX INDEX {}").format(_INDEX)


def _refusal(space: str, error: psycopg.Error, settings: PostgresqlSettings) -> Finding:
    meaning = translate(error, f"moving a table of one row to {space}")
    said = f"{settings.user} tried to move a table of one row to {space}, rolled back: {meaning}"
    return Finding.error("move_refused", said, meaning.advice, about_moving=True, values={"space": space})
