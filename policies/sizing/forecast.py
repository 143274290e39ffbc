"""Throughput that another placement would bring: sessions that go round in a closed network (``loop``).

Saved wait is no throughput: a session that waits less comes back sooner and asks again, until the next queue holds it.
What it rests on: the number of sessions stays, the mix of transactions stays, and the buffer pool misses the same
blocks per transaction wherever they come from. Reads ahead of sessions (scans, reports) are taken to go on at their own
pace, not the transactions': they take their share of a tier off it. Where the processor ends up as the bottleneck the
forecast is too high, and no counter of reads could tell: the interval then reaches far, because time spent elsewhere is
all that is left.

How many requests each tier serves at a time is configured, or what latencies leave possible (``benefit.servers``): then
the network is solved for either end too, and the interval covers them. Where a tier's own limit on I/Os a second is
what the sessions run into, the forecast names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.formatting import format_seconds
from connectors.model import F64, I64, Bools, DatabaseDemand, Signal
from policies.benefit.foreground_wait import HOUR, wait_per_hour
from policies.model.chunks import row_chunks
from policies.model.confidence import MODEL_ERROR, ConfidenceInterval, spread
from policies.model.plan import Plan, PolicySettings, Situation, Tier, TierSpeed
from policies.storage.closed_network import BACKGROUND, ROWS, TRANSACTIONS, Network, closed_loop, queued_tiers
from policies.storage.stations import is_limited

ELSEWHERE_ERROR = 0.02  # of a session's whole time: how far off the rest is that no counter shows
READ_AHEAD = (Signal.PREFETCHED_READ, Signal.DIRECT_READ)
BINDING = 0.8  # utilisation of a tier from which on its limit is what sessions run into
NAN = float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The forecast of a placement. NaN where there is none; ``why_not`` then says why."""

    transactions: float  # per second
    interval: ConfidenceInterval  # of transactions; holds ``settings.certainty`` of outcomes
    wait_per_transaction: float  # read wait, seconds
    present_transactions: float  # per second, as measured
    sessions: float  # active on average, as measured; they stay as many
    why_not: str = ""  # "" where it is forecast; else the reason, to go after "not forecast: "
    limit: str = ""  # what keeps it from more, other than the waits that moves shorten; "": nothing that is known

    @property
    def gain(self) -> float:
        """Throughput over that of the present placement."""
        return self.transactions / self.present_transactions

    @property
    def latency(self) -> float:
        """Seconds that a session spends on one transaction; by Little's law, sessions over throughput."""
        return self.sessions / self.transactions if self.transactions else NAN

    @property
    def present_latency(self) -> float:
        """The same of the present placement, as measured."""
        return self.sessions / self.present_transactions if self.present_transactions > 0 else NAN

    @property
    def latency_interval(self) -> ConfidenceInterval:
        """Of the latency: the ends of the throughput's, the other way round."""
        low, high = self.interval.low, self.interval.high
        return ConfidenceInterval(low=self.sessions / high if high else NAN, high=self.sessions / low if low else NAN)


def session_seconds(database: DatabaseDemand) -> float:
    """Seconds that sessions spend on one transaction, as measured; NaN where either is unknown or nothing was done."""
    return database.active / database.transactions if database.transactions > 0 else NAN


def forecast_plan(situation: Situation, settings: PolicySettings, plan: Plan) -> Forecast:
    """The forecast for a plan after all its moves; for one without moves, of the present placement."""
    return forecast(situation, settings, tiers_after(situation, plan))


def tiers_after(situation: Situation, plan: Plan) -> I64:
    """Tier of each unit once all moves of a plan are done, -1 where it is not managed. Shape ``(n,)``."""
    tier = situation.tier_of_space[situation.units.space].astype(np.int64)
    row_of = {each.name: row for row, each in enumerate(situation.tiers)}
    for move in plan.moves:
        tier[list(move.rows)] = row_of[move.to_tier]
    return tier


def forecast(situation: Situation, settings: PolicySettings, tier: I64) -> Forecast:
    """Predict throughput with each unit on the tier given.

    Args:
        situation: heat, present homes, speeds as calibrated, and the whole database's demand.
        settings: wait shares, and the certainty of the interval.
        tier: row of ``situation.tiers`` for each unit, shape ``(n,)``; -1 where it is not managed.
    """
    database = situation.database
    why_not = _unforeseeable(situation)
    here = situation.tier_of_space[situation.units.space].astype(np.int64)
    now, then = (_waits(situation, settings, where) for where in (here, tier))
    network = None if why_not else _network(situation, now, then)
    if network is None:
        return Forecast(
            transactions=NAN,
            interval=ConfidenceInterval(low=NAN, high=NAN),
            wait_per_transaction=NAN,
            present_transactions=database.transactions,
            sessions=database.active,
            why_not=why_not or "no reads were seen that anybody could wait for",
        )
    error = np.hypot(MODEL_ERROR, _counting_error(situation, tier)) * spread(settings.certainty)
    slack = ELSEWHERE_ERROR * spread(settings.certainty) * network.sessions / database.transactions
    rate, wait = (float(found[0]) for found in network.solve())
    # Solved again at both ends and not taken as a share of the rate: near saturation the same error of demand moves
    # throughput by much more.
    low, high = (
        float(network.with_demand(float(np.exp(sign * error)), sign * slack).solve()[0][0]) for sign in (1, -1)
    )
    least, most = _by_servers(situation, now, then, rate)
    return Forecast(
        transactions=rate,
        interval=ConfidenceInterval(low=_both(rate, low, least), high=_both(rate, high, most)),
        wait_per_transaction=wait,
        present_transactions=database.transactions,
        sessions=database.active,
        limit=_limit(situation, network, rate),
    )


