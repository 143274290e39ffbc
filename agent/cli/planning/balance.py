"""What would the balancer do in another mode? ``balance``."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.looking.spaces import print_spaces, spaces_document
from agent.cli.planning.pins import print_obstacles, state_document
from agent.cli.planning.plan import (
    ObserveOption,
    ProposeOption,
    plan_document,
    print_next,
    stored_document,
)
from agent.cli.session import Session
from agent.cli.storage.draining import take_out
from agent.cli.watching import look
from agent.explanation.pins import PinReport, pin_reports
from agent.ledger import ProposalRow
from agent.model.proposals import Proposal
from agent.model.purposes import in_words
from agent.model.units_of_measure import parse_ratio, parse_seconds
from agent.planning.planner import Planning
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from agent.terminal.throughput import forecast_facts
from agent.terminal.wording import print_moves, print_statements, print_value
from connectors.formatting import exact_bytes, format_bytes, format_seconds, format_wait
from policies.modes.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, UnknownName, Usage
from policies.modes.spaces_after import spaces_after


class ModeType(StrEnum):
    """The balancer's modes, as --type names them."""

    HSM = "hsm"
    USAGE = "usage"
    CAPACITY = "capacity"
    PREFERENCE = "preference"
    DRAIN = "drain"


TAKES = {
    ModeType.HSM: {"--subtype", "--free-share"},
    ModeType.USAGE: {"--tier"},
    ModeType.CAPACITY: {"--tier"},
    ModeType.PREFERENCE: set[str](),
    ModeType.DRAIN: {"--space", "--container"},
}
LEFT_COLUMNS = (Column("stays", name=True), Column("size", number=True), Column("why"))


@command(Group.LOOK, "hotplace balance --type drain --space old_ssd --time-limit 30min")
def balance(
    session: Session,
    mode: Annotated[ModeType, typer.Option("--type", help="What the balancer is to do.")] = ModeType.HSM,
    subtype: Annotated[
        HsmSubtype | None, typer.Option(help="hsm: all, only clear cold from the fastest tier, only fill it.")
    ] = None,
    tier: Annotated[str | None, typer.Option(help="usage, capacity: only this tier.")] = None,
    space: Annotated[str | None, typer.Option(help="drain: the space to be emptied.")] = None,
    container: Annotated[
        str | None,
        typer.Option(help="drain: only this file, device or folder of the space, as `hotplace containers` lists it."),
    ] = None,
    free_share: Annotated[
        str | None, typer.Option(metavar="RATIO", help="hsm ssd: share to be free; default 20%.")
    ] = None,
    time_limit: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The copies take no longer: 30min, 2h.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Rank by what `hotplace trace` collected, alone.")] = False,
    propose: ProposeOption = False,
    observe: ObserveOption = None,
) -> None:
    """Plan in one of the balancer's modes, with the exact statements; moves nothing."""
    given = {"--subtype": subtype, "--tier": tier, "--space": space, "--container": container}
    given["--free-share"] = free_share
    wanted = _mode(mode, {name: value for name, value in given.items() if value is not None})
    limit = _seconds(time_limit)
    _check_container(container, time_limit=time_limit, trace=trace)
    watch = session.watch()
    try:
        if container and take_out(session, watch, str(space), container, propose=propose):
            return
        look(session, watch, observe)
        planning = _make_planning(watch.plan(wanted, limit, traced=trace))
        proposal = watch.proposal(planning)
        number = watch.propose(planning) if propose else None
        stored = None if number is None else session.ledger.proposals.row(number)
    except UnknownName as error:
        raise CommandError(
            str(error),
            code=ExitCode.NOT_FOUND,
            advice=f"`hotplace {'containers' if container else 'status'}` lists what there is.",
        ) from error
    finally:
        watch.close(save=observe is not None)
    reports = pin_reports(planning) if mode is ModeType.PREFERENCE else ()
    _print(session.out, mode, planning, proposal, reports)
    print_next(session.out, proposal, stored, propose=propose)
    session.out.document(_document(session, mode, planning, proposal, reports, stored, propose=propose))


def _make_planning(planning: Planning | None) -> Planning:
    assert planning is not None, "there is a sample"
    return planning


