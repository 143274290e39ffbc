"""What commands with ``--all`` list of all databases of a ledger.

``selection_of``, ``first_rows`` and ``say_rest`` are shared by all lists: which databases are meant, and how many lines
are shown.

``show_proposals`` prints ``proposals --all``: what waits for a decision, the largest saving first.

``show_status`` prints ``status --all``: a line for each database that needs a person, and one for all others together.
``show_metrics`` prints the same with ``--metrics``.

``show_report`` prints ``report --all``: one page about all databases since a day.

``show_outcomes`` prints ``outcomes --all``: what was measured after moves, harm first.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TypeVar

from agent.cli.options import begin_of
from agent.cli.session import Session, refuse_unseen, unseen
from agent.ledger.overview import PATTERN_SIGNS, is_meant
from agent.ledger.rows import EVERY, OutcomeRow
from agent.model.answers.fleet import (
    DatabaseStanding,
    FleetMetrics,
    FleetStatus,
    FleetTotals,
    MetricShown,
    ProposalOfDatabase,
    ProposalsOfFleet,
    TierFilled,
)
from agent.model.answers.kind import extend
from agent.model.answers.outcomes import OutcomeAnywhere, OutcomesAnywhere
from agent.model.answers.report import DatabaseInFleetReport, FleetReported, FleetReportTotals
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import APPROVED_PROPOSALS, ProposalState
from agent.model.units_of_measure import format_when
from agent.service.fleet import (
    Attention,
    DatabaseSummary,
    FleetStanding,
    Heartbeat,
    ProposalWorth,
    Selection,
    count_heartbeats,
    measured_saved_per_hour,
    read_outcomes,
    read_proposals,
    read_standings,
    read_summaries,
    total_of,
)
from agent.terminal.columns import Column
from agent.terminal.wording import short_digest
from connectors.model.formatting import format_bytes, format_sessions, format_wait

_V = TypeVar("_V")
AROUND = 8  # lines of a screen that are no rows of the table
FEWEST = 10  # rows, however low the terminal is


def selection_of(session: Session, engine: str) -> Selection:
    """The databases that --database, which may be a pattern, and --engine name.

    Raises:
        CommandError: it names one that this login may not see.
    """
    pattern = session.options.database or EVERY
    if not any(sign in pattern for sign in PATTERN_SIGNS):
        refuse_unseen(session.ledger, [pattern])
    return Selection(pattern=pattern, engine=engine)


def say_unseen(session: Session) -> tuple[str, ...]:
    """Print which configured databases the list leaves out because this login may not see them; their names."""
    pattern = session.options.database or EVERY
    named = [each.name for each in session.config.databases if is_meant(pattern, each.name)]
    found = unseen(session.ledger, named)
    if found:
        session.out.line(f"this login may not see {', '.join(found)}: nothing is known of them here")
    return found


def first_rows(rows: Sequence[_V], limit: int | None) -> Sequence[_V]:
    """The rows that fit a screen, or as many as were asked for."""
    most = limit or max(FEWEST, shutil.get_terminal_size().lines - AROUND)
    return rows[:most]


def document_rows(rows: Sequence[_V], limit: int | None) -> Sequence[_V]:
    """The rows of the JSON document: all of them, unless a limit was given."""
    return rows if limit is None else rows[:limit]


def say_rest(session: Session, total: int, here: int, what: str) -> None:
    """How many rows are not shown."""
    if total > here:
        session.out.line(f"and {total - here} more {what}; --limit {total} shows them")


PROPOSAL_COLUMNS = (
    Column("id", number=True), Column("database", name=True), Column("saves", number=True),
    Column("moves", number=True, leaves=2), Column("size", number=True), Column("state"), Column("for", leaves=4),
    Column("digest", leaves=3), Column("expires", leaves=1),
)  # fmt: skip


def show_proposals(session: Session, engine: str, wanted: Collection[ProposalState] | None, limit: int | None) -> None:
    """Print the list of proposals in the wanted states, or the document."""
    heads = read_proposals(session.ledger, selection_of(session, engine), wanted)
    proposals = tuple(map(proposal_of_database, heads))
    undecided = [each for each in proposals if each.state is ProposalState.PROPOSED]
    saved = math.fsum(each.wait_saved_per_hour_seconds for each in undecided)
    if proposals:
        session.out.line(f"{len(undecided)} proposals wait for a decision, worth {format_wait(saved)}", style="bold")
        rows = first_rows(proposals, limit)
        session.out.table(PROPOSAL_COLUMNS, [_proposal_cells(each) for each in rows])
        say_rest(session, len(proposals), len(rows), "proposals")
        session.out.line("saves: sessions that no longer wait, on average; hotplace approve --all ID ID ... decides")
    else:
        session.out.line("no such proposal in any database")
    session.out.document(
        ProposalsOfFleet(
            undecided=len(undecided),
            undecided_wait_saved_per_hour_seconds=saved,
            proposals=tuple(document_rows(proposals, limit)),
            not_seen=say_unseen(session),
        )
    )


def _proposal_cells(each: ProposalOfDatabase) -> tuple[str, ...]:
    return (
        str(each.id), each.database, format_sessions(each.wait_saved_per_hour_seconds), str(each.moves),
        format_bytes(each.bytes), each.state.value, each.purpose, short_digest(each.digest),
        format_when(each.expires_at),
    )  # fmt: skip


def proposal_of_database(head: ProposalWorth) -> ProposalOfDatabase:
    """A proposal without its moves as an answer has it."""
    return ProposalOfDatabase(
        id=head.id,
        database=head.database,
        digest=head.digest,
        state=head.state,
        purpose=head.purpose,
        asked_by=head.asked_by or None,
        decided_by=head.decided_by or None,
        moves=head.moves,
        bytes=head.bytes,
        wait_saved_per_hour_seconds=head.saved_per_hour,
        created_at=head.created_at,
        expires_at=head.expires_at,
    )


STATUS_COLUMNS = (
    Column("database", name=True), Column("engine", leaves=3), Column("agent"), Column("heard of", leaves=4),
    Column("proposals", number=True, leaves=2), Column("save", number=True), Column("moves", number=True, leaves=1),
    Column("fastest tier free", number=True, leaves=5), Column("needs"),
)  # fmt: skip
NOTHING = Attention.NOTHING.name.lower()


def show_status(session: Session, engine: str, state: Heartbeat | None, limit: int | None) -> None:
    """Print the list, or the document."""
    now = session.clock.now()
    found = read_standings(session.ledger, selection_of(session, engine), now)
    found = [each for each in found if state in {None, each.heartbeat}]
    databases = tuple(map(_database_standing, found))
    totals = _status_totals(found)
    _print_status(session, totals, databases, limit)
    session.out.document(
        FleetStatus(
            at=now, totals=totals, databases=tuple(document_rows(databases, limit)), not_seen=say_unseen(session)
        )
    )


def _print_status(
    session: Session, totals: FleetTotals, databases: Sequence[DatabaseStanding], limit: int | None
) -> None:
    if not databases:
        session.out.line("the ledger knows no such database; each is known once its agent has sampled it")
        return
    session.out.line(_headline(totals), style="bold")
    urgent = [each for each in databases if each.needs != NOTHING]
    rows = first_rows(databases if limit is not None else urgent, limit)
    if rows:
        session.out.table(STATUS_COLUMNS, [_status_cells(each) for each in rows])
    if limit is None:
        say_rest(session, len(urgent), len(rows), "that need a person")
        if rest := len(databases) - len(urgent):
            session.out.line(f"{rest} need nothing; --limit {len(databases)} shows all")


def _headline(totals: FleetTotals) -> str:
    return (
        f"{totals.databases} databases: {totals.heard} heard of, {totals.silent} silent, "
        f"{totals.never} never watched; {totals.undecided_proposals} proposals wait, worth "
        f"{format_wait(totals.undecided_wait_saved_per_hour_seconds)}; {totals.running_moves} moves run"
    )


def _status_totals(found: Sequence[FleetStanding]) -> FleetTotals:
    beats = count_heartbeats(found)
    return FleetTotals(
        databases=len(found),
        heard=beats[Heartbeat.HEARD],
        silent=beats[Heartbeat.SILENT],
        never=beats[Heartbeat.NEVER],
        need_a_person=sum(each.needs is not Attention.NOTHING for each in found),
        undecided_proposals=sum(each.undecided for each in found),
        undecided_wait_saved_per_hour_seconds=math.fsum(each.undecided_saved_per_hour for each in found),
        waiting_moves=sum(each.waiting_moves for each in found),
        running_moves=sum(each.running_moves for each in found),
    )


def _status_cells(each: DatabaseStanding) -> tuple[str, ...]:
    undecided = each.undecided_proposals
    return (
        each.database, each.engine or "", str(each.agent),
        "" if each.heard_of_at is None else format_when(each.heard_of_at),
        str(undecided or ""), format_sessions(each.undecided_wait_saved_per_hour_seconds) if undecided else "",
        str(each.waiting_moves + each.running_moves or ""),
        format_bytes(each.tiers[0].free_bytes) if each.tiers else "", each.why or "",
    )  # fmt: skip


def _database_standing(each: FleetStanding) -> DatabaseStanding:
    return DatabaseStanding(
        database=each.database,
        engine=each.engine or None,
        agent=each.heartbeat,
        heard_of_at=each.heard_at,
        needs=each.needs.name.lower(),
        why=each.why or None,
        sending=each.sending.shown,
        undecided_proposals=each.undecided,
        undecided_wait_saved_per_hour_seconds=each.undecided_saved_per_hour,
        waiting_moves=each.waiting_moves,
        running_moves=each.running_moves,
        tiers=tuple(
            TierFilled(tier=name, used_bytes=used, free_bytes=free) for name, (used, free) in each.tiers.items()
        ),
    )


def show_metrics(session: Session) -> None:
    """Print what Prometheus's text format says, or the document."""
    from prometheus_client import CollectorRegistry, generate_latest  # a list of databases needs neither

    from agent.service.fleet_metrics import FleetCollector

    registry = CollectorRegistry()
    selection, now = selection_of(session, ""), session.clock.now()
    registry.register(FleetCollector(lambda: read_standings(session.ledger, selection, now)))
    if not session.out.as_json:
        session.out.verbatim(generate_latest(registry).decode())
        return
    samples = [sample for family in registry.collect() for sample in family.samples]
    session.out.document(
        FleetMetrics(
            metrics=tuple(MetricShown(name=each.name, labels=each.labels, value=each.value) for each in samples)
        )
    )


