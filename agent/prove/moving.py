"""Every unit of the cases there and back, by every way there is, each move compared with what was before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from agent.execution.hooks import MoveEvent
from agent.ledger import MoveRow
from agent.model.states import UNDOABLE, MoveState
from agent.prove.bench import MOST_SECONDS, Bench, with_exact_size
from agent.prove.claims import LOST, Result, native_code_of
from agent.prove.comparing import State, in_words, look
from agent.prove.judging import judge_locks, judge_others, windows
from agent.prove.witness import Witness
from connectors.base import HotplaceError
from connectors.formatting import format_seconds
from connectors.model import I64, Bundle, Home, NoRoute, Route
from connectors.proving.proof import MOVES, Case


@dataclass(slots=True)
class Rounds:
    """The moves of a proof. Its ``listen`` hears of everything that happens to a move."""

    bench: Bench
    witness: Witness
    before: dict[str, State] = field(default_factory=dict)  # by case: as it was made and loaded
    compared: dict[str, int] = field(default_factory=dict)  # by case: after how many moves it was as before
    tried: set[tuple[str, str]] = field(default_factory=set)  # key and way
    lost: HotplaceError | None = None  # the session that compares has lost its connection
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

    def run(self) -> None:
        """All rounds: of each bundle its kindest way in the first, the next one in the second, and back each time.

        What rewrites the same thing waits for another round: a partition's move changes what the next one starts from.

        Raises:
            NotApproved: a person said no.
            ConnectorError: the engine did not answer.
        """
        cases = [case for case in self.bench.made if case.purpose == MOVES]
        for case in cases:
            self.before[case.name] = look(self.bench.session, self.bench.script, case)
        try:
            self._all_rounds(cases)
        except BaseException:
            self._conclude_all(cases, whole=False)
            raise
        self._conclude_all(cases, whole=True)

    def _all_rounds(self, cases: Sequence[Case]) -> None:
        round_number = 1
        while routes := self._routes(cases):
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
        for bundle in self.bench.bundles(cases, catalog):
            if bundle.space != self.bench.script.scratch.slow:
                continue  # a move before this one has failed, which stands in the findings
            ways = self._ways(with_exact_size(bundle, list(connector.exact_sizes(ids_of(bundle)))))
            way = next((each for each in ways if (bundle.key, each.name) not in self.tried), None)
            if way is not None and not (way.rewrites and way.rewrites in {each.rewrites for each in found}):
                self.tried.add((bundle.key, way.name))
                found.append(way)
        return found

    def _ways(self, bundle: Bundle) -> tuple[Route, ...]:
        case = self.bench.case_of(bundle.key)
        assert case is not None, "bundles are of cases"
        try:
            ways = self.bench.watch.connector.routes(bundle, self.bench.script.scratch.fast)
        except HotplaceError as error:
            self.bench.findings.note_failure(f"move {case.name}", error)
            return ()
        if isinstance(ways, NoRoute) and ways.setting:
            self.bench.findings.note_not_tried(f"move {case.name}", f"{bundle.key} is refused by {ways.setting}")
            return ()
        if isinstance(ways, NoRoute):
            self.bench.findings.note_contradiction(f"move {case.name}", f"{bundle.key} has no way: {ways.sentence}")
            return ()
        return ways

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
