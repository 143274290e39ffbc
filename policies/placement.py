"""The solver: which bundles go where, given what is there already and everything that limits a plan.

A multiple-choice knapsack with several resources. Prices for the resources come first (``prices``: the dual, which is
also the bound); they decide all items but those near the threshold or so large that prices say little about them. Those
are searched through (``search``) for more than a share of what the bound promises, a smaller share each time until
something is found, in two orders; and once more around the best choice where that is still far from the bound. What is
then left of the room is filled, and what was given up without need is taken back. The best of all that was met is the
answer; staying put is always among it.

Up to some dozen items the answer is the optimum and says so: its bound is its gain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.offers import STAY, Offers, best_options, binding
from policies.prices import MANY, Prices, doubts, nearest, prices
from policies.rounding import ALL_DEARER, nothing, polished, rounded
from policies.search import search

CORE = 600  # items that a search goes through
_WIDTH = (64, 32768)
_PRICES = 6  # of those tried on the way
_ONE_DEARER = (0.9, 1.1)
_CLOSE = 2e-5  # of the bound: nearer to it, a search is not worth its time
_FAR = 1e-3  # of the bound: farther from it, the neighbourhood of the best choice is searched too
_GIVEN_UP = (5e-5, 1e-4, 5e-4, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.3, 1e9)  # of the limit, search after search
_GIVEN_UP_FIRST = 0.25  # of what may be had above a floor that was given; then all of it
_LOOKS = ((False, _CLOSE), (True, _FAR))  # in the other order: whether all items are in view; the gap it is for
_NEIGHBOURS = 300  # items
_AROUND = ((0, 1), (0, 3))  # which of what is near: from one on every so many-th
_NEAR = 1e-3  # of the bound: a choice that loses less is open
_WORTH = 1e-3  # of the bound: a resource that is worth less holds nothing up
_TINY = 1e-12  # of the bound
_SMALLEST = 1e-200  # of what a bound may be, in whatever unit
_LARGE = 0.3  # how much size counts beside doubt, in the second search


@dataclass(frozen=True, slots=True)
class _Effort:
    """What one search may take."""

    states: int  # items times states
    missed: float = 0.0  # of the bound: what finds all but so much has found enough
    depth: int = CORE  # items that are decided


_FULL, _OF_MANY = _Effort(1_000_000), _Effort(1_000_000, missed=1e-4)
_IN_HASTE, _NEARBY = _Effort(200_000, depth=200), _Effort(400_000)


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
    scarce, _, _ = binding(offers.scaled())
    everybody = np.arange(len(offers))
    if not len(scarce.room) or not (scarce.gain > 0).any():
        choice, worth = best_options(scarce.gain)
        return Placement(choice=choice, gain=float(worth.sum()), bound=float(worth.sum()), near=everybody)
    found = prices(scarce)
    if len(scarce) > MANY:
        placed = _among_near(scarce, found, floor)
        if placed is not None:
            return placed
    best, limit = _solved(scarce, found, floor)
    choice = nothing(scarce) if best is None else best
    gain = scarce.gained(choice)
    return Placement(choice=choice, gain=gain, bound=max(limit, gain), near=everybody)


def _among_near(offers: Offers, found: Prices, floor: float) -> Placement | None:
    """The answer where all but those who are nearest to changing their choice keep it; None: there is none such."""
    near = nearest(offers, found.reduced)
    choice = best_options(found.reduced)[0]
    choice[near] = STAY
    settled = offers.gained(choice)
    inner = replace(offers.only(near), room=offers.room - offers.used(choice))
    prices_ = replace(found, bound=found.bound - settled, reduced=found.reduced[:, near])
    best, limit = _solved(inner, prices_, floor - settled, _OF_MANY)
    if best is None:
        return None
    choice[near] = best
    gain = offers.gained(choice)
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
    scarce, kept, held_up = binding(replace(offers, room=np.maximum(offers.room, 0.0)).scaled())
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
    scarce, _, _ = binding(offers.scaled())
    given = np.maximum(-scarce.use, 0.0).max(axis=1, initial=0.0).sum(axis=1)
    if not (scarce.gain > 0).any() or np.any(scarce.room + given < 0):
        return as_it_is
    found = prices(scarce)
    if found.bound <= 0:
        return as_it_is
    best, limit = _solved(scarce, found)
    if best is not None and scarce.gained(best) > as_it_is.gain:
        as_it_is = replace(as_it_is, choice=best, gain=scarce.gained(best), near=np.arange(len(offers)))
    return replace(as_it_is, bound=max(as_it_is.bound, limit, as_it_is.gain))


def _solved(offers: Offers, found: Prices, least: float = -np.inf, effort: _Effort = _FULL) -> tuple[I64 | None, float]:
    """The best choice that prices and searches find, and what no choice beats.

    A search is at its best where it is asked for a little less than there is: whatever promises less is out of its way.
    So first it is asked for nearly all that the limit promises, and then for less and less. Where it finds nothing it
    often proves that there is nothing, and the limit comes down. What it finds is then sought to be bettered in another
    order. With a least gain that is to be beaten two searches have to do, nothing that brings less is bettered, and the
    neighbourhood is left alone. Among many a search ends with the first choice that is near enough to the limit.
    """
    best, limit = rounded(offers, found), found.bound
    effort = effort if np.isinf(least) else _IN_HASTE
    close = max(_CLOSE, effort.missed)
    for share in _GIVEN_UP if np.isinf(least) else _given_up_above(least, limit):
        wanted = limit - share * abs(limit)
        floor = max(wanted, least, _gained(offers, best))
        if limit - floor <= close * limit:
            continue
        best, limit = _looked(offers, found, best, limit, floor, 0, whole=True, effort=effort)
        if _gained(offers, best) >= wanted:
            break
    if np.isfinite(least) and _gained(offers, best) <= least:
        return best, limit
    for whole, gap in _LOOKS:
        floor = _gained(offers, best)
        if limit - floor > max(gap, close) * limit:
            best, limit = _looked(offers, found, best, limit, floor, 1, whole=whole, effort=effort)
    for first, every in _AROUND:
        if best is None or np.isfinite(least) or limit - offers.gained(best) <= _FAR * limit:
            break
        best = _around(offers, found, best, first, every)
    return best, limit


def _given_up_above(least: float, limit: float) -> tuple[float, ...]:
    """Shares of the limit that two searches give up where less than that is of no use."""
    return (_GIVEN_UP_FIRST * (limit - least) / max(abs(limit), _SMALLEST), 1e9)


def _around(offers: Offers, found: Prices, best: I64, first: int, every: int) -> I64:
    """A better choice that differs from the best one among what moves and some of what is near, or that one."""
    order = _open(offers, found, offers.gained(best), 0)
    touched = (best[order] != STAY) | (best_options(found.reduced)[0][order] != STAY)
    others = np.flatnonzero(~touched)[first : _NEIGHBOURS * every : every]
    near = np.sort(np.concatenate((np.flatnonzero(touched), others))[:_NEIGHBOURS])
    better, _ = _searched(offers, found, order[near], best, best, offers.gained(best), _NEARBY)
    return best if better is None else better


def _gained(offers: Offers, best: I64 | None) -> float:
    return -np.inf if best is None else offers.gained(best)


def _looked(
    offers: Offers,
    found: Prices,
    best: I64 | None,
    limit: float,
    floor: float,
    order_: int,
    *,
    whole: bool,
    effort: _Effort,
) -> tuple[I64 | None, float]:
    """The best choice after one more search for more than a floor, and what no choice beats.

    With the whole of the items in view it proves something; without those that it does not decide it fills gaps better.
    """
    order = _open(offers, found, floor, order_)
    asked = order if whole else order[:CORE]
    best, proven = _searched(offers, found, asked, best_options(found.reduced)[0], best, floor, effort)
    return best, min(limit, max(proven, _gained(offers, best))) if len(asked) == len(order) else limit


def _open(offers: Offers, found: Prices, floor: float, search_: int, most: int = CORE) -> I64:
    """The items that a search goes through, those first that matter most and are least certain.

    An item is settled where any other choice than its best costs more than all that could still be won.
    """
    doubt, stake = doubts(found.reduced), max(abs(found.bound), _SMALLEST)
    items = np.flatnonzero(doubt <= found.bound - floor)
    weight = np.tensordot(found.price, np.abs(offers.use[:, :, items]), 1)
    weight = np.where(np.isfinite(offers.gain[:, items]), weight, 0.0).max(axis=0)
    weight = np.maximum(weight, _TINY * stake)
    doubt = doubt[items]
    if search_ == 0:
        return items[np.argsort(-weight / (doubt + _NEAR * stake), kind="stable")]
    rank = np.argsort(doubt / weight - _LARGE * np.log(weight), kind="stable")
    cheap, rest = rank[: most // 2], rank[most // 2 :]
    small = rest[np.argsort(doubt[rest], kind="stable")]
    mixed = np.concatenate((cheap, small[: most - len(cheap)]))
    mixed = mixed[np.argsort(-weight[mixed], kind="stable")]
    return items[np.concatenate((mixed, small[most - len(cheap) :]))]


def _searched(
    offers: Offers, found: Prices, order: I64, base: I64, best: I64 | None, floor: float, effort: _Effort
) -> tuple[I64 | None, float]:
    """The best choice so far, or a better one that differs from a base among some items; and a bound on all such.

    Args:
        offers: all of them.
        found: their prices.
        order: of the items that are searched through.
        base: what the others do.
        best: the best choice so far, None: none that fits.
        floor: what is to be beaten, at least what the best choice gains.
        effort: that it may take.
    """
    base = base.copy()
    base[order] = STAY
    settled = offers.gained(base)
    inner = replace(offers.only(order), room=offers.room - offers.used(base))
    enough = found.bound - effort.missed * abs(found.bound)
    width = int(np.clip(effort.states // max(1, min(CORE, len(order))), *_WIDTH))
    answer = search(inner, _judges(found), width, floor - settled, effort.depth, enough - settled)
    if answer.choice is not None:
        base[order] = answer.choice
        base = polished(offers, base, found.price)
        best = base if offers.gained(base) > _gained(offers, best) else best
    return best, answer.bound + settled


def _judges(found: Prices) -> F64:
    """Prices at which states are judged: the best ones, those on the way to them, and some around them."""
    at = np.geomspace(1, len(found.tried), _PRICES).astype(np.int64) - 1
    at = at[np.diff(at, prepend=-1) > 0]
    around = [found.price * factor for factor in ALL_DEARER[1:]]
    for resource in range(len(found.price)):
        for factor in _ONE_DEARER:
            price = found.price.copy()
            price[resource] *= factor
            around.append(price)
    return np.vstack((found.tried[at], np.array(around)))
