"""How many requests a tier serves at a time, learnt from how the latency of its reads grows with its load.

On one disk a read behind ten others takes eleven times as long as alone; on twenty disks half again as long. So each
interval with enough reads is a point: sessions at the tier, by Little's law its read wait per second, and the time of a
read over the configured time of an idle one. Points are kept as sums by bins of the first, and fade over weeks: a
device changes less often than its load.

For each number of servers, and both ways to queue (``stations``), the points say how likely it is; the time of an idle
read is integrated out, with the error that a configured one has. Equal weight goes to equal ratios, but small numbers
are preferred in proportion. What is believed is the likelier way to queue, and the median of its numbers: a few servers
with one queue lengthen reads much as many with a queue each do, so a median of both would be the number of neither. The
interval covers both. **Measured** is only what the points alone decide: an interval of at most ``NARROW`` with the idle
time left open. One load alone cannot do that: a long read may be a slow disk or a queue.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from connectors.model import F64, Bools
from policies.model.settings import ONE_SERVER, Servers
from policies.storage.queueing import services_ahead
from policies.storage.stations import Stations, columns, queue_of

FIGURES = 4  # of each bin
INTERVALS, RATIO, SQUARES, FOUND = range(FIGURES)
BINS = 28  # by factors of the root of two, from FEWEST_FOUND sessions up
FEWEST_FOUND = 2.0**-5
HALF_LIFE_SECONDS = 14 * 86400.0
LEAST_READS = 200.0  # of an interval: fewer leave a mean that errs by more than a queue
LEAST_SHARE = 0.8  # of all read wait, where an engine knows no read time by space: then it is this tier's
POINT_ERROR = 0.1  # of a bin, as a share: caches and the mix of reads change with the load as well
SCATTER = 0.2  # of one interval, as if one had been seen
OPEN_ERROR = 1.5  # of the time of an idle read, as a share, where the points alone are to decide
NARROW = 2.0
CERTAINTY = 0.9
FITS_KEPT = 256  # a tier's latest evidence, for many databases
COUNTS: F64 = np.unique(np.round(np.geomspace(1.0, 256.0, 65)))


def no_points(tiers: int) -> F64:
    """No evidence about that many tiers. Shape ``(tiers, BINS, FIGURES)``."""
    return np.zeros((tiers, BINS, FIGURES))


def add_points(points: F64, found: F64, ratio: F64, used: Bools, seconds: float) -> F64:
    """The evidence after one more interval.

    Args:
        points: before it, shape ``(tiers, BINS, FIGURES)``.
        found: sessions at each tier that a read finds before it, on average, shape ``(tiers,)``.
        ratio: time of a read over the configured time, likewise.
        used: tiers that the interval says something of.
        seconds: of the interval.
    """
    after: F64 = points * 2.0 ** (-seconds / HALF_LIFE_SECONDS)
    for tier in np.flatnonzero(used & (ratio > 0) & (found > 0)):
        row = int(np.clip(2 * np.log2(found[tier] / FEWEST_FOUND), 0, BINS - 1))
        # Logarithms, since a latency errs by a share of itself: plain differences would let the few intervals of a long
        # queue decide everything.
        log = float(np.log(ratio[tier]))
        after[tier, row] += (1.0, log, log * log, found[tier])
    return after


def fit_servers(points: F64, idle_error: float) -> Servers:
    """What the points of one tier leave possible.

    Args:
        points: shape ``(BINS, FIGURES)``.
        idle_error: standard error of the configured time of an idle read, as a share.
    """
    seen = points[points[:, INTERVALS] > 0.5]
    return _fit(seen.tobytes(), idle_error) if len(seen) else ONE_SERVER


@lru_cache(maxsize=FITS_KEPT)
def _fit(evidence: bytes, idle_error: float) -> Servers:
    """Of the points that count, as bytes: whoever looks between two intervals asks again with the same ones."""
    seen = np.frombuffer(evidence).reshape(-1, FIGURES)
    stretch = {own: _stretch(seen[:, FOUND] / seen[:, INTERVALS], own) for own in (True, False)}
    likely, alone = (_likelihoods(seen, stretch, error) for error in (idle_error, OPEN_ERROR))
    least, most = _interval(likely)
    alone_least, alone_most = _interval(alone)
    measured = alone_most <= NARROW * alone_least
    if not measured and least <= 1.0:
        return replace(ONE_SERVER, most=most)
    striped = bool(likely[True].sum() >= likely[False].sum())
    return Servers(
        count=_quantile(likely[striped], 0.5),
        least=least,
        most=most,
        source="measured" if measured else "interval",
        striped=striped,
    )


def _likelihoods(seen: F64, stretch: dict[bool, F64], idle_error: float) -> dict[bool, F64]:
    """Of each of ``COUNTS`` for both ways to queue, but for a common factor. Shapes ``(len(COUNTS),)``."""
    logs = {own: _log_likelihood(seen, each, idle_error) for own, each in stretch.items()}
    best = max(float(each.max()) for each in logs.values())
    return {own: np.exp(each - best) / COUNTS * np.gradient(np.log(COUNTS)) for own, each in logs.items()}


def _log_likelihood(seen: F64, stretch: F64, idle_error: float) -> F64:
    """Of each of ``COUNTS``, but for a constant, by what ``_stretch`` says of them. Shape ``(len(COUNTS),)``."""
    count = seen[:, INTERVALS]
    mean = seen[:, RATIO] / count
    scatter = (np.maximum(0.0, seen[:, SQUARES] - count * mean**2) + SCATTER**2) / count
    weight = 1 / (POINT_ERROR**2 + scatter / count)
    off = mean - np.log(stretch)
    common = (off * weight).sum(axis=1) ** 2 / (1 / idle_error**2 + weight.sum())
    return np.asarray(-0.5 * ((off**2 * weight).sum(axis=1) - common), dtype=np.float64)


def _stretch(found: F64, striped: bool) -> F64:
    """Time of a read over that of an idle one behind so many sessions. Shape ``(len(COUNTS), len(found))``."""
    shares, powers = columns([queue_of(float(count), striped) for count in COUNTS])
    # What an arrival finds leaves itself out already, so found is 1 here.
    busy = Stations(COUNTS, shares, powers).utilisation(found[:, np.newaxis], 1.0)
    return np.asarray(1 + services_ahead(shares, powers, busy), dtype=np.float64).T


def _interval(likely: dict[bool, F64]) -> tuple[float, float]:
    """Ends of the servers that are possible, whichever way they queue."""
    both, tail = likely[True] + likely[False], (1 - CERTAINTY) / 2
    return _quantile(both, tail), _quantile(both, 1 - tail)


def _quantile(likely: F64, share: float) -> float:
    """Servers, so many that no more than that share of the likelihood is of fewer."""
    below = np.cumsum(likely) / likely.sum()
    return float(COUNTS[min(int(np.searchsorted(below, share)), len(COUNTS) - 1)])
