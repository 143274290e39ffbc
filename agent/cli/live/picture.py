"""What the live screen knows of one database: read from the ledger alone, like ``status`` and ``units``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.block_heat.stored import load_block_heat
from agent.cli.daemon_state import DaemonState, daemon_of
from agent.cli.live.curves import UNKNOWN, Curves
from agent.cli.looking.under_way import UnderWay, under_way_of
from agent.config import DatabaseConfig
from agent.explanation.ranking import Ranking, ranking_from_arrays
from agent.ledger import Ledger, MoveRow, ProposalRow
from agent.ledger.state_names import BLOCK_HEAT, RANKING
from agent.model.states import OPEN_PROPOSALS, UNDER_WAY
from agent.terminal.heat_map import ROWS, mean_of_rows
from policies.block_heat.range_heat import RangeHeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One database at one instant."""

    at: datetime
    database: str
    engine: str
    dry_run: bool
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

    def look(self, now: datetime) -> Picture:
        """Everything but the heat of units, which is asked for once it is known which of them are shown.

        Raises:
            LedgerError: the ledger is damaged or busy.
        """
        name, ledger = self.database.name, self._ledger
        span = self.curves.look(now)
        return Picture(
            at=now,
            database=name,
            engine=self.database.engine,
            dry_run=self._dry_run,
            daemon=daemon_of(ledger, self.database, now),
            under_way=under_way_of(ledger, self.database, now),
            proposals=ledger.proposals.rows(database=name, states=OPEN_PROPOSALS),
            moves=ledger.moves.rows(database=name, states=UNDER_WAY),
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
