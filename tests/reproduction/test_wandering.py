"""The yardstick for hot spots that move is true: its arithmetic, its rules, its seeds, and the best fixed placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from connectors.model.observation import NO_PARENT, SIGNALS, Bools
from tests.bench.policies.stage import COMPUTING, COPY_BYTES_PER_SECOND, SLOWED_BY_COPY, Hop, Past
from tests.bench.policies.wandering import frozen, rules
from tests.bench.policies.wandering.bound import most_with_copies
from tests.bench.policies.wandering.days import Days, with_totals
from tests.bench.policies.wandering.fixed import BestFixed, best_fixed, most_by_hour
from tests.bench.policies.wandering.held_out import DRAWN, held_out_world
from tests.bench.policies.wandering.page_caches import Arc, Lru, WTinyLfu, cache_rows, play_caches
from tests.bench.policies.wandering.product import Hotplace
from tests.bench.policies.wandering.rolling import ROLLING, rolling_world
from tests.bench.policies.wandering.shapes import world
from tests.bench.policies.wandering.stage import HEAD_ROOM, Moment, Policy, Score, Stage
from tests.bench.policies.wandering.table import Play, figures
from tests.bench.policies.wandering.world import World
from tests.bench.policy_births import Births
from tests.bench.policy_births import figures as births_figures
from tests.over import over
from tests.workloads.catalogue import Catalogue

GB = 10**9

FROZEN = {  # shape -> thousands of seconds that everything saves on the fast tier, units, capacity in MiB; seed 1
    "hot_spot_24h": (25600, 160, 61440),
    "hot_spot_72h": (25515, 160, 61440),
    "hot_spot_7d": (25578, 160, 61440),
    "partition_36h": (25978, 198, 71263),
    "partition_12h": (25714, 198, 71307),
    "hot_for_4d": (25046, 160, 61440),
    "hot_for_10d": (23383, 160, 61440),
    "drifting": (36920, 160, 61440),
    "weekly": (13042, 160, 61440),
    "flash_crowd": (31682, 160, 61440),
    "day_night": (14485, 160, 61440),
    "month_end": (24522, 160, 61440),
    "batch_scans": (38636, 160, 61440),
    "growth": (28331, 160, 61440),
    "churn": (25015, 300, 66251),
    "regime_change": (25451, 160, 61440),
    "stationary": (25742, 160, 61440),
}


def small(reads: Sequence[Sequence[float]], size: Sequence[int], hours: int = 4) -> World:
    """Units with random reads per second by hour, ``(hours, n)`` or one row for all; the tier holds a tenth."""
    n, spot = len(size), np.broadcast_to(np.array(reads, dtype=np.float64), (hours, len(size)))
    catalogue = Catalogue(
        key=[f"t{row}" for row in range(n)],
        kind=np.zeros(n, dtype=np.int8),
        size_bytes=np.array(size, dtype=np.int64),
        parent=np.full(n, NO_PARENT, dtype=np.int64),
        rates=np.zeros((SIGNALS, n)),
    )
    return World(
        name="small", seed=0, catalogue=catalogue, factors=np.zeros((hours, n)), spot=spot.copy(),
        size=np.broadcast_to(catalogue.size_bytes, (hours, n)).copy(), alive=np.ones((hours, n), dtype=np.bool_),
    )  # fmt: skip


class Script:
    """Does what it was written to do, hour by hour, and remembers what it saw."""

    name = "script"

    def __init__(self, hops: dict[int, list[Hop]]) -> None:
        self._hops = hops
        self.past: list[Past] = []

    def decide(self, moment: Moment) -> list[Hop]:
        """As written."""
        return self._hops.get(moment.hour, [])

    def saw(self, past: Past) -> None:
        """Remember it."""
        self.past.append(past)


def test_waits_and_copies_are_accounted_for_as_by_hand() -> None:
    """10 reads a second saved from the end of a 20 s copy on; the copy takes two thirds of every session's time."""
    here = small([[10.0, 0.0]], [GB, 99 * GB], hours=2)
    script = Script({0: [Hop(0, up=True)]})
    score = Stage(here).play(script)
    per_second = 10 * (0.0055 - 0.0002) + 2 * 0.3 * (0.00005 - 0.00002)
    copy = GB / COPY_BYTES_PER_SECOND
    assert copy == 20
    assert score.saved_seconds == pytest.approx(per_second * (7200 - 20))
    waiting = 10 * 0.0055 + 2 * 0.3 * 0.00005 - per_second * 3580 / 3600
    assert script.past[0].wait == pytest.approx(waiting)
    assert score.cost_seconds == pytest.approx(SLOWED_BY_COPY * (COMPUTING + waiting) * 20)
    assert score.gain == score.saved_seconds - score.cost_seconds
    assert (score.moves, score.moved_bytes, score.taken_back) == (1, GB, 0)


