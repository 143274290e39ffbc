"""Advice beside moves: each by its own measured waits, and silence where nothing was measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from connectors.model.moves import UnitKind
from connectors.model.observation import DatabaseDemand, Role, RoleFigures
from policies.evidence.counter_deltas import Gap, difference
from policies.evidence.prices import advice_of_roles
from policies.evidence.workload import RecentWork, WorkInterval
from policies.model.plan import Advice, AdviceCode, PacedShare, Situation
from policies.model.settings import PolicySettings, TierLimits
from policies.placement.advice import advice_of, cached_wait
from policies.placement.balancer import make_plan
from tests.unit.policies.situations import GIB, HDD, MIB, SSD, Site, Unit, sample

SETTINGS = PolicySettings()
BUSY = DatabaseDemand(read_wait=4.0, write_wait=0.0, active=8.0)


def advised(situation: Situation, settings: PolicySettings = SETTINGS) -> list[Advice]:
    """Advice on the plan of a situation."""
    return list(advice_of(situation, make_plan(situation, settings), settings))


def codes(advice: list[Advice]) -> list[tuple[AdviceCode, str]]:
    """What is said about whom."""
    return [(each.code, each.subject) for each in advice]


def site_with(figures: RoleFigures | None = None, database: DatabaseDemand = BUSY, *units: Unit) -> Situation:
    """A site with a log, temporary or undo space."""
    situation = Site(room={"fast": GIB, "slow": 10**15}, database=database).situation(units)
    return replace(situation, roles=() if figures is None else (figures,))


@pytest.mark.parametrize("role", Role)
def test_a_slow_device_that_sessions_wait_for_wants_a_faster_one(role: Role) -> None:
    """100 writes/s of 10 ms each hold up an eighth of all session time; the SSD would take 0.1 ms."""
    figures = RoleFigures(role=role, name="it", writes=100.0, write_seconds=1.0, waited_seconds=1.0)
    (advice,) = advised(site_with(figures))
    assert (advice.code, advice.subject) == (AdviceCode.FASTER_DEVICE, "it")
    assert advice.saves_per_hour == pytest.approx(3600 * (1 - 0.0001 / 0.01))


def test_a_log_on_a_quick_device_wants_one_of_its_own() -> None:
    """0.1 ms a write is as fast as the SSD already; what is left is to share the device with nobody."""
    figures = RoleFigures(role=Role.LOG, name="log", writes=1e4, write_seconds=1.0, waited_seconds=1.0)
    assert codes(advised(site_with(figures))) == [(AdviceCode.OWN_DEVICE, "log")]


def test_what_hardly_anybody_waits_for_is_left() -> None:
    """A log that takes 10 ms a write behind a write cache, with 1 % of session time waiting, stays."""
    figures = RoleFigures(role=Role.LOG, name="log", writes=8.0, write_seconds=0.08, waited_seconds=0.08)
    assert codes(advised(site_with(figures))) == [(AdviceCode.LEAVE, "log")]


def test_nothing_measured_is_nothing_said() -> None:
    """Figures that the engine does not keep lead to no advice."""
    assert advised(site_with(RoleFigures(role=Role.TEMP, name="temp"))) == []
    assert advised(site_with(database=DatabaseDemand())) == []


def test_what_is_used_and_not_timed_is_said_to_be_unknown() -> None:
    """Half a MiB of sort files a second may cost sessions anything; with nothing written there is nothing to say."""
    files = RoleFigures(role=Role.TEMP, name="sorts", written_bytes=MIB / 2, note="nobody times it")
    (advice,) = advised(site_with(files))
    assert (advice.code, advice.saves_per_hour) == (AdviceCode.UNKNOWN, 0.0)
    assert "512.0 KiB/s" in advice.sentence
    assert advice.sentence.endswith("is not known: nobody times it.")
    assert advised(site_with(replace(files, written_bytes=0.0))) == []
    assert advised(site_with(replace(files, written_bytes=0.01))) == []


def test_a_log_that_serves_others_is_judged_by_the_time_of_all() -> None:
    """One second a second is an eighth of this database's time, and one per cent of that of all it serves."""
    figures = RoleFigures(role=Role.LOG, name="log", writes=100.0, write_seconds=1.0, waited_seconds=1.0)
    assert codes(advised(site_with(figures))) == [(AdviceCode.FASTER_DEVICE, "log")]
    assert codes(advised(site_with(replace(figures, active_seconds=100.0)))) == [(AdviceCode.LEAVE, "log")]


