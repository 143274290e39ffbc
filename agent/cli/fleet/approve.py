"""Several proposals with one decision, in waves: ``approve ID ID ...``, ``cancel --digest``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from agent.answers.fleet import ListApproved, ListedProposal, ListStopped, ListToSign, MoveOfList, ProposalList
from agent.answers.kind import extend
from agent.cli.fleet.proposals import proposal_of_database
from agent.cli.session import Session, actor, interactive
from agent.fleet.worth import ProposalHead
from agent.keys import NAMESPACE, ApprovalList
from agent.ledger import ListDecision, MoveRow
from agent.model.conditions import Conditions
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.wording import short_digest
from connectors.formatting import format_bytes, format_sessions, format_wait

COLUMNS = (
    Column("wave", number=True), Column("id", number=True), Column("database", name=True), Column("moves", number=True),
    Column("size", number=True), Column("saves", number=True), Column("digest", leaves=1),
)  # fmt: skip
LATER = "a later wave begins once those before it are measured and did not hurt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be approved."""

    numbers: tuple[int, ...]
    canaries: tuple[int, ...]  # of them, those that go first
    conditions: Conditions
    reason: str
    everywhere: bool  # of databases of other machines too

    @property
    def command(self) -> str:
        """The command line that says so."""
        canaries = "".join(f" --canary {number}" for number in self.canaries)
        everywhere = " --all" if self.everywhere else ""
        return f"hotplace approve{everywhere} {' '.join(map(str, self.numbers))}{canaries}"


def approve_list(session: Session, asked: Asked, digest: str | None, signature: str, *, yes: bool) -> None:
    """Approve all of them, or print what is to be signed; ``signature``: over that, "" for none.

    Raises:
        LedgerError: one of them cannot be approved, or the list is not what was looked at.
        CommandError: the question was not answered by yes.
    """
    listed, signed_by = session.ledger.lists.document(asked.numbers, asked.canaries, asked.conditions)
    if session.config.signers is not None and not signature:
        _print_document(session, asked, listed, signed_by)
        return
    if not signature and digest is None and not yes:
        _confirm(session, asked, listed)
    who = actor()
    decision = session.ledger.lists.approve(
        asked.numbers, asked.canaries, who=who.who, origin=who.origin, digest=digest or listed.digest,
        reason=asked.reason, signature=signature, conditions=asked.conditions,
    )  # fmt: skip
    _say(session, listed, decision)


def stop_list(session: Session, digest: str, reason: str) -> None:
    """Cancel what has not begun of an approved list."""
    who = actor()
    stopped = session.ledger.lists.stop(digest, who=who.who, origin=who.origin, reason=reason)
    cancelled = f"{len(stopped.cancelled)} moves cancelled"
    session.out.line(f"list {short_digest(stopped.digest)} is stopped by {who.who}: {cancelled}")
    if stopped.going_on:
        session.out.line(f"{len(stopped.going_on)} moves of groups that have begun go on; hotplace cancel ends one")
    session.out.document(
        ListStopped(
            list=stopped.digest,
            cancelled=tuple(map(_move_of_list, stopped.cancelled)),
            going_on=tuple(map(_move_of_list, stopped.going_on)),
            who=who.who,
            origin=who.origin,
        )
    )


def _move_of_list(row: MoveRow) -> MoveOfList:
    return MoveOfList(move=row.id, proposal=row.proposal_id, database=row.database, unit=row.move.key)


def _heads(session: Session, listed: ApprovalList) -> list[tuple[int, ProposalHead]]:
    """Wave and head of each member."""
    row = session.ledger.proposals.row
    return [(member.wave, ProposalHead.of(row(member.document.proposal))) for member in listed.members]


def _print_document(session: Session, asked: Asked, listed: ApprovalList, signed_by: list[str]) -> None:
    """What to sign, alone on standard output, and how to go on."""
    if not session.out.as_json:
        session.out.verbatim(listed.text)
    session.out.note("look at each first: hotplace show ID; then sign just this text, saved as FILE, as yourself:")
    session.out.note(f"ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 FILE")
    session.out.note(f"{asked.command} --signature FILE.sig")
    if signed_by:
        session.out.note(f"signed by {', '.join(signed_by)}; {session.config.approvals} signatures are needed")
    session.out.document(
        extend(
            ListToSign,
            _list_shown(session, listed),
            document=listed.text,
            namespace=NAMESPACE,
            signed_by=tuple(signed_by),
        )
    )


def _list_shown(session: Session, listed: ApprovalList) -> ProposalList:
    return ProposalList(
        list=listed.digest,
        proposals=tuple(
            extend(ListedProposal, proposal_of_database(head), wave=wave) for wave, head in _heads(session, listed)
        ),
        needed=session.config.approvals,
    )


def _confirm(session: Session, asked: Asked, listed: ApprovalList) -> None:
    """Show what would be approved and ask.

    Raises:
        CommandError: there is no terminal to ask on, or the answer was no.
    """
    if not interactive() or session.out.as_json:
        raise CommandError(
            "nothing was approved: there is no terminal to ask for confirmation",
            code=ExitCode.REFUSED,
            advice=f"Look at each with `hotplace show`, then give --digest {short_digest(listed.digest)} or --yes.",
        )
    heads = _heads(session, listed)
    session.out.table(COLUMNS, [_cells(wave, head) for wave, head in heads])
    if asked.canaries:
        session.out.line(LATER)
    saves = format_wait(math.fsum(head.saved_per_hour for _, head in heads))
    size = format_bytes(sum(head.bytes for _, head in heads))
    if not session.out.ask(f"Approve {len(heads)} proposals, {size} in all, which save {saves}?"):
        raise CommandError("nothing was approved", code=ExitCode.REFUSED, advice="Nothing was changed.")


def _cells(wave: int, head: ProposalHead) -> tuple[str, ...]:
    return (
        str(wave), str(head.id), head.database, str(head.moves), format_bytes(head.bytes),
        format_sessions(head.saved_per_hour), short_digest(head.digest),
    )  # fmt: skip


def _say(session: Session, listed: ApprovalList, decision: ListDecision) -> None:
    """What came of it, and what comes next."""
    name, needed = short_digest(decision.digest), session.config.approvals
    if decision.missing:
        missing = f"{decision.missing} of {needed} signatures are missing"
        session.out.line(f"list {name} is signed by {decision.who}; {missing}")
        session.out.line("next: another person signs the same document with a key of his own")
    else:
        session.out.line(f"list {name}: {len(decision.rows)} proposals are approved by {decision.who}")
        if any(member.wave > 1 for member in listed.members):
            session.out.line(LATER)
        session.out.line(f"to stop what has not begun: hotplace cancel --digest {name} --reason TEXT")
    session.out.document(
        extend(
            ListApproved,
            _list_shown(session, listed),
            state=decision.rows[0].state,
            who=decision.who,
            missing=decision.missing,
        )
    )
