"""The whole database's work over time: averages of database demand, and the yardstick of an outcome.

In a closed system throughput rises when waits fall, so wait per hour says little about a move; wait **per transaction**
does, because the work done is the same on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from connectors.model import ROLE_FIGURES, DatabaseDemand, Role, RoleFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkInterval:
    """Database demand between two samples."""

    seconds: float  # > 0
    demand: DatabaseDemand
    roles: tuple[RoleFigures, ...] = ()  # rates per second


def average(intervals: Iterable[WorkInterval]) -> DatabaseDemand:
    """Time-weighted mean of each rate; an interval that does not know a rate does not count for it.

    >>> average([WorkInterval(seconds=1.0, demand=DatabaseDemand(reads=4.0)),
    ...          WorkInterval(seconds=3.0, demand=DatabaseDemand(reads=8.0))]).reads
    7.0
    """
    known = list(intervals)
    names = (rate.name for rate in fields(DatabaseDemand))
    return DatabaseDemand(**{name: _mean((i.seconds, getattr(i.demand, name)) for i in known) for name in names})


def average_roles(intervals: Iterable[WorkInterval]) -> tuple[RoleFigures, ...]:
    """The same of logs, temporary and undo spaces, in the order in which they first appear."""
    seen: dict[tuple[Role, str], list[tuple[float, RoleFigures]]] = {}
    for interval in intervals:
        for figures in interval.roles:
            seen.setdefault((figures.role, figures.name), []).append((interval.seconds, figures))
    return tuple(_mean_role(parts) for parts in seen.values())


def _mean_role(parts: list[tuple[float, RoleFigures]]) -> RoleFigures:
    """Means under the newest name and note."""
    means: dict[str, Any] = {
        each: _mean((seconds, getattr(figures, each)) for seconds, figures in parts) for each in ROLE_FIGURES
    }
    return replace(parts[-1][1], **means)


def _mean(values: Iterable[tuple[float, float]]) -> float:
    """Mean of the known values, each with the seconds for which it counts; NaN where none is known."""
    known = [(seconds, value) for seconds, value in values if not math.isnan(value)]
    seconds = math.fsum(s for s, _ in known)
    return math.fsum(s * v for s, v in known) / seconds if seconds else math.nan


def wait_per_transaction(demand: DatabaseDemand) -> float:
    """Seconds of foreground read wait per transaction; NaN where either is unknown or nothing was committed."""
    return demand.read_wait / demand.transactions if demand.transactions > 0 else math.nan


def read_latency(demand: DatabaseDemand) -> float:
    """Mean seconds of one physical read; NaN where either is unknown or nothing was read."""
    return demand.read_wait / demand.reads if demand.reads > 0 else math.nan
