"""What do I want of a unit, whatever its heat? ``pin``, ``unpin``, ``pins``."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.options import end_of
from agent.cli.session import Session, actor
from agent.config import PinConfig
from agent.explanation.pins import PinReport, reports_from_document
from agent.ledger import PinRow
from agent.ledger.state_names import PIN_REPORTS, RANKING
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from policies.model.settings import Pin

WISHES = {pin.name.lower(): pin for pin in Pin if pin is not Pin.NONE}
COLUMNS = (
    Column("unit", name=True), Column("pin"), Column("state"), Column("units", number=True, leaves=2),
    Column("set by", leaves=1), Column("until"), Column("reason", leaves=3),
)  # fmt: skip
NOT_PLANNED = "not planned yet"

Pattern = Annotated[str, typer.Argument(metavar="UNIT", help="Key of a unit, or a pattern; * and ? as in file names.")]


@command(Group.STEER, "hotplace pin 'public.audit*' never --reason compliance --until 30d")
def pin(
    session: Session,
    unit: Pattern,
    wish: Annotated[str, typer.Argument(metavar="must|prefer|never", help="On the fastest tier?")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    until: Annotated[
        str | None, typer.Option(metavar="DATE|DURATION", help="Until when: 2030-01-31, 2030-01-31T18:00 or 30d.")
    ] = None,
) -> None:
    """Say that a unit must, preferably or never belongs on the fastest tier."""
    if wish not in WISHES:
        raise typer.BadParameter(f"{wish!r} is none of {', '.join(WISHES)}", param_hint="must|prefer|never")
    end = None if until is None else end_of(until, session.clock, "--until")
    row = session.ledger.pins.pin(session.database.name, unit, WISHES[wish], who=actor().who, reason=reason, until=end)
    _warn_if_unknown(session, unit)
    session.out.line(f"{unit} is pinned: {wish}{f', until {format_when(end)}' if end else ''}; the next plan obeys")
    session.out.document({"database": session.database.name, "pin": _document(row)})


@command(Group.STEER, "hotplace unpin 'public.audit*'")
def unpin(session: Session, unit: Pattern) -> None:
    """Remove a pin that was set with `hotplace pin`."""
    if not session.ledger.pins.unpin(session.database.name, unit, who=actor().who):
        raise CommandError(
            f"{unit!r} is not pinned by hand",
            code=ExitCode.NOT_FOUND,
            advice="`hotplace pins` lists pins; those from the configuration are removed there.",
        )
    session.out.line(f"{unit} is no longer pinned")
    session.out.document({"database": session.database.name, "unpinned": unit})


@command(Group.STEER, "hotplace pins")
def pins(session: Session) -> None:
    """List pins with their state when last planned; of those that match a unit, the last one rules."""
    database = session.database
    rows: list[PinConfig | PinRow] = [*database.pins, *session.ledger.pins.rows(database.name, session.clock.now())]
    stored = session.ledger.state.load_document(database.name, PIN_REPORTS)
    reports = {(report.pattern, report.pin): report for report in reports_from_document(stored[1] if stored else [])}
    found = [reports.get((row.pattern, row.pin.name.lower())) for row in rows]
    if rows:
        session.out.table(COLUMNS, [_cells(row, report) for row, report in zip(rows, found, strict=True)])
        print_obstacles(session.out, [report for report in found if report is not None])
    else:
        session.out.line("no pin")
    session.out.document(
        {
            "database": database.name,
            "planned_at": stored[0] if stored else None,
            "pins": [{**_document(row), **state_document(at)} for row, at in zip(rows, found, strict=True)],
        }
    )


def state_document(report: PinReport | None) -> dict[str, object]:
    """The state of a pin as JSON values; null where no plan has seen the pin yet."""
    if report is None:
        return {"state": None, "units": None, "satisfied": None, "why": None}
    return {
        "state": report.state, "units": report.units, "satisfied": report.satisfied, "why": report.why or None,
    }  # fmt: skip


def print_obstacles(out: Output, reports: Sequence[PinReport]) -> None:
    """What stands in the way of each pin that is not fulfilled."""
    for report in reports:
        if report.why:
            out.line(f"{report.pattern}: {state_words(report)}: {report.why}")


def state_words(report: PinReport | None) -> str:
    """The state of a pin for people."""
    return NOT_PLANNED if report is None else report.state.replace("_", " ")


def _warn_if_unknown(session: Session, pattern: str) -> None:
    """A pin may come before its unit, so an unknown one is only worth a note."""
    stored = session.ledger.state.load_arrays(session.database.name, RANKING)
    if stored is None:
        return
    # Here, since listing pins needs no units, and with them come numpy and what explains a plan.
    from agent.cli.looking.explanation import similar_keys
    from agent.explanation.ranking import ranking_from_arrays

    ranking = ranking_from_arrays(stored[1])
    if any(key == pattern or fnmatch.fnmatchcase(key, pattern) for key in ranking.key):
        return
    similar = similar_keys(ranking.key, pattern)
    hint = f"; did you mean: {', '.join(similar)}" if similar else ""
    session.out.note(f"no unit matches {pattern!r} now{hint}")


def _cells(row: PinConfig | PinRow, report: PinReport | None) -> tuple[str, ...]:
    document = _document(row)
    who = document["who"] or "configuration"
    until = format_when(row.until) if isinstance(row, PinRow) and row.until else "unpinned"
    units = "" if report is None else f"{report.satisfied} of {report.units}"
    return (row.pattern, row.pin.name.lower(), state_words(report), units, str(who), until, row.reason)


def _document(row: PinConfig | PinRow) -> dict[str, object]:
    document: dict[str, object] = {"unit": row.pattern, "pin": row.pin.name.lower(), "reason": row.reason or None}
    if isinstance(row, PinRow):
        return {**document, "from": "command", "who": row.who, "until": row.until}
    return {**document, "from": "configuration", "who": None, "until": None}
