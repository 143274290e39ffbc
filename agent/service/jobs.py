"""What the daemon does at each turn, and when the turns are.

What the daemon does at each turn: sample, plan or act for one watch, fold the history; and all of it once.

The jobs of a daemon in time: a scheduler, how often each job has its turn, and when the first one is.
"""

from __future__ import annotations

import math
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from agent.ledger.errors import AWAY, LeaseLost, LedgerError
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.state_names import ALL_DATABASES, HISTORY_FOLDED, PLANNED, PLANNED_AFTER, SIZING_CURVE, STATUS
from agent.model.logs import EventLog
from agent.model.states import HOME_CHANGES
from agent.planning.decisions import drop_old_decisions
from agent.planning.planner import curve_document
from agent.sampling.sampler import Cycle
from agent.service.process import return_free_blocks, smaller_blocks_returned
from agent.service.schedule import next_turn, on_grid, place_in_row, young_plans
from agent.service.snapshot import status_document
from agent.service.watch import Watch
from connectors.kit.contract import Clock, ConnectorError, HotplaceError, LeaseHeld, PrivilegeMissing
from connectors.kit.sessions import interruptible

log = EventLog(__name__)
ACT_EVERY_SECONDS = 1.0  # how soon an approval is noticed, and what people ask of a move that is held
UNDECIDED_KEPT = timedelta(days=1)  # megabytes each: the situation behind a proposal without a decision
# Between two tries to act that fail: each writes to the log, and may write to the ledger.
SHORTEST_REST_SECONDS, LONGEST_REST_SECONDS = 1.0, 60.0
WORK_SECONDS = 7 * 86400.0  # that the work of databases is kept by the interval, for outcomes
STATEMENT_SECONDS = 2 * 86400.0  # the same for single statements

LONGEST_WITHOUT_PLAN_SECONDS = 3600.0  # between two tries to plan that fail, where plans are further apart than that

Job = Callable[[Watch], bool | None]  # False: there was nothing to try, so it says nothing about the job's health
JUDGE = "judge"  # what comes of moves; a part of the turn of ``sample``, with a health of its own


@dataclass(slots=True)
class _Rest:
    """How long a job that failed is left alone: twice as long with every failure in a row."""

    shortest: float
    longest: float
    seconds: float = 0.0
    until: float = -math.inf  # on the monotonic clock

    def after_failure(self, now: float) -> None:
        """Rest from ``now`` on."""
        self.seconds = min(self.longest, max(self.shortest, 2 * self.seconds))
        self.until = now + self.seconds

    def after_success(self) -> None:
        """The next failure is the first."""
        self.seconds, self.until = 0.0, -math.inf


