"""How much a unit's demand varies, as six decayed columns, and what that says about the demand to come.

One figure stands for a unit's demand: the wait it would cause on a usual disk (``index``). Its decayed mean, square and
product with the interval before give variance and persistence. Intervals that persist tell less than independent ones:
with correlation ``r`` from one to the next, ``n`` of them count as ``n * (1 - r) / (1 + r)`` (first-order process).

The demand to come is a mean over a time as long as the one that was watched; it errs as much as the mean so far, so its
variance is ``2 / n`` of that of an interval.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F32, F64, I64, SIGNALS, Bools, Signal

WEIGHT, WEIGHT_SQUARES, MEAN, SQUARE, PRODUCT, LAST = range(6)
LINES = 6

# Seconds that a session waits for one I/O of each signal on a usual disk. Only proportions matter, so this need not be
# the disk at hand: it says which signal dominates where several vary.
USUAL = np.zeros(SIGNALS)
USUAL[[Signal.SYNC_READ, Signal.SYNC_WRITE]] = 0.0055
USUAL[Signal.DIRECT_READ] = 0.00005
USUAL[Signal.PREFETCHED_READ] = 0.000015

PRIOR_INTERVALS = 1.0  # it counts as if one interval had been seen that missed the mean by all of it
MOST_PERSISTENCE = 0.95
CAREFUL = 1.5  # standard errors of a measured persistence that are added to it: noise of counting hides some
MOST_ERROR = 2.0  # beyond it a mean says nothing, and figures that faded away only divide noise by noise
UNKNOWN_ERROR = 1.0  # of a unit without any observation


def index_of(rates: F64) -> F64:
    """Wait seconds per second on a usual disk, shape ``(n,)``, of rates ``(SIGNALS, n)``."""
    index = np.zeros(rates.shape[1])
    for signal in np.flatnonzero(USUAL):
        index += rates[signal] * USUAL[signal]
    return index


def empty_spread(slots: int) -> F32:
    """Nothing seen of so many slots. Shape ``(LINES, slots)``."""
    return np.zeros((LINES, slots), dtype=np.float32)


def seen_once_more(spread: F32, at: I64, index: F64, seen: Bools, arriving: float) -> F32:
    """Let one interval pass.

    Args:
        spread: columns before it; used up.
        at: slots that had demand, some perhaps twice.
        index: of each of those.
        seen: slots about which the interval says something; those without demand had none.
        arriving: share of the decayed mean that the interval is.
    """
    # Added up by slot first: a unit rebuilt within the interval has two columns, and the square of their sum is not the
    # sum of their squares.
    now = np.zeros(spread.shape[1], dtype=np.float32)
    np.add.at(now, at, index.astype(np.float32))
    now_there, last = now[at], spread[LAST, at]
    share = np.where(seen, np.float32(arriving), np.float32(0.0))
    keeping = 1 - share
    for line in spread[:LAST]:
        line *= keeping
    spread[WEIGHT_SQUARES] *= keeping
    spread[WEIGHT] += share
    spread[WEIGHT_SQUARES] += share * share
    weighed = now_there * np.float32(arriving)
    spread[MEAN, at] += weighed  # a slot that comes twice is written twice with the same sum, not added twice
    spread[SQUARE, at] += weighed * now_there
    spread[PRODUCT, at] += weighed * last
    np.copyto(spread[LAST], now, where=seen)
    return spread


def error_ratio(spread: F32) -> F64:
    """Standard error of the mean demand to come, as a share of it; of a slot without demand, as if it were unknown.

    Shape ``(slots,)``.
    """
    error = np.full(spread.shape[1], UNKNOWN_ERROR)
    busy = np.flatnonzero(spread[MEAN] > 0)
    error[busy] = _error_ratio(spread[:, busy].astype(np.float64))
    return error


def _error_ratio(spread: F64) -> F64:
    """The same of slots that had demand."""
    weight, squares, total, square, product, _ = spread
    mean = total / weight
    variance = np.maximum(0.0, square / weight - mean * mean)
    intervals = weight * weight / squares
    together = product / weight - mean * mean
    persistence = np.divide(together, variance, out=np.zeros(len(weight)), where=variance > 0)
    persistence = persistence + np.where(persistence > 0, CAREFUL / np.sqrt(intervals), 0.0)
    persistence = np.clip(persistence, 0.0, MOST_PERSISTENCE)
    # At least one: a mean never knows less than a single interval would.
    counted = np.maximum(1.0, intervals * (1 - persistence) / (1 + persistence))
    relative = (variance / (mean * mean) * intervals + PRIOR_INTERVALS) / (intervals + PRIOR_INTERVALS)
    return np.asarray(np.minimum(np.sqrt(relative * 2.0 / counted), MOST_ERROR), dtype=np.float64)
