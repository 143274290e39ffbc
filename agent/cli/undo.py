"""Can it be taken back? ``undo``."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.proposals import print_proposal
from agent.cli.session import Session, actor
from agent.ledger.rows import MoveRow
from agent.model.answers.kind import extend
from agent.model.answers.plans import UndoProposed
from agent.model.states import GOES_BACK, UNDOABLE, MoveState
from agent.planning.undo import propose_undo
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.wording import plan_shown, short_digest
from policies.model.moves import MoveReason

MoveIds = Annotated[
    list[int] | None, typer.Argument(min=1, metavar="[MOVE]...", help="Numbers that `hotplace history` shows.")
]


@command(HelpGroup.DECIDE, "hotplace undo 12")
def undo(
    session: Session,
    moves: MoveIds = None,
    proposal: Annotated[
        int | None, typer.Option(min=1, metavar="ID", help="Every placed move of this proposal.")
    ] = None,
) -> None:
    """Propose to bring moved units back to where they were; runs only once it is approved."""
    undo_moves(session, _rows(session, moves or [], proposal))


def undo_moves(session: Session, rows: list[MoveRow]) -> None:
    """Propose to take moves back and print the proposal.

    Raises:
        CannotUndo: one of them does not go back.
        ConnectorError: the engine did not answer.
    """
    watch = session.watch()
    try:
        number = propose_undo(
            rows, session.database, watch.connector, session.ledger, session.clock.now(), asked_by=actor().who
        )
    finally:
        watch.close(save=False)
    stored = session.ledger.proposals.row(number)
    print_proposal(session.out, stored, session.ledger.moves.as_they_are(proposal_id=number))
    taken = {move.undoes for move in stored.proposal.moves}
    for row in rows:
        if row.id not in taken:
            session.out.line(f"left out: move {row.id} ({row.move.key}): {_why_left_out(row)}")
    rows = [row for row in rows if row.id in taken]
    if left := _left_without_use(session, rows):
        what = ", ".join(f"{row.id} ({row.move.key})" for row in left)
        session.out.line(
            f"note: what made room for it stays where it went: {what}; "
            f"hotplace undo --proposal {left[0].proposal_id} takes all of it back",
            style="bold",
        )
    session.out.line(f"next: hotplace approve {number} --digest {short_digest(stored.digest)}")
    session.out.document(
        extend(
            UndoProposed,
            plan_shown(stored.proposal, number=number),
            proposal=number,
            digest=stored.digest,
            undoes=tuple(row.id for row in rows),
        )
    )


def _rows(session: Session, numbers: list[int], proposal: int | None) -> list[MoveRow]:
    """The moves that are meant.

    Raises:
        CommandError: none or both ways of naming them were used.
    """
    if bool(numbers) == (proposal is not None):
        raise CommandError(
            "say which moves: their numbers, or --proposal ID",
            code=ExitCode.USAGE,
            advice="`hotplace history` shows the numbers.",
        )
    session.ledger.proposals.expire_due()  # an undo that was not decided in time takes nothing back any more
    if proposal is None:
        return [session.ledger.moves.row(number) for number in dict.fromkeys(numbers)]
    return placed_moves(session, proposal)


def placed_moves(session: Session, proposal: int) -> list[MoveRow]:
    """The moves of a proposal that can be taken back, with those that go back already; none without the former.

    Raises:
        NotFound: there is no such proposal.
    """
    session.ledger.proposals.row(proposal)  # raises where the number is wrong
    rows = session.ledger.moves.rows(proposal_id=proposal)
    # Those that go back without it are only named, beside what is left to take back.
    if not any(row.state in UNDOABLE for row in rows):
        return []
    return [row for row in rows if row.state in UNDOABLE | GOES_BACK]


def _why_left_out(row: MoveRow) -> str:
    """Why the proposal does not take a move back."""
    if row.state is MoveState.UNDONE:
        return "it was undone"
    if row.state is MoveState.UNDO_PROPOSED:
        return "its undo is under way; hotplace proposals shows it"
    return f"it is back in {row.move.from_space} already"


def _left_without_use(session: Session, rows: list[MoveRow]) -> list[MoveRow]:
    """Moves that made room for these and would stay: without what they gave way to, they only cost."""
    groups = {(row.proposal_id, row.move.group) for row in rows if row.move.group is not None}
    chosen = {row.id for row in rows}
    return [
        row
        for proposal in {number for number, _ in groups}
        for row in session.ledger.moves.rows(proposal_id=proposal, states=UNDOABLE)
        if row.id not in chosen and (proposal, row.move.group) in groups and row.move.reason == MoveReason.MAKE_ROOM
    ]
