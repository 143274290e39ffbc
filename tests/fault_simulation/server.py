"""The simulated server with an unreliable way to it, other users, and a record of every statement that reaches it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from connectors.kit.contract import (
    CannotConnect,
    Clock,
    HotplaceError,
    LeaseHeld,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
)
from connectors.model.moves import Bundle, NoRoute, Route
from connectors.model.observation import I64, Catalog, Identity, Inspection, Sample
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.language import Control, Move, parse
from connectors.simulated.mover import SimulatedSession
from connectors.simulated.world import World
from connectors.simulated.world_state import RunningCopy, copy_seconds
from tests.fault_simulation.process import Killed, Process, ProcessClock
from tests.fault_simulation.script import Trigger
from tests.virtual_clock import VirtualClock

NOTICES_A_DEAD_CLIENT = 120.0  # seconds until a server ends the session of a client that no packet comes from


@dataclass(slots=True)
class Sent:
    """One statement that reached the server."""

    at: datetime
    process: Process
    sql: str
    move: Move | Control
    began: bool = False  # a copy
    done: bool = False
    numbers: dict[str, Any] = field(default_factory=dict)  # what the ledger of its agent said of it just then


@dataclass(slots=True)
class Fate:
    """What becomes of a call that does not end as it should."""

    error: Callable[[], BaseException]
    silent_seconds: float = 0.0  # that the client waits first


class Server:
    """One world with everything around it that can fail. Observers are called as things happen."""

    def __init__(self, world: World, clock: VirtualClock) -> None:
        self.world = world
        self.clock = clock
        self.connector = FaultyConnector
        self.starts = 0  # a session of an earlier start is broken
        self.up = True
        self.fingerprint = world.fingerprint
        self.revoked = False
        self.refused = False  # the login that moves
        self.catalog_seconds = 0.0  # that it takes to read it
        self.goes_on = False  # it finishes what a client that is gone has sent
        self.lease: FaultyLease | None = None
        self.lease_seen: set[int] = set()  # processes that have seen it to be theirs since their last statement
        self.changes = 0  # by others, counted
        self.changed: dict[int, int] = {}  # row of a unit -> number of the last change by others
        self.looked: dict[str, tuple[int, dict[str, int]]] = {}  # process -> changes and free bytes as it last saw them
        self.last_mover: dict[int, object] = {}  # row of a unit -> who brought it where it is
        self.cost: defaultdict[int, float] = defaultdict(float)  # seconds of samples by process
        self.samples: Counter[int] = Counter()
        self.sessions: set[FaultySession] = set()
        self.strike: Callable[[Trigger, Process], Fate | None] = lambda *_: None
        self.on_statement: Callable[[Sent], None] = lambda _: None
        self.on_begin: Callable[[Sent, RunningCopy], None] = lambda *_: None
        self.on_done: Callable[[Sent, list[int]], None] = lambda *_: None
        self.on_mover: Callable[[Process], None] = lambda _: None

    def stop(self) -> None:
        """All sessions end; what ran is rolled back, what is held stays held."""
        self.starts += 1
        self.lease = None
        with self.world.turn():
            for token in [token for token, move in self.world.placement.running.items() if not move.paused]:
                self.world.placement.abandon(token)
            self.world.mark_changed()

    def process_died(self, process: Process) -> None:
        """Its sessions end; a lease goes with them."""
        if self.lease is not None and self.lease.process is process:
            self.lease = None
        self.sessions = {session for session in self.sessions if session.process is not process}

    def note_change(self, *rows: int) -> None:
        """Others have changed these units."""
        self.changes += 1
        for row in rows:
            self.changed[row] = self.changes
        self.world.mark_changed()

    def call(self, trigger: Trigger, process: Process) -> None:
        """One call of a process arrives at the server, or its answer leaves it.

        Raises:
            Killed, ConnectorError: the call does not end as it should.
        """
        process.check()
        fate = self.strike(trigger, process)
        process.clock.thaw()
        process.check()
        if process.clock.monotonic() < process.machine.no_database_until:
            arrived = trigger in {Trigger.COPYING, Trigger.STATEMENT_DONE}
            error = OutcomeUnknown if arrived else CannotConnect
            raise error("the network is down", advice="Ask again.")
        if fate is not None:
            process.clock.sleep(fate.silent_seconds)
            raise fate.error()


class FaultyConnector(SimulatedConnector):
    """A connection that may break. It finds out with its next call, and the call after that connects again."""

    def __init__(self, server: Server, clock: ProcessClock) -> None:
        super().__init__(server.world, clock=clock)
        self._server = server
        self.process = clock.process
        self._starts = -1

    def _asked(self, ask: Callable[[], Any]) -> Any:  # whatever is asked
        server = self._server
        server.call(Trigger.READ_BEGIN, self.process)
        if not server.up:
            raise CannotConnect("the server does not answer", advice="Try again.")
        before, self._starts = self._starts, server.starts
        if before not in (-1, server.starts):
            raise CannotConnect("the connection was lost", advice="Try again.")
        answer = ask()
        server.call(Trigger.READ_DONE, self.process)
        return answer

    def identify(self) -> Identity:
        """The server that answers now."""
        answer: Identity = self._asked(super().identify)
        return Identity(**{**{name: getattr(answer, name) for name in answer.__dataclass_fields__},
                           "fingerprint": self._server.fingerprint})  # fmt: skip

    def catalog(self) -> Catalog:
        """Spaces and units; what an agent has seen is remembered for the oracles."""

        def noted() -> Catalog:
            answer = SimulatedConnector.catalog(self)
            free = {space.name: int(space.free_bytes or 0) for space in answer.spaces}
            self._server.looked[self.process.name] = (self._server.changes, free)  # before something strikes
            return answer

        found: Catalog = self._asked(noted)
        if self._server.catalog_seconds:  # others act while the answer is on its way
            self.process.clock.sleep(self._server.catalog_seconds)
        return found

    def sample(self) -> Sample:
        """Counters; what they cost is summed."""

        def counted() -> Sample:
            sample = SimulatedConnector.sample(self)
            self._server.cost[id(self.process)] += sample.server_seconds
            self._server.samples[id(self.process)] += 1
            return sample

        answer: Sample = self._asked(counted)
        return answer

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes of each unit."""
        answer: I64 = super().exact_sizes(physical_ids)  # asks for the catalog
        return answer

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """The engine's own."""
        answer: tuple[Route, ...] | NoRoute = self._asked(lambda: SimulatedConnector.routes(self, bundle, to_space))
        return answer

    def inspect(self, route: Route) -> Inspection:
        """Where a bundle is."""
        answer: Inspection = self._asked(lambda: SimulatedConnector.inspect(self, route))
        return answer

    def open_mover(self) -> FaultySession:
        """A session that may write."""
        self._server.on_mover(self.process)
        self._asked(self._let_in)
        return FaultySession(self._server, self.process)

    def acquire_lease(self, holder: str) -> FaultyLease:  # type: ignore[override]  # a lease of our own
        """Become the one agent that acts."""
        self._asked(self._let_in)
        held = self._server.lease
        if held is not None and held.process is not self.process and held.process.alive:
            raise LeaseHeld(f"{held.holder} acts on this database", advice="Stop it.")
        self._server.lease = FaultyLease(self._server, self.process, holder)
        self._server.lease_seen.add(id(self.process))
        return self._server.lease

    def _let_in(self) -> None:
        if self._server.refused:
            raise CannotConnect("the login of the mover was refused", advice="Let it in.")


