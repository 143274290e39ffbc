"""All databases of a ledger: how each stands, what proposals are worth, and a summary.

``ProposalWorth`` and ``by_effect`` rank proposals and outcomes without their statements, for lists of many databases.

``standings`` says how each database stands, and which need a person first.

``summaries`` is the report of a fleet: what was proposed, decided, moved and measured since a day, by database.

All of this is pure: no ledger, no clock. The ``read_`` functions at the end read what it needs, in a few queries of the
ledger however many databases there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Self

from agent.config.models import STALE_SAMPLES
from agent.ledger.ledger import Ledger
from agent.ledger.overview import AgentRow
from agent.ledger.rows import EVERY, OutcomeRow, ProposalRow
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import (
    APPROVED_PROPOSALS,
    CARRIED_OUT,
    NOT_REACHED,
    OPEN_PROPOSALS,
    TO_BEGIN,
    UNFINISHED,
    MoveState,
    ProposalState,
)
from agent.service.heard import why_silent
from agent.service.sending import Hindrance, LedgerFacts, Sending, facts_of_ledger, judge

# Verdicts on which a person should look first.
ALARMING = (OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalWorth:
    """A proposal without its moves: thousands of them with all their statements would be much."""

    id: int
    database: str
    digest: str
    state: ProposalState
    purpose: str
    asked_by: str  # "": the agent made it
    decided_by: str  # "": not decided
    moves: int
    bytes: int
    saved_per_hour: float  # wait seconds
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, row: ProposalRow) -> Self:
        """The head of a stored proposal."""
        proposal = row.proposal
        return cls(
            id=row.id, database=proposal.database, digest=row.digest, state=row.state, purpose=proposal.purpose,
            asked_by=proposal.asked_by, decided_by=row.decided_by, moves=len(proposal.moves),
            bytes=proposal.bytes_moved, saved_per_hour=proposal.wait_saved_per_hour, created_at=proposal.created_at,
            expires_at=proposal.expires_at,
        )  # fmt: skip


def by_worth(heads: Iterable[ProposalWorth]) -> list[ProposalWorth]:
    """What waits for a decision first, and of that what saves most."""
    return sorted(heads, key=lambda head: (head.state is not ProposalState.PROPOSED, -head.saved_per_hour, head.id))


def measured_saved_per_hour(row: OutcomeRow) -> float:
    """Wait seconds per hour that moves saved as measured, from what was predicted; NaN where either is not known.

    What was predicted is a share of the wait before and the same in seconds, so both give the wait before, and
    the measured share is taken of that.
    """
    outcome = row.outcome
    if not (outcome.measured and abs(outcome.predicted_saved_ratio) > 0):  # NaN: nothing was predicted
        return math.nan
    return outcome.predicted_wait_saved_per_hour / outcome.predicted_saved_ratio * outcome.saved_ratio


def by_effect(rows: Iterable[OutcomeRow]) -> list[OutcomeRow]:
    """What hurt first, then what saved most; what could not be measured is last."""

    def order(row: OutcomeRow) -> tuple[bool, float, int]:
        saved = measured_saved_per_hour(row)
        return row.outcome.verdict not in ALARMING, math.inf if math.isnan(saved) else -saved, -row.id

    return sorted(rows, key=order)


USUAL_SAMPLE_SECONDS = 60.0  # of an agent that does not say how often it samples


class Heartbeat(StrEnum):
    """Whether the agent of a database is heard of."""

    HEARD = "heard"
    SILENT = "silent"  # for longer than a few samples take
    NEVER = "never"


class Attention(IntEnum):
    """What a database needs a person for, the most urgent first."""

    UNTRUSTED = 1  # the ledger does not agree with itself
    STOPPED = 2  # by a person, or its ledger was moved
    LEFT_WORSE = 3  # a group ended halfway
    SILENT = 4  # no agent is heard of
    FAILING = 5  # its last sample failed
    DECISION = 6  # a proposal waits
    NOTHING = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStanding:
    """One database in the view of all."""

    database: str
    engine: str  # "": no agent ever said
    heartbeat: Heartbeat
    heard_at: datetime | None
    needs: Attention
    why: str  # one sentence; "" where nothing is needed
    sending: Sending
    undecided: int  # proposals that wait for a decision
    undecided_saved_per_hour: float  # wait seconds that they would save
    waiting_moves: int  # approved, not begun
    running_moves: int
    tiers: Mapping[str, tuple[int, int]]  # name -> bytes used and free, as far as they are known


def standings(
    agents: Iterable[AgentRow],
    heads: Iterable[ProposalWorth],
    moves: Mapping[str, Mapping[MoveState, int]],
    facts: LedgerFacts,
    now: datetime,
) -> list[FleetStanding]:
    """Every database, what needs a person first, and of equal needs what is worth most.

    Args:
        agents: of all databases.
        heads: of their open proposals.
        moves: how many of each database are in which state, of those under way.
        facts: what keeps agents from sending anything.
        now: the present time.
    """
    open_heads: dict[str, list[ProposalWorth]] = {}
    for head in heads:
        if head.state is ProposalState.PROPOSED:
            open_heads.setdefault(head.database, []).append(head)
    found = [
        _standing(row, open_heads.get(row.database, ()), moves.get(row.database, {}), facts, now) for row in agents
    ]
    return sorted(found, key=lambda each: (each.needs, -each.undecided_saved_per_hour, each.database))


def heartbeat_of(row: AgentRow, now: datetime) -> Heartbeat:
    """Whether an agent is heard of: it writes at each sample."""
    if row.heard_at is None:
        return Heartbeat.NEVER
    age = (now - row.heard_at).total_seconds()
    every = float(row.status.get("sample_seconds") or USUAL_SAMPLE_SECONDS)
    return Heartbeat.HEARD if age <= STALE_SAMPLES * max(every, 1.0) else Heartbeat.SILENT


def _standing(
    row: AgentRow,
    undecided: Sequence[ProposalWorth],
    moves: Mapping[MoveState, int],
    facts: LedgerFacts,
    now: datetime,
) -> FleetStanding:
    heartbeat = heartbeat_of(row, now)
    silent = why_silent(row.database, row.heard_at) if heartbeat is not Heartbeat.HEARD else ""
    sending = judge(facts.of(row.database, row.status, silent), now)
    needs, why = _need(row, heartbeat, len(undecided), sending)
    return FleetStanding(
        database=row.database,
        engine=str(row.status.get("engine") or ""),
        heartbeat=heartbeat,
        heard_at=row.heard_at,
        needs=needs,
        why=why,
        sending=sending,
        undecided=len(undecided),
        undecided_saved_per_hour=math.fsum(head.saved_per_hour for head in undecided),
        waiting_moves=sum(number for state, number in moves.items() if state in TO_BEGIN),
        running_moves=sum(number for state, number in moves.items() if state in UNFINISHED - TO_BEGIN),
        tiers=_tiers(row),
    )


def _need(row: AgentRow, heartbeat: Heartbeat, undecided: int, sending: Sending) -> tuple[Attention, str]:
    """The most urgent need, and why."""
    if sending.hindrance is Hindrance.NOT_TRUSTED:
        return Attention.UNTRUSTED, sending.sentence
    if sending.hindrance in {Hindrance.STOPPED, Hindrance.LEDGER_MOVED}:
        return Attention.STOPPED, sending.sentence
    if row.left_worse:
        return Attention.LEFT_WORSE, f"worse than before: {row.left_worse[0]}"
    if heartbeat is Heartbeat.NEVER:
        return Attention.SILENT, "no agent has ever watched it"
    if heartbeat is Heartbeat.SILENT:
        return Attention.SILENT, f"its agent on {row.status.get('host')} is silent"
    if row.status.get("error"):
        return Attention.FAILING, f"its last sample failed: {row.status['error']}"
    if undecided:
        return Attention.DECISION, "1 proposal waits" if undecided == 1 else f"{undecided} proposals wait"
    return Attention.NOTHING, ""


def _tiers(row: AgentRow) -> dict[str, tuple[int, int]]:
    """Used and free bytes by tier; spaces whose room is not known are left out."""
    found: dict[str, tuple[int, int]] = {}
    for space in row.status.get("spaces") or ():
        if space["tier"] is None or space["used_bytes"] is None or space["free_bytes"] is None:
            continue
        used, free = found.get(space["tier"], (0, 0))
        found[space["tier"]] = used + space["used_bytes"], free + space["free_bytes"]
    return found


def count_heartbeats(found: Iterable[FleetStanding]) -> Counter[Heartbeat]:
    """How many databases are heard of, silent, or never were."""
    return Counter(each.heartbeat for each in found)


@dataclass(slots=True, kw_only=True)
class DatabaseSummary:
    """What happened to one database, or to all of them."""

    database: str
    proposals: Counter[ProposalState] = field(default_factory=Counter)
    approved_bytes: int = 0  # of all that was approved, whether it was moved or not
    moved: int = 0
    not_moved: int = 0  # approved moves that failed or were skipped
    verdicts: Counter[OutcomeVerdict] = field(default_factory=Counter)  # of moves, undos left out
    undo_verdicts: Counter[OutcomeVerdict] = field(default_factory=Counter)
    saved_per_hour: float = 0.0  # wait seconds, as measured, of what could be measured, undos left out

    @property
    def hurt(self) -> int:
        """Outcomes on which a person should look."""
        return sum(self.verdicts[verdict] for verdict in ALARMING)


def summaries(
    heads: Iterable[ProposalWorth], moves: Mapping[str, Mapping[MoveState, int]], outcomes: Iterable[OutcomeRow]
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
        if row.outcome.undo:
            summary.undo_verdicts[row.outcome.verdict] += 1
            continue
        summary.verdicts[row.outcome.verdict] += 1
        summary.saved_per_hour += 0.0 if math.isnan(saved) else saved
    return sorted(found.values(), key=lambda each: (-each.hurt, -each.saved_per_hour, each.database))


def total_of(found: Iterable[DatabaseSummary]) -> DatabaseSummary:
    """All of them as one."""
    total = DatabaseSummary(database="")
    for each in found:
        total.proposals.update(each.proposals)
        total.verdicts.update(each.verdicts)
        total.undo_verdicts.update(each.undo_verdicts)
        total.approved_bytes += each.approved_bytes
        total.moved += each.moved
        total.not_moved += each.not_moved
        total.saved_per_hour += each.saved_per_hour
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which databases are meant."""

    pattern: str = EVERY  # of names, as of files
    engine: str = ""  # "": every one


def read_standings(ledger: Ledger, selection: Selection, now: datetime) -> list[FleetStanding]:
    """How each database stands, what needs a person first."""
    overview, pattern = ledger.overview, selection.pattern
    heads = map(ProposalWorth.of, overview.proposals(pattern, OPEN_PROPOSALS))
    moves = overview.moves_under_way(pattern)
    found = standings(overview.agents(pattern), heads, moves, facts_of_ledger(ledger), now)
    return [each for each in found if selection.engine in {"", each.engine}]


def read_proposals(
    ledger: Ledger, selection: Selection, states: Collection[ProposalState] | None, since: datetime | None = None
) -> list[ProposalWorth]:
    """Proposals by their worth."""
    rows = map(ProposalWorth.of, ledger.overview.proposals(selection.pattern, states, since))
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
