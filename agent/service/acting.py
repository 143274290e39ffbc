"""What hotplace does to a watched database: it carries out approved moves, with the lease and over sessions of its own.

Acting runs while sampling goes on: a table may take hours to copy.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from agent.config.models import DatabaseConfig
from agent.ledger.errors import Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.ledger.state_names import PROGRESS
from agent.model.logs import EventLog
from agent.model.states import ACTIONABLE, HOME_CHANGES, NOT_CARRIED_OUT, MoveState
from agent.moving.executor import Executor
from agent.moving.left_worse import GroupWatch
from agent.moving.leftovers import leftovers_of
from agent.moving.progress import ExecutorHooks, Listener, RunningMove, progress_document
from agent.moving.reconciler import half_done_of
from agent.moving.settling import Settling
from agent.service.leasing import Leasing
from agent.service.observing import Observing
from agent.service.sending import facts_of
from agent.service.snapshot import Snapshot
from connectors.kit.contract import Clock, Connector, HotplaceError, KnowsRightsToMove

log = EventLog(__name__)
ASK_AGAIN_SECONDS = 15.0  # whether anything may be sent, for all that show it; each statement asks for itself
TRUST_AGAIN_SECONDS = 60.0  # from one look at a ledger that was not trusted to the next: each reads the whole chain
LET_GO = "It keeps no agent from acting; hotplace doctor names it and says how to end it."


class Acting:
    """Carries out what is approved on one database; the parts are made on first use.

    Attributes:
        leasing: the right to act here.
        carries_out: a move is under way.
    """

    def __init__(
        self,
        database: DatabaseConfig,
        ledger: Ledger,
        clock: Clock,
        observing: Observing,
        settling: Settling,
        groups: GroupWatch,
        *,
        dry_run: bool,
        listener: Listener | None,
    ) -> None:
        """Connects on first use.

        Args:
            database: its configuration.
            ledger: the durable record.
            clock: time.
            observing: samples the same database.
            settling: stores what work there was before a move.
            groups: finds groups that cannot be completed.
            dry_run: nothing is sent; no session that could write is ever opened.
            listener: notified of everything that happens to a move.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._observing = observing
        self._settling = settling
        self._groups = groups
        self._dry_run = dry_run
        self._listener = listener
        self._connector: Connector | None = None
        self._executor: Executor | None = None
        self.carries_out = False
        self._held_back = False
        self._stopping = threading.Event()
        # With dry_run the reading session holds it, because none that could write is ever opened.
        self.leasing = Leasing(database.name, ledger.leases, lambda: observing.connector if dry_run else self.connector)
        self._ask_again = -math.inf  # on the monotonic clock: when the ledger is asked whether anything may be sent
        self._trust_again = -math.inf  # on the monotonic clock: when the ledger is worth another look
        self._half_done = half_done_of(ledger, database.name)

    @property
    def _snapshot(self) -> Snapshot:
        return self._observing.snapshot

    @property
    def connector(self) -> Connector:
        """The connector over the moving account."""
        if self._connector is None:
            self._connector = self._database.connect_mover_side(self._clock)
        return self._connector

    @property
    def rights_side(self) -> Connector | None:
        """The connector whose account's rights decide about a move; None in a dry run, where it is not connected."""
        return None if self._dry_run else self.connector

    @contextmanager
    def asking_rights(self) -> Iterator[Connector | None]:
        """A connector of its own over the account that moves, for a plan; None where nobody asks what that may.

        Not ``connector``: plans are made while moves run, and a connector is used from one thread at a time.
        """
        database = self._database
        if self._dry_run or database.by_hand or not isinstance(self._observing.connector, KnowsRightsToMove):
            yield None
            return
        try:
            connector = database.connect_mover_side(self._clock)
        except HotplaceError:  # then nothing is known of its rights
            yield None
            return
        with closing(connector):
            yield connector

    @property
    def executor(self) -> Executor:
        """Carries out approved moves, over the connector of the moving account."""
        if self._executor is None:
            sampler = self._observing.sampler
            hooks = ExecutorHooks(
                begin_copy=sampler.begin_copy, end_copy=sampler.end_copy, hold_lease=self.hold_lease,
                note=self._note_progress, listener=self._listener,
            )  # fmt: skip
            self._executor = Executor(self._database, self.connector, self._ledger, self._clock, hooks)
            if self._stopping.is_set():  # by ``stop``, which found no executor to tell
                self._executor.stop()
        return self._executor

    def act(self) -> tuple[MoveRow, ...]:
        """Carry out what is approved, and remove what moves have left. With dry_run on nothing is sent or opened.

        Raises:
            LeaseHeld: another agent acts on this database.
            ConnectorError: the engine did not answer.
            Untrusted: chain, anchors and tables of the ledger do not agree.
        """
        if self._held_back:
            return ()
        if not self._dry_run:
            self._restore_lost()
        self.look_at_sending()
        behind = self._snapshot.leftovers or self._half_done
        if self._dry_run or not (behind or self._ledger.moves.has_pending_moves(self._database.name)):
            self._look_at_trust(())
            return ()
        if self._ledger.stops.in_force(self._database.name) is not None:
            return ()  # what is left behind, or was interrupted, waits too: to end it would send statements
        # Asked before the lease is taken: the lease costs a statement at the server, and this is called every second.
        has_work = self.executor.has_work()
        self._snapshot.foreground_read_seconds = self.executor.foreground_seconds
        if not has_work:
            self._look_at_trust(self.executor.spoiled)
            return ()
        due = self._ledger.moves.rows(database=self._database.name, states=ACTIONABLE)
        self.count_results()
        self.hold_lease()
        for proposal_id in {row.proposal_id for row in due}:
            # Before the first statement: once it runs, the database does other work than the one the outcome is to be
            # compared with.
            self._settling.store_work_before(proposal_id)
        try:
            self.carries_out = True
            done = self.executor.run_approved()
            before, self._snapshot.untrusted = self._snapshot.untrusted, "; ".join(self.executor.spoiled)
            if self._snapshot.untrusted not in {"", before}:
                log.error("approved moves left out", database=self._database.name, why=self._snapshot.untrusted)
        except Untrusted as error:
            self._snapshot.untrusted = str(error)
            raise
        finally:
            self.carries_out = False
            self._snapshot.leftovers, self._half_done = self.executor.leftovers(), self.executor.half_done()
            self.count_results()
        if any(row.state in NOT_CARRIED_OUT for row in done):
            self._snapshot.groups_left_worse = self._groups.look(self.connector)
        return done

    def look_at_sending(self, *, at_once: bool = False) -> None:
        """Ask the ledger whether anything may be sent, unless that was done a moment ago.

        Args:
            at_once: however short the moment.
        """
        now = self._clock.monotonic()
        if now < self._ask_again and not at_once:
            return
        self._ask_again = now + ASK_AGAIN_SECONDS
        snapshot = self._snapshot
        facts = facts_of(self._ledger, self._database, dry_run=self._dry_run, untrusted=snapshot.untrusted)
        snapshot.sending_facts = facts
        if not snapshot.untrusted and facts.untrusted:
            snapshot.untrusted = facts.untrusted
            self._trust_again = now + TRUST_AGAIN_SECONDS

    def _look_at_trust(self, spoiled: Sequence[str]) -> None:
        """Where the ledger was not trusted, ask again: no statement does while there is nothing to carry out.

        Args:
            spoiled: why single proposals are left out.
        """
        if not self._snapshot.untrusted or self._clock.monotonic() < self._trust_again:
            return
        self._trust_again = self._clock.monotonic() + TRUST_AGAIN_SECONDS
        try:
            self._ledger.moves.require_chain()
            self._snapshot.untrusted = "; ".join(spoiled)
        except Untrusted as error:
            self._snapshot.untrusted = str(error)

    def _restore_lost(self) -> None:
        """Bring back what this agent has sent, where the ledger has failed over to a copy that lacks it.

        Raises:
            Untrusted: the copy is too old for that.
        """
        try:
            restored = self._ledger.restoring.restore(self._database.name)
        except Untrusted as error:
            self._snapshot.untrusted = str(error)
            raise
        if restored is not None:
            log.error("ledger fell back", database=self._database.name, restored=list(restored.written),
                      without_place=list(restored.without_place),
                      advice="what was decided in the last minutes may have to be decided again")  # fmt: skip

    def hold_lease(self) -> None:
        """Become the one agent that acts here.

        Raises:
            LeaseHeld: another one is.
            ConnectorError, LedgerError: engine or ledger did not answer.
        """
        self.leasing.hold()
        self.note_stranger()

    def note_stranger(self) -> None:
        """Say once who has taken the lock of agents without being one."""
        before, found = self._snapshot.lock_taken_by, self.leasing.find_stranger()
        self._snapshot.lock_taken_by = found
        if found and found != before:
            log.warning("lock taken by a stranger", database=self._database.name, session=found, advice=LET_GO)

    def _note_progress(self, running: RunningMove | None) -> None:
        """For the metrics, and for commands in other processes."""
        self._snapshot.running = running
        self._snapshot.foreground_read_seconds = self.executor.foreground_seconds
        self._ledger.state.save_document(self._database.name, PROGRESS, progress_document(running))

    def count_results(self) -> None:
        """Count what moves have come to since the last call, no matter who brought them there, for the metrics."""
        snapshot, moves = self._snapshot, self._ledger.moves
        snapshot.counted_row, results = moves.results_since(self._database.name, snapshot.counted_row)
        snapshot.moves.update(result.state for result in results)
        arrived = (result.move_id for result in results if result.state is MoveState.PLACED)
        snapshot.moved_bytes += sum(moves.row(number).move.size_bytes for number in arrived)
        # Not at the end of a statement alone: what one came to may be found out long after.
        if any(result.state in HOME_CHANGES for result in results):
            self._observing.note_new_homes()

    def hold_back(self, *, on: bool) -> None:
        """Carry out no further move while this is on; the one under way goes on to its end."""
        self._held_back = on
        if self._executor is not None:
            self._executor.hold_back(on=on)

    def stop(self) -> None:
        """Cancel what runs and start nothing more."""
        self._stopping.set()
        if self._executor is not None:
            self._executor.stop()

    def forget(self) -> None:
        """Begin again with what the ledger knows: another agent has stored more since."""
        self._executor = None
        self._half_done = half_done_of(self._ledger, self._database.name)
        self._snapshot.leftovers = leftovers_of(self._ledger, self._database.name)

    def close(self, ending: ExitStack) -> None:
        """Have the lease given back and the session closed, in that order.

        Args:
            ending: ends each even if another one fails.
        """
        if self._connector is not None:
            ending.callback(self._connector.close)
        ending.callback(self.leasing.release)
        self._connector = self._executor = None
