"""Whether a statement may be sent on the strength of what the ledger holds, standing rules included.

``RuleStanding`` is a standing rule as the chain has it: proposed, signed, opened, closed, and what was approved under
it. The chain is all that is stored of a rule, so no other table can contradict it. Its limits are trusted because of
the signatures over them, which are checked again before each statement that rests on the rule.

``Trust`` asks for agreement before each statement, within the transaction that journals it. Any process of the agent's
user can write to the ledger. To deceive ``Trust`` it would have to change everything that must agree: the chain with
its own links, the anchors outside the ledger, and the tables of proposals and moves. ``judge`` decides on what is read
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import and_, or_, select

from agent.ledger.chain.events import Event, Unreadable, numbered_subject, read_event
from agent.ledger.chain.judge import (
    MOST_SIGNATURES,
    TOO_MANY_SIGNED,
    UNDER,
    CheckedSignature,
    Story,
    group_fault,
    in_states,
    move_fault,
    way_back_fault,
)
from agent.ledger.chain.links import (
    APPROVED,
    AUDIT,
    AUDIT_HEAD,
    BELIEVED_AHEAD,
    GENESIS,
    STORED,
    AnchorFile,
    LinkWalk,
    anchor_fault,
    hash_of_row,
    subject_of,
)
from agent.ledger.chain.signed import ApprovalRule, approval_of, conditions_of, read_story, signature_fault
from agent.ledger.errors import Spoiled, Untrusted
from agent.ledger.rows import MoveRow, RuleRow, RuleState, group_of
from agent.ledger.store.database import Database, Reading, Row, Sight
from agent.ledger.store.schema import audit, begins_with, given, holds_text, moves, proposals, steps, value_for
from agent.ledger.stored import MOVE, MOVES_OF_PROPOSAL, load_moves, load_proposal
from agent.model.approvals import StandingRule, find_refusal
from agent.model.outcomes import OutcomeVerdict
from agent.model.proposals import Proposal
from agent.model.signatures import NameUnclear, SignatureInvalid, count_people, names_of_asker
from agent.model.signed_documents import RuleDocument
from agent.model.states import TO_BEGIN
from connectors.kit.contract import Clock

RULE_PROPOSED, RULE_SIGNED, RULE_OPENED, RULE_CLOSED = "rule.proposed", "rule.signed", "rule.opened", "rule.closed"
MEASURED = "outcome.recorded"
CLOSING = frozenset({OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME})
A_DAY = timedelta(days=1)
# The texts narrow the search, what is parsed decides: most approvals and outcomes have to do with no rule.
_ABOUT_RULES = AUDIT.where(
    or_(
        begins_with(audit.c.event, "rule."),
        and_(audit.c.event == APPROVED, holds_text(audit.c.facts, f'"{UNDER}"')),
        and_(audit.c.event == MEASURED, holds_text(audit.c.facts, '"hurt')),
    ),
    audit.c.id >= value_for(audit.c.id, "first"),
).order_by(audit.c.id)
_ABOUT_RULES_BEFORE = _ABOUT_RULES.where(audit.c.id < value_for(audit.c.id, "before"))
_DATABASE = select(proposals.c.database).where(given(proposals.c.id))
_PROPOSAL_OF = select(moves.c.proposal_id).where(given(moves.c.id))
_FIRST_ABOUT = select(audit.c.id).where(given(audit.c.subject)).order_by(audit.c.id).limit(1)
_DATED_LATER = (
    select(audit.c.id)
    .where(audit.c.at > value_for(audit.c.at, "at"), audit.c.id < value_for(audit.c.id, "before"))
    .where(or_(audit.c.at <= value_for(audit.c.at, "until"), given(audit.c.subject)))
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class RuleSignature:
    """A signature that the chain holds, with the sequence that was signed."""

    sequence: int
    who: str
    key: str
    armored: str


@dataclass(slots=True)
class RuleStanding:
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
    signatures: list[RuleSignature] = field(default_factory=list)  # over it as it is now
    approvals: list[tuple[int, datetime, int]] = field(default_factory=list)  # proposal, when, counted as; in order
    fault: str = ""  # the first row about it that cannot be read; "": there is none

    def close(self, event: Event, why: str) -> None:
        """Nothing is approved under it any more, until it is signed once more."""
        self.opened, self.closed_why, self.closed_at, self.sequence = False, why, event.at, event.row
        self.signatures.clear()

    def take_in(self, signature: RuleSignature) -> None:
        """Have a signature count, if it is over the rule as it is now; too many spoil it."""
        if signature.sequence != self.sequence:
            return
        if len(self.signatures) < MOST_SIGNATURES:
            self.signatures.append(signature)
        else:
            self.fault = self.fault or TOO_MANY_SIGNED

    def document(self, reading: Reading) -> RuleDocument:
        """What is signed to open it."""
        return RuleDocument(
            ledger=hash_of_row(reading, 1) or GENESIS, database=self.rule.database, fingerprint=self.rule.fingerprint,
            rule=self.number, limits=self.rule.limits, sequence=self.sequence,
        )  # fmt: skip

    def used(self, at: datetime) -> int:
        """How many proposals (of a template: moves) were approved in the day before an instant, in the chain's order.

        What lies after it, by a clock set back, counts too; not what no clock can have said (``written_in_order``).
        """
        return sum(count for _, when, count in self.approvals if at - A_DAY < when <= at + BELIEVED_AHEAD)

    def row(self, now: datetime) -> RuleRow:
        """The rule for callers."""
        state = RuleState.OPEN if self.opened else RuleState.CLOSED if self.closed_why else RuleState.PROPOSED
        if now >= self.rule.expires_at:
            state = RuleState.EXPIRED
        return RuleRow(
            number=self.number, rule=self.rule, state=state, reason=self.closed_why if not self.opened else "",
            closed_at=None if self.opened else self.closed_at,
            proposed_by=self.proposed_by, proposed_at=self.proposed_at,
            signed_by=tuple(dict.fromkeys(each.who for each in self.signatures)),
            used_today=self.used(now), approved=tuple(proposal for proposal, *_ in self.approvals),
        )  # fmt: skip

    def why_not_now(self, now: datetime) -> str:
        """Why nothing may be approved or begun under it at an instant; "" where it may."""
        if self.fault:
            return f"standing rule {self.number} cannot be read: {self.fault}"
        if not self.opened:
            return f"standing rule {self.number} is not open{f': {self.closed_why}' if self.closed_why else ''}"
        if now >= self.rule.expires_at:
            return f"standing rule {self.number} expired at {self.rule.expires_at:%F %T %Z}"
        return ""


def read_standing(reading: Reading, before: int | None = None) -> dict[int, RuleStanding]:
    """Every rule by its number, as the chain stated it before a row; None: as it is now."""
    # Rules are counted from 1. Without one, and before it, no row of the chain has to be looked at.
    first = _first_row(reading, 1)
    if first is None:
        return {}
    if before is None:
        rows = reading.each(_ABOUT_RULES, first=first)
    else:
        rows = reading.each(_ABOUT_RULES_BEFORE, first=first, before=before)
    rules: dict[int, RuleStanding] = {}
    of_proposal: dict[int, int] = {}
    for row in rows:
        event = read_event(row)
        if isinstance(event, Unreadable):
            _spoil(rules, row, event)
        else:
            _apply(reading, rules, of_proposal, event)
    return rules


def _spoil(rules: dict[int, RuleStanding], row: Row, bad: Unreadable) -> None:
    """Have a row that cannot be read end what it is about, and no other rule."""
    kind, number = numbered_subject(row.subject)
    rule = rules.get(number) if kind == "rule" else None
    if rule is not None:
        rule.fault = rule.fault or bad.sentence


def _apply(reading: Reading, rules: dict[int, RuleStanding], of_proposal: dict[int, int], event: Event) -> None:
    """Take in the next row."""
    facts, rule = event.facts, rules.get(event.number)
    match event.name:
        case "rule.proposed" if rule is None:  # once: the limits of a rule never change
            if (limits := _limits(event)) is not None:
                rules[event.number] = RuleStanding(event.number, limits, facts["who"], event.at, event.row, event.row)
        case "proposal.approved":
            _count(reading, rules.get(facts.get(UNDER, 0)), of_proposal, event)
        case "outcome.recorded" if facts["verdict"] in CLOSING and facts["proposal"] in of_proposal:
            # By the outcome itself, not by a row of its own after it: an agent that dies in between would leave it
            # open.
            if _is_of(reading, event.number, facts["proposal"]):
                rules[of_proposal[facts["proposal"]]].close(event, f"proposal {facts['proposal']} {facts['verdict']}")
        case "rule.signed" if rule is not None:
            signature = RuleSignature(facts["sequence"], facts["who"], facts["key"], facts["signature"])
            rule.take_in(signature)
        case "rule.opened" if rule is not None:
            rule.opened = True
        case "rule.closed" if rule is not None:
            rule.close(event, f"closed by {facts['who']}: {facts['reason'] or 'no reason given'}")


def _limits(event: Event) -> StandingRule | None:
    """The rule that a row proposes; None where its limits are none."""
    try:
        return StandingRule.from_facts(event.facts["limits"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _count(reading: Reading, rule: RuleStanding | None, of_proposal: dict[int, int], event: Event) -> None:
    """Have an approval count for the rule that it names, if that is a rule of the proposal's database."""
    database = reading.scalar(_DATABASE, id=event.number)
    if rule is None or database != rule.rule.database:
        return
    of_proposal[event.number] = rule.number
    rule.approvals.append((event.number, event.at, rule.rule.counted(len(event.facts["moves"]))))


