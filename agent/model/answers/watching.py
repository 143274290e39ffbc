"""What ``status``, ``top``, ``run --once`` and ``trace`` answer: daemons, what they move, and how much room is left."""

from __future__ import annotations

from datetime import datetime

from agent.model.answers.kind import answer
from agent.model.answers.summary import DecisionSummary
from agent.model.answers.units import TierShown, UnitShown
from agent.model.states import MoveState, ProposalState


@answer
class RoomOfSpace:
    """How full a space is; null where that is not known."""

    space: str
    tier: str | None
    """Null: the space is in no tier."""
    used_bytes: int | None
    """Of the space itself; other things may fill its volume."""
    free_bytes: int | None
    capacity_bytes: int | None
    fill_ratio: float | None
    """Of the volume that the space is on: everything on it counts."""


@answer
class JobShown:
    """How a job of a daemon went lately."""

    job: str
    """sample, judge, plan, act, look or keep_lease; fold, anchor and notify are of all databases."""
    last_success: datetime | None
    last_failure: datetime | None
    error: str | None
    """Of the last failure, however long ago."""
    failing_since: datetime | None
    """The first failure since the last success; null: the last try succeeded."""
    keeps_failing: bool
    """Every try has failed for a quarter of an hour or longer."""


@answer
class ServerChangeShown:
    """What a daemon found to have changed about a server: its identity, version, role, or what may be done there."""

    at: datetime
    sentence: str


@answer
class UnitsRead:
    """How much of the catalog the last sample has seen, where reading all counters takes too long."""

    units: int
    read: int
    """At this turn; those that most waits belong to are read each time."""
    never: int
    """Not read yet."""
    oldest_seconds: float
    """Since the reading of the others that is longest ago."""
    sentence: str


@answer
class DaemonStatus:
    """What a daemon last said of itself."""

    at: datetime
    pid: int
    host: str
    engine: str
    version: str | None
    cycles: int
    failures: int
    error: str | None
    """Why its last sample failed."""
    untrusted: str | None
    """Why it sends nothing: the ledger failed verification."""
    jobs: tuple[JobShown, ...] | None
    server_changes: tuple[ServerChangeShown, ...] | None
    """Of the last seven days, the newest last."""
    last_sample: datetime | None
    last_cycle: str | None
    """What its last cycle did."""
    units: int | None
    units_read: UnitsRead | None
    """null: each sample reads the counters of all units."""
    sample_seconds: float | None
    """How often it samples."""
    server_seconds: float | None
    """How long the server worked for the last sample."""
    cycle_seconds: float | None
    spaces: tuple[RoomOfSpace, ...] | None
    tiers: tuple[TierShown, ...] | None


@answer
class DaemonHeard:
    """Whether a daemon watches a database."""

    state: str
    """running, late, stopped or never."""
    alive: bool
    last_heard_of_at: datetime | None
    age_seconds: float | None
    """Since it was last heard of."""
    status: DaemonStatus | None


@answer
class OpenProposal:
    """A proposal that is open, without its moves."""

    id: int
    digest: str
    state: ProposalState
    purpose: str
    asked_by: str | None
    """Null: the agent made it."""
    moves: int
    wait_saved_per_hour_seconds: float
    expires_at: datetime
    summary: DecisionSummary


@answer
class MoveHead:
    """A move and its state."""

    id: int
    unit: str
    to_space: str
    bytes: int
    state: MoveState


@answer
class MoveListed(MoveHead):
    """The same with the proposal that it belongs to, and since when it is in its state."""

    proposal: int
    reason: str | None
    at: datetime


@answer
class WindowShown:
    """Whether moves may run now, and until or from when."""

    open: bool
    sentence: str


@answer
class MoveProgress:
    """The move whose statement runs, and how far it is."""

    move: int
    unit: str
    to_space: str
    done_bytes: int | None
    """Null: the engine does not report it."""
    total_bytes: int
    done_ratio: float | None
    left_seconds: float | None
    sentence: str | None
    """What the engine is at."""
    at: datetime


@answer
class MoveWaiting:
    """An approved move, and why it has not begun."""

    move: int
    why: str


