"""Standing rules: what a signed one covers is approved in its name, and nothing else is; what hurt closes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.config.models import LedgerServer
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import LedgerReadOnly, NotCovered, NotSigned, ProposalExpired, Refused, Untrusted, WrongState
from agent.ledger.file.database import FileDatabase
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, RuleState
from agent.model.approvals import LockClass, StandingRule
from agent.model.outcomes import OutcomeVerdict
from agent.model.signatures import SignatureInvalid, Signers
from agent.model.signed_documents import RULE_NAMESPACE
from agent.model.states import MoveState, ProposalState
from agent.service.notifier import closed_rules
from connectors.model.moves import Locked
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, Two, note, open_ledger
from tests.ledger.forger import Forged, Target, set_tables, write_row
from tests.unit.samples import a_move, a_proposal, an_outcome

MIB = 1 << 20


@pytest.fixture
def ledger(place: Path | LedgerServer, path: Path, clock: StillClock, signers: Signers) -> Iterator[Ledger]:
    """Its configuration says ``level: auto`` and ``approval: signed``."""
    with open_ledger(place, path, clock, ApprovalRule(signers, automatic=True)) as opened:
        yield opened


def a_rule(clock: StillClock, **changes: Any) -> StandingRule:
    """It covers what ``propose`` proposes."""
    rule = StandingRule(
        database="shop", fingerprint="cluster 1 database 5", mode="hsm", units=("public.*",), most_bytes=128 * MIB,
        locks=LockClass.BRIEF, most_stall_seconds=1.0, least_gain_per_hour=600.0, most_a_day=2,
        expires_at=clock.now() + timedelta(days=30),
    )  # fmt: skip
    return replace(rule, **changes)


def opened(ledger: Ledger, clock: StillClock, person: Person, **changes: Any) -> int:
    """A rule that a person has signed."""
    number = ledger.rules.propose(a_rule(clock, **changes), who="carl", origin="tty")
    sign(ledger, number, person)
    return number


def sign(ledger: Ledger, number: int, person: Person) -> RuleState:
    """Sign a rule as it is."""
    signature = person.sign(ledger.rules.document(number).text, RULE_NAMESPACE)
    return ledger.rules.open(number, origin="tty", signature=signature).state


def propose(ledger: Ledger, key: str = "public.t1", **changes: Any) -> int:
    """A proposal of one move with a brief lock, worth 700 to 1000 s an hour."""
    move = a_move(key=key)
    move = replace(move, route=replace(move.route, locked=Locked.BRIEFLY, lock_seconds=0.5))
    changes = {"wait_saved_low_per_hour": 700.0, "wait_saved_high_per_hour": 1000.0, **changes}
    return ledger.proposals.store(a_proposal(move, **changes))


def first_move(ledger: Ledger, number: int) -> MoveRow:
    """The first move of a proposal."""
    return ledger.moves.rows(proposal_id=number)[0]


def place(ledger: Ledger, number: int) -> MoveRow:
    """Carry it out."""
    row = first_move(ledger, number)
    for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED):
        row = ledger.moves.transition(row.id, state, "")
    return row


def test_a_signed_rule_approves_what_it_covers(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """The approval names the rule and who signed it, carries its limits as conditions, and is trusted."""
    number = ledger.rules.propose(a_rule(clock), who="carl", origin="tty")
    proposal = propose(ledger)
    with pytest.raises(NotCovered, match="none is open"):
        ledger.rules.approve(proposal)
    assert sign(ledger, number, people[0]) is RuleState.OPEN
    row = ledger.rules.approve(proposal)
    assert (row.state, row.decided_by) == (ProposalState.APPROVED, "standing rule 1 of anna")
    assert ledger.proposals.conditions(proposal) == a_rule(clock).conditions
    ledger.moves.require_trust(first_move(ledger, proposal))
    assert ledger.rules.row(number).approved == (proposal,)
    (approved,) = ledger.audit.rows(event="proposal.approved")
    assert (approved.facts["rule"], approved.facts["digest"]) == (number, row.digest)
    assert ledger.audit.verify().ok


def test_a_rule_approves_only_what_waits_for_a_decision(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """Not what a person has rejected, nor what came too late."""
    sign(ledger, ledger.rules.propose(a_rule(clock), who="carl", origin="tty"), people[0])
    rejected = propose(ledger)
    ledger.proposals.reject(rejected, who="bert", origin="tty", reason="not now")
    with pytest.raises(WrongState, match="is rejected and cannot be approved"):
        ledger.rules.approve(rejected)
    late = propose(ledger, key="public.t2", expires_at=clock.now() + timedelta(minutes=1))
    clock.sleep(120.0)
    ledger.proposals.expire_due()
    with pytest.raises(ProposalExpired):
        ledger.rules.approve(late)


def test_what_was_made_by_a_clock_ahead_is_made_anew(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """Approved before it was made, its approval would pass for a forged one; the next plan takes its place."""
    opened(ledger, clock, people[0])
    made = clock.now()
    ahead = propose(ledger, created_at=made + timedelta(days=365), expires_at=made + timedelta(days=366))
    with pytest.raises(NotCovered, match=r"it is dated 2027-.* which is yet to come"):
        ledger.rules.approve(ahead)
    number = propose(ledger, created_at=made)
    assert ledger.proposals.row(ahead).state is ProposalState.SUPERSEDED
    ledger.rules.approve(number)
    ledger.moves.require_trust(first_move(ledger, number))


def test_a_clock_that_was_ahead_distrusts_no_later_approval(
    path: Path, ledger: Ledger, clock: StillClock, people: Two
) -> None:
    """Rows and anchors that it has dated lie behind the approval in the chain, and ahead of it in time.

    In a file: a server dates no row by the clock of another machine.
    """
    assert path.exists()
    opened(ledger, clock, people[0])
    clock.sleep(365 * 86400.0)
    ledger.proposals.reject(propose(ledger, "public.t9"), who="bert", origin="tty", reason="")
    ledger.audit.anchor()
    clock.sleep(-365 * 86400.0)
    number = propose(ledger)
    ledger.rules.approve(number)
    ledger.moves.require_trust(first_move(ledger, number))


def test_what_goes_beyond_a_limit_waits_for_a_person(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """The reasons name every open rule of the database with its limit."""
    opened(ledger, clock, people[0], most_bytes=63 * MIB)
    opened(ledger, clock, people[0], database="other")
    number = propose(ledger)
    with pytest.raises(NotCovered, match=r"covers proposal 1: rule 1: 64.0 MiB would be moved, it allows 63.0 MiB$"):
        ledger.rules.approve(number)
    assert ledger.proposals.row(number).state is ProposalState.PROPOSED


def test_what_was_struck_from_waits_for_a_person(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """The gain that was predicted is that of all moves."""
    opened(ledger, clock, people[0])
    move = a_move(key="public.t1")
    route = replace(move.route, locked=Locked.BRIEFLY, lock_seconds=0.5)
    moves = (replace(move, route=route), replace(a_move(2, key="public.t2"), route=route))
    number = ledger.proposals.store(a_proposal(*moves, wait_saved_low_per_hour=700.0))
    ledger.proposals.strike(number, 2, who="carl", origin="tty", reason="")
    with pytest.raises(NotCovered, match="a move was struck"):
        ledger.rules.approve(number)


def test_so_many_a_day(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """In any 24 hours, and the last of them is trusted; a clock that was set back makes no room for more."""
    opened(ledger, clock, people[0])
    for key in ("public.t1", "public.t2"):
        approved = ledger.rules.approve(propose(ledger, key))
        ledger.moves.require_trust(first_move(ledger, approved.id))
        clock.sleep(3600.0)
    third = propose(ledger, "public.t3")
    with pytest.raises(NotCovered, match="2 proposals were approved under it in 24 hours"):
        ledger.rules.approve(third)
    clock.sleep(-10 * 3600.0)
    with pytest.raises(NotCovered, match="24 hours"):
        ledger.rules.approve(third)
    clock.sleep((10 + 22.5) * 3600.0)
    assert ledger.rules.approve(propose(ledger, "public.t4", expires_at=clock.now() + timedelta(days=1))).decided_by


@pytest.mark.parametrize("verdict", [OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME])
def test_what_hurt_closes_the_rule_until_it_is_signed_again(
    ledger: Ledger, clock: StillClock, people: Two, verdict: OutcomeVerdict
) -> None:
    """By the outcome itself; an earlier signature opens nothing, since the document has another number."""
    number = opened(ledger, clock, people[0])
    proposal = propose(ledger)
    ledger.rules.approve(proposal)
    waiting = propose(ledger, "public.t2")
    ledger.moves.record_outcome(place(ledger, proposal).id, an_outcome(verdict=verdict))
    assert (ledger.rules.row(number).state, ledger.rules.row(number).reason) == (
        RuleState.CLOSED, f"proposal {proposal} {verdict}",
    )  # fmt: skip
    (closed,) = closed_rules(ledger, "shop", clock.now())
    assert (closed.number, closed.reason) == (number, f"proposal {proposal} {verdict}")
    assert closed_rules(ledger, "shop", clock.now() + timedelta(hours=2)) == ()
    with pytest.raises(NotCovered, match="none is open"):
        ledger.rules.approve(waiting)
    (signed,) = ledger.audit.rows(event="rule.signed")
    with pytest.raises(SignatureInvalid):
        ledger.rules.open(number, origin="tty", signature=signed.facts["signature"])
    assert sign(ledger, number, people[1]) is RuleState.OPEN
    assert closed_rules(ledger, "shop", clock.now()) == ()
    assert ledger.rules.approve(waiting).decided_by == "standing rule 1 of bert"


def test_a_helpful_outcome_closes_nothing(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """Nor does the hurt of a proposal that a person approved."""
    number = opened(ledger, clock, people[0])
    proposal = propose(ledger)
    ledger.rules.approve(proposal)
    helped = replace(an_outcome(verdict=OutcomeVerdict.HELPED), sentence="hurt nothing")
    ledger.moves.record_outcome(place(ledger, proposal).id, helped)
    other = propose(ledger, key="public.t2")
    document, _ = ledger.proposals.document(other)
    signature = people[0].sign(document.text)
    ledger.proposals.approve(other, who="anna", origin="tty", digest=document.digest, signature=signature)
    ledger.moves.record_outcome(place(ledger, other).id, an_outcome(verdict=OutcomeVerdict.HURT))
    assert ledger.rules.row(number).state is RuleState.OPEN


def test_closed_by_a_person(ledger: Ledger, clock: StillClock, people: Two) -> None:
    """What it has approved does not begin any more; the chain still holds that it was approved rightly."""
    number = opened(ledger, clock, people[0])
    proposal = propose(ledger)
    ledger.rules.approve(proposal)
    assert ledger.rules.why_not_begin(proposal) == ""
    row = ledger.rules.close(number, who="carl", origin="tty", reason="month end")
    assert row.state is RuleState.CLOSED
    assert "month end" in (ledger.rules.why_not_begin(proposal) or "")
    ledger.moves.require_trust(first_move(ledger, proposal))
    with pytest.raises(WrongState, match="closed already"):
        ledger.rules.close(number, who="carl", origin="tty", reason="")


def test_a_closed_rule_that_was_opened_without_a_signature_begins_nothing(
    ledger: Ledger, clock: StillClock, people: Two
) -> None:
    """What it approved while it was open waits until a person signs it again; what has begun is ended."""
    number = opened(ledger, clock, people[0])
    begun = propose(ledger)
    ledger.rules.approve(begun)
    place(ledger, begun)
    waits = propose(ledger, key="public.t2")
    ledger.rules.approve(waits)
    ledger.rules.close(number, who="carl", origin="tty", reason="month end")
    ledger.audit.record("rule.opened", f"rule {number}", who="anna", origin="tty")
    assert ledger.rules.row(number).state is RuleState.OPEN
    with pytest.raises(Untrusted, match="has 0 of the 1 signatures"):
        ledger.moves.require_trust(first_move(ledger, waits))
    ledger.moves.require_trust(first_move(ledger, begun))


def test_expiry_and_level(ledger: Ledger, clock: StillClock, signers: Signers, people: Two) -> None:
    """A rule ends; one that would end in the past is refused; below level auto no rule approves or begins anything."""
    number = opened(ledger, clock, people[0], expires_at=clock.now() + timedelta(hours=2))
    proposal = propose(ledger)
    ledger.rules.approve(proposal)
    later = propose(ledger, "public.t2")
    ledger.use_rule(ApprovalRule(signers))
    assert "no longer auto" in (ledger.rules.why_not_begin(proposal) or "")
    with pytest.raises(NotSigned, match="approve nothing here"):
        ledger.rules.approve(later)
    ledger.use_rule(ApprovalRule(signers, automatic=True))
    clock.sleep(2 * 3600.0)
    assert "expired" in (ledger.rules.why_not_begin(proposal) or "")
    with pytest.raises(NotCovered, match="expired"):
        ledger.rules.approve(later)
    with pytest.raises(WrongState, match="is expired"):
        sign(ledger, number, people[0])
    with pytest.raises(Refused, match="is past"):
        ledger.rules.propose(a_rule(clock, expires_at=clock.now()), who="carl", origin="tty")


def test_two_people_and_their_namespace(ledger: Ledger, clock: StillClock, signers: Signers, people: Two) -> None:
    """As many signatures as approvals need, of different keys, made for rules and for nothing else."""
    ledger.use_rule(ApprovalRule(signers, 2, automatic=True))
    number = ledger.rules.propose(a_rule(clock), who="carl", origin="tty")
    with pytest.raises(SignatureInvalid):
        ledger.rules.open(number, origin="tty", signature=people[0].sign(ledger.rules.document(number).text))
    assert sign(ledger, number, people[0]) is RuleState.PROPOSED
    with pytest.raises(NotSigned, match="signed this already"):
        sign(ledger, number, people[0])
    assert sign(ledger, number, people[1]) is RuleState.OPEN
    proposal = propose(ledger)
    ledger.rules.approve(proposal)
    signers.path.write_text(people[0].line)
    with pytest.raises(Untrusted, match="has 1 of the 2 signatures"):
        ledger.moves.require_trust(first_move(ledger, proposal))


def forge_approval(ledger: Ledger, proposal: int, rule: int, conditions: object) -> None:
    """What a process of the agent's user can write: a link of the chain that fits, and the tables with it."""
    row = ledger.proposals.row(proposal)
    ledger.use_rule(ApprovalRule())
    append = ledger.audit.append

    def appending(transaction: Any, event: str, subject: str, /, **facts: Any) -> int:  # as it is
        more = {"rule": rule, "conditions": conditions} if event == "proposal.approved" else {}
        return append(transaction, event, subject, **facts, **more)

    ledger.audit.append = appending  # type: ignore[method-assign]  # one call of it
    ledger.proposals.approve(proposal, who="x", origin="y", digest=row.digest)
    ledger.audit.append = append  # type: ignore[method-assign]


