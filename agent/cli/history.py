"""What was done, did it help, and who decided it? ``history``, ``outcomes``, ``audit verify``.

How good were predictions? ``outcomes --calibration``: a plot, errors by kind of move, how often intervals held.
"""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.cli.app import app, command
from agent.cli.commands import HelpGroup
from agent.cli.options import AllDatabases, Columns, Engine, parse_columns, refuse, refuse_without_all
from agent.cli.session import Session
from agent.ledger.chain.links import find_anchors
from agent.ledger.errors import Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import AuditReport, AuditRow, MoveRow, OutcomeRow, StepRow
from agent.model.answers.decisions import AuditLink, AuditLinks, AuditVerified
from agent.model.answers.kind import extend
from agent.model.answers.outcomes import (
    Calibration,
    ErrorLearnt,
    History,
    LeftBehind,
    MoveDone,
    OutcomeAwaited,
    OutcomeOfProposal,
    OutcomesListed,
    PredictionChecked,
    StatementSent,
)
from agent.model.proposals import DIGEST_SHOWN
from agent.model.states import AWAITING_OUTCOME, IN_PLACE
from agent.model.units_of_measure import format_when
from agent.moving.leftovers import leftovers_of
from agent.moving.statement_texts import statement_lines, texts_of
from agent.sampling.prediction_errors import PastPrediction, past_predictions, stalled_seconds
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.text_plots import scatter
from agent.terminal.wording import outcome_shown, short_digest, state_text
from connectors.kit.files import open_given
from connectors.model.formatting import format_bytes, format_rate, format_ratio, format_seconds
from policies.model.moves import ALL, PredictionError, learn_errors

KIND_COLUMNS = (
    Column("moves of"), Column("from"), Column("to"), Column("outcomes", number=True),
    Column("error", number=True),
)  # fmt: skip


def show_calibration(session: Session) -> None:
    """Print it; ``--json`` gives the points and the errors."""
    past = list(past_predictions(session.ledger, session.database.name))
    errors = learn_errors(each.residual for each in past)
    if past:
        points = [(each.residual.predicted, each.residual.measured) for each in past]
        for line in scatter(points, "saved as predicted", "as measured"):
            session.out.line(line)
        session.out.table(KIND_COLUMNS, [_cells(error) for error in errors])
        session.out.line(_held_sentence(past))
    else:
        session.out.line("no outcome of a predicted proposal was measured for the same work yet")
    held, known = _count_held(past)
    session.out.document(
        Calibration(
            database=session.database.name,
            engine=session.database.engine,
            points=tuple(_checked(each) for each in past),
            errors=tuple(_learnt(error) for error in errors),
            intervals_known=known,
            intervals_held=held,
        )
    )


def _count_held(past: Sequence[PastPrediction]) -> tuple[int, int]:
    """How many outcomes lie in their predicted interval, and how many had one."""
    known = [each.outcome.as_predicted for each in past if each.outcome.as_predicted is not None]
    return sum(known), len(known)


def _held_sentence(past: Sequence[PastPrediction]) -> str:
    held, known = _count_held(past)
    return f"{held} of {known} outcomes lie in their predicted interval; errors are learnt, and feed the next intervals"


def _root_mean_square(error: PredictionError) -> float:
    return math.sqrt(error.squares / error.count) if error.count > 0 else math.nan


def _cells(error: PredictionError) -> tuple[str, ...]:
    kind = ("all moves", "", "") if error.kind == ALL else error.kind
    return (*kind, f"{error.count:.1f}".removesuffix(".0"), format_ratio(_root_mean_square(error)))


def _learnt(error: PredictionError) -> ErrorLearnt:
    return ErrorLearnt(
        unit_kind=error.unit_kind or None,
        from_tier=error.from_tier or None,
        to_tier=error.to_tier or None,
        outcomes=error.count,
        error_ratio=_root_mean_square(error),
    )


