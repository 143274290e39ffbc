"""Shadow prices: the Lagrangian dual, its minimum by the ellipsoid method, and sifting of many items.

``minimise`` is the ellipsoid method with deep cuts (Shor; Yudin and Nemirovski). A dual is convex and piecewise linear
in the prices, and a subgradient is free: capacity less consumption. With two to eight resources the ellipsoid shrinks
fast, needs no step size, and ends with a proof of how near it is. Subgradient descent needs tuned steps and has no such
proof; bisection works for a single resource only. Several functions are minimised side by side. An ellipsoid is
represented by axes that map the unit ball to it, ``centre + axes @ ball``. The textbook matrix ``axes @ axes.T``
squares the condition number and loses half the digits when two resources are consumed nearly alike.

``DualEvaluator`` prices the capacities into the objective, so every item takes its best option independently. The sum
of the reduced gains plus the value of all capacity is an upper bound on every feasible choice, whatever the prices.

``sift_prices`` solves the dual of many items. Sifting is column generation over items that exist already (Bixby et al.,
"Very large-scale linear programming", 1992). A sample gives the first prices. The working set is the items nearest to
changing their option at these prices; a weighted sample stands for how much the others would change. Items that do
change at the new prices join the set. Once none does, the prices are optimal for all items. A million items thus cost a
few passes instead of some hundred.

``prices`` gives the shadow prices and the bound that they prove, by the ellipsoid method for few items and by sifting
for many. The minimum equals the bound of the linear relaxation (Geoffrion, "Lagrangean relaxation for integer
programming", 1974: items without constraints of their own have the integrality property).

``round_choice`` raises the prices until what they choose fits, which makes a feasible choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from connectors.model.observation import F64, I8, I64, Bools
from policies.placement.solver.offers import STAY, Offers, best_options, margins

Depth = TypeVar("Depth", float, F64)
CLOSE = 1e-9  # relative tolerance of a bound
_CUTS_PER_PRICE = 400  # most cuts, times the number of resources

# Values ``(s,)`` and subgradients ``(s, k)`` of the functions of some rows ``(s,)`` at prices ``(s, k)``.
Evaluate = Callable[[I64, F64], tuple[F64, F64]]


@dataclass(frozen=True, slots=True)
class Minima:
    """The lowest that was found of each of ``s`` functions, and all that was tried, the lowest first."""

    price: F64  # (s, k)
    tried: F64  # (tries, k), of all functions


def minimise(
    evaluate: Evaluate, centre: F64, radius: F64, rounds: int, *, relative: float = 0.0, absolute: float = 0.0
) -> Minima:
    """Minimise over the non-negative prices.

    Args:
        evaluate: the functions.
        centre: prices at which each begins, shape ``(s, k)``.
        radius: half lengths of its first ellipsoid, shape ``(s, k)``.
        rounds: most cuts of each.
        relative: tolerance of the value, as a share of it.
        absolute: tolerance of the value.
    """
    unit = np.eye(centre.shape[1])
    axes = radius[:, :, np.newaxis] * unit
    best, lowest_value, row = centre.copy(), np.full(len(centre), np.inf), np.arange(len(centre))
    values, tried = [np.zeros(0)], [np.zeros((0, centre.shape[1]))]
    for _ in range(rounds):
        depth = -centre.min(axis=1)
        outside = depth > 0
        # Cut without evaluating: at a negative price the sum is no bound, since overdrawing a resource would be
        # rewarded, and an evaluation costs a pass over all items.
        if outside.all():
            slope, near = -unit[centre.argmin(axis=1)], 0.0 * depth
        else:
            value, slope = evaluate(row, centre)
            near = np.where(outside, 0.0, relative * np.abs(value) + absolute)
            if outside.any():
                value[outside], slope[outside] = np.inf, -unit[centre[outside].argmin(axis=1)]
            values.append(value)
            tried.append(centre)
            better = value < lowest_value[row]
            lowest_value[row[better]], best[row[better]] = value[better], centre[better]
            # A deep cut, through the best value seen: where the linear minorant exceeds it there can be no minimum. A
            # cut through the centre would keep that part, and need more evaluations.
            depth = np.where(outside, depth, value - lowest_value[row])
        direction = (slope[:, np.newaxis] @ axes)[:, 0]
        half_width = np.sqrt((direction * direction).sum(axis=1))
        # The function cannot fall by more than the half width inside the ellipsoid, so this is also the proof of how
        # near the best value is to the minimum.
        live = half_width > np.maximum(depth, near)
        if not live.all():
            row, centre, axes = row[live], centre[live], axes[live]
            direction, half_width, depth = direction[live], half_width[live], depth[live]
        if not len(row):
            break
        half_width = half_width[:, np.newaxis]
        centre, axes = _cut(centre, axes, direction / half_width, depth[:, np.newaxis] / half_width)
    found = np.concatenate(values)
    order = np.argsort(found, kind="stable")[: np.count_nonzero(np.isfinite(found))]
    return Minima(best, np.concatenate(tried)[order])


def minimise_within(evaluate: Evaluate, limits: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried while minimising one function over the box up to some limits, the best first, ``(tries, k)``.

    Args:
        evaluate: the function, as the only row.
        limits: upper bound of the optimal price of each resource.
        worth: is added to the function's value where the tolerance is taken.
        close: tolerance, as a share of the value.
    """
    resources = len(limits)
    # The smallest ellipsoid around the box.
    centre, radius = limits[np.newaxis] / 2, limits[np.newaxis] * np.sqrt(resources / 4)
    rounds = _CUTS_PER_PRICE * resources
    return minimise(evaluate, centre, radius, rounds, relative=close, absolute=close * max(worth, 0.0)).tried


