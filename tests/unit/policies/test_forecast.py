"""Throughput of another placement: right where it can be worked out by hand, sane everywhere else."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.model import DatabaseDemand
from policies.forecast import Forecast, forecast
from policies.plan import PolicySettings, Situation
from tests.unit.policies.situations import Site, Unit

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
