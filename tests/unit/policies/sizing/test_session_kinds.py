"""Two kinds of sessions on one server: what is forecast, next to what a simulation of each session then does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand
from policies.model.plan import Situation
from policies.model.settings import PolicySettings, TierLimits, TierSpeed
from policies.placement.forecast import forecast
from policies.placement.forecast_figures import Forecast, mixture_of
from policies.placement.sizing import sizing
from tests.unit.policies.situations import BARE, HDD, Site, Unit
from tests.workloads.kinds_of_sessions import Did, Kind, Server, run

SETTINGS = PolicySettings()
DISK = Server(disk_seconds=0.0054, fast_seconds=0.0002)
# Those that read, and beside them: an application of its own, a monitor that asks all the time, users who think.
READERS = (
    Kind(count=4, think_seconds=1e-6, compute_seconds=0.0005, reads=10),
    Kind(count=1, think_seconds=1e-6, compute_seconds=0.0005, reads=200),
    Kind(count=8, think_seconds=0.5, compute_seconds=0.0005, reads=20),
    Kind(count=8, think_seconds=0.004, compute_seconds=0.0005, reads=1),
)
OTHERS = (
    Kind(count=8, think_seconds=0.05, compute_seconds=0.0003),
    Kind(count=1, think_seconds=0.005, compute_seconds=0.0001),
    Kind(count=40, think_seconds=1.0, compute_seconds=0.0003),
)


@cache
def did(kinds: tuple[Kind, ...], fast_share: float) -> list[Did]:
    """What each kind does with that share of its reads on the fast tier."""
    return run(kinds, replace(DISK, fast_share=fast_share))


def rate(of: Sequence[Did]) -> float:
    """Transactions a second of all of them."""
    return sum(each.transactions for each in of)


def situation(kinds: tuple[Kind, ...], share: float = math.nan) -> Situation:
    """As an engine counts it: all of them together, and how many sessions wait for reads.

    ``share``: of the readers' transactions, as looks see it, over what it is; NaN: looks tell nothing of it.
    """
    now, reads = did(kinds, 0.0), did(kinds, 0.0)[0].transactions * kinds[0].reads
    database = DatabaseDemand(
        reads=reads,
        read_wait=now[0].waiting,
        transactions=rate(now),
        active=sum(each.active for each in now),
        population=float(sum(kind.count for kind in kinds)),
        readers=float(kinds[0].count),
        readers_active=now[0].active,
        readers_transactions=now[0].transactions * share,
        processor=sum(each.computing for each in now),
        processors=2.0,
    )
    slow = replace(HDD, random_read_seconds=now[0].waiting / reads, idle_read_seconds=DISK.disk_seconds)
    fast = TierSpeed(random_read_seconds=DISK.fast_seconds, sequential_read_seconds=1e-6, write_seconds=1e-4)
    site = Site(database=database, tiers=(("ssd", fast, ("fast",)), ("hdd", slow, ("slow",))))
    found = site.situation([Unit(key="a", sync=reads)])
    endless = replace(found.tiers[0], limits=TierLimits(io_per_second=1e6))
    return replace(found, tiers=(endless, found.tiers[1]))


def all_up(of: Situation) -> Forecast:
    """The forecast with every read on the fast tier."""
    return forecast(of, SETTINGS, np.array([0]))


@pytest.mark.parametrize("readers", READERS)
@pytest.mark.parametrize("others", OTHERS)
def test_what_two_kinds_get_done_is_inside_the_interval(readers: Kind, others: Kind) -> None:
    """Twelve mixes. One class of sessions misses most of them, whatever its interval."""
    kinds = (readers, others)
    came = rate(did(kinds, 1.0))
    unknown, known = all_up(situation(kinds)), all_up(situation(kinds, 1.0))
    assert unknown.interval.low <= came <= unknown.interval.high
    assert known.interval.low <= came <= known.interval.high
    assert known.transactions == pytest.approx(came, rel=0.2)
    assert known.interval.high - known.interval.low < unknown.interval.high - unknown.interval.low
    for off in (0.6, 1.5):  # as looks may be
        about = all_up(situation(kinds, off)).interval
        assert about.low <= came <= about.high
    assert any("sessions wait for reads" in each for each in known.assumed)


def test_one_class_of_sessions_misses_most_of_them() -> None:
    """Else there were no need for a second one."""
    missed = 0
    for kinds in ((readers, others) for readers in READERS for others in OTHERS):
        of = situation(kinds)
        found = all_up(replace(of, database=replace(of.database, readers=math.nan)))
        missed += not found.interval.low <= rate(did(kinds, 1.0)) <= found.interval.high
    assert missed >= 8


def test_latency_is_that_of_all_together() -> None:
    """Session seconds of both kinds over the transactions of both."""
    kinds = (READERS[2], OTHERS[0])
    then, found = did(kinds, 1.0), all_up(situation(kinds, 1.0))
    latency = sum(each.active for each in then) / rate(then)
    assert found.latency == pytest.approx(latency, rel=0.25)
    assert found.latency_interval.low <= latency <= found.latency_interval.high
    assert found.sessions == pytest.approx(sum(each.active for each in did(kinds, 0.0)))


@given(
    st.floats(1.0, 50.0), st.floats(0.0, 60.0), st.floats(0.0, 1.0), st.floats(0.0, 1.2),
    st.one_of(st.just(math.nan), st.floats(0.0, 200.0)),
)  # fmt: skip
def test_two_kinds_are_sane_whatever_is_counted(
    population: float, readers: float, at_work: float, theirs: float, transactions: float
) -> None:
    """Where nothing moves nothing changes; the interval holds the forecast; what moves up is never slower."""
    active = population * at_work
    database = DatabaseDemand(
        reads=100.0, read_wait=0.3 * active, transactions=100.0, active=active, population=population, readers=readers,
        readers_active=active * theirs, readers_transactions=transactions, processor=0.2 * active, processors=4.0,
    )  # fmt: skip
    of = Site(database=database).situation([Unit(key="a", sync=100.0)])
    stays, goes = (forecast(of, SETTINGS, np.array([tier])) for tier in (1, 0))
    for found in (stays, goes):
        if found.why_not:
            return
        assert found.interval.low <= found.transactions <= found.interval.high
        assert found.latency_interval.low <= found.latency <= found.latency_interval.high
        assert found.present_transactions == 100.0
    # Where looks saw more readers at work than were counted, one count is wrong, and no network gives both back.
    agree = readers >= active * max(theirs, 0.3)
    assert stays.transactions == pytest.approx(100.0, rel=0.02 if agree else 0.15)
    if database.read_wait > 0.05:  # below it the hdd was as fast as the ssd is believed to be
        assert goes.transactions >= stays.transactions * (1 - 1e-6)


@pytest.mark.parametrize(
    "one_kind", [{"readers": math.nan}, {"readers": 8.0}, {"readers": 0.0}, {"population": math.nan}]
)
def test_sessions_of_one_kind_are_not_told_apart(one_kind: dict[str, float]) -> None:
    """Nothing was seen, all of them read, or the sessions are not counted: one class, as before."""
    database = DatabaseDemand(transactions=9.0, active=3.0, population=8.0, readers=4.0, readers_active=2.0)
    assert mixture_of(database) is not None
    assert mixture_of(replace(database, **one_kind)) is None


def test_the_sizing_curve_knows_that_only_readers_queue() -> None:
    """Six sessions read and think 100 ms, eight others never read: the curve is that of the six alone.

    Were the eight to queue at the disk too, it would be believed to be less busy than it is.
    """
    kinds = (Kind(count=6, think_seconds=0.1, compute_seconds=0.0005, reads=10), OTHERS[0])
    both = situation(kinds)
    mixture = mixture_of(both.database)
    assert mixture is not None
    read = [replace(both, database=database) for database in (both.database, mixture.readers)]
    as_one = replace(both, database=replace(both.database, readers=math.nan))
    curve, alone = (sizing(each, BARE) for each in read)
    assert [each.saved_per_hour for each in curve.points] == [each.saved_per_hour for each in alone.points]
    assert curve != sizing(as_one, BARE)