REPORT_COLUMNS = (
    Column("database", name=True), Column("proposed", number=True, leaves=3), Column("approved", number=True, leaves=2),
    Column("moved", number=True), Column("not moved", number=True, leaves=1), Column("outcomes"),
    Column("saved", number=True),
)  # fmt: skip


def show_report(session: Session, engine: str, begin: datetime, limit: int | None) -> None:
    """Print the page, or the document."""
    summaries = read_summaries(session.ledger, selection_of(session, engine), begin)
    found = [extend(DatabaseInFleetReport, _report_totals(each), database=each.database) for each in summaries]
    total = _report_totals(total_of(summaries))
    _print_report(session, found, total, f"since {format_when(begin)}", limit)
    session.out.document(
        FleetReported(
            since=begin,
            until=session.clock.now(),
            total=total,
            databases=tuple(document_rows(found, limit)),
            not_seen=say_unseen(session),
        )
    )


def _print_report(
    session: Session, found: list[DatabaseInFleetReport], total: FleetReportTotals, since: str, limit: int | None
) -> None:
    session.out.line(f"{len(found)} databases {since}", style="bold")
    session.out.facts(
        [
            ("proposals", f"{_count(total)}, {_count_approved(total)} of them approved"),
            ("approved bytes", format_bytes(total.approved_bytes)),
            ("moves", f"{total.moves_carried_out} carried out, {total.moves_not_carried_out} not"),
            ("outcomes", _verdicts(total) or "none yet"),
            (
                "measured",
                f"{format_wait(total.measured_wait_saved_per_hour_seconds)} saved, each at the load before it",
            ),
        ]
    )
    if found:
        rows = first_rows(found, limit)
        session.out.table(REPORT_COLUMNS, [_report_cells(each) for each in rows])
        say_rest(session, len(found), len(rows), "databases")


