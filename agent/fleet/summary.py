"""The report of a fleet: what was proposed, decided, moved and measured since a day, by database. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.fleet.worth import ALARMING, ProposalHead, measured_saved_per_hour
from agent.ledger.rows import OutcomeRow
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import APPROVED_PROPOSALS, CARRIED_OUT, NOT_REACHED, MoveState, ProposalState


@dataclass(slots=True, kw_only=True)
class DatabaseSummary:
    """What happened to one database, or to all of them."""

    database: str
    proposals: Counter[ProposalState] = field(default_factory=Counter)
    approved_bytes: int = 0  # of all that was approved, whether it was moved or not
    moved: int = 0
    not_moved: int = 0  # approved moves that failed or were skipped
    verdicts: Counter[OutcomeVerdict] = field(default_factory=Counter)
    saved_per_hour: float = 0.0  # wait seconds, as measured, of what could be measured

    @property
    def hurt(self) -> int:
        """Outcomes on which a person should look."""
        return sum(self.verdicts[verdict] for verdict in ALARMING)


def summaries(
    heads: Iterable[ProposalHead], moves: Mapping[str, Mapping[MoveState, int]], outcomes: Iterable[OutcomeRow]
) -> list[DatabaseSummary]:
    """One line for each database with an outcome, what hurt first, then what saved most.

    Args:
        heads: of the proposals of the time.
        moves: how many of each database went into which state in that time.
        outcomes: that were measured in it.
    """
    found: dict[str, DatabaseSummary] = {}

    def of(database: str) -> DatabaseSummary:
        return found.setdefault(database, DatabaseSummary(database=database))

    for head in heads:
        summary = of(head.database)
        summary.proposals[head.state] += 1
        summary.approved_bytes += head.bytes if head.state in APPROVED_PROPOSALS else 0
    for database, states in moves.items():
        of(database).moved = sum(number for state, number in states.items() if state in CARRIED_OUT)
        of(database).not_moved = sum(number for state, number in states.items() if state in NOT_REACHED)
    for row in outcomes:
        summary, saved = of(row.database), measured_saved_per_hour(row)
        summary.verdicts[row.outcome.verdict] += 1
        summary.saved_per_hour += 0.0 if math.isnan(saved) else saved
    return sorted(found.values(), key=lambda each: (-each.hurt, -each.saved_per_hour, each.database))


def total_of(found: Iterable[DatabaseSummary]) -> DatabaseSummary:
    """All of them as one."""
    total = DatabaseSummary(database="")
    for each in found:
        total.proposals.update(each.proposals)
        total.verdicts.update(each.verdicts)
        total.approved_bytes += each.approved_bytes
        total.moved += each.moved
        total.not_moved += each.not_moved
        total.saved_per_hour += each.saved_per_hour
    return total
