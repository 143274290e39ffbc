"""What do I want of a unit, whatever its heat? ``pin``, with ``--list`` and ``--remove``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import end_of, refuse
from agent.cli.session import Session, actor
from agent.config.models import PinConfig
from agent.ledger.rows import PinRow
from agent.ledger.state_names import PIN_REPORTS, RANKING
from agent.model.answers.kind import extend
from agent.model.answers.plans import PinnedUnits, PinRemoved, PinSet, PinShown, PinsListed, PinWithState
from agent.model.states import TO_BEGIN
from agent.model.units_of_measure import format_when
from agent.planning.advice import PinReport, reports_from_document
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from connectors.model.moves import key_matcher
from policies.model.settings import Pin

WISHES = {pin.name.lower(): pin for pin in Pin if pin is not Pin.NONE}
COLUMNS = (
    Column("unit", name=True), Column("pin"), Column("state"), Column("units", number=True, leaves=2),
    Column("set by", leaves=1), Column("until"), Column("reason", leaves=3),
)  # fmt: skip
NOT_PLANNED = "not planned yet"


@command(HelpGroup.STEER, "hotplace pin 'public.audit*' never --reason compliance --until 30d")
def pin(
    session: Session,
    unit: Annotated[
        str, typer.Argument(metavar="[UNIT]", help="Key of a unit, or a pattern; * and ? as in file names.")
    ] = "",
    wish: Annotated[str, typer.Argument(metavar="[must|prefer|never]", help="On the fastest tier?")] = "",
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    until: Annotated[
        str | None, typer.Option(metavar="DATE|DURATION", help="Until when: 2030-01-31, 2030-01-31T18:00 or 30d.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List pins with their state; of those that match a unit the last one rules.")
    ] = False,
    remove: Annotated[
        str, typer.Option("--remove", metavar="UNIT", help="Remove the pin that was set for this key or pattern.")
    ] = "",
) -> None:
    """Say that a unit must, should or must never be on the fastest tier; list pins; remove one."""
    if listed or remove:
        others = {"--remove": listed and remove, "UNIT": unit, "--until": until, "--reason": listed and reason}
        refuse(others, f"it does not go with {'--list' if listed else '--remove'}")
    if listed:
        list_pins(session)
    elif remove:
        _unpin(session, remove, reason)
    else:
        _pin(session, unit, wish, reason, until)


def _pin(session: Session, unit: str, wish: str, reason: str, until: str | None) -> None:
    """Set a pin.

    Raises:
        BadParameter: the wish or the unit is missing or wrong.
    """
    if not unit:
        raise typer.BadParameter("name a unit, or give --list or --remove", param_hint="UNIT")
    if wish not in WISHES:
        raise typer.BadParameter(f"{wish!r} is none of {', '.join(WISHES)}", param_hint="must|prefer|never")
    end = None if until is None else end_of(until, session.clock, "--until")
    row = session.ledger.pins.pin(session.database.name, unit, WISHES[wish], who=actor().who, reason=reason, until=end)
    _warn_if_unknown(session, unit)
    _name_approved(session, unit)
    session.out.line(f"{unit} is pinned: {wish}{f', until {format_when(end)}' if end else ''}; the next plan obeys")
    session.out.document(PinSet(database=session.database.name, pin=_pin_shown(row)))


def _name_approved(session: Session, pattern: str) -> None:
    """Name moves that are approved already: what contradicts the pin is skipped, in its turn."""
    means = key_matcher(pattern)
    for row in session.ledger.moves.rows(database=session.database.name, states=TO_BEGIN):
        if row.approved and any(map(means, row.move.all_keys)):
            session.out.note(
                f"move {row.id} ({row.move.what} to {row.move.to_space}) is approved; where the pin forbids it, "
                "it is skipped"
            )


def _unpin(session: Session, unit: str, reason: str) -> None:
    """Remove a pin.

    Raises:
        CommandError: none was set by hand for that key or pattern.
    """
    if not session.ledger.pins.unpin(session.database.name, unit, who=actor().who, reason=reason):
        raise CommandError(
            f"{unit!r} is not pinned by hand",
            code=ExitCode.NOT_FOUND,
            advice="`hotplace pin --list` lists pins; those from the configuration are removed there.",
        )
    session.out.line(f"{unit} is no longer pinned")
    session.out.document(PinRemoved(database=session.database.name, unpinned=unit))


def list_pins(session: Session) -> None:
    """List pins with their state when last planned."""
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
        PinsListed(
            database=database.name,
            planned_at=stored[0] if stored else None,
            pins=tuple(_with_state(row, at) for row, at in zip(rows, found, strict=True)),
        )
    )


def pinned_units(report: PinReport) -> PinnedUnits:
    """A pin's state under a plan."""
    return PinnedUnits(unit=report.pattern, pin=report.pin, **_state(report))


def _with_state(row: PinConfig | PinRow, report: PinReport | None) -> PinWithState:
    return extend(PinWithState, _pin_shown(row), **_state(report))


def _state(report: PinReport | None) -> dict[str, Any]:
    """Fields that say how far a pin is fulfilled; None where no plan has seen the pin yet."""
    if report is None:
        return dict.fromkeys(("state", "units", "satisfied", "why"))
    return {"state": report.state, "units": report.units, "satisfied": report.satisfied, "why": report.why or None}


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
    from agent.cli.units import similar_keys
    from agent.planning.ranking import ranking_from_arrays

    ranking = ranking_from_arrays(stored[1])
    if any(map(key_matcher(pattern), ranking.key)):
        return
    similar = similar_keys(ranking.key, pattern)
    hint = f"; did you mean: {', '.join(similar)}" if similar else ""
    session.out.note(f"no unit matches {pattern!r} now{hint}")


def _cells(row: PinConfig | PinRow, report: PinReport | None) -> tuple[str, ...]:
    shown = _pin_shown(row)
    until = format_when(shown.until) if shown.until else "unpinned"
    units = "" if report is None else f"{report.satisfied} of {report.units}"
    return (shown.unit, shown.pin, state_words(report), units, shown.who or "configuration", until, row.reason)


def _pin_shown(row: PinConfig | PinRow) -> PinShown:
    by_hand = isinstance(row, PinRow)
    return PinShown(
        unit=row.pattern,
        pin=row.pin.name.lower(),
        reason=row.reason or None,
        from_="command" if by_hand else "configuration",
        who=row.who if isinstance(row, PinRow) else None,
        until=row.until if isinstance(row, PinRow) else None,
    )
