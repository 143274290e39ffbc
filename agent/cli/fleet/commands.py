"""What is the state of all databases, and what shall be done about them? ``fleet``."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import Group
from agent.cli.deciding.approve import AtMost, GainAtLeast, NotAfter, Reason, SignatureFile, Unasked
from agent.cli.session import Session
from agent.cli.setting_up.demo import SlowDisk
from agent.fleet.standing import Heartbeat
from agent.model.proposals import DIGEST_SHOWN
from agent.model.states import ProposalState
from agent.terminal.exit_codes import ExitCode

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
ListDigest = Annotated[
    str, typer.Argument(metavar="DIGEST", help="Of an approved list, as `fleet approve` printed it.")
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


@command(Group.LOOK, "hotplace fleet approve 3 7 9 --canary 3", of=fleet)
def approve(
    session: Session,
    numbers: Annotated[
        list[int], typer.Argument(min=1, metavar="ID...", help="Numbers that `hotplace fleet proposals` shows.")
    ],
    canary: Annotated[
        list[int] | None,
        typer.Option("--canary", metavar="ID", help="Goes first; the others begin if it did not hurt. Repeatable."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(help=f"Digest of the list that you looked at, {DIGEST_SHOWN} characters or more; asks nothing."),
    ] = None,
    yes: Unasked = False,
    signature: SignatureFile = None,
    at_most: AtMost = None,
    not_after: NotAfter = None,
    gain_at_least: GainAtLeast = None,
    reason: Reason = "",
) -> None:
    """Approve several proposals together, exactly as they are stored: all of them, or none.

    With approval: signed in the configuration it prints the one list that is to be signed, or takes in a signature.
    """
    from agent.cli.deciding.approve import conditions_of_options
    from agent.cli.fleet.approve import Asked, approve_list

    conditions = conditions_of_options(session, at_most, not_after, gain_at_least)
    asked = Asked(numbers=tuple(numbers), canaries=tuple(canary or ()), conditions=conditions, reason=reason)
    approve_list(session, asked, digest, signature, yes=yes)


@command(Group.LOOK, "hotplace fleet stop 1a2b3c4d5e6f --reason 'month end'", of=fleet)
def stop(
    session: Session,
    digest: ListDigest,
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
) -> None:
    """Cancel what has not begun of an approved list; a group that has begun is completed."""
    from agent.cli.fleet.approve import stop_list

    stop_list(session, digest, reason)


@command(Group.LOOK, "hotplace fleet sizing --more 100GB", of=fleet)
def sizing(
    session: Session,
    pool: Annotated[str, typer.Option("--pool", metavar="NAME", help="Only this pool of the configuration.")] = "",
    more: Annotated[
        str, typer.Option("--more", metavar="SIZE", help="Keep what each has, and share so much on top.")
    ] = "",
    limit: Limit = None,
) -> None:
    """Share each configured pool of fast storage where it saves most; without pools, where the next 100 GB belong."""
    from agent.cli.fleet.sizing import show_sizing

    show_sizing(session, pool, more, limit)


@command(Group.LOOK, "hotplace fleet metrics", of=fleet)
def metrics(session: Session) -> None:
    """Print figures of all databases in Prometheus's text format, for the text files of a node exporter."""
    from agent.cli.fleet.metrics import show_metrics

    show_metrics(session)


@command(Group.LOOK, "hotplace fleet demo --yes", of=fleet)
def demo(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Sign as both people without being asked.")] = False,
    slow_disk: SlowDisk = True,
) -> ExitCode:
    """Run three private databases with agents, a standby and two people, from an empty folder to the report."""
    from agent.cli.fleet.demo import show_demo

    return show_demo(session, yes=yes, slow_disk=slow_disk)
