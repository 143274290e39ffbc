"""From prices to a choice that fits: what they say, what nobody needs taken back, and the room that is left filled."""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I64
from policies.solver.offers import SLACK, STAY, Offers, best_options
from policies.solver.prices import Prices

ALL_DEARER = (1.0, 1.01, 1.1, 1.3, 2.0, 1e6)  # times the best prices
_ROUNDS = 200  # of taking what fits


def nothing(offers: Offers) -> I64:
    """The choice in which everything stays."""
    return np.full(len(offers), STAY, dtype=np.int64)


def round_choice(offers: Offers, found: Prices) -> I64 | None:
    """What the prices say, made dearer until it fits, with the room filled; or nothing, where that fits; or None."""
    best = nothing(offers)
    possible = offers.fits(best)
    for factor in ALL_DEARER:
        choice = best_options(offers.reduced_gain(found.price * factor))[0]
        if offers.fits(choice):
            choice = polish(offers, choice, found.price)
            return max(choice, best, key=offers.total_gain) if possible else choice
    return best if possible else None


def polish(offers: Offers, choice: I64, price: F64) -> I64:
    """The choice without sacrifices that nobody needs, and with whatever still fits."""
    return _fill(offers, _drop_sacrifices(offers, choice), price)


def _drop_sacrifices(offers: Offers, choice: I64) -> I64:
    """Take back what costs something and frees nothing that is needed, the dearest first."""
    choice = choice.copy()
    given = np.flatnonzero(choice != STAY)
    given = given[offers.gain[choice[given], given] <= 0]
    given = given[np.argsort(offers.gain[choice[given], given], kind="stable")]
    left = offers.room - offers.used(choice)
    choice[given[_fitting(-offers.use[:, choice[given], given], left)]] = STAY
    return choice


def _fill(offers: Offers, choice: I64, price: F64) -> I64:
    """Take what still fits, the most gain for what it uses first."""
    choice = choice.copy()
    left = offers.room - offers.used(choice)
    cost = np.tensordot(price, np.maximum(offers.use, 0.0), 1)
    cost = np.maximum(cost, max(1e-9 * float(cost.max()), 1e-9))
    ratio = np.where((choice == STAY) & (offers.gain > 0), offers.gain / cost, -np.inf)
    option = ratio.argmax(axis=0)
    items = np.flatnonzero(ratio.max(axis=0) > 0)
    items = items[np.argsort(-ratio[option[items], items], kind="stable")]
    taken = items[_fitting(offers.use[:, option[items], items], left)]
    choice[taken] = option[taken]
    return choice


def _fitting(use: F64, left: F64) -> I64:
    """Columns that fit one after the other into what is left of each resource.

    Args:
        use: of each column, shape ``(k, n)``.
        left: shape ``(k,)``.
    """
    column, taken = np.arange(use.shape[1]), [np.zeros(0, dtype=np.int64)]
    for _ in range(_ROUNDS):
        column = column[np.all(use[:, column] <= left[:, np.newaxis] + SLACK, axis=0)]
        if not len(column):
            break
        needed = np.cumsum(use[:, column], axis=1)
        misfit = np.any(needed > left[:, np.newaxis] + SLACK, axis=0)
        count = int(np.argmax(misfit)) if misfit.any() else len(column)
        taken.append(column[:count])
        left = left - needed[:, count - 1]
        column = column[count:]
    return np.concatenate(taken)
