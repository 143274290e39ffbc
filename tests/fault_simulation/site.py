"""One run: the site of a script, its agents, its people and its faults, from the first hour to the last answer."""

from __future__ import annotations

import logging
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.ledger import Ledger
from agent.model.signatures import Signers
from agent.model.states import MoveState
from agent.service.daemon import _Asked
from connectors.kit.contract import CannotConnect, OutcomeUnknown
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import World
from policies.placement.solver.dual import prices
from tests.fault_simulation import worlds
from tests.fault_simulation.agent_program import AgentProgram, VirtualScheduler
from tests.fault_simulation.answers import kept
from tests.fault_simulation.disk import Disk
from tests.fault_simulation.forger import Forger
from tests.fault_simulation.others import OTHERS_DO, change_server
from tests.fault_simulation.people import PEOPLE_DO, Person, verify
from tests.fault_simulation.process import Process
from tests.fault_simulation.script import HOUR, MINUTE, Event, Kind, Script, Trigger
from tests.fault_simulation.server import Fate, Server, connect_to, error_of
from tests.virtual_clock import VirtualClock

ROBUSTNESS = "robustness"  # spoken of without an oracle: an agent ended with an error that is none of its own
TURN_SECONDS = 30.0  # between two turns of a program
RESTART = 60.0  # seconds until a program that ended has surely been started again
YEAR = 365 * 24 * HOUR
QUIET_SECONDS = 75 * MINUTE  # longer than any job that failed is left alone
LAST_HOURS = 14.0  # in which everything that was begun has to come to an end, once nothing fails any more
MAIN, SECOND = "main", "second"
AT_SERVER = {
    Kind.RESTART, Kind.FAILOVER, Kind.OTHER_IDS, Kind.OTHER_DATABASE, Kind.COUNTER_RESET, Kind.LEASE_LOST,
    Kind.REVOKED, Kind.RESTORED, Kind.REFUSED, Kind.SLOW_CATALOG,
}  # fmt: skip
OF_DISK = {Kind.LEDGER_FULL, Kind.LEDGER_BUSY, Kind.LEDGER_ERROR}
OF_STATEMENT = {Kind.DEADLOCK, Kind.LOCK_TIMEOUT, Kind.SPACE_FULL}


@dataclass(frozen=True, slots=True)
class Violation:
    """An oracle that was not obeyed."""

    oracle: str
    sentence: str
    at_hours: float


@dataclass(slots=True)
class Report:
    """What came of a run."""

    script: Script
    violations: list[Violation] = field(default_factory=list)
    struck: Counter[Kind] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)  # how often each oracle had something to say
    hours: float = 0.0
    seconds: float = 0.0  # of one processor core
    story: list[str] = field(default_factory=list)
    moves: Counter[MoveState] = field(default_factory=Counter)
    forged: int = 0  # proposals that a forger wrote about
    recorded: dict[str, str] = field(default_factory=dict)  # what its ledgers hold at the end, see tests.frozen.faults


