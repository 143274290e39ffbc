"""Emulated server over the plain driver: rule 14, the buffer cache block by block; without any connector."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import oracledb
import pytest

from connectors.model.observation import I64
from tests.labs.oracle.cached_work import UNDO_OBJECT
from tests.labs.oracle.documented import view
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import DataFile, Quirks, Segment
from tests.labs.oracle.views.cached import buffers

MB = 1 << 20
BUFFERS = 512
RESIDENT = "SELECT file#, block#, status, dirty, class# FROM v$bh WHERE objd = :objd ORDER BY file#, block#, status"
EXTENTS = "SELECT file_id, block_id, blocks FROM dba_extents WHERE segment_name = :name ORDER BY extent_id"
READS = "SELECT SUM(value) FROM v$segstat WHERE statistic_name = 'physical reads' AND dataobj# = :objd"


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """19c with a small cache."""
    with running_harness("cache", quirks=Quirks(buffers=BUFFERS)) as running:
        yield running


def answer(lab: OracleHarness, query: str, *binds: Any) -> list[tuple[Any, ...]]:
    """Rows of a query of the agent's."""
    with lab.session(AGENT) as session:
        return list(session.cursor().execute(query, binds))


def made(lab: OracleHarness, name: str = "ORDERS", size: int = 16 * MB) -> Segment:
    """A table's segment."""
    return lab.database.add_table(OWNER, name, "SLOW", size).segments[0]


def blocks(*numbers: int) -> I64:
    """Numbers of blocks."""
    return np.array(numbers, np.int64)


def test_every_buffer_is_a_row(lab: OracleHarness) -> None:
    """14a, 14i: free ones too, as many as V$BUFFER_POOL says, and what was looked up is among the others."""
    table = made(lab)
    by_status = "SELECT status, COUNT(*) FROM v$bh GROUP BY status ORDER BY status"
    assert answer(lab, by_status) == [("free", BUFFERS)]
    lab.database.look_up(table, blocks(5, 6, 7))
    assert answer(lab, by_status) == [("free", BUFFERS - 3), ("xcur", 3)]
    assert answer(lab, "SELECT buffers FROM v$buffer_pool") == [(BUFFERS,)]
    assert answer(lab, "SELECT COUNT(*) FROM v$bh") == [(BUFFERS,)]


def test_blocks_lie_where_the_extents_say(lab: OracleHarness) -> None:
    """14b, 14g: the extents one after the other are the segment, and V$BH has the file's own numbers."""
    made(lab, "OTHER", MB)
    table = made(lab)
    lab.database.look_up(table, blocks(2, 9, 1000))
    numbers = [(file, at) for file, first, size in answer(lab, EXTENTS, "ORDERS") for at in range(first, first + size)]
    assert len(numbers) == table.blocks
    places = sorted([(*numbers[2], "xcur", "N", 4), (*numbers[9], "xcur", "N", 1), (*numbers[1000], "xcur", "N", 1)])
    assert answer(lab, RESIDENT, table.data_object_id) == places


def test_extents_grow_alternate_and_fill_holes(lab: OracleHarness) -> None:
    """14g: steps of 64 KiB, then 1 MiB, over two files in turns; freed room first, so that order is not place."""
    lab.database.tablespaces["SLOW"].files.append(DataFile(77, "/hdd/oradata/slow02.dbf", 1 << 30))
    made(lab, "GONE", MB)
    answer(lab, EXTENTS, "GONE")
    made(lab, "KEPT", MB)
    answer(lab, EXTENTS, "KEPT")
    lab.database.drop_table(OWNER, "GONE")
    made(lab, "ORDERS", 3 * MB)
    found = answer(lab, EXTENTS, "ORDERS")
    assert [size for _, _, size in found] == [8] * 16 + [128] * 2
    assert {file for file, _, _ in found[::2]} != {file for file, _, _ in found[1::2]}
    assert found[0][1] == 128, "the first of the freed blocks"
    kept = answer(lab, EXTENTS, "KEPT")
    covered = [(file, at) for file, first, size in found + kept for at in range(first, first + size)]
    assert len(covered) == len(set(covered)), "no block has two owners"


def test_what_the_cache_lacks_is_read_and_counted(lab: OracleHarness) -> None:
    """A second look-up of the same blocks reads nothing; the truth is by block."""
    table = made(lab)
    assert lab.database.look_up(table, blocks(10, 11, 12, 10)) == 3
    assert lab.database.look_up(table, blocks(10, 11, 12)) == 0
    assert answer(lab, READS, table.data_object_id) == [(3,)]
    true = lab.database.reads_of_blocks(table)
    assert (len(true), true.sum(), true[10:13].tolist()) == (table.blocks, 3, [1, 1, 1])


