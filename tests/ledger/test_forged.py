"""Forged approvals: nothing runs by them that an honest sequence could not have reached, whoever writes what."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import select

from agent.ledger.chain.audit import Verification
from agent.ledger.chain.events import EVENTS
from agent.ledger.chain.signed import ApprovalRule, approval_of
from agent.ledger.chain.trust import read_standing
from agent.ledger.errors import NotApproved, NotFound, NotSigned, Spoiled, Untrusted, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.store import schema
from agent.ledger.store.database import Transaction
from agent.ledger.stored import load_move
from agent.model.approvals import Conditions, LockClass, StandingRule
from agent.model.proposals import WAY_BACK, Proposal, ProposedMove, proposal_text, with_ways_back
from agent.model.signatures import Signers
from agent.model.signed_documents import RULE_NAMESPACE
from agent.model.states import ACTIONABLE, MoveState, ProposalState
from agent.pages.content import report_of
from connectors.model.moves import Step
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Two, open_ledger
from tests.ledger.forger import Forged, Target, bad_facts, every_row, forgeries, rows_about, set_tables, write_row
from tests.unit.samples import a_move, a_proposal

S = MoveState
DAY = timedelta(days=1)


@pytest.fixture
def ledger(path: Path, clock: StillClock, signers: Signers) -> Iterator[Ledger]:
    """A file; its proposals are approved by one signature."""
    with open_ledger(path, path, clock, ApprovalRule(signers)) as opened:
        yield opened


class RolledBack(Exception):  # ends a transaction that leaves nothing
    """The forger's rows are taken back."""


@contextmanager
def forging(ledger: Ledger) -> Iterator[Transaction]:
    """A transaction of the file's owner that leaves nothing behind."""
    try:
        with ledger._database.write() as transaction:
            yield transaction
            raise RolledBack  # noqa: TRY301  # the way to roll back
    except RolledBack:
        return


def propose(ledger: Ledger, **changes: object) -> int:
    """Two groups: one table makes room for another, and one that comes by itself."""
    moves = with_ways_back((
        a_move(1, key="public.cold", group=1, wait_saved_per_hour=-10.0, reason="make_room"),
        a_move(2, key="public.hot", group=1),
        a_move(3, key="public.alone", group=2),
    ))  # fmt: skip
    return ledger.proposals.store(a_proposal(*moves, **changes))


def sign(ledger: Ledger, number: int, person: Person) -> ProposalRow:
    """Sign the proposal as it is."""
    document, _ = ledger.proposals.document(number)
    return ledger.proposals.approve(
        number, who="root", origin="tty", digest=document.digest, signature=person.sign(document.text)
    )


def bring(ledger: Ledger, row: MoveRow, *states: MoveState) -> MoveRow:
    """Bring a move through states."""
    for state in states:
        row = ledger.moves.transition(row.id, state, "test")
    return row


def rows_of(ledger: Ledger, number: int) -> list[MoveRow]:
    """The moves of a proposal."""
    return ledger.moves.rows(proposal_id=number)


def _signed(ledger: Ledger, person: Person) -> int:
    number = propose(ledger)
    sign(ledger, number, person)
    return number


def _rejected(ledger: Ledger, person: Person) -> int:
    """Of two people one has signed, the other one rejects it."""
    number, rule = propose(ledger), ledger.proposals.rule
    ledger.use_rule(replace(rule, needed=2))
    sign(ledger, number, person)
    ledger.use_rule(rule)
    ledger.proposals.reject(number, who="bert", origin="tty", reason="no")
    return number


def _struck(ledger: Ledger, person: Person) -> int:
    number = propose(ledger)
    ledger.proposals.strike(number, 2, who="bert", origin="tty", reason="")
    sign(ledger, number, person)
    return number


def _struck_later(ledger: Ledger, person: Person) -> int:
    number = _signed(ledger, person)
    ledger.proposals.strike(number, 3, who="bert", origin="tty", reason="")
    return number


def _expired(ledger: Ledger, person: Person) -> int:
    number = _signed(ledger, person)
    ledger._clock.sleep(3 * 86_400)
    ledger.proposals.expire_due()
    return number


def _superseded(ledger: Ledger, person: Person) -> int:
    del person
    number = propose(ledger)
    ledger.proposals.store(a_proposal(a_move(1, key="public.other")))
    return number


def _ended(*states: MoveState) -> Callable[[Ledger, Person], int]:
    def made(ledger: Ledger, person: Person) -> int:
        number = _signed(ledger, person)
        for row in rows_of(ledger, number):
            bring(ledger, row, S.PRECHECK, *states)
        return number

    return made


