"""How many bytes a space has and will need, and limits of a tier other than bytes.

``room_bytes`` and ``capacity_bytes`` count what a space has. ``seconds_until_outgrown`` says when a unit outgrows it.

``drive_io`` follows the RAID formula of ``settings``: reads that no cache answers, and host writes times the factor.
Sequential reads and writes cost one I/O per ``RUN_BLOCKS`` blocks. ``drive_io`` and ``written_per_day`` are per unit
and add up, so a solver can take each limit as one more resource next to capacity.

``without_room`` checks that each move of a plan finds room at its turn, with expected growth. While a bundle is copied,
the source still holds it, and the target holds the copy plus what the route needs beyond it (sorts, journals, all that
a table space has allocated). Afterwards the source is free, unless the original is kept there for a time.

``Growth`` forecasts each unit from a decayed mean of its growth between catalogs, with three bounds. A unit that has
grown for an hour is not yet expected to grow for a day. One that has paused for longer than ever before has stopped, as
a partition does when its day is over. A new partition is expected to become about as large as the one before it, and
to grow for no longer than that did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import ceil, inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F32, F64, I32, I64, Signal, Space, UnitTable
from policies.model.plan import PlanMove, Situation
from policies.model.settings import WRITE_FACTORS, PolicySettings, TierLimits


def room_bytes(space: Space, head_room_ratio: float) -> int | None:
    """Bytes that may still be written to a space: what is free, less the head-room; negative when already past it.

    None where neither free bytes nor capacity are known. Where both are, the smaller claim counts.
    """
    volume = space.volume
    return None if volume is None else volume.free_bytes - ceil(volume.capacity_bytes * head_room_ratio)


def capacity_bytes(space: Space) -> int:
    """Bytes of a space in all; if no capacity is known, used plus free bytes."""
    return space.used_bytes + (space.free_bytes or 0) if space.capacity_bytes is None else space.capacity_bytes


def largest_unit(situation: Situation, tier: int, head_room_ratio: float) -> int:
    """Bytes of the largest unit that a space of the tier could take if it were emptied, -1 where no room is known."""
    rooms = [
        room + space.used_bytes
        for space, at in zip(situation.spaces, situation.tier_of_space, strict=True)
        if at == tier and (room := room_bytes(space, head_room_ratio)) is not None
    ]
    return max(rooms, default=-1)


def closed_spaces(situation: Situation, tiers: Collection[int]) -> str:
    """Which spaces of some tiers cannot take data now, and why; "" where nothing is known against any."""
    found = zip(situation.spaces, situation.tier_of_space, strict=True)
    return "; ".join(
        f"{space.name} cannot take data: {space.lost}" for space, at in found if at in tiers and space.lost
    )


def seconds_until_outgrown(situation: Situation, rows: Sequence[int], tier: int, head_room_ratio: float) -> float:
    """When units that move as one will be larger than any space of a tier, if they go on growing; inf: never.

    Args:
        situation: says how much they grow.
        rows: of the units.
        tier: whose spaces they may outgrow.
        head_room_ratio: of each space, never filled.
    """
    rate, _ = growth_rate(situation, rows)
    if not rate > 0:
        return inf
    left = largest_unit(situation, tier, head_room_ratio) - int(situation.units.size_bytes[list(rows)].sum())
    return max(0.0, left / rate)


def growth_rate(situation: Situation, rows: Sequence[int]) -> tuple[float, float]:
    """Bytes a second by which some units grow, all together, and seconds for which that was seen; NaN: not known.

    As it was seen: what is expected until the next plan acts is less where growth is too young to be trusted so long.
    """
    at = list(rows)
    if situation.growth_rate is not None and situation.growth_seen is not None:
        rates = situation.growth_rate[at]
        return float(rates.sum()), float(situation.growth_seen[at][rates > 0].min(initial=inf))
    if situation.growth is None or not situation.growth_seconds > 0:
        return 0.0, nan
    return float(situation.growth[at].sum()) / situation.growth_seconds, nan


DAY = 86400.0
WEEK = 7 * DAY
RUN_BLOCKS = 16.0  # blocks that one sequential I/O moves: 128 KiB of 8 KiB, the usual read-ahead


def drive_io(rates: F64, limits: TierLimits) -> F64:
    """Drive I/Os per second that each unit causes on a tier, shape ``(n,)``, of rates ``(SIGNALS, n)``."""
    in_runs = rates[Signal.PREFETCHED_READ] + rates[Signal.DIRECT_READ]
    written = rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE]
    factor = 1 if limits.raid is None else WRITE_FACTORS[limits.raid]
    return np.asarray(rates[Signal.SYNC_READ] + in_runs / RUN_BLOCKS + written * factor, dtype=np.float64)


def written_per_day(rates: F64, block_bytes: int) -> F64:
    """Bytes that each unit writes in a day wherever it is, shape ``(n,)``; the copy that brings it comes on top."""
    return np.asarray((rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE]) * block_bytes * DAY, dtype=np.float64)


def turned_over(gave_way: Iterable[tuple[float, float]], per_week: float) -> float:
    """How full a leaky bucket is: every swap fills it, and a week empties it by a week's budget.

    A policy that swaps only while less than a week's budget is in it keeps to the budget in the long run, and what
    exceeded it is made up for.

    Args:
        gave_way: age in seconds and share of the tier of each demotion, in any order.
        per_week: share that may give way in a week.
    """
    level, before = 0.0, inf
    # The last entry adds nothing and only drains the bucket from the latest demotion until now.
    for age, share in [*sorted(gave_way, reverse=True), (0.0, 0.0)]:
        level = max(0.0, level - per_week * (before - age) / WEEK) + share
        before = age
    return level


def without_room(
    moves: Iterable[PlanMove],
    situation: Situation,
    settings: PolicySettings,
    transient: Mapping[str, int],
    staying: Mapping[str, int],
) -> PlanMove | None:
    """The first move that finds no room at its turn, None if all do.

    Args:
        moves: in the order in which they are carried out.
        situation: with the room of every space, and the expected growth.
        settings: for the head-room.
        transient: bytes beyond the copy while a move runs, by ``PlannedMove.name``.
        staying: bytes that are not free in the source after it, likewise.
    """
    room = {space.name: room_bytes(space, settings.head_room_ratio) for space in situation.spaces}
    for move in moves:
        # Move by move and not by the sums at the end: a plan whose final placement fits may still have no room
        # half-way, because the source holds each bundle until its copy is done.
        target, source, size = room[move.to_space], room[move.from_space], expected_bytes(move, situation)
        if target is None or target < size + transient.get(move.name, 0):
            return move
        room[move.to_space] = target - size
        if source is not None:
            room[move.from_space] = source + max(0, size - staying.get(move.name, 0))
    return None


def expected_bytes(move: PlanMove, situation: Situation) -> int:
    """Bytes that a move copies, with the growth expected until then."""
    rows = list(move.rows)
    return move.size_bytes + (0 if situation.growth is None else int(situation.growth[rows].sum()))


HALF_LIFE_SECONDS = 24 * 3600.0  # of growth: what is loaded once a day counts at every hour
SHORTEST_SECONDS = 600.0  # in less than that growth is a burst
TRUSTED = 2.0  # growth that was seen for some time is expected to go on for so many times as long
STOPPED_SECONDS = 3 * 3600.0  # without growth; a unit that paused for longer before has stopped after ...
STOPPED_PAUSES = 2.0  # ... so many of its longest pauses
LARGER = 1.0  # times the partition before it, that a new one is expected to become
_UNKNOWN = -1  # size or slot


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthState:
    """What catalogs have taught, by slot. Only ``learn_sizes`` and its like change it, in place."""

    size_bytes: I64  # by the last catalog that held the unit, -1: none did
    rate: F32  # bytes per second, decayed mean
    seen: F32  # seconds up to the last catalog that held it, since the first one or since it began to grow
    pause: F32  # seconds since it last grew
    longest: F32  # pause after which it grew again, in seconds
    like: I32  # slot of the partition before it, -1: none
    at: float = float("nan")  # when the last catalog was read, on the monotonic clock; NaN: before the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What is expected of some units. Shapes ``(n,)``."""

    rate: F64  # bytes per second
    lasts: F64  # seconds for which it is expected to go on
    most: F64  # bytes, of growth in all

    @property
    def seen(self) -> F64:
        """Seconds for which each was watched. Shape ``(n,)``."""
        return self.lasts / TRUSTED

    def within(self, seconds: float) -> I64:
        """Bytes by which each will have grown after that long."""
        return np.asarray(np.ceil(np.minimum(self.rate * np.minimum(seconds, self.lasts), self.most)), dtype=np.int64)


