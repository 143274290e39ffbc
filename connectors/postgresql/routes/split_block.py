"""One transaction that makes a split, or takes it back: what it is made from, its guard, how its text is made. Pure.

The lock comes before anything is looked at, and the server itself compares what users see of the table before and after
(``sql/split_description.sql``): where that differs, all is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from psycopg import sql

from connectors.postgresql.moving.split_table import Column, Table
from connectors.postgresql.session.queries import query

CHANGED, TOO_LARGE = "HP001", "HP002"  # SQLSTATE of what these statements raise


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitNames:
    """The names that a split gives, all in the table's schema."""

    cold: str  # the table as it was
    hot: str  # the part for rows from the border on
    check: str  # the constraint that makes attaching the cold part a matter of a moment
    indexes: tuple[tuple[str, str], ...]  # (as it is and will be of the whole, of the cold part) of each index
    sequences: tuple[tuple[str, str], ...]  # the same of identity sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPlan:
    """A table, where it is split, and into what."""

    table: Table
    column: Column
    border: str  # as the server writes it
    space: str  # of the hot part
    names: SplitNames
    most_back_bytes: int  # that the way back may copy under its lock, and the way there
    moves_rows: bool = False  # rows from the border on are there already


def guarded_begin(
    plan: SplitPlan, wrong: str, message: str, described: sql.Composable, *, without: str = ""
) -> list[str]:
    """Its first statements: the lock, what else would be wrong, and how users see the table before."""
    # The lock before anything is looked at: what another session changes meanwhile would not be seen.
    return [
        "SET LOCAL search_path = pg_catalog, pg_temp",
        "SET LOCAL default_tablespace = ''",
        text("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", described),
        raise_if(wrong, message, CHANGED),
        raise_if(_other_columns(plan, described), f"{plan.table.name} has other columns than were approved", CHANGED),
        text("EXECUTE hotplace_description INTO hotplace_before USING {}::regclass::oid, {}", name_literal(described),
              sql.Literal(without)),
    ]  # fmt: skip


def _other_columns(plan: SplitPlan, table: sql.Composable) -> str:
    # The way back copies columns by name: the rows of one that came since would lose it.
    return text(
        "(SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_attribute AS a "
        "WHERE a.attrelid = {}::regclass AND a.attnum > 0 AND NOT a.attisdropped) IS DISTINCT FROM "
        "(SELECT array_agg(n ORDER BY n) FROM unnest(ARRAY[{}]::text[]) AS n)",
        name_literal(table), sql.SQL(", ").join(sql.Literal(each.name) for each in plan.table.columns),
    )  # fmt: skip


def block(statements: Sequence[str], described: sql.Composable, declared: str = "") -> str:
    """One DO statement: sent as one, it is one transaction.

    Args:
        statements: behind ``guarded_begin``.
        described: the table that users see, before and after.
        declared: variables that they use, beside those of the description.
    """
    description = "\n".join(
        line for line in query("split_description").decode().splitlines() if not line.startswith("--")
    )
    ending = [
        text("EXECUTE hotplace_description INTO hotplace_after USING {}::regclass::oid, ''", name_literal(described)),
        raise_if(
            "hotplace_before IS DISTINCT FROM hotplace_after",
            "the table would not be described as before, perhaps by a change since it was planned",
            CHANGED,
        ),
    ]
    lines = "".join(f"  {statement};\n" for statement in (*statements, *ending))
    body = (
        "#variable_conflict use_column\n"
        f"DECLARE hotplace_before text; hotplace_after text;\n  hotplace_description text := {literal(description)};\n"
        f"{declared and f'  {declared}{chr(10)}'}"
        f"BEGIN\n{lines}END"
    )
    tag = next(tag for tag in _tags() if tag not in body)
    return f"DO {tag}\n{body}\n{tag}"


def _tags() -> Iterator[str]:
    """Dollar quotes: the body holds names of users, which may look like one."""
    yield "$hotplace$"
    number = 0
    while True:
        number += 1
        yield f"$hotplace{number}$"


def raise_if(condition: str, message: str, state: str) -> str:
    """A statement that ends the transaction where the condition holds."""
    return f"IF {condition} THEN RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = {literal(message)}; END IF"


def whole_name(plan: SplitPlan) -> sql.Identifier:
    """The name that users know."""
    return own_name(plan, plan.table.name)


def own_name(plan: SplitPlan, name: str) -> sql.Identifier:
    """A name in the schema of the table."""
    return sql.Identifier(plan.table.schema_, name)


def border_value(plan: SplitPlan) -> sql.Composable:
    """The border as a literal of the column's type."""
    return sql.SQL("{}::{}").format(sql.Literal(plan.border), sql.SQL(plan.column.type))


def name_literal(name: sql.Composable) -> sql.Literal:
    """A qualified name as text that ``regclass`` reads."""
    return sql.Literal(name.as_string(None))


def literal(value: str) -> str:
    """A text as the server reads it."""
    return sql.Literal(value).as_string(None)


def text(pattern: str, *parts: sql.Composable) -> str:
    """A statement of these parts."""
    return sql.SQL(pattern).format(*parts).as_string(None).rstrip()