def _cut(centre: F64, axes: F64, direction: F64, depth: F64) -> tuple[F64, F64]:
    """Centres ``(s, k)`` and axes ``(s, k, k)`` after one cut each.

    Args:
        centre: of each.
        axes: of each.
        direction: unit normal of each cut, in the coordinates of the ball that the axes map, shape ``(s, k)``.
        depth: of each cut, shape ``(s, 1)``.
    """
    shift, kept, growth = enclosing_cut(centre.shape[1], depth)
    step = (axes @ direction[:, :, np.newaxis])[:, :, 0]
    shorter = step[:, :, np.newaxis] * (direction * (1 - kept))[:, np.newaxis]
    return centre - step * shift, (axes - shorter) * growth[:, :, np.newaxis]


def enclosing_cut(n: int, depth: Depth) -> tuple[Depth, Depth, Depth]:
    """The smallest ellipsoid around what a half-space leaves of an ellipsoid.

    Args:
        n: dimensions.
        depth: of the cut, 0 through the centre to 1 at the far end; one or several.

    Returns:
        the shift of the centre and the length left, both in the direction of the cut and as shares of the old half
            width;
        and the factor by which all lengths grow afterwards.
    """
    # In one dimension the ellipsoid is an interval; the general formula would divide by n * n - 1 = 0.
    if n == 1:
        return (1 + depth) / 2, (1 - depth) / 2, depth**0  # 1, for each
    left = (n - 1) * (1 - depth) / ((n + 1) * (1 + depth))
    return (1 + n * depth) / (n + 1), left**0.5, (n * n / (n * n - 1) * (1 - depth * depth)) ** 0.5


_DUAL_ROUNDS = 24  # most cuts of each state
_REACH = 2.0  # radius of a state's first ellipsoid, times the starting price of each resource
_LEAST = 0.2  # the same, at least, times the highest starting price of the resource
_NEAR = 1e-3  # of the relaxed gain: added to margins, so that among near ties size decides
_TINY = 1e-12
_SMALLEST = 1e-200  # least relaxed gain, in whatever unit; avoids a division by 0