@answer
class RequestInForce:
    """What a person has asked of a move."""

    move: int
    kind: str
    """pause, resume or cancel."""
    who: str
    reason: str | None
    at: datetime
    answer: str | None
    """What the daemon answered; null: nothing yet."""


@answer
class SpaceWithoutArrivals:
    """A space that is closed to arrivals."""

    space: str
    who: str
    reason: str | None
    at: datetime


@answer
class MovesUnderWay:
    """What is true now of the moves of one database."""

    window: WindowShown
    running: MoveProgress | None
    waiting: tuple[MoveWaiting, ...]
    asks: tuple[RequestInForce, ...]
    closed_spaces: tuple[SpaceWithoutArrivals, ...]


@answer
class TraceShown:
    """Whether demand is traced, and what was collected."""

    on: bool
    since: datetime | None
    until: datetime | None
    who: str | None
    intervals: int
    seconds: float
    last: datetime | None
    """End of the last interval that was collected."""


@answer
class TraceOfDatabase:
    """The trace of one database after ``trace on``, ``off`` or ``clear``."""

    database: str
    trace: TraceShown


@answer
class ContainerShown:
    """A file, device or folder under a space."""

    name: str
    path: str
    belongs_to: str | None
    """The table space or filegroup that has it, where its space is a place that has several."""
    bytes: int
    used_bytes: int | None
    free_bytes: int | None


@answer
class ContainersOfSpace:
    """The containers of a space."""

    space: str
    tier: str | None
    containers: tuple[ContainerShown, ...]


@answer
class SendingShown:
    """Whether what is approved is carried out now, and if not, why."""

    allowed: bool
    state: str
    """allowed; or why nothing is sent: ledger away, ledger moved, ledger of a newer version, ledger of an earlier
    version, not seen, ledger not trusted, stopped, dry run, stands by, no agent, outside its windows."""
    sentence: str
    next_step: str | None
    """What a person does about it; null: nothing."""


@answer
class DatabaseStatus(MovesUnderWay):
    """How one database is watched, what is open, and how much room it has."""

    database: str
    engine: str
    daemon: DaemonHeard
    sending: SendingShown
    proposals: tuple[OpenProposal, ...]
    moves: tuple[MoveListed, ...]
    spaces: tuple[RoomOfSpace, ...] | None
    """As of the last sample; null: there was none."""
    tiers: tuple[TierShown, ...] | None
    groups_left_worse: tuple[str, ...]
    """A sentence for each group of moves that ended halfway and left the database worse than before."""
    trace: TraceShown
    next_step: str | None
    """What to do where fewer than two tiers have a space; else null."""
    containers: tuple[ContainersOfSpace, ...] | None
    """With --containers, else null."""


@answer
class StatusShown:
    """Whether daemons run, what is open, and how much room there is."""

    level: str
    dry_run: bool
    at: datetime
    databases: tuple[DatabaseStatus, ...]


@answer
class DaemonInWords:
    """Whether a daemon watches a database, as a sentence."""

    state: str
    """running, late, stopped or never."""
    sentence: str
    last_cycle: str | None


@answer
class MoveWatched(MoveHead):
    """A move and what happens to it now."""

    sentence: str
    line: str
    """The move, its state and the sentence."""


@answer
class DatabaseWatched(MovesUnderWay):
    """What happens in one database now."""

    database: str
    daemon: DaemonInWords
    sending: SendingShown
    moves: tuple[MoveWatched, ...]
    units: tuple[UnitShown, ...]
    """Those to which fast storage is worth most."""


@answer
class TopShown:
    """What happens now."""

    at: datetime
    databases: tuple[DatabaseWatched, ...]


@answer
class CycleOfDatabase:
    """What a cycle has left of one database."""

    database: str
    status: DaemonStatus | None
    proposals: tuple[OpenProposal, ...]


@answer
class CyclesRun:
    """What ``run --once`` did."""

    databases: tuple[CycleOfDatabase, ...]
    moves: tuple[MoveListed, ...]
    """Approved moves that it carried out, or tried to."""
