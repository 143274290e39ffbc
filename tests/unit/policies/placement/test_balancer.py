"""Plans of small situations, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.moves import UnitKind
from connectors.model.observation import DatabaseDemand
from policies.evidence.bundles import bundles_of
from policies.evidence.prices import copies_caused
from policies.model.moves import MoveReason
from policies.model.plan import Plan, Verdict
from policies.model.settings import Pin, PolicySettings, TierLimits
from policies.placement.balancer import make_plan
from tests.over import over
from tests.unit.policies.referee import after, carried_out, present, wait_of
from tests.unit.policies.situations import BARE, GIB, HDD, MIB, NVME, SSD, Site, Unit

SETTINGS = PolicySettings()
NO_HEAD_ROOM = replace(SETTINGS, head_room_ratio=0.0)
THREE = (("nvme", NVME, ("nvme",)), ("ssd", SSD, ("ssd",)), ("hdd", HDD, ("hdd",)))


def planned(units: list[Unit], site: Site | None = None, settings: PolicySettings = NO_HEAD_ROOM) -> Plan:
    """The plan, after the referee has carried it out."""
    situation = (site or Site()).situation(units)
    plan = make_plan(situation, settings)
    left = [wait for _, wait in carried_out(situation, plan, settings)]
    home = after(situation, plan)
    assert plan.wait_saved_per_hour == pytest.approx(plan.wait_per_hour - (left[-1] if left else plan.wait_per_hour))
    assert plan.wait_saved_per_hour <= plan.bound_per_hour + 1e-6
    assert 0 <= plan.gap_ratio <= 1
    fastest = (
        {row for row, space in enumerate(home) if space in situation.tiers[0].spaces} if situation.tiers else set()
    )
    assert set(np.flatnonzero(plan.chosen)) == fastest
    return plan


def relocations(plan: Plan) -> list[tuple[str, str]]:
    """Key and target of each move."""
    return [(move.key, move.to_space) for move in plan.moves]


def verdicts(plan: Plan) -> list[Verdict]:
    """Verdict of each unit."""
    return [Verdict(int(code)) for code in plan.verdict]


def room(fast: int | None, slow: int | None = 10**15) -> Site:
    """Two tiers with that much room."""
    return Site(room={"fast": fast, "slow": slow})


def test_the_lab_of_the_anchors_is_reproduced() -> None:
    """Eight tables of 67 MB with indexes of 11 MB, 85 % of lookups on one: it and its index go, and 4.9x is forecast.

    Measured on all-HDD: 125 transactions/s at 184 reads/s, 1.47 slow reads each; afterwards 0.297 each and 613/s.
    """
    hdd = replace(HDD, random_read_seconds=0.0054)
    ssd = replace(SSD, random_read_seconds=0.0001)
    units = []
    for table in range(8):
        reads = 184 * (0.297 / 1.47 / 7 if table else 1 - 0.297 / 1.47)
        units += [
            Unit(key=f"t{table}", size=67 * MIB, sync=0.8 * reads),
            Unit(key=f"t{table}_pkey", size=11 * MIB, sync=0.2 * reads, kind=UnitKind.INDEX),
        ]
    units += [
        Unit(key="cached", size=20 * MIB, sync=0.02, logical=50_000),
        Unit(key="scan", size=67 * MIB, prefetched=572),
        Unit(key="log", size=30 * MIB, log_writes=30, sync=0.01),
        Unit(key="history", size=50 * MIB, writes=100, sync=0.01, logical=200),
    ]
    site = Site(room={"fast": 80 * MIB, "slow": 10**12}, tiers=(("ssd", ssd, ("fast",)), ("hdd", hdd, ("slow",))))
    plan = planned(units, site)
    assert {key for key, _ in relocations(plan)} == {"t0", "t0_pkey"}
    assert sum(move.size_bytes for move in plan.moves) <= 0.125 * sum(unit.size for unit in units[:16])
    reads_wait = sum(unit.sync for unit in units[:16]) * 0.0054 * 3600
    assert reads_wait / (reads_wait - plan.wait_saved_per_hour) == pytest.approx(4.9, rel=0.1)
    assert plan.gap_ratio < 0.01
    assert verdicts(plan)[16:] == [
        Verdict.CACHED,
        Verdict.SEQUENTIAL,
        Verdict.LOG_LIKE,
        Verdict.WRITE_DOMINATED,
    ]


def test_density_beats_heat() -> None:
    """Two small units that wait 60 each go before a large one that waits 100 and would take all the room."""
    units = [Unit(key="big", size=90, sync=100), Unit(key="a", size=45, sync=60), Unit(key="b", size=45, sync=60)]
    assert sorted(relocations(planned(units, room(90)))) == [("a", "fast"), ("b", "fast")]


def test_cold_goes_down_only_when_its_room_is_wanted() -> None:
    """With room for the hot unit the cold ones stay; without, as many as needed go, directly before it."""
    units = [
        Unit(key="cold1", size=60, space="fast", sync=0.001),
        Unit(key="cold2", size=40, space="fast", sync=0.002),
        Unit(key="hot", size=50, sync=50),
    ]
    roomy = planned(units, room(50))
    assert relocations(roomy) == [("hot", "fast")]
    assert verdicts(roomy)[:2] == [Verdict.STAYS_SPARE] * 2
    tight = planned(units, room(0))
    assert relocations(tight) == [("cold1", "slow"), ("hot", "fast")]
    assert [move.reason for move in tight.moves] == [MoveReason.MAKE_ROOM, MoveReason.PROMOTE]
    assert tight.moves[0].wait_saved_per_hour < 0
    assert tight.moves[0].payback_seconds == float("inf")
    assert verdicts(tight) == [Verdict.DEMOTE, Verdict.STAYS_SPARE, Verdict.PROMOTE]


def test_superfluous_demotions_are_left_out() -> None:
    """The coldest, small unit need not go when the next one alone makes the room."""
    units = [
        Unit(key="tiny", size=5, space="fast"),
        Unit(key="cool", size=50, space="fast", sync=0.01),
        Unit(key="hot", size=50, sync=50),
    ]
    assert relocations(planned(units, room(0))) == [("cool", "slow"), ("hot", "fast")]


def test_one_promotion_into_the_room_of_another_group_pays_together() -> None:
    """Neither small unit outweighs the large resident alone; both together do, and then the swap is made."""
    units = [
        Unit(key="resident", size=100, space="fast", sync=10),
        Unit(key="a", size=50, sync=9),
        Unit(key="b", size=50, sync=9),
    ]
    assert relocations(planned(units, room(0))) == [("resident", "slow"), ("a", "fast"), ("b", "fast")]


def test_a_resident_is_not_exchanged_for_a_little_more() -> None:
    """A challenger must beat a resident by the resident bonus."""
    units = [Unit(key="resident", size=50, space="fast", sync=10), Unit(key="challenger", size=50, sync=10.4)]
    assert relocations(planned(units, room(0))) == []
    assert verdicts(planned(units, room(0))) == [Verdict.STAYS_FAST, Verdict.WOULD_NOT_FIT]
    better = [units[0], replace(units[1], sync=14)]
    assert relocations(planned(better, room(0))) == [("resident", "slow"), ("challenger", "fast")]


def test_what_warms_up_does_not_make_room_for_what_cools_down() -> None:
    """By the long horizon the challenger is twice as hot, by the last hours half as hot: nobody moves until they agree.

    Into free room it comes all the same.
    """
    units = [Unit(key="resident", size=50, space="fast", sync=10), Unit(key="challenger", size=50, sync=20)]

    def moved(colder: float, hotter: float, free: int = 0) -> list[str]:
        situation = room(free).situation(units)
        heat = replace(situation.heat, colder=np.array([1.0, colder]), hotter=np.array([hotter, 1.0]))
        return [move.key for move in make_plan(replace(situation, heat=heat), NO_HEAD_ROOM).moves]

    assert moved(0.5, 2.1) == []
    assert moved(0.5, 1.0, free=50) == ["challenger"]
    assert moved(0.6, 1.1) == ["resident", "challenger"]


def test_a_move_pays_for_its_copy_and_for_the_one_back() -> None:
    """A swap costs two copies now and two when it is reversed: for less than that over the horizon nothing moves.

    What goes up into free room costs one copy each way. How much gave way before changes nothing.
    """
    settings = replace(NO_HEAD_ROOM, copy_bytes_per_second=20_000.0, payback_limit_seconds=1e6, horizon_seconds=7200.0)
    one_copy = MIB / 20_000.0 / 2.0  # seconds that an hour of the horizon bears for each copy, of one session
    worth = one_copy / (3600.0 * (HDD.random_read_seconds - SSD.random_read_seconds))  # reads a second that earn that

    def moved(copies: float, free: int = 0, gave_way: float = 0.0) -> list[str]:
        units = [
            Unit(key="resident", size=MIB - free, space="fast", sync=worth),
            Unit(key="challenger", size=MIB, sync=worth * (copies + (not free) * settings.resident_bonus)),
        ]
        situation = replace(room(free).situation(units), turned_over_ratio=gave_way)
        return [move.key for move in make_plan(situation, settings).moves]

    assert moved(3.8) == []
    assert moved(4.2) == moved(4.2, gave_way=5.0) == ["resident", "challenger"]
    assert moved(1.9, free=MIB) == []
    assert moved(2.1, free=MIB) == moved(2.1, free=MIB, gave_way=5.0) == ["challenger"]


def test_what_has_no_part_in_a_swap_beyond_the_budget_comes_all_the_same() -> None:
    """Once one swap has used up a budget for wear the next waits, and the small unit comes into free room behind it.

    Where the second swap were to make that room, the small unit waits as well. Without a budget nothing waits.
    """

    def moved(second: int, free: int, turnover: float | None) -> list[str]:
        units = [
            Unit(key="first out", size=10 * MIB, space="fast", sync=0.1),
            Unit(key="second out", size=second, space="fast", sync=0.5),
            Unit(key="first in", size=10 * MIB, sync=60.0),
            Unit(key="second in", size=10 * MIB, sync=30.0),
            Unit(key="small", size=MIB, sync=1.0),
        ]
        settings = replace(NO_HEAD_ROOM, turnover_per_week=turnover)
        return [move.key for move in planned(units, room(free), settings).moves]

    swapped = ["first out", "first in"]
    for budget in (None, 10.0):
        assert moved(10 * MIB, MIB, budget) == [*swapped, "second out", "second in", "small"]
        assert moved(11 * MIB, 0, budget) == [*swapped, "second out", "second in", "small"]
    assert moved(10 * MIB, MIB, 0.25) == [*swapped, "small"]
    assert moved(11 * MIB, 0, 0.25) == swapped


def test_head_room_is_kept() -> None:
    """Of a space of 1000 bytes with 200 free, 100 are head-room: a unit of 101 does not fit, one of 100 does."""
    full = Unit(key="full", size=800, space="fast", sync=1000)
    assert relocations(planned([full, Unit(key="u", size=101, sync=50)], room(200), SETTINGS)) == []
    assert relocations(planned([full, Unit(key="u", size=100, sync=50)], room(200), SETTINGS)) == [("u", "fast")]


def test_a_demotion_needs_room_below_too() -> None:
    """When the slow space cannot take the cold unit while both copies exist, there is no swap."""
    units = [Unit(key="cold", size=50, space="fast"), Unit(key="hot", size=50, sync=50)]
    assert relocations(planned(units, room(0, 49))) == []
    assert len(relocations(planned(units, room(0, 50)))) == 2


def test_unknown_room_is_no_room() -> None:
    """A space of which neither free bytes nor capacity are known is no target in either direction."""
    hot = Unit(key="hot", size=50, sync=50)
    assert verdicts(planned([hot], room(None))) == [Verdict.WOULD_NOT_FIT]
    swap = [Unit(key="cold", size=50, space="fast"), hot]
    assert relocations(planned(swap, room(0, None))) == []


def test_one_giant_hot_unit_larger_than_the_tier() -> None:
    """It is left, and what fits is taken."""
    units = [Unit(key="giant", size=GIB, sync=5000), Unit(key="small", size=MIB, sync=1)]
    plan = planned(units, room(100 * MIB))
    assert relocations(plan) == [("small", "fast")]
    assert verdicts(plan) == [Verdict.WOULD_NOT_FIT, Verdict.PROMOTE]


def test_thousands_of_equal_units() -> None:
    """Equals are chosen by name, as many as the limit of moves allows; the others wait for the next plan."""
    units = [Unit(key=f"t{at:05}", size=10, sync=5) for at in range(3000)]
    plan = planned(units, room(1000))
    assert [key for key, _ in relocations(plan)] == [f"t{at:05}" for at in range(50)]
    assert plan.gap_ratio == pytest.approx(0, abs=1e-9)
    assert verdicts(plan)[50:] == [Verdict.WAITING] * 2950


def test_pins_are_carried_out_first() -> None:
    """NEVER goes down, MUST comes up over whatever gives way, both before anything that merely pays."""
    units = [
        Unit(key="never", size=50, space="fast", sync=500, pin=Pin.NEVER),
        Unit(key="good", size=50, space="fast", sync=50),
        Unit(key="must", size=100, sync=0, pin=Pin.MUST, observed=0),
        Unit(key="hot", size=10, sync=500),
    ]
    plan = planned(units, room(10))
    assert relocations(plan) == [("never", "slow"), ("good", "slow"), ("must", "fast"), ("hot", "fast")]
    assert [move.reason for move in plan.moves] == [
        MoveReason.PIN,
        MoveReason.MAKE_ROOM,
        MoveReason.PIN,
        MoveReason.PROMOTE,
    ]


def test_a_pin_larger_than_a_plan_does_not_hold_up_the_others() -> None:
    """Of two pins the one beyond the bytes of one plan waits; the other comes, and so does what merely pays."""
    units = [
        Unit(key="large", size=100, sync=500, pin=Pin.MUST),
        Unit(key="small", size=50, sync=0, pin=Pin.MUST, observed=0),
        Unit(key="hot", size=10, sync=500),
    ]
    plan = planned(units, room(200), replace(NO_HEAD_ROOM, maximum_bytes=60))
    assert relocations(plan) == [("small", "fast"), ("hot", "fast")]


def test_a_pin_comes_where_room_can_be_made() -> None:
    """Of two full fast spaces, the roomier one holds a pin itself: the other is cleared."""
    tiers = (("ssd", SSD, ("a", "b")), ("hdd", HDD, ("slow",)))
    units = [
        Unit(key="held", size=60, space="a", pin=Pin.MUST),
        Unit(key="cold", size=50, space="b", sync=1),
        Unit(key="must", size=50, sync=0, pin=Pin.MUST, observed=0),
    ]
    plan = planned(units, Site(room={"a": 10, "b": 0, "slow": 10**15}, tiers=tiers))
    assert relocations(plan) == [("cold", "slow"), ("must", "b")]


def test_pins_hold() -> None:
    """A hot NEVER unit stays off and a cold MUST unit stays on, whoever wants its room."""
    units = [
        Unit(key="off", size=50, sync=500, pin=Pin.NEVER),
        Unit(key="on", size=50, space="fast", pin=Pin.MUST),
        Unit(key="hot", size=50, sync=500),
    ]
    plan = planned(units, room(0))
    assert relocations(plan) == []
    assert verdicts(plan) == [Verdict.PINNED, Verdict.PINNED, Verdict.WOULD_NOT_FIT]


def test_never_keeps_off_the_fastest_tier_only() -> None:
    """Of three tiers the middle one is open to a NEVER unit: by its heat from below, by its pin from above."""
    tiers = (("nvme", NVME, ("top",)), ("ssd", SSD, ("fast",)), ("hdd", HDD, ("slow",)))
    site = Site(room={"top": 100, "fast": 100, "slow": 10**15}, tiers=tiers)
    for home in ("slow", "top"):
        plan = planned([Unit(key="never", size=50, space=home, sync=500, pin=Pin.NEVER)], site)
        assert relocations(plan) == [("never", "fast")]
        assert plan.wait_saved_per_hour <= plan.bound_per_hour
    idle = planned([Unit(key="never", size=50, sync=500, pin=Pin.NEVER)])
    assert (relocations(idle), verdicts(idle)) == ([], [Verdict.PINNED])


def test_a_pin_that_cannot_be_met_says_why() -> None:
    """Cooling down, no route and no room hold a pin up, and the verdict says which."""
    must = Unit(key="must", size=50, pin=Pin.MUST)
    assert verdicts(planned([replace(must, cooling=10.0)])) == [Verdict.COOLING_DOWN]
    assert verdicts(planned([must], Site(no_route={"must": "locked"}))) == [Verdict.NO_ROUTE]
    assert verdicts(planned([must], room(49))) == [Verdict.WOULD_NOT_FIT]
    never = Unit(key="never", size=50, space="fast", pin=Pin.NEVER)
    assert verdicts(planned([replace(never, cooling=10.0)])) == [Verdict.COOLING_DOWN]
    assert verdicts(planned([never], Site(no_route={"never": "locked"}))) == [Verdict.NO_ROUTE]
    assert verdicts(planned([never], room(0, 0))) == [Verdict.WOULD_NOT_FIT]


def test_preference_counts_more_but_reports_the_truth() -> None:
    """A preferred unit wins against a slightly better one; its saving is stated as it is."""
    units = [Unit(key="plain", size=50, sync=12), Unit(key="liked", size=50, sync=10, pin=Pin.PREFER)]
    plan = planned(units, room(50))
    assert relocations(plan) == [("liked", "fast")]
    assert plan.moves[0].wait_saved_per_hour == pytest.approx(10 * (0.0055 - 0.0002) * 3600)


def test_everything_pinned_moves_nothing() -> None:
    """With every unit pinned where it is, the plan is empty and says so."""
    units = [Unit(key="a", sync=500, pin=Pin.NEVER), Unit(key="b", space="fast", pin=Pin.MUST)]
    assert verdicts(planned(units)) == [Verdict.PINNED, Verdict.PINNED]


def test_the_reasons_why_not() -> None:
    """Each guard has its verdict."""
    units = [
        Unit(key="hot", sync=50),
        Unit(key="idle"),
        Unit(key="young", sync=50, observed=10.0),
        Unit(key="cooling", sync=50, cooling=60.0),
        Unit(key="stuck", sync=50),
        Unit(key="dull", sync=0.01),
        Unit(key="huge", sync=0.1, size=200 * GIB),
        Unit(key="elsewhere", sync=50, space="other"),
    ]
    site = Site(room={"fast": 500 * GIB, "slow": 10**15, "other": 10**15}, no_route={"stuck": "it is a system table"})
    assert verdicts(planned(units, site)) == [
        Verdict.PROMOTE,
        Verdict.IDLE,
        Verdict.NOT_ENOUGH_HISTORY,
        Verdict.COOLING_DOWN,
        Verdict.NO_ROUTE,
        Verdict.GAIN_BELOW_FLOOR,
        Verdict.PAYBACK_TOO_LONG,
        Verdict.NOT_MANAGED,
    ]


def test_who_came_lately_makes_room_for_who_pays_for_both_copies() -> None:
    """A cold resident in its cool-down goes for what pays its copy back too, for nothing less, and never by itself."""
    settings = replace(BARE, horizon_seconds=3600.0, copy_bytes_per_second=1.0)
    old = Unit(key="old", space="fast", size=50, sync=0.1, cooling=3600.0, owed=1000.0)
    site, paid = room(0, 50), 1300 / (0.0055 - 0.0002) / 3600  # two ways of two copies of 50 s, and what is owed twice
    assert relocations(planned([old, Unit(key="new", size=50, sync=paid)], site, settings)) == []
    swapped = planned([old, Unit(key="new", size=50, sync=2 * paid)], site, settings)
    assert relocations(swapped) == [("old", "slow"), ("new", "fast")]
    for stays in (replace(old, owed=np.inf), replace(old, pin=Pin.MUST)):
        assert relocations(planned([stays, Unit(key="new", size=50, sync=2 * paid)], site, settings)) == []
    assert relocations(planned([old], site, settings)) == []


@pytest.mark.parametrize(("days", "comes"), [(1.0, ["part"]), (30.0, ["part", "other"]), (np.inf, ["part", "other"])])
def test_who_takes_the_room_of_the_next_partition_pays_for_its_copy_too(days: float, comes: list[str]) -> None:
    """A tenth more than a partition pays for: too little next to daily births, enough next to monthly ones.

    A partition of the series itself pays for its own copies twice, and what is there already for nothing more.
    """
    settings = replace(BARE, horizon_seconds=12 * 3600.0, copy_bytes_per_second=1.0)
    twice = 1.0 + (days == 1.0)
    paid = 1.1 * twice * 100 / (0.0055 - 0.0002) / 3600 / 12  # two copies of 50 s in 12 hours
    units = [Unit(key="part", size=50, sync=paid), Unit(key="other", size=50, sync=paid)]
    there = [Unit(key=key, space="fast", size=50) for key in ("newest", "there")]
    situation = room(200, 50).situation([*units, *there])
    series, came_up = np.array([True, False, True, False]), np.array([False, False, True, True])
    caused = copies_caused(series, came_up, situation.units.size_bytes, days * 24 * 3600.0)
    plan = make_plan(replace(situation, copies_caused=caused), settings)
    assert sorted(move.key for move in plan.moves) == sorted(comes)
    costs = bundles_of(replace(situation, copies_caused=np.ones(4)), settings).cost
    assert (costs / bundles_of(situation, settings).cost).tolist() == [2.0, 2.0, 1.0, 1.0]


@over("sync", [0.1, 1.0, 50.0, 5000.0])
@over("observed", [600.0, 7200.0, 1e6])
@over("cooling", [0.0, 60.0])
def test_what_never_fits_is_said_to_be_too_large_however_hot_it_is(
    sync: float, observed: float, cooling: float
) -> None:
    """Demand, its age and a cool-down vary from plan to plan; that no space of the tier can hold the unit does not."""
    unit = Unit(key="huge", sync=sync, size=GIB, observed=observed, cooling=cooling)
    settings = PolicySettings(minimum_history_seconds=60.0, maximum_moves=1)
    hot = Unit(key="hot", sync=90)
    assert verdicts(planned([unit, hot], settings=settings))[0] is Verdict.WOULD_NOT_FIT


def test_what_only_a_resident_keeps_out_is_not_too_large() -> None:
    """Room that a resident holds counts: once it leaves, the unit would fit, so its own reason is said."""
    unit, old = Unit(key="huge", sync=1.0, size=GIB, cooling=60.0), Unit(key="old", space="fast", size=GIB, sync=90)
    assert verdicts(planned([unit, old]))[0] is Verdict.COOLING_DOWN
    assert verdicts(planned([unit, replace(old, size=GIB // 2)]))[0] is Verdict.WOULD_NOT_FIT


def test_what_is_not_worth_a_move_is_a_small_share_of_all_wait() -> None:
    """Everything in its place: what is left to gain is not worth its moves, and little beside what is waited."""
    room = Site(room={"fast": 10 * MIB, "slow": 10**15})
    old = Unit(key="old", space="fast", size=90 * MIB, sync=50)
    plan = planned([old, replace(old, key="new", space="slow", sync=52), Unit(key="giant", sync=2000, size=GIB)], room)
    assert (relocations(plan), plan.gap_ratio) == ([], 1.0)
    assert plan.missed_wait_ratio == pytest.approx(plan.bound_per_hour / plan.wait_per_hour)
    assert 0 < plan.missed_wait_ratio < 0.03


def test_zero_history_moves_nothing() -> None:
    """Units never watched are neither hot nor cold: none comes, none gives way."""
    units = [Unit(key="new", sync=50, observed=0, size=50), Unit(key="old", size=50, space="fast", observed=0)]
    assert verdicts(planned(units, room(0))) == [Verdict.NOT_ENOUGH_HISTORY, Verdict.NOT_ENOUGH_HISTORY]
    hot = [replace(units[0], observed=1e6), units[1]]
    assert relocations(planned(hot, room(0))) == []


def test_a_few_start_up_misses_of_a_cached_unit_are_not_chased() -> None:
    """The busiest unit, 99.9 % cached and under 1 % of all wait, stays, though its gain passes the floor."""
    units = [Unit(key="busiest", sync=1, logical=1000), Unit(key="hot", sync=200)]
    assert verdicts(planned(units)) == [Verdict.CACHED, Verdict.PROMOTE]


def test_a_bundle_moves_as_one() -> None:
    """A table with its LOBs is one move, named for the table, with the benefit and the bytes of all."""
    units = [
        Unit(key="lob", size=300, sync=1, bundle=7, parent=1001, kind=UnitKind.LOB),
        Unit(key="table", size=100, sync=20, bundle=7),
        Unit(key="index", size=50, sync=15, parent=1001, kind=UnitKind.INDEX),
    ]
    assert relocations(planned(units, room(399))) == [("index", "fast")]
    assert relocations(planned(units, room(449))) == [("table", "fast")]
    both = planned(units, room(450))
    assert sorted(relocations(both)) == [("index", "fast"), ("table", "fast")]
    table = next(move for move in both.moves if move.key == "table")
    assert table.rows == (1, 0)
    assert table.size_bytes == 400
    assert verdicts(both) == [Verdict.PROMOTE] * 3


def test_a_table_may_go_without_its_index() -> None:
    """An index that is cached stays where it is."""
    units = [
        Unit(key="table", sync=50),
        Unit(key="index", sync=0.01, logical=500, parent=1000, kind=UnitKind.INDEX),
    ]
    plan = planned(units)
    assert relocations(plan) == [("table", "fast")]
    assert verdicts(plan)[1] is Verdict.CACHED


def test_two_spaces_of_a_tier_are_filled() -> None:
    """Each space takes the unit that fits there, and the least busy one stays."""
    site = Site(room={"f1": 60, "f2": 90, "slow": 10**9}, tiers=(("ssd", SSD, ("f1", "f2")), ("hdd", HDD, ("slow",))))
    units = [Unit(key="a", size=50, sync=50), Unit(key="b", size=50, sync=40), Unit(key="c", size=50, sync=30)]
    moves = relocations(planned(units, site))
    assert [key for key, _ in moves] == ["a", "b"]
    assert sorted(space for _, space in moves) == ["f1", "f2"]


def test_room_is_made_where_it_is_least_regretted() -> None:
    """Of two full spaces the one whose resident loses less gives way."""
    site = Site(room={"f1": 0, "f2": 0, "slow": 10**9}, tiers=(("ssd", SSD, ("f1", "f2")), ("hdd", HDD, ("slow",))))
    units = [
        Unit(key="warm", size=50, space="f1", sync=20),
        Unit(key="cold", size=60, space="f2", sync=1),
        Unit(key="hot", size=50, sync=500),
    ]
    assert relocations(planned(units, site)) == [("cold", "slow"), ("hot", "f2")]


def test_three_tiers_take_what_each_deserves() -> None:
    """The hottest goes to the fastest, the warm one to the middle, and what gives way goes down one step."""
    site = Site(room={"nvme": 0, "ssd": 100, "hdd": 10**9}, tiers=THREE)
    units = [
        Unit(key="hot", size=50, space="hdd", sync=5000),
        Unit(key="warm", size=50, space="hdd", sync=50),
        Unit(key="fading", size=50, space="nvme", sync=60),
    ]
    plan = planned(units, site)
    assert relocations(plan) == [("fading", "ssd"), ("hot", "nvme"), ("warm", "ssd")]
    assert verdicts(plan) == [Verdict.PROMOTE, Verdict.PROMOTE, Verdict.DEMOTE]


def test_a_full_middle_tier_is_passed_over() -> None:
    """What gives way goes to the next slower tier that has room."""
    site = Site(room={"nvme": 0, "ssd": 0, "hdd": 10**9}, tiers=THREE)
    units = [Unit(key="hot", size=50, space="hdd", sync=5000), Unit(key="cold", size=50, space="nvme", sync=0.01)]
    assert relocations(planned(units, site)) == [("cold", "hdd"), ("hot", "nvme")]


def test_one_tier_or_none_gives_an_empty_plan() -> None:
    """Without a faster tier there is nothing to decide."""
    units = [Unit(key="u", sync=50)]
    alone = planned(units, Site(tiers=(("hdd", HDD, ("slow",)),)))
    assert (relocations(alone), alone.wait_saved_per_hour) == ([], 0.0)
    assert verdicts(planned(units, Site(tiers=()))) == [Verdict.NOT_MANAGED]
    assert len(planned([]).verdict) == 0


def test_tiers_of_one_speed_give_an_empty_plan() -> None:
    """When both tiers were measured equally fast, no move gains anything."""
    site = Site(tiers=(("ssd", HDD, ("fast",)), ("hdd", HDD, ("slow",))))
    assert verdicts(planned([Unit(key="u", sync=50)], site)) == [Verdict.GAIN_BELOW_FLOOR]


def test_the_ceiling_comes_from_the_database() -> None:
    """The share of session time that is foreground I/O is told with the plan."""
    site = Site(database=DatabaseDemand(read_wait=0.4, active=2.0))
    assert planned([Unit(key="u", sync=50)], site).ceiling_ratio == pytest.approx(0.2)
    assert np.isnan(planned([Unit(key="u", sync=50)]).ceiling_ratio)


def test_columns_of_benefit_by_unit() -> None:
    """Benefit is fastest against slowest tier for every unit; saved if moved counts from where it is."""
    units = [Unit(key="down", sync=10, pin=Pin.NEVER), Unit(key="up", sync=10, space="fast")]
    plan = planned(units)
    assert plan.benefit_per_hour.tolist() == pytest.approx([190.8, 190.8])
    assert plan.wait_saved_if_moved.tolist() == pytest.approx([190.8, 0.0])
    situation = Site().situation(units)
    assert plan.wait_per_hour == pytest.approx(wait_of(situation, present(situation), NO_HEAD_ROOM))


def test_payback_counts_what_gave_way() -> None:
    """100 MB up and 100 MB down at 50 MB/s are 4 s; the net gain of 90 reads/s is 1717.2 s an hour: 8.4 s."""
    units = [
        Unit(key="cold", size=100_000_000, space="fast", sync=10),
        Unit(key="hot", size=100_000_000, sync=100),
    ]
    plan = planned(units, room(0))
    assert plan.moves[1].payback_seconds == pytest.approx(4 / 1717.2 * 3600)
    assert plan.moves[1].copy_seconds == 2.0


def test_no_more_moves_than_allowed() -> None:
    """A limit of moves holds for pins, demotions and promotions together."""
    units = [Unit(key=f"u{at}", size=10, sync=50 + at) for at in range(5)]
    units += [Unit(key="never", size=10, space="fast", pin=Pin.NEVER), Unit(key="must", size=10, pin=Pin.MUST)]
    for limit in range(8):
        plan = planned(units, room(20), replace(NO_HEAD_ROOM, maximum_moves=limit))
        assert len(plan.moves) <= limit


def test_where_nothing_can_be_gained_there_is_no_gap() -> None:
    """Prices near 0 leave a rest of a limit, far below the microsecond in which waits are counted: it is nothing."""
    units = [Unit(key="idle", space="fast"), Unit(key="a", sync=1.0)]
    units += [Unit(key=f"b{reads}", space="fast", sync=reads) for reads in (32.0, 135.0, 153.0)]
    situation = room(0, 0).situation(units)
    tiers = tuple(replace(tier, limits=TierLimits(io_per_second=400.0)) for tier in situation.tiers)
    settings = replace(NO_HEAD_ROOM, minimum_wait_saved_per_hour=0.0, maximum_moves=2, foreground_slow_down=1.0)
    plan = make_plan(replace(situation, tiers=tiers), settings)
    assert (plan.moves, plan.bound_per_hour, plan.gap_ratio) == ((), 0.0, 0.0)
