"""What limits a plan beside room: bytes, time, moves, I/Os that drives serve, bytes that flash may be written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.model.plan import Plan, Verdict
from policies.model.settings import Pin, PolicySettings, TierLimits
from policies.placement.balancer import make_plan
from tests.unit.policies.referee import carried_out
from tests.unit.policies.situations import BARE, HDD, MIB, NVME, SSD, Site, Unit

FOUR = [
    Unit(key="large", size=60 * MIB, sync=100.0),
    Unit(key="middle", size=30 * MIB, sync=40.0),
    Unit(key="small", size=20 * MIB, sync=35.0),
    Unit(key="crumb", size=2 * MIB, sync=1.0),
]


def planned(units: list[Unit], settings: PolicySettings, limits: TierLimits | None = None) -> Plan:
    """The plan with 100 MiB free on the fast tier, after the referee has carried it out."""
    situation = Site().situation(units)
    if limits is not None:
        fast, slow = situation.tiers
        situation = replace(situation, tiers=(replace(fast, limits=limits), slow))
    plan = make_plan(situation, settings)
    list(carried_out(situation, plan, settings))
    assert plan.wait_saved_per_hour <= plan.bound_per_hour + 1e-6
    return plan


def keys(plan: Plan) -> set[str]:
    """Keys of the units that move."""
    return {move.key for move in plan.moves}


def test_bytes_go_where_they_save_most() -> None:
    """With 55 MiB to copy the two that fit are better than the large one cut off, and the others wait for a plan."""
    plan = planned(FOUR, replace(BARE, maximum_bytes=55 * MIB))
    assert keys(plan) == {"middle", "small", "crumb"}
    assert plan.bound_per_hour < planned(FOUR, BARE).bound_per_hour
    assert Verdict(int(plan.verdict[0])) is Verdict.WAITING


def test_copies_both_ways_count() -> None:
    """What gives way is copied too: a swap of 60 for 60 needs 120 MiB."""
    units = [Unit(key="cold", size=100 * MIB, space="fast"), Unit(key="hot", size=100 * MIB, sync=9.0)]
    site = Site(room={"fast": 0, "slow": 10**15})
    for limit, moves in ((199, 0), (200, 2)):
        plan = make_plan(site.situation(units), replace(BARE, maximum_bytes=limit * MIB))
        assert len(plan.moves) == moves


def test_a_limit_of_time_is_a_limit_of_bytes() -> None:
    """At 10 MiB/s, 5.5 s copy as much as 55 MiB."""
    settings = replace(BARE, copy_bytes_per_second=10.0 * MIB, maximum_copy_seconds=5.5)
    assert keys(planned(FOUR, settings)) == {"middle", "small", "crumb"}
    assert keys(planned(FOUR, replace(settings, maximum_bytes=25 * MIB))) == {"small", "crumb"}


def test_a_tier_full_of_reads_takes_no_more() -> None:
    """Of 100 I/Os per second, 80 may be planned for: the two lesser ones go, which the large one would exceed."""
    plan = planned(FOUR, BARE, TierLimits(io_per_second=100.0))
    assert keys(plan) == {"middle", "small", "crumb"}


def test_wear_counts_the_copy_and_what_is_written_there() -> None:
    """A tier that may be written 100 MiB a day takes a unit of 20 MiB that writes 50, and no second one."""
    writes = 50 * MIB / 8192 / 86400
    units = [Unit(key=f"u{at}", size=20 * MIB, sync=50.0 + at, writes=writes) for at in range(3)]
    assert keys(planned(units, BARE, TierLimits(written_bytes_per_day=100.0 * MIB))) == {"u2"}


@pytest.mark.parametrize("limits", [TierLimits(written_bytes_per_day=100.0 * MIB), TierLimits(io_per_second=150.0)])
def test_a_resident_makes_room_for_strain(limits: TierLimits) -> None:
    """Of 100 MiB a day a resident writes 90, of 120 I/Os it reads 60: it leaves before somebody hotter comes."""
    writes = 90 * MIB / 8192 / 86400
    resident = Unit(key="resident", size=MIB, sync=60.0, writes=writes, space="fast")
    plan = planned([resident, Unit(key="newcomer", size=60 * MIB, sync=100.0)], BARE, limits)
    assert [move.key for move in plan.moves] == ["resident", "newcomer"]
    assert keys(planned([resident, Unit(key="newcomer", size=60 * MIB, sync=59.0)], BARE, limits)) <= {"newcomer"}
    held = replace(resident, pin=Pin.MUST)
    assert keys(planned([held, Unit(key="newcomer", size=60 * MIB, sync=100.0)], BARE, limits)) == set()


def test_only_as_many_leave_as_strain_needs() -> None:
    """One of three residents that read 40 each suffices for somebody who reads 60; bytes are no matter."""
    units = [Unit(key=f"r{at}", size=MIB, sync=40.0 - at, space="fast") for at in range(3)]
    plan = planned([*units, Unit(key="newcomer", size=MIB, sync=60.0)], BARE, TierLimits(io_per_second=180.0))
    assert [move.key for move in plan.moves] == ["r2", "newcomer"]


@pytest.mark.parametrize(
    ("copied", "moves"),
    [(0, {"large", "middle", "crumb"}), (60, {"middle", "crumb"}), (99, set()), (200, set())],
)
def test_wear_counts_the_copies_of_the_day(copied: int, moves: set[str]) -> None:
    """Of 100 MiB a day, those copied within the last one are gone: what no longer fits waits for tomorrow."""
    limits = TierLimits(written_bytes_per_day=100.0 * MIB, copied_bytes=float(copied * MIB))
    assert keys(planned(FOUR, BARE, limits)) == moves


def test_wear_counts_the_copies_of_pins() -> None:
    """A pin that copies 60 of 95 MiB leaves 35 to those that merely pay."""
    pinned = replace(FOUR[0], pin=Pin.MUST)
    limits = TierLimits(written_bytes_per_day=95.0 * MIB)
    more = Unit(key="more", size=30 * MIB, sync=30.0)
    assert keys(planned([pinned, more], BARE, limits)) == {"large", "more"}
    assert keys(planned([pinned, replace(more, size=40 * MIB)], BARE, limits)) == {"large"}


@pytest.mark.parametrize("moves", [1, 2, 3])
def test_few_moves_are_the_best_ones(moves: int) -> None:
    """With so many moves, the plan takes those that save most together."""
    best = [{"large"}, {"large", "middle"}, {"large", "middle", "crumb"}]
    assert keys(planned(FOUR, replace(BARE, maximum_moves=moves))) == best[moves - 1]


def test_three_tiers_are_decided_together() -> None:
    """What is second best for the fastest tier goes to the middle one, and what it displaces there goes down."""
    tiers = (("nvme", NVME, ("nvme",)), ("ssd", SSD, ("ssd",)), ("hdd", HDD, ("hdd",)))
    site = Site(room={"nvme": 50 * MIB, "ssd": 0, "hdd": 10**15}, tiers=tiers)
    units = [
        Unit(key="first", size=50 * MIB, sync=100.0, space="hdd"),
        Unit(key="second", size=50 * MIB, sync=90.0, space="hdd"),
        Unit(key="cold", size=50 * MIB, sync=0.1, space="ssd"),
    ]
    situation = site.situation(units)
    plan = make_plan(situation, BARE)
    list(carried_out(situation, plan, BARE))
    assert {move.key: move.to_space for move in plan.moves} == {"first": "nvme", "cold": "hdd", "second": "ssd"}
    assert plan.gap_ratio == pytest.approx(0, abs=1e-9)
