"""The balancer's modes end to end: planned, approved, carried out and verified on a simulated database."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import PIN_REPORTS
from agent.model.states import MoveState, ProposalState
from agent.planning.advice import PinReport, pin_reports, reports_from_document
from agent.sampling.sampler import CATALOG_EVERY_SECONDS
from agent.service.watch import Watch
from policies.model.settings import Pin
from policies.placement.dispatch import Drain, Hsm, Mode, Preference, UnknownName
from tests.simulation.site import Site

ARCHIVE, HISTORY, ORDERS = '"shop"."archive_2019"', '"shop"."history"', '"shop"."orders"'


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop whose ssd holds a cold archive."""
    return Site(tmp_path)


def carried_out(watch: Watch, ledger: Ledger, mode: Mode) -> set[MoveState]:
    """Plan in that mode, propose, approve and act; the states in which the moves ended."""
    planning = watch.plan(mode)
    assert planning is not None
    number = watch.propose(planning)
    assert number is not None
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    return {row.state for row in watch.act()}


def reports(ledger: Ledger) -> dict[str, PinReport]:
    """What the ledger knows of the pins since the last plan."""
    stored = ledger.state.load_document("sim", PIN_REPORTS)
    assert stored is not None
    return {report.pattern: report for report in reports_from_document(stored[1])}


def test_a_drained_space_is_empty_in_the_catalog(site: Site) -> None:
    """Everything that was on ssd is on hdd afterwards, nothing else moved, and a second drain finds nothing."""
    before = site.homes()
    assert "ssd" in before.values()
    with site.agent() as (watch, ledger):
        site.observe(watch)
        assert carried_out(watch, ledger, Drain(space="ssd")) == {MoveState.PLACED}
        watch.sample()
        again = watch.plan(Drain(space="ssd"))
        assert again is not None
        assert (again.plan.moves, again.plan.left_behind) == ((), ())
    assert site.homes() == dict.fromkeys(before, "hdd")


def asked(site: Site, mode: Mode) -> int:
    """What somebody asks for by a command while the agent runs; the number of the proposal."""
    config = site.config
    with Ledger.open(config.ledger.path, site.clock) as ledger:
        watch = Watch(config.database(), ledger, site.clock, level=config.level, dry_run=True, asked_by="ann")
        watch.sample()
        planning = watch.plan(mode)
        assert planning is not None
        number = watch.propose(planning)
        watch.close(save=False)
    assert number is not None
    return number


def replanned(site: Site, watch: Watch, minutes: int = 5) -> int | None:
    """The number of what the agent proposes after some more minutes."""
    site.observe(watch, minutes)
    planning = watch.plan()
    assert planning is not None
    return watch.propose(planning)


def test_a_drain_waits_for_its_answer_while_the_agent_plans_on(site: Site) -> None:
    """Beside it the agent's own plan is proposed and replaced; approved an hour later the drain is carried out."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        number = asked(site, Drain(space="ssd"))
        own = replanned(site, watch)
        assert own not in {None, number}
        replanned(site, watch, minutes=55)
        row = ledger.proposals.row(number)
        assert (row.state, row.proposal.asked_by, row.proposal.purpose) == (ProposalState.PROPOSED, "ann", "drain ssd")
        ledger.proposals.approve(number, who="ann", origin="test", digest=row.digest)
        assert {move.state for move in watch.act()} == {MoveState.PLACED}
    assert "ssd" not in site.homes().values()


def test_what_somebody_asked_is_answered_once(site: Site) -> None:
    """While a plan that was asked for waits, the agent stores none of its own for the same question; then it does."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        number = asked(site, Hsm())
        ledger.pins.pin("sim", ORDERS, Pin.NEVER, who="ann", reason="", until=None)  # so that the next plan is another
        assert replanned(site, watch) is None
        ledger.proposals.reject(number, who="ann", origin="test", reason="not now")
        assert (replanned(site, watch) or 0) > number


def test_a_drain_of_what_has_left_ends(site: Site) -> None:
    """Somebody else empties the space: the next plan with a fresh catalog ends the proposal and says why."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        number = asked(site, Drain(space="ssd"))
        with site.world.turn():
            site.world.placement.units.space[:] = site.world.placement.space_row("hdd")
        site.clock.sleep(CATALOG_EVERY_SECONDS)
        replanned(site, watch)
        row = ledger.proposals.row(number)
        assert row.state is ProposalState.SUPERSEDED
        assert "nothing of it is left to do" in row.reason


def test_a_drain_without_room_names_what_stays(site: Site) -> None:
    """The fast tier cannot take all of hdd: what moves fits, and every other unit of it is named with a reason."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan(Drain(space="hdd"))
        assert planning is not None
        left = {planning.situation.units.key[row] for bundle in planning.plan.left_behind for row in bundle.rows}
        assert all(bundle.why for bundle in planning.plan.left_behind)
        carried_out(watch, ledger, Drain(space="hdd"))
    assert left == {key for key, space in site.homes().items() if space == "hdd"}


def test_pins_are_enforced_and_their_state_is_kept(site: Site) -> None:
    """A pin is planned, one of table and index partly fulfilled; afterwards both are satisfied; the hot stay."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        ledger.pins.pin("sim", HISTORY, Pin.MUST, who="ann", reason="", until=None)
        ledger.pins.pin("sim", '"shop"."archive*', Pin.NEVER, who="ann", reason="", until=None)
        ledger.pins.pin("sim", '"shop"."nothing"', Pin.MUST, who="ann", reason="", until=None)
        planning = watch.plan(Preference())
        assert planning is not None
        assert [report.state for report in pin_reports(planning)] == ["planned", "partly", "unmatched"]
        assert ledger.state.load_document("sim", PIN_REPORTS) is None, "only the usual plan is kept for everybody"
        assert carried_out(watch, ledger, Preference()) == {MoveState.PLACED}
        watch.sample()
        watch.plan()
        assert (reports(ledger)[HISTORY].state, reports(ledger)[HISTORY].why) == ("satisfied", "")
        assert reports(ledger)['"shop"."archive*'].satisfied == 2
    homes = site.homes()
    assert (homes[HISTORY], homes[ARCHIVE], homes[ORDERS]) == ("ssd", "hdd", "hdd")


def test_a_pin_that_can_never_hold_says_why(site: Site) -> None:
    """The scanned table is larger than what ssd may hold, and that is said."""
    with site.agent() as (watch, ledger):
        site.observe(watch, minutes=2)
        ledger.pins.pin("sim", '"shop"."events"', Pin.MUST, who="ann", reason="", until=None)
        watch.plan()
        report = reports(ledger)['"shop"."events"']
    assert report.state == "impossible"
    assert "more than any space on ssd is known to hold" in report.why


def test_a_space_that_does_not_exist_is_an_error(site: Site) -> None:
    """Nothing is planned for a name that nobody knows."""
    with site.agent() as (watch, _):
        site.observe(watch, minutes=1)
        with pytest.raises(UnknownName, match="'tape'"):
            watch.plan(Drain(space="tape"))
