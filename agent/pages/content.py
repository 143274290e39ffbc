"""What a report is about, read from the ledger alone, no database is asked; and what its answer is in words.

Every text of the report, on the terminal and on pages, is made of the answer: what a person reads stands in JSON too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import TypeVar

from agent.ledger.chain.events import numbered_subject
from agent.ledger.errors import NotFound
from agent.ledger.ledger import Ledger
from agent.ledger.rows import AuditReport, AuditRow, ClosedSpaceRow, MoveRow, OutcomeRow, PinRow, ProposalRow, StepState
from agent.ledger.rows import StepRow as Step
from agent.model.answers.report import DatabaseReported, DecisionReported, MoveReported, ProposalReported, ReportTotals
from agent.model.answers.summary import DecisionSummary
from agent.model.answers.units import AdviceShown
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.states import AWAITING_OUTCOME, CARRIED_OUT, LAPSED_PROPOSALS
from agent.model.summary import named_lines, summary_of
from agent.planning.advice import stored_advice
from agent.terminal.deciding import said_once, would_run
from agent.terminal.wording import state_text, with_other_names
from connectors.model.formatting import format_bytes, format_rate, format_seconds, format_wait

_Word = TypeVar("_Word", bound=str)
DECISIONS = ("proposal.approved", "proposal.rejected", "move.struck", "move.asked.")  # events that name a person
READ_AT_ONCE = 50  # proposals
NOT_KNOWN = "not known"
OPEN_ENDED = frozenset({StepState.INTENDED, StepState.UNKNOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRecord:
    """One move with what was sent for it."""

    row: MoveRow
    steps: tuple[Step, ...]
    outcome: OutcomeRow | None

    @property
    def started_at(self) -> datetime | None:
        """When its first statement was about to be sent."""
        return self.steps[0].intended_at if self.steps else None

    @property
    def ended_at(self) -> datetime | None:
        """When the last that is known of ended."""
        return max((step.ended_at for step in self.steps if step.ended_at is not None), default=None)

    @property
    def copy_seconds(self) -> float:
        """How long its statements ran, as far as their ends are known."""
        return sum((step.ended_at - step.intended_at).total_seconds() for step in self.steps if step.ended_at)

    @property
    def copy_complete(self) -> bool:
        """Whether the end of every statement is known; an interrupted one may have run on."""
        return not any(step.state in OPEN_ENDED for step in self.steps)

    @property
    def not_needed(self) -> tuple[str, ...]:
        """Lines for the case that an attempt is interrupted, approved and never sent, as few as on a terminal."""
        sent = {step.sql for step in self.steps}
        unsent = (step for step in self.row.move.route.tidy_steps if sent.isdisjoint(step.statements))
        return tuple(line for step in unsent for line in with_other_names(step))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRecord:
    """One proposal with who decided what about it."""

    row: ProposalRow
    decisions: tuple[AuditRow, ...]  # by persons, the oldest first
    moves: tuple[MoveRecord, ...]

    @property
    def summary(self) -> DecisionSummary:
        """What was decided on, as the commands show it."""
        return summary_of(self.row.proposal, would_run([move.row for move in self.moves]), self.row.id)

    @property
    def outcome(self) -> Outcome | None:
        """What was measured of all its moves together; None: nothing yet."""
        return next((move.outcome.outcome for move in self.moves if move.outcome is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that the ledger has on one database in one period."""

    database: str
    since: datetime
    until: datetime
    proposals: tuple[ProposalRecord, ...]  # made in the period or decided in it, the oldest first
    pins: tuple[PinRow, ...]
    closed: tuple[ClosedSpaceRow, ...]
    audit: AuditReport
    advice: tuple[AdviceShown, ...] = ()  # other than moves, of the last plan

    @property
    def moves(self) -> list[MoveRecord]:
        """Moves of all proposals."""
        return [move for proposal in self.proposals for move in proposal.moves]

    @property
    def totals(self) -> ReportTotals:
        """Sums over the period; seconds and bytes."""
        arrived = [move for move in self.moves if move.row.state in CARRIED_OUT]
        # By proposal and not by move: an outcome is measured over all moves of a proposal, and each of them carries it.
        measured = {m.row.proposal_id: m.outcome.outcome for m in self.moves if m.outcome is not None}
        return ReportTotals(
            proposals=len(self.proposals),
            proposals_by_state=dict(Counter(proposal.row.state for proposal in self.proposals)),
            moves=len(self.moves),
            moves_by_state=dict(Counter(move.row.state for move in self.moves)),
            bytes_moved=sum(move.row.move.size_bytes for move in arrived),
            copy_seconds=sum(move.copy_seconds for move in arrived),
            copy_complete=all(move.copy_complete for move in arrived),
            outcomes_by_verdict=_by_verdict(o for o in measured.values() if not o.undo),
            undo_outcomes_by_verdict=_by_verdict(o for o in measured.values() if o.undo),
        )

    @property
    def result(self) -> str:
        """What came of the last proposal that was measured, for people; what is known instead where none was."""
        measured = [each for each in self.proposals if each.outcome is not None and each.outcome.measured]
        if measured:
            return result_of(max(measured, key=_when_measured))
        waiting = sum(move.row.state in AWAITING_OUTCOME for move in self.moves)
        return f"not measured yet, {waiting} moved" if waiting else "nothing was measured"


