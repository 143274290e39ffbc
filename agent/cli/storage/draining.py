"""One container out of its space: ``plan --mode drain --space S --container C``."""

from __future__ import annotations

from agent.answers.kind import extend
from agent.answers.plans import ContainerByHand, ContainerDrained, ContainerPlanned
from agent.cli.planning.answer import print_by_hand, print_next, proposal_stored, work_by_hand
from agent.cli.session import Session
from agent.cli.storage.containers import container_shown
from agent.ledger import ProposalRow
from agent.planning.containers import TakingOut
from agent.service.watch import Watch
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import plan_shown, print_moves, print_statements
from connectors.containers import ByHand
from connectors.formatting import format_bytes, format_seconds
from connectors.model import NoRoute


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
            advice=f"hotplace plan --mode drain --space {space} empties all of it.",
        )
    number = watch.offers.store(found.proposal) if propose else None
    stored = None if number is None else session.ledger.proposals.row(number)
    _print(session.out, found, stored, propose=propose)
    session.out.document(_answer(session, found, stored, propose=propose))
    return True


def _print(out: Output, found: TakingOut, stored: ProposalRow | None, *, propose: bool) -> None:
    if found.proposal is not None:
        (move,) = found.proposal.moves
        out.heading("the plan (drain)")
        out.facts([("copies", format_bytes(move.size_bytes)), ("copying takes", format_seconds(move.copy_seconds))])
        print_moves(out, found.proposal.moves)
        print_statements(out, found.proposal.moves)
        print_next(out, found.proposal, stored, propose=propose)
    elif isinstance(found.answer, ByHand):
        print_by_hand(out, f"drain: {found.container.name} is taken out of {found.space.name} by hand", found.answer)
        out.line()
        out.line(f"next: hotplace close {found.space.name} keeps plans from bringing anything to it meanwhile")


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
