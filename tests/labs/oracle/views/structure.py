"""Rows of the DBA_ views about what tables are made of: columns, constraints, keys of indexes, comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.labs.oracle.model import Index, Table

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase

Rows = Iterator[dict[str, Any]]


def made_columns(db: EmulatedDatabase) -> Rows:
    """DBA_TAB_COLUMNS of tables that statements have made."""
    for table in db.tables.values():
        for at, column in enumerate(table.columns, start=1):
            yield {
                "OWNER": table.owner, "TABLE_NAME": table.name, "COLUMN_NAME": column.name, "DATA_TYPE": column.kind,
                "DATA_LENGTH": column.length, "DATA_PRECISION": column.precision, "DATA_SCALE": column.scale,
                "NULLABLE": "Y" if column.nullable else "N", "COLUMN_ID": at, "DATA_DEFAULT": column.default or None,
                "DEFAULT_LENGTH": len(column.default) or None, "NUM_DISTINCT": column.distinct,
                "LAST_ANALYZED": None if column.distinct is None else table.analyzed, "CHAR_USED": None,
            }  # fmt: skip


def constraints(db: EmulatedDatabase) -> Rows:
    """DBA_CONSTRAINTS."""
    for table in db.tables.values():
        for each in table.constraints:
            yield {
                "OWNER": table.owner, "CONSTRAINT_NAME": each.name, "CONSTRAINT_TYPE": each.kind,
                "TABLE_NAME": table.name, "SEARCH_CONDITION": each.condition or None,
                "R_OWNER": _referred(db, each.refers_to)[0], "R_CONSTRAINT_NAME": _referred(db, each.refers_to)[1],
                "STATUS": "ENABLED", "DEFERRABLE": "NOT DEFERRABLE", "DEFERRED": "IMMEDIATE", "VALIDATED": "VALIDATED",
                "GENERATED": "GENERATED NAME" if each.generated else "USER NAME", "INDEX_NAME": each.index or None,
                "INDEX_OWNER": table.owner if each.index else None,
            }  # fmt: skip


def _referred(db: EmulatedDatabase, name: tuple[str, str]) -> tuple[str | None, str | None]:
    """Owner and name of the primary key of the table that a foreign key names."""
    table = db.tables.get(name)
    key = next((each for each in table.constraints if each.kind == "P"), None) if table is not None else None
    return (name[0], key.name) if key is not None else (None, None)


def constraint_columns(db: EmulatedDatabase) -> Rows:
    """DBA_CONS_COLUMNS; of checks without positions."""
    for table in db.tables.values():
        for each in table.constraints:
            for at, column in enumerate(each.columns, start=1):
                yield {
                    "OWNER": table.owner, "CONSTRAINT_NAME": each.name, "TABLE_NAME": table.name,
                    "COLUMN_NAME": column, "POSITION": None if each.kind == "C" else at,
                }  # fmt: skip


def _keys(db: EmulatedDatabase) -> Iterator[tuple[Table, Index, int, str, str]]:
    for table in db.tables.values():
        for index in table.indexes:
            for at, (key, order) in enumerate(index.keys, start=1):
                yield table, index, at, key, order


def _is_expression(table: Table, key: str, order: str) -> bool:
    """Keys in descending order are kept as expressions, too."""
    return order == "DESC" or key not in {column.name for column in table.columns}


def index_columns(db: EmulatedDatabase) -> Rows:
    """DBA_IND_COLUMNS: an expression has the name of a hidden column."""
    for table, index, at, key, order in _keys(db):
        hidden = f"SYS_NC{len(table.columns) + at:05}$"
        yield {
            "INDEX_OWNER": index.owner, "INDEX_NAME": index.name, "TABLE_OWNER": table.owner, "TABLE_NAME": table.name,
            "COLUMN_NAME": hidden if _is_expression(table, key, order) else key, "COLUMN_POSITION": at,
            "COLUMN_LENGTH": 22, "CHAR_LENGTH": 0, "DESCEND": order,
        }  # fmt: skip


def index_expressions(db: EmulatedDatabase) -> Rows:
    """DBA_IND_EXPRESSIONS."""
    for table, index, at, key, order in _keys(db):
        if _is_expression(table, key, order):
            yield {
                "INDEX_OWNER": index.owner, "INDEX_NAME": index.name, "TABLE_OWNER": table.owner,
                "TABLE_NAME": table.name, "COLUMN_EXPRESSION": key, "COLUMN_POSITION": at,
            }  # fmt: skip


def table_comments(db: EmulatedDatabase) -> Rows:
    """DBA_TAB_COMMENTS: a row for each table."""
    for table in db.tables.values():
        row = {"OWNER": table.owner, "TABLE_NAME": table.name, "TABLE_TYPE": "TABLE"}
        yield {**row, "COMMENTS": table.comment or None}


def column_comments(db: EmulatedDatabase) -> Rows:
    """DBA_COL_COMMENTS: a row for each column."""
    for table in db.tables.values():
        for column in table.columns:
            row = {"OWNER": table.owner, "TABLE_NAME": table.name, "COLUMN_NAME": column.name}
            yield {**row, "COMMENTS": column.comment or None}