class FaultySite:
    """Everything of one run. Use ``run_script``."""

    database = "sim"
    place_of_ledger = "path: ledger.db"  # in the configuration

    def __init__(
        self, script: Script, folder: Path, clock: VirtualClock | None = None, report: Report | None = None
    ) -> None:
        self.script = script
        self.folder = folder
        self.report = report or Report(script)
        self.clock = clock or VirtualClock()
        settings = SimulatedSettings(scenario="oltp", seed=script.site.world_seed)
        self.world = World(settings, self.clock, worlds.shop(script.site.world_seed))
        self.server = Server(self.world, self.clock)
        self.server.strike = self._strike_at_server
        self.dry_run, self.mistaken = script.site.dry_run, False
        self.windows, self.window_bytes = script.site.windows, script.site.window_bytes
        self.agents = {name: self._agent(name) for name in (MAIN, SECOND)}
        self.agents[SECOND].wanted = False
        self.people = Person(self)
        self.forger = Forger(self)
        self.armed: list[tuple[Event, int]] = []  # with the calls still to pass
        self.jumps: list[tuple[float, float]] = []  # of the wall clock: when on the monotonic one, by how many seconds
        self.calm = False
        self.watchers: list[Callable[[], None]] = []  # called every hour
        self.turn_watchers: list[Callable[[AgentProgram], None]] = []  # called after every turn of an agent
        self.calm_watchers: list[Callable[[], None]] = []  # called once nothing has failed for QUIET_SECONDS

    @property
    def main(self) -> AgentProgram:
        """The agent that is meant to run."""
        return self.agents[MAIN]

    def _agent(self, name: str) -> AgentProgram:
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(worlds.empty_ledger(), folder / "ledger.db")
        shutil.copy(worlds.empty_ledger().with_name("ledger.db.anchors"), folder / "ledger.db.anchors")
        may_lose_power = any(event.kind is Kind.POWER_CUT for event in self.script.events)
        disk = Disk(folder / "ledger.db", may_lose_power=may_lose_power)
        disk.strike = self._strike_at_disk
        agent = AgentProgram(name, folder, self.server, self.clock, disk, self._crashed)
        agent.on_error = self.tell
        self.write_config(agent)
        return agent

    def write_config(self, agent: AgentProgram) -> None:
        """The configuration as people want it now."""
        text = worlds.config(
            self.script.site, windows=self.windows, window_bytes=self.window_bytes, dry_run=self.dry_run,
            database=self.database, ledger=self.place_of_ledger,
        )  # fmt: skip
        agent.config_path.write_text(text + ("    polciy: {}\n" if self.mistaken else ""), encoding="utf-8")

    def decided_at(self, agent: AgentProgram) -> datetime:
        """The wall clock as an agent saw it that decided a second ago: it may have jumped just since."""
        lately = sum(seconds for at, seconds in self.jumps if at >= self.clock.monotonic() - 1.0)
        return self.clock.now() + timedelta(seconds=agent.machine.skew - lately)

    def violated(self, oracle: str, sentence: str) -> None:
        """Note that an oracle was not obeyed."""
        self.report.violations.append(Violation(oracle, sentence, self.clock.monotonic() / HOUR))
        self.tell(f"VIOLATION of {oracle}: {sentence}")

    def tell(self, sentence: str) -> None:
        """One line of the story."""
        self.report.story.append(f"{self.clock.monotonic() / HOUR:7.3f} h  {sentence}")

    def _crashed(self, sentence: str, error: BaseException) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        self.violated(ROBUSTNESS, f"{sentence} at {where.filename.rpartition('/')[2]}:{where.lineno}")

    # -- events ---------------------------------------------------------------------------------------------------

    def _arm(self, event: Event) -> None:
        if event.trigger is Trigger.TIME:
            fate = self._happen(event, None)
            assert fate is None
        else:
            self.armed.append((event, event.passes))

    def _due(self, trigger: Trigger) -> list[Event]:
        """The events that strike at this call. A list: while one happens, calls of its own may be struck by others."""
        due, waiting = [], []
        for event, passes in self.armed:
            if event.trigger is trigger and not passes:
                due.append(event)
            else:
                waiting.append((event, passes - (event.trigger is trigger)))
        self.armed = waiting
        return due

    def _strike_at_server(self, trigger: Trigger, process: Process) -> Fate | None:
        fate = None
        for event in self._due(trigger):
            fate = self._happen(event, process) or fate
        return fate

    def _strike_at_disk(self, trigger: Trigger, process: Process) -> None:
        for event in self._due(trigger):
            self._happen(event, process)

    def _happen(self, event: Event, process: Process | None) -> Fate | None:
        """Let it happen; the fate of the call at which it does."""
        if self.calm:
            return None
        self.report.struck[event.kind] += 1
        self.tell(str(event))
        return self._let(event, process)

    def _let(self, event: Event, process: Process | None) -> Fate | None:
        kind, (first, second) = event.kind, event.pick
        self.server.goes_on = second < 0.5
        agent = self._agent_of(process)
        if kind in {Kind.KILL, Kind.POWER_CUT, Kind.KILL_DONE}:
            self.server.goes_on |= kind is Kind.KILL_DONE
            agent.power_lost |= kind is Kind.POWER_CUT
            agent.kill()
        elif kind in OF_DISK:
            agent.disk.failing, agent.disk.fails_until = kind, self.clock.monotonic() + 10 ** (4 * first)
        elif kind in {Kind.LOST, Kind.SILENT}:
            error = OutcomeUnknown if event.trigger in {Trigger.COPYING, Trigger.STATEMENT_DONE} else CannotConnect
            silent = 30.0 + 270.0 * first if kind is Kind.SILENT else 0.0
            return Fate(lambda: error("the connection was lost", advice="Ask again."), silent_seconds=silent)
        elif kind in OF_STATEMENT:
            return Fate(error_of(kind))
        elif kind is Kind.CLOCK_JUMP:
            self._set_clock((first - 0.5) * 6 * HOUR)
        elif kind is Kind.YEAR_AHEAD:
            self._set_clock(YEAR)
            self.clock.call_later(600.0 + 7200.0 * first, partial(self._set_clock, -YEAR))
        elif kind in AT_SERVER:
            change_server(self, kind, first, second)
        elif kind is Kind.FORGE:
            self.forger.forge(first, second)
        elif kind in OTHERS_DO:
            OTHERS_DO[kind](self, first, second)
        else:
            PEOPLE_DO[kind](self.people, first, second)
        return None

    def _set_clock(self, seconds: float) -> None:
        """Set the wall clock so far ahead, or back."""
        self.jumps.append((self.clock.monotonic(), seconds))
        self.clock.jump(seconds)

    def _agent_of(self, process: Process | None) -> AgentProgram:
        return next((agent for agent in self.agents.values() if agent.process is process is not None), self.main)

    # -- time -----------------------------------------------------------------------------------------------------

    def _turns(self) -> None:
        self.clock.call_later(TURN_SECONDS, self._turns)
        for agent in self.agents.values():
            agent.turn()
            for watcher in self.turn_watchers:
                watcher(agent)

    def begin(self) -> None:
        """The first turn, and every event at its time."""
        self.clock.call_later(TURN_SECONDS, self._turns)
        self.main.start()
        for event in self.script.events:
            self.clock.call_later(event.at, partial(self._arm, event))

    def live(self) -> None:
        """All hours of the script, then as many without faults as it takes to end everything that was begun."""
        self.begin()
        for _ in range(int(self.script.site.hours)):
            self.clock.sleep(HOUR)
            self.look()
        self._end_well()
        self.report.hours = self.clock.monotonic() / HOUR

    def look(self) -> None:
        """Let those who watch look."""
        for watcher in self.watchers:
            watcher()

    def _end_well(self) -> None:
        """Nothing fails any more; people answer what is open, and each agent finishes what it has begun."""
        self.calm_down()
        self.clock.sleep(QUIET_SECONDS)
        for watcher in self.calm_watchers:
            watcher()
        used = [name for name in (SECOND, MAIN) if self.agents[name].lives]
        for name in used:
            self._finish(name)

    def calm_down(self) -> None:
        """Nothing fails any more."""
        self.calm, self.armed, self.server.up, self.server.revoked = True, [], True, False
        self.server.refused, self.server.catalog_seconds = False, 0.0
        self.windows, self.window_bytes, self.dry_run, self.mistaken = (), None, False, False
        for agent in self.agents.values():
            agent.disk.failing = None
            self.write_config(agent)
        self.people.close_rule(0.0, 0.0)

    def leave(self, name: str) -> None:
        """All agents end; that one is started again."""
        for each, agent in self.agents.items():
            agent.wanted = each == name
            agent.ask(_Asked.STOP)

    def _finish(self, name: str) -> None:
        self.leave(name)
        agent = self.agents[name]
        self.clock.sleep(2 * RESTART)
        agent.start()
        started = self.clock.monotonic()
        while (gone := self.clock.monotonic() - started) < LAST_HOURS * HOUR:
            self.people.answer_everything(agent)
            self.clock.sleep(10 * MINUTE)
            if self.is_done(agent, gone):
                break
        self.clock.sleep(2 * MINUTE)

    def is_done(self, agent: AgentProgram, seconds: float) -> bool:
        """Whether everything has come to an end, so many seconds after nothing failed any more."""
        looked = seconds > 2 * self.script.site.sample_seconds  # by then groups that ended halfway were looked for
        return agent.process is not None and not self.people.open_moves(agent, halfway_too=not looked)

    def ledger(self, agent: AgentProgram) -> Ledger:
        """The ledger of an agent as another program opens it."""
        rule = PLAIN if self.script.site.auto is None else ApprovalRule(Signers(Path("signers")), automatic=True)
        return agent.disk.open_ledger(self.clock, actor="a person", rule=rule)


