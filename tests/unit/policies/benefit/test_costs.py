"""What moves teach about the cost of moving."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand
from policies.evidence.costs import Copy, Disturbed, learnt, slow_down
from policies.evidence.prices import move_cost_seconds
from policies.model.settings import PolicySettings
from tests.unit.policies.situations import NOON

SETTINGS = PolicySettings()


def copy(seconds: float, at: float = 0.0) -> Copy:
    """A finished move that began so many seconds after noon."""
    begin = NOON + timedelta(seconds=at)
    return Copy(started_at=begin, ended_at=begin + timedelta(seconds=seconds))


def minute(done: float, calm: float, at: float = 0.0) -> Disturbed:
    """A minute with so many transactions per second."""
    begin = NOON + timedelta(seconds=at)
    return Disturbed(
        started_at=begin, ended_at=begin + timedelta(seconds=60), transactions=done, calm_transactions=calm
    )


def test_nothing_learnt_is_what_was_configured() -> None:
    """Without moves the settings stand."""
    assert learnt(SETTINGS, [], [], DatabaseDemand()) == SETTINGS


def test_work_lost_is_charged_to_the_copying() -> None:
    """Half of a minute's work lost with 20 s of copying in it: 30 s for 20, drawn halfway to the configured 1."""
    copies = [copy(20.0, at=10.0)]
    assert slow_down(copies, [minute(50.0, 100.0)], 1.0) == pytest.approx((20 + 30) / 40)
    assert slow_down(copies, [minute(100.0, 100.0)], 1.0) == pytest.approx(20 / 40)


def test_only_the_copying_within_the_interval_counts() -> None:
    """A copy that reaches 10 s into the minute is charged for those; intervals without one say nothing."""
    copies = [copy(20.0, at=-10.0)]
    assert slow_down(copies, [minute(50.0, 100.0)], 1.0) == pytest.approx((20 + 30) / 30)
    assert slow_down(copies, [minute(50.0, 100.0, at=600.0)], 1.0) == 1.0
    assert slow_down(copies, [minute(50.0, float("nan")), minute(float("nan"), 5.0)], 1.0) == 1.0


def test_noise_while_a_move_runs_is_no_loss() -> None:
    """Minutes of one copy with half and with one and a half times the usual work cost nothing together.

    What a later copy finds, sped up by the first, does not bring back what the first has cost.
    """
    by_turns = [minute(100.0 + off, 100.0, at=60.0 * at) for at, off in enumerate((-50.0, 50.0, -50.0, 50.0))]
    assert slow_down([copy(240.0)], by_turns, 1.0) == pytest.approx(20 / (20 + 240))
    each = [copy(60.0), copy(60.0, at=60.0)]
    assert slow_down(each, [minute(50.0, 100.0), minute(500.0, 100.0, at=60.0)], 1.0) == pytest.approx(50 / 140)


@given(st.lists(st.tuples(st.floats(1.0, 60.0), st.floats(0.0, 500.0), st.floats(0.1, 500.0)), max_size=20))
def test_a_slow_down_is_never_absurd(seen: list[tuple[float, float, float]]) -> None:
    """Whatever was measured, a second of copying costs each session between nothing and three."""
    copies = [copy(seconds, at=100.0 * at) for at, (seconds, _, _) in enumerate(seen)]
    minutes = [minute(done, calm, at=100.0 * at) for at, (_, done, calm) in enumerate(seen)]
    assert 0.0 <= slow_down(copies, minutes, 1.0) <= 3.0


def test_the_slow_down_is_what_a_move_costs_its_sessions() -> None:
    """8 active sessions, 100 s of copying, a quarter of the work standing still: 200 session seconds."""
    settings = PolicySettings(foreground_slow_down=0.25)
    assert move_cost_seconds(np.array([100.0]), DatabaseDemand(active=8.0), settings).tolist() == [200.0]


def test_what_was_learnt_is_charged_whoever_waits_now() -> None:
    """Two thirds of all work lost while copying cost eight sessions two thirds of their time, be half of them waiting.

    Unlearnt, the four that wait are taken to stand still.
    """
    copies = [copy(6000.0)]
    minutes = [minute(100 / 3, 100.0, at=60.0 * at) for at in range(100)]
    work = DatabaseDemand(active=8.0, read_wait=4.0)
    settings = learnt(SETTINGS, copies, minutes, work)
    seconds = np.array([2.0])
    assert move_cost_seconds(seconds, work, settings) == pytest.approx([8 * 2 / 3 * 2.0], rel=0.01)
    assert move_cost_seconds(seconds, work, SETTINGS) == pytest.approx([4 * 2.0])
