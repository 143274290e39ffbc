"""A move that is tried with a table of its own and rolled back: what would stop one is known before a person approves.

Rights, read-only sessions, event triggers, extensions that refuse, a tablespace that cannot be written: the server
itself says what its catalog need not show. The table is a temporary one of one row, which no other session sees or
waits for.

What only the rows of an object show no trial can tell: two that are equal under a unique index, as a new version of a
collation lets in, stop its rebuild. Where amcheck 1.4 (PostgreSQL 17) is installed and the login may call it, the small
unique indexes over text are compared with their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import psycopg
from psycopg import sql

from connectors.kit.contract import ConnectorError
from connectors.kit.findings import Finding, Remedy
from connectors.model.formatting import format_bytes
from connectors.postgresql.errors import translate
from connectors.postgresql.sessions import OF_QUERIES, ReadSession, in_extension, milliseconds, open_connection, query
from connectors.postgresql.settings import PostgresqlSettings

COMPARED_BYTES = 64 * 2**20  # of unique indexes that one look reads, the smallest first
INDEX_CORRUPTED = "XX002"
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
    return (*(found or [Finding.ok("moves_tried", said, about_moving=True)]), *compare_unique_indexes(session))


def compare_unique_indexes(session: ReadSession) -> Iterator[Finding]:
    """A finding for each small unique index over text that has equal rows, and one that says how many were compared.

    Nothing where amcheck cannot be called, or no index depends on a collation.

    Raises:
        ConnectorError: the server did not answer.
    """
    offered = session.rows(query("amcheck_may"), doing="asking for the extension amcheck")
    if not offered:
        return
    ((schema, may, login),) = offered
    indexes = session.rows(query("unique_indexes"), doing="listing unique indexes")
    if not indexes:
        return
    if not may:
        call = f"{schema}.bt_index_check(regclass, boolean, boolean)"
        yield Finding.info(
            "unique_indexes_not_compared",
            f"amcheck is installed, but {login} may not call it: equal rows under one of {len(indexes)} unique indexes "
            "over text, which would stop its rebuild, are not looked for",
            Remedy(
                f"GRANT EXECUTE ON FUNCTION {call} TO {login};",
                f"{login} may read any B-tree index to check it, and sees no rows by that",
            ),
            about_moving=True,
        )
        return
    statement, left, compared, sound = in_extension(query("amcheck"), schema), COMPARED_BYTES, 0, 0
    for oid, index, table, keys, predicate, size in indexes:
        left -= size
        if left < 0:
            break
        try:
            session.rows(statement, {"index": oid}, doing=f"comparing {index} with its rows", name="amcheck")
            sound += 1
        except ConnectorError as error:
            if error.native_code != INDEX_CORRUPTED:
                continue  # it was dropped or is locked: not looked at
            yield _equal_rows(index, table, keys, predicate, error)
        compared += 1
    rest = len(indexes) - compared
    more = f"; {rest} more, or over {format_bytes(COMPARED_BYTES)} in all, were not looked at" if rest else ""
    if sound:
        said = f"{sound} unique indexes over text have no equal rows (amcheck){more}"
        yield Finding.ok("unique_indexes_compared", said, about_moving=True)


def _equal_rows(index: str, table: str, keys: str, predicate: str, error: ConnectorError) -> Finding:
    """``keys``: as the index defines them; ``predicate``: of a partial one, or ""."""
    where = f"({keys}) IS NOT NULL" + (f" AND ({predicate})" if predicate else "")
    # Printed for people and never sent; names are quoted by the server.
    listing = f"SELECT {keys}, count(*) FROM {table} WHERE {where} GROUP BY {keys} HAVING count(*) > 1;"  # noqa: S608
    remedy = (
        "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; "
        f"{listing} -- remove all but one of each, then REINDEX INDEX CONCURRENTLY {index};"
    )
    said = f"{index} is damaged or has equal rows: it can not be rebuilt, so it would stay where it is: {error}"
    return Finding.warning("equal_rows", said, remedy, about_moving=True, values={"index": index})


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
