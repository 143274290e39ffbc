"""Weekly windows on the calendar of a place: when moves may run, and when demand is measured.

A window is what the clock on the wall says: ``mon-fri 22:00-05:00`` begins at 22:00 on those days and belongs to the
day on which it begins. Where the clocks are put forward, a reading that the wall never shows stands for the moment of
the jump; where they are put back, a reading that it shows twice stands for the first of the two. So a window never
reaches past the moment at which the wall first showed its end.

Instants are aware and in UTC; an opening is half open, ``[start, end)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 24 * 60
DAY = timedelta(days=1)
HORIZON = timedelta(days=400)  # nothing is looked for beyond: windows that a whole year excludes never open
_WINDOW = re.compile(r"(?:([a-z,-]+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")


@dataclass(frozen=True, slots=True)
class WeeklyWindow:
    """From a time of the day to a later one, on some days of every week."""

    days: frozenset[int]  # on which it begins, 0 is Monday
    start_minute: int  # of the day, 0 to 1439
    end_minute: int  # of the same day, or beyond 1440 of the next; after start_minute, at most a day later


@dataclass(frozen=True, slots=True)
class Opening:
    """One stretch of time, ``[start, end)``."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True)
class ExcludedDays:
    """Days from one to another, both included. Without a year (``every_year``) the year of the dates means nothing."""

    first: date
    last: date
    every_year: bool = False

    def holds(self, day: date) -> bool:
        """Whether the day is one of them."""
        if not self.every_year:
            return self.first <= day <= self.last
        at, first, last = ((d.month, d.day) for d in (day, self.first, self.last))
        return first <= at <= last if first <= last else at >= first or at <= last


