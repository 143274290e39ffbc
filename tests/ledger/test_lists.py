"""Several proposals approved with one decision: all or none, by one signature, in waves, on both kinds of ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.config.models import LedgerServer
from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.errors import DigestMismatch, NotFound, NotSigned, Untrusted, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.lists import ListDecision
from agent.model.approvals import Conditions
from agent.model.outcomes import OutcomeVerdict
from agent.model.signatures import SignatureInvalid, Signers
from agent.model.states import MoveState, ProposalState
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, Two, open_ledger
from tests.ledger.fleet import measured, proposed
from tests.unit.samples import a_move, a_proposal

NAMES = ("shop", "crm", "wiki")
Make = Callable[[], list[int]]


@pytest.fixture
def ledger(place: Path | LedgerServer, path: Path, clock: StillClock, signers: Signers) -> Iterator[Ledger]:
    """Its proposals are approved by one signature."""
    with open_ledger(place, path, clock, ApprovalRule(signers)) as opened:
        yield opened


def three(ledger: Ledger) -> list[int]:
    """A proposal for each of three databases."""
    return [proposed(ledger, name, moves=2) for name in NAMES]


def sign(
    ledger: Ledger,
    numbers: list[int],
    person: Person,
    *canaries: int,
    text: str = "",
    conditions: Conditions | None = None,
) -> ListDecision:
    """Give a signature over the list as it is, or over another text."""
    given = conditions or Conditions()
    signature = person.sign(text or ledger.lists.document(numbers, canaries, given)[0].text)
    return ledger.lists.approve(numbers, canaries, who="root", origin="tty", signature=signature, conditions=given)


def states(ledger: Ledger, numbers: list[int]) -> set[ProposalState]:
    """What the proposals are."""
    return {ledger.proposals.row(number).state for number in numbers}


def trust(ledger: Ledger, number: int) -> None:
    """Ask as each statement of a proposal's first move does."""
    ledger.moves.require_trust(ledger.moves.rows(proposal_id=number)[0])


def test_one_signature_approves_all(ledger: Ledger, people: Two) -> None:
    """Under the signer's name; each member is trusted, the signature is stored once, and the chain verifies."""
    numbers = three(ledger)
    decision = sign(ledger, numbers, people[0])
    assert (states(ledger, numbers), decision.who, decision.missing) == ({ProposalState.APPROVED}, "anna", 0)
    for number in numbers:
        trust(ledger, number)
    rows = ledger.audit.rows()
    assert sum("SSH SIGNATURE" in json.dumps(dict(row.facts)) for row in rows) == 1
    assert [row.subject for row in rows if row.event == "list.approved"] == [f"list {decision.digest}"]
    assert ledger.audit.verify().ok


def test_all_or_none(ledger: Ledger, people: Two) -> None:
    """One that was rejected meanwhile refuses the others as well."""
    numbers = three(ledger)
    text = ledger.lists.document(numbers)[0].text
    ledger.proposals.reject(numbers[1], who="carl", origin="tty", reason="")
    with pytest.raises(WrongState, match=r"rejected"):
        sign(ledger, numbers, people[0], text=text)
    assert ledger.proposals.row(numbers[0]).state is ProposalState.PROPOSED


def test_a_list_is_neither_widened_nor_used_again(ledger: Ledger, people: Two) -> None:
    """The signature fits no other members, order, turn, condition or time, and no struck move."""
    numbers = three(ledger)
    text = ledger.lists.document(numbers[:2])[0].text
    for other, canaries in ((numbers, ()), (numbers[:1], ()), (numbers[1::-1], ()), (numbers[:2], numbers[:1])):
        with pytest.raises(SignatureInvalid, match=r"does not fit this document"):
            sign(ledger, other, people[0], *canaries, text=text)
    with pytest.raises(SignatureInvalid):
        sign(ledger, numbers[:2], people[0], text=text, conditions=Conditions(most_bytes=1))
    row = ledger.proposals.row(numbers[0])
    with pytest.raises(SignatureInvalid):  # and it is none over a member alone
        ledger.proposals.approve(row.id, who="x", origin="tty", digest=row.digest, signature=people[0].sign(text))
    ledger.proposals.strike(numbers[0], 2, who="carl", origin="tty", reason="")
    with pytest.raises(SignatureInvalid):
        sign(ledger, numbers[:2], people[0], text=text)
    sign(ledger, numbers[:2], people[0])
    with pytest.raises(WrongState, match=r"approved"):
        sign(ledger, numbers[:2], people[0], text=text)


