"""Where is the record, and who may do what with it? ``ledger grants``: roles in the database of a shared ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import Group
from agent.cli.session import Session
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode

ledger = typer.Typer(no_args_is_help=True, epilog="Example: hotplace ledger grants > grants.sql")
app.add_typer(
    ledger,
    name="ledger",
    help="A ledger that several agents share on PostgreSQL: its roles.",
    rich_help_panel=Group.SET_UP,
)


@command(Group.SET_UP, "hotplace ledger grants --team sales=shop,crm --team hr=pay > grants.sql", of=ledger)
def grants(
    session: Session,
    team: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DATABASE,...",
            help="A role whose members see these databases only; without it, one that sees all.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the script by which a DBA divides a shared ledger: reader, approver and agent, rows by team."""
    from agent.ledger.server.roles import grants_script

    server = session.config.ledger.postgresql
    if server is None:
        raise CommandError(
            "the ledger is a file, which has no roles: who may write it may do all",
            advice="ledger.postgresql in the configuration names a server.",
            code=ExitCode.REFUSED,
        )
    teams = _parse_teams(team or [])
    script = grants_script(server.schema_name, teams)
    session.out.text(script)
    session.out.document({"schema": server.schema_name, "teams": teams, "script": script})


def _parse_teams(given: Sequence[str]) -> dict[str, list[str]]:
    """Databases by team."""
    teams: dict[str, list[str]] = {}
    for text in given:
        name, _, databases = text.partition("=")
        owned = [each.strip() for each in databases.split(",") if each.strip()]
        if not name.strip() or not owned:
            raise typer.BadParameter(f"{text!r} is not NAME=DATABASE,...", param_hint="--team")
        teams.setdefault(name.strip(), []).extend(owned)
    return teams
