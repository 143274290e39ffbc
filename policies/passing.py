"""Full tiers that exchange: what passes from one to another needs room for a second copy of itself first.

A source counts as occupied until its copy is done, and nothing moves twice. So what is free in all tiers but the slowest
is never more than what is free in them now and what leaves them, and nothing larger than that passes between them.
Where an answer breaks this, the question is split at the largest that passes: either nothing so large does, or as much
leaves as that takes, which is one more resource. Cases are looked at best first, by what their prices promise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, I64
from policies.offers import SLACK, STAY, Offers
from policies.placement import Placement, bound, place, repaid

_CASES = 12  # whose prices are asked for
_CLOSE = 1e-4  # of the best gain: what promises no more is not looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What each option does to the room between limited tiers, which are all but the slowest."""

    passes: F64  # (o, n) bytes that go from one limited tier to another
    leaves: F64  # (o, n) bytes that leave limited tiers
    free: float  # bytes in limited tiers together

    def short(self, choice: I64) -> float:
        """Size of the largest that passes although there is never so much free; 0 where there is none."""
        items = np.flatnonzero(choice != STAY)
        option = choice[items]
        largest = float(self.passes[option, items].max(initial=0.0))
        free = self.free + float(self.leaves[option, items].sum())
        return largest if largest > free * (1 + SLACK) else 0.0

    def without(self, offers: Offers, size: float) -> Offers:
        """Nothing of that size passes."""
        return replace(offers, gain=np.where(self.passes >= size, -np.inf, offers.gain))

    def with_room(self, offers: Offers, size: float) -> Offers:
        """So much leaves that something of that size may pass; nothing larger does."""
        return Offers(
            gain=np.where(self.passes > size, -np.inf, offers.gain),
            use=np.concatenate((offers.use, -self.leaves[np.newaxis])),
            room=np.append(offers.room, self.free - size),
        )
