"""What a workload does to the counters of an emulated Db2."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.labs.db2.world import (
    EXTENT,
    PAGE_SIZE,
    Counts,
    ForeignKey,
    Index,
    Part,
    Statement,
    StorageGroup,
    Table,
    TableSpace,
    World,
)

LEVELS = 3  # pages of an index that one look-up touches; all but the leaf are cached
ASYNC_MS = 0.5  # of one page in a prefetch request
ENTRIES = 200  # of blocks or pages in one leaf of an index of them
LOOKUP_MICROSECONDS = 50  # of a processor, for a look-up
SECTORS = PAGE_SIZE // 512  # in a page
BACKUP_PAGES = 1024  # in one buffer of a backup
FLUSH_MS = 4.0  # of the log, on a disk of its own


def create_table(world: World, schema: str, name: str, index: str, space: str, pages: int, lob_pages: int = 0) -> None:
    """A filled table with one unique index, all of it in one table space."""
    part = Part(0, "PART0", world.next_file_id(), space, space, space, pages, lob_pages)
    indexes = [Index(1, schema, index, max(pages // 10, 1))]
    world.tables[schema, name] = Table(schema, name, pages * 4, [part], indexes)
    world.touch()


def create_partitioned(world: World, schema: str, name: str, index: str, spaces: list[str], pages: int) -> None:
    """A table with a data partition of so many pages in each table space, and one index that is not partitioned."""
    parts = [
        Part(number, f"PART{number}", world.next_file_id(), space, spaces[0], space, pages)
        for number, space in enumerate(spaces)
    ]
    indexes = [Index(1, schema, index, max(pages * len(spaces) // 10, 1))]
    world.tables[schema, name] = Table(schema, name, pages * len(spaces) * 4, parts, indexes)
    world.touch()


def create_clustered(world: World, schema: str, name: str, dimensions: list[str], space: str, pages: int) -> None:
    """A table organized by dimensions: an index of blocks for each of them, and one for all of them together."""
    create_table(world, schema, name, f"{name}_PK", space, pages)
    table = world.tables[schema, name]
    table.clustered = "Y"
    kinds = [("BLOK", dimensions), *(("DIM", [one]) for one in dimensions)]
    for number, (kind, columns) in enumerate(kinds, start=2):
        key = " ".join(f"+{column}" for column in columns)
        made = f"SQL2011230800{world.next_file_id():04}{number}"
        blocks = -(-pages // EXTENT)
        table.indexes.append(Index(number, "SYSIBM", made, -(-blocks // ENTRIES), "D", key, kind=kind))
    table.more_columns += dimensions
    world.touch()


def create_columnar(world: World, schema: str, name: str, space: str, pages: int) -> None:
    """A column-organized table: the system makes an index that maps its pages."""
    create_table(world, schema, name, "", space, pages)
    table = world.tables[schema, name]
    table.organized = "C"
    made = f"SQL2011230800{world.next_file_id():04}1"
    table.indexes = [Index(1, "SYSIBM", made, -(-pages // ENTRIES), "D", "+SQLNOTAPPLICABLE+", kind="CPMA")]
    world.touch()


def back_up(world: World, member: int = 0) -> None:
    """Everything is read in large pieces past the buffer pools: of table spaces, and of no table."""
    for space, pages in world.used_pages().items():
        if world.spaces[space].data_type != "T":
            world.spaces[space].counts[member].update(
                DIRECT_READS=pages * SECTORS, DIRECT_READ_REQS=-(-pages // BACKUP_PAGES),
                DIRECT_READ_TIME=round(pages * ASYNC_MS),
            )  # fmt: skip
    world.last_backup = datetime.now(UTC)
    world.touch()


def drop_table(world: World, schema: str, name: str) -> None:
    """Gone with its indexes, and with a move of it; harmless when it is gone already."""
    world.tables.pop((schema, name), None)
    world.foreign_keys = [key for key in world.foreign_keys if (schema, name) not in (key.child, key.parent)]
    move = world.moves.pop((schema, name), None)
    if move is not None:
        world.tables.pop((schema, move.target.name), None)
    world.touch()


def add_foreign_key(world: World, child: tuple[str, str], parent: tuple[str, str], name: str, **more: Any) -> None:
    """To the key of the parent."""
    key = ForeignKey(
        name=name, child=child, parent=parent, **{"columns": ("PARENT_ID",), "parent_columns": ("C0",)} | more
    )
    columns = world.table(*child).more_columns
    columns += [column for column in key.columns if column not in (*columns, "C0")]
    world.foreign_keys.append(key)
    world.touch()


def run(world: World, text: str, counted: dict[str, int], member: int = 0) -> None:
    """Executions of a statement, by columns of MON_GET_PKG_CACHE_STMT; their coordinators are on that member."""
    now = datetime.now(UTC)
    fresh = Statement(text, world.next_file_id(), now, now)
    statement = world.statements.setdefault((text, member), fresh)
    statement.updated = now
    executions = counted["NUM_EXECUTIONS"]
    measured = {} if world.behaviour.mon_act_metrics == "NONE" else {
        "NUM_EXEC_WITH_METRICS": executions, "NUM_COORD_EXEC_WITH_METRICS": executions,
        "COORD_STMT_EXEC_TIME": counted.get("STMT_EXEC_TIME", 0), **counted,
    }  # fmt: skip
    statement.counts.update({"NUM_COORD_EXEC": executions, "NUM_EXECUTIONS": executions} | measured)
    world.touch()


def read_cached(world: World, table: Table, reads: int, member: int = 0) -> None:
    """So many look-ups that find every page in the buffer pool."""
    part, index = table.parts[0], table.indexes[0]
    part.counts[member].update(ROWS_READ=reads, OBJECT_DATA_L_READS=reads, OBJECT_DATA_LBP_PAGES_FOUND=reads)
    pages = reads * LEVELS
    index.counts[member].update(INDEX_SCANS=reads, OBJECT_INDEX_L_READS=pages, OBJECT_INDEX_LBP_PAGES_FOUND=pages)
    world.touch()


def read_randomly(world: World, table: Table, reads: int, member: int = 0, by: str = "") -> None:
    """So many look-ups by the index: one leaf and one data page each come from storage, while the session waits.

    ``by`` is the text of the statement that does one in each execution; "": nothing remembers it.
    """
    part, index = table.parts[0], table.indexes[0]
    part.counts[member].update(ROWS_READ=reads, OBJECT_DATA_L_READS=reads, OBJECT_DATA_P_READS=reads)
    index.counts[member].update(
        INDEX_SCANS=reads, OBJECT_INDEX_L_READS=reads * LEVELS, OBJECT_INDEX_P_READS=reads,
        OBJECT_INDEX_LBP_PAGES_FOUND=reads * (LEVELS - 1),
    )  # fmt: skip
    _pool_read(world, world.spaces[part.data], "DATA", reads, member)
    found = reads * (LEVELS - 1)
    _pool_read(world, world.spaces[part.index], "INDEX", reads, member)
    world.spaces[part.index].counts[member].update(POOL_INDEX_L_READS=found, POOL_INDEX_LBP_PAGES_FOUND=found)
    if by:
        waited = sum(round(reads * world.groups[world.spaces[s].group].read_ms) for s in (part.data, part.index))
        work = reads * LOOKUP_MICROSECONDS
        run(world, by, {
            "NUM_EXECUTIONS": reads, "STMT_EXEC_TIME": waited + work // 1000, "TOTAL_ACT_TIME": waited + work // 1000,
            "TOTAL_ACT_WAIT_TIME": waited, "TOTAL_CPU_TIME": work, "POOL_READ_TIME": waited, "ROWS_READ": reads,
            "ROWS_RETURNED": reads, "POOL_DATA_P_READS": reads, "POOL_INDEX_P_READS": reads,
            "POOL_DATA_L_READS": reads, "POOL_INDEX_L_READS": reads * LEVELS,
        }, member)  # fmt: skip
    world.database[member].update(
        POOL_INDEX_L_READS=found, ROWS_READ=reads, ACT_COMPLETED_TOTAL=reads, RQSTS_COMPLETED_TOTAL=reads
    )
    world.touch()


def count(world: World, table: Table | None, index: str, space: str, counters: dict[str, int], member: int) -> None:
    """Counters of a table's first part, of one of its indexes, or of a table space rise by so much, whatever did it."""
    if table is None:
        world.spaces[space].counts[member].update(counters)
    elif index:
        next(one for one in table.indexes if one.name == index).counts[member].update(counters)
    else:
        table.parts[0].counts[member].update(counters)
    world.touch()