def _checked(past: PastPrediction) -> PredictionChecked:
    outcome = past.outcome
    return PredictionChecked(
        proposal=past.proposal_id,
        measured_at=past.measured_at,
        predicted_saved_ratio=outcome.predicted_saved_ratio,
        predicted_low=outcome.predicted_saved_ratio_low,
        predicted_high=outcome.predicted_saved_ratio_high,
        measured_saved_ratio=outcome.saved_ratio,
        measured_low=-outcome.change_high,
        measured_high=-outcome.change_low,
        as_predicted=outcome.as_predicted,
        verdict=outcome.verdict,
    )


SHOWN = 50
NOTE_THE_HEAD = "note the head elsewhere; audit verify --head HASH tells later whether all of it still stands"
BROKEN_ADVICE = "keep the file as evidence, restore a backup, and compare its head with one that a report noted"
HISTORY_COLUMNS = (
    Column("move", number=True), Column("proposal", number=True, leaves=3), Column("unit", name=True),
    Column("from", leaves=2), Column("to"), Column("size", number=True, leaves=1), Column("state"),
    Column("since", leaves=4), Column("why", leaves=5), Column("outcome"),
)  # fmt: skip
OUTCOME_COLUMNS = (
    Column("proposal", number=True), Column("verdict"), Column("predicted", number=True),
    Column("measured", number=True),
    Column("wait before", number=True, leaves=4), Column("wait after", number=True, leaves=4),
    Column("per second before", number=True, leaves=2), Column("per second after", number=True, leaves=2),
    Column("forecast", number=True, leaves=3), Column("measured at", leaves=1),
)  # fmt: skip
AUDIT_COLUMNS = (
    Column("#", number=True), Column("at"), Column("actor", leaves=1), Column("event"), Column("subject"),
    Column("facts", leaves=2),
)  # fmt: skip

Newest = Annotated[int, typer.Option("--limit", min=1, help="Show this many, the newest first.")]

audit = typer.Typer(no_args_is_help=True, epilog="Example: hotplace audit verify")
app.add_typer(
    audit,
    name="audit",
    help="Check the chain of who decided and did what, when, from where; `hotplace history --audit` lists it.",
    rich_help_panel=HelpGroup.LOOK_BACK,
)


@command(HelpGroup.LOOK_BACK, "hotplace history --limit 20", reads=True)
def history(
    session: Session,
    limit: Newest = SHOWN,
    columns: Columns = "",
    audit_chain: Annotated[
        bool, typer.Option("--audit", help="The links of the audit chain; --json holds every fact and hash of them.")
    ] = False,
    event: Annotated[
        str,
        typer.Option(help="With --audit: events that match; * and ? as in file names: proposal.*, move.asked.*"),
    ] = "",
) -> None:
    """List moves with their state, its time and reason, and what came of them; or the links of the audit chain."""
    if audit_chain:
        refuse({"--columns": columns}, "it takes no --audit")
        list_audit(session, limit, event or "*")
        return
    refuse({"--event": event}, "it is for --audit only")
    titles = parse_columns(columns, HISTORY_COLUMNS)
    rows = session.ledger.moves.latest(session.database.name, limit)
    numbers = [row.id for row in rows]
    measured, steps = session.ledger.moves.outcomes_of(numbers), session.ledger.moves.steps_of(numbers)
    left = leftovers_of(session.ledger, session.database.name)
    with session.out.through_pager():
        if rows:
            session.out.table(HISTORY_COLUMNS, [_move_cells(row, measured.get(row.id)) for row in rows], titles)
            for line in (_stall_line(row, steps[row.id]) for row in rows):
                if line:
                    session.out.line(line)
        else:
            session.out.line("no move was ever proposed")
        for each in left:
            session.out.line(
                f"move {each.move} ({each.unit}), since {format_when(each.since)}: {each.sentence}", style="bold"
            )
    session.out.document(
        History(
            database=session.database.name,
            moves=tuple(_move_done(row, measured.get(row.id), steps[row.id]) for row in rows),
            left_behind=tuple(LeftBehind(**asdict(each)) for each in left),
        )
    )


