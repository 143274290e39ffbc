"""Heat: demand decayed over time, how much it varies, and the heat of units without history.

``error_ratio`` says how far mean demand may be off. ``index_of`` reduces a unit's demand to one figure: the wait on a
usual disk. Its decayed mean, square and product with the interval before give variance and persistence. With
correlation ``r`` from one interval to the next, ``n`` intervals count as ``n * (1 - r) / (1 + r)`` independent ones
(first-order process). Future demand is a mean over a time as long as the one watched and errs as much as the past mean,
so its variance is ``2 / n`` of that of an interval.

``update`` lets an interval of ``dt`` seconds pass, the time that really passed, with half-life ``H``:
``d = 2 ** (-dt / H)``, ``sum = sum * d + rate * (1 - d)``, ``weight = weight * d + (1 - d)``, heat = ``sum / weight``.
The division removes the bias of starting from nothing: after one interval heat is the rate just seen. A young unit
reacts fast, an old one slowly. A slot without data for the interval is left alone: no evidence is neither hot nor cold.

``decision_heat`` chooses between a short horizon that reacts and a long one that remembers. For the units that matter,
``horizons`` chooses among more of them.

``find_renames`` and ``successors`` find heat for units without history. A unit is known by its key, so a rebuild or a
failover, which changes only physical ids, loses nothing. A rename changes the key and keeps the physical id, so the
heat moves to the new key. A new partition inherits half of what is known of the youngest one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import expm1, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.moves import UnitKind
from connectors.model.observation import F32, F64, I8, I64, NO_PARENT, SIGNALS, Bools, Demand, Signal, UnitTable
from policies.model.plan import HeatView
from policies.model.settings import PolicySettings

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
        pace: by which the rates come to those of the pace that heat is kept at, see ``device``.

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


PARTITIONS = (UnitKind.TABLE_PARTITION, UnitKind.INDEX_PARTITION)
LENT = 0.5  # of what is known of the partition before: what it does itself soon outweighs that
SAME_SIZE = 2.0  # a renamed unit has not grown or shrunk by more than this factor ...
SLACK_BYTES = 2**20  # ... and this much; some engines give a dropped unit's id to the next one
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownUnits:
    """Units that a catalog held when it was read, by physical id."""

    physical_id: I64  # ascending
    slot: I64
    kind: I8
    size_bytes: I64


def known_units(units: UnitTable, slots: I64) -> KnownUnits:
    """The units of a catalog, to be remembered."""
    return KnownUnits(
        physical_id=units.physical_id, slot=slots, kind=units.kind.astype(np.int8), size_bytes=units.size_bytes
    )


def find_renames(before: KnownUnits, units: UnitTable, slots: I64, blank: Bools) -> tuple[I64, I64]:
    """Slots that heat leaves and slots to which it goes, of units that have another key now.

    Args:
        before: the catalog before.
        units: the catalog now.
        slots: of its units.
        blank: units without any history.
    """
    if not len(before.physical_id) or not blank.any():
        return _none()
    at = np.minimum(np.searchsorted(before.physical_id, units.physical_id), len(before.physical_id) - 1)
    old = before.slot[at]
    size, was = units.size_bytes.astype(np.float64), before.size_bytes[at].astype(np.float64)
    # The same physical id is not enough: some engines give a dropped table's id to the next one created, which would
    # inherit the heat of a stranger.
    alike = (np.maximum(size, was) <= SAME_SIZE * np.minimum(size, was) + SLACK_BYTES) & (units.kind == before.kind[at])
    # An old slot that another unit of the catalog still uses was not renamed away.
    same = blank & alike & (before.physical_id[at] == units.physical_id) & (old != slots) & ~np.isin(old, slots)
    return old[same], slots[same]


def successors(units: UnitTable, slots: I64, blank: Bools) -> tuple[I64, I64]:
    """Slots of the youngest partitions with history, and of the partitions without that come after them."""
    if not (np.isin(units.kind, PARTITIONS) & blank).any():
        return _none()
    pairs = [pair for series in series_of(units) for pair in _pairs(series, blank)]
    donors, heirs = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    return slots[donors], slots[heirs]


def series_of(units: UnitTable) -> list[list[int]]:
    """Rows of the partitions of each series, the oldest first.

    Partitions belong together when they are of one table and their keys differ in numbers only; by those numbers they
    are ordered. Tables of two tenants differ in numbers too, and say nothing of each other.
    """
    families: dict[tuple[str, int, int], list[tuple[tuple[int, ...], int]]] = {}
    whole = _whole_table(units)
    for row in np.flatnonzero(np.isin(units.kind, PARTITIONS)).tolist():
        key = units.key[row]
        # Where the engine does not say whose a partition is, its name does, which comes before that of the partition.
        named = 0 if whole[row] != NO_PARENT else len(key) - len(re.split(r"[ .]", key)[-1])
        family = key[:named] + _NUMBER.sub("#", key[named:]), int(units.kind[row]), int(whole[row])
        # Numbers as integers and not as text: by text p10 comes before p9, and the heat of the oldest partition would
        # go to the newest.
        families.setdefault(family, []).append((tuple(map(int, _NUMBER.findall(key))), row))
    return [[row for _, row in sorted(family)] for family in families.values()]


def _whole_table(units: UnitTable) -> I64:
    """The table that each partition is of, and each index of a partition; NO_PARENT where the engine does not say.

    Shape ``(n,)``.
    """
    at = units.rows_of(units.parent)
    above = np.where(at >= 0, units.parent[at], NO_PARENT)
    return np.where(above != NO_PARENT, above, units.parent)


def _pairs(series: list[int], blank: Bools) -> list[tuple[int, int]]:
    """Donor and heir rows within one series, oldest first."""
    pairs, donor = [], -1
    for row in series:
        if not blank[row]:
            donor = row
        elif donor >= 0:
            pairs.append((donor, row))
    return pairs


def _none() -> tuple[I64, I64]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def known_arrays(known: KnownUnits) -> dict[str, NDArray[Any]]:
    """The units as named arrays, for storing."""
    return {name: getattr(known, name) for name in ("physical_id", "slot", "kind", "size_bytes")}


def known_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> KnownUnits:
    """The units that ``known_arrays`` took apart.

    Raises:
        KeyError: an array is missing.
    """
    return KnownUnits(**{name: arrays[name] for name in ("physical_id", "slot", "kind", "size_bytes")})