FORGED = [
    ({}, {"rule": 7}, "which the audit chain does not hold"),
    ({"least_gain_per_hour": 701.0}, {}, "did not cover proposal 1: the lower end"),
    ({"most_bytes": 63 * MIB}, {}, "did not cover proposal 1"),
    ({}, {"conditions": {}}, "other conditions"),
    ({}, {"closed": True}, "is not open"),
    ({}, {"unsigned": True}, "is not open"),
]


@pytest.mark.parametrize(("limits", "forgery", "why"), FORGED, ids=lambda value: str(value)[:30])
def test_a_forged_automatic_approval_sends_nothing(
    ledger: Ledger, clock: StillClock, signers: Signers, people: Two,
    limits: dict[str, Any], forgery: dict[str, Any], why: str,
) -> None:  # fmt: skip
    """An approval that names a rule which does not cover it, in a chain that fits."""
    rule = a_rule(clock, **limits)
    number = ledger.rules.propose(rule, who="carl", origin="tty")
    if "unsigned" not in forgery:
        sign(ledger, number, people[0])
    if "closed" in forgery:
        ledger.rules.close(number, who="carl", origin="tty", reason="")
    proposal = propose(ledger)
    if "rule" in forgery and not isinstance(ledger._database, FileDatabase):
        with pytest.raises(LedgerReadOnly, match="own_numbers"):  # a server takes no row that names another's rule
            forge_approval(ledger, proposal, forgery["rule"], {})
        return
    forge_approval(ledger, proposal, forgery.get("rule", number), forgery.get("conditions", rule.conditions.facts))
    ledger.use_rule(ApprovalRule(signers, automatic=True))
    with pytest.raises(Untrusted, match=why):
        ledger.moves.require_trust(first_move(ledger, proposal))


