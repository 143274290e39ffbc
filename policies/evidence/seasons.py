"""Seasons: what a unit does at an hour of the week, on a day of the month, or at the month's end.

Kept for the units that matter (those whose wait ever passed a floor), since 202 cells for each of a million would be
800 MB and most would be empty. A cell holds demand (``heat.index_of``) and the seconds watched in it; their ratio
is the demand of that season. A cell seen fewer than three times is drawn towards the unit's mean: seen once it counts a
third. Cells forget: beyond ``MOST_REPETITIONS`` both figures are halved.

Three calendars compete for a unit: hours of the week, days of the month, and the last days of the month. The one counts
whose cells differ most for the number of cells it has, as in an analysis of variance; a month-end run must not be taken
for a habit of the Tuesday on which it happened to fall.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F32, F64, I64, Bools

HOURS, DAYS, END = 168, 31, 4  # cells: hours of the week; days of the month; its last, last but one, third last, others
CELLS = HOURS + DAYS + END
CALENDARS = (slice(0, HOURS), slice(HOURS, HOURS + DAYS), slice(HOURS + DAYS, CELLS))
_CELL_HOURS = np.concatenate((np.ones(HOURS), np.full(DAYS, 24.0), np.full(END, 24.0)))
_CELL_HOURS[-1] = 24.0 * 28  # all other days of a month are one cell

MOST_UNITS = 4096  # with seasons: 6.6 MB of cells
DISPLACES = 2.0  # times the mean demand of the unit that loses its cells: a loud hour is no reason to forget a month
FLOOR = 1.0 / 3600  # demand that makes a unit matter: a second of wait per hour
REPETITIONS = 3.0  # from which on a cell counts in full
ENOUGH = 0.9 * REPETITIONS  # to act on: a lost sample, or days before a unit was known to matter, must not cost a month
OF_AN_HOUR = 0.5  # what an hour of the week counts for: one burst among three such hours looks like a habit
MOST_REPETITIONS = 8.0
MOST_FACTOR = 100.0  # a season that promises more than this over the mean is cut
MOSTLY = 0.75  # of the hours of a day, in which it has to be seen to count
LEAST_DAYS = 3  # of the week, seen for the most part, before anything is said of what lasts
LOW_DAYS = 0.3  # of them, on which demand may be lower than what is said to last
PEAK = 1.5  # times the mean, or this part of it: what is nearer is no season to act on
STEP = timedelta(hours=1)
_WEEKDAY_OF_EPOCH = 3  # 1970-01-01 was a Thursday
_CHUNK = 64  # units worked on: a dozen columns of all cells for each


@dataclass(frozen=True, slots=True, kw_only=True)
class SeasonState:
    """Cells of the units that matter."""

    slot: I64  # (k,) ascending
    demand: F32  # (CELLS, room) index times seconds, its first k columns are used
    seconds: F32  # (CELLS, room) watched

    def __len__(self) -> int:
        return len(self.slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The forecast of seasons, aligned with some slots."""

    demand: F64  # (n,) index to be expected; NaN where no season is known
    mean: F64  # (n,) index over all seasons; NaN where none is known
    repetitions: F64  # (n,) of the cells ahead, hours of the week counted half

    def promised_demand(self) -> F64:
        """Demand to be expected where a habit, seen often enough, leaves the mean behind; NaN elsewhere."""
        with np.errstate(invalid="ignore"):
            peak, trough = self.demand > PEAK * self.mean, self.demand * PEAK < self.mean
        return np.where((peak | trough) & (self.repetitions >= ENOUGH), self.demand, np.nan)


def empty_seasons(room: int = MOST_UNITS) -> SeasonState:
    """No unit matters yet; columns for so many. A cell takes no memory before its hour or day has come."""
    return SeasonState(
        slot=np.zeros(0, np.int64),
        demand=np.zeros((CELLS, room), np.float32),
        seconds=np.zeros((CELLS, room), np.float32),
    )


def cells_of(at: datetime) -> tuple[int, int, int]:
    """The cell of each calendar at an instant, by the wall clock of the instant's own zone."""
    to_end = (at.replace(day=28) + timedelta(days=4)).replace(day=1).date() - at.date()
    from_end = min(to_end.days, END) - 1
    return at.weekday() * 24 + at.hour, HOURS + at.day - 1, HOURS + DAYS + from_end


