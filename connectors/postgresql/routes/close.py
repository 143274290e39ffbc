"""The route that gives the open part of a partitioned table an end, and makes the next one behind it. Pure.

As a split with its border ahead: a constraint, its validation, and one short transaction. Only the part is read. From
the constraint on until the transaction ends, rows from the border on are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.formatting import format_seconds
from connectors.model import Bundle, NoRoute, Route, Step, UnitKind
from connectors.move_effects import Locked, Transfer
from connectors.operations import Operation
from connectors.postgresql.moving.open_part import OpenPart, PartitionKey
from connectors.postgresql.moving.relation import Relation
from connectors.postgresql.moving.split_table import BorderValue, Column, Table
from connectors.postgresql.routes.available import SCAN_WORK, TAG, patience_of, prologue_of, refuse_relation
from connectors.postgresql.routes.close_refusals import refusal_of_closing
from connectors.postgresql.routes.close_statements import (
    Closing,
    add_beginning,
    add_end,
    close,
    drop_end,
    reopen,
    validate_end,
)
from connectors.postgresql.routes.moved_rows import COUNTED
from connectors.postgresql.routes.split import SWITCH_SECONDS, number_name, too_near
from connectors.postgresql.routes.split_block import SplitNames, SplitPlan, whole_name
from connectors.postgresql.routes.split_rows import MIB, is_reached
from connectors.postgresql.settings import PostgresqlSettings
from connectors.rolling.filling import HIGH, LOW, OPENED, PARTITION, TAG_NAME
from connectors.splitting import CLOSE

_OF_PART = "options", "toast_options", "bytes", "heap_bytes", "inserts_per_second"
CLOSE_STEP, REOPEN_STEP = "postgresql.close", "postgresql.reopen"  # of every step of a way


@dataclass(frozen=True, slots=True, kw_only=True)
class Closable:
    """An open part that nothing but a border can keep from being closed."""

    by: PartitionKey
    table: Table  # the whole, with the rows, statistics and storage options of its open part: it has none of its own
    part: Table
    column: Column
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
        locks=f"ACCESS EXCLUSIVE on the open part for a moment at its begin, on the table and all its parts for one at "
        f"its end; while the part is read once, reads and writes go on; waits at most {wait} for a lock, and others "
        "queue behind that wait",
        locked=Locked.BRIEFLY,
        lock_seconds=patience or settings.lock_timeout,
        log_bytes=0,
        transient_bytes=0,
        undo_bytes=0,
        copies=(Transfer(space=found.by.space, bytes=found.part.heap_bytes, unit=found.by.key, work_ratio=SCAN_WORK),),
        notes=_notes(closing),
    )  # fmt: skip


def _closing(found: Closable, values: Mapping[str, str], to_space: str, settings: PostgresqlSettings) -> Closing:
    names = SplitNames(
        cold=values[PARTITION], hot=values[OPENED], check=f"hotplace_close_{values[TAG_NAME]}", indexes=(), sequences=()
    )
    plan = SplitPlan(
        table=found.table, column=found.column, border=values[HIGH], space=to_space, names=names,
        most_back_bytes=settings.split_back_mib * MIB,
    )  # fmt: skip
    return Closing(plan=plan, low=values[LOW])


def _bundle(key: str, oid: int, space: str) -> Bundle:
    """The part, of which no byte is copied."""
    return Bundle(key=key, physical_ids=(oid,), unit_keys=(), kind=UnitKind.TABLE_PARTITION, size_bytes=0, space=space)


def _steps(closing: Closing, tag: str, settings: PostgresqlSettings) -> tuple[tuple[Step, ...], ...]:
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


def _operands(closing: Closing) -> dict[str, str | int | bool]:
    """What ``inspect`` has to know."""
    plan = closing.plan
    return {
        "oid": plan.table.oid, "schema": plan.table.schema_, "part": plan.names.cold, "next": plan.names.hot,
        "whole": whole_name(plan).as_string(None), "check": plan.names.check, "column": plan.column.name,
        "border": plan.border, COUNTED: True,
    }  # fmt: skip


def _notes(closing: Closing) -> tuple[str, ...]:
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
