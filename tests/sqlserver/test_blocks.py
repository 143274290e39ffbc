"""Emulated server: looks at the buffer pool against the lab's own count of reads, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.sampling.block_heat import load_block_heat
from agent.sampling.block_looks import BlockLooker, LookedAt
from connectors.kit.contract import PrivilegeMissing
from connectors.model.blocks import BLOCK_HEAT, SeesBlocks
from connectors.model.observation import F64, I64
from connectors.sqlserver import blocks
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.keys import unit_ids
from policies.evidence.range_heat import HeatShape, RangeHeat, concentrate
from tests.cli.site import Site
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.storage import IN_ROW, AllocationUnit
from tests.labs.sqlserver.world import FAST, READER, SLOW, STRANGER, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected
from tests.sqlserver.moving.test_life import connection
from tests.virtual_clock import VirtualClock

pytestmark = pytest.mark.by_turns
PAGES, POOL, PARTS = 8000, 500, 20
PAIRS, RATE, LONGEST_LOAD = 12, 400.0, 2.5  # look-ups a second; of a long rest only the last seconds matter
Load = Callable[[np.random.Generator, int], I64]


def unit_of(table: Table) -> AllocationUnit:
    """The allocation unit of its rows."""
    return table.base.partitions[0].units[IN_ROW]


def id_of(table: Table, *, lob: bool = False) -> int:
    """As the connector numbers it."""
    return int(unit_ids(np.array([table.object_id]), np.array([1]), np.array([1]), np.array([lob]))[0])


class LoadedClock(VirtualClock):
    """While somebody sleeps the load goes on."""

    def __init__(self, lab: Lab, table: Table, load: Load) -> None:
        super().__init__()
        self._lab, self._table, self._load = lab, table, load
        self._random = np.random.default_rng(5)

    def sleep(self, seconds: float) -> None:
        """And look rows up."""
        super().sleep(seconds)
        times = round(min(seconds, LONGEST_LOAD) * RATE)
        base = self._table.base
        self._lab.instance.look_up(self._lab.shop, base, base.partitions[0], self._load(self._random, times).tolist())


def newest_tenth(random: np.random.Generator, times: int) -> I64:
    """Four fifths of the look-ups among the newest tenth of the pages."""
    hot = random.integers(PAGES * 9 // 10, PAGES, times)
    return np.where(random.random(times) < 0.8, hot, random.integers(0, PAGES, times))


def stripes(random: np.random.Generator, times: int) -> I64:
    """Four fifths in five stripes all over it, a tenth of the pages in all."""
    part = PAGES // 5
    hot = random.integers(0, 5, times) * part + random.integers(0, part // 10, times)
    return np.where(random.random(times) < 0.8, hot, random.integers(0, PAGES, times))


def anywhere(random: np.random.Generator, times: int) -> I64:
    """All pages alike."""
    return random.integers(0, PAGES, times)


@contextmanager
def looked_into(
    lab: Lab, driver: OdbcDriver, folder: Path, table: Table, load: Load
) -> Iterator[tuple[RangeHeat, F64]]:
    """What the looker makes of it, and the true reads of each page, in the order in which they were allocated.

    It is in the ledger of the folder, under the table's key.
    """
    clock = LoadedClock(lab, table, load)
    unit, number = unit_of(table), id_of(table)
    with connected(lab, driver, folder, READER, clock) as connector, Ledger.open(folder / "ledger.db", clock) as ledger:
        assert isinstance(connector, SeesBlocks)
        looker = BlockLooker("shop", 0.1, lambda: connector, ledger, clock)
        key = f"[dbo].[{table.name}]"
        looker.choose((LookedAt(key=key, physical_id=number),))
        clock.sleep(60.0)
        lab.instance.pool.reads[unit.unit_id].clear()
        for _ in range(PAIRS):
            assert looker.take_turn()
            clock.sleep(30.0)
        looker.close(save=True)
        counted = lab.instance.pool.reads[unit.unit_id]
        true = np.array([counted[position] for position in range(unit.total)], dtype=np.float64)
        yield load_block_heat(ledger, "shop")[key], true


def by_part(reads: F64, edges: F64) -> F64:
    """Share of each twentieth of the unit; of what lies in two of them as much as does."""
    upto = np.concatenate(([0.0], np.cumsum(reads)))
    parts = np.diff(np.interp(np.linspace(0, edges[-1], PARTS + 1), edges, upto))
    return np.asarray(parts / parts.sum(), dtype=np.float64)


def largest_error(heat: RangeHeat, true: F64) -> float:
    """Over the twentieths, between the share of the reads that was true and the one that was seen."""
    edges = np.minimum(np.arange(heat.ranges + 1) * heat.width, heat.blocks).astype(np.float64)
    seen = by_part(heat.reads.sum(axis=0), edges)
    return float(np.abs(seen - by_part(true, np.arange(len(true) + 1, dtype=np.float64))).max())


@pytest.fixture
def orders(lab: Lab) -> Table:
    """Sixteen times as large as the pool, and smaller ones around it."""
    lab.instance.pool_pages = POOL
    add_table(lab.shop, "before", pages=900)
    made = add_table(lab.shop, "orders", pages=PAGES)
    add_table(lab.shop, "behind", pages=900)
    return made


@pytest.mark.parametrize(
    ("load", "shape"), [(newest_tenth, HeatShape.NEWEST), (stripes, HeatShape.SCATTERED), (anywhere, HeatShape.EVEN)]
)
def test_the_share_of_each_range_is_seen(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table, load: Load, shape: HeatShape
) -> None:
    """Within 0.05 of the truth by the lab's own count, and the shape is told; waits follow reads on one disk."""
    with looked_into(lab, driver, tmp_path, orders, load) as (heat, true):
        assert largest_error(heat, true) <= 0.05
        found = concentrate(heat)
        assert found.shape is shape
        assert 0.6 < heat.coverage <= 1.0
        if found.part is not None:
            of_reads = found.part.share.of_reads
            assert heat.wait_share(found.part.first_block, found.part.blocks) == pytest.approx(of_reads, abs=0.02)


