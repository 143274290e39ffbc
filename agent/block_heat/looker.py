"""Looks at the buffer pool within a small budget of server time: two at a time, some time apart.

Pairs and not a row of looks: a block that comes in and leaves again between two looks is not seen, so they have to be
near each other, while what a look costs allows few of them. How near follows from what they show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from agent.block_heat.border_looker import BorderLooker
from agent.block_heat.choice import LookedAt
from agent.block_heat.stored import load_block_heat, save_block_heat
from agent.ledger import Ledger
from connectors.base import Clock, Connector, ConnectorError, PrivilegeMissing
from connectors.blocks import BlockLook, BlockReader, SeesBlocks
from policies.block_heat.concentration import TENTH, concentrate
from policies.block_heat.range_heat import KEPT_HOURS, RangeHeat, with_turnover
from policies.block_heat.turnover import Turnover, compare_looks

SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 2.0  # between the looks of a pair
REST_SECONDS = 30.0  # between two pairs, at least
SAVE_EVERY_SECONDS = 600.0
ASK_AGAIN_SECONDS = 3600.0  # after the server has refused
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
        self._found: dict[str, RangeHeat] | None = None  # not loaded yet
        self._reader: BlockReader | None = None
        self._apart = LONGEST_SECONDS / 2
        self._due = self._save_at = -math.inf
        self.server_seconds = 0.0

    def choose(self, units: tuple[LookedAt, ...]) -> None:
        """Look into these from now on."""
        self._chosen = units

    def take_turn(self) -> bool:
        """Take a pair of looks if one is due; whether it was.

        Raises:
            ConnectorError: the server did not answer; it is asked again once the budget allows what that cost it, or
                after an hour if the login may not look.
        """
        chosen = self._chosen
        if not chosen or self._share <= 0 or self._clock.monotonic() < self._due:
            return False
        reader = self._open()
        if reader is None:
            return False
        began = self._clock.monotonic()
        try:
            first, second = self._take_pair(reader, chosen)
        except PrivilegeMissing:
            self._due = self._clock.monotonic() + ASK_AGAIN_SECONDS
            raise
        except ConnectorError:
            self._count(self._clock.monotonic() - began)  # a look that was given up has cost the server as much
            raise
        self._count(first.server_seconds + second.server_seconds)
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
        """Share of its reads in the hottest tenth of its blocks, of each chosen unit of which enough was seen."""
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

    def _learn(self, chosen: tuple[LookedAt, ...], first: BlockLook, second: BlockLook) -> None:
        key = {unit.physical_id: unit.key for unit in chosen}
        before = {each.physical_id: each for each in first.units}
        at_hour, seconds = self._clock.now().timestamp() / 3600, second.monotonic_seconds - first.monotonic_seconds
        found, turnovers = dict(self._heat_known()), list[Turnover]()
        for each in second.units:
            # A table that was rewritten between the looks has lost all its blocks from the pool, and its counters.
            if each.physical_id not in before or not each.blocks or seconds <= 0:
                continue
            earlier = before[each.physical_id]
            turnover = compare_looks(
                earlier.resident, each.resident, blocks=each.blocks, block_bytes=second.block_bytes,
                seconds=seconds, one_in=second.one_in, read_seconds=each.read_seconds,
                identities=(earlier.identities, each.identities),
            )  # fmt: skip
            counted = max(0.0, each.reads - earlier.reads) if each.reads == each.reads else 0.0
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
