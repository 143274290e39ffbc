"""What a unit of each scarce resource is worth: the Lagrangian dual of the choice, and with it the bound.

At given prices every item takes its best option, whatever the others do; what that brings, plus the price of all the
room, is more than any choice within the room can bring. The lowest such figure is the bound (it equals the linear
relaxation's), and the prices where it is reached say what is worth its room.

The figure is convex in the prices, and how much more is used than there is tells which way is down: each evaluation
cuts away a half of an ellipsoid that holds the best prices (Shor; Yudin and Nemirovski). Items whose choice is the same
everywhere in what is left of it need not be looked at again.

Many items are sifted: a sample gives first prices, the items nearest to changing their choice at them give better ones
while all others keep theirs, and whoever would not keep it at the new prices joins the near ones. Once nobody does, the
prices are the best for all. So a million items cost a few looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.ellipsoid import rest
from policies.offers import STAY, Offers, best_options
from policies.repricing import Market

_CLOSE, _ROUGH = 1e-9, 1e-5  # of the bound: near enough, and for a sample
_ROUNDS = 400  # of cutting, times the number of resources
_SETTLE_EVERY = 8  # cuts, times the number of resources
_FEW = 200  # items that are not worth settling
MANY = 20_000  # items that are worth sifting
_NEAR = 2_000  # items for each option there is, looked at one by one
_SAMPLE = 600  # items for each option there is, of those who would gain and of the rest
_SIFTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The best prices found, those tried on the way, and the bound that they prove."""

    bound: float  # no choice brings more
    price: F64  # (k,) per unit of each resource
    tried: F64  # (tries, k), the best first
    reduced: F64  # (o, n) gain of each option less what it uses, at the best prices


@dataclass(slots=True)
class _Open:
    """The items that are not settled yet, and what those that are bring."""

    offers: Offers
    worth: float = 0.0  # of the settled items; the room is what they leave
    market: Market = field(init=False)

    def __post_init__(self) -> None:
        self.market = Market(self.offers)

    def evaluate(self, price: F64) -> tuple[float, F64]:
        """The figure at some prices, and a subgradient."""
        value, slope = self.market.evaluate(price[np.newaxis], self.offers.room[:, np.newaxis])
        return float(value[0]) + self.worth, slope[0]

    def settle(self, price: F64, axes: F64) -> None:
        """Set aside items that choose the same everywhere in the ellipsoid."""
        offers = self.offers
        reduced = offers.reduced(price)
        spread = np.linalg.norm(np.tensordot(axes, offers.use, (0, 0)), axis=0)
        stays = np.all(reduced + spread <= 0, axis=0)
        best, surely = best_options(reduced - spread)
        items = np.arange(len(offers))
        rivals = reduced + spread
        rivals[best, items] = -np.inf  # of those without a best option the last entry, which does no harm
        takes = (best != STAY) & np.all(surely > rivals, axis=0)
        choice = np.where(takes, best, STAY)
        self.worth += offers.gained(choice)
        self.offers = replace(offers.only(~(takes | stays)), room=offers.room - offers.used(choice))
        self.market = Market(self.offers)


def prices(offers: Offers) -> Prices:
    """The dual of some offers, at least one resource."""
    scale = _largest(offers)
    tried = _cheapest(offers, scale) if len(offers) <= MANY else _sifted(offers)
    price = tried[0]
    reduced = offers.reduced(price)
    bound = float(price @ offers.room + best_options(reduced)[1].sum())
    return Prices(bound=bound, price=price, tried=tried, reduced=reduced)


def _cheapest(offers: Offers, scale: F64, worth: float = 0.0, close: float = _CLOSE) -> F64:
    """Prices tried on the way to the best ones, those first, shape ``(tries, k)``.

    Args:
        offers: the items that may choose.
        scale: of the prices; no best price is above it.
        worth: what all others bring.
        close: of the bound, near enough.
    """
    resources, down = len(scale), -np.eye(len(scale))
    scaled = replace(offers, use=offers.use * scale[:, np.newaxis, np.newaxis], room=offers.room * scale)
    items = _Open(scaled, worth)
    centre, axes = np.full(resources, 0.5), np.eye(resources) * np.sqrt(resources / 4)
    tried: list[tuple[float, F64]] = []
    least = np.inf
    for at in range(_ROUNDS * resources):
        lowest = int(np.argmin(centre))
        if centre[lowest] < 0:
            slope, excess = down[lowest], -float(centre[lowest])
        else:
            value, slope = items.evaluate(centre)
            tried.append((value, centre * scale))
            least = min(least, value)
            excess = value - least
        towards = slope @ axes
        reach = float(np.sqrt(towards @ towards))
        if excess >= reach or (centre[lowest] >= 0 and reach <= close * abs(value)):
            break
        shift, kept, growth = rest(resources, excess / reach)
        step = axes @ (towards / reach)
        centre = centre - step * shift
        axes = (axes - step[:, np.newaxis] * (towards * ((1 - kept) / reach))) * growth
        if at % (_SETTLE_EVERY * resources) == _SETTLE_EVERY * resources - 1 and len(items.offers) > _FEW:
            items.settle(centre, axes)
    tried.sort(key=lambda pair: pair[0])
    return np.array([price for _, price in tried])


