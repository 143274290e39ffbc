"""Standing rules over templates: statements signed once, approved as often as they allow, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import NotCovered, Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import RuleState
from agent.model.approvals import LockClass, StandingRule
from agent.model.outcomes import OutcomeVerdict
from agent.model.proposals import ROLLING, purpose_of_template
from agent.model.signatures import Signers
from agent.model.signed_documents import RULE_NAMESPACE
from agent.model.states import MoveState
from connectors.kit.templates import StatementTemplate, StatementText, TemplateKind, TemplateParameter, ValueKind
from connectors.model.moves import Argument, Locked, Step
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Two
from tests.ledger.test_rules import MIB
from tests.unit.samples import a_move, a_proposal, a_route, an_outcome

DAY = 86400
TEMPLATE = StatementTemplate(
    kind=TemplateKind.AGED_PARTITION, table="public.orders", space="slow", from_space="fast",
    texts=(
        StatementText(role="before", sql="SET lock_timeout = '500ms'"),
        StatementText(role="step 1", sql='ALTER TABLE public."{partition}" SET TABLESPACE slow'),
    ),
    parameters=(
        TemplateParameter(name="partition", kind=ValueKind.WORD, least=1, most=63),
        TemplateParameter(name="border", kind=ValueKind.TIME, least=-3650 * DAY, most=-30 * DAY),
    ),
)  # fmt: skip


@pytest.fixture
def anna(people: Two) -> Person:
    """She may sign."""
    return people[0]


@pytest.fixture
def ledger(path: Path, clock: StillClock, signers: Signers) -> Iterator[Ledger]:
    """Its configuration says ``level: auto`` and ``approval: signed``."""
    with Ledger.open(path, clock, actor="test", rule=ApprovalRule(signers, automatic=True)) as opened:
        yield opened


def a_rule(clock: StillClock) -> StandingRule:
    """Three partitions a day, however little they gain."""
    return StandingRule(
        database="shop", fingerprint="cluster 1 database 5", mode=purpose_of_template(TEMPLATE),
        units=("public.orders*",), most_bytes=1 << 40, locks=LockClass.ANY, most_stall_seconds=60.0,
        least_gain_per_hour=0.0, most_a_day=3, expires_at=clock.now() + timedelta(days=365), template=TEMPLATE,
    )  # fmt: skip


def opened(ledger: Ledger, clock: StillClock, anna: Person) -> int:
    """Such a rule, signed."""
    number = ledger.rules.propose(a_rule(clock), who="carl", origin="tty")
    sign(ledger, number, anna)
    return number


def sign(ledger: Ledger, number: int, anna: Person) -> None:
    """Sign it as it is."""
    signature = anna.sign(ledger.rules.document(number).text, RULE_NAMESPACE)
    ledger.rules.open(number, origin="tty", signature=signature)


def propose(ledger: Ledger, clock: StillClock, *partitions: str, days: float = 31, more: str = "") -> int:
    """Partitions whose last rows came that many days ago, to the slow space; ``more``: behind the statement."""
    border = (clock.now() - timedelta(days=days)).strftime("%Y-%m-%d %H:%M:%S")
    moves = []
    for ordinal, name in enumerate(partitions, start=1):
        values = {"partition": name, "border": border}
        sql = TEMPLATE.filled(values)[1].sql + more
        route = replace(
            a_route(f"public.{name}", to_space="slow"), steps=(Step(sql=sql, purpose="age"),), undo_steps=(),
            locked=Locked.ALL, arguments=tuple(Argument(name=key, value=value) for key, value in values.items()),
        )  # fmt: skip
        moves.append(a_move(ordinal, key=f"public.{name}", route=route, reason=ROLLING, group=ordinal))
    proposal = a_proposal(
        *moves, wait_saved_per_hour=0.0, purpose=purpose_of_template(TEMPLATE), created_at=clock.now(),
        expires_at=clock.now() + timedelta(days=1),
    )  # fmt: skip
    return ledger.proposals.store(proposal)


def test_the_document_holds_every_statement_and_bound(ledger: Ledger, clock: StillClock) -> None:
    """Letter by letter, with the count a day; a rule with its template reads back as it was proposed."""
    rule = a_rule(clock)
    number = ledger.rules.propose(rule, who="carl", origin="tty")
    lines = ledger.rules.document(number).text.splitlines()
    assert "a day: at most 3 times the statements below" in lines
    assert "template: aged partition of public.orders from fast to slow" in lines
    assert "statement 1 (before): SET lock_timeout = '500ms'" in lines
    assert 'statement 2 (step 1): ALTER TABLE public."{partition}" SET TABLESPACE slow' in lines
    assert "parameter {partition}: a word of 1 to 63 letters, digits and underscores" in lines
    assert "parameter {border}: a time from 3650 d (315360000 s) before the approval to " in "\n".join(lines)
    assert ledger.rules.row(number).rule == rule


def test_what_is_made_of_the_template_is_approved_and_trusted(ledger: Ledger, clock: StillClock, anna: Person) -> None:
    """Without any gain, in the name of the rule; what was approved is judged again before its statement."""
    number = opened(ledger, clock, anna)
    proposal = propose(ledger, clock, "orders_1", "orders_2")
    assert ledger.rules.approve(proposal).decided_by == "standing rule 1 of anna"
    assert ledger.rules.template_of(proposal) == TEMPLATE
    assert ledger.rules.row(number).used_today == 2
    for move in ledger.moves.rows(proposal_id=proposal):
        ledger.moves.require_trust(move)


def test_a_statement_or_a_value_beyond_the_template_waits(ledger: Ledger, clock: StillClock, anna: Person) -> None:
    """A longer statement, a partition that is too young, a table that no pattern names, another question."""
    opened(ledger, clock, anna)
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("orders_1", {"more": "; DROP TABLE a"}, "its statements are not those of the template"),
        ("orders_1", {"days": 29}, "border is '.*', it allows a time from 3650 d"),
        ("parts_1", {}, r"public.parts_1 matches none of public.orders"),
    )
    for partition, changes, why in cases:
        with pytest.raises(NotCovered, match=why):
            ledger.rules.approve(propose(ledger, clock, partition, **changes))
    with pytest.raises(NotCovered, match="it is for the mode rolling aged partition"):
        ledger.rules.approve(ledger.proposals.store(a_proposal(a_move())))


def test_so_many_moves_a_day(ledger: Ledger, clock: StillClock, anna: Person) -> None:
    """Moves are counted and not proposals, in any 24 hours."""
    opened(ledger, clock, anna)
    ledger.rules.approve(propose(ledger, clock, "orders_1", "orders_2"))
    with pytest.raises(NotCovered, match="2 moves were approved under it in 24 hours and here are 2, it allows 3"):
        ledger.rules.approve(propose(ledger, clock, "orders_3", "orders_4"))
    ledger.rules.approve(propose(ledger, clock, "orders_5"))
    with pytest.raises(NotCovered, match="3 moves"):
        ledger.rules.approve(propose(ledger, clock, "orders_6"))
    clock.sleep(DAY)
    assert ledger.rules.approve(propose(ledger, clock, "orders_7", "orders_8", "orders_9")).decided_by


def test_what_hurt_closes_it_until_it_is_signed_again(ledger: Ledger, clock: StillClock, anna: Person) -> None:
    """As any rule: nothing more is approved or begun."""
    number = opened(ledger, clock, anna)
    proposal, waiting = propose(ledger, clock, "orders_1"), 0
    ledger.rules.approve(proposal)
    (move,) = ledger.moves.rows(proposal_id=proposal)
    for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED):
        ledger.moves.transition(move.id, state, "")
    ledger.moves.record_outcome(move.id, an_outcome(OutcomeVerdict.HURT))
    waiting = propose(ledger, clock, "orders_2")
    assert ledger.rules.row(number).state is RuleState.CLOSED
    with pytest.raises(NotCovered, match="none is open"):
        ledger.rules.approve(waiting)
    sign(ledger, number, anna)
    assert ledger.rules.approve(waiting).decided_by == "standing rule 1 of anna"


def test_a_template_that_was_changed_after_it_was_signed_sends_nothing(
    ledger: Ledger, clock: StillClock, anna: Person, signers: Signers
) -> None:
    """A wider bound in a chain that fits does not fit the signature."""
    opened(ledger, clock, anna)
    (signed,) = ledger.audit.rows(event="rule.signed")
    wide = replace(TEMPLATE, parameters=(TEMPLATE.parameters[0], replace(TEMPLATE.parameters[1], most=0)))
    number = ledger.rules.propose(replace(a_rule(clock), template=wide), who="carl", origin="tty")
    ledger.audit.record("rule.signed", f"rule {number}", **{**signed.facts, "sequence": signed.id + 2})
    ledger.audit.record("rule.opened", f"rule {number}", who="anna", origin="tty")
    proposal = propose(ledger, clock, "orders_1", days=1)
    with pytest.raises(NotCovered, match="has 0 of the 1 signatures"):
        ledger.rules.approve(proposal)


def test_what_is_outside_the_template_is_not_trusted(ledger: Ledger, clock: StillClock, anna: Person) -> None:
    """An approval in the rule's name that the chain holds is judged again by the template."""
    number = opened(ledger, clock, anna)
    proposal = propose(ledger, clock, "orders_1", days=1)
    row = ledger.proposals.row(proposal)
    append = ledger.audit.append

    def appending(transaction: object, event: str, subject: str, /, **facts: object) -> int:
        conditions = a_rule(clock).conditions.facts
        more = {"rule": number, "conditions": conditions} if event == "proposal.approved" else {}
        return append(transaction, event, subject, **facts, **more)  # type: ignore[arg-type]  # as it was called

    rule = ledger.rules.approval
    ledger.use_rule(ApprovalRule())
    ledger.audit.append = appending  # type: ignore[method-assign]  # one call of it
    ledger.proposals.approve(proposal, who="x", origin="y", digest=row.digest)
    ledger.audit.append = append  # type: ignore[method-assign]
    ledger.use_rule(rule)
    (move,) = ledger.moves.rows(proposal_id=proposal)
    with pytest.raises(Untrusted, match=r"did not cover proposal 1: public\.orders_1: border is"):
        ledger.moves.require_trust(move)


def test_a_rule_over_a_template_that_is_none_is_refused(clock: StillClock) -> None:
    """For another question than its template's, or for a gain that its statements do not have."""
    with pytest.raises(ValueError, match="is for the mode 'rolling aged partition"):
        replace(a_rule(clock), mode="hsm")
    with pytest.raises(ValueError, match="asks for no gain"):
        replace(a_rule(clock), least_gain_per_hour=1.0)
    with pytest.raises(ValueError, match="one of the modes"):
        replace(a_rule(clock), template=None)
    assert a_rule(clock).most_bytes > MIB
