"""The balancer's modes: their options, what their plans say, and one container out of its space.

The balancer's modes: which options each takes, and what its plan says. ``plan --mode``.

What is under each space? ``status --containers``: the names that ``plan --mode drain --container`` takes.

One container out of its space: ``plan --mode drain --space S --container C``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import typer

from agent.cli.options import parse_option, refuse
from agent.cli.pins import print_obstacles
from agent.cli.plan_answer import print_by_hand, print_next, proposal_stored, require_stored
from agent.cli.session import Session
from agent.config.tiers import Storage
from agent.ledger.rows import ProposalRow
from agent.model.answers.kind import extend
from agent.model.answers.plans import ContainerByHand, ContainerDrained, ContainerPlanned, UnitLeftBehind
from agent.model.answers.watching import ContainerShown, ContainersOfSpace
from agent.model.proposals import Proposal, in_words
from agent.model.units_of_measure import parse_ratio
from agent.planning.advice import PinReport
from agent.planning.planner import Planning
from agent.planning.single_moves import TakingOut
from agent.service.watch import Watch
from agent.terminal.columns import Column
from agent.terminal.deciding import print_notes, print_summary
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import BY_A_PERSON, plan_shown, print_script, print_statements, work_by_hand
from connectors.model.formatting import format_bytes, with_semicolon, written
from connectors.model.moves import ByHand, Container, NoRoute
from connectors.model.observation import Space
from policies.placement.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage


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
    print_summary(out, proposal, proposal.moves)
    print_notes(out, proposal.moves)


def print_pinned(out: Output, reports: tuple[PinReport, ...]) -> None:
    """How many pinned units are where they belong, and what stands in the way; nothing without pins."""
    if not reports:
        return
    out.heading("pins")
    satisfied = sum(report.satisfied for report in reports)
    out.line(f"{satisfied} of {sum(report.units for report in reports)} pinned units are where they belong")
    print_obstacles(out, reports)


def units_left_behind(planning: Planning) -> tuple[UnitLeftBehind, ...]:
    """What a drain leaves in its space: units, then what else is in it or names it."""
    units = (
        UnitLeftBehind(unit=left.key, bytes=left.size_bytes, why=left.why, statements=())
        for left in planning.plan.left_behind
    )
    others = (
        UnitLeftBehind(unit=each.what, bytes=each.size_bytes, why=each.why, statements=each.statements)
        for each in planning.other_contents
    )
    return (*units, *others)


def print_left_behind(out: Output, planning: Planning) -> None:
    """The same for people; nothing where it leaves nothing."""
    if left_behind := units_left_behind(planning):
        out.heading("what stays in the space")
        sizes = ("not known" if left.bytes is None else format_bytes(left.bytes) for left in left_behind)
        out.table(LEFT_COLUMNS, [(left.unit, size, left.why) for left, size in zip(left_behind, sizes, strict=True)])
        if statements := [sql for left in left_behind for sql in left.statements]:
            out.heading(f"what stays and a person takes out ({BY_A_PERSON})")
            print_script(out, "\n".join(written(with_semicolon(sql)) for sql in statements))


COLUMNS = (
    Column("space"), Column("container", name=True), Column("path", name=True, leaves=1),
    Column("belongs to", leaves=3), Column("size", number=True, leaves=2), Column("used", number=True),
    Column("free", number=True),
)  # fmt: skip


def show_containers(session: Session) -> tuple[ContainersOfSpace, ...]:
    """Print the files, devices and folders under each space of the database, read from it now; the same as an answer.

    Raises:
        ConnectorError: the engine did not answer.
    """
    watch = session.watch()
    try:
        storage = session.database.resolve_spaces(watch.connector.catalog())
    finally:
        watch.close(save=False)
    rows = _by_tier(storage)
    found = [storage.spaces[row] for row in rows]
    session.out.line("files, devices and folders, read from the database now:")
    session.out.table(COLUMNS, [_cells(each, container) for each in found for container in each.containers])
    for each in found:
        if not each.containers:
            session.out.line(f"{each.name}: none that this login may see")
    return tuple(_containers_of_space(storage, row) for row in rows)


def _by_tier(storage: Storage) -> list[int]:
    """Rows of the spaces, the fastest tier first, those without one last."""
    tier = storage.tier_of_space.tolist()
    return sorted(range(len(tier)), key=lambda row: (tier[row] < 0, tier[row], storage.spaces[row].name))


def container_shown(container: Container) -> ContainerShown:
    """One container as an answer has it."""
    return ContainerShown(
        name=container.name,
        path=container.path,
        belongs_to=container.holder or None,
        bytes=container.size_bytes,
        used_bytes=container.used_bytes,
        free_bytes=container.free_bytes,
    )


def _containers_of_space(storage: Storage, row: int) -> ContainersOfSpace:
    space, tier = storage.spaces[row], int(storage.tier_of_space[row])
    return ContainersOfSpace(
        space=space.name,
        tier=storage.tiers[tier].name if tier >= 0 else None,
        containers=tuple(map(container_shown, space.containers)),
    )


def _cells(space: Space, container: Container) -> tuple[str, ...]:
    """Path and owner are left out where they say the name once more."""
    sizes = (container.size_bytes, container.used_bytes, container.free_bytes)
    return (
        space.name,
        container.name,
        "" if container.path == container.name else container.path,
        "" if container.holder == space.name else container.holder,
        *("not known" if size is None else format_bytes(size) for size in sizes),
    )


def take_out(session: Session, watch: Watch, space: str, container: str, *, propose: bool) -> bool:
    """Show, and store if asked to, how the container goes; False where it is the only one: the space is to be drained.

    Raises:
        CommandError: there is no way.
        UnknownName: there is no such space or container.
    """
    found = watch.take_out(space, container)
    if found is None:
        return False
    if isinstance(found.answer, NoRoute):
        raise CommandError(
            f"{container} cannot be taken out of {space}: {found.answer.sentence}",
            code=ExitCode.REFUSED,
            advice=f"hotplace plan --mode drain --space {shlex.quote(space)} empties all of it.",
        )
    number = watch.offers.store(found.proposal) if propose else None
    stored = None if number is None else session.ledger.proposals.row(number)
    _print(session.out, found, stored, propose=propose)
    require_stored(watch, found.proposal, stored, propose=propose)
    session.out.document(_answer(session, found, stored, propose=propose))
    return True


def _print(out: Output, found: TakingOut, stored: ProposalRow | None, *, propose: bool) -> None:
    if found.proposal is not None:
        out.heading("the plan (drain)")
        print_summary(out, found.proposal, found.proposal.moves)
        print_notes(out, found.proposal.moves)
        print_statements(out, found.proposal.moves)
        print_next(out, found.proposal, stored, propose=propose)
    elif isinstance(found.answer, ByHand):
        print_by_hand(out, f"drain: {found.container.name} is taken out of {found.space.name} by hand", found.answer)
        out.line()
        out.line(
            f"next: hotplace close {shlex.quote(found.space.name)} keeps plans from bringing anything to it meanwhile"
        )


def _answer(
    session: Session, found: TakingOut, stored: ProposalRow | None, *, propose: bool
) -> ContainerPlanned | ContainerByHand:
    drained = ContainerDrained(
        database=session.database.name,
        mode="drain",
        dry_run=not propose,
        space=found.space.name,
        container=container_shown(found.container),
    )
    if found.proposal is None:
        return extend(ContainerByHand, drained, by_hand=work_by_hand(found.answer))
    return extend(ContainerPlanned, drained, plan_shown(found.proposal), proposal=proposal_stored(stored))
