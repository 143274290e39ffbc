"""Rows of tables that statements have made, in DuckDB: INSERT ... SELECT, UPDATE, sizes, statistics, counters.

A table is a relation ``OWNER.NAME`` with one more column, which numbers its rows. Constraints are not enforced.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import sqlglot
from sqlglot import exp

from tests.labs.oracle.adding import day_of
from tests.labs.oracle.creating import LOBS
from tests.labs.oracle.making import extent_bytes
from tests.labs.oracle.model import BLOCK, Column, Index, Segment, Table
from tests.labs.oracle.views.rewrite import (
    CHANGES,
    ERRORS,
    LEVEL,
    LEVELS,
    ROW_NUMBER,
    Asking,
    Visit,
    name_in_duck,
    refuse,
    translate_query,
    view_name,
)
from tests.labs.sql.duck import replaced, telling, translated
from tests.labs.tns.backend import OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase
    from tests.labs.oracle.session import EmulatedSession

NUMBER = ROW_NUMBER
IN_ROW = 4000  # bytes up to which a LOB is stored with its row
HEIGHT = 2  # blocks of an index that a look-up reads
BLOCK_HEAD, ROW_HEAD, LOCATOR, ENTRY_HEAD = 100, 3, 40, 12
_TYPES = {"VARCHAR2": "VARCHAR", "CLOB": "VARCHAR", "BLOB": "VARCHAR", "RAW": "VARCHAR", "DATE": "TIMESTAMP_S"}
Undo = tuple[str, str, list[Any]]  # relation, what to delete of it, rows to insert again


class Rows:
    """The rows of a database. Statements run one after the other, over a connection of their own.

    Its lock is the last one that anybody takes: queries hold the engine's when they ask for the database's, changes of
    rows hold the database's.
    """

    def __init__(self, database: EmulatedDatabase, duck: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._duck = duck.cursor()
        self._lock = threading.Lock()

    def create(self, table: Table) -> None:
        """An empty relation."""
        columns = ", ".join(f"{_quoted(each.name)} {_type_of(each)}" for each in table.columns)
        self._run(f"CREATE TABLE {_relation(table)} ({_quoted(NUMBER)} BIGINT, {columns})")

    def drop(self, table: Table) -> None:
        """Harmless where it has none."""
        self._run(f"DROP TABLE IF EXISTS {_relation(table)}")

    def count(self, table: Table) -> int:
        """How many rows it has."""
        return int(self._run(f"SELECT COUNT(*) FROM {_relation(table)}")[0][0]) if table.columns else 0

    # -- statements ----------------------------------------------------------------------------------------------

    def table_of(self, sql: str, user: str) -> tuple[exp.Insert | exp.Update, Table]:
        """The tree of an INSERT or UPDATE, and its table.

        Raises:
            OracleError: it does not parse, or there is no such table.
        """
        try:
            tree = sqlglot.parse_one(sql, read="oracle")
        except sqlglot.errors.SqlglotError as error:
            raise ERRORS.syntax(str(error).splitlines()[0]) from error
        target = tree.find(exp.Table)
        if not isinstance(tree, exp.Insert | exp.Update) or target is None:
            raise refuse("DML but INSERT ... SELECT and UPDATE")
        owner, _, name = (view_name(target) if target.db else f"{user}.{view_name(target)}").partition(".")
        table = self._database.table(owner, name)
        if not table.columns:
            raise refuse("DML on tables")
        return tree, table

    def change(self, session: EmulatedSession, tree: exp.Insert | exp.Update, table: Table) -> tuple[int, Undo]:
        """Carry it out; how many rows, and what takes it back.

        Raises:
            OracleError: no room, no quota, or what the lab does not know.
        """
        asking = Asking(session.context, session.now().isoformat(sep=" ", timespec="seconds"))
        done = self._insert(tree, table, asking) if isinstance(tree, exp.Insert) else self._update(tree, table, asking)
        try:
            self.measure(table)
        except OracleError:
            self.take_back(done[1])
            raise
        return done

    def _insert(self, tree: exp.Insert, table: Table, asking: Asking) -> tuple[int, Undo]:
        selected = tree.expression
        if not isinstance(selected, exp.Query):
            raise refuse("INSERT ... VALUES")
        listed = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        names = [_quoted(str(each.name)) for each in listed] or [_quoted(column.name) for column in table.columns]
        prepared = translate_query(selected.copy(), asking, ())
        for view in prepared.views:
            self._bring(view)
        first = int(self._run(f"SELECT COALESCE(MAX({_quoted(NUMBER)}), 0) + 1 FROM {_relation(table)}")[0][0])
        numbered = f"SELECT {first - 1} + ROW_NUMBER() OVER (), * FROM ({prepared.sql})"
        into = f"{_relation(table)} ({', '.join((_quoted(NUMBER), *names))})"
        count = int(self._run(f"INSERT INTO {into} {numbered}")[0][0])
        return count, (_relation(table), f"{_quoted(NUMBER)} >= {first}", [])

    def _update(self, tree: exp.Update, table: Table, asking: Asking) -> tuple[int, Undo]:
        tree = tree.copy()
        where = tree.args.get("where")
        replaced(tree, CHANGES, asking)
        for each in tree.find_all(exp.Table):
            name_in_duck(each)
        condition = translated(where.this, ERRORS) if where is not None else "TRUE"
        target = tree.find(exp.Table)
        assert target is not None, "it was found before"
        target.set("this", exp.to_identifier(f"{table.owner}.{table.name}", quoted=True))
        before = self._run(f"SELECT * FROM {_relation(table)} WHERE {condition}")
        self._run(translated(tree, ERRORS))
        numbers = ", ".join(str(row[0]) for row in before) or "0"
        return len(before), (_relation(table), f"{_quoted(NUMBER)} IN ({numbers})", before)

    def _bring(self, name: str) -> None:
        """What an INSERT selects from. Raises OracleError ORA-03001."""
        if name == "DUAL":
            self._run('CREATE OR REPLACE TABLE "DUAL" AS SELECT \'X\' AS "DUMMY"')
        elif "." not in name and not self.bring_levels(name):
            raise refuse(f"INSERT ... SELECT from {name}")

    def bring_levels(self, name: str) -> bool:
        """Whether it is what stands for a hierarchy of levels, which is there then."""
        if name.startswith(LEVELS):
            made = f'SELECT UNNEST(GENERATE_SERIES(1, {int(name.removeprefix(LEVELS))})) AS "{LEVEL}"'
            self._run(f'CREATE TABLE IF NOT EXISTS "{name}" AS {made}')
        return name.startswith(LEVELS)

    def take_back(self, undo: Undo) -> None:
        """Rows as they were before a statement."""
        relation, condition, before = undo
        self._run(f"DELETE FROM {relation} WHERE {condition}")
        if before:
            marks = ", ".join("?" for _ in before[0])
            with self._lock:
                self._duck.executemany(f"INSERT INTO {relation} VALUES ({marks})", before)

    # -- sizes ---------------------------------------------------------------------------------------------------

    def measure(self, table: Table) -> None:
        """Segments as large as their rows need; a segment comes with its first row and never shrinks.

        Raises:
            OracleError: neither quota nor room for it.
        """
        if not table.columns:
            return
        part = _part_expression(table)
        sizes = " + ".join((str(ROW_HEAD), *map(_bytes_of, table.columns)))
        lobs = [column for column in table.columns if column.kind in LOBS]
        out = "".join(
            f", SUM(CASE WHEN {_is_out(each)} THEN CEIL(2 * {_length(each)} / {BLOCK}) ELSE 0 END)" for each in lobs
        )
        found = self._run(f"SELECT {part}, COUNT(*), SUM({sizes}){out} FROM {_relation(table)} GROUP BY 1")
        for name, count, size, *of_lobs in found:
            room = BLOCK * (100 - table.pct_free) // 100 - BLOCK_HEAD
            own = table.indexes[0].segments if table.iot else table.segments
            at = next(n for n, segment in enumerate(own) if segment.part == name)
            self._grow(own[at], _blocks(int(count), int(size), room))
            for lob, blocks in zip(table.lobs, of_lobs, strict=True):
                self._grow(lob.segments[at], int(blocks))
                self._grow(lob.indexes[at], 1)
            for index in table.indexes:
                if index.local and name not in index.unusable:
                    self._grow(index.segments[at], _index_blocks(table, index, int(count)))
        total = sum(int(row[1]) for row in found)
        for index in table.indexes:
            if total and not index.local and index.kind != "IOT - TOP" and not index.unusable:
                self._grow(index.segments[0], _index_blocks(table, index, total))

    def _grow(self, segment: Segment, blocks: int) -> None:
        size = extent_bytes(segment, blocks, BLOCK)
        more = size - (segment.bytes if segment.created else 0)
        if more > 0:
            full = OracleError(
                1653, f"unable to extend table {segment.owner}.{segment.name} by 128 in tablespace {segment.tablespace}"
            )
            self._database.quota_check(segment.owner, segment.tablespace, more)
            self._database.add_space_check(segment.tablespace, more, error=full)
        segment.bytes, segment.used, segment.created = size, max(segment.used, blocks), True

    # -- statistics and counters ---------------------------------------------------------------------------------

    def gather(self, table: Table, session: EmulatedSession) -> None:
        """DBMS_STATS.GATHER_TABLE_STATS, indexes too."""
        table.rows, table.analyzed = self.count(table), session.now()
        for column in table.columns:
            column.distinct = int(
                self._run(f"SELECT COUNT(DISTINCT {_quoted(column.name)}) FROM {_relation(table)}")[0][0]
            )
        for index in table.indexes:
            index.rows, index.analyzed = table.rows, table.analyzed

    def count_visits(self, visits: Sequence[Visit], session: EmulatedSession) -> None:
        """Reads of a query: a block of the table for each row that an index finds, else every used block."""
        instance = session.instance
        with self._database.changed:
            for visit in visits:
                owner, _, name = visit.table.partition(".")
                table = self._database.table(owner, name)
                index = _index_for(table, visit.compared)
                if index is None:
                    for segment in table.segments or table.indexes[0].segments:
                        self._database.count(segment, instance, {"logical reads": segment.used})
                        blocks = np.arange(segment.used, dtype=np.int64)
                        self._database.visit(segment, blocks, session.counted, scanned=True, instance=instance)
                    continue
                reads = int(self._run(visit.count)[0][0])
                self._database.count(index.segments[0], instance, {"logical reads": HEIGHT * reads})
                if table.segments:
                    self._database.count(table.segments[0], instance, {"logical reads": reads})
                self._fetch(visit, (*index.segments[:1], *table.segments[:1]), table, session)
            self._database.touch()

    def _fetch(self, visit: Visit, segments: Sequence[Segment], table: Table, session: EmulatedSession) -> None:
        """The blocks of those rows, one after the other; rows and keys lie in the order in which they were inserted."""
        if not any(segment.data_object_id in self._database.flushed for segment in segments):
            return
        numbers = np.array([number for (number,) in self._run(visit.rows)], dtype=np.int64)
        most = max(1, self.count(table))
        for segment in segments:
            blocks = np.minimum(numbers - 1, most - 1) * segment.used // most
            self._database.visit(segment, blocks, session.counted, scanned=False, instance=session.instance)

    def _run(self, sql: str) -> list[Any]:
        with self._lock, telling(ERRORS):
            return self._duck.execute(sql).fetchall()


def _relation(table: Table) -> str:
    return _quoted(f"{table.owner}.{table.name}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type_of(column: Column) -> str:
    if column.kind == "NUMBER":
        return "BIGINT" if column.scale == 0 else f"DECIMAL(38, {column.scale})" if column.scale else "DOUBLE"
    return _TYPES[column.kind]


def _length(column: Column) -> str:
    return f"COALESCE(strlen({_quoted(column.name)}), 0)"


def _is_out(column: Column) -> str:
    return f"{_length(column)} > {IN_ROW}"


def _bytes_of(column: Column) -> str:
    """Bytes of the column in a row, its length byte included."""
    if column.kind in LOBS:
        return f"CASE WHEN {_is_out(column)} THEN {LOCATOR} ELSE {LOCATOR} + {_length(column)} END"
    if column.kind in ("VARCHAR2", "RAW"):
        return f"(1 + {_length(column)})"
    return "8" if column.kind == "DATE" else "5"


def _part_expression(table: Table) -> str:
    """The partition of a row: the first whose bound is greater than its key."""
    if not table.partition_key:
        return "''"
    cases = []
    for part, bound in table.bounds.items():
        if bound.upper() == "MAXVALUE":
            cases.append(f"WHEN TRUE THEN '{part}'")
        else:
            at = day_of(bound)
            text = bound if at is None else f"TIMESTAMP '{at}'"
            cases.append(f"WHEN {_quoted(table.partition_key)} < {text} THEN '{part}'")
    return f"CASE {' '.join(cases)} END"


def _blocks(rows: int, size: int, room: int) -> int:
    """Blocks of rows of that size in all; a row is not split unless it is larger than a block."""
    at_once = room * rows // size
    return -(-rows // at_once) if at_once else -(-size // room)


def _index_blocks(table: Table, index: Index, rows: int) -> int:
    """Leaf blocks with 90 % in use: a ROWID and the key for each row, of a bitmap index one for many."""
    lengths = {column.name: min(column.length, 24) for column in table.columns}
    entry = ENTRY_HEAD + sum(lengths.get(name, 16) for name, _ in index.keys)
    blocks = -(-rows * entry // (BLOCK * 9 // 10))
    return max(1, blocks // 8 if index.kind.startswith("BITMAP") else blocks)


def _index_for(table: Table, compared: frozenset[str]) -> Index | None:
    """One that begins with a column which has to equal something."""
    usable = (index for index in table.indexes if not index.unusable and index.keys and not index.local)
    return next((index for index in usable if index.keys[0][0].upper() in compared), None)
