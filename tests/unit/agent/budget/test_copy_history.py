"""How long copies take by what the journal teaches, and what a window has seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.ledger.rows import SentRow, StepRow, StepState
from agent.model.proposals import ProposedMove
from agent.model.states import MoveState
from agent.sampling.experience import Used, copies_of, learn, turnover_ratio_of, used_within, with_bytes_written
from agent.sampling.prediction_errors import stalled_seconds
from connectors.model.moves import Locked
from connectors.model.observation import Space
from policies.evidence.costs import MOST_FACTOR, PRIOR_MOVES
from policies.model.calendar import Opening
from policies.model.moves import MoveReason, RouteCost
from policies.model.settings import Tier, TierLimits
from tests.unit.policies.situations import HDD, SSD
from tests.unit.samples import MADE_AT, a_move

MINUTE = timedelta(minutes=1)
MOVE = replace(a_move(), size_bytes=6_000, copy_seconds=10.0)
COST = RouteCost(
    log_seconds=0.0,
    blocked_seconds=0.0,
    follow_up_seconds=0.0,
    copying=(4.0, 3.0),
    around_seconds=1.0,
    copy_seconds=10.0,
)


def sent(
    number: int, start: int, minutes: float, state: MoveState = MoveState.KEPT, move: ProposedMove = MOVE
) -> SentRow:
    """A statement of a move, in minutes after the epoch of the samples."""
    return SentRow(
        move_id=number, ordinal=1, sql=MOVE.route.steps[0].sql, state=StepState.DONE,
        intended_at=MADE_AT + start * MINUTE, ended_at=MADE_AT + (start + minutes) * MINUTE,
        move_state=state, state_since=MADE_AT + (start + minutes) * MINUTE, move=move,
    )  # fmt: skip


def test_moves_stored_before_times_were_told_teach_nothing() -> None:
    """What an older version planned by size alone stays as it was planned, and says nothing about the others."""
    times = learn([sent(number, number, 1) for number in range(9)])
    assert (times.factors, times.seconds(MOVE)) == ((), 10.0)
    assert times.seconds(replace(MOVE, cost=COST)) == 8.0


def test_moves_teach_how_much_longer_their_kind_takes() -> None:
    """Predicted 8 s and measured 16, seven times: the factor comes to 2 by eighths, and failures teach nothing."""
    told = replace(MOVE, cost=COST)
    rows = [sent(number, 10 * number, 16 / 60, move=told) for number in range(1, 8)]
    failed = sent(9, 90, 60, MoveState.FAILED, told)
    overall = 2 ** (7 / (7 + PRIOR_MOVES))
    own = 2 ** ((7 + PRIOR_MOVES * 7 / (7 + PRIOR_MOVES)) / (7 + PRIOR_MOVES))
    times = learn([*rows, failed])
    assert times.seconds(told) == pytest.approx(8.0 * own)
    assert times.seconds(replace(told, from_tier="tape")) == pytest.approx(8.0 * overall)


def test_one_odd_move_changes_little() -> None:
    """A copy that somebody held up for days counts as no more than so many times its time."""
    told = replace(MOVE, cost=COST)
    rows = [sent(number, 10 * number, 8 / 60, move=told) for number in range(1, 20)]
    odd = learn([*rows, sent(20, 900, 60 * 24 * 9, move=told)]).seconds(told)
    assert 8.0 < odd < 8.0 * MOST_FACTOR ** (2 / 20)


def test_a_stall_is_the_longest_statement_of_a_move_that_locks() -> None:
    """Of tries of 2 and 6 s the latter, the wait for the lock included; a move that locks nobody out has none."""
    steps = [
        StepRow(
            id=at, move_id=1, ordinal=1, sql="COPY", state=StepState.DONE, detail="", intended_at=MADE_AT,
            ended_at=None if seconds is None else MADE_AT + timedelta(seconds=seconds),
        )
        for at, seconds in enumerate((2.0, 6.0, None))
    ]  # fmt: skip
    locked, brief, online, old = (
        replace(MOVE, route=replace(MOVE.route, locked=each, lock_seconds=0.5))
        for each in (Locked.ALL, Locked.BRIEFLY, Locked.NOTHING, None)
    )
    assert [stalled_seconds(each, steps) for each in (locked, brief, online, old)] == [6.0, None, None, None]
    assert stalled_seconds(locked, steps[2:]) is None
    assert [each.stall_seconds for each in (locked, brief, online, old)] == [10.0, 0.5, 0.0, None]


def test_a_window_counts_the_part_that_was_in_it() -> None:
    """A move held at the end of one window and done in the next counts in both, by its time."""
    window = Opening(MADE_AT, MADE_AT + 10 * MINUTE)
    rows = [sent(1, -5, 4), sent(1, 2, 2), sent(2, 5, 10)]
    assert used_within(rows, window, learn([])) == Used(2_000 + 3_000, 7 * 60.0)


def test_what_did_not_arrive_counts_by_its_time() -> None:
    """A try that failed after five of ten planned seconds has copied about half."""
    window = Opening(MADE_AT, MADE_AT + 10 * MINUTE)
    row = replace(sent(1, 0, 0, MoveState.FAILED), ended_at=MADE_AT + timedelta(seconds=5))
    assert used_within([row], window, learn([])) == Used(3_000, 5.0)


@pytest.mark.parametrize("state", [MoveState.PLACED, MoveState.FAILED])
def test_what_was_not_seen_to_end_counts_whole(state: MoveState) -> None:
    """The agent died in a copy, or could not write down its end: the window has moved its bytes all the same."""
    window = Opening(MADE_AT, MADE_AT + 10 * MINUTE)
    row = replace(sent(1, 0, 0, state), state=StepState.INTENDED, ended_at=None)
    times = learn([])
    assert used_within([row], window, times) == Used(row.move.size_bytes, times.seconds(row.move))


def test_only_smooth_moves_teach_what_plans_cost() -> None:
    """From the first statement to the end of the last, oldest first; a move with a held statement is left out."""
    held = replace(sent(2, 10, 1), state=StepState.PAUSED)
    rows = [sent(1, 0, 2), sent(1, 2, 3), held, sent(2, 20, 1), sent(3, 30, 1)]
    assert [copy.seconds for copy in copies_of(rows)] == [300.0, 60.0]
    assert copies_of([sent(4, 0, 1, MoveState.FAILED)]) == []


def test_the_wear_of_a_day_is_what_was_copied_to_the_tier_in_it() -> None:
    """Two copies to the fast tier, one of them a day ago: one counts, and only where there is a budget."""
    limits = TierLimits(written_bytes_per_day=1e9)
    down = replace(sent(3, 5, 1), move=replace(MOVE, from_tier="ssd", to_tier="hdd"))
    rows = [sent(1, -25 * 60, 1), sent(2, 0, 1), down]
    tiers = (Tier(name="ssd", speed=SSD, spaces=("a",), limits=limits), Tier(name="hdd", speed=HDD, spaces=("b",)))
    fast, slow = with_bytes_written(tiers, rows, MADE_AT + 10 * MINUTE)
    assert fast.limits == replace(limits, copied_bytes=6_000.0)
    assert slow == tiers[1]


def test_what_gave_way_lately_is_turned_over() -> None:
    """Of a tier of 60,000 bytes one unit of 6,000 gave way just now; one of four days ago has drained in half.

    Pins and arrivals do not count.
    """
    tiers = (Tier(name="ssd", speed=SSD, spaces=("a",)), Tier(name="hdd", speed=HDD, spaces=("b",)))
    spaces = [
        Space(name=name, path="", used_bytes=20_000, free_bytes=40_000, capacity_bytes=capacity)
        for name, capacity in (("a", 60_000), ("b", None))
    ]

    def down(number: int, start: int, reason: MoveReason) -> SentRow:
        return replace(sent(number, start, 1), move=replace(MOVE, from_tier="ssd", to_tier="hdd", reason=reason.value))

    rows = [
        down(1, -4 * 24 * 60 - 1, MoveReason.MAKE_ROOM),
        sent(2, -60, 1),
        down(3, -50, MoveReason.PIN),
        down(4, -1, MoveReason.MAKE_ROOM),
    ]
    per_week = 0.05 * 7 / 4
    assert turnover_ratio_of(tiers, spaces, rows, MADE_AT, per_week) == pytest.approx(0.1 + 0.05)
    assert turnover_ratio_of(tiers, spaces, rows, MADE_AT, None) == 0.0
    assert turnover_ratio_of((), spaces, rows, MADE_AT, per_week) == 0.0
    assert turnover_ratio_of(tiers, spaces[1:], rows, MADE_AT, per_week) == 0.0
