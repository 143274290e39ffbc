"""What splitting the hot part off a unit would bring, next to all of it on fast storage and to as much memory.

Wait follows reads: the part that takes a share of a unit's reads from storage takes that share of its wait, and of what
the unit would save on the fastest tier. Room is what a plan leaves on that tier; where it is too little, what is there
and worth least by the byte gives way, and what it then waits more is taken off. Several splits share the room, those
that save most by the byte first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from connectors.model.observation import I64
from policies.evidence.borders import Split, Unsplit, ValueBorder
from policies.evidence.capacity import room_bytes
from policies.evidence.prices import Prices
from policies.evidence.range_heat import TENTH, Concentration, RangeHeat, Share, share_with_interval
from policies.model.columns import compute_density
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import Pin, PolicySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What is known of the inside of one unit."""

    heat: RangeHeat
    found: Concentration
    border: ValueBorder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAnswer:
    """What splits would bring, and why other units that were looked into are none."""

    splits: tuple[Split, ...] = ()  # what saves most first
    unsplit: tuple[Unsplit, ...] = ()  # in the order of the units
    refused: Mapping[str, str] = field(default_factory=dict)  # what splits bring that no plan offers, and why; by key

    @property
    def saves_per_hour(self) -> float:
        """Seconds of wait per hour that all splits save together."""
        return sum(each.saves_per_hour for each in self.splits)


@dataclass(slots=True)
class _Room:
    """Room on the fastest tier after a plan, and who may give way there."""

    free: int
    size: I64  # of units that may give way, worth least by the byte first
    loses: np.ndarray[tuple[int], np.dtype[np.float64]]

    def giving_way(self, size: int, saves: float) -> tuple[I64, float] | None:
        """Who gives way for so many bytes, of those that each lose less than they save, and what they lose together.

        None: not even all of them make the room. A large unit that loses more is passed over: that its bytes are worth
        little does not help where it goes as a whole.
        """
        needed = size - self.free
        if needed <= 0:
            return np.zeros(0, np.int64), 0.0
        cheap = np.flatnonzero(self.loses < saves)
        freed = np.cumsum(self.size[cheap])
        many = int(np.searchsorted(freed, needed)) + 1
        return None if many > len(freed) else (cheap[:many], float(self.loses[cheap[:many]].sum()))

    def pays(self, size: int, saves: float) -> bool:
        """Whether so many bytes fit, if need be by what loses less than they save giving way."""
        found = self.giving_way(size, saves)
        return found is not None and found[1] < saves

    def fits(self, size: int) -> bool:
        """Whether there is room, whatever gives way."""
        return size <= self.free + int(self.size.sum())

    def take(self, size: int, leaving: I64) -> None:
        """What gives way is gone, and the rest of its room is free."""
        self.free += int(self.size[leaving].sum()) - size
        self.size, self.loses = np.delete(self.size, leaving), np.delete(self.loses, leaving)


def splits_of(situation: Situation, plan: Plan, settings: PolicySettings, insides: Mapping[str, Inside]) -> SplitAnswer:
    """What each unit that was looked into would bring if it were split.

    Units that the plan has on the fastest tier or splits itself, and those for which too little was seen, are left out.

    Args:
        situation: that the plan was made from.
        plan: what it saves and where things are after it.
        settings: head-room, and the shares that sessions wait for.
        insides: by key of the unit.
    """
    rows = [
        row for row, key in enumerate(situation.units.key) if key in insides and _is_candidate(situation, plan, row)
    ]
    room, waits = _room_after(situation, plan, settings), _wait_at_home(situation, settings, rows)
    splits, unsplit = list[Split](), list[Unsplit]()
    for row, wait in zip(rows, waits, strict=True):
        inside = insides[situation.units.key[row]]
        part = _part(inside)
        if part is not None:
            splits.append(_gross(situation, plan, row, inside, part, wait, room))
        elif inside.found.hottest:
            unsplit.append(_unsplit(situation, plan, row, inside, wait, room))
    splits.sort(key=lambda each: (-each.saves_per_hour / max(1, each.hot_bytes), each.key))
    placed = [_place(each, room) for each in splits]
    return SplitAnswer(
        splits=tuple(sorted(placed, key=lambda each: (-each.saves_per_hour, each.key))), unsplit=tuple(unsplit)
    )


