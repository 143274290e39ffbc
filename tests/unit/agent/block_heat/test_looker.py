"""Pairs of looks within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.sampling.block_heat import UnitBorders, load_block_heat, load_borders, save_borders
from agent.sampling.block_looks import (
    ASK_AGAIN_SECONDS,
    LONGEST_SECONDS,
    REST_SECONDS,
    SHORTEST_SECONDS,
    BlockLooker,
    BorderLooker,
    LookedAt,
)
from connectors.kit.contract import Connector, ConnectorError, PrivilegeMissing
from connectors.model.blocks import BlockLook, BlockReader, ResidentBlocks
from connectors.model.observation import I64
from policies.evidence.borders import BorderLook, FoundBorder, ValueBorder
from policies.evidence.range_heat import HeatShape, compare_looks, concentrate, with_turnover
from tests.unit.policies.block_heat.pool import Pool
from tests.virtual_clock import VirtualClock

UNIT = LookedAt(key="public.t", physical_id=7)
BLOCKS = 1280
BORDER = FoundBorder(
    border=ValueBorder(
        column="id", type_name="bigint", least="900", below=None, fit=1.0, of_rows=0.1, of_reads=0.8
    ),
    is_time=False, least=900.0, below=None, newest=1000.0,
)  # fmt: skip


class PoolReader(BlockReader):
    """Looks at a pool whose load goes on with the clock; each look takes some seconds of it."""

    def __init__(self, clock: VirtualClock, cost: float = 0.01, rate: float = 100.0) -> None:
        self.pool, self.clock, self.cost, self.rate = Pool(BLOCKS, 100, seed=1), clock, cost, rate
        self.looks: list[float] = []
        self.refuses = self.times_out = self.closed = self.counts_at_once = False
        self.storage, self.counted = [1], 1.0  # marks of the next looks, the last one for good; share of the reads
        self._weight = np.where(np.arange(BLOCKS) >= BLOCKS * 9 // 10, 30.0, 1.0)
        self._loaded = 0.0

    def look(self, physical_ids: I64) -> BlockLook:
        """The pool as it is by now."""
        if self.refuses:
            raise PrivilegeMissing("not for you", advice="GRANT")
        assert physical_ids.tolist() == [UNIT.physical_id]
        now = self.clock.monotonic()
        if self.times_out:
            self.looks.append(now)
            self.clock.sleep(self.cost)
            raise ConnectorError("no answer in time", advice="")
        self.pool.load(round(min(2.5, now - self._loaded) * self.rate), self._weight)
        self._loaded = now
        self.looks.append(now)
        self.clock.sleep(self.cost)
        resident = ResidentBlocks(
            physical_id=UNIT.physical_id, blocks=BLOCKS, reads=self.pool.reads.sum() * self.counted,
            resident=self.pool.look(), storage=self.storage.pop(0) if len(self.storage) > 1 else self.storage[0],
            counts_at_once=self.counts_at_once,
        )  # fmt: skip
        return BlockLook(monotonic_seconds=now, server_seconds=self.cost, block_bytes=8192, one_in=1, units=(resident,))

    def close(self) -> None:
        """Noted."""
        self.closed = True


class Engine:
    """The one part of a connector that is asked for."""

    def __init__(self, reader: PoolReader) -> None:
        self._reader = reader

    def read_blocks(self) -> BlockReader:
        """The reader."""
        return self._reader


class World:
    """A looker, its reader and their clock."""

    def __init__(self, ledger: Ledger, clock: VirtualClock, share: float, **reader: float) -> None:
        self.clock, self.ledger = clock, ledger
        self.reader = PoolReader(clock, **reader)
        self.looker = self.another(share)

    def another(self, share: float = 0.01) -> BlockLooker:
        """A looker after a restart."""
        made = BlockLooker("shop", share, lambda: cast(Connector, Engine(self.reader)), self.ledger, self.clock)
        made.choose((UNIT,))
        return made

    def live(self, seconds: float) -> None:
        """Take turns for so long."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.looker.take_turn()
            self.clock.sleep(5.0)