def _undone(ledger: Ledger, person: Person) -> int:
    number = _ended(S.RUNNING, S.PLACED, S.SETTLING)(ledger, person)
    rows = rows_of(ledger, number)
    back = [
        replace(row.move, undoes=row.id, group=row.id, goes_back=False, from_space="fast", to_space="slow")
        for row in rows
    ]
    undo = ledger.proposals.store(a_proposal(*back, purpose="undo 1, 2, 3"))
    sign(ledger, undo, person)
    for row in rows_of(ledger, undo):
        bring(ledger, row, S.PRECHECK, S.RUNNING, S.PLACED)
    assert {row.state for row in rows_of(ledger, number)} == {S.UNDONE}
    return number


SITUATIONS: dict[str, Callable[[Ledger, Person], int]] = {
    "proposed": lambda ledger, _: propose(ledger),
    "signed": _signed,
    "rejected after a signature": _rejected,
    "struck before it was signed": _struck,
    "struck later": _struck_later,
    "expired": _expired,
    "superseded": _superseded,
    "skipped": _ended(S.SKIPPED),
    "failed": _ended(S.RUNNING, S.FAILED),
    "cancelled": _ended(S.RUNNING, S.CANCELLED),
    "kept": _ended(S.RUNNING, S.PLACED, S.SETTLING, S.KEPT),
    "undone": _undone,
}


def may_run(ledger: Ledger, transaction: Transaction, move: int) -> bool:
    """Whether a statement of a move would be sent now."""
    try:
        ledger._trust.require(transaction, load_move(transaction, move))
    except Untrusted:
        return False
    return True


@pytest.mark.parametrize("situation", SITUATIONS)
def test_nothing_that_ended_comes_back(ledger: Ledger, people: Two, situation: str) -> None:
    """Each event, and sequences drawn of them, in each state: no move runs that was not approved or has ended."""
    number = SITUATIONS[situation](ledger, people[0])
    rows, at = rows_of(ledger, number), ledger._clock.now()
    with ledger._database.read() as reading:
        signatures = rows_about(reading, number)
    target = Target(number, ledger.proposals.row(number).digest, rows, signatures)
    dead = [row for row in rows if row.state not in ACTIONABLE]
    random = Random(situation)
    single = every_row(target)
    approvals = [row for row in single if row.event == "proposal.approved"]
    attempts = [[row] for row in single] + [forgeries(target, random) for _ in range(50)]
    attempts += [[single[0], row] for row in approvals]  # stored once more, and then approved
    ran = []
    for attempt in attempts:
        move, state = random.choice(dead or rows[:1]), random.choice([S.APPROVED, S.RUNNING])
        with forging(ledger) as transaction:
            for row in attempt:
                write_row(transaction, row, at)
            set_tables(transaction, target, state)
            if move in dead and may_run(ledger, transaction, move.id):
                ran.append((attempt, state))
    assert dead or situation == "signed"
    assert ran == []
    assert ledger.audit.verify().ok


def test_a_second_approval_does_not_replace_the_first(ledger: Ledger, people: Two) -> None:
    """Nor its conditions: a proposal is approved once, and what else says so spoils it."""
    number = propose(ledger)
    document, _ = ledger.proposals.document(number, Conditions(most_bytes=1000))
    ledger.proposals.approve(
        number, who="root", origin="tty", digest=document.digest, signature=people[0].sign(document.text),
        conditions=Conditions(most_bytes=1000),
    )  # fmt: skip
    facts = {"who": "x", "origin": "y", "reason": "", "digest": document.digest, "moves": []}
    with forging(ledger) as transaction:
        write_row(transaction, Forged("proposal.approved", f"proposal {number}", facts), ledger._clock.now())
        assert not may_run(ledger, transaction, rows_of(ledger, number)[0].id)
        assert approval_of(transaction, number) is None
    assert ledger.proposals.conditions(number) == Conditions(most_bytes=1000)


def test_what_was_forged_is_found_by_a_look_at_the_whole_chain(ledger: Ledger, people: Two) -> None:
    """A struck move that is set back, with a row for each step of the way: it is told, not that all fits."""
    number = _struck_later(ledger, people[0])
    struck = rows_of(ledger, number)[2]
    row = Forged(f"move.{S.APPROVED}", f"move {struck.id}", {"was": S.CANCELLED, "reason": "", "digest": struck.digest})
    with ledger._database.write() as transaction:
        write_row(transaction, row, ledger._clock.now())
        transaction.update(schema.moves, [struck.id], {"state": S.APPROVED})
        transaction.update(schema.proposals, [number], {"state": "approved"})
    report = ledger.audit.verify()
    assert not report.ok
    assert f"(move.approved about move {struck.id}) cannot be: the move is cancelled" in report.sentence
    with pytest.raises(Spoiled, match="the move is cancelled and cannot become approved"):
        ledger.moves.require_trust(rows_of(ledger, number)[2])