def _count(totals: FleetReportTotals) -> int:
    return sum(totals.proposals_by_state.values())


def _count_approved(totals: FleetReportTotals) -> int:
    return sum(totals.proposals_by_state[state] for state in APPROVED_PROPOSALS)


def _verdicts(totals: FleetReportTotals) -> str:
    moves, undos = totals.outcomes_by_verdict, totals.undo_outcomes_by_verdict
    said = [f"{count} {verdict}" for verdict, count in moves.items() if count]
    return ", ".join([*said, *(f"{count} undo {verdict}" for verdict, count in undos.items() if count)])


def _report_cells(each: DatabaseInFleetReport) -> tuple[str, ...]:
    return (
        each.database, str(_count(each)), str(_count_approved(each)), str(each.moves_carried_out),
        str(each.moves_not_carried_out), _verdicts(each), format_sessions(each.measured_wait_saved_per_hour_seconds),
    )  # fmt: skip


def _report_totals(summary: DatabaseSummary) -> FleetReportTotals:
    return FleetReportTotals(
        proposals_by_state={state: summary.proposals[state] for state in ProposalState},
        approved_bytes=summary.approved_bytes,
        moves_carried_out=summary.moved,
        moves_not_carried_out=summary.not_moved,
        outcomes_by_verdict={verdict: summary.verdicts[verdict] for verdict in OutcomeVerdict},
        undo_outcomes_by_verdict={verdict: summary.undo_verdicts[verdict] for verdict in OutcomeVerdict},
        measured_wait_saved_per_hour_seconds=summary.saved_per_hour,
    )


