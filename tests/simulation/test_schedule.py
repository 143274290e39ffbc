"""Schedules and knowledge go on over restarts and reloads, however often those come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from apscheduler.job import Job

from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.state_names import PLANNED, RANKING
from agent.sampling.sampler import SAVE_EVERY_SECONDS
from agent.service.daemon import Daemon
from agent.service.jobs import FOLD_EVERY_SECONDS, Jobs
from agent.service.watch import Watch
from tests.simulation.site import MINUTE, Site

HOUR = timedelta(hours=1)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop, planned for once an hour."""
    return Site(tmp_path)


@contextmanager
def scheduled(site: Site, watch: Watch, ledger: Ledger) -> Iterator[dict[str, Job]]:
    """The jobs of a daemon that starts now, by name; none of them runs."""
    daemon = Daemon(site.config, None, ledger, site.clock)
    daemon._watches = {"sim": watch}
    scheduler = daemon._schedule()._scheduler
    scheduler.start(paused=True)
    try:
        yield {job.args[0].__name__ if job.args else job.func.__name__: job for job in scheduler.get_jobs()}
    finally:
        scheduler.shutdown()


def test_restarts_more_often_than_planning_still_plan(site: Site) -> None:
    """A restart every ten minutes and a plan an hour: planned once an hour, folded once an hour, after six hours."""
    planned: list[datetime] = []
    folded: list[datetime] = []
    for _ in range(36):
        with site.agent() as (watch, ledger):
            jobs = Jobs(ledger, site.clock, HistorySettings())
            with scheduled(site, watch, ledger) as by_name:
                plan_at, fold_at = by_name["plan"].next_run_time, by_name["fold"].next_run_time
            end = site.clock.now() + timedelta(minutes=10)
            while site.clock.now() < end:
                watch.sample()
                if plan_at <= site.clock.now():
                    jobs.plan(watch)
                    planned.append(site.clock.now())
                    plan_at += HOUR
                if fold_at <= site.clock.now():
                    jobs.fold()
                    folded.append(site.clock.now())
                    fold_at += timedelta(seconds=FOLD_EVERY_SECONDS)
                site.clock.sleep(MINUTE)
    for done in (planned, folded):
        assert 5 <= len(done) <= 7, done
        apart = [later - earlier for earlier, later in pairwise(done)]
        assert all(HOUR - timedelta(minutes=2) <= each <= HOUR + timedelta(minutes=11) for each in apart), apart


def test_the_first_plan_of_all_comes_after_the_second_sample(site: Site) -> None:
    """One sample says nothing, and nobody waits an hour to see a ranking."""
    with site.agent() as (watch, ledger), scheduled(site, watch, ledger) as by_name:
        after = by_name["plan"].next_run_time - by_name["sample"].next_run_time
        assert timedelta(minutes=1) < after < timedelta(minutes=2)


