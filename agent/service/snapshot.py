"""What a watch knows now, for the metrics, the health checks and ``hotplace status``: figures and the top units."""

from __future__ import annotations

import math
import socket
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self, TypeVar

from agent.config.tiers import Storage
from agent.ledger.rows import ProposalRow
from agent.model.answers.kind import mapping_of
from agent.model.answers.watching import JobShown, ServerChangeShown, UnitsRead
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.proposals import DIGEST_SHOWN
from agent.model.states import MoveState, ProposalState
from agent.moving.leftovers import Leftover
from agent.moving.progress import RunningMove
from agent.planning.ranking import UnitStanding
from agent.planning.read_times import tiers_shown
from agent.sampling.sampler import Cycle, IntervalFigures
from agent.service.notifier import Waiting
from agent.service.process import start_of
from agent.service.sending import Sending, SendingFacts, judge, said_by_agent
from agent.service.server_facts import ServerChange
from connectors.model.observation import Coverage, Identity, RoleFigures
from policies.evidence.prices import is_measured, waited_seconds
from policies.model.moves import missed_wait_ratio
from policies.model.plan import Plan, SavingLimit

FAILS_SECONDS = 900.0  # of a job, before a notice is sent; as the alert HotplaceJobFails has it
SLOW_CYCLE_SECONDS = 5.0  # what a cycle may take however often there is one
_SCRAPES = threading.Lock()  # several may come at once, and one works out what the others read


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a plan comes to, without its columns."""

    wait_per_hour: float
    wait_saved_per_hour: float
    limit: SavingLimit  # of the plan: takes time to work out, and of a plan without moves only metrics read it

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The figures of a plan."""
        # A proposal states the bound, and is made while a scrape may come: worked out before either can.
        limit = SavingLimit(plan.limit.per_hour) if plan.moves else plan.limit
        return cls(wait_per_hour=plan.wait_per_hour, wait_saved_per_hour=plan.wait_saved_per_hour, limit=limit)

    @property
    def missed_wait_ratio(self) -> float:
        """Share of all read wait that the best possible plan might save and this one does not."""
        with _SCRAPES:
            return missed_wait_ratio(self.wait_per_hour, self.limit.per_hour, self.wait_saved_per_hour)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHealth:
    """How a job of the daemon went lately."""

    succeeded_at: datetime | None = None
    failed_at: datetime | None = None
    error: str = ""  # of the last failure, however long ago
    failing_since: datetime | None = None  # the first failure since the last success; None: the last try succeeded
    failing_seconds: float = 0.0  # from that one to the last: of a single failure 0
    _first: float = math.nan  # of them, on the monotonic clock, which is never set back

    def after_success(self, now: datetime) -> Self:
        """After a try that went well."""
        return replace(self, succeeded_at=now, failing_since=None, failing_seconds=0.0)

    def after_failure(self, now: datetime, monotonic: float, error: str) -> Self:
        """After one that did not."""
        first = monotonic if self.failing_since is None else self._first
        return replace(
            self, failed_at=now, error=error, failing_since=self.failing_since or now,
            failing_seconds=monotonic - first, _first=first,
        )  # fmt: skip

    @property
    def keeps_failing(self) -> bool:
        """Whether people are to know: every try has failed for a while."""
        return self.failing_seconds >= FAILS_SECONDS