def _is_of(reading: Reading, move: int, proposal: int) -> bool:
    return bool(reading.scalar(_PROPOSAL_OF, id=move) == proposal)


def rule_of_approval(reading: Reading, proposal: int) -> int | None:
    """The number of the standing rule that approved a proposal; None where a person did, or no one."""
    approval = approval_of(reading, proposal)
    return None if approval is None else approval.facts.get(UNDER)


def first_row_of_rule(reading: Reading, approval: Event | None) -> int | None:
    """Number of the audit row that proposed the rule that an approval names; None where it names none."""
    return None if approval is None or UNDER not in approval.facts else _first_row(reading, approval.facts[UNDER])


def _first_row(reading: Reading, rule: int) -> int | None:
    """Number of the first audit row about a rule; None where there is none."""
    first: int | None = reading.scalar(_FIRST_ABOUT, subject=subject_of("rule", rule))
    return first


def standing_fault(
    reading: Reading, approval: ApprovalRule, move: MoveRow, event: Event, now: datetime, noted: datetime | None
) -> str:
    """Why no standing rule covered the approval of a move when it was given; "" where one did.

    All that was judged then is judged again, by the chain and by those who may sign today: a process of the agent's
    user can write an approval that names a rule, but no rule that a person has signed.

    Args:
        reading: of the ledger.
        approval: how proposals are approved.
        move: of the proposal.
        event: the row that approved it, which names the rule.
        now: the latest instant that an honest row can have.
        noted: when an anchor was noted before that row; None: none was.
    """
    if why := _time_fault(reading, event, now, noted):
        return why
    number = event.facts[UNDER]
    standing = read_standing(reading, before=event.row).get(number)
    if standing is None:
        return f"proposal {move.proposal_id} names standing rule {number}, which the audit chain does not hold"
    stored = load_proposal(reading, move.proposal_id)
    struck = len(stored.proposal.moves) - len(event.facts["moves"])
    why = why_not_covered(standing, stored.proposal, struck, min(event.at, now))
    if why or conditions_of(event.facts) != standing.rule.conditions:
        return f"standing rule {standing.number} did not cover proposal {move.proposal_id}: {why or 'other conditions'}"
    if move.state in TO_BEGIN and (now_standing := read_standing(reading)[number]).opened:  # closed: it only waits
        return rule_signature_fault(reading, approval, now_standing)
    return rule_signature_fault(reading, approval, standing)


