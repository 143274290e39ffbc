"""How fast each tier really is, how many requests it serves at a time, and the pace of work on it.

``fit_servers`` learns how many requests a tier serves at a time. On one disk a read behind ten others takes eleven
times as long as alone; on twenty disks, half again as long. Each interval with enough reads is a point: sessions at the
tier (by Little's law its read wait per second), and the time of a read over the configured time of an idle one. Points
are binned by sessions and fade over weeks. They give a likelihood for each number of servers and both ways to queue
(``queueing``), with the error of the configured idle time integrated out. The prior gives equal ratios equal weight,
times one over the number, which prefers few servers. The estimate is the likelier way to queue and the median of its
numbers (a median over both ways would fit neither); the interval covers both. The result is **measured** only if the
points alone, with the idle time left open, leave an interval of at most ``NARROW``. One load alone cannot do that: a
long read may be a slow disk or a queue.

``calibrate`` scales configured speeds by what counters measured. An engine may give only one figure per interval, the
seconds that sessions waited for reads. A regression finds one factor per tier so that
``sum of factor * wait by the prior`` comes near it. Reads of the database that are of no tier (its system catalog) have
their part of the seconds. The factors are shrunk towards 1 as if the prior had been seen for ``PRIOR_READS`` reads. A
sum says little about a small part of it, so ``left_possible`` gives the least and the most that the waits allow each
factor. Where these are further apart than ``NARROW``, the tier keeps its configured speed, or the nearest possible one.

A scan's block and a look-up may differ by any ratio: files in the operating system's cache, or workers that read ahead.
So where an engine times scans apart (``scan_wait``), a second regression of the same form finds one factor per tier for
blocks in runs, and theirs are no part of the first. Elsewhere one factor is for both.

``error_ratios`` says how sure each speed is, by how far each interval lay from the belief before it.

``slowest_pace`` removes the effect of placement from demand. Sessions that wait less ask again sooner, so fast storage
raises the reads per second of the same work. Before demand is remembered, it is scaled to the pace of the closed
network (``queueing``) with every read on the slowest tier, which no move changes. Reads of unknown units (dropped or
rebuilt within the interval) count like the others, because sessions waited for them too. A wrong idle time scales all
units alike. Below one session at work, arrivals set the pace and not waits, so nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F64, I64, SIGNALS, Bools, DatabaseDemand, Demand, Signal
from policies.evidence.prices import wait_weights
from policies.evidence.queueing import (
    LEAST_ELSEWHERE,
    Network,
    Stations,
    columns,
    queue_of,
    services_ahead,
    stations_of,
)
from policies.model.settings import ONE_SERVER, PolicySettings, Servers, Tier, TierSpeed

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
SHOWN_AS_EQUAL = 0.02  # of a read time: what differs by less is the configured one for a person
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
    """Of the points that count, as bytes: a caller that looks between two intervals asks again with the same."""
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


PRIOR_READS = 1000.0  # what the configured speed weighs against measurement
PRIOR_ERROR = 0.5  # standard error of a configured speed, as a share: data sheets and kinds are that far off
SERVED_AT_ONCE_ERROR = 3.0  # a tier without a queue is believed to be at most so many times as fast or slow ...
QUEUE_ERROR = 20.0  # ... as configured, and one with a queue at most so many times as slow: sessions wait in line
LARGEST_FACTOR = 100.0  # a measurement slower than this many times is a mistake, not a disk
QUICKEST_READ_SECONDS = 1e-6  # of a block in the cache of the system: no measurement is quicker
LEAST_SHARE_OF_WAIT = (
    1e-9  # of the wait by the prior: below it a difference of sums is rounding, and tells nothing of a tier
)
ROUNDS = 8  # in which what is known of one tier narrows what is possible for another
LEAST_COVERAGE = 0.8  # of the database's reads must be known by tier, or the interval is passed over
READS = (Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """Decayed sums of the regression, enough to solve it at any time. They belong to one list of configured speeds."""

    gram: F64  # (tiers, tiers) reads-weighted products of the tiers' shares of the wait by the prior
    moment: F64  # (tiers,) the same against measured wait over wait by the prior
    missed: F64  # (tiers,) squares of how far intervals lay from the belief before them, by the tiers' shares of them
    count: F64  # (tiers,) intervals, by the same shares
    points: F64  # (tiers, BINS, FIGURES) how the time of a read grew with the load, see ``servers``
    scan_gram: F64  # (tiers, tiers) as ``gram``, of scans that are timed apart ...
    scan_moment: F64  # (tiers,) ... and as ``moment``

    def of_scans(self) -> DeviceState:
        """The same with the regression of scans in place of that of all other reads."""
        return replace(self, gram=self.scan_gram, moment=self.scan_moment)


def empty_devices(tiers: int) -> DeviceState:
    """No evidence about that many tiers."""
    return DeviceState(
        gram=np.zeros((tiers, tiers)),
        moment=np.zeros(tiers),
        missed=np.zeros(tiers),
        count=np.zeros(tiers),
        points=no_points(tiers),
        scan_gram=np.zeros((tiers, tiers)),
        scan_moment=np.zeros(tiers),
    )


def reads_by_tier(demand: Demand, tier: I64, tiers: int) -> F64:
    """Rates of each signal on each tier, shape ``(SIGNALS, tiers)``; ``tier`` of each column, -1 where not managed."""
    managed = tier >= 0
    return np.array(
        [np.bincount(tier[managed], weights=rates[managed], minlength=tiers) for rates in demand.rates]
    ).reshape(SIGNALS, tiers)


def observe_spaces(
    state: DeviceState, prior: Sequence[TierSpeed], demand: Demand, tier_of: Mapping[str, int], settings: PolicySettings
) -> DeviceState:
    """Let one interval teach the speeds, from read times that the engine keeps per space.

    No attribution is needed here: each tier has its own reads and its own wait.

    Args:
        state: evidence so far.
        prior: configured speeds, fastest first.
        demand: the interval; nothing is learnt without ``demand.spaces``.
        tier_of: tier of each managed space by its name.
        settings: gives the half-life with which evidence fades.
    """
    if demand.spaces is None:
        return state
    reads, waits = np.zeros(len(prior)), np.zeros(len(prior))
    for row, name in enumerate(demand.spaces.name):
        figures = demand.spaces.reads[row], demand.spaces.read_seconds[row]
        if name in tier_of and np.isfinite(figures).all():
            reads[tier_of[name]] += figures[0]
            waits[tier_of[name]] += figures[1]
    expected = reads * np.array([speed.random_read_seconds for speed in prior])
    ratio = np.divide(waits, expected, out=np.ones(len(prior)), where=expected > 0)
    ratio = np.clip(ratio, _least_factors(prior), LARGEST_FACTOR)
    weight = reads * demand.seconds
    fading = 2.0 ** (-demand.seconds / settings.half_life_seconds)
    used = (expected > 0).astype(np.float64)
    return replace(
        state,
        gram=state.gram * fading + np.diag(weight),
        moment=state.moment * fading + weight * ratio,
        missed=state.missed * fading + used * np.square(ratio / _factors(state, prior) - 1.0),
        count=state.count * fading + used,
        points=add_points(state.points, _sessions_found(waits, demand), ratio, weight >= LEAST_READS, demand.seconds),
    )


def observe(
    state: DeviceState, prior: Sequence[TierSpeed], demand: Demand, tier: I64, settings: PolicySettings
) -> DeviceState:
    """Let one interval teach the speeds, from the one read time that the engine keeps for the whole database.

    Args:
        state: evidence so far.
        prior: configured speeds, fastest first.
        demand: the interval; ``demand.database.read_wait`` must be measured, or the interval is passed over.
        tier: tier of each column of ``demand``, -1 where it is not managed.
        settings: wait shares, and the half-life with which evidence fades.

    Returns:
        New evidence; the same when the interval measures no wait or too many of its reads have no known tier.
    """
    rates, database = reads_by_tier(demand, tier, len(prior))[list(READS)], demand.database
    reads = float(rates.sum())
    all_reads = database.reads if database.reads == database.reads else reads
    # The database waits for its system catalog as well, and for units whose tier is not known or whose counters were
    # not read: their reads take their part of the wait along.
    part = min(1.0, reads / all_reads) if all_reads > 0 else 1.0
    measured = database.read_wait * part
    # Written with ``not``, so that NaN, a wait that was not measured, is passed over as well.
    if not measured >= 0 or reads < LEAST_COVERAGE * all_reads:
        return state
    taken, scan_wait = np.zeros_like(rates), 0.0
    if database.scan_reads > 0 and database.scan_wait >= 0:
        taken, scan_wait = _reads_of_scans(rates, database.scan_reads * part), min(measured, database.scan_wait * part)
    scans = taken.sum(axis=0)
    state = _with_scans(state, prior, scans, scan_wait, demand.seconds, settings)
    return _with_others(state, prior, rates - taken, measured - scan_wait, (scans, scan_wait), demand, settings)


def _reads_of_scans(rates: F64, scan_reads: float) -> F64:
    """Of the reads of each kind and tier, shape ``(READS, tiers)``, those of so many blocks that scans read.

    They are reads ahead; what is more than those was taken for look-ups, by rows or sizes that have changed since.
    """
    taken = np.zeros_like(rates)
    for row in (READS.index(Signal.PREFETCHED_READ), READS.index(Signal.SYNC_READ)):
        total, left = float(rates[row].sum()), scan_reads - float(taken.sum())
        if total > 0 and left > 0:
            taken[row] = rates[row] * min(1.0, left / total)
    return taken


def _with_scans(
    state: DeviceState, prior: Sequence[TierSpeed], scans: F64, waited: float, seconds: float, settings: PolicySettings
) -> DeviceState:
    """With what scans of so many blocks a second, shape ``(tiers,)``, waited for them."""
    by_prior = scans * [speed.sequential_read_seconds for speed in prior]
    expected, weight = float(by_prior.sum()), float(scans.sum()) * seconds
    if expected <= 0:
        return state
    share, fading = by_prior / expected, 2.0 ** (-seconds / settings.half_life_seconds)
    return replace(
        state,
        scan_gram=state.scan_gram * fading + weight * np.outer(share, share),
        scan_moment=state.scan_moment * fading + weight * _ratio(waited, expected, prior) * share,
    )


def _with_others(
    state: DeviceState, prior: Sequence[TierSpeed], rates: F64, measured: float, scans: tuple[F64, float],
    demand: Demand, settings: PolicySettings,
) -> DeviceState:  # fmt: skip
    """With what all other reads waited together; ``rates`` of shape ``(READS, tiers)``, ``scans`` and their wait."""
    by_prior = (wait_weights(prior, settings)[:, list(READS)] * rates.T).sum(axis=1)
    expected, reads = float(by_prior.sum()), float(rates.sum()) * demand.seconds
    if expected <= 0 or reads < 1:
        return state
    blocks, waited = scans
    # Enough of them weigh as much as all reads of the interval, as where scans are not told apart: else one of these
    # intervals, or what an earlier version has learned, would outweigh days.
    weight = reads + (float(blocks.sum()) * demand.seconds if reads >= LEAST_READS else 0.0)
    waits_there = waited * blocks / blocks.sum() if blocks.any() else blocks
    share, ratio = by_prior / expected, _ratio(measured, expected, prior)
    fading = 2.0 ** (-demand.seconds / settings.half_life_seconds)
    return replace(
        state,
        gram=state.gram * fading + weight * np.outer(share, share),
        moment=state.moment * fading + weight * ratio * share,
        missed=state.missed * fading + share * (ratio / float(share @ _factors(state, prior)) - 1.0) ** 2,
        count=state.count * fading + share,
        points=_points_of_one(state, prior, demand, by_prior, measured, waits_there, reads),
    )


def _least_factors(prior: Sequence[TierSpeed]) -> F64:
    """The least that any measurement makes of each configured speed. Shape ``(tiers,)``."""
    return np.array([min(1 / LARGEST_FACTOR, QUICKEST_READ_SECONDS / max(speed.random_read_seconds, 1e-12))
                     for speed in prior], dtype=np.float64)  # fmt: skip


def _ratio(measured: float, expected: float, prior: Sequence[TierSpeed]) -> float:
    """Clipped before it enters the sums: one interval in which the server hung would outweigh days of good ones."""
    return min(max(measured / expected, float(_least_factors(prior).min())), LARGEST_FACTOR)


def _sessions_found(waits: F64, demand: Demand) -> F64:
    """Sessions that a read finds at each tier, its own left out. Shape ``(tiers,)``."""
    active = demand.database.active
    return waits * (1 - 1 / max(active, 1.0)) if active == active else waits


def _points_of_one(
    state: DeviceState, prior: Sequence[TierSpeed], demand: Demand, by_prior: F64, measured: float,
    waits_there: F64, reads: float,
) -> F64:  # fmt: skip
    """How the latency of the tier grew where nearly all of the measured wait for these reads is its own.

    Waits of scans are no part of ``measured``, but its reads find them there: ``waits_there``, shape ``(tiers,)``.
    """
    waits = by_prior * _factors(state, prior)
    row = int(np.argmax(waits))
    rest = float(waits.sum() - waits[row])
    own = (np.arange(len(prior)) == row) & (rest <= (1 - LEAST_SHARE) * measured)
    if not (own.any() and reads >= LEAST_READS):
        return state.points
    left = np.full(len(prior), measured - rest)
    ratio = left / by_prior[row]
    return add_points(state.points, _sessions_found(left + waits_there, demand), ratio, own, demand.seconds)


def _factors(state: DeviceState, prior: Sequence[TierSpeed]) -> F64:
    """Factors for the configured speeds by the evidence so far. Shape ``(tiers,)``.

    What the waits cannot tell stays as near to 1 as they allow; the regression is over the others.
    """
    low, high = left_possible(state, prior)
    # Plain least squares would share one measured wait among tiers that are always busy together, and any split fits
    # the measurement equally well. So speeds are moved only as far as the waits force them to.
    seen = np.diag(state.gram) >= PRIOR_READS
    held = seen & ~_narrow(low, high)
    factors = np.clip(1.0, low, high)
    # The tiers that are held keep their value in the equations of the others: left out, their share of the one measured
    # wait would be put on those.
    free = np.flatnonzero(~held)
    shrunk = state.gram[np.ix_(free, free)] + PRIOR_READS * np.eye(len(free))
    rest = state.moment[free] + PRIOR_READS - state.gram[np.ix_(free, np.flatnonzero(held))] @ factors[held]
    factors[free] = np.clip(np.linalg.solve(shrunk, rest), _least_factors(prior)[free], LARGEST_FACTOR)
    bounded = seen & ~held
    factors[bounded] = np.clip(factors[bounded], low[bounded], high[bounded])
    return np.asarray(factors, dtype=np.float64)


def left_possible(state: DeviceState, prior: Sequence[TierSpeed]) -> tuple[F64, F64]:
    """The least and the most that the waits leave for each factor; ``_least_factors`` and ``LARGEST_FACTOR``: anything.

    ``gram[t] @ factors = moment[t]`` with no factor negative: the most is what the tier's own reads took if the others'
    took the least they can, and the other way round. What is found of a tier without a queue narrows the others. What
    is found of one with a queue does not: queues come and go, and the mean of two loads is the speed of neither.
    """
    own, others = np.diag(state.gram), state.gram - np.diag(np.diag(state.gram))
    low, high = _least_factors(prior), np.full(len(own), LARGEST_FACTOR)
    enough = (own > LEAST_SHARE_OF_WAIT * state.gram.sum(axis=1)) & (state.gram.sum() >= PRIOR_READS)
    alone = np.clip(np.divide(state.moment, own, out=high.copy(), where=enough), low, high)
    queued = np.array([speed.is_queued for speed in prior], dtype=np.bool_)
    believed = np.where(queued, low, 1 / SERVED_AT_ONCE_ERROR), np.where(queued, QUEUE_ERROR, SERVED_AT_ONCE_ERROR)
    least, most = low, alone
    # In rounds: each narrower interval narrows those of the tiers that share its waits.
    for _ in range(ROUNDS):
        other_most = np.minimum(believed[1], np.where(queued, alone, most))
        other_least = np.minimum(np.maximum(believed[0], np.where(queued, low, least)), other_most)
        most, least = (
            np.clip(np.divide(state.moment - others @ other, own, out=end.copy(), where=enough), low, high)
            for other, end in ((other_least, high), (other_most, low))
        )
    return least, most


def _narrow(low: F64, high: F64) -> Bools:
    """Whether what is possible is near enough to one speed to be called measured."""
    return np.asarray(high <= NARROW * low, dtype=np.bool_)


def error_ratios(state: DeviceState) -> F64:
    """Standard error of each fitted speed as a share of it, for a time as long as was watched. Shape ``(tiers,)``.

    A tier's own evidence counts by how intervals scattered, as ``2 / n`` of their variance: the
    mean so far errs, and so will the mean to come. The rest keeps the error of a configured speed.
    """
    own = np.diag(state.gram) / (np.diag(state.gram) + PRIOR_READS)
    scatter = (state.missed + PRIOR_ERROR**2) / (state.count + 1.0)  # as if one interval had missed by the prior error
    mean = scatter * 2.0 / np.maximum(state.count, 1.0)
    error = np.sqrt(np.square((1.0 - own) * PRIOR_ERROR) + np.square(own) * np.minimum(mean, PRIOR_ERROR**2))
    return np.asarray(error, dtype=np.float64)


def calibrate(prior: Sequence[TierSpeed], state: DeviceState) -> tuple[TierSpeed, ...]:
    """Speeds that agree best with configuration and measurement, fastest first.

    Writes keep their configured time: read waits say nothing about them. No tier comes out slower than the one below
    it, at worst as slow: then nothing is gained by moving there, which is what such a measurement means.

    Raises:
        ValueError: the evidence is about another number of tiers.
    """
    if state.moment.shape != (len(prior),):
        raise ValueError(f"evidence about {len(state.moment)} tiers cannot calibrate {len(prior)}")
    if not prior:
        return ()
    factors, errors, (low, high) = _factors(state, prior), error_ratios(state), left_possible(state, prior)
    narrow = _narrow(low, high)
    scanned = np.diag(state.scan_gram) >= PRIOR_READS
    in_runs = np.where(scanned, _factors(state.of_scans(), prior), factors)
    anything = (low <= _least_factors(prior)) & (high >= LARGEST_FACTOR)
    speeds: list[TierSpeed] = []
    # From the slowest up, since the one below caps the next.
    for row in reversed(range(len(prior))):
        below = speeds[-1] if speeds else None
        seconds = prior[row].random_read_seconds
        measured = bool(state.gram[row, row] >= PRIOR_READS and narrow[row])
        has_interval = not (measured or anything[row] or narrow[row])
        fitted = replace(
            _scale(prior[row], float(factors[row]), float(in_runs[row]), measured=measured),
            error_ratio=float(errors[row]) if measured or narrow[row] else PRIOR_ERROR,
            idle_read_seconds=seconds,
            least_read_seconds=float(low[row]) * seconds if has_interval else 0.0,
            most_read_seconds=float(high[row]) * seconds if has_interval else 0.0,
            servers=_servers(prior[row], state.points[row]),
        )
        capped = fitted.cap(below)
        moved = abs(capped.random_read_seconds / seconds - 1) > SHOWN_AS_EQUAL
        speeds.append(replace(capped, estimated=moved and not measured))
    return tuple(reversed(speeds))


def with_servers(prior: TierSpeed, points: F64) -> TierSpeed:
    """A configured speed with the servers that its own points tell, ``(BINS, FIGURES)``."""
    return replace(prior, servers=_servers(prior, points))


def _servers(prior: TierSpeed, points: F64) -> Servers:
    """How many requests a tier serves at a time: as configured, else as latencies say; of a fast tier if they do."""
    if prior.servers.source == "configured":
        return prior.servers
    found = fit_servers(points, PRIOR_ERROR)
    return found if prior.is_queued or found.source == "measured" else prior.servers


def _scale(speed: TierSpeed, factor: float, in_runs: float, *, measured: bool) -> TierSpeed:
    return replace(
        speed,
        random_read_seconds=speed.random_read_seconds * factor,
        sequential_read_seconds=speed.sequential_read_seconds * in_runs,
        measured=measured,
    )


def device_arrays(state: DeviceState) -> dict[str, NDArray[Any]]:
    """The evidence as named arrays, for storing."""
    return {field.name: getattr(state, field.name) for field in fields(DeviceState)}


def devices_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> DeviceState:
    """The evidence that ``device_arrays`` took apart; what older versions stored says nothing of its error or of scans.

    Raises:
        ValueError: an array is missing or the shapes do not belong together.
    """
    missing = {"gram", "moment"} - arrays.keys()
    if missing:
        raise ValueError(f"stored device evidence lacks {', '.join(sorted(missing))}")
    gram = np.asarray(arrays["gram"], dtype=np.float64)
    moment = np.asarray(arrays["moment"], dtype=np.float64)
    if gram.shape != (len(moment), len(moment)):
        raise ValueError(f"stored device evidence has shapes {gram.shape}, {moment.shape}")
    nothing = np.zeros(len(moment))
    missed, count = (np.asarray(arrays.get(name, nothing), dtype=np.float64) for name in ("missed", "count"))
    points = np.asarray(arrays.get("points", no_points(len(moment))), dtype=np.float64)
    scan_gram = np.asarray(arrays.get("scan_gram", np.zeros_like(gram)), dtype=np.float64)
    scan_moment = np.asarray(arrays.get("scan_moment", nothing), dtype=np.float64)
    alike = all(each.shape == moment.shape for each in (missed, count, scan_moment))
    if not alike or scan_gram.shape != gram.shape or len(points) != len(moment):
        raise ValueError(f"stored device evidence has shapes {moment.shape}, {missed.shape}, {count.shape}")
    return DeviceState(
        gram=gram,
        moment=moment,
        missed=missed,
        count=count,
        points=points,
        scan_gram=scan_gram,
        scan_moment=scan_moment,
    )


SLOWEST, FASTEST = 1e-3, 10.0  # ends of a pace that is believed


def slowest_pace(database: DatabaseDemand, reads: F64, slowest: TierSpeed, settings: PolicySettings) -> float:
    """Work that would get done in a second with everything on the slowest tier, over what did get done.

    Args:
        database: the interval's; 1 where it does not say how many sessions worked or how long they waited for reads.
        reads: of all units, shape ``(SIGNALS,)``, per second.
        slowest: as configured, with its servers.
        settings: wait shares.
    """
    sessions, waited = float(np.fmax(database.active, database.population)), database.read_wait
    weights = wait_weights([slowest], settings)[0]
    service = float(sum(weights[signal] * reads[signal] for signal in READS))
    counted = float(reads[list(READS)].sum())
    known = database.reads if database.reads == database.reads else counted
    if not (sessions > 1 and waited >= 0 and service > 0):
        return 1.0
    service *= max(1.0, known / counted)
    # One round of this network is what is done in one second now, so its rate is the pace.
    network = Network(
        sessions=sessions,
        elsewhere=max(LEAST_ELSEWHERE * sessions, sessions - waited),
        demand=np.array([[service]]),
        stations=stations_of([Tier(name="", speed=slowest, spaces=())]),
    )
    return float(np.clip(network.solve()[0][0], SLOWEST, FASTEST))


def interval_pace(database: DatabaseDemand, rates: F64, speeds: Sequence[TierSpeed], settings: PolicySettings) -> float:
    """The same of one interval's rates ``(SIGNALS, columns)``; 1 without a tier."""
    return slowest_pace(database, rates.sum(axis=1), speeds[-1], settings) if speeds else 1.0