def test_a_rule_opened_without_a_signature_sends_nothing(
    ledger: Ledger, clock: StillClock, signers: Signers, people: Two
) -> None:
    """Limits that were changed after they were signed, in a chain that fits, do not fit the signature."""
    opened(ledger, clock, people[0])
    (signed,) = ledger.audit.rows(event="rule.signed")
    wide = a_rule(clock, most_bytes=1 << 50)
    number = ledger.rules.propose(wide, who="carl", origin="tty")
    ledger.audit.record("rule.signed", f"rule {number}", **{**signed.facts, "sequence": signed.id + 2})
    ledger.audit.record("rule.opened", f"rule {number}", who="anna", origin="tty")
    proposal = propose(ledger)
    forge_approval(ledger, proposal, number, wide.conditions.facts)
    ledger.use_rule(ApprovalRule(signers, automatic=True))
    with pytest.raises(Untrusted, match="has 0 of the 1 signatures"):
        ledger.moves.require_trust(first_move(ledger, proposal))


def test_a_row_that_closed_the_rule_cannot_be_taken_out(
    ledger: Ledger, clock: StillClock, people: Two, tamper: Tamper
) -> None:
    """Although it is older than the proposal and than the last anchor: the walk begins where the rule does."""
    number = opened(ledger, clock, people[0])
    note(ledger, "shop x")  # in the place of a row that closed it
    proposal = propose(ledger)
    ledger.rules.approve(proposal)
    ledger.moves.require_trust(first_move(ledger, proposal))
    ledger.audit.anchor()
    assert tamper("UPDATE audit SET actor = 'x' WHERE event = 'space.opened'") == 1
    with pytest.raises(Untrusted, match="was changed after it was written"):
        ledger.moves.require_trust(first_move(ledger, proposal))
    assert number == 1


