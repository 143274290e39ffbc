"""Standing rules as the audit chain tells them: proposed, signed, opened, closed, and what was approved under them.

The chain is all that is stored of a rule. No other table could say something else about it, and the limits are trusted
because of the signatures over them, which are checked again before each statement that rests on the rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from agent.keys import RuleDocument, SignatureInvalid
from agent.ledger.chain.links import APPROVED, AUDIT, GENESIS, hash_of_row, number_of, subject_of
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.file.reading import Reading, Row, where
from agent.ledger.rows import MoveRow, RuleRow, RuleState
from agent.ledger.stored import load_proposal
from agent.model.conditions import Conditions
from agent.model.outcomes import OutcomeVerdict
from agent.model.proposals import Proposal
from agent.model.standing_rules import StandingRule, find_refusal

RULE_PROPOSED, RULE_SIGNED, RULE_OPENED, RULE_CLOSED = "rule.proposed", "rule.signed", "rule.opened", "rule.closed"
MEASURED = "outcome.recorded"
UNDER = "rule"  # the fact of an approval that names its standing rule
CLOSING = frozenset({OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME})
A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RuleSignature:
    """A signature that the chain holds, with the sequence that was signed."""

    sequence: int
    who: str
    key: str
    armored: str


@dataclass(slots=True)
class Standing:
    """One rule with all that the chain says about it."""

    number: int
    rule: StandingRule
    proposed_by: str
    proposed_at: datetime
    first: int  # number of the audit row that proposed it
    sequence: int  # of the last row that proposed or closed it
    opened: bool = False
    closed_why: str = ""  # "" until it was closed for the first time
    closed_at: datetime | None = None
    signatures: list[RuleSignature] = field(default_factory=list)
    approvals: list[tuple[int, datetime, int]] = field(default_factory=list)  # proposal, when, counted as; in order

    def close(self, row: Row, why: str) -> None:
        """Nothing is approved under it any more, until it is signed once more."""
        self.opened, self.closed_why, self.closed_at, self.sequence = False, why, row.at, row.id

    def signed_now(self) -> list[RuleSignature]:
        """The signatures that count for it as it is now."""
        return [each for each in self.signatures if each.sequence == self.sequence]

    def document(self, reading: Reading) -> RuleDocument:
        """What is signed to open it."""
        return RuleDocument(
            ledger=hash_of_row(reading, 1) or GENESIS, database=self.rule.database, fingerprint=self.rule.fingerprint,
            rule=self.number, limits=self.rule.limits, sequence=self.sequence,
        )  # fmt: skip

    def used(self, at: datetime) -> int:
        """How many proposals (of a template: moves) were approved in the day before an instant.

        What lies after it, by a clock set back, counts too.
        """
        return sum(count for _, when, count in self.approvals if when > at - A_DAY)

    def row(self, now: datetime) -> RuleRow:
        """The rule for callers."""
        state = RuleState.OPEN if self.opened else RuleState.CLOSED if self.closed_why else RuleState.PROPOSED
        if now >= self.rule.expires_at:
            state = RuleState.EXPIRED
        return RuleRow(
            number=self.number, rule=self.rule, state=state, reason=self.closed_why if not self.opened else "",
            closed_at=None if self.opened else self.closed_at,
            proposed_by=self.proposed_by, proposed_at=self.proposed_at,
            signed_by=tuple(dict.fromkeys(each.who for each in self.signed_now())),
            used_today=self.used(now), approved=tuple(proposal for proposal, *_ in self.approvals),
        )  # fmt: skip

    def why_not_now(self, now: datetime) -> str:
        """Why nothing may be approved or begun under it at an instant; "" where it may."""
        if not self.opened:
            return f"standing rule {self.number} is not open{f': {self.closed_why}' if self.closed_why else ''}"
        if now >= self.rule.expires_at:
            return f"standing rule {self.number} expired at {self.rule.expires_at:%F %T %Z}"
        return ""


def read_standing(reading: Reading, before: int | None = None) -> dict[int, Standing]:
    """Every rule by its number, as the chain told it before a row; None: as it is now."""
    # Rules are counted from 1. Without one, and before it, no row of the chain has to be looked at.
    first = _first_row(reading, 1)
    if first is None:
        return {}
    # The texts narrow the search, what is parsed decides: most approvals and outcomes have to do with no rule.
    about = where(
        "(substr(event, 1, 5) = 'rule.' OR (event = ? AND instr(facts, ?) > 0) OR (event = ? AND instr(facts, ?) > 0))",
        APPROVED, f'"{UNDER}"', MEASURED, '"hurt',
    )  # fmt: skip
    within = [where("id >= ?", first), *([] if before is None else [where("id < ?", before)])]
    rules: dict[int, Standing] = {}
    of_proposal: dict[int, int] = {}
    for row in reading.rows(AUDIT, about, *within, then="ORDER BY id", in_pieces=True):
        _apply(rules, of_proposal, row, json.loads(row.facts))
    return rules


def _apply(rules: dict[int, Standing], of_proposal: dict[int, int], row: Row, facts: Mapping[str, Any]) -> None:
    """Take in the next row."""
    match row.event:
        case "rule.proposed":
            number = number_of(row.subject)
            rules[number] = Standing(
                number, StandingRule.from_facts(facts["limits"]), facts["who"], row.at, row.id, row.id
            )
        case "proposal.approved" if facts.get(UNDER) in rules:
            proposal = number_of(row.subject)
            of_proposal[proposal], standing = facts[UNDER], rules[facts[UNDER]]
            standing.approvals.append((proposal, row.at, standing.rule.counted(len(facts["moves"]))))
        case "outcome.recorded" if facts["verdict"] in CLOSING and facts["proposal"] in of_proposal:
            rule = rules[of_proposal[facts["proposal"]]]
            # By the outcome itself, not by a row of its own after it: an agent that dies in between would leave it
            # open.
            rule.close(row, f"proposal {facts['proposal']} {facts['verdict']}")
        case "rule.signed":
            signature = RuleSignature(facts["sequence"], facts["who"], facts["key"], facts["signature"])
            rules[number_of(row.subject)].signatures.append(signature)
        case "rule.opened":
            rules[number_of(row.subject)].opened = True
        case "rule.closed":
            rules[number_of(row.subject)].close(
                row, f"closed by {facts['who']}: {facts['reason'] or 'no reason given'}"
            )


def rule_of_approval(reading: Reading, proposal: int) -> tuple[Row, Mapping[str, Any]] | None:
    """The row that approved a proposal under a standing rule, with its facts; None where a person approved it."""
    about = where("subject = ?", subject_of("proposal", proposal)), where("event = ?", APPROVED)
    row = reading.first(AUDIT, *about, then="ORDER BY id DESC LIMIT 1")
    facts = {} if row is None else json.loads(row.facts)
    return (row, facts) if UNDER in facts else None


def first_row_of_rule(reading: Reading, proposal: int) -> int | None:
    """Number of the audit row that proposed the rule under which a proposal was approved; None where there is none."""
    found = rule_of_approval(reading, proposal)
    if found is None:
        return None
    return _first_row(reading, found[1][UNDER])


def _first_row(reading: Reading, rule: int) -> int | None:
    """Number of the first audit row about a rule; None where there is none."""
    subject = where("subject = ?", subject_of("rule", rule))
    first: int | None = reading.scalar("SELECT id FROM audit", subject, then="ORDER BY id LIMIT 1")
    return first


def standing_fault(reading: Reading, approval: ApprovalRule, move: MoveRow) -> str:
    """Why no standing rule covered the approval of a move when it was given; "" where one did, or a person approved.

    All that was judged then is judged again, by the chain and by those who may sign today: a process of the agent's
    user can write an approval that names a rule, but no rule that a person has signed.
    """
    found = rule_of_approval(reading, move.proposal_id)
    if found is None:
        return ""
    row, facts = found
    standing = read_standing(reading, before=row.id).get(facts[UNDER])
    if standing is None:
        return f"proposal {move.proposal_id} names standing rule {facts[UNDER]}, which the audit chain does not hold"
    stored = load_proposal(reading, move.proposal_id)
    struck = len(stored.proposal.moves) - len(facts["moves"])
    why = why_not_covered(standing, stored.proposal, struck, row.at)
    if why or Conditions.from_facts(facts.get("conditions", {})) != standing.rule.conditions:
        return f"standing rule {standing.number} did not cover proposal {move.proposal_id}: {why or 'other conditions'}"
    return rule_signature_fault(reading, approval, standing)


def rule_signature_fault(reading: Reading, approval: ApprovalRule, standing: Standing) -> str:
    """Why the signatures that the chain holds do not open a rule by today's signers; "" where they do."""
    if approval.signers is None:
        return ""
    document = standing.document(reading)
    keys, why = set(), ""
    for given in standing.signed_now():
        try:
            keys.add(approval.signers.verify(document, given.armored).key)
        except SignatureInvalid as error:
            why = f": {error}"
    if len(keys) >= approval.needed:
        return ""
    return f"standing rule {standing.number} has {len(keys)} of the {approval.needed} signatures that it needs{why}"


def why_not_covered(standing: Standing, proposal: Proposal, struck: int, now: datetime) -> str:
    """Why a rule does not approve a proposal at an instant; "" where it does."""
    over = _over_count(standing, len(proposal.moves), now)
    return standing.why_not_now(now) or over or find_refusal(standing.rule, proposal, now, struck)


def _over_count(standing: Standing, moves: int, at: datetime) -> str:
    used, most = standing.used(at), standing.rule.most_a_day
    if used + standing.rule.counted(moves) <= most:
        return ""
    if standing.rule.template is None:
        return f"{used} proposals were approved under it in 24 hours, it allows {most}"
    return f"{used} moves were approved under it in 24 hours and here are {moves}, it allows {most}"


def open_rules(rules: Iterable[Standing], database: str) -> Iterator[Standing]:
    """Those of a database that are open, in order."""
    return (each for each in rules if each.opened and each.rule.database == database)
