"""Rows of any form that one team's logins write: another team's plan, verify and notices stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random

import psycopg
import pytest

from agent.ledger.chain.events import EVENTS, Unreadable, read_event
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import NotCovered
from agent.ledger.ledger import Ledger
from agent.model.approvals import LockClass, StandingRule
from agent.model.signatures import Signers
from agent.model.signed_documents import RULE_NAMESPACE
from agent.model.states import ProposalState
from agent.pages.content import report_of
from agent.service.notifier import closed_rules
from connectors.model.moves import Locked
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER
from tests.ledger.divided import DividedLedger, chain_row, divided_ledger, user_of
from tests.ledger.forger import GOOD, bad_facts
from tests.ledger.servers import LedgerServers
from tests.unit.samples import a_move, a_proposal

pytestmark = ON_SERVER


@dataclass(slots=True)
class Teams:
    """A ledger with a proposal and a rule of each team."""

    divided: DividedLedger
    clock: StillClock

    def seen_by_hr(self) -> object:
        """All that hr's agent makes of the ledger."""
        with self.divided.ledger("hr_agent", self.clock) as ledger:
            ledger.use_rule(ApprovalRule(Signers(self.divided.signers), automatic=True))
            report = ledger.audit.verify()
            own = {row.state: row.id for row in ledger.proposals.rows(database="pay")}
            with pytest.raises(NotCovered) as not_covered:
                ledger.rules.approve(own[ProposalState.PROPOSED])
            for row in ledger.moves.rows(database="pay", proposal_id=own[ProposalState.APPROVED]):
                ledger.moves.require_trust(row)
            return (
                report.ok, report.broken_id, own, str(not_covered.value), ledger.rules.rows("pay"),
                closed_rules(ledger, "pay", self.clock.now()), ledger.moves.rows(database="pay"),
                [ledger.rules.why_not_begin(number) for number in own.values()],
            )  # fmt: skip


def a_rule(database: str, clock: StillClock) -> StandingRule:
    """It covers what ``prepare`` proposes second."""
    return StandingRule(
        database=database, fingerprint="cluster 1 database 5", mode="hsm", units=("public.small",),
        most_bytes=128 << 20, locks=LockClass.ANY, most_stall_seconds=60.0, least_gain_per_hour=0.0, most_a_day=2,
        expires_at=clock.now() + timedelta(days=30),
    )  # fmt: skip


def prepare(ledger: Ledger, database: str, clock: StillClock, person: Person) -> None:
    """A rule that is open, a proposal that it does not cover, and one that it has approved."""
    rule = ledger.rules.propose(a_rule(database, clock), who="carl", origin="tty")
    ledger.rules.open(rule, origin="tty", signature=person.sign(ledger.rules.document(rule).text, RULE_NAMESPACE))
    low = {"database": database, "wait_saved_low_per_hour": 700.0, "wait_saved_high_per_hour": 800.0}
    ledger.proposals.store(a_proposal(a_move(key="public.large"), purpose="usage", **low))
    move = a_move(key="public.small")
    move = replace(move, route=replace(move.route, locked=Locked.NOTHING))
    small = ledger.proposals.store(a_proposal(move, **low))
    ledger.rules.approve(small)