def test_what_finds_no_room_or_no_time_is_not_begun() -> None:
    """The tier holds a tenth, a copy must end within its hour, and a unit goes once in an hour."""
    here = small([[1.0, 1.0, 1.0]], [60 * GB, 50 * GB, 890 * GB])
    first = {0: [Hop(0, up=True), Hop(1, up=True), Hop(0, up=False)]}
    assert Stage(here).play(Script(first)).moves == 1
    large = small([[1.0, 1.0]], [200 * GB, 2000 * GB])
    assert Stage(large).play(Script({0: [Hop(0, up=True)]})).moves == 0


def test_a_promotion_that_is_reversed_within_a_day_is_judged_by_what_it_saved() -> None:
    """One stay paid for one of its copies, one for none, the busy one for both; after a day no stay is judged."""
    here = small([[0.8, 100.0, 0.0, 0.0, 0.0]], [GB, GB, GB, GB, 36 * GB], hours=30)
    up, down = [Hop(row, up=True) for row in range(4)], [Hop(row, up=False) for row in range(3)]
    score = Stage(here).play(Script({0: up, 5: down, 24: [Hop(3, up=False)]}))
    assert (score.moves, score.taken_back, score.unpaid) == (8, 3, 2)


def test_what_grows_beyond_the_tier_and_what_is_dropped_saves_nothing() -> None:
    """Residents twice as large as the tier are served by it to half; a unit that is gone leaves at no cost."""
    still = small([[10.0, 0.0]], [10 * GB, 90 * GB], hours=3)
    size, alive = still.size.copy(), still.alive.copy()
    size[1:, 0] = 2 * 10 * GB / (1 - HEAD_ROOM)
    alive[2, 0] = False
    here, script = replace(still, size=size, alive=alive), Script({0: [Hop(0, up=True)]})
    score = Stage(here).play(script)
    hour = float(here.saving[1, 0])
    assert score.saved_seconds == pytest.approx(hour * (3400 / 3600 + 0.5))
    assert (score.moves, bool(script.past[2].fast[0])) == (1, False)


def moment(here: World, fast: Sequence[int]) -> Moment:
    """Hour 24, with those rows on the fast tier."""
    chosen = np.zeros(len(here.catalogue), dtype=np.bool_)
    chosen[list(fast)] = True
    return Moment(hour=24, fast=chosen, alive=here.alive[0], size=here.size[0])


def decided(rule: str, here: World, fast: Sequence[int], hours: Sequence[int]) -> list[Hop]:
    """What a rule does after having seen those hours."""
    ranker = next(one for one in rules.rankers(here) if one.name == rule)
    for hour in hours:
        ranker.saw(Past(hour=hour, rates=here.rates(hour), fast=here.alive[0], copied_seconds=0.0, wait=0.0))
    return list(ranker.decide(moment(here, fast)))


@pytest.mark.parametrize(
    ("rule", "comes"),
    [
        ("daily 24 h mean", 0),  # hot for 18 hours: the most in the whole day
        ("6 h mean, residents x2", 1),  # hot in the last six
        ("per 6 h, residents x2", 1),
        ("LFU with ageing", 1),  # what is 12 hours old counts half
        ("busiest first", 2),  # large, so its many reads are few per byte
    ],
)
def test_each_rule_ranks_by_what_its_name_says(rule: str, comes: int) -> None:
    """Unit 0 was hot until six hours ago, unit 1 is hot now, unit 2 is the busiest and the largest."""
    earlier, lately = [60.0, 0.0, 65.0, 0.0], [0.0, 100.0, 65.0, 0.0]
    reads = [earlier] * 18 + [lately] * 6
    here = small(reads, [10 * GB, 10 * GB, 20 * GB, 160 * GB], hours=24)
    hops = decided(rule, here, [], range(24))
    assert hops[0] == Hop(comes, up=True)


