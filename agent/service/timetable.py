"""The jobs of a daemon in time: a scheduler, how often each job has its turn, and when the first one is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from agent.logs import EventLog
from agent.service.jobs import ACT_EVERY_SECONDS, Job, Jobs
from agent.service.schedule import next_turn, on_grid, place_in_row
from agent.service.watch import Watch
from connectors.base import Clock

log = EventLog(__name__)
ANCHOR_EVERY_SECONDS = 3600.0
NOTIFY_EVERY_SECONDS = 15.0
LOOK_INSIDE_EVERY_SECONDS = 15.0  # whether looks are due; how often they are follows from what they cost
FOLD_EVERY_SECONDS = 3600.0
FOLD_AFTER_SECONDS = 15.0  # after a start, to keep clear of the first samples
LOOK_AT_CLOCK_SECONDS = 30.0
SOON_SECONDS = 0.1
THREADS_EACH = 4  # of a database
UPKEEP_THREADS = 2


class Timetable:
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
            self._scheduler.add_job(self._jobs.run_upkeep, "interval", (job,), seconds=every, next_run_time=first)

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
