"""Rows of the documented views that describe files, sessions and the server, out of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from tests.labs.sqlserver.changes.log import volume_of_log
from tests.labs.sqlserver.documented import documented
from tests.labs.sqlserver.instance import CLIENTS, IAM, Client, Connected, Database, all_indexes, level_of
from tests.labs.sqlserver.objects import CLUSTERED, HEAP, Index, Partition
from tests.labs.sqlserver.pool import Buffer
from tests.labs.sqlserver.rights import sees_definitions, sees_every_database, sees_server_state
from tests.labs.sqlserver.storage import EXTENT, IN_ROW, PAGE, AllocationUnit, FileCounters, Volume
from tests.labs.sqlserver.views.relations import CREATED, STORAGE, Row, Viewer, principal_id
from tests.labs.sqlserver.views.relations_partitions import PARTITIONING
from tests.labs.sqlserver.views.relations_statements import STATEMENTS, texts_of_handles

CUMULATIVE, GAUGE = 272696576, 65792
PADDED = 128  # object, counter and instance are nchar(128)
PERFORMANCE = ("Page lookups/sec", "Page reads/sec", "Readahead pages/sec", "Extension page reads/sec")
BATCH_CLASSES = ("Batches >=000001ms & <000002ms", "Batches >=000002ms & <000005ms")  # two of some twenty
FREE_BYTES = 96  # of a page
LOG_FILE = 2
MASTER = 1
NEVER = datetime(1900, 1, 1)
TEMPDB, TEMPDB_PAGES = 2, 1024
ABORTS_PAUSED_SINCE = 16
REUSE_WAITS = (  # by number, as the view documents them
    "NOTHING",
    "CHECKPOINT",
    "LOG_BACKUP",
    "ACTIVE_BACKUP_OR_RESTORE",
    "ACTIVE_TRANSACTION",
    "DATABASE_MIRRORING",
    "REPLICATION",
    "DATABASE_SNAPSHOT_CREATION",
    "LOG_SCAN",
    "AVAILABILITY_REPLICA",
)


def database_files(viewer: Viewer) -> Iterator[Row]:
    """sys.database_files, the log's included."""
    for file in viewer.database.storage.files.values():
        yield {
            "file_id": file.file_id,
            "type": 0,
            "type_desc": "ROWS",
            "data_space_id": file.filegroup,
            "name": file.name,
            "physical_name": file.path,
            "state": 0,
            "state_desc": "ONLINE",
            "size": file.size,
            "max_size": file.max_size,
            "growth": file.growth,
            "is_read_only": False,
            "is_percent_growth": file.percent_growth,
        }
    log = {
        "file_id": LOG_FILE,
        "type": 1,
        "type_desc": "LOG",
        "data_space_id": 0,
        "name": f"{viewer.database.name}_log",
    }
    database = viewer.database
    path = f"{volume_of_log(database).mount}{database.name}.ldf"
    most = database.log_pages if database.log_max_size is None else database.log_max_size
    size = {"size": database.log_pages, "max_size": most, "growth": database.log_growth}
    state = {"state": 0, "state_desc": "ONLINE", "is_read_only": False, "is_percent_growth": False}
    yield {**log, "physical_name": path, **size, **state}


def databases(viewer: Viewer) -> Iterator[Row]:
    """sys.databases: user databases, and their snapshots for whoever may see other databases."""
    for database in viewer.instance.databases.values():
        row = {
            "name": database.name,
            "database_id": database.database_id,
            "create_date": CREATED,
            "state": 0,
            "state_desc": "ONLINE",
            "is_read_only": database.updateability != "READ_WRITE",
            "recovery_model": {"FULL": 1, "BULK_LOGGED": 2, "SIMPLE": 3}[database.recovery_model],
            "recovery_model_desc": database.recovery_model,
            "log_reuse_wait": REUSE_WAITS.index(database.log_reuse_wait),
            "log_reuse_wait_desc": database.log_reuse_wait,
            "service_broker_guid": str(database.broker_guid).upper(),
            "group_database_id": None if database.group is None else str(database.group).upper(),
            "replica_id": None,
            "physical_database_name": database.physical_name or database.name,
            "is_change_feed_enabled": database.change_feed,
            "source_database_id": None,
            "is_encrypted": database.encryption_state in (2, 3, 4, 6),
        }
        yield row
        if not sees_every_database(viewer.account):
            continue
        for number, name in enumerate(database.database_snapshots):
            other = {"name": name, "database_id": 10_000 + number, "is_read_only": True}
            yield {**row, **other, "source_database_id": database.database_id}


