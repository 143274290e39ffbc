"""How many requests a tier serves at a time, learnt from its latencies: right where they tell, silent where not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import F64, DatabaseDemand
from policies.evidence.device import (
    add_points,
    calibrate,
    device_arrays,
    devices_from_arrays,
    empty_devices,
    fit_servers,
    no_points,
    observe,
)
from policies.model.settings import PolicySettings, Servers
from tests.over import over
from tests.unit.policies.situations import HDD, SSD, demand
from tests.workloads.exact_network import ExactStation, solve

SECONDS = 60.0
DAY = (1, 2, 3, 5, 8, 12, 20, 30, 45, 60)  # sessions at work over a day


def watched(
    servers: int, striped: bool, sessions: Sequence[int], *, times: int = 20, idle: float = 1.0, noise: float = 0.1
) -> F64:
    """Points of a tier that so many sessions use in turn; an idle read takes ``idle`` times what is configured."""
    draw = np.random.default_rng(servers * 10 + striped)
    points: F64 = no_points(1)
    for count in sessions:
        found = solve([ExactStation(seconds=1.0, servers=servers, striped=striped)], 0.3, count)
        ahead = found.waiting * (count - 1) / count
        for _ in range(times):
            ratio = idle * found.wait() * math.exp(draw.normal(0, noise))
            points = add_points(points, ahead, np.array([ratio]), np.array([True]), SECONDS)
    only: F64 = points[0]
    return only


@over("striped", [True, False])
@over("servers", [1, 4, 12, 20])
@over("idle", [0.6, 1.0, 1.5])
def test_a_day_of_light_and_heavy_load_tells_the_servers(servers: int, striped: bool, idle: float) -> None:
    """However far off the configured time of an idle read is."""
    found = fit_servers(watched(servers, striped, DAY, idle=idle), 0.5)
    assert found.source == "measured"
    assert found.least <= servers <= found.most
    assert found.count == pytest.approx(servers, rel=0.25)


@pytest.mark.parametrize("striped", [True, False])
def test_the_number_is_that_of_the_likelier_way_to_queue(striped: bool) -> None:
    """Where the other way is still possible with several times as many, it widens the interval only."""
    found = fit_servers(watched(48, striped, [1, 2, 5, 10, 20, 40, 80], noise=0.0), 0.5)
    assert found.striped is striped
    assert found.count == pytest.approx(48, rel=0.1)
    assert striped or found.most > 3 * 48


@pytest.mark.parametrize("servers", [1, 20])
def test_one_load_alone_measures_nothing(servers: int) -> None:
    """A long read may be a slow disk or a queue: an interval at best, one that holds what is true."""
    found = fit_servers(watched(servers, striped=True, sessions=[60], times=300), 0.5)
    assert found.source == ("assumed" if servers == 1 else "interval")
    assert found.least <= servers <= found.most
    assert found.most >= 2 * found.least


def test_without_a_queue_there_is_no_upper_end() -> None:
    """Few sessions on many disks never wait for one another: at least as many as were there."""
    found = fit_servers(watched(96, striped=False, sessions=[1, 4, 16, 30]), 0.5)
    assert found.source == "interval"
    assert 20 < found.least < 96 <= found.most


def test_where_nothing_was_seen_it_is_one_and_assumed() -> None:
    """No points, no interval."""
    assert fit_servers(no_points(1)[0], 0.5) == Servers()


def test_what_is_configured_is_left_alone_and_what_is_learnt_is_stored() -> None:
    """Configured servers win; evidence survives a restart, and what older versions stored has none."""
    state = empty_devices(2)
    for count in DAY * 20:
        found = solve([ExactStation(seconds=HDD.random_read_seconds, servers=8, striped=True)], 0.002, count)
        work = DatabaseDemand(
            reads=found.rate, read_wait=found.rate * found.wait(), transactions=found.rate, active=float(count)
        )
        seen = demand(SECONDS, {1: found.rate}, database=work)
        state = observe(state, (SSD, HDD), seen, np.array([1], dtype=np.int64), PolicySettings())
    again = devices_from_arrays(device_arrays(state))
    hdd = calibrate((SSD, HDD), again)[1]
    assert hdd.servers.source == "measured"
    assert hdd.servers.least <= 8 <= hdd.servers.most
    assert hdd.servers.striped is True
    configured = Servers(count=4, least=4, most=4, source="configured", striped=True)
    assert calibrate((SSD, replace(HDD, servers=configured)), again)[1].servers == configured
    older = {name: column for name, column in device_arrays(state).items() if name != "points"}
    assert calibrate((SSD, HDD), devices_from_arrays(older))[1].servers == Servers()
