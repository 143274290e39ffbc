"""A tier as a station of a queueing network: how many requests it serves at a time, and what one more waits.

With ``Q`` requests there, ``m`` served at a time and ``u`` the utilisation of each server, a request of ``S`` seconds
of service spends::

    R = S * (1 + w * u * b / (1 - u * b))      b = (N - 1) / N of N sessions: an arrival does not wait for itself

- ``w = 1``: each of ``m`` disks has a queue of its own, and what is read decides which (striping). This is Schweitzer's
  approximation of mean value analysis (1979), for one disk as for ``m`` that are used equally.
- ``w = 1 / m``: whichever server is free takes the next request. A queue for one server of ``S / m``, then a delay of
  the rest (Seidmann, Schweitzer and Shalev-Oren, "Computerized closed queueing network models of flexible
  manufacturing systems", Large Scale Systems 12, 1987).
- ``w = 1 / sqrt(m)``, between them, where it is not known which of the two a tier is.

A tier that serves everybody at once has infinitely many servers. ``tests.bench.policy_arrays`` compares all of it with
exact networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from connectors.model import F64
from policies.model.settings import QUEUED_SECONDS, Servers, Tier

LEAST_FREE = 1e-300  # of a server


@dataclass(frozen=True, slots=True)
class Stations:
    """Columns by tier, shape ``(tiers,)``."""

    servers: F64  # m; inf: everybody is served at once; below 1: a limit on the rate, not a device
    queued_share: F64  # w

    def utilisation(self, waiting: F64, found: float) -> F64:
        """Utilisation of each server with that many sessions at each tier on average; 0 of infinitely many.

        The inverse of ``R``, by Little's law: ``Q = u m (1 + w u b / (1 - u b))`` solved for ``u``.

        Args:
            waiting: sessions at each tier, those being served included.
            found: b, share of them that an arrival finds there.
        """
        # Infinitely many servers are calculated as one and masked at the end: with inf the root would be inf - inf,
        # which is NaN.
        several, most = np.isfinite(self.servers), np.where(np.isfinite(self.servers), self.servers, 1.0)
        total = most + waiting * found
        root = np.sqrt(np.maximum(0.0, total**2 - 4 * found * most * (1 - self.queued_share) * waiting))
        # The root in this form, since the usual one divides by 1 - w: striped tiers have w = 1, where the equation is
        # linear, and near it the difference in its numerator loses all digits.
        return np.where(several, 2 * waiting / (total + root), 0.0)

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
        free = 1 - busy * found
        queue = np.where(free > 0, busy * found / np.maximum(free, LEAST_FREE), np.inf)
        return np.asarray(1 + self.queued_share[:, np.newaxis] * queue, dtype=np.float64)


def stations_of(tiers: Sequence[Tier]) -> Stations:
    """The stations that tiers are."""
    found = [_station(tier) for tier in tiers]
    servers, shares = (np.array([pair[at] for pair in found], dtype=np.float64) for at in (0, 1))
    return Stations(servers, shares)


def queued_share(servers: float, striped: bool | None) -> float:
    """``w`` of a tier, see above; a limit on the rate is one queue."""
    if striped is True and servers >= 1:
        return 1.0
    return 1 / servers if striped is False or servers < 1 else servers**-0.5


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


def _station(tier: Tier) -> tuple[float, float]:
    """Servers, and the share of a server's queue that an arrival waits for."""
    servers: Servers = tier.speed.servers
    if not queues(tier):
        return float("inf"), 1.0
    if is_limited(tier):
        limit = rate_limit(tier)
        return limit, queued_share(limit, servers.striped if limit >= 1 else False)
    return servers.count, queued_share(servers.count, servers.striped)
