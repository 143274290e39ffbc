"""From the dual to the best choice: a sequence of beam searches with falling targets, then local search.

A beam search (``search``) works best with a floor just below the optimum, since everything that cannot exceed the floor
is pruned. The optimum is not known, so the first target is close to the upper bound, and later targets are lower. A
search that finds nothing above its floor often proves that there is nothing, which lowers the upper bound. What is
found is searched again in another item order and at prices nearer to the optimal ones, since the beam drops different
states there. If the gap is still wide, the neighbourhood of the best choice is searched. Every choice found is polished
(``rounding``).

All searches share a budget of states per item. Beyond it they run with narrower beams: a problem that was hard up to
there is seldom improved later, and an answer that takes twice the time is not worth that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64, I64
from policies.solver import core
from policies.solver.offers import STAY, Offers, best_options
from policies.solver.prices import Prices
from policies.solver.rounding import PRICE_FACTORS, polish, round_choice
from policies.solver.search import search

_WIDTH = (64, 32768)  # of a beam, least and most
_PRICES = 6  # prices from the way to the dual optimum at which states are bounded
_BEST = 20  # they are taken from so many best ones when a choice is to be improved
_SINGLE_FACTORS = (0.9, 1.1)  # times the price of one resource, the others unchanged
_CLOSE = 2e-5  # relative gap below which another search is not worth its time
_FAR = 1e-3  # relative gap above which the neighbourhood of the best choice is searched too
_TARGET_GAPS = (5e-5, 1e-4, 5e-4, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.3, 1e9)  # below the bound, search by search
_FIRST_TARGET_GAP = 0.25  # with a given incumbent: first target, as a share of the way down from the bound to it
_NEIGHBOURS = 300  # items
_AROUND = (1, 3)  # neighbourhoods: every item near the threshold, then every third
_HASTY, _AT_LENGTH = 150_000, 1_000  # states of a search once so many states per item are spent


@dataclass(frozen=True, slots=True)
class Effort:
    """The budget of one search."""

    states: int  # items times width
    missed: float = 0.0  # relative gap at which the search ends
    depth: int = core.SIZE  # items that are decided


_FULL, OF_MANY = Effort(1_000_000), Effort(500_000, missed=2e-4, depth=300)
_IN_HASTE, _NEARBY = Effort(200_000, depth=200), Effort(400_000)


def solve(
    offers: Offers, dual: Prices, incumbent_gain: float = -np.inf, effort: Effort = _FULL
) -> tuple[I64 | None, float]:
    """The best choice found, and a proven upper bound on every choice.

    Args:
        offers: the problem, with at least one resource.
        dual: its prices.
        incumbent_gain: gain that is to be beaten. If given, two searches have to do, no worse choice is improved, and
            no neighbourhood is searched.
        effort: of each search if no such gain is given.
    """
    solving = _Improver(offers=offers, dual=dual, effort=effort)
    if np.isinf(incumbent_gain):
        solving.solve_thoroughly()
    else:
        solving.solve_quickly(incumbent_gain)
    return solving.best, solving.limit


@dataclass(slots=True, kw_only=True)
class _Improver:
    """The best choice and the bound so far."""

    offers: Offers
    dual: Prices
    effort: Effort
    best: I64 | None = field(init=False)  # feasible choice
    limit: float = field(init=False)  # upper bound on every choice
    among: int | None = None  # states are bounded at prices from so many best ones, None: from all tried
    states_judged: int = 0

    def __post_init__(self) -> None:
        self.best, self.limit = round_choice(self.offers, self.dual), self.dual.bound

    @property
    def gained(self) -> float:
        """Gain of the best choice."""
        return -np.inf if self.best is None else self.offers.total_gain(self.best)

    def solve_thoroughly(self) -> None:
        """Search with falling targets until something is found; then improve it."""
        close = max(_CLOSE, self.effort.missed)
        self.search_for_targets(_TARGET_GAPS, close)
        self.among = _BEST
        if self.gap_exceeds(close):
            self.look(core.order_by_margin(self.offers, self.dual, self.gained)[: core.SIZE], self.gained)
        if self.gap_exceeds(max(_FAR, close)):
            self.search_and_bound(core.order_by_margin(self.offers, self.dual, self.gained), self.gained)
        for every in _AROUND:
            if self.best is not None and self.gap_exceeds(_FAR):
                self.search_neighbourhood(self.best, every)

    def solve_quickly(self, incumbent_gain: float) -> None:
        """The same for a gain above an incumbent, with two targets only."""
        self.effort = _IN_HASTE
        first = _FIRST_TARGET_GAP * (self.limit - incumbent_gain) / core.gain_scale(self.dual)
        # The second target is none: then anything above the incumbent will do. More targets would cost as much as a
        # full search for an answer that is mostly refused by the incumbent.
        self.search_for_targets((first, 1e9), _CLOSE, incumbent_gain)
        self.among = _BEST
        if self.gained > incumbent_gain and self.gap_exceeds(_CLOSE):
            self.look(core.order_by_margin(self.offers, self.dual, self.gained)[: core.SIZE], self.gained)
        if self.gained > incumbent_gain and self.gap_exceeds(_FAR):
            self.search_and_bound(core.order_by_margin(self.offers, self.dual, self.gained), self.gained)

    def gap_exceeds(self, share: float) -> bool:
        """Whether the gap between bound and best choice exceeds a share of the bound."""
        return self.limit - self.gained > share * self.limit

    def search_for_targets(self, given_up: tuple[float, ...], close: float, incumbent_gain: float = -np.inf) -> None:
        """Search with target after target, each farther below the bound, until one is reached."""
        for share in given_up:
            wanted = self.limit - share * abs(self.limit)
            floor = max(wanted, incumbent_gain, self.gained)
            if self.limit - floor <= close * self.limit:
                continue
            self.search_and_bound(core.order_by_importance(self.offers, self.dual, floor), floor)
            if self.gained >= wanted:
                break

    def search_and_bound(self, order: I64, floor: float) -> None:
        """Search all open items. What is not found above the floor does not exist, so the bound may come down."""
        proven = self.look(order, floor)
        self.limit = min(self.limit, max(proven, self.gained))

    def look(self, order: I64, floor: float) -> float:
        """Search some items while all others take their best option by price; return a bound on all such choices."""
        return self.search(order, best_options(self.dual.reduced)[0], floor, self.effort)

    def search_neighbourhood(self, best: I64, every: int) -> None:
        """Search for a choice that differs from the best one in the items that move and some near the threshold."""
        order = core.order_by_importance(self.offers, self.dual, self.gained)
        touched = (best[order] != STAY) | (best_options(self.dual.reduced)[0][order] != STAY)
        others = np.flatnonzero(~touched)[: _NEIGHBOURS * every : every]
        select_core = np.sort(np.concatenate((np.flatnonzero(touched), others))[:_NEIGHBOURS])
        self.search(order[select_core], best, self.gained, _NEARBY)

    def search(self, order: I64, base: I64, floor: float, effort: Effort) -> float:
        """Search for a better choice that differs from a base in some items only; return a bound on all such choices.

        Args:
            order: of the items that are searched.
            base: options of the other items.
            floor: gain that is to be beaten, at least that of the best choice.
            effort: budget of the search.
        """
        base = base.copy()
        base[order] = STAY
        settled = self.offers.total_gain(base)
        inner = replace(self.offers.only(order), capacity=self.offers.capacity - self.offers.total_consumption(base))
        # Measured from the bound of the dual and not from the best choice: a search that has come this near to it
        # cannot be beaten by more, and need not run to its end.
        enough = self.dual.bound - effort.missed * abs(self.dual.bound) - settled
        hurry = self.states_judged > _AT_LENGTH * len(self.offers)
        states = min(effort.states, _HASTY) if hurry else effort.states
        width = int(np.clip(states // max(1, min(core.SIZE, len(order))), *_WIDTH))
        answer = search(inner, _select_prices(self.dual, self.among), width, floor - settled, effort.depth, enough)
        self.states_judged += answer.states_judged
        if answer.choice is not None:
            base[order] = answer.choice
            # Polished over all items, not over those searched: freeing room in the core may let in an item that the
            # search left at its option by price.
            base = polish(self.offers, base, self.dual.price)
            self.best = base if self.offers.total_gain(base) > self.gained else self.best
        return answer.bound + settled


def _select_prices(dual: Prices, among: int | None) -> F64:
    """Prices at which states are bounded: the optimal ones, some from the way to them, and some around them.

    Tight bounds for all states need several prices: each is optimal for another residual capacity.
    """
    at = np.geomspace(1, len(dual.tried[:among]), _PRICES).astype(np.int64) - 1
    at = at[np.diff(at, prepend=-1) > 0]
    around = [dual.price * factor for factor in PRICE_FACTORS[1:]]
    for resource in range(len(dual.price)):
        for factor in _SINGLE_FACTORS:
            price = dual.price.copy()
            price[resource] *= factor
            around.append(price)
    return np.vstack((dual.tried[at], np.array(around)))
