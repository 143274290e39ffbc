"""From shadow prices to a feasible choice: prices are raised until it fits."""

from __future__ import annotations

import numpy as np

from connectors.model import I64
from policies.solver.offers import STAY, Offers, best_options
from policies.solver.prices import Prices

PRICE_FACTORS = (1.0, 1.01, 1.1, 1.3, 2.0, 1e6)  # times the best prices


def stay_everywhere(offers: Offers) -> I64:
    """The choice in which every item stays."""
    return np.full(len(offers), STAY, dtype=np.int64)


def round_choice(offers: Offers, dual: Prices) -> I64 | None:
    """A feasible choice from the prices, raised until it fits; or staying, if feasible; or None."""
    best = stay_everywhere(offers)
    possible = offers.fits(best)
    # All prices rise together: at the optimal ones, items at the threshold may overdraw a resource by a little.
    for factor in PRICE_FACTORS:
        choice = best_options(offers.reduced_gain(dual.price * factor))[0]
        if offers.fits(choice):
            return max(choice, best, key=offers.total_gain) if possible else choice
    return best if possible else None