def hours_in_cells(since: datetime, hours: int) -> F64:
    """How many of the hours from an instant on fall into each cell, by calendar: shape ``(3, CELLS)``.

    Each hour is where ``cells_of`` puts it. Counted and not listed: a plan may look years ahead.
    """
    hour = np.datetime64(since.replace(tzinfo=None), "h") + np.arange(hours)
    day, month = hour.astype("datetime64[D]"), hour.astype("datetime64[M]")
    weekday = (day.astype(np.int64) + _WEEKDAY_OF_EPOCH) % 7
    of_month = (day - month.astype("datetime64[D]")).astype(np.int64)
    to_end = ((month + 1).astype("datetime64[D]") - day).astype(np.int64)
    cells = (
        weekday * 24 + (hour - day).astype(np.int64),
        HOURS + of_month,
        HOURS + DAYS + np.minimum(to_end, END) - 1,
    )
    return np.array([np.bincount(each, minlength=CELLS) for each in cells], dtype=np.float64)


def learnt(state: SeasonState, at: datetime, seconds: float, slots: I64, index: F64, seen: Bools) -> SeasonState:
    """Let one interval pass.

    Args:
        state: cells before it; used up, since they are several megabytes.
        at: its middle, in the zone whose habits count.
        seconds: its length.
        slots: that had demand, each once.
        index: of each of those.
        seen: slots about which the interval says something, shape ``(all slots,)``.
    """
    matter = (index >= FLOOR) & (slots >= 0)
    state = _admit(state, slots[matter], index[matter])
    if not len(state):
        return state
    watched = (state.slot < len(seen)) & seen[np.minimum(state.slot, len(seen) - 1)]
    now = np.zeros(len(state))
    place = np.minimum(np.searchsorted(state.slot, slots), len(state) - 1)
    known = state.slot[place] == slots
    now[place[known]] = index[known]
    for cell in cells_of(at):
        demand, spent = state.demand[cell, : len(state)], state.seconds[cell, : len(state)]
        demand[watched] += (now[watched] * seconds).astype(np.float32)
        spent[watched] += np.float32(seconds)
        # Both figures are halved instead of decayed with time: an hour of the week comes once in seven days, and a cell
        # that faded in between would be nearly empty whenever it is asked.
        full = spent > MOST_REPETITIONS * _CELL_HOURS[cell] * 3600
        demand[full] /= 2
        spent[full] /= 2
    return state


def with_new_units(state: SeasonState, slots: I64, index: F64) -> SeasonState:
    """The cells with room for units that are expected to matter, before they were watched; ``state`` is used up.

    Args:
        state: before.
        slots: each once.
        index: demand that is expected of each.
    """
    matter = index >= FLOOR
    return _admit(state, slots[matter], index[matter])


def _admit(state: SeasonState, slots: I64, index: F64) -> SeasonState:
    """The cells with room for those slots of that demand; where there are too many, for those with most of it."""
    new = np.flatnonzero(~np.isin(slots, state.slot))
    if not len(new):
        return state
    kept = np.arange(len(state))
    if len(state) + len(new) > MOST_UNITS:
        new = new[np.argsort(-index[new], kind="stable")]
        free = MOST_UNITS - len(state)
        coldest, mean = _coldest(state)
        pairs = min(len(coldest), len(new) - free)
        gone = int((index[new[free : free + pairs]] > DISPLACES * mean[:pairs]).sum())  # falling against rising
        kept, new = np.sort(coldest[gone:]), new[: free + gone]
        if not len(new):
            return state
    fresh = slots[new]
    slot = np.concatenate((state.slot[kept], fresh))
    slot.sort()
    place = np.searchsorted(slot, state.slot[kept])
    for line in (*state.demand, *state.seconds):  # in place: two copies of all cells would be the peak of a cycle
        if line.any():
            moved = np.zeros(len(slot), np.float32)
            moved[place] = line[kept]
            line[: len(slot)] = moved
    return replace(state, slot=slot)


def _coldest(state: SeasonState) -> tuple[I64, F64]:
    """Rows of the units with cells by their mean demand, rising, and that mean; 0 of one that was not watched yet."""
    demand, seconds = (
        cells[:HOURS, : len(state)].sum(axis=0, dtype=np.float64) for cells in (state.demand, state.seconds)
    )
    mean = np.divide(demand, seconds, out=np.zeros(len(state)), where=seconds > 0)
    order = np.argsort(mean, kind="stable")
    return order, mean[order]