def test_explain_shows_what_is_inside(lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table) -> None:
    """The sentence with the share of the reads and of the time that they took, and the picture."""
    site = Site(tmp_path, watched(lab, driver, tmp_path))
    lab.instance.look_up(lab.shop, orders.base, orders.base.partitions[0], range(0, PAGES, 16))
    site.good("plan", "--observe", "0.3")
    with looked_into(lab, driver, tmp_path, orders, newest_tenth):
        pass
    shown = site.good("explain", "[dbo].[orders]").out
    assert "inside" in shown
    assert "of its reads from storage (" in shown
    assert "% of the time that these took" in shown
    assert shown.count(" |") >= 16
    assert site.good("explain", "[dbo].[orders]", "--json").document["inside"]["shape"] == "newest"


def watched(lab: Lab, driver: OdbcDriver, folder: Path) -> dict[str, Any]:
    """A configuration that only watches."""
    return {
        "name": "shop",
        "engine": "sqlserver",
        "connection": connection(lab, driver, folder, READER),
        "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
        "sample_every": "0.2s",
        "settle": "0.2s",
        "policy": {"minimum_history": "0s"},
    }


def test_pages_that_lie_between_others_are_put_in_order(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table
) -> None:
    """A table whose extents alternate with another's: the newest tenth is still found, and is as hot as it is."""
    other = add_table(lab.shop, "others", pages=8)
    grown = add_table(lab.shop, "grown", pages=8)
    for _ in range((PAGES - 8) // 8):
        lab.shop.storage.grow(unit_of(grown), 8)
        lab.shop.storage.grow(unit_of(other), 8)
    with looked_into(lab, driver, tmp_path, grown, newest_tenth) as (heat, true):
        assert largest_error(heat, true) <= 0.05
        assert concentrate(heat).shape is HeatShape.NEWEST


def test_a_slow_part_waits_more_than_it_reads(lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table) -> None:
    """Read times of pages, which no other engine tells: 0.2 and 8 ms."""
    disk = lab.shop.storage.files[3].volume
    with connected(lab, driver, tmp_path, READER) as connector, connector.read_blocks() as reader:
        before = reader.look(np.array([id_of(orders)])).units[0]
        disk.seeks = False
        lab.instance.look_up(lab.shop, orders.base, orders.base.partitions[0], range(100, 150))
        disk.seeks = True
        lab.instance.look_up(lab.shop, orders.base, orders.base.partitions[0], range(7000, 7050))
        after = reader.look(np.array([id_of(orders)])).units[0]
    assert not len(before.resident)
    assert after.read_seconds is not None
    late = after.resident > PAGES // 2
    assert np.median(after.read_seconds[late]) == pytest.approx(0.008)
    assert np.median(after.read_seconds[~late]) == pytest.approx(0.0002)


def test_a_page_keeps_its_identity_when_its_number_changes(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table
) -> None:
    """Once more extents are known others have other numbers: none of them looks as if it had come in."""
    look_up = lab.instance.look_up
    with connected(lab, driver, tmp_path, READER) as connector, connector.read_blocks() as reader:
        look_up(lab.shop, orders.base, orders.base.partitions[0], [4000, 4100])
        first = reader.look(np.array([id_of(orders)])).units[0]
        look_up(lab.shop, orders.base, orders.base.partitions[0], [100, 4050, 7900])
        second = reader.look(np.array([id_of(orders)])).units[0]
    assert not set(first.resident.tolist()) <= set(second.resident.tolist())
    assert set(first.identities.tolist()) <= set(second.identities.tolist())
    assert second.resident.tolist() == sorted(second.resident.tolist())
    assert second.blocks >= PAGES > second.resident.max()


def test_large_pools_are_listed_in_part(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page of four, the same ones each time."""
    monkeypatch.setattr(blocks, "MOST_LISTED", POOL // 4)
    base = orders.base
    lab.instance.look_up(lab.shop, base, base.partitions[0], range(3000, 3400))
    with connected(lab, driver, tmp_path, READER) as connector, connector.read_blocks() as reader:
        first, second = (reader.look(np.array([id_of(orders)])) for _ in range(2))
    assert first.one_in == 4
    listed = first.units[0].identities
    assert 60 < len(listed) < 140
    assert listed.tolist() == second.units[0].identities.tolist()


def test_one_look_walks_the_pool_once(lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table) -> None:
    """However many units it is for; one that is gone is left out, and one without large values has none."""
    other = add_table(lab.shop, "other", pages=64)
    wanted = np.array([id_of(orders), id_of(other), id_of(other, lob=True), 77 << 30])
    with connected(lab, driver, tmp_path, READER) as connector, connector.read_blocks() as reader:
        found = reader.look(wanted)
    assert lab.instance.pool_walks == 1
    assert [each.physical_id for each in found.units] == [id_of(orders), id_of(other)]


def test_large_values_are_a_unit_of_their_own(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Their waits are in the row of their table, so that nothing is counted for them."""
    notes = add_table(lab.shop, "notes", pages=64, lob_pages=80)
    (large,) = (unit for kind, unit in notes.base.partitions[0].units.items() if kind != IN_ROW)
    lab.instance.pool.touch(large, 40, microseconds=700)
    with connected(lab, driver, tmp_path, READER) as connector, connector.read_blocks() as reader:
        (found,) = reader.look(np.array([id_of(notes, lob=True)])).units
    assert isnan(found.reads)
    assert (found.blocks, len(found.resident)) == (80, 1)
    assert found.read_seconds is not None
    assert found.read_seconds.tolist() == pytest.approx([0.0007])


def verdicts(connector: SqlserverConnector) -> tuple[bool, str, str]:
    """The capability, what the doctor says, and its advice."""
    (capability,) = (each for each in connector.capabilities() if each.name == BLOCK_HEAT)
    (finding,) = (each for each in connector.doctor() if each.code == "block_looks")
    return capability.available, finding.sentence, finding.remedy


def test_the_doctor_tells_right_and_cost(lab: Lab, driver: OdbcDriver, tmp_path: Path, orders: Table) -> None:
    """What a look walks through and how long that takes; without the right, or with a huge pool, why there are none."""
    lab.instance.pool_pages = 8 << 17
    with connected(lab, driver, tmp_path, READER) as connector:
        there, said, _ = verdicts(connector)
        assert there
        assert "walks through 8.0 GiB of memory, about 315 ms" in said
        lab.instance.pool_pages = 600 << 17
        there, said, remedy = verdicts(connector)
        assert not there
        assert "at most 512" in said
        assert "block_looks: 0%" in remedy
        with connector.read_blocks() as reader, pytest.raises(PrivilegeMissing, match="too large to walk through"):
            reader.look(np.array([id_of(orders)]))
    assert lab.instance.pool_walks == 0
    lab.instance.pool_pages = POOL
    with connected(lab, driver, tmp_path, STRANGER) as connector:
        (capability,) = (each for each in connector.capabilities() if each.name == BLOCK_HEAT)
        assert not capability.available
        assert "the right to see which pages are in memory" in capability.because
        with connector.read_blocks() as reader, pytest.raises(PrivilegeMissing):
            reader.look(np.array([id_of(orders)]))
