"""The daemon, or one cycle of it: ``run``; and the documents that it serves.

The documents that commands print with ``--json``, made within the daemon for clients that ask over HTTP.

The command's own function runs, with an output that keeps its document: what is served is what is printed.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import COMMANDS, HelpGroup, release_reloads
from agent.cli.main import collect_as_usual
from agent.cli.session import Options, Session
from agent.cli.status import move_listed, open_proposals, print_moves, print_proposals
from agent.config.models import Config
from agent.ledger.errors import AWAY
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.answers.watching import CycleOfDatabase, CyclesRun
from agent.model.logs import EventLog, set_up_logs
from agent.model.states import MoveState, ProposalState
from agent.service.heard import daemon_status_of
from agent.service.sending import NOT_TRUSTED_NEXT
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from connectors.kit.contract import Clock, HotplaceError
from connectors.model.formatting import format_seconds

if TYPE_CHECKING:
    from agent.pages.site import WebSite
    from agent.service.daemon import Daemon
    from agent.service.httpd import Pages


log = EventLog(__name__)
LOOK_FOR_LEDGER_SECONDS = 3.0  # between two tries to open a ledger whose server does not answer
# Of documents that an option of a command asks for: its module and the function that the option leads to.
FUNCTIONS = {"audit": ("history", "list_audit"), "pins": ("pins", "list_pins")}


class _Kept(Output):
    """Output that keeps the document and prints nothing."""

    def __init__(self) -> None:
        super().__init__(as_json=True, no_color=True)
        self.kept: object = {}

    def document(self, answer: object) -> None:
        """Keep it."""
        self.kept = answer

    def note(self, text: str) -> None:
        """Say nothing: no person is at a terminal."""


class ServedDocuments:
    """Runs commands that read. Each call has a session of its own; the ledger is the daemon's."""

    def __init__(self, config: Callable[[], Config], ledger: Ledger, clock: Clock) -> None:
        """Wire it up; ``config`` is the one in use now."""
        self._config = config
        self._ledger = ledger
        self._clock = clock

    def __call__(self, command: str, given: Mapping[str, str | int]) -> object:
        """One document.

        Args:
            command: a name of the table of commands, or of ``FUNCTIONS``.
            given: arguments of its function, and ``database``.

        Raises:
            HotplaceError: as the command itself would.
        """
        arguments = dict(given)
        database = arguments.pop("database", None)
        session = Session(Options(database=None if database is None else str(database), as_json=True))
        session.out = out = _Kept()
        session.within_daemon = True
        session.config, session.clock = self._config(), self._clock
        session.ledger = session.existing_ledger = self._ledger
        try:
            _function(command)(session, **arguments)
        except typer.BadParameter as error:
            raise CommandError(error.message, code=ExitCode.USAGE) from error
        return out.kept


def _function(document: str) -> Callable[..., object]:
    """The function that prints a document, without the common options of its command."""
    name, called = FUNCTIONS.get(document) or (COMMANDS[document].module, document)
    function: Callable[..., object] = inspect.unwrap(getattr(import_module(f"agent.cli.{name}"), called))
    return function


@command(HelpGroup.SET_UP, "hotplace run --once")
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
    if not config.databases:
        config.database()  # says what is missing
    if standby and (once or config.ledger.postgresql is None):
        raise CommandError(
            "a standby goes on and waits for others, so it has no --once, and its ledger is on PostgreSQL",
            code=ExitCode.USAGE,
            advice="Leave --once out; ledger.postgresql in the configuration names a ledger that agents share.",
        )
    if once:
        release_reloads()
        return _run_once(session)
    if session.options.database:
        raise CommandError(
            "the daemon watches every configured database",
            code=ExitCode.USAGE,
            advice="Leave --database out, use --once with it, or give each database a configuration of its own.",
        )
    if config.ledger.postgresql is not None:
        _wait_for_ledger(session)
    from agent.service.daemon import Daemon
    from agent.service.process import leave_at_once, return_large_blocks

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


def _wait_for_ledger(session: Session) -> None:
    """Open a ledger on a server, however long that takes to answer: after a reboot it may come up later than this.

    Without the ledger nothing can be sampled or sent yet. A service manager does not start again what has ended so, and
    an agent that runs waits for it all the same.

    Raises:
        LedgerError: it answers, and cannot be used.
    """
    said = ""
    while True:
        try:
            session.ledger.is_shared  # noqa: B018  # opened with the first look at it
        except AWAY as error:
            if str(error) != said:
                log.error("ledger away", error=str(error), advice=error.advice, waits="until it answers")
            said = str(error)
            session.clock.sleep(LOOK_FOR_LEDGER_SECONDS)
        else:
            if said:
                log.info("ledger answers")
            return


def make_pages(daemon: Daemon, session: Session) -> Pages:
    """What a daemon serves besides metrics and health; made with the first request, since most never come."""
    guarded = session.config.metrics.is_guarded

    @cache
    def site() -> WebSite:
        from agent.pages.pictures import last_day
        from agent.pages.site import WebSite

        documents = ServedDocuments(lambda: daemon.config, session.ledger, session.clock)
        return WebSite(
            documents, daemon.snapshots, guarded=guarded, monotonic=time.monotonic,
            history=lambda name, now: last_day(session.ledger, name, now),
        )  # fmt: skip

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
    refused = failure is not None  # and said below
    databases = tuple(_say_what_came(session, each.name, started, refused=refused) for each in session.databases)
    moves = (session.ledger.moves.rows(database=database.name, since=started) for database in session.databases)
    ended = tuple(move_listed(row) for rows in moves for row in rows if row.approved)
    print_moves(session.out, ended)
    if failure is not None:
        raise failure
    session.out.document(CyclesRun(databases=databases, moves=ended))
    return ExitCode.MOVE_FAILED if any(move.state is MoveState.FAILED for move in ended) else ExitCode.OK


def _say_what_came(session: Session, database: str, started: datetime, *, refused: bool) -> CycleOfDatabase:
    """What the cycle that began at ``started`` has brought one database, printed and as an answer."""
    stored = session.ledger.state.load_document(database, STATUS)
    status = None if stored is None else daemon_status_of(stored[1])
    proposals = open_proposals(session.ledger, database, {ProposalState.PROPOSED})
    if stored is not None and status is not None and stored[0] >= started and status.pid == os.getpid():
        session.out.line(f"{database}: {status.last_cycle}")  # else it was refused
        if status.untrusted and not refused:
            session.out.line(f"{database}: {status.untrusted}", style="bold")
            session.out.line(f"next: {NOT_TRUSTED_NEXT}")
        print_proposals(session.out, proposals)
    return CycleOfDatabase(database=database, status=status, proposals=proposals)
