"""Windows on calendars of places with all kinds of clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.model.calendar import DAY_MINUTES, DAYS, Calendar, ExcludedDays, WeeklyWindow, parse_window
from tests.examples import examples

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu",
    "Australia/Lord_Howe",  # half an hour of summer time
    "America/Santiago", "America/Sao_Paulo",  # the clocks changed at midnight
    "Pacific/Apia",  # 30 December 2011 never was
)  # fmt: skip
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)

windows = st.builds(
    lambda days, start, length: WeeklyWindow(frozenset(days), start, start + length),
    st.sets(st.integers(0, 6), min_size=1),
    st.integers(0, DAY_MINUTES - 1),
    st.integers(1, DAY_MINUTES),
)
years = st.datetimes(datetime(2010, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001  # bounds have no zone
changes = st.sampled_from(
    [
        datetime(*day, tzinfo=UTC)
        for day in ((2018, 2, 18), (2018, 11, 4), (2011, 12, 30), (2026, 3, 29), (2026, 10, 25))
    ]
)
instants = st.one_of(
    years,
    st.builds(lambda day, minutes: day + minutes * MINUTE, changes, st.integers(-2 * DAY_MINUTES, 3 * DAY_MINUTES)),
)
excluded = st.lists(
    st.builds(
        lambda first, days, each: ExcludedDays(first, first + timedelta(days=days), each),
        st.dates(date(2010, 1, 1), date(2027, 12, 31)), st.integers(0, 20), st.booleans(),
    ),
    max_size=2,
).map(tuple)  # fmt: skip
calendars = st.builds(
    Calendar, st.sampled_from(ZONES).map(ZoneInfo), st.lists(windows, max_size=3).map(tuple), excluded
)


def reading(calendar: Calendar, at: datetime) -> bool:
    """Whether the wall's reading lies in a window, by plain arithmetic on what the wall shows."""
    wall = at.astimezone(calendar.zone).replace(tzinfo=None)
    minutes = wall.hour * 60 + wall.minute
    today, before = wall.date(), wall.date() - DAY
    if any(days.holds(today) for days in calendar.excluded):
        return False
    begun_before = not any(days.holds(before) for days in calendar.excluded)
    whole = WeeklyWindow(frozenset(range(7)), 0, DAY_MINUTES)
    return any(
        (today.weekday() in window.days and window.start_minute <= minutes < window.end_minute)
        or (begun_before and before.weekday() in window.days and minutes < window.end_minute - DAY_MINUTES)
        for window in calendar.windows or (whole,)
    )


def shown_twice(calendar: Calendar, at: datetime) -> bool:
    """Whether the wall shows this reading a first and a second time."""
    local = at.astimezone(calendar.zone)
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


@given(calendars, instants)
def test_it_is_open_when_the_wall_says_so(calendar: Calendar, at: datetime) -> None:
    """Wherever the wall shows a time once, it is open exactly when that reading lies in a window."""
    if not shown_twice(calendar, at):
        assert calendar.contains(at) == reading(calendar, at)


@given(calendars, instants)
def test_a_window_ends_when_the_wall_first_shows_its_end(calendar: Calendar, at: datetime) -> None:
    """Where the wall shows an hour twice it is never open the second time unless it was open all the way there."""
    local = at.astimezone(calendar.zone)
    if shown_twice(calendar, at) and local.fold == 1 and calendar.contains(at):
        opening = calendar.opening_at(at)
        assert opening is not None
        assert opening.end > at
        assert opening.end.astimezone(calendar.zone).fold == 0


@given(calendars, instants)
def test_closing_and_opening_are_where_it_changes(calendar: Calendar, at: datetime) -> None:
    """It is open until closes_at and not after, from opens_at and not before."""
    closes, opens = calendar.closes_at(at), calendar.opens_at(at)
    assert calendar.contains(at) == (opens == at) == (closes != at)
    if closes is not None and closes > at:
        assert calendar.contains(closes - timedelta(seconds=1))
        assert not calendar.contains(closes)
    if opens is not None and opens > at:
        assert not calendar.contains(opens - timedelta(seconds=1))
        assert calendar.contains(opens)


@settings(max_examples=examples(60))
@given(calendars, instants, st.integers(0, 20 * DAY_MINUTES), st.floats(0, 1))
def test_openings_are_disjoint_and_add_up(calendar: Calendar, since: datetime, minutes: int, share: float) -> None:
    """They are in order, apart from each other, agree with contains(), and cutting the time anywhere loses nothing."""
    until = since + minutes * MINUTE
    found = calendar.openings(since, until)
    for opening in found:
        assert since <= opening.start < opening.end <= until
        assert calendar.contains(opening.start)
        assert calendar.contains(opening.end - timedelta(microseconds=1))
    assert all(a.end < b.start for a, b in pairwise(found))
    middle = since + share * (until - since)
    whole = calendar.open_seconds(since, until)
    assert abs(calendar.open_seconds(since, middle) + calendar.open_seconds(middle, until) - whole) < 1e-3


@given(calendars, windows, instants)
def test_another_window_only_opens(calendar: Calendar, more: WeeklyWindow, at: datetime) -> None:
    """What is open stays open when a window is added to others."""
    if calendar.windows and calendar.contains(at):
        assert Calendar(calendar.zone, (*calendar.windows, more), calendar.excluded).contains(at)


@given(calendars, instants)
def test_excluded_days_only_close(calendar: Calendar, at: datetime) -> None:
    """No excluded day is open, and excluding days opens nothing."""
    today = at.astimezone(calendar.zone).date()
    if calendar.contains(at):
        assert Calendar(calendar.zone, calendar.windows).contains(at)
        assert not any(days.holds(today) for days in calendar.excluded)


@given(windows)
def test_a_window_reads_back(window: WeeklyWindow) -> None:
    """What is written as people write it is read as the same window."""
    days = ",".join(DAYS[day] for day in sorted(window.days))
    end = window.end_minute if window.end_minute <= DAY_MINUTES else window.end_minute - DAY_MINUTES
    text = f"{days} {window.start_minute // 60:02}:{window.start_minute % 60:02}-{end // 60:02}:{end % 60:02}"
    if window.end_minute - window.start_minute < DAY_MINUTES or window.start_minute == 0:
        assert parse_window(text) == window
