"""The Lagrangian relaxation of the undecided items, evaluated for thousands of search states at once.

At each of a dozen prices the undecided items take their best option. That gives an upper bound on what a state can
still reach, and where the options fit its residual capacity also a complete feasible choice, that is a lower bound.
Suffix sums over the items in front are kept per price, so bounding a state costs a few additions, however many items
follow.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8, Bools
from policies.solver.dual import DualEvaluator
from policies.solver.offers import SLACK, STAY, Offers


class Relaxation:
    """Suffix sums by price over the items from the ``t``-th on, ``t`` running through the items in front."""

    def __init__(self, offers: Offers, price: F64, front: int) -> None:
        """Relax the items, which are in the order in which they are decided.

        Args:
            offers: of the items.
            price: shape ``(p, k)``; any non-negative prices give valid bounds, near-optimal ones tight bounds.
            front: items that are decided with this relaxation.
        """
        self.price = price
        self.choice, self.margin, self.worth, self.gain, self.consumption = _sums(offers, price, front)
        release = np.maximum(-offers.consumption.min(axis=1), 0.0)
        self.release = _from(release[:, :front], release[:, front:].sum(axis=1))  # (k, front + 1)

    def optimistic_gain(self, gain: F64, residual: F64, item: int) -> F64:
        """Upper bounds of each state by price, shape ``(p, m)``: the lowest of them holds.

        Args:
            gain: of each state so far.
            residual: capacity left of each resource, shape ``(k, m)``.
            item: the next that is decided.
        """
        # Added in place: prices times states is the largest array of a search, and each temporary copy of it would be
        # written and read again for every item.
        optimistic_gain = self.price @ residual
        optimistic_gain += self.worth[:, item, np.newaxis]
        optimistic_gain += gain
        return np.asarray(optimistic_gain, dtype=np.float64)

    def can_fit(self, residual: F64, item: int) -> Bools:
        """States from which the undecided items could still release what is overdrawn. Shape ``(m,)``."""
        # A state may be overdrawn for now, since an item that releases may be decided after the one that needs its
        # room. Only what all the rest together could not repay is dropped.
        can_fit = np.ones(residual.shape[1], dtype=np.bool_)
        for of, release in zip(
            residual, self.release[:, item], strict=True
        ):  # quicker than all(axis=0) of a few long rows
            can_fit &= of + release >= -SLACK
        return can_fit

    def certain_gain(self, gain: F64, residual: F64, item: int) -> F64:
        """The lower bound of each state: its gain with the best completion that fits, else ``-inf``. Shape ``(m,)``."""
        fits = np.ones((len(self.price), len(gain)), dtype=np.bool_)
        for of, consumption in zip(residual, self.consumption, strict=True):
            fits &= of + SLACK >= consumption[:, item, np.newaxis]
        more = np.where(fits, self.gain[:, item, np.newaxis], -np.inf)
        return np.asarray(gain + more.max(axis=0), dtype=np.float64)

    def completion(self, residual: F64, item: int) -> I8:
        """The options of the items from one on in the best completion that fits one state's residual, ``(k,)``."""
        fits = (residual[:, np.newaxis] + SLACK >= self.consumption[:, :, item]).all(axis=0)
        price = int(np.where(fits, self.gain[:, item], -np.inf).argmax())
        return self.choice[price, item:]


def _sums(offers: Offers, price: F64, front: int) -> tuple[I8, F64, F64, F64, F64]:
    """Per price: options and margins of all items; suffix sums of relaxed gain, plain gain and consumption."""
    choice, worth, margin = DualEvaluator(offers).rank_options(price)
    near, far = choice[:, :front], choice[:, front:]
    # STAY (-1) would index the last option; the entries read for it are masked below.
    option, item = np.maximum(near, 0), np.arange(front)
    gain = np.where(near != STAY, offers.gain[option, item], 0.0)
    consumption = np.where(near != STAY, offers.consumption[:, option, item], 0.0)
    # Items behind the front enter as one total by matrix products. Suffix sums item by item over the whole core would
    # be an array of prices x resources x items, of which the next stages are computed at other prices anyway.
    takes = [(far == each).astype(np.float64) for each in range(len(offers.gain))]
    # In a matrix product 0 times -inf is NaN, so options that do not exist must not enter it.
    real = np.where(np.isfinite(offers.gain[:, front:]), offers.gain[:, front:], 0.0)
    gain_behind = sum((each @ of for each, of in zip(takes, real, strict=True)), np.zeros(len(price)))
    behind = np.zeros((len(offers.capacity), len(price)))
    for each, of in zip(takes, offers.consumption.swapaxes(0, 1), strict=True):
        behind += of[:, front:] @ each.T
    worth = _from(worth[:, :front], worth[:, front:].sum(axis=1))
    return choice, margin, worth, _from(gain, gain_behind), _from(consumption, behind)


def _from(column: F64, behind: F64) -> F64:
    """Suffix sums of each line, plus the sum over the items behind the front."""
    sums = np.empty((*column.shape[:-1], column.shape[-1] + 1))
    sums[..., -1] = 0.0
    sums[..., :-1] = np.cumsum(column[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(sums + behind[..., np.newaxis], dtype=np.float64)
