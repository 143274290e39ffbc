"""Guards: which bundles may be brought to a tier at all, and for the others the first reason why not.

Reasons that need no figures come before those that rest on them: not managed, pinned, too little
history, idle; then what kind of demand saves too little; then what stops a move that would be worth it: first what
stands (no route, larger than any space of the tier), then what passes or varies with demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.model.observation import F64, I8, I64, Bools, Signal
from policies.evidence.bundles import MICRO, Bundles
from policies.evidence.capacity import drive_io
from policies.evidence.prices import HOUR
from policies.model.columns import row_chunks
from policies.model.plan import Verdict
from policies.model.settings import GIB, PREFERENCE, Pin, PolicySettings, TierLimits

IDLE_PER_HOUR = 1.0  # accesses of any kind; fewer is idle
CACHED_HITS = 0.95  # share of logical reads that the buffer pool answers
CACHED_SURE = 0.99  # with so many hits, and ...
CACHED_SHARE = 0.01  # ... less than this share of all wait, a promotion would be chasing start-up misses
MINOR_SHARE = 0.5  # of the saving must come from reads that a session waited for
WRITES_TO_LOGICAL = 0.1  # fewer writes than this per logical read: the unit is read, whatever storage sees
SMALL_BYTES = 65536  # of a smaller unit with little gain it is said that the buffer pool keeps it
NO_REASON = np.int8(-1)


def wait_by_class(rates: F64, slow: F64, fast: F64) -> tuple[F64, F64, F64]:
    """Contributions of waited-for reads, prefetched reads and writes to a saving.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """Guards on the demand of some bundles that hold for any target tier. Columns by bundle."""

    home: F64  # (SIGNALS, m) seconds of wait per I/O where each is
    hits: F64
    ahead: Bools  # mostly read ahead of sessions
    written: Bools  # mostly written
    logged: Bools  # written like a log
    idle: Bools


def why_not(
    bundles: Bundles,
    targets: Sequence[int],
    total_wait: float,
    settings: PolicySettings,
    limits: Sequence[TierLimits | None],
    largest: Sequence[int],
) -> list[I8]:
    """Verdict of each bundle about coming to each of some tiers.

    Args:
        bundles: the columns.
        targets: rows of those tiers.
        total_wait: microseconds per hour that all managed bundles wait now.
        settings: floors and limits.
        limits: of every tier, for its prices.
        largest: bytes of the largest unit that each tier could ever take.

    Returns:
        For each target ``PROMOTE`` where nothing is against it (it may still not fit); bundles that are there already,
        or on a faster tier, get a verdict too, which means nothing.
    """
    verdicts = [np.empty(len(bundles), np.int8) for _ in targets]
    for part in row_chunks(len(bundles)):
        some = bundles.some(part)
        demand = _demand(some, bundles.prices.weights)
        for target, verdict in zip(targets, verdicts, strict=True):
            verdict[part] = _why_not(some, demand, target, total_wait, settings, limits[target], largest[target])
    return verdicts


def _demand(bundles: Bundles, weights: F64) -> _Demand:
    rates = bundles.rates
    write, read, logical = writes(rates), physical_reads(rates), rates[Signal.LOGICAL_READ]
    return _Demand(
        home=np.take(weights.T, np.maximum(bundles.tier, 0), axis=1),
        hits=hit_ratio(rates),
        ahead=rates[Signal.PREFETCHED_READ] > 0.5 * read,
        # Writes over reads of storage is not enough: a table that is read from the buffer pool a thousand times for
        # each write has more writes than reads there, and is still not written above all.
        written=(write > read) & (write >= WRITES_TO_LOGICAL * logical),
        logged=rates[Signal.SYNC_WRITE] > np.maximum(rates[Signal.ASYNC_WRITE], read),
        idle=rates.sum(axis=0) * HOUR < IDLE_PER_HOUR,
    )


def _why_not(
    bundles: Bundles,
    demand: _Demand,
    target: int,
    total_wait: float,
    settings: PolicySettings,
    limits: TierLimits | None,
    largest: int,
) -> I8:
    """The same of a few bundles about one tier."""
    gain = bundles.saving_on(target)
    favour = favour_of(bundles.pin)
    counted = gain * favour * bundles.colder
    sure = bundles.lower_bound_of_saving(gain, target) * favour
    floor = settings.minimum_wait_saved_per_hour * MICRO
    wanted = bundles.pin == Pin.MUST
    low = counted < floor, gain * favour * bundles.hotter < floor
    by_class = wait_by_class(bundles.rates, demand.home, bundles.prices.weights[target][:, np.newaxis])
    kind = _kind_of_demand(demand, by_class, low, gain < CACHED_SHARE * total_wait)
    small = (kind == Verdict.GAIN_BELOW_FLOOR) & (bundles.size < SMALL_BYTES)
    cases: list[tuple[Bools, I8 | Verdict]] = [
        (bundles.tier < 0, Verdict.NOT_MANAGED),
        ((bundles.pin == Pin.NEVER) & (target == 0), Verdict.PINNED),
        (wanted & (bundles.cooling > 0), Verdict.COOLING_DOWN),
        (wanted & ~bundles.routable, Verdict.NO_ROUTE),
        (wanted, Verdict.PROMOTE),
        (bundles.observed < settings.minimum_history_seconds, Verdict.NOT_ENOUGH_HISTORY),
        (demand.idle, Verdict.IDLE),
        (small, Verdict.TOO_SMALL),
        (kind != NO_REASON, kind),
        (~bundles.routable, Verdict.NO_ROUTE),
        (bundles.size - bundles.growth > largest, Verdict.WOULD_NOT_FIT),
        (bundles.size > largest, Verdict.OUTGROWS),
        (bundles.cooling > 0, Verdict.COOLING_DOWN),
        # The mean before its lower end: where even the mean does not pay, more evidence would not help, and the reason
        # shown must not be that it is uncertain.
        (bundles.cost * HOUR > settings.payback_limit_seconds * counted, Verdict.PAYBACK_TOO_LONG),
        (_ram_is_cheaper(bundles, limits, settings), Verdict.RAM_IS_CHEAPER),
        ((sure < floor) | (bundles.cost * HOUR > settings.payback_limit_seconds * sure), Verdict.UNCERTAIN),
        (bundles.observed < seconds_to_prove(gain, bundles.cost, settings), Verdict.UNPROVEN),
    ]
    return first_of(cases, Verdict.PROMOTE)


