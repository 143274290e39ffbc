"""Make a space on storage that the database does not use yet: ``space create``."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import COMMANDS, HelpGroup
from agent.cli.options import more_than_zero, parse_option
from agent.cli.plan_answer import print_by_hand, print_next, proposal_stored, require_stored
from agent.cli.session import Session
from agent.ledger.rows import ProposalRow
from agent.model.answers.kind import extend
from agent.model.answers.plans import CheckOfPlace, SpaceByHand, SpacePlanned, SpaceWanted
from agent.model.units_of_measure import parse_bytes
from agent.planning.new_space import MakingSpace, how_to_configure
from agent.terminal.columns import Column
from agent.terminal.deciding import print_notes, print_summary
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import plan_shown, print_statements, work_by_hand
from connectors.model.moves import ByHand, NoRoute
from connectors.model.new_space import ACCEPTABLE, STANDBYS, Check, CheckState, WantedSpace, failing

space = typer.Typer(
    no_args_is_help=True, epilog="Example: hotplace space create fast --location /ssd/postgresql --propose"
)
app.add_typer(space, name="space", help=COMMANDS["space"].summary, rich_help_panel=HelpGroup.SET_UP)


@command(HelpGroup.SET_UP, "hotplace space create fast --location /ssd/postgresql --propose", of=space)
def create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the new space.")],
    location: Annotated[
        str, typer.Option(metavar="PLACE", help="An empty folder, as the database server sees it; or a disk group.")
    ],
    tier: Annotated[
        str | None,
        typer.Option(help="That it will belong to, configured or not; default: the first without a space."),
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of its first file, where the engine makes files: 100GiB.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="CHECK", help=f"Go on although this check fails: {', '.join(sorted(ACCEPTABLE))}."),
    ] = None,
    propose: Annotated[
        bool, typer.Option("--propose/--dry-run", help="Store it as a proposal, or only print it.")
    ] = False,
) -> None:
    """Make a space on new storage: what was checked of the place, and the exact statements."""
    wanted = WantedSpace(
        name=name,
        location=location,
        size_bytes=None if size is None else parse_option(more_than_zero(parse_bytes), size, "--size"),
        accepted=_parse_accept(accept or ()),
    )
    watch = session.watch(asks_mover=True)
    try:
        found = watch.make_space(wanted, tier)
        _print_checks(session.out, found.found.checks, wanted)
        if isinstance(found.answer, NoRoute):
            raise CommandError(
                f"no space {name} is made: {found.answer.sentence}", code=ExitCode.REFUSED, advice=_advice(found)
            )
        number = watch.offers.store(found.proposal) if propose else None
    finally:
        watch.close(save=False)
    stored = None if number is None else session.ledger.proposals.row(number)
    _print(session, found, stored, propose=propose)
    require_stored(watch, found.proposal, stored, propose=propose)
    session.out.document(_answer(session, found, stored, propose=propose))


def _parse_accept(given: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Checks that may fail.

    Raises:
        BadParameter: one that may not, or that there is not.
    """
    wrong = next((name for name in given if name not in ACCEPTABLE), None)
    if wrong is not None:
        raise typer.BadParameter(
            f"{wrong!r} is not one of {', '.join(sorted(ACCEPTABLE))}; the others have to hold", param_hint="--accept"
        )
    return tuple(sorted(set(given)))


def _advice(found: MakingSpace) -> str:
    """What a person can do about a refusal."""
    if isinstance(found.answer, NoRoute) and found.answer.setting:
        once = " once the folder is there on every standby" if STANDBYS in found.answer.setting else ""
        return f"Name a place of the new storage, or go on all the same with {found.answer.setting}{once}."
    return "Name another place or name; hotplace doctor lists the spaces that there are."


def _print_checks(out: Output, checks: tuple[Check, ...], wanted: WantedSpace) -> None:
    """What was looked at; what fails and may not stands out."""
    if not checks:
        return
    out.heading(f"checks of {wanted.location}")
    against = {check.name for check in failing(checks, wanted.accepted)}
    out.table((Column("check"), Column(""), Column("seen")), [_check_cells(check, against) for check in checks])


def _check_cells(check: Check, against: set[str]) -> tuple[str, ...]:
    accepted = check.state is CheckState.FAILS and check.name not in against
    return check.name, f"{check.state}{' (accepted)' if accepted else ''}", check.sentence


def _print(session: Session, found: MakingSpace, stored: ProposalRow | None, *, propose: bool) -> None:
    out = session.out
    if found.proposal is not None:
        out.heading("the plan (space)")
        print_summary(out, found.proposal, found.proposal.moves)
        print_notes(out, found.proposal.moves)
        print_statements(out, found.proposal.moves)
        print_next(out, found.proposal, stored, propose=propose)
    elif isinstance(found.answer, ByHand):
        print_by_hand(out, f"the space {found.wanted.name} is made by hand", found.answer)
        out.line()
    for line in how_to_configure(session.database, found.wanted.name, found.tier):
        out.line(line)


def _answer(
    session: Session, found: MakingSpace, stored: ProposalRow | None, *, propose: bool
) -> SpacePlanned | SpaceByHand:
    wanted = SpaceWanted(
        database=session.database.name,
        dry_run=not propose,
        space=found.wanted.name,
        location=found.wanted.location,
        tier=found.tier,
        checks=tuple(
            CheckOfPlace(
                check=check.name, state=check.state.value, sentence=check.sentence,
                accepted=check.state is CheckState.FAILS and check.name in found.wanted.accepted,
            )
            for check in found.found.checks
        ),
    )  # fmt: skip
    if found.proposal is None:
        return extend(SpaceByHand, wanted, by_hand=work_by_hand(found.answer))
    return extend(SpacePlanned, wanted, plan_shown(found.proposal), proposal=proposal_stored(stored))
