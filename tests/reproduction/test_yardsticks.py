"""The yardsticks of the comparison are themselves true: hindsight is best, the cache behaves like a cache."""

from __future__ import annotations

from collections import OrderedDict
from itertools import product

import numpy as np
import pytest

from connectors.model.observation import NO_PARENT, SIGNALS, Signal
from policies.evidence.prices import HOUR
from tests.bench.policies.baselines import Ranker, filled, misses_per_byte, saving_per_byte, swaps
from tests.bench.policies.cache import PAGE, cached_shares
from tests.bench.policies.hindsight import Hindsight, best_placement
from tests.bench.policies.stage import COPY_BYTES_PER_SECOND, Hop, Past, Stage, saving
from tests.workloads.catalogue import GIB, Catalogue
from tests.workloads.patterns import SHAPES, WEEK, Workload, workload


@pytest.mark.parametrize("seed", range(5))
def test_the_solver_finds_what_trying_everything_finds(seed: int) -> None:
    """Of twelve units, no placement within capacity is worth more than HiGHS's."""
    draw = np.random.default_rng(seed)
    size = draw.integers(1, 100, 12)
    value = draw.normal(10, 10, 12)
    every = np.array(list(product((False, True), repeat=12)))
    best = max(float(value[row].sum()) for row in every if size[row].sum() <= 200)
    chosen = best_placement(value, size, 200)
    assert size[chosen].sum() <= 200
    assert float(value[chosen].sum()) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_workload_is_what_its_seed_says(shape: str) -> None:
    """The same seed gives the same demand, another seed another; means stay finite and nothing is negative."""
    again, other = workload(shape, 1, units=40, hours=48), workload(shape, 2, units=40, hours=48)
    work = workload(shape, 1, units=40, hours=48)
    assert np.array_equal(work.rates(30), again.rates(30))
    assert not np.array_equal(work.rates(30), other.rates(30))
    assert np.isfinite(work.factors).all()
    assert (work.factors >= 0).all()


def test_the_skew_is_about_that_of_the_warehouse() -> None:
    """The best tenth of the bytes holds 55 to 75 % of what can be saved, the mean of eight seeds."""
    shares = []
    for seed in range(1, 9):
        units = workload("stationary", seed, hours=1).catalogue
        worth = saving(units.rates)
        best = best_placement(worth, units.size_bytes, 0.1 * units.size_bytes.sum())
        shares.append(worth[best].sum() / worth.sum())
    assert 0.55 < np.mean(shares) < 0.75


def test_nobody_beats_hindsight_where_nothing_changes() -> None:
    """Without noise, the best fixed placement wins more than any ranking, and every baseline wins something."""
    noisy = workload("stationary", 3, units=120, hours=72)
    work = Workload(name="still", catalogue=noisy.catalogue, factors=np.ones((72, 120)))
    capacity = Stage(work).capacity
    best = Stage(work).play(Hindsight(work, capacity))
    for score in (saving_per_byte, misses_per_byte):
        other = Stage(work).play(Ranker("other", score, work.catalogue, capacity, every=24, window=24))
        assert 0 < other.gain < best.gain
        assert other.undone == 0


def one_unit(gib: int = 1) -> Workload:
    """One table with ten waited-for reads a second."""
    rates = np.zeros((SIGNALS, 2))
    rates[Signal.SYNC_READ, 0] = 10.0
    units = Catalogue(
        key=["t", "cold"],
        kind=np.zeros(2, dtype=np.int8),
        size_bytes=np.array([gib * GIB, 100 * GIB], dtype=np.int64),
        parent=np.full(2, NO_PARENT, dtype=np.int64),
        rates=rates,
    )
    return Workload(name="one", catalogue=units, factors=np.ones((2, 2)))


class Once:
    """Moves the first unit up in hour 0, and down in hour 1 where asked."""

    name = "once"

    def __init__(self, *, back: bool) -> None:
        self._back = back

    def decide(self, hour: int, fast: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[Hop]:
        """One move an hour."""
        return [Hop(0, up=hour == 0)] if hour == 0 or self._back else []

    def saw(self, past: Past) -> None:
        """Nothing to learn."""


def test_the_stage_counts_what_happens() -> None:
    """A unit serves from its old home until its copy is done, every copy costs, and going back at once is undone."""
    copying = GIB / COPY_BYTES_PER_SECOND
    stays = Stage(one_unit()).play(Once(back=False))
    assert stays.saved_seconds == pytest.approx(10 * 0.0053 * (2 * HOUR - copying))
    assert stays.cost_seconds == pytest.approx(copying * 2 / 3 * (4 + 0.0055 * 10), rel=0.02)
    assert (stays.moves, stays.undone) == (1, 0)
    assert stays.capacities_per_week == pytest.approx(GIB / (10.1 * GIB) / (2 / WEEK))
    back = Stage(one_unit()).play(Once(back=True))
    assert back.saved_seconds == pytest.approx(10 * 0.0053 * HOUR)
    assert (back.moves, back.undone, back.unpaid) == (2, 1, 0), "an hour on the fast tier pays for a copy of seconds"


def test_what_does_not_fit_is_not_moved() -> None:
    """20 GiB do not go where 12 GiB fit."""
    assert Stage(one_unit(20)).play(Once(back=False)).moves == 0


def test_room_is_made_before_it_is_used() -> None:
    """Swaps demote the lowest first and only as many as are needed."""
    size = np.array([5, 5, 8, 3])
    score = np.array([1.0, 2.0, 9.0, 0.5])
    assert swaps(score, np.array([False, False, True, False]), [3, 0, 1], size, 0) == [
        Hop(3, up=False),
        Hop(0, up=False),
        Hop(2, up=True),
    ]
    assert filled(score, size, 13).tolist() == [False, True, True, False]


def test_the_cache_of_the_formula_is_the_cache_of_a_real_list() -> None:
    """Three units of 200 pages read at random at 1, 4 and 20 a page and hour: shares within 5 points of a real LRU."""
    draw = np.random.default_rng(5)
    pages, per_hour, hours, capacity = 200, np.array([1.0, 4.0, 20.0]), 6, 300
    asked = np.arange(hours + 1)[:, np.newaxis] * per_hour[np.newaxis, :]
    shares = cached_shares(asked, hours, np.full(3, float(pages * PAGE)), capacity * PAGE)
    recent: OrderedDict[tuple[int, int], None] = OrderedDict()
    events = int(per_hour.sum() * pages * hours)
    whose = draw.choice(3, size=events, p=per_hour / per_hour.sum())
    for unit, page in zip(whose, draw.integers(0, pages, events), strict=True):
        recent[int(unit), int(page)] = None
        recent.move_to_end((int(unit), int(page)))
        if len(recent) > capacity:
            recent.popitem(last=False)
    held = np.bincount([unit for unit, _ in recent], minlength=3) / pages
    assert np.abs(held - shares).max() < 0.05
