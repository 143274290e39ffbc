"""What is the state of all databases, and what shall be done about them? ``fleet``."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import Group
from agent.cli.session import Session
from agent.fleet.standing import Heartbeat
from agent.model.states import ProposalState

fleet = typer.Typer(no_args_is_help=True, epilog="Example: hotplace fleet status")
app.add_typer(
    fleet,
    name="fleet",
    help="All databases of the ledger, this machine's and others: what needs a person, what is worth deciding.",
    rich_help_panel=Group.LOOK,
)
Engine = Annotated[str, typer.Option("--engine", metavar="ENGINE", help="Only databases of this engine.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Show so many at most; default: what a screen holds.")
]
Since = Annotated[str, typer.Option("--since", metavar="DURATION", help="How far back.")]


@command(Group.LOOK, "hotplace fleet status --database 'shop-*'", of=fleet)
def status(
    session: Session,
    engine: Engine = "",
    state: Annotated[Heartbeat | None, typer.Option("--state", help="Only those whose agent is so.")] = None,
    limit: Limit = None,
) -> None:
    """List databases, what needs a person first; --database takes a pattern, here and in all of `fleet`."""
    from agent.cli.fleet.status import show_status

    show_status(session, engine, state, limit)


@command(Group.LOOK, "hotplace fleet proposals --engine postgresql", of=fleet)
def proposals(
    session: Session,
    engine: Engine = "",
    state: Annotated[list[ProposalState] | None, typer.Option("--state", help="Only these; repeat for more.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are decided and done.")] = False,
    limit: Limit = None,
) -> None:
    """List what waits for a decision in any database, what saves most first."""
    from agent.cli.fleet.proposals import show_proposals

    show_proposals(session, engine, state or (), everything=everything, limit=limit)


@command(Group.LOOK, "hotplace fleet outcomes --since 7d", of=fleet)
def outcomes(session: Session, engine: Engine = "", since: Since = "30d", limit: Limit = None) -> None:
    """List what was measured after moves in any database, what hurt first, then what saved most."""
    from agent.cli.fleet.outcomes import show_outcomes

    show_outcomes(session, engine, since, limit)


@command(Group.LOOK, "hotplace fleet report --since 90d", of=fleet)
def report(session: Session, engine: Engine = "", since: Since = "30d", limit: Limit = None) -> None:
    """One page of what was proposed, approved, moved and measured in all databases; asks the ledger alone."""
    from agent.cli.fleet.report import show_report

    show_report(session, engine, since, limit)
