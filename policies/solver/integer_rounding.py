"""A tighter bound where few items fill a resource: the Lagrangian dual with capacities rounded to whole items.

At its best prices the linear relaxation takes part of an item: of equal tables of 10 GB, ten and a half in 105 GB. Of
thousands of equal ones no search proves that half away. So every such resource gets a row more, in units of that
item's size, whose capacity is rounded down. What other sizes consume of it is the mixed-integer rounding of Nemhauser
and Wolsey ("A recursive procedure to generate all cuts for 0-1 mixed integer programs", 1990): with ``f`` the part of
the capacity that is lost, ``floor(a) + max(0, a - floor(a) - f) / (1 - f)``. Every choice of whole items that keeps the
resource keeps its row too, whether options consume or release.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import F64
from policies.solver.offers import Offers, best_options
from policies.solver.prices import Prices, prices
from policies.solver.scarcity import reduce_to_scarce

_LEAST_LOST = 1e-4  # share of a capacity: rounding away less than that lowers no bound by more
_CLEAR = 1e-9  # items: rounding tolerance of a capacity


def rounded_bound(offers: Offers) -> float:
    """Upper bound on every feasible choice. A resource that is overdrawn counts as just used up."""
    scarce, _ = reduce_to_scarce(replace(offers, capacity=np.maximum(offers.capacity, 0.0)))
    if not len(scarce.capacity) or not (scarce.gain > 0).any():
        return float(best_options(scarce.gain)[1].sum())
    dual = prices(scarce)
    rows = _rows(scarce, dual)
    if not rows:
        return max(0.0, dual.bound)
    tightened = replace(
        scarce,
        consumption=np.concatenate((scarce.consumption, np.array([row for row, _ in rows]))),
        capacity=np.append(scarce.capacity, [capacity for _, capacity in rows]),
    )
    return max(0.0, min(dual.bound, prices(tightened).bound))


def _rows(offers: Offers, dual: Prices) -> list[tuple[F64, float]]:
    """Consumption and capacity of a rounded row for each resource that has a price."""
    rows = []
    least_certain_first = np.argsort(dual.margin, kind="stable")
    for own, capacity, price in zip(offers.consumption, offers.capacity, dual.price, strict=True):
        size = own.max(axis=0)[least_certain_first]
        if price > 0 and (size > 0).any():
            # The relaxation takes part of an item whose options are worth the same at these prices.
            row = _round_row(own, float(capacity), float(size[int((size > 0).argmax())]))
            rows += [] if row is None else [row]
    return rows


def _round_row(consumption: F64, capacity: float, size: float) -> tuple[F64, float] | None:
    """The row in units of that size, None where rounding brings nothing."""
    whole = float(np.floor(capacity / size + _CLEAR))
    lost = capacity / size - whole
    if whole < 1 or not _LEAST_LOST * whole < lost < 1 - _CLEAR:
        return None
    scaled = consumption / size
    below = np.floor(scaled)
    return below + np.maximum(0.0, scaled - below - lost) / (1 - lost), whole
