"""Arrays of disks: forecast and sizing next to the exact solution of the network, from 1 to 96 servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.model.observation import DatabaseDemand
from policies.model.settings import PolicySettings, Servers, TierLimits
from policies.placement.forecast import forecast
from policies.placement.sizing import sizing
from tests.unit.policies.situations import HDD, SSD, Site, Unit
from tests.workloads.arrays import ArrayCase, cases
from tests.workloads.exact_network import ExactStation, solve

SETTINGS = PolicySettings()
FEW = tuple(cases(counts=(1, 8, 20, 96), sessions=(1, 10, 80)))[::5]  # all of them: tests.bench.policy_arrays


def saved_share(case: ArrayCase, servers: Servers | None = None) -> float:
    """Share of the saving of all-SSD that sizing says of what goes."""
    found = sizing(case.situation(servers), SETTINGS)
    half = next(point for point in found.points if point.units == 1)
    larger = max(case.left, 1 - case.left)  # the unit that the curve takes first
    return found.share(half) if larger == 1 - case.left else float("nan")


def test_throughput_is_within_a_tenth_of_the_exact_network_and_within_its_interval() -> None:
    """Where the servers are known, whichever way they queue."""
    held = 0
    for case in FEW:
        found = forecast(case.situation(), SETTINGS, case.tiers_after)
        truth = case.gain() * found.present_transactions
        assert found.transactions == pytest.approx(truth, rel=0.10), case
        held += found.interval.low <= truth <= found.interval.high
    assert held >= 0.9 * len(FEW)


def test_sizing_is_within_five_points_of_the_exact_network() -> None:
    """The share of the saving that a part of the reads brings, per transaction."""
    compared = [(saved_share(case), case.saved_share(), case) for case in FEW if case.left < 0.5]
    assert len(compared) > 30
    for found, truth, case in compared:
        assert found == pytest.approx(truth, abs=0.05), case


def test_an_array_that_is_taken_for_one_disk_is_what_misleads() -> None:
    """96 disks, 40 sessions: next to nothing waits for another, so saving is in proportion."""
    case = ArrayCase(servers=96, striped=True, sessions=40, elsewhere=0.9, left=0.25)
    wrong, right = saved_share(case, Servers()), saved_share(case)
    assert right == pytest.approx(case.saved_share(), abs=0.01)
    assert wrong > right + 0.1
    found = forecast(case.situation(Servers()), SETTINGS, case.tiers_after)
    assert found.transactions > 1.2 * case.gain() * found.present_transactions


def test_an_interval_of_servers_is_part_of_the_forecast() -> None:
    """Between 1 and 96 servers: both ends' forecasts are inside, and it is wider than where they are known."""
    case = ArrayCase(servers=20, striped=True, sessions=40, elsewhere=0.9, left=0.25)
    known = forecast(case.situation(), SETTINGS, case.tiers_after)
    found = forecast(
        case.situation(Servers(count=20, least=1, most=96, source="interval", striped=True)), SETTINGS, case.tiers_after
    )
    assert found.transactions == known.transactions
    for count in (1.0, 96.0):
        end = forecast(case.situation(replace(case.servers_known, count=count, least=count, most=count)), SETTINGS,
                       case.tiers_after)  # fmt: skip
        assert found.interval.low <= end.transactions <= found.interval.high
    assert found.interval.high - found.interval.low > known.interval.high - known.interval.low


def test_iops_limits_count_and_are_named() -> None:
    """An SSD of 600 I/Os a second binds: the forecast says so, and is right; one of 60,000 does not."""
    case = ArrayCase(servers=20, striped=True, sessions=40, elsewhere=0.5, left=0.1)
    situation = case.situation()
    found = {}
    for most in (600.0, 60_000.0, None):
        fast = replace(situation.tiers[0], limits=TierLimits(io_per_second=most))
        found[most] = forecast(replace(situation, tiers=(fast, situation.tiers[1])), SETTINGS, case.tiers_after)
    assert found[600.0].limit == "ssd serves 600 I/Os a second at most"
    assert found[600.0].transactions == pytest.approx(600 / (4 * 0.9), rel=0.1)
    assert found[60_000.0].limit == found[None].limit == ""
    assert found[60_000.0].transactions == pytest.approx(found[None].transactions, rel=0.05)


def test_a_limit_that_moves_have_shown_is_part_of_the_next_forecast() -> None:
    """Two processors behind 20 disks: what one move taught of them makes the forecast of the next one right."""
    service, compute, sessions = 4 * HDD.random_read_seconds, 0.004, 40
    spent = {}
    for left in (1.0, 0.5, 0.2):
        stations = (
            ExactStation(seconds=service * left, servers=20, striped=True),
            ExactStation(seconds=compute, servers=2),
        )
        spent[left] = solve(stations, 0.001, sessions)
    now, then = spent[0.5], spent[0.2]
    first = spent[1.0]
    database = DatabaseDemand(
        reads=now.rate * 2, read_wait=float(now.waiting[0]), transactions=now.rate, active=float(sessions)
    )
    wait = float(now.waiting[0]) / now.rate / 2
    case = ArrayCase(servers=20, striped=True, sessions=sessions, elsewhere=0.5, left=0.4)
    hdd = replace(HDD, random_read_seconds=wait, idle_read_seconds=HDD.random_read_seconds, servers=case.servers_known)
    units = [Unit(key="stays", sync=now.rate * 0.8), Unit(key="goes", sync=now.rate * 1.2)]
    situation = Site(database=database, tiers=(("ssd", SSD, ("fast",)), ("hdd", hdd, ("slow",)))).situation(units)
    before = sessions / first.rate - float(first.waiting[0]) / first.rate
    blind = forecast(situation, SETTINGS, case.tiers_after)
    found = forecast(replace(situation, elsewhere_alone=before), SETTINGS, case.tiers_after)
    assert blind.transactions > 1.1 * then.rate
    assert "processors are not counted" in blind.assumed
    assert not blind.limit
    assert found.transactions == pytest.approx(then.rate, rel=0.1)
    assert found.interval.low <= then.rate <= found.interval.high
    assert found.limit.startswith("not reads: outside them a transaction took")


def test_the_exact_network_by_hand() -> None:
    """Two sessions, two servers: none waits. One server: two sessions that only read get as much as one."""
    assert solve([ExactStation(seconds=0.01, servers=2)], 0.01, 2).rate == pytest.approx(100.0)
    assert solve([ExactStation(seconds=0.01, servers=1)], 1e-9, 2).rate == pytest.approx(100.0)
    # Equally used disks with a queue each: N m / (N + m - 1) served at a time.
    assert solve([ExactStation(seconds=0.01, servers=4, striped=True)], 1e-9, 6).rate == pytest.approx(100 * 24 / 9)
