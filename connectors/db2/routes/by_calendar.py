"""Next data partitions of tables that are partitioned by time: their templates, and routes made of them. Pure.

``ALTER TABLE ... ADD PARTITION``; its partitioned indexes and large objects are made with it, unless INDEX IN or LONG
IN say otherwise (topic t0021566, "Adding data partitions to partitioned tables").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from connectors.db2.reading.names import Key, Part, identifier, literal
from connectors.db2.reading.time_ranges import PartitionedTable
from connectors.db2.routes.operations import ADD_PARTITION
from connectors.db2.routes.table_move import lock_timeout
from connectors.db2.settings import Db2Settings
from connectors.model import NoRoute, Route, Step
from connectors.move_effects import Locked
from connectors.operations import Operation
from connectors.rolling import filling
from connectors.rolling.filling import HIGH, LOW, PARTITION, TAG_NAME
from connectors.rolling.ranges import Range, refusal_of_name
from connectors.templates import StatementTemplate, TemplateKind, texts_of


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: Db2Settings
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none."""
    refusal = table.refusal or refusal_of_name(table)
    if refusal is not None:
        return refusal
    parameters = filling.next_parameters(table, ahead_seconds)
    places, last = filling.places_of(parameters), table.ranges[-1]
    example = _addition(table, last, filling.name_with(last, places[PARTITION]), to_space, places, settings)
    return StatementTemplate(
        kind=TemplateKind.NEXT_PARTITION, table=table.key, space=to_space, texts=texts_of(example),
        parameters=parameters,
    )  # fmt: skip


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: Db2Settings
) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    for made, values in filling.next_ranges(table, template, now):
        yield _addition(table, made, made.name, made.space, values, settings)


def _addition(
    table: PartitionedTable, made: Range, name: str, space: str, values: Mapping[str, str], settings: Db2Settings
) -> Route:
    """The route that makes a range."""
    key = Key(Part.TABLE, table.schema, table.name, made.name)
    sql = (
        f"ALTER TABLE {identifier(table.schema)}.{identifier(table.name)} ADD PARTITION {identifier(name)} "
        f"STARTING ({literal(values[LOW])}) INCLUSIVE ENDING ({literal(values[HIGH])}) EXCLUSIVE "
        f"IN {identifier(table.landing)}"
    )
    step = Step(
        sql=f"{sql} /* hotplace move {values[TAG_NAME]} step 1 */",
        purpose=f"make {key} in {table.landing}",
        timeout_seconds=settings.move_timeout,
        operation=Operation(ADD_PARTITION, {"schema": table.schema, "table": table.name, "partition": name}),
    )
    return Route(
        name="add partition",
        bundle=filling.bundle_to_make(made),
        to_space=space,
        prologue=(lock_timeout(settings),),
        steps=(step,),
        undo_steps=(),
        online=False,
        locks=f"exclusive on {table.key} for a moment; it waits for open transactions, others queue meanwhile",
        locked=Locked.BRIEFLY,
        lock_seconds=settings.lock_timeout,
        log_bytes=0,
        transient_bytes=0,
        notes=(
            f"it goes to table space {table.landing}, with its partitioned indexes; the others stay where they are",
        ),
        arguments=filling.arguments_of(values),
    )