def lasting_demand(state: SeasonState, slots: I64) -> F64:
    """Index below which each unit fell on ``LOW_DAYS`` of the days of the week at most, shape ``(n,)``.

    0 where fewer than ``LEAST_DAYS`` were seen: what came a day ago may be gone tomorrow.
    """
    if not len(state):
        return np.zeros(len(slots))
    by_day = (7, HOURS // 7, len(state))
    demand = state.demand[:HOURS, : len(state)].reshape(by_day).sum(axis=1, dtype=np.float64)
    watched = state.seconds[:HOURS, : len(state)].reshape(by_day)
    seen = (watched > 0).mean(axis=1) >= MOSTLY
    mean = np.where(seen, demand / np.maximum(watched.sum(axis=1, dtype=np.float64), 1.0), np.inf)
    # The lowest days first; those that were not seen are behind all others.
    at = (LOW_DAYS * seen.sum(axis=0)).astype(np.int64)
    low = np.sort(mean, axis=0)[at, np.arange(len(state))]
    low = np.where(seen.sum(axis=0) >= LEAST_DAYS, low, 0.0)
    place = np.minimum(np.searchsorted(state.slot, slots), len(state) - 1)
    return np.asarray(np.where(state.slot[place] == slots, low[place], 0.0), dtype=np.float64)


def outlook(state: SeasonState, slots: I64, since: datetime, hours: float) -> Outlook:
    """Mean demand that seasons expect of some slots, over so many hours from an instant on.

    Args:
        state: cells.
        slots: any, -1 where there is none.
        since: now, in the zone whose habits count.
        hours: to look ahead, at least one.
    """
    none = np.full(len(slots), np.nan)
    if not len(state):
        return Outlook(demand=none, mean=none, repetitions=np.zeros(len(slots)))
    place = np.minimum(np.searchsorted(state.slot, slots), len(state) - 1)
    known = state.slot[place] == slots
    expected, mean, repetitions = _all_expected(state, hours_in_cells(since, max(1, round(hours))))
    known &= np.isfinite(mean[place])
    return Outlook(
        demand=np.where(known, expected[place], np.nan),
        mean=np.where(known, mean[place], np.nan),
        repetitions=np.where(known, repetitions[place], 0.0),
    )


def promised_demand(state: SeasonState, slots: I64, since: datetime, hours: float) -> F64 | None:
    """``Outlook.promised`` of some slots, shape ``(n,)``; None where no unit has a habit to act on."""
    own = outlook(state, state.slot, since, hours).promised_demand()
    telling = np.flatnonzero(np.isfinite(own))
    if not len(telling):
        return None
    known = state.slot[telling]
    place = np.minimum(np.searchsorted(known, slots), len(known) - 1)
    return np.where(known[place] == slots, own[telling][place], np.nan)


def _all_expected(state: SeasonState, ahead: F64) -> F64:
    """What ``_expected_demand`` says of every unit with cells, shape ``(3, len(state))``; few at a time."""
    found = np.empty((3, len(state)))
    for first in range(0, len(state), _CHUNK):
        some = slice(first, first + _CHUNK)
        demand, seconds = (
            np.ascontiguousarray(cells[:, : len(state)][:, some].T, dtype=np.float64)
            for cells in (state.demand, state.seconds)
        )
        found[:, some] = _expected_demand(demand, seconds, ahead)
    return found


def _expected_demand(demand: F64, seconds: F64, ahead: F64) -> tuple[F64, F64, F64]:
    """Demand ahead, mean demand and repetitions of units by their cells, shape ``(m, CELLS)``.

    ``ahead``: hours ahead in each cell, by calendar.
    """
    week = CALENDARS[0]
    watched = seconds[:, week].sum(axis=1)
    mean = np.divide(demand[:, week].sum(axis=1), watched, out=np.full(len(demand), np.nan), where=watched > 0)
    # A cell never watched says the mean, not 0: an hour without samples would otherwise look like a habit of rest.
    own = np.divide(demand, seconds, out=np.repeat(mean[:, np.newaxis], CELLS, axis=1), where=seconds > 0)
    seen = seconds / (_CELL_HOURS * 3600)
    shrunk = mean[:, np.newaxis] + (own - mean[:, np.newaxis]) * np.minimum(1.0, seen / REPETITIONS)
    # By the shrunk cells: one burst in a cell seen once would tell more than a habit of months.
    telling = [_telling(shrunk[:, cells], seconds[:, cells], mean) for cells in CALENDARS[1:]]
    best = np.argmax([_weekly(shrunk[:, week], seconds[:, week], mean), *telling], axis=0)
    share = (ahead / ahead[0].sum())[best]
    expected = (shrunk * share).sum(axis=1)
    repetitions = (seen * share).sum(axis=1) * np.where(best == 0, OF_AN_HOUR, 1.0)
    return np.minimum(expected, mean * MOST_FACTOR), mean, repetitions


def _weekly(cells: F64, seconds: F64, mean: F64) -> F64:
    """How telling the week is: by its days, or by the hours of a day, whichever tells more."""
    found = []
    for axis in (3, 2):  # over the hours of each day of the week; over the days, for each hour
        spent = seconds.reshape(len(seconds), 1, 7, 24)
        demand = (cells * seconds).reshape(spent.shape).sum(axis=axis).reshape(len(seconds), -1)
        spent = spent.sum(axis=axis).reshape(len(seconds), -1)
        means = np.divide(demand, spent, out=np.zeros_like(demand), where=spent > 0)
        found.append(_telling(means, spent, mean))
    return np.maximum(*found)


def _telling(cells: F64, seconds: F64, mean: F64) -> F64:
    """Variance between the cells of a calendar for each degree of freedom it has. Shape ``(k,)``."""
    between = (seconds * np.square(cells - mean[:, np.newaxis])).sum(axis=1)
    return np.asarray(between / np.maximum(1, (seconds > 0).sum(axis=1) - 1), dtype=np.float64)


def with_renamed(state: SeasonState, donors: I64, heirs: I64) -> SeasonState:
    """Give the cells of renamed units to their new slots; ``state`` is used up."""
    slot, order = renamed_slots(state.slot, donors, heirs)
    if slot is state.slot:
        return state
    for column in (state.demand, state.seconds):
        column[:, : len(slot)] = column[:, order]
        column[:, len(slot) : len(state)] = 0.0
    return SeasonState(slot=slot, demand=state.demand, seconds=state.seconds)


def renamed_slots(slot: I64, donors: I64, heirs: I64) -> tuple[I64, I64]:
    """Ascending slots with those of renamed units in place of the old ones, and which columns they have.

    Heirs that have columns of their own keep them; the very same slots come back where nothing was renamed.
    """
    takes = np.isin(donors, slot) & ~np.isin(heirs, slot)
    if not takes.any():
        return slot, np.arange(len(slot))
    after = slot.copy()
    after[np.searchsorted(slot, donors[takes])] = heirs[takes]
    order = np.argsort(after, kind="stable")
    return after[order], order


def season_arrays(state: SeasonState) -> dict[str, NDArray[Any]]:
    """The cells as named arrays, for storing."""
    used = slice(len(state))
    return {"slot": state.slot, "cell_demand": state.demand[:, used], "cell_seconds": state.seconds[:, used]}


def seasons_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> SeasonState:
    """The cells that ``season_arrays`` took apart. What older versions stored is by unit and not by cell.

    Raises:
        ValueError: an array is missing or the shapes do not belong together.
    """
    if "demand" in arrays and "seconds" in arrays:
        arrays = {**arrays, "cell_demand": arrays["demand"].T, "cell_seconds": arrays["seconds"].T}
    missing = {"slot", "cell_demand", "cell_seconds"} - arrays.keys()
    if missing:
        raise ValueError(f"stored seasons lack {', '.join(sorted(missing))}")
    slot = np.asarray(arrays["slot"], dtype=np.int64)
    demand, seconds = arrays["cell_demand"], arrays["cell_seconds"]
    if demand.shape != (CELLS, len(slot)) or seconds.shape != demand.shape:
        raise ValueError(f"stored seasons of {len(slot)} units have shapes {demand.shape}, {seconds.shape}")
    state = empty_seasons(max(MOST_UNITS, len(slot)))
    for cell in np.flatnonzero(seconds.any(axis=1)):
        state.demand[cell, : len(slot)], state.seconds[cell, : len(slot)] = demand[cell], seconds[cell]
    return replace(state, slot=slot)
