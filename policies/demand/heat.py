"""Heat: demand decayed over time by the time that really passed, in columns by slot.

For an interval of ``dt`` seconds and a half-life ``H``: ``d = 2 ** (-dt / H)``, ``sum = sum * d + rate * (1 - d)``,
``weight = weight * d + (1 - d)``, heat = ``sum / weight``. Dividing by the weight removes the bias of starting from
nothing: after one interval heat is the rate just seen, and a young unit reacts fast, an old one slowly.

There are two horizons, a short one that reacts and a long one that remembers. For the units that matter ``horizons``
chooses among more of them; ``decision_heat`` says which counts for the others.

A slot whose interval was lost is left alone: no evidence is neither hot nor cold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import expm1, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model import F32, F64, I64, SIGNALS, Bools, Demand
from policies.demand.variance import (
    LINES,
    UNKNOWN_ERROR,
    WEIGHT_SQUARES,
    empty_spread,
    error_ratio,
    index_of,
    seen_once_more,
)
from policies.model.plan import HeatView, PolicySettings

SEASONAL_ERROR = 0.5  # of demand that a season promises: some months end more quietly than others
FAINTEST = np.float32(1e-30)  # below it a sum is nothing: numbers that small would slow every later update


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatState:
    """Decayed sums of every slot of a database.

    The sums are float32: an update errs by at most 2**-24 of the value and the errors fade with the same half-life, so
    heat errs by less than 2**-24 / (1 - d): 3e-5 at a minute's samples and 6 h. That halves what is kept, stored and
    read at 1,000,000 units (48 MB instead of 96). Weight and time stay float64, since they count up for years.
    """

    sums: F32  # (SIGNALS, slots), the short horizon
    weight: F64  # (slots,) 0 to 1: the share of an endless memory that observation has filled
    long_sums: F32  # the same of the long horizon
    long_weight: F64
    spread: F32  # (variance.LINES, slots): how much demand varies, by the long horizon too
    observed_seconds: F64  # (slots,) watched in all, gaps left out

    def __len__(self) -> int:
        return len(self.weight)


def empty_heat(slots: int = 0) -> HeatState:
    """Heat of slots that saw nothing."""
    return HeatState(
        sums=np.zeros((SIGNALS, slots), np.float32),
        weight=np.zeros(slots),
        long_sums=np.zeros((SIGNALS, slots), np.float32),
        long_weight=np.zeros(slots),
        spread=empty_spread(slots),
        observed_seconds=np.zeros(slots),
    )


def with_slots(state: HeatState, slots: int) -> HeatState:
    """The same heat with room for at least that many slots; new ones have seen nothing."""
    more = slots - len(state)
    if more <= 0:
        return state
    wider = empty_heat(slots)
    for column, room in zip(state_arrays(state).values(), state_arrays(wider).values(), strict=True):
        room[..., : len(state)] = column
    return wider


def update(
    state: HeatState, demand: Demand, slots: I64, known: I64, settings: PolicySettings, pace: float = 1.0
) -> HeatState:
    """Let one interval of demand pass.

    Args:
        state: heat before the interval; used up, since a copy of it would double what a cycle takes.
        demand: rates of the units that had any.
        slots: slot of each column of ``demand``, -1 where it has none. Two columns of one slot (a unit rebuilt under a
            new physical id within the interval) add up.
        known: slots of all units that exist now. Those without demand were idle and were watched.
        settings: gives the half-life.
        pace: by which the rates come to those of the pace that heat is kept at, see ``benefit.pace``.

    Returns:
        Heat after it; slots that are neither known nor in the demand, or whose counters restarted, are as before.
    """
    highest = max(int(known.max(initial=-1)), int(slots.max(initial=-1)))
    state = with_slots(state, highest + 1)
    seen = _observed_slots(len(state), demand, slots, known)
    columns = np.flatnonzero((slots >= 0) & seen[slots]) if len(state) else np.zeros(0, np.int64)
    at = slots[columns]
    short, long = (
        _share(demand.seconds, half) for half in (settings.half_life_seconds, settings.long_half_life_seconds)
    )
    # Decay first, then add: ``add.at`` and not ``sums[at] +=``, which would keep only one of two columns of a slot.
    _decay(state.sums, state.weight, seen, short)
    _decay(state.long_sums, state.long_weight, seen, long)
    for signal, rates in enumerate(demand.rates):
        if rates.any():  # most engines leave some signals at nothing
            arrived = rates[columns] * pace
            np.add.at(state.sums[signal], at, (arrived * short).astype(np.float32))
            np.add.at(state.long_sums[signal], at, (arrived * long).astype(np.float32))
    observed = state.observed_seconds
    observed += seen * demand.seconds
    return replace(state, spread=seen_once_more(state.spread, at, index_of(demand.rates)[columns] * pace, seen, long))


def _share(seconds: float, half_life: float) -> float:
    """Share of a decayed mean that an interval is."""
    # Not ``1 - 2 ** ...``: for a second of a long half-life the difference from 1 would lose its last digits.
    return -expm1(-log(2.0) * seconds / half_life)


def _decay(sums: F32, weight: F64, seen: Bools, arriving: float) -> None:
    """Let an interval pass over sums and weight of one horizon; what arrives is not in the sums yet."""
    keeping = np.where(seen, np.float32(1.0 - arriving), np.float32(1.0))
    for line in sums:
        if line.any():
            line *= keeping
            np.putmask(line, line < FAINTEST, np.float32(0.0))
    weight *= np.where(seen, 1.0 - arriving, 1.0)
    weight += seen * arriving


def _observed_slots(slot_count: int, demand: Demand, slots: I64, known: I64) -> Bools:
    """Slots about which the interval says something."""
    seen = np.zeros(slot_count, dtype=np.bool_)
    seen[known[known >= 0]] = True
    present = slots >= 0
    seen[slots[present]] = True
    # Last, because it overrules the others: a unit whose counters restarted is known, but its interval says nothing.
    seen[slots[present & ~demand.observed]] = False
    return seen


def view(state: HeatState, slots_of_rows: I64) -> HeatView:
    """Heat aligned with the rows of a unit table; slot -1 (or one never seen) is a unit without history.

    Confidence is the weight: the share of the decayed average that rests on observation, 0.5 after one half-life of
    watching, and it does not grow while samples are lost.
    """
    slots = np.where(slots_of_rows < len(state), slots_of_rows, -1)
    # Numpy cannot index an empty array even where every result is masked, so one blank slot stands in.
    if not len(state):
        return view(empty_heat(1), np.full(len(slots), -1, dtype=np.int64))
    has = slots >= 0
    return HeatView(
        rates=_means(state.sums, np.where(has, state.weight[slots], 0.0), slots),
        observed_seconds=np.where(has, state.observed_seconds[slots], 0.0),
        confidence=np.where(has, np.minimum(state.weight[slots], 1.0), 0.0),
        error=np.where(has, error_ratio(state.spread[:, slots]), UNKNOWN_ERROR),
        steady=_means(state.long_sums, np.where(has, state.long_weight[slots], 0.0), slots),
    )


def at_pace(seen: HeatView, pace: float) -> HeatView:
    """The same with all rates times ``pace``: from the pace at which heat is kept to that of recent work."""
    if pace == 1.0:
        return seen
    return replace(
        seen,
        rates=seen.rates * pace,
        steady=None if seen.steady is None else seen.steady * pace,
        expected=None if seen.expected is None else seen.expected * pace,
    )


def _means(sums: F32, weight: F64, slots: I64) -> F64:
    """Decayed means of some slots; 0 where the weight is."""
    inverse = np.divide(1.0, weight, out=np.zeros(len(slots)), where=weight > 0)
    rates = np.zeros((SIGNALS, len(slots)))
    for signal in range(SIGNALS):
        if sums[signal].any():
            np.multiply(sums[signal, slots], inverse, out=rates[signal])
    return rates


def decision_heat(heat: HeatView, resident: Bools) -> HeatView:
    """The heat that decisions are made on, one figure per unit.

    All are ranked by the long horizon: two units are compared by one measure, and a quiet night sends nothing down.
    Whether something may come up at all is asked of the colder horizon (``colder``), so that only what is hot by both
    is promoted. Where a season is known, it speaks for the time to come: what is about to be busy may come, what is
    about to rest may not, and nothing is sent down because of it.

    Args:
        heat: with both horizons.
        resident: units on the fastest tier.

    Returns:
        Heat of one horizon: the other is weighed, and would double what a plan holds and the ledger keeps of it.
    """
    if heat.steady is None:
        return heat
    short, long = index_of(heat.rates), index_of(heat.steady)
    chosen, coldest, rates = long.copy(), np.minimum(short, long), heat.steady
    if heat.expected is not None:
        # A resident whose quiet season comes is left at its mean: it would go down for a night and come back in the
        # morning, two copies for some hours of room.
        seasonal = np.flatnonzero(np.isfinite(heat.expected) & (long > 0) & ~(resident & (heat.expected < long)))
        rates = heat.steady.copy()
        # All signals by one factor: a season knows how much a unit waits, not by which kind of read.
        rates[:, seasonal] *= heat.expected[seasonal] / long[seasonal]
        chosen[seasonal] = coldest[seasonal] = heat.expected[seasonal]
        error = None if heat.error is None else heat.error.copy()
        if error is not None:
            error[seasonal] = SEASONAL_ERROR
        heat = replace(heat, error=error)
    hottest = np.maximum(np.maximum(short, long), chosen)
    hotter, colder = (
        np.divide(other, chosen, out=np.ones(len(chosen)), where=chosen > 0) for other in (hottest, coldest)
    )
    return replace(heat, rates=rates, steady=None, hotter=hotter, colder=colder)


def join_views(parts: Iterable[HeatView], units: int) -> HeatView:
    """Views of the units of a table, some after the other, as one of all; a signal that none of them had takes no room.

    Errors and the ratios of horizons are kept in half the width: they are estimates, which err by far more than that.

    Args:
        parts: in the order of the rows, with the same columns all of them.
        units: that they come to.
    """
    columns: dict[str, NDArray[Any]] = {}
    end = 0
    for part in parts:
        some = slice(end, end := end + len(part.confidence))
        given = {field.name: getattr(part, field.name) for field in fields(HeatView)}
        for name, column in ((name, column) for name, column in given.items() if column is not None):
            if name not in columns:
                columns[name] = np.zeros((*column.shape[:-1], units), np.float32 if name in _ESTIMATES else np.float64)
            for line, found in zip(np.atleast_2d(columns[name]), np.atleast_2d(column), strict=True):
                # Nothing is written where there is nothing: zeros that were never touched take no memory, and most
                # signals of an engine are empty.
                if found.any():
                    line[some] = found
    return HeatView(**columns)


def handed_on(state: HeatState, source: I64, target: I64, share: float = 1.0) -> HeatState:
    """The same heat with what some slots know given to others, in part: weights shrink with it, means do not.

    Args:
        state: heat.
        source: slots that keep what they have.
        target: slots that take it over, each once.
        share: of the weight and of the observed time.
    """
    if not len(source):
        return state
    arrays = {name: array.copy() for name, array in state_arrays(state).items()}
    for array in arrays.values():
        array[..., target] = array[..., source] * array.dtype.type(share)
    arrays["spread"][WEIGHT_SQUARES, target] *= np.float32(share)
    return HeatState(**arrays)


_ESTIMATES = frozenset({"error", "hotter", "colder"})  # columns of a view
_LINES = {"sums": SIGNALS, "long_sums": SIGNALS, "spread": LINES}
_COLUMNS = ("weight", "long_weight", "observed_seconds")


def state_arrays(state: HeatState) -> dict[str, NDArray[Any]]:
    """The state as named arrays, for storing."""
    return {name: getattr(state, name) for name in (*_LINES, *_COLUMNS)}


def state_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> HeatState:
    """The state that ``state_arrays`` took apart.

    What older versions stored knows one horizon: it stands for both until the long one has seen more. How much demand
    varies they did not keep, so it is taken to be unsure until it was watched again.

    Raises:
        ValueError: an array is missing or the shapes do not belong together.
    """
    missing = {"sums", "weight", "observed_seconds"} - arrays.keys()
    if missing:
        raise ValueError(f"stored heat lacks {', '.join(sorted(missing))}")
    slots = len(arrays["weight"])
    older = {"long_sums": arrays["sums"], "long_weight": arrays["weight"], "spread": empty_spread(slots)}
    full: dict[str, NDArray[Any]] = {
        name: np.asarray(array, dtype=np.float32 if name in _LINES else np.float64)
        for name, array in {**older, **arrays}.items()
    }
    shapes = {name: (lines, slots) for name, lines in _LINES.items()} | dict.fromkeys(_COLUMNS, (slots,))
    wrong = [f"{name} {full[name].shape}" for name, shape in shapes.items() if full[name].shape != shape]
    if wrong:
        raise ValueError(f"stored heat of {slots} slots has shapes {', '.join(wrong)}")
    return HeatState(**{name: full[name] for name in shapes})
