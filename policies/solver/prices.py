"""Shadow prices of the scarce resources: the minimum of the Lagrangian dual, and with it the upper bound.

The minimum equals the bound of the linear relaxation (Geoffrion, "Lagrangean relaxation for integer programming", 1974:
items without constraints of their own have the integrality property), and the minimising prices are the shadow prices.
Few items: the ellipsoid method (``dual``). Many items: ``sifting``. Raised until it fits, they make a feasible choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64
from policies.solver.dual import minimise_dual
from policies.solver.offers import STAY, Offers, best_options, margins
from policies.solver.sifting import sift_prices

# An evaluation of the dual costs one pass over all items, and the ellipsoid method makes some hundreds of them. Up to
# this many items that takes less time than sifting's several restricted duals.
MANY = 20_000
PRICE_FACTORS = (1.0, 1.01, 1.1, 1.3, 2.0, 1e6)  # times the best prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The best dual prices found, those tried on the way, and the bound they prove."""

    bound: float  # upper bound on every feasible choice
    price: F64  # (k,) per unit of each resource
    tried: F64  # (tries, k), the best first
    choice: I64  # (n,) best option of each item at the best prices, STAY for none
    margin: F64  # (n,) of that option over the second best


def prices(offers: Offers) -> Prices:
    """Solve the dual of a problem with at least one resource, reduced by ``scarcity.reduce_to_scarce``."""
    scale = price_limits(offers)
    if len(offers) > MANY:
        tried, reduced = sift_prices(offers, scale)
    else:
        tried = minimise_dual(offers, scale)
        reduced = offers.reduced_gain(tried[0])
    price = tried[0]
    choice, worth = best_options(reduced)
    bound = float(price @ offers.capacity + worth.sum())
    return Prices(bound=bound, price=price, tried=tried, choice=choice, margin=margins(reduced))


def price_limits(offers: Offers) -> F64:
    """Upper bound of the optimal prices, shape ``(k,)``.

    All capacity together, releases included, cannot be worth more than the largest possible gain less the smallest.
    """
    capacity = np.maximum(offers.capacity, 0.0) + offers.max_release()
    return np.asarray(max(offers.gain_range(), 1e-300) / np.maximum(capacity, 1e-12), dtype=np.float64)


def stay_everywhere(offers: Offers) -> I64:
    """The choice in which every item stays."""
    return np.full(len(offers), STAY, dtype=np.int64)


def round_choice(offers: Offers, dual: Prices) -> I64 | None:
    """A feasible choice from the prices, raised until it fits; or staying, if feasible; or None."""
    # All prices rise together: at the optimal ones, items at the threshold may overdraw a resource by a little.
    raised = (best_options(offers.reduced_gain(dual.price * factor))[0] for factor in PRICE_FACTORS)
    first = next(filter(offers.fits, raised), None)
    feasible = [choice for choice in (first, stay_everywhere(offers)) if choice is not None and offers.fits(choice)]
    return max(feasible, key=offers.total_gain, default=None)