@pytest.mark.parametrize(("newcomer", "moves"), [(1.9, 0), (2.1, 2)])
def test_a_resident_counts_twice(newcomer: float, moves: int) -> None:
    """Only what saves more than twice as much takes its place, behind the demotion that makes room."""
    here = small([[10.0, 10.0 * newcomer, 0.0]], [10 * GB, 10 * GB, 80 * GB], hours=24)
    for rule in ("6 h mean, residents x2", "per 6 h, residents x2"):
        assert decided(rule, here, [0], range(24)) == [Hop(0, up=False), Hop(1, up=True)][:moves]


def test_a_skewed_cache_beats_one_of_equal_pages() -> None:
    """One unit ten times the tier: equal pages are cached to a tenth, skewed ones keep far more of the reads."""
    here = small([[20_000.0]], [GB], hours=48)
    equal, skewed = rules.play_lru_of_equal_pages(here), rules.play_lru(here, "skewed")
    total = float(here.saving.sum())
    assert equal.saved_seconds / total == pytest.approx(0.1, abs=0.01)
    assert 0.25 < skewed.saved_seconds / total < 0.4  # half of a fifth that takes 0.8 of the reads, less what ages
    assert not equal.whole_units


@pytest.mark.parametrize("seed", range(4))
def test_the_best_fixed_placement_is_what_trying_everything_finds(seed: int) -> None:
    """Of ten units that come, grow and go, no choice that fits at every time is worth more."""
    draw = np.random.default_rng(seed)
    size = np.where(draw.random((3, 10)) < 0.7, draw.integers(1, 100, (3, 10)), 0).astype(np.float64)
    value = draw.normal(10, 10, 10)
    every = np.array(list(product((False, True), repeat=10)))
    fits = (size @ every.T <= 150.0).all(axis=0)
    chosen = best_fixed(value, size, 150.0)
    assert (size[:, chosen].sum(axis=1) <= 150.0).all()
    assert value[chosen].sum() == pytest.approx((every[fits] @ value).max(), rel=1e-4)


def test_played_out_no_fixed_placement_wins_more() -> None:
    """On the stage itself: every set of five units with noise, churn and growth, brought there as it is born."""
    reads = np.random.default_rng(5).lognormal(2.0, 1.0, (6, 6)).tolist()
    still = small(reads, [3 * GB, 2 * GB, 2 * GB, 1 * GB, 4 * GB, 48 * GB], hours=6)
    alive, size = still.alive.copy(), still.size.copy()
    alive[:2, 0], alive[4:, 1] = False, False
    size[3:, 3] += GB
    here = replace(still, alive=alive, size=size)
    best = Stage(here).play(BestFixed(here)).gain
    for mask in product((False, True), repeat=5):
        rows = [row for row in range(5) if mask[row]]
        if (np.where(alive, size, 0)[:, rows].sum(axis=1) > here.capacity).any():
            continue
        script = Script({hour: [Hop(row, up=True) for row in rows] for hour in range(6)})
        assert Stage(here).play(script).gain <= best * (1 + 1e-3)


@over("shape", frozen.SHAPES)
def test_the_shapes_are_frozen(shape: str) -> None:
    """The demand, the units and the tier of every shape are those that were drawn when the yardstick was made."""
    here = world(shape, 1)
    found = round(float(here.saving.sum()) / 1000), len(here.catalogue), here.capacity // 2**20
    assert found == FROZEN[shape]
    assert len(here.catalogue) <= 400
    assert here.hours == 28 * 24


