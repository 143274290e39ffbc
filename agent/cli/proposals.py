"""What is proposed, and what exactly would it send? ``proposals`` and ``show``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import AllDatabases, Columns, Engine, Limit, parse_columns, refuse, refuse_without_all
from agent.cli.session import Session
from agent.cli.under_way import under_way_of, under_way_shown
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.answers.decisions import (
    ConflictFound,
    MoveProposed,
    ProposalHead,
    ProposalListed,
    ProposalShown,
    ProposalsListed,
    ProposalWatched,
)
from agent.model.answers.kind import extend, narrow
from agent.model.answers.plans import ValueOfPlan
from agent.model.states import OPEN_PROPOSALS, WITHDRAWN, ProposalState
from agent.model.units_of_measure import format_when
from agent.planning.conflicts import Conflict, conflicts_of, conflicts_with, with_proposal
from agent.terminal.columns import Column
from agent.terminal.deciding import print_details, print_summary, would_run
from agent.terminal.hand_script import hand_script
from agent.terminal.output import Output
from agent.terminal.wording import (
    expiry,
    forecast_shown,
    move_sql,
    plan_shown,
    planned_move,
    print_statements,
    question,
    short_digest,
)
from connectors.model.formatting import comment, format_bytes, format_sessions

COLUMNS = (
    Column("id", number=True), Column("digest", leaves=2), Column("state"), Column("for", leaves=4),
    Column("moves", number=True), Column("size", number=True), Column("saves", number=True),
    Column("proposed", leaves=5), Column("expires", leaves=1), Column("why", leaves=3),
)  # fmt: skip

NO_PROPOSAL = {True: "no proposal", False: "no open proposal; --past shows the others"}

SENT = "Sent by hotplace itself once it is approved, and shown to be read only:"

ProposalId = Annotated[int, typer.Argument(min=1, metavar="ID", help="Number that `hotplace proposals` shows.")]


@command(HelpGroup.DECIDE, "hotplace proposals --past", reads=True)
def proposals(
    session: Session,
    past: Annotated[bool, typer.Option("--past", help="Also those that are done, rejected or expired.")] = False,
    states: Annotated[
        list[ProposalState] | None, typer.Option("--state", help="Only those in this state; repeat for more.")
    ] = None,
    columns: Columns = "",
    everything: AllDatabases = False,
    engine: Engine = "",
    limit: Limit = None,
) -> None:
    """List what waits for a decision or is being carried out."""
    wanted = states or (None if past else OPEN_PROPOSALS)
    if everything:
        from agent.cli.fleet import show_proposals

        refuse({"--columns": columns}, "it takes no --all")
        show_proposals(session, engine, wanted, limit)
        return
    refuse_without_all({"--engine": engine, "--limit": limit})
    titles = parse_columns(columns, COLUMNS)
    cells, listed = [], []
    for row in session.ledger.proposals.each(database=session.database.name, states=wanted):
        cells.append(_cells(row))  # and not the row: thousands of proposals with all their statements are much
        listed.append(_listed(row))
    if cells:
        with session.out.through_pager():
            session.out.table(COLUMNS, cells, titles)
            session.out.line("saves: sessions that no longer wait, on average")
    else:
        session.out.line("no such proposal" if states else NO_PROPOSAL[past])
    conflicts = conflicts_of(session.ledger, session.database.name)
    print_conflicts(session.out, conflicts)
    session.out.document(
        ProposalsListed(
            database=session.database.name,
            proposals=tuple(listed),
            conflicts=tuple(ConflictFound(proposals=tuple(each.numbers), why=each.why) for each in conflicts),
        )
    )


@command(HelpGroup.DECIDE, "hotplace show 3 --sql", reads=True)
def show(
    session: Session,
    number: ProposalId,
    sql: Annotated[bool, typer.Option("--sql", help="Print the statements only, to be run by hand.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Write out each statement that an interrupted attempt may need.")
    ] = False,
) -> None:
    """Show a proposal: its value, its moves with their locks, and the statements."""
    row = session.ledger.proposals.row(number)
    moves = session.ledger.moves.as_they_are(proposal_id=number)
    if sql and not session.out.as_json:
        left = [move.move for move in moves if move.state not in WITHDRAWN]
        script = "\n".join(move_sql(move, in_full=everything) for move in left if not move.by_hand)
        if any(move.by_hand for move in left):  # one file, as `plan --script` writes it
            own = "".join(f"{comment(line)}\n" for line in script.splitlines())
            script = hand_script(row.proposal, left, number) + (f"\n{comment(SENT)}\n{own}" if own else "")
        session.out.verbatim(script)
        return
    conflicts = conflicts_of(session.ledger, row.proposal.database)
    database = next((each for each in session.config.databases if each.name == row.proposal.database), None)
    under_way = None if database is None else under_way_of(session.ledger, database, session.clock.now())
    with session.out.through_pager():
        print_proposal(session.out, row, moves)
        print_conflicts(session.out, with_proposal(conflicts, number))
        for move in moves:
            if under_way is not None and (said := under_way.now(move)):
                session.out.line(f"move {move.move.ordinal} (number {move.id}): {said}")
        print_statements(session.out, [move.move for move in moves], in_full=everything)
    shown = _shown(row, moves, conflicts)
    session.out.document(shown if under_way is None else extend(ProposalWatched, shown, under_way_shown(under_way)))


def print_conflicts(out: Output, conflicts: Iterable[Conflict]) -> None:
    """Which open proposals stand in each other's way, and why."""
    for conflict in conflicts:
        out.line(conflict.sentence, style="bold")


