"""Choose the granularity of each group: its units separately, or all of them as a whole, never both.

Once the granularity of every group is fixed, what remains is an ordinary knapsack for the ``solver``. The choice is
made with a Lagrangian dual over both: at given prices a group contributes the larger of its gain as a whole and of its
members' gains. That sum, minimised over the prices, bounds all answers of both kinds. A group whose better granularity
leads by more than the remaining gap is settled. The others are enumerated if they are few, otherwise improved by
flipping one group at a time. All groups separately and all groups as a whole are always tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from connectors.model import F64, I64, Bools
from policies.solver.ellipsoid import Ellipsoid
from policies.solver.offers import SLACK, STAY, Offers, best_options
from policies.solver.placement import Placement, place

ALONE = -1  # the group of an item that has none
_CLOSE = 2e-5  # relative gap below which another trial is not worth its time
_FEW = 6  # open groups whose combinations are all tried
_ITEMS_TRIED = 300_000  # items in all trials together, within ...
_TRIES = 8, 24  # ... this least and greatest number of trials
_CUTS = 400  # most cuts, times the number of resources
_TOLERANCE = 1e-9  # relative, of the bound


@dataclass(frozen=True, slots=True, kw_only=True)
class GranularityProblem:
    """Offers for ``n`` separate items, and for ``g`` groups of some of them as a whole.

    Both have the same options and resources, and their items in canonical order.
    """

    single: Offers
    grouped: Offers  # one item a group
    group: I64  # (n,) item of ``wide`` that holds each of ``narrow`` too, or ALONE

    def __len__(self) -> int:
        return len(self.single) + len(self.grouped)

    def offers(self, whole: Bools) -> tuple[Offers, I64, I64]:
        """The ordinary problem with those groups as a whole and all else separate; and which items of both it holds."""
        alone = np.flatnonzero((self.group == ALONE) | ~np.append(whole, False)[self.group])  # ALONE reads the last
        together = np.flatnonzero(whole)
        return (
            Offers(
                gain=np.concatenate((self.single.gain[:, alone], self.grouped.gain[:, together]), axis=1),
                consumption=np.concatenate(
                    (self.single.consumption[:, :, alone], self.grouped.consumption[:, :, together]), axis=2
                ),
                capacity=self.single.capacity,
            ),
            alone,
            together,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GranularityChoice:
    """The granularity of every group, and what it is worth."""

    whole: Bools  # (g,)
    placement: Placement  # of ``Ways.offers(whole)``; its bound is one on the answers of both kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """The lowest bound found, and how much better each group is as a whole at its prices."""

    bound: float
    advantage: F64  # (g,) negative where the members are worth more by themselves


@dataclass(slots=True)
class _Trials:
    """The granularities tried so far, and their answers."""

    problem: GranularityProblem
    best: GranularityChoice | None = None
    bounds: dict[bytes, float] = field(default_factory=dict)

    def evaluate(self, whole: Bools) -> float:
        """Solve for one granularity, unless that was done before. Its bound."""
        name = whole.tobytes()
        if name not in self.bounds:
            answer = place(self.problem.offers(whole)[0])
            self.bounds[name] = answer.bound
            if self.best is None or answer.gain > self.best.placement.gain:
                self.best = GranularityChoice(whole=whole.copy(), placement=answer)
        return self.bounds[name]

    @property
    def gain(self) -> float:
        """The best gain so far."""
        return 0.0 if self.best is None else self.best.placement.gain

    def answer(self, limit: float) -> GranularityChoice:
        """The best answer so far, under an upper bound on answers of both kinds."""
        assert self.best is not None, "at least one granularity was tried"
        found = self.best.placement
        limit = found.bound if len(self.bounds) == 1 else max(found.gain, limit)
        return replace(self.best, placement=replace(found, bound=limit))

    def evaluations_left(self) -> int:
        """How many more trials there is time for."""
        return int(np.clip(_ITEMS_TRIED // max(1, len(self.problem)), *_TRIES)) - len(self.bounds)


def choose_granularity(problem: GranularityProblem) -> GranularityChoice:
    """The best granularity found; optimal for a few groups and some dozen items.

    Never worse than all groups as a whole, or none.
    """
    groups = len(problem.grouped)
    trials = _Trials(problem)
    trials.evaluate(np.zeros(groups, dtype=np.bool_))
    if not groups:
        return trials.answer(np.inf)  # the only question there is
    # Both extremes are tried whatever the dual says: so the answer is never worse than a planner that knows one
    # granularity.
    trials.evaluate(np.ones(groups, dtype=np.bool_))
    dual = solve_dual(problem)
    start = dual.advantage > 0
    trials.evaluate(start)
    open_ = _unsettled_groups(dual, trials.gain)
    if dual.bound - trials.gain <= _CLOSE * dual.bound:
        return trials.answer(dual.bound)
    # All combinations of the open groups prove the optimum, since every other group is settled; beyond a handful there
    # are too many, and flipping finds most of what they would.
    if len(open_) <= _FEW and 2 ** len(open_) <= trials.evaluations_left():
        proven = max(trials.evaluate(each) for each in _combinations(start, open_))
        return trials.answer(min(proven, dual.bound))
    _flip(trials, open_)
    return trials.answer(dual.bound)


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


def _flip(trials: _Trials, open_: I64) -> None:
    """Local search: the other granularity for one group after the other, kept if better."""
    for group in open_:
        if trials.evaluations_left() <= 0:
            break
        assert trials.best is not None, "at least one granularity was tried"
        whole = trials.best.whole.copy()
        whole[group] = not whole[group]
        trials.evaluate(whole)


def solve_dual(problem: GranularityProblem) -> Dual:
    """Minimise the bound on answers of both granularities by the ellipsoid method (``solver.ellipsoid``).

    A resource that is overdrawn from the start counts as just used up, which keeps the bound valid: more capacity is
    never worth less.
    """
    problem = _scarce(problem)
    capacity = problem.single.capacity
    scale = _scale(problem, capacity)
    best = _evaluate_dual(problem, capacity, np.zeros(len(capacity)))[0]
    ellipsoid = Ellipsoid.around(len(capacity))
    # Prices of 0 are tried first: where nothing is scarce they are optimal, and they lie on the corner of the first
    # ellipsoid, which its cuts approach but never reach.
    ellipsoid.lowest_value = best.bound

    def look(price: F64) -> tuple[float, F64]:
        nonlocal best
        found, slope = _evaluate_dual(problem, capacity, price * scale)
        best = found if found.bound < best.bound else best
        return found.bound, slope * scale

    for _ in range(_CUTS * len(capacity)):
        if not ellipsoid.cut(look, _TOLERANCE):
            break
    return best


def _scarce(problem: GranularityProblem) -> GranularityProblem:
    """The same without resources that cannot run out, and without options that stay infeasible whatever is released."""
    capacity = np.maximum(problem.single.capacity, 0.0)
    sides = [
        replace(each, consumption=np.where(np.isfinite(each.gain), each.consumption, 0.0))
        for each in (problem.single, problem.grouped)
    ]
    rows = sum((each.max_consumption() for each in sides), 0 * capacity) > capacity
    left = sum((each.max_release() for each in sides), capacity + SLACK)[rows, np.newaxis, np.newaxis]
    single, grouped = (
        Offers(
            gain=np.where(np.all(each.consumption[rows] <= left, axis=0), each.gain, -np.inf),
            consumption=each.consumption[rows],
            capacity=capacity[rows],
        )
        for each in sides
    )
    return GranularityProblem(single=single, grouped=grouped, group=problem.group)


def _evaluate_dual(problem: GranularityProblem, capacity: F64, price: F64) -> tuple[Dual, F64]:
    """The dual at some prices, and a subgradient."""
    groups = len(problem.grouped)
    (alone, own), (together, whole) = (
        best_options(each.reduced_gain(price)) for each in (problem.single, problem.grouped)
    )
    members = np.bincount(problem.group + 1, weights=own, minlength=groups + 1)
    advantage = whole - members[1:]
    taken = advantage > 0
    by_itself = np.where((problem.group == ALONE) | ~np.append(taken, False)[problem.group], alone, STAY)
    total_consumption = problem.single.total_consumption(by_itself) + problem.grouped.total_consumption(
        np.where(taken, together, STAY)
    )
    bound = float(price @ capacity + members.sum() + advantage[taken].sum())
    return Dual(bound=bound, advantage=advantage), capacity - total_consumption


def _scale(problem: GranularityProblem, capacity: F64) -> F64:
    """Upper bound of the optimal prices: all capacity cannot be worth more than the largest gain less the smallest."""
    sides = problem.single, problem.grouped
    stake, given = (
        sum(offers.gain_range() for offers in sides),
        sum((offers.max_release() for offers in sides), capacity),
    )
    return np.asarray(max(stake, 1e-300) / np.maximum(given, 1e-12), dtype=np.float64)