def scan(world: World, table: Table, member: int = 0, waited_ms: int = 0) -> None:
    """The whole table in order: prefetchers bring every page; the session waits for them that long in each space."""
    for part in table.parts:
        part.counts[member].update(
            TABLE_SCANS=1, ROWS_READ=table.rows, OBJECT_DATA_L_READS=part.pages, OBJECT_DATA_P_READS=part.pages,
            OBJECT_DATA_LBP_PAGES_FOUND=part.pages,
        )  # fmt: skip
        space, pages = world.spaces[part.data], part.pages
        milliseconds = round(pages * ASYNC_MS)
        both = {"POOL_DATA_L_READS": pages, "POOL_DATA_P_READS": pages, "POOL_READ_TIME": milliseconds}
        space.counts[member].update(both)
        space.counts[member].update(
            POOL_ASYNC_DATA_READS=pages, POOL_ASYNC_DATA_READ_REQS=pages // 32 + 1, POOL_DATA_LBP_PAGES_FOUND=pages,
            POOL_ASYNC_READ_TIME=milliseconds, POOL_ASYNC_DATA_LBP_PAGES_FOUND=0, PAGES_READ=pages,
            PREFETCH_WAIT_TIME=waited_ms, PREFETCH_WAITS=waited_ms // 10,
        )  # fmt: skip
        world.database[member].update(both)
    world.database[member].update(ACT_COMPLETED_TOTAL=1, RQSTS_COMPLETED_TOTAL=1, ROWS_READ=table.rows)
    world.touch()


