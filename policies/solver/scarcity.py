"""Which resources could run out, and which options nobody could make room for: what is left to decide by prices.

Both are asked of many items in parts (``Offers.parts``): columns of a million are slow to write and to read again.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from connectors.model import Bools
from policies.solver.offers import SLACK, Offers


def binding(offers: Offers) -> tuple[Offers, Bools, Bools]:
    """The offers without resources that could not run out, the others measured by their largest single use.

    Options that no other could make room for are taken out too, and what does not exist uses nothing.

    Returns:
        the offers; which resources are left; and of all resources those for which somebody is kept out who would gain,
        both of shape ``(k,)``.
    """
    keeps_out = np.zeros(len(offers.room), np.bool_)
    if not offers.use.size:
        return Offers(gain=offers.gain, use=offers.use[:0], room=offers.room[:0]), keeps_out.copy(), keeps_out
    scaled = _scale(offers)
    scarce = scaled.most_taken() > scaled.room
    use = scaled.use if scarce.all() else scaled.use[scarce]
    kept = Offers(gain=offers.gain.copy(), use=use, room=scaled.room[scarce])
    most = kept.room + kept.most_given() + SLACK
    rates = _rates(kept)
    for part in kept.parts():
        gone = (part.use > most[:, np.newaxis, np.newaxis]).any(axis=0)
        dear = _unaffordable(part, rates)
        keeps_out[scarce] |= (dear & (~gone & (part.gain > 0))).any(axis=(1, 2))
        gone |= dear.any(axis=0)
        np.copyto(part.gain, -np.inf, where=gone)
        np.copyto(part.use, 0.0, where=gone)
    return kept, scarce, keeps_out


def _scale(offers: Offers) -> Offers:
    """The same by the largest single use."""
    scale = offers.scale()
    scaled = Offers(gain=offers.gain, use=np.empty_like(offers.use), room=offers.room / scale)
    for part, own in zip(offers.parts(), scaled.parts(), strict=True):
        np.divide(part.use, scale[:, np.newaxis, np.newaxis], out=own.use)
        np.copyto(own.use, 0.0, where=~np.isfinite(part.gain))  # what does not exist gives nothing back either
    return scaled


def _rates(offers: Offers) -> dict[tuple[int, int], float]:
    """By what is short and what is paid: how much of the one who gives back a unit of the other takes at least.

    Only where nobody gives back what is paid: who gives back some of one resource takes of another then, since a copy
    of bytes that make room is a copy of bytes.
    """
    least = offers.use.min(axis=(1, 2))
    pairs = [
        (short, paid)
        for short, paid in permutations(range(len(offers.room)), 2)
        if offers.room[short] >= 0 and least[short] < 0 <= least[paid]
    ]
    rates = dict.fromkeys(pairs, np.inf)
    for part in offers.parts():
        for short, paid in pairs:
            gives = part.use[short] < 0
            each = np.divide(part.use[paid], -part.use[short], out=np.full(gives.shape, np.inf), where=gives)
            rates[short, paid] = min(rates[short, paid], float(each.min()))
    return rates


def _unaffordable(offers: Offers, rates: dict[tuple[int, int], float]) -> Bools:
    """Per resource the options for which others could make room only by taking too much of it, shape ``(k, o, n)``.

    What is missing of the one costs at least so much of the other, whoever it is that gives it.
    """
    dear = np.zeros(offers.use.shape, dtype=np.bool_)
    for (short, paid), rate in rates.items():
        needed = np.maximum(offers.use[short] - offers.room[short], 0.0)
        needed *= rate
        needed += offers.use[paid]
        dear[paid] |= needed > offers.room[paid] + SLACK
    return dear
