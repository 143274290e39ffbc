"""Can one table be split, and by which statements? ``split``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.planning.plan import ProposeOption, print_by_hand, print_next, stored_document
from agent.cli.session import Session
from agent.ledger import ProposalRow
from agent.planning.splitting import Splitting
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import print_moves, print_statements, proposal_document
from connectors.containers import ByHand
from connectors.formatting import format_seconds
from connectors.model import NoRoute
from connectors.splitting import Border


@command(Group.LOOK, "hotplace split public.orders --column made_at --border '2030-02-01'")
def split(
    session: Session,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Key of a table, as `hotplace units` has it.")],
    column: Annotated[str, typer.Option(help="By the values of this column.")],
    border: Annotated[str, typer.Option(metavar="VALUE", help="Rows from this value on belong to the new part.")],
    to_space: Annotated[
        str | None, typer.Option("--to", metavar="SPACE", help="Where they are born; default: on the fastest tier.")
    ] = None,
    propose: ProposeOption = False,
) -> None:
    """Split a table into a cold part that stays and one where new rows are born, with the exact statements."""
    watch = session.watch()
    try:
        found = watch.split(unit, Border(column=column, value=border), to_space)
        if isinstance(found.answer, NoRoute):
            raise CommandError(
                f"{unit} cannot be split along {column}: {found.answer.sentence}",
                code=ExitCode.REFUSED,
                advice=f"hotplace explain {unit} says where its reads go.",
            )
        number = watch.offer(found.proposal) if propose else None
    finally:
        watch.close(save=False)
    stored = None if number is None else session.ledger.proposals.row(number)
    _print(session.out, found, stored, propose=propose)
    session.out.document(_document(session, found, stored, propose=propose))


def _print(out: Output, found: Splitting, stored: ProposalRow | None, *, propose: bool) -> None:
    if found.proposal is not None:
        (move,) = found.proposal.moves
        out.heading("the plan (split)")
        out.line(move.sentence)
        out.facts([("moving rows takes" if move.size_bytes else "reading it takes", format_seconds(move.copy_seconds))])
        print_moves(out, found.proposal.moves)
        print_statements(out, found.proposal.moves)
        print_next(out, found.proposal, stored, propose=propose)
    elif isinstance(found.answer, ByHand):
        print_by_hand(out, f"{found.key} is split by hand", found.answer)


def _document(session: Session, found: Splitting, stored: ProposalRow | None, *, propose: bool) -> dict[str, Any]:
    by_hand = found.answer if isinstance(found.answer, ByHand) else None
    return {
        "database": session.database.name,
        "dry_run": not propose,
        "unit": found.key,
        "column": found.border.column,
        "border": found.border.value,
        "space": found.to_space,
        "proposal": stored_document(stored),
        "by_hand": None if by_hand is None else {"statements": list(by_hand.statements), "because": by_hand.because},
        **({"moves": []} if found.proposal is None else proposal_document(found.proposal)),
    }