@pytest.fixture(scope="module")
def teams(servers: LedgerServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    """Both with all that a row could break."""
    folder, clock = tmp_path_factory.mktemp("teams"), StillClock()
    anna = Person.new(folder, "anna")
    with divided_ledger(servers, folder, anna) as divided:
        for team, database in (("hr", "pay"), ("sales", "sim")):
            with divided.ledger(user_of(team, "agent"), clock) as ledger:
                ledger.use_rule(ApprovalRule(Signers(divided.signers), automatic=True))
                prepare(ledger, database, clock, anna)
        yield Teams(divided, clock)


@pytest.mark.parametrize("role", ["approver", "agent"])
def test_another_team_notices_nothing(teams: Teams, role: str) -> None:
    """Of every event, good and bad, about what is one's own and about what is another's: refused, or without effect."""
    before, random, written = teams.seen_by_hr(), Random(role), 0
    with teams.divided.session() as dba, teams.divided.session(user_of("sales", role)) as hostile:
        numbers = {
            kind: [n for (n,) in dba.execute(f"SELECT id FROM {kind}s ORDER BY id".encode())]
            for kind in ("proposal", "move", "step", "ask")
        }
        numbers["rule"] = [1, 2, 3]
        for event, kind in EVENTS.items():
            subjects = [f"{kind.subject} {n}" for n in numbers[kind.subject]] if kind.subject else ["sim x", "pay x"]
            for subject in subjects:
                for _ in range(4):
                    text = json.dumps(bad_facts(kind, random))
                    with suppress(psycopg.Error), hostile.transaction():
                        chain_row(hostile, event, subject, text)
                        written += 1
    assert written > 20
    assert teams.seen_by_hr() == before


def test_a_report_is_made_next_to_another_teams_decisions(teams: Teams) -> None:
    """An agent reads the whole chain, and of proposals its team's alone."""
    now = teams.clock.now()
    with teams.divided.ledger("hr_agent", teams.clock) as ledger:
        report = report_of(ledger, "pay", now - timedelta(days=1), now + timedelta(days=1))
        assert {each.row.proposal.database for each in report.proposals} == {"pay"}
        assert {each.row.id for each in report.proposals} == {row.id for row in ledger.proposals.rows(database="pay")}


@pytest.mark.parametrize(
    "facts", ["[" * 100_000, '{"a":' * 5000, "null", "[]", "1", '{"who": "\ud800"}', "{"], ids=range(7)
)
def test_facts_that_are_none_are_refused_by_the_server(teams: Teams, facts: str) -> None:
    """Also those that are too deep to be parsed."""
    with teams.divided.session("sales_approver") as hostile, pytest.raises((psycopg.Error, UnicodeError)):
        chain_row(hostile, "pin.set", "sim x", facts)


def test_server_and_reader_know_the_same_forms(teams: Teams) -> None:
    """What the server takes the reader can read, for each event and each fact that is wrong."""
    random, taken = Random("forms"), 0
    with teams.divided.session() as dba:
        for event, kind in EVENTS.items():
            subject = f"{kind.subject} 1" if kind.subject else "sim"
            for facts in [bad_facts(kind, random) for _ in range(40)]:
                text = json.dumps(facts)
                (fits,) = dba.execute("SELECT fits_event(%s, %s, %s)", [event, subject, text]).fetchone() or (None,)
                row = _Row(1, None, event, subject, text)
                assert fits is not isinstance(read_event(row), Unreadable), (event, text[:300])
                taken += bool(fits)
    assert taken > 50


@pytest.mark.parametrize("at", [
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+00:00", "2026-03-01T12:00:00",
    "9999-12-31T23:59:59+00:00",
])  # fmt: skip
def test_server_and_reader_know_the_same_instants(teams: Teams, at: str) -> None:
    """The ends of the calendar, which are none in some zones, and one without a zone."""
    text = json.dumps({"who": "x", "origin": "y", "limits": {**GOOD["limits"], "expires_at": at}})
    with teams.divided.session() as dba:
        (fits,) = dba.execute("SELECT fits_event('rule.proposed', 'rule 1', %s)", [text]).fetchone() or (None,)
    assert fits is not isinstance(read_event(_Row(1, None, "rule.proposed", "rule 1", text)), Unreadable)


def test_limits_that_are_none_are_refused_by_the_server(teams: Teams) -> None:
    """An agent's login would break the lists of rules of all teams with them."""
    facts = {"who": "x", "origin": "y", "limits": {**GOOD["limits"], "expires_at": "2027-01-01T00:00:00"}}
    with (
        teams.divided.session("sales_agent") as hostile,
        pytest.raises(psycopg.errors.CheckViolation, match="does not have the form"),
    ):
        chain_row(hostile, "rule.proposed", "rule 7", json.dumps(facts))


@dataclass(frozen=True, slots=True)
class _Row:
    id: int
    at: object
    event: str
    subject: str
    facts: str


def test_a_row_is_dated_neither_before_the_last_nor_ahead_of_the_clock(teams: Teams) -> None:
    """So that what a rule allows a day is counted by times that are true."""
    now = StillClock().now()
    facts = json.dumps({"who": "x", "reason": ""})
    with teams.divided.session("sales_agent") as hostile:
        for at in (now - timedelta(days=1), now + timedelta(days=365 * 80)):
            with pytest.raises(psycopg.errors.CheckViolation, match="is dated before the last one, or ahead"):
                chain_row(hostile, "pin.removed", "sim x", facts, at=at)
        head = hostile.execute("SELECT at FROM audit_head").fetchone()
        hostile.execute("UPDATE audit_head SET at = at + 1000000000")
        assert hostile.execute("SELECT at FROM audit_head").fetchone() == head


def test_limits_of_another_team_are_not_used_up(teams: Teams, tmp_path: Path) -> None:
    """An approval that names another team's rule is refused; so is one more rule of its number."""
    del tmp_path
    with teams.divided.session("sales_agent") as hostile, teams.divided.session() as dba:
        (digest,) = dba.execute("SELECT digest FROM proposals WHERE database = 'sim' LIMIT 1").fetchone() or ("",)
        (own,) = dba.execute("SELECT min(id) FROM proposals WHERE database = 'sim'").fetchone() or (0,)
        facts = {"who": "x", "origin": "y", "reason": "", "digest": digest, "moves": [1], "rule": 1}
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="own_numbers"):
            chain_row(hostile, "proposal.approved", f"proposal {own}", json.dumps(facts))
        limits = replace(a_rule("sim", teams.clock), most_bytes=1).facts
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="own_numbers"):
            chain_row(hostile, "rule.proposed", "rule 1", json.dumps({"who": "x", "origin": "y", "limits": limits}))