def _is_candidate(situation: Situation, plan: Plan, row: int) -> bool:
    return bool(
        not plan.chosen[row]
        and plan.verdict[row] != Verdict.SPLIT
        and plan.wait_saved_if_moved[row] > 0
        and situation.tier_of_space[situation.units.space[row]] > 0
    )


def _part(inside: Inside) -> Share | None:
    """Blocks and reads of the hot part: by the border where it is known, else of the blocks that lie together."""
    if not inside.found.hottest:  # a border may be older than what was seen
        return None
    if inside.border is not None:
        return share_with_interval(inside.heat, inside.border.of_rows, inside.border.of_reads)
    return None if inside.found.part is None else inside.found.part.share


def _gross(situation: Situation, plan: Plan, row: int, inside: Inside, part: Share, wait: float, room: _Room) -> Split:
    """As if there were room for it."""
    whole, size = float(plan.wait_saved_if_moved[row]), int(situation.units.size_bytes[row])
    return Split(
        key=situation.units.key[row],
        physical_id=int(situation.units.physical_id[row]),
        border=inside.border,
        hot_bytes=round(part.of_blocks * size),
        whole_bytes=size,
        of_reads=part.of_reads, low_of_reads=part.low, high_of_reads=part.high,
        saves_per_hour=part.of_reads * whole,
        saves_low_per_hour=part.low * whole,
        saves_high_per_hour=part.high * whole,
        fits=True,
        whole_saves_per_hour=whole,
        whole_fits=room.pays(size, float(plan.wait_saved_if_moved[row])),
        memory_saves_per_hour=part.of_reads * wait,
    )  # fmt: skip


def _place(split: Split, room: _Room) -> Split:
    """With what gives way taken off; without room, or where giving way costs more than the split saves, it saves 0."""
    found = room.giving_way(split.hot_bytes, split.saves_per_hour)
    if found is None or found[1] >= split.saves_per_hour:
        fits = room.fits(split.hot_bytes)
        return replace(split, fits=fits, saves_per_hour=0.0, saves_low_per_hour=0.0, saves_high_per_hour=0.0)
    leaving, lost = found
    room.take(split.hot_bytes, leaving)
    return replace(
        split,
        saves_per_hour=split.saves_per_hour - lost,
        saves_low_per_hour=max(0.0, split.saves_low_per_hour - lost),
        saves_high_per_hour=split.saves_high_per_hour - lost,
    )


def _unsplit(situation: Situation, plan: Plan, row: int, inside: Inside, wait: float, room: _Room) -> Unsplit:
    size, tenth = int(situation.units.size_bytes[row]), inside.found.hottest[TENTH]
    return Unsplit(
        key=situation.units.key[row],
        shape=inside.found.shape,
        whole_bytes=size,
        whole_saves_per_hour=float(plan.wait_saved_if_moved[row]),
        whole_fits=room.pays(size, float(plan.wait_saved_if_moved[row])),
        memory_bytes=round(tenth.of_blocks * size),
        memory_saves_per_hour=tenth.of_reads * wait,
    )


def _wait_at_home(situation: Situation, settings: PolicySettings, rows: Sequence[int]) -> list[float]:
    """Seconds that sessions wait per hour for each of some units where it is."""
    at = np.array(rows, dtype=np.int64)
    wait = Prices.of(situation, settings).per_hour(situation.heat.rates[:, at], at)
    homes = situation.tier_of_space[situation.units.space[at]]
    return [float(wait[home, at]) for at, home in enumerate(homes.tolist())]


def _room_after(situation: Situation, plan: Plan, settings: PolicySettings) -> _Room:
    """Room of the fastest tier once the plan has run; a space whose room is not known has none."""
    spaces = np.flatnonzero(situation.tier_of_space == 0).tolist()
    free = sum(room_bytes(situation.spaces[row], settings.head_room_ratio) or 0 for row in spaces)
    fastest = situation.tiers[0].name
    free -= sum(each.size_bytes for each in plan.moves if each.to_tier == fastest)
    free += sum(each.size_bytes for each in plan.moves if each.from_tier == fastest)
    there = plan.chosen & (situation.pin != Pin.MUST) & (situation.units.size_bytes > 0)
    rows = np.flatnonzero(there)
    size, loses = situation.units.size_bytes[rows], plan.benefit_per_hour[rows]
    order = np.argsort(compute_density(loses, size), kind="stable")
    return _Room(free=free, size=size[order], loses=loses[order])