def minimise_dual(offers: Offers, scale: F64, worth: float = 0.0, close: float = CLOSE) -> F64:
    """Prices tried while minimising the dual, the best first, shape ``(tries, k)``.

    Args:
        offers: the open items.
        scale: upper bound of the optimal price of each resource.
        worth: gain of all other items; the tolerance is a share of it too.
        close: relative tolerance of the bound.
    """
    evaluator = DualEvaluator(offers)

    def evaluate(_row: I64, price: F64) -> tuple[F64, F64]:
        return evaluator.evaluate(price, offers.capacity[:, np.newaxis])

    return minimise_within(evaluate, scale, worth, close)


def reprice(offers: Offers, residual: F64, start: F64, close: float) -> F64:
    """The prices with the lowest bound found for each of several states. Shape ``(s, k)``.

    Once large items are decided, the residual capacity differs from state to state, and so do its optimal prices. The
    first ellipsoids are those around prices that are known to be near; they need not contain the optimum, and the
    search ends early: any prices prove a valid bound, and these prove a tight one for most states.

    Args:
        offers: the items that are open in all states; their capacity is not used.
        residual: capacity left of each resource in each state, shape ``(k, s)``.
        start: prices near the optimal ones, shape ``(s, k)``.
        close: absolute tolerance of a bound.
    """
    evaluator = DualEvaluator(offers)

    def evaluate(row: I64, price: F64) -> tuple[F64, F64]:
        return evaluator.evaluate(price, residual[:, row])

    radius = _REACH * np.maximum(start, np.maximum(_LEAST * start.max(axis=0), 1e-300))
    return minimise(evaluate, start, radius, _DUAL_ROUNDS, absolute=close).price


def importance(offers: Offers, price: F64, stake: float) -> F64:
    """The price of each item's options over its margin, at the prices where that is highest. Shape ``(n,)``.

    A large item may be far from the threshold by its gain and still decide how much capacity is left for all others.

    Args:
        offers: the items.
        price: shape ``(s, k)``.
        stake: what there is to gain; tells what a near tie is.
    """
    evaluator, stake = DualEvaluator(offers), max(stake, _SMALLEST)
    margin = evaluator.rank_options(price)[2]
    return np.asarray(
        ((evaluator.weight(price) + _TINY * stake) / (margin + _NEAR * stake)).max(axis=0), dtype=np.float64
    )


class DualEvaluator:
    """Evaluates the relaxed items at several prices at once, one row of prices per state."""

    def __init__(self, offers: Offers) -> None:
        resources, options, items = offers.consumption.shape
        self._gain, self._use = offers.gain, offers.consumption.reshape(resources, options * items)
        self._by_option = [np.ascontiguousarray(offers.consumption[:, option].T) for option in range(options)]

    def _price_of(self, price: F64, use: F64) -> F64:
        """The price of what each option uses, shape ``(s, o, n)``."""
        return np.asarray((price @ use).reshape(len(price), *self._gain.shape), dtype=np.float64)

    def evaluate(self, price: F64, residual: F64) -> tuple[F64, F64]:
        """The dual bound of each state at its prices, shape ``(s,)``, and subgradients, shape ``(s, k)``."""
        reduced = self._gain - self._price_of(price, self._use)
        worth = np.zeros((len(price), reduced.shape[2]))
        for each in reduced.swapaxes(0, 1):
            np.maximum(worth, each, out=worth)
        slope = residual.T.copy()
        takes = worth > 0
        for option, consumption in enumerate(self._by_option):
            # Of options that tie only the first counts: with both, the slope would be that of a choice that takes an
            # item twice.
            here = takes & (reduced[:, option] == worth)
            slope -= here.astype(np.float64) @ consumption
            takes &= ~here
        return (price * residual.T).sum(axis=1) + worth.sum(axis=1), slope

    def rank_options(self, price: F64) -> tuple[I8, F64, F64]:
        """Per price each item's best option, its reduced gain, and its margin over the second best.

        All of shape ``(s, n)``. Staying is an option too, with a gain of 0.
        """
        reduced = self._gain - self._price_of(price, self._use)
        choice = np.full((len(price), reduced.shape[2]), STAY, dtype=np.int8)
        worth, second = np.zeros(choice.shape), np.full(choice.shape, -np.inf)
        for option, each in enumerate(reduced.swapaxes(0, 1)):
            second = np.maximum(second, np.minimum(worth, each))
            choice[each > worth] = option
            worth = np.maximum(worth, each)
        return choice, worth, worth - second

    def weight(self, price: F64) -> F64:
        """The price of the most expensive option of each item, consumed or released, shape ``(s, n)``."""
        # Absolute: a large bundle that leaves decides as much as one that comes, since its release is what lets others
        # in. And only of options that exist, or others would bring items into the core that have nothing to decide.
        cost = self._price_of(price, np.abs(self._use))
        return np.asarray(np.where(np.isfinite(self._gain), cost, 0.0).max(axis=1), dtype=np.float64)


