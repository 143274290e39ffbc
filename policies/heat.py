"""Heat: demand decayed over time by the time that really passed, in columns by slot.

For an interval of ``dt`` seconds and a half-life ``H``: ``d = 2 ** (-dt / H)``, ``sum = sum * d + rate * (1 - d)``,
``weight = weight * d + (1 - d)``, heat = ``sum / weight``. Dividing by the weight removes the bias of starting from
nothing: after one interval heat is the rate just seen, and a young unit reacts fast, an old one slowly.

A slot whose interval was lost is left alone: no evidence is neither hot nor cold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import expm1, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model import F32, F64, I64, SIGNALS, Bools, Demand
from policies.plan import HeatView, PolicySettings

FAINTEST = np.float32(1e-30)  # below it a sum is nothing: numbers that small would slow every later update


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatState:
    """Decayed sums of every slot of a database.

    The sums are float32: an update errs by at most 2**-24 of the value and the errors fade with the same half-life, so
    heat errs by less than 2**-24 / (1 - d): 3e-5 at a minute's samples and 6 h. That halves what is kept, stored and
    read at 1,000,000 units (24 MB instead of 48). Weight and time stay float64, since they count up for years.
    """

    sums: F32  # (SIGNALS, slots)
    weight: F64  # (slots,) 0 to 1: the share of an endless memory that observation has filled
    observed_seconds: F64  # (slots,) watched in all, gaps left out

    def __len__(self) -> int:
        return len(self.weight)


def empty_heat() -> HeatState:
    """Heat of no slots."""
    return HeatState(sums=np.zeros((SIGNALS, 0), np.float32), weight=np.zeros(0), observed_seconds=np.zeros(0))


def grown(state: HeatState, slots: int) -> HeatState:
    """The same heat with room for at least that many slots; new ones have seen nothing."""
    more = slots - len(state)
    if more <= 0:
        return state
    return HeatState(
        sums=np.pad(state.sums, ((0, 0), (0, more))),
        weight=np.pad(state.weight, (0, more)),
        observed_seconds=np.pad(state.observed_seconds, (0, more)),
    )


def update(state: HeatState, demand: Demand, slots: I64, known: I64, settings: PolicySettings) -> HeatState:
    """Let one interval of demand pass.

    Args:
        state: heat before the interval.
        demand: rates of the units that had any.
        slots: slot of each column of ``demand``, -1 where it has none. Two columns of one slot (a unit rebuilt under a
            new physical id within the interval) add up.
        known: slots of all units that exist now. Those without demand were idle and were watched.
        settings: gives the half-life.

    Returns:
        New heat; slots that are neither known nor in the demand, or whose counters restarted, are as before.
    """
    highest = max(int(known.max(initial=-1)), int(slots.max(initial=-1)))
    state = grown(state, highest + 1)
    seen = _seen(len(state), demand, slots, known)
    arriving = -expm1(-log(2.0) * demand.seconds / settings.half_life_seconds)
    keeping = np.where(seen, 1.0 - arriving, 1.0)
    sums = state.sums * keeping.astype(np.float32)
    sums *= sums > FAINTEST
    columns = np.flatnonzero((slots >= 0) & seen[slots]) if len(state) else np.zeros(0, np.int64)
    at = slots[columns]
    for signal in range(SIGNALS):
        rates = demand.rates[signal, columns]
        if rates.any():
            sums[signal] += np.bincount(at, weights=rates * arriving, minlength=len(state)).astype(np.float32)
    return HeatState(
        sums=sums,
        weight=state.weight * keeping + seen * arriving,
        observed_seconds=state.observed_seconds + seen * demand.seconds,
    )


def _seen(slot_count: int, demand: Demand, slots: I64, known: I64) -> Bools:
    """Slots about which the interval says something."""
    seen = np.zeros(slot_count, dtype=np.bool_)
    seen[known[known >= 0]] = True
    present = slots >= 0
    seen[slots[present]] = True
    seen[slots[present & ~demand.observed]] = False
    return seen


def view(state: HeatState, slots_of_rows: I64) -> HeatView:
    """Heat aligned with the rows of a unit table; slot -1 (or one never seen) is a unit without history.

    Confidence is the weight: the share of the decayed average that rests on observation, 0.5 after one half-life of
    watching, and it does not grow while samples are lost.
    """
    slots = np.where(slots_of_rows < len(state), slots_of_rows, -1)
    if not len(state):
        n = len(slots)
        return HeatView(rates=np.zeros((SIGNALS, n)), observed_seconds=np.zeros(n), confidence=np.zeros(n))
    weight = np.where(slots >= 0, state.weight[slots], 0.0)
    inverse = np.divide(1.0, weight, out=np.zeros(len(slots)), where=weight > 0)
    rates = np.empty((SIGNALS, len(slots)))
    for signal in range(SIGNALS):
        np.multiply(state.sums[signal, slots], inverse, out=rates[signal])
    return HeatView(
        rates=rates,
        observed_seconds=np.where(slots >= 0, state.observed_seconds[slots], 0.0),
        confidence=np.minimum(weight, 1.0),
    )


def state_arrays(state: HeatState) -> dict[str, NDArray[Any]]:
    """The state as named arrays, for storing."""
    return {"sums": state.sums, "weight": state.weight, "observed_seconds": state.observed_seconds}


def state_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> HeatState:
    """The state that ``state_arrays`` took apart.

    Raises:
        ValueError: an array is missing or the shapes do not belong together.
    """
    missing = {"sums", "weight", "observed_seconds"} - arrays.keys()
    if missing:
        raise ValueError(f"stored heat lacks {', '.join(sorted(missing))}")
    sums = np.asarray(arrays["sums"], dtype=np.float32)
    weight = np.asarray(arrays["weight"], dtype=np.float64)
    observed = np.asarray(arrays["observed_seconds"], dtype=np.float64)
    if sums.shape != (SIGNALS, len(weight)) or len(weight) != len(observed):
        raise ValueError(f"stored heat has shapes {sums.shape}, {weight.shape}, {observed.shape}")
    return HeatState(sums=sums, weight=weight, observed_seconds=observed)
