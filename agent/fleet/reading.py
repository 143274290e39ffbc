"""Reads what the lists of a fleet are made of: a few queries of the ledger, however many databases there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent.fleet.standing import Standing, standings
from agent.fleet.summary import DatabaseSummary, summaries
from agent.fleet.worth import ProposalHead, by_effect, by_worth
from agent.ledger import Ledger, OutcomeRow
from agent.ledger.fleet.overview import EVERY
from agent.model.states import OPEN_PROPOSALS, ProposalState


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which databases are meant."""

    pattern: str = EVERY  # of names, as of files
    engine: str = ""  # "": every one


def read_standings(ledger: Ledger, selection: Selection, now: datetime) -> list[Standing]:
    """How each database stands, what needs a person first."""
    overview, pattern = ledger.overview, selection.pattern
    heads = map(ProposalHead.of, overview.proposals(pattern, OPEN_PROPOSALS))
    found = standings(overview.agents(pattern), heads, overview.moves_under_way(pattern), now)
    return [each for each in found if selection.engine in {"", each.engine}]


def read_proposals(
    ledger: Ledger, selection: Selection, states: Collection[ProposalState] | None, since: datetime | None = None
) -> list[ProposalHead]:
    """Proposals by their worth."""
    rows = map(ProposalHead.of, ledger.overview.proposals(selection.pattern, states, since))
    of_engine = _databases(ledger, selection)
    return by_worth(head for head in rows if of_engine is None or head.database in of_engine)


def read_outcomes(ledger: Ledger, selection: Selection, since: datetime | None = None) -> list[OutcomeRow]:
    """The newest outcome of each proposal, what hurt first."""
    of_engine = _databases(ledger, selection)
    rows = ledger.overview.outcomes(selection.pattern, since)
    return by_effect(row for row in rows if of_engine is None or row.database in of_engine)


def read_summaries(ledger: Ledger, selection: Selection, since: datetime) -> list[DatabaseSummary]:
    """What was proposed, decided, moved and measured in each database since then."""
    of_engine = _databases(ledger, selection)
    moves = ledger.overview.moves_changed(since, selection.pattern)
    return summaries(
        read_proposals(ledger, selection, None, since),
        {name: states for name, states in moves.items() if of_engine is None or name in of_engine},
        read_outcomes(ledger, selection, since),
    )


def _databases(ledger: Ledger, selection: Selection) -> set[str] | None:
    """The databases of the engine that is meant; None: of every engine."""
    if not selection.engine:
        return None
    agents = ledger.overview.agents(selection.pattern)
    return {row.database for row in agents if row.status.get("engine") == selection.engine}
