"""The daemon in a simulated site: what it does when acting fails, when the clock is set back, when others are there."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from agent.config.files import load
from agent.config.models import Config
from agent.ledger.errors import LedgerUnreachable
from agent.ledger.leases import LeaseRow, Leases
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings, MoveRow
from agent.ledger.state_names import HEAT, STATUS
from agent.model.clock import SystemClock
from agent.model.states import IN_PLACE, MoveState
from agent.moving.executor import Executor
from agent.service.daemon import Daemon, claim_all
from agent.service.jobs import LONGEST_REST_SECONDS, Jobs
from agent.service.watch import Watch
from connectors.kit.contract import CannotConnect, Clock, LeaseHeld
from connectors.simulated.connector import SimulatedConnector
from tests.contract.asking import route_to
from tests.simulation.site import Site
from tests.unit.samples import a_move, a_proposal

PATIENCE_SECONDS = 20.0


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop."""
    return Site(tmp_path, policy="maximum_moves: 1")


def quiet_config(site: Site) -> Path:
    """The site's configuration as a file, without a port that others may want."""
    text = (site.folder / "hotplace.yaml").read_text() if site.config else ""
    path = site.folder / "quiet.yaml"
    path.write_text(text + "metrics: {enabled: false}\n")
    return path


@contextmanager
def running(daemon: Daemon) -> Iterator[threading.Thread]:
    """``run`` in a thread, until the block ends."""
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        yield thread
    finally:
        daemon.ask_to_stop()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def wait_for(holds: Callable[[], bool]) -> None:
    """Ask until it is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE_SECONDS} s")


def test_acting_that_fails_is_tried_ever_more_seldom(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that lets nobody look before a move is asked some ten times in as many minutes, not every second."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        jobs = Jobs(ledger, site.clock, HistorySettings())
        with monkeypatch.context() as patch:

            def refuse(*_: object) -> None:
                raise CannotConnect("the server is down")

            patch.setattr(SimulatedConnector, "identify", refuse)
            rows = len(ledger.audit.rows(limit=10_000))
            for _ in range(600):
                jobs.run_guarded(jobs.act, watch)
                site.clock.sleep(1.0)
            assert 5 < len(ledger.audit.rows(limit=10_000)) - rows < 40
        site.clock.sleep(LONGEST_REST_SECONDS)
        jobs.run_guarded(jobs.act, watch)
        assert ledger.moves.rows(database="sim")[0].state is MoveState.PLACED


def test_a_database_that_is_down_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status says that the daemon runs and why it has no samples, even where there never was one."""

    def refuse(*_: object) -> None:
        raise CannotConnect("the server is down")

    with site.agent() as (watch, ledger):
        jobs = Jobs(ledger, site.clock, HistorySettings())
        with monkeypatch.context() as patch:
            patch.setattr(SimulatedConnector, "identify", refuse)
            jobs.run_guarded(jobs.sample, watch)
            stored = ledger.state.load_document("sim", STATUS)
            assert stored is not None
            assert (stored[1]["error"], stored[1]["failures"]) == ("the server is down", 1)
        jobs.run_guarded(jobs.sample, watch)
        stored = ledger.state.load_document("sim", STATUS)
        assert stored is not None
        assert stored[1]["error"] is None


def test_a_standby_knows_that_the_ledger_answers_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never samples, so its renewals alone see the ledger go and come; else its alert would fire for ever."""

    def away(*_: object) -> None:
        raise LedgerUnreachable("the server of the ledger is down")

    with site.agent() as (watch, ledger):
        jobs = Jobs(ledger, site.clock, HistorySettings())
        watch.stand_by()
        site.world.lease("another agent")
        with monkeypatch.context() as patch:
            patch.setattr(Watch, "take_over", away)
            jobs.run_guarded(jobs.keep_lease, watch)
            assert watch.snapshot.ledger_error == "the server of the ledger is down"
        jobs.run_guarded(jobs.keep_lease, watch)
        assert (watch.stands_by, watch.snapshot.ledger_error) == (True, "")
        site.world.unlease()


def test_an_agent_that_stands_by_saves_nothing_at_its_end(site: Site) -> None:
    """What it had learned before is older than what the other agent has stored since."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        watch.sampler.save()
        saved = ledger.state.saved_at("sim", HEAT)
        site.clock.sleep(60)
        watch.stand_by()
        watch.close()
        assert ledger.state.saved_at("sim", HEAT) == saved