class ConnectorOfFleet(FaultyConnector):
    """One that can end what an agent before it could still send, as PostgreSQL's does."""

    def end_holder(self, holder: str) -> None:
        """End the session that holds the lease under that name, and idle sessions that move."""
        self._asked(lambda: None)
        server = self._server
        if server.lease is not None and holder not in server.lease.holder:
            return
        server.lease = None
        for session in list(server.sessions):
            session.end_if_idle()


class FaultyLease:
    """Ends with its session, as an advisory lock does."""

    def __init__(self, server: Server, process: Process, holder: str) -> None:
        self._server = server
        self._starts = server.starts
        self.process = process
        self.holder = holder

    def is_held(self) -> bool:
        """Whether the session that holds it is still there."""
        held = self._server.lease is self and self._starts == self._server.starts and self._is_reached
        if held:
            self._server.lease_seen.add(id(self.process))
        return held

    def release(self) -> None:
        """Give it up; harmless when it is lost already. Over a dead network the server finds out in its own time."""
        if not self._is_reached:
            self._server.clock.call_later(NOTICES_A_DEAD_CLIENT, self._end)
            return
        self._end()

    @property
    def _is_reached(self) -> bool:
        return self._server.clock.monotonic() >= self.process.machine.no_database_until

    def _end(self) -> None:
        if self._server.lease is self:
            self._server.lease = None