def test_without_session_time_the_other_waits_are_the_measure() -> None:
    """An engine that does not know how long sessions execute: 10 ms beside 4 s of reads a second is left alone."""
    figures = RoleFigures(role=Role.LOG, name="log", writes=100.0, write_seconds=1.0, waited_seconds=1.0)
    silent = DatabaseDemand(read_wait=4.0)
    assert codes(advised(site_with(figures, silent))) == [(AdviceCode.FASTER_DEVICE, "log")]
    short = replace(figures, write_seconds=0.01, waited_seconds=0.01)
    assert codes(advised(site_with(short, silent))) == [(AdviceCode.LEAVE, "log")]


def test_reads_of_a_sort_space_count_by_their_own_time() -> None:
    """Reads of 5.5 ms and quick writes: what the ssd spares is nearly all of the reads and none of the writes."""
    figures = RoleFigures(
        role=Role.TEMP, name="temp", reads=100.0, read_seconds=0.55, writes=100.0, write_seconds=0.01,
        waited_seconds=0.56,
    )  # fmt: skip
    (advice,) = advised(site_with(figures))
    assert advice.saves_per_hour == pytest.approx(3600 * 0.56 * (1 - (0.02 + 0.01) / 0.56))


def waiting_for_reads(log: RoleFigures, load: str = "closed") -> Situation:
    """Eight sessions that pause 4 ms and wait for a disk; all that they read has room on the ssd."""
    waited = 7.4
    database = DatabaseDemand(
        reads=110.0, read_wait=waited, transactions=110.0, active=waited + 0.11, population=8.0, processor=0.03,
        processors=2.0,
    )  # fmt: skip
    fast, slow = replace(SSD, random_read_seconds=1e-4), replace(HDD, random_read_seconds=waited / 110)
    site = Site(room={"fast": 100 * GIB, "slow": 10**15}, database=database,
                tiers=(("ssd", fast, ("fast",)), ("hdd", slow, ("slow",))))  # fmt: skip
    return replace(site.situation([Unit(key="t", sync=110.0, size=MIB)]), roles=(log,), load=load)


def test_a_log_is_judged_at_the_rate_that_is_forecast() -> None:
    """Hardly waited for now; once reads are quick it is most of a transaction, and a faster device brings so much."""
    log = RoleFigures(role=Role.LOG, name="log", writes=110.0, write_seconds=0.11, waited_seconds=0.11)
    (alone,) = advice_of_roles(waiting_for_reads(log), PolicySettings())
    (advice,) = advised(waiting_for_reads(log))
    assert alone.code is AdviceCode.LEAVE
    assert advice.code is AdviceCode.FASTER_DEVICE
    assert advice.sentence.startswith(f"{alone.sentence} After this plan, at the forecast ")
    # 8 sessions that pause 4 ms, compute 0.3 and read 0.1 ms do about 8 / 5.4 ms with the log and 8 / 4.5 ms without
    rates = [float(each.replace(",", "")) for each in re.findall(r"([0-9,]+)/s", advice.sentence)]
    assert rates == pytest.approx([1480, 1750, 1480], rel=0.06)
    assert advice.saves_per_hour == pytest.approx(rates[0] * 0.0009 * 3600, rel=0.01)


def test_a_log_of_work_that_arrives_is_judged_as_it_is() -> None:
    """No more comes than now, however quick reads become: the log stays what it is."""
    log = RoleFigures(role=Role.LOG, name="log", writes=110.0, write_seconds=0.11, waited_seconds=0.11)
    (advice,) = advised(waiting_for_reads(log, load="open"))
    assert advice.code is AdviceCode.LEAVE
    assert "forecast" not in advice.sentence


def test_a_log_with_its_own_pace_is_not_waited_for_more() -> None:
    """What no transaction causes does not grow with them."""
    log = RoleFigures(role=Role.LOG, name="log", writes=110.0, write_seconds=0.11, waited_seconds=0.11)
    never = PacedShare(least=0.0, share=0.0, most=0.0)
    situation = waiting_for_reads(log)
    (advice,) = advised(replace(situation, paced=replace(situation.paced, log=never)))
    assert advice.saves_per_hour == pytest.approx(0.11 * 0.9 * 3600)


