"""Windows as people write them, and the nights on which the clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from policies.model.calendar import Calendar, ExcludedDays, Opening, WeeklyWindow, parse_excluded, parse_window

BERLIN = ZoneInfo("Europe/Berlin")


def berlin(*fields: int, fold: int = 0) -> datetime:
    """An instant by the clocks of Berlin."""
    return datetime(*fields, tzinfo=BERLIN, fold=fold).astimezone(UTC)  # type: ignore[arg-type,misc]  # fields of a time


def night(text: str = "22:00-05:00", *excluded: str) -> Calendar:
    """A calendar of Berlin with one window."""
    return Calendar(BERLIN, (parse_window(text),), tuple(map(parse_excluded, excluded)))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("mon-fri 22:00-05:00", WeeklyWindow(frozenset(range(5)), 1320, 1740)),
        ("sat 00:00-24:00", WeeklyWindow(frozenset({5}), 0, 1440)),
        ("fri-mon,wed 8:30-9:00", WeeklyWindow(frozenset({4, 5, 6, 0, 2}), 510, 540)),
        ("22:00 - 05:00", WeeklyWindow(frozenset(range(7)), 1320, 1740)),
        ("SUN 00:00-00:01", WeeklyWindow(frozenset({6}), 0, 1)),
    ],
)
def test_windows_are_read(text: str, window: WeeklyWindow) -> None:
    """Days and times, over midnight too."""
    assert parse_window(text) == window


@pytest.mark.parametrize(
    "text", ["", "always", "mon", "mo 10:00-11:00", "mon- 10:00-11:00", "10:00-10:00", "24:00-02:00", "10:61-11:00"]
)
def test_other_texts_are_refused_by_what_they_say(text: str) -> None:
    """The message shows what was written."""
    with pytest.raises(ValueError, match="'"):
        parse_window(text)


def test_excluded_days_are_read() -> None:
    """One day, a range, and the same days of every year, over its end too."""
    assert parse_excluded("2026-12-24") == ExcludedDays(date(2026, 12, 24), date(2026, 12, 24))
    holidays = parse_excluded("12-24..01-02")
    assert [holidays.holds(date(2031, *day)) for day in ((12, 23), (12, 24), (1, 2), (1, 3))] == [
        False,
        True,
        True,
        False,
    ]
    with pytest.raises(ValueError, match="ends before it begins"):
        parse_excluded("2026-12-24..2026-12-23")
    with pytest.raises(ValueError, match="'Christmas'"):
        parse_excluded("Christmas")


def test_a_night_of_the_spring_is_an_hour_shorter() -> None:
    """Clocks go from 02:00 to 03:00 on 29 March 2026: seven hours by the wall are six."""
    assert night().open_seconds(berlin(2026, 3, 28, 12), berlin(2026, 3, 29, 12)) == 6 * 3600


def test_a_night_of_the_autumn_is_an_hour_longer() -> None:
    """Clocks go from 03:00 back to 02:00 on 25 October 2026: seven hours by the wall are eight."""
    assert night().open_seconds(berlin(2026, 10, 24, 12), berlin(2026, 10, 25, 12)) == 8 * 3600


def test_an_end_that_is_shown_twice_counts_the_first_time() -> None:
    """A window until 02:30 ends an hour before the wall shows that for the second time."""
    assert night("22:00-02:30").closes_at(berlin(2026, 10, 24, 23)) == berlin(2026, 10, 25, 2, 30, fold=0)


def test_a_time_that_is_never_shown_is_the_moment_of_the_jump() -> None:
    """02:30 does not exist on 29 March 2026; a window from then begins, one until then ends, at the jump."""
    jump = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert night("sun 02:30-06:00").opens_at(berlin(2026, 3, 29, 0)) == jump
    assert night("sat 22:00-02:30").closes_at(berlin(2026, 3, 28, 23)) == jump
    assert night("sun 02:10-02:40").openings(berlin(2026, 3, 29, 0), berlin(2026, 3, 30, 0)) == ()


def test_an_excluded_day_closes_from_midnight_to_midnight() -> None:
    """The night before ends at midnight, and the night that begins on the day does not open at all."""
    calendar = night("22:00-05:00", "2026-12-24")
    assert calendar.openings(berlin(2026, 12, 23, 12), berlin(2026, 12, 26, 12)) == (
        Opening(berlin(2026, 12, 23, 22), berlin(2026, 12, 24, 0)),
        Opening(berlin(2026, 12, 25, 22), berlin(2026, 12, 26, 5)),
    )


def test_windows_that_touch_are_one_for_a_long_move() -> None:
    """Saturday and Sunday: the move may take both days, caps count for each."""
    calendar = Calendar(BERLIN, (parse_window("sat 00:00-24:00"), parse_window("sun 00:00-24:00")))
    saturday = berlin(2026, 11, 21, 18)
    assert calendar.closes_at(saturday) == berlin(2026, 11, 23, 0)
    assert calendar.opening_at(saturday) == Opening(berlin(2026, 11, 21, 0), berlin(2026, 11, 22, 0))


def test_without_windows_it_is_always_open() -> None:
    """No end in sight, and caps count by the day."""
    calendar, now = Calendar(BERLIN), berlin(2026, 11, 21, 18)
    assert (calendar.always, calendar.contains(now), calendar.closes_at(now), calendar.opens_at(now)) == (
        True, True, None, now,
    )  # fmt: skip
    assert calendar.opening_at(now) == Opening(berlin(2026, 11, 21), berlin(2026, 11, 22))


def test_a_calendar_that_never_opens_says_so() -> None:
    """With every day of the year excluded there is no next opening."""
    assert night("22:00-05:00", "01-01..12-31").opens_at(berlin(2026, 1, 1)) is None