def test_rows_that_change_places_do_not_run_a_struck_move(ledger: Ledger, people: Two) -> None:
    """The owner of the file exchanges the ordinals of a struck move and of one that was approved."""
    number = _struck_later(ledger, people[0])
    first, _, struck = rows_of(ledger, number)
    with ledger._database.write() as transaction:
        for move, ordinal in ((struck.id, 99), (first.id, 3), (struck.id, 1)):
            transaction.update(schema.moves, [move], {"ordinal": ordinal})
    with pytest.raises(Spoiled, match="its moves have other numbers"):
        ledger.moves.require_trust(next(row for row in rows_of(ledger, number) if row.id == first.id))


def test_what_the_chain_has_never_heard_of_is_not_sent(ledger: Ledger, people: Two) -> None:
    """A signed proposal copied under another number in the tables alone."""
    number = _signed(ledger, people[0])
    move = rows_of(ledger, number)[0].id
    with forging(ledger) as transaction:
        for table, value in ((schema.proposals, number), (schema.moves, move)):
            row = transaction.first(select(table).where(table.c.id == value))._asdict()
            of_it = {"proposal_id": 99} if table is schema.moves else {}
            transaction.insert_all(table, [{**row, "id": 99} | of_it])
        assert may_run(ledger, transaction, move)
        assert not may_run(ledger, transaction, 99)


def test_a_struck_move_ends_its_group(ledger: Ledger, people: Two) -> None:
    """A forger strikes half of a group, which no command does: the other half does not begin either."""
    number = _signed(ledger, people[0])
    first, second, alone = rows_of(ledger, number)
    facts = {"who": "x", "origin": "y", "reason": "", "digest": second.digest, "was": S.APPROVED, "to": S.CANCELLED}
    with forging(ledger) as transaction:
        write_row(transaction, Forged("move.struck", f"move {second.id}", facts), ledger._clock.now())
        transaction.update(schema.moves, [second.id], {"state": S.CANCELLED})
        assert not may_run(ledger, transaction, first.id)
        assert may_run(ledger, transaction, alone.id)


def test_a_move_waits_for_those_of_its_group_that_come_before_it(ledger: Ledger, people: Two) -> None:
    """A forger says in the tables that the first one is placed, which makes room: by the chain it is not."""
    first, second, alone = rows_of(ledger, _signed(ledger, people[0]))
    with forging(ledger) as transaction:
        transaction.update(schema.moves, [first.id], {"state": S.PLACED})
        assert not may_run(ledger, transaction, second.id)
        assert may_run(ledger, transaction, alone.id)
    bring(ledger, first, S.PRECHECK, S.RUNNING, S.PLACED)
    with forging(ledger) as transaction:
        assert may_run(ledger, transaction, second.id)


def test_rows_of_any_form_spoil_only_what_they_are_about(ledger: Ledger, people: Two) -> None:
    """Facts of wrong types, missing, deep: a look at the whole chain says so, and another proposal goes on."""
    number, random = _signed(ledger, people[0]), Random("forms")
    other = ledger.proposals.store(a_proposal(a_move(1, key="public.other"), purpose="usage"))
    move = rows_of(ledger, number)[0].id
    subjects = {"proposal": f"proposal {other}", "move": f"move {rows_of(ledger, other)[0].id}"}
    for event, kind in EVENTS.items():
        for _ in range(3):
            with forging(ledger) as transaction:
                facts = bad_facts(kind, random)
                write_row(transaction, Forged(event, subjects.get(kind.subject, "shop x"), facts), ledger._clock.now())
                report = Verification(transaction, None).report()
                assert report.broken_id is None
                assert f"proposal {number}" not in report.sentence
                assert may_run(ledger, transaction, move)


SUBJECTS = {f"{kind}, {length} digits": f"{kind} {'9' * length}" for kind in ("proposal", "move", "rule")
            for length in (9, 20, 5000)}  # fmt: skip


