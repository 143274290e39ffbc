"""How long what cannot be done now is left alone, and what follows a try that has failed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from connectors.base import Clock, ConnectorError, LockNotObtained

FIRST_PAUSE_SECONDS = 1.0  # doubles with every time in a row
LONGEST_PAUSE_SECONDS = 60.0  # kind to the server, and soon enough after whatever was in the way has gone
NEVER_PUT_OFF = -math.inf


class Next(StrEnum):
    """What follows a try that has failed without changing anything."""

    AGAIN = "again"  # after a moment
    LATER = "later"  # the move goes back to those that wait; its window and its approval end that
    GIVE_UP = "give up"


def next_after(
    error: ConnectorError,
    tries: int,
    most: int,
    *,
    at_source: bool,
    in_the_way: bool,
    first: bool,
    expired: bool = False,
) -> Next:
    """What follows a try that has failed without changing anything.

    Waiting for a lock is no fault of the move: it is not counted, and goes on for as long as the move may run.

    Args:
        error: what ended the try; it may be tried again.
        tries: that have failed in this row.
        most: tries in a row that are sensible.
        at_source: nothing of the bundle has arrived, so the move can wait like one that never began.
        in_the_way: something is known to be in the way: a leftover, or a session that holds a lock.
        first: the move was not put off before; later it is tried once at a time.
        expired: its approval has ended. Until then the rest of a move that is halfway waits for its lock.
    """
    if isinstance(error, LockNotObtained):
        # LATER hands the move back to those that wait, as if it had not begun. What is halfway cannot be handed back:
        # it is tried on the spot until its approval ends, because giving up would leave it split.
        if at_source and (in_the_way or tries >= most or not first):
            return Next.LATER
        return Next.GIVE_UP if expired and tries >= most else Next.AGAIN
    if tries >= most:
        return Next.GIVE_UP
    return Next.LATER if at_source and in_the_way else Next.AGAIN


@dataclass(slots=True)
class _Pause:
    seconds: float = FIRST_PAUSE_SECONDS / 2  # doubled before its first use
    until: float = NEVER_PUT_OFF  # on the monotonic clock
    why: str = ""
    faults: int = 0


class Pauses:
    """What was put off, why and until when, by number. In memory: a restart looks at once."""

    def __init__(self, clock: Clock, longest_seconds: float = LONGEST_PAUSE_SECONDS) -> None:
        self._clock = clock
        self._longest = longest_seconds
        self._pauses: dict[int, _Pause] = {}

    def put_off(self, number: int, why: str, at_least: float = 0.0) -> None:
        """Leave it alone for twice as long as the last time, and for so many seconds at least."""
        pause = self._pauses.setdefault(number, _Pause())
        pause.seconds = min(self._longest, 2 * pause.seconds)
        pause.until, pause.why = self._clock.monotonic() + max(at_least, pause.seconds), why

    def why(self, number: int) -> str:
        """Why it is left alone now; "" where it is not."""
        pause = self._pauses.get(number)
        return pause.why if pause is not None and self._clock.monotonic() < pause.until else ""

    def was_put_off(self, number: int) -> bool:
        """Whether it ever was, since it was last forgotten."""
        return number in self._pauses and self._pauses[number].until != NEVER_PUT_OFF

    def count_fault(self, number: int) -> int:
        """Note that a try has failed by more than waiting for a lock; how many have."""
        pause = self._pauses.setdefault(number, _Pause())
        pause.faults += 1
        return pause.faults

    def forget(self, number: int) -> None:
        """It has ended."""
        self._pauses.pop(number, None)