def test_a_row_that_names_a_list_proves_nothing_for_another_proposal(
    ledger: Ledger, people: Two, signers: Signers
) -> None:
    """A process of the agent's user can write that a third proposal was on the list; nothing is sent for it."""
    numbers = three(ledger)
    sign(ledger, numbers[:2], people[0])
    (listed,) = [row for row in ledger.audit.rows() if row.event == "list.signed"]
    ledger.use_rule(PLAIN)
    row = ledger.proposals.row(numbers[2])
    facts = {
        "who": "anna",
        "origin": "tty",
        "key": "k",
        "moves": [1, 2],
        "sequence": 1,
        "digest": row.digest,
        "list_row": listed.id,
    }
    ledger.audit.record("proposal.signed", f"proposal {row.id}", **facts)
    ledger.proposals.approve(row.id, who="anna", origin="tty", digest=row.digest)
    ledger.use_rule(ApprovalRule(signers))
    with pytest.raises(Untrusted, match=r"has 0 of the 1 signatures"):
        trust(ledger, numbers[2])
    forged = {**listed.facts, "members": [{**listed.facts["members"][0], "proposal": row.id}]}
    ledger.audit.record("list.signed", listed.subject, **forged)
    facts["list_row"] = ledger.audit.rows(1)[0].id
    ledger.audit.record("proposal.signed", f"proposal {row.id}", **facts)
    with pytest.raises(Untrusted, match=r"has 0 of the 1 signatures"):
        trust(ledger, numbers[2])
    trust(ledger, numbers[0])


def test_a_list_that_was_changed_after_it_was_signed(ledger: Ledger, tamper: Tamper, people: Two) -> None:
    """The chain no longer fits, and nothing is sent."""
    numbers = three(ledger)
    sign(ledger, numbers, people[0], numbers[0])
    assert tamper("UPDATE audit SET facts = replace(facts, '\"wave\": 2', '\"wave\": 1') WHERE event = 'list.signed'")
    assert not ledger.audit.verify().ok
    with pytest.raises(Untrusted):
        trust(ledger, numbers[1])


def test_a_second_person_signs_the_same_list(ledger: Ledger, signers: Signers, people: Two) -> None:
    """The first signature approves nothing, the same key does not count twice, and each member needs both."""
    ledger.use_rule(ApprovalRule(signers, 2))
    numbers = three(ledger)
    decision = sign(ledger, numbers, people[0])
    assert (states(ledger, numbers), decision.missing) == ({ProposalState.PROPOSED}, 1)
    assert ledger.lists.document(numbers)[1] == ["anna"]
    with pytest.raises(NotSigned, match=r"has signed this already"):
        sign(ledger, numbers, people[0])
    decision = sign(ledger, numbers, people[1])
    assert (states(ledger, numbers), decision.who) == ({ProposalState.APPROVED}, "anna, bert")
    trust(ledger, numbers[2])


def test_who_proposed_one_of_them_is_no_second_person(ledger: Ledger, signers: Signers, people: Two) -> None:
    """A list is no way around it."""
    ledger.use_rule(ApprovalRule(signers, 2))
    numbers = [proposed(ledger, "shop"), proposed(ledger, "crm", asked_by="anna")]
    with pytest.raises(NotSigned, match=r"anna asked for this"):
        sign(ledger, numbers, people[0])


def test_conditions_and_strikes_hold_for_members(ledger: Ledger, people: Two) -> None:
    """Each member carries the conditions, and one move of one of them can still be struck."""
    numbers = three(ledger)
    sign(ledger, numbers, people[0], conditions=Conditions(most_bytes=7))
    assert {ledger.proposals.conditions(number).most_bytes for number in numbers} == {7}
    ledger.proposals.strike(numbers[0], 2, who="carl", origin="tty", reason="")
    assert [row.state for row in ledger.moves.rows(proposal_id=numbers[0])] == [MoveState.APPROVED, MoveState.CANCELLED]
    trust(ledger, numbers[0])


def test_plain_approvals_by_the_digest_of_the_list(ledger: Ledger) -> None:
    """The digest is that of the whole list, waves too; one that was changed, or is too short, approves nothing."""
    ledger.use_rule(PLAIN)
    numbers = three(ledger)
    digest = ledger.lists.document(numbers)[0].digest
    ledger.proposals.strike(numbers[0], 1, who="carl", origin="tty", reason="")
    for wrong in (digest, ledger.lists.document(numbers)[0].digest[:6], ""):
        with pytest.raises(DigestMismatch):
            ledger.lists.approve(numbers, who="eva", origin="tty", digest=wrong)
    right = ledger.lists.document(numbers, numbers[:1])[0].digest[:12]
    assert not ledger.lists.approve(numbers, numbers[:1], who="eva", origin="tty", digest=right).missing
    assert states(ledger, numbers) == {ProposalState.APPROVED}
    assert [ledger.lists.goes_before(number) for number in numbers] == [set(), {numbers[0]}, {numbers[0]}]


