"""Looks at the buffer pool within a small budget of server time, and at which units.

``units_worth_looks`` picks large and hot units that are not on the fastest tier.

``BorderLooker`` looks a few times a day for the column with a range of values that is the hot part of a unit. It reads
the columns of a unit from the catalog. It reads values only where the configuration allows it (``border_values``): they
are user data, so they go into the ledger and nowhere else from here.

``BlockLooker`` looks at the buffer pool in pairs, the two looks a short time apart. A block that comes in and leaves
between two looks is not seen, so they have to be close, while the cost of a look allows few of them. The results decide
how close.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from agent.ledger.ledger import Ledger
from agent.sampling.block_heat import UnitBorders, load_block_heat, load_borders, save_block_heat, save_borders
from connectors.kit.contract import Clock, Connector, ConnectorError, PrivilegeMissing
from connectors.model.blocks import BlockLook, BlockReader, CandidateColumn, SeesBlocks, SeesValues, ValueReader
from policies.evidence.borders import (
    BorderLook,
    FoundBorder,
    best_border,
    borders_to_look_at,
    columns_to_read,
    find_border,
    with_look,
)
from policies.evidence.capacity import capacity_bytes
from policies.evidence.range_heat import (
    KEPT_HOURS,
    TENTH,
    HeatShape,
    RangeHeat,
    Turnover,
    compare_looks,
    concentrate,
    with_turnover,
)
from policies.model.plan import Plan, Situation

MOST_UNITS = 8
_LARGE = 0.05  # of the fastest tier's capacity: what is smaller moves as a whole
_HOT = 0.02  # of all foreground wait


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A unit to look into."""

    key: str
    physical_id: int


def units_worth_looks(situation: Situation, plan: Plan) -> tuple[LookedAt, ...]:
    """The units whose parts may be worth more than the whole, those that would save most wait first.

    A fastest tier whose capacity is not known counts as unlimited: everything fits.
    """
    fastest = np.flatnonzero(situation.tier_of_space == 0).tolist()
    capacity = sum(capacity_bytes(situation.spaces[row]) for row in fastest)
    if plan.wait_per_hour <= 0:
        return ()
    units, benefit = situation.units, plan.benefit_per_hour
    moving = {row for move in plan.moves for row in move.rows}
    worth = (
        (units.size_bytes >= _LARGE * capacity)
        & (benefit >= _HOT * plan.wait_per_hour)
        & (situation.tier_of_space[units.space] > 0)
    )
    worth[sorted(moving)] = False  # it goes to the fastest tier as a whole, or gives way to what does
    rows = np.flatnonzero(worth)
    rows = rows[np.argsort(-benefit[rows], kind="stable")][:MOST_UNITS]
    return tuple(LookedAt(key=units.key[row], physical_id=int(units.physical_id[row])) for row in rows.tolist())


FIRST_SECONDS, EVERY_SECONDS = 900.0, 6 * 3600.0  # to the second look at a unit, twice as long each time; at most
MOST_SECONDS = 2.0  # at one column: two blocks for each border, 258 at most
_WITH_A_PART = frozenset(
    {HeatShape.NEWEST, HeatShape.RANGE, HeatShape.APART, HeatShape.SCATTERED}
)  # hot blocks all over may be one range of values