@dataclass(slots=True)
class Snapshot:
    """What the last cycle left in memory: all that metrics and health checks ever look at."""

    database: str
    engine: str
    identity: Identity | None = None
    server_changes: tuple[ServerChange, ...] = ()  # of the last days
    storage: Storage | None = None  # tiers carry calibrated speeds
    cycle: Cycle | None = None
    roles: tuple[RoleFigures, ...] = ()  # averaged
    waiting_sessions: float = math.nan  # for reads, in the last interval that counted; NaN: not measured
    wait_seconds: float = 0.0  # for reads, since start
    role_wait_seconds: Mapping[tuple[str, str], float] = field(default_factory=dict)  # since start, by role and name
    sync_reads: Mapping[str, float] = field(default_factory=dict)  # since start, by tier
    worth: Worth | None = None  # of the last plan
    standing: UnitStanding | None = None  # of the last plan
    hottest_tenths: Mapping[str, float] = field(default_factory=dict)  # units that are looked into -> share of reads
    sample_seconds: float = math.inf  # from one cycle to the next
    sampling_since: datetime | None = None  # when the cycle that is under way began; None: none is
    cycles: int = 0
    failures: int = 0
    server_seconds: float = 0.0
    cycle_seconds: float = 0.0
    running: RunningMove | None = None  # the move whose statement runs
    foreground_read_seconds: float = math.nan  # mean of sessions' reads while moves wait or run; NaN: not known
    error: str = ""
    jobs: Mapping[str, JobHealth] = field(default_factory=dict)  # by name: replaced, never changed, for other threads
    moved_bytes: int = 0
    moves: Counter[MoveState] = field(default_factory=Counter)  # how many came to each result since start
    counted_row: int | None = None  # of the audit chain, up to which they are counted; None: nothing is yet
    lock_taken_by: str = ""  # who has the engine's lock of agents and is none of them; "": no one, as far as is known
    stands_by: bool = False  # another agent watches this database and acts on it
    ledger_error: str = ""  # why the ledger takes nothing now; "": it does
    spooled: int = 0  # intervals of this machine whose hours the ledger lacks
    sending_facts: SendingFacts | None = None  # as the ledger said lately; None: it was not asked yet
    untrusted: str = ""  # why nothing is sent on the strength of the ledger; "": as far as is known it can be
    leftovers: tuple[Leftover, ...] = ()  # what interrupted moves have left in the database
    idle_rules: Mapping[int, str] = field(default_factory=dict)  # open rule -> what holds it up
    groups_left_worse: int = 0  # that ended halfway, and are neither taken back nor judged
    approved: int | None = None  # proposals that are approved and have not ended; None: not counted yet
    waiting: tuple[Waiting, ...] = ()  # proposals that waited for a decision when they were counted
    outcomes: Counter[OutcomeVerdict] = field(default_factory=Counter)  # measured proposals since start, undos left out
    undo_outcomes: Counter[OutcomeVerdict] = field(default_factory=Counter)  # measured undos since start
    last_outcome: Outcome | None = None  # undos left out

    def sending(self, now: datetime) -> Sending | None:
        """Whether anything may be sent, by what is known now; None before the ledger was asked."""
        if self.sending_facts is None:
            return None
        facts = replace(
            self.sending_facts, ledger_error=self.ledger_error or self.sending_facts.ledger_error,
            untrusted=self.untrusted, stands_by=self.stands_by,
        )  # fmt: skip
        return judge(facts, now)

    def is_up(self, now: datetime) -> bool:
        """Whether the last cycle succeeded, and none has been under way for longer than until the next is due."""
        if self.cycle is None or self.error:
            return False
        under_way = 0.0 if self.sampling_since is None else (now - self.sampling_since).total_seconds()
        return under_way <= max(self.sample_seconds, SLOW_CYCLE_SECONDS)

    def note_interval(self, figures: IntervalFigures) -> None:
        """Let the counters of waits and reads grow by an interval that counted."""
        self.waiting_sessions = figures.waiting_sessions
        if figures.waiting_sessions >= 0:
            self.wait_seconds += figures.waiting_sessions * figures.seconds
        roles: dict[tuple[str, str], float] = {
            (each.role, each.name): waited_seconds(each) for each in figures.roles if is_measured(each)
        }
        self.role_wait_seconds = _grown(self.role_wait_seconds, roles, figures.seconds)
        self.sync_reads = _grown(self.sync_reads, figures.sync_reads, figures.seconds)

    def note_success(self, job: str, now: datetime) -> None:
        """A job went well."""
        self.jobs = {**self.jobs, job: self.jobs.get(job, JobHealth()).after_success(now)}

    def note_failure(self, job: str, now: datetime, monotonic: float, error: str) -> None:
        """A job failed."""
        self.jobs = {**self.jobs, job: self.jobs.get(job, JobHealth()).after_failure(now, monotonic, error)}

    def note(self, outcome: Outcome) -> None:
        """Count what was measured: what moves brought, and what taking them back did, each for itself."""
        if outcome.undo:
            self.undo_outcomes[outcome.verdict] += 1
        else:
            self.outcomes[outcome.verdict] += 1
            self.last_outcome = outcome

    def count_proposals(self, rows: Sequence[ProposalRow]) -> None:
        """Note which proposals are open.

        Args:
            rows: the open ones.
        """
        self.approved = sum(row.state is ProposalState.APPROVED for row in rows)
        self.waiting = tuple(_waiting_of(row) for row in rows if row.state is ProposalState.PROPOSED)

    def undecided_at(self, now: datetime) -> tuple[Waiting, ...]:
        """Proposals that wait for a decision at an instant: one may have expired since they were counted."""
        return tuple(each for each in self.waiting if each.expires_at > now)