class Jobs:
    """The turns of all watches. Those of one watch may run at the same time, each of them once."""

    def __init__(self, ledger: Ledger, clock: Clock, history: HistorySettings) -> None:
        """Wire it up.

        Args:
            ledger: the durable record.
            clock: time.
            history: how long it is kept.
        """
        self._ledger = ledger
        self._clock = clock
        self._history = history
        # By database.
        self._rests: defaultdict[str, _Rest] = defaultdict(partial(_Rest, SHORTEST_REST_SECONDS, LONGEST_REST_SECONDS))
        self._plan_rests: defaultdict[str, _Rest] = defaultdict(
            partial(_Rest, LONGEST_REST_SECONDS, LONGEST_WITHOUT_PLAN_SECONDS)
        )
        self._unplanned: set[str] = set()  # databases that had no sample when their plan was due, or whose plan failed
        self._under_way: Counter[str] = Counter()  # jobs of each database
        self._changed = threading.Condition()
        self._ended = False
        self._ended_of: set[str] = set()  # databases for which no further job begins
        self._told: dict[str, int] = {}  # number of the last proposal that the log spoke of, by database

    def run_guarded(self, job: Job, watch: Watch) -> None:
        """Run a job; what goes wrong is said, and tried again at the next turn."""
        with self._count_job(watch.database.name) as may_begin:
            if not may_begin or (watch.stands_by and job != self.keep_lease):
                return
            self._try(job.__name__, partial(job, watch), watch)
            # Acting is asked every second and mostly does nothing; a trim of some milliseconds each time would add up.
            if job != self.act:
                return_free_blocks()

    def _try(self, name: str, job: Callable[[], bool | None], watch: Watch) -> None:
        """Do a job, or a part of one, and note how it went; what goes wrong is said, and tried again later."""
        try:
            if job() is not False:
                watch.snapshot.note_success(name, self._clock.now())
        except AWAY as error:  # of the ledger, not of the job; it has an alert of its own
            self._note_ledger(watch, error)
        except HotplaceError as error:
            log.error("failed", job=name, database=watch.database.name, error=str(error), advice=error.advice)
            self._note_failures(name, (watch,), error)
        except Exception as error:  # a fault of ours: the caller logs it, with the trace
            self._note_failures(name, (watch,), error)
            raise

    def _note_failures(self, name: str, watches: Iterable[Watch], error: Exception) -> None:
        for watch in watches:
            sentence = str(error) if isinstance(error, HotplaceError) else f"a fault of hotplace itself: {error!r}"
            watch.snapshot.note_failure(name, self._clock.now(), self._clock.monotonic(), sentence)

    def _note_ledger(self, watch: Watch, error: LedgerError | None) -> None:
        """Note whether the ledger takes what this database has for it; said once for as long as it lasts."""
        snapshot, before = watch.snapshot, watch.snapshot.ledger_error
        snapshot.ledger_error = "" if error is None else str(error)
        snapshot.spooled = self._ledger.samples.waiting(snapshot.database, is_away=error is not None)
        if error is not None and not before:
            log.error("ledger away", database=snapshot.database, error=str(error), advice=error.advice)
        if error is None and before:
            log.info("ledger answers again", database=snapshot.database, spooled=snapshot.spooled)

    def begin(self, database: str | None = None) -> None:
        """Jobs may begin: those of a database, or all."""
        if database is None:
            self._ended, self._ended_of = False, set()
        else:
            self._ended_of.discard(database)

    def end(self, seconds: float = math.inf, databases: Collection[str] | None = None) -> frozenset[str]:
        """Let no further job begin, and wait for those under way.

        Args:
            seconds: that it waits at most.
            databases: whose jobs end; None: all jobs do.

        Returns:
            The databases with jobs that are still under way.
        """

        def under_way() -> frozenset[str]:
            return frozenset(self._under_way if databases is None else self._under_way.keys() & databases)

        with self._changed:
            if databases is None:
                self._ended = True
            else:
                self._ended_of.update(databases)
            self._changed.wait_for(lambda: not under_way(), None if math.isinf(seconds) else seconds)
            return under_way()

    def busy(self) -> frozenset[str]:
        """The databases with jobs that are under way."""
        with self._changed:
            return frozenset(self._under_way)

    @contextmanager
    def _count_job(self, database: str) -> Iterator[bool]:
        """Count a job while the block lasts; False where none may begin any more."""
        with self._changed:
            may_begin = not self._ended and database not in self._ended_of
            self._under_way[database] += 1
        try:
            yield may_begin
        finally:
            with self._changed:
                self._under_way[database] -= 1
                self._under_way += Counter()  # without those that are zero
                self._changed.notify_all()

    def sample(self, watch: Watch) -> None:
        """Sample, judge moves whose time has come, and publish the status.

        Raises:
            HotplaceError: the database did not answer.
        """
        cycle = self._sample(watch)
        try:
            self._try(JUDGE, partial(self._judge, watch), watch)
        finally:
            self._note_status(watch)  # whatever became of judging: the status says that, too
        if cycle.evidence:
            self._plan_early(watch)

    def _sample(self, watch: Watch) -> Cycle:
        """Sample; where that fails the status says so."""
        failed_before = watch.snapshot.error
        try:
            cycle = watch.sample()
        except HotplaceError:
            self._note_status(watch)  # the status says that the daemon runs, and why it has no samples
            raise
        if failed_before:
            log.info("answers again", database=watch.database.name)
        log.debug("sampled", database=watch.database.name, sentence=cycle.sentence, seconds=round(cycle.seconds, 3))
        return cycle

    def _judge(self, watch: Watch) -> None:
        """Count what is open, and judge moves whose time has come."""
        watch.count_proposals()
        for outcome in watch.verify():
            log.info("outcome", database=watch.database.name, verdict=str(outcome.verdict), sentence=outcome.sentence)

    def plan(self, watch: Watch) -> bool:
        """Plan in its turn, and store what is worth proposing; each proposal is logged once.

        Returns:
            False before the first sample.

        Raises:
            HotplaceError: the ledger or the database did not answer; tried again after a sample.
        """
        name, rest = watch.database.name, self._plan_rests[watch.database.name]
        try:
            planned = self._plan(watch)
        except HotplaceError:
            self._unplanned.add(name)
            rest.after_failure(self._clock.monotonic())
            raise
        rest.after_success()
        if planned:
            self._unplanned.discard(name)
            self._ledger.state.save_document(name, PLANNED, None)
        else:
            self._unplanned.add(name)
        return planned

    def _plan_early(self, watch: Watch) -> None:
        """Plan after a sample, where that cannot wait for the next turn."""
        name = watch.database.name
        if name in self._unplanned:  # the server came later than the daemon, or the last plan failed
            if self._clock.monotonic() >= self._plan_rests[name].until:
                self._try(self.plan.__name__, partial(self.plan, watch), watch)
        elif self._plans_before_its_turn(watch):
            self._try(self.plan.__name__, partial(self._plan, watch), watch)

    def _plans_before_its_turn(self, watch: Watch) -> bool:
        """Whether a young agent has seen so much since its last plan that it does not wait for its turn."""
        stored = self._ledger.state.load_document(watch.database.name, PLANNED_AFTER)
        if stored is None:
            return False
        history = watch.database.policy_settings().minimum_history_seconds
        due = next(young_plans(stored[1], history, watch.database.plan_seconds), None)
        return due is not None and due <= watch.observing.watched_seconds

    def _plan(self, watch: Watch) -> bool:
        """Plan and store what is worth proposing; False before the first sample."""
        with smaller_blocks_returned():
            planning = watch.plan()
            number = None if planning is None else watch.propose(planning)
        if planning is None:
            return False
        self._ledger.state.save_document(watch.database.name, PLANNED_AFTER, watch.observing.watched_seconds)
        self._ledger.state.save_document(watch.database.name, SIZING_CURVE, curve_document(planning))
        if number is not None and self._told.get(watch.database.name) != number:
            self._told[watch.database.name] = number
            log.info("proposal", database=watch.database.name, id=number, moves=len(planning.plan.moves),
                     wait_saved_per_hour=round(planning.plan.wait_saved_per_hour, 1))  # fmt: skip
        watch.offer_due()
        for row in watch.approve_by_rules():
            log.info("approved", database=watch.database.name, id=row.id, by=row.decided_by)
        return True

    def planned_at(self, database: str) -> datetime | None:
        """When its last plan was made, by this daemon or one before it; None: never."""
        return self._noted_at(database, PLANNED)

    def folded_at(self) -> datetime | None:
        """When history was folded last; None: never."""
        return self._noted_at(ALL_DATABASES, HISTORY_FOLDED)

    def _noted_at(self, database: str, name: str) -> datetime | None:
        stored = self._ledger.state.load_document(database, name)
        return None if stored is None else stored[0]

    def act(self, watch: Watch) -> bool:
        """Carry out what is approved, unless the last try has failed a moment ago.

        Returns:
            Whether it was tried.

        Raises:
            HotplaceError: it failed before or outside a move.
        """
        rest = self._rests[watch.database.name]
        if self._clock.monotonic() < rest.until:
            return False
        try:
            done = watch.act()
        except HotplaceError:
            rest.after_failure(self._clock.monotonic())
            raise
        rest.after_success()
        # Not for what was put off: a lock that others hold for minutes would cost a plan each second.
        if any(row.state in HOME_CHANGES for row in done):
            with smaller_blocks_returned():
                watch.plan()  # the ranking and the metrics show the new homes at once
            return_free_blocks()  # what a plan leaves behind, and the catalogs that prechecks have read
        return True

    def keep_lease(self, watch: Watch) -> None:
        """Say to the ledger that this agent lives; or take over, where it stands by and no other one does.

        Raises:
            LedgerError: the ledger did not answer.
        """
        if watch.stands_by:
            self._try_to_take_over(watch)
            self._note_ledger(watch, None)  # it has answered, and no sample of a standby says so
            return
        try:
            watch.leasing.keep()
        except (LeaseLost, ConnectorError) as error:
            watch.stand_by()
            self._ledger.samples.forget(watch.database.name)  # the other agent has sampled the same time
            log.error("stands by", database=watch.database.name, error=str(error), advice=error.advice)

    def _try_to_take_over(self, watch: Watch) -> None:
        try:
            watch.take_over()
        except (LeaseHeld, ConnectorError) as error:
            # This is how a stand-by spends its days: more than a debug line would fill the log.
            log.debug("still stands by", database=watch.database.name, error=str(error))
            return
        log.info("acts from now on", database=watch.database.name, token=self._ledger.leases.token(watch.database.name))

    def look(self, watch: Watch) -> bool:
        """Look into large hot units, if that is due; whether it was.

        A login that may not look is no failure: looks are an extra, and ``doctor`` says what they need.

        Raises:
            HotplaceError: the database did not answer.
        """
        try:
            return watch.observing.look_at_blocks()
        except PrivilegeMissing as error:
            log.info("looks into no table", database=watch.database.name, why=str(error), see="hotplace doctor")
            return False

    def run_upkeep(self, job: Callable[[], None], watches: Iterable[Watch]) -> None:
        """Run a job that concerns the ledger and no database: ``fold``, ``anchor``.

        Args:
            job: which one.
            watches: whose health it is a part of: all.
        """
        with self._count_job(ALL_DATABASES) as may_begin:
            if not may_begin:
                return
            name = job.__name__.removeprefix("_")
            try:
                job()
            except HotplaceError as error:
                log.error("failed", job=name, error=str(error), advice=error.advice)
                if not isinstance(error, AWAY):
                    self._note_failures(name, watches, error)
            except Exception as error:  # as of every other job
                self._note_failures(name, watches, error)
                raise
            else:
                for watch in watches:
                    watch.snapshot.note_success(name, self._clock.now())

    def fold(self) -> None:
        """Fold old history, and forget what decisions of that age rested on."""
        now = self._clock.now()
        report = self._ledger.history.fold(now, self._history)
        self._ledger.work.drop(now - timedelta(seconds=WORK_SECONDS))
        self._ledger.statements.drop(now - timedelta(seconds=STATEMENT_SECONDS))
        oldest = now - timedelta(seconds=self._history.history_seconds)
        forgotten = drop_old_decisions(self._ledger, oldest, undecided_before=max(oldest, now - UNDECIDED_KEPT))
        self._ledger.state.save_document(ALL_DATABASES, HISTORY_FOLDED, None)
        log.debug("history folded", report=str(report), decisions_forgotten=forgotten)
        self._give_back()

    def anchor(self) -> None:
        """Note where the audit chain ends, in the log of the system and in the file of anchors.

        Raises:
            HotplaceError: it could not be noted.
        """
        self._ledger.audit.anchor()

    def _give_back(self) -> None:
        """Make the ledger's files as small as what they hold, as far as that is quickly done."""
        try:
            given = self._ledger.upkeep.give_back()
        except HotplaceError as error:
            # The ledger works as it is, only larger: no job has failed.
            log.warning("ledger not made smaller", error=str(error), advice=error.advice)
            return
        if given.bytes or given.sentence:
            log.info("ledger made smaller", bytes=given.bytes, free_bytes=given.free_bytes, sentence=given.sentence)

    def everything(self, watch: Watch) -> None:
        """Two samples one sampling period apart, and all that follows from them.

        Raises:
            HotplaceError: one of the steps failed.
            KeyboardInterrupt: what ran was cancelled.
        """
        watch.sample()
        self._clock.sleep(watch.database.sample_seconds)
        self._sample(watch)
        try:
            self._judge(watch)
        finally:
            self._note_status(watch)
        self.plan(watch)
        try:
            interruptible(partial(self.act, watch), watch.acting.stop)
        finally:
            if watch.snapshot.untrusted:  # only acting finds out what an approval is worth
                self._note_status(watch)

    def _note_status(self, watch: Watch) -> None:
        document = status_document(watch.snapshot, self._clock.now(), os.getpid())
        self._ledger.state.save_document(watch.database.name, STATUS, document)
        self._note_ledger(watch, None)