@contextmanager
def virtual_time(server_of: Callable[[Process], Server], more: Mapping[str, Any]) -> Iterator[None]:
    """Let real daemons run on sites: their schedulers, their connections, and no call that only costs time.

    Args:
        server_of: the server that a process connects to.
        more: that is to be replaced, by its name.
    """
    replaced = {
        "connectors.simulated.connector.connect": lambda _, clock: connect_to(server_of(clock.process), clock),
        "agent.service.jobs.BackgroundScheduler": VirtualScheduler,
        "agent.service.daemon.load": worlds.load_once,
        "tests.fault_simulation.agent_program.load": worlds.load_once,
        "agent.service.jobs.ThreadPoolExecutor": lambda _: SimpleNamespace(shutdown=lambda **_: None),
        "agent.service.jobs.ACT_EVERY_SECONDS": TURN_SECONDS,
        "agent.service.jobs.return_free_blocks": lambda: None,
        "agent.ledger.chain.audit.send_to_system_log": lambda _: None,
        "agent.moving.attempt.TEND_EVERY_SECONDS": 1.0,
        "agent.model.signatures.Signers.verify": verify,
        "connectors.simulated.mover.SLICES": 20,
        "connectors.simulated.mover.LONGEST_SLICE": 5.0,
        # The same answers sooner: many short lives over few ledgers, no memory to save.
        "policies.placement.solver.solve.prices": kept(prices),
        "agent.ledger.file.database.CACHED_STATEMENTS": 100,
        **more,
    }
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with ExitStack() as stack:
            for target, value in replaced.items():
                stack.enter_context(patch(target, value))
            yield
    finally:
        logging.disable(level)


def run_script(script: Script, folder: Path, prepare: Callable[[FaultySite], object]) -> Report:
    """One run. ``prepare`` lets the oracles watch it."""
    site = FaultySite(script, folder)
    prepare(site)
    with virtual_time(lambda _: site.server, {}):
        try:
            site.live()
            site.look()
        finally:
            for agent in site.agents.values():
                agent.wanted = False
                agent.kill()
                agent.end(politely=False)
    return site.report
