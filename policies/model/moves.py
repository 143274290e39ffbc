"""Why a move is planned and what it costs: what is stored with each move. Needs no arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MoveReason(StrEnum):
    """Why a move is in a plan."""

    PROMOTE = "promote"  # its own gain pays
    MAKE_ROOM = "make_room"  # cold, goes down so that a later move fits
    PIN = "pin"  # a pin demands it
    CLEAR = "clear"  # cold, goes down so that the stated share of the fastest tier is free
    LEVEL = "level"  # evens out load or fill among spaces of its tier, or makes room by going to another of them
    DRAIN = "drain"  # its space is to be emptied
    GROWTH = "growth"  # goes down in time, so that what grows in its space does not fill it


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCost:
    """Estimated seconds that a route costs sessions apart from its copying, and seconds that it copies."""

    log_seconds: float  # who waits for the log waits longer, while it takes what the move writes there
    blocked_seconds: float  # sessions that its locks hold up, beyond the slow-down by the copy
    follow_up_seconds: float  # work that it leaves behind, as far as it can be estimated
    copying: tuple[float, ...] | None = None  # seconds of each of ``Route.transfers``, before what moves have taught
    around_seconds: float = 0.0  # of its statements outside those: catalog, commit, transactions that it waits for
    copy_seconds: float | None = (
        None  # of its statements, with what moves have taught; None: stored before it was recorded
    )

    @property
    def seconds(self) -> float:
        """All that it costs apart from copying."""
        return self.log_seconds + self.blocked_seconds + self.follow_up_seconds


def missed_wait_ratio(wait: float, bound: float, saved: float) -> float:
    """Share of a wait that could be saved at best and is not, 0 to 1; what moves cost counts as missed.

    ``gap_ratio`` is a share of what can be saved. Once everything is in its place that is next to nothing, and what is
    not worth a move is all of it.

    >>> missed_wait_ratio(1000.0, 20.0, 0.0)
    0.02
    """
    return min(1.0, max(0.0, (bound - saved) / wait)) if wait > 0 else 0.0
