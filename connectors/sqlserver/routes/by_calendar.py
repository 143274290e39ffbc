"""Next partitions of tables that are partitioned by time: their templates, and routes made of them. Pure.

``ALTER PARTITION SCHEME ... NEXT USED`` and ``ALTER PARTITION FUNCTION ... SPLIT RANGE``, in one transaction that
begins by seeing that the last partition is empty: then it is catalog only. SPLIT of a range with rows writes them, the
table shut (sql-docs, ALTER PARTITION FUNCTION: "always keep empty partitions at both ends"). The side that holds the
new boundary is the new partition: with RANGE RIGHT the one that begins there, with RANGE LEFT the one that ends there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from connectors.formatting import format_seconds
from connectors.model import NoRoute, Route
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, LOW, TAG_NAME
from connectors.rolling.ranges import Range
from connectors.sqlserver.reading.keys import Name, quote
from connectors.sqlserver.reading.time_ranges import PartitionedTable
from connectors.sqlserver.routes import switch_ddl
from connectors.sqlserver.routes.available import tag_steps
from connectors.sqlserver.routes.move_methods import Statement
from connectors.sqlserver.routes.operations import splitting_range
from connectors.sqlserver.session.sessions import lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings
from connectors.templates import StatementTemplate, TemplateParameter, ValueKind

MOST_PARTITIONS = 15000
LAST = "last"  # parameter: the number of the partition that is seen to be empty
_LAST = TemplateParameter(name=LAST, kind=ValueKind.NUMBER, least=1, most=MOST_PARTITIONS)


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: SqlserverSettings
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none."""
    refusal = table.refusal or _refusal_of_time(table, ahead_seconds)
    if refusal is not None:
        return refusal
    return filling.next_template(table, to_space, ahead_seconds, partial(_split, table, settings), (_LAST,))


def _refusal_of_time(table: PartitionedTable, ahead_seconds: int) -> NoRoute | None:
    """With RANGE RIGHT the last partition must be split before its own rows come, a whole range earlier."""
    last = table.ranges[-1]
    if not table.scheme.on_right or last.low is None or ahead_seconds > (last.high - last.low).total_seconds():
        return None
    long = format_seconds((last.high - last.low).total_seconds())
    sentence = f"{table.key}: its last partition must be split while it is empty: give --ahead more than {long}"
    return NoRoute(code="too_late", sentence=sentence)


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: SqlserverSettings
) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    fanout = table.scheme.fanout
    for last, (made, values) in enumerate(filling.next_ranges(table, template, now), start=fanout):
        key = table.partition_key(last + 1 if table.scheme.on_right else last)
        yield _split(table, settings, replace(made, key=key), {**values, LAST: str(last)})


def _split(table: PartitionedTable, settings: SqlserverSettings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range."""
    boundary = values[LOW if table.scheme.on_right else HIGH]
    scheme = table.scheme.name
    # SPLIT uses NEXT USED up: what the site has set is put back, else its own next SPLIT would fail (7707).
    kept = (switch_ddl.next_used(scheme, table.next_used),) if table.next_used else ()
    split = (switch_ddl.next_used(scheme, made.space), switch_ddl.split(table.function, f"N'{boundary}'"), *kept)
    last = values[LAST]
    sent = Statement(
        switch_ddl.empty(Name(table.schema, table.name), last, rows_of(table, last), "; ".join(split)),
        f"make {made.key} in {made.space}",
        splitting_range(table.function, scheme, boundary),
    )
    return filling.making_route(
        made,
        values,
        name="NEXT USED and SPLIT of the empty last partition",
        prologue=(lock_timeout_statement(settings.lock_timeout),),
        steps=tag_steps(values[TAG_NAME], "step", (sent,), settings.move_timeout),
        locks=f"Sch-M on {table.key} for a moment, behind which others queue; no row is written",
        lock_seconds=settings.lock_timeout,
        notes=("indexes on the same partition scheme get their partition in the same filegroup",),
    )


def rows_of(table: PartitionedTable, number: str) -> str:
    """What is true of the rows of a partition alone."""
    return f"$PARTITION.{quote(table.function)}({quote(table.column)}) = {number}"
