"""The whole database's work over time: averages of database demand, and the yardstick of an outcome.

In a closed system throughput rises when waits fall, so wait per hour says little about a move; wait **per transaction**
does, because the work done is the same on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from connectors.model import DatabaseDemand


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkInterval:
    """Database demand between two samples."""

    seconds: float  # > 0
    demand: DatabaseDemand


def average(intervals: Iterable[WorkInterval]) -> DatabaseDemand:
    """Time-weighted mean of each rate; an interval that does not know a rate does not count for it.

    >>> average([WorkInterval(seconds=1.0, demand=DatabaseDemand(reads=4.0)),
    ...          WorkInterval(seconds=3.0, demand=DatabaseDemand(reads=8.0))]).reads
    7.0
    """
    known = list(intervals)
    means: dict[str, float] = {}
    for rate in fields(DatabaseDemand):
        pairs = [(i.seconds, value) for i in known if not math.isnan(value := getattr(i.demand, rate.name))]
        seconds = math.fsum(s for s, _ in pairs)
        means[rate.name] = math.fsum(s * v for s, v in pairs) / seconds if seconds else math.nan
    return DatabaseDemand(**means)


def wait_per_transaction(demand: DatabaseDemand) -> float:
    """Seconds of foreground read wait per transaction; NaN where either is unknown or nothing was committed."""
    return demand.read_wait / demand.transactions if demand.transactions > 0 else math.nan


def read_latency(demand: DatabaseDemand) -> float:
    """Mean seconds of one physical read; NaN where either is unknown or nothing was read."""
    return demand.read_wait / demand.reads if demand.reads > 0 else math.nan
