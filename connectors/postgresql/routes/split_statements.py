"""The statements of a split and of its way back, from a table's definition. Pure; identifiers are quoted by psycopg.

Both are one transaction of catalog changes. The server itself compares what users see of the table before and after it
(``sql/split_description.sql``), and rolls back where they differ: what was forgotten here, or changed since the plan,
is never lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from psycopg import sql

from connectors.postgresql.moving.split_table import Column, Grant, Policy, Table, TableSequence
from connectors.postgresql.session.queries import query

CHANGED, TOO_LARGE = "HP001", "HP002"  # SQLSTATE of what these statements raise
# Of LIKE; keys, indexes and identity are made by statements that name them.
_CARRIED = ("DEFAULTS", "CONSTRAINTS", "GENERATED", "STORAGE", "COMPRESSION", "COMMENTS")
_COMMANDS = {"r": "SELECT", "a": "INSERT", "w": "UPDATE", "d": "DELETE", "*": "ALL"}
_IDENTITY = {"a": "ALWAYS", "d": "BY DEFAULT"}


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
    most_back_bytes: int  # that the way back may copy under its lock


def add_check(plan: SplitPlan) -> str:
    """Makes rows from the border on impossible, and looks at none that are there."""
    return _text(
        "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({} < {}) NOT VALID",
        _whole(plan), sql.Identifier(plan.names.check), sql.Identifier(plan.column.name), _border(plan),
    )  # fmt: skip


def validate_check(plan: SplitPlan) -> str:
    """Reads the table once, while others read and write it."""
    return _text("ALTER TABLE {} VALIDATE CONSTRAINT {}", _whole(plan), sql.Identifier(plan.names.check))


def drop_check(plan: SplitPlan) -> str:
    """Takes back what an interrupted split has left."""
    return _text("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {}", _whole(plan), sql.Identifier(plan.names.check))


def switch(plan: SplitPlan) -> str:
    """Puts the partitioned table in the place of the plain one, which becomes its cold part."""
    whole, cold = _whole(plan), _own(plan, plan.names.cold)
    oid = sql.Literal(plan.table.oid)
    statements = [
        *_guarded_begin(
            plan, _text("to_regclass({}) IS DISTINCT FROM {}::oid::regclass", _name_literal(whole), oid),
            f"{plan.table.name} is another table than the one that was approved",
            whole, without=plan.names.check,
        ),
        _text("ALTER TABLE {} RENAME TO {}", whole, sql.Identifier(plan.names.cold)),
        *(_rename_index(plan, cold, old, new) for old, new in plan.names.indexes),
        *_rename_sequences(plan),
        _text(
            "CREATE TABLE {} (LIKE {} {}) PARTITION BY RANGE ({})", whole, cold,
            sql.SQL(" ").join(sql.SQL(f"INCLUDING {each}") for each in _CARRIED), sql.Identifier(plan.column.name),
        ),
        _text("ALTER TABLE {} DROP CONSTRAINT {}", whole, sql.Identifier(plan.names.check)),
        _text("ALTER TABLE {} OWNER TO {}", whole, sql.Identifier(plan.table.owner)),
        *_column_settings(plan, whole),
        *_keys(plan, whole),
        *_give_sequences(plan, whole, cold),
        _text("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM (MINVALUE) TO ({})", whole, cold, _border(plan)),
        *_hot_part(plan, whole),
        _text("ALTER TABLE {} DROP CONSTRAINT {}", cold, sql.Identifier(plan.names.check)),
        *_row_security(plan, whole),
        *_grants(whole, "TABLE", plan.table.owner, plan.table.grants, granted=plan.table.granted),
        *_comments(plan, whole),
        *_replica_identity(plan, whole),
    ]  # fmt: skip
    return _block(statements, whole)


def rejoin(plan: SplitPlan) -> str:
    """Makes the split table plain again: rows of the hot part are copied to the cold one, which takes its old name."""
    whole, cold, hot = _whole(plan), _own(plan, plan.names.cold), _own(plan, plan.names.hot)
    columns = sql.SQL(", ").join(sql.Identifier(each.name) for each in plan.table.columns if not each.generated)
    parts = _text(
        "(SELECT array_agg(h.inhrelid ORDER BY h.inhrelid) FROM pg_inherits AS h WHERE h.inhparent = {}::regclass) IS "
        "DISTINCT FROM (SELECT array_agg(o ORDER BY o) FROM unnest(ARRAY[{}::oid, {}::regclass::oid]) AS o)",
        _name_literal(whole), sql.Literal(plan.table.oid), _name_literal(hot),
    )  # fmt: skip
    statements = [
        *_guarded_begin(
            plan, parts, f"{plan.table.name} does not consist of just the parts that the split made",
            whole,
        ),
        _raise_if(
            _text("pg_table_size({}::regclass) > {}", _name_literal(hot), sql.Literal(plan.most_back_bytes)),
            f"{plan.names.hot} is larger than the {plan.most_back_bytes} bytes that may be copied under a lock",
            TOO_LARGE,
        ),
        "SET LOCAL row_security = off",
        _text("ALTER TABLE {} DETACH PARTITION {}", whole, cold),
        _text("ALTER TABLE {} DETACH PARTITION {}", whole, hot),
        _text("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}", cold, columns, columns, hot),
        _text("DROP TABLE {}", hot),
        *_rename_sequences(plan),
        *_give_sequences(plan, cold, whole),
        _text("DROP TABLE {}", whole),
        *(_rename_index(plan, cold, new, old) for old, new in plan.names.indexes),
        _text("ALTER TABLE {} RENAME TO {}", cold, sql.Identifier(plan.table.name)),
    ]  # fmt: skip
    return _block(statements, whole)


# -- the transaction ---------------------------------------------------------------------------------------------


def _guarded_begin(
    plan: SplitPlan, wrong: str, message: str, described: sql.Composable, *, without: str = ""
) -> list[str]:
    # The lock before anything is looked at: what another session changes meanwhile would not be seen.
    return [
        "SET LOCAL search_path = pg_catalog, pg_temp",
        "SET LOCAL default_tablespace = ''",
        _text("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", described),
        _raise_if(wrong, message, CHANGED),
        _raise_if(_other_columns(plan, described), f"{plan.table.name} has other columns than were approved", CHANGED),
        _text("EXECUTE hotplace_description INTO hotplace_before USING {}::regclass::oid, {}", _name_literal(described),
              sql.Literal(without)),
    ]  # fmt: skip


def _other_columns(plan: SplitPlan, table: sql.Composable) -> str:
    # The way back copies columns by name: the rows of one that came since would lose it.
    return _text(
        "(SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_attribute AS a "
        "WHERE a.attrelid = {}::regclass AND a.attnum > 0 AND NOT a.attisdropped) IS DISTINCT FROM "
        "(SELECT array_agg(n ORDER BY n) FROM unnest(ARRAY[{}]::text[]) AS n)",
        _name_literal(table), sql.SQL(", ").join(sql.Literal(each.name) for each in plan.table.columns),
    )  # fmt: skip


def _block(statements: Sequence[str], described: sql.Composable) -> str:
    """One DO statement: sent as one, it is one transaction."""
    description = "\n".join(
        line for line in query("split_description").decode().splitlines() if not line.startswith("--")
    )
    ending = [
        _text("EXECUTE hotplace_description INTO hotplace_after USING {}::regclass::oid, ''", _name_literal(described)),
        _raise_if(
            "hotplace_before IS DISTINCT FROM hotplace_after",
            "the table would not be described as before, perhaps by a change since it was planned",
            CHANGED,
        ),
    ]
    lines = "".join(f"  {statement};\n" for statement in (*statements, *ending))
    body = (
        "#variable_conflict use_column\n"
        f"DECLARE hotplace_before text; hotplace_after text;\n  hotplace_description text := {_literal(description)};\n"
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


def _raise_if(condition: str, message: str, state: str) -> str:
    return f"IF {condition} THEN RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = {_literal(message)}; END IF"


# -- its parts ---------------------------------------------------------------------------------------------------


def _rename_index(plan: SplitPlan, table: sql.Composable, old: str, new: str) -> str:
    of_key = {index.name for index in plan.table.indexes if index.constraint}
    if {old, new} & of_key:
        return _text("ALTER TABLE {} RENAME CONSTRAINT {} TO {}", table, sql.Identifier(old), sql.Identifier(new))
    return _text("ALTER INDEX {} RENAME TO {}", _own(plan, old), sql.Identifier(new))


def _rename_sequences(plan: SplitPlan) -> list[str]:
    return [
        _text("ALTER SEQUENCE {} RENAME TO {}", _sequence(each, old), sql.Identifier(new))
        for each, (old, new) in zip(_identities(plan), plan.names.sequences, strict=True)
    ]


def _column_settings(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    for column in plan.table.columns:
        name = sql.Identifier(column.name)
        if column.statistics is not None:
            target = sql.Literal(column.statistics)
            yield _text("ALTER TABLE ONLY {} ALTER COLUMN {} SET STATISTICS {}", table, name, target)
        if column.options:
            options = sql.SQL(", ").join(map(sql.SQL, _options(column.options)))
            yield _text("ALTER TABLE ONLY {} ALTER COLUMN {} SET ({})", table, name, options)


def _keys(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    """Keys, other indexes and foreign keys of the whole, before it has parts: each is made in a moment.

    Attaching the cold part finds the same on it, and takes that in place of building another.
    """
    for index in plan.table.indexes:
        if index.constraint is None:
            yield index.definition  # speaks of the table by name, which is the partitioned one by then
        else:
            assert index.constraint_definition is not None, "a key has a definition"
            yield _add_constraint(table, index.constraint, index.constraint_definition)
    for each in plan.table.constraints:
        if each.type == "f":
            yield _add_constraint(table, each.name, each.definition)


def _add_constraint(table: sql.Composable, name: str, definition: str) -> str:
    return f"{_text('ALTER TABLE {} ADD CONSTRAINT {}', table, sql.Identifier(name))} {definition}"


def _give_sequences(plan: SplitPlan, to: sql.Composable, frm: sql.Composable) -> Iterator[str]:
    """Sequences go with the table that users know; an identity's own cannot be given, and is made again with its value.

    Args:
        plan: of the split.
        to: the table that has them from then on.
        frm: that had them, its identity sequences under their second names.
    """
    for each in plan.table.sequences:
        if not each.identity:
            owner = sql.SQL("{}.{}").format(to, sql.Identifier(each.column))
            yield _text("ALTER SEQUENCE {} OWNED BY {}", _sequence(each, each.name), owner)
    kinds = {column.name: column.identity for column in plan.table.columns}
    for each, (_, old) in zip(_identities(plan), plan.names.sequences, strict=True):
        column = sql.Identifier(each.column)
        new_name, old_name = _sequence(each, each.name), _sequence(each, old)
        yield _text(
            "ALTER TABLE {} ALTER COLUMN {} ADD GENERATED {} AS IDENTITY (SEQUENCE NAME {} START {} INCREMENT {} "
            "MINVALUE {} MAXVALUE {} CACHE {} {})",
            to, column, sql.SQL(_IDENTITY[kinds[each.column]]), new_name, sql.Literal(each.start),
            sql.Literal(each.increment), sql.Literal(each.least), sql.Literal(each.most), sql.Literal(each.cache),
            sql.SQL("CYCLE" if each.cycle else "NO CYCLE"),
        )  # fmt: skip
        yield _text("PERFORM setval({}, q.last_value, q.is_called) FROM {} AS q", _name_literal(new_name), old_name)
        yield _text("ALTER TABLE {} ALTER COLUMN {} DROP IDENTITY", frm, column)
        yield from _grants(new_name, "SEQUENCE", plan.table.owner, each.grants, granted=each.granted)
        if each.comment is not None:
            yield _text("COMMENT ON SEQUENCE {} IS {}", new_name, sql.Literal(each.comment))


def _hot_part(plan: SplitPlan, whole: sql.Composable) -> Iterator[str]:
    hot = _own(plan, plan.names.hot)
    options = [*_options(plan.table.options), *(f"toast.{each}" for each in _options(plan.table.toast_options))]
    yield _text("SET LOCAL default_tablespace = {}", sql.Literal(plan.space))  # of its indexes
    yield _text(
        "CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO (MAXVALUE){} TABLESPACE {}", hot, whole, _border(plan),
        sql.SQL(f" WITH ({', '.join(options)})" if options else ""), sql.Identifier(plan.space),
    )  # fmt: skip
    yield "SET LOCAL default_tablespace = ''"
    yield _text("ALTER TABLE {} OWNER TO {}", hot, sql.Identifier(plan.table.owner))
    yield from _column_settings(plan, hot)


def _row_security(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    if plan.table.row_security:
        yield _text("ALTER TABLE {} ENABLE ROW LEVEL SECURITY", table)
    if plan.table.forced_row_security:
        yield _text("ALTER TABLE {} FORCE ROW LEVEL SECURITY", table)
    for policy in plan.table.policies:
        yield _policy(policy, table)
        if policy.comment is not None:
            name = sql.Identifier(policy.name)
            yield _text("COMMENT ON POLICY {} ON {} IS {}", name, table, sql.Literal(policy.comment))


def _policy(policy: Policy, table: sql.Composable) -> str:
    roles = sql.SQL(", ").join(map(_role, policy.roles))
    parts = [
        _text(
            "CREATE POLICY {} ON {} AS {} FOR {} TO {}",
            sql.Identifier(policy.name),
            table,
            sql.SQL("PERMISSIVE" if policy.permissive else "RESTRICTIVE"),
            sql.SQL(_COMMANDS[policy.command]),
            roles,
        )
    ]  # fmt: skip
    parts += [f"USING ({policy.using})"] * (policy.using is not None)
    parts += [f"WITH CHECK ({policy.check})"] * (policy.check is not None)
    return " ".join(parts)


def _grants(on: sql.Composable, kind: str, owner: str, grants: Sequence[Grant], *, granted: bool) -> Iterator[str]:
    """The privileges as they are; ``granted``: they are not those that every new object has."""
    if granted:  # the owner may have taken some from himself, or PUBLIC have been given some by default
        yield _text("REVOKE ALL ON {} {} FROM {}, PUBLIC", sql.SQL(kind), on, sql.Identifier(owner))
    for each in grants:
        columns = sql.SQL(" ({})").format(sql.Identifier(each.column)) if each.column else sql.SQL("")
        yield _text(
            "GRANT {}{} ON {} {} TO {}{}", sql.SQL(each.privilege), columns, sql.SQL(kind), on, _role(each.grantee),
            sql.SQL(" WITH GRANT OPTION" if each.grantable else ""),
        )  # fmt: skip


def _comments(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    """Those of columns and checks came with them."""
    if plan.table.comment is not None:
        yield _text("COMMENT ON TABLE {} IS {}", table, sql.Literal(plan.table.comment))
    for index in plan.table.indexes:
        if index.comment is not None:
            yield _text("COMMENT ON INDEX {} IS {}", _own(plan, index.name), sql.Literal(index.comment))
    keys = [(each.constraint, each.constraint_comment) for each in plan.table.indexes if each.constraint]
    keys += [(each.name, each.comment) for each in plan.table.constraints if each.type in "fn"]
    for name, comment in keys:
        if comment is not None:
            yield _text("COMMENT ON CONSTRAINT {} ON {} IS {}", sql.Identifier(str(name)), table, sql.Literal(comment))


def _replica_identity(plan: SplitPlan, whole: sql.Composable) -> Iterator[str]:
    by_index = next((index.name for index in plan.table.indexes if index.replica_identity), None)
    if by_index is not None:
        yield _text("ALTER TABLE {} REPLICA IDENTITY USING INDEX {}", whole, sql.Identifier(by_index))
    kind = {"f": "FULL", "n": "NOTHING"}.get(plan.table.replica_identity)
    for table in (whole, _own(plan, plan.names.hot)) if kind else ():
        yield _text("ALTER TABLE {} REPLICA IDENTITY {}", table, sql.SQL(str(kind)))


# -- words -------------------------------------------------------------------------------------------------------


def _identities(plan: SplitPlan) -> list[TableSequence]:
    return [each for each in plan.table.sequences if each.identity]


def _whole(plan: SplitPlan) -> sql.Identifier:
    return _own(plan, plan.table.name)


def _own(plan: SplitPlan, name: str) -> sql.Identifier:
    return sql.Identifier(plan.table.schema_, name)


def _sequence(sequence: TableSequence, name: str) -> sql.Identifier:
    return sql.Identifier(sequence.schema_, name)


def _role(name: str | None) -> sql.Composable:
    return sql.SQL("PUBLIC") if name is None else sql.Identifier(name)


def _border(plan: SplitPlan) -> sql.Composable:
    return sql.SQL("{}::{}").format(sql.Literal(plan.border), sql.SQL(plan.column.type))


def _options(options: Sequence[str]) -> list[str]:
    """Storage parameters as statements take them.

    >>> _options(["fillfactor=70"])
    ["fillfactor='70'"]
    """
    return [f"{name}={_literal(value)}" for name, _, value in (option.partition("=") for option in options)]


def _name_literal(name: sql.Composable) -> sql.Literal:
    """A qualified name as text that ``regclass`` reads."""
    return sql.Literal(name.as_string(None))


def _literal(value: str) -> str:
    return sql.Literal(value).as_string(None)


def _text(pattern: str, *parts: sql.Composable) -> str:
    return re.sub(r"\s+$", "", sql.SQL(pattern).format(*parts).as_string(None))
