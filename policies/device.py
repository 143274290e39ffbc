"""How fast each tier really is: configured speeds, scaled by what counters measured.

Per interval the engine gives one figure, the seconds that sessions waited for reads, and the units give how many reads
of each class went to each tier. With the configured speeds as the prior this is a small regression: find one factor per
tier so that ``sum of factor * wait by the prior`` comes near the measured wait. It is shrunk towards factor 1 as if the
prior had been seen for ``PRIOR_READS`` reads, so a tier without traffic keeps its configured speed.

How sure a speed is comes out of the same sums: how far each interval lay from what was believed before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model import F64, I64, SIGNALS, Demand, Signal
from policies.benefit import wait_weights
from policies.plan import PolicySettings, TierSpeed

PRIOR_READS = 1000.0  # what the configured speed weighs against measurement
PRIOR_ERROR = 0.5  # standard error of a configured speed, as a share: data sheets and kinds are that far off
LARGEST_FACTOR = 100.0  # a measurement further off than this is a mistake, not a disk
LEAST_COVERAGE = 0.8  # of the database's reads must be known by tier, or the interval is passed over
READS = (Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """Decayed sums of the regression, enough to solve it at any time. They belong to one list of configured speeds."""

    gram: F64  # (tiers, tiers) reads-weighted products of the tiers' shares of the wait by the prior
    moment: F64  # (tiers,) the same against measured wait over wait by the prior
    missed: F64  # (tiers,) squares of how far intervals lay from the belief before them, by the tiers' shares of them
    count: F64  # (tiers,) intervals, by the same shares


def empty_devices(tiers: int) -> DeviceState:
    """No evidence about that many tiers."""
    return DeviceState(
        gram=np.zeros((tiers, tiers)), moment=np.zeros(tiers), missed=np.zeros(tiers), count=np.zeros(tiers)
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

    Nothing has to be told apart here: each tier has its own reads and its own wait.

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
    ratio = np.clip(ratio, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    weight = reads * demand.seconds
    fading = 2.0 ** (-demand.seconds / settings.half_life_seconds)
    used = (expected > 0).astype(np.float64)
    return DeviceState(
        gram=state.gram * fading + np.diag(weight),
        moment=state.moment * fading + weight * ratio,
        missed=state.missed * fading + used * np.square(ratio / _factors(state) - 1.0),
        count=state.count * fading + used,
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
    rates = reads_by_tier(demand, tier, len(prior))
    reads = float(rates[list(READS)].sum())
    all_reads = demand.database.reads if demand.database.reads == demand.database.reads else reads
    weights = wait_weights(prior, settings)[:, list(READS)]
    by_prior = (weights * rates[list(READS)].T).sum(axis=1)
    expected = float(by_prior.sum())
    measured = demand.database.read_wait
    if not measured >= 0 or expected <= 0 or reads < LEAST_COVERAGE * all_reads:
        return state
    share = by_prior / expected
    ratio = min(max(measured / expected, 1 / LARGEST_FACTOR), LARGEST_FACTOR)
    fading = 2.0 ** (-demand.seconds / settings.half_life_seconds)
    weight = reads * demand.seconds
    return DeviceState(
        gram=state.gram * fading + weight * np.outer(share, share),
        moment=state.moment * fading + weight * ratio * share,
        missed=state.missed * fading + share * (ratio / float(share @ _factors(state)) - 1.0) ** 2,
        count=state.count * fading + share,
    )


def _factors(state: DeviceState) -> F64:
    """What each configured speed is to be multiplied with by the evidence so far. Shape ``(tiers,)``."""
    shrunk = state.gram + PRIOR_READS * np.eye(len(state.moment))
    factors = np.clip(np.linalg.solve(shrunk, state.moment + PRIOR_READS), 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    return np.asarray(factors, dtype=np.float64)


def error_ratios(state: DeviceState) -> F64:
    """Standard error of each fitted speed as a share of it, for a time as long as was watched. Shape ``(tiers,)``.

    What evidence there is of a tier by itself counts by how intervals scattered, as ``2 / n`` of their variance: the
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
    factors, errors = _factors(state), error_ratios(state)
    speeds: list[TierSpeed] = []
    for row in reversed(range(len(prior))):
        below = speeds[-1] if speeds else None
        measured = bool(state.gram[row, row] >= PRIOR_READS)
        fitted = replace(
            _scaled(prior[row], float(factors[row]), measured=measured),
            error_ratio=float(errors[row]),
            idle_read_seconds=prior[row].random_read_seconds,
        )
        speeds.append(_capped(fitted, below))
    return tuple(reversed(speeds))


def _scaled(speed: TierSpeed, factor: float, *, measured: bool) -> TierSpeed:
    return replace(
        speed,
        random_read_seconds=speed.random_read_seconds * factor,
        sequential_read_seconds=speed.sequential_read_seconds * factor,
        measured=measured,
    )


def _capped(speed: TierSpeed, below: TierSpeed | None) -> TierSpeed:
    if below is None:
        return speed
    return replace(
        speed,
        random_read_seconds=min(speed.random_read_seconds, below.random_read_seconds),
        sequential_read_seconds=min(speed.sequential_read_seconds, below.sequential_read_seconds),
    )


def device_arrays(state: DeviceState) -> dict[str, NDArray[Any]]:
    """The evidence as named arrays, for storing."""
    return {"gram": state.gram, "moment": state.moment, "missed": state.missed, "count": state.count}


def devices_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> DeviceState:
    """The evidence that ``device_arrays`` took apart; what older versions stored says nothing about its own error.

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
    if missed.shape != moment.shape or count.shape != moment.shape:
        raise ValueError(f"stored device evidence has shapes {moment.shape}, {missed.shape}, {count.shape}")
    return DeviceState(gram=gram, moment=moment, missed=missed, count=count)
