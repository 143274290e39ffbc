"""The views' rows as tables of one DuckDB, kept from query to query: most find theirs as an earlier one left it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cache
from itertools import count
from typing import Any

import duckdb
import numpy as np

from tests.labs.sql.duck import store
from tests.labs.sqlserver.documented import View, duckdb_type
from tests.labs.sqlserver.views.relations import Row

KEPT_TABLES = 256
KEPT_ROWS = 500  # a larger one is told apart as slowly as it is stored

Content = tuple[str, tuple[tuple[str, str], ...], tuple[tuple[Any, ...], ...]]


class Tables:
    """For whoever holds ``lock``; what was put in stays until ``tidy``."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("SET default_collation = 'NOCASE'")
        self._names: OrderedDict[Content, str] = OrderedDict()  # what was used last comes last
        self._large: list[Content] = []  # of them
        self._numbers = count(1)

    def put(self, view: View, rows: list[Row]) -> str:
        """Name of a table with these rows and no others."""
        kinds = {**dict.fromkeys(view.arguments, "varbinary"), **view.columns}
        names = [name for name in rows[0] if name in kinds] if rows else list(kinds)  # no others in this version
        types = {name: duckdb_type(kinds[name]) for name in names}
        content = (view.name, tuple(types.items()), tuple(tuple(row[name] for name in names) for row in rows))
        if content not in self._names:
            table = f"{view.name} {next(self._numbers)}"
            columns = {name: np.array([row[name] for row in rows], dtype=object) for name in names}
            store(self.connection, table, types, columns)
            self._names[content] = table
            if len(rows) > KEPT_ROWS:
                self._large.append(content)
        self._names.move_to_end(content)
        return self._names[content]

    def tidy(self) -> None:
        """Drop what is large, and what was not used for long."""
        for content in self._large:
            self._drop(self._names.pop(content))
        self._large.clear()
        while len(self._names) > KEPT_TABLES:
            self._drop(self._names.popitem(last=False)[1])

    def _drop(self, table: str) -> None:
        self.connection.execute(f'DROP TABLE "{table}"')


@cache
def tables() -> Tables:
    """The only ones of this process: to open a DuckDB takes as long as ten small queries."""
    return Tables()
