"""The whole database's work over time, and whether its load is closed or open.

``RecentWork`` keeps decayed means of database demand.

``wait_per_transaction`` is the yardstick of an outcome. In a closed system throughput rises when waits fall, so wait
per hour says little about a move. Per transaction, the work done is the same before and after.

``load_by_hours`` decides between ``CLOSED`` and ``OPEN`` from a database's own hours. In a closed load the same
sessions ask again once they have been answered and have thought. By the interactive response time law (Denning and
Buzen 1978) ``X = N / (Z + R)``, which is a straight line in what is counted::

    1 / X = Z / N + R / N        X transactions a second, R seconds of each in the server, N sessions in use

Hours with different latencies must lie on a line, and its slope must be ``1 / N`` for the sessions counted. A night of
few long reports and a day of many short questions also lie on a line, but not on that one.

In an open load, requests arrive regardless of latency. The rate differs from hour to hour with as many sessions
connected, and latency, if anything, follows the rate: queues are longer in a busy hour.

``UNKNOWN`` is a result too: sessions that come and go with the hour make a closed load look open.

``paced_by_hours`` regresses what no session waits for (reads ahead, background writes, the log) on the transactions of
the same hours. The slope times the mean rate is what comes with the work; the intercept goes on at its own pace. Where
hours are too few, periods of five minutes do once the rate has changed by more than a cache that fills would explain:
what a transaction reads ahead and writes does not depend on the placement, so periods before and after moves lie on one
line. Errors of neighbouring hours are alike, so the standard error of the slope is widened by their correlation (as an
autoregressive process of the first order). Background work that rises as transactions fall, such as a nightly report,
has a pace of its own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any

import numpy as np

from connectors.model.observation import F64, ROLE_FIGURES, DatabaseDemand, Demand, Role, RoleFigures, Signal
from policies.model.confidence import spread
from policies.model.plan import NOT_KNOWN, Paced, PacedShare


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkInterval:
    """Database demand between two samples."""

    seconds: float  # > 0
    demand: DatabaseDemand
    roles: tuple[RoleFigures, ...] = ()  # rates per second


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedWork(WorkInterval):
    """The same, with the time at which it ended."""

    ended_at: datetime
    of_hour_since: datetime | None = None  # when an hour's first interval began; None: it is one interval


def average(intervals: Iterable[WorkInterval]) -> DatabaseDemand:
    """Time-weighted mean of each rate; an interval that does not know a rate does not count for it.

    >>> average([WorkInterval(seconds=1.0, demand=DatabaseDemand(reads=4.0)),
    ...          WorkInterval(seconds=3.0, demand=DatabaseDemand(reads=8.0))]).reads
    7.0
    """
    known = list(intervals)
    names = (rate.name for rate in fields(DatabaseDemand))
    return DatabaseDemand(**{name: _mean((i.seconds, getattr(i.demand, name)) for i in known) for name in names})


SESSIONS = "active"  # the one figure of the long horizon
READS, PACED_READS = "reads", "paced_reads"
# Figures that are known only once enough was seen, each with the one that it is a part of.
PARTS = {"readers": "population", "readers_active": "active", "readers_transactions": "transactions"}
Means = Mapping[str, tuple[float, float]]  # of each figure, a decayed sum and its weight


def fade_means(means: Means, figures: Mapping[str, float], seconds: float, half_life: float) -> Means:
    """Decayed means after one more interval, with weights as in ``heat``; a figure that is NaN stays as it was.

    >>> means = fade_means(fade_means({}, {"reads": 4.0}, 60.0, 60.0), {"reads": 7.0}, 60.0, 60.0)
    >>> mean_of(means)["reads"]
    6.0
    """
    share = -math.expm1(-math.log(2.0) * seconds / half_life)
    # NaN is left out rather than counted as 0: a figure that one sample could not read would halve its mean.
    known = {name: figure for name, figure in figures.items() if not math.isnan(figure)}
    after = dict(means)
    for name, figure in known.items():
        total, weight = means.get(name, (0.0, 0.0))
        after[name] = (total * (1 - share) + figure * share, weight * (1 - share) + share)
    return after


def mean_of(means: Means) -> dict[str, float]:
    """The mean of every figure that was ever known."""
    return {name: total / weight for name, (total, weight) in means.items() if weight > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentWork:
    """Recent demand and roles of a database as decayed means. Its cost does not grow with time."""

    demand: Means = field(default_factory=dict)
    roles: Mapping[tuple[Role, str], tuple[RoleFigures, Means]] = field(default_factory=dict)  # newest, means
    paced: Means = field(default_factory=dict)  # reads as they were and at the pace of heat, in the same hours
    long: Means = field(default_factory=dict)  # sessions at work by the long horizon, in the hours whose demand counts
    wholes: Means = field(
        default_factory=dict
    )  # by a name of ``PARTS``: of what it is a part, while the part was known

    def then(
        self, work: WorkInterval, half_life: float, long_half_life: float | None = None, *, counts: bool = True
    ) -> RecentWork:
        """After one more interval; ``counts``: its demand is that of the hours which heat is about."""
        long = self.long
        if counts:
            long = fade_means(long, {SESSIONS: work.demand.active}, work.seconds, long_half_life or half_life)
        roles = dict(self.roles)
        for figures in work.roles:
            of_role = {name: getattr(figures, name) for name in ROLE_FIGURES}
            name = figures.role, figures.name
            _, means = roles.get(name, (figures, {}))
            roles[name] = figures, fade_means(means, of_role, work.seconds, half_life)
        rates: dict[str, float] = asdict(work.demand)
        demand = fade_means(self.demand, rates, work.seconds, half_life)
        known = {part: rates[whole] for part, whole in PARTS.items() if not math.isnan(rates[part])}
        wholes = fade_means(self.wholes, known, work.seconds, half_life)
        return replace(self, demand=demand, roles=roles, long=long, wholes=wholes)

    def at_pace(self, reads: float, pace: float, seconds: float, half_life: float) -> RecentWork:
        """After one more interval of that many reads a second, at the pace that its heat was brought to."""
        figures = {READS: reads, PACED_READS: reads * pace}
        return replace(self, paced=fade_means(self.paced, figures, seconds, half_life))

    def pace(self) -> float:
        """By which heat comes to the pace of recent work; 1 where nothing was read."""
        means = mean_of(self.paced)
        return means[READS] / means[PACED_READS] if means.get(PACED_READS, 0.0) > 0 else 1.0

    def mean(self) -> DatabaseDemand:
        """Rates per second; NaN where one was never known.

        A part is the same share of its whole as in the intervals in which it was known: of a load that has just begun,
        those are later and busier ones, and the part would come out larger than it is.
        """
        means, wholes = mean_of(self.demand), mean_of(self.wholes)
        for part, whole in wholes.items():
            if whole > 0 and PARTS[part] in means:
                means[part] *= means[PARTS[part]] / whole
        return DatabaseDemand(**means)

    def mean_sessions(self) -> float:
        """Sessions at work on average by the long horizon; NaN where it was never known."""
        return mean_of(self.long).get(SESSIONS, math.nan)

    def memory_shares(self) -> tuple[float, float]:
        """Share of a full memory that the means rest on, 0 to 1: by the half-life, and by the long horizon."""
        short, long = (max((weight for _, weight in means.values()), default=0.0) for means in (self.demand, self.long))
        return short, long

    def mean_roles(self) -> tuple[RoleFigures, ...]:
        """Rates per second of each log, temporary and undo space under its newest note, in the order of appearance."""
        unknown: dict[str, Any] = dict.fromkeys(ROLE_FIGURES, math.nan)
        return tuple(replace(newest, **{**unknown, **mean_of(means)}) for newest, means in self.roles.values())


def recall_work(
    demand: DatabaseDemand,
    roles: Iterable[RoleFigures],
    sessions: float = math.nan,
    pace: float = 1.0,
    remembered: tuple[float, float] = (1.0, 1.0),
) -> RecentWork:
    """Means that were kept over a restart, worth half a memory at most; ``sessions`` by the long horizon, ``pace()``.

    Means of an agent that had watched for less are worth no more than they were (``memory_shares()``): else half an
    hour before a restart would outweigh the hours after it.
    """

    def keep(rates: Mapping[str, float], known: float) -> Means:
        # Half a memory, not a whole one: what happened while no agent ran is unknown, so the first intervals after a
        # restart weigh more.
        weight = min(0.5, known)
        return {name: (rate * weight, weight) for name, rate in rates.items() if not math.isnan(rate)}

    short, long = remembered

    return RecentWork(
        demand=keep(asdict(demand), short),
        roles={
            (each.role, each.name): (each, keep({name: getattr(each, name) for name in ROLE_FIGURES}, short))
            for each in roles
        },
        paced=keep({READS: demand.reads, PACED_READS: demand.reads / pace}, short),
        long=keep({SESSIONS: sessions}, long),
    )


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


CLOSED, OPEN, UNKNOWN = "closed", "open", ""
HOUR_SECONDS = 3600.0
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


def _means(work: Iterable[DatedWork], seconds: float = HOUR_SECONDS) -> list[DatabaseDemand]:
    """Means of each period of so many seconds that has any work, the oldest first."""
    by_period: defaultdict[float, list[DatedWork]] = defaultdict(list)
    for each in work:
        by_period[each.ended_at.timestamp() // seconds].append(each)
    return [average(by_period[period]) for period in sorted(by_period)]


def _hours(work: Iterable[DatedWork]) -> F64:
    """Rate, latency and sessions in use of each hour. Shape ``(3, hours)``."""
    known = [each for each in _means(work) if each.transactions > 0 and each.active > 0 and each.population > 0]
    rows = [(each.transactions, each.active / each.transactions, each.population) for each in known]
    return np.array(rows, dtype=np.float64).reshape(-1, 3).T


def _correlation(one: F64, other: F64) -> float:
    """Pearson's; 0 where one of them does not differ at all."""
    if not (one.std() > 0 and other.std() > 0):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