@pytest.mark.parametrize("event", ["pin.set", "rule.closed", "rule.proposed", "move.placed", "proposal.approved"])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_number_that_nothing_has_stops_nothing(ledger: Ledger, people: Two, subject: str, event: str) -> None:
    """Numbers larger than the ledger, or Python, can read: moves, rules and a look at the whole chain go on."""
    number = _signed(ledger, people[0])
    own = ledger.rules.propose(a_rule(ledger), who="carl", origin="tty")
    facts = {"who": "x", "origin": "y", "reason": '"hurt', "rule": 1}
    if event == "rule.proposed":
        facts = {"who": "x", "origin": "y", "limits": a_rule(ledger).facts}
    move = rows_of(ledger, number)[0]
    with ledger._database.write() as transaction:
        write_row(transaction, Forged(event, SUBJECTS[subject], facts), ledger._clock.now())
    assert ledger.audit.verify().broken_id is None
    ledger.moves.require_trust(move)
    assert own in {row.number for row in ledger.rules.rows("shop")}
    assert ledger.rules.propose(a_rule(ledger), who="carl", origin="tty") == own + 1


def a_rule(ledger: Ledger) -> StandingRule:
    """A rule for all tables of the database."""
    return StandingRule(
        database="shop", fingerprint="cluster 1 database 5", mode="hsm", units=("*",), most_bytes=1 << 40,
        locks=LockClass.ANY, most_stall_seconds=60.0, least_gain_per_hour=0.0, most_a_day=2,
        expires_at=ledger._clock.now() + timedelta(days=30),
    )  # fmt: skip


NO_FACTS = {"a number": "1", "a list": "[[]]", "nothing": "null", "half": "{", "deep": "[" * 100_000}


@pytest.mark.parametrize("event", ["pin.set", "proposal.approved", "move.struck", "list.approved", "another.event"])
@pytest.mark.parametrize("text", NO_FACTS)
def test_a_row_without_facts_is_shown_as_it_stands(ledger: Ledger, people: Two, text: str, event: str) -> None:
    """It fits the chain, so the file is not damaged: whoever lists rows or reports decisions sees it and goes on."""
    number, now = _signed(ledger, people[0]), ledger._clock.now()
    for subject in (f"proposal {number}", "proposal 999", "proposal x", f"list {'a' * 64}"):
        with ledger._database.write() as transaction:
            write_row(transaction, Forged(event, subject), now, text=NO_FACTS[text])
    assert [set(row.facts) for row in ledger.audit.rows(4)] == [{"not valid"}] * 4
    report = report_of(ledger, "shop", now - DAY, now + DAY)
    assert [each.row.id for each in report.proposals] == [number]
    with pytest.raises(NotFound):
        ledger.lists.stop("a" * 64, who="anna", origin="tty", reason="")


NO_LIMITS: dict[str, dict[str, object]] = {
    "an instant without a zone": {"expires_at": "2027-01-01T00:00:00"},
    "before the first day": {"expires_at": "0001-01-01T00:00:00+23:59"},
    "after the last day": {"expires_at": "9999-12-31T23:59:59-23:59"},
    "a text for seconds": {"most_stall_seconds": "x"},
    "no gain": {"least_gain_per_hour": None},
    "numbers for windows": {"windows": [1]},
    "a list of databases": {"database": ["shop"]},
    "a text for a template": {"template": "x"},
    "half a template": {"template": {"name": "t"}},
    "another fact": {"more": 1},
}


@pytest.mark.parametrize("limits", NO_LIMITS)
def test_limits_that_are_none_make_no_rule(ledger: Ledger, people: Two, limits: str) -> None:
    """Whoever lists, opens or counts rules meets every rule of the ledger: one that cannot be compared is not there."""
    own = ledger.rules.propose(a_rule(ledger), who="carl", origin="tty")
    signature = people[0].sign(ledger.rules.document(own).text, RULE_NAMESPACE)
    ledger.rules.open(own, origin="tty", signature=signature)
    facts = {"who": "x", "origin": "y", "limits": {**a_rule(ledger).facts, **NO_LIMITS[limits]}}
    with ledger._database.write() as transaction:
        write_row(transaction, Forged("rule.proposed", "rule 2", facts), ledger._clock.now())
        write_row(transaction, Forged("rule.opened", "rule 2", {"who": "x", "origin": "y"}), ledger._clock.now())
    assert [row.number for row in ledger.rules.rows()] == [own]


NO_WINDOWS: dict[str, dict[str, object]] = {
    "no window": {"windows": ["garbage"], "time_zone": "UTC"},
    "no zone": {"windows": ["sat 00:00-24:00"]},
    "a folder of zones": {"windows": ["sat 00:00-24:00"], "time_zone": "America"},
    "an unknown zone": {"windows": ["sat 00:00-24:00"], "time_zone": "Nowhere/At_all"},
    "a path": {"windows": ["sat 00:00-24:00"], "time_zone": "../../etc/passwd"},
    "a long name": {"windows": ["sat 00:00-24:00"], "time_zone": "x" * 5000},
}


