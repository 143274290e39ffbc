"""The daemon: becomes the agent of each database, schedules the watches, serves metrics, obeys signals.

``facts_of`` gathers what notices are made from, as a watch and the ledger know it now.

``claim_all`` becomes the one agent of each database at a start. A server that does not answer keeps no other waiting.

``Daemon`` stops cleanly on SIGTERM and SIGINT. A running statement is cancelled (the engine rolls it back, the move
stays approved), and what was learnt is saved. A server that does not answer delays this by some seconds; what its
statement came to is found out at the next start.

On SIGHUP the daemon reads the configuration again, and keeps the old one if the new one is invalid. Databases that the
change does not concern go on undisturbed. Each of the others follows once its move has ended or, if its server does not
answer, once its jobs have.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from enum import Enum, auto
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from prometheus_client import CollectorRegistry
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from agent.config.errors import ConfigError
from agent.config.files import load
from agent.config.models import STALE_SAMPLES, Config, DatabaseConfig
from agent.config.tiers import Storage
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import AWAY, LedgerError, LedgerMovedAway
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.model.clock import repeat_in_background
from agent.model.logs import EventLog, set_up_logs
from agent.model.units_of_measure import format_when
from agent.moving.progress import MoveEvent
from agent.service.channels import SEND_SECONDS
from agent.service.httpd import Certificate, MetricsServer, Pages, no_pages
from agent.service.jobs import LOOK_AT_CLOCK_SECONDS, Jobs, JobTimetable
from agent.service.metrics import AgentCollector
from agent.service.notifier import (
    LOOKS_BACK,
    ClosedRule,
    Ended,
    ExpiredApproval,
    FailingJob,
    Hurt,
    NoticeFacts,
    Notifier,
    SpaceRoom,
    closed_rules,
    ended_moves,
    expired_approvals,
    hurt_proposals,
)
from agent.service.process import LastResort
from agent.service.snapshot import Snapshot
from agent.service.watch import Watch
from connectors.kit.contract import Clock, ConnectorError, HotplaceError, LeaseHeld

SAMPLE, ACT = Jobs.sample.__name__, Jobs.act.__name__
LATELY_SECONDS = 3600.0  # that a failure to act may have been the reason for what expired since


def facts_of(snapshot: Snapshot, sample_seconds: float, ledger: Ledger, now: datetime) -> NoticeFacts:
    """Everything about one database that may be worth a notice; without the ledger, what the snapshot tells alone."""
    since_then: tuple[tuple[Ended, ...], tuple[Hurt, ...], tuple[ClosedRule, ...], tuple[ExpiredApproval, ...]] = (
        (),
        (),
        (),
        (),
    )
    # Sent once the ledger is there again, if that is within the time for which ends are news.
    with suppress(*AWAY):
        name = snapshot.database
        since_then = (
            ended_moves(ledger, name, now), hurt_proposals(ledger, name, now), closed_rules(ledger, name, now),
            expired_approvals(ledger, name, now, kept_by=_why_nothing_began(snapshot, now)),
        )  # fmt: skip
    ended, hurt, closed, expired = since_then
    return NoticeFacts(
        database=snapshot.database,
        now=now,
        waiting=snapshot.undecided_at(now),
        ended=ended,
        hurt=hurt,
        closed_rules=closed,
        idle_rules=snapshot.idle_rules,
        expired=expired,
        failing=tuple(
            FailingJob(job=name, since=each.failing_since, error=each.error)
            for name, each in sorted(snapshot.jobs.items())
            if each.keeps_failing and each.failing_since is not None and name != SAMPLE  # of samples ``stalled`` tells
        ),
        server_changes=tuple(each for each in snapshot.server_changes if abs(now - each.at) <= LOOKS_BACK),
        rooms=() if snapshot.storage is None else rooms_of(snapshot.storage),
        lost={} if snapshot.storage is None else _find_lost_spaces(snapshot.storage),
        stalled=_why_stalled(snapshot, sample_seconds, now),
    )


def _why_nothing_began(snapshot: Snapshot, now: datetime) -> str:
    """Why acting failed lately; "" if it did not."""
    acting = snapshot.jobs.get(ACT)
    if acting is None or acting.failed_at is None or abs((now - acting.failed_at).total_seconds()) > LATELY_SECONDS:
        return ""
    return acting.error


def _why_stalled(snapshot: Snapshot, sample_seconds: float, now: datetime) -> str:
    if snapshot.untrusted:
        return f"nothing is carried out, since the ledger is not trusted: {snapshot.untrusted}"
    if snapshot.ledger_error:
        return f"nothing is carried out, since the ledger is away: {snapshot.ledger_error}"
    cycle = snapshot.cycle
    if not snapshot.error:
        return ""
    if cycle is None:
        return f"it was never sampled: {snapshot.error}"
    if (now - cycle.taken_at).total_seconds() <= STALE_SAMPLES * sample_seconds:
        return ""
    return f"it was last sampled {format_when(cycle.taken_at)}: {snapshot.error}"


def rooms_of(storage: Storage) -> tuple[SpaceRoom, ...]:
    """Every managed space whose free bytes are known."""
    return tuple(
        SpaceRoom(
            space=space.name,
            tier=storage.tiers[tier].name,
            free_bytes=volume.free_bytes,
            fill_ratio=volume.fill_ratio,
        )
        for tier, space in zip(storage.tier_of_space.tolist(), storage.spaces, strict=True)
        if tier >= 0 and (volume := space.volume) is not None and volume.fill_ratio is not None
    )


def _find_lost_spaces(storage: Storage) -> dict[str, str]:
    """Managed spaces that cannot take data now."""
    managed = zip(storage.tier_of_space.tolist(), storage.spaces, strict=True)
    return {space.name: space.lost for tier, space in managed if tier >= 0 and space.lost}


WAITS_SECONDS = 5.0  # for all leases together; a server that answers does so in a tenth of that


def claim(watch: Watch) -> None:
    """Be the one agent of this database, or say who is. A database that is down now may come later.

    Raises:
        LeaseHeld: another agent is.
    """
    try:
        watch.hold_lease()
    except LeaseHeld:
        raise
    except (ConnectorError, LedgerError) as error:
        log.warning("not reachable yet", database=watch.database.name, error=str(error), advice=error.advice)


def claim_all(watches: Collection[Watch], seconds: float = WAITS_SECONDS) -> list[LeaseHeld]:
    """Take all leases side by side, and wait for them so long; servers that do not answer go on being asked.

    One alone is waited for as long as its connection allows.

    Returns:
        Why some are another agent's. What is heard of that later is logged: acting asks again.
    """
    held: list[tuple[Watch, LeaseHeld]] = []
    over = threading.Event()

    def take(watch: Watch) -> None:
        try:
            claim(watch)
        except LeaseHeld as error:
            held.append((watch, error))
            if over.is_set():
                log.error("only watched", database=watch.database.name, error=str(error), advice=error.advice)

    if len(watches) == 1:  # it keeps no other waiting
        take(*watches)
        return [error for _, error in held]
    threads = {watch.database.name: threading.Thread(target=take, args=(watch,), daemon=True) for watch in watches}
    until = time.monotonic() + seconds
    for thread in threads.values():
        thread.start()
    for name, thread in threads.items():
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            log.warning("does not answer yet", database=name)
    over.set()
    return [_named_twice(watch, error, watches) for watch, error in held]


def _named_twice(watch: Watch, error: LeaseHeld, watches: Collection[Watch]) -> LeaseHeld:
    """The error, or that the other agent is this one: the configuration has the database under two names."""
    with suppress(ConnectorError):
        own = watch.identity.fingerprint
        for other in watches:
            if other is not watch and other.leasing.is_taken and other.identity.fingerprint == own:
                return LeaseHeld(
                    f"{other.database.name} and {watch.database.name} of the configuration are one database",
                    advice="Remove one of the two.",
                )
    return error


log = EventLog(__name__)
LEASE_PARTS = 3  # of a lease: how often it is renewed in its time, so that one renewal may fail
LISTEN_SECONDS = 1.0
JOBS_END_WITHIN_SECONDS = 6.0  # once asked to stop
NOTICES_END_WITHIN_SECONDS = 1.0  # the same; what is sent and not noted by then is sent once more
STOPS_WITHIN_SECONDS = 9.0  # all of it, wherever it is held up: before a service manager loses patience
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class _Asked(Enum):
    """What a signal asks of the daemon."""

    STOP = auto()
    RELOAD = auto()


class Daemon:
    """All watches of one configuration, in time."""

    def __init__(
        self, config: Config, path: Path | None, ledger: Ledger, clock: Clock, *, standby: bool = False,
        json_logs: bool = False,
    ) -> None:  # fmt: skip
        """Wire it up.

        Args:
            config: what to do.
            path: where it was read from, for SIGHUP; None: it cannot be reloaded.
            ledger: the durable record.
            clock: time.
            standby: wait for leases that other agents hold, in place of ending with an error.
            json_logs: log as JSON, whatever the configuration says.
        """
        self.config = config
        self._standby, self._json_logs = standby, json_logs
        self._path = path
        self._ledger = ledger
        self._clock = clock
        self._asked: SimpleQueue[_Asked] = SimpleQueue()  # put() is safe in a signal handler, Event.set() is not
        self._watches: dict[str, Watch] = {}
        self._moving: set[str] = set()  # databases that have the new configuration once their move has ended
        self._left: dict[str, Watch] = {}  # of an older configuration, whose jobs wait for a silent server
        self._jobs = Jobs(ledger, clock, HistorySettings(history_seconds=config.ledger.history_seconds))
        self.has_left = False  # jobs that wait for a silent server were left behind: only the process ends them
        self._notifier = Notifier(ledger, clock, config.notices)
        self._timetable: JobTimetable | None = None
        self._server: MetricsServer | None = None
        self.pages: Pages = no_pages  # what is served besides metrics and health

    def run(self) -> None:
        """Run until asked to stop.

        Raises:
            HotplaceError: it could not start (address taken, another agent on a database ...).
        """
        with self._signals():
            try:
                self._start()
                while (asked := self._next_asked()) is not _Asked.STOP:
                    if asked is _Asked.RELOAD:
                        self._reload()
                    elif self._timetable is not None:
                        self._timetable.follow_clock()
                    self._follow()
                    self._require_in_use()
            finally:
                self._shut_down()

    def run_once(self) -> None:
        """One cycle of every database: sample, plan, propose, act, verify.

        The lease is taken before the first sample: next to a daemon this would replace what that has learnt.

        Raises:
            HotplaceError: one of them failed, or another agent has it (``LeaseHeld``); the others were still done.
            KeyboardInterrupt: what ran was cancelled, and a move that did stays approved.
        """
        failures: list[HotplaceError] = []
        self._watches = self._make_watches(self.config)
        try:
            for watch in self._watches.values():
                try:
                    claim(watch)
                    with self._renew_lease(watch):
                        self._jobs.everything(watch)
                except HotplaceError as error:
                    failures.append(error)
                else:
                    watch.count_proposals()  # the one of this very cycle too: the next cycle may be a day away
            try:
                self._notify()
            except HotplaceError as error:
                log.error("notices failed", error=str(error), advice=error.advice)
            self._finish_notices(SEND_SECONDS + JOBS_END_WITHIN_SECONDS)
        finally:
            self._close_watches()
        if failures:
            raise failures[0]

    def _renew_lease(self, watch: Watch) -> AbstractContextManager[None]:
        """Within, the lease of a watch is renewed."""
        if not self._ledger.leases.run_out:
            return nullcontext()
        renew = partial(self._jobs.run_guarded, self._jobs.keep_lease, watch)
        return repeat_in_background(self._clock, self._ledger.leases.seconds / LEASE_PARTS, renew)

    def ask_to_stop(self) -> None:
        """End ``run`` soon. Safe from a signal handler and from any thread."""
        self._asked.put(_Asked.STOP)

    def ask_to_reload(self) -> None:
        """Read the configuration again soon. Safe from a signal handler."""
        self._asked.put(_Asked.RELOAD)

    def snapshots(self) -> list[Snapshot]:
        """What every watch knows now."""
        return [watch.snapshot for watch in self._watches.values()]

    def readiness(self) -> tuple[bool, str]:
        """Whether every database was sampled lately and no person has to mend its ledger first, and a sentence."""
        now = self._clock.now()
        late = []
        states = {watch.database.name: watch.snapshot.sending(now) for watch in self._watches.values()}
        hindered = {name: state for name, state in states.items() if state is not None and not state.allowed}
        said = "; ".join(f"{name}: {state.sentence}" for name, state in hindered.items())
        for watch in self._watches.values():
            if watch.stands_by:
                continue
            cycle = watch.snapshot.cycle
            allowed = STALE_SAMPLES * watch.database.sample_seconds
            if cycle is None or (now - cycle.taken_at).total_seconds() > allowed:
                late.append(watch.database.name)
        if late:
            return False, f"no fresh sample of {', '.join(late)}"
        return not any(state.needs_a_person for state in hindered.values()), f"ready; {said}" if said else "ready"

    # -- start and stop ------------------------------------------------------------------------------------------

    def _next_asked(self) -> _Asked | None:
        """What is asked next; None where nothing was for a while."""
        # In short waits: a signal that comes just before a wait begins is handled at its end.
        for _ in range(round(LOOK_AT_CLOCK_SECONDS / LISTEN_SECONDS)):
            with suppress(Empty):
                return self._asked.get(timeout=LISTEN_SECONDS)
        return None

    def _require_in_use(self) -> None:
        """End where the ledger was moved away: what is written to it is refused, and another one has taken its place.

        Raises:
            LedgerMovedAway: it was.
        """
        if where := self._ledger.moved_to() if not self._ledger.is_shared else "":
            raise LedgerMovedAway(
                f"the ledger {self._ledger.name} was moved to {where}",
                advice="Name that ledger in the configuration, and start the service again.",
            )

    def _start(self) -> None:
        self._require_in_use()
        self._watches = self._make_watches(self.config)
        if (held := self._claim(self._watches.values())) and not self._standby:
            raise held[0]
        if self.config.metrics.enabled:
            self._server = self._metrics_server()
            self._server.start()
            log.info("metrics", url=self._server.url)
        self._timetable = self._schedule()
        self._timetable.start()
        log.info("started", databases=list(self._watches), level=str(self.config.level), dry_run=self.config.dry_run)
        self._say_where_nothing_is_sent()

    def _say_where_nothing_is_sent(self) -> None:
        """In the first lines of the log, before anything is due."""
        for name, watch in self._watches.items():
            watch.acting.look_at_sending(at_once=True)
            state = watch.snapshot.sending(self._clock.now())
            if state is not None and not state.allowed:
                log.warning("sends nothing", database=name, why=state.sentence, advice=state.next_step)

    def _claim(self, watches: Collection[Watch]) -> list[LeaseHeld]:
        """Take the leases; on a shared ledger, stand by where one was not to be had. Why some are another agent's."""
        held = claim_all(watches)
        for watch in watches:
            watch.snapshot.stands_by = self._ledger.is_shared and not watch.leasing.is_taken
            if watch.stands_by:
                log.info("stands by", database=watch.database.name)
        return held

    def _metrics_server(self) -> MetricsServer:
        metrics = self.config.metrics
        auth, tls = metrics.basic_auth, metrics.tls
        if metrics.listen not in LOOPBACK and (tls is None or not metrics.is_guarded):
            log.warning("the metrics endpoint is open to others", listen=metrics.listen,
                        advice="metrics.tls and metrics.basic_auth close it")  # fmt: skip
        return MetricsServer(
            self._registry(),
            self.readiness,
            listen=str(metrics.listen),
            port=metrics.port,
            tls=None if tls is None else Certificate(tls.certificate, tls.key, tls.client_ca),
            expected="" if auth is None else f"{auth.user}:{auth.password.read().get_secret_value()}",
            hosts=metrics.hosts,
            pages=self.pages,
        )

    def _make_watches(self, config: Config) -> dict[str, Watch]:
        return {database.name: self._make_watch(database, config) for database in config.databases}

    def _make_watch(self, database: DatabaseConfig, config: Config) -> Watch:
        return Watch(
            database,
            self._ledger,
            self._clock,
            level=config.level,
            dry_run=config.dry_run,
            listener=_log_move,
            top_units=config.metrics.top_units,
        )

    def _registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(
            AgentCollector(
                self.snapshots,
                top_units=self.config.metrics.top_units,
                now=self._clock.now,
                acts=lambda: (self.config.level, self.config.dry_run),
            )
        )
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        return registry

    def _schedule(self) -> JobTimetable:
        run_out = self._ledger.leases.run_out
        timetable = JobTimetable(
            self._jobs,
            self._clock,
            list(self._watches.values()),
            renew_seconds=self._ledger.leases.seconds / LEASE_PARTS if run_out else None,
            notify=self._notify,
        )
        timetable.add(self._watches.values())
        return timetable

    def _notify(self) -> None:
        """Tell people what is new.

        Raises:
            HotplaceError: the ledger could not note which notices were sent; it is tried again at the next turn.
        """
        if not self.config.notices:
            return
        now = self._clock.now()
        self._notifier.take_turn(
            facts_of(watch.snapshot, watch.database.sample_seconds, self._ledger, now)
            for watch in self._watches.values()
            if not watch.stands_by
        )

    def _finish_notices(self, seconds: float) -> None:
        """Wait for messages that are on their way, for so long at most."""
        try:
            self._notifier.finish(seconds)
        except HotplaceError as error:
            log.error("notices failed", error=str(error), advice=error.advice)

    def _shut_down(self) -> None:
        # Cancel first: the copy of a large table may take hours. What does not end soon after that waits for a server
        # that says nothing, and is left to the next start: the journal holds its statement without an end.
        busy = self._end_jobs(JOBS_END_WITHIN_SECONDS)
        for name in sorted(busy & self._watches.keys()):
            log.warning("still waits for its server; left to the next start", database=name)
            del self._watches[name]
        self.has_left = bool(busy)
        self._finish_notices(NOTICES_END_WITHIN_SECONDS)
        for name in self._left.keys() - busy:
            _close(self._left[name])
        self._close_watches()
        if self._server is not None:
            self._server.stop()
            self._server = None
        log.info("stopped")

    def _end_jobs(self, seconds: float = math.inf) -> frozenset[str]:
        """Stop the watches and their jobs; the databases whose jobs have not ended within so many seconds."""
        for watch in self._watches.values():
            watch.acting.stop()
        if self._timetable is None:
            return frozenset()
        timetable, self._timetable = self._timetable, None
        return timetable.end(seconds)

    def _close_watches(self) -> None:
        for watch in self._watches.values():
            _close(watch)

    def _reload(self) -> None:
        """Take over a valid new configuration; keep the old one otherwise."""
        if self._path is None:
            log.warning("nothing to reload: the configuration did not come from a file")
            return
        try:
            config = load(self._path)
        except ConfigError as error:
            log.error("configuration not reloaded, the old one stays", problems=[str(p) for p in error.problems])
            return
        try:
            self._ledger.leases.rows()  # what begins again reads the ledger, which may be on a server
        except AWAY as error:
            log.error("configuration not reloaded, the old one stays; try again later", reason=str(error))
            return
        # The old values go into the new configuration: it says what is in use, so that the next reload warns again.
        if (config.ledger, config.metrics) != (self.config.ledger, self.config.metrics):
            log.warning("changes of ledger and metrics take effect after a restart")
            config = config.model_copy(update={"ledger": self.config.ledger, "metrics": self.config.metrics})
        if config.log != self.config.log:
            set_up_logs(as_json=self._json_logs or config.log.format == "json", level=config.log.level)
        self._take_over(config)
        log.info("configuration reloaded", path=str(self._path))

    def _take_over(self, config: Config) -> None:
        """Begin again with the databases that a new configuration concerns; the others go on as they are."""
        assert self._timetable is not None, "it runs"
        concerned = {name for name, watch in self._watches.items() if not _fits(watch, config)}
        # A copy of hours that each reload cancels never ends.
        before, self._moving = self._moving, {name for name in concerned if self._watches[name].acting.carries_out}
        for name in before | self._moving:
            self._watches[name].acting.hold_back(on=name in self._moving)
        for name in sorted(self._moving - before):
            log.info("a move is under way; has the new configuration once it has ended", database=name)
        going = concerned - self._moving
        for name in going:
            self._watches[name].acting.stop()
        # Before the sessions are closed: a job may still use them. Those that wait for a silent server keep theirs.
        busy = self._timetable.remove(going, JOBS_END_WITHIN_SECONDS)
        self._leave(busy)
        ended = {name: self._watches[name] for name in going - busy}
        for watch in ended.values():
            _close(watch)
        self._finish_notices(NOTICES_END_WITHIN_SECONDS)
        self.config = config
        self._notifier = Notifier(self._ledger, self._clock, config.notices)
        self._ledger.use_rule(ApprovalRule.of(config.signers, config.approvals, automatic=config.automatic))
        begun = self._begin(config, going, ended | self._left)
        self._timetable.arrange(list(self._watches.values()))
        ready = [watch for watch in begun if watch.database.name not in self._left]
        self._claim_or_watch(ready)
        self._timetable.add(ready)

    def _begin(self, config: Config, going: Collection[str], before: Mapping[str, Watch]) -> list[Watch]:
        """Make the watches that are missing, in the order of the configuration; returns them.

        Args:
            config: the new one.
            going: databases whose watches are replaced, or dropped: at once, so that no scrape misses a database.
            before: what new watches continue from, by database.
        """
        there = {name: watch for name, watch in self._watches.items() if name not in going}
        names = [database.name for database in config.databases]
        begun = [self._make_watch(database, config) for database in config.databases if database.name not in there]
        for watch in begun:
            if (name := watch.database.name) in before:
                # Not from the ledger alone: the last sample is in memory only, and without it each reload would lose an
                # interval.
                watch.continue_from(before[name])
        every = there | {watch.database.name: watch for watch in begun}
        self._watches = {name: every[name] for name in dict.fromkeys((*names, *there))}
        return begun

    def _leave(self, busy: Collection[str]) -> None:
        """Set watches aside whose jobs have not ended."""
        for name in sorted(busy & self._watches.keys()):
            log.warning("still waits for its server; has the new configuration once it answers", database=name)
            self._left.setdefault(name, self._watches[name])

    def _follow(self) -> None:
        """Take over the configuration for databases whose move or whose jobs have ended since."""
        if any(not self._watches[name].acting.carries_out for name in self._moving):
            self._take_over(self.config)
        for name in sorted(self._left.keys() - self._jobs.busy()):
            old = self._left.pop(name)
            _close(old)
            watch = self._watches.get(name)
            if watch is None or self._timetable is None:
                continue  # it is in the configuration no more
            watch.continue_from(old)
            self._claim_or_watch([watch])
            self._timetable.add([watch])
            log.info("answers again, and has the new configuration", database=name)

    def _claim_or_watch(self, watches: Collection[Watch]) -> None:
        for held in self._claim(watches):  # the others go on; acting says so again when it has to do
            log.error("only watched", error=str(held), advice=held.advice)

    # -- signals -------------------------------------------------------------------------------------------------

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Handle signals while running; only the main thread can. Once asked to stop, the process ends in time."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        last_resort = LastResort(STOPS_WITHIN_SECONDS)

        def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (the signature of a handler)
            last_resort.begin()
            self.ask_to_stop()

        def reload(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # as above
            self.ask_to_reload()

        wanted = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload}
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        # A reload may have been asked for since the process began: the program has let it wait.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if not self.has_left:
                last_resort.dismiss()


def _fits(watch: Watch, config: Config) -> bool:
    """Whether a watch does what a configuration says of its database."""
    own = next((each for each in config.databases if each.name == watch.database.name), None)
    return own == watch.database and (watch.level, watch.dry_run) == (config.level, config.dry_run)


def _close(watch: Watch) -> None:
    try:
        watch.close()
    except HotplaceError as error:
        log.warning("while closing", database=watch.database.name, error=str(error))


def _log_move(event: MoveEvent) -> None:
    row = event.move
    log.info("move", database=row.database, id=row.id, unit=row.move.key, to=row.move.to_space, state=str(row.state),
             sentence=event.sentence)  # fmt: skip
