"""One transaction that makes a split or takes it back, and the rows that it moves. Pure.

``guarded_begin`` and ``block`` make the text of the transaction. The lock comes before any check. The server itself
compares what users see of the table before and after (``sql/split_description.sql``), and rolls all back if that
differs.

``copied`` and ``taken`` move rows from table to table. An INSERT does what hangs on its table says: a rule or a trigger
may swallow or change rows, and a generated column is computed again, perhaps by a function that has changed. So rules
and triggers are refused by name. The rows are counted and compared, value by value, with what can be read afterwards;
all is rolled back if they differ. Nothing is dropped before that. A policy that would hide rows is an error under
``row_security = off``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from psycopg import sql

from connectors.postgresql.sessions import query
from connectors.postgresql.split_table import SplitColumn, SplitTable

OWN_NAMES = "SET LOCAL search_path = pg_catalog, pg_temp"  # no user's function in place of the server's
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

    table: SplitTable
    column: SplitColumn
    border: str  # as the server writes it
    space: str  # of the hot part
    names: SplitNames
    most_back_bytes: int  # that the way back may copy under its lock, and the way there
    moves_rows: bool = False  # rows from the border on are there already


def guarded_begin(
    plan: SplitPlan, wrong: str, message: str, described: sql.Composable, *, without: str = ""
) -> list[str]:
    """Its first statements: the lock, what else would be wrong, and how users see the table before."""
    # The lock before anything is looked at: what another session changes meanwhile would not be seen. That holds in
    # READ COMMITTED alone: elsewhere what is seen is as old as the first statement, and rows that came while it waited
    # for the lock would be dropped with their part.
    return [
        raise_if(
            "current_setting('transaction_isolation') <> 'read committed'",
            "this statement has to run in READ COMMITTED: SET default_transaction_isolation = 'read committed'",
            CHANGED,
        ),
        OWN_NAMES,
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
    """One transaction that compares how users see a table before and after.

    Args:
        statements: behind ``guarded_begin``.
        described: the table that users see, before and after.
        declared: variables that they use, besides those of the description.
    """
    description = _in_one_line("split_description")
    ending = [
        text("EXECUTE hotplace_description INTO hotplace_after USING {}::regclass::oid, ''", name_literal(described)),
        raise_if(
            "hotplace_before IS DISTINCT FROM hotplace_after",
            "the table would not be described as before, perhaps by a change since it was planned",
            CHANGED,
        ),
    ]
    variables = (
        f"DECLARE hotplace_before text; hotplace_after text;\n  hotplace_description text := {literal(description)};\n"
        f"{declared and f'  {declared}{chr(10)}'}"
    )
    return as_one([*statements, *ending], variables)


def as_one(statements: Sequence[str], variables: str = "") -> str:
    """One DO statement: sent as one, it is one transaction."""
    lines = "".join(f"  {statement};\n" for statement in statements)
    body = f"#variable_conflict use_column\n{variables}BEGIN\n{lines}END"
    tag = next(tag for tag in _dollar_quotes() if tag not in body)
    return f"DO {tag}\n{body}\n{tag}"


def _dollar_quotes() -> Iterator[str]:
    """Quotes of a block: its body holds names of users, which may look like one."""
    yield "$hotplace$"
    number = 0
    while True:
        number += 1
        yield f"$hotplace{number}$"


def drop_check_anywhere(name: str) -> str:
    """Drops a constraint of ours wherever it is: its table may have been renamed, or copied with its constraints."""
    drop = text(
        "FOR hotplace_table IN SELECT n.conrelid::regclass::text FROM pg_constraint AS n WHERE n.conname = {} "
        "AND n.contype = 'c' AND n.coninhcount = 0 LOOP "
        "EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', hotplace_table, {}); END LOOP",
        sql.Literal(name), sql.Literal(name),
    )  # fmt: skip
    return as_one([drop], "DECLARE hotplace_table text;\n")


def raise_if(condition: str, message: str, state: str) -> str:
    """A statement that ends the transaction where the condition holds."""
    return f"IF {condition} THEN RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = {literal(message)}; END IF"


def no_table(part: str) -> str:
    """Why a part is not taken back that was replaced by one of another kind."""
    return f"{part} is no ordinary table any more: what it holds is not copied or dropped by a way back"


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
    return _in_one_line("part_own")


def _in_one_line(name: str) -> str:
    """A query without its comments: with a line feed in a quoted text all of the statement is shown as escapes."""
    lines = query(name).decode().splitlines()
    return " ".join(line.strip() for line in lines if not line.lstrip().startswith("--"))


def refuse_own(plan: SplitPlan, part: str) -> Iterator[str]:
    """Ends the transaction where a part that is to be dropped has what the whole has not. It is attached still."""
    yield text(f"EXECUTE {OWN} INTO hotplace_names USING {{}}::regclass::oid", name_literal(own_name(plan, part)))
    yield _raise_with_names(
        f"{part} has what the whole has not (%s), which would go with it: give it to the whole, or drop it"
    )


def copied(plan: SplitPlan, frm: str, to: str) -> Iterator[str]:
    """Rows of a part that is to be dropped to the other one, which has no row from the border on before."""
    columns = _name_list(_stored_columns(plan))
    yield from _move_rows(
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
    columns = _name_list(_stored_columns(plan))
    yield from _move_rows(
        plan, frm, to,
        text(
            "WITH hotplace_rows AS (DELETE FROM ONLY {} WHERE {} >= {} RETURNING {}), hotplace_put AS "
            "(INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM hotplace_rows) "
            "SELECT {} FROM hotplace_rows INTO hotplace_moved",
            own_name(plan, frm), sql.Identifier(plan.column.name), border_value(plan),
            _name_list([each.name for each in plan.table.columns]), own_name(plan, to), columns, columns,
            _contents(plan),
        ),
    )  # fmt: skip


def _move_rows(plan: SplitPlan, frm: str, to: str, *statements: str) -> Iterator[str]:
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


def _stored_columns(plan: SplitPlan) -> list[str]:
    """The columns that a copy of rows names."""
    return [each.name for each in plan.table.columns if not each.generated]


def _contents(plan: SplitPlan) -> sql.Composable:
    """How many rows there are, and a sum over all their values, generated ones included."""
    # By text, which every type has; a sum, which no order and no repetition escapes.
    return sql.SQL("concat_ws(' ', count(*), sum(hashtextextended(ROW({})::text, 0)::numeric))").format(
        _name_list([each.name for each in plan.table.columns])
    )


def _name_list(names: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _raise_with_names(message: str) -> str:
    """Ends the transaction with names that only the server knows."""
    said = literal(message.replace("%", "%%").replace("(%%s)", "(%s)"))
    return (
        f"IF hotplace_names IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = '{CHANGED}', "
        f"MESSAGE = format({said}, hotplace_names); END IF"
    )
