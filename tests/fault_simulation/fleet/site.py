"""One run of a fleet: its databases, the agents of each, the ledger that they share, and what happens to all of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from agent.ledger.chain.links import AnchorFile
from agent.ledger.ledger import Ledger
from agent.ledger.moves import Moves
from agent.ledger.store.opening import own_samples
from agent.model.outcomes import Outcome, OutcomeVerdict
from tests.fault_simulation import worlds
from tests.fault_simulation.agent_program import AgentProgram
from tests.fault_simulation.fleet.ledger import SharedLedger
from tests.fault_simulation.fleet.measured import Measured, Measurements
from tests.fault_simulation.fleet.people import FleetPeople
from tests.fault_simulation.fleet.way import Way
from tests.fault_simulation.process import Process
from tests.fault_simulation.script import HOUR, MINUTE, Event, Kind, Script
from tests.fault_simulation.server import ConnectorOfFleet, Fate, Server
from tests.fault_simulation.site import (
    LAST_HOURS,
    MAIN,
    RESTART,
    SECOND,
    FaultySite,
    Report,
    virtual_time,
)
from tests.virtual_clock import VirtualClock

STANDBY_AFTER = 45.0  # seconds after the first agent
BEHIND_SECONDS = 1.0  # the most by which the copy is older than what it replaces
MOST_LOST = 6  # transactions that the copy lacks
HURT_SHARE = 0.4  # of the outcomes: one's moves rarely hurt, and what follows then is to be seen
BOOK = "fleet"
_record_outcome = Moves.record_outcome


class StandbyProgram(AgentProgram):
    """``hotplace run --standby``, as all agents of a fleet run: who comes first acts."""

    standby = True


class DatabaseSite(FaultySite):
    """One database of a fleet, with its agents and what happens to them."""

    def __init__(self, fleet: Fleet, number: int, script: Script, folder: Path) -> None:
        self.fleet, self.number = fleet, number
        self.database = f"sim{number}"
        self.place_of_ledger = fleet.shared.configuration
        super().__init__(script, folder, fleet.clock, fleet.report)
        self.server.connector = ConnectorOfFleet
        self.server.fingerprint = f"{self.server.fingerprint} {number}"
        self.agents[SECOND].wanted = True

    def _agent(self, name: str) -> AgentProgram:
        folder = self.folder / name
        folder.mkdir(parents=True)
        way = Way(folder / "ledger.db", self.fleet.shared)
        way.anchors.touch()
        shutil.copy(worlds.empty_ledger(), own_samples(AnchorFile(way.anchors)).path)
        way.strike = self._strike_at_disk
        agent = StandbyProgram(f"{self.database}.{name}", folder, self.server, self.clock, way, self._crashed)
        agent.book, agent.on_error = BOOK, self.tell
        assert self.fleet.script.fleet is not None
        agent.machine.skew = self.fleet.script.fleet.skews[self.number][name == SECOND]
        way.on_commit = self.fleet.committed
        way.on_sample = partial(self.fleet.note_sample, agent)
        self.write_config(agent)
        return agent

    def begin(self) -> None:
        """The agent, then the standby."""
        super().begin()
        self.clock.call_later(STANDBY_AFTER, self.agents[SECOND].start)

    def ledger(self, agent: AgentProgram) -> Ledger:
        """As people open it."""
        return agent.disk.open_ledger(self.clock, actor="a person")

    def tell(self, sentence: str) -> None:
        """One line of the story."""
        super().tell(f"{self.database}: {sentence}")

    def _agent_of(self, process: Process | None) -> AgentProgram:
        if process is not None:
            return super()._agent_of(process)
        acting = (each for each in self.agents.values() if each.watch is not None and each.watch.leasing.is_taken)
        return next(acting, self.main)

    def _let(self, event: Event, process: Process | None) -> Fate | None:
        happens = HAPPENS.get(event.kind)
        if happens is None:
            return super()._let(event, process)
        happens(self, self._agent_of(process), *event.pick)
        if process is not None:
            process.clock.thaw()
        return None

    def calm_down(self) -> None:
        """Nothing fails any more; only the first agent goes on."""
        super().calm_down()
        for agent in self.agents.values():
            machine = agent.machine
            machine.frozen_until = machine.no_ledger_until = machine.no_database_until = 0.0
        self.leave(MAIN)


class Fleet:
    """Everything of one run. Use ``run_fleet``."""

    book = BOOK

    def __init__(self, script: Script, folder: Path) -> None:
        assert script.fleet is not None
        self.script = script
        self.folder = folder
        self.clock = VirtualClock()
        self.report = Report(script)
        self.shared = SharedLedger(self.clock, script.fleet.lease_seconds, script.fleet.ledger_skew)
        self.people = FleetPeople(self)
        self._measured = Measurements()
        self.sites = [self._site(number, site) for number, site in enumerate(script.fleet.sites)]
        self.look_last: Callable[[], None] = lambda: None
        self._away = 0.0  # seconds, of the failover that comes
        self._failing_over = 0  # transactions until the copy takes the ledger's place; 0: none is to

    def _site(self, number: int, site: Any) -> DatabaseSite:  # as the script has it
        events = tuple(event for event in self.script.events if event.site == number)
        folder = self.folder / f"sim{number}"
        return DatabaseSite(self, number, replace(self.script, site=site, events=events), folder)

    def site_of(self, database: str) -> DatabaseSite:
        """By the name of the database."""
        return next(site for site in self.sites if site.database == database)

    def server_of(self, process: Process) -> Server:
        """What a process connects to."""
        return self.site_of(process.name.partition(".")[0]).server

    def ledger_of_people(self) -> Ledger:
        """As people open it."""
        return self.sites[0].ledger(self.sites[0].main)

    def tell(self, sentence: str) -> None:
        """One line of the story."""
        self.report.story.append(f"{self.clock.monotonic() / HOUR:7.3f} h  {sentence}")

    def parts_of(self, database: str, ended_at: datetime) -> list[Measured]:
        """The intervals of an hour of the ledger."""
        return self._measured.parts_of(database, ended_at)

    def note_sample(self, agent: AgentProgram, table: str, values: Mapping[str, Any]) -> None:
        """An agent has measured an interval."""
        self._measured.note(agent.name, self.clock.monotonic(), table, values)

    def fail_over_soon(self, first: float, second: float) -> None:
        """The copy stays behind from now on, and takes the ledger's place within a second or some transactions."""
        if self._failing_over:
            return
        self.shared.copy()
        self._failing_over = 1 + int(first * MOST_LOST)
        self.clock.call_later(BEHIND_SECONDS, partial(self._fail_over, 60.0 * second))
        self._away = 60.0 * second

    def committed(self) -> None:
        """One more transaction that the copy lacks."""
        if self._failing_over:
            self._failing_over -= 1
            if not self._failing_over:
                self._failing_over = 1
                self._fail_over(self._away)

    def _fail_over(self, seconds: float) -> None:
        if self._failing_over:
            self._failing_over = 0
            self.tell("the copy takes the ledger's place")
            self.shared.fail_over(seconds)

    def live(self) -> None:
        """All hours of the script, then as many without faults as it takes to end everything that was begun."""
        for site in self.sites:
            site.begin()
        assert self.script.fleet is not None
        for _ in range(int(self.script.site.hours)):
            self.clock.sleep(HOUR)
            self._look()
        self._fail_over(0.0)
        self.shared.heal()
        for site in self.sites:
            site.calm_down()
        self.clock.sleep(2 * RESTART)
        self._finish()
        self.report.hours = self.clock.monotonic() / HOUR

    def _finish(self) -> None:
        started = self.clock.monotonic()
        for site in self.sites:
            site.main.start()
        while (gone := self.clock.monotonic() - started) < LAST_HOURS * HOUR:
            for site in self.sites:
                site.people.answer_everything(site.main)
            self.clock.sleep(10 * MINUTE)
            if all(site.is_done(site.main, gone) for site in self.sites):
                break
        self.clock.sleep(2 * MINUTE)

    def _look(self) -> None:
        for site in self.sites:
            site.look()

    def end(self) -> None:
        """Look for the last time."""
        self._look()
        self.look_last()

    def kill_all(self) -> None:
        """No program is left."""
        for site in self.sites:
            for agent in site.agents.values():
                agent.wanted = False
                agent.kill()
                agent.end(politely=False)


