"""Collect demand for a time of my choice: ``trace on|off|clear``; ``status`` says how far it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import HelpGroup
from agent.cli.session import Session, actor
from agent.cli.under_way import trace_sentence, trace_shown
from agent.model.answers.watching import TraceOfDatabase
from agent.model.units_of_measure import parse_seconds
from agent.sampling.trace_marks import TraceMark, read_figures, read_mark, write_mark
from agent.service.heard import daemon_of

trace = typer.Typer(no_args_is_help=True, epilog="Example: hotplace trace on --for 2h")
app.add_typer(
    trace,
    name="trace",
    help="Collect demand for a time of your choice; `hotplace plan --trace` ranks by just that.",
    rich_help_panel=HelpGroup.STEER,
)


@command(HelpGroup.STEER, "hotplace trace on --for 2h", of=trace)
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


@command(HelpGroup.STEER, "hotplace trace off", of=trace)
def off(session: Session) -> None:
    """Stop collecting; what was collected stays."""
    before = read_mark(session.ledger, session.database.name)
    mark = replace(before, on=False, who=actor().who)
    write_mark(session.ledger, session.database.name, mark)
    _print(session, mark)


@command(HelpGroup.STEER, "hotplace trace clear", of=trace)
def clear(session: Session) -> None:
    """Forget what was collected; a trace that is on goes on from nothing."""
    before = read_mark(session.ledger, session.database.name)
    mark = replace(before, who=actor().who, generation=before.generation + 1)
    write_mark(session.ledger, session.database.name, mark)
    _print(session, mark)


def _print(session: Session, mark: TraceMark) -> None:
    database = session.database
    figures = read_figures(session.ledger, database.name)
    now = session.clock.now()
    alive = daemon_of(session.ledger, database, now, within=session.within_daemon).alive
    session.out.line(trace_sentence(mark, figures, now, sampled=alive))
    session.out.document(TraceOfDatabase(database=database.name, trace=trace_shown(mark, figures)))