def test_the_cache_turns_over_and_keeps_what_is_hot(lab: OracleHarness) -> None:
    """14d: with twenty times as many blocks as buffers and nine tenths of the look-ups in a small part, that stays."""
    table, chance = made(lab, size=80 * MB), np.random.default_rng(1)
    hot = chance.integers(0, BUFFERS // 4, 18_000)
    cold = chance.integers(0, table.blocks, 2000)
    missed = lab.database.look_up(table, chance.permutation(np.concatenate((hot, cold))))
    resident = {tuple(row[:2]) for row in answer(lab, RESIDENT, table.data_object_id)}
    assert len(resident) == BUFFERS
    assert 1900 < missed < 2600, "nearly all of the cold ones, and the hot ones once or a little more"
    lab.database.look_up(table, chance.integers(0, table.blocks, 500))
    later = {tuple(row[:2]) for row in answer(lab, RESIDENT, table.data_object_id)}
    assert 300 < len(later - resident) < 500, "those who came"


def test_objd_is_the_data_object(lab: OracleHarness) -> None:
    """14b: a move gives another number, and the buffers of the old one are free."""
    table = made(lab)
    lab.database.look_up(table, blocks(3, 4))
    before = table.data_object_id
    with lab.session(AGENT) as session:
        session.cursor().execute(f"ALTER TABLE {OWNER}.ORDERS MOVE TABLESPACE FAST")
    assert answer(lab, RESIDENT, before) == answer(lab, RESIDENT, table.data_object_id) == []
    assert table.data_object_id not in (before, table.object_id)


def test_older_versions_take_buffers(lab: OracleHarness) -> None:
    """14c: the same file and block more than once, of which one is current; at most five are older."""
    table = made(lab)
    lab.database.look_up(table, blocks(3))
    for _ in range(7):
        lab.database.make_copies(table, blocks(3))
    found = answer(lab, RESIDENT, table.data_object_id)
    assert [row[2] for row in found] == ["cr"] * 5 + ["xcur"]
    assert len({row[:2] for row in found}) == 1


def test_changed_blocks_are_dirty_until_written(lab: OracleHarness) -> None:
    """14f."""
    table = made(lab)
    lab.database.look_up(table, blocks(3, 4))
    lab.database.change_blocks(table, blocks(4))
    assert [row[3] for row in answer(lab, RESIDENT, table.data_object_id)] == ["N", "Y"]
    lab.database.checkpoint()
    assert [row[3] for row in answer(lab, RESIDENT, table.data_object_id)] == ["N", "N"]


def test_large_scans_and_direct_reads_leave_little(lab: OracleHarness) -> None:
    """14e: what was looked up stays; a direct scan leaves nothing, one through the cache a block."""
    table, other = made(lab), made(lab, "EVENTS")
    lab.database.look_up(table, np.tile(np.arange(BUFFERS, dtype=np.int64), 2))
    lab.database.scan(other, direct=True)
    assert answer(lab, RESIDENT, other.data_object_id) == []
    lab.database.scan(other)
    assert len(answer(lab, RESIDENT, other.data_object_id)) == 1
    assert len(answer(lab, RESIDENT, table.data_object_id)) == BUFFERS - 1


def test_other_work_comes_into_the_cache_too(lab: OracleHarness) -> None:
    """Single-block reads of no known block, and undo, whose OBJD is no object's."""
    table = made(lab)
    lab.database.read_randomly(table, 100)
    lab.database.read_undo(50)
    assert 90 < len(answer(lab, RESIDENT, table.data_object_id)) <= 100
    undo = answer(lab, RESIDENT, UNDO_OBJECT)
    assert {row[4] for row in undo} == {18}
    assert 45 < len(undo) <= 50
    named = "SELECT COUNT(*) FROM v$bh b JOIN dba_objects o ON o.data_object_id = b.objd WHERE b.class# = 18"
    assert answer(lab, named) == [(0,)]


def test_the_view_needs_a_grant(lab: OracleHarness) -> None:
    """14h: on V_$BH and GV_$BH each; X$BH is shown to none of them."""
    reader = lab.database.add_user("READER", PASSWORD)
    with lab.session("READER") as session:
        for name in ("v$bh", "gv$bh", "x$bh"):
            with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
                session.cursor().execute(f"SELECT COUNT(*) FROM {name}")
        reader.grants.add(("READ", "SYS.V_$BH"))
        assert session.cursor().execute("SELECT COUNT(*) FROM v$bh").fetchall() == [(BUFFERS,)]
        with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
            session.cursor().execute("SELECT COUNT(*) FROM gv$bh")


def test_a_look_costs_the_whole_cache(lab: OracleHarness) -> None:
    """14a: whatever is asked for, and V$BUFFER_POOL nothing."""
    lab.database.seconds_per_buffer = 0.2 / BUFFERS
    for query, least, most in (
        ("SELECT COUNT(*) FROM v$bh WHERE objd = 1", 0.2, 5.0),
        ("SELECT buffers FROM v$buffer_pool", 0.0, 0.2),
    ):
        with lab.session(AGENT) as session:
            began = time.monotonic()
            session.cursor().execute(query).fetchall()
            assert least <= time.monotonic() - began < most


def test_each_instance_has_its_own_cache() -> None:
    """14a, 14c: GV$BH has both; a block in both is shared; a restart empties one."""
    with running_harness("caches", quirks=Quirks(instances=2, buffers=BUFFERS)) as lab:
        table = made(lab)
        lab.database.look_up(table, blocks(3, 4))
        lab.database.look_up(table, blocks(4, 5), instance=2)
        query = "SELECT inst_id, status, COUNT(*) FROM gv$bh WHERE objd = :objd GROUP BY inst_id, status ORDER BY 1, 2"
        found = [(1, "scur", 1), (1, "xcur", 1), (2, "scur", 1), (2, "xcur", 1)]
        assert answer(lab, query, table.data_object_id) == found
        lab.database.restart(2)
        assert answer(lab, query, table.data_object_id) == [(1, "xcur", 2)]


def test_the_columns_are_the_documented_ones(lab: OracleHarness) -> None:
    """V$BH shows no column that the documentation lacks, and 11.2 no CON_ID."""
    shown = view("V$BH", (23, 99))
    assert shown is not None
    assert set(buffers(lab.database, 1)) <= set(shown.columns)
    old = view("V$BH", (11, 2))
    assert old is not None
    assert "CON_ID" not in old.columns
