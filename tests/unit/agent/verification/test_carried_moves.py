"""What was predicted for the moves that were carried out, taken together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.moving.verifier import carried_out
from tests.unit.samples import a_move, a_proposal

HEAD = a_move(1, key="public.head", wait_saved_per_hour=600.0)
MIDDLE = a_move(2, key="public.middle", wait_saved_per_hour=228.0)
TAIL = a_move(3, key="public.tail", wait_saved_per_hour=360.0)
WHOLE = a_proposal(HEAD, MIDDLE, TAIL, wait_saved_per_hour=1188.0, saved_ratio_low=0.985, saved_ratio_high=0.995)


def test_all_of_it_is_the_proposal_itself() -> None:
    """Where every move ran, nothing is worked out again."""
    assert carried_out(WHOLE, {1, 2, 3}) is WHOLE


def test_the_prediction_is_that_of_what_ran() -> None:
    """-99 % were predicted for three moves; of the two that ran 50 % and 19 %, so 69 %."""
    ran = carried_out(WHOLE, {1, 2})
    assert [move.key for move in ran.moves] == ["public.head", "public.middle"]
    assert ran.wait_saved_per_hour == pytest.approx(828.0)
    assert ran.wait_saved_per_hour / ran.wait_per_hour == pytest.approx(0.69)


def test_the_interval_narrows_with_what_ran() -> None:
    """Of 1 % that was to remain the interval spans a factor of 1.5 up, 2 down; of 31 % those to the power of 69/99."""
    ran = carried_out(WHOLE, {1, 2})
    assert ran.saved_ratio_low == pytest.approx(1 - 0.31 * 1.5 ** (0.69 / 0.99))
    assert ran.saved_ratio_high == pytest.approx(1 - 0.31 * 0.5 ** (0.69 / 0.99))


def test_a_little_wait_has_the_same_shares_as_much() -> None:
    """A database in which half a second is waited for in an hour."""
    moves = (replace(move, wait_saved_per_hour=move.wait_saved_per_hour / 2400) for move in WHOLE.moves)
    little = replace(WHOLE, moves=tuple(moves), wait_per_hour=0.5, wait_saved_per_hour=1188 / 2400)
    ran, much = carried_out(little, {1, 2}), carried_out(WHOLE, {1, 2})
    assert ran.saved_ratio_low == pytest.approx(much.saved_ratio_low)
    assert ran.saved_ratio_high == pytest.approx(much.saved_ratio_high)


@pytest.mark.parametrize(
    "changes",
    [
        {"saved_ratio_low": None, "saved_ratio_high": None},
        {"wait_per_hour": 0.0},
        {"wait_saved_per_hour": 0.0},
        {"wait_saved_per_hour": 1200.0},
    ],
)
def test_no_interval_comes_of_none(changes: dict[str, float | None]) -> None:
    """Where the proposal has none, saves nothing or all, no interval of a part is made up."""
    proposal = a_proposal(
        HEAD, TAIL, **{"wait_saved_per_hour": 960.0, "saved_ratio_low": 0.7, "saved_ratio_high": 0.9, **changes}
    )
    ran = carried_out(proposal, {1})
    assert (ran.saved_ratio_low, ran.saved_ratio_high) == (None, None)
    assert ran.wait_saved_per_hour == 600.0


def test_what_only_made_room_predicts_harm() -> None:
    """A demotion that ran without what it was for: more wait is predicted, by an interval around that."""
    down = a_move(1, reason="make_room", wait_saved_per_hour=-120.0)
    proposal = a_proposal(
        down, TAIL, wait_saved_per_hour=240.0, saved_ratio_low=0.1, saved_ratio_high=0.3, wait_per_hour=1200.0
    )
    ran = carried_out(proposal, {1})
    assert ran.wait_saved_per_hour == -120.0
    assert ran.saved_ratio_low is not None
    assert ran.saved_ratio_high is not None
    assert ran.saved_ratio_low < -0.1 < ran.saved_ratio_high < 0
