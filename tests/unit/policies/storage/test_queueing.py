"""Queueing relief: what stays behind waits less when hot units leave."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.evidence.queueing import MOST_BUSY, change_ratio, queue_of, queues, relief, utilisation
from policies.model.settings import PolicySettings, Tier
from policies.placement.balancer import make_plan
from tests.over import over
from tests.unit.policies.situations import HDD, MIB, SSD, Site, Unit


def test_a_read_of_twice_its_idle_time_is_a_disk_half_busy() -> None:
    """R = S / (1 - u)."""
    assert utilisation(0.011, 0.0055) == pytest.approx(0.5)
    assert utilisation(0.005, 0.0055) == 0.0
    assert utilisation(0.011, 0.0) == 0.0
    assert utilisation(10.0, 0.001) == MOST_BUSY


def test_half_of_the_load_gone_from_a_disk_nine_tenths_busy() -> None:
    """Reads take 10 S at 90 % and S / 0.55 at 45 %."""
    assert change_ratio(0.055, 0.0055, 0.5) == pytest.approx(0.1 / 0.55)
    with pytest.raises(ValueError, match="cannot be left"):
        change_ratio(1.0, 0.5, -0.1)


def test_servers_that_share_a_queue_are_busier_by_the_same_reads() -> None:
    """Reads half again as long as idle: one disk is a third busy, two of four servers and more are."""
    four = queue_of(4.0, striped=False)
    busy = utilisation(0.015, 0.010, four)
    assert utilisation(0.015, 0.010) == pytest.approx(1 / 3)
    assert busy == pytest.approx(0.74, abs=0.01)
    assert four.services_ahead(busy) == pytest.approx(0.5)
    assert change_ratio(0.015, 0.010, 0.5, four) == pytest.approx((1 + four.services_ahead(busy / 2)) / 1.5)


@over("servers", [1, 2, 4, 8, 20, 48, 96])
@over("busy", [0.2, 0.5, 0.8, 0.95])
def test_a_shared_queue_is_as_long_as_erlang_says(servers: int, busy: float) -> None:
    """What an arrival at many servers waits is within 3 % of a service, or 10 % of itself, of the exact M/M/m queue."""
    offered = servers * busy
    none = 1.0
    for count in range(1, servers + 1):
        none = 1.0 + none * count / offered  # 1 / blocking, Erlang B
    blocked = 1.0 / none
    waits = blocked / (1.0 - busy * (1.0 - blocked))  # Erlang C
    exact = waits / (servers * (1.0 - busy))
    assert queue_of(servers, striped=False).services_ahead(busy) == pytest.approx(exact, rel=0.1, abs=0.03)


@given(st.floats(1e-4, 1.0), st.floats(1e-4, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1e4))
def test_relief_is_between_nothing_and_all_there_is(read: float, idle: float, left: float, wait: float) -> None:
    """Whatever leaves, what stays is never spared more than its wait, nor charged for it."""
    assert -1e-9 <= relief(wait, read, idle, 100.0, 100.0 * left) <= wait


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_more_leaves_the_greater_the_relief(one: float, other: float) -> None:
    """Relief falls with what is left."""
    less, more = sorted((one, other))
    assert relief(1.0, 0.05, 0.005, 1.0, less) >= relief(1.0, 0.05, 0.005, 1.0, more)


def test_an_idle_disk_gives_no_relief_and_no_io_neither() -> None:
    """Nothing is spared where no queue was measured."""
    assert relief(100.0, 0.005, 0.005, 10.0, 1.0) == 0.0
    assert relief(100.0, 0.05, 0.005, 0.0, 0.0) == 0.0


def test_relief_is_told_beside_the_saving() -> None:
    """A disk ten times slower than idle: what stays may be spared most of its wait, above the mean, not in it."""
    busy = replace(HDD, random_read_seconds=0.055, idle_read_seconds=0.0055)
    tiers = (("ssd", SSD, ("fast",)), ("hdd", busy, ("slow",)))
    units = [Unit(key="hot", sync=15.0, size=MIB), Unit(key="big", sync=3.0, size=2**40)]
    plan = make_plan(Site(room={"fast": 10 * MIB, "slow": 10**15}, tiers=tiers).situation(units), PolicySettings())
    quiet = make_plan(Site(room={"fast": 10 * MIB, "slow": 10**15}).situation(units), PolicySettings())
    assert [move.key for move in plan.moves] == ["hot"]
    assert plan.wait_saved_per_hour == pytest.approx(15 * (0.055 - 0.0002) * 3600)
    assert plan.relief_per_hour == pytest.approx(3 * 0.055 * 3600 * (1 - 0.1 / 0.85))
    assert plan.wait_saved_high_per_hour == pytest.approx(plan.wait_per_hour)
    assert quiet.relief_per_hour == 0.0


@pytest.mark.parametrize(
    ("read", "idle", "waits"),
    [
        (0.0002, 0.0002, False),
        (0.0041, 0.0002, False),
        (0.0041, 0.0, True),
        (0.0055, 0.0055, True),
        (0.0002, 0.0055, False),
    ],
)
def test_what_is_slow_without_a_queue_is_a_disk(read: float, idle: float, waits: bool) -> None:
    """A fast device whose reads wait for long serves many at a time all the same."""
    tier = Tier(name="t", speed=replace(SSD, random_read_seconds=read, idle_read_seconds=idle), spaces=("t",))
    assert queues(tier) is waits
    assert tier.speed.is_queued is waits
