"""What one plan may copy, and how long an approval lasts, by the windows."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from agent.planning.allowance import Budget, Limits, budget_of, expiry_of, longest_seconds
from policies.model.calendar import Calendar, parse_excluded, parse_window

MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
HOUR, DAY = 3600.0, timedelta(days=1)


def limits(*windows: str, excluded: str = "", **caps: float) -> Limits:
    """Windows in UTC, with caps."""
    days = (parse_excluded(excluded),) if excluded else ()
    return Limits(calendar=Calendar(UTC, tuple(map(parse_window, windows)), days), **caps)  # type: ignore[arg-type]  # fields by name


def test_without_windows_a_plan_has_no_limit() -> None:
    """Always open, no cap: nothing is held back; caps alone still count."""
    assert budget_of(limits(), MONDAY, 1.5) == Budget(None, None)
    assert budget_of(limits(copy_seconds=HOUR, bytes=7), MONDAY, 2.0) == Budget(7, 1800.0)


def test_a_plan_fits_the_next_window_with_its_safety() -> None:
    """Six hours tonight at a safety of 1.5 are four hours of planned copying."""
    assert budget_of(limits("mon-fri 22:00-04:00"), MONDAY, 1.5) == Budget(None, 4 * HOUR)


def test_the_rest_of_a_window_does_not_shrink_the_plan() -> None:
    """Ten minutes before its end the plan is made for the one after it: the approval takes time anyway."""
    almost_over = MONDAY + timedelta(hours=15, minutes=50)
    assert budget_of(limits("mon-fri 22:00-04:00"), almost_over, 1.0) == Budget(None, 6 * HOUR)


def test_windows_that_never_open_allow_nothing() -> None:
    """Every day is excluded."""
    assert budget_of(limits(excluded="01-01..12-31"), MONDAY, 1.5) == Budget(0, 0.0)


def test_an_approval_lasts_until_its_window_has_closed() -> None:
    """Made on Monday for Saturday it ends with Saturday's window, not on Tuesday."""
    saturday = limits("sat 08:00-12:00")
    assert expiry_of(saturday, MONDAY, DAY) == datetime(2026, 11, 28, 12, tzinfo=UTC)
    assert expiry_of(saturday, MONDAY, 6 * DAY) == MONDAY + 6 * DAY
    assert expiry_of(limits(), MONDAY, DAY) == MONDAY + DAY


def test_the_longest_window_is_sought_from_the_next_opening_on() -> None:
    """A freeze of two months hides no window; without windows there is no end in sight."""
    frozen = limits("sat 08:00-12:00", excluded="2026-11-20..2027-01-31")
    assert longest_seconds(frozen.calendar, MONDAY) == 4 * HOUR
    assert longest_seconds(limits().calendar, MONDAY) == math.inf