def print_proposal(out: Output, row: ProposalRow, moves: Sequence[MoveRow]) -> None:
    """The proposal: its summary, its state, and what else there is to know of its moves."""
    out.line(f"proposal {row.id} for {row.proposal.database}", style="bold")
    print_summary(out, row.proposal, would_run(moves), row.id)
    who = f"{row.decided_by} from {row.decided_from}"
    decided = f" at {format_when(row.decided_at)} by {who}" if row.decided_at else ""
    out.facts(
        [
            ("for", question(row.proposal)),
            ("state", f"{row.state}{decided}{f': {row.reason}' if row.reason else ''}"),
            ("digest", row.digest),
            ("proposed", f"{format_when(row.proposal.created_at)}, {expiry(row.proposal)}"),
        ]
    )
    print_details(out, row.proposal, [move.move for move in moves])
    apart = [move for move in moves if move.state.value != row.state.value]
    for (state, reason), alike in groupby(apart, key=lambda move: (move.state, move.reason)):
        numbers = [move.move.ordinal for move in alike]
        out.line(f"{_moves_text(numbers)} {state.words}: {reason}")


def _moves_text(numbers: Sequence[int]) -> str:
    """Which moves, with their verb: ``moves 1, 2 are``."""
    return f"move {numbers[0]} is" if len(numbers) == 1 else f"moves {', '.join(map(str, numbers))} are"


def _cells(row: ProposalRow) -> tuple[str, ...]:
    return (
        str(row.id),
        short_digest(row.digest),
        row.state.value,
        question(row.proposal),
        str(len(row.proposal.moves)),
        format_bytes(row.proposal.bytes_moved),
        format_sessions(row.proposal.wait_saved_per_hour),
        format_when(row.proposal.created_at),
        format_when(row.proposal.expires_at),
        row.reason,
    )


def _head(row: ProposalRow) -> ProposalHead:
    return ProposalHead(
        id=row.id,
        digest=row.digest,
        state=row.state,
        reason=row.reason or None,
        purpose=row.proposal.purpose,
        asked_by=row.proposal.asked_by or None,
        decided_at=row.decided_at,
        decided_by=row.decided_by or None,
        decided_from=row.decided_from or None,
        created_at=row.proposal.created_at,
        expires_at=row.proposal.expires_at,
    )


def _listed(row: ProposalRow) -> ProposalListed:
    return extend(
        ProposalListed,
        _head(row),
        moves=len(row.proposal.moves),
        bytes=row.proposal.bytes_moved,
        wait_saved_per_hour_seconds=row.proposal.wait_saved_per_hour,
        forecast=forecast_shown(row.proposal.forecast),
    )


def _shown(row: ProposalRow, moves: Sequence[MoveRow], conflicts: Iterable[Conflict]) -> ProposalShown:
    return extend(
        ProposalShown,
        _head(row),
        narrow(ValueOfPlan, plan_shown(row.proposal, would_run(moves), row.id)),
        database=row.proposal.database,
        moves=tuple(
            extend(MoveProposed, planned_move(move.move), id=move.id, state=move.state, state_reason=move.reason)
            for move in moves
        ),
        conflicts=conflicts_with(conflicts, row.id),
    )
