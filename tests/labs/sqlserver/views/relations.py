"""Rows of the documented views that describe storage, out of the model. Other relations: see relations_server.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.labs.sqlserver.instance import Account, Connected, Database, Instance
from tests.labs.sqlserver.objects import HEAP, TYPE_NAMES, Index, Partition, Table
from tests.labs.sqlserver.rights import sees_definitions
from tests.labs.sqlserver.storage import IN_ROW, LOB, OVERFLOW, UNIT_NAMES

Row = dict[str, Any]
_OTHERS = 100  # principals that own nothing are numbered from here
CREATED = datetime(2026, 1, 1)  # the server's own time has no zone
COUNTERS = (
    "leaf_insert_count",
    "leaf_delete_count",
    "leaf_update_count",
    "range_scan_count",
    "singleton_lookup_count",
    "forwarded_fetch_count",
    "lob_fetch_in_pages",
    "row_overflow_fetch_in_pages",
    "page_io_latch_wait_count",
    "page_io_latch_wait_in_ms",
    "tree_page_io_latch_wait_count",
    "tree_page_io_latch_wait_in_ms",
)
TYPE_IDS = {
    "int": 56,
    "bigint": 127,
    "date": 40,
    "datetime2": 42,
    "smalldatetime": 58,
    "datetime": 61,
    "varchar": 167,
    "nvarchar": 231,
    "varbinary": 165,
    "text": 35,
    "xml": 241,
}


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks, and at which database."""

    instance: Instance
    database: Database
    account: Account
    connected: Connected

    def tables(self) -> Iterator[Table]:
        """Those whose metadata the login may see."""
        if sees_definitions(self.account):
            hidden = self.account.hidden
            yield from (table for table in self.database.tables.values() if table.name not in hidden)

    def indexes(self) -> Iterator[tuple[Table, Index]]:
        """Of those tables, heaps included."""
        for table in self.tables():
            for index in table.indexes.values():
                yield table, index

    def partitions(self) -> Iterator[tuple[Table, Index, Partition]]:
        """Of those indexes."""
        for table, index in self.indexes():
            for partition in index.partitions:
                yield table, index, partition


def schema_id(viewer: Viewer, name: str) -> int:
    """Dbo is 1, others follow from 5."""
    at = viewer.database.schemas.index(name)
    return at + 1 if not at else at + 4


def schemas(viewer: Viewer) -> Iterator[Row]:
    """sys.schemas."""
    for name in viewer.database.schemas:
        owner = _principals(viewer).get(viewer.database.owners.get(name, ""), 1)
        yield {"name": name, "schema_id": schema_id(viewer, name), "principal_id": owner}


def objects(viewer: Viewer) -> Iterator[Row]:
    """sys.objects: user tables with their keys."""
    for table in viewer.tables():
        yield _table_object(viewer, table)
        for index in table.indexes.values():
            if index.constraint:
                yield {
                    **_table_object(viewer, table),
                    "name": index.name,
                    "object_id": -((table.object_id % 2**20) * 1024 + index.index_id),
                    "parent_object_id": table.object_id,
                    "type": index.constraint,
                    "type_desc": "PRIMARY_KEY_CONSTRAINT" if index.constraint == "PK" else "UNIQUE_CONSTRAINT",
                }


def _table_object(viewer: Viewer, table: Table) -> Row:
    return {
        "name": table.name,
        "object_id": table.object_id,
        "schema_id": schema_id(viewer, table.schema),
        "parent_object_id": 0,
        "type": "U ",
        "type_desc": "USER_TABLE",
        "create_date": CREATED,
        "modify_date": CREATED,
        "is_ms_shipped": False,
    }


def tables(viewer: Viewer) -> Iterator[Row]:
    """sys.tables."""
    for row, table in ((_table_object(viewer, table), table) for table in viewer.tables()):
        yield {
            **row,
            "lob_data_space_id": table.lob_space(),
            "filestream_data_space_id": None,
            "is_filetable": False,
            "is_memory_optimized": table.memory_optimized,
            "temporal_type": table.temporal_type,
            "is_external": False,
            "is_remote_data_archive_enabled": False,
            "is_replicated": table.replicated,
            "is_published": table.replicated,
            "is_merge_published": False,
            "is_tracked_by_cdc": table.captured,
            "uses_ansi_nulls": True,
            "ledger_type": 0,
            "is_node": False,
            "is_edge": False,
        }