def _time_fault(reading: Reading, event: Event, now: datetime, noted: datetime | None) -> str:
    """Why the time of a row is not that at which it was written: what a rule allows a day is counted by it."""
    if event.at > now + BELIEVED_AHEAD:
        return f"audit row {event.row} is dated {event.at:%F %T %Z}, which is yet to come"
    later = reading.first(
        _DATED_LATER, at=event.at, until=event.at + BELIEVED_AHEAD, subject=event.subject, before=event.row
    )
    if later is not None or (noted is not None and event.at < noted - A_DAY):
        return f"audit row {event.row} is dated {event.at:%F %T %Z}, and later rows were written before it"
    return ""


def rule_signature_fault(reading: Reading, approval: ApprovalRule, standing: RuleStanding) -> str:
    """Why the signatures that the chain holds do not open a rule by today's signers; "" where they do."""
    if approval.signers is None:
        return ""
    found, why = checked_signatures(reading, approval, standing)
    try:
        missing = missing_for_rule(found, approval, standing)
    except NameUnclear as error:
        return str(error)
    if not missing:
        return ""
    have, why = approval.needed - missing, f": {why}" if why else ""
    return f"standing rule {standing.number} has {have} of the {approval.needed} signatures that it needs{why}"


def checked_signatures(
    reading: Reading, approval: ApprovalRule, standing: RuleStanding
) -> tuple[list[CheckedSignature], str]:
    """The signatures that fit a rule as it is now, by today's signers, and why the last of the others does not."""
    if approval.signers is None:
        return [], ""
    document, found, why = standing.document(reading), [], ""
    for each in standing.signatures:
        try:
            signature = approval.signers.verify(document, each.armored)
        except SignatureInvalid as error:
            why = str(error)
        else:
            found.append(CheckedSignature(signature.who, signature.key, signature.names, ()))
    return found, why


