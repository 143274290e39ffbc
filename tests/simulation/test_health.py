"""Health of each job of the daemon: what always fails is in the status, the metrics and a notice until it works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config.models import NoticeEvent
from agent.ledger.chain.audit import AuditChain
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.state_names import RANKING, STATUS
from agent.model.states import MoveState
from agent.planning.ranking import ranking_from_arrays
from agent.sampling.block_looks import BlockLooker
from agent.service.channels import Notice
from agent.service.daemon import facts_of
from agent.service.jobs import Job, Jobs
from agent.service.notifier import find_notices
from agent.service.watch import Watch
from connectors.kit.contract import CannotConnect, PrivilegeMissing
from connectors.simulated.connector import SimulatedConnector
from tests.simulation.site import MINUTE, Site
from tests.simulation.test_metrics import exposition, rows

ALERTS_ABOVE = 900.0  # seconds, as the rule has it


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop."""
    return Site(tmp_path, policy="maximum_moves: 1")


@pytest.fixture
def watched(site: Site) -> Iterator[tuple[Watch, Ledger, Jobs]]:
    """Its agent, which has watched long enough to plan."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        yield watch, ledger, Jobs(ledger, site.clock, HistorySettings())


def refuse(*_: object, **__: object) -> None:
    """In place of what the server would do."""
    raise PrivilegeMissing("the login was refused")


def notices(site: Site, watch: Watch, ledger: Ledger) -> dict[NoticeEvent, Notice]:
    """What people are told now, but for open proposals."""
    found = find_notices(facts_of(watch.snapshot, MINUTE, ledger, site.clock.now()))
    return {each.event: each for each in found if each.event is not NoticeEvent.PROPOSAL}


def failing_seconds(watch: Watch, job: str) -> float:
    """What the alert is made from."""
    return rows(exposition(watch.snapshot), "hotplace_job_failing_seconds")[("sim", job)]


def repeat(site: Site, jobs: Jobs, job: Job, watch: Watch, *, minutes: int) -> None:
    """Turns of a job, once a minute."""
    for _ in range(minutes):
        site.clock.sleep(MINUTE)
        jobs.run_guarded(job, watch)


def test_acting_that_always_fails(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mover's login that is refused: told after a quarter of an hour; the approval that expires of it is told too."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        jobs = Jobs(ledger, site.clock, HistorySettings())
        with monkeypatch.context() as patch:
            patch.setattr(SimulatedConnector, "acquire_lease", refuse)
            repeat(site, jobs, jobs.act, watch, minutes=5)
            assert notices(site, watch, ledger) == {}, "a server that restarts is no news"
            repeat(site, jobs, jobs.act, watch, minutes=15)
            assert failing_seconds(watch, "act") > ALERTS_ABOVE
            assert "carrying out approved moves" in notices(site, watch, ledger)[NoticeEvent.STALLED].sentence
            jobs.run_guarded(jobs.sample, watch)
            stored = ledger.state.load_document("sim", STATUS)
            assert stored is not None
            (acting,) = (each for each in stored[1]["jobs"] if each["job"] == "act")
            assert (acting["error"], acting["keeps_failing"]) == ("the login was refused", True)
            site.clock.sleep(12 * 3600.0)
            jobs.run_guarded(jobs.act, watch)
            jobs.run_guarded(jobs.sample, watch)
        told = notices(site, watch, ledger)[NoticeEvent.EXPIRED]
        assert f"1 approved move of proposal {number} expired before it began: the login was ref" in told.sentence
        assert told.command == f"hotplace show {number} --database sim"
        site.clock.sleep(2 * MINUTE)
        jobs.run_guarded(jobs.act, watch)
        assert failing_seconds(watch, "act") == 0.0
        assert NoticeEvent.STALLED not in notices(site, watch, ledger)


def test_a_login_that_may_not_look_is_no_failure(
    site: Site, watched: tuple[Watch, Ledger, Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks inside tables are an extra: without the right to them no job fails, and any other error of them is one."""
    watch, _, jobs = watched
    with monkeypatch.context() as patch:
        patch.setattr(BlockLooker, "take_turn", refuse)
        repeat(site, jobs, jobs.look, watch, minutes=2)
    assert "look" not in watch.snapshot.jobs, "it was not its turn"

    def gone(*_: object) -> None:
        raise CannotConnect("it went away")

    with monkeypatch.context() as patch:
        patch.setattr(BlockLooker, "take_turn", gone)
        repeat(site, jobs, jobs.look, watch, minutes=2)
    assert watch.snapshot.jobs["look"].failing_since is not None


