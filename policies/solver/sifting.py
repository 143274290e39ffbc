"""The dual of many items by sifting: solve it for a small working set, check all others, repeat.

Sifting is column generation over items that exist already (Bixby et al., "Very large-scale linear programming", 1992).
A sample gives the first prices. The working set are the items nearest to changing their option at these prices; the
others keep theirs, and a weighted sample of them stands for how much they would change. Items outside the working set
that change their option at the new prices join it. Once none does, the prices are optimal for all items. So a million
items cost a few passes instead of some hundred.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.solver.dual import minimise_dual
from policies.solver.offers import STAY, Offers, best_options, margins

_ROUGH, _CLOSE = 1e-5, 1e-7  # relative tolerances, for the first sample and for working sets
_NEAR = 2_000  # items in the working set
_SAMPLE = 600  # sampled items of each side
_SIFTS = 8  # most rounds; the prices of any round prove a valid bound


@dataclass(slots=True)
class SiftedItems:
    """Many items in two strata: those with an option that gains, and those that can only release.

    A plain sample would miss the few items that gain among a million that could make room, or the other way round.
    """

    offers: Offers
    stake: F64 = field(init=False)  # (n,) largest absolute gain of each item's options
    sides: tuple[I64, I64] = field(init=False)

    def __post_init__(self) -> None:
        gains = (self.offers.gain > 0).any(axis=0)
        self.sides = np.flatnonzero(gains), np.flatnonzero(~gains)
        real = np.where(np.isfinite(self.offers.gain), self.offers.gain, 0.0)
        self.stake = np.maximum(np.abs(real).max(axis=0), 1.0)

    def nearest(self, reduced: F64, most: int) -> I64:
        """Items whose margin is smallest relative to their gain, in rising order of their number.

        Args:
            reduced: reduced gain of each option, shape ``(o, n)``.
            most: number of items, half of them of each stratum.
        """
        # Relative to the gain: a fixed distance from the threshold would fill the set with small items, of which
        # thousands lie near it and whose change moves no price.
        margin, half = margins(reduced) / self.stake, most // 2
        sides = [side if len(side) <= half else side[np.argpartition(margin[side], half)[:half]] for side in self.sides]
        return np.sort(np.concatenate(sides))

    def sample(self, but: Bools) -> tuple[I64, F64]:
        """Every n-th item of each stratum, some items left out; and how many items each one stands for."""
        sides = [side[~but[side]] for side in self.sides]
        steps = [max(1, len(part) // _SAMPLE) for part in sides]
        items = [part[step // 2 :: step] for part, step in zip(sides, steps, strict=True)]
        return np.concatenate(items), np.repeat(np.array(steps, dtype=np.float64), [len(each) for each in items])

    def expand(self, items: I64, times: F64) -> Offers:
        """Some items, each with its gain and consumption times its weight."""
        some = self.offers.only(items)
        return Offers(gain=some.gain * times, consumption=some.consumption * times, capacity=self.offers.capacity)


def sift_prices(offers: Offers, scale: F64) -> tuple[F64, F64]:
    """Prices tried in the last round, the best first, shape ``(tries, k)``; and the reduced gains at the best.

    Args:
        offers: the items.
        scale: upper bound of the optimal price of each resource.
    """
    sifted, working_set = SiftedItems(offers), np.zeros(len(offers), dtype=np.bool_)
    # Roughly only: these prices choose the first working set, and the sample's own error is larger than what a closer
    # solution would add.
    tried = minimise_dual(sifted.expand(*sifted.sample(working_set)), scale, close=_ROUGH)
    reduced = offers.reduced_gain(tried[0])
    kept = best_options(reduced)[0]
    working_set[sifted.nearest(reduced, _NEAR)] = True
    for _ in range(_SIFTS):
        tried = _solve_restricted(sifted, working_set, kept, scale)
        reduced = offers.reduced_gain(tried[0])
        before, kept = kept, best_options(reduced)[0]
        changed = (kept != before) & ~working_set
        if not changed.any():
            break
        # The set starts over with what changed, it does not grow: items that settled would only make each round slower.
        working_set = changed
        working_set[sifted.nearest(reduced, _NEAR)] = True
    return tried, reduced


def _solve_restricted(sifted: SiftedItems, working_set: Bools, kept: I64, scale: F64) -> F64:
    """Solve the dual of the working set together with a weighted sample of the other items.

    The sample enters with its change only: what the other items do at the last prices is subtracted from the capacity,
    and what the sampled ones do at the new prices is counted against what they did before.
    """
    offers, far = sifted.offers, np.where(working_set, STAY, kept)
    some, times = sifted.sample(working_set)
    items = np.concatenate((some, np.flatnonzero(working_set)))
    inner = sifted.expand(items, np.append(times, np.ones(len(items) - len(some))))
    standing = far[items]
    inner = replace(inner, capacity=offers.capacity - offers.total_consumption(far) + inner.total_consumption(standing))
    return minimise_dual(inner, scale, offers.total_gain(far) - inner.total_gain(standing), _CLOSE)
