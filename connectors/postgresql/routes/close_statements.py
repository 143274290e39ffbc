"""The statements that end the open part of a partitioned table, and of its way back. Pure; psycopg quotes identifiers.

A constraint proves that no row of the part lies beyond its new end, so that attaching it again reads none. The last
statement of each way is one transaction (``split_block``), in which the server compares how users see the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from connectors.postgresql.routes.moved_rows import (
    OWN,
    VARIABLES,
    before_rows_move,
    copied,
    own_query,
    refuse_own,
)
from connectors.postgresql.routes.split_block import (
    CHANGED,
    SplitPlan,
    block,
    border_value,
    guarded_begin,
    literal,
    name_literal,
    own_name,
    raise_if,
    text,
    whole_name,
)
from connectors.postgresql.routes.split_statements import hot_part, refuse_large

# As the server prints it; FROM and TO by the groups of a regular expression.
_PRINTED = "substring(pg_get_expr(c.relpartbound, c.oid) FROM '^FOR VALUES FROM \\((.*)\\) TO \\(MAXVALUE\\)$')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """An open part and where it is to end: the cold part of a split whose hot part comes behind it."""

    plan: SplitPlan  # names.cold: the part that is closed, names.hot: the one behind it
    low: str  # where the part begins, as the server writes it


def add_end(closing: Closing) -> str:
    """Makes rows from the border on impossible, and looks at none that are there."""
    plan, column = closing.plan, sql.Identifier(closing.plan.column.name)
    return text(
        "ALTER TABLE ONLY {} ADD CONSTRAINT {} CHECK ({} >= {} AND {} < {}) NOT VALID",
        _part(closing), _check(closing), column, _low(closing), column, border_value(plan),
    )  # fmt: skip


def validate_end(closing: Closing) -> str:
    """Reads the part once, while others read and write it."""
    return text("ALTER TABLE {} VALIDATE CONSTRAINT {}", _part(closing), _check(closing))


def drop_end(closing: Closing) -> str:
    """Takes back what an interrupted closing, or its way back, has left."""
    return text("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {}", _part(closing), _check(closing))


def close(closing: Closing) -> str:
    """Gives the part its end, and makes the empty one behind it."""
    plan, whole, part = closing.plan, whole_name(closing.plan), _part(closing)
    begins = text("btrim(replace({}, '''''', ''''), '''')::{}", sql.SQL(_PRINTED), sql.SQL(plan.column.type))
    wrong = text(
        "(SELECT {} FROM pg_class AS c JOIN pg_inherits AS h ON h.inhrelid = c.oid WHERE c.oid = to_regclass({}) AND "
        "h.inhparent = {}::regclass) IS DISTINCT FROM {}",
        sql.SQL(begins), name_literal(part), name_literal(whole), _low(closing),
    )  # fmt: skip
    statements = [
        *_guard(closing, wrong, f"{plan.names.cold} is not the open part that was approved"),
        text("ALTER TABLE {} DETACH PARTITION {}", whole, part),
        text(
            "ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})",
            whole, part, _low(closing), border_value(plan),
        ),
        *hot_part(plan, whole),
        text("ALTER TABLE {} DROP CONSTRAINT {}", part, _check(closing)),
    ]  # fmt: skip
    return block(statements, whole)


def add_beginning(closing: Closing) -> str:
    """Says again what the bounds of the part say now: they end with it for a moment of the way back."""
    return text(
        "ALTER TABLE ONLY {} ADD CONSTRAINT {} CHECK ({} >= {}) NOT VALID",
        _part(closing), _check(closing), sql.Identifier(closing.plan.column.name), _low(closing),
    )  # fmt: skip


def reopen(closing: Closing) -> str:
    """Takes the end away: rows of the part behind it are copied to it, and that part goes."""
    plan, whole, part = closing.plan, whole_name(closing.plan), _part(closing)
    behind = own_name(plan, plan.names.hot)
    wrong = text(
        "(SELECT {} FROM pg_class AS c JOIN pg_inherits AS h ON h.inhrelid = c.oid WHERE c.oid = to_regclass({}) AND "
        "h.inhparent = {}::regclass) IS NULL OR NOT EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = "
        "{}::regclass AND h.inhrelid = to_regclass({}))",
        sql.SQL(_PRINTED), name_literal(behind), name_literal(whole), name_literal(whole), name_literal(part),
    )  # fmt: skip
    statements = [
        *_guard(closing, wrong, f"{plan.names.hot} is not the open part behind {plan.names.cold}"),
        refuse_large(plan),
        *refuse_own(plan, plan.names.hot),
        *before_rows_move(),
        text("ALTER TABLE {} DETACH PARTITION {}", whole, part),
        text("ALTER TABLE {} DETACH PARTITION {}", whole, behind),
        *copied(plan, plan.names.hot, plan.names.cold),
        text("DROP TABLE {}", behind),
        text("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO (MAXVALUE)", whole, part, _low(closing)),
        text("ALTER TABLE {} DROP CONSTRAINT {}", part, _check(closing)),
    ]  # fmt: skip
    return block(statements, whole, f"{VARIABLES} {OWN} text := {literal(own_query())};")


def _guard(closing: Closing, wrong: str, message: str) -> list[str]:
    """The lock, and whether the table and its part still are what was approved."""
    plan, whole = closing.plan, whole_name(closing.plan)
    other = text("to_regclass({}) IS DISTINCT FROM {}::oid::regclass", name_literal(whole), sql.Literal(plan.table.oid))
    begin = guarded_begin(plan, other, f"{plan.table.name} is another table than the one that was approved", whole)
    return [*begin, raise_if(wrong, message, CHANGED)]


def _part(closing: Closing) -> sql.Identifier:
    return own_name(closing.plan, closing.plan.names.cold)


def _check(closing: Closing) -> sql.Identifier:
    return sql.Identifier(closing.plan.names.check)


def _low(closing: Closing) -> sql.Composable:
    return sql.SQL("{}::{}").format(sql.Literal(closing.low), sql.SQL(closing.plan.column.type))
