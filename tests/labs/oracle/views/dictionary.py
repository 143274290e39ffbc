"""Rows of the DBA_ views, made from the model. A column that is not named here is NULL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.labs.oracle.adding import printed
from tests.labs.oracle.model import BLOCK, Index, Lob, Segment, Table
from tests.labs.oracle.views import accounts, cached, licensed, structure

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase

Row = dict[str, Any]
Rows = Iterator[Row]
CREATED = datetime(2026, 1, 1)
GROUPS = 10_000_000  # object ids of partitions that are only groups of subpartitions begin here
_FLAG = {True: "YES", False: "NO"}


def segments(db: EmulatedDatabase) -> Rows:
    """DBA_SEGMENTS."""
    for segment in db.segments():
        yield {
            "OWNER": segment.owner, "SEGMENT_NAME": segment.name, "PARTITION_NAME": segment.part or None,
            "SEGMENT_TYPE": segment.kind, "TABLESPACE_NAME": segment.tablespace, "BYTES": segment.bytes,
            "BLOCKS": segment.blocks, "BUFFER_POOL": "DEFAULT", "FLASH_CACHE": "DEFAULT",
        }  # fmt: skip


_OBJECT_TYPES = {"LOBSEGMENT": "LOB", "LOBINDEX": "INDEX", "NESTED TABLE": "TABLE"}


def objects(db: EmulatedDatabase) -> Rows:
    """DBA_OBJECTS: clusters, tables, indexes, LOBs and their pieces."""
    for (owner, name), segment in db.clusters.items():
        yield _object(db, owner, name, "", segment.object_id, segment.data_object_id, "CLUSTER", False)
    for table in db.tables.values():
        secondary = "Y" if table.domain_index else "N"
        yield from ({**row, "SECONDARY": secondary} for row in _objects(db, table))


def _objects(db: EmulatedDatabase, table: Table) -> Rows:
    """Of one table and what hangs on it."""
    for group in dict.fromkeys(segment.group for segment in table.segments if segment.group):
        number = min(segment.object_id for segment in table.segments if segment.group == group) + GROUPS
        yield _object(db, table.owner, table.name, group, number, None, "TABLE PARTITION", table.temporary)
    if table.partitioned or table.iot:
        yield _object(db, table.owner, table.name, "", table.object_id, None, "TABLE", table.temporary)
    for index in table.indexes:
        if index.partitioned and index.kind == "IOT - TOP":
            for segment in index.segments:
                number = segment.object_id + GROUPS
                yield _object(db, table.owner, table.name, segment.part, number, None, "TABLE PARTITION", False)
        if index.partitioned:
            yield _object(db, index.owner, index.name, "", index.object_id, None, "INDEX", table.temporary)
    for lob in table.lobs:
        if table.partitioned:
            first = lob.segments[0]
            yield _object(db, first.owner, first.name, "", lob.object_id, None, "LOB", False)
    for segment in table.everything():
        kind = _OBJECT_TYPES.get(segment.kind, segment.kind)
        data = segment.data_object_id if segment.created else None
        yield _object(
            db, segment.owner, segment.name, segment.part, segment.object_id, data, kind, table.temporary
        )  # fmt: skip


def _object(
    db: EmulatedDatabase, owner: str, name: str, part: str, number: int, data: int | None, kind: str, temporary: bool
) -> Row:
    return {
        "OWNER": owner, "OBJECT_NAME": name, "SUBOBJECT_NAME": part or None, "OBJECT_ID": number,
        "DATA_OBJECT_ID": data, "OBJECT_TYPE": kind, "CREATED": CREATED, "LAST_DDL_TIME": CREATED, "STATUS": "VALID",
        "TEMPORARY": "Y" if temporary else "N", "GENERATED": "Y" if name.startswith("SYS_") else "N",
        "SECONDARY": "N", "ORACLE_MAINTAINED": "Y" if db.users[owner].maintained else "N",
    }  # fmt: skip


def tablespaces(db: EmulatedDatabase) -> Rows:
    """DBA_TABLESPACES."""
    for space in db.tablespaces.values():
        yield {
            "TABLESPACE_NAME": space.name, "BLOCK_SIZE": space.block_size, "STATUS": space.status,
            "CONTENTS": space.contents, "LOGGING": "LOGGING", "FORCE_LOGGING": "NO", "BIGFILE": "NO",
            "EXTENT_MANAGEMENT": "LOCAL", "ENCRYPTED": _FLAG[space.encrypted],
            "SEGMENT_SPACE_MANAGEMENT": "AUTO" if space.automatic else "MANUAL",
        }  # fmt: skip


def data_files(db: EmulatedDatabase) -> Rows:
    """DBA_DATA_FILES."""
    for space in db.tablespaces.values():
        for file in space.files:
            yield {
                "FILE_NAME": file.path, "FILE_ID": file.number, "RELATIVE_FNO": file.number,
                "TABLESPACE_NAME": space.name, "BYTES": file.bytes, "BLOCKS": file.bytes // BLOCK,
                "STATUS": "AVAILABLE", "AUTOEXTENSIBLE": _FLAG[file.max_bytes > 0], "MAXBYTES": file.max_bytes,
                "MAXBLOCKS": file.max_bytes // BLOCK, "INCREMENT_BY": 128 if file.max_bytes else 0,
                "USER_BYTES": file.bytes - 2**20, "ONLINE_STATUS": "ONLINE",
            }  # fmt: skip


def usage(db: EmulatedDatabase) -> Rows:
    """DBA_TABLESPACE_USAGE_METRICS, in blocks; permanent ones with at least one file."""
    for space in db.tablespaces.values():
        used, size = db.used_bytes(space.name), space.most_bytes
        yield {
            "TABLESPACE_NAME": space.name, "USED_SPACE": used // BLOCK, "TABLESPACE_SIZE": size // BLOCK,
            "USED_PERCENT": 100.0 * used / size, "BLOCK_SIZE": BLOCK, "ALLOCATION_SIZE": space.bytes // BLOCK,
        }  # fmt: skip


def free_space(db: EmulatedDatabase) -> Rows:
    """DBA_FREE_SPACE, as one extent a tablespace."""
    for space in db.tablespaces.values():
        free = space.bytes - db.used_bytes(space.name)
        if free > 0:
            number = space.files[0].number
            yield {
                "TABLESPACE_NAME": space.name, "FILE_ID": number, "BLOCK_ID": 128, "BYTES": free,
                "BLOCKS": free // BLOCK, "RELATIVE_FNO": number,
            }  # fmt: skip


def tables(db: EmulatedDatabase) -> Rows:
    """DBA_TABLES. No tablespace for partitioned, temporary and index-organised ones."""
    for table in db.tables.values():
        placed = not (table.partitioned or table.iot or table.temporary)
        yield {
            "OWNER": table.owner, "TABLE_NAME": table.name,
            "TABLESPACE_NAME": table.segments[0].tablespace if placed else None,
            "CLUSTER_NAME": (table.cluster or "C") if table.clustered else None,
            "IOT_TYPE": "IOT" if table.iot else None,
            "STATUS": "VALID", "LOGGING": None if table.partitioned else _FLAG[table.logging],
            "PARTITIONED": _FLAG[table.partitioned], "TEMPORARY": "Y" if table.temporary else "N",
            "SECONDARY": "Y" if table.domain_index else "N",
            "NESTED": _FLAG[table.nested], "DEGREE": f"{table.degree:>10}", "READ_ONLY": _FLAG[table.read_only],
            "COMPRESSION": None if table.partitioned else "ENABLED" if table.compress_for else "DISABLED",
            "COMPRESS_FOR": table.compress_for or None, "SEGMENT_CREATED": "YES", "BUFFER_POOL": "DEFAULT",
            "PCT_FREE": None if table.partitioned else table.pct_free, "NUM_ROWS": table.rows,
            "LAST_ANALYZED": table.analyzed, "CLUSTERING": _FLAG[table.sorts_rows],
            "DEPENDENCIES": "DISABLED", "ROW_MOVEMENT": "DISABLED", "DROPPED": _FLAG[table.dropped],
        }  # fmt: skip
        for kind, segment in (("IOT_OVERFLOW", table.overflow), ("IOT_MAPPING", table.mapping)):
            if segment is not None:
                yield {
                    "OWNER": table.owner, "TABLE_NAME": segment.name, "TABLESPACE_NAME": segment.tablespace,
                    "IOT_TYPE": kind, "IOT_NAME": table.name, "PARTITIONED": "NO", "TEMPORARY": "N",
                    "SECONDARY": "N", "NESTED": "NO", "LOGGING": "YES", "SEGMENT_CREATED": "YES",
                }  # fmt: skip


def columns(db: EmulatedDatabase) -> Rows:
    """DBA_TAB_COLUMNS: a key, what makes a difference to a move, and the LOBs."""
    yield from structure.made_columns(db)
    for table in db.tables.values():
        if table.columns:
            continue
        kinds = [("ID", "NUMBER")] + ([("OLD", "LONG")] if table.long_column else [])
        for at, (name, kind) in enumerate([*kinds, *((lob.column, "CLOB") for lob in table.lobs)], start=1):
            yield {
                "OWNER": table.owner, "TABLE_NAME": table.name, "COLUMN_NAME": name, "DATA_TYPE": kind,
                "COLUMN_ID": at, "NULLABLE": "Y",
            }  # fmt: skip


def _partitions(db: EmulatedDatabase, *, sub: bool) -> Iterator[tuple[Table, int, Segment]]:
    for table in db.tables.values():
        if table.partitioned and table.composite == sub:
            key = next((index.segments for index in table.indexes if index.kind == "IOT - TOP"), [])
            yield from ((table, at, segment) for at, segment in enumerate(table.segments or key, start=1))


def table_partitions(db: EmulatedDatabase) -> Rows:
    """DBA_TAB_PARTITIONS; the tablespace of a composite one is only a default."""
    for table, at, segment in _partitions(db, sub=False):
        yield {**_partition(table, segment, at), "COMPOSITE": "NO", "SUBPARTITION_COUNT": 0}
    for table in db.tables.values():
        if table.composite:
            groups = list(dict.fromkeys(segment.group for segment in table.segments))
            for at, group in enumerate(groups, start=1):
                count = sum(segment.group == group for segment in table.segments)
                yield {
                    "TABLE_OWNER": table.owner, "TABLE_NAME": table.name, "COMPOSITE": "YES", "PARTITION_NAME": group,
                    "SUBPARTITION_COUNT": count, "PARTITION_POSITION": at, "TABLESPACE_NAME": table.default_tablespace,
                }  # fmt: skip


def table_subpartitions(db: EmulatedDatabase) -> Rows:
    """DBA_TAB_SUBPARTITIONS."""
    for table, at, segment in _partitions(db, sub=True):
        row = _partition(table, segment, at)
        yield {**row, "PARTITION_NAME": segment.group, "SUBPARTITION_NAME": segment.part, "SUBPARTITION_POSITION": at}


def _partition(table: Table, segment: Segment, at: int) -> Row:
    return {
        "TABLE_OWNER": table.owner, "TABLE_NAME": table.name, "PARTITION_NAME": segment.part,
        "PARTITION_POSITION": at, "TABLESPACE_NAME": None if table.iot else segment.tablespace,
        "LOGGING": _FLAG[table.logging],
        "COMPRESSION": "ENABLED" if segment.compress_for else "DISABLED", "COMPRESS_FOR": segment.compress_for or None,
        "SEGMENT_CREATED": _FLAG[segment.created], "READ_ONLY": "NO",
        "HIGH_VALUE": printed(table.bounds.get(segment.part, f"{at}00")),
        "INDEXING": "OFF" if segment.part in table.not_indexed else "ON",
    }  # fmt: skip


def _indexes(db: EmulatedDatabase) -> Iterator[tuple[Table, Index]]:
    for table in db.tables.values():
        yield from ((table, index) for index in table.indexes)


def indexes(db: EmulatedDatabase) -> Rows:
    """DBA_INDEXES, LOB indexes included."""
    for table, index in _indexes(db):
        yield {
            "OWNER": index.owner, "INDEX_NAME": index.name, "INDEX_TYPE": index.kind, "TABLE_OWNER": table.owner,
            "TABLE_NAME": table.name, "TABLE_TYPE": "TABLE", "UNIQUENESS": "UNIQUE" if index.unique else "NONUNIQUE",
            "TABLESPACE_NAME": None if index.partitioned or not index.segments else index.segments[0].tablespace,
            "INDEXING": index.indexing, "DOMIDX_STATUS": "VALID" if index.kind == "DOMAIN" else None,
            "DOMIDX_OPSTATUS": None if index.kind != "DOMAIN" else "FAILED" if index.failed else "VALID",
            "STATUS": "N/A" if index.partitioned else "UNUSABLE" if index.unusable else "VALID",
            "PARTITIONED": _FLAG[index.partitioned], "DEGREE": index.degree, "TEMPORARY": "N", "GENERATED": "N",
            "LOGGING": None if index.partitioned else "YES",
            "SECONDARY": "N", "JOIN_INDEX": "NO", "VISIBILITY": "VISIBLE",
            "COMPRESSION": "ENABLED" if index.compressed else "DISABLED", "NUM_ROWS": index.rows,
            "LAST_ANALYZED": index.analyzed,
            "SEGMENT_CREATED": _FLAG[any(segment.created for segment in index.segments)],
            "FUNCIDX_STATUS": "ENABLED" if index.kind.startswith("FUNCTION") else None, "ORPHANED_ENTRIES": "NO",
        }  # fmt: skip
    for table in db.tables.values():
        for lob in table.lobs:
            yield {
                "OWNER": table.owner, "INDEX_NAME": lob.index_name, "INDEX_TYPE": "LOB", "TABLE_OWNER": table.owner,
                "TABLE_NAME": table.name, "UNIQUENESS": "UNIQUE", "PARTITIONED": _FLAG[table.partitioned],
                "TABLESPACE_NAME": None if table.partitioned else lob.indexes[0].tablespace, "JOIN_INDEX": "NO",
                "STATUS": "N/A" if table.partitioned else "VALID", "DEGREE": "0", "TEMPORARY": "N", "GENERATED": "Y",
            }  # fmt: skip


def index_partitions(db: EmulatedDatabase) -> Rows:
    """DBA_IND_PARTITIONS of indexes on tables that are not composite."""
    for table, index in _indexes(db):
        if index.partitioned and not table.composite:
            for at, segment in enumerate(index.segments, start=1):
                yield _index_partition(index, segment, at)


def index_subpartitions(db: EmulatedDatabase) -> Rows:
    """DBA_IND_SUBPARTITIONS."""
    for table, index in _indexes(db):
        if index.partitioned and table.composite:
            for at, segment in enumerate(index.segments, start=1):
                row = {**_index_partition(index, segment, at), "SUBPARTITION_NAME": segment.part}
                yield {**row, "PARTITION_NAME": segment.group, "SUBPARTITION_POSITION": at}


def _index_partition(index: Index, segment: Segment, at: int) -> Row:
    return {
        "INDEX_OWNER": index.owner, "INDEX_NAME": index.name, "PARTITION_NAME": segment.part,
        "PARTITION_POSITION": at, "TABLESPACE_NAME": segment.tablespace, "LOGGING": "YES",
        "SEGMENT_CREATED": _FLAG[segment.created],
        "STATUS": "UNUSABLE" if segment.part in index.unusable else "USABLE", "COMPOSITE": "NO",
    }  # fmt: skip


def _lobs(db: EmulatedDatabase) -> Iterator[tuple[Table, Lob]]:
    for table in db.tables.values():
        yield from ((table, lob) for lob in table.lobs)


def lobs(db: EmulatedDatabase) -> Rows:
    """DBA_LOBS."""
    for table, lob in _lobs(db):
        yield {
            "OWNER": table.owner, "TABLE_NAME": table.name, "COLUMN_NAME": lob.column,
            "SEGMENT_NAME": lob.segments[0].name, "INDEX_NAME": lob.index_name, "CACHE": "NO", "LOGGING": "YES",
            "TABLESPACE_NAME": table.default_tablespace if table.partitioned else lob.segments[0].tablespace,
            "IN_ROW": "YES", "PARTITIONED": _FLAG[table.partitioned], "SECUREFILE": _FLAG[lob.securefile],
            "ENCRYPT": "NO", "COMPRESSION": "NO", "DEDUPLICATION": "NO", "CHUNK": BLOCK, "SEGMENT_CREATED": "YES",
        }  # fmt: skip


def lob_partitions(db: EmulatedDatabase) -> Rows:
    """DBA_LOB_PARTITIONS of tables that are not composite."""
    for table, lob in _lobs(db):
        if table.partitioned and not table.composite:
            for own, segment in zip(table.segments, lob.segments, strict=True):
                yield {**_lob_partition(table, lob, segment), "PARTITION_NAME": own.part}


def lob_subpartitions(db: EmulatedDatabase) -> Rows:
    """DBA_LOB_SUBPARTITIONS."""
    for table, lob in _lobs(db):
        if table.composite:
            for own, segment in zip(table.segments, lob.segments, strict=True):
                row = _lob_partition(table, lob, segment)
                yield {**row, "SUBPARTITION_NAME": own.part, "LOB_SUBPARTITION_NAME": segment.part}


def _lob_partition(table: Table, lob: Lob, segment: Segment) -> Row:
    return {
        "TABLE_OWNER": table.owner, "TABLE_NAME": table.name, "COLUMN_NAME": lob.column, "LOB_NAME": segment.name,
        "LOB_PARTITION_NAME": segment.part, "TABLESPACE_NAME": segment.tablespace, "SECUREFILE": _FLAG[lob.securefile],
    }  # fmt: skip


def partitioned_tables(db: EmulatedDatabase) -> Rows:
    """DBA_PART_TABLES."""
    for table in db.tables.values():
        if table.partitioned:
            yield {
                "OWNER": table.owner, "TABLE_NAME": table.name, "PARTITIONING_TYPE": "RANGE", "STATUS": "VALID",
                "SUBPARTITIONING_TYPE": "HASH" if table.composite else "NONE",
                "PARTITION_COUNT": len(table.segments or table.indexes[0].segments),
                "DEF_TABLESPACE_NAME": table.default_tablespace, "PARTITIONING_KEY_COUNT": 1,
                "INTERVAL": table.interval or None,
            }  # fmt: skip


def partitioned_indexes(db: EmulatedDatabase) -> Rows:
    """DBA_PART_INDEXES."""
    for table, index in _indexes(db):
        if index.partitioned:
            yield {
                "OWNER": index.owner, "INDEX_NAME": index.name, "TABLE_NAME": table.name,
                "LOCALITY": "LOCAL" if index.local else "GLOBAL", "PARTITION_COUNT": len(index.segments),
                "DEF_TABLESPACE_NAME": index.default_tablespace or None,
            }  # fmt: skip


def mview_logs(db: EmulatedDatabase) -> Rows:
    """DBA_MVIEW_LOGS."""
    for table in db.tables.values():
        if table.mview_log:
            yield {
                "LOG_OWNER": table.owner, "MASTER": table.name, "LOG_TABLE": f"MLOG$_{table.name}"[:30],
                "ROWIDS": _FLAG[table.mview_log == "ROWID"], "PRIMARY_KEY": _FLAG[table.mview_log != "ROWID"],
            }  # fmt: skip


def queue_tables(db: EmulatedDatabase) -> Rows:
    """DBA_QUEUE_TABLES."""
    for table in db.tables.values():
        if table.queue:
            yield {"OWNER": table.owner, "QUEUE_TABLE": table.name, "TYPE": "OBJECT"}


def clusters(db: EmulatedDatabase) -> Rows:
    """DBA_CLUSTERS."""
    for (owner, name), segment in db.clusters.items():
        yield {"OWNER": owner, "CLUSTER_NAME": name, "TABLESPACE_NAME": segment.tablespace, "CLUSTER_TYPE": "INDEX"}


def nested_tables(db: EmulatedDatabase) -> Rows:
    """DBA_NESTED_TABLES."""
    for table in db.tables.values():
        if table.parent:
            yield {
                "OWNER": table.owner, "TABLE_NAME": table.name, "PARENT_TABLE_NAME": table.parent,
                "PARENT_TABLE_COLUMN": "ITEMS", "STORAGE_SPEC": "USER_SPECIFIED",
            }  # fmt: skip


def archived_tables(db: EmulatedDatabase) -> Rows:
    """DBA_FLASHBACK_ARCHIVE_TABLES."""
    for table in db.tables.values():
        if table.archive:
            yield {
                "TABLE_NAME": table.name, "OWNER_NAME": table.owner, "FLASHBACK_ARCHIVE_NAME": "FBA1",
                "ARCHIVE_TABLE_NAME": table.archive, "STATUS": "ENABLED",
            }  # fmt: skip


def secondary_objects(db: EmulatedDatabase) -> Rows:
    """DBA_SECONDARY_OBJECTS: what domain indexes keep their entries in."""
    for table in db.tables.values():
        if table.domain_index:
            yield {
                "INDEX_OWNER": table.owner, "INDEX_NAME": table.domain_index, "SECONDARY_OBJECT_OWNER": table.owner,
                "SECONDARY_OBJECT_NAME": table.name, "SECONDARY_OBJDATA_TYPE": "FROM INDEXTYPE",
            }  # fmt: skip


def recycle_bin(db: EmulatedDatabase) -> Rows:
    """DBA_RECYCLEBIN: tables."""
    for table in db.tables.values():
        if table.dropped:
            yield {
                "OWNER": table.owner, "OBJECT_NAME": table.name, "OPERATION": "DROP", "TYPE": "TABLE",
                "TS_NAME": table.segments[0].tablespace, "CAN_UNDROP": "YES", "CAN_PURGE": "YES",
            }  # fmt: skip


def nothing(_: EmulatedDatabase) -> Rows:
    """Views of things that the model does not have."""
    return iter(())


DICTIONARY: dict[str, Callable[[EmulatedDatabase], Rows]] = {
    "DBA_SEGMENTS": segments,
    "DBA_OBJECTS": objects,
    "DBA_TABLESPACES": tablespaces,
    "DBA_DATA_FILES": data_files,
    "DBA_TABLESPACE_USAGE_METRICS": usage,
    "DBA_FREE_SPACE": free_space,
    "DBA_EXTENTS": cached.extents,
    "DBA_TABLES": tables,
    "DBA_TAB_COLUMNS": columns,
    "DBA_TAB_PARTITIONS": table_partitions,
    "DBA_TAB_SUBPARTITIONS": table_subpartitions,
    "DBA_INDEXES": indexes,
    "DBA_IND_PARTITIONS": index_partitions,
    "DBA_IND_SUBPARTITIONS": index_subpartitions,
    "DBA_LOBS": lobs,
    "DBA_LOB_PARTITIONS": lob_partitions,
    "DBA_LOB_SUBPARTITIONS": lob_subpartitions,
    "DBA_PART_TABLES": partitioned_tables,
    "DBA_PART_INDEXES": partitioned_indexes,
    "DBA_MVIEW_LOGS": mview_logs,
    "DBA_QUEUE_TABLES": queue_tables,
    "DBA_RECYCLEBIN": recycle_bin,
    "DBA_CLUSTERS": clusters,
    "DBA_NESTED_TABLES": nested_tables,
    "DBA_FLASHBACK_ARCHIVE_TABLES": archived_tables,
    "DBA_SECONDARY_OBJECTS": secondary_objects,
    "DBA_TS_QUOTAS": accounts.quotas,
    "DBA_USERS": accounts.users,
    "DBA_SYS_PRIVS": accounts.system_privileges,
    "DBA_ROLE_PRIVS": accounts.role_privileges,
    "DBA_COL_PRIVS": accounts.column_privileges,
    "DBA_CONSTRAINTS": structure.constraints,
    "DBA_CONS_COLUMNS": structure.constraint_columns,
    "DBA_IND_COLUMNS": structure.index_columns,
    "DBA_IND_EXPRESSIONS": structure.index_expressions,
    "DBA_TAB_COMMENTS": structure.table_comments,
    "DBA_COL_COMMENTS": structure.column_comments,
    "DBA_TAB_PRIVS": accounts.object_privileges,
    "DBA_PROXIES": accounts.proxies,
    **dict.fromkeys(
        ("DBA_EXTERNAL_TABLES", "DBA_XML_TABLES", "DBA_MVIEWS"),
        nothing,
    ),
    "DBA_ILMOBJECTS": licensed.ado_objects,
    "DBA_HIST_SNAPSHOT": licensed.snapshots,
    "DBA_HIST_SEG_STAT": licensed.segment_history,
    **dict.fromkeys(("DBA_ILMDATAMOVEMENTPOLICIES", "DBA_RESUMABLE"), nothing),
}
