"""What a ledger holds of all its databases, read at once: a few queries however many databases there are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent.ledger.file.reading import Condition, Reading, one_of, where
from agent.ledger.moves import OUTCOMES, outcome_row
from agent.ledger.rows import OutcomeRow, ProposalRow
from agent.ledger.state_names import LEFT_WORSE, STATUS
from agent.ledger.store.database import Database
from agent.ledger.stored import load_proposals
from agent.model.states import UNDER_WAY, MoveState, ProposalState

_DOCUMENTS = "SELECT database, at, body FROM documents"
_MOVES = """
SELECT proposals.database, moves.state, count(*) AS number
FROM moves JOIN proposals ON proposals.id = moves.proposal_id
"""
_DATABASES = "SELECT DISTINCT database FROM proposals"
EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """What the agent of one database last wrote of itself."""

    database: str
    heard_at: datetime | None  # None: no agent ever wrote
    status: Mapping[str, Any]  # agent.service.snapshot.status_document; empty where there is none
    left_worse: tuple[str, ...]  # sentences about groups that ended halfway


class Overview:
    """All databases of the ledger, whether this machine's configuration names them or not.

    ``pattern`` is a database's name with ``*``, ``?`` and ``[...]`` as in file names, case-sensitive.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def agents(self, pattern: str = EVERY) -> list[AgentRow]:
        """Every database of which an agent or a proposal speaks, by name."""
        with self._database.read() as reading:
            matching = _matching(reading, "database", pattern)
            named = where("name = ?", STATUS)
            told = {row.database: row for row in reading.rows(_DOCUMENTS, named, *matching)}
            worse = {
                row.database: tuple(json.loads(row.body).values())
                for row in reading.rows(_DOCUMENTS, where("name = ?", LEFT_WORSE), *matching)
            }
            names = {row.database for row in reading.rows(_DATABASES, *matching)} | told.keys()
        return [
            AgentRow(
                database=name,
                heard_at=told[name].at if name in told else None,
                status=json.loads(told[name].body) if name in told else {},
                left_worse=worse.get(name, ()),
            )
            for name in sorted(names)
        ]

    def documents(self, name: str, pattern: str = EVERY) -> dict[str, Any]:
        """The documents of one name by database."""
        with self._database.read() as reading:
            matching = _matching(reading, "database", pattern)
            return {
                row.database: json.loads(row.body)
                for row in reading.rows(_DOCUMENTS, where("name = ?", name), *matching, then="ORDER BY database")
            }

    def proposals(
        self, pattern: str = EVERY, states: Collection[ProposalState] | None = None, since: datetime | None = None
    ) -> Iterator[ProposalRow]:
        """Proposals, the newest first, read as they are asked for.

        Raises:
            ProposalTampered: one of them is not what was stored.
        """
        conditions = [] if states is None else [one_of("state", states)]
        conditions += [] if since is None else [where("created_at >= ?", since)]
        with self._database.read() as reading:
            yield from load_proposals(
                reading, *conditions, *_matching(reading, "database", pattern), then="ORDER BY id DESC"
            )

    def moves_under_way(self, pattern: str = EVERY) -> dict[str, Counter[MoveState]]:
        """How many moves of each database are in which state, of those whose end is open."""
        return self._count_moves(pattern, one_of("moves.state", UNDER_WAY))

    def moves_changed(self, since: datetime, pattern: str = EVERY) -> dict[str, Counter[MoveState]]:
        """The same of all moves whose state changed since an instant."""
        return self._count_moves(pattern, where("moves.updated_at >= ?", since))

    def _count_moves(self, pattern: str, condition: Condition) -> dict[str, Counter[MoveState]]:
        found: dict[str, Counter[MoveState]] = {}
        with self._database.read() as reading:
            matching = _matching(reading, "proposals.database", pattern)
            for row in reading.rows(_MOVES, condition, *matching, then="GROUP BY proposals.database, moves.state"):
                found.setdefault(row.database, Counter())[MoveState(row.state)] = row.number
        return found

    def outcomes(self, pattern: str = EVERY, since: datetime | None = None) -> list[OutcomeRow]:
        """The newest outcome of each proposal, the newest first."""
        newest: dict[int, OutcomeRow] = {}
        late = [] if since is None else [where("outcomes.at >= ?", since)]
        with self._database.read() as reading:
            matching = _matching(reading, "proposals.database", pattern)
            for row in reading.rows(OUTCOMES, *late, *matching, then="ORDER BY outcomes.id DESC", in_pieces=True):
                if row.proposal_id not in newest:
                    newest[row.proposal_id] = outcome_row(row._asdict())
        return list(newest.values())


def _matching(reading: Reading, column: str, pattern: str) -> list[Condition]:
    return [] if pattern == EVERY else [reading.dialect.like_file_name(column, pattern)]
