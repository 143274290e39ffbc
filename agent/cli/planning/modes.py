"""The balancer's modes: which options each takes, and what its plan says. ``plan --mode``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import typer

from agent.answers.plans import UnitLeftBehind
from agent.cli.options import parse_option, refuse
from agent.cli.planning.pins import print_obstacles
from agent.explanation.pins import PinReport
from agent.model.proposals import Proposal
from agent.model.purposes import in_words
from agent.model.units_of_measure import parse_ratio
from agent.planning.planner import Planning
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.terminal.throughput import forecast_facts
from agent.terminal.wording import print_moves
from connectors.formatting import exact_bytes, format_bytes, format_seconds, format_wait
from policies.modes.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage


class ModeName(StrEnum):
    """The balancer's modes, as --mode names them."""

    HSM = "hsm"
    USAGE = "usage"
    CAPACITY = "capacity"
    PREFERENCE = "preference"
    DRAIN = "drain"


TAKES = {
    ModeName.HSM: {"--subtype", "--free-share"},
    ModeName.USAGE: {"--tier"},
    ModeName.CAPACITY: {"--tier"},
    ModeName.PREFERENCE: set[str](),
    ModeName.DRAIN: {"--space", "--container"},
}
LEFT_COLUMNS = (Column("stays", name=True), Column("size", number=True), Column("why"))


def mode_of(name: ModeName, given: Mapping[str, Any]) -> Mode:
    """The mode that the options describe.

    Args:
        name: of the mode.
        given: values by option, of all modes; None: not given.

    Raises:
        BadParameter: an option belongs to another mode, or one is missing or wrong.
    """
    others = {option: value is not None for option, value in given.items() if option not in TAKES[name]}
    refuse(others, f"--mode {name} does not take it")
    match name:
        case ModeName.HSM:
            return _hsm(given["--subtype"] or HsmSubtype.CALC, given["--free-share"])
        case ModeName.USAGE:
            return Usage(tier=given["--tier"])
        case ModeName.CAPACITY:
            return Capacity(tier=given["--tier"])
        case ModeName.PREFERENCE:
            return Preference()
        case ModeName.DRAIN:
            if given["--space"] is None:
                raise typer.BadParameter("--mode drain needs the space to be emptied", param_hint="--space")
            return Drain(space=given["--space"])


def _hsm(subtype: HsmSubtype, free_share: str | None) -> Hsm:
    if free_share is None:
        return Hsm(subtype=subtype)
    if subtype is not HsmSubtype.SSD:
        raise typer.BadParameter(f"--subtype {subtype} does not take it", param_hint="--free-share")
    return Hsm(subtype=subtype, free_ratio=parse_option(parse_ratio, free_share, "--free-share"))


def print_mode_plan(out: Output, planning: Planning, proposal: Proposal | None) -> None:
    """A plan of another mode than hsm: what it is for, what it copies, and its moves."""
    words = in_words(planning.purpose)
    if proposal is None:
        out.heading(f"{words}: nothing to move")
        return
    out.heading(f"the plan: {words}")
    size = proposal.bytes_moved
    out.facts(
        [
            ("moves", f"{len(proposal.moves)}, {format_bytes(size)} ({exact_bytes(size)})"),
            ("copying takes", format_seconds(sum(move.copy_seconds for move in proposal.moves))),
            _read_wait(proposal.wait_saved_per_hour),
            *forecast_facts(proposal.forecast),
        ]
    )
    print_moves(out, proposal.moves)


def _read_wait(saved: float) -> tuple[str, str]:
    """What moves bring, or what they cost, after its name."""
    return f"read wait {'saved' if saved >= 0 else 'added'}", format_wait(abs(saved))


def print_pinned(out: Output, reports: tuple[PinReport, ...]) -> None:
    """How many pinned units are where they belong, and what stands in the way; nothing without pins."""
    if not reports:
        return
    out.heading("pins")
    satisfied = sum(report.satisfied for report in reports)
    out.line(f"{satisfied} of {sum(report.units for report in reports)} pinned units are where they belong")
    print_obstacles(out, reports)


def units_left_behind(planning: Planning) -> tuple[UnitLeftBehind, ...]:
    """What a drain leaves in its space."""
    left_behind = planning.plan.left_behind
    return tuple(UnitLeftBehind(unit=left.key, bytes=left.size_bytes, why=left.why) for left in left_behind)


def print_left_behind(out: Output, planning: Planning) -> None:
    """The same for people; nothing where it leaves nothing."""
    if left_behind := units_left_behind(planning):
        out.heading("what stays in the space")
        out.table(LEFT_COLUMNS, [(left.unit, format_bytes(left.bytes), left.why) for left in left_behind])
