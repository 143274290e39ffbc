"""What looks hot and must stay, and what looks cold and must not: each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from connectors.model.observation import SIGNALS, DatabaseDemand, Demand, Signal
from policies.evidence.heat import HeatState, decision_heat, empty_heat, index_of, update, view
from policies.evidence.seasons import SeasonState, empty_seasons, learnt, outlook
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import PolicySettings, TierLimits
from policies.placement.balancer import make_plan
from policies.placement.verdicts import explain_verdict
from tests.unit.policies.situations import GIB, HDD, MIB, SSD, Site, Unit, demand

SETTINGS = PolicySettings()
HERE = np.zeros(1, dtype=np.int64)
YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def verdict(unit: Unit, settings: PolicySettings = SETTINGS, site: Site | None = None) -> Verdict:
    """What becomes of one unit that is alone on slow storage with room above, and that it can be explained."""
    situation = (site or Site(room={"fast": 100 * GIB, "slow": 10**15})).situation([unit])
    plan = make_plan(situation, settings)
    found = Verdict(int(plan.verdict[0]))
    assert bool(plan.moves) == (found is Verdict.PROMOTE)
    assert unit.key in explain_verdict(situation, plan, 0, settings)
    return found


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (Unit(key="the cached busiest table", logical=1e6, sync=0.02), Verdict.CACHED),
        (Unit(key="the sequential scan", prefetched=20_000.0, sync=0.01), Verdict.SEQUENTIAL),
        (Unit(key="the log", log_writes=500.0, sync=0.01), Verdict.LOG_LIKE),
        (
            Unit(key="what checkpoints write", writes=5000.0, logical=100.0, sync=0.01),
            Verdict.WRITE_DOMINATED,
        ),
        (Unit(key="the small table", size=8192, sync=0.01), Verdict.TOO_SMALL),
        (Unit(key="the idle table"), Verdict.IDLE),
        (Unit(key="the hardly read table", sync=0.01), Verdict.GAIN_BELOW_FLOOR),
        (Unit(key="zero history", sync=100.0, observed=0.0), Verdict.NOT_ENOUGH_HISTORY),
        (Unit(key="the hot table", sync=100.0), Verdict.PROMOTE),
        (Unit(key="the small hot table", size=8192, sync=1.0), Verdict.PROMOTE),
    ],
    ids=lambda value: value.key if isinstance(value, Unit) else "",
)
def test_each_is_known_for_what_it_is(unit: Unit, expected: Verdict) -> None:
    """The reason is the right one, not merely that it stays."""
    assert verdict(unit) is expected


def test_young_heat_is_moved_once_it_has_cost_as_much_as_the_move() -> None:
    """100 GiB cost 2,147 s to copy; at 53 s lost per 100 s watched that is earned after 4,051 s, not before."""
    unit = Unit(key="young", size=100 * GIB, sync=100.0)
    site = Site(room={"fast": 1000 * GIB, "slow": 10**15})
    assert verdict(replace(unit, observed=4000.0), site=site) is Verdict.UNPROVEN
    assert verdict(replace(unit, observed=4100.0), site=site) is Verdict.PROMOTE
    assert verdict(replace(unit, observed=4000.0), replace(SETTINGS, regret_ratio=0.5), site) is Verdict.PROMOTE


def test_what_was_lost_is_counted_by_the_memory_that_ranks() -> None:
    """Heat remembers for a day, whatever recent work does: a short ``half_life`` must not end the count of the wait."""
    unit = Unit(key="young", size=100 * GIB, sync=100.0, observed=4100.0)
    site = Site(room={"fast": 1000 * GIB, "slow": 10**15})
    assert verdict(unit, replace(SETTINGS, half_life_seconds=60.0), site) is Verdict.PROMOTE
    # Beyond the time for which a gain counts, only heat of the long horizon is believed.
    brief = replace(SETTINGS, horizon_seconds=4000.0)
    assert verdict(unit, brief, site) is Verdict.UNPROVEN
    assert verdict(replace(unit, observed=brief.long_half_life_seconds), brief, site) is not Verdict.UNPROVEN


def test_it_is_said_how_long_to_wait_for_proof() -> None:
    """A DBA reads what the move costs and when its heat will have lasted long enough."""
    situation = Site(room={"fast": 1000 * GIB, "slow": 10**15}).situation(
        [Unit(key="young", size=100 * GIB, sync=100.0, observed=4000.0)]
    )
    plan = make_plan(situation, SETTINGS)
    said = explain_verdict(situation, plan, 0, SETTINGS)
    assert "moving it would cost sessions 35 min 47 s, which its waits come to after 1 h 8 min." in said


def test_memory_is_the_cheaper_fix_where_prices_say_so() -> None:
    """A GiB of memory for 30 a year against 2.5 and 0.1 per I/O a second: from 275 reads a second on memory wins."""
    priced = TierLimits(gib_year=2.5, io_year=0.1)
    busy = Unit(key="busy", size=GIB, sync=276.0)
    situation = Site(room={"fast": 100 * GIB, "slow": 10**15}).situation([busy, replace(busy, key="less", sync=274.0)])
    situation = replace(situation, tiers=(replace(situation.tiers[0], limits=priced), situation.tiers[1]))
    plan = make_plan(situation, replace(SETTINGS, ram_gib_year=30.0))
    assert [Verdict(int(code)) for code in plan.verdict] == [Verdict.RAM_IS_CHEAPER, Verdict.PROMOTE]
    assert "buffer pool" in explain_verdict(situation, plan, 0, SETTINGS)
    assert [Verdict(int(code)) for code in make_plan(situation, SETTINGS).verdict] == [Verdict.PROMOTE] * 2


def lived(days: float, rate: Callable[[datetime], float]) -> tuple[HeatState, SeasonState, datetime]:
    """Heat and seasons of one unit after so many days, sampled hourly, and the time it is then."""
    heat, seasons, at = empty_heat(), empty_seasons(), YEAR
    for _ in range(round(days * 24)):
        seen = demand(3600, {7: rate(at)})
        heat = update(heat, seen, HERE, HERE, SETTINGS)
        seasons = learnt(seasons, at, 3600.0, HERE, index_of(seen.rates), np.array([True]))
        at += timedelta(hours=1)
    return heat, seasons, at


def planned(heat: HeatState, seasons: SeasonState, at: datetime, unit: Unit) -> Plan:
    """The plan of a site with that unit alone."""
    situation: Situation = Site(room={"fast": 10 * GIB, "slow": 10**15}).situation([unit])
    seen = replace(view(heat, HERE), expected=outlook(seasons, HERE, at, 24.0).promised_demand())
    return make_plan(
        replace(situation, heat=decision_heat(seen, situation.tier_of_space[situation.units.space] == 0)), SETTINGS
    )


def month_end(at: datetime) -> float:
    """200 reads a second on the last day of the month, nothing else."""
    return 200.0 if (at + timedelta(days=1)).day == 1 else 0.0


def test_a_month_end_table_comes_on_the_eve_and_not_after() -> None:
    """Cold for weeks, it is promoted the day before its fourth month end, and two days before it is not."""
    unit = Unit(key="month_end", size=GIB)
    until_eve = 31 + 28 + 31 + 29
    heat, seasons, at = lived(until_eve, month_end)
    assert at.date().isoformat() == "2026-04-30"
    assert [move.key for move in planned(heat, seasons, at, unit).moves] == ["month_end"]
    heat, seasons, at = lived(until_eve - 2, month_end)
    assert planned(heat, seasons, at, unit).moves == ()


def test_an_object_with_two_weeks_of_silence_is_cold() -> None:
    """Hot for a month, silent for two weeks: it does not come, and on fast storage it has next to nothing to defend."""
    heat, seasons, at = lived(45, lambda at: 100.0 if at < YEAR + timedelta(days=31) else 0.0)
    assert planned(heat, seasons, at, Unit(key="silent", size=MIB)).moves == ()
    long = view(heat, HERE).steady
    assert long is not None
    assert long[Signal.SYNC_READ, 0] < 5.0


def test_two_weeks_without_samples_change_nothing() -> None:
    """Silence of the unit is evidence, silence of the agent is not: heat, error and verdict stay as they were."""
    heat, seasons, at = lived(10, lambda _: 100.0)
    before = planned(heat, seasons, at, Unit(key="unseen", size=MIB))
    after = planned(heat, seasons, at + timedelta(days=14), Unit(key="unseen", size=MIB))
    assert [move.key for move in before.moves] == [move.key for move in after.moves] == ["unseen"]
    assert before.wait_saved_per_hour == after.wait_saved_per_hour


def test_checkpoint_bursts_are_nobodys_wait() -> None:
    """Every fifth minute writes 20,000 blocks at once: however large, no gain and no move."""
    heat = empty_heat()
    for minute in range(600):
        rates = np.zeros((SIGNALS, 1))
        rates[Signal.LOGICAL_READ] = 50.0
        rates[Signal.ASYNC_WRITE] = 0.0 if minute % 5 else 20_000.0 / 60
        burst = Demand(
            ended_at=YEAR, seconds=60.0, physical_id=np.array([7], dtype=np.int64), rates=rates,
            observed=np.array([True]), estimated=frozenset(), database=DatabaseDemand(),
        )  # fmt: skip
        heat = update(heat, burst, HERE, HERE, SETTINGS)
    plan = planned(heat, empty_seasons(), YEAR, Unit(key="written", size=GIB))
    assert plan.moves == ()
    assert Verdict(int(plan.verdict[0])) is Verdict.WRITE_DOMINATED


def test_a_short_burst_is_called_fading() -> None:
    """Hot for three hours after a quiet month: the long horizon does not agree yet, and the verdict says so."""
    floor = replace(SETTINGS, minimum_wait_saved_per_hour=200.0)
    heat, seasons, at = lived(30 + 3 / 24, lambda at: 100.0 if at >= YEAR + timedelta(days=30) else 0.0)
    situation = Site(room={"fast": 10 * GIB, "slow": 10**15}).situation([Unit(key="burst", size=MIB)])
    seen = replace(view(heat, HERE), expected=outlook(seasons, HERE, at, 24.0).promised_demand())
    plan = make_plan(replace(situation, heat=decision_heat(seen, np.array([False]))), floor)
    assert Verdict(int(plan.verdict[0])) is Verdict.FADING


def test_speeds_of_the_tests_are_those_of_a_disk_and_an_ssd() -> None:
    """The figures above presume 5.5 ms against 0.2 ms."""
    assert (HDD.random_read_seconds, SSD.random_read_seconds) == (0.0055, 0.0002)