def test_a_clock_set_back_stops_nothing(site: Site) -> None:
    """Jobs that were planned by a clock a day ahead run now and not in a day; others keep their time."""
    with site.agent() as (watch, ledger):
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = {"sim": watch}
        timetable = daemon._schedule()
        scheduler = timetable._scheduler
        scheduler.start(paused=True)
        try:
            before = [job.next_run_time for job in scheduler.get_jobs() if job.args]
            timetable.follow_clock()
            assert [job.next_run_time for job in scheduler.get_jobs() if job.args] == before
            site.clock.jump(-timedelta(days=1).total_seconds())
            timetable.follow_clock()
            assert {job.next_run_time for job in scheduler.get_jobs() if job.args} == {site.clock.now()}
        finally:
            scheduler.shutdown()


def test_a_plan_comes_between_two_samples(site: Site) -> None:
    """What a sample and a plan hold for a moment would be the peak of the agent's memory if both ran at a time."""
    with site.agent() as (watch, ledger):
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = {"sim": watch}
        scheduler = daemon._schedule()._scheduler
        scheduler.start(paused=True)
        try:
            times = {job.args[0].__name__: job.next_run_time for job in scheduler.get_jobs() if job.args}
            apart = (times["plan"] - times["sample"]).total_seconds() % watch.database.sample_seconds
            assert 10.0 <= apart <= watch.database.sample_seconds - 10.0
        finally:
            scheduler.shutdown()


def test_what_acting_leaves_free_is_given_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that moved something made a plan too, which holds most: its blocks go back before the next sample."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        jobs = Jobs(ledger, site.clock, HistorySettings())
        returned: list[int] = []
        monkeypatch.setattr("agent.service.jobs.return_free_blocks", lambda: returned.append(len(returned)))
        jobs.run_guarded(jobs.act, watch)
        assert ledger.moves.latest("sim", 1)[0].state is MoveState.PLACED
        assert len(returned) == 1
        jobs.run_guarded(jobs.act, watch)
        assert len(returned) == 1, "nothing was done, and a trim every second would be dear"


def test_another_agent_at_a_reload_ends_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGHUP while somebody else has come to act on a database: that one is only watched, and the daemon goes on."""
    claims = 0

    def hold_lease(self: Watch) -> None:
        nonlocal claims
        claims += 1
        if claims > 1:
            raise LeaseHeld("another agent acts on this database")

    monkeypatch.setattr(Watch, "hold_lease", hold_lease)
    path = quiet_config(site)
    config = load(path)
    clock = SystemClock()  # the scheduler goes by it
    with Ledger.open(config.ledger.path, clock) as ledger:
        daemon = Daemon(config, path, ledger, clock)
        with running(daemon) as thread:
            wait_for(lambda: claims == 1)
            path.write_text(path.read_text().replace("settle: 5min", "settle: 6min"))
            daemon.ask_to_reload()
            wait_for(lambda: claims == 2)
            wait_for(lambda: daemon.config is not config)
            assert thread.is_alive()


def test_what_waits_for_a_restart_does_not_come_with_a_reload(site: Site) -> None:
    """SIGHUP takes over all but ledger and metrics, which the log says wait for a restart: fewer top units too."""
    path = quiet_config(site)
    config = load(path)
    clock = SystemClock()
    with Ledger.open(config.ledger.path, clock) as ledger:
        daemon = Daemon(config, path, ledger, clock)
        with running(daemon):
            wait_for(lambda: bool(daemon.snapshots()))
            text = path.read_text().replace("metrics: {enabled: false}", "metrics: {enabled: false, top_units: 1}")
            path.write_text(text.replace("maximum_moves: 1", "maximum_moves: 2"))
            daemon.ask_to_reload()
            wait_for(lambda: daemon.config is not config)
            wait_for(lambda: bool(daemon.snapshots()))
            assert load(path).metrics.top_units == 1
            assert (daemon.config.metrics, daemon.config.ledger) == (config.metrics, config.ledger)
            assert daemon.config.databases[0].policy_settings().maximum_moves == 2


def test_without_its_ledger_nothing_is_reloaded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGHUP while the ledger is away: the daemon goes on as it is, and takes it over when it is asked again."""
    asked = 0

    def rows(self: Leases) -> list[LeaseRow]:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise LedgerUnreachable("the server of the ledger does not answer")
        return []

    monkeypatch.setattr(Leases, "rows", rows)
    path = quiet_config(site)
    config = load(path)
    clock = SystemClock()
    with Ledger.open(config.ledger.path, clock) as ledger:
        daemon = Daemon(config, path, ledger, clock)
        with running(daemon) as thread:
            wait_for(lambda: bool(daemon.snapshots()))
            daemon.ask_to_reload()
            wait_for(lambda: asked == 1)
            assert daemon.config is config
            daemon.ask_to_reload()
            wait_for(lambda: daemon.config is not config)
            assert thread.is_alive()


