"""The replay of recorded block accesses is true: its cut, its demand, hotplace in it, and the caches next to it."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from connectors.model.observation import I64
from tests.bench import traces
from tests.bench.policies.wandering.page_caches import Arc, Lru
from tests.bench.policies.wandering.product import Hotplace
from tests.bench.policies.wandering.stage import Stage

HOURS = 24


def made_up(pages: int = 400, hours: int = HOURS, seed: int = 5) -> traces.Trace:
    """Of ten accesses nine go to the first twentieth of the blocks, the tenth to any of them."""
    draw = np.random.default_rng(seed)
    hot = draw.integers(0, pages // 20, 9 * 100 * hours)
    any_ = np.concatenate((np.arange(pages), draw.integers(0, pages, 100 * hours - pages)))
    page = draw.permutation(np.concatenate((hot, any_)))
    return traces.trace_of("made up", 7 * page + 3, np.arange(len(page)) * hours // len(page), hours)


def twenty_units(trace: traces.Trace) -> I64:
    """Twenty units of as many blocks each."""
    return np.arange(trace.pages) * 20 // trace.pages


def test_every_access_is_asked_of_the_unit_that_holds_its_block() -> None:
    """Blocks 5, 6, 90, 91 as two units: reads and bytes by hand, scaled to 2,000 reads a second."""
    trace = traces.trace_of("t", np.array([5, 90, 6, 90, 5, 91]), np.array([0, 0, 0, 1, 1, 1]), 2)
    world = traces.world_of(trace, np.array([0, 0, 1, 1]), 0.5)
    assert trace.factor == pytest.approx(2000 * 7200 / 6)
    assert (world.spot * 3600 / trace.factor).tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert world.size[1].tolist() == [round(2 * 4096 * trace.factor)] * 2
    assert world.capacity == pytest.approx(2 * 4096 * trace.factor, abs=1)
    assert float(world.spot.mean(axis=0).sum()) == pytest.approx(2000)


def test_units_and_ranges_hold_every_block_once_and_in_order() -> None:
    """No unit is empty, units are skewed, and no range lies in two units."""
    unit = traces.unit_of_pages(50_000)
    part = traces.range_of_pages(unit)
    assert (np.diff(unit) >= 0).all()
    assert np.unique(unit).tolist() == list(range(traces.UNITS))
    assert np.unique(part).tolist() == list(range(int(part.max()) + 1))
    assert {len(np.unique(unit[part == at])) for at in range(int(part.max()) + 1)} == {1}
    assert np.bincount(unit[np.unique(part, return_index=True)[1]]).max() == traces.RANGES
    assert np.bincount(unit).max() > 5 * np.median(np.bincount(unit))
    assert traces.range_of_pages(np.array([0, 0, 0, 1])).tolist() == [0, 1, 2, 3]


def test_hotplace_places_what_is_hot_and_wins_its_share() -> None:
    """One unit fits, and nine tenths and a twentieth of a tenth of the reads are the hot one's, once it is moved."""
    trace = made_up()
    world = traces.world_of(trace, twenty_units(trace), 0.05)
    score = Stage(world).play(Hotplace(world))
    most = float(world.saving.sum())
    assert 0.905 * (HOURS - 3) / HOURS < score.saved_seconds / most < 0.915
    assert score.moved_bytes == world.size[0, 0]


@pytest.mark.skipif(find_spec("libcachesim") is None, reason="no libcachesim: python -m tests.components --loads")
def test_caches_win_what_is_known_of_them() -> None:
    """400 blocks in turn, room for 300: LRU never hits, the optimum 299 of 399 times; LRU and ARC do as our own do."""
    turn = traces.trace_of("turn", np.tile(np.arange(400), 60), np.arange(24_000) // 1000, HOURS)
    world = traces.world_of(turn, twenty_units(turn), 0.75)
    won = {name: score.saved_seconds / float(world.saving.sum()) for name, score in traces.play_caches(turn, world)}
    assert won["LRU"] == 0
    assert won["Belady's optimum"] == pytest.approx(299 / 399, abs=0.015)  # nothing in the first turn
    trace = made_up()
    world = traces.world_of(trace, twenty_units(trace), 0.1)
    scores = dict(traces.play_caches(trace, world))
    for name, own in (("LRU", Lru(40)), ("ARC", Arc(40))):
        hits = sum(map(own.read, trace.page.tolist()))
        assert scores[name].saved_seconds / float(world.saving.sum()) == pytest.approx(hits / len(trace.page))
        assert scores[name].moved_bytes == pytest.approx((len(trace.page) - hits) * 4096 * trace.factor)
    assert all(scores[name].saved_seconds <= scores["Belady's optimum"].saved_seconds for name in scores)
