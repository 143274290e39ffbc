"""Shall it be done? ``approve``, ``reject``, ``strike``, for one proposal or several.

Several proposals with one decision, in waves: ``approve ID ID ...``, ``cancel --digest``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.fleet import proposal_of_database
from agent.cli.options import Reason, end_of, parse_option
from agent.cli.proposals import ProposalId, print_conflicts, print_proposal
from agent.cli.session import Session, actor, interactive
from agent.config.models import MAXIMUM_STALL_SECONDS, DatabaseConfig
from agent.ledger.lists import ListDecision
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.answers.decisions import (
    ApprovalToSign,
    MoveStruck,
    ProposalApproved,
    ProposalDecided,
    ProposalRejected,
    ProposalSigned,
    StruckMove,
)
from agent.model.answers.fleet import ListApproved, ListedProposal, ListStopped, ListToSign, MoveOfList, ProposalList
from agent.model.answers.kind import extend
from agent.model.approvals import NONE, Conditions, refuse_stall
from agent.model.proposals import DIGEST_SHOWN, ProposedMove
from agent.model.signed_documents import NAMESPACE, ApprovalList
from agent.model.states import WITHDRAWN, ProposalState
from agent.model.units_of_measure import format_when, parse_bytes, parse_seconds
from agent.planning.conflicts import Conflict, conflicts_of, conflicts_with, with_proposal
from agent.service.fleet import ProposalWorth
from agent.service.heard import daemon_of
from agent.terminal.columns import Column
from agent.terminal.deciding import print_lines, would_run
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.wording import count_of_moves, print_statements, short_digest
from connectors.kit.files import read_given
from connectors.model.formatting import format_bytes, format_seconds, format_sessions, format_wait
from policies.model.moves import MoveReason

COLUMNS = (
    Column("wave", number=True), Column("id", number=True), Column("database", name=True), Column("moves", number=True),
    Column("size", number=True), Column("saves", number=True), Column("digest", leaves=1),
)  # fmt: skip
LATER = "a later wave begins once those before it are measured and did not hurt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
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


def approve_list(session: Session, asked: ListOptions, digest: str | None, signature: str, *, yes: bool) -> None:
    """Approve all of them, or print what is to be signed; ``signature``: over that, "" for none.

    Raises:
        LedgerError: one of them cannot be approved, or the list is not what was looked at.
        CommandError: the question was not answered by yes.
    """
    listed, signed_by = session.ledger.lists.document(asked.numbers, asked.canaries, asked.conditions)
    if session.config.signers is not None and not signature:
        _print_list(session, asked, listed, signed_by)
        return
    if not signature and digest is None and not yes:
        _confirm_list(session, asked, listed)
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


def _heads(session: Session, listed: ApprovalList) -> list[tuple[int, ProposalWorth]]:
    """Wave and head of each member."""
    row = session.ledger.proposals.row
    return [(member.wave, ProposalWorth.of(row(member.document.proposal))) for member in listed.members]


def _print_list(session: Session, asked: ListOptions, listed: ApprovalList, signed_by: list[str]) -> None:
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


def _confirm_list(session: Session, asked: ListOptions, listed: ApprovalList) -> None:
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


def _cells(wave: int, head: ProposalWorth) -> tuple[str, ...]:
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


LARGEST_SIGNATURE = 64 << 10  # bytes; ssh-keygen writes some hundred
SignatureFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Signature over the document that this command prints if approval: signed."),
]
Unasked = Annotated[bool, typer.Option("--yes", "-y", help="Approve what is stored now without being asked.")]
AtMost = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Condition: move no more than this, for example 50GB.")
]
NotAfter = Annotated[
    str | None, typer.Option(metavar="TIME|DURATION", help="Condition: begin before 2030-01-31T05:00, or in 6h.")
]
Stall = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="Allow a move to keep sessions out for so long, beyond maximum_stall: 40s."),
]
GainAtLeast = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Condition: while it saves that much wait an hour: 10min.")
]


@command(HelpGroup.DECIDE, "hotplace approve 3 --digest 1a2b3c4d5e6f")
def approve(
    session: Session,
    numbers: Annotated[
        list[int], typer.Argument(min=1, metavar="ID...", help="Numbers that `hotplace proposals` shows.")
    ],
    digest: Annotated[
        str | None,
        typer.Option(help=f"Digest of what you looked at, {DIGEST_SHOWN} characters or more; asks nothing."),
    ] = None,
    yes: Unasked = False,
    signature: SignatureFile = None,
    at_most: AtMost = None,
    not_after: NotAfter = None,
    gain_at_least: GainAtLeast = None,
    stall: Stall = None,
    reason: Reason = "",
    canary: Annotated[
        list[int] | None,
        typer.Option("--canary", metavar="ID", help="Goes first; the others begin if it did not hurt. Repeatable."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Of all databases of the ledger, those of other machines too.")
    ] = False,
) -> None:
    """Approve a proposal, exactly as it is stored, so that its moves may run before it expires.

    Several are approved together: all of them, or none. With approval: signed in the configuration it prints what is to
    be signed, or takes in a signature.
    """
    conditions = conditions_of_options(session, at_most, not_after, gain_at_least, stall)
    if not everything:
        _require_configured(session, numbers)
    for number in numbers:
        _refuse_stall(session, number, conditions)
    signed = "" if signature is None else read_signature(signature)
    if len(numbers) > 1 or canary or everything:
        asked = ListOptions(numbers=tuple(numbers), canaries=tuple(canary or ()), conditions=conditions, reason=reason,
                      everywhere=everything)  # fmt: skip
        approve_list(session, asked, digest, signed, yes=yes)
        return
    give_approval(session, numbers[0], digest=digest, yes=yes, signature=signed, conditions=conditions, reason=reason)


def _require_configured(session: Session, numbers: Sequence[int]) -> None:
    """See that an agent with this configuration carries the proposals out.

    Raises:
        CommandError: one is for a database of another machine.
        NotFound: there is no such proposal.
    """
    known = {each.name for each in session.config.databases}
    for number in numbers:
        name = session.ledger.proposals.row(number).proposal.database
        if name not in known:
            raise CommandError(
                f"proposal {number} is for {name!r}, which is not configured here",
                code=ExitCode.CONFIGURATION,
                advice="Where an agent on another machine watches it, --all approves it from here.",
            )


def give_approval(
    session: Session,
    number: int,
    *,
    digest: str | None,
    yes: bool = False,
    signature: str = "",
    conditions: Conditions = NONE,
    reason: str = "",
) -> None:
    """Approve a proposal as the user of the operating system, or print what is to be signed.

    Args:
        session: prints what comes of it.
        number: of the proposal.
        digest: of what was looked at; None: what is stored now.
        yes: do not ask where there is no digest.
        signature: over the document; "": none.
        conditions: under which it is approved.
        reason: for the record.

    Raises:
        LedgerError: it cannot be approved, or is not what was looked at.
        CommandError: the question was not answered by yes.
    """
    row = session.ledger.proposals.row(number)
    database = session.config.database(row.proposal.database)  # nothing would ever carry out what is not configured
    conflicts = conflicts_of(session.ledger, row.proposal.database)
    if session.config.signers is not None and not signature:
        _print_document(session, number, conditions)
        return
    if row.state is ProposalState.PROPOSED and digest is None and not yes and not signature:
        _confirm(session, row, with_proposal(conflicts, number))
    else:
        print_conflicts(session.out, with_proposal(conflicts, number))
    who = actor()
    approved = session.ledger.proposals.approve(
        number,
        digest=row.digest if digest is None else digest,
        who=who.who,
        origin=who.origin,
        reason=reason,
        signature=signature,
        conditions=conditions,
    )
    if approved.state is ProposalState.PROPOSED:
        _say_who_is_missing(session, approved, conditions)
        return
    next_sentence = _what_happens_next(session, database, approved)
    session.out.line(f"proposal {number} ({short_digest(approved.digest)}) is approved by {approved.decided_by}")
    if conditions.facts:
        session.out.line(f"on condition: {conditions}")
    session.out.line(next_sentence)
    session.out.document(
        extend(
            ProposalApproved,
            _decided(approved),
            who=approved.decided_by,
            conditions=conditions.facts,
            origin=who.origin,
            conflicts=conflicts_with(conflicts, number),
            next=next_sentence,
        )
    )


@command(HelpGroup.DECIDE, "hotplace reject 3 --reason 'month end'")
def reject(
    session: Session, number: ProposalId, reason: Annotated[str, typer.Option(help="Why, for the record.")]
) -> None:
    """Reject a proposal; none of its moves will run."""
    who = actor()
    row = session.ledger.proposals.reject(number, who=who.who, origin=who.origin, reason=reason)
    session.out.line(f"proposal {number} is rejected by {who.who}")
    session.out.note("the daemon does not propose the same statements again for policy.cool_down")
    session.out.document(extend(ProposalRejected, _decided(row), who=who.who, origin=who.origin))


@command(HelpGroup.DECIDE, "hotplace strike 3 2 --reason 'not this table'")
def strike(
    session: Session,
    number: ProposalId,
    ordinal: Annotated[int, typer.Argument(min=1, metavar="MOVE", help="Which move of it, counted from 1.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
) -> None:
    """Drop one move of a proposal, before or after its approval, with what makes room for it or needs its room."""
    who = actor()
    move, *others = session.ledger.proposals.strike(number, ordinal, who=who.who, origin=who.origin, reason=reason)
    row = session.ledger.proposals.row(number)
    session.out.line(f"move {ordinal} of proposal {number} ({move.move.key}) is struck by {who.who}")
    if others:
        session.out.line(_with_it(move, others))
    session.out.document(
        extend(
            MoveStruck,
            _decided(row),
            struck=_struck(move),
            struck_with_it=tuple(_struck(other) for other in others),
            who=who.who,
            origin=who.origin,
        )
    )


def _refuse_stall(session: Session, number: int, conditions: Conditions) -> None:
    """See that no move keeps others out for longer than is allowed, by the configuration or by name.

    Raises:
        CommandError: one may.
    """
    proposal = session.ledger.proposals.row(number).proposal
    configured = [each.maximum_stall_seconds for each in session.config.databases if each.name == proposal.database]
    by_name = conditions.most_stall_seconds
    most = by_name if by_name is not None else min(configured, default=MAXIMUM_STALL_SECONDS)
    left = [row.move for row in session.ledger.moves.rows(proposal_id=number) if row.state not in WITHDRAWN]
    # The person who carries a move out by hand chooses the hour, and the file says what it locks.
    too_long = refuse_stall([move for move in left if not move.by_hand], most, by_name=by_name is not None)
    if not too_long or proposal.is_undo:  # what hurts goes back, and its time is said
        return
    limit = "--stall" if by_name is not None else "maximum_stall"
    raise CommandError(
        f"proposal {number} was not approved: {too_long}, longer than {limit} ({format_seconds(most)})",
        code=ExitCode.REFUSED,
        advice="Choose an hour without users and name the time: --stall, as in --stall 40s; or strike that move.",
    )


def conditions_of_options(
    session: Session, at_most: str | None, not_after: str | None, gain: str | None, stall: str | None
) -> Conditions:
    """What the options say.

    Raises:
        BadParameter: one of them is no size, time or duration.
    """
    return Conditions(
        most_bytes=None if at_most is None else parse_option(parse_bytes, at_most, "--at-most"),
        not_after=None if not_after is None else end_of(not_after, session.clock, "--not-after"),
        least_gain_per_hour=None if gain is None else parse_option(parse_seconds, gain, "--gain-at-least"),
        most_stall_seconds=None if stall is None else parse_option(parse_seconds, stall, "--stall"),
    )


def _print_document(session: Session, number: int, conditions: Conditions) -> None:
    """What to sign, alone on standard output, and how to go on."""
    document, given = session.ledger.proposals.document(number, conditions)
    needed = session.config.approvals
    to_sign = ApprovalToSign(
        proposal=number,
        document=document.text,
        namespace=NAMESPACE,
        signed_by=tuple(each.who for each in given),
        needed=needed,
    )
    if not session.out.as_json:
        session.out.verbatim(to_sign.document)
    session.out.note(f"look at it first: hotplace show {number}; then sign just this text, saved as FILE, as yourself:")
    session.out.note(f"ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 FILE")
    session.out.note(f"hotplace approve {number} --signature FILE.sig")
    if to_sign.signed_by:
        session.out.note(f"signed by {', '.join(to_sign.signed_by)}; {needed} signatures are needed")
    session.out.document(to_sign)


def _say_who_is_missing(session: Session, row: ProposalRow, conditions: Conditions) -> None:
    _, given = session.ledger.proposals.document(row.id, conditions)
    names, needed = tuple(each.who for each in given), session.config.approvals
    session.out.line(f"proposal {row.id} is signed by {', '.join(names)}: {len(names)} of {needed} signatures")
    session.out.line("next: another person signs the same document with a key of his own")
    session.out.document(extend(ProposalSigned, _decided(row), signed_by=names, needed=needed))


def read_signature(path: Path) -> str:
    """A signature file; ``-`` is standard input.

    Raises:
        CommandError: it cannot be read.
    """
    try:
        return sys.stdin.read() if str(path) == "-" else read_given(path, LARGEST_SIGNATURE).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"the signature {path} cannot be read: {error}",
            code=ExitCode.USAGE,
            advice="ssh-keygen -Y sign writes it next to what was signed, with .sig behind its name.",
        ) from error


def _struck(move: MoveRow) -> StruckMove:
    return StruckMove(ordinal=move.move.ordinal, unit=move.move.key, state=move.state, reason=move.reason)


def _with_it(move: MoveRow, others: Sequence[MoveRow]) -> str:
    """What else was struck, and why."""
    listed = ", ".join(f"{other.move.ordinal} ({other.move.key})" for other in others)
    what = "move" if len(others) == 1 else "moves"
    if move.move.reason == MoveReason.MAKE_ROOM:
        return f"with it {what} {listed}: it makes room in this group, which is worth it only as a whole"
    return f"with it {what} {listed}: the moves of its group, which make room for it or are worth it only with it"


def _confirm(session: Session, row: ProposalRow, conflicts: Sequence[Conflict]) -> None:
    """Show what would be approved and ask.

    Raises:
        CommandError: there is no terminal to ask on, or the answer was no.
    """
    if not interactive() or session.out.as_json:
        raise CommandError(
            f"proposal {row.id} was not approved: there is no terminal to ask for confirmation",
            code=ExitCode.REFUSED,
            advice=f"Look at it with `hotplace show {row.id}`, then give --digest {short_digest(row.digest)} or --yes.",
        )
    moves = print_what_would_run(session, row, conflicts)
    session.out.line()
    print_lines(session.out, row.proposal, moves, row.id)  # again: the first ones have left a screen of 24 lines
    size = format_bytes(sum(move.size_bytes for move in moves))
    if not session.out.ask(f"Approve {count_of_moves(moves)}, {size} in all?"):
        raise CommandError(f"proposal {row.id} was not approved", code=ExitCode.REFUSED, advice="Nothing was changed.")


def print_what_would_run(session: Session, row: ProposalRow, conflicts: Sequence[Conflict]) -> list[ProposedMove]:
    """Print all that an approval rests on, the summary first and every statement last; the moves that would run."""
    rows = session.ledger.moves.as_they_are(proposal_id=row.id)
    print_proposal(session.out, row, rows)
    print_conflicts(session.out, conflicts)
    moves = would_run(rows)
    print_statements(session.out, moves)
    return moves


def _what_happens_next(session: Session, database: DatabaseConfig, row: ProposalRow) -> str:
    """Who will carry it out, and when."""
    left = would_run(session.ledger.moves.as_they_are(proposal_id=row.id))
    hands = sum(move.by_hand for move in left)
    by_hand = hands and (
        f"a person carries {'it out' if hands == len(left) else f'out {hands} of its moves'}: "
        f"hotplace show {row.id} --sql prints the file; the catalog is looked at until "
        f"{format_when(row.proposal.expires_at)}"
    )
    if by_hand and hands == len(left):
        alive = daemon_of(session.ledger, database, session.clock.now()).alive
        return by_hand if alive else f"{by_hand}, by a daemon that runs: hotplace run"
    sent = _when_it_is_sent(session, database)
    return f"{by_hand}; of the others: {sent}" if by_hand else sent


def _when_it_is_sent(session: Session, database: DatabaseConfig) -> str:
    """When the daemon will carry out what hotplace sends."""
    if session.config.dry_run:
        return (
            f"nothing will run yet: dry_run is on in {session.config_path}; set it to false, then reload the daemon "
            "(SIGHUP; systemctl reload hotplace) or start it: hotplace run"
        )
    daemon = daemon_of(session.ledger, database, session.clock.now())
    if daemon.alive and daemon.status is not None and daemon.status.error:
        return f"the daemon carries it out once the database can be asked again: {daemon.status.error}"
    if daemon.alive:
        return "the daemon carries it out within seconds, in its window; follow it with: hotplace top"
    return "no daemon watches this database; start it with `hotplace run`, or carry this out now: hotplace run --once"


def _decided(row: ProposalRow) -> ProposalDecided:
    return ProposalDecided(
        proposal=row.id,
        database=row.proposal.database,
        digest=row.digest,
        state=row.state,
        expires_at=row.proposal.expires_at,
    )
