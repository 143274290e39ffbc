"""Throughput that another placement would bring: sessions that go round in a closed network, one queue a slow tier.

Saved wait is no throughput: a session that waits less comes back sooner and asks again, until the next queue holds it.
Mean value analysis by Schweitzer's approximation answers that with what a database counts::

    residence at a tier  R = D * (1 + Q * (N - 1) / N)        D  seconds of service a transaction, N sessions
    throughput           X = N / (Z + sum of R)               Z  seconds a transaction spends elsewhere
    queue at a tier      Q = X * R

Read backwards, the same equations give D and Z from what was measured: sessions that wait at a tier on average are its
wait seconds per second (Little's law), so its utilization is ``Q / (1 + Q * (N - 1) / N)``. Forecasting the present
placement therefore returns the present throughput.

What it rests on: the number of sessions stays, the mix of transactions stays, and the buffer pool misses the same
blocks per transaction wherever they come from. Reads ahead of sessions (scans, reports) are taken to go on at their own
pace, not the transactions': they take their share of a tier off it. A tier faster than ``QUEUED_SECONDS`` a read is
taken to serve everybody at once. Where the processor ends up as the bottleneck the forecast is too high, and no counter
of reads could tell: the interval then reaches far, because time spent elsewhere is all that is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64, Bools, DatabaseDemand, Signal
from policies.benefit import HOUR, wait_per_hour
from policies.interval import MODEL_ERROR, Interval, spread
from policies.plan import PolicySettings, Situation

QUEUED_SECONDS = 0.001  # a slower random read is a spindle's
HALVINGS = 100
ELSEWHERE_ERROR = 0.02  # of a session's whole time: how far off the rest is that no counter shows
LEAST_ELSEWHERE = 0.01  # of a session, or of what was measured: nobody computes nothing
MOST_TAKEN = 0.95  # of a tier by the background
BACKGROUND = (Signal.PREFETCHED_READ, Signal.DIRECT_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a placement is predicted to do. NaN where the engine counts no transactions or no sessions' time."""

    transactions: float  # per second
    interval: Interval  # of transactions; holds ``settings.certainty`` of outcomes
    wait_per_transaction: float  # read wait, seconds
    present_transactions: float  # per second, as measured

    @property
    def gain(self) -> float:
        """Throughput over that of the present placement."""
        return self.transactions / self.present_transactions


@dataclass(frozen=True, slots=True)
class _Network:
    """A closed network; seconds are per transaction. Tiers as columns."""

    sessions: float  # N
    elsewhere: float  # Z
    demand: F64  # D at each queued tier, already stretched by what the background takes
    delay: float  # at tiers that serve everybody at once

    def changed(self, demand_factor: float, more_elsewhere: float) -> _Network:
        """The same with other demand on tiers, and more seconds elsewhere."""
        least = LEAST_ELSEWHERE * self.elsewhere
        return _Network(
            sessions=self.sessions,
            elsewhere=max(least, self.elsewhere + more_elsewhere),
            demand=self.demand * demand_factor,
            delay=self.delay * demand_factor,
        )

    def solve(self) -> tuple[float, float]:
        """Transactions a second, and read wait a transaction.

        At a rate X the equations give the queues at once, ``Q = X D / (1 - X D (N - 1) / N)``, and the sessions that
        such a rate keeps busy rise with it: so halve the interval in which they are as many as there are.
        """
        others = (self.sessions - 1) / self.sessions
        fixed = self.elsewhere + self.delay
        low, high = 0.0, self.sessions / fixed
        for _ in range(HALVINGS):
            rate = (low + high) / 2
            free = 1 - rate * self.demand * others
            full = bool((free <= 0).any()) or rate * fixed + float((rate * self.demand / free).sum()) > self.sessions
            low, high = (low, rate) if full else (rate, high)
        return low, self.sessions / low - self.elsewhere


