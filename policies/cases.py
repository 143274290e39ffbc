"""The solver's last resort: the largest items decided one after the other, each way a case of its own.

Prices say little about an item that is as large as what is left of a resource: what it needs is an exact fit, and at
any price it is either in or out with all its weight. So the case with the highest bound is split - its largest open
item takes its best option, or may not take it - and both halves get prices and a search of their own (best first branch
and bound; Land and Doig). Halves that cannot beat the best choice are closed; those that are open are the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, I64
from policies.offers import STAY, Offers
from policies.prices import Prices, doubts, prices

_SPLITS = 3
_WINNERS = 2  # cases that are looked at closely
Solve = Callable[[Offers, Prices], tuple[I64 | None, float]]  # the best choice found and what none beats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """Offers without those that are decided, and these."""

    offers: Offers
    found: Prices
    fixed: I64  # (n,) option of each decided item, else STAY
    settled: float  # gain of these
    bound: float  # no choice of this case brings more

    def whole(self, choice: I64) -> I64:
        """A choice among what is open, with what is decided."""
        return np.where(self.fixed != STAY, self.fixed, choice)

    def widest(self, floor: float) -> tuple[int, int] | None:
        """Option and item of the most doubtful items' that weighs most at the prices; None: nobody is open."""
        reduced = self.found.reduced
        doubt = doubts(reduced)
        item = np.flatnonzero(doubt <= self.bound - floor)
        item = item[np.isfinite(self.offers.gain[:, item]).any(axis=0)]
        if not len(item):
            return None
        item = item[np.argsort(doubt[item], kind="stable")[: len(self.found.price) + 1]]
        option = reduced[:, item].argmax(axis=0)
        weight = self.found.price @ np.abs(self.offers.use[:, option, item])
        at = int(weight.argmax())
        return int(option[at]), int(item[at])

    def halves(self, option: int, item: int) -> tuple[_Case, _Case]:
        """With that option taken, and without it."""
        decided, barred = self.offers.gain.copy(), self.offers.gain.copy()
        decided[:, item], barred[option, item] = -np.inf, -np.inf
        fixed = self.fixed.copy()
        fixed[item] = option
        room = self.offers.room - self.offers.use[:, option, item]
        settled = self.settled + float(self.offers.gain[option, item])
        taken = _case(replace(self.offers, gain=decided, room=room), fixed, settled, self.bound)
        return taken, _case(replace(self.offers, gain=barred), self.fixed, self.settled, self.bound)


def _case(offers: Offers, fixed: I64, settled: float, most: float) -> _Case:
    found = prices(offers)
    return _Case(offers=offers, found=found, fixed=fixed, settled=settled, bound=min(most, settled + found.bound))


def by_cases(
    offers: Offers, found: Prices, best: I64, limit: float, *, sketch: Solve, solve: Solve, near: float
) -> tuple[I64, float]:
    """The best choice of all cases, and what no choice beats.

    Cases are sketched; the last ones that gave a better choice than any before are looked at closely in the end.

    Args:
        offers: all of them.
        found: their prices.
        best: a choice that fits.
        limit: that no choice beats.
        sketch: answers one case, quickly.
        solve: answers one case, as well as it can.
        near: share of the limit at which a choice is near enough.
    """
    gain = offers.gained(best)
    nobody = np.full(len(offers), STAY, dtype=np.int64)
    cases = [_Case(offers=offers, found=found, fixed=nobody, settled=0.0, bound=limit)]
    whole = -np.inf  # bound of cases that nothing splits
    winners: list[_Case] = []
    for _ in range(_SPLITS):
        at = int(np.argmax(_bounds(cases))) if cases else STAY
        if at == STAY or cases[at].bound - gain <= near * limit:
            break
        case = cases.pop(at)
        pair = case.widest(gain)
        if pair is None:
            whole = max(whole, case.bound)
            continue
        for half in case.halves(*pair):
            if half.bound <= gain:
                continue
            choice, most = sketch(half.offers, half.found)
            if choice is not None and offers.gained(half.whole(choice)) > gain:
                winners, best = [*winners, half], half.whole(choice)
                gain = offers.gained(best)
            cases.append(replace(half, bound=min(half.bound, half.settled + most)))
    for winner in winners[-_WINNERS:]:
        choice, _ = solve(winner.offers, winner.found)
        best = best if choice is None else max(best, winner.whole(choice), key=offers.gained)
    return best, max(offers.gained(best), whole, float(_bounds(cases).max(initial=-np.inf)))


def _bounds(cases: list[_Case]) -> F64:
    return np.array([case.bound for case in cases], dtype=np.float64)