def _network(situation: Situation, now: F64, then: F64) -> Network | None:
    """The network of a placement; None where nothing says what the present one is."""
    loop = closed_loop(now, situation)
    return None if loop is None else loop.network(then[:, :, np.newaxis])


def _by_servers(situation: Situation, now: F64, then: F64, rate: float) -> tuple[float, float]:
    """Least and most throughput by the servers that tiers may have, what is forecast among them."""
    found = [rate]
    if any(tier.speed.servers.least < tier.speed.servers.most for tier in situation.tiers):
        for end in ("least", "most"):
            tiers = tuple(_with_servers(tier, getattr(tier.speed.servers, end)) for tier in situation.tiers)
            network = _network(replace(situation, tiers=tiers), now, then)
            found += [] if network is None else [float(network.solve()[0][0])]
    return min(found), max(found)


def _with_servers(tier: Tier, count: float) -> Tier:
    servers = replace(tier.speed.servers, count=count, least=count, most=count)
    return replace(tier, speed=replace(tier.speed, servers=servers))


def _both(rate: float, one: float, other: float) -> float:
    """An end of an interval for two causes that have nothing to do with each other: distances add up as squares."""
    ratios = np.log([one / rate, other / rate])
    return float(rate * np.exp(np.sign(ratios.sum()) * np.hypot(*ratios)))


def _limit(situation: Situation, network: Network, rate: float) -> str:
    """What its sessions run into that is no wait for disks: a tier's configured limit, or what moves have shown."""
    if rate * network.other >= BINDING:
        alone = format_seconds(situation.elsewhere_alone)
        return f"not reads: outside them a transaction took {alone} before the last moves, and takes longer since"
    busy = network.busy_at(rate)[:, 0]
    row = int(np.argmax(busy))
    tier = situation.tiers[row]
    if not (is_limited(tier) and busy[row] >= BINDING):
        return ""
    return f"{tier.name} serves {tier.limits.io_per_second:,.0f} I/Os a second at most"


def _unforeseeable(situation: Situation) -> str:
    """Why there can be no forecast; "" where there can."""
    database = situation.database
    if not database.transactions > 0:
        return "the engine counts no transactions" if np.isnan(database.transactions) else "no transaction was seen"
    if not database.active > 0:
        unknown = np.isnan(database.active)
        return "the engine does not tell how long sessions execute" if unknown else "no session was seen at work"
    return ""


def _waits(situation: Situation, settings: PolicySettings, tier: I64) -> F64:
    """Rows of ``loop``: waits of transactions, and how long reads of the background take. Shape ``(ROWS, tiers)``.

    Reads ahead keep a tier, and the session that asked, busy for their whole time, however little of it is waited for
    where there is no queue.
    """
    speeds = [each.speed for each in situation.tiers]
    ahead = np.zeros(len(situation.heat.rates), dtype=np.bool_)
    ahead[list(READ_AHEAD)] = True
    sums = np.zeros((ROWS, len(speeds)))
    for row, signals, shares in (
        (TRANSACTIONS, ~ahead, settings),
        (BACKGROUND, ahead, replace(settings, prefetched_wait_share=1.0)),
    ):
        for part in row_chunks(len(tier)):
            sums[row] += _waits_by_tier(situation.heat.rates[:, part], signals, tier[part], speeds, shares)
    return sums


def _waits_by_tier(rates: F64, signals: Bools, tier: I64, speeds: Sequence[TierSpeed], settings: PolicySettings) -> F64:
    """Seconds a second that reads of some signals take on each tier. Shape ``(tiers,)``."""
    wait = wait_per_hour(rates * signals[:, np.newaxis], speeds, settings) / HOUR
    managed = np.flatnonzero(tier >= 0)
    return np.bincount(tier[managed], weights=wait[tier[managed], managed], minlength=len(speeds)).astype(np.float64)


def _counting_error(situation: Situation, tier: I64) -> float:
    """Standard error of the reads that stay on queued tiers, as a share of them: they are counted, so by their root."""
    there = (tier >= 0) & queued_tiers(situation)[np.maximum(tier, 0)]
    reads = situation.heat.rates[Signal.SYNC_READ, there] * situation.heat.observed_seconds[there]
    return float(1 / np.sqrt(max(1.0, reads.sum())))