@pytest.mark.parametrize("dates", [(1, 2, 3, 4), (-4, -3, -2, -1), (30, 60, 90, 120), (0, 0, 0, 0)], ids=str)
def test_dates_do_not_evade_a_limit_a_day(
    path: Path, clock: StillClock, signers: Signers, people: Two, dates: tuple[int, ...]
) -> None:
    """Rows dated in the future or in the past: of four approvals forged now, one of one a day runs."""
    rule = ApprovalRule(signers, automatic=True)
    with open_ledger(path, path, clock, rule) as ledger:
        number = opened(ledger, clock, people[0], most_a_day=1)
        honest = propose(ledger, "public.t0")
        ledger.rules.approve(honest)
        others = [propose(ledger, f"public.t{n}", purpose="hsm", asked_by=str(n)) for n in range(1, 5)]
        for proposal, days in zip(others, dates, strict=True):
            forge_dated(ledger, proposal, number, clock.now() + timedelta(days=days))
        allowed = [proposal for proposal in (honest, *others) if is_trusted(ledger, proposal)]
        assert allowed == [honest]


def test_a_quiet_day_of_the_past_has_no_room_for_more(
    path: Path, clock: StillClock, signers: Signers, people: Two
) -> None:
    """No row of that day is there to contradict; an anchor outside the ledger was noted more than a day later."""
    with open_ledger(path, path, clock, ApprovalRule(signers, automatic=True)) as ledger:
        number, start = opened(ledger, clock, people[0], most_a_day=1), clock.now()
        proposal = propose(ledger, expires_at=start + timedelta(days=7))
        clock.sleep(5 * 86_400)
        ledger.audit.anchor()
        forge_dated(ledger, proposal, number, start + timedelta(days=2))
        with pytest.raises(Untrusted, match="later rows were written before it"):
            ledger.moves.require_trust(first_move(ledger, proposal))


