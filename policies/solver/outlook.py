"""What undecided items would choose at each of some prices: a few in front, decided one by one, and all behind them.

Each price says how much the rest can still bring at most (a bound), and what the rest would choose; where that fits, it
is a whole choice and its gain is certain. Sums are kept for every item in front, counted from the end, so that a look
at thousands of states costs a few additions each. How many items stand behind hardly matters.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8, I64, Bools
from policies.solver.offers import SLACK, STAY, Offers
from policies.solver.repricing import Market


class Outlook:
    """Sums by price over the items from the ``t``-th on; ``t`` runs through the items in front."""

    def __init__(self, offers: Offers, price: F64, front: int) -> None:
        """The outlook of items in the order in which they are decided.

        Args:
            offers: of the items.
            price: shape ``(p, k)``; any prices are right, good ones are quick.
            front: items that are decided with this outlook.
        """
        self.price = price
        self.choice, self.margin, self.worth, self.gain, self.use = _sums(offers, price, front)
        given = np.maximum(-offers.use.min(axis=1), 0.0)
        self.given = _from(given[:, :front], given[:, front:].sum(axis=1))  # (k, front + 1)

    def hope(self, gain: F64, left: F64, item: int) -> tuple[F64, I64, F64]:
        """What states can still come to at most, the price that says so, and what each price says of all at most.

        Of shape ``(m,)``, ``(m,)`` and ``(p,)``.

        Args:
            gain: of each state so far.
            left: of each resource, shape ``(k, m)``.
            item: the next that is decided.
        """
        hope = self.price @ left
        hope += self.worth[:, item, np.newaxis]
        hope += gain
        return hope.min(axis=0), hope.argmin(axis=0), hope.max(axis=1)

    def bound(self, gain: F64, left: F64, item: int) -> F64:
        """The same without the price."""
        hope = self.price @ left
        hope += self.worth[:, item, np.newaxis]
        return np.asarray(hope.min(axis=0) + gain, dtype=np.float64)

    def possible(self, left: F64, item: int) -> Bools:
        """States from which the items that are left could still give back what is overdrawn."""
        possible = np.ones(left.shape[1], dtype=np.bool_)
        for of, given in zip(left, self.given[:, item], strict=True):  # quicker than all(axis=0) of a few long rows
            possible &= of + given >= -SLACK
        return possible

    def certain(self, gain: F64, left: F64, item: int) -> F64:
        """The best gain that each state is sure of, with what the rest would choose at one of the prices."""
        fits = np.ones((len(self.price), len(gain)), dtype=np.bool_)
        for of, use in zip(left, self.use, strict=True):
            fits &= of + SLACK >= use[:, item, np.newaxis]
        more = np.where(fits, self.gain[:, item, np.newaxis], -np.inf)
        return np.asarray(gain + more.max(axis=0), dtype=np.float64)

    def chosen(self, left: F64, item: int) -> I8:
        """What the items from one on choose at the price that is surest for one state, its room of shape ``(k,)``."""
        fits = (left[:, np.newaxis] + SLACK >= self.use[:, :, item]).all(axis=0)
        price = int(np.where(fits, self.gain[:, item], -np.inf).argmax())
        return self.choice[price, item:]


def _sums(offers: Offers, price: F64, front: int) -> tuple[I8, F64, F64, F64, F64]:
    """Choice of each item at each price, what another costs; what all from each in front on are worth, gain, use."""
    choice, worth, margin = Market(offers).rank_options(price)
    near, far = choice[:, :front], choice[:, front:]
    option, item = np.maximum(near, 0), np.arange(front)
    gain = np.where(near != STAY, offers.gain[option, item], 0.0)
    use = np.where(near != STAY, offers.use[:, option, item], 0.0)
    takes = [(far == each).astype(np.float64) for each in range(len(offers.gain))]
    real = np.where(np.isfinite(offers.gain[:, front:]), offers.gain[:, front:], 0.0)
    gain_behind = sum((each @ of for each, of in zip(takes, real, strict=True)), np.zeros(len(price)))
    behind = np.zeros((len(offers.room), len(price)))
    for each, of in zip(takes, offers.use.swapaxes(0, 1), strict=True):
        behind += of[:, front:] @ each.T
    worth = _from(worth[:, :front], worth[:, front:].sum(axis=1))
    return choice, margin, worth, _from(gain, gain_behind), _from(use, behind)


def _from(column: F64, behind: F64) -> F64:
    """Sums of each line's entries from the ``t``-th on, with what comes behind them all."""
    sums = np.empty((*column.shape[:-1], column.shape[-1] + 1))
    sums[..., -1] = 0.0
    sums[..., :-1] = np.cumsum(column[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(sums + behind[..., np.newaxis], dtype=np.float64)