class BorderLooker:
    """Looks at columns and values of the units of one database. Use from one thread at a time."""

    def __init__(self, name: str, ledger: Ledger, clock: Clock, *, may_read: bool) -> None:
        """Ask for nothing yet.

        Args:
            name: of the database.
            ledger: where borders are kept.
            clock: time.
            may_read: values, not only the catalog.
        """
        self._name, self._ledger, self._clock, self._may_read = name, ledger, clock, may_read
        self._due: dict[str, float] = {}
        self._rest: dict[str, float] = {}  # seconds: young heat is looked at again soon
        self._reader: ValueReader | None = None

    def look(self, connector: Connector, unit: LookedAt, heat: RangeHeat) -> float:
        """Look at one unit if that is due; seconds that the server took at most.

        Raises:
            ConnectorError: the server did not answer.
        """
        started = self._clock.monotonic()
        if concentrate(heat).shape not in _WITH_A_PART:
            self.forget(unit.key)
            return 0.0
        if not isinstance(connector, SeesValues) or started < self._due.get(unit.key, -math.inf):
            return 0.0
        self._due[unit.key] = started + self._rest.get(unit.key, FIRST_SECONDS)
        self._rest[unit.key] = min(EVERY_SECONDS, 2 * self._rest.get(unit.key, FIRST_SECONDS))
        if self._reader is None:
            self._reader = connector.read_values()
        columns = self._reader.candidates(unit.physical_id)
        borders = load_borders(self._ledger, self._name)
        before = borders.get(unit.key, UnitBorders())
        borders[unit.key] = self._found(self._reader, unit, heat, replace(before, columns=columns, refused=""))
        save_borders(self._ledger, self._name, borders)
        return self._clock.monotonic() - started

    def forget(self, key: str) -> None:
        """Forget the borders of a unit: its heat has no part now, or its storage was rewritten."""
        borders = load_borders(self._ledger, self._name)
        if borders.pop(key, None) is not None:
            save_borders(self._ledger, self._name, borders)
        self._due.pop(key, None)
        self._rest.pop(key, None)

    def close(self) -> None:
        """End the session."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _found(self, reader: ValueReader, unit: LookedAt, heat: RangeHeat, known: UnitBorders) -> UnitBorders:
        wanted = columns_to_read(known.columns)
        if not self._may_read or not wanted:
            return replace(known, looks=())  # what an earlier configuration allowed is forgotten
        try:
            found = [(each, self._border(reader, unit, heat, each)) for each in wanted]
        except PrivilegeMissing as error:
            return replace(known, refused=f"{error}. {error.advice}")
        best = best_border([(column, border) for column, border in found if border is not None])
        at_hour = self._clock.now().timestamp() / 3600
        return replace(known, looks=with_look(known.looks, BorderLook(at_hour=at_hour, found=best)))

    @staticmethod
    def _border(reader: ValueReader, unit: LookedAt, heat: RangeHeat, column: CandidateColumn) -> FoundBorder | None:
        values = reader.values_at(unit.physical_id, column.name, borders_to_look_at(heat), MOST_SECONDS)
        return find_border(heat, column, values)


SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 2.0  # between the looks of a pair
REST_SECONDS = 30.0  # between two pairs, at least
SAVE_EVERY_SECONDS = 600.0
ASK_AGAIN_SECONDS = 3600.0  # after the server has refused
_MOST_OF_COUNTED, _LEAST_COUNTED = 2.0, 50.0  # blocks that came, over reads that the engine counted meanwhile
_MUCH, _LITTLE = 0.3, 0.1  # of the resident blocks replaced between two looks


class BlockLooker:
    """Looks into the units of one database. Use from one thread at a time, ``choose`` from any."""

    def __init__(
        self,
        name: str,
        share: float,
        connect: Callable[[], Connector],
        ledger: Ledger,
        clock: Clock,
        *,
        may_read_values: bool = False,
    ) -> None:
        """Begin with what the ledger knows.

        Args:
            name: of the database.
            share: of the time of one server session that looks may take; 0: none are taken.
            connect: gives the connector; called with the first look.
            ledger: the durable record.
            clock: time.
            may_read_values: the least and the greatest of a column at borders of ranges, which are user data.
        """
        self._borders = BorderLooker(name, ledger, clock, may_read=may_read_values)
        self._name, self._share, self._connect, self._ledger, self._clock = name, share, connect, ledger, clock
        self._chosen: tuple[LookedAt, ...] = ()
        self._left: tuple[LookedAt, ...] = ()  # lately, perhaps for a rewrite: looked at once more
        self._found: dict[str, RangeHeat] | None = None  # not loaded yet
        self._reader: BlockReader | None = None
        self._apart = LONGEST_SECONDS / 2
        self._due = self._save_at = -math.inf
        self.server_seconds = 0.0

    def choose(self, units: tuple[LookedAt, ...]) -> None:
        """Look into these from now on."""
        self._left = tuple(unit for unit in dict.fromkeys((*self._left, *self._chosen)) if unit not in units)
        self._chosen = units

    def take_turn(self) -> bool:
        """Take a pair of looks if one is due; whether it was.

        Raises:
            ConnectorError: the server did not answer; it is asked again once the budget allows what that cost it, or
                after an hour if the login may not look.
        """
        chosen, left = self._chosen, self._left and tuple(unit for unit in self._left if unit.key in self._heat_known())
        if not (chosen or left) or self._share <= 0 or self._clock.monotonic() < self._due:
            return False
        reader = self._open()
        if reader is None:
            return False
        began = self._clock.monotonic()
        try:
            first, second = self._take_pair(reader, (*chosen, *left))
        except PrivilegeMissing:
            self._due = self._clock.monotonic() + ASK_AGAIN_SECONDS
            raise
        except ConnectorError:
            self._count(self._clock.monotonic() - began)  # a look that was given up has cost the server as much
            raise
        self._count(first.server_seconds + second.server_seconds)
        self._forget_rewritten(chosen, left, first)
        self._learn(chosen, first, second)
        self._look_for_borders(chosen)
        return True

    def close(self, *, save: bool) -> None:
        """End the session, and store what was learnt."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._borders.close()
        if save and self._found:
            self._save()

    def hottest_tenths(self) -> dict[str, float]:
        """For each chosen unit that was seen enough: the share of its reads in the hottest tenth of its blocks."""
        known = self._heat_known()
        found = {unit.key: concentrate(known[unit.key]) for unit in self._chosen if unit.key in known}
        return {key: each.hottest[TENTH].of_reads for key, each in found.items() if each.hottest}

    def _count(self, cost: float) -> None:
        """Seconds that the server took; nothing is due before they are a small enough share of the time."""
        self.server_seconds += cost
        self._due = max(self._due, self._clock.monotonic() + max(REST_SECONDS, cost / self._share))

    def _look_for_borders(self, chosen: tuple[LookedAt, ...]) -> None:
        """Of the first unit that is due, so that one turn takes no longer."""
        known = self._heat_known()
        for unit in chosen:
            heat = known.get(unit.key)
            if heat is not None and (cost := self._borders.look(self._connect(), unit, heat)):
                self._count(cost)
                return

    def _open(self) -> BlockReader | None:
        if self._reader is None:
            connector = self._connect()
            if not isinstance(connector, SeesBlocks):
                self._due = math.inf
                return None
            self._reader = connector.read_blocks()
        return self._reader

    def _take_pair(self, reader: BlockReader, chosen: tuple[LookedAt, ...]) -> tuple[BlockLook, BlockLook]:
        ids = np.array([unit.physical_id for unit in chosen], dtype=np.int64)
        first = reader.look(ids)
        self._clock.sleep(self._apart)
        return first, reader.look(ids)

    def _forget_rewritten(self, chosen: tuple[LookedAt, ...], left: tuple[LookedAt, ...], look: BlockLook) -> None:
        """End the heat and the border of units whose rows lie elsewhere by now, or that were left and are gone."""
        found, storage = dict(self._heat_known()), {each.physical_id: each.storage for each in look.units}
        for unit in (*chosen, *left):
            if unit.key not in found:
                continue
            same = found[unit.key].storage
            if storage.get(unit.physical_id, same if unit in chosen else None) != same:
                del found[unit.key]
                self._borders.forget(unit.key)
                self._save_at = -math.inf
        self._found = found
        self._left = tuple(unit for unit in self._left if unit not in left and unit.key in found)

    def _learn(self, chosen: tuple[LookedAt, ...], first: BlockLook, second: BlockLook) -> None:
        key = {unit.physical_id: unit.key for unit in chosen}
        before = {each.physical_id: each for each in first.units if each.physical_id in key}
        at_hour, seconds = self._clock.now().timestamp() / 3600, second.monotonic_seconds - first.monotonic_seconds
        found, turnovers = dict(self._heat_known()), list[Turnover]()
        for each in second.units:
            if each.physical_id not in before or not each.blocks or seconds <= 0:
                continue
            earlier = before[each.physical_id]
            if earlier.storage != each.storage:  # rewritten between the looks: its blocks are others
                continue
            turnover = compare_looks(
                earlier.resident, each.resident, blocks=each.blocks, block_bytes=second.block_bytes,
                seconds=seconds, one_in=second.one_in, read_seconds=each.read_seconds,
                identities=(earlier.identities, each.identities), blocks_before=earlier.blocks, storage=each.storage,
            )  # fmt: skip
            counted = max(0.0, each.reads - earlier.reads) if each.reads == each.reads else 0.0
            # Blocks were formatted in extents that the unit had already; which of them is not known.
            if each.counts_at_once and float(turnover.came.sum()) > _MOST_OF_COUNTED * counted + _LEAST_COUNTED:
                continue
            unit = key[each.physical_id]
            found[unit] = with_turnover(found.get(unit), turnover, counted, at_hour)
            turnovers.append(turnover)
        self._found = {unit: heat for unit, heat in found.items() if heat.at_hour > at_hour - KEPT_HOURS}
        self._apart = _next_apart(self._apart, turnovers)
        if self._clock.monotonic() >= self._save_at:
            self._save()

    def _heat_known(self) -> Mapping[str, RangeHeat]:
        if self._found is None:
            self._found = load_block_heat(self._ledger, self._name)
        return self._found

    def _save(self) -> None:
        save_block_heat(self._ledger, self._name, self._clock.now(), self._heat_known())
        self._save_at = self._clock.monotonic() + SAVE_EVERY_SECONDS


def _next_apart(apart: float, turnovers: list[Turnover]) -> float:
    """Time between the looks of the next pair: shorter where much of the pool was replaced, longer where little was."""
    resident = sum(float(each.before.sum()) for each in turnovers)
    came = sum(float(each.came.sum()) for each in turnovers)
    if came > _MUCH * resident:
        return max(SHORTEST_SECONDS, apart / 2)
    return min(LONGEST_SECONDS, apart * 2) if came < _LITTLE * resident else apart
