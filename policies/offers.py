"""What the solver is asked: items, what may be done with each, what that brings, and what it takes of scarce resources.

Everything is told as a difference to staying put. A bundle that comes to a tier takes of that tier's room, one that
leaves gives it back, both take of the bytes and the number of moves of one plan. So staying put is the zero, and
whatever else limits a plan - I/Os that drives can serve, bytes that flash may still be written - is one more row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from connectors.model import F64, I64, Bools

STAY = -1  # the choice of an item with which nothing is done
SLACK = 1e-9  # of a resource's scale: rounding, not a breach


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """``n`` items in canonical order with ``o`` options each, of which one or none is taken, and ``k`` resources.

    Resources are in any unit; ``binding`` brings them to about one. With whole numbers for gains and uses, and an order
    of items that does not depend on the input's, neither does the answer.
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

    def only(self, items: I64 | Bools) -> Offers:
        """Some of the items, the room as it is."""
        return Offers(gain=self.gain[:, items], use=self.use[:, :, items], room=self.room)

    def reduced(self, price: F64) -> F64:
        """Gain of each option less what it uses, at a price per resource. Shape ``(o, n)``."""
        flat = self.use.reshape(len(price), self.gain.size)
        return np.asarray(self.gain - (price @ flat).reshape(self.gain.shape), dtype=np.float64)

    def used(self, choice: I64) -> F64:
        """What the options taken use together, shape ``(k,)``."""
        items = np.flatnonzero(choice != STAY)
        return np.asarray(self.use[:, choice[items], items].sum(axis=1), dtype=np.float64)

    def gained(self, choice: I64) -> float:
        """What the options taken bring together."""
        items = np.flatnonzero(choice != STAY)
        return float(self.gain[choice[items], items].sum())

    def fits(self, choice: I64) -> bool:
        """Whether the options taken stay within every resource."""
        return bool(np.all(self.used(choice) <= self.room + SLACK))


def best_options(reduced: F64) -> tuple[I64, F64]:
    """The best option of each item where it is worth something, else ``STAY``; and what it is worth, at least 0."""
    best, worth = np.full(reduced.shape[1], STAY), np.zeros(reduced.shape[1])
    for option, each in enumerate(reduced):  # quicker than argmax over a few long rows
        np.copyto(best, option, where=each > worth)
        np.maximum(worth, each, out=worth)
    return best, worth


def doubts(reduced: F64) -> F64:
    """What the second best option of each item, staying included, is worse than the best. Shape ``(n,)``."""
    best, second = np.zeros(reduced.shape[1]), np.full(reduced.shape[1], -np.inf)
    for each in reduced:
        second = np.maximum(second, np.minimum(best, each))
        best = np.maximum(best, each)
    return np.asarray(best - second, dtype=np.float64)


def binding(offers: Offers) -> tuple[Offers, Bools, Bools]:
    """The offers without resources that could not run out, the others measured by their largest single use.

    Options that no other could make room for are taken out too, and what does not exist uses nothing.

    Returns:
        the offers; which resources are left; and of all resources those for which somebody is kept out who would gain,
        both of shape ``(k,)``.
    """
    if not offers.use.size:
        kept = np.zeros(len(offers.room), np.bool_)
        return Offers(gain=offers.gain, use=offers.use[:0], room=offers.room[:0]), kept, kept
    scale = offers.scale()
    use = np.where(np.isfinite(offers.gain), offers.use, 0.0)  # what does not exist gives nothing back either
    use /= scale[:, np.newaxis, np.newaxis]
    room = offers.room / scale
    scarce = np.maximum(use.max(axis=1), 0.0).sum(axis=1) > room
    use, room = use if scarce.all() else use[scarce], room[scarce]
    given = np.maximum(-use.min(axis=1), 0.0)
    gone = np.zeros(offers.gain.shape, dtype=np.bool_)
    for each, most in zip(use, room + given.sum(axis=1) + SLACK, strict=True):
        gone |= each > most
    dear = _unaffordable(use, room, given.any(axis=1))
    keeps_out = np.zeros(len(offers.room), np.bool_)
    keeps_out[scarce] = [bool((each & ~gone & (offers.gain > 0)).any()) for each in dear]
    for each in dear:
        gone |= each
    use[:, gone] = 0.0
    return Offers(gain=np.where(gone, -np.inf, offers.gain), use=use, room=room), scarce, keeps_out


def _unaffordable(use: F64, room: F64, gives_back: Bools) -> Bools:
    """Per resource the options for which others could make room only by taking too much of it, shape ``(k, o, n)``.

    Who gives back some of one resource takes of another: a copy of bytes that make room is a copy of bytes. So what is
    missing of the one costs at least so much of the other, whoever it is that gives it.
    """
    dear = np.zeros(use.shape, dtype=np.bool_)
    for short, paid in permutations(range(len(room)), 2):
        if room[short] < 0 or gives_back[paid] or not gives_back[short]:
            continue
        gives = use[short] < 0
        rate = float((use[paid][gives] / -use[short][gives]).min())
        needed = np.maximum(use[short] - room[short], 0.0)
        needed *= rate
        needed += use[paid]
        dear[paid] |= needed > room[paid] + SLACK
    return dear
