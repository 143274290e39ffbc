"""The daemon, or one cycle of it: ``run``."""

from __future__ import annotations

import os
import time
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.garbage import collect_as_usual
from agent.cli.looking.status import move_document, print_moves, print_proposals, proposal_document
from agent.cli.session import Session
from agent.ledger.state_names import STATUS
from agent.logs import set_up_logs
from agent.model.states import MoveState, ProposalState
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.base import HotplaceError
from connectors.formatting import format_seconds

if TYPE_CHECKING:
    from agent.service.daemon import Daemon
    from agent.service.httpd import Pages
    from agent.web.site import Site


@command(Group.SET_UP, "hotplace run --once")
def run(
    session: Session,
    once: Annotated[
        bool, typer.Option("--once", help="Two samples, a plan, whatever is approved, then end; for cron and tests.")
    ] = False,
    standby: Annotated[
        bool, typer.Option("--standby", help="Wait for databases on which other agents of the same ledger act.")
    ] = False,
) -> ExitCode:
    """Watch, propose and carry out what is approved, until SIGTERM; SIGHUP reads the configuration again."""
    config = session.config
    set_up_logs(as_json=config.log.format == "json" or session.options.as_json, level=config.log.level)
    if standby and (once or not session.ledger.is_shared):
        raise CommandError(
            "a standby goes on and waits for others, so it has no --once, and its ledger is on PostgreSQL",
            code=ExitCode.USAGE,
            advice="Leave --once out; ledger.postgresql in the configuration names a ledger that agents share.",
        )
    if once:
        return _run_once(session)
    if session.options.database:
        raise CommandError(
            "the daemon watches every configured database",
            code=ExitCode.USAGE,
            advice="Leave --database out, use --once with it, or give each database a configuration of its own.",
        )
    from agent.service.daemon import Daemon
    from agent.service.last_resort import leave_at_once
    from agent.service.memory import return_large_blocks

    collect_as_usual()
    return_large_blocks()
    daemon = Daemon(config, session.config_path, session.ledger, session.clock, standby=standby)
    daemon.pages = make_pages(daemon, session)
    daemon.run()
    if daemon.has_left:
        leave_at_once()
    return ExitCode.OK


def make_pages(daemon: Daemon, session: Session) -> Pages:
    """What a daemon serves besides metrics and health; made with the first request, since most never come."""
    metrics = session.config.metrics
    guarded = metrics.basic_auth is not None or (metrics.tls is not None and metrics.tls.client_ca is not None)

    @cache
    def site() -> Site:
        from agent.cli.serving import ServedDocuments
        from agent.web.site import Site

        documents = ServedDocuments(lambda: daemon.config, session.ledger, session.clock)
        return Site(documents, daemon.snapshots, guarded=guarded, monotonic=time.monotonic)

    return lambda target, host: site().answer(target, host)


def _run_once(session: Session) -> ExitCode:
    """One cycle of each database; failed moves show in the exit code."""
    from agent.service.daemon import Daemon

    started = session.clock.now()
    if not session.out.as_json:
        periods = ", ".join(format_seconds(database.sample_seconds) for database in session.databases)
        session.out.note(f"takes two samples, {periods} apart, and plans")
    config = session.config.model_copy(update={"databases": session.databases})
    failure: HotplaceError | None = None
    try:
        Daemon(config, session.config_path, session.ledger, session.clock).run_once()
    except HotplaceError as error:
        failure = error
    documents = [_say_what_came(session, database.name, started) for database in session.databases]
    moves = (session.ledger.moves.rows(database=database.name, since=started) for database in session.databases)
    ended = [row for rows in moves for row in rows if row.approved]
    print_moves(session.out, ended)
    if failure is not None:
        raise failure
    session.out.document({"databases": documents, "moves": [move_document(row) for row in ended]})
    return ExitCode.MOVE_FAILED if any(row.state is MoveState.FAILED for row in ended) else ExitCode.OK


def _say_what_came(session: Session, database: str, started: datetime) -> dict[str, Any]:
    """What the cycle that began at ``started`` has brought one database, printed and as JSON values."""
    stored = session.ledger.state.load_document(database, STATUS)
    proposals = session.ledger.proposals.rows(database=database, states={ProposalState.PROPOSED})
    if stored is not None and stored[0] >= started and stored[1]["pid"] == os.getpid():  # else it was refused
        session.out.line(f"{database}: {stored[1]['last_cycle']}")
        print_proposals(session.out, proposals)
    return {
        "database": database,
        "status": stored[1] if stored else None,
        "proposals": [proposal_document(row) for row in proposals],
    }