def test_planning_that_always_fails(
    site: Site, watched: tuple[Watch, Ledger, Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right that only plans need is refused: tried again between two turns, ever more seldom, and told."""
    watch, ledger, jobs = watched
    tries = list[float]()

    def counted(*_: object) -> None:
        tries.append(site.clock.monotonic())
        refuse()

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedConnector, "routes", counted)
        jobs.run_guarded(jobs.plan, watch)
        repeat(site, jobs, jobs.sample, watch, minutes=120)
        assert 4 < len(tries) < 10
        assert failing_seconds(watch, "plan") > ALERTS_ABOVE
        assert failing_seconds(watch, "sample") == 0.0
        assert "planning has failed since" in notices(site, watch, ledger)[NoticeEvent.STALLED].sentence
    repeat(site, jobs, jobs.sample, watch, minutes=61)
    assert failing_seconds(watch, "plan") == 0.0
    assert notices(site, watch, ledger) == {}


@pytest.mark.parametrize("error", [CannotConnect("it went away"), ZeroDivisionError("a fault of ours")])
def test_judging_that_fails_leaves_no_status_unwritten(
    site: Site, watched: tuple[Watch, Ledger, Jobs], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The status is of this sample and says what failed, whatever it was."""
    watch, ledger, jobs = watched

    def fail(_: Watch) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "verify", fail)
        for _ in range(20):
            site.clock.sleep(MINUTE)
            try:
                jobs.run_guarded(jobs.sample, watch)
            except ZeroDivisionError:
                assert isinstance(error, ZeroDivisionError), "the scheduler logs it with its trace"
    stored = ledger.state.load_document("sim", STATUS)
    assert stored is not None
    assert (site.clock.now() - stored[0]).total_seconds() < 1.0
    (judging,) = (each for each in stored[1]["jobs"] if each["job"] == "judge")
    assert str(error) in judging["error"]
    assert failing_seconds(watch, "judge") > ALERTS_ABOVE
    jobs.run_guarded(jobs.sample, watch)
    assert failing_seconds(watch, "judge") == 0.0


def test_upkeep_that_fails_is_known(
    site: Site, watched: tuple[Watch, Ledger, Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the ledger and of no database: with each of the databases that the agent watches."""
    watch, ledger, jobs = watched
    with monkeypatch.context() as patch:
        patch.setattr(AuditChain, "anchor", refuse)
        for _ in range(2):
            jobs.run_upkeep(jobs.anchor, [watch])
            site.clock.sleep(3600.0)
        assert failing_seconds(watch, "anchor") > ALERTS_ABOVE
        assert "noting where the audit chain ends" in notices(site, watch, ledger)[NoticeEvent.STALLED].sentence
    jobs.run_upkeep(jobs.anchor, [watch])
    assert failing_seconds(watch, "anchor") == 0.0


def test_the_ranking_shows_a_new_home_at_once(site: Site) -> None:
    """With the move, and not with the next read of the catalog or the next plan in its turn."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        jobs = Jobs(ledger, site.clock, HistorySettings())
        jobs.run_guarded(jobs.act, watch)
        (row,) = ledger.moves.rows(proposal_id=number)
        assert row.state is MoveState.PLACED
        stored = ledger.state.load_arrays("sim", RANKING)
        assert stored is not None
        ranking = ranking_from_arrays(stored[1])
        at = list(ranking.key).index(row.move.key)
        assert ranking.tier_names[int(ranking.tier[at])] == "ssd"
