"""From the dual to the best choice: rounding, then beam searches over the items that prices leave open.

A beam search (``search``) prunes what cannot exceed its floor: the gain of the best choice so far, or the gain that is
to be beaten. What it does not find above its floor does not exist, as far as it did not drop states for its width; that
lowers the upper bound.

Most items are far from the threshold, and prices alone decide them (the core of a knapsack: Balas and Zemel, 1980).
What is searched is what is near it, and also what is large: a large item may be far from the threshold by its gain and
still decide how much capacity is left for all others.

A high floor leaves fewer items open and prunes more, so the width goes further; but there may be nothing above it. So
searches begin just below the bound, with floors that fall, until one has come near it. A single search from the rounded
choice is as good in most instances, and lost 2 % of the gain in one of 20 with three tiers, 10,000 units and a heavy
tail. Those with a floor of their own are narrow: in several equal spaces, whose bound no choice comes near, they cost
most, and wider ones brought nothing. Two orders of the items, a search around the best choice, and polishing what was
found were left out without a loss (``python -m tests.bench.policy_mechanisms``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, I64
from policies.solver.dual import importance
from policies.solver.offers import STAY, Offers
from policies.solver.prices import MANY, PRICE_FACTORS, Prices, round_choice
from policies.solver.search import search

_CORE = 4_000  # of very many items: so many are searched, the most important ones; the others follow prices
_WIDTH = (64, 32768)  # of a beam, least and most
_PRICES = 6  # prices from the way to the dual optimum at which states are bounded
_SINGLE_FACTORS = (0.9, 1.1)  # times the price of one resource, the others unchanged
_CLOSE = 2e-5  # relative gap below which a search is not worth its time
_CLOSE_AGAIN = 1e-3  # the same once a search has found something
_NARROWER = 5  # times the states of a search from the best so far are those of one from a higher floor
# Of floors, as a share of the bound; None: the best so far.
_BELOW_BOUND: tuple[float | None, ...] = (0.002, 0.01, 0.05, None)


@dataclass(frozen=True, slots=True)
class Effort:
    """The budget of one search."""

    states: int  # items times width
    missed: float = 0.0  # relative gap at which the search ends
    depth: int = 600  # items that are decided; by then nothing of worth is open


_FULL, _OF_MANY = Effort(1_000_000), Effort(500_000, missed=2e-4, depth=300)
_IN_HASTE = Effort(200_000, depth=200)


def solve(offers: Offers, dual: Prices, incumbent_gain: float = -np.inf) -> tuple[I64 | None, float]:
    """The best choice found, and a proven upper bound on every choice.

    Args:
        offers: the problem, with at least one resource.
        dual: its prices.
        incumbent_gain: gain that is to be beaten. If given, the search is a short one.
    """
    best, limit = round_choice(offers, dual), dual.bound
    gained = -np.inf if best is None else offers.total_gain(best)
    effort, shares = _OF_MANY if len(offers) > MANY else _FULL, _BELOW_BOUND
    if not np.isinf(incumbent_gain):
        effort, shares = _IN_HASTE, _BELOW_BOUND[-1:]
    close = max(_CLOSE, effort.missed)
    order: I64 | None = None
    for share in shares:
        least = max(incumbent_gain, gained)
        floor = least if share is None else max(least, limit - share * abs(limit))
        if limit - floor <= close * limit:
            continue
        order = order_by_importance(offers, dual) if order is None else order  # a million items take a quarter second
        states = effort.states if share is None else effort.states // _NARROWER
        found, proven = _search(offers, dual, order, floor, replace(effort, states=states))
        if better := found is not None and offers.total_gain(found) > gained:
            best, gained = found, offers.total_gain(found)
            close = max(close, _CLOSE_AGAIN)
        limit = max(min(limit, proven), gained)
        if floor == least and not better:
            break
    return best, limit


def _search(offers: Offers, dual: Prices, order: I64, floor: float, effort: Effort) -> tuple[I64 | None, float]:
    """A choice above a floor, None if none was found, and a bound on all choices above it.

    Reduced-cost fixing: where every other option of an item loses more than the bound exceeds the floor, no better
    choice contains it, and the item is settled. The search decides about the others, as far as they are in the order.
    """
    in_doubt = dual.margin <= dual.bound - floor
    core, base = order[in_doubt[order]], dual.choice.copy()
    base[core] = STAY
    settled = offers.total_gain(base)
    inner = replace(offers.only(core), capacity=offers.capacity - offers.total_consumption(base))
    # Measured from the bound of the dual and not from the best choice: a search that has come this near to it cannot be
    # beaten by more, and need not run to its end.
    enough = dual.bound - effort.missed * abs(dual.bound) - settled
    width = int(np.clip(effort.states // max(1, min(_FULL.depth, len(core))), *_WIDTH))
    answer = search(inner, _select_prices(dual), width, floor - settled, effort.depth, enough)
    # The search's bound covers choices that differ inside the core only.
    proven = answer.bound + settled if len(core) == np.count_nonzero(in_doubt) else dual.bound
    if answer.choice is None:
        return None, proven
    base[core] = answer.choice
    return base, proven


def order_by_importance(offers: Offers, dual: Prices) -> I64:
    """The items that may have to choose otherwise than prices say, the most important first."""
    stake, price = abs(dual.bound), dual.price[np.newaxis]
    important = -np.concatenate([importance(part, price, stake) for part in offers.in_chunks()])
    most = _CORE if len(important) > MANY else len(important)
    items = np.flatnonzero(important <= np.partition(important, most - 1)[most - 1])  # with all that tie with the last
    # Stable, so that ties keep the canonical order: numpy's default sort leaves them in an order that depends on the
    # processor's instructions, and the same situation would give another plan on another machine.
    return items[np.argsort(important[items], kind="stable")][:most]


def _select_prices(dual: Prices) -> F64:
    """Prices at which states are bounded: the optimal ones, some from the way to them, and some around them.

    Tight bounds for all states need several prices: each is optimal for another residual capacity.
    """
    at = np.geomspace(1, len(dual.tried), _PRICES).astype(np.int64) - 1
    at = at[np.diff(at, prepend=-1) > 0]
    around = [dual.price * factor for factor in PRICE_FACTORS[1:]]
    for resource in range(len(dual.price)):
        for factor in _SINGLE_FACTORS:
            price = dual.price.copy()
            price[resource] *= factor
            around.append(price)
    return np.vstack((dual.tried[at], np.array(around)))