_COLUMNS = tuple(column.name for column in fields(GrowthState) if column.name != "at")
_BLANK = {"size_bytes": _UNKNOWN, "like": _UNKNOWN}


def empty_growth() -> GrowthState:
    """Nothing is known of any slot."""
    return GrowthState(
        size_bytes=np.empty(0, np.int64), rate=np.empty(0, np.float32), seen=np.empty(0, np.float32),
        pause=np.empty(0, np.float32), longest=np.empty(0, np.float32), like=np.empty(0, np.int32),
    )  # fmt: skip


def learn_sizes(state: GrowthState, units: UnitTable, slots: I64, at: float) -> GrowthState:
    """Let one catalog pass. The time while no agent ran teaches nothing.

    Args:
        state: before; used up.
        units: of the catalog.
        slots: of those.
        at: when it was read, in seconds of the monotonic clock.
    """
    state = _with_slots(state, int(slots.max(initial=-1)) + 1)
    elapsed = at - state.at
    if elapsed > 0:
        known = state.size_bytes[slots] >= 0
        _learn(state, slots[known], units.size_bytes[known], elapsed)
    # NaN, before the first catalog, is unequal to 0 as well: sizes are noted then without learning a rate from them.
    if elapsed != 0:
        state.size_bytes[slots] = units.size_bytes
    return replace(state, at=at)


