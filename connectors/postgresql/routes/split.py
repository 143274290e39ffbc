"""The route that splits a table: a constraint, its validation, and one short transaction. Pure.

The cold part is the table as it is, with all its files; new rows from the border on are born in another space. From the
constraint on until the transaction ends, rows from the border on are refused: so the border lies ahead of what arrives
meanwhile, and what an interrupted run leaves is removed before anything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from connectors.formatting import format_seconds
from connectors.model import Bundle, NoRoute, Route, Step
from connectors.move_effects import FollowUp, Locked, Transfer
from connectors.operations import Operation
from connectors.postgresql.moving.relation import Relation
from connectors.postgresql.moving.split_table import BorderValue, Column, Table, seconds_until
from connectors.postgresql.routes.available import NAME_BYTES, SCAN_WORK, TAG, patience_of, prologue_of, refuse_relation
from connectors.postgresql.routes.split_refusals import column_of, refusal_of
from connectors.postgresql.routes.split_statements import (
    SplitNames,
    SplitPlan,
    add_check,
    drop_check,
    rejoin,
    switch,
    validate_check,
)
from connectors.postgresql.settings import PostgresqlSettings
from connectors.splitting import SPLIT

CHECK_STEP, VALIDATE_STEP, SWITCH_STEP = (
    "postgresql.split_check",
    "postgresql.split_validate",
    "postgresql.split_switch",
)
REJOIN_STEP, DROP_CHECK_STEP = "postgresql.rejoin", "postgresql.split_drop_check"
SWITCH_SECONDS = 60.0  # that catalog changes may take once they have their locks; each is a matter of milliseconds
SCAN_BYTES_PER_SECOND = 20e6  # of a slow disk under load: the validation reads the table once
PATIENCE = 3.0  # times the scan that the border has to lie ahead, for tries that wait for locks
LEAST_AHEAD_SECONDS = 60.0
MIB = 2**20


def routes_of_split(
    relation: Relation | None, table: Table | None, border: BorderValue | None, column: str, bundle: Bundle,
    to_space: str, settings: PostgresqlSettings,
) -> Route | NoRoute:  # fmt: skip
    """The route of a split, or the first reason against it.

    Args:
        relation: as of any move; None: it is gone.
        table: its definition; None as ``relation``.
        border: as the server reads it; None: there is no such column.
        column: name of the column.
        bundle: the table.
        to_space: of rows from the border on.
        settings: time limits.
    """
    refusal = refuse_relation(relation, bundle, to_space)
    if refusal is not None and refusal.code != "already_there":  # both parts may lie in one space
        return refusal
    assert relation is not None, "a missing relation is refused above"
    assert table is not None, "it was looked up by the same key"
    refusal = refusal_of(table, column) or (None if border is None else too_near(table, column, border))
    if refusal is not None:
        return refusal
    found = column_of(table, column)
    assert found is not None, "a missing column is refused above"
    assert border is not None, "it was read as that column"
    plan = SplitPlan(
        table=table, column=found, border=border.text, space=to_space, names=choose_names(table, found, border.text),
        most_back_bytes=settings.split_back_mib * MIB,
    )  # fmt: skip
    return _route(plan, relation, bundle, settings)


def too_near(table: Table, column: str, border: BorderValue) -> NoRoute | None:
    """A refusal where new rows would reach the border before the split is done, as far as that is known."""
    found = column_of(table, column)
    ahead = None if found is None else seconds_until(table, found, border)
    needed = ahead_needed(table)
    if ahead is None or ahead >= needed:
        return None
    when = "has been reached" if ahead <= 0 else f"would be reached within {format_seconds(ahead)}"
    return NoRoute(
        code="too_near",
        sentence=f"the border {when}, and rows from it on are refused until the split is done, which may take "
        f"{format_seconds(needed)}: choose a later one",
    )


def ahead_needed(table: Table) -> float:
    """Seconds that the border has to lie ahead."""
    return LEAST_AHEAD_SECONDS + PATIENCE * table.heap_bytes / SCAN_BYTES_PER_SECOND


def choose_names(table: Table, column: Column, border: str) -> SplitNames:
    """Names of the parts, with the first number that is free for all of them.

    >>> _number_name("orders", 3, set())
    'orders_p3'
    """
    taken, number = set(table.taken), 0
    sequences = [each.name for each in table.sequences if each.identity]
    while True:
        used = set(taken)
        cold = _number_name(table.name, number, used)
        parts = [(name, _number_name(name, number, used)) for name in (*(i.name for i in table.indexes), *sequences)]
        hot = _number_name(table.name, number + 1, used)
        if not taken & {cold, hot, *(new for _, new in parts)}:
            break
        number += 1
    mark = hashlib.sha256(f"{table.oid}.{column.name}.{border}".encode()).hexdigest()[:8]
    at = len(table.indexes)
    return SplitNames(
        cold=cold, hot=hot, check=f"hotplace_split_{mark}", indexes=tuple(parts[:at]), sequences=tuple(parts[at:])
    )


def _number_name(name: str, number: int, used: set[str]) -> str:
    """The name with a number of a part, cut where it would be too long, and unlike those given so far."""
    for more in ("", *map(str, range(1, 1000))):
        ending = f"{more and '_'}{more}_p{number}"
        found = name.encode()[: NAME_BYTES - len(ending)].decode(errors="ignore") + ending
        if found not in used:
            used.add(found)
            return found
    raise ValueError(f"a thousand names like {name!r} are taken")


def _route(plan: SplitPlan, relation: Relation, bundle: Bundle, settings: PostgresqlSettings) -> Route:
    patience = patience_of(relation, settings)
    steps, undo, tidy = _steps(plan, settings)
    return Route(
        name=SPLIT,
        bundle=bundle,
        to_space=plan.space,
        prologue=prologue_of(settings.lock_timeout, settings.move_timeout),
        patient_prologue=prologue_of(patience, settings.move_timeout) if patience else (),
        steps=steps,
        undo_steps=undo,
        tidy_steps=tidy,
        online=True,
        locks="ACCESS EXCLUSIVE on the table for a moment at its begin and at its end, SHARE ROW EXCLUSIVE on tables "
        "that its foreign keys name; while the table is read once, reads and writes go on; waits at most "
        f"{format_seconds(settings.lock_timeout)} for a lock, and others queue behind that wait",
        locked=Locked.BRIEFLY,
        lock_seconds=patience or settings.lock_timeout,
        log_bytes=0,
        transient_bytes=0,
        undo_bytes=0,
        copies=(Transfer(space=bundle.space, bytes=plan.table.heap_bytes, unit=bundle.key, work_ratio=SCAN_WORK),),
        follow_up=(FollowUp(what=f"ANALYZE {bundle.key}: autovacuum does it for its parts only", seconds=None),),
        notes=tuple(_notes(plan)),
    )  # fmt: skip


def _steps(
    plan: SplitPlan, settings: PostgresqlSettings
) -> tuple[tuple[Step, ...], tuple[Step, ...], tuple[Step, ...]]:
    """Steps of the way there, of the way back, and of what tidies up."""
    name, space = plan.table.name, plan.space
    there = (
        (add_check(plan), f"refuse new rows of {name} from the border on", CHECK_STEP, SWITCH_SECONDS),
        (validate_check(plan), f"read {name} once: no row is beyond the border", VALIDATE_STEP, settings.move_timeout),
        (switch(plan), f"put a partitioned {name} in its place, with a part in {space}", SWITCH_STEP, SWITCH_SECONDS),
    )  # fmt: skip
    back = ((rejoin(plan), f"make {name} one table again", REJOIN_STEP, settings.move_timeout),)
    tidy = ((drop_check(plan), f"let {name} take all rows again", DROP_CHECK_STEP, SWITCH_SECONDS),)
    tag = _tag(statement for statement, *_ in (*there, *back, *tidy))
    operands = _operands(plan)

    def made(word: str, statements: Iterable[tuple[str, str, str, float]]) -> tuple[Step, ...]:
        return tuple(
            Step(
                sql=f"{tag}{word} {at} */ {statement}",
                purpose=purpose,
                timeout_seconds=seconds,
                operation=Operation(operation, operands),
            )
            for at, (statement, purpose, operation, seconds) in enumerate(statements, start=1)
        )

    return made("step", there), made("undo", back), made("tidy", tidy)


def _operands(plan: SplitPlan) -> dict[str, str | int]:
    """What ``inspect`` has to know."""
    return {
        "oid": plan.table.oid, "schema": plan.table.schema_, "name": plan.table.name, "cold": plan.names.cold,
        "hot": plan.names.hot, "check": plan.names.check, "column": plan.column.name, "border": plan.border,
    }  # fmt: skip


def _tag(statements: Iterable[str]) -> str:
    return f"{TAG} {hashlib.sha256(';'.join(statements).encode()).hexdigest()[:8]} "


def _notes(plan: SplitPlan) -> Iterable[str]:
    names = plan.names
    yield (
        f"rows with {plan.column.name} >= {plan.border} are refused from the first statement until the last is done: "
        "the border has to lie ahead of what arrives meanwhile"
    )
    yield f"nothing is copied: {names.cold} is the table as it is, {names.hot} takes rows from the border on"
    yield f"the way back copies what {names.hot} holds by then under a lock, {plan.most_back_bytes // MIB} MiB at most"
    yield f"FROM ONLY {plan.table.name} and TRUNCATE ONLY see no row afterwards"
    if names.sequences:
        yield "identity sequences are made again with their value: sessions that have cached some of theirs leave gaps"
