"""Which items a search goes through: those that matter most and are least certain at the best prices.

Of a knapsack's items most are settled by prices alone; those near the threshold are called its core (Balas and Zemel).
Here an item also belongs to it for its size: a large one is far from the threshold for what it gains, and yet decides
what room is left for all others.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I64
from policies.model.chunks import parts
from policies.solver.offers import Offers, doubts
from policies.solver.prices import Prices
from policies.solver.sifting import Crowd

SIZE = 600  # items that a search decides
_AMONG = 1500  # of many items so many are nearest to another choice, and so many matter most
_NEAR = 1e-3  # of the bound: a choice that loses less is open
_TINY = 1e-12  # of the bound
_SMALLEST = 1e-200  # of what a bound may be, in whatever unit
_LARGE = 0.3  # how much size counts beside doubt, in the second order


def by_importance(offers: Offers, found: Prices, floor: float) -> I64:
    """Items that may choose otherwise in what gains more than a floor, in the order of what they matter.

    An item is settled where any other choice than its best costs more than all that could still be won.
    """
    items, weight, doubt = _open(offers, found, floor)
    return items[np.argsort(-_importance(weight, doubt, found), kind="stable")]


def by_doubt(offers: Offers, found: Prices, floor: float) -> I64:
    """The same in another order: first, by their size, those least certain for it and as many of least doubt."""
    items, weight, doubt = _open(offers, found, floor)
    rank = np.argsort(doubt / weight - _LARGE * np.log(weight), kind="stable")
    cheap, rest = rank[: SIZE // 2], rank[SIZE // 2 :]
    small = rest[np.argsort(doubt[rest], kind="stable")]
    mixed = np.concatenate((cheap, small[: SIZE - len(cheap)]))
    mixed = mixed[np.argsort(-weight[mixed], kind="stable")]
    return items[np.concatenate((mixed, small[SIZE - len(cheap) :]))]


def near(offers: Offers, found: Prices) -> I64:
    """Of many items those that are nearest to another choice, and those that matter most, in rising order."""
    importance = _importance(_weight(offers, found), doubts(found.reduced), found)
    most = np.argpartition(-importance, _AMONG)[:_AMONG]
    return np.union1d(Crowd(offers).nearest(found.reduced, _AMONG), most)


def stake(found: Prices) -> float:
    """What a choice is about: the bound, never 0."""
    return max(abs(found.bound), _SMALLEST)


def _open(offers: Offers, found: Prices, floor: float) -> tuple[I64, F64, F64]:
    doubt = doubts(found.reduced)
    items = np.flatnonzero(doubt <= found.bound - floor)
    return items, _weight(offers.only(items), found), doubt[items]


def _weight(offers: Offers, found: Prices) -> F64:
    """What the dearest option of each item costs or frees, shape ``(n,)``."""
    weight = np.empty(len(offers))
    for part, some in zip(offers.parts(), parts(len(offers)), strict=True):
        options = np.tensordot(found.price, np.abs(part.use), 1)
        weight[some] = np.where(np.isfinite(part.gain), options, 0.0).max(axis=0)
    return np.asarray(np.maximum(weight, _TINY * stake(found)), dtype=np.float64)


def _importance(weight: F64, doubt: F64, found: Prices) -> F64:
    return weight / (doubt + _NEAR * stake(found))