def _learn(state: GrowthState, slots: I64, size: I64, elapsed: float) -> None:
    # What shrinks counts as no growth, not as negative growth: one rebuild would cancel days of it, and the table grows
    # on at the same pace afterwards.
    grown = np.maximum(size - state.size_bytes[slots], 0)
    grew, pause = grown > 0, state.pause[slots]
    # What begins to grow after it had stopped, or was quiet since it was first seen, is judged by what it does now:
    # with the quiet days in the mean 250 MiB an hour would be given as 21.
    begins = grew & _has_stopped(state, slots)
    # A unit that had not grown yet was not pausing: a partition may be made long before its day.
    resumed = grew & (state.rate[slots] > 0)
    rate, seen = np.where(begins, 0.0, state.rate[slots]), np.where(begins, 0.0, state.seen[slots])
    state.longest[slots] = np.where(resumed, np.maximum(state.longest[slots], pause), state.longest[slots])
    state.pause[slots] = np.where(grew, 0.0, pause + elapsed)
    kept, before = 2.0 ** (-elapsed / HALF_LIFE_SECONDS), 1.0 - 2.0 ** (-seen / HALF_LIFE_SECONDS)
    weight, new = before * kept, 1.0 - kept
    # Divided by the weight that was really seen: a plain decayed mean starts from 0 and would take days to believe a
    # table that grows from its first hour.
    state.rate[slots] = (rate * weight + grown / elapsed * new) / (weight + new)
    state.seen[slots] = seen + elapsed


def with_partitions_before(state: GrowthState, donors: I64, heirs: I64) -> GrowthState:
    """Note which partition each new one follows, by their slots; ``state`` is used up."""
    if len(heirs):
        state = _with_slots(state, int(max(heirs.max(), donors.max())) + 1)
        state.like[heirs] = donors
    return state


def with_renamed(state: GrowthState, donors: I64, heirs: I64) -> GrowthState:
    """Give what is known of renamed units to their new names, by their slots; ``state`` is used up."""
    if len(heirs):
        state = _with_slots(state, int(max(heirs.max(), donors.max())) + 1)
        for name in _COLUMNS:
            column = getattr(state, name)
            column[heirs] = column[donors]
    return state


