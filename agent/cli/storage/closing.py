"""Which spaces are closed to arrivals? ``close``, ``reopen``; ``status`` lists them."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from agent.answers.steering import SpaceClosed
from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.deciding.approve import Reason
from agent.cli.session import Session, actor
from agent.ledger.state_names import STATUS
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode

SpaceName = Annotated[str, typer.Argument(metavar="SPACE", help="A space as `hotplace status` lists it.")]


@command(Group.STEER, "hotplace close old_ssd --reason 'to be removed'")
def close(session: Session, space: SpaceName, reason: Reason = "") -> None:
    """Close a space to arrivals: no plan and no move brings anything to it until it is reopened."""
    _check_known(session, space)
    database = session.database.name
    changed = session.ledger.arrivals.close(database, space, who=actor().who, reason=reason)
    session.out.line(f"{space} is closed to arrivals{'' if changed else ' already'}")
    session.out.document(SpaceClosed(database=database, space=space, closed=True, changed=changed))


@command(Group.STEER, "hotplace reopen old_ssd")
def reopen(session: Session, space: SpaceName, reason: Reason = "") -> None:
    """Open a space again that was closed by hand or by a drain."""
    database = session.database.name
    if not session.ledger.arrivals.open(database, space, who=actor().who, reason=reason):
        closed = ", ".join(row.space for row in session.ledger.arrivals.rows(database)) or "none"
        raise CommandError(f"{space!r} is not closed", code=ExitCode.NOT_FOUND, advice=f"Closed to arrivals: {closed}.")
    session.out.line(f"{space} is open again; the next plan may use it")
    session.out.document(SpaceClosed(database=database, space=space, closed=False, changed=True))


def _check_known(session: Session, space: str) -> None:
    """Refuse a name that the last sample does not hold; before the first sample every name is taken.

    Raises:
        CommandError: there is no such space; the nearest is named.
    """
    stored = session.ledger.state.load_document(session.database.name, STATUS)
    known = [room["space"] for room in stored[1].get("spaces", [])] if stored else []
    if known and space not in known:
        near = difflib.get_close_matches(space, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
        raise CommandError(f"no space is named {space!r}", code=ExitCode.NOT_FOUND, advice=hint)
