"""What every part of a proof works with, and what other sessions saw of the moves.

Other sessions while something moves: one reads and writes what moves, one looks at the locks.

What other sessions saw of the moves: the strongest lock of each way, and whether reads and writes went on.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.model.proposals import Proposal, ProposedMove
from agent.model.states import ACTIONABLE, CARRIED_OUT, TO_BEGIN
from agent.planning.template_proposals import unweighed_move, unweighed_proposal
from agent.planning.undo import propose_undo
from agent.service.watch import Watch
from agent.studies.prove.claims import ClaimFindings
from agent.studies.prove.script import ProofNotApproved, Script
from connectors.kit.contract import Clock, HotplaceError
from connectors.kit.proving import Case, Proof, ProofSession
from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import Bundle, Locked, Route, UnitKind
from connectors.model.observation import Catalog

PURPOSE = "prove"  # Proposal.purpose and ProposedMove.reason
MOST_SECONDS = 120.0  # that a move may take in the mean; what of a proposal is left then is struck
LOOK_SECONDS = 0.05
Approve = Callable[[int, Proposal], bool]  # shows a stored proposal and asks; True: carry it out


@dataclass(slots=True)
class Bench:
    """One run of a proof on one scratch schema."""

    database: DatabaseConfig
    proof: Proof
    script: Script
    ledger: Ledger
    clock: Clock
    watch: Watch
    session: ProofSession
    findings: ClaimFindings
    approve: Approve
    who: str
    origin: str
    say: Callable[[str], None]
    proposals: list[int] = field(default_factory=list)  # numbers of those that were stored
    made: list[Case] = field(default_factory=list)  # cases whose statements were sent, whole or in part

    def open_session(self) -> ProofSession:
        """Another session of the moving login."""
        return self.proof.open_session(self.database.move_connection or self.database.connection, self.clock)

    # -- moves ---------------------------------------------------------------------------------------------------

    def store(self, routes: Sequence[Route]) -> int:
        """A proposal of these moves, each a group of its own; returns its number."""
        connector, now = self.watch.connector, self.clock.now()
        tier_of = {space: tier.name for tier in self.database.tiers for space in tier.tier.spaces}
        speed = self.database.policy_settings().copy_bytes_per_second
        moves = (_move(number, route, tier_of, speed) for number, route in enumerate(routes, start=1))
        fingerprint = connector.identify().fingerprint
        return self._note(unweighed_proposal(self.database, fingerprint, moves, now, PURPOSE, asked_by=self.who))

    def _note(self, proposal: Proposal) -> int:
        self.proposals.append(self.ledger.proposals.store(proposal))
        return self.proposals[-1]

    def store_undo(self, rows: Sequence[MoveRow]) -> int:
        """A proposal that takes the moves back; returns its number.

        Raises:
            CannotUndo, ConnectorError: there is no way back.
        """
        connector = self.watch.connector
        now = self.clock.now()
        self.proposals.append(propose_undo(rows, self.database, connector, self.ledger, now, asked_by=self.who))
        return self.proposals[-1]

    def confirm(self, number: int) -> None:
        """Show a proposal, ask, and approve exactly what was shown.

        Raises:
            NotApproved: the answer was no.
        """
        row = self.ledger.proposals.row(number)
        if not self.approve(number, row.proposal):
            self.ledger.proposals.reject(number, who=self.who, origin=self.origin, reason="not confirmed")
            raise ProofNotApproved(f"proposal {number} was not approved", advice="What was made is dropped again.")
        self.ledger.proposals.approve(number, who=self.who, origin=self.origin, digest=row.digest)

    def carry_out(self, number: int, most_seconds: float = MOST_SECONDS) -> list[MoveRow]:
        """Act until every move of the proposal has ended, or the time is up; returns them as they are then.

        Raises:
            ConnectorError: the engine did not answer, or another agent has the lease.
        """
        with self.acting(number, most_seconds):
            pass
        return self.rows(number)

    @contextmanager
    def acting(self, number: int, most_seconds: float = MOST_SECONDS) -> Iterator[None]:
        """Act in a thread while the body runs, and wait for its end; Ctrl-C cancels the statement that runs."""
        failed: list[BaseException] = []
        enough, ended = threading.Event(), threading.Event()  # Ctrl-C in Thread.join() marks a live thread as ended

        def act() -> None:
            try:
                until = self.clock.monotonic() + most_seconds
                while self._has_work(number) and self.clock.monotonic() < until and not enough.is_set():
                    self.watch.act()
                    enough.wait(LOOK_SECONDS)
            except BaseException as error:  # noqa: BLE001  # raised again in the thread that waits
                failed.append(error)
            finally:
                ended.set()

        threading.Thread(target=act, name="acting").start()
        try:
            yield
            ended.wait()
        except BaseException:
            enough.set()
            self.watch.acting.stop()
            # Waited for even after Ctrl-C: the session that is about to drop the scratch schema must not meet a
            # statement of our own.
            ended.wait()
            raise
        if failed:
            raise failed[0]

    def rows(self, number: int) -> list[MoveRow]:
        """The moves of a proposal as they are now."""
        return self.ledger.moves.rows(proposal_id=number)

    def strike_rest(self, number: int) -> None:
        """Drop what of the proposal has not begun, so that nothing of it ever runs."""
        for row in self.rows(number):
            if self.ledger.moves.row(row.id).state in TO_BEGIN:
                self.ledger.proposals.strike(
                    number, row.move.ordinal, who=self.who, origin=self.origin, reason="the proof goes on without it"
                )

    def _has_work(self, number: int) -> bool:
        return any(row.state in ACTIONABLE for row in self.rows(number))

    # -- catalog -------------------------------------------------------------------------------------------------

    def bundles(self, cases: Sequence[Case], catalog: Catalog) -> list[Bundle]:
        """Every bundle of the cases' units that the catalog has, once each, led by the first of its units."""
        wanted = {key for case in cases for key in case.units}
        first: dict[int, int] = {}
        for row, key in enumerate(catalog.units.key):
            if key in wanted:
                first.setdefault(int(catalog.units.bundle[row]), row)
        return [bundle_of(catalog, row) for row in first.values()]

    def case_of(self, key: str) -> Case | None:
        """The case that has a unit of that key."""
        return next((case for case in self.script.cases if key in case.units), None)