def indexes(viewer: Viewer) -> Iterator[Row]:
    """sys.indexes, heaps included."""
    for table, index in viewer.indexes():
        options = index.options
        yield {
            "object_id": table.object_id,
            "name": index.name,
            "index_id": index.index_id,
            "type": index.type,
            "type_desc": TYPE_NAMES[index.type],
            "is_unique": index.unique,
            "data_space_id": index.data_space,
            "ignore_dup_key": options.ignore_dup_key,
            "is_primary_key": index.constraint == "PK",
            "is_unique_constraint": index.constraint == "UQ",
            "fill_factor": options.fill_factor,
            "is_padded": options.pad_index,
            "is_disabled": index.disabled,
            "is_hypothetical": False,
            "allow_row_locks": options.allow_row_locks,
            "allow_page_locks": options.allow_page_locks,
            "has_filter": index.where is not None,
            "filter_definition": index.where,
            "compression_delay": options.compression_delay,
            "suppress_dup_key_messages": options.suppress_messages,
            "optimize_for_sequential_key": options.optimize_for_sequential_key,
        }


def index_columns(viewer: Viewer) -> Iterator[Row]:
    """sys.index_columns: keys, included ones, and a partitioning column that is neither."""
    for table, index in viewer.indexes():
        ids = {column.name.lower(): column.column_id for column in table.columns}
        keys = {name.lower(): (at + 1, descending) for at, (name, descending) in enumerate(index.keys)}
        names = [*keys, *(name.lower() for name in index.included)]
        partition_column = (index.partition_column or "").lower()
        names += [partition_column] if partition_column and partition_column not in names else []
        for at, name in enumerate(names):
            ordinal, descending = keys.get(name, (0, False))
            yield {
                "object_id": table.object_id,
                "index_id": index.index_id,
                "index_column_id": at + 1,
                "column_id": ids[name],
                "key_ordinal": ordinal,
                "partition_ordinal": int(name == partition_column),
                "is_descending_key": descending,
                "is_included_column": name in {i.lower() for i in index.included},
                "column_store_order_ordinal": 0,
            }


def columns(viewer: Viewer) -> Iterator[Row]:
    """sys.columns."""
    for table in viewer.tables():
        for column in table.columns:
            type_id = TYPE_IDS[column.type_name]
            yield {
                "object_id": table.object_id,
                "name": column.name,
                "column_id": column.column_id,
                "system_type_id": type_id,
                "user_type_id": type_id,
                "max_length": column.max_length,
                "precision": 0,
                "scale": column.scale,
                "collation_name": "SQL_Latin1_General_CP1_CI_AS" if "char" in column.type_name else None,
                "is_nullable": column.nullable,
                "is_computed": False,
                "is_filestream": False,
                "is_identity": column.identity,
                "is_sparse": False,
                "is_rowguidcol": False,
                "is_ansi_padded": "char" in column.type_name or "binary" in column.type_name,
                "rule_object_id": 0,
                "generated_always_type": 0,
                "encryption_type": None,
                "is_masked": False,
            }


def types(viewer: Viewer) -> Iterator[Row]:
    """sys.types: those the model's tables can have."""
    for name, number in TYPE_IDS.items():
        yield {"name": name, "system_type_id": number, "user_type_id": number, "schema_id": 4}


def partitions(viewer: Viewer) -> Iterator[Row]:
    """sys.partitions; hobt and partition number are the same here."""
    for table, index, partition in viewer.partitions():
        yield {
            "partition_id": partition.partition_id,
            "object_id": table.object_id,
            "index_id": index.index_id,
            "partition_number": partition.number,
            "hobt_id": partition.partition_id,
            "rows": partition.rows,
            "data_compression": {"NONE": 0, "ROW": 1, "PAGE": 2, "COLUMNSTORE": 3}[partition.compression],
            "data_compression_desc": partition.compression,
            "xml_compression": False,
        }


