"""Collect demand for a time of my choice, and look how far it is: ``trace on|off|clear``, ``check``."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

import typer

from agent.cli.app import app, command
from agent.cli.commands import Group
from agent.cli.daemon_state import daemon_of
from agent.cli.looking.under_way import under_way_document, under_way_of
from agent.cli.session import Session, actor
from agent.config import DatabaseConfig
from agent.model.states import ACTIONABLE
from agent.model.units_of_measure import format_when, parse_seconds
from agent.sampling.trace import TraceFigures, TraceMark, read_figures, read_mark, write_mark
from connectors.formatting import format_seconds

trace = typer.Typer(no_args_is_help=True, epilog="Example: hotplace trace on --for 2h")
app.add_typer(
    trace,
    name="trace",
    help="Collect demand for a time of your choice; `hotplace balance --trace` ranks by just that.",
    rich_help_panel=Group.STEER,
)


@command(Group.STEER, "hotplace trace on --for 2h", of=trace)
def on(
    session: Session,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Stop automatically after this; else with `trace off`."),
    ] = None,
) -> None:
    """Begin to collect; what was collected before stays until it is cleared."""
    try:
        seconds = None if lasts is None else parse_seconds(lasts)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--for") from error
    now = session.clock.now()
    until = None if seconds is None else now + timedelta(seconds=seconds)
    before = read_mark(session.ledger, session.database.name)
    mark = TraceMark(on=True, since=now, until=until, who=actor().who, generation=before.generation)
    write_mark(session.ledger, session.database.name, mark)
    _print(session, mark)


@command(Group.STEER, "hotplace trace off", of=trace)
def off(session: Session) -> None:
    """Stop collecting; what was collected stays."""
    before = read_mark(session.ledger, session.database.name)
    mark = replace(before, on=False, who=actor().who)
    write_mark(session.ledger, session.database.name, mark)
    _print(session, mark)


@command(Group.STEER, "hotplace trace clear", of=trace)
def clear(session: Session) -> None:
    """Forget what was collected; a trace that is on goes on from nothing."""
    before = read_mark(session.ledger, session.database.name)
    mark = replace(before, who=actor().who, generation=before.generation + 1)
    write_mark(session.ledger, session.database.name, mark)
    _print(session, mark)


@command(Group.LOOK, "hotplace check")
def check(session: Session) -> None:
    """Show what runs and how far it is: the trace, moves with their progress, and what waits."""
    documents = []
    for database in session.databases:
        document = _check_document(session, database)
        session.out.heading(database.name)
        for line in document.pop("lines"):
            session.out.line(line)
        documents.append(document)
    session.out.document({"at": session.clock.now(), "databases": documents})


def _check_document(session: Session, database: DatabaseConfig) -> dict[str, Any]:
    now, ledger = session.clock.now(), session.ledger
    mark, figures = read_mark(ledger, database.name), read_figures(ledger, database.name)
    under_way = under_way_of(ledger, database, now)
    rows = ledger.moves.rows(database=database.name, states=ACTIONABLE)
    lines = [_sentence(session, database, mark, figures), under_way.window, *map(under_way.line, rows)]
    return {
        "database": database.name,
        "trace": _document(mark, figures),
        **under_way_document(under_way),
        "moves": [{"id": row.id, "unit": row.move.key, "state": row.state} for row in rows],
        "lines": lines if rows else [*lines, "nothing moves and nothing is approved"],
    }


def _print(session: Session, mark: TraceMark) -> None:
    database = session.database
    figures = read_figures(session.ledger, database.name)
    session.out.line(_sentence(session, database, mark, figures))
    session.out.document({"database": database.name, "trace": _document(mark, figures)})


def _sentence(session: Session, database: DatabaseConfig, mark: TraceMark, figures: TraceFigures) -> str:
    now = session.clock.now()
    over = mark.until is not None and now >= mark.until
    collected = f"{figures.intervals} intervals, {format_seconds(figures.seconds)} collected"
    if over or not mark.on:
        return f"trace is off: {collected}"
    end = "" if mark.until is None else f" until {format_when(mark.until)}"
    alive = daemon_of(session.ledger, database, now, within=session.within_daemon).alive
    by = "" if alive else "; no daemon samples this database, start it with: hotplace run"
    return f"trace is on{end}: {collected}{by}"


def _document(mark: TraceMark, figures: TraceFigures) -> dict[str, Any]:
    return {
        "on": mark.on,
        "since": mark.since,
        "until": mark.until,
        "who": mark.who or None,
        "intervals": figures.intervals,
        "seconds": figures.seconds,
        "last": figures.last,
    }