def _sifted(offers: Offers) -> F64:
    """The same for many items, by looking closely at few of them."""
    scale, near = _largest(offers), np.zeros(len(offers), dtype=np.bool_)
    reduced = offers.reduced(_cheapest(_counted(offers, *_sample(offers, ~near)), scale, close=_ROUGH)[0])
    kept = best_options(reduced)[0]
    near[nearest(offers, reduced, _NEAR * len(offers.gain))] = True
    for _ in range(_SIFTS):
        far = np.where(near, STAY, kept)
        some, times = _sample(offers, ~near)
        items = np.concatenate((some, np.flatnonzero(near)))
        inner = _counted(offers, items, np.append(times, np.ones(len(items) - len(some))))
        standing = far[items]
        inner = replace(inner, room=offers.room - offers.used(far) + inner.used(standing))
        tried = _cheapest(inner, scale, offers.gained(far) - inner.gained(standing))
        reduced = offers.reduced(tried[0])
        before, kept = kept, best_options(reduced)[0]
        changed = (kept != before) & ~near
        if not changed.any():
            break
        near = changed
        near[nearest(offers, reduced, _NEAR * len(offers.gain))] = True
    return tried


def _sample(offers: Offers, among: Bools) -> tuple[I64, F64]:
    """Few items that stand for some: every so many-th of those who would gain and of the rest; and for how many."""
    parts = [which[among[which]] for which in _sides(offers)]
    steps = [max(1, len(which) // (_SAMPLE * len(offers.gain))) for which in parts]
    items = [which[step // 2 :: step] for which, step in zip(parts, steps, strict=True)]
    return np.concatenate(items), np.repeat(np.array(steps, dtype=np.float64), [len(each) for each in items])


def _counted(offers: Offers, items: I64, times: F64) -> Offers:
    """Some items, each as often as it counts."""
    some = offers.only(items)
    return Offers(gain=some.gain * times, use=some.use * times, room=offers.room)


def nearest(offers: Offers, reduced: F64, most: int) -> I64:
    """Of many items those nearest to changing their choice, for what they gain or lose by it, in rising order.

    As many of those who would gain as of the others: where few come and many could leave, all who come are near.

    Args:
        offers: all of them.
        reduced: gain of each option less what it uses, shape ``(o, n)``.
        most: items.
    """
    half = most // 2
    stake = np.abs(np.where(np.isfinite(offers.gain), offers.gain, 0.0)).max(axis=0)
    doubt = doubts(reduced) / np.maximum(stake, 1.0)
    sides = [
        which if len(which) <= half else which[np.argpartition(doubt[which], half)[:half]] for which in _sides(offers)
    ]
    return np.sort(np.concatenate(sides))


def _sides(offers: Offers) -> tuple[I64, I64]:
    """Items that would gain by some option, and the others."""
    gains = (offers.gain > 0).any(axis=0)
    return np.flatnonzero(gains), np.flatnonzero(~gains)


def doubts(reduced: F64) -> F64:
    """What the second best option of each item, staying included, is worse than the best. Shape ``(n,)``."""
    best, second = np.zeros(reduced.shape[1]), np.full(reduced.shape[1], -np.inf)
    for each in reduced:
        second = np.maximum(second, np.minimum(best, each))
        best = np.maximum(best, each)
    return np.asarray(best - second, dtype=np.float64)


def _largest(offers: Offers) -> F64:
    """No best price is above this: what all room is worth cannot be more than all there is to gain and to lose."""
    real = np.where(np.isfinite(offers.gain), offers.gain, 0.0)
    stake = np.maximum(real.max(axis=0), 0.0).sum() + np.maximum(-real.min(axis=0), 0.0).sum()
    given = np.maximum(-offers.use.min(axis=1), 0.0).sum(axis=1)
    return np.asarray(max(stake, 1e-300) / np.maximum(np.maximum(offers.room, 0.0) + given, 1e-12), dtype=np.float64)