def allocation_units(viewer: Viewer) -> Iterator[Row]:
    """sys.allocation_units."""
    for _, _, partition in viewer.partitions():
        for unit in partition.units.values():
            yield {
                "allocation_unit_id": unit.unit_id,
                "type": unit.kind,
                "type_desc": UNIT_NAMES[unit.kind],
                "container_id": partition.partition_id,
                "data_space_id": unit.filegroup,
                "total_pages": unit.total,
                "used_pages": unit.total,
                "data_pages": unit.total,
            }


def partition_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_db_partition_stats."""
    for table, index, partition in viewer.partitions():
        pages = {kind: unit.total for kind, unit in partition.units.items()}
        row = {
            "partition_id": partition.partition_id,
            "object_id": table.object_id,
            "index_id": index.index_id,
            "partition_number": partition.number,
            "in_row_data_page_count": pages.get(IN_ROW, 0),
            "used_page_count": partition.pages,
            "reserved_page_count": partition.pages,
            "row_count": partition.rows + partition.miscounted,
        }
        for name, kind in (("in_row", IN_ROW), ("lob", LOB), ("row_overflow", OVERFLOW)):
            row[f"{name}_used_page_count"] = row[f"{name}_reserved_page_count"] = pages.get(kind, 0)
        yield row


def operational_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_db_index_operational_stats: partitions whose counters are not all zero are those that are cached.

    Of every table: who may see the state of the database need not be allowed to see definitions.
    """
    every = ((t, i, p) for t in viewer.database.tables.values() for i in t.indexes.values() for p in i.partitions)
    for table, index, partition in every:
        if partition.counters:
            yield {
                "database_id": viewer.database.database_id,
                "object_id": table.object_id,
                "index_id": index.index_id,
                "partition_number": partition.number,
                "hobt_id": None,
                **{name: partition.counters[name] for name in COUNTERS},
            }


def stats(viewer: Viewer) -> Iterator[Row]:
    """sys.stats: those of indexes."""
    for table, index in viewer.indexes():
        if index.type != HEAP:
            yield {
                "object_id": table.object_id,
                "name": index.name,
                "stats_id": index.index_id,
                "no_recompute": index.options.no_recompute,
                "is_incremental": index.options.incremental,
                "has_persisted_sample": index.persisted_sample is not None,
            }