def bundle_of(catalog: Catalog, row: int) -> Bundle:
    """The bundle that the unit in that row leads."""
    units = catalog.units
    rows = [row, *(other for other in range(len(units)) if other != row and units.bundle[other] == units.bundle[row])]
    return Bundle(
        key=units.key[row],
        physical_ids=tuple(int(units.physical_id[each]) for each in rows),
        unit_keys=tuple(units.key[each] for each in rows),
        kind=UnitKind(int(units.kind[row])),
        size_bytes=int(units.size_bytes[rows].sum()),
        space=catalog.spaces[int(units.space[row])].name,
    )


def with_exact_size(bundle: Bundle, sizes: Sequence[int]) -> Bundle:
    """The bundle with the bytes that its units have now; units that are gone count nothing."""
    return replace(bundle, size_bytes=sum(max(0, int(size)) for size in sizes))


def _move(ordinal: int, route: Route, tier_of: dict[str, str], copy_bytes_per_second: float) -> ProposedMove:
    size = format_bytes(route.bundle.size_bytes)
    sentence = f"{route.bundle.key} ({size}) goes to {route.to_space} by {route.name}"
    return unweighed_move(ordinal, route, PURPOSE, tier_of, copy_bytes_per_second, sentence)


EVERY_SECONDS = 0.005  # between two statements of each
END_SECONDS = 30.0  # that a last statement may wait for


