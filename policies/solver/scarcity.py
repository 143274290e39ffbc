"""Presolve: drop the resources that cannot run out and the options for which there is never room.

Works through the items in chunks (``Offers.in_chunks``): writing and rereading columns of a million costs more time
than the arithmetic.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import Bools
from policies.solver.offers import SLACK, Offers


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