_ROUGH, _CLOSE = 1e-5, 1e-7  # relative tolerances, for the first sample and for working sets
_SIFTING_NEAR = 2_000  # items in the working set
_SAMPLE = 600  # sampled items of each side
_SIFTS = 8  # most rounds; the prices of any round prove a valid bound


@dataclass(slots=True)
class SiftedItems:
    """Many items in two strata: those with an option that gains, and those that can only release.

    A plain sample would miss the few items that gain among a million that could make room, or the other way round.
    """

    offers: Offers
    stake: F64 = field(init=False)  # (n,) largest absolute gain of each item's options
    sides: tuple[I64, I64] = field(init=False)

    def __post_init__(self) -> None:
        gains = (self.offers.gain > 0).any(axis=0)
        self.sides = np.flatnonzero(gains), np.flatnonzero(~gains)
        real = np.where(np.isfinite(self.offers.gain), self.offers.gain, 0.0)
        self.stake = np.maximum(np.abs(real).max(axis=0), 1.0)

    def nearest(self, reduced: F64, most: int) -> I64:
        """Items whose margin is smallest relative to their gain, in rising order of their number.

        Args:
            reduced: reduced gain of each option, shape ``(o, n)``.
            most: number of items, half of them of each stratum.
        """
        # Relative to the gain: a fixed distance from the threshold would fill the set with small items:
        # thousands lie near it, and their change moves no price.
        margin, half = margins(reduced) / self.stake, most // 2
        sides = [side if len(side) <= half else side[np.argpartition(margin[side], half)[:half]] for side in self.sides]
        return np.sort(np.concatenate(sides))

    def sample(self, but: Bools) -> tuple[I64, F64]:
        """Every n-th item of each stratum, some items left out; and how many items each one stands for."""
        sides = [side[~but[side]] for side in self.sides]
        steps = [max(1, len(part) // _SAMPLE) for part in sides]
        items = [part[step // 2 :: step] for part, step in zip(sides, steps, strict=True)]
        return np.concatenate(items), np.repeat(np.array(steps, dtype=np.float64), [len(each) for each in items])

    def expand(self, items: I64, times: F64) -> Offers:
        """Some items, each with its gain and consumption times its weight."""
        some = self.offers.only(items)
        return Offers(gain=some.gain * times, consumption=some.consumption * times, capacity=self.offers.capacity)


def sift_prices(offers: Offers, scale: F64) -> tuple[F64, F64]:
    """Prices tried in the last round, the best first, shape ``(tries, k)``; and the reduced gains at the best.

    Args:
        offers: the items.
        scale: upper bound of the optimal price of each resource.
    """
    sifted, working_set = SiftedItems(offers), np.zeros(len(offers), dtype=np.bool_)
    # Roughly only: these prices choose the first working set, and the sample's own error is larger than what a closer
    # solution would add.
    tried = minimise_dual(sifted.expand(*sifted.sample(working_set)), scale, close=_ROUGH)
    reduced = offers.reduced_gain(tried[0])
    kept = best_options(reduced)[0]
    working_set[sifted.nearest(reduced, _SIFTING_NEAR)] = True
    for _ in range(_SIFTS):
        tried = _solve_restricted(sifted, working_set, kept, scale)
        reduced = offers.reduced_gain(tried[0])
        before, kept = kept, best_options(reduced)[0]
        changed = (kept != before) & ~working_set
        if not changed.any():
            break
        # The set starts over with what changed, it does not grow: items that settled would only make each round slower.
        working_set = changed
        working_set[sifted.nearest(reduced, _SIFTING_NEAR)] = True
    return tried, reduced


def _solve_restricted(sifted: SiftedItems, working_set: Bools, kept: I64, scale: F64) -> F64:
    """Solve the dual of the working set together with a weighted sample of the other items.

    The sample enters with its change only: what the other items do at the last prices is subtracted from the capacity,
    and what the sampled ones do at the new prices is counted against what they did before.
    """
    offers, far = sifted.offers, np.where(working_set, STAY, kept)
    some, times = sifted.sample(working_set)
    items = np.concatenate((some, np.flatnonzero(working_set)))
    inner = sifted.expand(items, np.append(times, np.ones(len(items) - len(some))))
    standing = far[items]
    inner = replace(inner, capacity=offers.capacity - offers.total_consumption(far) + inner.total_consumption(standing))
    return minimise_dual(inner, scale, offers.total_gain(far) - inner.total_gain(standing), _CLOSE)


# An evaluation of the dual costs one pass over all items, and the ellipsoid method makes some hundreds of them. Up to
# this many items that takes less time than sifting's several restricted duals.
MANY = 20_000
PRICE_FACTORS = (1.0, 1.01, 1.1, 1.3, 2.0, 1e6)  # times the best prices


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowPrices:
    """The best dual prices found, those tried on the way, and the bound they prove."""

    bound: float  # upper bound on every feasible choice
    price: F64  # (k,) per unit of each resource
    tried: F64  # (tries, k), the best first
    choice: I64  # (n,) best option of each item at the best prices, STAY for none
    margin: F64  # (n,) of that option over the second best


def prices(offers: Offers) -> ShadowPrices:
    """Solve the dual of a problem with at least one resource, reduced by ``offers.reduce_to_scarce``."""
    scale = price_limits(offers)
    if len(offers) > MANY:
        tried, reduced = sift_prices(offers, scale)
    else:
        tried = minimise_dual(offers, scale)
        reduced = offers.reduced_gain(tried[0])
    price = tried[0]
    choice, worth = best_options(reduced)
    bound = float(price @ offers.capacity + worth.sum())
    return ShadowPrices(bound=bound, price=price, tried=tried, choice=choice, margin=margins(reduced))


def price_limits(offers: Offers) -> F64:
    """Upper bound of the optimal prices, shape ``(k,)``.

    All capacity together, releases included, cannot be worth more than the largest possible gain less the smallest.
    """
    capacity = np.maximum(offers.capacity, 0.0) + offers.max_release()
    return np.asarray(max(offers.gain_range(), 1e-300) / np.maximum(capacity, 1e-12), dtype=np.float64)


def stay_everywhere(offers: Offers) -> I64:
    """The choice in which every item stays."""
    return np.full(len(offers), STAY, dtype=np.int64)


def round_choice(offers: Offers, dual: ShadowPrices) -> I64 | None:
    """A feasible choice from the prices, raised until it fits; or staying, if feasible; or None."""
    # All prices rise together: at the optimal ones, items at the threshold may overdraw a resource by a little.
    raised = (best_options(offers.reduced_gain(dual.price * factor))[0] for factor in PRICE_FACTORS)
    first = next(filter(offers.fits, raised), None)
    feasible = [choice for choice in (first, stay_everywhere(offers)) if choice is not None and offers.fits(choice)]
    return max(feasible, key=offers.total_gain, default=None)
