"""A server does not stay what it was at the first look: another database is restored under its name, a right goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.models import NoticeEvent
from agent.ledger.ledger import Ledger
from agent.model.states import ProposalState
from agent.service.daemon import facts_of
from agent.service.notifier import find_notices
from agent.service.snapshot import status_document
from agent.service.watch import Watch
from connectors.kit.contract import PrivilegeMissing
from connectors.kit.findings import Capability
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.world import World
from tests.simulation.site import MINUTE, Site

RESTORED = "simulated-restored"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop."""
    return Site(tmp_path)


def restore(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is dropped, and a copy of it restored under the same name."""
    monkeypatch.setattr(World, "fingerprint", property(lambda _: RESTORED))


def told(watch: Watch, ledger: Ledger, site: Site) -> list[str]:
    """What people are sent about the server."""
    facts = facts_of(watch.snapshot, MINUTE, ledger, site.clock.now())
    return [notice.sentence for notice in find_notices(facts) if notice.event is NoticeEvent.SERVER]


def test_a_restored_database_is_watched_under_its_own_fingerprint(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next read of the catalog; people are told, and what is proposed from then on can be carried out."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        restore(monkeypatch)
        site.observe(watch, 11)
        (sentence,) = told(watch, ledger, site)
        assert RESTORED in sentence
        (shown,) = status_document(watch.snapshot, site.clock.now(), 1)["server_changes"]
        assert RESTORED in shown["sentence"]
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        assert ledger.proposals.row(number).proposal.fingerprint == RESTORED
        site.clock.sleep(2 * 3600.0)
        assert told(watch, ledger, site) == [], "no news to a channel that is added later"


def test_a_plan_of_the_database_before_is_not_proposed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it end what a person has proposed for the one that answers now; the next plan is of that one."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        restore(monkeypatch)
        with Site.agent(site) as (person, other):
            person.sample()
            site.clock.sleep(MINUTE)
            person.sample()
            own = person.plan()
            assert own is not None
            right = person.propose(own)
            assert right is not None
            assert other.proposals.row(right).proposal.fingerprint == RESTORED
        assert watch.propose(planning) is None
        assert ledger.proposals.row(right).state is ProposalState.PROPOSED
        again = watch.plan()
        assert again is not None
        assert watch.propose(again) == right, "the same work of the same database"


def test_what_changed_while_no_agent_ran_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger keeps what the server said last; a change is told once and not with each start."""
    with site.agent() as (watch, _):
        watch.sample()
    restore(monkeypatch)
    for starts in (1, 2):
        with site.agent() as (watch, ledger):
            watch.sample()
            assert len(told(watch, ledger, site)) == 1, starts
            assert len(watch.snapshot.server_changes) == 1


def test_a_capability_that_goes_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is known to be gone: a login that may not even ask says nothing about it."""
    usual = SimulatedConnector.capabilities

    def refused(_: SimulatedConnector) -> tuple[Capability, ...]:
        raise PrivilegeMissing("this login may not ask")

    def without(self: SimulatedConnector) -> tuple[Capability, ...]:
        return tuple(
            Capability(name=each.name, available=each.available and each.name != "move", because=each.because)
            for each in usual(self)
        )

    with site.agent() as (watch, ledger):
        site.observe(watch)
        monkeypatch.setattr(SimulatedConnector, "capabilities", refused)
        site.observe(watch, 11)
        assert told(watch, ledger, site) == []
        monkeypatch.setattr(SimulatedConnector, "capabilities", without)
        site.observe(watch, 11)
        (sentence,) = told(watch, ledger, site)
        assert "move is not available any more" in sentence
