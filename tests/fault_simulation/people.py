"""The people of the site: what they look at, approve, refuse, hold and take back, by commands of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from agent.ledger.errors import LedgerError
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, RequestKind, RuleState
from agent.model.approvals import LockClass, StandingRule
from agent.model.signatures import Signature, SignatureInvalid, Signers
from agent.model.signed_documents import Signable
from agent.model.states import ACTIONABLE, AWAITING_OUTCOME, UNDOABLE, UNFINISHED, MoveState, ProposalState
from agent.moving.left_worse import halfway
from agent.planning.undo import propose_undo
from agent.service.daemon import _Asked
from connectors.kit.contract import HotplaceError
from connectors.simulated.connector import SimulatedConnector
from policies.model.settings import Pin
from tests.fault_simulation.script import Kind

if TYPE_CHECKING:
    from tests.fault_simulation.agent_program import AgentProgram
    from tests.fault_simulation.site import FaultySite

_P = ParamSpec("_P")
REASON_SECONDS = 3600.0  # within which a person approves what he has looked at


@dataclass(frozen=True, slots=True)
class Decision:
    """An approval that a person gave and that was taken."""

    agent: str  # its book
    proposal: int
    digest: str
    who: str
    at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RuleEvent:
    """A standing rule that people have opened, or closed (``limits`` is None)."""

    agent: str  # its book
    rule: int
    row: int  # the audit row of it, the last one then: what came later has a higher number
    limits: StandingRule | None = None


def sign(document: Signable, who: str = "ann") -> str:
    """What stands for a signature of OpenSSH: by whom, and a hash of the purpose and the text."""
    return f"{who} {hashlib.sha256(f'{document.namespace} {document.text}'.encode()).hexdigest()}"


def verify(_: Signers, document: Signable, armored: str) -> Signature:
    """In place of ``Signers.verify``, which starts two processes for each.

    Raises:
        SignatureInvalid: it is not over just this document.
    """
    who = armored.partition(" ")[0]
    if armored != sign(document, who):
        raise SignatureInvalid("the signature does not fit", advice="")
    return Signature(who, f"SHA256:{who}", armored, frozenset({who}))


def command(act: Callable[Concatenate[Person, _P], None]) -> Callable[Concatenate[Person, _P], None]:
    """What a person does: a refusal ends it."""

    def obeyed(self: Person, /, *given: _P.args, **named: _P.kwargs) -> None:
        try:
            act(self, *given, **named)
        except HotplaceError as error:
            self.site.tell(f"a person was told: {error}")

    return obeyed


@dataclass(slots=True)
class Person:
    """Ann, Bob and Eve at their terminals; what they do fails where the ledger says no, and they go on."""

    site: FaultySite
    decisions: list[Decision] = field(default_factory=list)
    undone: set[tuple[str, int]] = field(default_factory=set)  # agent and move of which an undo was asked for
    dropped: set[tuple[str, int]] = field(default_factory=set)  # agent and move that was struck or cancelled in time
    asked: set[tuple[str, int]] = field(default_factory=set)  # agent and proposal that a person asked for
    rules: list[RuleEvent] = field(default_factory=list)  # in order

    @contextmanager
    def at_ledger(self, agent: AgentProgram) -> Iterator[Ledger]:
        """What a command opens."""
        try:
            with self.site.ledger(agent) as ledger:
                yield ledger
        finally:
            agent.disk.keep()

    def an_agent(self, pick: float) -> AgentProgram:
        """One that runs, or the one that is meant to."""
        agents = [agent for agent in self.site.agents.values() if agent.lives]
        return agents[int(pick * len(agents))] if agents else self.site.main

    @command
    def approve(self, first: float, second: float) -> None:
        """Look at what waits, think, and approve what was seen, if it is still there."""
        agent = self.an_agent(second)
        with self.at_ledger(agent) as ledger:
            waiting = ledger.proposals.rows(database=self.site.database, states={ProposalState.PROPOSED})
            if not waiting:
                return
            seen = waiting[0]
            self.site.clock.call_later(
                1.0 + REASON_SECONDS * first**2,
                lambda: self._approve(agent, seen.id, seen.digest, seen.proposal.expires_at),
            )

    @command
    def _approve(self, agent: AgentProgram, number: int, digest: str, expires_at: datetime) -> None:
        with self.at_ledger(agent) as ledger:
            signed = ledger.rules.approval.signers is not None
            signature = sign(ledger.proposals.document(number)[0]) if signed else ""
            ledger.proposals.approve(number, who="ann", origin="terminal 1", digest=digest, signature=signature)
            now = self.site.clock.now()
            self.decisions.append(Decision(agent.book, number, digest, "ann", now, expires_at))
            self.site.tell(f"ann approved proposal {number} of {agent.name}")

    @command
    def reject(self, first: float, second: float) -> None:
        """What waits."""
        del first
        agent = self.an_agent(second)
        with self.at_ledger(agent) as ledger:
            for row in ledger.proposals.rows(database=self.site.database, states={ProposalState.PROPOSED})[:1]:
                ledger.proposals.reject(row.id, who="bob", origin="terminal 2", reason="not now")

    @command
    def strike(self, first: float, second: float) -> None:
        """One move that has not begun."""
        agent = self.an_agent(second)
        with self.at_ledger(agent) as ledger:
            if row := self._one(ledger, {MoveState.PROPOSED, MoveState.APPROVED}, first):
                gone = ledger.proposals.strike(
                    row.proposal_id, row.move.ordinal, who="bob", origin="terminal 2", reason="keep it"
                )
                self.dropped |= {(agent.book, each.id) for each in gone}

    @command
    def _request(self, kind: RequestKind, first: float, second: float) -> None:
        agent = self.an_agent(second)
        with self.at_ledger(agent) as ledger:
            row = self._one(ledger, UNFINISHED, first) or self._one(ledger, ACTIONABLE, first)
            if row is not None:
                ledger.requests.submit(row.id, kind, who="eve", origin="terminal 3", reason="an incident")
                if kind is RequestKind.CANCEL and row.state is MoveState.APPROVED:
                    self.dropped.add((agent.book, row.id))

    def pause(self, first: float, second: float) -> None:
        """Hold a move."""
        self._request(RequestKind.PAUSE, first, second)

    def resume(self, first: float, second: float) -> None:
        """Let it go on."""
        self._request(RequestKind.RESUME, first, second)

    def cancel(self, first: float, second: float) -> None:
        """Give it up."""
        self._request(RequestKind.CANCEL, first, second)

    @command
    def undo(self, first: float, second: float) -> None:
        """Take a move back, and approve that."""
        agent = self.an_agent(second)
        with self.at_ledger(agent) as ledger:
            row = self._one(ledger, UNDOABLE, first)
            if row is None or agent.watch is None:
                return
            connector = SimulatedConnector(self.site.world, clock=self.site.clock)
            number = propose_undo([row], agent.watch.database, connector, ledger, self.site.clock.now(), asked_by="bob")
            self.asked.add((agent.book, number))
            self.undone.add((agent.book, row.id))
            stored = ledger.proposals.row(number)
            self._approve(agent, number, stored.digest, stored.proposal.expires_at)

    @command
    def pin(self, first: float, second: float) -> None:
        """Keep something off the fast tier for some hours."""
        agent = self.an_agent(second)
        with self.at_ledger(agent) as ledger:
            units = self.site.world.placement.units
            key = units.keys[int(first * len(units))]
            ledger.pins.pin(self.site.database, key, Pin.NEVER, who="ann", reason="audit", until=None)

    def ask(self, first: float, second: float) -> None:
        """`hotplace run --once`: nobody waits for the next turn."""
        del first
        agent = self.an_agent(second)
        watch, process = agent.watch, agent.process
        if watch is not None and process is not None and not process.depth:
            timetable = agent.daemon and agent.daemon._timetable
            for job in getattr(timetable and timetable._scheduler, "jobs", ()):
                job.next_run_time = min(job.next_run_time, self.site.clock.now())

    def reload(self, first: float, second: float) -> None:
        """Other windows, or none."""
        self.site.windows = (("00:00-24:00",), (), ("00:00-02:00", "03:00-06:00"))[int(3 * first)]
        self.site.dry_run = second < 0.1
        self.site.mistaken = False
        self._tell_agents(_Asked.RELOAD)

    def reload_mistake(self, first: float, second: float) -> None:
        """A word that is none."""
        del first, second
        self.site.mistaken = True
        self._tell_agents(_Asked.RELOAD)
        self.site.mistaken = False

    def _tell_agents(self, what: _Asked) -> None:
        for agent in self.site.agents.values():
            self.site.write_config(agent)
            agent.ask(what)
        if self.site.mistaken:  # it is mended before a restart would find it
            for agent in self.site.agents.values():
                self.site.clock.call_later(300.0, partial(self.site.write_config, agent))

    def stop(self, first: float, second: float) -> None:
        """SIGTERM; the service manager starts it again."""
        del first
        self.an_agent(second).ask(_Asked.STOP)

    def rival(self, first: float, second: float) -> None:
        """Somebody starts another agent for the same database, with a ledger of its own, for some hours."""
        agent = self.site.agents["second"]
        agent.wanted = True
        agent.start()

        def leave() -> None:
            agent.wanted = False
            agent.ask(_Asked.STOP)

        self.site.clock.call_later(600.0 + 7200.0 * max(first, second), leave)

    @command
    def open_rule(self, first: float, second: float) -> None:
        """Propose a standing rule where there is none, and sign the one that there is."""
        del first, second
        agent, limits = self.site.main, self.site.script.site.auto
        with self.at_ledger(agent) as ledger:
            if limits is None:
                return
            if not ledger.rules.rows():
                rule = StandingRule(
                    database=self.site.database, fingerprint=self.site.server.fingerprint, mode="hsm", units=("*",),
                    most_bytes=limits.most_bytes, locks=LockClass(limits.locks), most_stall_seconds=3600.0,
                    least_gain_per_hour=limits.least_gain_per_hour, most_a_day=limits.most_a_day,
                    expires_at=self.site.clock.now() + timedelta(hours=limits.hours),
                )  # fmt: skip
                ledger.rules.propose(rule, who="bob", origin="terminal 2")
            (row,) = ledger.rules.rows()
            if row.state in (RuleState.PROPOSED, RuleState.CLOSED):
                document = ledger.rules.document(row.number)
                ledger.rules.open(row.number, origin="terminal 1", signature=sign(document))
                last = ledger.audit.rows(1, event="rule.opened")[0].id
                self.rules.append(RuleEvent(agent.book, row.number, last, row.rule))

    @command
    def close_rule(self, first: float, second: float) -> None:
        """Nothing of its own accord any more."""
        del first, second
        agent = self.site.main
        with self.at_ledger(agent) as ledger:
            for row in ledger.rules.rows():
                ledger.rules.close(row.number, who="eve", origin="terminal 3", reason="an incident")
                last = ledger.audit.rows(1, event="rule.closed")[0].id
                self.rules.append(RuleEvent(agent.book, row.number, last))

    # -- at the end ------------------------------------------------------------------------------------------------

    @command
    def answer_everything(self, agent: AgentProgram) -> None:
        """What is held goes on, what waits for a decision is refused."""
        with self.at_ledger(agent) as ledger:
            for number, request in ledger.requests.in_force(self.site.database).items():
                if request.kind is RequestKind.PAUSE and ledger.moves.row(number).state in ACTIONABLE:
                    ledger.requests.submit(number, RequestKind.RESUME, who="eve", origin="terminal 3", reason="over")
            for row in ledger.proposals.rows(database=self.site.database, states={ProposalState.PROPOSED}):
                ledger.proposals.reject(row.id, who="bob", origin="terminal 2", reason="no more today")

    def open_moves(self, agent: AgentProgram, *, halfway_too: bool = False) -> int:
        """How many moves have not come to an end; groups that ended halfway count as well, if they are to."""
        open_states = ACTIONABLE | AWAITING_OUTCOME | {MoveState.UNDO_PROPOSED}
        try:
            with self.site.ledger(agent) as ledger:
                groups = halfway(ledger, self.site.database) if halfway_too else []
                rows = ledger.moves.rows(database=self.site.database, states=open_states)
                forged = {number for book, number in self.site.forger.proposals if book == agent.book}
                return sum(row.proposal_id not in forged for row in rows) + len(groups)
        except LedgerError:
            return 1

    def _one(self, ledger: Ledger, states: frozenset[MoveState] | set[MoveState], pick: float) -> MoveRow | None:
        rows = ledger.moves.rows(database=self.site.database, states=states)
        return rows[int(pick * len(rows))] if rows else None


PEOPLE_DO: dict[Kind, Callable[[Person, float, float], None]] = {
    Kind.APPROVE: Person.approve,
    Kind.REJECT: Person.reject,
    Kind.STRIKE: Person.strike,
    Kind.PAUSE: Person.pause,
    Kind.RESUME: Person.resume,
    Kind.CANCEL: Person.cancel,
    Kind.UNDO: Person.undo,
    Kind.PIN: Person.pin,
    Kind.ASK: Person.ask,
    Kind.RELOAD: Person.reload,
    Kind.RELOAD_COPYING: Person.reload,
    Kind.RELOAD_MISTAKE: Person.reload_mistake,
    Kind.STOP: Person.stop,
    Kind.RIVAL: Person.rival,
    Kind.OPEN_RULE: Person.open_rule,
    Kind.CLOSE_RULE: Person.close_rule,
}
