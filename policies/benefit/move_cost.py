"""What a move costs sessions, how long it must last to earn that, and the most that any placement could save."""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I64, Bools, DatabaseDemand
from policies.benefit.prices import HOUR
from policies.model.plan import PolicySettings


def ceiling_ratio(database: DatabaseDemand) -> float:
    """Amdahl: the share of session time that is foreground I/O, at most 1; NaN where the engine cannot tell.

    No placement makes sessions faster than by this share, since a wait cannot become shorter than nothing.
    """
    writes = 0.0 if np.isnan(database.write_wait) else database.write_wait
    if not database.active > 0 or np.isnan(database.read_wait):
        return float("nan")
    return float(min(1.0, (database.read_wait + writes) / database.active))


def copy_seconds(size_bytes: I64, settings: PolicySettings) -> F64:
    """How long copying takes by size alone, where nothing else is known; shape as given. See ``copy_time``."""
    return np.asarray(size_bytes / settings.copy_bytes_per_second, dtype=np.float64)


def move_cost_seconds(copying_seconds: F64, database: DatabaseDemand, settings: PolicySettings) -> F64:
    """Session seconds a move costs: of every session that waits for disk, the share that stands still meanwhile."""
    lost = waiting_sessions(database) * settings.foreground_slow_down
    return np.asarray(copying_seconds * lost, dtype=np.float64)


def cool_down_left(
    since: F64, earned: F64, came_up: Bools, gave_way: Bools, size_bytes: I64, database: DatabaseDemand,
    settings: PolicySettings, dearest: float = 1.0,
) -> F64:  # fmt: skip
    """Seconds for which each unit that moved has to stay where it is, shape ``(n,)``.

    Until the cool-down has passed; what is on the fastest tier only until it was spared as much wait as both copies
    cost, each in its hour. Ski rental: it costs at most twice what hindsight would have paid. What made room for others
    may come back at once, and then stays in turn; what a person sent down rests.

    Args:
        since: seconds since each moved, inf where it did not.
        earned: wait seconds spared since then, less what that copy cost (``horizons.earned_seconds``).
        came_up: on the fastest tier.
        gave_way: moved last to make room for others.
        size_bytes: of each.
        database: whose sessions a copy holds up.
        settings: cool-down and speed of copies.
        dearest: times its present price that the copy back may cost (``horizons.dearest_copy``).
    """
    cost = move_cost_seconds(copy_seconds(size_bytes, settings), database, settings)
    stays = np.where(came_up, earned < dearest * cost, ~gave_way)
    return np.where(stays, np.maximum(0.0, settings.cool_down_seconds - since), 0.0)


def waiting_sessions(database: DatabaseDemand) -> float:
    """Sessions that wait for disk at a time, which a copy can hold up; at least one.

    A session that computes does not wait for a copy. Where the waits are not measured, all active sessions count.
    """
    share = ceiling_ratio(database)
    waiting = database.active if np.isnan(share) else database.active * share
    return float(max(1.0, waiting)) if waiting == waiting else 1.0


def payback_seconds(cost_seconds: F64, saved_per_hour: F64) -> F64:
    """How long a move must last to earn its cost; inf where it saves nothing."""
    hours = np.divide(
        cost_seconds, saved_per_hour, out=np.full(np.shape(cost_seconds), np.inf), where=saved_per_hour > 0
    )
    return np.asarray(hours * HOUR, dtype=np.float64)
