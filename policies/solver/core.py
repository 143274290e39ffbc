"""The core of a knapsack: the items that shadow prices leave undecided (Balas and Zemel, 1980).

Most items are far from the threshold, and prices alone decide them. The core holds those near it, and also the large
ones: a large item may be far from the threshold by its gain and still decide how much capacity is left for all others.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I64
from policies.solver.dual import importance
from policies.solver.offers import Offers, margins
from policies.solver.prices import Prices
from policies.solver.sifting import SiftedItems

SIZE = 600  # items that a search decides
_CORE_SIDE = 1500  # of many items: so many by margin, and so many by importance
_SMALLEST = 1e-200  # least bound, in whatever unit; avoids a division by 0


def order_by_importance(offers: Offers, dual: Prices, floor: float) -> I64:
    """The items that may choose otherwise in a choice above a floor, the most important first.

    Reduced-cost fixing: where every other option of an item loses more than the bound exceeds the floor, no better
    choice contains it, and the item is settled.
    """
    items = np.flatnonzero(margins(dual.reduced) <= dual.bound - floor)
    # Stable, so that ties keep the canonical order: numpy's default sort leaves them in an order that depends on the
    # processor's instructions, and the same situation would give another plan on another machine.
    return items[np.argsort(-_importance(offers.only(items), dual), kind="stable")]


def select_core(offers: Offers, dual: Prices) -> I64:
    """The core of many items: the smallest margins and the most important items, by rising number."""
    important = np.concatenate([_importance(part, dual) for part in offers.in_chunks()])
    most = np.argpartition(-important, _CORE_SIDE)[:_CORE_SIDE]
    return np.union1d(SiftedItems(offers).nearest(dual.reduced, _CORE_SIDE), most)


def gain_scale(dual: Prices) -> float:
    """The magnitude of a problem's gains: its bound, never 0."""
    return max(abs(dual.bound), _SMALLEST)


def _importance(offers: Offers, dual: Prices) -> F64:
    return importance(offers, dual.price[np.newaxis], gain_scale(dual))
