"""Emulated server: the buffer pool turns over with the load, and its view shows which pages it holds."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.storage import IN_ROW, LOB, AllocationUnit
from tests.labs.sqlserver.world import FAST, READER, STRANGER, add_table
from tests.labs.tds.drivers import freetds

pytestmark = pytest.mark.skipif(bool(freetds().missing), reason=freetds().missing or "present")
PAGES = (
    "SELECT b.page_id FROM sys.dm_os_buffer_descriptors AS b JOIN sys.allocation_units AS a "
    "ON a.allocation_unit_id = b.allocation_unit_id JOIN sys.partitions AS p ON p.hobt_id = a.container_id "
    "WHERE b.database_id = DB_ID() AND a.type = 1 AND p.object_id = ? AND p.index_id = ? AND b.page_level = 0"
)


def connected(lab: Lab, account: Account) -> Any:
    """A connection of the plain driver."""
    import pyodbc

    return closing(pyodbc.connect(lab.string(freetds(), account), autocommit=True, timeout=10))


@pytest.fixture
def cursor(lab: Lab) -> Iterator[Any]:
    """Of a login that may look at everything and change nothing."""
    with connected(lab, READER) as connection:
        yield connection.cursor()


@pytest.fixture
def orders(lab: Lab) -> Table:
    """8,000 pages, four times as many as there are buffers."""
    lab.instance.pool_pages = 2000
    return add_table(lab.shop, "orders", pages=8000)


def unit_of(table: Table, kind: int = IN_ROW) -> AllocationUnit:
    """The allocation unit of the rows, or of another kind."""
    return table.base.partitions[0].units[kind]


def look_up(lab: Lab, table: Table, *positions: int, write: bool = False) -> int:
    """In the table's clustered index; reads."""
    base = table.base
    return lab.instance.look_up(lab.shop, base, base.partitions[0], positions, write=write)


def pages(cursor: Any, table: Table) -> set[int]:
    """Numbers of the table's leaf pages in memory."""
    return {page for (page,) in cursor.execute(PAGES, table.object_id, 1).fetchall()}


def test_what_was_looked_up_is_in_memory_under_its_page_number(lab: Lab, orders: Table, cursor: Any) -> None:
    """The leaves in the order in which their extents were allocated; the second look-up reads nothing."""
    assert look_up(lab, orders, 10, 500, 7999) == 3 + 4  # and the root with the three pages above the leaves
    assert look_up(lab, orders, 10, 500, 7999) == 0
    found = sorted(pages(cursor, orders))
    assert [page - found[0] for page in found] == [0, 490, 7989]

    assert lab.instance.pool.reads[unit_of(orders).unit_id] == {1: 1, 2: 1, 402: 1, 7802: 1, 10: 1, 500: 1, 7999: 1}


def test_every_column_tells_what_it_is_documented_to_tell(lab: Lab, orders: Table, cursor: Any) -> None:
    """A leaf that was written, its root above it: level, kind, rows, microseconds of a disk's read."""
    look_up(lab, orders, 10, write=True)
    cursor.execute(
        "SELECT page_level, page_type, row_count, is_modified, numa_node, read_microsec, is_in_bpool_extension, "
        "file_id FROM sys.dm_os_buffer_descriptors ORDER BY page_level, page_id"
    )
    leaf, above, root = (tuple(row) for row in cursor.fetchall())
    assert leaf == (0, "DATA_PAGE", 8, True, 0, 8000, False, 3)
    assert above == (1, "INDEX_PAGE", 0, False, 0, 8000, False, 3)
    assert root == (2, "INDEX_PAGE", 0, False, 0, 8000, False, 3)
    lab.instance.pool.checkpoint()
    cursor.execute("SELECT COUNT(*) FROM sys.dm_os_buffer_descriptors WHERE is_modified = 1")
    assert cursor.fetchone()[0] == 0


