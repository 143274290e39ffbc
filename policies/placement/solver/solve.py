"""The solver's entrance: a problem in, the best choice found and a proven bound out.

``rounded_bound`` tightens the dual bound where few items fill a resource. At its best prices the linear relaxation
takes part of an item: of equal tables of 10 GB, ten and a half in 105 GB. If there are thousands, no search can rule
out that half. So every such resource gets one more row, in units of that item's size, with its capacity rounded down.
What other sizes consume of it is the mixed-integer rounding of Nemhauser and Wolsey ("A recursive procedure to generate
all cuts for 0-1 mixed integer programs", 1990): with ``f`` the part of the capacity that is lost,
``floor(a) + max(0, a - floor(a) - f) / (1 - f)``. A choice of whole items within the resource is also within its row,
whether options consume or release.

``solve`` rounds the dual, then runs beam searches (``search``) over the core of the knapsack (Balas and Zemel, 1980):
the items near the threshold, and also the large ones, which decide how much capacity is left for all others. Prices
alone decide the rest. A search prunes what cannot exceed its floor: the gain of the best choice so far, or the gain to
be beaten. If nothing is found and no state was dropped for width, nothing above the floor exists, which lowers the
upper bound. A high floor leaves fewer items open, so the width goes further, but nothing may lie above it. So floors
start just below the bound and fall until a search has come near it.

A single search from the rounded choice is as good in most instances, but lost 2 % of the gain in one of 20 with three
tiers, 10,000 units and a heavy tail. Searches with their own floor are narrow: in several equal spaces, where no choice
comes near the bound, they cost most, and wider ones brought nothing. Two orders of the items, a search around the best
choice, and polishing were left out without a loss (``python -m tests.bench.policy_mechanisms``).

``place`` is the entrance: presolve (``offers``), dual (``dual``), then ``solve``. Staying put is always a candidate. Up
to some dozen items the answer is optimal, and its bound equals its gain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model.observation import F64, I64, Bools
from policies.placement.solver.dual import (
    MANY,
    PRICE_FACTORS,
    ShadowPrices,
    importance,
    prices,
    round_choice,
    stay_everywhere,
)
from policies.placement.solver.offers import STAY, Offers, best_options, reduce_to_scarce
from policies.placement.solver.search import search

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


def _rows(offers: Offers, dual: ShadowPrices) -> list[tuple[F64, float]]:
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


def solve(offers: Offers, dual: ShadowPrices, incumbent_gain: float = -np.inf) -> tuple[I64 | None, float]:
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


def _search(offers: Offers, dual: ShadowPrices, order: I64, floor: float, effort: Effort) -> tuple[I64 | None, float]:
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


def order_by_importance(offers: Offers, dual: ShadowPrices) -> I64:
    """The items that may have to choose otherwise than prices say, the most important first."""
    stake, price = abs(dual.bound), dual.price[np.newaxis]
    important = -np.concatenate([importance(part, price, stake) for part in offers.in_chunks()])
    most = _CORE if len(important) > MANY else len(important)
    items = np.flatnonzero(important <= np.partition(important, most - 1)[most - 1])  # with all that tie with the last
    # Stable, so that ties keep the canonical order: numpy's default sort leaves them in an order that depends on the
    # processor's instructions, and the same situation would give another plan on another machine.
    return items[np.argsort(important[items], kind="stable")][:most]


def _select_prices(dual: ShadowPrices) -> F64:
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
