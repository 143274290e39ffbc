"""Where is the record, and who may do what with it? ``ledger grants``, ``move``, ``forget``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import HelpGroup
from agent.cli.options import Reason
from agent.cli.session import Session, actor
from agent.model.answers.setup import ChainMoved, DatabaseForgotten, Grants, LedgerMoved, TableMoved
from agent.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from agent.config.models import LedgerConfig
    from agent.ledger.store.move import MovedLedger, MovedTable

ledger = typer.Typer(no_args_is_help=True, epilog="Example: hotplace ledger grants > grants.sql")
app.add_typer(
    ledger,
    name="ledger",
    help="A ledger that several agents share on PostgreSQL: its roles, and the way there.",
    rich_help_panel=HelpGroup.SET_UP,
)


@command(HelpGroup.SET_UP, "hotplace ledger grants --team sales=shop,crm --team hr=pay > grants.sql", of=ledger)
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
    owned = {name: tuple(databases) for name, databases in teams.items()}
    session.out.document(Grants(schema=server.schema_name, teams=owned, script=script))


@command(HelpGroup.SET_UP, "hotplace ledger forget crm --reason 'shut down in May'", of=ledger)
def forget(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="DATABASE", help="As `hotplace status --all` lists it.")],
    reason: Reason = "",
) -> None:
    """Leave a retired database out of all lists of what is now; its history and the audit chain stay."""
    who = actor()
    session.existing_ledger.overview.forget(name, who=who.who, origin=who.origin, reason=reason)
    session.out.line(f"{name} is left out of lists from now on, until an agent is heard of that watches it")
    if any(each.name == name for each in session.config.databases):
        session.out.line(f"next: take it out of databases in {session.config_path}, and reload the service")
    session.out.document(DatabaseForgotten(database=name))


@command(HelpGroup.SET_UP, "hotplace ledger move --to /etc/hotplace/shared.yaml", of=ledger)
def move(
    session: Session,
    to: Annotated[Path, typer.Option(metavar="CONFIG", help="Configuration whose ledger is on the server.")],
) -> None:
    """Move the ledger from its file to a server, under the same numbers; broken off, it goes on when run again."""
    from agent.config.files import load

    target = load(to).ledger
    if session.config.ledger.postgresql is not None or target.postgresql is None:
        raise CommandError(
            "a ledger moves from a file to a server, and no other way",
            advice="--config names the file (ledger.path), --to a configuration with ledger.postgresql.",
            code=ExitCode.REFUSED,
        )
    moved = _move(session, target)
    if not moved.tables:
        session.out.line("it was moved there before; nothing was left to do")
    session.out.line(f"the audit chain fits on both sides: {moved.audit_rows} rows, head {moved.head}")
    session.out.line("samples stay on this machine, next to the anchors; the server has their hours")
    session.out.line(f"{session.config.ledger.path} can be read and no longer written")
    session.out.line(f"next: let each hotplace use {to}, then: hotplace --config {to} ledger grants > grants.sql")
    session.out.document(
        LedgerMoved(
            from_=str(session.config.ledger.path),
            to=target.postgresql.name,
            audit=ChainMoved(rows=moved.audit_rows, head=moved.head),
            tables=tuple(_moved(each) for each in moved.tables),
        )
    )


def _move(session: Session, target: LedgerConfig) -> MovedLedger:
    from agent.ledger.chain.audit import AuditChain
    from agent.ledger.file.database import FileDatabase
    from agent.ledger.ledger import default_actor
    from agent.ledger.server.database import ServerDatabase
    from agent.ledger.store.move import LedgerMove
    from agent.ledger.store.opening import BUSY_SECONDS, anchor_file_of, open_database, own_samples

    source = session.config.ledger
    assert target.postgresql is not None, "asked before"
    before, after = (anchor_file_of(each.place, each.anchors) for each in (source, target))
    database, _ = open_database(source.place, before, create=False, busy_seconds=BUSY_SECONDS)
    with closing(database), closing(ServerDatabase(target.postgresql, busy_seconds=BUSY_SECONDS)) as server:
        assert isinstance(database, FileDatabase), "its place is a file"
        chains = (
            AuditChain(database, session.clock, default_actor(), before),
            AuditChain(server, session.clock, default_actor(), after),
        )
        with closing(own_samples(after)) as own:
            return LedgerMove(database, server, own, chains, lambda table: _tell(session, table)).run([before, after])


def _tell(session: Session, table: MovedTable) -> None:
    there = "" if table.written == table.rows else f", {table.rows - table.written} of them were there"
    session.out.line(f"{table.name}: {table.rows} rows{there}")


def _moved(table: MovedTable) -> TableMoved:
    return TableMoved(name=table.name, rows=table.rows, written=table.written, sha256=table.sha256)


def _parse_teams(given: Sequence[str]) -> dict[str, list[str]]:
    """Databases by team."""
    teams: dict[str, list[str]] = {}
    for text in given:
        name, _, databases = text.partition("=")
        owned = [each.strip() for each in databases.split(",") if each.strip()]
        if not name.strip() or not owned:
            raise typer.BadParameter(f"{text!r} is not NAME=DATABASE,...", param_hint="--team")
        if not text.isprintable() or "$" in name:  # the script is read line by line, and has parts within dollars
            raise typer.BadParameter(f"{text!r}: printable characters, and no $ in a team", param_hint="--team")
        teams.setdefault(name.strip(), []).extend(owned)
    return teams