def commit(world: World, transactions: int, member: int = 0) -> None:
    """One after the other: each waits until its log records are on disk."""
    milliseconds = round(transactions * FLUSH_MS)
    world.database[member].update(
        LOG_DISK_WAITS_TOTAL=transactions, LOG_DISK_WAIT_TIME=milliseconds, ACT_COMPLETED_TOTAL=transactions,
        RQSTS_COMPLETED_TOTAL=transactions, TOTAL_RQST_TIME=milliseconds, TOTAL_APP_RQST_TIME=milliseconds,
    )  # fmt: skip
    world.touch()


def spill(world: World, pages: int, member: int = 0) -> None:
    """A sort that does not fit its heap: its pages go to the temporary table space and are read back by the session."""
    space = next(space for space in world.spaces.values() if space.data_type == "T")
    milliseconds = round(pages * world.groups[space.group].read_ms)
    space.counts[member].update(
        POOL_DATA_WRITES=pages, POOL_WRITE_TIME=milliseconds, POOL_TEMP_DATA_L_READS=pages, PAGES_READ=pages,
        POOL_TEMP_DATA_P_READS=pages, POOL_READ_TIME=milliseconds,
    )  # fmt: skip
    world.database[member].update(TOTAL_RQST_TIME=2 * milliseconds, TOTAL_APP_RQST_TIME=2 * milliseconds)
    world.touch()


def _pool_read(world: World, space: TableSpace, kind: str, pages: int, member: int) -> None:
    """Pages that a session waits for."""
    group: StorageGroup = world.groups[space.group]
    milliseconds = round(pages * group.read_ms)
    both = {f"POOL_{kind}_L_READS": pages, f"POOL_{kind}_P_READS": pages, "POOL_READ_TIME": milliseconds}
    space.counts[member].update(both)
    space.counts[member].update(PAGES_READ=pages)
    world.database[member].update(both)
    world.database[member].update(TOTAL_RQST_TIME=milliseconds, TOTAL_APP_RQST_TIME=milliseconds)


def restart(world: World, member: int | None = None) -> None:
    """Deactivate and activate, all members or one: its counters start anew, with another DB_CONN_TIME."""
    members = range(world.behaviour.members) if member is None else [member]
    counted: list[Counts] = [world.database, *(space.counts for space in world.spaces.values())]
    for table in world.tables.values():
        counted += [*(part.counts for part in table.parts), *(index.counts for index in table.indexes)]
    world.statements = {key: one for key, one in world.statements.items() if key[1] not in members}
    for each in members:
        world.activated[each] = datetime.now(UTC)
        for one in counted:
            one.pop(each, None)
    for space in world.spaces.values():
        if space.rebalance:  # a suspended one goes on by itself
            space.rebalance.suspended = False
    world.touch()
