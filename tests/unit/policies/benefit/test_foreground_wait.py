"""Benefit: published arithmetic, and what weighs nothing."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import SIGNALS, DatabaseDemand, Signal
from policies.evidence.prices import (
    ceiling_ratio,
    cool_down_left,
    copies_caused,
    copy_seconds,
    may_return,
    move_cost_seconds,
    owed_seconds,
    payback_seconds,
    wait_per_hour,
)
from policies.model.settings import PolicySettings, TierSpeed
from tests.reproduction.amdahl import speedup
from tests.unit.policies.situations import HDD, SSD

SETTINGS = PolicySettings()


def rates(**by_signal: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """One unit's rates."""
    column = np.zeros((SIGNALS, 1))
    for name, rate in by_signal.items():
        column[Signal[name.upper()]] = rate
    return column


def test_waited_for_reads_weigh_their_latency() -> None:
    """Ten random reads a second at 5.5 ms are 198 s of wait an hour, at 0.2 ms 7.2 s."""
    wait = wait_per_hour(rates(sync_read=10.0), [SSD, HDD], SETTINGS)
    assert wait[:, 0] == pytest.approx([7.2, 198.0])


def test_reads_found_in_memory_and_background_writes_weigh_nothing() -> None:
    """The busiest and the most written unit have no foreground wait by that."""
    wait = wait_per_hour(rates(logical_read=1e6, async_write=1e4), [SSD, HDD], SETTINGS)
    assert not wait.any()


def test_prefetched_reads_weigh_their_share() -> None:
    """A thousand prefetched blocks at 50 us and a share of 0.3 are 54 s an hour."""
    assert wait_per_hour(rates(prefetched_read=1000.0), [HDD], SETTINGS)[0, 0] == pytest.approx(54.0)


def test_payroll_is_predicted_by_foreground_wait_alone() -> None:
    """S2 row 11: user I/O 8,907 -> 1,120 s, system I/O 117,748 -> 2,938 s, of 79,579 s elapsed; measured 1.19x.

    The total of both would predict less than no time at all. Foreground alone says 71,792 s (1.11x), under the
    Amdahl ceiling of 1.126x.
    """
    elapsed, reads, writes = 79_579.0, 1000.0, 20_000.0
    slow = TierSpeed(
        random_read_seconds=8907 / elapsed / reads, sequential_read_seconds=0, write_seconds=117_748 / elapsed / writes
    )
    fast = TierSpeed(
        random_read_seconds=1120 / elapsed / reads, sequential_read_seconds=0, write_seconds=2938 / elapsed / writes
    )
    wait = wait_per_hour(rates(sync_read=reads, async_write=writes), [fast, slow], SETTINGS)
    saved = float(wait[1, 0] - wait[0, 0]) * elapsed / 3600
    assert saved == pytest.approx(7787)
    assert elapsed - saved == pytest.approx(71_792)
    ceiling = ceiling_ratio(DatabaseDemand(read_wait=8907 / elapsed, active=1.0))
    assert 1.105 < speedup(elapsed, saved) < 1 / (1 - ceiling) == pytest.approx(1.126, abs=1e-3)
    with pytest.raises(ValueError, match="cannot be saved"):
        speedup(elapsed, saved + 117_748 - 2938)


def test_the_ceiling_is_never_above_all_time() -> None:
    """Foreground I/O over active time, one at most, and unknown where the engine does not measure."""
    assert ceiling_ratio(DatabaseDemand(read_wait=0.2, write_wait=0.1, active=1.0)) == pytest.approx(0.3)
    assert ceiling_ratio(DatabaseDemand(read_wait=3.0, active=1.0)) == 1.0
    assert np.isnan(ceiling_ratio(DatabaseDemand(active=1.0)))
    assert np.isnan(ceiling_ratio(DatabaseDemand(read_wait=1.0)))
    assert np.isnan(ceiling_ratio(DatabaseDemand(read_wait=1.0, active=0.0)))


def test_a_move_costs_every_session_that_waits_its_copy_time() -> None:
    """500 MB at 50 MB/s copy in 10 s: 10 session seconds at least, 80 with eight sessions of whose waits nobody knows.

    Of eight of which three wait for disk at a time 30: what computes does not wait for a copy.
    """
    size = np.array([500_000_000], dtype=np.int64)
    copying = copy_seconds(size, SETTINGS)
    assert copying.tolist() == [10.0]
    assert move_cost_seconds(copying, DatabaseDemand(), SETTINGS).tolist() == [10.0]
    assert move_cost_seconds(copying, DatabaseDemand(active=0.1), SETTINGS).tolist() == [10.0]
    assert move_cost_seconds(copying, DatabaseDemand(active=8.0), SETTINGS).tolist() == [80.0]
    work = DatabaseDemand(active=8.0, read_wait=2.5, write_wait=0.5)
    assert move_cost_seconds(copying, work, SETTINGS) == pytest.approx([30.0])


