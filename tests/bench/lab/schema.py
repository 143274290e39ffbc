"""Tables of the laboratory: so many rows of a width, with a key, on the hdd space."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
from psycopg import sql

BUILDERS = 2  # sessions that fill tables at the same time
FILLER = 84  # bytes: with id and n a row takes 128 bytes of its page, header and alignment included


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table ``public.NAME (id, n, filler)`` with the primary key ``NAME_pkey``."""

    name: str
    rows: int
    filler: int = FILLER
    keyed: bool = True

    @property
    def units(self) -> tuple[str, ...]:
        """Keys of its units: the heap, then the index."""
        heap = f"public.{self.name}"
        return (heap, f"{heap}_pkey") if self.keyed else (heap,)


def fill(conninfo: str, tables: Sequence[Table], space: str) -> None:
    """Build the tables in that tablespace, vacuumed, analyzed and on disk; the largest first.

    Raises:
        psycopg.Error: a statement was refused.
    """
    ordered = sorted(tables, key=lambda table: -table.rows * table.filler)
    with ThreadPoolExecutor(BUILDERS) as builders:
        list(builders.map(lambda table: _fill(conninfo, table, space), ordered))
    with psycopg.connect(conninfo, autocommit=True) as session:
        session.execute("VACUUM (ANALYZE)")
        session.execute("CHECKPOINT")


def _fill(conninfo: str, table: Table, space: str) -> None:
    name = sql.Identifier(table.name)
    with psycopg.connect(conninfo) as session:
        session.execute(sql.SQL("SET default_tablespace = {}").format(sql.Identifier(space)))
        session.execute(sql.SQL("CREATE TABLE {} (id int NOT NULL, n int, filler text)").format(name))
        session.execute(sql.SQL("ALTER TABLE {} ALTER filler SET STORAGE PLAIN").format(name))
        session.execute(
            sql.SQL("INSERT INTO {} SELECT i, i, repeat('x', {}) FROM generate_series(1, {}) AS i").format(
                name, sql.Literal(table.filler), sql.Literal(table.rows)
            )
        )
        if table.keyed:
            session.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(name))
