"""What a route costs beside copying: the log, its locks, what is left to do; and that plans weigh it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.model.moves import Bundle, FollowUp, Locked, LogVolume, Route, UnitKind
from connectors.model.observation import DatabaseDemand, Role, RoleFigures
from policies.evidence.costs import log_rate, route_cost
from policies.evidence.prices import move_cost_seconds
from policies.model.moves import RouteCost
from policies.model.plan import Situation, Verdict
from policies.model.settings import PolicySettings
from policies.placement.balancer import make_plan
from policies.placement.verdicts import figures_of
from tests.unit.policies.situations import GIB, MIB, Site, Unit

SETTINGS = PolicySettings(copy_bytes_per_second=1e6, foreground_slow_down=0.25, log_bytes_per_second=50e6)
LOG = RoleFigures(role=Role.LOG, name="log", writes=100.0, write_seconds=0.5, waited_seconds=2.0)
BUSY = DatabaseDemand(read_wait=4.0, active=8.0)
SIZE = 10_000_000  # copied in 10 s


def site(*units: Unit, roles: tuple[RoleFigures, ...] = (LOG,)) -> Situation:
    """Units of 1 MiB and a log that two sessions wait for at any time."""
    return replace(Site(room={"fast": GIB, "slow": 10**15}, database=BUSY).situation(units), roles=roles)


# t does half of all work, and a quarter of that is writing.
HALF = site(Unit(key="t", sync=30.0, writes=10.0), Unit(key="other", sync=40.0))


def route(**more: object) -> Route:
    """Of the unit t."""
    bundle = Bundle(key="t", physical_ids=(1000,), unit_keys=("t",), kind=UnitKind.TABLE, size_bytes=SIZE, space="slow")
    plain = {
        "name": "move", "bundle": bundle, "to_space": "fast", "prologue": (), "steps": (), "undo_steps": (),
        "online": True, "locks": "", "log_bytes": 0, "transient_bytes": 0, "locked": Locked.NOTHING,
    }  # fmt: skip
    return Route(**{**plain, **more})  # type: ignore[arg-type]  # fields by name


def test_the_log_holds_up_who_waits_for_it() -> None:
    """100 MB at 50 MB/s are two seconds in which two sessions wait; a log seen to take 200 MB/s needs half a second."""
    assert route_cost(route(log_bytes=100_000_000), (0,), HALF, SETTINGS).log_seconds == pytest.approx(4.0)
    quick = replace(LOG, written_bytes=100e6)
    assert log_rate((quick,), 50e6) == pytest.approx(200e6)
    situation = replace(HALF, roles=(quick,))
    assert route_cost(route(log_bytes=100_000_000), (0,), situation, SETTINGS).log_seconds == pytest.approx(1.0)
    assert route_cost(route(log_bytes=100_000_000), (0,), replace(HALF, roles=()), SETTINGS).log_seconds == 0.0


@pytest.mark.parametrize(
    ("locked", "waits", "copying"),
    [
        (Locked.NOTHING, 0.0, 0.0),
        (None, 0.0, 0.0),
        (Locked.BRIEFLY, 4 * 0.5, 0.0),  # half of 8 sessions, for the half second that the lock is waited for
        (Locked.ALL, 4 * 0.5, 4 * 0.75),  # and the part of the copy that its slow-down does not count already
        (Locked.WRITES, 1 * 0.5, 1 * 0.75),  # a quarter of what they do is writing
    ],
)
def test_locks_hold_up_who_uses_the_units(locked: Locked | None, waits: float, copying: float) -> None:
    """Sessions by the share of the work that these units have, for as long as they may be held up."""
    cost = route_cost(route(locked=locked, lock_seconds=0.5), (0,), HALF, SETTINGS)
    assert cost.copy_seconds is not None
    assert cost.copy_seconds > 10.0
    assert cost.blocked_seconds == pytest.approx(waits + copying * cost.copy_seconds)
    nobody = route_cost(route(locked=locked, lock_seconds=0.5), (0,), site(Unit(key="t")), SETTINGS)
    assert nobody.blocked_seconds == 0.0


def test_work_left_behind_counts_where_somebody_can_say() -> None:
    """Seconds of known work add up; work of unknown length is told and weighs nothing."""
    left = (FollowUp(what="a", seconds=2.0), FollowUp(what="b", seconds=None), FollowUp(what="c", seconds=3.0))
    assert route_cost(route(follow_up=left), (0,), HALF, SETTINGS).follow_up_seconds == 5.0


@given(st.floats(0, 1e12), st.floats(0, 1e3), st.sampled_from(Locked), st.floats(0, 3))
def test_no_part_is_negative(log_bytes: float, lock: float, locked: Locked, slow_down: float) -> None:
    """Whatever is logged, locked or learnt."""
    settings = replace(SETTINGS, foreground_slow_down=slow_down)
    cost = route_cost(route(log_bytes=int(log_bytes), lock_seconds=lock, locked=locked), (0,), HALF, settings)
    assert min(cost.log_seconds, cost.blocked_seconds, cost.follow_up_seconds) >= 0
    assert cost.seconds >= cost.log_seconds


def test_a_log_has_three_volumes() -> None:
    """Nothing, what was allocated, or every byte."""
    volumes = [route(log_bytes=size).log_volume for size in (0, SIZE // 10, SIZE)]
    assert volumes == [LogVolume.NONE, LogVolume.MINIMAL, LogVolume.FULL]


def test_plans_weigh_what_routes_cost() -> None:
    """A table worth its copy is not moved by a route that holds sessions up for a week, and the figures say why."""
    settings = PolicySettings(regret_ratio=0.0)
    situation = site(Unit(key="t", sync=50.0, size=100 * MIB))
    assert [move.key for move in make_plan(situation, settings).moves] == ["t"]
    dear = RouteCost(log_seconds=1.0, blocked_seconds=1e8, follow_up_seconds=2.0)
    situation = replace(situation, route_costs={"t": dear})
    plan = make_plan(situation, settings)
    assert plan.moves == ()
    assert Verdict(int(plan.verdict[0])) is Verdict.PAYBACK_TOO_LONG
    figures = figures_of(situation, plan, 0, settings)
    copying = move_cost_seconds(np.array([100 * MIB / 50e6]), BUSY, settings)[0]
    assert figures.cost_seconds == pytest.approx(copying + 1e8 + 3.0)
    assert (figures.log_seconds, figures.blocked_seconds, figures.follow_up_seconds) == (1.0, 1e8, 2.0)


def test_waiting_for_old_transactions_slows_nobody() -> None:
    """Of 20 s of a rebuild it waits 18 for transactions to end: sessions are charged for the two in which it copies."""
    settings = PolicySettings(regret_ratio=0.0)
    situation = site(Unit(key="t", sync=50.0, size=100 * MIB))
    waits = RouteCost(
        log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0, copying=(1.5, 0.5), around_seconds=18.0,
        copy_seconds=20.0,
    )  # fmt: skip
    situation = replace(situation, route_costs={"t": waits})
    plan = make_plan(situation, settings)
    figures = figures_of(situation, plan, 0, settings)
    assert figures.copy_seconds == 20.0, "a window has to hold all of it"
    assert figures.cost_seconds == pytest.approx(move_cost_seconds(np.array([2.0]), BUSY, settings)[0])


def test_a_small_cost_only_lengthens_the_payback() -> None:
    """The move stays, and pays back later by what its route costs."""
    settings = PolicySettings(regret_ratio=0.0)
    situation = site(Unit(key="t", sync=50.0, size=100 * MIB))
    (before,) = make_plan(situation, settings).moves
    cost = RouteCost(log_seconds=0.0, blocked_seconds=5.0, follow_up_seconds=0.0)
    (after,) = make_plan(replace(situation, route_costs={"t": cost}), settings).moves
    added = (after.payback_seconds - before.payback_seconds) * before.wait_saved_per_hour / 3600
    assert added == pytest.approx(5.0)
