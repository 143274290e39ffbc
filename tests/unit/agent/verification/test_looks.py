"""Which moves are too near to be told apart, and since when is compared."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent.moving.evidence import _before
from tests.unit.samples import MADE_AT

SETTLE = timedelta(minutes=15)


def minutes(begun: float, ended: float | None) -> tuple[datetime, datetime | None]:
    """A move by the minutes before ours at which it began and ended."""
    return MADE_AT - timedelta(minutes=begun), None if ended is None else MADE_AT - timedelta(minutes=ended)


def test_moves_that_come_later_or_run_do_not_hide_earlier_ones() -> None:
    """One that ended ten minutes before ours is measured with it, whatever began since or runs."""
    others = {1: minutes(30, 10), 2: minutes(5, None), 3: minutes(-1, -2)}
    together, since, until = _before(others, MADE_AT, SETTLE)
    assert (together, until) == ({1}, MADE_AT - timedelta(minutes=30))
    assert since.year == 1


def test_what_ended_long_before_bounds_the_time_before() -> None:
    """Its effect is part of what was; from when caches were warm again, it is compared."""
    others = {1: minutes(300, 290), 2: minutes(100, 90), 3: minutes(45, 31)}
    together, since, until = _before(others, MADE_AT, SETTLE)
    assert (together, until) == (set(), MADE_AT)
    assert since == MADE_AT - timedelta(minutes=31) + SETTLE


def test_exactly_as_much_as_is_needed_in_between_is_enough() -> None:
    """Half an hour: a quarter to settle, and as much again that was seen."""
    together, since, until = _before({1: minutes(40, 30)}, MADE_AT, SETTLE)
    assert (together, until, since) == (set(), MADE_AT, MADE_AT - SETTLE)


def test_a_chain_of_moves_is_measured_together() -> None:
    """Each is too near to the next one."""
    others = {1: minutes(70, 60), 2: minutes(40, 29)}
    together, since, until = _before(others, MADE_AT, SETTLE)
    assert (together, until) == ({1, 2}, MADE_AT - timedelta(minutes=70))
    assert since.year == 1