def _mode(mode: ModeType, given: dict[str, Any]) -> Mode:
    """The mode that the options describe.

    Raises:
        BadParameter: an option belongs to another mode, or one is missing or wrong.
    """
    for name in given:
        if name not in TAKES[mode]:
            raise typer.BadParameter(f"--type {mode} takes no {name}", param_hint=name)
    match mode:
        case ModeType.HSM:
            return _hsm(given.get("--subtype", HsmSubtype.CALC), given.get("--free-share"))
        case ModeType.USAGE:
            return Usage(tier=given.get("--tier"))
        case ModeType.CAPACITY:
            return Capacity(tier=given.get("--tier"))
        case ModeType.PREFERENCE:
            return Preference()
        case ModeType.DRAIN:
            if "--space" not in given:
                raise typer.BadParameter("--type drain needs the space to be emptied", param_hint="--space")
            return Drain(space=given["--space"])


def _hsm(subtype: HsmSubtype, free_share: str | None) -> Hsm:
    if free_share is None:
        return Hsm(subtype=subtype)
    if subtype is not HsmSubtype.SSD:
        raise typer.BadParameter(f"--subtype {subtype} takes no --free-share", param_hint="--free-share")
    try:
        return Hsm(subtype=subtype, free_ratio=parse_ratio(free_share))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--free-share") from error


def _check_container(container: str | None, *, time_limit: str | None, trace: bool) -> None:
    """Refuse what says nothing of a container, which goes as a whole and whatever its heat."""
    for name, given in (("--time-limit", time_limit is not None), ("--trace", trace)):
        if container is not None and given:
            raise typer.BadParameter(f"--container takes no {name}", param_hint=name)


def _seconds(time_limit: str | None) -> float:
    try:
        return math.inf if time_limit is None else parse_seconds(time_limit)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--time-limit") from error


def _print(
    out: Output, mode: ModeType, planning: Planning, proposal: Proposal | None, reports: tuple[PinReport, ...]
) -> None:
    words = in_words(planning.purpose)
    if proposal is None:
        out.heading(f"{words}: nothing to move")
    else:
        out.heading(f"the plan: {words}")
        _print_figures(out, mode, proposal)
        print_moves(out, proposal.moves)
    print_spaces(out, spaces_after(planning.situation, planning.plan))
    if reports:
        out.heading("pins")
        satisfied = sum(report.satisfied for report in reports)
        out.line(f"{satisfied} of {sum(report.units for report in reports)} pinned units are where they belong")
        print_obstacles(out, reports)
    if planning.plan.left_behind:
        out.heading("what stays in the space")
        out.table(
            LEFT_COLUMNS, [(left.key, format_bytes(left.size_bytes), left.why) for left in planning.plan.left_behind]
        )
    if proposal is not None:
        print_statements(out, proposal.moves)


def _read_wait(saved: float) -> tuple[str, str]:
    """What moves bring, or what they cost, after its name."""
    return f"read wait {'saved' if saved >= 0 else 'added'}", format_wait(abs(saved))


def _print_figures(out: Output, mode: ModeType, proposal: Proposal) -> None:
    """The value where the mode is about waits; otherwise what it copies, and what that does to waits."""
    if mode is ModeType.HSM:
        print_value(out, proposal)
        return
    size = proposal.bytes_moved
    out.facts(
        [
            ("moves", f"{len(proposal.moves)}, {format_bytes(size)} ({exact_bytes(size)})"),
            ("copying takes", format_seconds(sum(move.copy_seconds for move in proposal.moves))),
            _read_wait(proposal.wait_saved_per_hour),
            *forecast_facts(proposal.forecast),
        ]
    )


def _document(
    session: Session,
    mode: ModeType,
    planning: Planning,
    proposal: Proposal | None,
    reports: tuple[PinReport, ...],
    stored: ProposalRow | None,
    *,
    propose: bool,
) -> dict[str, Any]:
    return {
        "database": session.database.name,
        "type": mode.value,
        "dry_run": not propose,
        "proposal": stored_document(stored),
        **plan_document(planning, proposal),
        "spaces": spaces_document(spaces_after(planning.situation, planning.plan)),
        "left_behind": [
            {"unit": left.key, "bytes": left.size_bytes, "why": left.why} for left in planning.plan.left_behind
        ],
        "pins": [{"unit": report.pattern, "pin": report.pin, **state_document(report)} for report in reports],
    }
