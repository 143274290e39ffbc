"""Can one table be split, and by which statements? ``split``."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from agent.answers.kind import extend
from agent.answers.plans import SplitByHand, SplitPlanned, TableSplit
from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.planning.answer import print_by_hand, print_next, proposal_stored, work_by_hand
from agent.cli.planning.plan import ProposeOption
from agent.cli.session import Session
from agent.explanation.split_border import SeenBorder, border_seen, seen_border
from agent.ledger import ProposalRow
from agent.planning.splitting import Splitting
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import plan_shown, print_moves, print_statements
from connectors.containers import ByHand
from connectors.formatting import format_seconds
from connectors.model import NoRoute
from connectors.splitting import Border


@command(Group.LOOK, "hotplace split public.orders --column made_at --border '2030-02-01'")
def split(
    session: Session,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Key of a table, as `hotplace units` has it.")],
    column: Annotated[
        str | None, typer.Option(help="By the values of this column; default: as looks found it.")
    ] = None,
    border: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="Rows from this value on belong to the new part; default: as looks found it."
        ),
    ] = None,
    to_space: Annotated[
        str | None, typer.Option("--to", metavar="SPACE", help="Where they are born; default: on the fastest tier.")
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="Of a split table: end its open part at --border, make the next behind it.")
    ] = False,
    propose: ProposeOption = False,
) -> None:
    """Split a table into a cold part that stays and one where new rows are born, with the exact statements."""
    seen = None if close or (column and border) else _find_seen(session, unit, column, border)
    asked = Border(column=str(column), value=str(border)) if seen is None else seen.border
    if close:
        _check_closing(column, border)
    watch = session.watch(asks_mover=True)
    try:
        found = watch.close_part(unit, asked.value, to_space) if close else watch.split(unit, asked, to_space)
        if isinstance(found.answer, NoRoute):
            what = f"cannot be closed at {asked.value}" if close else f"cannot be split along {asked.column}"
            raise CommandError(
                f"{unit} {what}: {found.answer.sentence}",
                code=ExitCode.REFUSED,
                advice=_advice(unit, seen),
            )
        number = watch.offers.store(found.proposal) if propose else None
    finally:
        watch.close(save=False)
    stored = None if number is None else session.ledger.proposals.row(number)
    for sentence in () if seen is None else seen.sentences:
        session.out.line(sentence)
    _print(session.out, found, stored, propose=propose)
    session.out.document(_answer(session, found, seen, stored, propose=propose))


def _check_closing(column: str | None, border: str | None) -> None:
    """Whether it is said where the open part ends, and no more.

    Raises:
        CommandError: it is not.
    """
    if border is None or column is not None:
        advice = "Give --close with a --border ahead of the newest row; the column is that of the split."
        raise CommandError("a part is closed at a --border, by no --column", code=ExitCode.USAGE, advice=advice)


def _find_seen(session: Session, unit: str, column: str | None, border: str | None) -> SeenBorder:
    """The border that looks found, where none was given.

    Raises:
        CommandError: there is none, half of one was given, or it is one of another column.
    """
    if border is not None:
        raise CommandError("--border is a value of a column", code=ExitCode.USAGE, advice="Give --column as well.")
    seen = seen_border(session.ledger, session.database, unit)
    if isinstance(seen, str):
        advice = "hotplace split UNIT --column NAME --border VALUE splits it where you say."
        raise CommandError(f"no border of {unit} is known: {seen}", code=ExitCode.REFUSED, advice=advice)
    if column not in (None, seen.border.column):
        raise CommandError(
            f"looks found a border of {seen.border.column}, not of {column}",
            code=ExitCode.REFUSED,
            advice=f"Give the --border of {column}, or no --column.",
        )
    return seen


def _advice(unit: str, seen: SeenBorder | None) -> str:
    if seen is None:
        return f"hotplace explain {unit} says where its reads go."
    command = f"hotplace split {shlex.quote(unit)} --column {shlex.quote(seen.border.column)} --border VALUE"
    return (
        f"looks found {seen.border.column} >= {seen.border.value} as its hot part. Hot rows age into a part that "
        f"begins later: `{command}` with a value ahead of the newest row ({seen.newest} when it was looked at)."
    )


def _print(out: Output, found: Splitting, stored: ProposalRow | None, *, propose: bool) -> None:
    if found.proposal is not None:
        (move,) = found.proposal.moves
        out.heading(f"the plan ({move.reason})")
        out.line(move.sentence)
        out.facts([("moving rows takes" if move.size_bytes else "reading it takes", format_seconds(move.copy_seconds))])
        print_moves(out, found.proposal.moves)
        print_statements(out, found.proposal.moves)
        print_next(out, found.proposal, stored, propose=propose)
    elif isinstance(found.answer, ByHand):
        print_by_hand(out, f"{found.key} is split by hand", found.answer)


def _answer(
    session: Session, found: Splitting, seen: SeenBorder | None, stored: ProposalRow | None, *, propose: bool
) -> SplitPlanned | SplitByHand:
    split = TableSplit(
        database=session.database.name,
        dry_run=not propose,
        unit=found.key,
        column=found.border.column,
        border=found.border.value,
        seen=None if seen is None else border_seen(seen.found, seen.wander),
        space=found.to_space,
    )
    if found.proposal is None:
        return extend(SplitByHand, split, by_hand=work_by_hand(found.answer))
    return extend(SplitPlanned, split, plan_shown(found.proposal), proposal=proposal_stored(stored))