@pytest.mark.parametrize("windows", NO_WINDOWS)
def test_windows_that_are_none_spoil_their_own_approval(ledger: Ledger, windows: str) -> None:
    """They are asked for before any move of the database begins, so an error there would stop all of them."""
    number = propose(ledger)
    digest = ledger.proposals.row(number).digest
    approved = {"who": "x", "origin": "y", "reason": "", "digest": digest, "moves": [1, 2, 3]}
    row = Forged("proposal.approved", f"proposal {number}", {**approved, "conditions": NO_WINDOWS[windows]})
    with ledger._database.write() as transaction:
        write_row(transaction, row, ledger._clock.now())
    assert ledger.proposals.conditions(number).calendar is None
    assert "its windows are none" in ledger.audit.verify().sentence


# -- signatures ------------------------------------------------------------------------------------------------------


def test_an_older_printout_is_not_taken(ledger: Ledger, people: Two) -> None:
    """Signed before a move was struck, written into the chain after it: nothing runs by it, as nothing is approved."""
    number = propose(ledger)
    document, _ = ledger.proposals.document(number)
    ledger.proposals.strike(number, 3, who="bert", origin="tty", reason="")
    signed = {
        "who": "anna", "origin": "tty", "key": "SHA256:x", "digest": document.digest, "moves": list(document.moves),
        "sequence": document.sequence, "signature": people[0].sign(document.text),
    }  # fmt: skip
    approved = {"who": "anna", "origin": "tty", "reason": "", "digest": document.digest, "moves": [1, 2]}
    rows = rows_of(ledger, number)
    with forging(ledger) as transaction:
        write_row(transaction, Forged("proposal.signed", f"proposal {number}", signed), ledger._clock.now())
        write_row(transaction, Forged("proposal.approved", f"proposal {number}", approved), ledger._clock.now())
        set_tables(transaction, Target(number, document.digest, rows[:2]), S.APPROVED)
        assert not any(may_run(ledger, transaction, row.id) for row in rows)


@pytest.mark.parametrize("line", ["anna", "Anna", "anna@example.com"])
def test_two_keys_of_one_person_are_one_person(
    ledger: Ledger, signers: Signers, people: Two, tmp_path: Path, line: str
) -> None:
    """Whether the lines spell the name alike or not: a second key of hers does not stand for a second person."""
    other = Person.new(tmp_path, "other_key")
    signers.path.write_text(people[0].line + people[1].line + other.line.replace("other_key ", f"{line} ", 1))
    ledger.use_rule(ApprovalRule(signers, 2))
    number = propose(ledger)
    assert sign(ledger, number, people[0]).state is ProposalState.PROPOSED
    with pytest.raises(NotSigned, match="has signed this already"):
        sign(ledger, number, other)
    # Written past the command that refuses it, nothing runs.
    document, _ = ledger.proposals.document(number)
    rows = rows_of(ledger, number)
    signed = {
        "who": "bert", "origin": "tty", "key": "SHA256:x", "digest": document.digest, "moves": [1, 2, 3],
        "sequence": document.sequence, "signature": other.sign(document.text),
    }  # fmt: skip
    approved = {"who": "anna, bert", "origin": "tty", "reason": "", "digest": document.digest, "moves": [1, 2, 3]}
    with forging(ledger) as transaction:
        write_row(transaction, Forged("proposal.signed", f"proposal {number}", signed), ledger._clock.now())
        write_row(transaction, Forged("proposal.approved", f"proposal {number}", approved), ledger._clock.now())
        set_tables(transaction, Target(number, document.digest, rows), S.APPROVED)
        with pytest.raises(Spoiled, match="1 of the 2 signatures"):
            ledger._trust.require(transaction, load_move(transaction, rows[0].id))
    assert sign(ledger, number, people[1]).state is ProposalState.APPROVED
    ledger.moves.require_trust(rows_of(ledger, number)[0])


def test_a_name_that_looks_like_another_signs_nothing(ledger: Ledger, signers: Signers, people: Two) -> None:
    """A letter of another alphabet would make two people of one."""
    signers.path.write_text(people[0].line.replace("anna ", "\u0430nna ", 1))
    number = propose(ledger)
    with pytest.raises(Exception, match="cannot be distinguished from names that look like it"):
        sign(ledger, number, people[0])