_AHEAD = [Signal.PREFETCHED_READ, Signal.DIRECT_READ]
MOST_ALIKE = 0.95  # correlation of neighbouring hours' errors
SHORT_SECONDS = 300.0  # of a period where there are too few hours
LEAST_SHORT_SPREAD = 0.3  # as LEAST_SPREAD: moves or a busy hour, and not a cache that fills


def with_background(demand: Demand) -> Demand:
    """The demand with what no session waits for added up over units, and what was written to the log."""
    logs = [each for each in demand.roles if each.role is Role.LOG]
    in_bytes = any(not math.isnan(each.written_bytes) for each in logs)
    logged = [each.written_bytes if in_bytes else each.writes for each in logs]
    known = [each for each in logged if not math.isnan(each)]
    return replace(
        demand,
        database=replace(
            demand.database,
            read_ahead=float(demand.rates[_AHEAD].sum()),
            written=float(demand.rates[Signal.ASYNC_WRITE].sum()),
            logged=math.fsum(known) if known else math.nan,
        ),
    )


def paced_by_hours(work: Iterable[DatedWork], certainty: float) -> Paced:
    """How much of the background work comes with the transactions, with the ends that hold so many of all cases.

    Args:
        work: intervals of the database, in any order.
        certainty: share of cases that the ends are to hold.
    """
    known = [each for each in work if each.demand.transactions > 0]
    periods = [(_means(known), LEAST_SPREAD), (_means(known, SHORT_SECONDS), LEAST_SHORT_SPREAD)]

    def regress(figure: str, otherwise: PacedShare) -> PacedShare:
        found = (_regress(means, figure, certainty, least) for means, least in periods)
        return next((share for share in found if share is not None), otherwise)

    return Paced(
        read_ahead=regress("read_ahead", NOT_KNOWN.read_ahead),
        writes=regress("written", NOT_KNOWN.writes),
        log=regress("logged", NOT_KNOWN.log),
    )