def favour_of(pin: I64) -> F64:
    """By how much a saving counts more than it is, since a person prefers some units. Shape ``(m,)``."""
    return np.where(pin == Pin.PREFER, PREFERENCE, 1.0)


def counted_seconds(observed: float, settings: PolicySettings) -> float:
    """How much of the time for which a unit was observed its losses are added up over.

    Multiplied by all of it, what a short memory knows would count for weeks. A gain counts against its copy for no
    longer than the horizon, and so does what was lost.
    """
    return min(observed, settings.horizon_seconds)


def seconds_to_prove(gain: F64, cost: F64, settings: PolicySettings) -> F64:
    """Ski rental: how long a unit is observed until it may move, since how long its heat lasts is unknown.

    Renting until the rent paid equals the price, and buying then, costs at most twice the optimum in hindsight. Heat
    watched for the long horizon has shown that it lasts, and settings that ask for no history ask for no patience.

    Args:
        gain: microseconds per hour that it would save.
        cost: session microseconds of its move.
        settings: horizons, and how many times its cost a move has to have lost.
    """
    if settings.minimum_history_seconds <= 0:
        return np.zeros(len(gain))
    needed = np.divide(settings.regret_ratio * cost * HOUR, gain, out=np.full(len(gain), np.inf), where=gain > 0)
    needed = np.where(needed > counted_seconds(np.inf, settings), np.inf, needed)
    return np.minimum(needed, settings.long_half_life_seconds)


def _ram_is_cheaper(bundles: Bundles, limits: TierLimits | None, settings: PolicySettings) -> Bools:
    """The five-minute rule by the site's own prices: a year of memory for all of it against a year of fast storage.

    Memory costs by bytes alone; storage also by the I/Os that it must serve, which memory spares.
    """
    if limits is None or settings.ram_gib_year is None or limits.gib_year is None:
        return np.zeros(len(bundles), dtype=np.bool_)
    gib = bundles.size / GIB
    storage = gib * limits.gib_year + drive_io(bundles.rates, limits) * (limits.io_year or 0.0)
    return np.asarray(gib * settings.ram_gib_year <= storage, dtype=np.bool_)


def first_of(cases: Sequence[tuple[Bools, I8 | Verdict]], otherwise: Verdict | np.int8) -> I8:
    """Per row the word (or the row of the column) of the first case that holds there."""
    words = np.full(cases[0][0].shape, otherwise, dtype=np.int8)
    # Written from the last case to the first, so that the first that holds has the last word.
    for case, word in reversed(cases):
        if case.any():
            np.copyto(words, word, where=case)
    return words


def _kind_of_demand(demand: _Demand, by_class: tuple[F64, F64, F64], below: tuple[Bools, Bools], little: Bools) -> I8:
    """Which kind of demand makes fast storage useless or nearly so, ``NO_REASON`` where none does.

    Args:
        demand: whatever the tier.
        by_class: what each class of reads and writes would save there.
        below: whose gain by the colder horizon is below the floor, and whose is by the hotter one too.
        little: whose gain is a small share of all wait.
    """
    low, lasting = below
    foreground, prefetched, written = by_class
    minor = foreground < MINOR_SHARE * (foreground + prefetched + written)
    cases: list[tuple[Bools, I8 | Verdict]] = [
        (demand.logged & (low | minor), Verdict.LOG_LIKE),
        (low & demand.written, Verdict.WRITE_DOMINATED),
        (minor & (written > prefetched), Verdict.WRITE_DOMINATED),
        (low & (demand.hits >= CACHED_HITS), Verdict.CACHED),
        ((demand.hits >= CACHED_SURE) & little, Verdict.CACHED),
        (minor | (low & demand.ahead), Verdict.SEQUENTIAL),
        (low & ~lasting, Verdict.FADING),
        (low, Verdict.GAIN_BELOW_FLOOR),
    ]
    return first_of(cases, NO_REASON)


def may_leave(bundles: Bundles, settings: PolicySettings) -> Bools:
    """Bundles that may give way to better ones: not pinned there, and free to move."""
    return np.asarray(may_move(bundles, settings) & (bundles.pin != Pin.MUST), dtype=np.bool_)


def may_make_room(bundles: Bundles, settings: PolicySettings) -> Bools:
    """The same, and those that came to the fastest tier lately and have not paid for that: their ``cost`` has it."""
    free = replace(bundles, cooling=np.where(bundles.yields, 0.0, bundles.cooling))
    return may_leave(free, settings)


def may_move(bundles: Bundles, settings: PolicySettings) -> Bools:
    """Bundles that are managed, free to move, and watched long enough to be called cold."""
    return np.asarray(
        (bundles.tier >= 0)
        & (bundles.cooling <= 0)
        & bundles.routable
        & (bundles.observed >= settings.minimum_history_seconds),
        dtype=np.bool_,
    )