@pytest.mark.parametrize(
    "asked_by", ["anna", "root (sudo by anna)", "Anna", "anna ", "anna@db1", "anna (sudo by bert)"]
)
def test_who_asked_does_not_count_however_the_name_is_spelt(
    ledger: Ledger, signers: Signers, people: Two, asked_by: str
) -> None:
    """Behind sudo, in capitals, with SUDO_USER set to another: when she signs, and again before each statement."""
    number = propose(ledger, asked_by=asked_by)
    sign(ledger, number, people[0])  # one signature is enough here
    ledger.use_rule(ApprovalRule(signers, 2))
    with pytest.raises(Spoiled, match="0 of the 2 signatures"):
        ledger.moves.require_trust(rows_of(ledger, number)[0])
    other = ledger.proposals.store(a_proposal(a_move(key="public.other"), asked_by=asked_by, purpose="usage"))
    with pytest.raises(NotSigned, match="asked for this"):
        sign(ledger, other, people[0])


def test_who_asked_under_a_name_of_another_alphabet_is_not_known(ledger: Ledger, signers: Signers, people: Two) -> None:
    """It could be anybody who may sign, so two signatures do not help."""
    ledger.use_rule(ApprovalRule(signers, 2))
    number = propose(ledger, asked_by="\u0430nna")
    with pytest.raises(NotSigned, match="who asked for this is not known"):
        sign(ledger, number, people[0])


def test_so_many_signatures_are_not_checked(ledger: Ledger, people: Two) -> None:
    """Each takes two programs, before each statement, while others wait for the ledger: over a hundred spoil it."""
    number = propose(ledger)
    document, _ = ledger.proposals.document(number)
    signed = {
        "who": "anna", "origin": "tty", "key": "SHA256:x", "digest": document.digest, "moves": [1, 2, 3],
        "sequence": document.sequence, "signature": people[0].sign(document.text),
    }  # fmt: skip
    with ledger._database.write() as transaction:
        for _ in range(101):
            write_row(transaction, Forged("proposal.signed", f"proposal {number}", signed), ledger._clock.now())
    with pytest.raises(Spoiled, match="more than 100 signatures"):
        sign(ledger, number, people[0])


def test_so_many_signatures_open_no_rule(ledger: Ledger, people: Two) -> None:
    """The same of a standing rule: it is closed, and others go on."""
    number, other = (ledger.rules.propose(a_rule(ledger), who="carl", origin="tty") for _ in range(2))
    signed = {"who": "anna", "origin": "tty", "key": "SHA256:x", "signature": "x"}
    signed |= {"sequence": ledger.rules.document(number).sequence}  # type: ignore[dict-item]  # a number among texts
    with ledger._database.write() as transaction:
        for _ in range(101):
            write_row(transaction, Forged("rule.signed", f"rule {number}", signed), ledger._clock.now())
    signature = people[0].sign(ledger.rules.document(other).text, RULE_NAMESPACE)
    ledger.rules.open(other, origin="tty", signature=signature)
    with ledger._database.read() as reading:
        standing = read_standing(reading)
        assert "more than 100 signatures" in standing[number].why_not_now(ledger._clock.now())
        assert standing[other].why_not_now(ledger._clock.now()) == ""
    with pytest.raises(WrongState, match="more than 100 signatures"):
        ledger.rules.open(number, origin="tty", signature=signature)


# -- ways back -------------------------------------------------------------------------------------------------------


def way_back_of(ledger: Ledger, row: MoveRow) -> Proposal:
    """What would take a move back by the statements that its approval showed."""
    done = row.move
    route = replace(done.route, steps=done.route.undo_steps, undo_steps=(), to_space=done.from_space)
    back = replace(
        done, ordinal=1, route=route, from_space=done.to_space, to_space=done.from_space, undoes=row.id, group=1,
        reason=WAY_BACK, goes_back=False,
    )  # fmt: skip
    now = ledger._clock.now()
    return a_proposal(back, purpose=f"undo {row.id}", created_at=now, expires_at=now + DAY)


