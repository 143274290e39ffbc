"""What ``demo`` and ``demo --fleet`` answer."""

from __future__ import annotations

from collections.abc import Mapping

from agent.answers.kind import answer
from agent.answers.outcomes import OutcomeShown
from agent.answers.plans import PlanShown
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState


@answer
class DemoPlan(PlanShown):
    """The plan, and the digest by which it is approved."""

    digest: str


@answer
class DemoMove:
    """A move and the state that it came to."""

    unit: str
    to_space: str
    state: MoveState


@answer
class DemoMoveChecked(DemoMove):
    """A move as the catalog and the disk show it."""

    in_catalog: bool
    on_disk: bool | None
    """Null: the disk cannot be looked at."""
    says: str


@answer
class DemoPlacements:
    """The space of every unit before and after, from the catalog."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    moves: tuple[DemoMoveChecked, ...]


@answer
class Decoy:
    """A unit that a simpler rule would have chosen, and what became of it."""

    role: str
    unit: str
    verdict: str
    why: str
    as_expected: bool


@answer
class DemoLoad:
    """What the clients of the load saw."""

    transactions_per_second: float
    latency_mean_seconds: float
    latency_p99_seconds: float
    errors: int
    seconds: float


@answer
class DemoOutcome(OutcomeShown):
    """An outcome, with what the clients saw before and after."""

    storage: str
    """Whether the slow storage is as slow as a disk."""
    load_before: DemoLoad
    load_after: DemoLoad


@answer
class DemoRun:
    """The demo from an empty folder to a measured outcome."""

    engine: str
    units: int
    plan: DemoPlan
    statements: tuple[str, ...]
    placements: DemoPlacements
    decoys: tuple[Decoy, ...]
    outcomes: tuple[DemoOutcome, ...]
    scrape: int
    """Bytes of /metrics."""
    seconds: float


@answer
class DemoDatabase:
    """One database of the fleet: its proposal, its moves and what came of them."""

    database: str
    proposal: int
    digest: str
    canary: bool
    """Whether it was moved and measured before the others."""
    moves: tuple[DemoMove, ...]
    verdict: OutcomeVerdict | None
    sentence: str | None


@answer
class Takeover:
    """One agent's end, and how long its databases were without one."""

    killed: str
    process: int
    statement: str
    """That ran at this moment in the server; empty: none."""
    seconds: float
    within_seconds: float
    """What is promised."""
    holders: Mapping[str, str]
    """The process that acts on each database now."""


@answer
class FleetDemoRun:
    """The demo of a fleet."""

    storage: str
    measured: bool
    """Whether the slow storage is as slow as a disk."""
    signed_by: tuple[str, ...]
    databases: tuple[DemoDatabase, ...]
    takeover: Takeover | None
    """Null: the moves were not approved."""
    commands: tuple[str, ...]
    seconds: float
