"""The statements of a split and of its way back, from a table's definition. Pure; identifiers are quoted by psycopg.

Both are one transaction of catalog changes. The server itself compares what users see of the table before and after it
(``sql/split_description.sql``), and rolls back where they differ: what was forgotten here, or changed since the plan,
is never lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import sql

from connectors.postgresql.split_block import (
    CHANGED,
    OWN,
    TOO_LARGE,
    VARIABLES,
    SplitPlan,
    before_rows_move,
    block,
    border_value,
    copied,
    drop_check_anywhere,
    guarded_begin,
    literal,
    name_literal,
    no_table,
    own_name,
    own_query,
    raise_if,
    refuse_own,
    taken,
    text,
    whole_name,
)
from connectors.postgresql.split_table import Grant, Policy, TableSequence

# Of LIKE; keys, indexes and identity are made by statements that name them.
_CARRIED = ("DEFAULTS", "CONSTRAINTS", "GENERATED", "STORAGE", "COMPRESSION", "COMMENTS")
_COMMANDS = {"r": "SELECT", "a": "INSERT", "w": "UPDATE", "d": "DELETE", "*": "ALL"}
_IDENTITY = {"a": "ALWAYS", "d": "BY DEFAULT"}


def add_check(plan: SplitPlan) -> str:
    """Makes rows from the border on impossible, and looks at none that are there."""
    return text(
        "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({} < {}) NOT VALID",
        whole_name(plan), sql.Identifier(plan.names.check), sql.Identifier(plan.column.name), border_value(plan),
    )  # fmt: skip


def validate_check(plan: SplitPlan) -> str:
    """Reads the table once, while others read and write it."""
    return text("ALTER TABLE {} VALIDATE CONSTRAINT {}", whole_name(plan), sql.Identifier(plan.names.check))


def drop_check(plan: SplitPlan) -> str:
    """Takes back what an interrupted split has left."""
    return drop_check_anywhere(plan.names.check)


def mend(plan: SplitPlan) -> str:
    """Removes what moved rows left, and gathers statistics of all parts and of the whole; outside a transaction.

    INDEX_CLEANUP ON: where few pages hold dead rows, the server would leave their index entries, and every look-up that
    finds one reads a page of the cold part for nothing.
    """
    if not plan.moves_rows:
        return text("ANALYZE {}", whole_name(plan))
    return text("VACUUM (ANALYZE, INDEX_CLEANUP ON) {}", whole_name(plan))


def mend_back(plan: SplitPlan) -> str:
    """The same of the table that is one again."""
    return text("VACUUM (ANALYZE) {}", whole_name(plan))


def switch(plan: SplitPlan) -> str:
    """Puts the partitioned table in the place of the plain one, which becomes its cold part.

    A constraint has proved that no row lies from the border on, or such rows are moved before the cold part is
    attached: then the server reads that part once more to prove it.

    Foreign keys come last, and the cold part behind them: for either, the server takes locks on the tables that they
    name. Attaching it drops triggers there, which takes ACCESS EXCLUSIVE: they cannot be read until the commit.
    """
    whole, cold = whole_name(plan), own_name(plan, plan.names.cold)
    oid = sql.Literal(plan.table.oid)
    statements = [
        *guarded_begin(
            plan, text("to_regclass({}) IS DISTINCT FROM {}::oid::regclass", name_literal(whole), oid),
            f"{plan.table.name} is another table than the one that was approved",
            whole, without=_check_name(plan),
        ),
        text("ALTER TABLE {} RENAME TO {}", whole, sql.Identifier(plan.names.cold)),
        *(_rename_index(plan, cold, old, new) for old, new in plan.names.indexes),
        *_rename_sequences(plan),
        text(
            "CREATE TABLE {} (LIKE {} {}) PARTITION BY RANGE ({})", whole, cold,
            sql.SQL(" ").join(sql.SQL(f"INCLUDING {each}") for each in _CARRIED), sql.Identifier(plan.column.name),
        ),
        *_drop_check_of(plan, whole),
        text("ALTER TABLE {} OWNER TO {}", whole, sql.Identifier(plan.table.owner)),
        *_column_settings(plan, whole),
        *_keys(plan, whole),
        *_give_sequences(plan, whole, cold),
        *hot_part(plan, whole, like=cold),
        *_row_security(plan, whole),
        *_grants(whole, "TABLE", plan.table.owner, plan.table.grants, granted=plan.table.granted),
        *_replica_identity(plan, whole),
        *(_move_rows(plan, cold) if plan.moves_rows else ()),
        *_foreign_keys(plan, whole),
        *_comments(plan, whole),
        text("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM (MINVALUE) TO ({})", whole, cold, border_value(plan)),
        text("ALTER TABLE {} DROP CONSTRAINT {}", cold, sql.Identifier(plan.names.check)),
    ]  # fmt: skip
    return block(statements, whole, VARIABLES if plan.moves_rows else "")


def rejoin(plan: SplitPlan) -> str:
    """Makes the split table plain again: rows of the hot part are copied to the cold one, which takes its old name."""
    whole, cold, hot = whole_name(plan), own_name(plan, plan.names.cold), own_name(plan, plan.names.hot)
    parts = text(
        "(SELECT array_agg(h.inhrelid ORDER BY h.inhrelid) FROM pg_inherits AS h WHERE h.inhparent = {}::regclass) IS "
        "DISTINCT FROM (SELECT array_agg(o ORDER BY o) FROM unnest(ARRAY[{}::oid, {}::regclass::oid]) AS o)",
        name_literal(whole), sql.Literal(plan.table.oid), name_literal(hot),
    )  # fmt: skip
    statements = [
        *guarded_begin(
            plan, parts, f"{plan.table.name} does not consist of just the parts that the split made",
            whole,
        ),
        refuse_other_kind(plan, plan.names.hot),
        refuse_large(plan),
        *refuse_own(plan, plan.names.hot),
        *before_rows_move(),
        text("ALTER TABLE {} DETACH PARTITION {}", whole, cold),
        *copied(plan, plan.names.hot, plan.names.cold),
        *_rename_sequences(plan),
        *_give_sequences(plan, cold, whole),
        # Last: to drop a foreign key takes ACCESS EXCLUSIVE on the table that it names.
        text("DROP TABLE {}", hot),
        text("DROP TABLE {}", whole),
        *(_rename_index(plan, cold, new, old) for old, new in plan.names.indexes),
        text("ALTER TABLE {} RENAME TO {}", cold, sql.Identifier(plan.table.name)),
    ]  # fmt: skip
    return block(statements, whole, f"{VARIABLES} {OWN} text := {literal(own_query())};")


# -- rows ---------------------------------------------------------------------------------------------------------


def _move_rows(plan: SplitPlan, cold: sql.Composable) -> Iterator[str]:
    """Rows from the border on go to the hot part, and the server reads the rest."""
    yield from before_rows_move()
    yield from taken(plan, plan.names.cold, plan.names.hot)
    yield refuse_large(plan)
    # To attach the cold part would read it, too, but with the tables locked that foreign keys name.
    yield text(
        "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({} < {})",
        cold, sql.Identifier(plan.names.check), sql.Identifier(plan.column.name), border_value(plan),
    )  # fmt: skip
    # Counters of dead rows reach others late, and would come after those of the VACUUM that removes the rows.
    yield (
        "IF current_setting('server_version_num')::int >= 150000 THEN EXECUTE 'SELECT pg_stat_force_next_flush()'; "
        "END IF"
    )


def refuse_large(plan: SplitPlan) -> str:
    """Ends the transaction where the hot part is larger than may be copied under a lock."""
    size = text("pg_table_size({}::regclass)", name_literal(own_name(plan, plan.names.hot)))
    return raise_if(
        f"{size} > {plan.most_back_bytes}",
        f"{plan.names.hot} is larger than the {plan.most_back_bytes} bytes that may be copied under a lock",
        TOO_LARGE,
    )


def refuse_other_kind(plan: SplitPlan, part: str) -> str:
    """Ends the transaction where a part has become a partitioned or foreign table: its size would not be its own."""
    return raise_if(
        text(
            "(SELECT c.relkind FROM pg_class AS c WHERE c.oid = {}::regclass) <> 'r'",
            name_literal(own_name(plan, part)),
        ),
        no_table(part),
        CHANGED,
    )


# -- its parts ---------------------------------------------------------------------------------------------------


def _check_name(plan: SplitPlan) -> str:
    """The constraint that a split has set; "": it sets none."""
    return "" if plan.moves_rows else plan.names.check


def _drop_check_of(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    if check := _check_name(plan):
        yield text("ALTER TABLE {} DROP CONSTRAINT {}", table, sql.Identifier(check))


def _rename_index(plan: SplitPlan, table: sql.Composable, old: str, new: str) -> str:
    of_key = {index.name for index in plan.table.indexes if index.constraint}
    if {old, new} & of_key:
        return text("ALTER TABLE {} RENAME CONSTRAINT {} TO {}", table, sql.Identifier(old), sql.Identifier(new))
    return text("ALTER INDEX {} RENAME TO {}", own_name(plan, old), sql.Identifier(new))


def _rename_sequences(plan: SplitPlan) -> list[str]:
    return [
        text("ALTER SEQUENCE {} RENAME TO {}", _sequence(each, old), sql.Identifier(new))
        for each, (old, new) in zip(_identities(plan), plan.names.sequences, strict=True)
    ]


def _column_settings(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    for column in plan.table.columns:
        name = sql.Identifier(column.name)
        if column.statistics is not None:
            target = sql.Literal(column.statistics)
            yield text("ALTER TABLE ONLY {} ALTER COLUMN {} SET STATISTICS {}", table, name, target)
        if column.options:
            options = sql.SQL(", ").join(map(sql.SQL, _options(column.options)))
            yield text("ALTER TABLE ONLY {} ALTER COLUMN {} SET ({})", table, name, options)


def _keys(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    """Keys and other indexes of the whole, before it has parts: each is made in a moment.

    Attaching the cold part finds the same on it, and takes that in place of building another.
    """
    for index in plan.table.indexes:
        if index.constraint is None:
            yield index.definition  # speaks of the table by name, which is the partitioned one by then
        else:
            assert index.constraint_definition is not None, "a key has a definition"
            yield _add_constraint(table, index.constraint, index.constraint_definition)


def _foreign_keys(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    """Those of the whole; rows of the hot part are checked at once, not one by one as they come."""
    for each in plan.table.constraints:
        if each.type == "f":
            yield _add_constraint(table, each.name, each.definition)


def _add_constraint(table: sql.Composable, name: str, definition: str) -> str:
    return f"{text('ALTER TABLE {} ADD CONSTRAINT {}', table, sql.Identifier(name))} {definition}"


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
            yield text("ALTER SEQUENCE {} OWNED BY {}", _sequence(each, each.name), owner)
    kinds = {column.name: column.identity for column in plan.table.columns}
    for each, (_, old) in zip(_identities(plan), plan.names.sequences, strict=True):
        column = sql.Identifier(each.column)
        new_name, old_name = _sequence(each, each.name), _sequence(each, old)
        yield text(
            "ALTER TABLE {} ALTER COLUMN {} ADD GENERATED {} AS IDENTITY (SEQUENCE NAME {} START {} INCREMENT {} "
            "MINVALUE {} MAXVALUE {} CACHE {} {})",
            to, column, sql.SQL(_IDENTITY[kinds[each.column]]), new_name, sql.Literal(each.start),
            sql.Literal(each.increment), sql.Literal(each.least), sql.Literal(each.most), sql.Literal(each.cache),
            sql.SQL("CYCLE" if each.cycle else "NO CYCLE"),
        )  # fmt: skip
        yield text("PERFORM setval({}, q.last_value, q.is_called) FROM {} AS q", name_literal(new_name), old_name)
        yield text("ALTER TABLE {} ALTER COLUMN {} DROP IDENTITY", frm, column)
        yield from _grants(new_name, "SEQUENCE", plan.table.owner, each.grants, granted=each.granted)
        if each.comment is not None:
            yield text("COMMENT ON SEQUENCE {} IS {}", new_name, sql.Literal(each.comment))


def hot_part(plan: SplitPlan, whole: sql.Composable, *, like: sql.Composable) -> Iterator[str]:
    """The empty part from the border on, with all its indexes in the plan's space.

    Args:
        plan: of the split.
        whole: the partitioned table.
        like: the table whose privileges the part has too, or a backup that reads part by part would fail.
    """
    hot = own_name(plan, plan.names.hot)
    options = [*_options(plan.table.options), *(f"toast.{each}" for each in _options(plan.table.toast_options))]
    yield text("SET LOCAL default_tablespace = {}", sql.Literal(plan.space))  # of its indexes
    yield text(
        "CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO (MAXVALUE){} TABLESPACE {}",
        hot, whole, border_value(plan),
        sql.SQL(f" WITH ({', '.join(options)})" if options else ""), sql.Identifier(plan.space),
    )  # fmt: skip
    yield "SET LOCAL default_tablespace = ''"
    yield text("ALTER TABLE {} OWNER TO {}", hot, sql.Identifier(plan.table.owner))
    yield from privileges_of_part(hot, plan.table.owner, like=like)
    yield from _column_settings(plan, hot)


def privileges_of_part(part: sql.Composable, owner: str, *, like: sql.Composable) -> Iterator[str]:
    """The privileges of a part that was just made: those of another table, and none by ALTER DEFAULT PRIVILEGES."""
    yield _without_defaults(part, "TABLE", owner)
    yield _same_privileges(part, like)


def _row_security(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    if plan.table.row_security:
        yield text("ALTER TABLE {} ENABLE ROW LEVEL SECURITY", table)
    if plan.table.forced_row_security:
        yield text("ALTER TABLE {} FORCE ROW LEVEL SECURITY", table)
    for policy in plan.table.policies:
        yield _policy(policy, table)
        if policy.comment is not None:
            name = sql.Identifier(policy.name)
            yield text("COMMENT ON POLICY {} ON {} IS {}", name, table, sql.Literal(policy.comment))


def _policy(policy: Policy, table: sql.Composable) -> str:
    roles = sql.SQL(", ").join(map(_role, policy.roles))
    parts = [
        text(
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
    yield _without_defaults(on, kind, owner)
    if granted:  # the owner may have taken some from himself
        yield text("REVOKE ALL ON {} {} FROM {}, PUBLIC", sql.SQL(kind), on, sql.Identifier(owner))
    for each in grants:
        columns = sql.SQL(" ({})").format(sql.Identifier(each.column)) if each.column else sql.SQL("")
        yield text(
            "GRANT {}{} ON {} {} TO {}{}", sql.SQL(each.privilege), columns, sql.SQL(kind), on, _role(each.grantee),
            sql.SQL(" WITH GRANT OPTION" if each.grantable else ""),
        )  # fmt: skip


def _without_defaults(on: sql.Composable, kind: str, owner: str) -> str:
    """Leaves the owner's own privileges alone of what ALTER DEFAULT PRIVILEGES has given on a new object.

    The server is asked for them: between plan and statement they may have changed.
    """
    return text(
        "EXECUTE coalesce((SELECT string_agg(format('REVOKE ALL ON {} %s FROM %s; ', c.oid::regclass, "
        "CASE WHEN p.grantee = 0::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(p.grantee)) END), '') "
        "|| format('GRANT ALL ON {} %s TO %I', min(c.oid::regclass::text), {}) "
        "FROM pg_class AS c, LATERAL (SELECT DISTINCT grantee FROM aclexplode(c.relacl)) AS p "
        "WHERE c.oid = {}::regclass), 'SELECT')",
        sql.SQL(kind), sql.SQL(kind), sql.Literal(owner), name_literal(on),
    )  # fmt: skip


def _same_privileges(on: sql.Composable, like: sql.Composable) -> str:
    """Gives others what they have on another table as a whole; nothing where its policies say which rows they see.

    Who reads a part is not subject to the policies of the whole. The server is asked for the grants, which a later one
    would otherwise make other statements than those that a rule has signed.
    """
    return text(
        "EXECUTE coalesce((SELECT string_agg(format('GRANT %s ON TABLE %s TO %s%s', p.privilege_type, {}, "
        "CASE WHEN p.grantee = 0::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(p.grantee)) END, "
        "CASE WHEN p.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), '; ') "
        "FROM pg_class AS c, LATERAL aclexplode(c.relacl) AS p "
        "WHERE c.oid = {}::regclass AND NOT c.relrowsecurity AND p.grantee <> c.relowner), 'SELECT')",
        name_literal(on), name_literal(like),
    )  # fmt: skip


def _comments(plan: SplitPlan, table: sql.Composable) -> Iterator[str]:
    """Those of columns and checks came with them."""
    if plan.table.comment is not None:
        yield text("COMMENT ON TABLE {} IS {}", table, sql.Literal(plan.table.comment))
    for index in plan.table.indexes:
        if index.comment is not None:
            yield text("COMMENT ON INDEX {} IS {}", own_name(plan, index.name), sql.Literal(index.comment))
    keys = [(each.constraint, each.constraint_comment) for each in plan.table.indexes if each.constraint]
    keys += [(each.name, each.comment) for each in plan.table.constraints if each.type in "fn"]
    for name, comment in keys:
        if comment is not None:
            yield text("COMMENT ON CONSTRAINT {} ON {} IS {}", sql.Identifier(str(name)), table, sql.Literal(comment))


def _replica_identity(plan: SplitPlan, whole: sql.Composable) -> Iterator[str]:
    """Of the whole and of the hot part; the cold one keeps it. A publication refuses UPDATE and DELETE without any."""
    hot = own_name(plan, plan.names.hot)
    by_index = next((index.name for index in plan.table.indexes if index.replica_identity), None)
    if by_index is not None:
        yield text("ALTER TABLE {} REPLICA IDENTITY USING INDEX {}", whole, sql.Identifier(by_index))
        yield text(
            "EXECUTE (SELECT format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', {}, c.relname) "
            "FROM pg_inherits AS h JOIN pg_class AS c ON c.oid = h.inhrelid JOIN pg_index AS i ON i.indexrelid = c.oid "
            "WHERE h.inhparent = {}::regclass AND i.indrelid = {}::regclass)",
            name_literal(hot), name_literal(own_name(plan, by_index)), name_literal(hot),
        )  # fmt: skip
    yield from replica_identity(plan, whole, hot)


def replica_identity(plan: SplitPlan, *tables: sql.Composable) -> Iterator[str]:
    """Gives tables that of the plan's own table, where it is of no index."""
    kind = {"f": "FULL", "n": "NOTHING"}.get(plan.table.replica_identity)
    for table in tables if kind else ():
        yield text("ALTER TABLE {} REPLICA IDENTITY {}", table, sql.SQL(str(kind)))


# -- words -------------------------------------------------------------------------------------------------------


def _identities(plan: SplitPlan) -> list[TableSequence]:
    return [each for each in plan.table.sequences if each.identity]


def _sequence(sequence: TableSequence, name: str) -> sql.Identifier:
    return sql.Identifier(sequence.schema_, name)


def _role(name: str | None) -> sql.Composable:
    return sql.SQL("PUBLIC") if name is None else sql.Identifier(name)


def _options(options: Sequence[str]) -> list[str]:
    """Storage parameters as statements take them.

    >>> _options(["fillfactor=70"])
    ["fillfactor='70'"]
    """
    return [f"{name}={literal(value)}" for name, _, value in (option.partition("=") for option in options)]