def two_databases(folder: Path, port: int) -> Path:
    """A configuration whose first database lies behind a port that says nothing."""
    path = folder / "two.yaml"
    path.write_text(f"""
dry_run: false
ledger: {{path: two.db}}
metrics: {{enabled: false}}
databases:
  - name: silent
    engine: postgresql
    connection: {{host: 127.0.0.1, port: {port}, dbname: app, user: app, sslmode: disable, connect_timeout: 60s}}
    tiers: [{{name: ssd, spaces: [fast]}}, {{name: hdd, spaces: [slow]}}]
  - name: sim
    engine: simulated
    connection: {{scenario: oltp, seed: 7}}
    tiers: [{{name: ssd, spaces: [ssd]}}, {{name: hdd, spaces: [hdd]}}]
""")
    return path


def approved_move(config: Config, ledger: Ledger, clock: Clock) -> MoveRow:
    """Of the smallest unit of the simulated database."""
    connector = config.database("sim").connect(clock)
    units, identity = connector.catalog().units, connector.identify()
    route = route_to(connector, units.key[int(units.size_bytes.argmin())], "ssd")
    move = a_move(key=route.bundle.key, route=route, size_bytes=route.bundle.size_bytes, from_space="hdd",
                  to_space="ssd")  # fmt: skip
    proposal = a_proposal(
        move, database="sim", fingerprint=identity.fingerprint, created_at=clock.now(),
        expires_at=clock.now() + timedelta(days=1),
    )  # fmt: skip
    number = ledger.proposals.store(proposal)
    ledger.proposals.approve(number, who="ann", origin="test", digest=proposal.digest)
    (row,) = ledger.moves.rows(proposal_id=number)
    return row


