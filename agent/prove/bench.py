"""What every part of a proof works with, and how approved moves are carried out in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from agent.config import DatabaseConfig
from agent.ledger import Ledger, MoveRow
from agent.model.proposals import Proposal, ProposedMove
from agent.model.states import ACTIONABLE, TO_BEGIN
from agent.planning.undo import propose_undo
from agent.planning.unweighed import unweighed_move, unweighed_proposal
from agent.prove.claims import Findings
from agent.prove.refusals import NotApproved
from agent.prove.script import Script
from agent.service.watch import Watch
from connectors.base import Clock
from connectors.formatting import format_bytes
from connectors.model import Bundle, Catalog, Route, UnitKind
from connectors.proving.proof import Case, Proof, ProofSession

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
    findings: Findings
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
            raise NotApproved(f"proposal {number} was not approved", advice="What was made is dropped again.")
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
            self.watch.stop()
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
