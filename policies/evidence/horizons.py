"""Horizons: how long to remember, chosen by how well each memory would have placed the units.

Several forecasts of each unit's demand run side by side: means that forget by half in ``HALF_LIVES``, the next hours
as they were on the last days, and as they were in the last weeks. Where partitions are born in series, two more know a
partition by its place in the series, as the newest or the seventh: the next hours, and the whole day, as they were for
the partitions that had this place before (``with_births``); a third knows it by itself. These three are mixed for the
series, and the six for all other units. Each plays for itself: every half hour it fills a fast tier as large as the
real one, by value per byte, and pays for what it copies. What it would have saved by the
demand that came, less its copies, is its score; likelihood is not asked, since a forecast that errs alike for all units
places as well as one that is right.

Scores fade by half in ``SCORE_HALF_LIFE``, two days, so that the hour at which it is asked speaks for no forecast and
against none. Forecasts are mixed by exponential weights of the faded scores (Herbster and Warmuth,
Tracking the best expert, Machine Learning 32, 1998; in place of their fixed share older losses are discounted, as in
Chernov and Zhdanov, Prediction with expert advice under discounted loss, ALT 2010). With the demand that a forecast
expects comes the time over which a move should pay: a short memory moves soon, and soon back.

Kept for the units that matter, those which have seasons: others move by the long horizon of ``heat``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F32, F64, I64, Bools
from policies.evidence.heat import LENT, index_of
from policies.evidence.seasons import STEP, SeasonState, cells_of, renamed_slots
from policies.model.plan import HeatView
from policies.model.settings import THERE_AND_BACK

HOUR = 3600.0
HALF_LIVES = (1.5, 6.0, 24.0, 96.0)  # hours
LASTING = np.array((12.0, 24.0, 48.0, 96.0, 8.0, 12.0, 8.0, 24.0, 12.0))  # hours over which a move by each is to pay
FORECASTS = len(LASTING)
BY_UNIT = 6  # the first ones, which tell units apart; those behind it tell apart how series of partitions are known
RECENT = 1  # the memory as long as that of recent work, by which copies are priced (``settings.half_life_seconds``)
LONG = 2  # the memory that stands in where no day or week was seen yet
DAY_AHEAD, WEEK_AHEAD = 3, 6  # hours
DAY_HALF_LIFE = 2.0  # repetitions of an hour of the day
EVERY_SECONDS = 1800.0  # between two judgements
SCORE_HALF_LIFE = 48.0  # hours
LEARNING_RATE = 200.0  # a forecast that places 1 % worse than the best weighs exp(-2) of it


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonState:
    """What each forecast knows of the units that matter, where it would have them, and how well it placed."""

    slot: I64 = field(default_factory=lambda: np.zeros(0, np.int64))  # (k,) ascending
    means: F32 = field(default_factory=lambda: np.zeros((len(HALF_LIVES), 0), np.float32))  # index times weight
    weight: F32 = field(default_factory=lambda: np.zeros((len(HALF_LIVES), 0), np.float32))
    day_means: F32 = field(default_factory=lambda: np.zeros((24, 0), np.float32))  # by hour of the day
    day_weight: F32 = field(default_factory=lambda: np.zeros((24, 0), np.float32))
    in_series: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))  # (k,) partitions with others born after
    place_means: F32 = field(default_factory=lambda: np.zeros((24, 0), np.float32))  # the same of who had its place
    place_weight: F32 = field(default_factory=lambda: np.zeros((24, 0), np.float32))
    resident: Bools = field(default_factory=lambda: np.zeros((FORECASTS, 0), np.bool_))  # on its fast tier
    came: F64 = field(default_factory=lambda: np.zeros(0))  # (k,) index times seconds since the last judgement
    earned: F64 = field(default_factory=lambda: np.zeros(0))  # (k,) the same since it changed its tier, less that copy
    fast: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))  # (k,) on the fastest tier at that time
    spent: F64 = field(default_factory=lambda: np.zeros(FORECASTS))  # session seconds of its copies at that time
    score: F64 = field(default_factory=lambda: np.zeros(FORECASTS))  # faded seconds saved a second, copies paid
    waited: float = 0.0  # seconds since the last judgement
    born: bool = False  # partitions were, since the last interval: who had which place in it is not known
    since_birth: float = inf  # watched seconds since partitions were born last; inf: none was seen to be
    between_births: float = inf  # from the last but one to the last time

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def due(self) -> bool:
        """Whether it is time for a judgement."""
        return len(self) > 0 and self.waited >= EVERY_SECONDS

    @property
    def shares(self) -> F64:
        """Weight of each forecast in the mix, of series where partitions are born; equal before there was any score.

        Shape ``(FORECASTS,)``.
        """
        weight, rows = np.zeros(FORECASTS), slice(BY_UNIT, None) if self.in_series.any() else slice(BY_UNIT)
        weight[rows] = _shares_of(self.score[rows])
        return weight

    @property
    def lasting_seconds(self) -> float:
        """How long a move's gain is counted against its copies, by the mix."""
        # The harmonic mean, since what is charged of a copy is its cost per hour: the arithmetic one would let the
        # longest horizon hide what the short ones pay.
        return float(HOUR / (self.shares / LASTING).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a placement is limited by. Columns by unit of the catalog."""

    slot: I64
    size: I64  # bytes
    cost: F64  # session seconds that a copy of each takes
    fast: Bools  # on the fastest tier
    room: float  # bytes of that tier that units may fill


def watch_interval(
    state: HorizonState, seasons: SeasonState, at: datetime, seconds: float, slots: I64, index: F64, seen: Bools
) -> HorizonState:
    """Let one interval pass.

    Args:
        state: before it; used up.
        seasons: after it: every slot with cells there has columns here.
        at: its middle, in the zone whose habits count.
        seconds: its length.
        slots: that had demand, each once.
        index: of each of those (``heat.index_of``).
        seen: slots about which the interval says something, shape ``(all slots,)``.
    """
    state = _align_columns(state, seasons.slot)
    if not len(state):
        return state
    watched = (state.slot < len(seen)) & seen[np.minimum(state.slot, len(seen) - 1)]
    now = _by_slot(state.slot, slots, index)
    for line, weight, half_life in zip(state.means, state.weight, HALF_LIVES, strict=True):
        _fade(line, weight, now, watched, seconds / (half_life * HOUR))
    days = seconds / (DAY_HALF_LIFE * HOUR)
    _fade(state.day_means[at.hour], state.day_weight[at.hour], now, watched, days)
    placed = watched & state.in_series & (not state.born)
    _fade(state.place_means[at.hour], state.place_weight[at.hour], now, placed, days)
    came = state.came + np.where(watched, now * seconds, 0.0)
    return replace(state, came=came, waited=state.waited + seconds, born=False, since_birth=state.since_birth + seconds)


def judge_forecasts(state: HorizonState, seasons: SeasonState, at: datetime, site: Site) -> HorizonState:
    """Score the placement of each forecast by what came since, and let it place the units again.

    Args:
        state: with what came.
        seasons: of the same units.
        at: now, in the zone whose habits count.
        site: as it is now.
    """
    # Residents as of the last judgement by the demand that came since: scored by demand that it has already learnt
    # from, the shortest memory would always look best.
    saved = (state.resident * state.came).sum(axis=1) - state.spent
    keeping = 2.0 ** (-state.waited / (SCORE_HALF_LIFE * HOUR))
    score = state.score * keeping + saved / state.waited * (1.0 - keeping)
    size = _by_slot(state.slot, site.slot, site.size.astype(np.float64))
    cost = _by_slot(state.slot, site.slot, site.cost)
    fast = _by_slot(state.slot, site.slot, site.fast) > 0
    forecasts = _forecasts(state, seasons, at)
    # What a copy cost is known best when it was made: a unit that comes up amid batch work costs ten times what the
    # same copy seems to have cost by noon.
    earned = np.where(fast == state.fast, state.earned + state.came, -cost * _dearest(state, forecasts, fast))
    resident, spent = np.zeros_like(state.resident), np.zeros(FORECASTS)
    for row, (demand, hours) in enumerate(zip(forecasts, LASTING, strict=True)):
        before = state.resident[row] & (size > 0)
        upkeep = THERE_AND_BACK * cost / (hours * HOUR)
        # What is there counts with the cost of a copy on top, what would come less that cost. Without it a forecast
        # would exchange units at every judgement for less than their copies take, as no plan does.
        resident[row] = _fill_room(np.where(before, demand + upkeep, demand - upkeep), size, site.room)
        spent[row] = cost[resident[row] != before].sum()
    return replace(
        state, resident=resident, earned=earned, fast=fast, spent=spent, score=score, came=np.zeros(len(state)),
        waited=0.0,
    )  # fmt: skip


def expected_demand(state: HorizonState, seasons: SeasonState, at: datetime) -> tuple[I64, F64]:
    """Slots with columns, ascending, and the wait index that the mix expects of each; see ``judge_forecasts``."""
    if not np.array_equal(state.slot, seasons.slot):  # stored by a version that kept only one of the two
        return np.zeros(0, np.int64), np.zeros(0)
    by_unit = _forecasts(state, seasons, at)[:BY_UNIT]
    return state.slot, np.asarray(_shares_of(state.score[:BY_UNIT]) @ by_unit, dtype=np.float64)


def earned_seconds(state: HorizonState, slots: I64, fast: Bools) -> F64:
    """What units waited for, or were spared, since they changed their tier, less what that copy cost; 0: unknown.

    In seconds on a usual disk; negative until the copy is paid.

    Args:
        state: as of the last judgement.
        slots: shape ``(n,)``.
        fast: on the fastest tier now, shape ``(n,)``.
    """
    earned = np.zeros(len(slots))
    if len(state):
        place = np.minimum(np.searchsorted(state.slot, slots), len(state) - 1)
        # What moved since the last judgement has earned on its old tier what is kept of it: counted for the new one,
        # a unit that had waited long on the slow tier could be sent back at once.
        there = (state.slot[place] == slots) & (state.fast[place] == fast)
        earned[there] = state.earned[place[there]]
    return earned


def are_in_series(state: HorizonState, slots: I64) -> Bools:
    """Which units are partitions that were planned by their place in a series. Shape ``(n,)``."""
    if not len(state):
        return np.zeros(len(slots), dtype=np.bool_)
    place = np.minimum(np.searchsorted(state.slot, slots), len(state) - 1)
    return np.asarray(state.in_series[place] & (state.slot[place] == slots), dtype=np.bool_)


def dearest_copy(state: HorizonState, seasons: SeasonState, at: datetime) -> float:
    """How many times what recent work says a copy may cost in the hours to come, by who expects most; 1 or more."""
    if not np.array_equal(state.slot, seasons.slot):
        return 1.0
    return _dearest(state, _forecasts(state, seasons, at), state.fast)


def _dearest(state: HorizonState, forecasts: F64, fast: Bools) -> float:
    """The same of some forecasts: a copy holds up those who wait for what is not on the fastest tier."""
    recent = _ratio(state.means[RECENT], state.weight[RECENT])[~fast].sum()
    # Over one session at least, as a copy is priced: after an idle night the morning would seem endlessly dear.
    return max(1.0, float(forecasts[:, ~fast].sum(axis=1).max() / max(1.0, recent)))


def with_expected_demand(heat: HeatView, slots: I64, known: I64, expected: F64) -> HeatView:
    """The heat with what the mix expects of the units that matter, by both horizons: the choice is made.

    Args:
        heat: with both horizons.
        slots: of its rows.
        known: slots for which something is expected, ascending.
        expected: of those.
    """
    if heat.steady is None or not len(known):
        return heat
    place = np.minimum(np.searchsorted(known, slots), len(known) - 1)
    long = index_of(heat.steady)
    rows = np.flatnonzero((known[place] == slots) & (long > 0))
    if not len(rows):
        return heat
    rates, steady = heat.rates.copy(), heat.steady.copy()
    steady[:, rows] *= expected[place[rows]] / long[rows]
    # The short horizon is set as well: otherwise the colder of the two would veto what the mix has already decided
    # between them.
    rates[:, rows] = steady[:, rows]
    return replace(heat, rates=rates, steady=steady)


def with_births(state: HorizonState, seasons: SeasonState, series: Sequence[tuple[I64, int]]) -> HorizonState:
    """Pass on what is known of each place in series in which partitions were born: every partition is one place older.

    Args:
        state: before the births; used up.
        seasons: with columns of the new partitions.
        series: slots of its partitions, the oldest first, and how many of the last are new.
    """
    state = _align_columns(state, seasons.slot)
    for slots, born in series:
        at = np.minimum(np.searchsorted(state.slot, slots), max(0, len(state) - 1))
        known = state.slot[at] == slots if len(state) else np.zeros(len(slots), np.bool_)
        if not known.any():
            continue
        own, first = at[known], ~state.in_series[at[known]]
        state.place_means[:, own[first]] = state.day_means[:, own[first]]
        state.place_weight[:, own[first]] = state.day_weight[:, own[first]]
        state.in_series[own] = True
        # A partition without columns was never read: its place is known to be cold.
        means = np.where(known, state.place_means[:, at], np.float32(0.0))
        weight = np.where(known, state.place_weight[:, at], np.float32(1.0))
        older, heirs = known[born:], at[born:][known[born:]]
        state.place_means[:, heirs] = means[:, :-born][:, older]
        state.place_weight[:, heirs] = weight[:, :-born][:, older]
        # Of the places of the oldest ones nothing is known: who had them is gone. What they do by themselves counts.
        state.in_series[at[:born][known[:born]]] = False
        newest, new = at[-born - 1], at[-born:][known[-born:]]
        if known[-born - 1]:
            for name in ("means", "weight", "day_means", "day_weight"):
                column = getattr(state, name)
                column[:, new] = column[:, [newest]] * np.float32(LENT)
        state = replace(state, born=True)
    if state.born and state.since_birth > 0:  # those of one interval are one birth
        state = replace(state, since_birth=0.0, between_births=state.since_birth)
    return state


def _shares_of(score: F64) -> F64:
    """Weights of a mix of forecasts with these scores, shape as given."""
    # Where no forecast saves anything, ratios to the best would turn their order round. Elsewhere by the distance from
    # the best score and as a share of it: absolute seconds would make the mix depend on how busy the database is.
    best = float(score.max())
    weight = np.exp(LEARNING_RATE * (score / best - 1.0)) if best > 0 else np.ones(len(score))
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _forecasts(state: HorizonState, seasons: SeasonState, at: datetime) -> F64:
    """Index that each forecast expects of each unit for the time to come, ``(FORECASTS, k)``."""
    means = _ratio(state.means, state.weight)
    otherwise = means[LONG]
    ahead = [at + step * STEP for step in range(max(DAY_AHEAD, WEEK_AHEAD))]
    day = [hour.hour for hour in ahead[:DAY_AHEAD]]
    by_day = _mean_of_cells(state.day_means[day], state.day_weight[day], 0.0, otherwise)
    week = [cells_of(hour)[0] for hour in ahead[:WEEK_AHEAD]]
    demand, seconds = seasons.demand[week, : len(state)], seasons.seconds[week, : len(state)]
    by_week = _mean_of_cells(demand, seconds, HOUR / 2, otherwise)
    by_unit = np.vstack((means, by_day, by_week))
    mixed = _shares_of(state.score[:BY_UNIT]) @ by_unit
    whole_day = _ratio(state.place_means.sum(axis=0), state.place_weight.sum(axis=0))
    by_place = _mean_of_cells(state.place_means[day], state.place_weight[day], 0.0, whole_day)
    of_series = np.vstack((by_place, whole_day, mixed))
    together = _shares_of(state.score[BY_UNIT:]) @ of_series
    # Each has all other units as their mix has them. By one score for both, the memory that follows births best would
    # place the tables next to the partitions as well, and send them to and fro with every noisy hour.
    series = np.where(state.in_series, of_series, mixed)
    return np.vstack((np.where(state.in_series, together, by_unit), series))


def _mean_of_cells(demand: F32, weight: F32, least: float, otherwise: F64) -> F64:
    """Mean of the demand of some cells of each unit; where one of them weighs too little, something else."""
    known = (weight > least).all(axis=0)
    return np.asarray(np.where(known, _ratio(demand, weight).mean(axis=0), otherwise), dtype=np.float64)


def _ratio(sums: F32, weight: F32) -> F64:
    return np.asarray(
        np.divide(sums, weight, out=np.zeros(sums.shape), where=weight > 0, dtype=np.float64), dtype=np.float64
    )


def _fade(means: F32, weight: F32, now: F64, watched: Bools, half_lives: float) -> None:
    """Let an interval of so many half-lives pass over a decayed mean, in place."""
    arriving = -np.expm1(-np.log(2.0) * half_lives)
    share = np.where(watched, arriving, 0.0)
    means += (share * (now - means)).astype(np.float32)
    weight += (share * (1.0 - weight)).astype(np.float32)


def _fill_room(value: F64, size: F64, room: float) -> Bools:
    """Which units fill the room by value per byte, the densest first."""
    chosen = np.zeros(len(value), dtype=np.bool_)
    worth = np.flatnonzero((value > 0) & (size > 0))
    for row in worth[np.argsort(-value[worth] / size[worth], kind="stable")].tolist():
        if size[row] <= room:
            chosen[row] = True
            room -= size[row]
    return chosen


def _by_slot(known: I64, slots: I64, column: F64 | Bools) -> F64:
    """A column by some slots, each once and in any order, as one by the known ones, ascending; 0 where it has none."""
    found = np.zeros(len(known))
    if len(known):
        place = np.minimum(np.searchsorted(known, slots), len(known) - 1)
        there = known[place] == slots
        found[place[there]] = column[there]
    return found


def _align_columns(state: HorizonState, slot: I64) -> HorizonState:
    """The columns of those slots: what is new knows nothing, what is gone is forgotten."""
    if np.array_equal(state.slot, slot):
        return state
    _, old, new = np.intersect1d(state.slot, slot, assume_unique=True, return_indices=True)
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        before = getattr(state, name)
        columns[name] = np.zeros((*before.shape[:-1], len(slot)), before.dtype)
        columns[name][..., new] = before[..., old]
    return replace(state, slot=slot.copy(), **columns)


def with_renamed(state: HorizonState, donors: I64, heirs: I64) -> HorizonState:
    """Give what is known of renamed units to their new slots."""
    slot, order = renamed_slots(state.slot, donors, heirs)
    if slot is state.slot:
        return state
    return replace(state, slot=slot, **{name: getattr(state, name)[..., order] for name in _COLUMNS})


_COLUMNS = (
    "means", "weight", "day_means", "day_weight", "in_series", "place_means", "place_weight", "resident", "came",
    "earned", "fast",
)  # fmt: skip
_LINES = {
    "means": len(HALF_LIVES), "weight": len(HALF_LIVES), "day_means": 24, "day_weight": 24, "place_means": 24,
    "place_weight": 24, "resident": FORECASTS,
}  # fmt: skip


def horizon_arrays(state: HorizonState) -> dict[str, NDArray[Any]]:
    """The state as named arrays, for storing."""
    return {
        **{name: getattr(state, name) for name in ("slot", *_COLUMNS)},
        "scores": np.array((state.score, state.spent)),
        "waited": np.array([state.waited, state.since_birth, state.between_births]),
    }  # fmt: skip


def horizons_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> HorizonState:
    """The state that ``horizon_arrays`` took apart. What older versions stored knows no places in series.

    Raises:
        ValueError: an array is missing or the shapes do not belong together.
    """
    arrays = _with_places(arrays)
    missing = {"slot", *_COLUMNS, "scores", "waited"} - arrays.keys()
    if missing:
        raise ValueError(f"stored horizons lack {', '.join(sorted(missing))}")
    count = len(arrays["slot"])
    shapes = {
        **{name: (lines, count) for name, lines in _LINES.items()},
        "in_series": (count,),
        "came": (count,),
        "earned": (count,),
        "fast": (count,),
        "scores": (2, FORECASTS),
    }
    wrong = [f"{name} {arrays[name].shape}" for name, shape in shapes.items() if arrays[name].shape != shape]
    if wrong:
        raise ValueError(f"stored horizons of {count} units have shapes {', '.join(wrong)}")
    columns: dict[str, Any] = {name: arrays[name].copy() for name in ("slot", *_COLUMNS)}
    score, spent = arrays["scores"].copy()
    waited, *births = arrays["waited"].tolist()
    since, between = births or (inf, inf)  # older versions kept neither
    return HorizonState(**columns, score=score, spent=spent, waited=waited, since_birth=since, between_births=between)


def _with_places(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """The arrays, of an older version with what it did not keep."""
    if "slot" not in arrays:
        return arrays
    count = len(arrays["slot"])
    cells = np.zeros((24, count), np.float32)
    older = {"in_series": np.zeros(count, np.bool_), "place_means": cells, "place_weight": cells, **arrays}
    for name, axis in (("resident", 0), ("scores", 1)):
        if name in arrays and arrays[name].shape[axis] < FORECASTS:
            more = np.zeros_like(arrays[name]).take([0] * (FORECASTS - arrays[name].shape[axis]), axis)
            older[name] = np.concatenate((arrays[name], more), axis)
    return older
