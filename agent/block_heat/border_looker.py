"""Looks for the column whose range of values the hot part of a unit is, a few times a day.

Which columns a unit has is read from the catalog. Values are read only where the configuration allows it
(``border_values``): they are user data, so they go into the ledger and nowhere else from here.
"""

from __future__ import annotations

import math
from dataclasses import replace

from agent.block_heat.choice import LookedAt
from agent.block_heat.stored import UnitBorders, load_borders, save_borders
from agent.ledger import Ledger
from connectors.base import Clock, Connector, PrivilegeMissing
from connectors.blocks import CandidateColumn, SeesValues, ValueReader
from policies.block_heat.border_history import BorderLook, with_look
from policies.block_heat.borders import FoundBorder, best_border, borders_to_look_at, columns_to_read, find_border
from policies.block_heat.concentration import Shape, concentrate
from policies.block_heat.range_heat import RangeHeat

FIRST_SECONDS, EVERY_SECONDS = 900.0, 6 * 3600.0  # to the second look at a unit, twice as long each time; at most
MOST_SECONDS = 2.0  # at one column: two blocks for each border, 258 at most
_WITH_A_PART = frozenset({Shape.NEWEST, Shape.RANGE, Shape.SCATTERED})  # hot blocks all over may be one range of values


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
        if not isinstance(connector, SeesValues) or started < self._due.get(unit.key, -math.inf):
            return 0.0
        if concentrate(heat).shape not in _WITH_A_PART:
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