def missing_for_rule(signatures: Iterable[CheckedSignature], approval: ApprovalRule, standing: RuleStanding) -> int:
    """How many people have yet to sign a rule; where more than one has to, who proposed it does not count.

    Raises:
        NameUnclear: it is unclear who proposed it.
    """
    without = names_of_asker(standing.proposed_by) if approval.needed > 1 else frozenset[str]()
    return max(0, approval.needed - count_people(signatures, without))


def why_not_covered(standing: RuleStanding, proposal: Proposal, struck: int, now: datetime) -> str:
    """Why a rule does not approve a proposal at an instant; "" where it does."""
    # Its approval would be dated before it, as one that was forged is.
    ahead = f"it is dated {proposal.created_at:%F %T %Z}, which is yet to come" if proposal.created_at > now else ""
    # The count behind the rule's own limits: of a proposal that it is not for, it would say that tomorrow will do.
    refused = standing.why_not_now(now) or find_refusal(standing.rule, proposal, now, struck)
    return refused or _over_count(standing, len(proposal.moves), now) or ahead


def _over_count(standing: RuleStanding, moves: int, at: datetime) -> str:
    used, most = standing.used(at), standing.rule.most_a_day
    if used + standing.rule.counted(moves) <= most:
        return ""
    if standing.rule.template is None:
        return f"{used} proposals were approved under it in 24 hours, it allows {most}"
    return f"{used} moves were approved under it in 24 hours and here are {moves}, it allows {most}"


def open_rules(rules: Iterable[RuleStanding], database: str) -> Iterator[RuleStanding]:
    """Those of a database that are open, in order."""
    return (each for each in rules if each.opened and each.rule.database == database)


# From the last look at the expiry to the first statement: locks are waited for in between.
LATE = timedelta(hours=1)
MOST_WALKED = 1000  # rows at the end of a chain without anchors
_STEP = select(steps.c.id).where(given(steps.c.move_id))
_STORED = select(audit.c.id).where(audit.c.event == STORED, given(audit.c.subject)).order_by(audit.c.id).limit(1)


