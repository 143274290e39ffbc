"""The daemon as a program of the site: started, reloaded, stopped and killed; its jobs run in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agent.config.files import load
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.ledger import Ledger
from agent.service.daemon import Daemon, _Asked
from agent.service.watch import Watch
from connectors.kit.contract import HotplaceError
from tests.fault_simulation.disk import Disk
from tests.fault_simulation.process import Machine, Process
from tests.fault_simulation.server import Server
from tests.virtual_clock import VirtualClock

RESTART_SECONDS = 30.0  # of the service manager, after a program has ended
HOLDS_LOCK = frozenset({"sample", "plan"})  # jobs in which others of the same database wait


class VirtualJob:
    """A job of the scheduler."""

    def __init__(
        self, work: Callable[[], object], name: str, seconds: float, due: datetime, executor: str,
        jobs: list[VirtualJob],
    ) -> None:  # fmt: skip
        self.work = work
        self.executor = executor
        self._jobs = jobs
        self.name = name
        self.trigger = SimpleNamespace(interval=timedelta(seconds=seconds))
        self.next_run_time = due
        self.running = False

    def modify(self, *, next_run_time: datetime) -> None:
        """Set when it runs next."""
        self.next_run_time = next_run_time

    def remove(self) -> None:
        """It runs no more."""
        self._jobs.remove(self)


class VirtualScheduler:
    """APScheduler's part in virtual time: jobs that are due run one after the other, none of them twice at a time."""

    def __init__(self, **_: object) -> None:
        self.jobs: list[VirtualJob] = []
        self.on = False

    def add_job(
        self, work: Callable[..., object], trigger: str, args: tuple[Any, ...] = (), *, seconds: float,
        next_run_time: datetime, executor: str = "default",
    ) -> None:  # fmt: skip
        """As APScheduler's, for intervals."""
        assert trigger == "interval"
        name = args[0].__name__ if args else work.__name__
        job = VirtualJob(lambda: work(*args), name, seconds, next_run_time, executor, self.jobs)
        self.jobs.append(job)

    def add_executor(self, executor: object, alias: str) -> None:
        """Threads: there is one here."""

    def remove_executor(self, alias: str, *, shutdown: bool) -> None:
        """Likewise."""

    def get_jobs(self) -> list[VirtualJob]:
        """All of them."""
        return list(self.jobs)

    def start(self) -> None:
        """Let jobs run."""
        self.on = True

    def pause(self) -> None:
        """Begin no further job."""
        self.on = False

    def shutdown(self, *, wait: bool) -> None:
        """End. Without waiting where a job is on the stack below: it ends with its process."""
        self.on = False


class AgentProgram:
    """One daemon with its ledger on its own disk, and the service manager that starts it again."""

    standby = False

    def __init__(
        self, name: str, folder: Path, server: Server, clock: VirtualClock, disk: Disk,
        fault: Callable[[str, BaseException], None],
    ) -> None:  # fmt: skip
        self.name = name
        self.book = name  # whose numbers of proposals and moves it uses: agents of one ledger have one
        self.machine = Machine()
        self.config_path = folder / "hotplace.yaml"
        self.server = server
        self.clock = clock
        self.disk = disk
        self.wanted = True  # the service manager starts it when it has ended
        self.lives = 0
        self.power_lost = False  # with the end of this life
        self.process: Process | None = None
        self.daemon: Daemon | None = None
        self.ledger: Ledger | None = None
        self.on_end: Callable[[AgentProgram], None] = lambda _: None
        self.on_error: Callable[[str], None] = lambda _: None
        self._fault = fault
        self._asked: _Asked | None = None

    @property
    def watch(self) -> Watch | None:
        """What it watches with."""
        return None if self.daemon is None else next(iter(self.daemon._watches.values()), None)

    def start(self) -> None:
        """Begin a life."""
        if not self.wanted or self.process is not None:
            return
        process = Process(f"{self.name} {self.lives}", self.clock, self._fault, self.machine)
        self.lives += 1
        self._asked = None
        self.process = process
        try:
            process.run(lambda: self._start(process))
        except HotplaceError as error:
            self.on_error(f"{self.name} did not start: {error}")
            self.end(politely=True)

    def _start(self, process: Process) -> None:
        config = load(self.config_path)
        rule = ApprovalRule.of(config.signers, config.approvals, automatic=config.automatic)
        self.ledger = self.disk.open_for(process, config.ledger, rule)
        self.disk.use(self.ledger, process)
        self.daemon = Daemon(config, self.config_path, self.ledger, process.clock, standby=self.standby)
        self.daemon._start()

    def ask(self, what: _Asked) -> None:
        """Send a signal."""
        self._asked = what

    def turn(self) -> None:
        """What its threads do now: its main thread answers signals, its scheduler runs what is due."""
        process, daemon = self.process, self.daemon
        if process is not None and not process.alive and not process.depth:
            self.end(politely=False)
            return
        if process is None or daemon is None or not process.alive or process.is_frozen:
            return
        try:
            if self._asked is not None:
                self._obey(process, daemon)
            elif daemon._timetable is not None:
                process.run(daemon._timetable.follow_clock)
                if not process.depth:
                    process.run(daemon._follow)
            self._run_due(process, daemon)
        except HotplaceError as error:  # it ends, as any program that raises
            self.on_error(f"{self.name} ended: {error}")
            self.end(politely=True)

    def _obey(self, process: Process, daemon: Daemon) -> None:
        if process.depth:  # a real one waits for its jobs; here they wait below us
            if self._asked is not _Asked.RELOAD:
                for watch in daemon._watches.values():
                    process.run(watch.acting.stop)
                return
            if not all(watch.acting.carries_out for watch in daemon._watches.values()):
                return
        asked, self._asked = self._asked, None
        if asked is _Asked.RELOAD:
            process.run(daemon._reload)
        else:
            self.end(politely=True)

    def _run_due(self, process: Process, daemon: Daemon) -> None:
        if daemon._timetable is None or not process.alive:
            return
        scheduler: Any = daemon._timetable._scheduler
        if not scheduler.on:
            return
        for job in list(scheduler.jobs):
            busy = {each.name for each in scheduler.jobs if each.running}
            lock = self.watch._lock._is_owned() if self.watch is not None else False  # type: ignore[attr-defined]  # RLock has it
            if job not in scheduler.jobs:
                continue  # of before a reload
            if job.running or job.next_run_time > process.clock.now() or busy & HOLDS_LOCK or lock:
                continue
            missed = (process.clock.now() - job.next_run_time) // job.trigger.interval
            job.next_run_time += (missed + 1) * job.trigger.interval  # a clock may be a year ahead
            job.running = True
            try:
                process.run(job.work)
            finally:
                job.running = False
            if not scheduler.on or not process.alive:
                return

    def kill(self) -> None:
        """No line of it runs any more."""
        if self.process is not None:
            self.process.alive = False

    def end(self, *, politely: bool) -> None:
        """The process is over; the service manager starts another one."""
        process, daemon, ledger = self.process, self.daemon, self.ledger
        if process is None:
            return
        if politely and daemon is not None and process.alive:
            with suppress(HotplaceError):
                process.run(daemon._shut_down)
        self.on_end(self)
        process.alive = False
        self.server.process_died(process)
        if ledger is not None:
            ledger.close()
        if self.power_lost:
            self.power_lost = False
            self.disk.lose_power()
        self.process = self.daemon = self.ledger = None
        self.clock.call_later(RESTART_SECONDS, self.start)