@contextmanager
def world(folder: Path, share: float = 0.01, **reader: float) -> Iterator[World]:
    """A world with a ledger of its own."""
    clock = VirtualClock()
    with Ledger.open(folder / "ledger.db", clock) as ledger:
        yield World(ledger, clock, share, **reader)


def test_looks_take_no_more_than_their_share_of_server_time(tmp_path: Path) -> None:
    """Dear looks are taken seldom; the budget holds over any long time."""
    with world(tmp_path, share=0.001, cost=0.4) as made:
        made.live(20_000.0)
        assert 0.0005 < made.looker.server_seconds / made.clock.monotonic() <= 0.0011


def test_looks_that_fail_take_no_more_than_their_share_either(tmp_path: Path) -> None:
    """A walk that the server gave up after a minute has cost it a minute."""
    with world(tmp_path, share=0.01, cost=60.0) as made:
        made.reader.times_out = True
        until, failures = made.clock.monotonic() + 30_000.0, 0
        while made.clock.monotonic() < until:
            with suppress(ConnectorError):
                made.looker.take_turn()
            made.clock.sleep(5.0)
        failures = len(made.reader.looks)
        assert failures == 5  # 60 s each, so 6,000 s apart
        assert made.looker.server_seconds == pytest.approx(failures * 60.0)


def test_cheap_looks_rest_between_pairs_all_the_same(tmp_path: Path) -> None:
    """However little they cost."""
    with world(tmp_path, share=0.1, cost=0.001) as made:
        made.live(3_000.0)
        pairs = np.array(made.reader.looks[::2])
        assert np.diff(pairs).min() >= REST_SECONDS


def test_nothing_is_asked_without_a_share_or_a_unit(tmp_path: Path) -> None:
    """0 switches looks off, and a plan that names no unit leaves the server alone."""
    with world(tmp_path, share=0.0) as made:
        made.live(1_000.0)
        assert made.reader.looks == []
    with world(tmp_path / "b") as made:
        made.looker.choose(())
        made.live(1_000.0)
        assert made.reader.looks == []


@pytest.mark.parametrize(("rate", "apart"), [(2.0, LONGEST_SECONDS), (2_000.0, SHORTEST_SECONDS)])
def test_looks_come_nearer_where_the_pool_is_turned_over_fast(tmp_path: Path, rate: float, apart: float) -> None:
    """And farther apart where little comes in."""
    with world(tmp_path, cost=0.001, rate=rate) as made:
        made.live(600.0)
        first, second = made.reader.looks[-2:]
        assert second - first == pytest.approx(apart, abs=0.06)


