"""Routes that end the open part of a partitioned table, or why it cannot be closed. Pure.

``refusal_of_closing`` names the first reason against closing the part.

``add_end`` to ``reopen`` write the statements; psycopg quotes the identifiers. A constraint (``add_end``,
``validate_end``) proves that no row of the part lies beyond its new end, so that attaching it again reads none. The
last statement of the way there (``close``) and of the way back (``reopen``) is one transaction (``split_block``), in
which the server compares how users see the table before and after.

``route_of_closing`` gives the open part an end, and makes the next part behind it. It works like a split with its
border ahead: a constraint, its validation, and one short transaction. Only the part is read. From the constraint until
the end of the transaction, rows from the border on are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from psycopg import sql

from connectors.kit.rolling import HIGH, LOW, OPENED, PARTITION, TAG_NAME
from connectors.model.formatting import format_seconds
from connectors.model.moves import CLOSE, Bundle, Locked, NoRoute, Operation, Route, Step, Transfer, UnitKind
from connectors.postgresql.catalog import Relation
from connectors.postgresql.routes import SCAN_WORK, TAG, patience_of, prologue_of, refuse_relation
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split import (
    MIB,
    PERMANENT,
    PLAIN,
    SWITCH_SECONDS,
    is_reached,
    list_names,
    number_name,
    referenced_locks,
    too_near,
    wait_seconds,
)
from connectors.postgresql.split_block import (
    CHANGED,
    COUNTED,
    OWN,
    VARIABLES,
    SplitNames,
    SplitPlan,
    before_rows_move,
    block,
    border_value,
    copied,
    drop_check_anywhere,
    guarded_begin,
    literal,
    name_literal,
    own_name,
    own_query,
    raise_if,
    refuse_own,
    text,
    whole_name,
)
from connectors.postgresql.split_statements import hot_part, refuse_large, refuse_other_kind, replica_identity
from connectors.postgresql.split_table import FOREIGN_TYPE, BorderValue, OpenPart, PartitionKey, SplitColumn, SplitTable

RANGE = "r"  # pg_partitioned_table.partstrat


def refusal_of_closing(found: OpenPart | None) -> NoRoute | None:
    """The first reason against closing the open part of that table; None where there is none."""
    if found is None:
        sentence = "it is no partitioned table: hotplace split makes one of it"
        return NoRoute(code="not_partitioned", sentence=sentence)
    return next(_reasons(found), None)


def _reasons(found: OpenPart) -> Iterator[NoRoute]:
    yield from _of_key(found.by, found.column)
    if found.part is None:
        sentence = "all of its parts have an end: hotplace rules propose --table --ahead makes the next ones in time"
        yield NoRoute(code="no_open_part", sentence=sentence)
        return
    yield from _of_place(found.by, found.whole, found.part)
    yield from _of_surroundings(found.whole, found.part)


def _of_key(by: PartitionKey, column: SplitColumn | None) -> Iterator[NoRoute]:
    if by.strategy != RANGE or by.columns != 1 or column is None:
        yield NoRoute(code="not_by_range", sentence="it is not partitioned by ranges of one column")
    elif not column.built_in:
        yield NoRoute(code="foreign_type", sentence=FOREIGN_TYPE.format(column.name, column.type))
    elif not column.not_null:
        sentence = f"{column.name} may be null, which the server would look for under a lock: SET NOT NULL first"
        yield NoRoute(code="nullable", sentence=sentence)
    if by.has_default:
        sentence = "it has a default partition, which would be read under a lock: detach it"
        yield NoRoute(code="default_partition", sentence=sentence)


def _of_place(by: PartitionKey, whole: SplitTable, part: SplitTable) -> Iterator[NoRoute]:
    if not by.low:
        yield NoRoute(code="no_beginning", sentence=f"{by.name} has no beginning, or none that is a plain value")
    if by.kind != PLAIN or part.access_method != "heap":
        yield NoRoute(code="no_table", sentence=f"its open part {by.name} is no plain table")
    if part.persistence != PERMANENT:
        yield NoRoute(code="not_permanent", sentence=f"its open part {by.name} is unlogged: ALTER TABLE ... SET LOGGED")
    if whole.partition:
        yield NoRoute(code="partition", sentence="it is a partition itself, whose bounds another table decides")
    if by.schema != whole.schema_:
        yield NoRoute(code="schema", sentence=f"its open part {by.name} is in schema {by.schema}: SET SCHEMA first")
    if part.owner != whole.owner:
        yield NoRoute(code="owner", sentence=f"its open part {by.name} belongs to {part.owner}: OWNER TO {whole.owner}")


BY_PRIMARY_KEY, BY_INDEX = "d", "i"  # pg_class.relreplident; the first is what new tables have


def _of_surroundings(whole: SplitTable, part: SplitTable) -> Iterator[NoRoute]:
    """What a part loses while it is detached, or the next one does not get."""
    by_name = (
        ("incoming_keys", (*whole.incoming_keys, *part.incoming_keys), "foreign keys refer to it", "drop them"),
        ("triggers", (*whole.triggers, *part.triggers), "it has triggers", "drop them, or close it by hand"),
        ("publications", (*whole.publications, *part.publications), "it is published",
         "subscribers want the next part first: close it by hand"),
        ("invalid_index", [each.name for each in part.indexes if not each.valid],
         "indexes of its open part are invalid", "drop or rebuild them"),
    )  # fmt: skip
    for code, names, what, remedy in by_name:
        if names:
            yield NoRoute(code=code, sentence=f"{what} ({list_names(sorted(set(names)))}): {remedy}")
    if part.replica_identity == BY_INDEX or part.replica_identity != whole.replica_identity:
        sentence = "the REPLICA IDENTITY of its open part is an index, or not that of the whole: close it by hand"
        yield NoRoute(code="replica_identity", sentence=sentence)


# As the server prints it; FROM and TO by the groups of a regular expression.
_PRINTED = "substring(pg_get_expr(c.relpartbound, c.oid) FROM '^FOR VALUES FROM \\((.*)\\) TO \\(MAXVALUE\\)$')"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPartEnd:
    """An open part and where it is to end: the cold part of a split whose hot part comes behind it."""

    plan: SplitPlan  # names.cold: the part that is closed, names.hot: the one behind it
    low: str  # where the part begins, as the server writes it


def add_end(closing: OpenPartEnd) -> str:
    """Makes rows from the border on impossible, and looks at none that are there."""
    plan, column = closing.plan, sql.Identifier(closing.plan.column.name)
    return text(
        "ALTER TABLE ONLY {} ADD CONSTRAINT {} CHECK ({} >= {} AND {} < {}) NOT VALID",
        _part(closing), _check(closing), column, _low(closing), column, border_value(plan),
    )  # fmt: skip


def validate_end(closing: OpenPartEnd) -> str:
    """Reads the part once, while others read and write it."""
    return text("ALTER TABLE {} VALIDATE CONSTRAINT {}", _part(closing), _check(closing))


def drop_end(closing: OpenPartEnd) -> str:
    """Takes back what an interrupted closing, or its way back, has left."""
    return drop_check_anywhere(closing.plan.names.check)


def close(closing: OpenPartEnd) -> str:
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
        *hot_part(plan, whole, like=whole),
        *replica_identity(plan, own_name(plan, plan.names.hot)),
        text("ALTER TABLE {} DROP CONSTRAINT {}", part, _check(closing)),
    ]  # fmt: skip
    return block(statements, whole)


def add_beginning(closing: OpenPartEnd) -> str:
    """Says again what the bounds of the part say now: they end with it for a moment of the way back."""
    return text(
        "ALTER TABLE ONLY {} ADD CONSTRAINT {} CHECK ({} >= {}) NOT VALID",
        _part(closing), _check(closing), sql.Identifier(closing.plan.column.name), _low(closing),
    )  # fmt: skip


def reopen(closing: OpenPartEnd) -> str:
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
        *(refuse_other_kind(plan, each) for each in (plan.names.cold, plan.names.hot)),
        refuse_large(plan),
        *refuse_own(plan, plan.names.hot),
        *before_rows_move(),
        text("ALTER TABLE {} DETACH PARTITION {}", whole, part),
        *copied(plan, plan.names.hot, plan.names.cold),
        text("DROP TABLE {}", behind),
        text("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO (MAXVALUE)", whole, part, _low(closing)),
        text("ALTER TABLE {} DROP CONSTRAINT {}", part, _check(closing)),
    ]  # fmt: skip
    return block(statements, whole, f"{VARIABLES} {OWN} text := {literal(own_query())};")


def _guard(closing: OpenPartEnd, wrong: str, message: str) -> list[str]:
    """The lock, and whether the table and its part still are what was approved."""
    plan, whole = closing.plan, whole_name(closing.plan)
    other = text("to_regclass({}) IS DISTINCT FROM {}::oid::regclass", name_literal(whole), sql.Literal(plan.table.oid))
    begin = guarded_begin(plan, other, f"{plan.table.name} is another table than the one that was approved", whole)
    return [*begin, raise_if(wrong, message, CHANGED)]


def _part(closing: OpenPartEnd) -> sql.Identifier:
    return own_name(closing.plan, closing.plan.names.cold)


def _check(closing: OpenPartEnd) -> sql.Identifier:
    return sql.Identifier(closing.plan.names.check)


def _low(closing: OpenPartEnd) -> sql.Composable:
    return sql.SQL("{}::{}").format(sql.Literal(closing.low), sql.SQL(closing.plan.column.type))


_OF_PART = "options", "toast_options", "bytes", "heap_bytes", "inserts_per_second"
CLOSE_STEP, REOPEN_STEP = "postgresql.close", "postgresql.reopen"  # of every step of a way


@dataclass(frozen=True, slots=True, kw_only=True)
class Closable:
    """An open part that nothing but a border can keep from being closed."""

    by: PartitionKey
    table: (
        SplitTable  # the whole, with the rows, statistics and storage options of its open part: it has none of its own
    )
    part: SplitTable
    column: SplitColumn
    relation: Relation  # of the part, as of any move


def closable_part(found: OpenPart | None, relation: Relation | None, to_space: str) -> Closable | NoRoute:
    """The open part, or the first reason against closing it at any border.

    Args:
        found: the table; None: it is no partitioned one.
        relation: of its open part; None: it has none.
        to_space: where the next part is to be made.
    """
    refusal = refusal_of_closing(found)
    if refusal is not None:
        return refusal
    assert found is not None, "refused where there is none"
    refusal = refuse_relation(relation, _bundle(found.by.key, 0, ""), to_space)
    if refusal is not None and refusal.code != "already_there":
        return refusal
    assert relation is not None, "refused where there is none"
    assert found.part is not None, "refused where there is none"
    assert found.column is not None, "refused where there is none"
    table = found.whole.model_copy(update={name: getattr(found.part, name) for name in _OF_PART})
    return Closable(by=found.by, table=table, part=found.part, column=found.column, relation=relation)


def refuse_border(found: Closable, border: BorderValue, present: float | None, *, behind: bool) -> NoRoute | None:
    """Why the part is not closed at that border; None where it may be.

    Args:
        found: the part.
        border: as the server reads it.
        present: share of the part's rows that lie from the border on, 0 to 1; None: not known.
        behind: the border is later than where the part begins.
    """
    if not behind:
        sentence = f"its open part begins at {found.by.low}: a border comes after that"
        return NoRoute(code="before_its_beginning", sentence=sentence)
    if near := too_near(found.table, found.column.name, border):
        return near
    if is_reached(found.table, found.column, border, present):
        sentence = "rows from the border on are there already: choose a border ahead of the newest row"
        return NoRoute(code="rows_beyond", sentence=sentence)
    return None


def values_of_closing(found: Closable, border: str, low: str = "") -> dict[str, str]:
    """What the statements are filled with.

    Args:
        found: the part.
        border: as the server writes it, where the part ends.
        low: where it begins, in words of its own; "": as the server writes it.
    """
    values = {PARTITION: found.by.name, OPENED: next_name(found), LOW: low or found.by.low, HIGH: border}
    said = f"{found.table.oid};{sorted(values.items())}"
    return {**values, TAG_NAME: hashlib.sha256(said.encode()).hexdigest()[:8]}


def next_name(found: Closable) -> str:
    """The table's name with the number behind that of its open part, or the first later one that is free.

    As ``orders_p2`` after ``orders_p1``.
    """
    taken, number = set(found.table.taken), 0
    if its_own := re.search(r"_p([0-9]{1,9})\Z", found.by.name):
        number = int(its_own[1]) + 1
    while (name := number_name(found.table.name, number, set())) in taken:
        number += 1
    return name


def route_of_closing(found: Closable, values: Mapping[str, str], to_space: str, settings: PostgresqlSettings) -> Route:
    """The route, filled with those values; nothing refuses it."""
    closing = _closing(found, values, to_space, settings)
    patience = patience_of(found.relation, settings)
    steps, undo, tidy = _steps(closing, values[TAG_NAME], settings)
    wait = format_seconds(settings.lock_timeout)
    return Route(
        name=CLOSE,
        bundle=_bundle(found.by.key, found.part.oid, found.by.space),
        to_space=to_space,
        prologue=prologue_of(settings.lock_timeout, settings.move_timeout),
        patient_prologue=prologue_of(patience, settings.move_timeout) if patience else (),
        steps=steps,
        undo_steps=undo,
        tidy_steps=tidy,
        online=True,
        locks="ACCESS EXCLUSIVE on the open part for a moment at its begin; ACCESS EXCLUSIVE on the table and all its "
        "parts for a moment at its end; SHARE UPDATE EXCLUSIVE on the open part, while it is read once: reads and "
        f"writes go on; {referenced_locks(found.table)}waits at most {wait} for each lock, and others queue behind "
        "that wait",
        undo_locks=_undo_locks(found.table),
        locked=Locked.BRIEFLY,
        lock_seconds=wait_seconds(found.table, patience, settings),
        log_bytes=0,
        transient_bytes=0,
        undo_bytes=0,
        copies=(Transfer(space=found.by.space, bytes=found.part.heap_bytes, unit=found.by.key, work_ratio=SCAN_WORK),),
        notes=_notes(closing),
    )  # fmt: skip


def _undo_locks(table: SplitTable) -> str:
    return (
        "ACCESS EXCLUSIVE on the table and all its parts, no reads, no writes, while rows of its new part are copied "
        f"back; SHARE UPDATE EXCLUSIVE on the part, while it is read once before; {referenced_locks(table)}".rstrip(
            "; "
        )
    )


def _closing(found: Closable, values: Mapping[str, str], to_space: str, settings: PostgresqlSettings) -> OpenPartEnd:
    names = SplitNames(
        cold=values[PARTITION], hot=values[OPENED], check=f"hotplace_close_{values[TAG_NAME]}", indexes=(), sequences=()
    )
    plan = SplitPlan(
        table=found.table, column=found.column, border=values[HIGH], space=to_space, names=names,
        most_back_bytes=settings.split_back_mib * MIB,
    )  # fmt: skip
    return OpenPartEnd(plan=plan, low=values[LOW])


def _bundle(key: str, oid: int, space: str) -> Bundle:
    """The part; no byte of it is copied."""
    return Bundle(key=key, physical_ids=(oid,), unit_keys=(), kind=UnitKind.TABLE_PARTITION, size_bytes=0, space=space)


def _steps(closing: OpenPartEnd, tag: str, settings: PostgresqlSettings) -> tuple[tuple[Step, ...], ...]:
    """Steps of the way there, of the way back, and of what tidies up after each."""
    plan, part, read = closing.plan, closing.plan.names.cold, settings.move_timeout
    there = (
        (add_end(closing), f"refuse new rows of {part} from its end on", SWITCH_SECONDS),
        (validate_end(closing), f"read {part} once: no row is beyond its end", read),
        (close(closing), f"give {part} its end, and make {plan.names.hot} in {plan.space} behind it", SWITCH_SECONDS),
    )
    back = (
        (add_beginning(closing), f"say where {part} begins", SWITCH_SECONDS),
        (validate_end(closing), f"read {part} once: no row is before that", read),
        (reopen(closing), f"bring rows of {plan.names.hot} back to {part}, which has no end then", read),
    )
    tidy = ((drop_end(closing), f"let {part} take all its rows again", SWITCH_SECONDS),)
    return tuple(
        tuple(
            Step(
                sql=f"{TAG} {tag} {word} {at} */ {statement}", purpose=purpose, timeout_seconds=seconds,
                operation=Operation(REOPEN_STEP if word == "undo" else CLOSE_STEP, _operands(closing)),
            )
            for at, (statement, purpose, seconds) in enumerate(part_of_way, start=1)
        )
        for word, part_of_way in (("step", there), ("undo", back), ("tidy", tidy))
    )  # fmt: skip


def _operands(closing: OpenPartEnd) -> dict[str, str | int | bool]:
    """What ``inspect`` has to know."""
    plan = closing.plan
    return {
        "oid": plan.table.oid, "schema": plan.table.schema_, "part": plan.names.cold, "next": plan.names.hot,
        "whole": whole_name(plan).as_string(None), "check": plan.names.check, "column": plan.column.name,
        "border": plan.border, COUNTED: True,
    }  # fmt: skip


def _notes(closing: OpenPartEnd) -> tuple[str, ...]:
    plan = closing.plan
    refused = (
        f"rows with {plan.column.name} >= {plan.border} are refused from the first statement until the last is done: "
        "the border has to lie ahead of what arrives meanwhile"
    )
    compared = (
        f"it compares these rows before {plan.names.hot} is dropped, which reads {plan.names.cold} once where no index "
        f"leads with {plan.column.name}; what {plan.names.hot} has been given alone by then refuses it"
    )
    return (
        refused,
        f"nothing is copied: {plan.names.cold} ends at the border, {plan.names.hot} takes rows from it on",
        f"grants, indexes and settings of {plan.names.cold} alone are not repeated for {plan.names.hot}",
        f"the way back copies what {plan.names.hot} holds under a lock, {plan.most_back_bytes // MIB} MiB at most",
        compared,
    )
