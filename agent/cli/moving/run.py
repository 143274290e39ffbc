"""The daemon, or one cycle of it: ``run``."""

from __future__ import annotations

import os
import time
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from agent.answers.watching import CycleOfDatabase, CyclesRun
from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.daemon_state import daemon_status_of
from agent.cli.garbage import collect_as_usual
from agent.cli.looking.status import move_listed, open_proposal, print_moves, print_proposals
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
    daemon = Daemon(
        config, session.config_path, session.ledger, session.clock, standby=standby, json_logs=session.options.as_json
    )
    daemon.pages = make_pages(daemon, session)
    daemon.run()
    if daemon.has_left:
        leave_at_once()
    return ExitCode.OK


def make_pages(daemon: Daemon, session: Session) -> Pages:
    """What a daemon serves besides metrics and health; made with the first request, since most never come."""
    guarded = session.config.metrics.is_guarded

    @cache
    def site() -> Site:
        from agent.cli.serving import ServedDocuments
        from agent.web.site import Site

        documents = ServedDocuments(lambda: daemon.config, session.ledger, session.clock)
        return Site(documents, daemon.snapshots, guarded=guarded, monotonic=time.monotonic)

    return lambda target: site().answer(target)


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
    databases = tuple(_say_what_came(session, database.name, started) for database in session.databases)
    moves = (session.ledger.moves.rows(database=database.name, since=started) for database in session.databases)
    ended = tuple(move_listed(row) for rows in moves for row in rows if row.approved)
    print_moves(session.out, ended)
    if failure is not None:
        raise failure
    session.out.document(CyclesRun(databases=databases, moves=ended))
    return ExitCode.MOVE_FAILED if any(move.state is MoveState.FAILED for move in ended) else ExitCode.OK


def _say_what_came(session: Session, database: str, started: datetime) -> CycleOfDatabase:
    """What the cycle that began at ``started`` has brought one database, printed and as an answer."""
    stored = session.ledger.state.load_document(database, STATUS)
    status = None if stored is None else daemon_status_of(stored[1])
    rows = session.ledger.proposals.rows(database=database, states={ProposalState.PROPOSED})
    proposals = tuple(map(open_proposal, rows))
    if stored is not None and status is not None and stored[0] >= started and status.pid == os.getpid():
        session.out.line(f"{database}: {status.last_cycle}")  # else it was refused
        print_proposals(session.out, proposals)
    return CycleOfDatabase(database=database, status=status, proposals=proposals)
