"""A database over time: which units exist at each hour, how large they are, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from connectors.model.observation import F64, I64, SIGNALS, Bools, Signal
from tests.bench.policies.wandering.frozen import FAST_SHARE
from tests.workloads.catalogue import Catalogue

HOUR = 3600.0  # s
SPOT = np.zeros(SIGNALS)  # I/Os by signal for one random read of a hot unit
SPOT[[Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.LOGICAL_READ, Signal.ASYNC_WRITE]] = 1.0, 0.2, 6.0, 0.1

# Seconds that sessions wait for one I/O: a random read in full, three tenths of one that was read ahead.
WAIT_FAST, WAIT_SLOW = np.zeros(SIGNALS), np.zeros(SIGNALS)
WAIT_FAST[[Signal.SYNC_READ, Signal.PREFETCHED_READ]] = 0.0002, 0.3 * 0.00002
WAIT_SLOW[[Signal.SYNC_READ, Signal.PREFETCHED_READ]] = 0.0055, 0.3 * 0.00005


@dataclass(frozen=True, kw_only=True)
class World:
    """Rows are all units that ever exist. Hour 0 is midnight, when everything is on the slow tier."""

    name: str
    seed: int
    catalogue: Catalogue  # usual demand; ``size_bytes`` is the size of a unit that does not grow
    factors: F64  # (hours, n) what the usual demand is multiplied by
    spot: F64  # (hours, n) random reads per second besides
    size: I64  # (hours, n) bytes
    alive: Bools  # (hours, n)
    fast_share: float = FAST_SHARE  # of the bytes at the start fit the fast tier

    @property
    def hours(self) -> int:
        """How long it lasts."""
        return len(self.factors)

    @cached_property
    def capacity(self) -> int:
        """Bytes of the fast tier that may be filled."""
        return int(self.size[0, self.alive[0]].sum() * self.fast_share)

    def rates(self, hour: int) -> F64:
        """Demand within that hour, ``(SIGNALS, n)`` per second; nothing of units that do not exist."""
        asked = self.catalogue.rates * self.factors[hour] + SPOT[:, np.newaxis] * self.spot[hour]
        return np.asarray(np.where(self.alive[hour], asked, 0.0), dtype=np.float64)

    @cached_property
    def saving(self) -> F64:
        """Wait seconds that each unit saves in each hour on the fast tier, ``(hours, n)``."""
        return np.array([saving(self.rates(hour)) for hour in range(self.hours)])


def wait_on_slow(rates: F64) -> F64:
    """Foreground wait of each unit on the slow tier, seconds per hour, ``(n,)``."""
    return np.asarray(WAIT_SLOW @ rates * HOUR, dtype=np.float64)


def saving(rates: F64) -> F64:
    """Wait seconds per hour that each unit saves on the fast tier, ``(n,)``."""
    return np.asarray((WAIT_SLOW - WAIT_FAST) @ rates * HOUR, dtype=np.float64)
