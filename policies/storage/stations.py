"""A tier as a station of a queueing network: how many requests it serves at a time, and what one more waits.

With ``Q`` requests there, ``m`` served at a time and ``u`` the utilisation of each server, a request of ``S`` seconds
of service spends::

    R = S * (1 + w * (u * b)**k / (1 - u * b))      b = (N - 1) / N of N sessions: an arrival does not wait for itself

- ``w = 1, k = 1``: each of ``m`` disks has a queue of its own, and what is read decides which (striping). This is
  Schweitzer's approximation of mean value analysis (1979), for one disk as for ``m`` that are used equally.
- ``w = 1 / m, k = sqrt(2 (m + 1)) - 1``: whichever server is free takes the next request (Sakasegawa, "An approximation
  formula Lq = a rho^b / (1 - rho)", Annals of the Institute of Statistical Mathematics 29, 1977). Many servers queue
  late and then steeply, which one fast server with a delay (Seidmann and others) does not show.
- ``w = 1 / sqrt(m)`` and a quarter of the way to that ``k``, where it is not known which of the two a tier is: so far
  off either that neither forecast nor sizing misses more than the other by much (``tests.bench.policy_arrays``).

A tier that serves everybody at once has infinitely many servers. ``tests.bench.policy_arrays`` compares all of it with
exact networks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from connectors.model import F64
from policies.model.settings import QUEUED_SECONDS, Servers, Tier
from policies.storage.queueing import HALVINGS, Queue, services_ahead

# Parts of the way from one queue a server to one for all, where it is not known which: of w's logarithm, and of k.
UNKNOWN_SHARE, UNKNOWN_POWER = 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Stations:
    """Columns by tier, shape ``(tiers,)``."""

    servers: F64  # m; inf: everybody is served at once; below 1: a limit on the rate, not a device
    share: F64  # w
    power: F64  # k

    def utilisation(self, waiting: F64, found: float) -> F64:
        """Utilisation of each server with that many sessions at each tier on average; 0 of infinitely many.

        The inverse of ``R``, by Little's law: ``Q = u m (1 + w (u b)**k / (1 - u b))`` solved for ``u``.

        Args:
            waiting: sessions at each tier, those being served included.
            found: b, share of them that an arrival finds there.
        """
        # Infinitely many servers are calculated as one and masked at the end, since inf - inf is NaN.
        several, most = np.isfinite(self.servers), np.where(np.isfinite(self.servers), self.servers, 1.0)
        low = np.zeros(np.broadcast_shapes(waiting.shape, most.shape))
        high = np.minimum(waiting / most, 1 / found if found else np.inf) + low
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            less = middle * most * (1 + services_ahead(self.share, self.power, middle * found)) < waiting
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.where(several, low, 0.0)

    def service_share(self, waiting: F64, found: float) -> F64:
        """Seconds of service in each second that is spent at a tier: 1 where nothing queues. Arguments as above."""
        served = np.where(np.isfinite(self.servers), self.servers, 0.0) * self.utilisation(waiting, found)
        return np.divide(served, waiting, out=np.ones(len(waiting)), where=(served > 0) & (waiting > 0))

    def stretch(self, busy: F64, found: float) -> F64:
        """``R / S`` at each tier, inf where it cannot serve what is asked of it.

        Args:
            busy: u of each server, shape ``(tiers, m)``.
            found: b, share of the sessions at a tier that an arrival finds there.
        """
        share, power = self.share[:, np.newaxis], self.power[:, np.newaxis]
        return np.asarray(1 + services_ahead(share, power, busy * found), dtype=np.float64)

    def queue(self, tier: int) -> Queue:
        """Of one tier."""
        return Queue(float(self.share[tier]), float(self.power[tier]))


def stations_of(tiers: Sequence[Tier]) -> Stations:
    """The stations that tiers are."""
    found = [_station(tier) for tier in tiers]
    servers = np.array([count for count, _ in found], dtype=np.float64)
    return Stations(servers, *columns([queue for _, queue in found]))


def columns(queues: Sequence[Queue]) -> tuple[F64, F64]:
    """``w`` and ``k`` of some queues."""
    return np.array([each.share for each in queues]), np.array([each.power for each in queues])


def queue_of(servers: float, striped: bool | None) -> Queue:
    """What an arrival waits for at so many servers, see above; a limit on the rate is one queue."""
    if servers < 1:
        return Queue(share=1 / servers)
    if striped:
        return Queue()
    share, power = (UNKNOWN_SHARE, UNKNOWN_POWER) if striped is None else (1.0, 1.0)
    return Queue(share=servers**-share, power=1 + power * (math.sqrt(2 * (servers + 1)) - 2))


def rate_limit(tier: Tier) -> float:
    """Servers that a tier's configured I/Os per second keep busy; inf where none are configured."""
    most, speed = tier.limits.io_per_second, tier.speed
    return float("inf") if most is None else most * (speed.idle_read_seconds or speed.random_read_seconds)


def is_limited(tier: Tier) -> bool:
    """Whether its configured I/Os per second bind before its servers do, or are all that is known of them."""
    known = tier.speed.servers.source == "configured"
    return tier.limits.io_per_second is not None and (not known or rate_limit(tier) < tier.speed.servers.count)


def queues(tier: Tier) -> bool:
    """Whether requests wait for one another on a tier."""
    slow = tier.speed.random_read_seconds > QUEUED_SECONDS
    return slow or tier.limits.io_per_second is not None or tier.speed.servers.source != "assumed"


def _station(tier: Tier) -> tuple[float, Queue]:
    """Servers, and what an arrival waits for."""
    servers: Servers = tier.speed.servers
    if not queues(tier):
        return float("inf"), Queue()
    count = rate_limit(tier) if is_limited(tier) else servers.count
    return count, queue_of(count, servers.striped)