@pytest.mark.parametrize("second", [S.PLACED, S.FAILED])
def test_a_way_back_needs_a_group_that_ended_halfway(ledger: Ledger, people: Two, second: MoveState) -> None:
    """Written by a forger 20 days later: for a complete group nothing runs, for one halfway it does."""
    number = _signed(ledger, people[0])
    first, other, _ = rows_of(ledger, number)
    bring(ledger, first, S.PRECHECK, S.RUNNING, S.PLACED)
    bring(ledger, other, S.PRECHECK, S.RUNNING, second)
    ledger._clock.sleep(20 * 86_400)
    back = way_back_of(ledger, first)
    ledger.use_rule(ApprovalRule())
    stored = ledger.proposals.store(back)  # it marks the move, as the agent's own way back does
    ledger.proposals.approve(stored, who="anna", origin="the approval of proposal 1", digest=back.digest)
    ledger.use_rule(ApprovalRule(Signers(people[0].key.parent / "signers")))
    (people[0].key.parent / "signers").write_text(people[0].line)
    row = rows_of(ledger, stored)[0]
    if second is S.FAILED:
        ledger.moves.require_trust(row)
        return
    with pytest.raises(Spoiled, match="had not ended halfway"):
        ledger.moves.require_trust(row)
    # The forger also has the chain say that the other half failed: it is placed, and stays so.
    facts = {"was": S.RUNNING, "reason": "", "digest": other.digest}
    with forging(ledger) as transaction:
        write_row(transaction, Forged("move.failed", f"move {other.id}", facts), ledger._clock.now())
        assert not may_run(ledger, transaction, row.id)


def _halfway(ledger: Ledger, number: int) -> MoveRow:
    """The first move of a group, which is placed while the second one has failed."""
    first, second, *_ = rows_of(ledger, number)
    bring(ledger, second, S.PRECHECK, S.RUNNING, S.FAILED)
    return bring(ledger, first, S.PRECHECK, S.RUNNING, S.PLACED)


def _forge_way_back(ledger: Ledger, back: Proposal) -> MoveRow:
    """Have it stored and approved by nobody, past the ledger's own rule; its move."""
    rule = ledger.proposals.rule
    ledger.use_rule(ApprovalRule())
    number = ledger.proposals.store(back)
    ledger.proposals.approve(number, who="anna", origin="the approval of proposal 1", digest=back.digest)
    ledger.use_rule(rule)
    return rows_of(ledger, number)[0]


def _in_route(**changes: object) -> Callable[[ProposedMove], ProposedMove]:
    return lambda move: replace(move, route=replace(move.route, **changes))  # type: ignore[arg-type]  # any field


OTHER = (Step(sql="DROP TABLE public.cold", purpose=""),)
NOT_SHOWN: dict[str, tuple[Callable[[ProposedMove], ProposedMove], str]] = {
    "statement": (_in_route(steps=OTHER), "is not the one that was approved"),
    "what tidies up": (_in_route(tidy_steps=OTHER), "is not the one that was approved"),
    "prologue": (_in_route(prologue=("SET ROLE postgres",)), "is not the one that was approved"),
    "patient prologue": (_in_route(patient_prologue=("SET ROLE postgres",)), "has other settings"),
    "unit": (lambda move: replace(move, key="public.hot"), "leads from fast to slow"),
    "source": (lambda move: replace(move, from_space="other"), "leads from fast to slow"),
    "target": (lambda move: replace(move, to_space="other"), "leads from fast to slow"),
    "nothing": (lambda move: move, ""),
}


@pytest.mark.parametrize("what", NOT_SHOWN)
def test_a_way_back_is_what_the_approval_of_its_group_has_shown(ledger: Ledger, people: Two, what: str) -> None:
    """One thing of it is another, each in turn: no statement of it is sent."""
    change, why = NOT_SHOWN[what]
    first = _halfway(ledger, _signed(ledger, people[0]))
    back = way_back_of(ledger, first)
    row = _forge_way_back(ledger, replace(back, moves=tuple(map(change, back.moves))))
    if not why:
        ledger.moves.require_trust(row)
        return
    with pytest.raises(Spoiled, match=why):
        ledger.moves.require_trust(row)


def test_what_was_not_shown_to_go_back_stays(ledger: Ledger, people: Two) -> None:
    """A group whose approval showed no way back, although it has ended halfway."""
    moves = (a_move(1, key="public.cold", group=1, wait_saved_per_hour=-10.0), a_move(2, key="public.hot", group=1))
    number = ledger.proposals.store(a_proposal(*moves))
    sign(ledger, number, people[0])
    row = _forge_way_back(ledger, way_back_of(ledger, _halfway(ledger, number)))
    with pytest.raises(Spoiled, match=r"no approval covers a way back of public\.cold"):
        ledger.moves.require_trust(row)


def test_what_never_arrived_does_not_go_back(ledger: Ledger, people: Two) -> None:
    """Half of a group is placed: only that half goes back, not the move that failed, although it might have."""
    moves = [a_move(at, key=f"public.t{at}", group=1, wait_saved_per_hour=-10.0) for at in (1, 2)]
    number = ledger.proposals.store(a_proposal(*with_ways_back((*moves, a_move(3, group=1)))))
    sign(ledger, number, people[0])
    _halfway(ledger, number)
    bring(ledger, rows_of(ledger, number)[2], S.PRECHECK, S.SKIPPED)
    failed = rows_of(ledger, number)[1]
    back = way_back_of(ledger, failed)
    with pytest.raises(NotApproved, match="move 2 was not in its target"):
        ledger.proposals.approve_way_back(back)
    first = way_back_of(ledger, rows_of(ledger, number)[0])
    ledger.moves.require_trust(_forge_way_back(ledger, first))


