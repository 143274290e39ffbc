"""What a unit of each scarce resource is worth: the Lagrangian dual of the choice, and with it the bound.

At given prices every item takes its best option, whatever the others do; what that brings, plus the price of all the
room, is more than any choice within the room can bring. The lowest such figure is the bound (it equals the linear
relaxation's), and the prices where it is reached say what is worth its room. Of few items they are found by cutting
(``cutting``), of many by looking closely at few (``sifting``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64
from policies.solver.cutting import cheapest
from policies.solver.offers import Offers, best_options
from policies.solver.sifting import sift_prices

MANY = 20_000  # items that are worth sifting


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The best prices found, those tried on the way, and the bound that they prove."""

    bound: float  # no choice brings more
    price: F64  # (k,) per unit of each resource
    tried: F64  # (tries, k), the best first
    reduced: F64  # (o, n) gain of each option less what it uses, at the best prices


def prices(offers: Offers) -> Prices:
    """The dual of some offers, at least one resource; what does not exist uses nothing (``scarcity.binding``)."""
    scale = _largest(offers)
    if len(offers) > MANY:
        tried, reduced = sift_prices(offers, scale)
    else:
        tried = cheapest(offers, scale)
        reduced = offers.reduced_gain(tried[0])
    price = tried[0]
    bound = float(price @ offers.room + best_options(reduced)[1].sum())
    return Prices(bound=bound, price=price, tried=tried, reduced=reduced)


def _largest(offers: Offers) -> F64:
    """No best price is above this: what all room is worth cannot be more than all there is to gain and to lose."""
    room = np.maximum(offers.room, 0.0) + offers.most_given()
    return np.asarray(max(offers.at_stake(), 1e-300) / np.maximum(room, 1e-12), dtype=np.float64)
