"""Guards: which bundles may be brought to a tier at all, and for the others the first reason why not.

Reasons are ordered from "nobody decided this by numbers" to "the numbers say no": not managed, pinned, too little
history, idle; then what kind of demand saves too little; then what stops a move that would be worth it.
"""

from __future__ import annotations

import numpy as np

from connectors.model import F64, I8, Bools, Signal
from policies.benefit import HOUR
from policies.bundles import MICRO, Bundles
from policies.plan import Pin, PolicySettings, Verdict

IDLE_PER_HOUR = 1.0  # accesses of any kind; fewer is idle
CACHED_HITS = 0.95  # share of logical reads that the buffer pool answers
CACHED_SURE = 0.99  # with so many hits, and ...
CACHED_SHARE = 0.01  # ... less than this share of all wait, a promotion would be chasing start-up misses
MINOR_SHARE = 0.5  # of the saving must come from reads that a session waited for
WRITES_TO_LOGICAL = 0.1  # fewer writes than this per logical read: the unit is read, whatever storage sees
ANY_REASON = np.int8(-1)


def wait_by_class(rates: F64, slow: F64, fast: F64) -> tuple[F64, F64, F64]:
    """What waited-for reads, prefetched reads and writes contribute to a saving.

    Args:
        rates: shape ``(SIGNALS, m)`` per second.
        slow: seconds of wait per I/O of each signal where the unit is, shape ``(SIGNALS, m)`` or ``(SIGNALS, 1)``.
        fast: the same on the tier it would go to.
    """
    saved = [rates[signal] * (slow[signal] - fast[signal]) for signal in Signal]
    foreground = saved[Signal.SYNC_READ] + saved[Signal.DIRECT_READ]
    return foreground, saved[Signal.PREFETCHED_READ], saved[Signal.ASYNC_WRITE] + saved[Signal.SYNC_WRITE]


def hit_ratio(rates: F64) -> F64:
    """Share of logical reads that the buffer pool answers, 0 where there are none. Shape ``(m,)``."""
    logical = rates[Signal.LOGICAL_READ]
    missed = np.divide(physical_reads(rates), logical, out=np.ones(len(logical)), where=logical > 0)
    return np.asarray(np.clip(1.0 - missed, 0.0, 1.0), dtype=np.float64)


def physical_reads(rates: F64) -> F64:
    """Reads per second that reach storage."""
    return np.asarray(
        rates[Signal.SYNC_READ] + rates[Signal.PREFETCHED_READ] + rates[Signal.DIRECT_READ], dtype=np.float64
    )


def writes(rates: F64) -> F64:
    """Writes per second that reach storage."""
    return np.asarray(rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE], dtype=np.float64)


def why_not(bundles: Bundles, weights: F64, target: int, total_wait: float, settings: PolicySettings) -> I8:
    """Verdict of each bundle about coming to the tier ``target``.

    Args:
        bundles: the columns.
        weights: seconds of wait per I/O, ``(tiers, SIGNALS)`` from ``benefit.wait_weights``.
        target: row of the tier.
        total_wait: microseconds per hour that all managed bundles wait now.
        settings: floors and limits.

    Returns:
        ``PROMOTE`` where nothing is against it (it may still not fit); bundles that are there already, or on a faster
        tier, get a verdict too, which means nothing.
    """
    gain = bundles.saved(target)
    counted = gain * np.where(bundles.pin == Pin.PREFER, settings.prefer_bonus, 1.0)
    floor = settings.minimum_wait_saved_per_hour * MICRO
    wanted = bundles.pin == Pin.MUST
    payback_limit = bundles.cost * HOUR > settings.payback_limit_seconds * counted
    conditions = [
        bundles.tier < 0,
        bundles.pin == Pin.NEVER,
        wanted & (bundles.cooling > 0),
        wanted & ~bundles.routable,
        wanted,
        bundles.observed < settings.minimum_history_seconds,
        bundles.rates.sum(axis=0) * HOUR < IDLE_PER_HOUR,
    ]
    verdicts = [
        Verdict.NOT_MANAGED,
        Verdict.PINNED,
        Verdict.COOLING_DOWN,
        Verdict.NO_ROUTE,
        Verdict.PROMOTE,
        Verdict.NOT_ENOUGH_HISTORY,
        Verdict.IDLE,
    ]
    kind = _kind_of_demand(bundles, weights, target, gain, counted < floor, total_wait)
    conditions += [kind != ANY_REASON, bundles.cooling > 0, ~bundles.routable, payback_limit]
    verdicts_after = [Verdict.COOLING_DOWN, Verdict.NO_ROUTE, Verdict.PAYBACK_TOO_LONG]
    choices = [np.int8(verdict) for verdict in verdicts]
    choices_after = [np.int8(verdict) for verdict in verdicts_after]
    return np.select(conditions, [*choices, kind, *choices_after], np.int8(Verdict.PROMOTE)).astype(np.int8)


def _kind_of_demand(bundles: Bundles, weights: F64, target: int, gain: F64, low: Bools, total_wait: float) -> I8:
    """Which kind of demand makes fast storage useless or nearly so, ``ANY_REASON`` where none does."""
    rates = bundles.rates
    home = weights[np.maximum(bundles.tier, 0)].T
    foreground, prefetched, written = wait_by_class(rates, home, weights[target][:, np.newaxis])
    minor = foreground < MINOR_SHARE * (foreground + prefetched + written)
    hits = hit_ratio(rates)
    write, read, logical = writes(rates), physical_reads(rates), rates[Signal.LOGICAL_READ]
    mostly_written = (write > read) & (write >= WRITES_TO_LOGICAL * logical)
    conditions = [
        low & mostly_written,
        minor & (written > prefetched),
        low & (hits >= CACHED_HITS),
        (hits >= CACHED_SURE) & (gain < CACHED_SHARE * total_wait),
        minor | (low & (rates[Signal.PREFETCHED_READ] > 0.5 * read)),
        low,
    ]
    choices = [
        Verdict.WRITE_DOMINATED,
        Verdict.WRITE_DOMINATED,
        Verdict.CACHED,
        Verdict.CACHED,
        Verdict.SEQUENTIAL,
        Verdict.GAIN_BELOW_FLOOR,
    ]
    return np.select(conditions, [np.int8(choice) for choice in choices], ANY_REASON).astype(np.int8)


def may_leave(bundles: Bundles, settings: PolicySettings) -> Bools:
    """Bundles that may give way to better ones: managed, free to move, and watched long enough to be called cold."""
    return np.asarray(
        (bundles.tier >= 0)
        & (bundles.pin != Pin.MUST)
        & (bundles.cooling <= 0)
        & bundles.routable
        & (bundles.observed >= settings.minimum_history_seconds),
        dtype=np.bool_,
    )
