"""A knapsack problem with prices: items, options, resources, and those that cannot run out.

``Offers`` states everything as a difference from staying put, so "stay" is the zero option. A bundle that comes to a
tier consumes its size of that tier's capacity. One that leaves releases it (negative consumption). Both consume bytes
and moves of the plan. Any other limit, such as I/Os that drives can serve or bytes that flash may still take, is one
more resource.

``Offers.in_chunks`` lets callers work through the items in chunks: writing and rereading columns of a million costs
more time than the arithmetic.

``reduce_to_scarce`` is the presolve: it drops resources that cannot run out and options that never find room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from connectors.model.observation import F64, I64, Bools
from policies.model.columns import row_chunks

STAY = -1  # the choice of an item with which nothing is done
SLACK = 1e-9  # of a resource's scale: rounding tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """``n`` items in canonical order with ``o`` options each (at most one is chosen), and ``k`` resources.

    Resources may be in any unit; ``reduce_to_scarce`` scales them to about one. With whole numbers for gain
    and consumption, and items in an order that does not depend on the input's, the answer does not depend on it either.
    """

    gain: F64  # (o, n), -inf where the item has no such option
    consumption: F64  # (k, o, n), negative where the option releases
    capacity: F64  # (k,) upper bound of the chosen options' total consumption

    def __len__(self) -> int:
        return int(self.gain.shape[1])

    def scale(self) -> F64:
        """The largest single consumption of each resource, 1 where no option consumes it. Shape ``(k,)``."""
        largest = np.maximum(
            self.consumption.max(axis=(1, 2), initial=0.0), -self.consumption.min(axis=(1, 2), initial=0.0)
        )
        return np.where(largest > 0, largest, 1.0)

    def in_chunks(self) -> Iterator[Offers]:
        """Views of all items, some thousand at a time."""
        for some in row_chunks(len(self)):
            yield Offers(gain=self.gain[:, some], consumption=self.consumption[:, :, some], capacity=self.capacity)

    def only(self, items: I64 | Bools) -> Offers:
        """The problem restricted to some items, with unchanged capacity."""
        return Offers(gain=self.gain[:, items], consumption=self.consumption[:, :, items], capacity=self.capacity)

    def reduced_gain(self, price: F64) -> F64:
        """Gain of each option less the price of what it consumes, at a price per resource. Shape ``(o, n)``."""
        # Option by option and some thousand items at a time: one product over (k, o, n) writes an array of a million
        # items per option and resource, and reading it again takes longer than the arithmetic.
        reduced = np.empty_like(self.gain)
        for own, gain, consumption in zip(reduced, self.gain, self.consumption.swapaxes(0, 1), strict=True):
            for some in row_chunks(len(self)):
                np.subtract(gain[some], price @ consumption[:, some], out=own[some])
        return reduced

    def total_consumption(self, choice: I64) -> F64:
        """Consumption of the chosen options together, shape ``(k,)``."""
        # Filtered first: STAY is -1 and would silently index the last option.
        items = np.flatnonzero(choice != STAY)
        return np.asarray(self.consumption[:, choice[items], items].sum(axis=1), dtype=np.float64)

    def max_consumption(self) -> F64:
        """Consumption if every item took its most consuming option, shape ``(k,)``."""
        return self._most(1.0)

    def max_release(self) -> F64:
        """Release if every item took its most releasing option, shape ``(k,)``."""
        return self._most(-1.0)

    def _most(self, sign: float) -> F64:
        most = np.zeros(len(self.capacity))
        for part in self.in_chunks():
            most += (sign * part.consumption).max(axis=1, initial=0.0).sum(axis=1)
        return most

    def gain_range(self) -> float:
        """The largest possible gain less the smallest: the sum of every item's best and worst option."""
        stake = 0.0
        for part in self.in_chunks():
            real = np.where(np.isfinite(part.gain), part.gain, 0.0)
            stake += float((real.max(axis=0, initial=0.0) - real.min(axis=0, initial=0.0)).sum())
        return stake

    def total_gain(self, choice: I64) -> float:
        """Gain of the chosen options together."""
        items = np.flatnonzero(choice != STAY)
        return float(self.gain[choice[items], items].sum())

    def fits(self, choice: I64) -> bool:
        """Whether a choice is feasible: within every capacity, but for rounding."""
        return bool(np.all(self.total_consumption(choice) <= self.capacity + SLACK))


def best_options(reduced: F64) -> tuple[I64, F64]:
    """The best option of each item where its reduced gain is positive, else ``STAY``; and that gain, at least 0."""
    best, worth = np.full(reduced.shape[1], STAY), np.zeros(reduced.shape[1])
    for some in row_chunks(len(worth)):
        own = worth[some]
        for option, each in enumerate(reduced[:, some]):  # faster than argmax over a few long rows
            np.copyto(best[some], option, where=each > own)
            np.maximum(own, each, out=own)
    return best, worth


def margins(reduced: F64) -> F64:
    """How much better the best option of each item is than the second best, staying included. Shape ``(n,)``."""
    worse = np.empty(reduced.shape[1])
    for some in row_chunks(len(worse)):
        # Begins with staying, which every item may do for a gain of 0.
        best, second = np.zeros(len(worse[some])), np.full(len(worse[some]), -np.inf)
        for each in reduced[:, some]:
            np.maximum(second, np.minimum(best, each), out=second)
            np.maximum(best, each, out=best)
        np.subtract(best, second, out=worse[some])
    return worse


def reduce_to_scarce(offers: Offers) -> tuple[Offers, Bools]:
    """The problem without resources that cannot run out, the others scaled by their largest single consumption.

    Options that stay infeasible even if all other items release what they can are removed, and what does not exist
    consumes nothing. Also which resources are left, shape ``(k,)``.
    """
    if not offers.consumption.size:
        none = np.zeros(len(offers.capacity), np.bool_)
        return replace(offers, consumption=offers.consumption[:0], capacity=offers.capacity[:0]), none
    scaled = _scale(offers)
    scarce = scaled.max_consumption() > scaled.capacity
    consumption = scaled.consumption if scarce.all() else scaled.consumption[scarce]
    # A copy, because options are struck in place below, while the caller still measures by its own gains what became of
    # the answer.
    kept = Offers(gain=offers.gain.copy(), consumption=consumption, capacity=scaled.capacity[scarce])
    most = kept.capacity + kept.max_release() + SLACK
    for part in kept.in_chunks():
        gone = (part.consumption > most[:, np.newaxis, np.newaxis]).any(axis=0)
        np.copyto(part.gain, -np.inf, where=gone)
        # Their release goes with them. Counting room that an impossible option would give back loosened the bound.
        np.copyto(part.consumption, 0.0, where=gone)
    return kept, scarce


def _scale(offers: Offers) -> Offers:
    """The same problem with every resource in units of its largest single consumption."""
    scale = offers.scale()
    scaled = Offers(gain=offers.gain, consumption=np.empty_like(offers.consumption), capacity=offers.capacity / scale)
    for part, own in zip(offers.in_chunks(), scaled.in_chunks(), strict=True):
        np.divide(part.consumption, scale[:, np.newaxis, np.newaxis], out=own.consumption)
        np.copyto(own.consumption, 0.0, where=~np.isfinite(part.gain))  # what does not exist gives nothing back either
    return scaled