ANCHOR_EVERY_SECONDS = 3600.0
NOTIFY_EVERY_SECONDS = 15.0
LOOK_INSIDE_EVERY_SECONDS = 15.0  # whether looks are due; how often they are follows from what they cost
FOLD_EVERY_SECONDS = 3600.0
FOLD_AFTER_SECONDS = 15.0  # after a start, to keep clear of the first samples
LOOK_AT_CLOCK_SECONDS = 30.0
SOON_SECONDS = 0.1
THREADS_EACH = 4  # of a database
UPKEEP_THREADS = 2


class JobTimetable:
    """A scheduler of the jobs of some watches: no job runs twice at a time."""

    def __init__(
        self,
        jobs: Jobs,
        clock: Clock,
        watches: Sequence[Watch],
        *,
        renew_seconds: float | None,
        notify: Callable[[], None],
    ) -> None:
        """Wire it up, with the jobs of no database yet.

        Args:
            jobs: what is done.
            clock: time.
            watches: all that will have turns, in their order.
            renew_seconds: how often leases are renewed; None: they do not run out.
            notify: tells people what is new.
        """
        self._jobs, self._clock, self._renew_seconds = jobs, clock, renew_seconds
        self._watches = watches
        self._pools: dict[str, ThreadPoolExecutor] = {}  # by database
        jobs.begin()
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(UPKEEP_THREADS)},
            timezone=UTC,  # only intervals are kept, and the machine's own zone takes a data base to find
            # Missed turns are made up for by one, however late: by default a job that is a second late is dropped, and
            # a machine that slept would miss its plan.
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._add_upkeep(notify)

    def start(self) -> None:
        """From now on what is due is done."""
        self._scheduler.start()

    def add(self, watches: Iterable[Watch]) -> None:
        """Give the jobs of some of the watches their turns, from soon on."""
        soon = self._soon()
        for watch in watches:
            pool = self._make_pool(watch.database.name)
            for job, every, first in self._turns(watch, soon):
                self._scheduler.add_job(
                    self._jobs.run_guarded, "interval", (job, watch), seconds=every, next_run_time=first, executor=pool
                )

    def remove(self, databases: Collection[str], seconds: float) -> frozenset[str]:
        """No more turns for some databases; those whose jobs have not ended within so many seconds."""
        pools = {_pool_of(name) for name in databases}
        for job in self._scheduler.get_jobs():
            if job.executor in pools:
                job.remove()
        busy = self._jobs.end(seconds, databases)
        for name in self._pools.keys() & databases:
            self._scheduler.remove_executor(_pool_of(name), shutdown=False)
            self._pools.pop(name).shutdown(wait=name not in busy)
        return busy

    def arrange(self, watches: Sequence[Watch]) -> None:
        """From now on these have turns, or will have them, in their order; some of them may be there already."""
        self._watches = watches

    def _make_pool(self, database: str) -> str:
        """Threads for the jobs of a database; returns the name of the pool.

        A copy occupies a thread for hours, a look at a large buffer pool one for seconds, and neither must keep the
        sampling of any database, or the renewal of its lease, from its turn.
        """
        self._jobs.begin(database)
        self._pools[database] = pool = ThreadPoolExecutor(THREADS_EACH)
        self._scheduler.add_executor(pool, alias=_pool_of(database))
        return _pool_of(database)

    def follow_clock(self) -> None:
        """Bring jobs forward that a wall clock set back has left in the far future: the scheduler goes by that one."""
        now = self._clock.now()
        for job in self._scheduler.get_jobs():
            if job.next_run_time - now > job.trigger.interval + timedelta(seconds=LOOK_AT_CLOCK_SECONDS):
                log.warning("the clock was set back", job=job.name, planned_for=str(job.next_run_time))
                job.modify(next_run_time=now)

    def end(self, seconds: float) -> frozenset[str]:
        """No more turns; the databases whose jobs have not ended within so many seconds."""
        self._scheduler.pause()
        busy = self._jobs.end(seconds)
        self._scheduler.shutdown(wait=not busy)
        return busy

    def _soon(self) -> datetime:
        return self._clock.now() + timedelta(seconds=SOON_SECONDS)

    def _add_upkeep(self, notify: Callable[[], None]) -> None:
        """Jobs of no single database."""
        soon = self._soon()
        fold = next_turn(self._jobs.folded_at(), FOLD_EVERY_SECONDS, soon + timedelta(seconds=FOLD_AFTER_SECONDS))
        upkeep = (
            (self._jobs.fold, FOLD_EVERY_SECONDS, fold),
            (self._jobs.anchor, ANCHOR_EVERY_SECONDS, soon),
            (notify, NOTIFY_EVERY_SECONDS, soon + timedelta(seconds=NOTIFY_EVERY_SECONDS)),
        )
        for job, every, first in upkeep:
            self._scheduler.add_job(self._run_upkeep, "interval", (job,), seconds=every, next_run_time=first)

    def _run_upkeep(self, job: Callable[[], None]) -> None:
        self._jobs.run_upkeep(job, self._watches)

    def _turns(self, watch: Watch, soon: datetime) -> tuple[tuple[Job, float, datetime], ...]:
        """Each job of a watch, how often it is done in seconds, and when for the first time.

        Sampling and acting of a database never wait for each other. Where no phase is given by what was done last,
        each database is later than the one before it.
        """
        sample = self._first_sample(watch, soon)
        plan = self._first_plan(watch, sample)
        renew, act = self._renew_seconds, ACT_EVERY_SECONDS
        keep = () if renew is None else ((self._jobs.keep_lease, renew, soon + self._later(watch, renew)),)
        return (
            *keep,
            (self._jobs.sample, watch.database.sample_seconds, sample),
            (self._jobs.plan, watch.database.plan_seconds, plan),
            (self._jobs.act, act, soon + self._later(watch, act)),
            (self._jobs.look, LOOK_INSIDE_EVERY_SECONDS, soon + timedelta(seconds=LOOK_INSIDE_EVERY_SECONDS)),
        )

    def _first_sample(self, watch: Watch, soon: datetime) -> datetime:
        every = watch.database.sample_seconds
        first = next_turn(watch.sampled_at, every, soon)
        return first + self._later(watch, every) if watch.sampled_at is None else first

    def _first_plan(self, watch: Watch, sample: datetime) -> datetime:
        """Between two samples, so that what each holds for a moment does not add up.

        The first plan of all comes after the second sample, which is the first that says anything.
        """
        database, planned = watch.database, self._jobs.planned_at(watch.database.name)
        between = sample + timedelta(seconds=min(database.sample_seconds, LOOK_AT_CLOCK_SECONDS) / 2)
        if planned is None and watch.sampled_at is None:
            planned, every = between, database.sample_seconds
        else:
            every = database.plan_seconds
        due = next_turn(planned, every, between)
        if due == between:  # overdue, perhaps as all others are
            due += self._later(watch, every)
        return on_grid(due, between, database.sample_seconds)

    def _later(self, watch: Watch, every: float) -> timedelta:
        return place_in_row(self._watches.index(watch), len(self._watches), every)


def _pool_of(database: str) -> str:
    return f"of {database}"  # a database may be named as the pool for upkeep is
