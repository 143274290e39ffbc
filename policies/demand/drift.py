"""Drift: how much more the last hours tell of the days to come than the last days do, learnt from what came.

Units are ranked by the long horizon, which forgets a quiet night and a sudden crowd. Where heat wanders from day to day
it lags behind, and the short horizon predicts better. Which of the two does is measured on each database: now and then
both means of every unit that matters are noted, and after three days they are held against the demand that came. The
slope of (demand that came - long) over (short - long) is how far the ranking should lean from the long mean to the
short one: 1 where heat wanders, 0 where chance or the hour of the day is all that parts the two.

Slope by least squares, each unit weighted by the inverse of its long mean, so that a large one does not speak for all.
Looks are nine hours apart: three days' worth of them falls on eight different hours of the day. Three days and not one,
since a move is to serve for longer than the working day at whose morning it was planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model import F64, I64, Bools
from policies.demand.heat import HeatState
from policies.demand.seasons import FLOOR, MOST_UNITS
from policies.demand.variance import USUAL
from policies.model.plan import HeatView

EVERY_SECONDS = 9 * 3600.0
LOOKS = 8  # that wait for their three days to pass
KEPT = 2.0 ** (-EVERY_SECONDS / (7 * 24 * 3600.0))  # of what earlier looks showed, at each: it fades by half in a week
PRIOR_LOOKS = 2.0  # that showed the long mean to be right
WATCHED = 0.5  # of the three days at least, or the unit's look says nothing
SHORT, LONG, DEMAND, SECONDS = range(4)
LINES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftState:
    """Noted means of the units that matter, and the demand that came afterwards."""

    slot: I64  # (k,) ascending
    demand: F64  # (k,) index times seconds since the unit mattered
    seconds: F64  # (k,) watched since then
    looks: F64  # (LOOKS, LINES, k) newest last: both means, and the two sums above at that time; NaN: not noted
    waited: float = 0.0  # seconds since the newest look
    together: float = 0.0  # decayed sums over looks that were judged: how (came - long) goes with (short - long) ...
    apart: float = 0.0  # ... and the squares of the latter
    judged: float = 0.0  # decayed number of them

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def share(self) -> float:
        """How far to lean from the long horizon to the short one, 0 to 1; the less was seen, the less."""
        if not self.apart > 0:
            return 0.0
        trust = self.judged / (self.judged + PRIOR_LOOKS)
        return trust * min(1.0, max(0.0, self.together / self.apart))


def no_drift() -> DriftState:
    """Nothing was noted yet."""
    none = np.zeros(0)
    return DriftState(slot=np.zeros(0, np.int64), demand=none, seconds=none, looks=np.zeros((LOOKS, LINES, 0)))


def leaning(heat: HeatView, share: float) -> HeatView:
    """The heat with its long horizon moved towards the short one by that share."""
    if heat.steady is None or share <= 0:
        return heat
    return replace(heat, steady=heat.steady + share * (heat.rates - heat.steady))


def watch_interval(
    state: DriftState, heat: HeatState, seconds: float, slots: I64, index: F64, seen: Bools
) -> DriftState:
    """Let one interval pass.

    Args:
        state: before it.
        heat: after it.
        seconds: its length.
        slots: that had demand, each once.
        index: of each of those (``variance.index_of``).
        seen: slots about which the interval says something, shape ``(all slots,)``.
    """
    state = _admit(state, slots[(index >= FLOOR) & (slots >= 0)])
    if not len(state):
        return state
    observed = (state.slot < len(seen)) & seen[np.minimum(state.slot, len(seen) - 1)]
    now = np.zeros(len(state))
    place = np.minimum(np.searchsorted(state.slot, slots), len(state) - 1)
    known = state.slot[place] == slots
    now[place[known]] = index[known]
    state = replace(
        state,
        demand=state.demand + np.where(observed, now * seconds, 0.0),
        seconds=state.seconds + np.where(observed, seconds, 0.0),
        waited=state.waited + seconds,
    )
    return _judge_look(state, heat) if state.waited >= EVERY_SECONDS else state


def _judge_look(state: DriftState, heat: HeatState) -> DriftState:
    """Judge the oldest look and note a new one."""
    short, long = (
        _index(sums, weight, state.slot)
        for sums, weight in ((heat.sums, heat.weight), (heat.long_sums, heat.long_weight))
    )
    looks = np.concatenate((state.looks[1:], np.array([[short, long, state.demand, state.seconds]])))
    together, apart = _sums_of_look(state)
    if not apart > 0:
        return replace(state, looks=looks, waited=0.0)
    return replace(
        state,
        looks=looks,
        waited=0.0,
        together=state.together * KEPT + together,
        apart=state.apart * KEPT + apart,
        judged=state.judged * KEPT + 1.0,
    )


def _sums_of_look(state: DriftState) -> tuple[float, float]:
    """What the oldest look shows now: products and squares, both 0 where it shows nothing."""
    short, long, demand, seconds = state.looks[0]
    spent = state.seconds - seconds
    with np.errstate(invalid="ignore"):
        telling = (spent >= WATCHED * LOOKS * EVERY_SECONDS) & (long >= FLOOR)
    short, long = short[telling], long[telling]
    came = (state.demand - demand)[telling] / spent[telling]
    return float(((came - long) * (short - long) / long).sum()), float((np.square(short - long) / long).sum())


def _index(sums: NDArray[np.float32], weight: F64, slots: I64) -> F64:
    """Decayed mean of the wait index of some slots; NaN where nothing was seen."""
    there = np.minimum(slots, len(weight) - 1)
    known = (slots < len(weight)) & (weight[there] > 0)
    index = USUAL @ sums[:, there].astype(np.float64)
    return np.asarray(np.divide(index, weight[there], out=np.full(len(slots), np.nan), where=known), dtype=np.float64)


def _admit(state: DriftState, slots: I64) -> DriftState:
    """The columns with room for those slots, as long as there is any; who came first stays."""
    if len(state) >= MOST_UNITS:
        return state
    fresh = np.setdiff1d(slots, state.slot, assume_unique=True)[: MOST_UNITS - len(state)]
    if not len(fresh):
        return state
    slot = np.concatenate((state.slot, fresh))
    order = np.argsort(slot)
    none = np.zeros(len(fresh))
    blank = np.full((LOOKS, LINES, len(fresh)), np.nan)
    return replace(
        state,
        slot=slot[order],
        demand=np.concatenate((state.demand, none))[order],
        seconds=np.concatenate((state.seconds, none))[order],
        looks=np.concatenate((state.looks, blank), axis=2)[:, :, order],
    )


def drift_arrays(state: DriftState) -> dict[str, NDArray[Any]]:
    """The state as named arrays, for storing."""
    sums = np.array([state.waited, state.together, state.apart, state.judged])
    return {
        "slot": state.slot, "demand": state.demand, "seconds": state.seconds, "looks": state.looks, "sums": sums
    }  # fmt: skip


def drift_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> DriftState:
    """The state that ``drift_arrays`` took apart.

    Raises:
        ValueError: an array is missing or the shapes do not belong together.
    """
    missing = {"slot", "demand", "seconds", "looks", "sums"} - arrays.keys()
    if missing:
        raise ValueError(f"stored drift lacks {', '.join(sorted(missing))}")
    count = len(arrays["slot"])
    shapes = {"demand": (count,), "seconds": (count,), "looks": (LOOKS, LINES, count), "sums": (4,)}
    wrong = [f"{name} {arrays[name].shape}" for name, shape in shapes.items() if arrays[name].shape != shape]
    if wrong:
        raise ValueError(f"stored drift of {count} units has shapes {', '.join(wrong)}")
    columns = {name: np.asarray(arrays[name], dtype=np.float64) for name in shapes}
    waited, together, apart, judged = (float(figure) for figure in columns.pop("sums"))
    slot = np.asarray(arrays["slot"], dtype=np.int64)
    return DriftState(slot=slot, waited=waited, together=together, apart=apart, judged=judged, **columns)
