"""Signed approvals: without the signatures that the configuration asks for nothing is approved, and nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.config.models import LedgerServer
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import NotSigned, Untrusted, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.approvals import Conditions
from agent.model.proposals import WAY_BACK, Proposal, with_ways_back
from agent.model.signatures import SignatureInvalid, Signers
from agent.model.states import MoveState, ProposalState
from connectors.model.moves import Step
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, Two, approved, open_ledger, stored
from tests.unit.samples import a_move, a_proposal


@pytest.fixture
def ledger(place: Path | LedgerServer, path: Path, clock: StillClock, signers: Signers) -> Iterator[Ledger]:
    """Its proposals are approved by one signature."""
    with open_ledger(place, path, clock, ApprovalRule(signers)) as opened:
        yield opened


def sign(ledger: Ledger, number: int, person: Person, text: str = "") -> ProposalRow:
    """Give a signature over the document as it is, or over another text."""
    signature = person.sign(text or ledger.proposals.document(number)[0].text)
    row = ledger.proposals.row(number)
    return ledger.proposals.approve(number, who="root", origin="tty", digest=row.digest, signature=signature)


def first_move(ledger: Ledger, number: int) -> MoveRow:
    """The first move of a proposal."""
    return ledger.moves.rows(proposal_id=number)[0]


def test_a_signature_approves(ledger: Ledger, people: Two) -> None:
    """By the name that the file gives its key, not by the user who handed it in; its moves are trusted."""
    row = sign(ledger, stored(ledger), people[0])
    assert (row.state, row.decided_by) == (ProposalState.APPROVED, "anna")
    ledger.moves.require_trust(first_move(ledger, row.id))
    (signed,) = [each for each in ledger.audit.rows() if each.event == "proposal.signed"]
    assert signed.facts["key"].startswith("SHA256:")
    assert ledger.audit.verify().ok


def test_without_a_signature_nothing_is_approved(ledger: Ledger) -> None:
    """The error says how to get one."""
    with pytest.raises(NotSigned, match=r"by signature only") as error:
        approved(ledger)
    assert "--signature" in error.value.advice
    assert ledger.proposals.row(1).state is ProposalState.PROPOSED


def test_a_signature_means_nothing_where_approvals_are_plain(path: Path, clock: StillClock, people: Two) -> None:
    """It is refused, not ignored."""
    with Ledger.open(path, clock) as plain, pytest.raises(NotSigned, match=r"approvals are plain"):
        sign(plain, stored(plain), people[0])


def test_what_was_struck_meanwhile_has_to_be_signed_again(ledger: Ledger, people: Two) -> None:
    """The document says which moves remain, and what was the last that happened to them."""
    number = stored(ledger, 3)
    text = ledger.proposals.document(number)[0].text
    ledger.proposals.strike(number, 2, who="carl", origin="tty", reason="")
    assert "moves: 1 3\n" in ledger.proposals.document(number)[0].text
    with pytest.raises(SignatureInvalid, match=r"does not fit this document"):
        sign(ledger, number, people[0], text)
    sign(ledger, number, people[0])
    assert [row.state for row in ledger.moves.rows(proposal_id=number)].count(MoveState.APPROVED) == 2


def test_a_signature_is_for_one_ledger(ledger: Ledger, path: Path, clock: StillClock, people: Two) -> None:
    """The same proposal by the same number in another one is not approved by it."""
    text = ledger.proposals.document(stored(ledger))[0].text
    rule = ledger.proposals.rule
    clock.sleep(1)
    with Ledger.open(path.with_name("other.db"), clock, rule=rule) as other, pytest.raises(SignatureInvalid):
        sign(other, stored(other), people[0], text)


def test_an_approval_without_its_signature_sends_nothing(ledger: Ledger, tamper: Tamper, people: Two) -> None:
    """A process of the same user can write an approval into the chain, but no signature of anybody."""
    ledger.use_rule(ApprovalRule())
    number = approved(ledger)
    ledger.moves.require_trust(first_move(ledger, number))
    ledger.use_rule(ApprovalRule(Signers(people[0].key)))
    with pytest.raises(Untrusted, match=r"has 0 of the 1 signatures that it needs"):
        ledger.moves.require_trust(first_move(ledger, number))


def test_who_may_no_longer_sign_approves_nothing_any_more(ledger: Ledger, signers: Signers, people: Two) -> None:
    """Each statement asks again: a key that was taken out of the file does not count."""
    number = stored(ledger)
    sign(ledger, number, people[0])
    signers.path.write_text(people[1].line)
    with pytest.raises(Untrusted, match=r"0 of the 1 signatures .* no key in"):
        ledger.moves.require_trust(first_move(ledger, number))


def test_two_people_with_two_keys(ledger: Ledger, signers: Signers, people: Two) -> None:
    """The first signature approves nothing; the same key does not count twice; the second one approves."""
    ledger.use_rule(ApprovalRule(signers, 2))
    number = stored(ledger)
    assert sign(ledger, number, people[0]).state is ProposalState.PROPOSED
    with pytest.raises(NotSigned, match=r"has signed this already"):
        sign(ledger, number, people[0])
    row = sign(ledger, number, people[1])
    assert (row.state, row.decided_by) == (ProposalState.APPROVED, "anna, bert")
    ledger.moves.require_trust(first_move(ledger, number))
    ledger.use_rule(ApprovalRule(signers, 3))
    with pytest.raises(Untrusted, match=r"2 of the 3 signatures"):
        ledger.moves.require_trust(first_move(ledger, number))


def test_one_key_under_two_names_is_one_person(ledger: Ledger, signers: Signers, people: Two) -> None:
    """Keys are counted, not names."""
    ledger.use_rule(ApprovalRule(signers, 2))
    number = stored(ledger)
    sign(ledger, number, people[0])
    signers.path.write_text(people[0].line.replace("anna ", "annette ", 1))
    with pytest.raises(NotSigned, match=r"has signed this already"):
        sign(ledger, number, people[0])


def test_a_strike_between_two_signatures_leaves_the_first_one_for_the_rest(
    ledger: Ledger, signers: Signers, people: Two
) -> None:
    """It ends its group and nothing else: both have seen each of the moves that remain."""
    ledger.use_rule(ApprovalRule(signers, 2))
    number = stored(ledger, 3)
    sign(ledger, number, people[0])
    ledger.proposals.strike(number, 2, who="carl", origin="tty", reason="")
    assert sign(ledger, number, people[1]).state is ProposalState.APPROVED
    rows = ledger.moves.rows(proposal_id=number)
    assert [row.state for row in rows] == [MoveState.APPROVED, MoveState.REJECTED, MoveState.APPROVED]
    ledger.moves.require_trust(rows[0])


def test_who_proposed_it_is_no_second_person(ledger: Ledger, signers: Signers, people: Two) -> None:
    """By the name under which the proposal was asked for."""
    ledger.use_rule(ApprovalRule(signers, 2))
    number = ledger.proposals.store(a_proposal(a_move(), asked_by="anna"))
    with pytest.raises(NotSigned, match=r"anna asked for this"):
        sign(ledger, number, people[0])
    assert sign(ledger, number, people[1]).state is ProposalState.PROPOSED


def test_one_person_may_approve_what_he_asked_for(ledger: Ledger, people: Two) -> None:
    """Where one signature is enough, no second person is asked for."""
    number = ledger.proposals.store(a_proposal(a_move(), asked_by="anna"))
    assert sign(ledger, number, people[0]).state is ProposalState.APPROVED


def test_conditions_are_signed(ledger: Ledger, tamper: Tamper, people: Two) -> None:
    """A signature over other conditions does not fit; what was signed is what the executor reads."""
    small, number = Conditions(most_bytes=1000), stored(ledger)
    text = ledger.proposals.document(number, small)[0].text
    assert 'conditions: {"most_bytes": 1000}\n' in text
    with pytest.raises(SignatureInvalid):
        sign(ledger, number, people[0], text)
    ledger.proposals.approve(
        number, who="root", origin="tty", digest=ledger.proposals.row(number).digest,
        signature=people[0].sign(text), conditions=small,
    )  # fmt: skip
    assert ledger.proposals.conditions(number) == small
    ledger.moves.require_trust(first_move(ledger, number))


def test_what_is_decided_is_not_signed(ledger: Ledger, people: Two) -> None:
    """There is no document of it any more."""
    number = stored(ledger)
    ledger.proposals.reject(number, who="carl", origin="tty", reason="no")
    with pytest.raises(WrongState):
        ledger.proposals.document(number)


def group_to_go_back(ledger: Ledger, person: Person) -> tuple[Proposal, MoveRow]:
    """A signed group whose first move is placed and whose second has failed, and what would take the first back."""
    moves = with_ways_back(
        a_move(at, key=f"public.t{at}", group=1, wait_saved_per_hour=gain) for at, gain in ((1, -10.0), (2, 900.0))
    )
    number = ledger.proposals.store(a_proposal(*moves))
    sign(ledger, number, person)
    first, second = ledger.moves.rows(proposal_id=number)
    for row, end in ((first, MoveState.PLACED), (second, MoveState.FAILED)):
        for state in (MoveState.PRECHECK, MoveState.RUNNING, end):
            ledger.moves.transition(row.id, state, "")
    done = first.move
    route = replace(done.route, steps=done.route.undo_steps, undo_steps=(), to_space=done.from_space)
    back = replace(
        done, ordinal=1, route=route, from_space=done.to_space, to_space=done.from_space, undoes=first.id, group=1,
        reason=WAY_BACK, goes_back=False,
    )  # fmt: skip
    return a_proposal(back, purpose="undo 1"), first


def test_the_way_back_of_a_group_rests_on_its_signature(ledger: Ledger, people: Two, signers: Signers) -> None:
    """It needs none of its own, by the name of who signed; once that key is no longer allowed nothing is sent."""
    proposal, _ = group_to_go_back(ledger, people[0])
    number = ledger.proposals.approve_way_back(proposal)
    assert ledger.proposals.row(number).decided_by == "anna"
    ledger.moves.require_trust(first_move(ledger, number))
    signers.path.write_text(people[1].line)
    with pytest.raises(Untrusted, match="0 of the 1 signatures"):
        ledger.moves.require_trust(first_move(ledger, number))


def test_the_way_back_of_a_group_rests_on_the_chain_of_its_approval(
    ledger: Ledger, people: Two, tamper: Tamper
) -> None:
    """From the first row of the proposal that it takes back: what was rewritten there sends nothing."""
    proposal, _ = group_to_go_back(ledger, people[0])
    number = ledger.proposals.approve_way_back(proposal)
    row = first_move(ledger, number)
    ledger.moves.require_trust(row)
    approved_in = next(each for each in ledger.audit.rows(100) if each.event == "proposal.approved" and each.id < 5)
    assert tamper("UPDATE audit SET actor = 'eve' WHERE id = ?", approved_in.id + 1) == 1
    with pytest.raises(Untrusted, match=f"row {approved_in.id + 1} was changed"):
        ledger.moves.require_trust(row)


def test_what_calls_itself_a_way_back_and_is_none_is_not_trusted(
    ledger: Ledger, path: Path, clock: StillClock, people: Two
) -> None:
    """Who approves other statements under that name, past the ledger's own rule, gets no statement sent."""
    proposal, _ = group_to_go_back(ledger, people[0])
    drop = Step(sql="DROP TABLE public.t1", purpose="")
    move = proposal.moves[0]
    forged = replace(proposal, moves=(replace(move, route=replace(move.route, steps=(drop,))),))
    with Ledger.open(path, clock) as plain:
        number = plain.proposals.store(forged)
        row = plain.proposals.row(number)
        plain.proposals.approve(number, who="anna", origin="the approval of proposal 1", digest=row.digest)
    with pytest.raises(Untrusted, match="is not the one that was approved"):
        ledger.moves.require_trust(first_move(ledger, number))
