"""Level auto: what a signed standing rule covers is moved without a person, and stops where the rule ends."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings, ProposalRow
from agent.model.approvals import LockClass, StandingRule
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.proposals import Proposal
from agent.model.signed_documents import RULE_NAMESPACE
from agent.model.states import MoveState, ProposalState
from agent.planning.routing import derives
from agent.service.jobs import Jobs
from agent.service.notifier import hurt_proposals
from agent.service.watch import Watch
from connectors.model.moves import Step
from connectors.model.observation import Sample
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.language import qualify
from connectors.simulated.world import World
from policies.model.settings import Pin
from tests.keys import Person
from tests.ledger.test_forged import sign
from tests.simulation.site import MINUTE, Site
from tests.unit.samples import an_outcome

SEEN_MINUTES = 80  # after a move whose outcome is judged, at most: no more was seen before


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """She may sign rules."""
    return Person.new(tmp_path_factory.mktemp("anna"), "anna")


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory, anna: Person) -> Site:
    """A site at level auto that was watched for 20 minutes."""
    folder = tmp_path_factory.mktemp("observed")
    allowed = folder / "allowed_signers"
    allowed.write_text(anna.line)
    site = Site(folder, level="auto", signers=allowed)
    with site.agent() as (watch, _):
        site.observe(watch)
    return site


@pytest.fixture
def site(tmp_path: Path, observed: Site) -> Site:
    """That site, for one test alone."""
    return observed.copy(tmp_path / "site")


def open_rule(watch: Watch, ledger: Ledger, anna: Person, **changes: Any) -> int:
    """A signed rule that covers whatever the agent proposes, but for the changes."""
    rule = StandingRule(
        database="sim", fingerprint=watch.identity.fingerprint, mode="hsm", units=("*",), most_bytes=1 << 50,
        locks=LockClass.ANY, most_stall_seconds=1e9, least_gain_per_hour=0.0, most_a_day=3,
        expires_at=watch._clock.now() + timedelta(days=30),
    )  # fmt: skip
    number = ledger.rules.propose(replace(rule, **changes), who="carl", origin="tty")
    signature = anna.sign(ledger.rules.document(number).text, RULE_NAMESPACE)
    ledger.rules.open(number, origin="tty", signature=signature)
    return number


def plan(site: Site, watch: Watch, ledger: Ledger) -> ProposalRow:
    """What the daemon does in its turn; the newest proposal."""
    site.observe(watch, 1)
    Jobs(ledger, site.clock, HistorySettings(history_seconds=86400.0)).plan(watch)
    return ledger.proposals.rows(database="sim")[0]


def test_what_a_rule_covers_is_moved(site: Site, anna: Person) -> None:
    """Approved in its name as soon as it is planned; units move; the metrics count no open decision."""
    with site.agent() as (watch, ledger):
        open_rule(watch, ledger, anna)
        row = plan(site, watch, ledger)
        assert (row.state, row.decided_by) == (ProposalState.APPROVED, "standing rule 1 of anna")
        assert watch.snapshot.waiting == ()
        before = site.homes()
        assert {each.state for each in watch.act()} == {MoveState.PLACED}
        assert site.homes() != before
        assert ledger.audit.verify().ok


@pytest.mark.parametrize("case", ["propose", "dry run", "no rule", "too many bytes"])
def test_what_no_rule_covers_waits(site: Site, anna: Person, case: str) -> None:
    """Below level auto, in a dry run, without a rule and beyond its limits a person decides, and nothing moves."""
    site.level = "propose" if case == "propose" else "auto"
    site.dry_run = case == "dry run"
    with site.agent() as (watch, ledger):
        if case != "no rule":
            open_rule(watch, ledger, anna, most_bytes=1 if case == "too many bytes" else 1 << 50)
        row = plan(site, watch, ledger)
        assert row.state is ProposalState.PROPOSED
        assert watch.act() == ()


def test_a_rule_that_was_closed_begins_nothing(site: Site, anna: Person) -> None:
    """What it has approved is skipped, and the reason says who closed it and why."""
    with site.agent() as (watch, ledger):
        number = open_rule(watch, ledger, anna)
        row = plan(site, watch, ledger)
        ledger.rules.close(number, who="carl", origin="tty", reason="month end")
        before = site.homes()
        assert {each.state for each in watch.act()} == {MoveState.SKIPPED}
        assert site.homes() == before
        reasons = [each.reason for each in ledger.moves.rows(proposal_id=row.id)]
        assert all("standing rule 1 is not open: closed by carl: month end" in reason for reason in reasons)


def test_no_rule_approves_what_was_pinned_since(site: Site, anna: Person) -> None:
    """A proposal that waits may be older than a pin; the plan that knows it comes next."""
    site.level = "propose"
    with site.agent() as (watch, ledger):
        row = plan(site, watch, ledger)
        hot = next(each.move.key for each in ledger.moves.rows(proposal_id=row.id) if each.move.to_space == "ssd")
    site.level = "auto"
    with site.agent() as (watch, ledger):
        site.clock.sleep(1)
        ledger.pins.pin("sim", hot, Pin.NEVER, who="bert", reason="")
        rule = ledger.rules.row(open_rule(watch, ledger, anna))
        assert watch.offers.approve_by_rules() == ()
        assert ledger.rules.why_not(row, rule).startswith(f"{hot} was pinned ({hot}) after this was proposed")
        ledger.pins.unpin("sim", hot, who="bert", reason="")
        assert [each.id for each in watch.offers.approve_by_rules()] == [row.id]


@pytest.mark.parametrize("by", ["a rule", "a person"])
def test_a_pin_that_came_later_holds(site: Site, anna: Person, by: str) -> None:
    """What was approved before is skipped with its group, and the reason names the pin; other groups do not mind it."""
    site.level = "auto" if by == "a rule" else "propose"
    with site.agent() as (watch, ledger):
        if by == "a rule":
            open_rule(watch, ledger, anna)
        row = plan(site, watch, ledger)
        if by == "a person":
            sign(ledger, row.id, anna)
        moves = ledger.moves.rows(proposal_id=row.id)
        hot = next(each.move.key for each in moves if each.move.to_space == "ssd")
        site.clock.sleep(1)
        ledger.pins.pin("sim", hot, Pin.NEVER, who="bert", reason="")
        home = site.homes()[hot]
        ended = {each.move.key: each for each in watch.act()}
        assert ended[hot].state is MoveState.SKIPPED
        assert f"{hot} is pinned to never" in ended[hot].reason
        assert site.homes()[hot] == home
        assert not any("pinned" in each.reason for each in ended.values() if each.move.group != ended[hot].move.group)


def test_a_person_who_knows_a_pin_may_approve_against_it(site: Site, anna: Person) -> None:
    """A drain to the fastest tier, say: the pin was there when it was approved."""
    site.level = "propose"
    with site.agent() as (watch, ledger):
        row = plan(site, watch, ledger)
        hot = next(each.move.key for each in ledger.moves.rows(proposal_id=row.id) if each.move.to_space == "ssd")
        ledger.pins.pin("sim", hot, Pin.NEVER, who="bert", reason="")
        site.clock.sleep(1)
        sign(ledger, row.id, anna)
        assert {each.state for each in watch.act() if each.move.key == hot} == {MoveState.PLACED}


def test_another_level_begins_nothing(site: Site, anna: Person) -> None:
    """Who sets the level back has taken back what rules have approved, too."""
    with site.agent() as (watch, ledger):
        open_rule(watch, ledger, anna)
        plan(site, watch, ledger)
    site.level = "propose"
    with site.agent() as (watch, ledger):
        assert {each.state for each in watch.act()} == {MoveState.SKIPPED}


def test_what_hurt_stops_the_next_one(site: Site, anna: Person) -> None:
    """The next proposal waits for a person, although the rule would cover it."""
    with site.agent() as (watch, ledger):
        number = open_rule(watch, ledger, anna)
        row = plan(site, watch, ledger)
        for each in watch.act():
            ledger.moves.record_outcome(each.id, an_outcome(OutcomeVerdict.HURT))
        again = ledger.proposals.store(replace(row.proposal, moves=row.proposal.moves[:1]))
        assert watch.approve_by_rules() == ()
        assert ledger.proposals.row(again).state is ProposalState.PROPOSED
        assert ledger.rules.row(number).reason == f"proposal {row.id} hurt"


class NeighbourOnDisk(SimulatedConnector):
    """A disk whose read times fluctuate and that others slow down; what moves changes nothing on it."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.slower = 1.0
        self._random = np.random.default_rng(1)
        self._reads, self._waited = 0.0, 0.0

    def sample(self) -> Sample:
        """Counters of the world, with waits of this disk."""
        sample = super().sample()
        reads = sample.database["reads"]
        self._waited += (reads - self._reads) * 0.005 * self.slower * float(np.exp(self._random.normal(0, 0.4)))
        self._reads = reads
        return replace(sample, database={**sample.database, "read_seconds": self._waited})


