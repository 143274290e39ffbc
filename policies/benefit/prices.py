"""The price of a wait: seconds that sessions wait for one I/O of each kind, on each tier. Said here and nowhere else.

``wait = sum over I/O classes of rate * share of its time that sessions wait * seconds on that tier``. A read that the
buffer pool answers and a write that a background process does later weigh nothing (unless settings say otherwise), so
neither the busiest nor the most written unit wins by that alone.

Plans, explanations, advice, sizing, forecasts and assessments all ask ``Prices``: a change of the formula changes each
of them, and what they say of one unit agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from connectors.model import F64, I64, SIGNALS, Bools, Signal, UnitKind
from policies.model.chunks import row_chunks
from policies.model.plan import PolicySettings, Situation, TierSpeed

HOUR = 3600.0
ALL = slice(None)
# Share of these prices that an I/O of a kind of unit counts; what is not named counts whole.
SHARES: Mapping[UnitKind, float] = {}


def wait_weights(speeds: Sequence[TierSpeed], settings: PolicySettings) -> F64:
    """Seconds that sessions wait for one I/O of each signal on each tier. Shape ``(tiers, SIGNALS)``."""
    weights = np.zeros((len(speeds), SIGNALS))
    for tier, speed in enumerate(speeds):
        weights[tier, Signal.SYNC_READ] = speed.random_read_seconds
        weights[tier, Signal.PREFETCHED_READ] = speed.sequential_read_seconds * settings.prefetched_wait_share
        weights[tier, Signal.DIRECT_READ] = speed.sequential_read_seconds
        weights[tier, Signal.ASYNC_WRITE] = speed.write_seconds * settings.write_wait_share
        weights[tier, Signal.SYNC_WRITE] = speed.write_seconds
    return weights


@dataclass(frozen=True, slots=True)
class Prices:
    """What the units of a situation cost their sessions on each tier.

    Attributes:
        weights: ``(tiers, SIGNALS)`` seconds waited for one I/O.
        shares: ``(n,)`` what each unit's I/Os count of that; None: all count whole.
    """

    weights: F64
    shares: F64 | None = None

    @classmethod
    def of(cls, situation: Situation, settings: PolicySettings) -> Self:
        """The prices in a situation: by the speeds of its tiers and the shares that sessions wait for."""
        shares = None
        if SHARES:
            by_kind = np.array([SHARES.get(kind, 1.0) for kind in UnitKind])
            shares = by_kind[np.searchsorted([kind.value for kind in UnitKind], situation.units.kind)]
        return cls(wait_weights([tier.speed for tier in situation.tiers], settings), shares)

    def per_hour(self, rates: F64, rows: slice | I64 = ALL) -> F64:
        """Wait seconds per hour of each unit, were it on each tier.

        Args:
            rates: shape ``(SIGNALS, n)``, per second.
            rows: of the situation's units, which units these are; all of them by default.

        Returns:
            Shape ``(tiers, n)``. Summed signal by signal, so a unit's figure never depends on its neighbours.
        """
        wait = np.zeros((len(self.weights), rates.shape[1]))
        for tier, weights in enumerate(self.weights):
            # Signal by signal instead of one matrix product: a product adds in an order that depends on the shape, so
            # the last digit of a unit's wait would depend on its neighbours.
            for signal in np.flatnonzero(weights):
                wait[tier] += rates[signal] * (weights[signal] * HOUR)
        return wait if self.shares is None else wait * self.shares[rows]

    def by_tier(self, rates: F64, tier: I64, signals: Bools | None = None) -> F64:
        """Seconds a second that are waited on each tier, with each unit on the tier given. Shape ``(tiers,)``.

        Args:
            rates: shape ``(SIGNALS, n)``, per second.
            tier: of each unit, shape ``(n,)``; -1: it is not managed and does not count.
            signals: which signals count; None: all.
        """
        counted = self if signals is None else replace(self, weights=self.weights * signals)
        waits = np.zeros(len(self.weights))
        for part in row_chunks(len(tier)):
            managed = np.flatnonzero(tier[part] >= 0)
            home = tier[part][managed].astype(np.int64)
            wait = counted.per_hour(rates[:, part], part)[home, managed] / HOUR
            waits += np.bincount(home, weights=wait, minlength=len(waits))
        return waits


def wait_per_hour(rates: F64, speeds: Sequence[TierSpeed], settings: PolicySettings) -> F64:
    """As ``Prices.per_hour``, of units that belong to no situation. Shape ``(tiers, n)``."""
    return Prices(wait_weights(speeds, settings)).per_hour(rates)