# -- what happens ---------------------------------------------------------------------------------------------------


def _freeze(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    """For up to six leases; what it does next, it does then."""
    del second
    seconds = (0.2 + 5.8 * first**2) * site.fleet.shared.lease_seconds
    agent.machine.frozen_until = site.clock.monotonic() + seconds


def _cut_ledger(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del second
    agent.machine.no_ledger_until = site.clock.monotonic() + (0.1 + 6 * first**2) * site.fleet.shared.lease_seconds


def _cut_database(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del second
    agent.machine.no_database_until = site.clock.monotonic() + (0.1 + 6 * first**2) * site.fleet.shared.lease_seconds


def _restart(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent
    site.fleet.shared.restart(2.0 + 600.0 * first * second)


def _fail_over(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent
    site.fleet.fail_over_soon(first, second)


def _no_connections(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent, second
    shared = site.fleet.shared
    shared.set_connections(are_left=False)
    site.clock.call_later(5.0 + 600.0 * first**2, partial(shared.set_connections, are_left=True))


def _disk_full(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent, second
    shared = site.fleet.shared
    shared.set_room(is_left=False)
    site.clock.call_later(5.0 + 900.0 * first**2, partial(shared.set_room, is_left=True))


def _lose_answer(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del site, first, second
    assert isinstance(agent.disk, Way)
    agent.disk.loses_answer = True


def _set_clock(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent, second
    site.fleet.shared.skew += (first - 0.5) * 12 * HOUR


def _approve_list(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent
    site.fleet.people.approve_list(first, second)


def _stop_list(site: DatabaseSite, agent: AgentProgram, first: float, second: float) -> None:
    del agent
    site.fleet.people.stop_list(first, second)


HAPPENS: dict[Kind, Callable[[DatabaseSite, AgentProgram, float, float], None]] = {
    Kind.FROZEN: _freeze,
    Kind.NO_LEDGER: _cut_ledger,
    Kind.NO_DATABASE: _cut_database,
    Kind.LEDGER_RESTART: _restart,
    Kind.LEDGER_FAILOVER: _fail_over,
    Kind.LEDGER_CONNECTIONS: _no_connections,
    Kind.LEDGER_DISK: _disk_full,
    Kind.LEDGER_ANSWER: _lose_answer,
    Kind.LEDGER_CLOCK: _set_clock,
    Kind.APPROVE_LIST: _approve_list,
    Kind.STOP_LIST: _stop_list,
}


def run_fleet_script(script: Script, folder: Path, prepare: Callable[[Fleet], object]) -> Report:
    """One run. ``prepare`` lets the oracles watch it."""
    fleet = Fleet(script, folder)
    prepare(fleet)
    with virtual_time(fleet.server_of, _more(fleet)):
        try:
            fleet.live()
            fleet.end()
        finally:
            fleet.kill_all()
            fleet.shared.remove()
    return fleet.report


def _more(fleet: Fleet) -> dict[str, Any]:
    """What has to go by virtual time as well, and outcomes as the seed has them."""
    time = SimpleNamespace(monotonic=fleet.clock.monotonic)

    def record(self: Moves, move_id: int, outcome: Outcome) -> int:
        if Random(f"{fleet.script.seed} {move_id}").random() < HURT_SHARE:  # a simulation, no secret
            outcome = replace(outcome, verdict=OutcomeVerdict.HURT)
        return _record_outcome(self, move_id, outcome)

    return {
        "agent.ledger.server.database.ServerDatabase.now": lambda *_: fleet.shared.now(),
        "agent.ledger.server.database.time": time,
        "agent.service.leasing.time": time,
        "agent.ledger.moves.Moves.record_outcome": record,
    }