def _stall_line(row: MoveRow, steps: Sequence[StepRow]) -> str:
    """How long a move's lock kept others out, next to what was said before it; "" where it kept out none."""
    stalled, foretold, between = (
        stalled_seconds(row.move, steps), row.move.stall_seconds, row.move.stall_interval_seconds
    )  # fmt: skip
    if stalled is None:
        return ""
    ends = "" if between is None else f" ({format_seconds(between[0])} to {format_seconds(between[1])})"
    said = "" if foretold is None else f"; predicted {format_seconds(foretold)}{ends}"
    return f"move {row.id}: locked for up to {format_seconds(stalled)}{said}"


@command(HelpGroup.LOOK_BACK, "hotplace outcomes --limit 10", reads=True)
def outcomes(
    session: Session,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help=f"Show so many, the newest first; default {SHOWN}, with --all a screen."),
    ] = None,
    columns: Columns = "",
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Plot predicted against measured, and the error by kind of move.")
    ] = False,
    everything: AllDatabases = False,
    engine: Engine = "",
    since: Annotated[
        str, typer.Option("--since", metavar="DURATION", help="With --all: how far back; default 30d.")
    ] = "",
) -> None:
    """Compare what was measured after the moves with the prediction."""
    if everything:
        from agent.cli.fleet import show_outcomes

        refuse({"--columns": columns, "--calibration": calibration}, "it takes no --all")
        show_outcomes(session, engine, since or "30d", limit)
        return
    refuse_without_all({"--engine": engine, "--since": since})
    if calibration:
        show_calibration(session)
    else:
        _show_outcomes(session, limit or SHOWN, parse_columns(columns, OUTCOME_COLUMNS))


def _show_outcomes(session: Session, limit: int, titles: tuple[str, ...]) -> None:
    """The newest outcomes of one database, and what is still to be measured."""
    rows = session.ledger.moves.outcomes(database=session.database.name, limit=limit)
    if rows:
        session.out.table(OUTCOME_COLUMNS, [_outcome_cells(row) for row in rows], titles)
    else:
        session.out.line("nothing was measured yet; a move is measured once its settle time is over")
    awaited = _outcomes_awaited(session)
    texts = texts_of(session.ledger, session.database.name)
    for line in (*_outcome_lines(rows, texts), *map(_awaited_line, awaited)):
        session.out.line(line)
    session.out.document(
        OutcomesListed(
            database=session.database.name,
            outcomes=tuple(_outcome_of(row) for row in rows),
            awaited=awaited,
            statement_texts=texts,
        )
    )


@command(HelpGroup.LOOK_BACK, "hotplace audit verify", of=audit)
def verify(
    session: Session,
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="A head that was noted earlier: the chain must still hold it.")
    ] = None,
    anchors: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Log with anchors of the chain, - for standard input: all must fit."),
    ] = None,
) -> ExitCode:
    """Check every link of the audit chain, every stored proposal, the state of each move, and anchors from a log."""
    ledger = session.existing_ledger
    report = _holding(ledger, ledger.audit.verify(), head)
    report, advice = _hold_against_own_anchors(ledger, report)
    count = None
    if anchors is not None:
        report, count = _hold_against_anchors(ledger, report, anchors)
    verified = AuditVerified(
        ok=report.ok,
        rows=report.rows,
        head=report.head,
        broken_id=report.broken_id,
        sentence=report.sentence,
        anchors=count,
    )
    session.out.line(verified.sentence, style="" if verified.ok else "bold red")
    if verified.ok and verified.anchors is not None:
        session.out.line(f"all {verified.anchors} anchors of this ledger in {anchors} fit")
    session.out.line(f"head of the chain: {verified.head}")
    session.out.line(f"next: {NOTE_THE_HEAD if verified.ok else advice or BROKEN_ADVICE}")
    session.out.document(verified)
    return ExitCode.OK if verified.ok else ExitCode.LEDGER_UNUSABLE


def _holding(ledger: Ledger, report: AuditReport, head: str | None) -> AuditReport:
    """The report, or what is wrong with a chain that fits but does not hold a head which was noted earlier."""
    if head is None or not report.ok or ledger.audit.holds(head):
        return report
    sentence = f"all {report.rows} audit rows fit, but none is the head {head[:DIGEST_SHOWN]}: this is another chain"
    return replace(report, ok=False, sentence=sentence)


