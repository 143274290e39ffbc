"""The laboratory of splits judges right: losses are counted, and blocks are served from where they were placed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.demo.slow_disk import available
from tests.bench.lab.pace import SMALL
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.split.cases import CLEAR, TABLE, Case, cases
from tests.bench.lab.split.placement import BLOCK, BlockPlacement, files_of
from tests.bench.lab.split.rows import age, newest, rows_lost
from tests.labs.postgresql import installations

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(MAJOR not in installations(), reason=f"no PostgreSQL {MAJOR} here: make setup"),
    pytest.mark.skipif(not available()[0], reason=available()[1]),
    pytest.mark.xdist_group("laboratory of splits"),  # one server for all
]
ROWS = 3000
BLOCKS = 80  # of the table, which has some more
POOL = 0.01  # of the pace's scale: a pool far smaller than the table


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """A server on modelled disks."""
    with running_rig(replace(SMALL, scale=POOL)) as started:
        yield started


@pytest.fixture
def case(rig: Rig) -> Case:
    """A table of order lines, built."""
    made = cases(ROWS)["order lines"]
    rig.build((*CLEAR, *made.statements))
    return made


def test_a_row_that_is_gone_changed_or_doubled_is_counted(rig: Rig, case: Case) -> None:
    """What the load may change is no loss; rows that age in are in the journal too."""
    with rig.session() as dba:
        border = newest(dba) + 10
        assert age(rig, case, border) > 0
        assert newest(dba) * 0.9 >= border - 1
        dba.execute(f"UPDATE {TABLE} SET delivered = now() WHERE id = 7".encode())
        assert rows_lost(rig, case) == 0
        dba.execute(f"DELETE FROM {TABLE} WHERE id = 7 AND number = 1".encode())
        assert rows_lost(rig, case) == 1
        dba.execute(f"UPDATE {TABLE} SET item = item + 1 WHERE id = 8 AND number = 2".encode())
        assert rows_lost(rig, case) == 3  # one is missing that was written, one is there that never was
        dba.execute(f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_pkey".encode())
        dba.execute(f"INSERT INTO {TABLE} SELECT * FROM {TABLE} WHERE id = 9 AND number = 3".encode())
        assert rows_lost(rig, case) == 4


def test_the_blocks_that_were_read_most_are_on_the_ssd_and_no_others(rig: Rig, case: Case) -> None:
    """As many as files on the SSD have; afterwards every file is where its folder is."""
    before = files_of(rig)
    with rig.session() as dba:
        dba.execute(f"ALTER INDEX {TABLE}_pkey SET TABLESPACE ssd_space".encode())
        dba.execute("CHECKPOINT")
        placement = BlockPlacement(rig, before)
        assert sorted(file.on_ssd for file in placement.files) == [False, True]

        def read_all() -> dict[str, int]:
            """Reads of each block of the table by the device that served them; few are in the pool."""
            counted = rig.disk.counters()
            for block in range(BLOCKS):
                dba.execute(f"SELECT id FROM {TABLE} WHERE ctid = '({block},1)'".encode())
            after = rig.disk.counters()
            return {name: after[name].reads - counted[name].reads for name in counted}

        few, blocks = 3, placement.ssd_bytes // BLOCK  # a page or two of the index is read by the planner
        assert read_all()["ssd"] <= few
        with placement.by_hindsight():
            assert blocks - few <= read_all()["ssd"] <= blocks + few
        assert read_all()["ssd"] <= few
        with placement.without_split():
            assert read_all()["ssd"] == 0