def stats_properties(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_db_stats_properties: of statistics of indexes."""
    for table, index in viewer.indexes():
        if index.type != HEAP:
            rows = sum(partition.rows for partition in index.partitions)
            key = {"object_id": table.object_id, "stats_id": index.index_id}
            yield {**key, "last_updated": CREATED, "rows": rows, "persisted_sample_percent": index.persisted_sample}


def extended_properties(viewer: Viewer) -> Iterator[Row]:
    """sys.extended_properties: those of tables (class 1) and indexes (class 7)."""
    for table in viewer.tables():
        for name, value in table.properties.items():
            key = {"class": 1, "class_desc": "OBJECT_OR_COLUMN", "major_id": table.object_id, "minor_id": 0}
            yield {**key, "name": name, "value": value}
    for table, index in viewer.indexes():
        for name, value in index.properties.items():
            key = {"class": 7, "class_desc": "INDEX", "major_id": table.object_id, "minor_id": index.index_id}
            yield {**key, "name": name, "value": value}


def database_principals(viewer: Viewer) -> Iterator[Row]:
    """sys.database_principals: those to whom something is granted, and who owns a schema."""
    for name, number in _principals(viewer).items():
        user = name in viewer.instance.accounts
        kind = ("S", "SQL_USER") if user else ("R", "DATABASE_ROLE")
        yield {"name": name, "principal_id": number, "type": kind[0], "type_desc": kind[1]}


def database_permissions(viewer: Viewer) -> Iterator[Row]:
    """sys.database_permissions: of tables (class 1)."""
    principals = _principals(viewer)
    for table in viewer.tables():
        for permission, name in table.grants:
            key = {"class": 1, "class_desc": "OBJECT_OR_COLUMN", "major_id": table.object_id, "minor_id": 0}
            given = {"permission_name": permission, "state": "G", "state_desc": "GRANT"}
            yield {**key, **given, "grantee_principal_id": principals[name], "grantor_principal_id": 1}


def principal_id(viewer: Viewer, name: str | None = None) -> int | None:
    """DATABASE_PRINCIPAL_ID() of a name, or of who asks; None where there is none of it. 0 is public, 1 dbo."""
    name = user_name(viewer) if name is None else name
    known = {"public": 0, "dbo": 1, **_principals(viewer)}
    accounts = sorted(viewer.instance.accounts)
    return known.get(name, _OTHERS + accounts.index(name) if name in accounts else None)


def user_name(viewer: Viewer) -> str:
    """USER_NAME() of who asks: an administrator is dbo in every database."""
    return "dbo" if viewer.account.administrator else viewer.account.name


def _principals(viewer: Viewer) -> dict[str, int]:
    named = {name for table in viewer.database.tables.values() for _, name in table.grants}
    named |= set(viewer.database.owners.values())
    return {name: number for number, name in enumerate(sorted(named), start=5)}


def filegroups(viewer: Viewer) -> Iterator[Row]:
    """sys.filegroups."""
    for group in viewer.database.storage.filegroups.values():
        yield {
            "name": group.name,
            "data_space_id": group.space_id,
            "type": "FG",
            "type_desc": "ROWS_FILEGROUP",
            "is_default": group.is_default,
            "is_read_only": group.read_only,
        }


def partition_schemes(viewer: Viewer) -> Iterator[Row]:
    """sys.partition_schemes."""
    for scheme in viewer.database.schemes.values():
        yield {
            "name": scheme.name,
            "data_space_id": scheme.space_id,
            "type": "PS",
            "type_desc": "PARTITION_SCHEME",
            "is_default": False,
            "function_id": scheme.function.function_id,
        }


def data_spaces(viewer: Viewer) -> Iterator[Row]:
    """sys.data_spaces."""
    shown = ("name", "data_space_id", "type", "type_desc", "is_default")
    for row in (*filegroups(viewer), *partition_schemes(viewer)):
        yield {name: row[name] for name in shown}


def resumable_operations(viewer: Viewer) -> Iterator[Row]:
    """sys.index_resumable_operations."""
    for operation in viewer.database.operations:
        index = operation.table.index_named(operation.index_name)
        if operation.resumable and operation.begun:
            yield {
                "object_id": operation.table.object_id,
                "index_id": index.index_id if index else 0,
                "name": operation.index_name,
                "sql_text": operation.sql,
                "state": int(operation.paused),
                "state_desc": "PAUSED" if operation.paused else "RUNNING",
                "percent_complete": 100.0 * operation.copied_pages / max(operation.total_pages, 1),
                "page_count": operation.copied_pages,
                "last_pause_time": operation.paused_at,
            }


STORAGE: dict[str, Callable[[Viewer], Iterator[Row]]] = {
    "sys.schemas": schemas,
    "sys.objects": objects,
    "sys.tables": tables,
    "sys.indexes": indexes,
    "sys.index_columns": index_columns,
    "sys.columns": columns,
    "sys.types": types,
    "sys.partitions": partitions,
    "sys.allocation_units": allocation_units,
    "sys.dm_db_partition_stats": partition_stats,
    "sys.dm_db_index_operational_stats": operational_stats,
    "sys.stats": stats,
    "sys.dm_db_stats_properties": stats_properties,
    "sys.extended_properties": extended_properties,
    "sys.database_principals": database_principals,
    "sys.database_permissions": database_permissions,
    "sys.filegroups": filegroups,
    "sys.partition_schemes": partition_schemes,
    "sys.data_spaces": data_spaces,
    "sys.index_resumable_operations": resumable_operations,
}
