"""Choose the granularity of each group: its units separately, or all of them as a whole, never both.

Once the granularity of every group is fixed, what remains is an ordinary knapsack for the ``solver``. The choice is
made with a Lagrangian dual over both: at given prices a group contributes the larger of its gain as a whole and of its
members' gains. That sum, minimised over the prices, bounds all answers of both kinds. A group whose better granularity
leads by more than the remaining gap is settled. Of the others all combinations of a few are tried, the least certain
ones; also all groups separately, and all as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from connectors.model import F64, I64, Bools
from policies.solver.ellipsoid import minimise_within
from policies.solver.offers import STAY, Offers, best_options
from policies.solver.placement import Placement, place
from policies.solver.prices import price_limits
from policies.solver.scarcity import reduce_to_scarce

ALONE = -1  # the group of an item that has none
_CLOSE = 2e-5  # relative gap below which another trial is not worth its time
_FEW = 3  # groups, the least certain ones, whose combinations are all tried


@dataclass(frozen=True, slots=True, kw_only=True)
class GranularityProblem:
    """Offers for ``n`` separate items, and for ``g`` groups of some of them as a whole.

    Both have the same options and resources, and their items in canonical order.
    """

    single: Offers
    grouped: Offers  # one item a group
    group: I64  # (n,) item of ``grouped`` that holds each of ``single`` too, or ALONE

    def __len__(self) -> int:
        return len(self.single) + len(self.grouped)

    def joint(self) -> Offers:
        """All items, the separate ones first; of a group and its members only one side may be chosen."""
        return Offers(
            gain=np.concatenate((self.single.gain, self.grouped.gain), axis=1),
            consumption=np.concatenate((self.single.consumption, self.grouped.consumption), axis=2),
            capacity=self.single.capacity,
        )

    def offers(self, whole: Bools) -> Offers:
        """The ordinary problem with those groups as a whole and all else separate."""
        return self.joint().only(self.are_offered(whole))

    def are_offered(self, whole: Bools) -> Bools:
        """Which of all items that problem holds. Shape ``(n + g,)``."""
        return np.append(~np.append(whole, False)[self.group], whole)  # ALONE reads the last


@dataclass(frozen=True, slots=True, kw_only=True)
class GranularityChoice:
    """The granularity of every group, and what it is worth."""

    whole: Bools  # (g,)
    placement: Placement  # of ``GranularityProblem.offers(whole)``; its bound is one on the answers of both kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """The lowest bound found, and how much better each group is as a whole at its prices."""

    bound: float
    advantage: F64  # (g,) negative where the members are worth more by themselves


def choose_granularity(problem: GranularityProblem) -> GranularityChoice:
    """The best granularity found; optimal for a few groups and some dozen items.

    Never worse than all groups as a whole, or none.
    """
    none = np.zeros(len(problem.grouped), dtype=np.bool_)
    if not len(none):
        return GranularityChoice(whole=none, placement=place(problem.single))  # the only question there is
    dual = solve_dual(problem)
    start = dual.advantage > 0
    # Both extremes are tried whatever the dual says: so the answer is never worse than a planner that knows one
    # granularity.
    best = max((_solve_for(problem, whole) for whole in (none, ~none, start)), key=_gain)
    limit = dual.bound
    if limit - _gain(best) > _CLOSE * limit:
        open_ = _unsettled_groups(dual, _gain(best))
        tried = [_solve_for(problem, whole) for whole in _combinations(start, open_[:_FEW])]
        best = max((best, *tried), key=_gain)
        # All combinations of the open groups prove the optimum, since every other group is settled.
        if len(open_) <= _FEW:
            limit = min(limit, max(each.placement.bound for each in tried))
    return replace(best, placement=replace(best.placement, bound=max(limit, _gain(best))))


def _solve_for(problem: GranularityProblem, whole: Bools) -> GranularityChoice:
    return GranularityChoice(whole=whole, placement=place(problem.offers(whole)))


def _gain(choice: GranularityChoice) -> float:
    return choice.placement.gain


def _unsettled_groups(dual: Dual, gain: float) -> I64:
    """Groups whose other granularity may be part of a better answer, the least certain first."""
    doubt = np.abs(dual.advantage)
    open_ = np.flatnonzero(doubt <= dual.bound - gain)
    return open_[np.argsort(doubt[open_], kind="stable")]


def _combinations(start: Bools, open_: I64) -> Iterator[Bools]:
    """Every combination of the open groups, the others as they are."""
    for choice in product((False, True), repeat=len(open_)):
        whole = start.copy()
        whole[open_] = choice
        yield whole


def solve_dual(problem: GranularityProblem) -> Dual:
    """Minimise the bound on answers of both granularities by the ellipsoid method (``solver.ellipsoid``).

    A resource that is overdrawn from the start counts as just used up, which keeps the bound valid: more capacity is
    never worth less.
    """
    scarce, _ = reduce_to_scarce(replace(problem.joint(), capacity=np.maximum(problem.single.capacity, 0.0)))

    def evaluate(_row: I64, price: F64) -> tuple[F64, F64]:
        found, slope = _evaluate_dual(scarce, problem.group, price[0])
        return np.array([found.bound]), slope[np.newaxis]

    # Prices of 0 as well: where nothing is scarce they are optimal, and they lie on the corner of the first ellipsoid,
    # which its cuts approach but never reach.
    prices = [np.zeros(len(scarce.capacity))]
    if len(scarce.capacity):
        prices.append(minimise_within(evaluate, price_limits(scarce))[0])
    return min((_evaluate_dual(scarce, problem.group, price)[0] for price in prices), key=lambda dual: dual.bound)


def _evaluate_dual(joint: Offers, group: I64, price: F64) -> tuple[Dual, F64]:
    """The dual at some prices, and a subgradient."""
    choice, worth = best_options(joint.reduced_gain(price))
    single = len(group)
    members = np.bincount(group + 1, weights=worth[:single], minlength=len(joint) - single + 1)
    advantage = worth[single:] - members[1:]
    taken = advantage > 0
    choice[:single][np.append(taken, False)[group]] = STAY  # ALONE reads the last
    choice[single:][~taken] = STAY
    bound = float(price @ joint.capacity + members.sum() + advantage[taken].sum())
    return Dual(bound=bound, advantage=advantage), joint.capacity - joint.total_consumption(choice)
