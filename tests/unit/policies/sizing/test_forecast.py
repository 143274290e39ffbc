"""Throughput of another placement: right where it can be worked out by hand, sane everywhere else."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.model.formatting import format_bytes, format_rate
from connectors.model.observation import DatabaseDemand, Role, RoleFigures
from policies.evidence.queueing import MOST_CONTESTED, contested_processors
from policies.model.confidence import Foretold, PastForecast, spread
from policies.model.plan import Situation
from policies.model.settings import PolicySettings, TierLimits, TierSpeed
from policies.placement.balancer import make_plan
from policies.placement.forecast import CONTESTED_ERROR, forecast, forecast_plan, tiers_after
from policies.placement.forecast_figures import Forecast
from tests.unit.policies.situations import BARE, HDD, Site, Unit
from tests.workloads.exact_network import ExactStation, Solved, solve

SETTINGS = PolicySettings()


def measured(transactions: float = 100.0, read_wait: float = 7.9, active: float = 8.0) -> DatabaseDemand:
    """Eight sessions that hardly do anything but wait for the hdd."""
    return DatabaseDemand(reads=180.0, read_wait=read_wait, transactions=transactions, active=active)


def two_equals(database: DatabaseDemand, prefetched: float = 0.0) -> Situation:
    """Two units with the same reads, both on the hdd."""
    units = [Unit(key=key, sync=90.0, prefetched=prefetched if key == "a" else 0.0) for key in ("a", "b")]
    return Site(database=database).situation(units)


def placed(situation: Situation, *tiers: int) -> Forecast:
    """The forecast with each unit on that tier."""
    return forecast(situation, SETTINGS, np.array(tiers, dtype=np.int64))


def test_the_present_placement_gives_the_present_throughput() -> None:
    """Read backwards and forwards, the equations agree."""
    found = placed(two_equals(measured()), 1, 1)
    assert found.transactions == pytest.approx(100.0, rel=0.01)
    assert found.wait_per_transaction == pytest.approx(0.079, rel=0.02)
    assert found.gain == pytest.approx(1.0, rel=0.01)


@given(
    st.floats(0.01, 1e5),
    st.one_of(st.floats(0, 300), st.just(math.nan)),
    st.floats(0.01, 300),
    st.floats(0, 50_000),
    st.sampled_from([(0, 0), (0, 1), (1, 1)]),
)
@example(1.0, 1.0, 1.0, 2.2e-309, (0, 0))  # a queue too short to be the reason of any wait
def test_what_is_there_is_foretold_as_it_is(
    transactions: float, read_wait: float, active: float, prefetched: float, homes: tuple[int, int]
) -> None:
    """Whatever was measured or not, where nothing moves throughput stays, but for the hundredth spent elsewhere."""
    reads = [Unit(key=key, sync=90.0, space=("fast", "slow")[home]) for key, home in zip("ab", homes, strict=True)]
    ahead = Unit(key="c", prefetched=prefetched)
    situation = Site(database=measured(transactions, read_wait, active)).situation([*reads, ahead])
    assert placed(situation, *homes, 1).gain == pytest.approx(1.0, rel=0.011)


def test_half_the_reads_of_a_full_queue_are_twice_the_throughput() -> None:
    """The bottleneck serves as many reads as before, and a transaction needs half of them."""
    found = placed(two_equals(measured()), 0, 1)
    assert found.transactions == pytest.approx(200.0, rel=0.05)
    assert found.interval.low < 190 < 210 < found.interval.high


def test_without_a_queue_the_saved_wait_is_all_that_is_gained() -> None:
    """One session that waits half of its time runs at most twice as fast."""
    found = placed(two_equals(measured(transactions=50.0, read_wait=0.5, active=1.0)), 0, 0)
    assert 90.0 < found.transactions < 100.0


def test_a_scan_keeps_its_pace_and_its_share() -> None:
    """Reads ahead of sessions take their share of the tier off it, before and after: they do not grow with the rest."""
    alone = placed(two_equals(measured()), 1, 0)
    scanned = placed(two_equals(measured(), prefetched=20_000.0), 0, 1)
    assert scanned.transactions > alone.transactions  # the scan went to the ssd with its table


def test_what_is_read_ahead_takes_its_share_unwaited_for() -> None:
    """However little sessions wait for a scan, it keeps the disk busy for as long as its reads take."""
    settings = PolicySettings(prefetched_wait_share=0.0)
    with_scan, without = (
        forecast(two_equals(measured(), prefetched=rate), settings, np.array([0, 1], dtype=np.int64)).transactions
        for rate in (20_000.0, 0.0)
    )
    assert with_scan > 1.05 * without


@pytest.mark.parametrize("unknown", [{"transactions": math.nan}, {"active": math.nan}, {"transactions": 0.0}])
def test_what_was_not_measured_is_not_predicted(unknown: dict[str, float]) -> None:
    """Without transactions or session time there is nothing to go on."""
    found = placed(two_equals(measured(**unknown)), 0, 1)
    assert math.isnan(found.transactions)
    assert math.isnan(found.interval.low)


@given(
    shares=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8),
    service=st.floats(0.001, 0.02),
    sessions=st.floats(1.0, 500.0),
    waiting=st.floats(0.01, 0.999),
    rate=st.floats(0.1, 1e5),
)
def test_more_on_the_ssd_is_never_slower_and_the_interval_holds_the_forecast(
    shares: list[float], service: float, sessions: float, waiting: float, rate: float
) -> None:
    """Throughput rises with every unit that goes up, up to what computing alone allows."""
    queue = sessions * waiting
    database = measured(transactions=rate, read_wait=queue, active=sessions)
    reads = queue / (service * (1 + queue * (sessions - 1) / sessions))
    sync = [reads * share / sum(shares) for share in shares]
    situation = Site(database=database).situation([Unit(key=f"u{at}", sync=s) for at, s in enumerate(sync)])
    rates = []
    for up in range(len(sync) + 1):
        found = placed(situation, *([0] * up + [1] * (len(sync) - up)))
        assert found.interval.low <= found.transactions <= found.interval.high
        rates.append(found.transactions)
    assert rates[0] == pytest.approx(rate, rel=0.02)
    assert all(after >= before * (1 - 1e-6) for before, after in itertools.pairwise(rates))
    assert rates[-1] <= rate / (1 - waiting) * (1 + 1e-6)


def test_a_closed_network_by_hand() -> None:
    """Two sessions, one queue: 69.72 transactions a second, worked out with pencil and paper.

    50 a second and one session waiting of two: Z = 1 / 50 = 20 ms; U = 1 / (1 + 1 / 2) = 2 / 3, so D = 13.33 ms.
    Half of the reads go where they take no time: D = 6.67 ms and X (Z + D / (1 - X D / 2)) = 2, which is
    X^2 - 500 X + 30,000 = 0 and X = 250 - sqrt(32,500).
    """
    database = DatabaseDemand(reads=180.0, read_wait=1.0, transactions=50.0, active=2.0)
    at_once = TierSpeed(random_read_seconds=0.0, sequential_read_seconds=0.0, write_seconds=0.0)
    site = Site(database=database, tiers=(("ssd", at_once, ("fast",)), ("hdd", HDD, ("slow",))))
    found = placed(site.situation([Unit(key="a", sync=90.0), Unit(key="b", sync=90.0)]), 0, 1)
    assert found.transactions == pytest.approx(250 - math.sqrt(32_500), rel=1e-9)
    assert found.latency == pytest.approx(2 / 69.7224, rel=1e-6)
    assert found.wait_per_transaction == pytest.approx(2 / 69.7224 - 0.020, rel=1e-5)
    assert found.latency_interval.low < found.latency < found.latency_interval.high


@given(
    sync=st.lists(st.floats(0.0, 5_000.0), min_size=1, max_size=6),
    homes=st.lists(st.sampled_from([0, 1]), min_size=6, max_size=6),
    then=st.lists(st.sampled_from([0, 1]), min_size=6, max_size=6),
    rate=st.floats(0.1, 1e5),
    active=st.floats(0.1, 500.0),
    waiting=st.one_of(st.floats(0.0, 2.0), st.just(math.nan)),
)
@example(sync=[2.225e-313], homes=[1] * 6, then=[0] * 6, rate=1.0, active=500.0, waiting=1.0)  # ratios overflow
def test_no_placement_is_better_than_no_wait_and_nobody_waits_longer_than_sessions_are_there(
    sync: list[float], homes: list[int], then: list[int], rate: float, active: float, waiting: float
) -> None:
    """Whatever is believed of the tiers: throughput ends where only computing is left, wait where all sessions wait."""
    units = [Unit(key=f"u{at}", sync=s, space=("fast", "slow")[homes[at]]) for at, s in enumerate(sync)]
    database = measured(rate, active * waiting, active)
    found = placed(Site(database=database).situation(units), *then[: len(sync)])
    if math.isnan(found.transactions):
        assert found.why_not
        return
    by_model = sum(s * (0.0055 if home else 0.0002) for s, home in zip(sync, homes, strict=False))
    waits = min(active, active * waiting if waiting == waiting else by_model)
    sessions = max(1.0, active)
    elsewhere = max(0.01, sessions - waits) / rate
    assert found.transactions <= sessions / elsewhere * (1 + 1e-9)
    assert found.transactions * found.wait_per_transaction <= sessions * (1 + 1e-9)


def test_what_is_configured_as_an_array_is_forecast_with_more_servers_than_one() -> None:
    """2,000 I/Os a second of 5.5 ms each are eleven at a time; a RAID level alone says nothing of how many."""
    situation = two_equals(measured(read_wait=5.0))
    fast, slow = situation.tiers
    one, several, raid = (
        placed(replace(situation, tiers=(fast, replace(slow, limits=limits))), 0, 1)
        for limits in (TierLimits(), TierLimits(io_per_second=2000.0), TierLimits(raid=5))
    )
    assert not several.why_not
    assert several.transactions < 0.97 * one.transactions  # what waits is served, not queueing: less is gained
    assert raid == one


@pytest.mark.parametrize(
    ("unknown", "word"),
    [({"transactions": math.nan}, "counts no transactions"), ({"active": math.nan}, "how long sessions execute"),
     ({"transactions": 0.0}, "no transaction was seen"), ({"active": 0.0}, "no session")],
)  # fmt: skip
def test_what_is_not_forecast_says_why(unknown: dict[str, float], word: str) -> None:
    """The reason names what is missing."""
    assert word in placed(two_equals(measured(**unknown)), 0, 1).why_not


def test_a_plan_is_forecast_with_its_moves_done() -> None:
    """The tiers after a plan are those of its moves, and without moves those of now."""
    situation = two_equals(measured())
    plan = make_plan(situation, BARE)
    assert len(plan.moves) == 2
    assert tiers_after(situation, plan).tolist() == [0, 0]
    assert forecast_plan(situation, SETTINGS, plan) == placed(situation, 0, 0)
    assert forecast_plan(situation, SETTINGS, replace(plan, moves=())) == placed(situation, 1, 1)


@pytest.mark.parametrize("think", [0.004, 0.060, 0.200])
@pytest.mark.parametrize("left", [0.0, 0.3])
def test_sessions_that_think_do_not_become_many(think: float, left: float) -> None:
    """Eight clients, one disk: what moves bring ends where their pauses do. The exact network is what happens."""
    service, compute = 0.0054, 0.0003

    def happens(share: float) -> Solved:
        stations = [ExactStation(seconds=service * share, servers=1)] if share else []
        return solve([*stations, ExactStation(seconds=compute, servers=2)], think, 8)

    now, then = happens(1.0), happens(left)
    database = DatabaseDemand(
        reads=now.rate, read_wait=float(now.waiting[0]), transactions=now.rate, active=float(now.waiting.sum()),
        population=8.0, processor=compute * now.rate, processors=2.0,
    )  # fmt: skip
    at_once = TierSpeed(random_read_seconds=1e-9, sequential_read_seconds=1e-9, write_seconds=1e-9)
    wait = replace(HDD, random_read_seconds=float(now.waiting[0]) / now.rate, idle_read_seconds=service)
    site = Site(database=database, tiers=(("ssd", at_once, ("fast",)), ("hdd", wait, ("slow",))))
    units = [Unit(key="goes", sync=now.rate * (1 - left)), Unit(key="stays", sync=now.rate * left)]
    found = placed(site.situation(units), 0, 1)
    assert found.transactions == pytest.approx(then.rate, rel=0.05)
    assert found.interval.low <= then.rate <= found.interval.high <= 4 * found.interval.low
    assert found.latency == pytest.approx(8 / then.rate - think, rel=0.15, abs=2e-5)
    assert found.assumed == ("no iops configured for ssd",)


@pytest.mark.parametrize(("idle", "busy"), [(0.00068, 0.00023), (0.00052, 0.00016)])
def test_busy_processors_may_need_less_for_a_transaction(idle: float, busy: float) -> None:
    """Two loads took three times as long to compute while they waited for a disk: the interval reaches so far."""
    reads, service = 1.8, 0.0054
    now = solve([ExactStation(seconds=reads * service, servers=1), ExactStation(seconds=idle, servers=2)], 0.0, 6)
    then = solve([ExactStation(seconds=busy, servers=2)], 0.0, 6)
    database = DatabaseDemand(
        reads=reads * now.rate, read_wait=float(now.waiting[0]), transactions=now.rate, active=6.0, population=6.0,
        processor=idle * now.rate, processors=2.0,
    )  # fmt: skip
    at_once = TierSpeed(random_read_seconds=1e-9, sequential_read_seconds=1e-9, write_seconds=1e-9)
    wait = replace(HDD, random_read_seconds=float(now.waiting[0]) / (reads * now.rate), idle_read_seconds=service)
    site = Site(database=database, tiers=(("ssd", at_once, ("fast",)), ("hdd", wait, ("slow",))))
    situation = site.situation([Unit(key="goes", sync=reads * now.rate)])
    found = placed(situation, 0)
    assert found.interval.low < found.transactions < then.rate <= found.interval.high
    assert placed(situation, 1).interval.high < 1.2 * now.rate, "nothing moves, and nothing is spared"


def test_how_many_sessions_think_is_not_known() -> None:
    """Then the work may as well stay as it is: that is the lower end, whatever the waits."""
    unknown = placed(two_equals(measured()), 0, 0)
    known = placed(two_equals(replace(measured(), population=8.0)), 0, 0)
    assert unknown.interval.low <= 100.0 < known.interval.low


def test_work_that_arrives_by_itself_is_done_as_before_and_sooner() -> None:
    """An open load: the same throughput, a latency without the waits; of a load of no known kind both are told."""
    situation = two_equals(replace(measured(), population=8.0))
    either, arriving = placed(situation, 0, 0), placed(replace(situation, load="open"), 0, 0)
    assert arriving.transactions == pytest.approx(100.0)
    assert arriving.interval.low < 100.0 < arriving.interval.high < 120.0 < either.interval.low
    assert arriving.latency == either.open_latency < 0.1 * either.present_latency
    assert (either.load, arriving.load) == ("", "open")


def test_a_fast_volume_without_a_known_limit_may_have_one() -> None:
    """Eight sessions, four reads a transaction: at 3,000 reads a second there are 750 transactions, and it says so."""
    database = DatabaseDemand(reads=400.0, read_wait=7.9, transactions=100.0, active=8.0, population=8.0)
    units = [Unit(key=key, sync=200.0) for key in ("a", "b")]
    situation = Site(database=database).situation(units)
    found = placed(situation, 0, 0)
    assert found.interval.low < 750 < found.transactions
    assert "no iops configured for ssd" in found.assumed
    fast = replace(situation.tiers[0], limits=TierLimits(io_per_second=3000.0))
    limited = placed(replace(situation, tiers=(fast, situation.tiers[1])), 0, 0)
    assert limited.transactions < 750
    assert limited.busiest.startswith("ssd: ")
    assert "no iops configured for ssd" not in limited.assumed


def test_other_programs_may_give_way_or_not() -> None:
    """Of two processors others take one: the interval holds what two would do and what one would, and says so."""
    two = replace(measured(), population=8.0, processor=0.4, processors=2.0)
    whole, one = (placed(two_equals(replace(two, processors=count)), 0, 0) for count in (2.0, 1.0))
    shared = placed(two_equals(replace(two, others_processor=1.6)), 0, 0)
    assert one.transactions < shared.transactions < whole.transactions
    assert shared.interval.low < one.transactions < whole.transactions < shared.interval.high
    assert "other programs take 1 of 2 processors, and may give way" in shared.assumed
    hardly = placed(two_equals(replace(two, others_processor=0.02)), 0, 0)
    assert hardly.assumed == whole.assumed


@pytest.mark.parametrize(
    ("others", "kept"), [(math.nan, 0.0), (0.0, 0.0), (0.6, 0.6), (2.0, 2.0), (3.5, 2.0), (4.0, 2.0)]
)
def test_other_programs_keep_what_they_take_up_to_a_fair_half(others: float, kept: float) -> None:
    """Of four processors; as many ready tasks of theirs as sessions of the server get k / (N + k) of them, half."""
    four = replace(measured(), processor=0.4, processors=4.0, others_processor=others)
    assert contested_processors(four) == kept
    sessions = others_tasks = 8
    assert others_tasks / (sessions + others_tasks) == MOST_CONTESTED


def test_beside_others_on_half_of_the_processors_computing_takes_up_to_one_and_a_half_times_as_long() -> None:
    """As each of two threads of one core does, which together do 1.3 times the work of one; alone it hardly differs."""
    at_most = math.exp(CONTESTED_ERROR * MOST_CONTESTED * spread(0.90))
    assert at_most == pytest.approx(2 / 1.3, rel=0.03)
    # A server that does nothing else but compute: so many fewer are its transactions.
    busy = replace(measured(read_wait=0.08), processor=7.9, processors=8.0, population=8.0)
    beside, alone = (placed(two_equals(each), 1, 1) for each in (replace(busy, others_processor=4.0), busy))
    assert beside.transactions / beside.interval.low == pytest.approx(at_most, rel=0.05)
    assert alone.transactions / alone.interval.low < 1.15


def test_clients_of_a_pool_are_not_modelled_unless_work_arrives_independently() -> None:
    """How many there are in front of it changes the rate of a closed load alone."""
    situation = two_equals(replace(measured(), population=8.0))
    for load, said in (("", True), ("closed", True), ("open", False)):
        found = placed(replace(situation, load=load), 0, 0)
        assert ("clients in front of a pool" in found.unmodelled) is said


def test_what_a_fast_tier_has_to_serve_is_said() -> None:
    """Four reads, a write and eight blocks read ahead a transaction, of which the last come half with the work."""
    database = DatabaseDemand(reads=400.0, read_wait=7.9, transactions=100.0, active=8.0, population=8.0)
    units = [Unit(key="goes", sync=400.0, writes=100.0, prefetched=800.0), Unit(key="stays", writes=50.0)]
    situation = Site(database=database).situation(units)
    found = placed(situation, 0, 1)
    (needs,) = found.needs
    ahead = format_bytes(round(800 * (1 + found.gain) / 2 * SETTINGS.block_bytes))
    reads, written = format_rate(400 * found.gain), format_rate(100 * found.gain)
    assert needs == f"{reads} reads, {written} writes, {ahead} read ahead a second of ssd"
    assert placed(situation, 1, 1).needs == ()
    assert placed(replace(situation, load="open"), 0, 1).needs == (
        "400 reads, 100 writes, 6.2 MiB read ahead a second of ssd",
    )


def test_the_next_bottleneck_is_named() -> None:
    """Two processors that were 20 % busy hold nine times the work up before anything else does."""
    database = replace(measured(), population=8.0, processor=0.4, processors=2.0)
    found = placed(two_equals(database), 0, 0)
    assert found.busiest.startswith("the processors: ")
    assert found.busiest.endswith("% busy")
    assert found.transactions < 500  # what two processors do
    idle = replace(measured(), population=80.0, processor=0.004, processors=2.0)
    assert placed(two_equals(idle), 0, 0).busiest.startswith("nothing that is counted (")


@pytest.mark.parametrize("think", [0.002, 0.004])
def test_a_forecast_that_missed_makes_the_next_one_hold(think: float) -> None:
    """A lock that no counter shows holds the work up: the exact network is what happens, the model knows no lock."""
    service, compute, lock = 0.0054, 0.0003, 0.0030

    def happens(share: float) -> Solved:
        disk = [ExactStation(seconds=service * share, servers=1)] if share else []
        return solve([*disk, ExactStation(seconds=compute, servers=2), ExactStation(seconds=lock, servers=1)], think, 8)

    def site(share: float) -> Situation:
        now = happens(share)
        database = DatabaseDemand(
            reads=now.rate * share, read_wait=float(now.waiting[0]), transactions=now.rate,
            active=float(now.waiting.sum()), population=8.0, processor=compute * now.rate, processors=2.0,
        )  # fmt: skip
        wait = replace(HDD, random_read_seconds=float(now.waiting[0]) / now.rate / share, idle_read_seconds=service)
        fast = replace(HDD, random_read_seconds=1e-6, sequential_read_seconds=1e-6, write_seconds=1e-6)
        units = [Unit(key="first", sync=now.rate * share / 2), Unit(key="second", sync=now.rate * share / 2)]
        return Site(database=database, tiers=(("ssd", fast, ("fast",)), ("hdd", wait, ("slow",)))).situation(units)

    first, came = placed(site(1.0), 0, 0), happens(0.0)
    assert not first.interval.low <= came.rate <= first.interval.high
    rate = Foretold(before=first.present_transactions, said=first.transactions, came=came.rate)
    latency = Foretold(before=first.present_latency, said=first.latency, came=8 / came.rate - think)
    past = (PastForecast(rate=rate, latency=latency),)
    again = placed(replace(site(1.0), past_forecasts=past), 0, 0)
    assert again.transactions == first.transactions
    assert again.interval.low <= came.rate * (1 + 1e-9) < again.interval.high
    assert again.latency_interval.low < latency.came <= again.latency_interval.high * (1 + 1e-9)
    assert any("were forecast earlier" in each for each in again.assumed)
    # Of another change too: half of the reads went up, and now the other half does.
    other = placed(replace(site(0.5), past_forecasts=past), 0, 0)
    assert other.interval.low <= came.rate <= other.interval.high
    stays = placed(replace(site(1.0), past_forecasts=past), 1, 1)
    assert stays.interval.high / stays.interval.low < again.interval.high / again.interval.low
    open_load = placed(replace(site(1.0), past_forecasts=past, load="open"), 0, 0)
    assert open_load.interval == placed(replace(site(1.0), load="open"), 0, 0).interval


@pytest.mark.parametrize("think", [0.002, 0.004, 0.020])
@pytest.mark.parametrize("at_once", [1, 8])
def test_a_log_that_sessions_wait_for_may_be_a_queue(think: float, at_once: int) -> None:
    """Flushes one by one, or those of eight sessions together: inside the interval, and named where it is busiest."""
    service, flush = 0.0054, 0.0030

    def happens(share: float) -> Solved:
        disk = [ExactStation(seconds=service * share, servers=1)] if share else []
        return solve([*disk, ExactStation(seconds=flush, servers=at_once)], think, 8)

    now, then = happens(1.0), happens(0.0)
    database = DatabaseDemand(
        reads=now.rate, read_wait=float(now.waiting[0]), transactions=now.rate, active=float(now.waiting.sum()),
        population=8.0, processor=1e-4 * now.rate, processors=2.0,
    )  # fmt: skip
    wait = replace(HDD, random_read_seconds=float(now.waiting[0]) / now.rate, idle_read_seconds=service)
    fast = replace(HDD, random_read_seconds=1e-6, sequential_read_seconds=1e-6, write_seconds=1e-6)
    site = Site(database=database, tiers=(("ssd", fast, ("fast",)), ("hdd", wait, ("slow",))))
    log = RoleFigures(role=Role.LOG, name="pg_wal", waited_seconds=float(now.waiting[1]))
    situation = replace(site.situation([Unit(key="a", sync=now.rate)]), roles=(log,))
    found = placed(situation, 0)
    assert found.interval.low <= then.rate <= found.interval.high
    assert found.busiest.startswith("pg_wal: at most ")
    unseen = placed(replace(situation, roles=()), 0)
    assert unseen.transactions == found.transactions
    assert set(unseen.unmodelled) - set(found.unmodelled) == {"the log (its waits are not measured)"}
    assert unseen.interval.low > found.interval.low
    if at_once == 1 and think < 0.02:
        assert unseen.interval.low > then.rate  # what the log is there for
