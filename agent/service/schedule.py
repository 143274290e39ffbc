"""When a job has its next turn: a schedule goes on from what was done last, however often the daemon restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

APART_SECONDS = 5.0  # more than a plan of 100,000 units takes


def next_turn(last: datetime | None, every_seconds: float, earliest: datetime) -> datetime:
    """One interval after the last turn, but not before ``earliest``, and at once where there was none.

    A last turn in the future is one by a clock that was set back since: the interval then counts from ``earliest``.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> [f"{next_turn(noon + timedelta(minutes=ago), 3600.0, noon):%H:%M}" for ago in (-90, -20, 90)]
    ['12:00', '12:40', '13:00']
    """
    if last is None:
        return earliest
    interval = timedelta(seconds=every_seconds)
    return min(max(last + interval, earliest), earliest + interval)


def place_in_row(position: int, count: int, every_seconds: float) -> timedelta:
    """How much later than the first of ``count`` databases one has its turns: what they ask of the machine is spread.

    Evenly over an interval, but no further apart than ``APART_SECONDS``: what is overdue is not put off for long.

    >>> [place_in_row(position, 4, 60.0).total_seconds() for position in range(4)]
    [0.0, 5.0, 10.0, 15.0]
    >>> place_in_row(99, 100, 60.0).total_seconds()
    59.4
    """
    return timedelta(seconds=position * min(every_seconds / count, APART_SECONDS))


def on_grid(at: datetime, first: datetime, every_seconds: float) -> datetime:
    """The last instant up to ``at`` that is a whole number of intervals after ``first``; ``first`` where there is none.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> f"{on_grid(noon + timedelta(seconds=150), noon, 60.0):%H:%M:%S}"
    '12:02:00'
    """
    whole = math.floor((at - first).total_seconds() / every_seconds)
    return first + timedelta(seconds=max(0, whole) * every_seconds)


def young_plans(watched: float, minimum_history: float, every: float) -> Iterator[float]:
    """How long a young agent will have watched at each plan that it makes before its turn.

    Whenever it has watched twice as long as at the plan before, so that commands know what it knows, and once
    ``policy.minimum_history`` is reached, so that a proposal does not wait for the turn after that.

    Args:
        watched: seconds of watching at the last plan.
        minimum_history: seconds that a unit is watched before it is moved.
        every: seconds between two turns; what was watched for longer plans in its turns only.

    >>> list(young_plans(60.0, 1800.0, 3600.0))
    [120.0, 240.0, 480.0, 960.0, 1800.0]
    """
    while 0 < watched < every:
        twice = 2 * watched
        watched = minimum_history if watched < minimum_history < twice else twice
        if watched < every:
            yield watched