def test_a_log_bound_load_is_named_by_the_log() -> None:
    """Nine tenths of the time for the log: no gain expected, and the log itself is judged beside it."""
    figures = RoleFigures(role=Role.LOG, name="log", writes=90.0, write_seconds=0.9, waited_seconds=0.9)
    said = advised(site_with(figures, DatabaseDemand(read_wait=0.01, active=1.0)))
    assert codes(said) == [(AdviceCode.NO_GAIN_EXPECTED, ""), (AdviceCode.FASTER_DEVICE, "log")]
    assert said[0].sentence.startswith("log-bound: no gain expected")


def test_a_log_bound_batch_gains_nothing() -> None:
    """One per cent of the time for reads and most of it for the log: no gain is expected, and it says why."""
    situation = site_with(None, DatabaseDemand(read_wait=0.01, write_wait=0.8, active=1.0), Unit(key="t", sync=2.0))
    (advice,) = advised(situation)
    assert advice.code is AdviceCode.NO_GAIN_EXPECTED
    assert "held up by the log" in advice.sentence


def test_an_index_without_its_table_is_half_a_move() -> None:
    """The index came up alone for want of room; its table is busy too and that is said, and the other way round."""
    table = Unit(key="orders", sync=50.0, size=2 * GIB)
    index = Unit(key="orders_pkey", sync=50.0, size=MIB, kind=UnitKind.INDEX, parent=1000)
    assert (AdviceCode.INDEX_WITHOUT_TABLE, "orders") in codes(advised(site_with(None, BUSY, table, index)))
    large = replace(index, size=2 * GIB)
    small = replace(table, size=MIB)
    assert (AdviceCode.TABLE_WITHOUT_INDEX, "orders_pkey") in codes(advised(site_with(None, BUSY, small, large)))
    idle = replace(table, sync=0.0)
    assert codes(advised(site_with(None, BUSY, idle, index))) == []


def test_memory_is_advised_where_it_saves_more_for_the_money() -> None:
    """Memory little dearer than SSD holds all but one of the warm tables, and spares all of their wait."""
    warm = [Unit(key=f"warm{at}", sync=1.0, size=80 * MIB) for at in range(10)]
    situation = site_with(None, BUSY, Unit(key="hot", sync=90.0, size=10 * MIB), *warm)
    fast, slow = situation.tiers
    situation = replace(situation, tiers=(replace(fast, limits=TierLimits(gib_year=2.0)), slow))
    for price, expected in ((2.02, [(AdviceCode.RAM_IS_CHEAPER, "")]), (20.0, [])):
        assert codes(advised(situation, replace(SETTINGS, ram_gib_year=price, regret_ratio=0.0))) == expected
    assert cached_wait(situation, SETTINGS, 10 * MIB) == pytest.approx(90 * 0.0055 * 3600)


def test_figures_of_roles_become_rates() -> None:
    """Totals become differences, those rates, those means; what fell or is not kept is unknown."""
    was = replace(sample(0, {}), roles=(RoleFigures(role=Role.LOG, name="wal", writes=10.0, reads=9.0),))
    now = replace(sample(60, {}), roles=(RoleFigures(role=Role.LOG, name="wal", writes=70.0, reads=3.0),))
    interval = difference(was, now, longest_seconds=300)
    assert not isinstance(interval, Gap)
    (figures,) = (each.per_second(60.0) for each in interval.roles)
    assert figures.writes == 1.0
    assert figures.reads != figures.reads
    lately = RecentWork()
    for writes in (4.0, float("nan"), 7.0):
        roles = (replace(figures, writes=writes),)
        lately = lately.then(WorkInterval(seconds=60.0, demand=DatabaseDemand(), roles=roles), half_life=60.0)
    (mean,) = lately.mean_roles()
    assert mean.name == "wal"
    assert mean.writes == pytest.approx(6.0)
    assert mean.reads != mean.reads
    other = difference(replace(was, roles=()), now, longest_seconds=300)
    assert not isinstance(other, Gap)
    assert other.roles == ()