_K = TypeVar("_K")


def _grown(counters: Mapping[_K, float], rates: Mapping[_K, float], seconds: float) -> dict[_K, float]:
    """Counters after an interval: replaced, never changed, for other threads."""
    return {**counters, **{key: counters.get(key, 0.0) + rate * seconds for key, rate in rates.items()}}


def _waiting_of(row: ProposalRow) -> Waiting:
    """A proposal without a decision, in the words of notices."""
    proposal = row.proposal
    return Waiting(
        number=row.id,
        digest=row.digest[:DIGEST_SHOWN],
        moves=len(proposal.moves),
        size_bytes=proposal.bytes_moved,
        saves_per_hour=proposal.wait_saved_per_hour,
        created_at=proposal.created_at,
        expires_at=proposal.expires_at,
    )


def status_document(snapshot: Snapshot, now: datetime, pid: int) -> dict[str, Any]:
    """What ``hotplace status`` shows of a running daemon, as JSON values."""
    cycle = snapshot.cycle
    return {
        "at": now.isoformat(),
        "pid": pid,
        "process": start_of(pid),
        "host": socket.gethostname(),
        "engine": snapshot.engine,
        "version": snapshot.identity.version if snapshot.identity else None,
        "cycles": snapshot.cycles,
        "failures": snapshot.failures,
        "error": snapshot.error or None,
        "untrusted": snapshot.untrusted or None,
        "sending": None if snapshot.sending_facts is None else said_by_agent(snapshot.sending_facts, now),
        "jobs": [_plain(each) for each in _jobs_shown(snapshot.jobs)],
        "server_changes": [_plain(each) for each in _changes_shown(snapshot.server_changes)],
        "last_sample": cycle.taken_at.isoformat() if cycle else None,
        "last_cycle": cycle.sentence if cycle else None,
        "units": cycle.units if cycle else 0,
        "units_read": None if cycle is None or cycle.coverage is None else _plain(_units_read(cycle.coverage)),
        "sample_seconds": snapshot.sample_seconds if math.isfinite(snapshot.sample_seconds) else None,
        "server_seconds": snapshot.server_seconds,
        "cycle_seconds": snapshot.cycle_seconds,
        "spaces": [] if snapshot.storage is None else _rooms(snapshot.storage),
        "tiers": [] if snapshot.storage is None else [mapping_of(each) for each in tiers_shown(snapshot.storage.tiers)],
    }


def _units_read(coverage: Coverage) -> UnitsRead:
    """How much was read, as answers have it."""
    return UnitsRead(
        units=coverage.units, read=coverage.read, never=coverage.never, oldest_seconds=coverage.oldest_seconds,
        sentence=f"reading all counters takes too long: {coverage.sentence}",
    )  # fmt: skip


def _jobs_shown(jobs: Mapping[str, JobHealth]) -> tuple[JobShown, ...]:
    """Health of jobs as answers have it."""
    return tuple(
        JobShown(
            job=name, last_success=each.succeeded_at, last_failure=each.failed_at, error=each.error or None,
            failing_since=each.failing_since, keeps_failing=each.keeps_failing,
        )
        for name, each in sorted(jobs.items())
    )  # fmt: skip


def _changes_shown(changes: Sequence[ServerChange]) -> tuple[ServerChangeShown, ...]:
    return tuple(ServerChangeShown(at=each.at, sentence=each.sentence) for each in changes)


def _plain(answer: object) -> dict[str, Any]:
    """An answer as JSON values."""
    return {
        key: value.isoformat() if isinstance(value, datetime) else value for key, value in mapping_of(answer).items()
    }


def _rooms(storage: Storage) -> list[dict[str, Any]]:
    """Bytes and fill of each space with its tier, fastest first; spaces without a tier are last."""
    names = [tier.name for tier in storage.tiers]
    tiered = sorted(
        zip(storage.tier_of_space.tolist(), storage.spaces, strict=True), key=lambda pair: (pair[0] < 0, pair[0])
    )
    return [
        {
            "space": space.name,
            "tier": names[tier] if tier >= 0 else None,
            "used_bytes": space.used_bytes,
            "free_bytes": space.free_bytes,
            "capacity_bytes": space.capacity_bytes,
            "fill_ratio": None if space.volume is None else space.volume.fill_ratio,
        }
        for tier, space in tiered
    ]
