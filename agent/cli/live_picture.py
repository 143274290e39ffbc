"""What the live screen knows of one database: read from the ledger alone.

How heat and waits went over the last day, in a few cells: read from the ledger's history, a little at a time.

A day of a large database is a thousand intervals with all its units. Each cell reads a few of them, spread over its
time, and only those that were not read before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import numpy as np

from agent.cli.under_way import UnderWay, under_way_of
from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistoryRow, IntervalId, MoveRow, ProposalRow
from agent.ledger.state_names import BLOCK_HEAT, RANKING
from agent.model.states import OPEN_PROPOSALS, UNDER_WAY
from agent.planning.ranking import Ranking, ranking_from_arrays
from agent.sampling.block_heat import load_block_heat
from agent.service.heard import DaemonState, daemon_of
from agent.service.sending import Sending, look_from_outside
from agent.terminal.charts import ROWS, mean_of_rows
from policies.evidence.range_heat import RangeHeat
from policies.evidence.workload import DatedWork

CELLS = 10
LONGEST = timedelta(days=1)
READ_PER_CELL = 3  # intervals of units, unpacked
WAITED_FOR = 0  # row of the history's values: reads that a session waits for (agent.sampling.sampler.HISTORY_SIGNALS)
UNKNOWN = (math.nan,) * CELLS
Number = TypeVar("Number")


@dataclass(slots=True)
class Curves:
    """The curves of one database. Kept from one look to the next: what was unpacked is not unpacked again."""

    ledger: Ledger
    database: str
    _read: dict[IntervalId, HistoryRow] = field(default_factory=dict)
    _work: list[DatedWork] = field(default_factory=list)
    _slots: dict[str, int] = field(default_factory=dict)
    _cells: Sequence[Sequence[IntervalId]] = ()  # numbers of the intervals that each cell reads

    def look(self, now: datetime) -> timedelta:
        """Take in what was stored since the last look; how far back all cells together reach."""
        since = now - LONGEST
        ends = self.ledger.history.ends(self.database, since)
        last = self._work[-1].ended_at if self._work else since
        self._work = [each for each in self._work if each.ended_at > since]
        self._work += self.ledger.work.since(self.database, max(last, since))
        first = min([now, *(end for _, end in ends[:1]), *(each.ended_at for each in self._work[:1])])
        span = now - first
        cells: list[list[IntervalId]] = [[] for _ in range(CELLS)]
        for number, end in ends:
            cells[cell_of(end, now, span)].append(number)
        self._cells = [spread(numbers, READ_PER_CELL) for numbers in cells]
        chosen = {number for numbers in self._cells for number in numbers}
        kept = {number: row for number, row in self._read.items() if number in chosen}
        for number in chosen - kept.keys():
            row = self.ledger.history.interval(number)
            if row is not None:
                kept[number] = row
        self._read = kept
        return span

    def waits(self, now: datetime, span: timedelta) -> tuple[float, ...]:
        """Sessions that waited for reads in each cell, as the engine measures it; NaN where it does not."""
        seconds, waited = [0.0] * CELLS, [0.0] * CELLS
        for each in self._work:
            if not math.isnan(each.demand.read_wait):
                cell = cell_of(each.ended_at, now, span)
                seconds[cell] += each.seconds
                waited[cell] += each.demand.read_wait * each.seconds
        return tuple(w / s if s else math.nan for w, s in zip(waited, seconds, strict=True))

    @property
    def waiting_now(self) -> float:
        """Sessions that waited for reads in the last interval; NaN where that is not measured."""
        return self._work[-1].demand.read_wait if self._work else math.nan

    def heat(self, keys: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
        """Reads a second that sessions waited for, of some units in each cell; NaN where nothing was watched."""
        unknown = [key for key in keys if key not in self._slots]
        if unknown:
            self._slots |= self.ledger.slots.known(self.database, unknown)
        return {key: self._of_slot(self._slots[key]) if key in self._slots else UNKNOWN for key in keys}

    def _of_slot(self, slot: int) -> tuple[float, ...]:
        return tuple(self._rate(slot, numbers) for numbers in self._cells)

    def _rate(self, slot: int, numbers: Sequence[IntervalId]) -> float:
        rows = [self._read[number] for number in numbers if number in self._read]
        seconds = sum(row.seconds for row in rows)
        return sum(_reads(row, slot) for row in rows) / seconds if seconds else math.nan


def cell_of(at: datetime, now: datetime, span: timedelta) -> int:
    """Which of the cells of a span that ends now an instant falls into."""
    if span <= timedelta(0):
        return CELLS - 1
    return min(CELLS - 1, max(0, CELLS - 1 - int((now - at) / span * CELLS)))


def spread(numbers: Sequence[Number], most: int) -> list[Number]:
    """So many of some numbers at most, evenly from the first to the last."""
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[round(at * (len(numbers) - 1) / (most - 1))] for at in range(most)]


def _reads(row: HistoryRow, slot: int) -> float:
    at = int(np.searchsorted(row.slots, slot))
    return float(row.values[WAITED_FOR, at]) if at < len(row.slots) and row.slots[at] == slot else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenPicture:
    """One database at one instant."""

    at: datetime
    database: str
    engine: str
    sending: Sending
    daemon: DaemonState
    under_way: UnderWay
    proposals: Sequence[ProposalRow]  # open, the newest first
    moves: Sequence[MoveRow]  # approved, and their end is open
    ranking: Ranking | None = None  # of the last plan
    waiting_now: float = math.nan  # sessions that waited for reads in the last interval
    waits: tuple[float, ...] = UNKNOWN  # the same by cell
    span: timedelta = timedelta(0)  # how far back the cells reach
    heat: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of the units that are shown, by cell
    insides: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of units looked into, first blocks first


class Watching:
    """Looks at one database again and again; what has not changed since the last look is not read again."""

    def __init__(self, ledger: Ledger, database: DatabaseConfig, *, dry_run: bool) -> None:
        self.database = database
        self.curves = Curves(ledger, database.name)
        self._ledger = ledger
        self._dry_run = dry_run
        self._ranked: tuple[datetime, Ranking] | None = None
        self._looked: tuple[datetime, Mapping[str, tuple[float, ...]]] | None = None

    def look(self, now: datetime) -> ScreenPicture:
        """Everything but the heat of units, which is asked for once it is known which of them are shown.

        Raises:
            LedgerError: the ledger is damaged or busy.
        """
        name, ledger = self.database.name, self._ledger
        span = self.curves.look(now)
        daemon = daemon_of(ledger, self.database, now)
        return ScreenPicture(
            at=now,
            database=name,
            engine=self.database.engine,
            sending=look_from_outside(ledger, self.database, daemon, now, dry_run=self._dry_run),
            daemon=daemon,
            under_way=under_way_of(ledger, self.database, now),
            proposals=ledger.proposals.rows(database=name, states=OPEN_PROPOSALS),
            moves=ledger.moves.as_they_are(database=name, states=UNDER_WAY),
            ranking=self._ranking(),
            waiting_now=self.curves.waiting_now,
            waits=self.curves.waits(now, span),
            span=span,
            insides=self._insides(),
        )

    def _insides(self) -> Mapping[str, tuple[float, ...]]:
        """Reads per block of each unit that was looked into, from its first blocks to its last."""
        at = self._ledger.state.saved_at(self.database.name, BLOCK_HEAT)
        if at is None:
            return {}
        if self._looked is None or self._looked[0] != at:
            known = load_block_heat(self._ledger, self.database.name)
            self._looked = at, {key: _by_place(heat) for key, heat in known.items()}
        return self._looked[1]

    def _ranking(self) -> Ranking | None:
        at = self._ledger.state.saved_at(self.database.name, RANKING)
        if at is None or (self._ranked is not None and self._ranked[0] == at):
            return None if self._ranked is None else self._ranked[1]
        stored = self._ledger.state.load_arrays(self.database.name, RANKING)
        if stored is not None:
            self._ranked = stored[0], ranking_from_arrays(stored[1])
        return None if self._ranked is None else self._ranked[1]


def _by_place(heat: RangeHeat) -> tuple[float, ...]:
    """Reads per block of as many places as a heat map has lines."""
    dense = heat.reads.sum(axis=0) / heat.range_blocks
    return tuple(mean_of_rows(dense[:, None], min(ROWS, heat.ranges))[:, 0].tolist())
