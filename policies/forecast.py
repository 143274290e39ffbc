"""Throughput that another placement would bring: sessions that go round in a closed network (``loop``).

Saved wait is no throughput: a session that waits less comes back sooner and asks again, until the next queue holds it.
What it rests on: the number of sessions stays, the mix of transactions stays, and the buffer pool misses the same
blocks per transaction wherever they come from. Reads ahead of sessions (scans, reports) are taken to go on at their own
pace, not the transactions': they take their share of a tier off it. Where the processor ends up as the bottleneck the
forecast is too high, and no counter of reads could tell: the interval then reaches far, because time spent elsewhere is
all that is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, I64, Signal
from policies.benefit import HOUR, wait_per_hour
from policies.interval import MODEL_ERROR, Interval, spread
from policies.loop import BACKGROUND, ROWS, TRANSACTIONS, closed_loop, queued_tiers
from policies.plan import PolicySettings, Situation

ELSEWHERE_ERROR = 0.02  # of a session's whole time: how far off the rest is that no counter shows
READ_AHEAD = (Signal.PREFETCHED_READ, Signal.DIRECT_READ)


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
    loop = closed_loop(now, situation)
    if loop is None:
        nothing = float("nan")
        return Forecast(transactions=nothing, interval=Interval(low=nothing, high=nothing),
                        wait_per_transaction=nothing, present_transactions=database.transactions)  # fmt: skip
    network = loop.network(then[:, :, np.newaxis])
    error = np.hypot(MODEL_ERROR, _counting_error(situation, tier)) * spread(settings.certainty)
    slack = ELSEWHERE_ERROR * spread(settings.certainty) * network.sessions / database.transactions
    rate, wait = network.solve()
    low, _ = network.changed(float(np.exp(error)), slack).solve()
    high, _ = network.changed(float(np.exp(-error)), -slack).solve()
    return Forecast(
        transactions=float(rate[0]),
        interval=Interval(low=float(low[0]), high=float(high[0])),
        wait_per_transaction=float(wait[0]),
        present_transactions=database.transactions,
    )


def _waits(situation: Situation, settings: PolicySettings, tier: I64) -> F64:
    """Rows of ``loop``: waits of transactions, and how long reads of the background take. Shape ``(ROWS, tiers)``.

    Reads ahead keep a tier, and the session that asked, busy for their whole time, however little of it is waited for
    where there is no queue.
    """
    rates = situation.heat.rates
    background = np.zeros_like(rates)
    background[list(READ_AHEAD)] = rates[list(READ_AHEAD)]
    speeds = [each.speed for each in situation.tiers]
    managed = tier >= 0
    whole = replace(settings, prefetched_wait_share=1.0)
    sums = np.zeros((ROWS, len(speeds)))
    for row, part, shares in ((TRANSACTIONS, rates - background, settings), (BACKGROUND, background, whole)):
        wait = wait_per_hour(part, speeds, shares) / HOUR
        own = np.take_along_axis(wait, np.maximum(tier, 0)[np.newaxis, :], axis=0)[0]
        sums[row] = np.bincount(tier[managed], weights=own[managed], minlength=len(speeds))
    return sums


def _counting_error(situation: Situation, tier: I64) -> float:
    """Standard error of the reads that stay on queued tiers, as a share of them: they are counted, so by their root."""
    there = (tier >= 0) & queued_tiers(situation)[np.maximum(tier, 0)]
    reads = situation.heat.rates[Signal.SYNC_READ, there] * situation.heat.observed_seconds[there]
    return float(1 / np.sqrt(max(1.0, reads.sum())))
