"""The best prices of many items, by looking closely at few of them.

A sample gives first prices; the items nearest to changing their choice at them give better ones, with a sample of the
others beside them in place of all. Whoever of those would not keep its choice at the new prices is looked at too, with
those that are nearest then. Once nobody is left who would, the prices are the best for all. So a million items cost a
few looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.solver.cutting import CLOSE, cheapest
from policies.solver.offers import STAY, Offers, best_options, doubts

_ROUGH = 1e-5  # of the bound: near enough for a sample
_NEAR = 2_000  # items for each option there is, looked at one by one
_SAMPLE = 600  # items for each option there is, of those who would gain and of the rest
_SIFTS = 8


@dataclass(slots=True)
class Crowd:
    """Many items, by sides: those who would gain by some option, and the others.

    Where few come and many could leave, all who come are looked at.
    """

    offers: Offers
    stake: F64 = field(init=False)  # (n,) that each has in its options
    sides: tuple[I64, I64] = field(init=False)

    def __post_init__(self) -> None:
        gains = (self.offers.gain > 0).any(axis=0)
        self.sides = np.flatnonzero(gains), np.flatnonzero(~gains)
        real = np.where(np.isfinite(self.offers.gain), self.offers.gain, 0.0)
        self.stake = np.maximum(np.abs(real).max(axis=0), 1.0)

    def nearest(self, reduced: F64, most: int) -> I64:
        """Items nearest to changing their choice, for what they gain or lose by it, in rising order.

        Args:
            reduced: gain of each option less what it uses, shape ``(o, n)``.
            most: items, half of them of each side.
        """
        doubt, half = doubts(reduced) / self.stake, most // 2
        parts = [side if len(side) <= half else side[np.argpartition(doubt[side], half)[:half]] for side in self.sides]
        return np.sort(np.concatenate(parts))

    def sample(self, but: Bools) -> tuple[I64, F64]:
        """Few items that stand for all but some: every so many-th of each side; and for how many each."""
        parts = [side[~but[side]] for side in self.sides]
        steps = [max(1, len(part) // (_SAMPLE * len(self.offers.gain))) for part in parts]
        items = [part[step // 2 :: step] for part, step in zip(parts, steps, strict=True)]
        return np.concatenate(items), np.repeat(np.array(steps, dtype=np.float64), [len(each) for each in items])

    def expand(self, items: I64, times: F64) -> Offers:
        """Some items, each as often as it counts."""
        some = self.offers.only(items)
        return Offers(gain=some.gain * times, use=some.use * times, room=self.offers.room)


def sift_prices(offers: Offers, scale: F64) -> tuple[F64, F64]:
    """Prices tried on the way to the best ones, those first, shape ``(tries, k)``; and the reduced gains at the best.

    Args:
        offers: the items.
        scale: of the prices; no best price is above it.
    """
    crowd, near, most = Crowd(offers), np.zeros(len(offers), dtype=np.bool_), _NEAR * len(offers.gain)
    tried = cheapest(crowd.expand(*crowd.sample(near)), scale, close=_ROUGH)
    reduced = offers.reduced_gain(tried[0])
    kept = best_options(reduced)[0]
    near[crowd.nearest(reduced, most)] = True
    for _ in range(_SIFTS):
        tried = _beside_a_sample(crowd, near, kept, scale)
        reduced = offers.reduced_gain(tried[0])
        before, kept = kept, best_options(reduced)[0]
        changed = (kept != before) & ~near
        if not changed.any():
            break
        near = changed
        near[crowd.nearest(reduced, most)] = True
    return tried, reduced


def _beside_a_sample(crowd: Crowd, near: Bools, kept: I64, scale: F64) -> F64:
    """Prices by those who are near, and by a sample of the others for how these would differ from what they keep."""
    offers, far = crowd.offers, np.where(near, STAY, kept)
    some, times = crowd.sample(near)
    items = np.concatenate((some, np.flatnonzero(near)))
    inner = crowd.expand(items, np.append(times, np.ones(len(items) - len(some))))
    standing = far[items]
    inner = replace(inner, room=offers.room - offers.used(far) + inner.used(standing))
    return cheapest(inner, scale, offers.total_gain(far) - inner.total_gain(standing), CLOSE)
