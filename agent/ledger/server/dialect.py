"""What PostgreSQL says differently from the SQL that the rooms write."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import count

import psycopg

from agent.ledger.errors import LedgerError
from agent.ledger.file.reading import Condition, Reading, Sight, where
from agent.ledger.server.errors import translate_server_error
from agent.ledger.server.roles import sight_of

ROWS_IN_A_PIECE = 200  # of a long answer: proposals have texts of megabytes
_CURSORS = count(1)
_WITHOUT_INDEX = re.compile(r"\+(?=[a-z])")  # SQLite's hint, see reading.Condition; PostgreSQL keeps figures of its own
_GLOB_PARTS = re.compile(r"\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


class PostgresqlDialect:
    """PostgreSQL, from the SQL of the rooms."""

    def __init__(self, name: str) -> None:
        """The name of the ledger is for messages."""
        self._name = name

    def execute(
        self, driver: psycopg.Connection, sql: str, values: list[object], *, in_pieces: bool
    ) -> psycopg.Cursor | psycopg.ServerCursor:
        """The cursor of a query."""
        query = _spelled(sql).encode()
        if not in_pieces:
            return driver.execute(query, values)
        cursor = driver.cursor(name=f"rows_{next(_CURSORS)}")
        cursor.itersize = ROWS_IN_A_PIECE
        return cursor.execute(query, values)

    @property
    def errors(self) -> type[Exception]:
        """What psycopg raises."""
        return psycopg.Error

    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one that psycopg raised."""
        return translate_server_error(self._name, error)

    def like_file_name(self, column: str, pattern: str) -> Condition:
        """Whether a column matches a pattern with ``*``, ``?`` and ``[...]``."""
        return where(f"{column} ~ ?", "".join(("^(?:", *map(_as_regex, _GLOB_PARTS.findall(pattern)), ")$")))

    def sight(self, reading: Reading) -> Sight:
        """What the policies of ``grants.sql`` leave to the login."""
        return sight_of(reading)

    def insert(self, driver: psycopg.Connection, sql: str, values: list[object]) -> int:
        """The number that the row got."""
        row = driver.execute(f"{_spelled(sql)} RETURNING id".encode(), values).fetchone()
        assert row is not None, "one row was inserted"
        return int(row[0])

    def execute_many(self, driver: psycopg.Connection, sql: str, rows: Iterable[list[object]]) -> None:
        """All in one go."""
        with driver.cursor() as cursor:
            cursor.executemany(_spelled(sql).encode(), rows)


@lru_cache(maxsize=256)
def _spelled(sql: str) -> str:
    plain = _WITHOUT_INDEX.sub("", sql.replace("%", "%%").replace("instr(", "strpos("))
    return plain.replace("?", "%s")


def _as_regex(part: str) -> str:
    """A part of a pattern as PostgreSQL's regular expression."""
    if part in {"*", "?"}:
        return ".*" if part == "*" else "."
    if len(part) > 1:
        return part.replace("[!", "[^", 1).replace("\\", "\\\\")
    return re.escape(part)
