"""Standing rules and what is approved under them: propose, sign, close, approve what an open rule covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sqlalchemy import select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.events import numbered_subject
from agent.ledger.chain.judge import UNDER
from agent.ledger.chain.links import subject_of
from agent.ledger.chain.signed import ApprovalRule, check_signature
from agent.ledger.chain.trust import (
    RULE_CLOSED,
    RULE_OPENED,
    RULE_PROPOSED,
    RULE_SIGNED,
    RuleSignature,
    RuleStanding,
    checked_signatures,
    missing_for_rule,
    open_rules,
    read_standing,
    rule_of_approval,
    rule_signature_fault,
    why_not_covered,
)
from agent.ledger.errors import NotCovered, NotSigned, Refused, WrongState
from agent.ledger.requests import pins_in_force
from agent.ledger.rows import PinRow, ProposalRow, RuleRow, RuleState
from agent.ledger.store.database import Database, Reading, Transaction
from agent.ledger.store.schema import audit
from agent.ledger.stored import (
    MOVES_OF_PROPOSAL,
    StateChanges,
    load_moves,
    load_proposal,
    not_there,
    require_decidable,
)
from agent.model.approvals import StandingRule
from agent.model.proposals import Proposal
from agent.model.signed_documents import RuleDocument
from agent.model.states import MoveState
from connectors.kit.contract import Clock
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import key_matcher

ORIGIN = "level auto"  # from where an automatic approval came
_RULES = select(audit.c.subject).where(audit.c.event == RULE_PROPOSED)


class Rules:
    """The standing rules of all databases. Every change is one transaction, and nothing but rows of the audit chain."""

    def __init__(
        self, database: Database, chain: AuditChain, clock: Clock, changes: StateChanges, approval: ApprovalRule
    ) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock
        self._changes = changes
        self.approval = approval

    def propose(self, rule: StandingRule, *, who: str, origin: str) -> int:
        """Store a rule, which covers nothing before it is signed; returns its number.

        Raises:
            Refused: it would expire in the past.
        """
        if rule.expires_at <= self._clock.now():
            raise Refused(f"a rule cannot expire at {rule.expires_at:%F %T %Z}: that is past")
        with self._database.write() as transaction:
            number = _next_number(transaction)
            self._chain.append(
                transaction, RULE_PROPOSED, subject_of("rule", number), who=who, origin=origin, limits=rule.facts
            )
            return number

    def rows(self, database: str | None = None) -> list[RuleRow]:
        """The rules of a database or all, the newest first."""
        now = self._clock.now()
        with self._database.read() as reading:
            found = [standing.row(now) for standing in read_standing(reading).values()]
        return [row for row in reversed(found) if database in (None, row.rule.database)]

    def row(self, number: int) -> RuleRow:
        """One rule.

        Raises:
            NotFound: there is none by that number.
        """
        with self._database.read() as reading:
            return _find(reading, number).row(self._clock.now())

    def with_todays_signers(self, row: RuleRow) -> RuleRow:
        """The same, with why an open rule approves nothing where a key of its signers no longer counts.

        Raises:
            NotFound: there is none by its number.
        """
        if row.state is not RuleState.OPEN:
            return row
        with self._database.read() as reading:
            return replace(row, reason=rule_signature_fault(reading, self.approval, _find(reading, row.number)))

    def document(self, number: int) -> RuleDocument:
        """What is to be signed to open a rule.

        Raises:
            NotFound: there is none by that number.
            WrongState: it is open already, or has expired.
        """
        with self._database.read() as reading:
            standing = _find(reading, number)
            self._require_unopened(standing)
            return standing.document(reading)

    def open(self, number: int, *, origin: str, signature: str) -> RuleRow:
        """Take in a signature over the document of a rule; with the last one that is needed the rule is open.

        Raises:
            NotFound, WrongState: as ``document``.
            NotSigned, SignatureInvalid: the signature is missing or does not count.
        """
        with self._database.write() as transaction:
            standing = _find(transaction, number)
            self._require_unopened(standing)
            subject, (before, _) = subject_of("rule", number), checked_signatures(transaction, self.approval, standing)
            found = check_signature(
                self.approval, standing.document(transaction), signature, before,
                {standing.proposed_by}, what=subject, command=f"hotplace rules open {number}",
            )  # fmt: skip
            self._chain.append(
                transaction, RULE_SIGNED, subject,
                who=found.who, origin=origin, key=found.key, sequence=standing.sequence, signature=found.armored,
            )  # fmt: skip
            standing.take_in(RuleSignature(standing.sequence, found.who, found.key, found.armored))
            signatures, _ = checked_signatures(transaction, self.approval, standing)
            if not missing_for_rule(signatures, self.approval, standing):
                names = ", ".join(dict.fromkeys(each.who for each in signatures))
                self._chain.append(transaction, RULE_OPENED, subject, who=names, origin=origin)
            return _find(transaction, number).row(self._clock.now())

    def close(self, number: int, *, who: str, origin: str, reason: str) -> RuleRow:
        """Approve nothing more under a rule, and begin nothing that it has approved, until it is signed once more.

        Raises:
            NotFound: there is none by that number.
            WrongState: it is closed already.
        """
        with self._database.write() as transaction:
            standing = _find(transaction, number)
            if standing.row(self._clock.now()).state is RuleState.CLOSED:
                raise WrongState(f"standing rule {number} is closed already: {standing.closed_why}")
            self._chain.append(
                transaction, RULE_CLOSED, subject_of("rule", number), who=who, origin=origin, reason=reason
            )
            return _find(transaction, number).row(self._clock.now())

    # -- what rules approve --------------------------------------------------------------------------------------

    def why_not(self, row: ProposalRow, rule: RuleRow) -> str:
        """Why a rule does not approve a proposal now; "" where it does, at level ``auto``."""
        with self._database.read() as reading:
            return self._why_not(reading, _find(reading, rule.number), row)

    def approve(self, number: int) -> ProposalRow:
        """Approve a proposal under the first open rule that covers it.

        Raises:
            NotFound, ProposalTampered: there is none by that number, or its text no longer has its digest.
            ProposalExpired, WrongState: it does not wait for a decision.
            NotCovered: no rule covers it; the message says why not, rule by rule.
            NotSigned: rules approve nothing here.
        """
        if not self.approval.automatic or self.approval.signers is None:
            raise NotSigned("standing rules approve nothing here", advice="Set level: auto and approval: signed.")
        with self._database.write() as transaction:
            row = load_proposal(transaction, number)
            require_decidable(row)
            refusals = []
            for standing in open_rules(read_standing(transaction).values(), row.proposal.database):
                why = self._why_not(transaction, standing, row)
                if not why:
                    return self._approve_under(transaction, standing, row)
                refusals.append(f"rule {standing.number}: {why}")
            raise NotCovered(
                f"no standing rule covers proposal {number}: {'; '.join(refusals) or 'none is open'}",
                advice=f"hotplace show {number}, then approve or reject it.",
            )

    def _approve_under(self, transaction: Transaction, standing: RuleStanding, row: ProposalRow) -> ProposalRow:
        signed_by = ", ".join(dict.fromkeys(each.who for each in standing.signatures))
        who, reason = f"standing rule {standing.number} of {signed_by}", "within its limits"
        under = {"conditions": standing.rule.conditions.facts, UNDER: standing.number}
        self._changes.approve(transaction, row, who, ORIGIN, reason, **under)
        return load_proposal(transaction, row.id)

    def why_not_begin(self, proposal: int) -> str | None:
        """Why nothing of a proposal may begin under its rule now; "" where it may, None where a person approved it."""
        with self._database.read() as reading:
            found = rule_of_approval(reading, proposal)
            if found is None:
                return None
            if not self.approval.automatic:
                return "it was approved under a standing rule, and the level is no longer auto"
            return _find(reading, found).why_not_now(self._clock.now())

    def template_of(self, proposal: int) -> StatementTemplate | None:
        """The template of the rule under which a proposal was approved; None: it has none, or a person approved it."""
        with self._database.read() as reading:
            found = rule_of_approval(reading, proposal)
            return None if found is None else _find(reading, found).rule.template

    def _why_not(self, reading: Reading, standing: RuleStanding, row: ProposalRow) -> str:
        moves = load_moves(reading, MOVES_OF_PROPOSAL, proposal_id=row.id)
        struck = sum(move.state is not MoveState.PROPOSED for move in moves)
        now = self._clock.now()
        return (
            why_not_covered(standing, row.proposal, struck, now)
            or rule_signature_fault(reading, self.approval, standing)
            or _pinned_since(pins_in_force(reading, row.proposal.database, now), row.proposal)
        )

    def _require_unopened(self, standing: RuleStanding) -> None:
        """Refuse to sign what needs no signature, or helps no more.

        Raises:
            WrongState: the rule is open already, has expired, or cannot be read.
        """
        row = standing.row(self._clock.now())
        if standing.fault:
            raise WrongState(
                f"standing rule {row.number} cannot be read: {standing.fault}",
                advice="hotplace rules propose makes another.",
            )
        if row.state in (RuleState.OPEN, RuleState.EXPIRED):
            raise WrongState(
                f"standing rule {row.number} is {row.state}", advice="hotplace rules propose makes another."
            )


def _pinned_since(pins: Sequence[PinRow], proposal: Proposal) -> str:
    """Which unit of a proposal has a pin that the plan did not know, in words; "" where there is none."""
    keys = sorted({key for move in proposal.moves for key in move.all_keys})
    for pin in pins:
        if pin.created_at > proposal.created_at and (key := next(filter(key_matcher(pin.pattern), keys), "")):
            return f"{key} was pinned ({pin.pattern}) after this was proposed; the next plan knows that"
    return ""


def _next_number(reading: Reading) -> int:
    """The first that no rule has which was ever proposed, whether or not its row can be read."""
    # Not one more than the largest: a row about the largest number that there can be would leave none.
    taken = {numbered_subject(row.subject)[1] for row in reading.rows(_RULES)}
    return next(number for number in count(1) if number not in taken)


def _find(reading: Reading, number: int) -> RuleStanding:
    rules = read_standing(reading)
    if number not in rules:
        known = ", ".join(map(str, rules)) or "none"
        raise not_there(reading, f"standing rule {number}", f"There are: {known}. See: hotplace rules list.")
    return rules[number]
