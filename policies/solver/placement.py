"""The solver's entrance: a problem in, the best choice found and a proven bound out.

Presolve (``scarcity``), Lagrangian dual (``prices``), then searches over the core (``solving``). Staying put is always
a candidate. Up to some dozen items the answer is optimal, and its bound equals its gain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import I64, Bools
from policies.solver.offers import Offers, best_options
from policies.solver.prices import prices, stay_everywhere
from policies.solver.scarcity import reduce_to_scarce
from policies.solver.solving import solve

_WORTH = 1e-3  # of the bound: a resource worth less does not limit the gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The solver's answer to a problem."""

    choice: I64  # (n,) option of each item, STAY for none
    gain: float  # of all chosen options, at least 0
    bound: float  # upper bound on every choice


def place(offers: Offers, floor: float = -np.inf) -> Placement:
    """The best choice found, within every capacity but for rounding (``offers.SLACK`` of the largest consumption).

    A resource that is overdrawn from the start is not overdrawn further.

    Args:
        offers: the problem.
        floor: gain that is to be beaten; below it the search is short.
    """
    if not len(offers.capacity) or float(offers.capacity.min()) >= 0:
        return _place_within(offers, floor)
    # An overdrawn resource makes even staying infeasible, so of the problem as it is only choices that repay all of it
    # are accepted. A plan that helps without touching that tier is found by the other one.
    repaid, as_it_is = _place_within(offers, floor), _place_within(_without_more(offers), floor)
    best = max(as_it_is, repaid, key=lambda placed: placed.gain)
    return replace(best, bound=max(as_it_is.bound, repaid.bound))


def _place_within(offers: Offers, floor: float) -> Placement:
    """The best choice found that ends within every capacity, staying if there is none."""
    scarce, _ = reduce_to_scarce(offers)
    if not (scarce.gain > 0).any() or np.any(scarce.capacity + scarce.max_release() < 0):
        return Placement(choice=stay_everywhere(offers), gain=0.0, bound=0.0)
    if not len(scarce.capacity):
        choice, worth = best_options(scarce.gain)
        return Placement(choice=choice, gain=float(worth.sum()), bound=float(worth.sum()))
    found, limit = solve(scarce, prices(scarce), floor)
    choice = stay_everywhere(scarce) if found is None or scarce.total_gain(found) < 0 else found
    gain = scarce.total_gain(choice)
    return Placement(choice=choice, gain=gain, bound=max(limit, gain))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The upper bound, and which resources limit it."""

    gain: float
    limiting: Bools  # (k,) resources whose capacity limits the gain


def bound(offers: Offers) -> Bound:
    """The dual bound alone, where no choice is needed."""
    # An overdrawn resource counts as just used up: more capacity is never worth less, so the bound stays valid.
    scarce, kept = reduce_to_scarce(replace(offers, capacity=np.maximum(offers.capacity, 0.0)))
    limiting = np.zeros(len(kept), dtype=np.bool_)
    if not len(scarce.capacity) or not (scarce.gain > 0).any():
        return Bound(gain=float(best_options(scarce.gain)[1].sum()), limiting=limiting)
    dual = prices(scarce)
    # Of a resource that is used up, price times capacity is 0 however much it limits the gain, so that case is asked
    # for separately.
    limiting[kept] = (dual.price * scarce.capacity > _WORTH * dual.bound) | (scarce.capacity <= 0)
    return Bound(gain=max(0.0, dual.bound), limiting=limiting)


def _without_more(offers: Offers) -> Offers:
    """The problem in which no option consumes more of a resource that is overdrawn."""
    more = (offers.consumption[offers.capacity < 0] > 0).any(axis=0)
    return replace(offers, gain=np.where(more, -np.inf, offers.gain), capacity=np.maximum(offers.capacity, 0.0))