@pytest.mark.parametrize("shape", ["hot_spot_24h", "churn"])
def test_a_seed_decides_everything(shape: str) -> None:
    """The same seed gives the same play to the product, another seed another world."""
    first, again, other = (world(shape, seed, hours=8, units=40) for seed in (1, 1, 2))
    assert np.array_equal(first.saving, again.saving)
    assert not np.array_equal(first.saving[:, :40], other.saving[:, :40])
    assert Stage(first).play(Hotplace(first)) == Stage(again).play(Hotplace(again))


def test_hotplace_decides_about_the_units_that_exist() -> None:
    """A hot unit is promoted; once it was dropped, its room goes to the hot one that was created since."""
    reads = [[50.0, 0.0, 0.0]] * 5 + [[0.0, 400.0, 0.0]] * 11
    still = small(reads, [4 * GB, 4 * GB, 41 * GB], hours=16)
    alive = still.alive.copy()
    alive[5:, 0], alive[:5, 1] = False, False
    here = replace(still, alive=alive)
    watched = Watched(Hotplace(here))
    assert Stage(here).play(watched).moves == 2
    assert watched.fast[4].tolist() == [True, False, False]
    assert watched.fast[15].tolist() == [False, True, False]


class Watched:
    """A policy whose residents are written down at the end of every hour."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self.fast: list[Bools] = []
        self._policy = policy

    def decide(self, moment: Moment) -> Sequence[Hop]:
        """As the policy does."""
        return self._policy.decide(moment)

    def saw(self, past: Past) -> None:
        """Write down who is on the fast tier."""
        self.fast.append(past.fast)
        self._policy.saw(past)


def test_a_proposal_waits_for_its_approval() -> None:
    """With eight hours of delay what was proposed is moved eight hours later, and nothing is lost but that time."""
    here = small([[50.0, 0.0]], [2 * GB, 38 * GB], hours=12)
    at_once, delayed = (Stage(here).play(Hotplace(here, delay_hours=delay)) for delay in (0, 8))
    assert at_once.moves == delayed.moves == 1
    lost = (at_once.saved_seconds - delayed.saved_seconds) / float(here.saving[0, 0])
    assert lost == pytest.approx(8.0, abs=0.01)


def score(gain: float, *, whole: bool = True, cost: float = 0.0, unpaid: int = 0) -> Score:
    """A score with that gain."""
    return Score(policy="p", saved_seconds=gain + cost, cost_seconds=cost, unpaid=unpaid, whole_units=whole)


def test_the_rows_say_what_their_names_say() -> None:
    """The worst play, the mean of the plays, the dearest shape, and moves that were reversed without having paid."""
    good = Play(
        shape="stationary", seed=1, fixed=score(100.0), product=score(99.0, cost=1.0), delayed=score(90.0),
        rules=(score(90.0), score(110.0, whole=False)), equal_pages=score(70.0), most=(62.0, 45.0),
        most_paid=105.0,
    )  # fmt: skip
    bad = replace(good, shape="churn", product=score(45.0, cost=5.0, unpaid=3))
    rows = {row["name"]: row["value"] for row in figures([good, bad])}
    assert rows["policy.wandering.vs_best_rule_min"] == pytest.approx(45 / 110)
    assert rows["policy.wandering.vs_best_rule_mean"] == pytest.approx((99 + 45) / 2 / 110)
    assert rows["policy.wandering.vs_best_rule_of_units_min"] == pytest.approx(0.5)
    assert rows["policy.wandering.stationary_min"] == pytest.approx(0.99)
    assert rows["policy.wandering.vs_hindsight_mean"] == pytest.approx((99 + 45) / 2 / 105)
    assert rows["policy.wandering.vs_hindsight_min"] == pytest.approx(45 / 105)
    assert rows["policy.wandering.page_cache_lead_by_granularity"] == pytest.approx((5 + 5) / (11 + 65))
    assert rows["policy.copy_cost_share_max"] == pytest.approx(0.1)
    assert rows["policy.wandering.unpaid_reversals"] == 3
    assert rows["policy.wandering.churn"] == pytest.approx(0.45)


def test_hot_spots_that_wander_are_followed() -> None:
    """Nine days of a hot spot that moves every third: as much as the best rule for little copying, none in vain."""
    here = world("hot_spot_72h", 1, hours=9 * frozen.DAY)
    best = max((Stage(here).play(rule) for rule in rules.rankers(here)), key=lambda score: score.gain)
    ours = Stage(here).play(Hotplace(here))
    assert ours.gain >= 0.95 * best.gain
    assert ours.cost_share < 0.03
    assert ours.unpaid == 0


def test_no_placement_of_units_saves_more_than_is_possible() -> None:
    """Of units of 2, 2 and 26 bytes with 6, 4 and 1 reads a second, 3 bytes hold one and a half; none of the third."""
    here = small([[6.0, 4.0, 1.0]], [2, 2, 26], hours=2)
    per_read = float(here.saving[0, 2])
    assert here.capacity == 3
    assert most_by_hour(here)[0].sum() == pytest.approx(2 * (6 + 2) * per_read)
    moving = small([[6.0, 4.0, 1.0], [0.0, 4.0, 1.0]], [2, 2, 26], hours=2)
    assert most_by_hour(moving)[0].sum() == pytest.approx((6 + 2 + 4) * per_read)


@pytest.mark.parametrize("seed", range(2))
def test_no_way_of_units_through_the_hours_wins_more_than_the_bound(seed: int) -> None:
    """Every placement of three units in every one of three hours, played out; the best of them is not far below."""
    draw = np.random.default_rng(seed)
    reads = draw.lognormal(3.0, 1.0, (3, 4)) * [1, 1, 1, 0]
    here = small(reads.tolist(), [*(draw.integers(2, 6, 3) * GB), 70 * GB], hours=3)
    sets = list(product((False, True), repeat=3))
    best = 0.0
    for way in product(sets, repeat=3):
        hops: dict[int, list[Hop]] = {}
        before: tuple[bool, ...] = (False, False, False)
        for hour, now in enumerate(way):
            changed = [row for row in range(3) if now[row] != before[row]]
            hops[hour] = sorted((Hop(row, up=now[row]) for row in changed), key=lambda hop: hop.up)
            before = now
        best = max(best, Stage(here).play(Script(hops)).gain)
    assert best > 0
    assert best <= most_with_copies(here) <= 1.5 * best
    assert most_with_copies(here) < most_by_hour(here)[0].sum()


def test_the_held_out_shapes_are_what_their_descriptions_say() -> None:
    """All that is described is drawn; tenants own 2 % of the bytes each, a wave passes on, applications take turns."""
    assert DRAWN.keys() == frozen.HELD_OUT.keys()
    tenants, wave, two = (held_out_world(name, 1) for name in frozen.HELD_OUT)
    base = tenants.size[0, : frozen.UNITS].sum()
    assert tenants.size[0, frozen.UNITS :].sum() == pytest.approx(20 * 0.02 * base, rel=1e-6)
    assert frozen.UNITS + 80 <= len(tenants.catalogue) <= frozen.UNITS + 200
    order = np.argsort(np.array(wave.catalogue.key))
    middle = (wave.spot[:, order] * np.arange(frozen.UNITS)).sum(axis=1) / wave.spot.sum(axis=1)
    assert np.all(np.diff(middle[::72]) > 0)
    first = two.spot[0] > 0
    busy = np.array([two.spot[:, own].sum(axis=1) for own in (first, ~first)])
    assert busy.sum(axis=0).mean() == pytest.approx(frozen.SPOT_READS, rel=0.1)
    assert not any(np.array_equal(held_out_world(name, 2).spot, held_out_world(name, 1).spot) for name in DRAWN)


ROLLED = {  # shape -> thousands of seconds that everything saves on the fast tier, units, capacity in MiB; seed 21
    "rolling_1d": (27823, 209, 105500),
    "rolling_3d": (27391, 209, 103332),
    "rolling_7d": (27348, 209, 80798),
}


@over("shape", list(ROLLING))
def test_the_rolling_partitions_are_frozen(shape: str) -> None:
    """Their demand, units and tier are those that were drawn before the policy was changed; hot are the newest days."""
    here = rolling_world(shape, 21)
    found = round(float(here.saving.sum()) / 1000), len(here.catalogue), here.capacity // 2**20
    assert found == ROLLED[shape]
    parts = here.spot[:, frozen.UNITS :]
    night = [hour for hour in range(0, here.hours, frozen.DAY) if parts[hour].any()]
    assert {int((parts[hour] > 0).sum()) for hour in night} == {ROLLING[shape].hot_days}


def test_a_cache_keeps_what_its_rule_says() -> None:
    """Two pages: LRU keeps the last two; W-TinyLFU and ARC keep what was read often when others pass by once."""
    often = [1] * 8 + [2] * 8
    for cache, kept in ((Lru(4), False), (Arc(4), True), (WTinyLfu(4), True)):
        for page in [*often, *[1, 2] * 4, *range(10, 30)]:
            cache.read(page)
        assert cache.read(1) is kept, type(cache).__name__
        assert cache.fills >= 22


def test_what_is_played_page_by_page_agrees_with_the_analytic_cache() -> None:
    """LRU on a few of the pages wins what the characteristic time says; charged fills cost what copies cost."""
    here = small([[300.0, 100.0, 20.0]], [GB, 4 * GB, 5 * GB], hours=24)
    scores = {score.policy: score for score in play_caches(here, 250)}
    analytic = rules.play_lru(here, "LRU").gain
    assert scores["LRU"].gain == pytest.approx(analytic, rel=0.05)
    charged = scores["LRU, fills charged"]
    assert charged.saved_seconds == scores["LRU"].saved_seconds
    least = charged.moved_bytes / COPY_BYTES_PER_SECOND * SLOWED_BY_COPY * COMPUTING
    assert least < charged.cost_seconds < 3 * least


def test_the_rows_of_caches_say_what_their_names_say() -> None:
    """Over hotplace and over LRU where both were played; what is played later joins what was published."""
    totals: dict[str, list[int | None]] = {"hotplace": [100, 200], "LRU": [90, None]}
    before = Days(seeds=[1, 2], most=[], gains={}, totals=totals)
    after = with_totals(before, {"LRU": {2: 160}, "W-TinyLFU, fills charged": {2: 240}})
    assert after["totals"]["LRU"] == [90, 160]
    assert after["totals"]["W-TinyLFU, fills charged"] == [None, 240]
    rows = {row["name"]: row for row in cache_rows({"stationary": after}, "command")}
    assert rows["policy.page_cache.lru"]["value"] == pytest.approx((0.9 + 0.8) / 2)
    charged = rows["policy.page_cache.w_tinylfu_charged"]
    assert charged["value"] == pytest.approx(1.2)
    assert charged["note"] == "most on stationary, seed 2; 1.500 of an LRU cache with free fills"
    assert len(rows) == 2


def test_the_rows_of_births_say_what_their_names_say() -> None:
    """The worst play, the mean, the most that was copied, and what went back without having paid."""
    good = Births(shape="rolling_1d", seed=1, product=score(110.0), best=score(100.0), capacities=3.0)
    bad = Births(shape="rolling_3d", seed=2, product=score(90.0, unpaid=2), best=score(100.0), capacities=7.0)
    rows = {row["name"]: row["value"] for row in births_figures([good, bad])}
    assert rows["policy.births.vs_best_rule_mean"] == pytest.approx(1.0)
    assert rows["policy.births.vs_best_rule_min"] == pytest.approx(0.9)
    assert (rows["policy.births.capacities_a_week_max"], rows["policy.births.unpaid_reversals"]) == (7.0, 2)
    assert rows["policy.births.rolling_1d"] == pytest.approx(1.1)


def test_a_born_partition_is_on_the_fast_tier_in_its_first_hours() -> None:
    """Four days of one hot day each: from the third birth on the newest is there at once, as it saves most."""
    here = rolling_world("rolling_1d", 21, hours=4 * frozen.DAY)
    watched = Watched(Hotplace(here))
    Stage(here).play(watched)
    born = here.alive.argmax(axis=0)
    late = [row for row in range(frozen.UNITS, len(born)) if 2 * frozen.DAY < born[row] < here.hours - 2]
    assert late
    assert all(watched.fast[born[row] + 1][row] for row in late)
