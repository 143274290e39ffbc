"""What happens right now? ``top``: on a terminal the live screen of ``agent.cli``, else the same printed once."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.session import Session
from agent.cli.under_way import move_head, under_way_of, under_way_shown
from agent.config.models import DatabaseConfig
from agent.ledger.state_names import RANKING
from agent.model.answers.kind import extend
from agent.model.answers.units import UnitShown
from agent.model.answers.watching import DaemonInWords, DatabaseWatched, MoveWatched, TopShown
from agent.model.states import UNDER_WAY
from agent.model.units_of_measure import parse_seconds
from agent.planning.ranking import ranking_from_arrays
from agent.service.heard import daemon_of
from agent.service.sending import SAID_BESIDE, look_from_outside
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode
from connectors.model.formatting import format_bytes, format_sessions

UNITS = 10
COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True), Column("sync/s", number=True, leaves=1),
    Column("benefit", number=True), Column("verdict"),
)  # fmt: skip


@command(HelpGroup.LOOK, "hotplace top --every 1s", reads=True)
def top(
    session: Session,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False,
    every: Annotated[str, typer.Option(metavar="DURATION", help="How often to look.")] = "2s",
    limit: Annotated[int, typer.Option(min=1, help="Print this many units.")] = UNITS,
) -> None:
    """Show live what waits, what is proposed and what moves, and act on it by keys; q or Ctrl-C ends the display."""
    seconds = _seconds(every)
    if session.out.as_json or once or not session.out.terminal:
        databases = tuple(_look_at_database(session, database, limit) for database in session.databases)
        for each in databases:
            _print(session, each)
        session.out.document(TopShown(at=session.clock.now(), databases=databases))
        return
    from agent.cli.live import show  # draws, and is not needed for what is printed once

    # Ctrl-C is the way out of the screen, and no failure.
    with suppress(KeyboardInterrupt):
        show(session, seconds)


def _seconds(every: str) -> float:
    try:
        seconds = parse_seconds(every)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--every") from error
    if seconds < 0.1:
        raise CommandError(
            f"--every is at least 0.1s, not {every}",
            code=ExitCode.USAGE,
            advice="The daemon itself looks every second.",
        )
    return seconds


def _look_at_database(session: Session, database: DatabaseConfig, limit: int) -> DatabaseWatched:
    """Everything that is shown of one database; asks the ledger alone."""
    now = session.clock.now()
    daemon = daemon_of(session.ledger, database, now, within=session.within_daemon)
    under_way = under_way_of(session.ledger, database, now)
    rows = session.ledger.moves.as_they_are(database=database.name, states=UNDER_WAY)
    stored = session.ledger.state.load_arrays(database.name, RANKING)
    sending = look_from_outside(session.ledger, database, daemon, now, dry_run=session.config.dry_run)
    last_cycle = None if daemon.status is None else daemon.status.last_cycle
    return extend(
        DatabaseWatched,
        under_way_shown(under_way),
        database=database.name,
        daemon=DaemonInWords(state=daemon.word, sentence=daemon.sentence, last_cycle=last_cycle),
        sending=sending.shown,
        moves=tuple(
            extend(MoveWatched, move_head(row), sentence=under_way.sentence(row), line=under_way.line(row))
            for row in rows
        ),
        units=() if stored is None else ranking_from_arrays(stored[1]).units(limit),
    )


def _print(session: Session, found: DatabaseWatched) -> None:
    out = session.out
    out.line(f"{found.database}: {found.daemon.sentence}", style="bold")
    out.line(found.window.sentence)
    if found.sending.state not in {"allowed", *SAID_BESIDE}:
        out.line(found.sending.sentence, style="bold red")
    for move in found.moves:
        out.line(move.line)
    if not found.moves:
        out.line("nothing moves")
    out.table(COLUMNS, [_cells(unit) for unit in found.units])


def _cells(unit: UnitShown) -> tuple[str, ...]:
    return (
        unit.unit,
        unit.tier or "not managed",
        format_bytes(unit.bytes),
        f"{unit.sync_reads_per_second:,.1f}",
        format_sessions(unit.benefit_seconds_per_hour),
        unit.verdict,
    )