WHOLE_WEEK = WeeklyWindow(frozenset(range(7)), 0, DAY_MINUTES)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Weekly windows in one time zone. Without a window it is always open, but for excluded days.

    An excluded day is closed from midnight to midnight, and no window that begins on it opens.
    """

    zone: tzinfo = UTC
    windows: tuple[WeeklyWindow, ...] = ()
    excluded: tuple[ExcludedDays, ...] = ()

    @property
    def always(self) -> bool:
        """Open without any end."""
        return not self.windows and not self.excluded

    def contains(self, at: datetime) -> bool:
        """Whether it is open at that instant."""
        return self.always or self.opening_at(at) is not None

    def opening_at(self, at: datetime) -> Opening | None:
        """The single window that covers the instant, None where none does: what caps per window count in.

        Of several the one that began last. Without windows, the day.
        """
        day = at.astimezone(self.zone).date()
        covering = [opening for opening in self._single(day - DAY, day + DAY) if opening.start <= at < opening.end]
        return max(covering, key=lambda opening: (opening.start, opening.end), default=None)

    def closes_at(self, at: datetime) -> datetime | None:
        """When it closes next, windows that follow on each other taken together; ``at`` itself where it is closed.

        None: there is no end in sight.
        """
        if self.always:
            return None
        end = at
        for opening in self._merge(at, at + HORIZON):
            if not opening.start <= at:
                break
            end = max(end, opening.end)
        return end if end < at + HORIZON else None

    def opens_at(self, at: datetime) -> datetime | None:
        """When it is open next: ``at`` itself where it is open. None: not within the horizon."""
        if self.contains(at):
            return at
        return next((opening.start for opening in self._merge(at, at + HORIZON)), None)

    def openings(self, since: datetime, until: datetime) -> tuple[Opening, ...]:
        """Every stretch within ``[since, until)`` in which it is open, those that touch as one, in order."""
        if since >= until:
            return ()
        if self.always:
            return (Opening(since, until),)
        return tuple(
            Opening(max(opening.start, since), min(opening.end, until)) for opening in self._merge(since, until)
        )

    def open_seconds(self, since: datetime, until: datetime) -> float:
        """How long it is open within ``[since, until)``."""
        return sum(opening.seconds for opening in self.openings(since, until))

    def _merge(self, since: datetime, until: datetime) -> Iterator[Opening]:
        """Openings that touch each other as one, unclipped, of those that reach into ``[since, until)``."""
        # From the day before: a window that began last evening may reach into this morning.
        days = since.astimezone(self.zone).date() - DAY, until.astimezone(self.zone).date()
        return _join_openings(
            opening for opening in self._single(*days) if opening.end > since and opening.start < until
        )

    def _single(self, first: date, last: date) -> Iterator[Opening]:
        """Every window that begins on these days, by its start."""
        day = first
        while day <= last:
            yield from _openings_on(self, day)
            day += DAY

    def begin_on(self, day: date) -> Iterator[Opening]:
        """Every window that begins on that day, in no order."""
        if self._is_excluded(day):
            return
        for window in self.windows or (WHOLE_WEEK,):
            if day.weekday() not in window.days:
                continue
            # Cut at midnight: a window of the evening before would otherwise run moves on the excluded morning.
            end_minute = min(window.end_minute, DAY_MINUTES) if self._is_excluded(day + DAY) else window.end_minute
            start, end = (self._instant(day, minute) for minute in (window.start_minute, end_minute))
            # A window that lies wholly within the skipped hour has no length; it does not open rather than opening at
            # the jump.
            if start < end:
                yield Opening(start, end)

    def _is_excluded(self, day: date) -> bool:
        return any(days.holds(day) for days in self.excluded)

    def _instant(self, day: date, minute: int) -> datetime:
        """When the wall first shows that minute of the day, or jumps over it."""
        # Counted on the wall and not by adding to the instant of midnight: on the two days on which clocks are changed,
        # 22:00 is 21 or 23 hours after midnight.
        wall = datetime(day.year, day.month, day.day) + timedelta(minutes=minute)  # noqa: DTZ001  # what the wall shows
        first = wall.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
        if first.astimezone(self.zone).replace(tzinfo=None) == wall:
            return first
        return _jump(self.zone, wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC), first)


# A daemon asks every few seconds whether a move may begin, until its window opens: for the same weeks each time.
@lru_cache(maxsize=1024)
def _openings_on(calendar: Calendar, day: date) -> tuple[Opening, ...]:
    return tuple(sorted(calendar.begin_on(day), key=lambda opening: opening.start))


def _jump(zone: tzinfo, before: datetime, after: datetime) -> datetime:
    """The second at which the offset of the zone changes, between two instants on either side of it."""
    # By bisection, since zoneinfo does not tell when its offset changes.
    old = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == old else (before, middle)
    return after


def _join_openings(openings: Iterable[Opening]) -> Iterator[Opening]:
    """Openings ascending by their start, those that touch or overlap as one."""
    current: Opening | None = None
    for opening in openings:
        if current is None or opening.start > current.end:
            if current is not None:
                yield current
            current = opening
        else:
            current = Opening(current.start, max(current.end, opening.end))
    if current is not None:
        yield current


def parse_window(text: str) -> WeeklyWindow:
    """A window as people write it: ``mon-fri 22:00-05:00``, ``sat,sun 00:00-24:00``, ``22:00-05:00`` for every day.

    Raises:
        ValueError: it is not written so; the text shows what was written and how it should be.
    """
    found = _WINDOW.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no window; write for example 'mon-fri 22:00-05:00' or 'sat 00:00-24:00'")
    days, *numbers = found.groups()
    start_hour, start_minute, end_hour, end_minute = map(int, numbers)
    start, end = start_hour * 60 + start_minute, end_hour * 60 + end_minute
    if start >= DAY_MINUTES or end > DAY_MINUTES or start_minute > 59 or end_minute > 59:
        raise ValueError(f"{text!r} names a time that no day has; it begins at 23:59 at the latest and ends by 24:00")
    if start == end:
        raise ValueError(f"{text!r} begins and ends at the same time; write 00:00-24:00 for a whole day")
    return WeeklyWindow(_parse_days(days, text), start, end if end > start else end + DAY_MINUTES)


def _parse_days(text: str | None, window: str) -> frozenset[int]:
    if text is None:
        return WHOLE_WEEK.days
    days: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS or part.endswith("-"):
            raise ValueError(f"{part!r} of {window!r} is no day; days are {', '.join(DAYS)}, as mon-fri or sat,sun")
        at, end = DAYS.index(first), DAYS.index(last or first)
        days.update((at + step) % 7 for step in range((end - at) % 7 + 1))
    return frozenset(days)


def parse_excluded(text: str) -> ExcludedDays:
    """Days as people write them: ``2026-12-24``, ``2026-12-24..2027-01-03``, and ``12-24..01-02`` for every year.

    Raises:
        ValueError: it is not written so, or ends before it begins.
    """
    first, separator, last = (part.strip() for part in text.partition(".."))
    every_year = bool(re.fullmatch(r"\d\d-\d\d", first))
    try:
        ends = [
            date.fromisoformat(f"2000-{part}" if every_year else part) for part in (first, last if separator else first)
        ]
    except ValueError:
        raise ValueError(
            f"{text!r} are no days; write 2026-12-24, 2026-12-24..2027-01-03, or 12-24..01-02 for every year"
        ) from None
    if ends[1] < ends[0] and not every_year:
        raise ValueError(f"{text!r} ends before it begins")
    return ExcludedDays(ends[0], ends[1], every_year)