def test_a_reload_cancels_no_move(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that it does not concern goes on; one that it does follows once its move has ended."""
    for name, seconds in (("LISTEN_SECONDS", 0.1), ("LOOK_AT_CLOCK_SECONDS", 0.5)):
        monkeypatch.setattr(f"agent.service.daemon.{name}", seconds)
    began, may_end, cancelled = threading.Event(), threading.Event(), list[bool]()
    run, runs = Executor.run_approved, list[Executor]()

    def slow(executor: Executor) -> tuple[MoveRow, ...]:
        runs.append(executor)
        if len(runs) == 1:
            began.set()
            may_end.wait(PATIENCE_SECONDS)
            cancelled.append(executor._stopping.is_set())
        return run(executor)

    monkeypatch.setattr(Executor, "run_approved", slow)
    logs = list[dict[str, object]]()
    monkeypatch.setattr("agent.service.daemon.set_up_logs", lambda **settings: logs.append(settings))
    path, clock = quiet_config(site), SystemClock()
    config = load(path)
    with Ledger.open(config.ledger.path, clock) as ledger:
        row, daemon = approved_move(config, ledger, clock), Daemon(config, path, ledger, clock, json_logs=True)
        with running(daemon):
            wait_for(began.is_set)
            (watch,) = daemon._watches.values()
            path.write_text(path.read_text() + "pools: []\nlog: {level: warning}\n")
            daemon.ask_to_reload()
            wait_for(lambda: daemon.config is not config)
            assert daemon._watches["sim"] is watch
            assert logs == [{"as_json": True, "level": "warning"}]
            path.write_text(path.read_text().replace("settle: 5min", "settle: 6min"))
            daemon.ask_to_reload()
            wait_for(lambda: daemon.config.databases[0].settle_seconds == 360.0)
            assert daemon._watches["sim"] is watch
            assert ledger.moves.row(row.id).state is MoveState.APPROVED
            may_end.set()
            wait_for(lambda: daemon._watches["sim"] is not watch)
            assert daemon._watches["sim"].database.settle_seconds == 360.0
            wait_for(lambda: ledger.moves.row(row.id).state in IN_PLACE)
            wait_for(lambda: not daemon._watches["sim"].acting.carries_out)
            watch = daemon._watches["sim"]
            path.write_text(path.read_text().replace("level: warning", "level: error"))
            daemon.ask_to_reload()
            wait_for(lambda: daemon.config.log.level == "error")
            assert daemon._watches["sim"] is watch, "nothing runs, but the change is not about this database"
        assert cancelled == [False]
        assert len(set(map(id, runs))) == 2, "what was not begun before is begun by the new configuration"


def test_two_names_of_one_database_are_told(tmp_path: Path) -> None:
    """Not as another agent that is to be stopped: it is this one."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        again = watch.database.model_copy(update={"name": "again"})
        other = Watch(again, ledger, site.clock, level=site.config.level, dry_run=False)
        (error,) = claim_all([watch, other])
        other.close()
    assert {"sim and again of", "again and sim of"} & {str(error).partition(" the configuration")[0]}
    assert "are one database" in str(error)


def test_a_silent_database_keeps_no_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent that died has left of a move is reconciled and ended, while another server never says a word."""
    monkeypatch.setattr("agent.service.daemon.claim_all", partial(claim_all, seconds=0.5))
    monkeypatch.setattr("agent.service.daemon.JOBS_END_WITHIN_SECONDS", 0.5)
    clock = SystemClock()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = load(two_databases(tmp_path, silent.getsockname()[1]))
        with Ledger.open(config.ledger.path, clock) as ledger:
            row = approved_move(config, ledger, clock)
            for state in (MoveState.PRECHECK, MoveState.RUNNING):
                ledger.moves.transition(row.id, state, "")
            with running(Daemon(config, None, ledger, clock)):
                wait_for(lambda: ledger.moves.row(row.id).state is MoveState.PLACED)


def test_a_silent_database_delays_no_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others take the new configuration over at once, the silent one as soon as its server has said something."""
    for name, seconds in (("JOBS_END_WITHIN_SECONDS", 0.5), ("LISTEN_SECONDS", 0.1), ("LOOK_AT_CLOCK_SECONDS", 0.5)):
        monkeypatch.setattr(f"agent.service.daemon.{name}", seconds)
    waits, answers = threading.Event(), threading.Event()
    sample, sampled = Watch.sample, list[tuple[str, float]]()

    def sampling(watch: Watch) -> object:
        if watch.database.name == "silent":
            waits.set()
            answers.wait(PATIENCE_SECONDS)
        sampled.append((watch.database.name, watch.database.sample_seconds))
        return sample(watch)

    monkeypatch.setattr(Watch, "sample", sampling)
    path, clock = tmp_path / "two.yaml", SystemClock()

    def configure(every: str) -> None:
        text = "ledger: {path: two.db}\nmetrics: {enabled: false}\ndatabases:\n"
        for seed, name in enumerate(("sim", "silent")):
            text += f"  - name: {name}\n    sample_every: {every}\n    engine: simulated\n"
            text += f"    connection: {{scenario: oltp, seed: {seed}}}\n"
            text += "    tiers: [{name: ssd, spaces: [ssd]}, {name: hdd, spaces: [hdd]}]\n"
        path.write_text(text)

    configure("2s")
    config = load(path)
    with Ledger.open(config.ledger.path, clock) as ledger:
        daemon = Daemon(config, path, ledger, clock)
        with running(daemon):
            wait_for(waits.is_set)
            configure("3s")
            daemon.ask_to_reload()
            wait_for(lambda: ("sim", 3.0) in sampled)
            assert not [name for name, _ in sampled if name == "silent"]
            answers.set()
            wait_for(lambda: ("silent", 3.0) in sampled)
            assert sampled.count(("silent", 2.0)) == 1, "what was under way ended, and nothing more began"