def test_waves(ledger: Ledger, people: Two) -> None:
    """Who goes first waits for none; the others for it, even by an approval that names no list."""
    numbers = three(ledger)
    with pytest.raises(WrongState, match=r"not on the list"):
        ledger.lists.document(numbers[:1], numbers[1:2])
    with pytest.raises(WrongState, match=r"none would wait"):
        ledger.lists.document(numbers, numbers)
    sign(ledger, numbers, people[0], numbers[1])
    assert [ledger.lists.goes_before(number) for number in numbers] == [{numbers[1]}, set(), {numbers[1]}]
    (before,) = ledger.lists.went_before({numbers[1]})
    assert (before.database, before.verdict, set(before.states)) == ("crm", None, {MoveState.APPROVED})
    measured(ledger, numbers[1], OutcomeVerdict.HURT)
    assert ledger.lists.went_before({numbers[1]})[0].verdict is OutcomeVerdict.HURT


def test_a_forged_approval_without_its_list_still_waits(ledger: Ledger, people: Two, signers: Signers) -> None:
    """The turn is told by the row of the signature, without which nothing is sent."""
    ledger.use_rule(ApprovalRule(signers, 2))
    numbers = three(ledger)
    sign(ledger, numbers, people[0], numbers[0])
    ledger.use_rule(PLAIN)
    row = ledger.proposals.row(numbers[1])
    ledger.proposals.approve(row.id, who="x", origin="tty", digest=row.digest)
    assert ledger.lists.goes_before(row.id) == {numbers[0]}


def test_stop(ledger: Ledger, people: Two) -> None:
    """What has not begun is cancelled, what runs goes on; the chain says who stopped it, and verifies."""
    numbers = three(ledger)
    decision = sign(ledger, numbers, people[0])
    running = ledger.moves.rows(proposal_id=numbers[0])[0]
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(running.id, state, "")
    for wrong in ("", decision.digest[:6], "0" * 12):
        with pytest.raises(NotFound, match=r"no list was approved"):
            ledger.lists.stop(wrong, who="eva", origin="tty", reason="month end")
    stopped = ledger.lists.stop(decision.digest[:12], who="eva", origin="tty", reason="month end")
    assert [row.id for row in stopped.going_on] == [running.id]
    assert len(stopped.cancelled) == 5
    assert {row.state for row in ledger.moves.rows(proposal_id=numbers[2])} == {MoveState.CANCELLED}
    assert ledger.moves.row(running.id).state is MoveState.RUNNING
    (noted,) = [row for row in ledger.audit.rows() if row.event == "list.stopped"]
    assert (noted.facts["who"], noted.facts["reason"]) == ("eva", "month end")
    assert ledger.audit.verify().ok
    assert not ledger.lists.stop(decision.digest, who="eva", origin="tty", reason="").cancelled


def test_a_group_is_stopped_once(ledger: Ledger, people: Two) -> None:
    """Its moves end together with the first of them, each with one row in the chain."""
    numbers = [
        ledger.proposals.store(a_proposal(*(a_move(at, key=f"public.t{at}", group=1) for at in (1, 2)), database=name))
        for name in ("a", "b")
    ]
    decision = sign(ledger, numbers, people[0])
    stopped = ledger.lists.stop(decision.digest, who="eva", origin="tty", reason="month end")
    assert {ledger.moves.row(row.id).state for row in stopped.cancelled} == {MoveState.CANCELLED}
    rows = [row.subject for row in ledger.audit.rows(100) if row.event == "move.stopped"]
    assert len(stopped.cancelled) == len(rows) == len(set(rows)) == 4


def test_the_message_names_the_command_that_prints_the_list(ledger: Ledger) -> None:
    """With all proposals of it."""
    numbers = three(ledger)
    listed = ledger.lists.document(numbers)[0]
    with pytest.raises(NotSigned) as caught:
        ledger.lists.approve(numbers, who="eva", origin="tty", digest=listed.digest)
    assert f"hotplace approve --all {' '.join(map(str, numbers))} > FILE" in caught.value.advice


def test_names_cannot_pass_for_other_lines(ledger: Ledger) -> None:
    """A line end in a database's name is escaped, so that no two lists have one text."""
    ledger.use_rule(PLAIN)
    listed = ledger.lists.document([proposed(ledger, "a\n2 wave: 1"), proposed(ledger, "b")])[0]
    assert "\n1 database: a\\n2 wave: 1\n" in listed.text
    assert replace(listed, members=listed.members[::-1]).digest != listed.digest
