"""How far a move is, in bytes, and how long the rest takes at the pace so far. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from connectors.formatting import format_seconds
from connectors.model import Progress

SURE_AFTER_SECONDS = 1.0  # a pace of less than that says nothing


@dataclass(slots=True)
class Pace:
    """Bytes and the time since a step began or went on."""

    began_at: float  # seconds on a clock that never jumps
    began_with: int | None = None  # bytes done when it was first looked at

    def seconds_left(self, done: int, total: int, now: float) -> float | None:
        """At the mean pace since the first look; None while there is no pace to go by."""
        if self.began_with is None:
            self.began_at, self.began_with = now, done
        seconds, gained = now - self.began_at, done - self.began_with
        if seconds < SURE_AFTER_SECONDS or gained <= 0:
            return None
        return max(0, total - done) * seconds / gained


def progress_of(doing: str, done: int, total: int, left: float | None) -> Progress:
    """As the contract has it: never more than all, and the rest of the time in words where it is known."""
    total = max(1, total)
    sentence = doing if left is None else f"{doing}, about {format_seconds(left)} left"
    return Progress(done_bytes=min(total, max(0, done)), total_bytes=total, sentence=sentence)