def _regress(means: Sequence[DatabaseDemand], figure: str, certainty: float, least: float) -> PacedShare | None:
    """The share of what is done that comes with the transactions.

    Args:
        means: of each period.
        figure: what is done.
        certainty: share of cases that the ends are to hold.
        least: standard deviation of the logarithm of the rates.

    Returns:
        None where the periods are too few, or too much alike.
    """
    counted = [each for each in means if math.isfinite(getattr(each, figure))]
    rates, done = (np.array([getattr(each, name) for each in counted]) for name in ("transactions", figure))
    if len(rates) < LEAST_HOURS or np.log(rates).std() < least or not done.mean() > 0:
        return None
    away = rates - rates.mean()
    slope = float(away @ done / (away @ away))
    errors = done - done.mean() - slope * away
    error = math.sqrt(float(errors @ errors) / (len(rates) - 2) / float(away @ away))
    alike = min(MOST_ALIKE, max(0.0, _correlation(errors[1:], errors[:-1])))
    reach = spread(certainty) * error * math.sqrt((1 + alike) / (1 - alike))
    scale = float(rates.mean() / done.mean())
    least, share, most = (min(1.0, max(0.0, each * scale)) for each in (slope - reach, slope, slope + reach))
    return PacedShare(least=least, share=share, most=most)