def mirroring(viewer: Viewer) -> Iterator[Row]:
    """sys.database_mirroring: a row for each database; NULL where it is not mirrored."""
    for database in viewer.instance.databases.values():
        yield {
            "database_id": database.database_id,
            "mirroring_guid": str(database.broker_guid).upper() if database.mirrored else None,
            "mirroring_state": 4 if database.mirrored else None,
            "mirroring_state_desc": "SYNCHRONIZED" if database.mirrored else None,
        }


def encryption_keys(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_database_encryption_keys: a row for each database that has a key."""
    for database in viewer.instance.databases.values():
        if database.encryption_state:
            yield {"database_id": database.database_id, "encryption_state": database.encryption_state}


def file_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_io_virtual_file_stats of every database, logs and tempdb included."""
    yield _file_stats(TEMPDB, 1, viewer.instance.tempdb, TEMPDB_PAGES)
    for database in viewer.instance.databases.values():
        for file in database.storage.files.values():
            yield _file_stats(database.database_id, file.file_id, file.counters, file.size)
        yield _file_stats(database.database_id, LOG_FILE, database.log_counters, database.log_pages)


def _file_stats(database_id: int, file_id: int, c: FileCounters, pages: int) -> Row:
    return {
        "database_id": database_id,
        "file_id": file_id,
        "sample_ms": 123456,
        "num_of_reads": c.reads,
        "num_of_bytes_read": c.bytes_read,
        "io_stall_read_ms": c.read_ms,
        "io_stall_queued_read_ms": 0,
        "num_of_writes": c.writes,
        "num_of_bytes_written": c.bytes_written,
        "io_stall_write_ms": c.write_ms,
        "io_stall_queued_write_ms": 0,
        "io_stall": c.read_ms + c.write_ms,
        "size_on_disk_bytes": pages * PAGE,
    }


def wait_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_wait_stats: a row for each type there is, waited for or not."""
    for name in ("WRITELOG", "IO_COMPLETION", "HADR_SYNC_COMMIT"):
        waited, tasks = viewer.instance.waits[name], viewer.instance.waits[f"{name}/n"]
        longest = -(-waited // tasks) if tasks else 0
        yield {
            "wait_type": name,
            "waiting_tasks_count": tasks,
            "wait_time_ms": waited,
            "max_wait_time_ms": longest,
            "signal_wait_time_ms": 0,
        }


def file_space(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_db_file_space_usage: extents, so free pages are rounded down."""
    for file in viewer.database.storage.files.values():
        free = max(file.size - file.used, 0) // EXTENT * EXTENT
        yield {
            "database_id": viewer.database.database_id,
            "file_id": file.file_id,
            "filegroup_id": file.filegroup,
            "total_page_count": file.size,
            "allocated_extent_page_count": file.size - free,
            "unallocated_extent_page_count": free,
        }


def volume_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_volume_stats for the files of every database."""
    for database in viewer.instance.databases.values():
        for file in database.storage.files.values():
            yield {"database_id": database.database_id, "file_id": file.file_id, **_volume(file.volume)}
        yield {"database_id": database.database_id, "file_id": LOG_FILE, **_volume(volume_of_log(database))}
    if viewer.instance.tempdb_volume is not None:
        yield {"database_id": TEMPDB, "file_id": 1, **_volume(viewer.instance.tempdb_volume)}


def _volume(volume: Volume) -> Row:
    return {
        "volume_mount_point": volume.mount,
        "volume_id": f"\\\\?\\Volume{{{volume.mount[:1]}}}\\",
        "logical_volume_name": "",
        "file_system_type": "NTFS",
        "total_bytes": volume.total_bytes,
        "available_bytes": volume.available_bytes,
        "incurs_seek_penalty": int(volume.seeks),
    }


def log_space(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_db_log_space_usage."""
    database = viewer.database
    since = database.log_used if database.log_since_backup is None else database.log_since_backup
    yield {
        "database_id": database.database_id,
        "total_log_size_in_bytes": database.log_pages * PAGE,
        "used_log_space_in_bytes": database.log_used * PAGE,
        "used_log_space_in_percent": 100.0 * database.log_used / database.log_pages,
        "log_space_in_bytes_since_last_backup": since * PAGE,
    }


def performance_counters(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_performance_counters, padded as the real ones are."""
    instance = viewer.instance
    rows = [("Buffer Manager", name, "", instance.performance[name]) for name in PERFORMANCE]
    rows += [
        ("Databases", "Transactions/sec", d.counted_as or d.physical_name or d.name, d.transactions)
        for d in instance.databases.values()
    ]
    yield _counter("Buffer Manager", "Database pages", "", instance.pool_pages, GAUGE)
    yield _counter("Buffer Manager", "Page life expectancy", "", instance.page_life_seconds, GAUGE)
    # The real view has the sum beside the databases: whoever adds up its rows by counter alone counts each transaction
    # twice.
    rows += [("Databases", "Transactions/sec", "_Total", sum(d.transactions for d in instance.databases.values()))]
    for kind, name, of, value in rows:
        yield _counter(kind, name, of, value, CUMULATIVE)
    # A row for each class of duration; here all is in one class, and the others are 0.
    for of, value in instance.batch_ms.items():
        for at, name in enumerate(BATCH_CLASSES):
            yield _counter("Batch Resp Statistics", name, of, value if at == 0 else 0, CUMULATIVE)


def _counter(kind: str, name: str, of: str, value: int, counter_type: int) -> Row:
    return {
        "object_name": f"SQLServer:{kind}".ljust(PADDED),
        "counter_name": name.ljust(PADDED),
        "instance_name": of.ljust(PADDED),
        "cntr_value": value,
        "cntr_type": counter_type,
    }


def buffer_descriptors(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_buffer_descriptors: a row for each page in memory, of all databases."""
    held = defaultdict[int, list[Buffer]](list)
    for buffer in viewer.instance.pool:
        held[buffer.unit_id].append(buffer)
    for database in viewer.instance.databases.values():
        for index in all_indexes(database):
            for partition in index.partitions:
                for unit in partition.units.values():
                    yield from _pages_of(database, index, partition, unit, held.get(unit.unit_id, []))


def _pages_of(
    database: Database, index: Index, partition: Partition, unit: AllocationUnit, held: list[Buffer]
) -> Iterator[Row]:
    places = unit.places()
    for buffer in held:
        file_id, page = places.of(buffer.position)
        level, kind = level_of(index, buffer.position), _page_type(index, unit, buffer.position)
        rows = partition.rows // max(1, unit.total) if kind == "DATA_PAGE" else 0
        yield {
            "database_id": database.database_id,
            "file_id": file_id,
            "page_id": page,
            "page_level": level,
            "allocation_unit_id": unit.unit_id,
            "page_type": kind,
            "row_count": rows,
            "free_space_in_bytes": FREE_BYTES,
            "is_modified": buffer.modified,
            "numa_node": 0,
            "read_microsec": buffer.microseconds,
            "is_in_bpool_extension": False,
        }


def _page_type(index: Index, unit: AllocationUnit, position: int) -> str:
    if position == IAM:
        return "IAM_PAGE"
    if unit.kind != IN_ROW:
        return "TEXT_MIX_PAGE"
    leaf_of_rows = index.type in (HEAP, CLUSTERED) and not level_of(index, position)
    return "DATA_PAGE" if leaf_of_rows else "INDEX_PAGE"


def sys_info(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_sys_info."""
    instance = viewer.instance
    yield {
        "cpu_count": 8,
        "scheduler_count": instance.schedulers,
        "process_kernel_time_ms": instance.processor_ms // 4,
        "process_user_time_ms": instance.processor_ms - instance.processor_ms // 4,
        "physical_memory_kb": 16777216,
        "sqlserver_start_time": instance.started,
    }


def host_info(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_host_info."""
    yield {"host_platform": "Windows", "host_distribution": "Windows Server 2022", "host_release": "10.0"}


def _visible(viewer: Viewer) -> Iterator[Connected]:
    """Every session, or only the own one for whoever may not see more: without an error."""
    everyone = sees_server_state(viewer.account, viewer.instance.major)
    return (s for s in viewer.instance.sessions.values() if everyone or s.spid == viewer.connected.spid)


def handle(spid: int) -> bytes:
    """A sql_handle: of what a session runs now."""
    return b"\x02\0\0\0" + spid.to_bytes(4, "big")


def requests(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_requests."""
    for session in _visible(viewer):
        if session.request is not None:
            request = session.request
            yield {
                "session_id": session.spid,
                "request_id": 0,
                "status": "suspended" if request.wait_type else "running",
                "command": request.command,
                "sql_handle": handle(session.spid),
                "database_id": viewer.instance.databases[session.database.lower()].database_id,
                "blocking_session_id": request.blocker,
                "wait_type": request.wait_type,
                "percent_complete": request.percent,
            }
    for at, command in enumerate(viewer.instance.extra_requests):
        row = {"session_id": 40 + at, "request_id": 0, "status": "running", "command": command, "sql_handle": None}
        nothing = {"blocking_session_id": 0, "wait_type": None, "percent_complete": 10.0}
        yield {**row, **nothing, "database_id": viewer.database.database_id}
    yield from _of_master(viewer)
    for number, client in _clients(viewer):
        if client.running:
            yield {
                "session_id": number,
                "request_id": 0,
                "status": "suspended" if client.wait_type else "running",
                "command": "SELECT",
                "sql_handle": None,
                "database_id": viewer.instance.databases[client.database].database_id,
                "blocking_session_id": 0,
                "wait_type": client.wait_type,
                "percent_complete": 0.0,
            }


def _clients(viewer: Viewer) -> Iterator[tuple[int, Client]]:
    """Sessions of the load; none for whoever may see only their own."""
    if sees_server_state(viewer.account, viewer.instance.major):
        yield from enumerate(viewer.instance.clients, CLIENTS)


def _of_master(viewer: Viewer) -> Iterator[Row]:
    """Requests whose session is in master, which may well work on another database."""
    for at, command in enumerate(viewer.instance.requests_elsewhere):
        row = {"session_id": 30 + at, "request_id": 0, "status": "running", "command": command, "sql_handle": None}
        yield {**row, "blocking_session_id": 0, "wait_type": None, "percent_complete": 10.0, "database_id": MASTER}


_REQUESTED_LONG_AGO = {"last_request_start_time": NEVER, "last_request_end_time": NEVER}


def sessions(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_sessions."""
    for session in _visible(viewer):
        yield {
            "session_id": session.spid,
            "login_name": session.login,
            "program_name": session.program,
            "host_name": session.host,
            "status": "running" if session.request else "sleeping",
            "is_user_process": True,
            "database_id": viewer.instance.databases[session.database.lower()].database_id,
            **_REQUESTED_LONG_AGO,
            "open_transaction_count": 0,
            **_read(session.reads, session.logical_reads),
        }
    others = viewer.instance.snapshots.keys() | viewer.instance.transactions.keys()
    for spid in others - viewer.instance.sessions.keys():
        yield {
            "session_id": spid,
            "login_name": "somebody",
            "program_name": "report",
            "host_name": "elsewhere",
            "status": "sleeping",
            "is_user_process": True,
            "database_id": viewer.database.database_id,
            **_REQUESTED_LONG_AGO,
            "open_transaction_count": int(spid in viewer.instance.transactions),
            **_read(),
        }
    for number, client in _clients(viewer):
        yield {
            "session_id": number,
            "login_name": client.login,
            "program_name": client.program,
            "host_name": "desk",
            "status": "running" if client.running else "sleeping",
            "is_user_process": True,
            "database_id": viewer.instance.databases[client.database].database_id,
            "last_request_start_time": _ago(client.began),
            "last_request_end_time": NEVER if client.ended is None else _ago(client.ended),
            "open_transaction_count": client.open_transactions,
            **_read(),
        }


def _read(reads: int = 0, logical_reads: int = 0) -> Row:
    return {"reads": reads, "logical_reads": logical_reads}


def session_wait_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_session_wait_stats: types that a session has waited for."""
    for session in _visible(viewer):
        for name in [name for name in session.waits if not name.endswith("/n")]:
            yield {
                "session_id": session.spid,
                "wait_type": name,
                "waiting_tasks_count": session.waits[f"{name}/n"],
                "wait_time_ms": session.waits[name] // 1000,
                "max_wait_time_ms": 0,
                "signal_wait_time_ms": 0,
            }


def session_transactions(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_tran_session_transactions: its own number and its session's are the same here."""
    for spid in viewer.instance.transactions:
        yield {"session_id": spid, "transaction_id": spid, "is_user_transaction": True, "open_transaction_count": 1}


def active_transactions(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_tran_active_transactions: 1 is read/write, 2 is active."""
    for spid, seconds in viewer.instance.transactions.items():
        kind = {"transaction_type": 1, "transaction_state": 2}
        yield {"transaction_id": spid, "transaction_begin_time": _ago(seconds), **kind}


def database_transactions(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_tran_database_transactions: 4 has written log records; those that only read have no time."""
    for spid, seconds in viewer.instance.transactions.items():
        common = {"transaction_id": spid, "database_id": viewer.database.database_id, "database_transaction_type": 1}
        yield {**common, "database_transaction_begin_time": _ago(seconds), "database_transaction_state": 4}


def _ago(seconds: float) -> datetime:
    """That long before GETDATE()."""
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=seconds)


def sql_text(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_sql_text, its argument among the columns."""
    for session in viewer.instance.sessions.values():
        if session.request is not None:
            yield {"handle": handle(session.spid), "dbid": None, "objectid": None, "text": session.request.sql}
    yield from texts_of_handles(viewer)


def locks(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_tran_locks: application locks and tables."""
    common = {"resource_database_id": viewer.database.database_id, "request_status": "GRANT", "request_type": "LOCK"}
    for (principal, name), spid in viewer.instance.app_locks.items():
        described = f"{principal_id(viewer, principal)}:[{name[:32]}]:(5a1d1c3b)"
        application = {"resource_type": "APPLICATION", "resource_description": described, "request_mode": "X"}
        owner = {"request_owner_type": "SESSION", "request_owner_id": 0}
        yield {**common, **application, **owner, "resource_associated_entity_id": 0, "request_session_id": spid}
    for table in viewer.database.tables.values():
        for spid, mode in table.lock_holders.items():
            resource = {"resource_type": "OBJECT", "resource_description": "", "request_mode": mode}
            entity = {"resource_associated_entity_id": table.object_id, "request_session_id": spid}
            owner = {"request_owner_type": "TRANSACTION", "request_owner_id": spid}
            yield {**common, **resource, **entity, **owner}


def replica_states(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_hadr_database_replica_states: every replica on the primary, only itself on a secondary."""
    rows = viewer.instance.replicas
    primary = any(row["is_local"] and row["is_primary_replica"] for row in rows)
    for row in rows:
        queue = row["log_send_queue_size"]
        if not (primary or row["is_local"]):
            continue
        unsent = 0 if row["is_local"] else int(viewer.database.unsent_kib)
        yield {**row, "log_send_queue_size": queue + unsent if isinstance(queue, int) else None}


def snapshot_transactions(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_tran_active_snapshot_database_transactions: what a test has set."""
    for spid, seconds in viewer.instance.snapshots.items():
        yield {"transaction_id": spid, "session_id": spid, "is_snapshot": 1, "elapsed_time_seconds": seconds}


def master_files(viewer: Viewer) -> Iterator[Row]:
    """sys.master_files: of tempdb and of the database; without the right to see definitions there are no rows."""
    if not sees_definitions(viewer.account):
        return
    for number, (name, kind) in enumerate((("tempdev", "mdf"), ("templog", "ldf")), start=1):
        path = f"{volume_of_log(viewer.database).mount}{name}.{kind}"
        yield {"database_id": 2, "file_id": number, "type": number - 1, "name": name, "physical_name": path}
    for row in database_files(viewer):
        shown = ("file_id", "type", "name", "physical_name")
        yield {"database_id": viewer.database.database_id, **{column: row[column] for column in shown}}


def pool_extension(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_os_buffer_pool_extension_configuration."""
    size = viewer.instance.pool_extension_kib
    state = (5, "BUFFER POOL EXTENSION ENABLED") if size else (0, "BUFFER POOL EXTENSION DISABLED")
    yield {
        "path": "F:\\pool.bpe" if size else None, "file_id": 0, "state": state[0], "state_description": state[1],
        "current_size_in_kb": size,
    }  # fmt: skip


def query_profiles(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_query_profiles: operators that a test has set, in this database unless they say otherwise.

    What they do not say is NULL, as under lightweight profiling.
    """
    view = documented("sys.dm_exec_query_profiles", viewer.instance.major)
    columns = view.columns if view is not None else ()
    for row in viewer.instance.query_profiles:
        yield {**dict.fromkeys(columns), "database_id": viewer.database.database_id, **row}


def scoped_configurations(viewer: Viewer) -> Iterator[Row]:
    """sys.database_scoped_configurations: after how long a paused build is given up, 2022 and newer."""
    if viewer.instance.major >= ABORTS_PAUSED_SINCE:
        yield {"configuration_id": 31, "name": "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES", "value": "1440"}


def fulltext_indexes(viewer: Viewer) -> Iterator[Row]:
    """sys.fulltext_indexes."""
    for table in viewer.tables():
        if table.fulltext:
            yield {"object_id": table.object_id, "is_enabled": True}


RELATIONS: dict[str, Callable[[Viewer], Iterator[Row]]] = {
    **STORAGE,
    **PARTITIONING,
    **STATEMENTS,
    "sys.database_files": database_files,
    "sys.databases": databases,
    "sys.dm_database_encryption_keys": encryption_keys,
    "sys.dm_io_virtual_file_stats": file_stats,
    "sys.dm_os_wait_stats": wait_stats,
    "sys.dm_db_file_space_usage": file_space,
    "sys.database_mirroring": mirroring,
    "sys.dm_os_volume_stats": volume_stats,
    "sys.dm_db_log_space_usage": log_space,
    "sys.dm_os_performance_counters": performance_counters,
    "sys.dm_os_sys_info": sys_info,
    "sys.dm_os_host_info": host_info,
    "sys.dm_exec_requests": requests,
    "sys.dm_exec_sessions": sessions,
    "sys.dm_exec_session_wait_stats": session_wait_stats,
    "sys.dm_exec_sql_text": sql_text,
    "sys.dm_tran_session_transactions": session_transactions,
    "sys.dm_tran_active_transactions": active_transactions,
    "sys.dm_tran_database_transactions": database_transactions,
    "sys.dm_tran_locks": locks,
    "sys.dm_hadr_database_replica_states": replica_states,
    "sys.dm_tran_active_snapshot_database_transactions": snapshot_transactions,
    "sys.master_files": master_files,
    "sys.dm_os_buffer_descriptors": buffer_descriptors,
    "sys.dm_os_buffer_pool_extension_configuration": pool_extension,
    "sys.dm_exec_query_profiles": query_profiles,
    "sys.database_scoped_configurations": scoped_configurations,
    "sys.fulltext_indexes": fulltext_indexes,
}
