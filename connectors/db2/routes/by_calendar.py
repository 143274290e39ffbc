"""Next data partitions of tables that are partitioned by time: their templates, and routes made of them. Pure.

``ALTER TABLE ... ADD PARTITION``; its partitioned indexes and large objects are made with it, unless INDEX IN or LONG
IN say otherwise (topic t0021566, "Adding data partitions to partitioned tables").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial

from connectors.db2.reading.names import identifier, literal
from connectors.db2.reading.time_ranges import PartitionedTable
from connectors.db2.routes.operations import ADD_PARTITION
from connectors.db2.routes.table_move import lock_timeout
from connectors.db2.settings import Db2Settings
from connectors.model import NoRoute, Route, Step
from connectors.operations import Operation
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, LOW, TAG_NAME
from connectors.rolling.ranges import Range
from connectors.templates import StatementTemplate


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: Db2Settings
) -> StatementTemplate | NoRoute:
    """See ``filling.next_template``."""
    return filling.next_template(table, to_space, ahead_seconds, partial(_addition, table, settings))


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: Db2Settings
) -> Iterator[Route]:
    """See ``filling.next_routes``."""
    return filling.next_routes(table, template, now, partial(_addition, table, settings))


def _addition(table: PartitionedTable, settings: Db2Settings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range."""
    sql = (
        f"ALTER TABLE {identifier(table.schema)}.{identifier(table.name)} ADD PARTITION {identifier(made.name)} "
        f"STARTING ({literal(values[LOW])}) INCLUSIVE ENDING ({literal(values[HIGH])}) EXCLUSIVE "
        f"IN {identifier(table.landing)}"
    )
    step = Step(
        sql=f"{sql} /* hotplace move {values[TAG_NAME]} step 1 */",
        purpose=f"make {made.key} in {table.landing}",
        timeout_seconds=settings.move_timeout,
        operation=Operation(ADD_PARTITION, {"schema": table.schema, "table": table.name, "partition": made.name}),
    )
    return filling.making_route(
        made,
        values,
        name="add partition",
        prologue=(lock_timeout(settings),),
        steps=(step,),
        locks=f"exclusive on {table.key} for a moment; it waits for open transactions, others queue meanwhile",
        lock_seconds=settings.lock_timeout,
        notes=(
            f"it goes to table space {table.landing}, with its partitioned indexes; the others stay where they are",
        ),
    )