def test_payback_is_cost_over_gain() -> None:
    """Eighty session seconds at 40 s an hour are back in two hours; without a gain never."""
    assert payback_seconds(np.array([80.0, 80.0]), np.array([40.0, 0.0])).tolist() == [7200.0, float("inf")]


def test_what_has_paid_for_both_copies_may_leave_before_the_cool_down_ends() -> None:
    """100 s of copying hold up five sessions: who was not spared 500 s beyond the first copy stays out the day."""
    cases = [  # hours since the move, seconds earned, on the fastest tier, made room; hours to stay
        (1.0, 499.0, True, False, 23.0),
        (1.0, 500.0, True, False, 0.0),
        (25.0, 0.0, True, False, 0.0),
        (np.inf, 0.0, True, False, 0.0),
        (1.0, 0.0, False, True, 0.0),
        (1.0, 1e9, False, False, 23.0),
    ]
    hours, earned, came_up, gave_way, stays = (np.array(column) for column in zip(*cases, strict=True))
    size = np.full(len(cases), 5 * 10**9, dtype=np.int64)
    left = cool_down_left(hours * 3600.0, earned, came_up, gave_way, size, DatabaseDemand(active=5.0), SETTINGS)
    assert left.tolist() == (stays * 3600.0).tolist()


def test_where_partitions_are_born_what_has_paid_may_make_room_and_only_they_come_back_at_once() -> None:
    """Who sends a partition away pays what it owes, of a copy of 500 s. Without a series nothing of that holds."""
    series, none = np.arange(5) < 2, np.zeros(5, dtype=np.bool_)
    came_up = gave_way = np.arange(5) < 4
    size, earned = np.full(5, 5 * 10**9, dtype=np.int64), np.array([-100.0, -1e9, 500.0, 499.0, 500.0])
    owed = [owed_seconds(earned, came_up, each, size, DatabaseDemand(active=5.0), SETTINGS) for each in (series, none)]
    assert [each.tolist() for each in owed] == [[100.0, 500.0, 0.0, np.inf, np.inf], [np.inf] * 5]
    assert [may_return(gave_way, each).tolist() for each in (series, none)] == [series.tolist(), gave_way.tolist()]


def test_room_that_the_next_birth_wants_back_costs_the_copy_of_who_leaves() -> None:
    """Series hold three quarters of the fastest tier: so much of a copy if born daily, next to none if monthly.

    Each copy, of a partition too, counts twice from a quarter of the tier on, and by what they hold below it.
    """
    series, came_up = np.array([True, True, False, False]), np.array([True, False, True, False])
    size, hours = np.array([3, 9, 1, 1], dtype=np.int64), (6.0, 24.0, 30 * 24.0, np.inf)
    caused = [copies_caused(series, came_up, size, each * 3600.0) for each in hours]
    ratios = [1.0, 1.0, 1 / 30, 0.0]
    assert [None if each is None else each.tolist() for each in caused] == [
        pytest.approx([each, each, 1.75 * each, 1.75 * each]) for each in ratios
    ]
    small = copies_caused(series, came_up, np.array([1, 9, 19, 1], dtype=np.int64), 24 * 3600.0)
    assert small is not None
    assert small.tolist() == pytest.approx([0.2, 0.2, 0.25, 0.25])
    assert copies_caused(series & False, came_up, size, 24 * 3600.0) is None
    empty = copies_caused(series, came_up & False, size, 24 * 3600.0)
    assert empty is not None
    assert not empty.any()


def test_what_came_up_also_pays_for_a_way_back_in_a_dear_hour() -> None:
    """500 s pay for the copy back as it is now; where three times as many may wait by then, 1500 s do."""
    size, hour, up = np.full(1, 5 * 10**9, dtype=np.int64), np.full(1, 3600.0), np.ones(1, dtype=np.bool_)
    for earned, dearest, stays in ((1499.0, 1.0, 0.0), (1499.0, 3.0, 23.0), (1500.0, 3.0, 0.0)):
        left = cool_down_left(hour, np.full(1, earned), up, ~up, size, DatabaseDemand(active=5.0), SETTINGS, dearest)
        assert left.tolist() == [stays * 3600.0]
