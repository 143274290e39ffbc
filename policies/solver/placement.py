"""The solver: which bundles go where, given what is there already and everything that limits a plan.

A multiple-choice knapsack with several resources. Prices for the resources come first (``prices``: the dual, which is
also the bound); they decide all items but those near the threshold or so large that prices say little about them
(``core``). Those are searched through (``solving``). The best of all that was met is the answer; staying put is always
among it. Of many items only the core is put before the solver, and all others do what their prices say.

Up to some dozen items the answer is the optimum and says so: its bound is its gain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import I64, Bools
from policies.solver import core
from policies.solver.offers import STAY, Offers, best_options, doubts
from policies.solver.prices import MANY, Prices, prices
from policies.solver.rounding import nothing
from policies.solver.scarcity import binding
from policies.solver.solving import OF_MANY, solve

_WORTH = 1e-3  # of the bound: a resource that is worth less holds nothing up


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The answer to some offers."""

    choice: I64  # (n,) option of each item, STAY for none
    gain: float  # of all options taken, never below 0
    bound: float  # no choice brings more
    near: I64  # of many items those nearest to another choice and those that are not left alone; of few all


def place(offers: Offers, floor: float = -np.inf) -> Placement:
    """The best choice found, within every resource but for rounding (``offers.SLACK`` of its largest single use).

    Where a resource is overdrawn from the start, nothing uses more.

    Args:
        offers: what there is to choose.
        floor: gain that is to be beaten; what does not is looked for in haste.
    """
    if len(offers.room) and float(offers.room.min()) < 0:
        return _overdrawn(offers)
    scarce, _, _ = binding(offers)
    everybody = np.arange(len(offers))
    if not len(scarce.room) or not (scarce.gain > 0).any():
        choice, worth = best_options(scarce.gain)
        return Placement(choice=choice, gain=float(worth.sum()), bound=float(worth.sum()), near=everybody)
    found = prices(scarce)
    if len(scarce) > MANY:
        placed = _among_near(scarce, found, floor)
        if placed is not None:
            return placed
    best, limit = solve(scarce, found, floor)
    choice = nothing(scarce) if best is None else best
    gain = scarce.total_gain(choice)
    return Placement(choice=choice, gain=gain, bound=max(limit, gain), near=everybody)


def _among_near(offers: Offers, found: Prices, floor: float) -> Placement | None:
    """The answer where all but those who are nearest to changing their choice keep it; None: there is none such."""
    near = core.near(offers, found)
    choice = best_options(found.reduced)[0]
    choice[near] = STAY
    settled = offers.total_gain(choice)
    inner = replace(offers.only(near), room=offers.room - offers.used(choice))
    prices_ = replace(found, bound=found.bound - settled, reduced=found.reduced[:, near])
    share = core.stake(found) / core.stake(prices_)  # it is of everything that so much may be missed
    best, limit = solve(inner, prices_, floor - settled, replace(OF_MANY, missed=OF_MANY.missed * share))
    if best is None:
        return None
    choice[near] = best
    gain = offers.total_gain(choice)
    if gain < 0:
        return None
    far = np.ones(len(offers), dtype=np.bool_)
    far[near] = False
    touched = np.flatnonzero(~far | (choice != STAY))
    sure = float(doubts(found.reduced[:, far]).min()) > found.bound - gain  # nobody else has a say in it
    return Placement(choice=choice, gain=gain, bound=max(limit + settled if sure else found.bound, gain), near=touched)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What no choice beats, and why not more."""

    gain: float
    held_up: Bools  # (k,) resources that hold the gain up: with more of them there were more to gain


def bound(offers: Offers) -> Bound:
    """The dual alone, where the choice itself is not wanted."""
    scarce, kept, held_up = binding(replace(offers, room=np.maximum(offers.room, 0.0)))
    if not len(scarce.room) or not (scarce.gain > 0).any():
        return Bound(gain=float(best_options(scarce.gain)[1].sum()), held_up=held_up)
    found = prices(scarce)
    held_up[kept] |= (found.price * scarce.room > _WORTH * found.bound) | (scarce.room <= 0)
    return Bound(gain=max(0.0, found.bound), held_up=held_up)


def _overdrawn(offers: Offers) -> Placement:
    """The better of two answers: first repay what is overdrawn, or leave that as it is and use no more of it."""
    over = offers.room < 0
    more = (offers.use[over] > 0).any(axis=0)
    as_it_is = place(
        Offers(gain=np.where(more, -np.inf, offers.gain), use=offers.use, room=np.maximum(offers.room, 0.0))
    )
    scarce, _, _ = binding(offers)
    if not (scarce.gain > 0).any() or np.any(scarce.room + scarce.most_given() < 0):
        return as_it_is
    found = prices(scarce)
    if found.bound <= 0:
        return as_it_is
    best, limit = solve(scarce, found)
    if best is not None and scarce.total_gain(best) > as_it_is.gain:
        as_it_is = replace(as_it_is, choice=best, gain=scarce.total_gain(best), near=np.arange(len(offers)))
    return replace(as_it_is, bound=max(as_it_is.bound, limit, as_it_is.gain))
