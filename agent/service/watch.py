"""One watched database: what is read of it, what is planned for it, what is done to it, what came of that.

``observing`` reads and ``acting`` carries out; the watch plans, proposes and judges with what both know. The daemon
calls these methods from its schedule, the demo and the tests call them one after the other. ``sample``, ``plan`` and
``verify`` share a lock; ``act`` runs concurrently on connections of its own, so that sampling goes on while a table is
copied.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime

from agent.config.models import MOST_TOP_UNITS, DatabaseConfig, Level
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.logs import EventLog
from agent.model.outcomes import Outcome
from agent.model.proposals import Proposal
from agent.model.states import OPEN_PROPOSALS
from agent.moving.evidence import CLOCK_SLACK
from agent.moving.executor import Executor
from agent.moving.left_worse import GroupWatch
from agent.moving.leftovers import leftovers_of
from agent.moving.progress import Listener
from agent.moving.settling import Settling
from agent.planning.new_space import MakingSpace, make_space
from agent.planning.planner import Planning, make_planning, proposal_of, with_other_contents
from agent.planning.ranking import Ordered, Prospect, UnitStanding, prospect_of
from agent.planning.single_moves import Splitting, TakingOut, close_part, split_table, take_out
from agent.planning.situation import end_obsolete_proposals
from agent.sampling.block_looks import units_worth_looks
from agent.sampling.experience import copy_time_evidence, since_for
from agent.sampling.sampler import Cycle, Sampler, always
from agent.sampling.trace import NothingTraced
from agent.service.acting import Acting
from agent.service.leasing import Leasing
from agent.service.observing import Observing
from agent.service.offers import ProposalOffers, store_for_commands
from agent.service.snapshot import Snapshot, Worth
from connectors.kit.contract import Clock, Connector
from connectors.model.moves import Border
from connectors.model.new_space import WantedSpace
from connectors.model.observation import Identity
from policies.placement.dispatch import Drain, Mode

log = EventLog(__name__)


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
        may_store: Callable[[], bool] = always,
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
            top_units: that the snapshot lists individually.
            may_store: asked before anything that was learnt or planned goes into the ledger; proposals do in any case.
            connector: to watch with, in place of one over the watching account.
        """
        self.database = database
        self.dry_run = dry_run
        self.level = level
        self._ledger = ledger
        self._clock = clock
        self._asked_by = asked_by
        self._top_units = top_units
        self._may_store = may_store
        # Reentrant: verify and plan call other methods of the watch that take it too.
        self._lock = threading.RLock()
        self.offers = ProposalOffers(database, ledger, clock, level)
        self._settling = Settling(database, ledger, clock, level, asked_by=asked_by)
        self._groups = GroupWatch(database, ledger, clock, level, asked_by=asked_by)
        left = leftovers_of(ledger, database.name)
        snapshot = Snapshot(
            database=database.name, engine=database.engine, leftovers=left, sample_seconds=database.sample_seconds
        )
        self.observing = Observing(
            database, ledger, clock, self._lock, snapshot, may_store=may_store, connector=connector
        )
        self.acting = Acting(
            database, ledger, clock, self.observing, self._settling, self._groups, dry_run=dry_run, listener=listener
        )

    @property
    def snapshot(self) -> Snapshot:
        """The state that metrics and commands show."""
        return self.observing.snapshot

    @property
    def connector(self) -> Connector:
        """The connector that sampling uses."""
        return self.observing.connector

    @property
    def sampler(self) -> Sampler:
        """Samples the database."""
        return self.observing.sampler

    @property
    def executor(self) -> Executor:
        """Carries out approved moves."""
        return self.acting.executor

    @property
    def leasing(self) -> Leasing:
        """The right to act on the database."""
        return self.acting.leasing

    @property
    def identity(self) -> Identity:
        """Which database this is, as of the last read of the catalog."""
        return self.observing.identity

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
            # All that was learned or noted before is older than what the other agent has stored since.
            self.observing.forget()
            self.acting.forget()
            self.snapshot.stands_by, self.snapshot.counted_row = False, None  # the other agent counts its own

    # -- sampling and planning -----------------------------------------------------------------------------------

    def sample(self) -> Cycle:
        """One sampling cycle.

        Raises:
            ConnectorError: it failed; counted in the snapshot.
        """
        cycle = self.observing.sample()
        self.acting.note_stranger()
        return cycle

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
            self.observing.identify_with_catalog()
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
            with self.acting.asking_rights() as mover_side:
                planning = make_planning(
                    picture, self.database, self.connector, self._ledger, now,
                    mode=mode, time_limit_seconds=time_limit_seconds, trace=trace, mover_side=mover_side,
                )  # fmt: skip
            # A plan in another mode answers one question of a person; stored, it would change what metrics and later
            # commands say of the daily plan.
            if mode is not None:
                return with_other_contents(planning, mode, self.connector) if isinstance(mode, Drain) else planning
            self.observing.looker.choose(units_worth_looks(planning.situation, planning.plan))
            ordered = Ordered(planning)
            if self._may_store():
                store_for_commands(self._ledger, self.database.name, planning, ordered)
            self.snapshot.worth, self.snapshot.standing = (
                Worth.of(planning.plan),
                UnitStanding.of(ordered, self._top_units),
            )
            self.count_proposals()
            return planning

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
            with self.acting.asking_rights() as mover_side:
                looks = make_planning(
                    picture, self.database, self.connector, self._ledger, planning.made_at,
                    as_it_looks=True, mover_side=mover_side,
                )  # fmt: skip
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
            if self.observing.read_server().fingerprint != planned:
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
            sent = self._ledger.moves.sent_statements(self.database.name, since_for(now))
            return split_table(
                self.database, self.connector, self.acting.rights_side, key, border, to_space, now,
                asked_by=self._asked_by, taught=copy_time_evidence(sent),
            )  # fmt: skip

    def close_part(self, table: str, border: str, to_space: str | None) -> Splitting:
        """How the open part of a split table can be given an end.

        Raises:
            UnknownName: there is no such space.
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            now = self._clock.now()
            return close_part(
                self.database, self.connector, self.acting.rights_side, table, border, to_space, now,
                asked_by=self._asked_by,
            )  # fmt: skip

    def make_space(self, wanted: WantedSpace, tier: str | None) -> MakingSpace:
        """How a new space can be made.

        Raises:
            ConnectorError: the engine did not answer.
        """
        with self._lock:
            now = self._clock.now()
            return make_space(
                self.database, self.connector, self.acting.rights_side, wanted, tier, now, asked_by=self._asked_by
            )

    # -- acting --------------------------------------------------------------------------------------------------

    def act(self) -> tuple[MoveRow, ...]:
        """Carry out what is approved, and remove what moves have left. With dry_run on nothing is sent or opened.

        Raises:
            LeaseHeld: another agent acts on this database.
            ConnectorError: the engine did not answer.
            Untrusted: chain, anchors and tables of the ledger do not agree.
        """
        return self.acting.act()

    def verify(self) -> tuple[Outcome, ...]:
        """End what was not begun in time, move what is placed on to settling, and measure what has settled."""
        with self._lock:
            self._settling.see_handed_over(self.connector, self.sampler.places)
            self._ledger.proposals.expire_due()  # here too: acting may not come so far, where the mover is refused
            if self._ledger.moves.date_back_arrivals(self.database.name, CLOCK_SLACK):
                log.warning("the clock was ahead when moves arrived", database=self.database.name)
            self._settling.begin()
            self._ledger.moves.settle_undos(self.database.name)
            self.snapshot.groups_left_worse = self._groups.look(self.connector)
            measured = self._settling.judge(self.connector, self.sampler.homes)
            for outcome in measured:
                self.snapshot.note(outcome)
            if measured:  # a group that has its verdict stands no worse any more: its alert ends with it
                self.snapshot.groups_left_worse = self._groups.look(self.connector)
            self.acting.count_results()
            return measured

    def hold_lease(self) -> None:
        """Become the one agent that acts here.

        Raises:
            LeaseHeld: another one is.
            ConnectorError, LedgerError: engine or ledger did not answer.
        """
        self.acting.hold_lease()

    def close(self, *, save: bool = True) -> None:
        """End every session; save what was learnt unless another process watches the same database and knows more."""
        save = save and not self.stands_by
        with self._lock, ExitStack() as ending:  # each of these is ended even if another one fails
            ending.callback(self.observing.close)
            self.acting.close(ending)
            ending.callback(self.observing.looker.close, save=save)
            sampler = self.observing.release_sampler()
            if save and sampler is not None:
                sampler.save()

    def continue_from(self, other: Watch) -> None:
        """Continue from what another watch of the same database had learned; no effect if it watched another one."""
        mine, its = self.database, other.database
        if (mine.engine, mine.connection) == (its.engine, its.connection):
            self.observing.continue_from(other.observing)

    @property
    def sampled_at(self) -> datetime | None:
        """When the last good sample was taken; None: there was none yet."""
        cycle = self.snapshot.cycle
        return None if cycle is None else cycle.taken_at

    def count_proposals(self) -> None:
        """Note how many proposals are open, and until when the most urgent one can be decided, for the metrics."""
        self.snapshot.count_proposals(self._ledger.proposals.rows(database=self.database.name, states=OPEN_PROPOSALS))