def test_the_pool_turns_over_with_the_load_and_keeps_what_is_used(lab: Lab, orders: Table, cursor: Any) -> None:
    """Never more pages than buffers; the tenth that has 80 % of the look-ups is held, the rest comes and goes."""
    draw = random.Random(3)

    def load(times: int) -> None:
        hot = (draw.randrange(7200, 8000) if draw.random() < 0.8 else draw.randrange(3, 7200) for _ in range(times))
        look_up(lab, orders, *hot)

    load(20_000)
    before = pages(cursor, orders)
    load(3_000)
    after = pages(cursor, orders)
    first = unit_of(orders).places().of(0)[1]
    assert len(after) <= len(lab.instance.pool) <= 2000
    hot = [{page for page in held if page - first >= 7200} for held in (before, after)]
    cold = [held - part for held, part in zip((before, after), hot, strict=True)]
    assert len(hot[0] & hot[1]) > 600
    assert len(cold[1] - cold[0]) > 200


def test_counters_count_what_the_pool_read(lab: Lab, orders: Table, cursor: Any) -> None:
    """Waits of the index and reads of the file, from the same look-ups."""
    reads = look_up(lab, orders, *range(1010, 1110), *range(1010, 1110))
    cursor.execute(
        "SELECT singleton_lookup_count, page_io_latch_wait_count, tree_page_io_latch_wait_count, "
        "page_io_latch_wait_in_ms FROM sys.dm_db_index_operational_stats(DB_ID(), ?, 1, NULL)", orders.object_id,
    )  # fmt: skip
    assert tuple(cursor.fetchone()) == (200, reads, 2, reads * 8)
    assert reads == 102
    assert lab.shop.storage.files[3].counters.reads == reads


def test_units_that_grow_together_lie_between_one_another(lab: Lab, orders: Table, cursor: Any) -> None:
    """Extents of eight pages belong to one unit each; those of a dropped one are used again, the lowest first."""
    other = add_table(lab.shop, "others", pages=8)
    for _ in range(3):
        lab.shop.storage.grow(unit_of(orders), 8)
        lab.shop.storage.grow(unit_of(other), 8)
    one, two = ([unit.places().of(at) for at in range(unit.total)] for unit in (unit_of(orders), unit_of(other)))
    assert not set(one) & set(two)
    assert one[-24][1] < two[-24][1] < one[-16][1] < two[-16][1] < one[-8][1] < two[-8][1]
    lowest = min(two)
    lab.shop.storage.free(unit_of(other))
    lab.shop.storage.grow(unit_of(orders), 8)
    assert unit_of(orders).places().of(unit_of(orders).total - 8) == lowest


def test_large_values_have_an_allocation_unit_of_their_own(lab: Lab, cursor: Any) -> None:
    """Type 2, whose container is the partition."""
    notes = add_table(lab.shop, "notes", pages=100, lob_pages=50, space=FAST)
    lab.instance.pool.touch(unit_of(notes, LOB), 7, microseconds=200)
    cursor.execute(
        "SELECT b.page_type, b.read_microsec, p.index_id FROM sys.dm_os_buffer_descriptors AS b "
        "JOIN sys.allocation_units AS a ON a.allocation_unit_id = b.allocation_unit_id AND a.type = 2 "
        "JOIN sys.partitions AS p ON p.partition_id = a.container_id"
    )
    assert [tuple(row) for row in cursor.fetchall()] == [("TEXT_MIX_PAGE", 200, 1)]


def test_the_view_wants_a_right_of_the_server(lab: Lab, orders: Table) -> None:
    """VIEW DATABASE STATE is not enough."""
    import pyodbc

    lab.instance.accounts[STRANGER.name] = Account(
        STRANGER.name, STRANGER.password, database_rights=frozenset({"VIEW DATABASE STATE"})
    )
    with connected(lab, STRANGER) as connection, pytest.raises(pyodbc.Error, match="VIEW SERVER PERFORMANCE STATE"):
        connection.cursor().execute(PAGES, orders.object_id, 1)


def test_a_walk_takes_as_long_as_the_pool_is_large(lab: Lab, orders: Table, cursor: Any) -> None:
    """Whatever is asked of it: 4 million buffers of 0.07 us take 0.28 s, two thousand next to nothing."""
    began = time.monotonic()
    lab.instance.pool_pages = 4_000_000
    pages(cursor, orders)
    assert time.monotonic() - began >= 0.28
    assert lab.instance.pool_walks == 1