def test_a_young_agent_proposes_once_its_history_is_long_enough(site: Site) -> None:
    """With a plan an hour, what ten minutes must be watched for is proposed then, and the ranking is new before it."""
    with site.agent() as (watch, ledger):
        jobs, began, ranked = Jobs(ledger, site.clock, HistorySettings()), site.clock.now(), set()
        for minute in range(13):
            jobs.sample(watch)
            if minute == 1:
                jobs.plan(watch)  # its first turn
            if stored := ledger.state.load_arrays("sim", RANKING):
                ranked.add((stored[0] - began) // timedelta(minutes=1))
            site.clock.sleep(MINUTE)
        assert ranked == {1, 2, 4, 8, 10}
        assert [row.proposal.created_at - began for row in ledger.proposals.rows()] == [timedelta(minutes=10)]
        assert jobs.planned_at("sim") == began + timedelta(minutes=1)  # its turns stay as they were


def test_an_overdue_plan_comes_right_after_the_first_sample(site: Site) -> None:
    """A daemon that was away for a day plans at once, and one whose clock was set back waits an interval at most."""
    with site.agent() as (watch, ledger):
        watch.sample()
        Jobs(ledger, site.clock, HistorySettings()).plan(watch)
    site.clock.sleep(86_400.0)
    with site.agent() as (watch, ledger), scheduled(site, watch, ledger) as by_name:
        assert by_name["plan"].next_run_time - by_name["sample"].next_run_time < timedelta(minutes=1)
    site.clock.jump(-30 * 86_400.0)
    with site.agent() as (watch, ledger), scheduled(site, watch, ledger) as by_name:
        assert by_name["plan"].next_run_time <= site.clock.now() + HOUR + timedelta(minutes=1)


def test_a_database_that_comes_later_than_the_daemon_is_planned_for(site: Site) -> None:
    """A plan that was due before the first sample is made as soon as there is evidence, not an interval later."""
    with site.agent() as (watch, ledger):
        jobs = Jobs(ledger, site.clock, HistorySettings())
        jobs.plan(watch)
        jobs.sample(watch)
        assert jobs.planned_at("sim") is None
        site.clock.sleep(MINUTE)
        jobs.sample(watch)
        assert (planned := jobs.planned_at("sim")) == site.clock.now()
        site.clock.sleep(MINUTE)
        jobs.sample(watch)
        assert jobs.planned_at("sim") == planned


def test_a_reload_loses_no_interval(site: Site) -> None:
    """The watch that comes after a reload learns from its first sample, which follows the last one by its interval."""
    with site.agent() as (first, ledger):
        site.observe(first, 3)
        first.close()
        second = Watch(first.database, ledger, site.clock, level=first.level, dry_run=False)
        second.continue_from(first)
        with scheduled(site, second, ledger) as by_name:
            assert by_name["sample"].next_run_time - site.clock.now() == timedelta(minutes=1)
        site.clock.sleep(MINUTE)
        assert second.sample().evidence
        assert second.snapshot.cycles == 5
        second.close()


def test_reloads_put_no_database_off(site: Site) -> None:
    """The place in the row is given once: the last of ten databases is sampled and planned for when it is due."""
    with site.agent() as (first, ledger):
        site.observe(first, 3)
        Jobs(ledger, site.clock, HistorySettings()).plan(first)
        first.close()
        last = Watch(first.database, ledger, site.clock, level=first.level, dry_run=False)
        last.continue_from(first)
        daemon = Daemon(site.config, None, ledger, site.clock)
        named = [first.database.model_copy(update={"name": f"other{number}"}) for number in range(9)]
        others = {each.name: Watch(each, ledger, site.clock, level=first.level, dry_run=True) for each in named}
        daemon._watches = {**others, "sim": last}
        site.clock.sleep(20.0)
        turns = {job.__name__: at for job, _, at in daemon._schedule()._turns(last, site.clock.now())}
        assert turns["sample"] - site.clock.now() == timedelta(seconds=40)
        assert turns["plan"] - site.clock.now() <= HOUR - timedelta(seconds=20)


def test_a_move_in_the_last_interval_before_a_reload_is_still_no_evidence(site: Site) -> None:
    """What our own move read is not taken for demand because the configuration was read again."""
    with site.agent() as (first, ledger):
        site.observe(first, 3)
        first.sampler.disturb()
        first.close()
        second = Watch(first.database, ledger, site.clock, level=first.level, dry_run=False)
        second.continue_from(first)
        site.clock.sleep(MINUTE)
        assert not second.sample().evidence
        second.close()


def test_no_interval_of_a_long_copy_is_evidence(site: Site) -> None:
    """Samples that are taken while a statement of ours runs teach nothing, nor does the one in which it ends."""
    with site.agent() as (watch, _):
        site.observe(watch, 3)
        watch.sampler.begin_copy()
        during = []
        for _ in range(3):
            site.clock.sleep(MINUTE)
            during.append(watch.sample().evidence)
        watch.sampler.end_copy()
        for _ in range(2):
            site.clock.sleep(MINUTE)
            during.append(watch.sample().evidence)
        assert during == [False, False, False, False, True]


def test_another_database_goes_on_from_nothing(site: Site, tmp_path: Path) -> None:
    """Counters of the server before are not compared with those of the server that the configuration names now."""
    (tmp_path / "other").mkdir()
    other = Site(tmp_path / "other", scenario="eight_tables", clock=site.clock)
    with site.agent() as (first, ledger):
        site.observe(first, 3)
        first.close()
        second = Watch(other.config.database(), ledger, site.clock, level=first.level, dry_run=False)
        second.continue_from(first)
        assert second.sampled_at is None
        assert not second.sample().evidence
        second.close(save=False)


def test_what_is_known_is_there_after_the_second_sample(site: Site) -> None:
    """Commands go by the ledger: heat, work and the speed of tiers are in it as soon as there is anything to know."""
    with site.agent() as (watch, ledger):
        watch.sample()
        assert ledger.state.load_arrays("sim", "heat") is None
        site.clock.sleep(MINUTE)
        watch.sample()
        stored = ledger.state.load_arrays("sim", "heat")
        assert stored is not None
        assert stored[1]["observed_seconds"].max() == pytest.approx(MINUTE)
        assert ledger.state.load_document("sim", "work of the database") is not None


@pytest.mark.parametrize(("bytes_per_second", "saves"), [(1e9, 31), (1.0, 7)])
def test_saving_costs_little(site: Site, monkeypatch: pytest.MonkeyPatch, bytes_per_second: float, saves: int) -> None:
    """A little is written with every sample, much as often as before: every five minutes."""
    monkeypatch.setattr("agent.sampling.sampler.SAVED_BYTES_PER_SECOND", bytes_per_second)
    assert SAVE_EVERY_SECONDS == 5 * MINUTE
    with site.agent() as (watch, ledger):
        at = set()
        for _ in range(32):
            watch.sample()
            if stored := ledger.state.load_arrays("sim", "heat"):
                at.add(stored[0])
            site.clock.sleep(MINUTE)
        assert len(at) == saves


@pytest.mark.parametrize("planned_before", [timedelta(hours=9), timedelta(minutes=30), None])
def test_many_databases_take_their_turns_one_after_the_other(site: Site, planned_before: timedelta | None) -> None:
    """A hundred in one daemon: spread over their intervals, overdue at start or not, and none is put off for long."""
    with site.agent() as (_, ledger):
        database = site.config.database()
        watches = {}
        for name in (f"sim{number}" for number in range(100)):
            named = database.model_copy(update={"name": name})
            watches[name] = Watch(named, ledger, site.clock, level=site.config.level, dry_run=True)
            if planned_before is not None:
                ledger.state.save_document(name, PLANNED, None)
        site.clock.sleep(0.0 if planned_before is None else planned_before.total_seconds())
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = watches
        scheduler = daemon._schedule()._scheduler
        scheduler.start(paused=True)
        try:
            turns: dict[str, list[datetime]] = {"sample": [], "plan": [], "act": []}
            for job in scheduler.get_jobs():
                if job.args and job.args[0].__name__ in turns:  # of a watch, not of the ledger
                    turns[job.args[0].__name__].append(job.next_run_time)
        finally:
            scheduler.shutdown()
    now = site.clock.now()
    for name, every, most_at_once in (("sample", MINUTE, 2), ("plan", MINUTE, 3), ("act", 1.0, 2)):
        first = sorted(turns[name])
        assert len(first) == 100
        in_a_hundredth = [sum(at <= other < at + timedelta(seconds=every / 100) for other in first) for at in first]
        assert max(in_a_hundredth) <= most_at_once, name
        assert first[-1] - first[0] >= timedelta(seconds=0.9 * every), name
    waited = HOUR - (planned_before or HOUR) if planned_before != timedelta(hours=9) else timedelta()
    assert max(turns["plan"]) <= now + waited + timedelta(minutes=11)
    assert max(turns["sample"]) <= now + timedelta(minutes=1)


def test_what_ends_while_it_is_read_is_not_forgotten(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that ends during a sample is in the next interval too; a move amid a catalog read has it read again."""
    with site.agent() as (watch, _):
        site.observe(watch, 3)
        sampler, connector = watch.sampler, watch.connector
        sampler.begin_copy()

        def in_mid(read: Callable[[], Any], happens: Callable[[], None]) -> Callable[[], Any]:
            def reading() -> Any:  # whatever it is
                found = read()
                happens()
                return found

            return reading

        evidence = []
        with monkeypatch.context() as patch:
            patch.setattr(connector, "sample", in_mid(connector.sample, sampler.end_copy))
            site.clock.sleep(MINUTE)
            evidence.append(watch.sample().evidence)
        reads = list[datetime]()

        def disturb() -> None:
            reads.append(site.clock.now())
            sampler.disturb()

        with monkeypatch.context() as patch:
            patch.setattr(connector, "catalog", in_mid(connector.catalog, disturb))
            for _ in range(2):
                site.clock.sleep(MINUTE)
                evidence.append(watch.sample().evidence)
        for _ in range(3):
            site.clock.sleep(MINUTE)
            evidence.append(watch.sample().evidence)
        assert evidence == [False, False, False, True, True, True]
        assert len(reads) == 2
