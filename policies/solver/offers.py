"""What the solver is asked: items, what may be done with each, what that brings, and what it takes of scarce resources.

Everything is told as a difference to staying put. A bundle that comes to a tier takes of that tier's room, one that
leaves gives it back, both take of the bytes and the number of moves of one plan. So staying put is the zero, and
whatever else limits a plan - I/Os that drives can serve, bytes that flash may still be written - is one more row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64, Bools
from policies.model.chunks import parts

STAY = -1  # the choice of an item with which nothing is done
SLACK = 1e-9  # of a resource's scale: rounding, not a breach


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """``n`` items in canonical order with ``o`` options each, of which one or none is taken, and ``k`` resources.

    Resources are in any unit; ``scarcity.binding`` brings them to about one. With whole numbers for gains and uses, and
    an order of items that does not depend on the input's, neither does the answer.
    """

    gain: F64  # (o, n), -inf where the item has no such option
    use: F64  # (k, o, n), negative where the option gives back
    room: F64  # (k,) of which the options taken together may use no more

    def __len__(self) -> int:
        return int(self.gain.shape[1])

    def scale(self) -> F64:
        """The largest single use of each resource, 1 where nobody uses it. Shape ``(k,)``."""
        largest = np.maximum(self.use.max(axis=(1, 2), initial=0.0), -self.use.min(axis=(1, 2), initial=0.0))
        return np.where(largest > 0, largest, 1.0)

    def parts(self) -> Iterator[Offers]:
        """Views of all items, some at a time."""
        for some in parts(len(self)):
            yield Offers(gain=self.gain[:, some], use=self.use[:, :, some], room=self.room)

    def only(self, items: I64 | Bools) -> Offers:
        """Some of the items, the room as it is."""
        return Offers(gain=self.gain[:, items], use=self.use[:, :, items], room=self.room)

    def reduced_gain(self, price: F64) -> F64:
        """Gain of each option less what it uses, at a price per resource. Shape ``(o, n)``."""
        reduced = np.empty_like(self.gain)
        for own, gain, use in zip(reduced, self.gain, self.use.swapaxes(0, 1), strict=True):
            for some in parts(len(self)):
                np.subtract(gain[some], price @ use[:, some], out=own[some])
        return reduced

    def used(self, choice: I64) -> F64:
        """What the options taken use together, shape ``(k,)``."""
        items = np.flatnonzero(choice != STAY)
        return np.asarray(self.use[:, choice[items], items].sum(axis=1), dtype=np.float64)

    def most_taken(self) -> F64:
        """What all items would take, each by the option that takes most, shape ``(k,)``."""
        taken = np.zeros(len(self.room))
        for part in self.parts():
            taken += np.maximum(part.use.max(axis=1, initial=0.0), 0.0).sum(axis=1)
        return taken

    def most_given(self) -> F64:
        """What all items would give back, each by the option that gives most, shape ``(k,)``."""
        given = np.zeros(len(self.room))
        for part in self.parts():
            given += np.maximum(-part.use.min(axis=1, initial=0.0), 0.0).sum(axis=1)
        return given

    def at_stake(self) -> float:
        """All there is to gain and to lose, each item by the options that bring and cost most."""
        stake = 0.0
        for part in self.parts():
            real = np.where(np.isfinite(part.gain), part.gain, 0.0)
            stake += float((real.max(axis=0, initial=0.0) - real.min(axis=0, initial=0.0)).sum())
        return stake

    def total_gain(self, choice: I64) -> float:
        """What the options taken bring together."""
        items = np.flatnonzero(choice != STAY)
        return float(self.gain[choice[items], items].sum())

    def fits(self, choice: I64) -> bool:
        """Whether the options taken stay within every resource."""
        return bool(np.all(self.used(choice) <= self.room + SLACK))


def best_options(reduced: F64) -> tuple[I64, F64]:
    """The best option of each item where it is worth something, else ``STAY``; and what it is worth, at least 0."""
    best, worth = np.full(reduced.shape[1], STAY), np.zeros(reduced.shape[1])
    for some in parts(len(worth)):
        own = worth[some]
        for option, each in enumerate(reduced[:, some]):  # quicker than argmax over a few long rows
            np.copyto(best[some], option, where=each > own)
            np.maximum(own, each, out=own)
    return best, worth


def doubts(reduced: F64) -> F64:
    """What the second best option of each item, staying included, is worse than the best. Shape ``(n,)``."""
    worse = np.empty(reduced.shape[1])
    for some in parts(len(worse)):
        best, second = np.zeros(len(worse[some])), np.full(len(worse[some]), -np.inf)
        for each in reduced[:, some]:
            np.maximum(second, np.minimum(best, each), out=second)
            np.maximum(best, each, out=best)
        np.subtract(best, second, out=worse[some])
    return worse
