"""Rows of the documented views that tell of statements: Query Store and the plan cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.labs.sqlserver.statements_kept import FULL, STATES, Run, handle_of, hash_of
from tests.labs.sqlserver.views.relations import Row, Viewer

BUFFER_IO = 6  # wait_category


def options(viewer: Viewer) -> Iterator[Row]:
    """sys.database_query_store_options."""
    kept = viewer.database.statements
    full = kept.desired == "READ_WRITE" and kept.actual == "READ_ONLY"
    yield {
        "desired_state": STATES.index(kept.desired), "desired_state_desc": kept.desired,
        "actual_state": STATES.index(kept.actual), "actual_state_desc": kept.actual,
        "readonly_reason": FULL if full else 0, "current_storage_size_mb": 1000 if full else 10,
        "max_storage_size_mb": 1000, "flush_interval_seconds": 900, "interval_length_minutes": 60,
        "stale_query_threshold_days": 30, "query_capture_mode": 1, "query_capture_mode_desc": "ALL",
        "wait_stats_capture_mode": 1, "wait_stats_capture_mode_desc": "ON",
    }  # fmt: skip


def queries(viewer: Viewer) -> Iterator[Row]:
    """sys.query_store_query."""
    for text, number in viewer.database.statements.queries.items():
        yield {
            "query_id": number, "query_text_id": number, "context_settings_id": 1, "object_id": 0,
            "query_hash": hash_of(text), "is_internal_query": False, "count_compiles": 1,
        }  # fmt: skip


def texts(viewer: Viewer) -> Iterator[Row]:
    """sys.query_store_query_text."""
    for text, number in viewer.database.statements.queries.items():
        yield {
            "query_text_id": number, "query_sql_text": text, "statement_sql_handle": handle_of(text),
            "is_part_of_encrypted_module": False, "has_restricted_text": False,
        }  # fmt: skip


def plans(viewer: Viewer) -> Iterator[Row]:
    """sys.query_store_plan."""
    for (text, number), plan in viewer.database.statements.plans.items():
        yield {
            "plan_id": plan.plan_id, "query_id": plan.query_id, "query_plan_hash": hash_of(f"{number} {text}"),
            "is_online_index_plan": False, "is_trivial_plan": False, "is_parallel_plan": False,
            "is_forced_plan": False, "count_compiles": 1,
        }  # fmt: skip


def intervals(viewer: Viewer) -> Iterator[Row]:
    """sys.query_store_runtime_stats_interval."""
    for interval in viewer.database.statements.intervals:
        yield {
            "runtime_stats_interval_id": interval.interval_id, "start_time": interval.start,
            "end_time": interval.end, "comment": None,
        }  # fmt: skip


def runtime_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.query_store_runtime_stats: averages of an interval; 0 is a regular end."""
    for number, row in enumerate(viewer.database.statements.stored, start=1):
        total, executions = row.total, row.total.executions
        yield {
            "runtime_stats_id": number, "plan_id": row.plan_id, "runtime_stats_interval_id": row.interval_id,
            "execution_type": 0, "execution_type_desc": "Regular", "first_execution_time": row.first,
            "last_execution_time": row.last, "count_executions": executions,
            "avg_duration": total.elapsed / executions, "avg_cpu_time": total.worker / executions,
            "avg_logical_io_reads": total.logical / executions, "avg_physical_io_reads": total.pages / executions,
            "avg_num_physical_io_reads": total.operations / executions, "avg_rowcount": total.rows / executions,
        }  # fmt: skip


def query_waits(viewer: Viewer) -> Iterator[Row]:
    """sys.query_store_wait_stats: of waits for pages of files."""
    for number, row in enumerate(viewer.database.statements.stored, start=1):
        if row.total.waited:
            milliseconds = row.total.waited // 1000
            yield {
                "wait_stats_id": number, "plan_id": row.plan_id, "runtime_stats_interval_id": row.interval_id,
                "wait_category": BUFFER_IO, "wait_category_desc": "Buffer IO", "execution_type": 0,
                "execution_type_desc": "Regular", "total_query_wait_time_ms": milliseconds,
                "avg_query_wait_time_ms": milliseconds / row.total.executions,
            }  # fmt: skip


def query_stats(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_query_stats: plans in the cache, of every database."""
    for database in viewer.instance.databases.values():
        for cached in database.statements.cached.values():
            yield {
                "sql_handle": handle_of(cached.text), "statement_start_offset": 0, "statement_end_offset": -1,
                "plan_generation_num": 1, "plan_handle": handle_of(cached.text, cached.plan),
                "creation_time": cached.first, "last_execution_time": cached.last,
                "query_hash": hash_of(cached.text), "query_plan_hash": hash_of(f"{cached.plan} {cached.text}"),
                **_totals(cached.total),
            }  # fmt: skip


def _totals(total: Run) -> Row:
    return {
        "execution_count": total.executions, "total_worker_time": total.worker, "total_elapsed_time": total.elapsed,
        "total_physical_reads": total.pages, "total_logical_reads": total.logical, "total_rows": total.rows,
    }  # fmt: skip


def texts_of_handles(viewer: Viewer) -> Iterator[Row]:
    """sys.dm_exec_sql_text of what is in the cache, its argument among the columns."""
    for database in viewer.instance.databases.values():
        for text in {cached.text for cached in database.statements.cached.values()}:
            yield {"handle": handle_of(text), "dbid": None, "objectid": None, "text": text}


STATEMENTS: dict[str, Callable[[Viewer], Iterator[Row]]] = {
    "sys.database_query_store_options": options,
    "sys.query_store_query": queries,
    "sys.query_store_query_text": texts,
    "sys.query_store_plan": plans,
    "sys.query_store_runtime_stats": runtime_stats,
    "sys.query_store_runtime_stats_interval": intervals,
    "sys.query_store_wait_stats": query_waits,
    "sys.dm_exec_query_stats": query_stats,
}