def test_the_share_of_the_hottest_tenth_is_known_of_chosen_units_alone(tmp_path: Path) -> None:
    """For the metrics: nothing before enough was seen, and nothing of a unit that is looked into no more."""
    with world(tmp_path) as made:
        assert made.looker.hottest_tenths() == {}
        made.live(1_800.0)
        share = made.looker.hottest_tenths()[UNIT.key]
        reads = made.reader.pool.reads
        assert share == pytest.approx(reads[BLOCKS * 9 // 10 :].sum() / reads.sum(), abs=0.05)
        made.looker.choose(())
        assert made.looker.hottest_tenths() == {}


def test_what_was_seen_is_there_after_a_restart(tmp_path: Path) -> None:
    """And goes on from there."""
    with world(tmp_path) as made:
        made.live(900.0)
        made.looker.close(save=True)
        assert made.reader.closed
        before = load_block_heat(made.ledger, "shop")[UNIT.key]
        assert before.pairs > 10
        assert before.coverage > 0.8
        hot = before.reads[:, before.ranges * 9 // 10 :].sum() / before.reads.sum()
        true = made.reader.pool.reads[BLOCKS * 9 // 10 :].sum() / made.reader.pool.reads.sum()
        assert hot == pytest.approx(true, abs=0.1)
        made.looker = made.another()
        made.live(100.0)
        made.looker.close(save=True)
        assert load_block_heat(made.ledger, "shop")[UNIT.key].pairs > before.pairs


def test_a_login_that_may_not_look_is_asked_again_after_an_hour(tmp_path: Path) -> None:
    """The error says so each time; in between nothing is asked."""
    with world(tmp_path) as made:
        made.reader.refuses = True
        with pytest.raises(PrivilegeMissing):
            made.looker.take_turn()
        made.live(ASK_AGAIN_SECONDS - 10.0)
        made.reader.refuses = False
        made.live(30.0)
        assert len(made.reader.looks) == 2


def test_an_engine_without_such_a_view_is_never_asked(tmp_path: Path) -> None:
    """Its connector does not offer the capability."""
    with world(tmp_path) as made:
        asked: list[Any] = []

        def connect() -> Connector:
            asked.append(1)
            return cast(Connector, object())

        looker = BlockLooker("shop", 0.01, connect, made.ledger, made.clock)
        looker.choose((UNIT,))
        assert not looker.take_turn()
        assert not looker.take_turn()
        assert len(asked) == 1


def seen_of(made: World, turns: int) -> float:
    """Blocks that a looker has seen to come in after so many turns of a new one, by what it has stored."""
    made.looker = made.another(1.0)
    for _ in range(turns):
        made.clock.sleep(REST_SECONDS)
        made.looker.take_turn()
    made.looker.close(save=True)
    found = load_block_heat(made.ledger, "shop")
    return found[UNIT.key].seen if UNIT.key in found else 0.0


def test_heat_by_position_ends_with_the_storage_that_it_was_seen_in(tmp_path: Path) -> None:
    """A table that was written anew begins again, and a pair of looks with a rewrite between them says nothing."""
    with world(tmp_path, share=1.0) as made:
        before = seen_of(made, 6)
        assert before > 0
        made.reader.storage = [1, 2]
        assert seen_of(made, 1) == before
        assert 0 < seen_of(made, 1) < before


def test_looks_at_blocks_that_were_formatted_and_not_read_say_nothing(tmp_path: Path) -> None:
    """Where the engine counts reads as they happen: more blocks came than it has read."""
    with world(tmp_path, share=1.0, rate=400.0) as made:
        made.reader.counts_at_once, made.reader.counted = True, 0.0
        assert seen_of(made, 4) == 0
        made.reader.counted = 1.0
        assert seen_of(made, 4) > 0


def test_heat_ends_with_a_rewrite_after_which_a_unit_is_no_longer_looked_into(tmp_path: Path) -> None:
    """It may be small now: it is looked at once more, its heat and its border end, and the server is left alone."""
    with world(tmp_path, share=1.0) as made:
        assert seen_of(made, 6) > 0
        save_borders(made.ledger, "shop", {UNIT.key: UnitBorders(looks=(BorderLook(at_hour=0.0, found=BORDER),))})
        looker = made.another(1.0)
        looker.choose(())
        looker.take_turn()
        assert UNIT.key in load_block_heat(made.ledger, "shop")
        looker.choose((UNIT,))
        made.reader.storage = [2]
        looker.choose(())
        looks = len(made.reader.looks)
        for _ in range(3):
            made.clock.sleep(REST_SECONDS)
            looker.take_turn()
        assert len(made.reader.looks) == looks + 2
        looker.close(save=True)
        assert load_block_heat(made.ledger, "shop") == {}
        assert load_borders(made.ledger, "shop") == {}


def test_a_border_ends_with_the_part_that_it_borders(tmp_path: Path) -> None:
    """Reads that go to the whole table by now leave no hot rows behind a value."""
    with world(tmp_path) as made:
        before = UnitBorders(looks=(BorderLook(at_hour=0.0, found=BORDER),))
        save_borders(made.ledger, "shop", {UNIT.key: before})
        found = compare_looks(np.arange(0), np.arange(0, BLOCKS, 2), blocks=BLOCKS, block_bytes=8192, seconds=1.0)
        even = with_turnover(with_turnover(None, found, 1.0, 0.0), found, 1.0, 0.1)
        assert concentrate(even).shape is HeatShape.EVEN
        looker = BorderLooker("shop", made.ledger, made.clock, may_read=True)
        looker.look(cast(Connector, Engine(made.reader)), UNIT, even)
        assert load_borders(made.ledger, "shop") == {}
