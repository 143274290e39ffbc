"""What is proposed, and what exactly would it send? ``proposals`` and ``show``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.looking.under_way import under_way_document, under_way_of
from agent.cli.options import Columns, parse_columns
from agent.cli.session import Session
from agent.explanation.conflicts import Conflict, conflicts_document, conflicts_of, with_proposal
from agent.ledger import MoveRow, ProposalRow
from agent.model.states import OPEN_PROPOSALS, WITHDRAWN
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.terminal.throughput import forecast_document
from agent.terminal.wording import (
    expiry,
    move_document,
    move_sql,
    print_moves,
    print_statements,
    print_value,
    proposal_document,
    question,
    short_digest,
)
from connectors.formatting import format_bytes, format_sessions

COLUMNS = (
    Column("id", number=True), Column("digest", leaves=2), Column("state"), Column("for", leaves=4),
    Column("moves", number=True), Column("size", number=True), Column("saves", number=True),
    Column("proposed", leaves=5), Column("expires", leaves=1), Column("why", leaves=3),
)  # fmt: skip

ProposalId = Annotated[int, typer.Argument(min=1, metavar="ID", help="Number that `hotplace proposals` shows.")]


@command(Group.DECIDE, "hotplace proposals --all")
def proposals(
    session: Session,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are decided and done.")] = False,
    columns: Columns = "",
) -> None:
    """List what waits for a decision or is being carried out."""
    titles = parse_columns(columns, COLUMNS)
    cells, documents = [], []
    for row in session.ledger.proposals.each(
        database=session.database.name, states=None if everything else OPEN_PROPOSALS
    ):
        cells.append(_cells(row))  # and not the row: thousands of proposals with all their statements are much
        documents.append(_head(row))
    if cells:
        with session.out.through_pager():
            session.out.table(COLUMNS, cells, titles)
            session.out.line("saves: sessions that no longer wait, on average")
    else:
        session.out.line("no proposal" if everything else "no open proposal; --all shows the others")
    conflicts = conflicts_of(session.ledger, session.database.name, session.clock.now())
    print_conflicts(session.out, conflicts)
    session.out.document(
        {
            "database": session.database.name,
            "proposals": documents,
            "conflicts": [{"proposals": each.numbers, "why": each.why} for each in conflicts],
        }
    )


@command(Group.DECIDE, "hotplace show 3 --sql")
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
    moves = session.ledger.moves.rows(proposal_id=number)
    if sql and not session.out.as_json:
        scripts = [move_sql(move.move, in_full=everything) for move in moves if move.state not in WITHDRAWN]
        session.out.verbatim("\n".join(scripts))
        return
    conflicts = conflicts_of(session.ledger, row.proposal.database, session.clock.now())
    database = next((each for each in session.config.databases if each.name == row.proposal.database), None)
    under_way = None if database is None else under_way_of(session.ledger, database, session.clock.now())
    with session.out.through_pager():
        print_proposal(session.out, row, moves)
        print_conflicts(session.out, with_proposal(conflicts, number))
        for move in moves:
            if under_way is not None and (said := under_way.now(move)):
                session.out.line(f"move {move.move.ordinal} (number {move.id}): {said}")
        print_statements(session.out, [move.move for move in moves], in_full=everything)
    now = {} if under_way is None else under_way_document(under_way)
    stands_in_its_way = {"conflicts": conflicts_document(conflicts, number)}
    session.out.document({**_document(row, moves), **stands_in_its_way, **now})


def print_conflicts(out: Output, conflicts: Iterable[Conflict]) -> None:
    """Which open proposals stand in each other's way, and why."""
    for conflict in conflicts:
        out.line(conflict.sentence, style="bold")


def print_proposal(out: Output, row: ProposalRow, moves: Sequence[MoveRow]) -> None:
    """The proposal in one screen: state, value, moves with their locks."""
    out.line(f"proposal {row.id} for {row.proposal.database}", style="bold")
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
    print_value(out, row.proposal)
    out.line()
    print_moves(out, [move.move for move in moves])
    apart = [move for move in moves if move.state.value != row.state.value]
    for (state, reason), alike in groupby(apart, key=lambda move: (move.state, move.reason)):
        numbers = [move.move.ordinal for move in alike]
        out.line(f"{_moves_text(numbers)} {state}: {reason}")


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


def _head(row: ProposalRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "digest": row.digest,
        "state": row.state,
        "reason": row.reason or None,
        "purpose": row.proposal.purpose,
        "asked_by": row.proposal.asked_by or None,
        "decided_at": row.decided_at,
        "decided_by": row.decided_by or None,
        "decided_from": row.decided_from or None,
        "moves": len(row.proposal.moves),
        "bytes": row.proposal.bytes_moved,
        "wait_saved_per_hour_seconds": row.proposal.wait_saved_per_hour,
        "forecast": forecast_document(row.proposal.forecast),
        "created_at": row.proposal.created_at,
        "expires_at": row.proposal.expires_at,
    }


def _document(row: ProposalRow, moves: Sequence[MoveRow]) -> dict[str, Any]:
    return {
        "database": row.proposal.database,
        **_head(row),
        **proposal_document(row.proposal),
        "moves": [
            {"id": move.id, "state": move.state, "state_reason": move.reason, **move_document(move.move)}
            for move in moves
        ],
    }
