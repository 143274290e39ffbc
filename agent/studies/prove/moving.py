"""Units there and back by every way there is, and what goes wrong in practice.

Every unit of the cases there and back, by every way there is, each move compared with what was before.

What goes wrong in practice, tried on tables of their own: each through the executor, as any approved move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from agent.ledger.rows import MoveRow, RequestKind, StepState
from agent.model.states import NOT_CARRIED_OUT, UNDOABLE, MoveState
from agent.moving.progress import MoveEvent
from agent.studies.prove.bench import MOST_SECONDS, Bench, Witness, judge_locks, judge_others, windows, with_exact_size
from agent.studies.prove.claims import LOST, Result, native_code_of
from agent.studies.prove.script import State, in_words, look
from connectors.kit.contract import ConnectorError, HotplaceError
from connectors.kit.proving import MOVES, Case
from connectors.model.formatting import format_seconds
from connectors.model.moves import Bundle, NoRoute, Route, UnitKind
from connectors.model.observation import I64, Catalog, Home

QUICK_SECONDS = 300.0  # in which moves of a quick proof begin: what is made, read and dropped takes its time, too
QUICK_KINDS = (UnitKind.TABLE, UnitKind.INDEX)


@dataclass(slots=True)
class Rounds:
    """The moves of a proof. Its ``listen`` hears of everything that happens to a move."""

    bench: Bench
    witness: Witness
    before: dict[str, State] = field(default_factory=dict)  # by case: as it was made and loaded
    compared: dict[str, int] = field(default_factory=dict)  # by case: after how many moves it was as before
    tried: set[tuple[str, str]] = field(default_factory=set)  # key and way
    lost: HotplaceError | None = None  # the session that compares has lost its connection
    refused: dict[str, set[str]] = field(default_factory=dict)  # by case: bundles that were refused as it says
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # by case and way: seconds of each move

    def listen(self, event: MoveEvent) -> None:
        """Aim the witness at what begins to move, and compare what has arrived."""
        case = self.bench.case_of(event.move.move.key)
        state = event.move.state
        if state is MoveState.RUNNING:
            self.witness.aim(case)
        elif state is not MoveState.PRECHECK:
            self.witness.aim(None)
        if state is MoveState.PLACED and case is not None and case.purpose == MOVES:
            self._compare(case, event.move)

    def run(self, cases: Sequence[Case]) -> None:
        """All rounds of these cases: of each bundle its kindest way in the first, the next in the second, and back.

        What rewrites the same thing waits for another round: a partition's move changes what the next one starts from.

        Raises:
            NotApproved: a person said no.
            ConnectorError: the engine did not answer.
        """
        for case in cases:
            self.before[case.name] = look(self.bench.session, self.bench.script, case)
        try:
            self._all_rounds(cases)
        except BaseException:
            self._conclude_all(cases, whole=False)
            raise
        self._conclude_all(cases, whole=True)

    def _all_rounds(self, cases: Sequence[Case]) -> None:
        round_number, until = 1, self.bench.clock.monotonic() + QUICK_SECONDS
        while routes := self._routes(cases):
            if self.bench.script.quick and self.bench.clock.monotonic() > until:
                self.bench.say(f"{len(routes)} more ways are left out: the time of --quick is up")
                return
            self.bench.say(f"round {round_number}: {len(routes)} moves there, and back")
            there = self._carry_out(self.bench.store(routes))
            arrived = [row for row in there if row.state in UNDOABLE]
            if arrived:
                self._carry_out(self.bench.store_undo(arrived))
                self.bench.watch.verify()  # what was taken back is noted
            round_number += 1

    def _conclude_all(self, cases: Sequence[Case], *, whole: bool) -> None:
        for case in cases:
            (self._conclude if whole else self._conclude_part)(case)
        judge_locks(self.bench.findings, self.witness, self.bench)
        judge_others(self.bench.findings, self.witness, self.bench)

    def _carry_out(self, number: int) -> list[MoveRow]:
        self.bench.confirm(number)
        rows = self.bench.carry_out(number, MOST_SECONDS * len(self.bench.rows(number)))
        self.bench.strike_rest(number)
        if self.lost is not None:
            raise self.lost
        for row in rows:
            self._judge(row)
        return rows

    # -- routes --------------------------------------------------------------------------------------------------

    def _routes(self, cases: Sequence[Case]) -> list[Route]:
        """Of each bundle the kindest way that was not tried yet; of those that rewrite one thing the first alone."""
        connector = self.bench.watch.connector
        catalog = connector.catalog()
        found: list[Route] = []
        for bundle in self._bundles(cases, catalog):
            if bundle.space != self.bench.script.scratch.slow:
                continue  # a move before this one has failed, which stands in the findings
            ways = self._ways(with_exact_size(bundle, list(connector.exact_sizes(ids_of(bundle)))))
            way = next((each for each in ways if (bundle.key, each.name) not in self.tried), None)
            if way is not None and not (way.rewrites and way.rewrites in {each.rewrites for each in found}):
                self.tried.add((bundle.key, way.name))
                found.append(way)
        return found

    def _bundles(self, cases: Sequence[Case], catalog: Catalog) -> list[Bundle]:
        """All of the cases; of a quick proof the first table and the first index."""
        bundles = self.bench.bundles(cases, catalog)
        if not self.bench.script.quick:
            return bundles
        # In the order of the cases: that of the catalog changes with a rebuild.
        order = [key for case in cases for key in case.units]
        listed = sorted((each for each in bundles if each.key in order), key=lambda each: order.index(each.key))
        first = {kind: next((each for each in listed if each.kind is kind), None) for kind in QUICK_KINDS}
        return [bundle for bundle in first.values() if bundle is not None]

    def _ways(self, bundle: Bundle) -> tuple[Route, ...]:
        case = self.bench.case_of(bundle.key)
        assert case is not None, "bundles are of cases"
        try:
            ways = self.bench.watch.connector.routes(bundle, self.bench.script.scratch.fast)
        except HotplaceError as error:
            # A finding like any other: the remaining cases are still tried.
            self.bench.findings.note_failure(f"move {case.name}", error)
            return ()
        if case.refused:
            self._judge_refusal(case, bundle, ways)
            return ()
        if isinstance(ways, NoRoute) and ways.setting:
            self.bench.findings.note_not_tried(f"move {case.name}", f"{bundle.key} is refused by {ways.setting}")
            return ()
        if isinstance(ways, NoRoute):
            self.bench.findings.note_contradiction(f"move {case.name}", f"{bundle.key} has no way: {ways.sentence}")
            return ()
        return ways

    def _judge_refusal(self, case: Case, bundle: Bundle, ways: tuple[Route, ...] | NoRoute) -> None:
        """Hold the refusal of a unit that has to be refused against the case."""
        code = f"move {case.name}"
        if not isinstance(ways, NoRoute):
            self.bench.findings.note_contradiction(code, f"{bundle.key} would be moved by {ways[0].name}")
        elif ways.code != case.refused:
            self.bench.findings.note_contradiction(code, f"{bundle.key} is refused for another reason: {ways.sentence}")
        else:
            keys = self.refused.setdefault(case.name, set())
            keys.add(bundle.key)
            self.bench.findings.note_seen(code, f"{len(keys)} units are refused: {ways.sentence}")

    # -- judging -------------------------------------------------------------------------------------------------

    def _judge(self, row: MoveRow) -> None:
        case = self.bench.case_of(row.move.key)
        assert case is not None, "as above"
        route = row.move.route
        where = f"{row.move.key} to {row.move.to_space} by {route.name}"
        now = self.bench.ledger.moves.row(row.id)
        if now.state not in UNDOABLE:
            steps = self.bench.ledger.moves.steps(row.id)
            native = next((step.detail for step in reversed(steps) if step.detail), "")
            self.bench.findings.note_contradiction(f"move {case.name}", f"{where}: {now.state}: {now.reason}", native)
            return
        try:
            seen = self.bench.watch.connector.inspect(route)
        except HotplaceError as error:
            self.bench.findings.note_contradiction(f"move {case.name}", f"{where}: {error}", native_code_of(error))
            return
        if seen.home is not Home.TARGET or seen.on_disk is False:
            self.bench.findings.note_contradiction(f"move {case.name}", f"{where}: afterwards {seen.sentence}")
            return
        self.times.setdefault(case.name, {}).setdefault(route.name, []).append(self._seconds(row))

    def _seconds(self, row: MoveRow) -> float:
        ended = [
            (step.ended_at - step.intended_at).total_seconds()
            for step in self.bench.ledger.moves.steps(row.id)
            if step.ended_at is not None
        ]
        return sum(ended)

    def _compare(self, case: Case, row: MoveRow) -> None:
        try:
            now = look(self.bench.session, self.bench.script, case)
        except LOST as error:
            self.lost = self.lost or error  # raised when the moves have ended: this is the thread that moves
            return
        except HotplaceError as error:
            self.bench.findings.note_failure(f"kept {case.name}", error)
            return
        different = self.before[case.name].differences(now)
        if different:
            what = f"after {row.move.key} to {row.move.to_space} by {row.move.route.name}"
            self.bench.findings.note_contradiction(f"kept {case.name}", f"{what}: {in_words(different)}")
            self.before[case.name] = now  # the next move is held against this
        else:
            self.compared[case.name] = self.compared.get(case.name, 0) + 1

    def _conclude(self, case: Case) -> None:
        findings, times = self.bench.findings, self.times.get(case.name, {})
        if case.refused:
            if not self.refused.get(case.name):
                findings.note_not_tried(f"move {case.name}", "no unit of it was there to be refused")
            return
        if times and findings.result(f"move {case.name}") is not Result.CONTRADICTED:
            findings.note_seen(f"move {case.name}", "; ".join(_in_words(name, took) for name, took in times.items()))
        elif not times:
            findings.note_not_tried(f"move {case.name}", "no unit of it could be moved")
        count = self.compared.get(case.name, 0)
        if count:
            objects = len(self.before[case.name].facts)
            findings.note_seen(f"kept {case.name}", f"{objects} facts, the same after each of {count} moves")
        else:
            findings.note_not_tried(f"kept {case.name}", "no unit of it could be moved")

    def _conclude_part(self, case: Case) -> None:
        """What was seen of a case before the run was cut off: too little for its claims."""
        findings, count = self.bench.findings, self.compared.get(case.name, 0)
        carried_out = sum(window.row.move.key in case.units for window in windows(self.bench))
        if carried_out:
            words = f"{carried_out} moves were carried out, then the run ended"
            findings.note_not_tried(f"move {case.name}", words)
        if count:
            findings.note_not_tried(f"kept {case.name}", f"the same after each of {count} moves, then the run ended")


def _in_words(way: str, seconds: Sequence[float]) -> str:
    shortest, longest = format_seconds(min(seconds)), format_seconds(max(seconds))
    return f"{len(seconds)} by {way}, {shortest} to {longest} each"


def ids_of(bundle: Bundle) -> I64:
    """Physical ids of the bundle's units."""
    return np.array(bundle.physical_ids, dtype=np.int64)


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
        holder = LockHolder(self.bench, self.case, "reading")
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
        self._back(after)

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
        bench, holder = self.bench, LockHolder(self.bench, self.case, "writing")
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


class LockHolder:
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
