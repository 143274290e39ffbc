"""One watched database: its connectors, sampler, planner, executor and verifier, wired together.

The daemon calls these methods from its schedule, the demo and the tests call them one after the other. ``sample``,
``plan`` and ``verify`` share a lock; ``act`` runs concurrently on connections of its own, so that sampling goes on
while a table is copied.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime

from agent.config.models import MOST_TOP_UNITS, DatabaseConfig, Level
from agent.ledger.errors import Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.ledger.state_names import PROGRESS
from agent.model.logs import EventLog
from agent.model.outcomes import Outcome
from agent.model.proposals import Proposal
from agent.model.states import ACTIONABLE, HOME_CHANGES, NOT_CARRIED_OUT, OPEN_PROPOSALS, MoveState
from agent.moving.evidence import CLOCK_SLACK
from agent.moving.executor import Executor
from agent.moving.left_worse import GroupWatch
from agent.moving.leftovers import leftovers_of
from agent.moving.progress import ExecutorHooks, Listener, RunningMove, progress_document
from agent.moving.reconciler import half_done_of
from agent.moving.settling import Settling
from agent.planning.new_space import MakingSpace, make_space
from agent.planning.planner import Planning, make_planning, proposal_of
from agent.planning.ranking import Ordered, Prospect, UnitStanding, prospect_of
from agent.planning.single_moves import Splitting, TakingOut, close_part, split_table, take_out
from agent.planning.situation import end_obsolete_proposals
from agent.planning.undo import settle_undos
from agent.sampling.block_looks import BlockLooker, units_worth_looks
from agent.sampling.experience import copy_time_evidence, since_for
from agent.sampling.sampler import Cycle, Sampler, SamplerMemory, StatementReader, always
from agent.sampling.trace import NothingTraced
from agent.service.leasing import Leasing
from agent.service.offers import ProposalOffers, store_for_commands
from agent.service.sending import facts_of
from agent.service.server_facts import ServerRecord
from agent.service.snapshot import Snapshot, Worth
from connectors.kit.contract import Clock, Connector, ConnectorError
from connectors.model.moves import Border
from connectors.model.new_space import WantedSpace
from connectors.model.observation import Identity
from policies.placement.dispatch import Mode

log = EventLog(__name__)
ASK_AGAIN_SECONDS = 15.0  # whether anything may be sent, for all that show it; each statement asks for itself
TRUST_AGAIN_SECONDS = 60.0  # from one look at a ledger that was not trusted to the next: each reads the whole chain
LET_GO = "It keeps no agent from acting; hotplace doctor names it and says how to end it."


class Watch:
    """Everything hotplace does with one database."""

    def __init__(
        self,
        database: DatabaseConfig,
        ledger: Ledger,
        clock: Clock,
        *,
        level: Level,
        dry_run: bool,
        listener: Listener | None = None,
        asked_by: str = "",
        top_units: int = MOST_TOP_UNITS,
        keeps: Callable[[], bool] = always,
        connector: Connector | None = None,
    ) -> None:
        """Wire it up; connects on first use.

        Args:
            database: its configuration.
            ledger: the durable record.
            clock: time.
            level: what the agent may do without a person.
            dry_run: approved moves are not carried out; no session that could write is ever opened.
            listener: notified of everything that happens to a move.
            asked_by: who gave the command that this is part of; "": the agent acts on its own.
            top_units: that the snapshot tells of one by one.
            keeps: asked before anything that was learnt or planned goes into the ledger; proposals do in any case.
            connector: to watch with, in place of one over the watching account.
        """
        self.database = database
        self.dry_run = dry_run
        self.level = level
        self._ledger = ledger
        self._clock = clock
        self._listener = listener
        self._asked_by = asked_by
        self._top_units = top_units
        self._keeps = keeps
        self._sampler_memory: SamplerMemory | None = None
        self.offers = ProposalOffers(database, ledger, clock, level)
        self._settling = Settling(database, ledger, clock, level, asked_by=asked_by)
        self._groups = GroupWatch(database, ledger, clock, level, asked_by=asked_by)
        # Reentrant: verify and plan call other methods of the watch that take it too.
        self._lock = threading.RLock()
        self._connector = connector
        self._looker = BlockLooker(
            database.name, database.block_looks_share, lambda: self.connector, ledger, clock,
            may_read_values=database.border_values,
        )  # fmt: skip
        self._sampler: Sampler | None = None
        self._executor: Executor | None = None
        self.carries_out = False  # a move is under way
        self._held_back = False
        self._acting: Connector | None = None
        # With dry_run the reading session holds it, because none that could write is ever opened.
        self.leasing = Leasing(database.name, ledger.leases, lambda: self.connector if dry_run else self.acting)
        self._stopping = threading.Event()
        self._statements = StatementReader(database, ledger, clock)
        self._server = ServerRecord(database.name, ledger, clock, keeps)
        self._identified_at = 0  # reads of the catalog by the sampler, when the server was identified last
        self._statements_refused = ""  # why they could not be read
        self._ask_again = -math.inf  # on the monotonic clock: when the ledger is asked whether anything may be sent
        self._trust_again = -math.inf  # on the monotonic clock: when the ledger is worth another look
        self._half_done = half_done_of(ledger, database.name)
        left = leftovers_of(ledger, database.name)
        self.snapshot = Snapshot(
            database=database.name, engine=database.engine, leftovers=left, sample_seconds=database.sample_seconds
        )

    @property
    def stands_by(self) -> bool:
        """Whether another agent watches and acts, so that this one waits for its lease."""
        return self.snapshot.stands_by

    def stand_by(self) -> None:
        """Sample and plan nothing more, and act no more: what is under way ends."""
        self.snapshot.stands_by = True
        self.snapshot.jobs = {}

    def take_over(self) -> None:
        """Become the one agent that watches and acts, and go on from what the ledger knows.

        Raises:
            LeaseHeld: another one is.
            ConnectorError, LedgerError: engine or ledger did not answer.
        """
        self.hold_lease()
        with self._lock:
            if self._connector is not None:
                self._connector.close()
            # All that was learned or noted before is older than what the other agent has stored since.
            self._connector = self._sampler = self._executor = self._sampler_memory = None
            self._half_done = half_done_of(self._ledger, self.database.name)
            self.snapshot.leftovers = leftovers_of(self._ledger, self.database.name)
            self.snapshot.stands_by, self.snapshot.counted_row = False, None  # the other agent counts its own

    # -- sampling and planning -----------------------------------------------------------------------------------

    def sample(self) -> Cycle:
        """One sampling cycle.

        Raises:
            ConnectorError: it failed; counted in the snapshot.
        """
        self.snapshot.sampling_since = self._clock.now()  # before the lock: its holder may wait for the server
        with self._lock:
            snapshot = self.snapshot
            try:
                cycle = self.sampler.cycle()
                self._identify_with_catalog()
            except Exception as error:  # whatever it was is counted, and raised again
                snapshot.failures += 1
                snapshot.error = str(error)
                raise
            finally:
                snapshot.sampling_since = None
            snapshot.error = ""
            snapshot.cycle, snapshot.storage, snapshot.roles = cycle, self.sampler.storage(), self.sampler.roles()
            snapshot.cycles += 1
            self._note_stranger()
            snapshot.server_seconds += cycle.server_seconds + self._read_statements()
            snapshot.cycle_seconds += cycle.seconds
            return cycle

    def _read_statements(self) -> float:
        """Read what single statements did, if it is time; returns the seconds that the server took at most.

        Without them an outcome says less, so a refusal is logged, once as long as it stays the same, and no more.
        """
        try:
            return self._statements.read_if_due(self.connector, may_store=self._keeps())
        except ConnectorError as error:
            if str(error) != self._statements_refused:
                log.warning("statements not read", database=self.database.name, error=str(error), advice=error.advice)
            self._statements_refused = str(error)
            return 0.0

    def plan(
        self, mode: Mode | None = None, time_limit_seconds: float = math.inf, *, traced: bool = False
    ) -> Planning | None:
        """Make a plan from what is known; None before the first sample. Stores no proposal.

        Plans of the default mode store the ranking and the state of the pins for later commands. Where moves have ended
        since the catalog was read, it is read again first.

        Args:
            mode: of the balancer, default ``Hsm()``.
            time_limit_seconds: the copies of the plan take no longer.
            traced: rank by the trace and by nothing else.

        Raises:
            ConnectorError: the engine did not answer.
            NothingTraced: the trace is empty.
            UnknownName: the mode names a tier or space that does not exist.
        """
        with self._lock:
            self.sampler.refresh_homes()
            self._identify_with_catalog()
            self.sampler.refresh_homes()  # where that has found another database
            picture = self.sampler.picture()
            if picture is None:
                return None
            now = self._clock.now()
            trace = self.sampler.traced_heat() if traced else None
            if traced and trace is None:
                raise NothingTraced(
                    f"nothing was traced of {self.database.name}", advice="hotplace trace on begins to collect."
                )
            planning = make_planning(
                picture, self.database, self.connector, self._ledger, now,
                mode=mode, time_limit_seconds=time_limit_seconds, trace=trace,
            )  # fmt: skip
            # A plan in another mode answers one question of a person; stored, it would change what metrics and later
            # commands say of the daily plan.
            if mode is not None:
                return planning
            self._looker.choose(units_worth_looks(planning.situation, planning.plan))
            ordered = Ordered(planning)
            if self._keeps():
                store_for_commands(self._ledger, self.database.name, planning, ordered)
            self.snapshot.worth, self.snapshot.standing = (
                Worth.of(planning.plan),
                UnitStanding.of(ordered, self._top_units),
            )
            self.count_proposals()
            return planning

    def look_at_blocks(self) -> bool:
        """Look into large hot units if that is due, and none of our copies is in the pool; whether it was.

        Raises:
            ConnectorError: the server did not answer, or this login may not look.
        """
        if self.snapshot.running is not None:
            return False
        before = self._looker.server_seconds
        try:
            looked = self._looker.take_turn()
        finally:
            self.snapshot.server_seconds += self._looker.server_seconds - before
        if looked:
            self.snapshot.hottest_tenths = self._looker.hottest_tenths()
        return looked

    def prospect(self, planning: Planning) -> Prospect | None:
        """What is not proposed yet and would be as it looks now; None where something is, or nothing would be.

        Args:
            planning: that ``plan`` has just made.

        Raises:
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            picture = self.sampler.picture()
            if planning.plan.moves or picture is None:
                return None
            looks = make_planning(
                picture, self.database, self.connector, self._ledger, planning.made_at, as_it_looks=True
            )
            proposal = self.proposal(looks)
            return None if proposal is None else prospect_of(looks, proposal, planning.settings)

    def proposal(self, planning: Planning) -> Proposal | None:
        """The plan as a proposal, not stored; None where there is nothing to move."""
        return proposal_of(planning, self.database, self.identity.fingerprint, asked_by=self._asked_by)

    def propose(self, planning: Planning) -> int | None:
        """Store the plan as a proposal and return its number; None as ``Offers.store``, or if another database answers.

        What waits for a decision and has nothing left to do, by the facts of the plan, is ended first.

        Raises:
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            planned = self.identity.fingerprint
            # Asked again: a proposal of the database that was there when the catalog was read would be refused by every
            # check, and would take the place of one that a person has made for the one that is there now.
            if self._read_server().fingerprint != planned:
                return None
            end_obsolete_proposals(self._ledger, self.database.name, planned, self.sampler.catalog)
            return self.offers.store_plan(planning, self.proposal(planning))

    def offer_due(self) -> None:
        """Store what is due under the templates of open standing rules, as proposals, and note which cannot be served.

        Raises:
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            idle = self.offers.store_due(self.connector, self.sampler.catalog, self.identity.fingerprint)
            self.snapshot.idle_rules = idle

    def approve_by_rules(self) -> tuple[ProposalRow, ...]:
        """Approve what waits and a standing rule covers; nothing below level ``auto`` or in a dry run."""
        if self.level is not Level.AUTO or self.dry_run:
            return ()
        approved = self.offers.approve_by_rules()
        self.count_proposals()
        return approved

    def take_out(self, space: str, container: str) -> TakingOut | None:
        """How one container of a space can go; None where it is the only one, so that the space is to be drained.

        Raises:
            UnknownName: there is no such space or container.
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            return take_out(self.database, self.connector, space, container, self._clock.now(), asked_by=self._asked_by)

    def split(self, key: str, border: Border, to_space: str | None) -> Splitting:
        """How a table can be split where a column has a value.

        Raises:
            UnknownName: there is no such unit or space.
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            now = self._clock.now()
            # Rights are those of the account that moves; in a dry run it is not connected.
            mover_side = None if self.dry_run else self.acting
            sent = self._ledger.moves.sent_statements(self.database.name, since_for(now))
            return split_table(
                self.database, self.connector, mover_side, key, border, to_space, now, asked_by=self._asked_by,
                taught=copy_time_evidence(sent),
            )  # fmt: skip

    def close_part(self, table: str, border: str, to_space: str | None) -> Splitting:
        """How the open part of a split table can be given an end.

        Raises:
            UnknownName: there is no such space.
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            now = self._clock.now()
            mover_side = None if self.dry_run else self.acting
            return close_part(
                self.database, self.connector, mover_side, table, border, to_space, now, asked_by=self._asked_by
            )

    def make_space(self, wanted: WantedSpace, tier: str | None) -> MakingSpace:
        """How a new space can be made.

        Raises:
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            now = self._clock.now()
            mover_side = None if self.dry_run else self.acting
            return make_space(self.database, self.connector, mover_side, wanted, tier, now, asked_by=self._asked_by)

    # -- acting --------------------------------------------------------------------------------------------------

    def act(self) -> tuple[MoveRow, ...]:
        """Carry out what is approved, and remove what moves have left. With dry_run on nothing is sent or opened.

        Raises:
            LeaseHeld: another agent acts on this database.
            ConnectorError: the engine did not answer.
            Untrusted: chain, anchors and tables of the ledger do not agree.
        """
        if self._held_back:
            return ()
        if not self.dry_run:
            self._restore_lost()
        self.look_at_sending()
        behind = self.snapshot.leftovers or self._half_done
        if self.dry_run or not (behind or self._ledger.moves.has_pending_moves(self.database.name)):
            self._look_at_trust(())
            return ()
        if self._ledger.stops.in_force(self.database.name) is not None:
            return ()  # what is left behind, or was interrupted, waits too: to end it would send statements
        # Asked before the lease is taken: the lease costs a statement at the server, and this is called every second.
        has_work = self.executor.has_work()
        self.snapshot.foreground_read_seconds = self.executor.foreground_seconds
        if not has_work:
            self._look_at_trust(self.executor.spoiled)
            return ()
        due = self._ledger.moves.rows(database=self.database.name, states=ACTIONABLE)
        self.count_results()
        self.hold_lease()
        for proposal_id in {row.proposal_id for row in due}:
            # Before the first statement: once it runs, the database does other work than the one the outcome is to be
            # compared with.
            self._settling.store_work_before(proposal_id)
        try:
            self.carries_out = True
            done = self.executor.run_approved()
            self.snapshot.untrusted = "; ".join(self.executor.spoiled)
        except Untrusted as error:
            self.snapshot.untrusted = str(error)
            raise
        finally:
            self.carries_out = False
            self.snapshot.leftovers, self._half_done = self.executor.leftovers(), self.executor.half_done()
            self.count_results()
        if any(row.state in NOT_CARRIED_OUT for row in done):
            self.snapshot.groups_left_worse = self._groups.look(self.acting)
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
        snapshot = self.snapshot
        snapshot.sending_facts = facts_of(
            self._ledger, self.database, dry_run=self.dry_run, untrusted=snapshot.untrusted
        )
        if not snapshot.untrusted and snapshot.sending_facts.untrusted:
            snapshot.untrusted = snapshot.sending_facts.untrusted
            self._trust_again = now + TRUST_AGAIN_SECONDS

    def _look_at_trust(self, spoiled: Sequence[str]) -> None:
        """Where the ledger was not trusted, ask again: no statement does while there is nothing to carry out.

        Args:
            spoiled: why single proposals are left out.
        """
        if not self.snapshot.untrusted or self._clock.monotonic() < self._trust_again:
            return
        self._trust_again = self._clock.monotonic() + TRUST_AGAIN_SECONDS
        try:
            self._ledger.moves.require_chain()
            self.snapshot.untrusted = "; ".join(spoiled)
        except Untrusted as error:
            self.snapshot.untrusted = str(error)

    def _restore_lost(self) -> None:
        """Bring back what this agent has sent, where the ledger has failed over to a copy that lacks it.

        Raises:
            Untrusted: the copy is too old for that.
        """
        try:
            restored = self._ledger.restoring.restore(self.database.name)
        except Untrusted as error:
            self.snapshot.untrusted = str(error)
            raise
        if restored is not None:
            log.error("ledger fell back", database=self.database.name, restored=list(restored.written),
                      without_place=list(restored.without_place),
                      advice="what was decided in the last minutes may have to be decided again")  # fmt: skip

    def verify(self) -> tuple[Outcome, ...]:
        """End what was not begun in time, move what is placed on to settling, and measure what has settled."""
        with self._lock:
            self._settling.see_handed_over(self.connector, self.sampler.places)
            self._ledger.proposals.expire_due()  # here too: acting may not come so far, where the mover is refused
            if self._ledger.moves.date_back_arrivals(self.database.name, CLOCK_SLACK):
                log.warning("the clock was ahead when moves arrived", database=self.database.name)
            self._settling.begin()
            settle_undos(self.database.name, self._ledger)
            self.snapshot.groups_left_worse = self._groups.look(self.connector)
            measured = self._settling.judge(self.connector, self.sampler.homes)
            for outcome in measured:
                self.snapshot.note(outcome)
            self.count_results()
            return measured

    def hold_lease(self) -> None:
        """Become the one agent that acts here.

        Raises:
            LeaseHeld: another one is.
            ConnectorError, LedgerError: engine or ledger did not answer.
        """
        self.leasing.hold()
        self._note_stranger()

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

    def close(self, *, save: bool = True) -> None:
        """End every session; save what was learnt unless another process watches the same database and knows more."""
        save = save and not self.stands_by
        with self._lock, ExitStack() as ending:  # each of these is ended even if another one fails
            for connector in (self._connector, self._acting):
                if connector is not None:
                    ending.callback(connector.close)
            ending.callback(self.leasing.release)
            ending.callback(self._looker.close, save=save)
            sampler = self._sampler if save else None
            self._sampler_memory = self._sampler_memory if self._sampler is None else self._sampler.memory
            self._connector = self._acting = self._sampler = self._executor = None
            if sampler is not None:
                sampler.save()

    def continue_from(self, other: Watch) -> None:
        """Continue from what another watch of the same database had learned; no effect if it watched another one."""
        mine, its = self.database, other.database
        if (mine.engine, mine.connection) == (its.engine, its.connection):
            self._sampler_memory, self.snapshot = other._sampler_memory, other.snapshot
            self.snapshot.sample_seconds = mine.sample_seconds

    # -- the parts, made on first use ----------------------------------------------------------------------------

    @property
    def connector(self) -> Connector:
        """The connector that sampling uses."""
        with self._lock:
            if self._connector is None:
                self._connector = self.database.connect(self._clock)
            return self._connector

    @property
    def acting(self) -> Connector:
        """The connector over the moving account."""
        if self._acting is None:
            self._acting = self.database.connect_mover_side(self._clock)
        return self._acting

    @property
    def sampler(self) -> Sampler:
        """Samples the database; built on first use."""
        with self._lock:  # the acting thread may be the first to ask
            if self._sampler is None:
                self._identified_at = 0
                self._sampler = Sampler(
                    self.database,
                    self.connector,
                    self._ledger,
                    self._clock,
                    memory=self._sampler_memory,
                    may_store=self._keeps,
                )
            return self._sampler

    @property
    def executor(self) -> Executor:
        """Carries out approved moves; built on first use, over the acting connector."""
        if self._executor is None:
            hooks = ExecutorHooks(
                begin_copy=self.sampler.begin_copy, end_copy=self.sampler.end_copy, hold_lease=self.hold_lease,
                note=self._note_progress, listener=self._listener,
            )  # fmt: skip
            self._executor = Executor(self.database, self.acting, self._ledger, self._clock, hooks)
            if self._stopping.is_set():  # by ``stop``, which found no executor to tell
                self._executor.stop()
        return self._executor

    @property
    def identity(self) -> Identity:
        """Which database this is, as of the last read of the catalog."""
        with self._lock:
            return self.snapshot.identity or self._read_server()

    def _identify_with_catalog(self) -> None:
        """Ask the server what it is now, if the catalog was read since it was asked last.

        Raises:
            ConnectorError: it did not answer.
        """
        if self._identified_at != self.sampler.catalog_reads:
            self._read_server()
            self._identified_at = self.sampler.catalog_reads

    def _read_server(self) -> Identity:
        """Ask the server what it is now; what has changed goes into the snapshot.

        Raises:
            ConnectorError: it did not answer.
        """
        before, identity = self.snapshot.identity, self._server.read(self.connector)
        self.snapshot.identity, self.snapshot.server_changes = identity, self._server.changes
        # The catalog may have been read a moment before another database took this one's place.
        if before is not None and before.fingerprint != identity.fingerprint and self._sampler is not None:
            self._sampler.forget_catalog()
        return identity

    @property
    def sampled_at(self) -> datetime | None:
        """When the last good sample was taken; None: there was none yet."""
        cycle = self.snapshot.cycle
        return None if cycle is None else cycle.taken_at

    @property
    def watched_seconds(self) -> float:
        """How long the unit that was watched for longest has been; 0 before there was any evidence."""
        picture = self.sampler.picture()
        return 0.0 if picture is None else float(picture.heat.observed_seconds.max(initial=0.0))

    # -- for the metrics ------------------------------------------------------------------------------------------

    def _note_stranger(self) -> None:
        """Say once who has taken the lock of agents without being one."""
        before, found = self.snapshot.lock_taken_by, self.leasing.find_stranger()
        self.snapshot.lock_taken_by = found
        if found and found != before:
            log.warning("lock taken by a stranger", database=self.database.name, session=found, advice=LET_GO)

    def _note_progress(self, running: RunningMove | None) -> None:
        """For the metrics, and for commands in other processes."""
        self.snapshot.running = running
        self.snapshot.foreground_read_seconds = self.executor.foreground_seconds
        self._ledger.state.save_document(self.database.name, PROGRESS, progress_document(running))

    def count_results(self) -> None:
        """Count what moves have come to since the last call, no matter who brought them there, for the metrics."""
        snapshot, moves = self.snapshot, self._ledger.moves
        snapshot.counted_row, results = moves.results_since(self.database.name, snapshot.counted_row)
        snapshot.moves.update(result.state for result in results)
        arrived = (result.move_id for result in results if result.state is MoveState.PLACED)
        snapshot.moved_bytes += sum(moves.row(number).move.size_bytes for number in arrived)
        # Not at the end of a statement alone: what one came to may be found out long after.
        if self._sampler is not None and any(result.state in HOME_CHANGES for result in results):
            self._sampler.note_new_homes()

    def count_proposals(self) -> None:
        """Note how many proposals are open, and until when the most urgent one can be decided, for the metrics."""
        self.snapshot.count_proposals(self._ledger.proposals.rows(database=self.database.name, states=OPEN_PROPOSALS))
