"""Rows of the documented views that say how tables are partitioned, and what keeps their partitions from a SWITCH."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.labs.sqlserver.views.relations import Row, Viewer


def partition_functions(viewer: Viewer) -> Iterator[Row]:
    """sys.partition_functions."""
    for function in viewer.database.functions.values():
        yield {
            "name": function.name,
            "function_id": function.function_id,
            "type": "R ",
            "fanout": function.fanout,
            "boundary_value_on_right": function.right,
        }


def destination_data_spaces(viewer: Viewer) -> Iterator[Row]:
    """sys.destination_data_spaces."""
    for scheme in viewer.database.schemes.values():
        for at, group in enumerate(scheme.filegroups):
            yield {"partition_scheme_id": scheme.space_id, "destination_id": at + 1, "data_space_id": group}
        if scheme.next_used is not None:
            last = len(scheme.filegroups) + 1
            yield {"partition_scheme_id": scheme.space_id, "destination_id": last, "data_space_id": scheme.next_used}


def partition_range_values(viewer: Viewer) -> Iterator[Row]:
    """sys.partition_range_values: values as text, as style 126 writes them."""
    for function in viewer.database.functions.values():
        for at, value in enumerate(function.boundaries, start=1):
            yield {"function_id": function.function_id, "boundary_id": at, "parameter_id": 1, "value": str(value)}


def foreign_keys(viewer: Viewer) -> Iterator[Row]:
    """sys.foreign_keys: the other table is not looked at."""
    for table in viewer.tables():
        if table.references:
            yield {"object_id": -table.object_id, "parent_object_id": table.object_id, "referenced_object_id": 1}
        if table.referenced:
            yield {"object_id": -table.object_id, "parent_object_id": 1, "referenced_object_id": table.object_id}


def check_constraints(viewer: Viewer) -> Iterator[Row]:
    """sys.check_constraints."""
    for table in viewer.tables():
        if table.checks or table.limits:
            yield {"object_id": -table.object_id, "parent_object_id": table.object_id}


def change_tracking_tables(viewer: Viewer) -> Iterator[Row]:
    """sys.change_tracking_tables."""
    for table in viewer.tables():
        if table.change_tracked:
            yield {"object_id": table.object_id}


def security_predicates(viewer: Viewer) -> Iterator[Row]:
    """sys.security_predicates: of tables whose definition the login may see."""
    for table in viewer.tables():
        for at, policy in enumerate(table.predicates, start=1):
            yield {
                "object_id": -((table.object_id % 2**20) * 1024 + at),
                "security_predicate_id": 1,
                "target_object_id": table.object_id,
                "predicate_definition": f"([dbo].[{policy}_predicate]())",
                "predicate_type": 0,
                "predicate_type_desc": "FILTER",
            }


def views(_: Viewer) -> Iterator[Row]:
    """sys.views: there are none."""
    return iter(())


PARTITIONING: dict[str, Callable[[Viewer], Iterator[Row]]] = {
    "sys.partition_functions": partition_functions,
    "sys.destination_data_spaces": destination_data_spaces,
    "sys.partition_range_values": partition_range_values,
    "sys.foreign_keys": foreign_keys,
    "sys.check_constraints": check_constraints,
    "sys.change_tracking_tables": change_tracking_tables,
    "sys.security_predicates": security_predicates,
    "sys.views": views,
}
