"""How fast units grow, and the room that plans leave for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import I64, UnitTable
from policies.evidence.capacity import (
    LARGER,
    STOPPED_SECONDS,
    TRUSTED,
    Growth,
    GrowthState,
    empty_growth,
    growth_arrays,
    growth_from_arrays,
    growth_of,
    learn_sizes,
    room_bytes,
    seconds_until_outgrown,
    with_growth,
    with_partitions_before,
    with_renamed,
)
from policies.model.moves import MoveReason
from policies.model.plan import PlanMove, Situation, Verdict
from policies.placement.balancer import make_plan
from policies.placement.verdicts import growth_sentence
from tests.unit.policies.situations import BARE, MIB, Site, Unit

HOUR, DAY = 3600.0, 86400.0


def catalog(*sizes: float) -> UnitTable:
    """Units of those sizes in MiB, slot by slot."""
    return (
        Site().situation([Unit(key=f"u{slot}", size=int(size * MIB)) for slot, size in enumerate(sizes)]).units
    )  # fmt: skip


def slots(count: int) -> I64:
    """The first ones."""
    return np.arange(count, dtype=np.int64)


def learnt(*days: tuple[float, ...], every: float = HOUR, state: GrowthState | None = None) -> GrowthState:
    """What catalogs teach that were read at regular times, each with the sizes of its units."""
    state = state or empty_growth()
    start = 0.0 if state.at != state.at else state.at + every
    for number, sizes in enumerate(days):
        state = learn_sizes(state, catalog(*sizes), slots(len(sizes)), start + number * every)
    return state


def expected(state: GrowthState, seconds: float) -> list[float]:
    """Growth within that time, in MiB."""
    return [round(grown / MIB, 3) for grown in growth_of(state, slots(len(state.size_bytes))).within(seconds).tolist()]


def test_growth_is_seen_between_catalogs() -> None:
    """What grew, what shrank, what is new and what stays as it is."""
    state = learnt((10, 10, 7), (14, 8, 7, 50))
    assert expected(state, HOUR) == [4.0, 0.0, 0.0, 0.0]
    assert expected(learnt((10,), (14,), every=60.0), HOUR) == [0.0], "in a minute that is a burst"


def test_growth_is_trusted_for_as_long_as_it_was_seen() -> None:
    """An hour of growth is no day of it."""
    assert expected(learnt((10,), (14,)), DAY) == [4 * TRUSTED]
    steadily = learnt(*((10 + 4 * hour,) for hour in range(48)))
    assert expected(steadily, DAY) == [pytest.approx(96, rel=1e-3)]


def test_what_is_loaded_once_a_day_grows_at_every_hour() -> None:
    """Each night 24 MiB come: before and after it about a day's worth is expected within a day."""
    state = learnt(*((24.0 * (hour // 24),) for hour in range(10 * 24)))
    seen = []
    for hour in range(24):
        state = learnt((24.0 * ((240 + hour) // 24),), state=state)
        seen += expected(state, DAY)
    assert min(seen) > 0.6 * 24
    assert max(seen) < 1.5 * 24


def test_what_begins_to_grow_after_quiet_days_is_judged_by_what_it_does_now() -> None:
    """Quiet for five days, or stopped for as long, then 250 MiB an hour: that rate, seen for two hours."""
    quiet = [(10.0, 10.0 + min(hour, 24)) for hour in range(5 * 24)]
    state = learnt(*quiet, (260.0, 284.0), (510.0, 534.0))
    found = growth_of(state, slots(2))
    assert found.rate * HOUR / MIB == pytest.approx([250, 250], rel=1e-3)
    assert found.seen.tolist() == [2 * HOUR] * 2


def test_growth_that_has_ended_is_no_longer_expected() -> None:
    """A table of the day stops at midnight; one that pauses longer is given twice its longest pause."""
    filled = learnt(*((float(hour),) for hour in range(24)))
    still = int(STOPPED_SECONDS / HOUR)
    assert expected(learnt(*[(23.0,)] * still, state=filled), HOUR)[0] > 0
    assert expected(learnt(*[(23.0,)] * (still + 1), state=filled), HOUR) == [0.0]
    daily = learnt(*((24.0 * (hour // 24),) for hour in range(5 * 24)))
    assert expected(learnt(*[(96.0,)] * 20, state=daily), HOUR)[0] > 0
    assert expected(learnt(*[(96.0,)] * 48, state=daily), HOUR) == [0.0]


def test_the_wait_before_the_first_byte_is_no_pause() -> None:
    """A partition that was made a week before its day stops like any other once the day is over."""
    state = learnt(*[(0.0,)] * 100, *((float(hour),) for hour in range(24)), *[(23.0,)] * 5)
    assert expected(state, HOUR) == [0.0]


def test_a_new_partition_becomes_as_large_as_the_one_before() -> None:
    """Its own growth says how fast; once it is larger than that, nothing is known of its end."""
    state = learnt(*[(100.0,)] * 5)
    state = learnt((100.0, 0.0), state=state)
    state = with_partitions_before(state, np.array([0]), np.array([1]))
    state = learnt(*((100.0, 10.0 * hour) for hour in range(1, 8)), state=state)
    assert expected(state, DAY) == [0.0, pytest.approx(LARGER * 100 - 70)]
    assert expected(state, HOUR)[1] == pytest.approx(10, rel=1e-3)
    beyond = learnt(*((100.0, 10.0 * hour) for hour in range(8, 15)), state=state)
    assert expected(beyond, 10 * HOUR)[1] == pytest.approx(100, rel=1e-3)


def test_a_new_name_keeps_the_growth() -> None:
    """A renamed table, with the slot of its new name."""
    state = learnt((10, 5), (14, 5))
    state = with_renamed(state, np.array([0]), np.array([2]))
    assert expected(state, HOUR) == [4.0, 0.0, 4.0]


def test_what_was_learnt_survives_a_restart() -> None:
    """Rates stay; what came while no agent watched, however long that was, is no growth that anyone saw."""
    state = learnt((10, 10), (14, 10))
    again = growth_from_arrays(growth_arrays(state))
    assert expected(again, HOUR) == [4.0, 0.0]
    again = learn_sizes(again, catalog(500, 10), slots(2), 5.0)
    assert expected(again, HOUR) == [4.0, 0.0]
    assert expected(learn_sizes(again, catalog(504, 10), slots(2), 5.0 + HOUR), HOUR)[0] == pytest.approx(4, rel=1e-3)


def test_a_space_is_less_free_and_not_more_used() -> None:
    """What is in it now is what is shown; a space of unknown room stays one."""
    situation = Site(room={"fast": 10 * MIB, "slow": None}).situation([
        Unit(key="a", size=10 * MIB, space="fast"), Unit(key="b", size=10 * MIB),
    ])  # fmt: skip
    fast, slow = with_growth(situation.spaces, situation.units, np.array([MIB, MIB]))
    assert (fast.used_bytes, room_bytes(fast, 0.0)) == (10 * MIB, 9 * MIB)
    assert room_bytes(slow, 0.0) is None
    assert slow == situation.spaces[1]


def growing(site: Site, units: list[Unit], *growth: float, seconds: float = DAY) -> Situation:
    """A situation in which each unit grows by so many MiB within the time."""
    situation, grown = site.situation(units), np.array(growth) * MIB
    column = grown.astype(np.int64)
    spaces = with_growth(situation.spaces, situation.units, column)
    return replace(situation, growth=column, growth_seconds=seconds, spaces=spaces)


@pytest.mark.parametrize(("growth", "moved"), [(0, True), (1, True), (2, False)])
def test_a_plan_leaves_room_for_growth(growth: int, moved: bool) -> None:
    """Both what comes and what is there grow: 8 MiB come into 10 MiB that a resident shares."""
    site = Site(room={"fast": 10 * MIB, "slow": 10**15})
    units = [Unit(key="hot", size=8 * MIB, sync=50.0), Unit(key="there", size=8 * MIB, sync=60.0, space="fast")]
    plan = make_plan(growing(site, units, growth, growth), BARE)
    assert [move.key for move in plan.moves] == (["hot"] if moved else [])
    assert [move.size_bytes for move in plan.moves] == ([8 * MIB] if moved else [])


FILLING = [
    Unit(key="idle", size=30 * MIB, space="fast"),
    Unit(key="cool", size=20 * MIB, sync=1.0, space="fast"),
    Unit(key="hot", size=40 * MIB, sync=60.0, space="fast"),
]


def leaving(free: float, growth: float, head_room: float = 0.1, units: list[Unit] = FILLING) -> tuple[PlanMove, ...]:
    """The moves of a plan where the hot table of 90 MiB in use grows, and nothing asks for the fast tier."""
    site = Site(room={"fast": int(free * MIB), "slow": 10**15})
    situation = growing(site, units, 0, 0, growth)
    plan = make_plan(situation, replace(BARE, head_room_ratio=head_room))
    assert plan.wait_saved_per_hour <= 0
    return plan.moves


def test_a_space_that_fills_is_relieved_before_it_is_full() -> None:
    """Of 105 MiB 90 are used, and 11 more come within the time: the coldest leave, though nothing is promoted."""
    (move,) = leaving(15, 11)
    assert (move.key, move.reason, move.to_space) == ("idle", MoveReason.GROWTH, "slow")
    assert "leaves fast while there is time" in move.sentence
    assert not leaving(15, 9), "that leaves more than half of the head-room"
    assert not leaving(15, 0)


def test_no_more_leaves_than_growth_needs() -> None:
    """The coldest stays if the next one has to go anyway and suffices; where nothing may go, nothing does."""
    units = [replace(FILLING[0], size=5 * MIB), replace(FILLING[1], size=45 * MIB), FILLING[2]]
    assert [move.key for move in leaving(15, 20, units=units)] == ["cool"]
    resting = [replace(unit, cooling=HOUR) for unit in FILLING]
    assert not leaving(15, 11, units=resting)
    assert [move.key for move in leaving(15, 11, units=[resting[0], *FILLING[1:]])] == ["cool"]


THREE = [
    *(Unit(key=f"index_{number}", size=10 * MIB, sync=1.5, space="fast") for number in range(3)),
    Unit(key="orders", size=60 * MIB, sync=12.0, space="fast"),
    Unit(key="hot", size=300 * MIB, sync=900.0, space="fast"),
]


def test_no_plan_wants_back_what_it_sent_down_for_growth() -> None:
    """What has to give way for a promotion leaves room for the growth too, so three indexes stay where they are."""
    newcomer = Unit(key="new", size=30 * MIB, sync=150.0)
    site = Site(room={"fast": 0, "slow": 10**15})
    plan = make_plan(growing(site, [*THREE, newcomer], 0, 0, 0, 0, 25, 0), BARE)
    assert [(move.key, move.to_space) for move in plan.moves] == [("orders", "slow"), ("new", "fast")]
    came = [*THREE[:3], replace(THREE[3], space="slow"), THREE[4], replace(newcomer, space="fast")]
    after = Site(room={"fast": 30 * MIB, "slow": 10**15})
    assert not make_plan(growing(after, came, 0, 0, 0, 0, 25, 0), BARE).moves
    (alone,) = make_plan(growing(site, THREE, 0, 0, 0, 0, 25), BARE).moves[:1]
    assert alone.key.startswith("index"), "without a newcomer they are the coldest"


def test_a_large_unit_does_not_leave_for_a_little_growth() -> None:
    """The coldest by the byte costs more than the small one that suffices, and the next plan would want it back."""
    units = [
        Unit(key="large", size=100 * MIB, sync=10.0, space="fast"),
        Unit(key="small", size=8 * MIB, sync=2.0, space="fast"),
        Unit(key="hot", size=300 * MIB, sync=900.0, space="fast"),
    ]
    plan = make_plan(growing(Site(room={"fast": 0, "slow": 10**15}), units, 0, 0, 7), BARE)
    assert [(move.key, move.reason) for move in plan.moves] == [("small", MoveReason.GROWTH)]


def test_what_would_outgrow_the_tier_is_not_promoted() -> None:
    """It fits today; the verdict says when it will not. What lasts for weeks is promoted, and its sentence says so."""
    site = Site(room={"fast": 100 * MIB, "slow": 10**15})
    hot = [Unit(key="hot", size=80 * MIB, sync=60.0)]
    soon = growing(site, hot, 30)
    plan = make_plan(soon, BARE)
    assert not plan.moves
    assert Verdict(int(plan.verdict[0])) is Verdict.OUTGROWS
    assert seconds_until_outgrown(soon, [0], 0, 0.0) == pytest.approx(20 / 30 * DAY)
    (move,) = make_plan(growing(site, hot, 2), BARE).moves
    assert "It grows by 2.0 MiB a day and will have outgrown ssd in 10 d" in move.sentence
    (move,) = make_plan(growing(site, hot, 0), BARE).moves
    assert "outgrown" not in move.sentence


@pytest.mark.parametrize(
    ("hours", "told"), [(3.0, "250.0 MiB an hour (seen for 3 h)"), (72.0, "5.9 GiB a day (seen for 3 d)")]
)
def test_growth_is_told_and_warned_of_by_the_rate_that_was_seen(hours: float, told: str) -> None:
    """Growth of a few hours is trusted for twice as long: that bounds what is expected, and not the rate."""
    site = Site(room={"fast": 3000 * MIB, "slow": 10**15})
    situation = site.situation([Unit(key="log", size=1000 * MIB, sync=60.0)])
    rate, seen = np.array([250 * MIB / 3600.0]), np.array([hours * 3600.0])
    most = np.array([np.inf])
    growth = Growth(rate=rate, lasts=2 * seen, most=most)
    ahead = 48 * 3600.0
    situation = replace(
        situation, growth=growth.within(ahead), growth_rate=growth.rate, growth_seen=growth.seen, growth_seconds=ahead
    )
    sentence = growth_sentence(situation, [0], 0, replace(BARE, head_room_ratio=0.0))
    assert told in sentence
    assert seconds_until_outgrown(situation, [0], 0, 0.0) == pytest.approx(8 * 3600.0)
    assert "outgrown ssd in 8 h" in sentence
