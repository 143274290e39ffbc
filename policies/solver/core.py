"""The core of a knapsack: the items that shadow prices leave undecided (Balas and Zemel, 1980).

Most items are far from the threshold, and prices alone decide them. The core holds those near it, and also the large
ones: a large item may be far from the threshold by its gain and still decide how much capacity is left for all others.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I64
from policies.model.chunks import row_chunks
from policies.solver.offers import Offers, margins
from policies.solver.prices import Prices
from policies.solver.sifting import SiftedItems

SIZE = 600  # items that a search decides
_CORE_SIDE = 1500  # of many items: so many by margin, and so many by importance
_NEAR = 1e-3  # of the bound: added to margins, so that among near ties size decides
_TINY = 1e-12  # of the bound
_SMALLEST = 1e-200  # least bound, in whatever unit; avoids a division by 0


def order_by_importance(offers: Offers, dual: Prices, floor: float) -> I64:
    """The items that may choose otherwise in a choice above a floor, the most important first.

    Reduced-cost fixing: where every other option of an item loses more than the bound exceeds the floor, no better
    choice contains it, and the item is settled.
    """
    items, weight, margin = _open(offers, dual, floor)
    # Stable, so that ties keep the canonical order: numpy's default sort leaves them in an order that depends on the
    # processor's instructions, and the same situation would give another plan on another machine.
    return items[np.argsort(-_importance(weight, margin, dual), kind="stable")]


def select_core(offers: Offers, dual: Prices) -> I64:
    """The core of many items: the smallest margins and the most important items, by rising number."""
    importance = _importance(_weight(offers, dual), margins(dual.reduced), dual)
    most = np.argpartition(-importance, _CORE_SIDE)[:_CORE_SIDE]
    return np.union1d(SiftedItems(offers).nearest(dual.reduced, _CORE_SIDE), most)


def gain_scale(dual: Prices) -> float:
    """The magnitude of a problem's gains: its bound, never 0."""
    return max(abs(dual.bound), _SMALLEST)


def _open(offers: Offers, dual: Prices, floor: float) -> tuple[I64, F64, F64]:
    margin = margins(dual.reduced)
    items = np.flatnonzero(margin <= dual.bound - floor)
    return items, _weight(offers.only(items), dual), margin[items]


def _weight(offers: Offers, dual: Prices) -> F64:
    """The price of the most expensive option of each item, consumed or released, shape ``(n,)``."""
    weight = np.empty(len(offers))
    for part, some in zip(offers.in_chunks(), row_chunks(len(offers)), strict=True):
        # Absolute: a large bundle that leaves decides as much as one that comes, since its release is what lets others
        # in.
        options = np.tensordot(dual.price, np.abs(part.consumption), 1)
        # An option that does not exist would count by its size all the same, and bring items into the core that have
        # nothing to decide.
        weight[some] = np.where(np.isfinite(part.gain), options, 0.0).max(axis=0)
    return np.asarray(np.maximum(weight, _TINY * gain_scale(dual)), dtype=np.float64)


def _importance(weight: F64, margin: F64, dual: Prices) -> F64:
    return weight / (margin + _NEAR * gain_scale(dual))
