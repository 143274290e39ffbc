"""Rows that one transaction moves from table to table: counted and compared before anything of theirs is dropped. Pure.

An INSERT does what hangs on its table says: a rule or a trigger swallows rows or changes them, a generated column is
computed anew, perhaps by another function than then. So what hangs on it is refused by name, and what was read before
is compared, value by value, with what can be read afterwards; where it differs, all is rolled back. A policy that would
hide rows is an error under ``row_security = off``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import sql

from connectors.postgresql.routes.split_block import (
    CHANGED,
    SplitPlan,
    border_value,
    literal,
    name_literal,
    own_name,
    raise_if,
    text,
)
from connectors.postgresql.session.queries import query

UNLIKE = "HP003"  # SQLSTATE: rows are not what they were
COUNTED = "counted"  # parameter of operations: rows that they move are compared; not of what was stored before
OWN = "hotplace_own"  # variable: the query of ``sql/part_own.sql``
VARIABLES = "hotplace_moved text; hotplace_found text; hotplace_names text;"  # that the statements below use
_HANGING = (
    "SELECT string_agg(h.name, ', ' ORDER BY h.name) FROM (SELECT r.rulename::text AS name FROM pg_rewrite AS r WHERE "
    "r.ev_class = {0}::regclass UNION ALL SELECT t.tgname::text FROM pg_trigger AS t WHERE t.tgrelid = {0}::regclass "
    "AND NOT t.tgisinternal AND t.tgparentid = 0) AS h INTO hotplace_names"
)


def own_query() -> str:
    """The text that a block declares for ``refuse_own``."""
    return "\n".join(line for line in query("part_own").decode().splitlines() if not line.startswith("--"))


def refuse_own(plan: SplitPlan, part: str) -> Iterator[str]:
    """Ends the transaction where a part that is to be dropped has what the whole has not. It is attached still."""
    yield text(f"EXECUTE {OWN} INTO hotplace_names USING {{}}::regclass::oid", name_literal(own_name(plan, part)))
    yield _raise_with_names(
        f"{part} has what the whole has not (%s), which would go with it: give it to the whole, or drop it"
    )


def copied(plan: SplitPlan, frm: str, to: str) -> Iterator[str]:
    """Rows of a part that is to be dropped to the other one, which has no row from the border on before."""
    columns = _listed(_stored(plan))
    yield from _moved(
        plan, frm, to,
        f"{text('SELECT {} FROM {}', _contents(plan), own_name(plan, frm))} INTO hotplace_moved",  # noqa: S608  # quoted
        text("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}",
             own_name(plan, to), columns, columns, own_name(plan, frm)),
    )  # fmt: skip


def taken(plan: SplitPlan, frm: str, to: str) -> Iterator[str]:
    """Rows from the border on to a part that was just made.

    As one statement, so that the table is read for it once; that none is left the server proves when it attaches what
    they leave.
    """
    columns = _listed(_stored(plan))
    yield from _moved(
        plan, frm, to,
        text(
            "WITH hotplace_rows AS (DELETE FROM ONLY {} WHERE {} >= {} RETURNING {}), hotplace_put AS "
            "(INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM hotplace_rows) "
            "SELECT {} FROM hotplace_rows INTO hotplace_moved",
            own_name(plan, frm), sql.Identifier(plan.column.name), border_value(plan),
            _listed([each.name for each in plan.table.columns]), own_name(plan, to), columns, columns, _contents(plan),
        ),
    )  # fmt: skip


def _moved(plan: SplitPlan, frm: str, to: str, *statements: str) -> Iterator[str]:
    """Statements that move rows and put what they were into ``hotplace_moved``, with what they are afterwards."""
    yield text(_HANGING, name_literal(own_name(plan, to)))
    yield _raise_with_names(
        f"{to} has a rule or trigger of its own (%s), which would decide what is moved: drop it first"
    )
    yield from statements
    yield text(
        "SELECT {} FROM {} WHERE {} >= {} INTO hotplace_found",
        _contents(plan), own_name(plan, to), sql.Identifier(plan.column.name), border_value(plan),
    )  # fmt: skip
    message = (
        f"rows of {frm} do not come out as they were in {to}: perhaps a function that computes a column was replaced "
        "since; all is as before"
    )
    yield raise_if("hotplace_moved IS DISTINCT FROM hotplace_found", message, UNLIKE)


def before_rows_move() -> tuple[str, ...]:
    """What the transaction needs before it copies rows."""
    # Rows that a policy hides are an error, not rows that are left behind. And a table with checks that wait for the
    # end of the transaction cannot be altered.
    return "SET LOCAL row_security = off", "SET CONSTRAINTS ALL IMMEDIATE"


def _stored(plan: SplitPlan) -> list[str]:
    """The columns that a copy of rows names."""
    return [each.name for each in plan.table.columns if not each.generated]


def _contents(plan: SplitPlan) -> sql.Composable:
    """How many rows there are, and a sum over all their values, generated ones included."""
    # By text, which every type has; a sum, which no order and no repetition escapes.
    return sql.SQL("concat_ws(' ', count(*), sum(hashtextextended(ROW({})::text, 0)::numeric))").format(
        _listed([each.name for each in plan.table.columns])
    )


def _listed(names: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _raise_with_names(message: str) -> str:
    """Ends the transaction with names that only the server knows."""
    said = literal(message.replace("%", "%%").replace("(%%s)", "(%s)"))
    return (
        f"IF hotplace_names IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = '{CHANGED}', "
        f"MESSAGE = format({said}, hotplace_names); END IF"
    )
