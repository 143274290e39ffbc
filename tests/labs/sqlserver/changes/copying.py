"""How an index is built: locks, pages copied bit by bit, room and log taken; what stops it, and what a resumable keeps.

A resumable build that is stopped - paused, cancelled, out of room, its session lost - keeps its pages and what it has
copied. Until it is resumed or aborted no other DDL may touch the table (error 10637).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.labs.sqlserver.changes import log
from tests.labs.sqlserver.changes.work import INTENT_SHARED, SCHEMA_MODIFICATION, SHARED, Work
from tests.labs.sqlserver.instance import STARTED, Database, Operation
from tests.labs.sqlserver.language.options import Build
from tests.labs.sqlserver.objects import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    Index,
    Table,
)
from tests.labs.sqlserver.storage import AllocationUnit
from tests.labs.tds.backend import Cancelled, ServerError

CHUNKS = 20
LOOK_SECONDS = 0.02  # how soon a build notices that it is to pause


def build(work: Work, table: Table, source: Index, new: Index, asked: Build) -> Index:
    """Copy under the locks that it takes, then free what the old one held; the index that was built.

    That is ``new``, or the one that a paused build of the same name had begun.
    """
    operation = _resumed(work, table, new, asked)
    refuse_while_held(work.database, table)
    if operation is None:
        operation = Operation(table, new, work.sql, wanted_pages(source, new), asked.resumable)
    go_through(work, operation, asked)
    with work.instance.lock:
        _hand_over(work.database, source, operation.new)
    return operation.new


def go_through(work: Work, operation: Operation, asked: Build) -> None:
    """Run the build from where it is to its end. Raises ServerError or Cancelled after rolling back or pausing."""
    table, new = operation.table, operation.new
    operation.paused, operation.spid = False, work.spid
    work.database.operations.append(operation)
    try:
        low_priority = asked.low_priority_minutes
        work.lock(table, SHARED if asked.online else SCHEMA_MODIFICATION, low_priority)
        # Not before the lock: a build that times out while it waits for its first one leaves nothing to resume.
        operation.begun = True
        work.fail_if_told()
        work.instance.builds += 1
        secondary = new.type in (NONCLUSTERED, NONCLUSTERED_COLUMNSTORE)
        offline = SHARED if secondary else SCHEMA_MODIFICATION
        with work.holding(table, INTENT_SHARED if asked.online else offline):
            _copy(work, operation, online=asked.online)
        # Even an online build shuts the table once more, at its end: a clustered one under Sch-M, which waits behind
        # long readers and keeps everybody behind itself waiting.
        last = SHARED if asked.online and secondary else SCHEMA_MODIFICATION
        work.lock(table, last, low_priority)
        with work.holding(table, last):
            work.pause(work.instance.last_lock_seconds if asked.online else 0)
    except (ServerError, Cancelled):
        _stop(work, operation)
        raise
    work.database.operations.remove(operation)
    log.let_go(work.database)


def held_on(database: Database, table: Table, name: str) -> Operation | None:
    """The resumable build of that index, running or paused."""
    found = (o for o in database.operations if o.table is table and o.index_name.lower() == name.lower())
    return next((operation for operation in found if operation.resumable), None)


def refuse_while_held(database: Database, table: Table) -> None:
    """Raise 1912 while a build of the table runs, 10637 while one is paused."""
    for operation in database.operations:
        if operation.table is table and not operation.paused:
            raise ServerError(1912, f"Could not proceed with index DDL operation on table '{table.name}'.")
        if operation.table is table:
            raise ServerError(
                10637, f"Cannot perform this operation on '{table.name}' while a resumable build is paused."
            )


def pause(work: Work, operation: Operation) -> None:
    """Stop it where it is and wait until it has stopped. Its session ends, as the documentation of PAUSE says."""
    operation.asked_to_pause = True
    while not operation.paused and operation in work.database.operations:
        work.pause(LOOK_SECONDS)


def abort(work: Work, operation: Operation) -> None:
    """Forget it and what it has copied."""
    with work.instance.lock:
        for unit, _ in operation.wanted:
            work.database.storage.free(unit)
        work.database.operations.remove(operation)


def wanted_pages(source: Index, new: Index) -> list[tuple[AllocationUnit, int]]:
    """Pages each new unit will take. Rows go partition to partition, or all into the last one."""
    olds = {id(unit) for partition in source.partitions for unit in partition.units.values()}
    wanted: list[tuple[AllocationUnit, int]] = []
    for at, partition in enumerate(new.partitions):
        takes = source.partitions[at : at + 1] if len(source.partitions) == len(new.partitions) else []
        if len(source.partitions) != len(new.partitions) and at == len(new.partitions) - 1:
            takes = source.partitions
        partition.rows = sum(old.rows for old in takes)
        for kind, unit in partition.units.items():
            pages = sum(old.units[kind].total for old in takes if kind in old.units)
            if id(unit) not in olds and pages:
                wanted.append((unit, pages))
    return wanted


def _resumed(work: Work, table: Table, new: Index, asked: Build) -> Operation | None:
    """A paused build of that index, which the same statement goes on with (warning 10645)."""
    operation = held_on(work.database, table, new.name or "")
    if operation is None or not operation.paused or not asked.resumable:
        return None
    work.database.operations.remove(operation)
    return operation


def _copy(work: Work, operation: Operation, *, online: bool) -> None:
    """Page by page, in chunks, while time passes and the log grows; what is there already is not copied again."""
    for unit, pages in operation.wanted:
        for chunk in _chunks(pages - unit.total, pages):
            _wait(work, operation, work.instance.build_seconds * chunk / max(operation.total_pages, 1))
            with work.instance.lock:
                work.database.storage.grow(unit, chunk)
                if log.is_fully_logged(work.database, online=online):
                    log.write(work.database, chunk)


def _wait(work: Work, operation: Operation, seconds: float) -> None:
    """Let time pass; a session that is told to pause is ended."""
    left = seconds
    while True:
        if operation.asked_to_pause:
            work.ends_session = True
            message = "Your session has been disconnected because of a high priority DDL operation."
            raise ServerError(1219, message, also=596)
        step = min(left, LOOK_SECONDS)
        work.pause(step)
        left -= step
        if left <= 0:
            return


def _chunks(pages: int, whole: int) -> list[int]:
    size = max(-(-whole // CHUNKS), 1)
    return [min(size, pages - at) for at in range(0, pages, size)]


def _stop(work: Work, operation: Operation) -> None:
    """Roll back; a resumable build that has begun is paused instead, whatever stopped it, and keeps its pages."""
    with work.instance.lock:
        log.let_go(work.database)
        if operation.resumable and operation.begun:
            operation.paused, operation.asked_to_pause = True, False
            operation.paused_at = _now()
            return
    abort(work, operation)


def _now() -> datetime:
    """The server's own time; the day of a pause is all that matters."""
    return STARTED + timedelta(days=1)


def _hand_over(database: Database, source: Index, new: Index) -> None:
    """Free the pages of the old index that the new one did not keep. A new nonclustered index frees nothing."""
    if source.index_id in (HEAP, CLUSTERED) and new.type > CLUSTERED and new.type != CLUSTERED_COLUMNSTORE:
        return
    kept = {id(unit) for partition in new.partitions for unit in partition.units.values()}
    for partition in source.partitions:
        for unit in partition.units.values():
            if id(unit) not in kept:
                database.storage.free(unit)
