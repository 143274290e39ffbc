"""Whether a move may begin now: its window, how long it will take, and what the window has seen already.

Pure: everything it needs is given. Promise 5 rests on ``decide`` alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from agent.config.models import DatabaseConfig
from agent.sampling.experience import Used
from connectors.model.formatting import format_bytes, format_seconds
from policies.model.calendar import Calendar

LOOK_AHEAD = timedelta(days=30)  # in which the longest window is looked for: holds every weekly one, holidays aside


class Admission(StrEnum):
    """What becomes of a move now."""

    START = "start"
    WAIT = "wait"
    NEVER = "never"  # no window will ever do


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the configuration allows in one window."""

    calendar: Calendar
    bytes: int | None = None  # None: no limit
    copy_seconds: float | None = None

    @property
    def capped(self) -> bool:
        """Whether what a window has seen counts."""
        return self.bytes is not None or self.copy_seconds is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowNeed:
    """What a move asks of a window."""

    key: str
    bytes: int
    seconds: float  # reckoned, with the safety factor
    pausable: bool  # the engine can hold it, so that it may go on in the next window


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """The answer with its reason in plain words."""

    answer: Admission
    sentence: str


@dataclass(frozen=True, slots=True)
class Budget:
    """What one plan may copy, so that it fits a window; None: as much as it likes."""

    bytes: int | None
    seconds: float | None


START = AdmissionDecision(Admission.START, "")


def limits_of(database: DatabaseConfig) -> Limits:
    """What the configuration allows in one window."""
    return Limits(calendar=database.calendar, bytes=database.window_bytes, copy_seconds=database.window_copy_seconds)


def budget_of(limits: Limits, now: datetime, safety: float) -> Budget:
    """What fits the next window: the one that is open or the one after it, whichever has more time left.

    Args:
        limits: what a window allows.
        now: the instant.
        safety: a copy is reckoned to take that much longer than planned.
    """
    first = limits.calendar.opens_at(now)
    if first is None:
        return Budget(0, 0.0)
    seconds = math.inf
    if limits.calendar.closes_at(first) is not None:
        # The present window and the next one: of this one some minutes may be left, and a plan that fits those would
        # leave large moves out although the next window is long enough.
        coming = limits.calendar.openings(first, first + LOOK_AHEAD)[: 2 if first == now else 1]
        seconds = max(opening.seconds for opening in coming)
    if limits.copy_seconds is not None:
        seconds = min(seconds, limits.copy_seconds)
    return Budget(limits.bytes, None if math.isinf(seconds) else seconds / safety)


BY_HAND_LASTS = timedelta(days=7)  # a person waits for his next window; the catalog is looked at until then


def expiry_of(limits: Limits, made_at: datetime, lasts: timedelta) -> datetime:
    """When an approval ends: after its time, but not before a window in which it could be used has closed."""
    ends = made_at + lasts
    opens = limits.calendar.opens_at(made_at)
    if opens is None or opens < ends:
        return ends
    return limits.calendar.closes_at(opens) or ends


def decide(need: WindowNeed, limits: Limits, used: Used, now: datetime) -> AdmissionDecision:
    """Whether the move may begin now.

    Args:
        need: what it asks.
        limits: what a window allows.
        used: what the window at ``now`` has seen already; nothing where it is closed.
        now: the instant.
    """
    # Before the calendar: waiting for a window that can never do would hold up all moves behind it until the approval
    # ends.
    never = too_much(need, limits, now)
    if never:
        return AdmissionDecision(Admission.NEVER, never)
    if not limits.calendar.contains(now):
        return AdmissionDecision(Admission.WAIT, f"waits for its window, {_opens(limits.calendar, now)}")
    return _by_caps(need, limits, used) or _by_end(need, limits, now) or START


def too_much(need: WindowNeed, limits: Limits, now: datetime) -> str:
    """Why no window will ever do for the move; "" where one may."""
    if limits.calendar.opens_at(now) is None:
        return "no window opens within a year"
    if limits.bytes is not None and need.bytes > limits.bytes:
        return f"{need.key} has {format_bytes(need.bytes)}, a window may move {format_bytes(limits.bytes)}"
    if limits.copy_seconds is not None and need.seconds > limits.copy_seconds:
        return (
            f"{need.key} takes about {format_seconds(need.seconds)}, "
            f"a window may copy for {format_seconds(limits.copy_seconds)}"
        )
    longest = longest_seconds(limits.calendar, now)
    if need.seconds > longest and not need.pausable:
        return (
            f"{need.key} takes about {format_seconds(need.seconds)}, the longest window has {format_seconds(longest)}, "
            "and this way of moving cannot be held"
        )
    return ""


def longest_seconds(calendar: Calendar, now: datetime) -> float:
    """How long the longest stretch is open in the weeks from the next opening on; inf: there is no end in sight."""
    if calendar.closes_at(now) is None:
        return math.inf
    first = calendar.opens_at(now) or now
    return max((opening.seconds for opening in calendar.openings(first, first + LOOK_AHEAD)), default=0.0)


def _by_caps(need: WindowNeed, limits: Limits, used: Used) -> AdmissionDecision | None:
    if limits.bytes is not None and used.bytes + need.bytes > limits.bytes:
        return AdmissionDecision(
            Admission.WAIT,
            f"waits for the next window: this one moved {format_bytes(used.bytes)} of {format_bytes(limits.bytes)}",
        )
    if limits.copy_seconds is not None and used.seconds + need.seconds > limits.copy_seconds:
        return AdmissionDecision(
            Admission.WAIT,
            f"waits for the next window: this one copied for {format_seconds(used.seconds)} "
            f"of {format_seconds(limits.copy_seconds)}",
        )
    return None


def _by_end(need: WindowNeed, limits: Limits, now: datetime) -> AdmissionDecision | None:
    """Wait where it would not end in time, unless it is longer than every window and can be held at their ends."""
    closes = limits.calendar.closes_at(now)
    if closes is None or now + timedelta(seconds=need.seconds) <= closes:
        return None
    # What fits a longer window waits for it even if it could be held: a held copy keeps its room, and what it has
    # built, until the next window.
    if need.pausable and need.seconds > longest_seconds(limits.calendar, now):
        return None
    return AdmissionDecision(
        Admission.WAIT,
        f"waits for a longer window: it takes about {format_seconds(need.seconds)}, "
        f"this one closes in {format_seconds((closes - now).total_seconds())}",
    )


def _opens(calendar: Calendar, now: datetime) -> str:
    opens = calendar.opens_at(now)
    if opens is None:
        return "which does not open within a year"
    return f"which opens {opens.astimezone(calendar.zone):%a %d %b %H:%M %Z}"