def _hold_against_own_anchors(ledger: Ledger, report: AuditReport) -> tuple[AuditReport, str]:
    """The report, or why agents here trust the chain no longer although its rows fit, and then what to do about it."""
    if not report.ok:
        return report, ""
    try:
        ledger.moves.require_end_of_chain()
    except Untrusted as error:
        return replace(report, ok=False, sentence=f"its rows fit, but {error}"), error.advice
    return report, ""


def _lines_of(log: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_given(log), encoding="utf-8", errors="replace")


def _hold_against_anchors(ledger: Ledger, report: AuditReport, source: str) -> tuple[AuditReport, int]:
    """The report, or what is wrong with a chain that does not fit its anchors; and how many of these are its own.

    Raises:
        CommandError: the log cannot be read, or holds no anchor of this ledger.
    """
    try:
        with sys.stdin if source == "-" else _lines_of(Path(source)) as lines:
            count, faults = ledger.audit.anchor_faults(find_anchors(lines), source)
    except OSError as error:
        raise CommandError(
            f"{source} cannot be read: {error.strerror}", code=ExitCode.USAGE, advice="Give a log with anchors, or -."
        ) from error
    if not count:
        raise CommandError(
            f"{source} holds no anchor of this ledger",
            code=ExitCode.LEDGER_UNUSABLE,
            advice="The log of this machine has them: journalctl -t hotplace. If it does, this ledger is another one.",
        )
    return (replace(report, ok=False, sentence=faults[0]) if report.ok and faults else report), count


def list_audit(session: Session, limit: int = SHOWN, event: str = "*") -> None:
    """List the newest links of the audit chain; the document holds every fact and hash of them.

    Args:
        session: prints them.
        limit: so many.
        event: only events that match; * and ? as in file names.
    """
    chain = session.existing_ledger.audit
    links, events = tuple(_link(row) for row in chain.rows(limit, event=event)), chain.events()
    if links:
        with session.out.through_pager():
            session.out.table(AUDIT_COLUMNS, [_audit_cells(link) for link in links])
    elif not events:
        session.out.line("the audit chain has no row yet")
    else:
        session.out.line(f"no row of the audit chain has an event like {event!r}; it has {', '.join(events)}")
    session.out.document(AuditLinks(audit=links, events=tuple(events)))


def _move_cells(row: MoveRow, measured: OutcomeRow | None) -> tuple[str, ...]:
    return (
        str(row.id),
        str(row.proposal_id),
        row.move.what,
        row.move.from_space,
        row.move.to_space,
        format_bytes(row.move.size_bytes),
        state_text(row.state),
        format_when(row.updated_at),
        row.reason,
        measured.outcome.judged if measured else "",
    )


def _move_done(row: MoveRow, measured: OutcomeRow | None, steps: Sequence[StepRow]) -> MoveDone:
    return MoveDone(
        id=row.id,
        proposal=row.proposal_id,
        ordinal=row.move.ordinal,
        unit=row.move.key,
        from_space=row.move.from_space,
        to_space=row.move.to_space,
        bytes=row.move.size_bytes,
        state=row.state,
        placed=row.state in IN_PLACE,
        reason=row.reason,
        at=row.updated_at,
        attempts=row.attempts,
        approved=row.approved,
        wait_saved_per_hour_seconds=row.move.wait_saved_per_hour,
        stall_seconds=row.move.stall_seconds,
        stalled_seconds=stalled_seconds(row.move, steps),
        statements=tuple(
            StatementSent(
                ordinal=step.ordinal,
                sql=step.sql,
                state=step.state,
                detail=step.detail or None,
                intended_at=step.intended_at,
                ended_at=step.ended_at,
            )
            for step in steps
        ),
        outcome=None if measured is None else outcome_shown(measured.outcome),
    )


def _outcome_cells(row: OutcomeRow) -> tuple[str, ...]:
    outcome = row.outcome
    waits = outcome.wait_per_transaction_before, outcome.wait_per_transaction_after
    rates = outcome.transactions_per_second_before, outcome.transactions_per_second_after
    return (
        str(row.proposal_id),
        outcome.judged,
        _change(-outcome.predicted_saved_ratio),
        _change(outcome.change) or "-",
        *(format_seconds(wait) if outcome.measured else "-" for wait in waits),
        *(_rate(rate) if outcome.measured else "-" for rate in rates),
        _rate(outcome.predicted_transactions_per_second),
        format_when(row.at),
    )