class Trust:
    """Asks chain, anchors and tables whether they agree about a move."""

    def __init__(self, database: Database, clock: Clock, anchors: AnchorFile, rule: ApprovalRule) -> None:
        self._database = database
        self._clock = clock
        self._anchors = anchors
        self.rule = rule

    def require(self, reading: Reading, move: MoveRow, *, begins: bool = True) -> None:
        """Check that the chain fits, from the proposal's first row and from the last anchor on, and approves the move.

        Args:
            reading: of the ledger.
            move: the move.
            begins: its next statement may be its first, so its approval must not have expired.

        Raises:
            Spoiled: rows about the proposal do not approve it; of other proposals statements may be sent.
            Untrusted: the chain does not fit; nothing may be sent.
        """
        story = read_story(reading, move.proposal_id)
        self._require_fitting(self._chain_fault(reading, move, story))
        _require_sound(move, (begins and self._late_fault(reading, move)) or self._fault(reading, move, story))

    def require_state(self, reading: Reading, move: MoveRow) -> None:
        """Check that the chain fits, and that by it the move is in the state that it is marked with.

        No more is needed to say that a move was not begun: its approval may have expired while the agent was away, or
        another move of its group.

        Raises:
            Spoiled, Untrusted: as ``require``.
        """
        story = read_story(reading, move.proposal_id)
        self._require_fitting(self._chain_fault(reading, move, story))
        _require_sound(move, move_fault(story, move))

    def require_chain(self, reading: Reading) -> None:
        """Check that the whole chain fits, and the last anchor, whatever moves there are.

        Raises:
            Untrusted: it does not.
        """
        anchor = self._anchors.last()
        fault = "" if anchor is None else anchor_fault(reading, anchor, str(self._anchors.path))
        self._require_fitting(fault or _walk_fault(reading, 0))

    def require_end(self) -> None:
        """Check that the end of the chain fits, and the last anchor: cheap enough to be asked again and again.

        Raises:
            Untrusted: it does not.
        """
        anchor = self._anchors.last()  # before the snapshot, which then holds its row
        with self._database.read() as reading:
            if self._database.sight(reading) is Sight.OWN:
                return  # a person's login sees no whole chain: agents see to it
            head = reading.first(AUDIT_HEAD)
            if head is None:
                return
            fault = "" if anchor is None else anchor_fault(reading, anchor, str(self._anchors.path))
            after = max(0, head.last_id - MOST_WALKED) if anchor is None else anchor.row
            self._require_fitting(fault or _walk_fault(reading, after))

    def _require_fitting(self, fault: str) -> None:
        if fault:
            raise Untrusted(
                f"the ledger cannot be trusted, nothing was sent: {fault}",
                advice=f"Keep the ledger and {self._anchors.path} as evidence; hotplace audit verify looks at all of "
                "it. If an older copy was restored on purpose, move that file away: the next decision begins another.",
            )

    def _fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        """Why the move has no valid approval: its own, or that of the group that it takes back with its way back."""
        if fault := move_fault(story, move) or self._group_fault(reading, move, story):
            return fault
        if not move.move.is_way_back:
            return self._decision_fault(reading, move, story)
        where = (move.database, move.fingerprint)
        done = next(iter(load_moves(reading, MOVE, id=move.move.undoes or 0)), None)
        if done is None:
            return way_back_fault(move.move, where, None, [])
        before = read_story(reading, done.proposal_id, story.stored_row)
        group = in_states(group_of(_moves_of(reading, done.proposal_id), done), before)
        now = read_story(reading, done.proposal_id)
        return (
            way_back_fault(move.move, where, done, group)
            or self._chain_fault(reading, done, now)
            or move_fault(now, done)
            or self._decision_fault(reading, done, now)
        )

    def _decision_fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        """Why neither people nor a standing rule that they have signed approved the move."""
        if story.approval is not None and UNDER in story.approval.facts:
            now = self._database.latest_possible(reading, self._clock.now())
            noted = self._noted_before(story.approval.row, now)
            return standing_fault(reading, self.rule, move, story.approval, now, noted)
        asked_by = load_proposal(reading, move.proposal_id).proposal.asked_by
        return signature_fault(reading, self.rule, move, story, asked_by)

    def _group_fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        if move.state not in TO_BEGIN:
            return ""
        return group_fault(move, in_states(group_of(_moves_of(reading, move.proposal_id), move), story))

    def _late_fault(self, reading: Reading, move: MoveRow) -> str:
        """Why the approval no longer holds for a move with no statement sent."""
        late = self._clock.now() > move.expires_at + LATE
        if late and reading.first(_STEP, move_id=move.id) is None:
            return f"its approval expired at {move.expires_at:%F %T %Z}"
        return ""

    def _noted_before(self, row: int, now: datetime) -> datetime | None:
        """The latest time at which an anchor was noted before a row was written; None where there is none.

        What a clock far ahead has noted tells nothing: every later approval by a rule would look like a forged one.
        """
        noted = (at for at, anchor in self._anchors.recent() if anchor.row < row and at <= now + BELIEVED_AHEAD)
        return max(noted, default=None)

    def _chain_fault(self, reading: Reading, move: MoveRow, story: Story) -> str:
        anchor = self._anchors.last()
        if anchor is not None and (fault := anchor_fault(reading, anchor, str(self._anchors.path))):
            return fault
        # Not from the anchor alone: an approval before it could have been changed where no walk comes by. From there to
        # the anchor each hash depends on the one before, so a rewritten part would end in another hash than it has.
        first = reading.scalar(_STORED, subject=subject_of("proposal", move.proposal_id))
        # A standing rule is older than what it approves: a row that closed it could have been taken out in between.
        first = first and min(first, first_row_of_rule(reading, story.approval) or first)
        return _walk_fault(reading, 0 if anchor is None or first is None else min(anchor.row, first - 1))


def _require_sound(move: MoveRow, fault: str) -> None:
    """Raise ``Spoiled`` if there is a fault."""
    if fault:
        raise Spoiled(
            f"the ledger cannot be trusted about proposal {move.proposal_id}, nothing of it was sent: {fault}",
            advice=f"Keep the ledger as evidence; hotplace audit verify looks at all of it. hotplace strike "
            f"{move.proposal_id} {move.move.ordinal} drops the move.",
        )


def _walk_fault(reading: Reading, after: int) -> str:
    """Why the chain does not fit behind a row; "" where it does."""
    walk = LinkWalk(reading, after)
    for _ in walk.rows():
        pass
    return walk.fault


def _moves_of(reading: Reading, proposal: int) -> list[MoveRow]:
    return load_moves(reading, MOVES_OF_PROPOSAL, proposal_id=proposal)