@pytest.mark.parametrize(
    ("slower_after", "verdict"), [(0, OutcomeVerdict.HURT), (SEEN_MINUTES // 2 + 10, OutcomeVerdict.CANNOT_TELL)]
)
def test_a_neighbour_that_comes_later_closes_no_rule(
    tmp_path: Path, anna: Person, slower_after: int, verdict: OutcomeVerdict
) -> None:
    """Six times the wait from the start is harm; in the second half alone it proposes no undo and sends no notice.

    No statements are known here that could tell a neighbour from the moves.
    """
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(anna.line)
    site = Site(tmp_path, level="auto", signers=allowed, policy="maximum_moves: 3")
    connector = NeighbourOnDisk(site.world)
    with site.agent(connector) as (watch, ledger):
        number = open_rule(watch, ledger, anna)
        for name in ("orders*", "products*", "customers", "documents*", "events", "measurements*"):
            # What is left is hardly read, so that the load stays as it is.
            ledger.pins.pin("sim", qualify("shop", name), Pin.NEVER, who="ann", reason="", until=None)
        site.observe(watch, SEEN_MINUTES - 3)
        row = plan(site, watch, ledger)
        assert {each.state for each in watch.act()} == {MoveState.PLACED}
        outcomes: list[Outcome] = []
        for minute in range(SEEN_MINUTES + 10):
            connector.slower = 6.0 if minute >= slower_after else 1.0
            site.clock.sleep(MINUTE)
            watch.sample()
            if outcomes := list(watch.verify()):
                break
        assert [each.verdict for each in outcomes] == [verdict]
        was, now = outcomes[0].wait_per_transaction_before, outcomes[0].wait_per_transaction_after
        assert now > 2 * was, "as a whole it has doubled at least"
        is_hurt = verdict is OutcomeVerdict.HURT
        undos = [each for each in ledger.proposals.rows(database="sim") if each.proposal.moves[0].undoes is not None]
        assert bool(undos) is is_hurt
        assert ledger.rules.row(number).reason == (f"proposal {row.id} hurt" if is_hurt else "")
        assert bool(hurt_proposals(ledger, "sim", site.clock.now())) is is_hurt


def test_its_moves_begin_in_its_window(site: Site, anna: Person) -> None:
    """Of two calendars both have to be open: the database has no windows, the rule has."""
    with site.agent() as (watch, ledger):
        now = site.clock.now() + timedelta(hours=3)
        open_rule(watch, ledger, anna, windows=(f"{now:%H}:00-{(now.hour + 2) % 24}:00",))
        plan(site, watch, ledger)
        assert watch.act() == ()
        assert "waits for its window" in next(iter(watch.executor._gate._waiting.values()))
        while site.clock.now().hour != now.hour:
            site.clock.sleep(10 * MINUTE)
        assert MoveState.PLACED in {each.state for each in watch.act()}


def with_statement(proposal: Proposal, sql: str) -> Proposal:
    """The same proposal, one of whose statements is another one."""
    first, *others = proposal.moves
    steps = (Step(sql=sql, purpose=first.route.steps[0].purpose), *first.route.steps[1:])
    return replace(proposal, moves=(replace(first, route=replace(first.route, steps=steps)), *others))


def test_a_statement_that_the_connector_does_not_make_is_not_sent(site: Site, anna: Person) -> None:
    """No person has seen it: an open rule covers its limits, and the executor asks the connector for its statements."""
    with site.agent() as (watch, ledger):
        row = plan(site, watch, ledger)
        open_rule(watch, ledger, anna)
        assert all(derives(watch.connector, move.route, None, site.clock.now()) for move in row.proposal.moves)
        forged = ledger.proposals.store(with_statement(row.proposal, "DROP TABLE orders"))
        assert [each.id for each in watch.approve_by_rules()] == [forged]
        watch.act()
        first, *_ = ledger.moves.rows(proposal_id=forged)
        assert first.state is MoveState.SKIPPED
        assert "by other statements than the connector makes now" in first.reason
        assert all("DROP" not in step.sql for row in ledger.moves.rows(proposal_id=forged)
                   for step in ledger.moves.steps(row.id))  # fmt: skip


def test_a_forged_rule_stops_everything(site: Site, anna: Person) -> None:
    """Wider limits in the ledger do not fit what was signed."""
    with site.agent() as (watch, ledger):
        open_rule(watch, ledger, anna, units=("nothing",))
        with closing(sqlite3.connect(site.folder / "ledger.db")) as file, file:
            file.execute("UPDATE audit SET facts=replace(facts, '\"nothing\"', '\"*\"') WHERE event='rule.proposed'")
        assert plan(site, watch, ledger).state is ProposalState.PROPOSED