def _when_measured(proposal: ProposalRecord) -> datetime:
    return max(move.outcome.at for move in proposal.moves if move.outcome is not None)


def result_of(proposal: ProposalRecord) -> str:
    """Throughput and latency before and after, and the verdict: ``76 -> 1,860 transactions/s, helped``."""
    found = proposal.outcome
    assert found is not None, "it was measured"
    said = []
    if isfinite(found.transactions_per_second_before) and isfinite(found.transactions_per_second_after):
        rates = format_rate(found.transactions_per_second_before), format_rate(found.transactions_per_second_after)
        said.append(f"{rates[0]} -> {rates[1]} {found.work}/s")
    if isfinite(found.latency_before) and isfinite(found.latency_after):
        said.append(f"{format_seconds(found.latency_before)} -> {format_seconds(found.latency_after)}")
    elif isfinite(found.saved_ratio):
        said.append(f"read wait {-found.saved_ratio:+.0%}")
    return ", ".join([*said, found.judged])


def _by_verdict(outcomes: Iterable[Outcome]) -> dict[OutcomeVerdict, int]:
    return dict(Counter(outcome.verdict for outcome in outcomes))


def report_of(ledger: Ledger, database: str, since: datetime, until: datetime) -> Report:
    """Read the ledger.

    Args:
        ledger: where it all is.
        database: its name in the configuration.
        since: proposals that were made and decided before are left out.
        until: those made later too.

    Raises:
        ProposalTampered: a stored proposal is not what was stored.
        LedgerCorrupt: the file is damaged.
    """
    decisions = ledger.audit.since(since, DECISIONS)
    chosen = _chosen(ledger, database, since, until, decisions)
    earliest = min([since, *(row.proposal.created_at for row in chosen)])
    if earliest < since:
        decisions = ledger.audit.since(earliest, DECISIONS)
    return Report(
        database=database,
        since=since,
        until=until,
        proposals=tuple(_records(ledger, chosen, decisions)),
        pins=tuple(ledger.pins.rows(database, until)),
        closed=tuple(ledger.arrivals.rows(database)),
        audit=ledger.audit.verify(earliest),
        advice=stored_advice(ledger, database),
    )


def _chosen(
    ledger: Ledger, database: str, since: datetime, until: datetime, decisions: Sequence[AuditRow]
) -> list[ProposalRow]:
    """Proposals that were made in the period, or decided in it, the oldest first."""
    made = {row.id: row for row in ledger.proposals.each(database=database, since=since, until=until)}
    subjects = (numbered_subject(each.subject) for each in decisions)
    decided = {number for kind, number in subjects if kind == "proposal"}
    older = (_find(ledger, number) for number in sorted(decided - made.keys()))
    decided_later = [
        row for row in older if row and row.proposal.database == database and row.proposal.created_at < since
    ]
    return [*decided_later, *(made[number] for number in sorted(made))]


def _find(ledger: Ledger, number: int) -> ProposalRow | None:
    """A proposal; None where it is another team's: of those an agent reads only the decisions."""
    try:
        return ledger.proposals.row(number)
    except NotFound:
        return None


def _records(ledger: Ledger, rows: Sequence[ProposalRow], decisions: Sequence[AuditRow]) -> Iterator[ProposalRecord]:
    """The proposals with all that belongs to them."""
    about = _by_subject(decisions)
    for start in range(0, len(rows), READ_AT_ONCE):
        some = rows[start : start + READ_AT_ONCE]
        by_proposal = ledger.moves.by_proposal(some)
        moves_of = _move_records(ledger, by_proposal)
        for row in some:
            subjects = (f"proposal {row.id}", *(f"move {move.id}" for move in by_proposal[row.id]))
            decided = (each for subject in subjects for each in about.get(subject, ()))
            ordered = tuple(sorted(decided, key=lambda each: each.id))
            yield ProposalRecord(row=row, decisions=ordered, moves=moves_of[row.id])


def _by_subject(decisions: Sequence[AuditRow]) -> dict[str, list[AuditRow]]:
    """Decisions by the proposal or move that they are on."""
    about: dict[str, list[AuditRow]] = defaultdict(list)
    for decision in decisions:
        about[decision.subject].append(decision)
    return about


