"""From shadow prices to a feasible choice: raise prices until it fits, drop needless sacrifices, fill free capacity."""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I64
from policies.solver.offers import SLACK, STAY, Offers, best_options
from policies.solver.prices import Prices

PRICE_FACTORS = (1.0, 1.01, 1.1, 1.3, 2.0, 1e6)  # times the best prices
_ROUNDS = 200  # of taking the longest prefix that fits


def stay_everywhere(offers: Offers) -> I64:
    """The choice in which every item stays."""
    return np.full(len(offers), STAY, dtype=np.int64)


def round_choice(offers: Offers, dual: Prices) -> I64 | None:
    """A feasible choice from the prices, raised until it fits and polished; or staying, if feasible; or None."""
    best = stay_everywhere(offers)
    possible = offers.fits(best)
    # All prices rise together: at the optimal ones, items at the threshold may overdraw a resource by a little.
    for factor in PRICE_FACTORS:
        choice = best_options(offers.reduced_gain(dual.price * factor))[0]
        if offers.fits(choice):
            choice = polish(offers, choice, dual.price)
            return max(choice, best, key=offers.total_gain) if possible else choice
    return best if possible else None


def polish(offers: Offers, choice: I64, price: F64) -> I64:
    """The choice without sacrifices that no capacity needs, and with whatever else fits."""
    return _fill(offers, _drop_sacrifices(offers, choice), price)


def _drop_sacrifices(offers: Offers, choice: I64) -> I64:
    """Reset options that lose gain and whose release is not needed, the most expensive first."""
    choice = choice.copy()
    given = np.flatnonzero(choice != STAY)
    given = given[offers.gain[choice[given], given] <= 0]
    given = given[np.argsort(offers.gain[choice[given], given], kind="stable")]
    residual = offers.capacity - offers.total_consumption(choice)
    choice[given[_take_while_fitting(-offers.consumption[:, choice[given], given], residual)]] = STAY
    return choice


def _fill(offers: Offers, choice: I64, price: F64) -> I64:
    """Greedily add options that gain and still fit, by gain per price of what they consume."""
    choice = choice.copy()
    residual = offers.capacity - offers.total_consumption(choice)
    # What an option releases is no discount here: a cost below 0 would turn the order of the ratio round.
    cost = np.tensordot(price, np.maximum(offers.consumption, 0.0), 1)
    cost = np.maximum(cost, max(1e-9 * float(cost.max()), 1e-9))
    ratio = np.where((choice == STAY) & (offers.gain > 0), offers.gain / cost, -np.inf)
    option = ratio.argmax(axis=0)
    items = np.flatnonzero(ratio.max(axis=0) > 0)
    items = items[np.argsort(-ratio[option[items], items], kind="stable")]
    taken = items[_take_while_fitting(offers.consumption[:, option[items], items], residual)]
    choice[taken] = option[taken]
    return choice


def _take_while_fitting(consumption: F64, residual: F64) -> I64:
    """Columns that fit one after the other into the residual capacity.

    Args:
        consumption: of each column, shape ``(k, n)``.
        residual: capacity left of each resource, shape ``(k,)``.
    """
    column, taken = np.arange(consumption.shape[1]), [np.zeros(0, dtype=np.int64)]
    # One pass per misfit instead of one per item: the longest prefix that fits is taken at once by cumulative sums.
    for _ in range(_ROUNDS):
        # Every column that is left fits alone, so the prefix below is never empty and each round makes progress.
        column = column[np.all(consumption[:, column] <= residual[:, np.newaxis] + SLACK, axis=0)]
        if not len(column):
            break
        needed = np.cumsum(consumption[:, column], axis=1)
        misfit = np.any(needed > residual[:, np.newaxis] + SLACK, axis=0)
        count = int(np.argmax(misfit)) if misfit.any() else len(column)
        taken.append(column[:count])
        residual = residual - needed[:, count - 1]
        column = column[count:]
    return np.concatenate(taken)
