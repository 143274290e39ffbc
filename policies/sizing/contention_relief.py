"""Contention relief: a saving with shorter queues compared with the saving at today's latencies.

When part of the work leaves a busy tier, the rest waits less in its queue. How much less is answered by the network of
the forecast (``loop``), asked for tiers that hold from none to all of what could be saved. Sessions of every kind queue
for the same tier, so here their waits count as one.

Three figures for the same share of the work:

- **at today's latencies**: as a plan says it, as if queues stayed as long as they are;
- **likely**: sessions stay as many as they are and ask again the sooner the less they wait. Wait is stated for the
  work done now: otherwise a system that gets more done would look worse;
- **at most**: sessions do not ask for more however little they wait: they think in between, or have no more to do.

Where the engine does not count sessions, the last is derived from the time that a read takes on an idle disk
(``queueing``), and the middle one is unknown. All three are savings over everything on the slowest tier, where sessions
cannot wait for longer than they are there: where the model has them wait more, all savings are less by the same share.

Likely is concave in the share, since the wait of a closed network is convex in its demands: the equation that gives it,
``N v = Z + sum of D + b * sum of D^2 / (v - b D)`` with ``v`` the time of one round, is jointly so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64
from policies.benefit.bundles import MICRO, Bundles
from policies.benefit.prices import HOUR
from policies.benefit.sessions import most_waiting
from policies.model.plan import Situation
from policies.storage.closed_network import ROWS, TRANSACTIONS, closed_loop
from policies.storage.queueing import change_ratio
from policies.storage.stations import stations_of

# Shares of the saving at which the network is asked: closer towards the end, where queues vanish.
_LEFT = np.unique(np.concatenate((np.linspace(0.0, 1.0, 129), np.geomspace(1e-4, 1.0, 65))))
SHARES: F64 = 1.0 - _LEFT[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterQueues:
    """Savings of one database by those at today's latencies, straight between the rows; in the unit of these."""

    today: F64  # (g,) rising from 0, by the model alone
    said: F64  # (g,) the same, no more in all than sessions can wait
    likely: F64  # (g,) rising, concave
    most: F64  # (g,) rising
    sessions_known: bool  # False: likely is today

    def likely_of(self, today: F64 | float) -> F64:
        """Likely for each saving at today's latencies, shape as given."""
        return np.asarray(np.interp(today, self.today, self.likely), dtype=np.float64)

    def said_of(self, today: float) -> float:
        """A saving at today's latencies, bounded by what sessions can wait."""
        return float(np.interp(today, self.today, self.said))

    def most_of(self, today: float) -> float:
        """At most for a saving at today's latencies."""
        return float(np.interp(today, self.today, self.most))

    def slope_at(self, today: float) -> float:
        """Slope of the likely saving over the saving at today's latencies."""
        at = min(int(np.searchsorted(self.today, today, side="right")), len(self.today) - 1)
        width = float(self.today[at] - self.today[at - 1])
        return float(self.likely[at] - self.likely[at - 1]) / width if width > 0 else 1.0


def shorter_queues(bundles: Bundles, situation: Situation, gain: F64) -> ShorterQueues:
    """Ask the model for tiers of every size.

    Args:
        bundles: waits by tier.
        situation: where they are now, the speeds of tiers, and the database's own figures.
        gain: microseconds per hour that each bundle saves on the fastest tier over the slowest, 0 or more, 0 where it
            is not managed.
    """
    today = SHARES * float(gain.sum())
    waits = _waits(bundles, gain, len(situation.tiers))
    now = np.array([bundles.wait[row, bundles.tier == row].sum() for row in range(len(situation.tiers))]) / MICRO / HOUR
    found = _by_sessions(waits, now, situation)
    likely, most = _by_latency(waits, now, situation) if found is None else found
    limit = most_waiting(situation) * HOUR * MICRO
    likely, said = _within(_rising(likely) * today[-1], limit), _within(today, limit)
    above = np.maximum(_within(_rising(most) * today[-1], limit), np.maximum(likely, said))
    return ShorterQueues(today=today, said=said, likely=likely, most=above, sessions_known=found is not None)


def _within(saved: F64, limit: float) -> F64:
    """The savings, all of them less by the same share where the largest is more than sessions can wait at all."""
    return saved * (limit / saved[-1]) if saved[-1] > limit else saved


def _waits(bundles: Bundles, gain: F64, tiers: int) -> F64:
    """Session seconds waited per second on each tier, at believed speeds, for each of ``SHARES``. ``(tiers, g)``."""
    managed, better = bundles.tier >= 0, gain > 0
    waits = np.zeros((tiers, len(SHARES)))
    slow, stays = (float(bundles.wait[-1, rows].sum()) for rows in (managed, managed & ~better))
    waits[-1] = stays + (slow - stays) * (1 - SHARES)
    waits[0] += float(bundles.wait[0, better].sum()) * SHARES
    return waits / MICRO / HOUR


def _by_sessions(waits: F64, now: F64, situation: Situation) -> tuple[F64, F64] | None:
    """Likely and most, over all that is saved at today's latencies; None where sessions are not counted."""
    loop = closed_loop(_of_transactions(now), situation)
    if loop is None:
        return None
    network = loop.network(_of_transactions(waits))
    rate, wait = network.solve()
    present = situation.database.transactions
    at_rate = np.minimum(wait, network.wait_at(np.minimum(rate, present)))
    linear = loop.scale @ waits
    return _share((wait[0] - wait) * present, linear), _share((wait[0] - at_rate) * present, linear)


def _of_transactions(waits: F64) -> F64:
    """Rows of the closed network without background work."""
    rows = np.zeros((ROWS, *waits.shape))
    rows[TRANSACTIONS] = waits
    return rows


def _by_latency(waits: F64, now: F64, situation: Situation) -> tuple[F64, F64]:
    """The same by how busy the slowest tier's own latency says it is, which only bounds the saving."""
    speed = situation.tiers[-1].speed
    left = waits[-1] / now[-1] if now[-1] > 0 else np.ones(waits.shape[1])
    times, queue = (speed.random_read_seconds, speed.idle_read_seconds), stations_of(situation.tiers).queue(-1)
    ratio = np.array([change_ratio(*times, each, queue) for each in left.tolist()])
    linear = waits.sum(axis=0)
    wait = waits[:-1].sum(axis=0) + waits[-1] * ratio
    return SHARES, _share(wait[0] - wait, linear)


def _share(saved: F64, linear: F64) -> F64:
    """A saving over all of that at today's latencies; as it is then where nothing is saved."""
    whole = float(linear[0] - linear[-1])
    return saved / whole if whole > 0 else SHARES


def _rising(values: F64) -> F64:
    """The same with nothing lost by more room: what does not help is left where it is."""
    return np.asarray(np.maximum.accumulate(np.maximum(values, 0.0)), dtype=np.float64)
