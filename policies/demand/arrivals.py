"""Whether a load is closed or open, from a database's own hours.

Closed: as many sessions as there are ask again when they have been answered and have thought, so by the interactive
response time law (Denning and Buzen 1978) ``X = N / (Z + R)``, which is a straight line in what is counted::

    1 / X = Z / N + R / N        X transactions a second, R seconds of each in the server, N sessions in use

Hours in which latency differs must lie on a line with slope ``1 / N`` of the very sessions that were counted. A night
of few long reports and a day of many short questions lie on a line too, though not on that one.

Open: work arrives by itself. The rate differs from hour to hour whatever the latency, with as many sessions connected,
and latency follows the rate, if anything does: a queue is longer in a busy hour.

All else is unknown, which is a result: sessions that come and go with the hour make a closed load look like an open
one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

import numpy as np

from connectors.model import F64
from policies.demand.workload import DatedWork, average

CLOSED, OPEN, UNKNOWN = "closed", "open", ""
LEAST_HOURS = 24
LEAST_SPREAD = 0.1  # standard deviation of the logarithm of what has to differ
SAME_POPULATION = 0.1  # coefficient of variation of sessions that are as many as ever
CORRELATED = 0.8
SLOPE = (0.7, 1.3)  # of the line, times the sessions counted


def load_by_hours(work: Iterable[DatedWork]) -> str:
    """``CLOSED``, ``OPEN`` or ``UNKNOWN``.

    Args:
        work: intervals of the database, in any order; those without transactions, latency or sessions do not count.
    """
    hours = _hours(work)
    if hours.shape[1] < LEAST_HOURS:
        return UNKNOWN
    rate, latency, population = hours
    if population.std() > SAME_POPULATION * population.mean():
        return UNKNOWN
    if np.log(latency).std() >= LEAST_SPREAD and _correlation(latency, 1 / rate) >= CORRELATED:
        slope = float(np.polyfit(latency, 1 / rate, 1)[0]) * float(population.mean())
        return CLOSED if SLOPE[0] <= slope <= SLOPE[1] else UNKNOWN
    busier = np.log(rate).std() >= 2 * LEAST_SPREAD and _correlation(rate, rate * latency) >= CORRELATED
    follows = np.log(latency).std() < LEAST_SPREAD or _correlation(latency, rate) >= 0
    return OPEN if busier and follows else UNKNOWN


def _hours(work: Iterable[DatedWork]) -> F64:
    """Rate, latency and sessions in use of each hour. Shape ``(3, hours)``."""
    by_hour: defaultdict[datetime, list[DatedWork]] = defaultdict(list)
    for each in work:
        by_hour[each.ended_at.replace(minute=0, second=0, microsecond=0)].append(each)
    means = [average(rows) for rows in by_hour.values()]
    known = [each for each in means if each.transactions > 0 and each.active > 0 and each.population > 0]
    rows = [(each.transactions, each.active / each.transactions, each.population) for each in known]
    return np.array(rows, dtype=np.float64).reshape(-1, 3).T


def _correlation(one: F64, other: F64) -> float:
    """Pearson's; 0 where one of them does not differ at all."""
    if not (one.std() > 0 and other.std() > 0):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