@dataclass(frozen=True, slots=True)
class Probe:
    """One read or write of another session."""

    kind: str  # "read" or "write"
    began: datetime
    ended: datetime
    error: str = ""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.began).total_seconds()


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock of the moving session at one instant."""

    at: datetime
    relation: str
    mode: str
    rank: int  # a stronger lock has a greater one
    granted: bool


@dataclass(slots=True)
class Witness:
    """Two threads that work while ``aim`` has given them a case, and rest else."""

    script: Script
    clock: Clock
    open_session: Callable[[], ProofSession]
    probes: list[Probe] = field(default_factory=list)
    locks: list[SeenLock] = field(default_factory=list)
    fault: str = ""  # why no locks are seen
    _case: Case | None = None
    _wake: threading.Event = field(default_factory=threading.Event)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin both; each has a session of its own."""
        for work in (self._probe, self._look):
            thread = threading.Thread(target=self._serve, args=(work,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def aim(self, case: Case | None) -> None:
        """Work on this case from now on; None: rest."""
        self._case = case
        if case is None:
            self._wake.clear()
        else:
            self._wake.set()

    def stop(self) -> None:
        """End both, after the statement that runs."""
        self._stopping.set()
        self._wake.set()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _serve(self, work: Callable[[ProofSession, Case], None]) -> None:
        try:
            session = self.open_session()
        except HotplaceError as error:
            self.fault = str(error)
            return
        try:
            while not self._stopping.is_set():
                case = self._case
                if case is None or not self._wake.wait(0.2):
                    self._stopping.wait(EVERY_SECONDS)
                    continue
                work(session, case)
                self._stopping.wait(EVERY_SECONDS)
        finally:
            session.close()

    def _probe(self, session: ProofSession, case: Case) -> None:
        for kind in ("read", "write"):
            for statement in case.part(kind):
                began, failed = self.clock.now(), ""
                try:
                    (session.rows if kind == "read" else session.run)(statement.sql)
                except HotplaceError as error:
                    failed = str(error)
                self.probes.append(Probe(kind, began, self.clock.now(), failed))

    def _look(self, session: ProofSession, _case: Case) -> None:
        try:
            rows = session.rows(self.script.questions["locks"])
        except HotplaceError as error:
            self.fault = str(error)
            self._stopping.wait(1.0)
            return
        now = self.clock.now()
        self.locks += [SeenLock(now, str(key), str(mode), int(rank), bool(got)) for key, mode, rank, got in rows]


LONG_SECONDS = 1.0  # a statement of another session that takes so long was held up
WHO_WAITS: dict[Locked | None, str] = {
    Locked.ALL: "all others",
    Locked.WRITES: "writers",
}  # for a way that locks like this; else some


@dataclass(frozen=True, slots=True)
class Window:
    """While the statements of one move ran."""

    row: MoveRow
    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        """How long that was."""
        return (self.ended - self.began).total_seconds()


def windows(bench: Bench) -> Iterator[Window]:
    """Of each move of this proof that was carried out, by the journal."""
    for row in (row for number in bench.proposals for row in bench.rows(number) if row.state in CARRIED_OUT):
        steps = [step for step in bench.ledger.moves.steps(row.id) if step.ended_at is not None]
        if steps:
            yield Window(row, steps[0].intended_at, max(step.ended_at for step in steps if step.ended_at))


def judge_locks(findings: ClaimFindings, witness: Witness, bench: Bench) -> None:
    """Hold the strongest lock that was seen on the case's units against the words of the route; no move, no finding."""
    if not any(windows(bench)):
        return
    strongest: dict[str, tuple[SeenLock, Window]] = {}
    for window in windows(bench):
        case = bench.case_of(window.row.move.key)
        for lock in _within(witness.locks, window):
            if case is None or not belongs(case, lock.relation):
                continue
            name = window.row.move.route.name
            if name not in strongest or lock.rank > strongest[name][0].rank:
                strongest[name] = lock, window
    for name in bench.proof.routes:
        if name not in strongest:
            why = witness.fault or "every move was over before another session looked"
            findings.note_not_tried(f"lock {name}", why)
            continue
        lock, window = strongest[name]
        words = f"{lock.mode} on {lock.relation} while {window.row.move.key} moved"
        named = is_named(lock.mode, window.row.move.route.locks)
        (findings.note_seen if named else findings.note_contradiction)(f"lock {name}", words)


def belongs(case: Case, relation: str) -> bool:
    """Whether a relation is a unit of the case, or the table of one.

    >>> case = Case(name="", sentence="", purpose="", units={"[s].[t].[i] partition 1": "index partition"})
    >>> belongs(case, "[s].[t]"), belongs(case, "[s].[u]")
    (True, False)
    """
    return any(key == relation or key.startswith((f"{relation}.", f"{relation} ")) for key in case.units)


def is_named(mode: str, locks: str) -> bool:
    """Whether the words of a route begin with that mode or name it as one that comes later.

    >>> words = "IS on the table while it is built, Sch-M for a moment at the end; waits at most 10 s"
    >>> is_named("IS", words), is_named("Sch-M", words), is_named("S", words), is_named("X", words)
    (True, True, False, False)
    >>> is_named("Sch-M", "S on the table while it is copied: reads go on; then Sch-M for a moment")
    True
    """
    return re.search(rf"(?:^|[,;] (?:then )?){re.escape(mode)} (?:on|for) ", locks) is not None


def _within(locks: list[SeenLock], window: Window) -> Iterator[SeenLock]:
    return (lock for lock in locks if window.began <= lock.at <= window.ended)


def judge_others(findings: ClaimFindings, witness: Witness, bench: Bench) -> None:
    """Hold what reads and writes took meanwhile against what each way says of others; no move, no finding."""
    if not any(windows(bench)):
        return
    by_name: dict[str, list[tuple[Window, list[Probe]]]] = {}
    for window in windows(bench):
        if met := _overlapping(witness.probes, window):
            by_name.setdefault(window.row.move.route.name, []).append((window, met))
    for name in bench.proof.routes:
        moves = by_name.get(name, [])
        if not moves:
            findings.note_not_tried(f"online {name}", "every move was over before another session asked")
        elif moves[0][0].row.move.route.online:
            _judge_online(findings, name, moves)
        else:
            _judge_waiting(findings, name, moves)


def _overlapping(probes: list[Probe], window: Window) -> list[Probe]:
    return [each for each in probes if each.began < window.ended and each.ended > window.began]


def _judge_online(findings: ClaimFindings, name: str, met: list[tuple[Window, list[Probe]]]) -> None:
    """Reads and writes have to end while it runs, and none may take long or fail."""
    probes = _probes(met)
    # Only what began and ended while the move ran shows that others went on; one that merely overlaps may have waited
    # for its end.
    within = sum(window.began <= probe.began and probe.ended <= window.ended for window, some in met for probe in some)
    longest, failed = max(probe.seconds for probe in probes), _first_error(probes)
    words = f"{within} reads and writes ended while it ran, the longest took {format_seconds(longest)}"
    if failed or longest > LONG_SECONDS:
        findings.note_contradiction(f"online {name}", f"{words}; {failed}".rstrip("; "))
    elif within:
        findings.note_seen(f"online {name}", words)
    else:
        findings.note_not_tried(f"online {name}", "every move was over before another session's statement ended")


def _judge_waiting(findings: ClaimFindings, name: str, met: list[tuple[Window, list[Probe]]]) -> None:
    """Others may be held up, but no longer than the statement of the move takes."""
    probes = _probes(met)
    failed = _first_error(probes)
    late = any(probe.seconds > window.seconds + LONG_SECONDS for window, some in met for probe in some)
    longest = max(probe.seconds for probe in probes)
    who = WHO_WAITS.get(met[0][0].row.move.route.locked, "some")
    words = f"{who} wait: the longest read or write took {format_seconds(longest)}"
    if failed or late:
        findings.note_contradiction(f"online {name}", f"{words}; {failed}".rstrip("; "))
    else:
        findings.note_seen(f"online {name}", words)


def _probes(met: list[tuple[Window, list[Probe]]]) -> list[Probe]:
    """Of all moves together."""
    return [probe for _, some in met for probe in some]


def _first_error(probes: list[Probe]) -> str:
    return next((probe.error for probe in probes if probe.error), "")