def _move_records(ledger: Ledger, by_proposal: Mapping[int, Sequence[MoveRow]]) -> dict[int, tuple[MoveRecord, ...]]:
    """The moves of each proposal with their statements and outcomes, all read at once."""
    numbers = [move.id for moves in by_proposal.values() for move in moves]
    steps, outcomes = ledger.moves.steps_of(numbers), ledger.moves.outcomes_of(numbers)
    return {
        proposal: tuple(
            MoveRecord(row=move, steps=tuple(steps[move.id]), outcome=outcomes.get(move.id)) for move in moves
        )
        for proposal, moves in by_proposal.items()
    }


# -- in words --------------------------------------------------------------------------------------------------------


def counted(counts: Mapping[_Word, int]) -> str:
    """How many there are of each, for people: ``2 helped, 1 hurt``."""
    return ", ".join(f"{count} {word}" for word, count in counts.items()) or "none"


def moves_by_state(totals: ReportTotals) -> Mapping[str, int]:
    """How many moves are in each state, named for people."""
    found: Counter[str] = Counter()
    for state, count in totals.moves_by_state.items():
        found[state_text(state)] += count
    return found


def outcomes_text(totals: ReportTotals) -> str:
    """What moves brought and what taking them back did, counted for people."""
    brought, undone = totals.outcomes_by_verdict, totals.undo_outcomes_by_verdict
    return "; ".join([counted(brought), *([f"undo: {counted(undone)}"] if undone else [])])


def moved_text(totals: ReportTotals) -> str:
    """What was moved in which time, for people."""
    if not totals.bytes_moved:
        return "nothing"
    took, size = _duration(totals.copy_seconds, complete=totals.copy_complete), format_bytes(totals.bytes_moved)
    return f"{size}, in a time that is not known" if took == NOT_KNOWN else f"{size} in {took}"


def took_text(move: MoveReported) -> str:
    """How long a move took, for people; "" where nothing was sent."""
    return _duration(move.copy_seconds or 0.0, complete=move.copy_complete) if move.statements else ""


def _duration(seconds: float, *, complete: bool) -> str:
    if complete:
        return format_seconds(seconds)
    return f"at least {format_seconds(seconds)}" if seconds > 0 else NOT_KNOWN


def verdict_text(move: MoveReported) -> str:
    """The outcome of a move in a word, and of an undo as such; "" where there is none yet."""
    if move.outcome is None:
        return ""
    return f"undo {move.outcome.verdict}" if move.outcome.undo else move.outcome.verdict.value


def why_text(move: MoveReported) -> str:
    """The reason of its state; "" where that is its outcome, which is shown as such."""
    return "" if move.outcome is not None and move.reason == move.outcome.sentence else move.reason


def decision_text(decision: DecisionReported) -> str:
    """Who decided what, from where and why."""
    reason = f": {decision.reason}" if decision.reason else ""
    return f"{decision.event} of {decision.subject} by {decision.who} from {decision.origin}{reason}"


def predicted_text(proposal: ProposalReported) -> str:
    """What a proposal was to bring, for people: what makes sessions wait more costs."""
    saved = proposal.wait_saved_per_hour_seconds
    return f"to {'save' if saved >= 0 else 'cost'} {format_wait(abs(saved))}"


def summary_lines(proposal: ProposalReported) -> Sequence[tuple[str, str]]:
    """The lines of its summary, each with its name; none of what came to nothing before it began."""
    return () if proposal.state in LAPSED_PROPOSALS else tuple(named_lines(proposal.summary))


@dataclass(frozen=True, slots=True)
class AllOf:
    """What a page says of all proposals of a report together."""

    report: DatabaseReported

    @property
    def moves(self) -> Sequence[MoveReported]:
        """Moves of all proposals."""
        return [move for proposal in self.report.proposals for move in proposal.moves]

    @property
    def decisions(self) -> Sequence[DecisionReported]:
        """By persons, the oldest first."""
        found = (decision for proposal in self.report.proposals for decision in proposal.decisions)
        return sorted(found, key=lambda each: each.id)

    @property
    def remarks(self) -> Sequence[tuple[str, str]]:
        """What is to be said of proposals and moves, each sentence once, with the numbers of those it is about."""
        of_proposals = ((each.id, text) for each in self.report.proposals for text in _remarks_on(each))
        of_moves = ((each.id, text) for each in self.moves for text in _remarks_on_move(each))
        return [*said_once("proposal", of_proposals), *said_once("move", of_moves)]


def _remarks_on(proposal: ProposalReported) -> Iterator[str]:
    """What was decided on, and what was measured of all its moves together."""
    yield from (f"{name}: {text}" for name, text in summary_lines(proposal))
    if proposal.measured:
        yield f"measured: {proposal.measured}"
    yield from proposal.statements_compared


def _remarks_on_move(move: MoveReported) -> Iterator[str]:
    """What became of it and why, and what it did as measured."""
    if why := why_text(move):
        yield f"{state_text(move.state)}: {why}"
    if move.outcome is not None:
        yield move.outcome.sentence