class FaultySession(SimulatedSession):
    """A session that may write, over a way that may break at any moment."""

    def __init__(self, server: Server, process: Process) -> None:
        super().__init__(server.world, process.clock, read_only=False, may_move=not server.revoked)
        self._server = server
        self.process = process
        self._starts = server.starts
        self._sent: Sent | None = None
        self._at_work = False
        self._ended = False  # by whoever has taken the lease over
        server.sessions.add(self)

    def run(self, sql: str, timeout_seconds: float = 0.0) -> None:
        """Run one statement, unless the way to the server breaks."""
        statement = parse(sql)
        if not isinstance(statement, (Move, Control)):
            super().run(sql, timeout_seconds)
            return
        server = self._server
        server.call(Trigger.STATEMENT_BEGIN, self.process)
        if self._starts != server.starts or not server.up or self._ended:
            raise CannotConnect("the session has ended", advice="Open another one.")
        if server.revoked:
            raise PrivilegeMissing(f"this login may not move {statement.key}", advice="Grant it.")
        self._sent = Sent(self._clock.now(), self.process, sql, statement)
        server.on_statement(self._sent)
        self._at_work = True
        try:
            super().run(sql, timeout_seconds)
        except ObjectGone as gone:
            if self._starts != server.starts:
                raise OutcomeUnknown("the server went away", advice="Ask inspect().") from gone
            raise
        finally:
            self._at_work = False
        self._sent.done = True
        if isinstance(statement, Control):
            server.on_done(self._sent, [])
        server.call(Trigger.STATEMENT_DONE, self.process)

    def _go_through(self, running: RunningCopy, timeout_seconds: float, *, broken: bool) -> None:
        sent, rows = self._sent, list(running.rows)
        assert sent is not None
        if isinstance(sent.move, Move):
            self._server.on_begin(sent, running)
        sent.began = True
        super()._go_through(running, timeout_seconds, broken=broken)
        self._server.on_done(sent, rows)

    def _copy(self, token: int, timeout_seconds: float, *, broken: bool) -> None:
        try:
            super()._copy(token, timeout_seconds, broken=broken)
        except (Killed, OutcomeUnknown):
            self._leave(token)
            raise

    def _pause(self, seconds: float) -> None:
        super()._pause(seconds)
        if self._progress is not None:
            self._server.call(Trigger.COPYING, self.process)

    def _leave(self, token: int) -> None:
        """The client is gone. The server notices at once, or only once it has done what it was told."""
        server, sent = self._server, self._sent
        with server.world.turn():
            placement = server.world.placement
            move = placement.running.get(token)
            if move is None or move.paused or not server.goes_on:
                return
            left = copy_seconds(placement, move) / server.world.settings.speed
            del placement.running[token]
            placement.last_token += 1
            move.token = placement.last_token
            placement.running[move.token] = move
        starts = server.starts

        def end() -> None:
            with server.world.turn():
                if move.token not in server.world.placement.running or starts != server.starts:
                    return
                try:
                    server.world.placement.finish(move.token)
                except ObjectGone:
                    return
                server.world.mark_changed()
            assert sent is not None
            sent.done = True
            server.on_done(sent, list(move.rows))

        server.clock.call_later(max(1.0, left), end)

    def pause(self) -> bool:
        """As the engine's, over a session of this server."""
        step = self._step
        if step is None or not step.pausable or self._progress is None:
            return False
        with FaultySession(self._server, self.process) as other:
            other.run(step.pause_sql)
        return True

    def end_if_idle(self) -> None:
        """As a server does on the word of an administrator; a statement that runs goes on."""
        if not self._at_work:
            self._ended = True
            self._server.sessions.discard(self)

    def close(self) -> None:
        """End the session."""
        self._server.sessions.discard(self)
        super().close()


def error_of(kind: str) -> Callable[[], HotplaceError]:
    """What a client sees of a fault, by the name of its kind."""
    return {
        "deadlock": lambda: LockNotObtained("deadlock detected", advice="Try again.", native_code="DEADLOCK"),
        "lock time-out": lambda: LockNotObtained("lock timeout", advice="Try again.", native_code="LOCK_TIMEOUT"),
        "space full": lambda: SpaceFull("no space left on the device", advice="Make room."),
    }[kind]


def connect_to(server: Server, clock: Clock) -> FaultyConnector:
    """What the registry's ``connect`` gives on this site."""
    assert isinstance(clock, ProcessClock)
    return server.connector(server, clock)
