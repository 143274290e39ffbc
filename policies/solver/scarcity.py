"""Presolve: drop the resources that cannot run out and the options that can never be afforded.

Works through the items in chunks (``Offers.in_chunks``): writing and rereading columns of a million costs more time
than the arithmetic.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from connectors.model import Bools
from policies.solver.offers import SLACK, Offers


def reduce_to_scarce(offers: Offers) -> tuple[Offers, Bools, Bools]:
    """The problem without resources that cannot run out, the others scaled by their largest single consumption.

    Options that stay infeasible even if all other items release what they can are removed, and what does not exist
    consumes nothing.

    Returns:
        the reduced problem; which resources are left; and for which resources an option with a gain was removed because
        they could not be afforded, both of shape ``(k,)``.
    """
    keeps_out = np.zeros(len(offers.capacity), np.bool_)
    if not offers.consumption.size:
        return (
            Offers(gain=offers.gain, consumption=offers.consumption[:0], capacity=offers.capacity[:0]),
            keeps_out.copy(),
            keeps_out,
        )
    scaled = _scale(offers)
    scarce = scaled.max_consumption() > scaled.capacity
    consumption = scaled.consumption if scarce.all() else scaled.consumption[scarce]
    # A copy, because options are struck in place below, while the caller still measures by its own gains what became of
    # the answer.
    kept = Offers(gain=offers.gain.copy(), consumption=consumption, capacity=scaled.capacity[scarce])
    most = kept.capacity + kept.max_release() + SLACK
    rates = _rates(kept)
    for part in kept.in_chunks():
        gone = (part.consumption > most[:, np.newaxis, np.newaxis]).any(axis=0)
        dear = _unaffordable(part, rates)
        keeps_out[scarce] |= (dear & (~gone & (part.gain > 0))).any(axis=(1, 2))
        gone |= dear.any(axis=0)
        np.copyto(part.gain, -np.inf, where=gone)
        # Their release goes with them. Counting room that an impossible option would give back loosened the bound.
        np.copyto(part.consumption, 0.0, where=gone)
    return kept, scarce, keeps_out


def _scale(offers: Offers) -> Offers:
    """The same problem with every resource in units of its largest single consumption."""
    scale = offers.scale()
    scaled = Offers(gain=offers.gain, consumption=np.empty_like(offers.consumption), capacity=offers.capacity / scale)
    for part, own in zip(offers.in_chunks(), scaled.in_chunks(), strict=True):
        np.divide(part.consumption, scale[:, np.newaxis, np.newaxis], out=own.consumption)
        np.copyto(own.consumption, 0.0, where=~np.isfinite(part.gain))  # what does not exist gives nothing back either
    return scaled


def _rates(offers: Offers) -> dict[tuple[int, int], float]:
    """For pairs of resources (short, paid): the least that is paid per unit released of the short one.

    Only for a paid resource that no option releases. There, releasing some of one resource always consumes some of the
    other: moving bytes out of a tier to make room copies bytes.
    """
    least = offers.consumption.min(axis=(1, 2))
    pairs = [
        (short, paid)
        for short, paid in permutations(range(len(offers.capacity)), 2)
        if offers.capacity[short] >= 0 and least[short] < 0 <= least[paid]
    ]
    rates = dict.fromkeys(pairs, np.inf)
    for part in offers.in_chunks():
        for short, paid in pairs:
            gives = part.consumption[short] < 0
            each = np.divide(
                part.consumption[paid], -part.consumption[short], out=np.full(gives.shape, np.inf), where=gives
            )
            rates[short, paid] = min(rates[short, paid], float(each.min()))
    return rates


def _unaffordable(offers: Offers, rates: dict[tuple[int, int], float]) -> Bools:
    """Per resource the options that would overdraw it, the release of other resources that they need included.

    Missing capacity of a short resource costs at least ``rate`` of the paid one, whichever item releases it.
    Shape ``(k, o, n)``.
    """
    dear = np.zeros(offers.consumption.shape, dtype=np.bool_)
    for (short, paid), rate in rates.items():
        needed = np.maximum(offers.consumption[short] - offers.capacity[short], 0.0)
        needed *= rate
        needed += offers.consumption[paid]
        dear[paid] |= needed > offers.capacity[paid] + SLACK
    return dear