def forecast(situation: Situation, settings: PolicySettings, tier: I64) -> Forecast:
    """Predict throughput with each unit on the tier given.

    Args:
        situation: heat, present homes, speeds as calibrated, and the whole database's demand.
        settings: wait shares, and the certainty of the interval.
        tier: row of ``situation.tiers`` for each unit, shape ``(n,)``; -1 where it is not managed.
    """
    database = situation.database
    here = situation.tier_of_space[situation.units.space].astype(np.int64)
    now, then = (_waits(situation, settings, where) for where in (here, tier))
    if not (database.transactions > 0 and database.active > 0 and now.sum() > 0):
        nothing = float("nan")
        return Forecast(transactions=nothing, interval=Interval(low=nothing, high=nothing),
                        wait_per_transaction=nothing, present_transactions=database.transactions)  # fmt: skip
    queued = np.array([each.speed.random_read_seconds > QUEUED_SECONDS for each in situation.tiers])
    scale = _scale(now, queued, database)
    now, then = now * scale, then * scale
    network = _network(now, then, queued, database)
    error = np.hypot(MODEL_ERROR, _counting_error(situation, tier)) * spread(settings.certainty)
    slack = ELSEWHERE_ERROR * spread(settings.certainty) * network.sessions / database.transactions
    rate, wait = network.solve()
    low, _ = network.changed(float(np.exp(error)), slack).solve()
    high, _ = network.changed(float(np.exp(-error)), -slack).solve()
    return Forecast(
        transactions=rate,
        interval=Interval(low=low, high=high),
        wait_per_transaction=wait,
        present_transactions=database.transactions,
    )


def _waits(situation: Situation, settings: PolicySettings, tier: I64) -> F64:
    """Session seconds waited per second by tier, of transactions and of the background. Shape ``(2, tiers)``."""
    rates = situation.heat.rates
    background = np.zeros_like(rates)
    background[list(BACKGROUND)] = rates[list(BACKGROUND)]
    speeds = [each.speed for each in situation.tiers]
    managed = tier >= 0
    sums = np.zeros((2, len(speeds)))
    for line, part in enumerate((rates - background, background)):
        wait = wait_per_hour(part, speeds, settings) / HOUR
        own = np.take_along_axis(wait, np.maximum(tier, 0)[np.newaxis, :], axis=0)[0]
        sums[line] = np.bincount(tier[managed], weights=own[managed], minlength=len(speeds))
    return sums


def _scale(now: F64, queued: Bools, database: DatabaseDemand) -> F64:
    """What the model's waits at each tier are to be multiplied by so that all together are what was measured.

    The queued tiers take up the difference: how long their queues are is what no configured speed knows.
    """
    slow, fast = float(now[:, queued].sum()), float(now[:, ~queued].sum())
    if not (slow > 0 and database.read_wait > fast):
        return np.ones(len(queued))
    return np.where(queued, (database.read_wait - fast) / slow, 1.0)


def _network(now: F64, then: F64, queued: Bools, database: DatabaseDemand) -> _Network:
    """The network of the other placement, from waits ``(2, tiers)`` of the present one and of the other."""
    sessions = max(1.0, database.active - float(now[1].sum()))
    rate = database.transactions
    # what one second of wait is in seconds of service: less the longer the queue; 1 where nobody waited yet
    service = 1 / (1 + now[0] * (sessions - 1) / sessions)
    taken_now, taken_then = (
        np.minimum(MOST_TAKEN, background / (1 + now.sum(axis=0))) for background in (now[1], then[1])
    )
    demand = then[0] * service / rate * (1 - taken_now) / (1 - taken_then)
    return _Network(
        sessions=sessions,
        elsewhere=max(LEAST_ELSEWHERE, sessions - float(now[0].sum())) / rate,
        demand=demand[queued],
        delay=float(then[0][~queued].sum()) / rate,
    )


def _counting_error(situation: Situation, tier: I64) -> float:
    """Standard error of the reads that stay on queued tiers, as a share of them: they are counted, so by their root."""
    slow = np.array([each.speed.random_read_seconds > QUEUED_SECONDS for each in situation.tiers])
    there = (tier >= 0) & slow[np.maximum(tier, 0)]
    reads = situation.heat.rates[Signal.SYNC_READ, there] * situation.heat.observed_seconds[there]
    return float(1 / np.sqrt(max(1.0, reads.sum())))
