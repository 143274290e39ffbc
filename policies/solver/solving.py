"""From the best prices to the best choice that searches find, and to what no choice beats.

A search (``search``) is at its best where it is asked for a little less than there is: whatever promises less is out of
its way. So first it is asked for nearly all that the limit promises, and then for less and less. Where it finds nothing
it often proves that there is nothing, and the limit comes down. What it finds is then sought to be bettered in another
order and judged at other prices, nearer to the best ones: what one search overlooks another may see. The same around it
where it is still far from the limit. Whatever is found, the room that is left is filled and what was given up without
need is taken back (``rounding``).

All searches together have so many states to look at before they go on in haste: what was hard to find is seldom
bettered, and an answer that takes twice as long is not worth it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64, I64
from policies.solver import core
from policies.solver.offers import STAY, Offers, best_options
from policies.solver.prices import Prices
from policies.solver.rounding import ALL_DEARER, polish, round_choice
from policies.solver.search import search

_WIDTH = (64, 32768)
_PRICES = 6  # of those tried on the way
_BEST = 20  # of those, among which they are when something is to be bettered
_ONE_DEARER = (0.9, 1.1)
_CLOSE = 2e-5  # of the bound: nearer to it, a search is not worth its time
_FAR = 1e-3  # of the bound: farther from it, the neighbourhood of the best choice is searched too
_GIVEN_UP = (5e-5, 1e-4, 5e-4, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.3, 1e9)  # of the limit, search after search
_GIVEN_UP_FIRST = 0.25  # of what may be had above a floor that was given; then all of it
_NEIGHBOURS = 300  # items
_AROUND = (1, 3)  # of what is near every so many-th
_HASTY, _AT_LENGTH = 150_000, 1_000  # states of a search in haste; and how many for each item come before all haste


@dataclass(frozen=True, slots=True)
class Effort:
    """What one search may take."""

    states: int  # items times states
    missed: float = 0.0  # of the bound: what finds all but so much has found enough
    depth: int = core.SIZE  # items that are decided


_FULL, OF_MANY = Effort(1_000_000), Effort(500_000, missed=2e-4, depth=300)
_IN_HASTE, _NEARBY = Effort(200_000, depth=200), Effort(400_000)


def solve(offers: Offers, found: Prices, least: float = -np.inf, effort: Effort = _FULL) -> tuple[I64 | None, float]:
    """The best choice that was found, and what no choice beats.

    Args:
        offers: at least one resource.
        found: their prices.
        least: gain that is to be beaten: then two searches have to do, nothing that brings less is bettered, and the
            neighbourhood is left alone.
        effort: of each search, where there is no such gain.
    """
    solving = _Solving(offers=offers, found=found, effort=effort)
    if np.isinf(least):
        solving.thoroughly()
    else:
        solving.in_haste(least)
    return solving.best, solving.limit


@dataclass(slots=True, kw_only=True)
class _Solving:
    """An answer as far as it has come."""

    offers: Offers
    found: Prices
    effort: Effort
    best: I64 | None = field(init=False)  # choice that fits
    limit: float = field(init=False)  # no choice beats it
    among: int | None = None  # of the prices tried so many best are judged at
    looked: int = 0  # states that were looked at

    def __post_init__(self) -> None:
        self.best, self.limit = round_choice(self.offers, self.found), self.found.bound

    @property
    def gained(self) -> float:
        """By the best choice."""
        return -np.inf if self.best is None else self.offers.total_gain(self.best)

    def thoroughly(self) -> None:
        """Ask for less and less until something is found; then try to better it."""
        close = max(_CLOSE, self.effort.missed)
        self.ask(_GIVEN_UP, close)
        self.among = _BEST
        if self.misses(close):
            self.look(core.by_doubt(self.offers, self.found, self.gained)[: core.SIZE], self.gained)
        if self.misses(max(_FAR, close)):
            self.prove(core.by_doubt(self.offers, self.found, self.gained), self.gained)
        for every in _AROUND:
            if self.best is not None and self.misses(_FAR):
                self.look_around(self.best, every)

    def in_haste(self, least: float) -> None:
        """The same for more than a least gain."""
        self.effort = _IN_HASTE
        first = _GIVEN_UP_FIRST * (self.limit - least) / core.stake(self.found)
        self.ask((first, 1e9), _CLOSE, least)
        self.among = _BEST
        if self.gained > least and self.misses(_CLOSE):
            self.look(core.by_doubt(self.offers, self.found, self.gained)[: core.SIZE], self.gained)
        if self.gained > least and self.misses(_FAR):
            self.prove(core.by_doubt(self.offers, self.found, self.gained), self.gained)

    def misses(self, share: float) -> bool:
        """Whether the best choice misses more than that of the limit."""
        return self.limit - self.gained > share * self.limit

    def ask(self, given_up: tuple[float, ...], close: float, least: float = -np.inf) -> None:
        """Search for all but a share of the limit, share after share, until that much is found."""
        for share in given_up:
            wanted = self.limit - share * abs(self.limit)
            floor = max(wanted, least, self.gained)
            if self.limit - floor <= close * self.limit:
                continue
            self.prove(core.by_importance(self.offers, self.found, floor), floor)
            if self.gained >= wanted:
                break

    def prove(self, order: I64, floor: float) -> None:
        """Search with all open items in view: what is not found above the floor is not there."""
        proven = self.look(order, floor)
        self.limit = min(self.limit, max(proven, self.gained))

    def look(self, order: I64, floor: float) -> float:
        """Search among some items, all others as their prices say; what no such choice beats."""
        return self.search(order, best_options(self.found.reduced)[0], floor, self.effort)

    def look_around(self, best: I64, every: int) -> None:
        """Search for a choice that differs from the best one among what moves and some of what is near."""
        order = core.by_importance(self.offers, self.found, self.gained)
        touched = (best[order] != STAY) | (best_options(self.found.reduced)[0][order] != STAY)
        others = np.flatnonzero(~touched)[: _NEIGHBOURS * every : every]
        near = np.sort(np.concatenate((np.flatnonzero(touched), others))[:_NEIGHBOURS])
        self.search(order[near], best, self.gained, _NEARBY)

    def search(self, order: I64, base: I64, floor: float, effort: Effort) -> float:
        """Search for a better choice that differs from a base among some items, and return a bound on all such.

        Args:
            order: of the items that are searched through.
            base: what the others do.
            floor: what is to be beaten, at least what the best choice gains.
            effort: that it may take.
        """
        base = base.copy()
        base[order] = STAY
        settled = self.offers.total_gain(base)
        inner = replace(self.offers.only(order), room=self.offers.room - self.offers.used(base))
        enough = self.found.bound - effort.missed * abs(self.found.bound) - settled
        hurry = self.looked > _AT_LENGTH * len(self.offers)
        states = min(effort.states, _HASTY) if hurry else effort.states
        width = int(np.clip(states // max(1, min(core.SIZE, len(order))), *_WIDTH))
        answer = search(inner, _judges(self.found, self.among), width, floor - settled, effort.depth, enough)
        self.looked += answer.looked
        if answer.choice is not None:
            base[order] = answer.choice
            base = polish(self.offers, base, self.found.price)
            self.best = base if self.offers.total_gain(base) > self.gained else self.best
        return answer.bound + settled


def _judges(found: Prices, among: int | None) -> F64:
    """Prices at which states are judged: the best ones, those on the way to them, and some around them."""
    at = np.geomspace(1, len(found.tried[:among]), _PRICES).astype(np.int64) - 1
    at = at[np.diff(at, prepend=-1) > 0]
    around = [found.price * factor for factor in ALL_DEARER[1:]]
    for resource in range(len(found.price)):
        for factor in _ONE_DEARER:
            price = found.price.copy()
            price[resource] *= factor
            around.append(price)
    return np.vstack((found.tried[at], np.array(around)))
