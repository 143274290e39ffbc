"""Keeps Derby's tables of the emulated catalog equal to the world: only what changed is written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path

from tests.labs.db2.documented import NEWEST, View, views
from tests.labs.db2.views.filled import FILLED
from tests.labs.db2.views.rows import Row, Value
from tests.labs.db2.wire.requester import Requester
from tests.labs.db2.world import World

SCHEMA = "LAB"
BATCH, MANY = 50, 200
_NUMBERS = ("BIGINT", "INTEGER", "SMALLINT", "DOUBLE", "REAL", "DECIMAL")


def quoted(name: str) -> str:
    """A delimited identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """As Derby reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"TIMESTAMP('{value:%Y-%m-%d %H:%M:%S.%f}')"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def definition(view: View) -> Iterator[str]:
    """DDL: a table with two columns of the lab's own, and for a view the view over the documented ones."""
    columns = [
        f"{quoted(name)} {kind}{' DEFAULT 0' if kind.startswith(_NUMBERS) else ''}"
        for name, kind in view.columns.items()
    ]
    own = "LAB_KEY VARCHAR(400) NOT NULL PRIMARY KEY, LAB_MEMBER INTEGER DEFAULT 0"
    yield f"CREATE TABLE {SCHEMA}.{quoted('ROWS_' + view.table)} ({', '.join([own, *columns])})"
    if not view.function:
        yield f"CREATE VIEW {SCHEMA}.{quoted(view.table)} AS {selection(view)}"


def selection(view: View) -> str:
    """The documented columns and no other."""
    return f"SELECT {', '.join(map(quoted, view.columns))} FROM {SCHEMA}.{quoted('ROWS_' + view.table)}"


class Projection:
    """What Derby holds of the world, and how it gets there."""

    def __init__(self, world: World, shapes: dict[str, View], derby: Requester, folder: Path) -> None:
        self._world = world
        self._views = shapes
        self._derby = derby
        self._folder = folder
        self._lock = threading.Lock()
        self._shown: dict[str, dict[str, Row]] = {name: {} for name in shapes}
        self._seen: dict[str, int] = {}
        derby.run(statement for view in shapes.values() for statement in definition(view))

    def forget(self, schema: str, name: str) -> None:
        """Drop a table of rows."""
        self._derby.run([f"DROP TABLE {quoted(schema)}.{quoted(name)}"])

    def refresh(self, names: set[str]) -> None:
        """Bring those views up to date.

        Raises:
            ValueError: the lab has a column that is not documented.
        """
        with self._lock:
            for name in sorted(names & FILLED.keys() & self._views.keys()):
                with self._world.lock:
                    self._world.tick()
                    changed = self._world.changed
                    if self._seen.get(name) == changed:
                        continue
                    rows = {key: _fitted(self._views[name], row) for key, row in FILLED[name](self._world)}
                self._derby.run(_changes(self._views[name], self._shown[name], rows, self._folder))
                self._shown[name], self._seen[name] = rows, changed


def _fitted(view: View, row: Row) -> Row:
    """The columns that this version has, and the member by the lab's own name.

    Raises:
        ValueError: a column is documented for no version at all.
    """
    unknown = row.keys() - views(NEWEST)[view.name].columns.keys() - {"MEMBER", "DBPARTITIONNUM"}
    if unknown:
        raise ValueError(f"{view.name} has no documented column {', '.join(sorted(unknown))}")
    member = row.get("MEMBER", row.get("DBPARTITIONNUM", 0))
    return {"LAB_MEMBER": member, **{name: value for name, value in row.items() if name in view.columns}}


def _changes(view: View, old: dict[str, Row], new: dict[str, Row], folder: Path) -> Iterator[str]:
    table = f"{SCHEMA}.{quoted('ROWS_' + view.table)}"
    for key in old.keys() - new.keys():
        yield f"DELETE FROM {table} WHERE LAB_KEY = {literal(key)}"
    for key in new.keys() & old.keys():
        names = new[key].keys() | old[key].keys()
        differing = {name: new[key].get(name, 0) for name in names if _differs(name, old[key], new[key])}
        if differing:
            assignments = ", ".join(f"{quoted(name)} = {literal(value)}" for name, value in differing.items())
            yield f"UPDATE {table} SET {assignments} WHERE LAB_KEY = {literal(key)}"
    fresh = [(key, new[key]) for key in new.keys() - old.keys()]
    yield from _inserts(table, fresh) if len(fresh) < MANY else _many(view, fresh, folder)


def _differs(name: str, old: Row, new: Row) -> bool:
    return old.get(name, 0) != new.get(name, 0)


def _many(view: View, fresh: list[tuple[str, Row]], folder: Path) -> Iterator[str]:
    """Rows by Derby's import, which takes thousands where a statement takes hundreds."""
    fresh.sort(key=lambda item: tuple(item[1]))
    for number, (columns, group) in enumerate(groupby(fresh, key=lambda item: tuple(item[1]))):
        file = folder / f"{view.table}-{number}.csv"
        file.write_text("".join(_line(key, row) for key, row in group))
        names = ",".join(("LAB_KEY", *columns))
        place = f"'{SCHEMA}', 'ROWS_{view.table}', '{names}', NULL, {literal(str(file))}"
        yield f"CALL SYSCS_UTIL.SYSCS_IMPORT_DATA({place}, NULL, NULL, 'UTF-8', 0)"


def _line(key: str, row: Row) -> str:
    return ",".join(_field(value) for value in (key, *row.values())) + "\n"


def _field(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    if isinstance(value, bytes):
        return value.hex()
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(value)


def _inserts(table: str, fresh: list[tuple[str, Row]]) -> Iterator[str]:
    """Rows of the same columns share a statement."""
    fresh.sort(key=lambda item: tuple(item[1]))
    for columns, group in groupby(fresh, key=lambda item: tuple(item[1])):
        items = list(group)
        names = ", ".join(map(quoted, ("LAB_KEY", *columns)))
        for at in range(0, len(items), BATCH):
            batch = items[at : at + BATCH]
            rows = (f"({', '.join([literal(key), *(literal(row[c]) for c in columns)])})" for key, row in batch)
            yield f"INSERT INTO {table} ({names}) VALUES {', '.join(rows)}"