@pytest.mark.parametrize("spoiled", ["chain", "tables"])
def test_a_way_back_rests_on_what_is_believed_of_the_move_before(ledger: Ledger, people: Two, spoiled: str) -> None:
    """Rows about the move that it takes back contradict each other: nothing of it is sent."""
    number = _signed(ledger, people[0])
    first = _halfway(ledger, number)
    row = _forge_way_back(ledger, way_back_of(ledger, first))
    facts = {"who": "x", "origin": "y", "reason": "", "digest": first.digest, "moves": []}
    with forging(ledger) as transaction:
        assert may_run(ledger, transaction, row.id)
        if spoiled == "chain":
            write_row(transaction, Forged("proposal.approved", f"proposal {number}", facts), ledger._clock.now())
        else:
            transaction.update(schema.moves, [first.id], {"state": S.UNDONE})
        assert not may_run(ledger, transaction, row.id)


@pytest.mark.parametrize("other", [{"database": "pay"}, {"fingerprint": "cluster 2 database 5"}])
def test_a_way_back_stays_in_the_database_of_its_group(ledger: Ledger, people: Two, other: dict[str, str]) -> None:
    """Written for another database that has a table of the same name: nobody approved anything there."""
    back = way_back_of(ledger, _halfway(ledger, _signed(ledger, people[0])))
    with pytest.raises(NotApproved, match="was in the database shop"):
        ledger.proposals.approve_way_back(replace(back, **other))  # type: ignore[arg-type]  # texts, both of them
    row = _forge_way_back(ledger, replace(back, **other))  # type: ignore[arg-type]
    with pytest.raises(Spoiled, match="was in the database shop"):
        ledger.moves.require_trust(row)


def test_what_went_back_does_not_go_back_again(ledger: Ledger, people: Two) -> None:
    """A second way back, stored while the group was halfway and kept until the table may have been moved once more."""
    first = _halfway(ledger, _signed(ledger, people[0]))
    back = way_back_of(ledger, first)
    number, reserve = ledger.proposals.approve_way_back(back), _stored_once_more(ledger, back)
    ledger.moves.require_trust(reserve)
    bring(ledger, rows_of(ledger, number)[0], S.PRECHECK, S.RUNNING, S.PLACED)
    bring(ledger, first, S.UNDONE)
    with pytest.raises(Spoiled, match="is undone, so nothing of it goes back"):
        ledger.moves.require_trust(reserve)


def _stored_once_more(ledger: Ledger, back: Proposal) -> MoveRow:
    """The same way back as a second proposal, in tables and chain, as no command stores it; its move."""
    again = replace(back, wait_per_hour=1.0)
    subject_facts = {"who": "anna", "origin": "the approval of proposal 1", "reason": "", "covered_by": back.digest}
    with ledger._database.write() as transaction:
        number = ledger.proposals._insert(transaction, again, proposal_text(again), "")
        approved = {**subject_facts, "digest": again.digest, "moves": [1]}
        write_row(transaction, Forged("proposal.approved", f"proposal {number}", approved), ledger._clock.now())
    target = Target(number, again.digest, rows_of(ledger, number))
    with ledger._database.write() as transaction:
        set_tables(transaction, target, S.APPROVED)
    return rows_of(ledger, number)[0]


# -- a restored older copy -------------------------------------------------------------------------------------------


def test_an_older_copy_does_not_bring_a_strike_back(
    people: Two, path: Path, clock: StillClock, signers: Signers
) -> None:
    """The copy was made before the strike, which wrote an anchor: the copy does not fit it."""
    rule, copy = ApprovalRule(signers), path.with_name("copy.db")
    with open_ledger(path, path, clock, rule) as ledger:
        number = _signed(ledger, people[0])
    shutil.copy(path, copy)
    with open_ledger(path, path, clock, rule) as ledger:
        ledger.proposals.strike(number, 3, who="bert", origin="tty", reason="")
    shutil.copy(copy, path)
    with open_ledger(path, path, clock, rule) as ledger, pytest.raises(Untrusted, match="cut, or is an older copy"):
        ledger.moves.require_trust(rows_of(ledger, number)[2])