OUTCOME_COLUMNS = (
    Column("proposal", number=True), Column("database", name=True), Column("verdict"),
    Column("predicted", number=True), Column("measured", number=True), Column("measured at", leaves=1),
)  # fmt: skip


def show_outcomes(session: Session, engine: str, since: str, limit: int | None) -> None:
    """Print the list, or the document."""
    begin = begin_of(since, session.clock)
    rows = read_outcomes(session.ledger, selection_of(session, engine), begin)
    if rows:
        here = first_rows(rows, limit)
        session.out.table(OUTCOME_COLUMNS, [_outcome_cells(_outcome_anywhere(row), row.outcome.judged) for row in here])
        say_rest(session, len(rows), len(here), "outcomes")
        session.out.line("predicted, measured: sessions that no longer wait, on average, at the load before each")
    else:
        session.out.line(f"nothing was measured in any such database since {format_when(begin)}")
    listed = tuple(_outcome_anywhere(row) for row in document_rows(rows, limit))
    session.out.document(OutcomesAnywhere(since=begin, outcomes=listed, not_seen=say_unseen(session)))


def _outcome_cells(outcome: OutcomeAnywhere, judged: str) -> tuple[str, ...]:
    saved = outcome.measured_wait_saved_per_hour_seconds
    return (
        str(outcome.proposal), outcome.database, judged,
        format_sessions(outcome.predicted_wait_saved_per_hour_seconds),
        "-" if math.isnan(saved) else format_sessions(saved), format_when(outcome.measured_at),
    )  # fmt: skip


def _outcome_anywhere(row: OutcomeRow) -> OutcomeAnywhere:
    return OutcomeAnywhere(
        proposal=row.proposal_id,
        database=row.database,
        measured_at=row.at,
        verdict=row.outcome.verdict,
        undo=row.outcome.undo,
        predicted_wait_saved_per_hour_seconds=row.outcome.predicted_wait_saved_per_hour,
        measured_wait_saved_per_hour_seconds=measured_saved_per_hour(row),
        sentence=row.outcome.sentence,
    )