def test_nothing_was_approved_before_it_was_proposed(
    path: Path, clock: StillClock, signers: Signers, people: Two
) -> None:
    """On a day on which nothing else was written, and no anchor noted since."""
    with open_ledger(path, path, clock, ApprovalRule(signers, automatic=True)) as ledger:
        number = opened(ledger, clock, people[0], most_a_day=1)
        clock.sleep(5 * 86_400)
        now = clock.now()
        proposal = propose(ledger, created_at=now, expires_at=now + timedelta(days=1))
        forge_dated(ledger, proposal, number, now - timedelta(days=3))
        with pytest.raises(Untrusted, match="later rows were written before it"):
            ledger.moves.require_trust(first_move(ledger, proposal))


def test_a_rule_counts_for_its_own_database(path: Path, clock: StillClock, signers: Signers, people: Two) -> None:
    """An approval of another one that names it uses nothing up, and is covered by no rule."""
    with open_ledger(path, path, clock, ApprovalRule(signers, automatic=True)) as ledger:
        number = opened(ledger, clock, people[0], most_a_day=1)
        other = propose(ledger, database="other")
        forge_dated(ledger, other, number, clock.now())
        assert ledger.rules.row(number).used_today == 0
        assert not is_trusted(ledger, other)
        proposal = propose(ledger)
        ledger.rules.approve(proposal)
        assert is_trusted(ledger, proposal)