def _outcome_lines(rows: Sequence[OutcomeRow], texts: Mapping[str, str]) -> Iterator[str]:
    """What became of each proposal, in words."""
    for row in rows:
        yield f"proposal {row.proposal_id}: {row.outcome.sentence}"
        if row.outcome.rests_on:
            yield f"proposal {row.proposal_id}: rests on {row.outcome.rests_on}"
        if said := row.outcome.throughput_sentence:
            yield f"proposal {row.proposal_id}: {said}"
        for said in statement_lines(row.outcome, texts):
            yield f"proposal {row.proposal_id}: {said}"


def _awaited_line(each: OutcomeAwaited) -> str:
    settled, measured = format_when(each.settled_at), format_when(each.measured_at)
    return f"proposal {each.proposal}: its moves settle until {settled} and are first judged at {measured}"


def _outcomes_awaited(session: Session) -> tuple[OutcomeAwaited, ...]:
    """Proposals whose moves have arrived and are not measured yet, and when they will be at the earliest."""
    settle = timedelta(seconds=session.database.settle_seconds)
    rows = session.ledger.moves.rows(database=session.database.name, states=AWAITING_OUTCOME)
    arrived: dict[int, datetime] = {}
    for row in rows:
        arrived[row.proposal_id] = max(row.updated_at, arrived.get(row.proposal_id, row.updated_at))
    return tuple(
        OutcomeAwaited(proposal=number, settled_at=at + settle, measured_at=at + 2 * settle)
        for number, at in arrived.items()
    )


def _rate(rate: float) -> str:
    return "-" if math.isnan(rate) else format_rate(rate)


def _change(ratio: float) -> str:
    """A change of the wait with its sign; "" where nothing was predicted."""
    if math.isnan(ratio):
        return ""
    return f"{'+' if ratio > 0 else ''}{format_ratio(ratio or 0.0)}"


def _outcome_of(row: OutcomeRow) -> OutcomeOfProposal:
    return extend(
        OutcomeOfProposal,
        outcome_shown(row.outcome),
        proposal=row.proposal_id,
        measured_at=row.at,
        as_predicted=row.outcome.as_predicted,
        plain_saved_ratio=row.outcome.plain_saved_ratio,
        throughput_as_predicted=row.outcome.throughput_as_predicted,
    )


def _audit_cells(link: AuditLink) -> tuple[str, ...]:
    return (str(link.id), format_when(link.at), link.actor, link.event, link.subject, facts_text(link.facts))


def facts_text(facts: Mapping[str, Any]) -> str:
    """The facts of a link for people: who and why first, digests short, nothing that is empty.

    >>> facts_text({"who": "eva", "origin": "db1 pid 7", "digest": "0123456789abcdef", "moves": [1, 2], "reason": ""})
    'by eva from db1 pid 7; digest 0123456789ab; moves 1, 2'
    """
    if facts.get("sentence"):  # of an outcome: its figures are for programs
        return str(facts["sentence"])
    present = {name: value for name, value in facts.items() if value not in ("", None, [], {})}
    who, origin, reason = (present.pop(name, "") for name in ("who", "origin", "reason"))
    by = f"by {who} from {origin}" if origin else f"by {who}"
    others = [f"{name} {_fact(name, value)}" for name, value in present.items()]
    return "; ".join([*([by] if who else []), *([str(reason)] if reason else []), *others])


def _fact(name: str, value: Any) -> str:  # noqa: ANN401  # JSON values
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return short_digest(str(value)) if name == "digest" else str(value)


def _link(row: AuditRow) -> AuditLink:
    return AuditLink(
        id=row.id,
        at=row.at,
        actor=row.actor,
        event=row.event,
        subject=row.subject,
        facts=row.facts,
        previous=row.previous,
        hash=row.hash,
    )
