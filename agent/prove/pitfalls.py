"""What goes wrong in practice, tried on tables of their own: each through the executor, as any approved move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.ledger import MoveRow, RequestKind, StepState
from agent.model.states import NOT_CARRIED_OUT, UNDOABLE, MoveState
from agent.prove.bench import Bench, with_exact_size
from agent.prove.comparing import in_words, look
from agent.prove.moving import ids_of
from agent.prove.witness import Witness
from connectors.base import ConnectorError
from connectors.model import Bundle, Home, NoRoute, Route
from connectors.proving.proof import Case

HELD_SECONDS = 1.5  # for which another session holds what an online build waits for
BEGIN_SECONDS = 10.0  # in which a move begins that nothing keeps from it
PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class Pitfalls:
    """Each method tries one; what it finds stands in the findings."""

    bench: Bench
    witness: Witness
    case: Case

    def run(self) -> None:
        """All of them; one that cannot be tried says why, and the others follow.

        Raises:
            NotApproved: a person said no.
        """
        tries: dict[str, Callable[[], None]] = {
            "lock": self._lock,
            "long transaction": self._long_transaction,
            "cancelled": self._cancel_while_waiting,
            "dropped": lambda: self._change_before_move("vanish", "dropped"),
            "grown": lambda: self._change_before_move("grow", "grown"),
        }
        for name, attempt in tries.items():
            try:
                attempt()
            except CannotTry as why:
                self.bench.findings.note_not_tried(f"pitfall {name}", str(why))
            except ConnectorError as error:
                self.bench.findings.note_failure(f"pitfall {name}", error)

    # -- another session -----------------------------------------------------------------------------------------

    def _lock(self) -> None:
        """A move that locks the object, while a transaction that has read it is open."""
        number = self._approve(self._route("reading", online=False))
        holder = Holder(self.bench, self.case, "reading")
        try:
            (row,) = self.bench.carry_out(number, HELD_SECONDS)
            held = self.bench.watch.connector.inspect(row.move.route)
        finally:
            holder.close()
        # The same approval goes on once the lock is free: a move that had failed instead would have to be approved
        # again.
        (after,) = self.bench.carry_out(number, PATIENCE_SECONDS)
        self.bench.strike_rest(number)
        words = f"while held: {row.state}, {held.sentence}; then: {after.state}"
        right = row.state is MoveState.APPROVED and held.home is Home.SOURCE and after.state in UNDOABLE
        self._tell("lock", right, words)

    def _long_transaction(self) -> None:
        """An online build, while a transaction that has written to its table is open."""
        number = self._approve(self._route("writing", online=True))
        row, states, probes = self._held_build(number, cancel=False)
        words = f"while held: {states}, {probes} reads and writes ended; then: {row.state}"
        self._tell("long transaction", row.state in UNDOABLE and probes > 0, words)
        self._back(row)

    def _cancel_while_waiting(self) -> None:
        """The same, and a person cancels it while it waits."""
        session, script = self.bench.session, self.bench.script
        before = look(session, script, self.case)
        number = self._approve(self._route("writing", online=True))
        row, _, _ = self._held_build(number, cancel=True)
        self._tidy()
        left = in_words(before.differences(look(session, script, self.case)))
        words = f"{row.state}; {left or 'all as before'}"
        self._tell("cancelled", row.state is MoveState.CANCELLED and not left, words)

    def _held_build(self, number: int, *, cancel: bool) -> tuple[MoveRow, str, int]:
        """Let a move begin while another session is in its way; the move at its end, its state then, probes."""
        bench, holder = self.bench, Holder(self.bench, self.case, "writing")
        known = len(self.witness.probes)
        try:
            with bench.acting(number, PATIENCE_SECONDS):
                self._until_begun(number)
                bench.clock.sleep(HELD_SECONDS)
                self._until_probed(known)
                (row,) = bench.rows(number)
                states = str(row.state)
                begun = row.state is MoveState.RUNNING
                if cancel and begun:
                    bench.ledger.requests.submit(
                        row.id, RequestKind.CANCEL, who=bench.who, origin=bench.origin, reason="tried by prove"
                    )
                    self._until_cancelled(row)
                probes = sum(not probe.error for probe in self.witness.probes[known:])
                holder.close()
        finally:
            holder.close()
        bench.strike_rest(number)
        (row,) = bench.rows(number)
        if cancel and not begun:
            self._back(row)
            raise CannotTry(f"it was not begun while the transaction was open: {states}")
        return row, states, probes

    def _until_begun(self, number: int) -> None:
        """Wait until the move runs; one that waits for the transaction before it is sent does not."""
        until = self.bench.clock.monotonic() + BEGIN_SECONDS
        while self.bench.clock.monotonic() < until:
            if any(row.state is MoveState.RUNNING for row in self.bench.rows(number)):
                return
            self.bench.clock.sleep(0.05)

    def _until_probed(self, known: int) -> None:
        """Wait until a read or write of others has ended: a busy machine may take longer than the lock is held."""
        until = self.bench.clock.monotonic() + BEGIN_SECONDS
        while self.bench.clock.monotonic() < until:
            if any(not probe.error for probe in self.witness.probes[known:]):
                return
            self.bench.clock.sleep(0.05)

    def _until_cancelled(self, row: MoveRow) -> None:
        """Wait until the statement of a move is broken off; what it waits for stays in its way until then.

        A statement that is done does not count: the one that waits follows it.
        """
        until = self.bench.clock.monotonic() + PATIENCE_SECONDS / 2
        while self.bench.clock.monotonic() < until:
            states = {step.state for step in self.bench.ledger.moves.steps(row.id)}
            if states - {StepState.DONE} and StepState.INTENDED not in states:
                return
            self.bench.clock.sleep(0.1)

    def _tidy(self) -> None:
        """Let the executor remove what a cancelled build has left."""
        until = self.bench.clock.monotonic() + PATIENCE_SECONDS
        while self.bench.watch.executor.leftovers() and self.bench.clock.monotonic() < until:
            self.bench.watch.act()
            self.bench.clock.sleep(0.2)

    # -- the object itself ---------------------------------------------------------------------------------------

    def _change_before_move(self, part: str, name: str) -> None:
        """A move whose object is changed by the statements of ``part`` between approval and move."""
        statements = self.case.part(part)
        if not statements:
            raise CannotTry(f"the case {self.case.name} has no statement for it")
        number = self._approve(self._route(part, online=None))
        for statement in statements:
            self.bench.session.run(statement.sql)
        (row,) = self.bench.carry_out(number, PATIENCE_SECONDS)
        self.bench.strike_rest(number)
        sent = self.bench.ledger.moves.steps(row.id)
        words = f"{row.state}: {row.reason}"
        self._tell(name, row.state in NOT_CARRIED_OUT and not sent, words)

    # -- small parts ---------------------------------------------------------------------------------------------

    def _route(self, part: str, *, online: bool | None) -> Route:
        """A way of the unit that the note of the part names: online, locking, or (None) the kindest."""
        bundle, connector = self._bundle(part), self.bench.watch.connector
        key, space = bundle.key, self.bench.script.scratch
        to_space = space.fast if bundle.space == space.slow else space.slow
        ways = connector.routes(with_exact_size(bundle, list(connector.exact_sizes(ids_of(bundle)))), to_space)
        if isinstance(ways, NoRoute):
            raise CannotTry(f"{key} has no way: {ways.sentence}")
        fitting = next((way for way in ways if online in {None, way.online}), None)
        if fitting is None:
            raise CannotTry(f"{key} has no {'online' if online else 'locking'} way on this server")
        return fitting

    def _bundle(self, part: str) -> Bundle:
        """The unit that the note of the part names."""
        notes = [each.note for each in self.case.part(part)]
        if not notes:
            raise CannotTry(f"the case {self.case.name} has nothing for it")
        key = notes[0].partition(" ")[2]
        for found in self.bench.bundles([self.case], self.bench.watch.connector.catalog()):
            if found.key == key:
                return found
        raise CannotTry(f"{key} is not in the catalog")

    def _approve(self, route: Route) -> int:
        number = self.bench.store([route])
        self.bench.confirm(number)
        return number

    def _back(self, row: MoveRow) -> None:
        if row.state in UNDOABLE:
            number = self.bench.store_undo([row])
            self.bench.confirm(number)
            self.bench.carry_out(number, PATIENCE_SECONDS)
            self.bench.strike_rest(number)
            self.bench.watch.verify()

    def _tell(self, name: str, right: bool, words: str) -> None:
        findings = self.bench.findings
        (findings.note_seen if right else findings.note_contradiction)(f"pitfall {name}", words)


class CannotTry(Exception):
    """A pitfall cannot be tried on this server; the text says why."""


class Holder:
    """Another session with an open transaction on the object, until it is closed."""

    def __init__(self, bench: Bench, case: Case, part: str) -> None:
        self._session = bench.open_session()
        self._open = True
        for statement in case.part(part):
            self._session.hold(statement.sql)

    def close(self) -> None:
        """Roll back and end the session; harmless the second time."""
        if self._open:
            self._open = False
            try:
                self._session.let_go()
            finally:
                self._session.close()