def test_a_row_of_another_century_stops_nobody(path: Path, clock: StillClock, signers: Signers, people: Two) -> None:
    """It spoils what it is about; what is written after it has the time of now, and is approved and counted."""
    with open_ledger(path, path, clock, ApprovalRule(signers, automatic=True)) as ledger:
        number = opened(ledger, clock, people[0], most_a_day=1)
        far = propose(ledger, "public.far")
        forge_dated(ledger, far, number, clock.now().replace(year=2099))
        assert not is_trusted(ledger, far)
        clock.sleep(3600)
        for _ in range(3):
            now = clock.now()
            proposal = propose(ledger, f"public.t{now}", created_at=now, expires_at=now + timedelta(days=1))
            ledger.rules.approve(proposal)
            assert ledger.audit.rows(1)[0].at == clock.now()
            assert is_trusted(ledger, proposal)
            clock.sleep(25 * 3600)


def test_a_clock_that_goes_back_dates_no_row_before_the_last(ledger: Ledger, clock: StillClock) -> None:
    """The next row has the time of the last one, until the clock has come that far again."""
    note(ledger, "shop x")
    last = ledger.audit.rows(1)[0].at
    clock.at -= timedelta(hours=2)
    note(ledger, "shop x")
    assert ledger.audit.rows(1)[0].at == last
    clock.at += timedelta(hours=3)
    note(ledger, "shop x")
    assert ledger.audit.rows(1)[0].at == clock.now()


def forge_dated(ledger: Ledger, proposal: int, rule: int, at: datetime) -> None:
    """An approval under a rule, with a date of the forger's, and the tables with it."""
    row, moves = ledger.proposals.row(proposal), ledger.moves.rows(proposal_id=proposal)
    conditions = ledger.rules.row(rule).rule.conditions.facts
    facts = {"who": "x", "origin": "y", "reason": "", "digest": row.digest, "moves": [1], "rule": rule}
    with ledger._database.write() as transaction:
        forged = Forged("proposal.approved", f"proposal {proposal}", {**facts, "conditions": conditions})
        write_row(transaction, forged, at)
        set_tables(transaction, Target(proposal, row.digest, moves), MoveState.APPROVED)


def is_trusted(ledger: Ledger, proposal: int) -> bool:
    """Whether its move may begin."""
    try:
        ledger.moves.require_trust(first_move(ledger, proposal))
    except Untrusted:
        return False
    return True


def test_the_document_says_each_limit(ledger: Ledger, clock: StillClock) -> None:
    """One a line; a pattern cannot pass for another line; a rule reads back as it was proposed."""
    rule = a_rule(clock, units=("public.*\nbytes: 1",), windows=("sat 22:00-24:00",), time_zone="Europe/Berlin")
    number = ledger.rules.propose(rule, who="carl", origin="tty")
    lines = ledger.rules.document(number).text.splitlines()
    assert lines[0] == "hotplace standing rule 1"
    assert lines[1] == f"ledger: {ledger.audit.rows(100)[-1].hash}", "which ledger it is for: the hash of its first row"
    names = [line.partition(":")[0] for line in lines[1:]]
    assert names == ["ledger", "database", "fingerprint", "rule", *rule.limits, "sequence"]
    assert ledger.rules.row(number).rule == rule
    assert json.loads(json.dumps(rule.facts)) == rule.facts
    assert "sat 22:00-24:00 in Europe/Berlin" in "\n".join(lines)