def growth_of(state: GrowthState, slots: I64) -> Growth:
    """What is expected of the units of those slots, which a catalog has held."""
    size, rate, seen = (
        column[slots].astype(np.float64) for column in (state.size_bytes, state.rate, state.seen)
    )  # fmt: skip
    goes_on = (seen >= SHORTEST_SECONDS) & ~_has_stopped(state, slots)
    return Growth(
        rate=np.where(goes_on, rate, 0.0), lasts=TRUSTED * seen, most=_most(state, slots, size, rate)
    )  # fmt: skip


def _has_stopped(state: GrowthState, slots: I64) -> NDArray[np.bool_]:
    usual = np.maximum(STOPPED_SECONDS, STOPPED_PAUSES * state.longest[slots])
    return np.asarray(state.pause[slots] > usual, dtype=np.bool_)


def _most(state: GrowthState, slots: I64, size: F64, rate: F64) -> F64:
    """Bytes that new partitions have still to grow; no bound for others, nor for those that grow beyond any before."""
    like = state.like[slots]
    # Only a partition whose day is over says how large one becomes. The one before may be growing still, if two are
    # loaded at a time.
    before = np.maximum(like, 0).astype(np.int64)
    whole = (like >= 0) & _has_stopped(state, before) if len(state.like) else like >= 0
    if not whole.any():
        return np.full(len(size), np.inf)
    most = np.where(whole & (state.size_bytes[before] > size), LARGER * state.size_bytes[before] - size, np.inf)
    # Its day ends when that of the one before did: without it a partition that is the larger of the two would be
    # expected to grow on for ever, and residents would leave for bytes that never come.
    day = (state.seen - state.pause).astype(np.float64)
    left = day[before] - day[slots]
    by_day = np.where(left > -STOPPED_SECONDS, rate * np.maximum(left, 0.0), np.inf)
    return np.asarray(np.where(whole & (day[before] > 0), np.minimum(most, by_day), most), dtype=np.float64)


def with_growth(spaces: Sequence[Space], units: UnitTable, growth: I64) -> tuple[Space, ...]:
    """The spaces with so much less free as what is in them will have grown; a room that is not known stays so."""
    taken = np.bincount(units.space, weights=growth, minlength=len(spaces)).astype(np.int64).tolist()
    return tuple(_less(space, bytes_) for space, bytes_ in zip(spaces, taken, strict=True))


def with_reserved(spaces: Sequence[Space], taken: Mapping[str, int]) -> tuple[Space, ...]:
    """The spaces with so many bytes less free, by name; a room that is not known stays so."""
    return tuple(_less(space, taken.get(space.name, 0)) for space in spaces)


def _less(space: Space, bytes_: int) -> Space:
    if not bytes_ or (space.capacity_bytes is None and space.free_bytes is None):
        return space
    capacity = capacity_bytes(space)
    free = capacity - space.used_bytes if space.free_bytes is None else space.free_bytes
    return replace(space, free_bytes=min(free, capacity - space.used_bytes) - bytes_, capacity_bytes=capacity)


def _with_slots(state: GrowthState, count: int) -> GrowthState:
    """The same with room for that many slots."""
    more = count - len(state.size_bytes)
    if more <= 0:
        return state
    longer: dict[str, Any] = {}
    for name in _COLUMNS:
        column = getattr(state, name)
        longer[name] = np.concatenate((column, np.full(more, _BLANK.get(name, 0), dtype=column.dtype)))
    return replace(state, **longer)


def growth_arrays(state: GrowthState) -> dict[str, NDArray[Any]]:
    """The state as named arrays, for storing; the clock is not stored, since it starts again with the agent."""
    return {name: getattr(state, name) for name in _COLUMNS}


def growth_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> GrowthState:
    """The state that ``growth_arrays`` took apart.

    Raises:
        KeyError: an array is missing.
    """
    blank = empty_growth()
    columns: dict[str, Any] = {name: arrays[name].astype(getattr(blank, name).dtype) for name in _COLUMNS}
    return GrowthState(**columns)
