"""Aged partitions of tables that are partitioned by time: their template, and what of a route it is filled with. Pure.

They are copied and exchanged as ``switching`` says. Of its statements only the number of the partition, its two
boundaries and the digits in the names of tables differ from one partition to the next. CHECK holds the copy to those
boundaries, and SWITCH refuses a table whose CHECK allows more than the range of that number (4982), so that the server
itself compares the two.
"""

from __future__ import annotations

import numpy as np

from connectors.model import Bundle, Route, UnitKind
from connectors.rolling import filling
from connectors.rolling.filling import LAST_ROW, LOW, TAG_NAME
from connectors.sqlserver.reading.keys import Name, unit_ids
from connectors.sqlserver.reading.spaces import PAGE
from connectors.sqlserver.reading.time_ranges import PartitionedTable
from connectors.sqlserver.routes.available import TAG
from connectors.sqlserver.routes.by_calendar import MOST_PARTITIONS, rows_of
from connectors.sqlserver.routes.ddl import quoted_table
from connectors.sqlserver.routes.move_methods import PREFIX
from connectors.sqlserver.routes.switching import unit_name
from connectors.templates import StatementTemplate, TemplateParameter, ValueKind

NUMBER = "number"  # parameter: that of the partition that is exchanged


def aged_template(table: PartitionedTable, number: int, route: Route, seconds: int) -> StatementTemplate:
    """The template of exchanges like the route of one partition, for those whose last row came so long ago.

    Args:
        table: whose partitions.
        number: of the partition that the route is of.
        route: the example.
        seconds: the least age.
    """
    low, high = _boundaries(table, number)
    tag = filling.tag_of(route, TAG)
    rows, quoted = rows_of(table, ""), quoted_table(Name(table.schema, table.name))
    names = {
        f"N'{low}'": f"N'{{{LOW}}}'",
        f"N'{high}'": f"N'{{{LAST_ROW}}}'",
        f"{rows}{number}": f"{rows}{{{NUMBER}}}",
        f"{quoted} SWITCH PARTITION {number} TO": f"{quoted} SWITCH PARTITION {{{NUMBER}}} TO",
        f"SWITCH TO {quoted} PARTITION {number};": f"SWITCH TO {quoted} PARTITION {{{NUMBER}}};",
        f"{PREFIX}{filling.digits_of(tag)}": f"{PREFIX}{{{TAG_NAME}}}",
    }
    own = (
        TemplateParameter(name=NUMBER, kind=ValueKind.NUMBER, least=2, most=MOST_PARTITIONS),
        filling.aged_time(LOW, seconds),
    )
    return filling.aged_template(route, table.key, seconds, names, tag, own)


def aged_route(table: PartitionedTable, number: int, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    low, high = _boundaries(table, number)
    return filling.aged_route(route, filling.tag_of(route, TAG), {NUMBER: str(number), LOW: low, LAST_ROW: high})


def bundle_of(table: PartitionedTable, number: int) -> Bundle:
    """One partition with those of all indexes on the same scheme, as ``partitions: switched`` has them."""
    own = [index for index in table.definition.indexes if index.space_id == table.scheme.number]
    keys = tuple(Name(table.schema, table.name, unit_name(index), number).key for index in own)
    owner, indexes = table.definition.owner.object_id, [index.index_id for index in own]
    ids = unit_ids(np.array([owner]), np.array(indexes), np.array([number]), np.array([0]))
    pages = sum(part.row_pages for index in own for part in index.partitions if part.number == number)
    return Bundle(
        key=table.partition_key(number),
        physical_ids=tuple(ids.tolist()),
        unit_keys=keys,
        kind=UnitKind.TABLE_PARTITION,
        size_bytes=pages * PAGE,
        space=table.ranges[number - 1].space,
    )


def _boundaries(table: PartitionedTable, number: int) -> tuple[str, str]:
    """Those of a closed partition, as the catalog spells them."""
    known = table.definition.partitioning
    assert known is not None, "read with the ranges"
    return known.boundaries[number - 2], known.boundaries[number - 1]
