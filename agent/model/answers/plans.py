"""Plans as ``plan``, ``show``, ``undo``, ``split`` and others answer them: moves with their statements, and figures.

Figures are per hour of the load as it was when the plan was made; null where one is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent.model.answers.kind import answer
from agent.model.answers.summary import DecisionSummary
from agent.model.answers.units import AdviceShown, BorderSeen, BorderShown, TierShown, UnitShown
from agent.model.answers.watching import ContainerShown
from connectors.model.moves import Locked


@answer
class ForecastShown:
    """Throughput and latency as measured and as forecast, by a model."""

    work: str
    """What is counted: transactions, batches."""
    why_not: str | None
    """Why nothing is forecast."""
    limit: str | None
    """What else keeps the work from becoming faster."""
    load: str | None
    """closed: who is answered asks again; open: work arrives by itself. Null: not known; then the figures are those of
    a closed load, and of an open one latency_open_seconds at the present rate."""
    busiest: str | None
    """The next bottleneck, and how busy it will be."""
    needs: tuple[str, ...]
    """What each faster tier has to serve then, in I/Os and bytes a second."""
    assumed: tuple[str, ...]
    """What is not known and widens the intervals."""
    unmodelled: tuple[str, ...]
    """What may hold sessions up and is in neither forecast nor intervals."""
    certainty_ratio: float | None
    per_second_now: float | None
    per_second: float | None
    per_second_low: float | None
    per_second_high: float | None
    latency_now_seconds: float | None
    latency_seconds: float | None
    latency_low_seconds: float | None
    latency_high_seconds: float | None
    latency_open_seconds: float | None
    read_wait_per_transaction_seconds: float | None


@answer
class StatementShown:
    """A statement and what it is for."""

    sql: str
    purpose: str


@answer
class CleanUpShown:
    """A statement that may be needed after an interrupted attempt."""

    sql: str
    variants: tuple[str, ...]
    """The same with each other name that the leftover may have."""
    purpose: str


@answer
class IfInterrupted:
    """What may follow an interrupted attempt; its statements are sent only where they are needed."""

    statements: tuple[CleanUpShown, ...]
    locks: str | None
    bytes: int
    """Room that a leftover takes until it is removed."""


@answer
class CostOfMove:
    """What else a move costs, as seconds of wait."""

    log_seconds: float | None
    blocked_seconds: float | None
    follow_up_seconds: float | None


@answer
class WorkByHand:
    """What a person has to do: hotplace sends none of it."""

    statements: tuple[str, ...]
    because: str
    run_with: str | None
    """How a file of it is run."""
    before: tuple[str, ...]
    """What comes first in a file, once for all moves."""
    after: tuple[str, ...]
    """What comes last in a file, once for all moves."""
    undo: tuple[str, ...]


@answer
class RouteShown:
    """How a unit moves: locks, statements and the way back."""

    route: str
    online: bool
    locks: str
    locked: Locked | None
    """What the locks hold up."""
    lock_seconds: float | None
    log_bytes: int | None
    log_volume: str
    follow_up: tuple[Mapping[str, Any], ...]
    """Work that the engine leaves to be done after the move."""
    keeps: tuple[Mapping[str, Any], ...]
    """What has to be as it was after the move: privileges, keys, triggers and the like."""
    transient_bytes: int
    """Room that is needed in the target until the move ends."""
    stays_bytes: int
    """Room that the unit keeps taking where it was."""
    notes: tuple[str, ...]
    prologue: tuple[str, ...]
    """Settings of the session in which the statements run."""
    patient_prologue: tuple[str, ...]
    """The same where a window gives more time to wait for locks."""
    statements: tuple[StatementShown, ...]
    undo: tuple[StatementShown, ...]
    if_interrupted: IfInterrupted
    by_hand: WorkByHand | None
    """What a person carries out in place of the statements."""


@answer
class PlannedMove(RouteShown):
    """A move of a plan, with what it brings and takes."""

    ordinal: int
    unit: str
    units: tuple[str, ...]
    """The unit and what moves with it."""
    as_a_whole: str | None
    """The space that moves as a whole."""
    bytes: int
    expected_bytes: int | None
    """Size that the target is to have room for: with growth."""
    largest_bytes: int | None
    """Size up to which the approval holds."""
    from_space: str
    to_space: str
    from_tier: str | None
    to_tier: str | None
    reason: str | None
    group: int | None
    """Moves with one number are begun only if all of them can be done."""
    goes_back_with_group: bool
    why: str
    wait_saved_per_hour_seconds: float | None
    copy_seconds: float | None
    copy_low_seconds: float | None
    """90 of 100 such copies take longer than this,"""
    copy_high_seconds: float | None
    """and less than this."""
    payback_seconds: float | None
    stall_seconds: float | None
    stall_low_seconds: float | None
    stall_high_seconds: float | None
    cost_seconds: CostOfMove | None


@answer
class ValueOfPlan:
    """What a plan moves and saves."""

    bytes: int
    wait_per_hour_seconds: float | None
    wait_saved_per_hour_seconds: float | None
    wait_saved_low_per_hour_seconds: float | None
    wait_saved_high_per_hour_seconds: float | None
    saved_ratio_low: float | None
    saved_ratio_high: float | None
    relief_per_hour_seconds: float | None
    """What shorter queues save for objects that stay."""
    bound_per_hour_seconds: float | None
    """No plan can save more."""
    gap_ratio: float | None
    ceiling_ratio: float | None
    """By how much all work can become faster at most."""
    forecast: ForecastShown | None
    summary: DecisionSummary | None
    """What every command and page shows of it first; null: there is nothing to decide on."""


@answer
class PlanShown(ValueOfPlan):
    """A plan with its moves."""

    created_at: datetime
    expires_at: datetime
    moves: tuple[PlannedMove, ...]


@answer
class ProposalStored:
    """What to name when a proposal is approved that was just stored."""

    id: int
    digest: str
    expires_at: datetime


@answer
class SpaceLoad:
    """What a space holds and is asked for."""

    used_bytes: int
    fill_ratio: float
    reads_per_second: float
    read_seconds_per_second: float


@answer
class SpaceChange:
    """A space before and after a plan."""

    space: str
    tier: str | None
    before: SpaceLoad
    after: SpaceLoad


@answer
class UnitLeftBehind:
    """What a drain leaves where it is: units, and what else keeps the space from being dropped, if that is seen."""

    unit: str
    """Its key; in words where it is no unit that could be moved, as the system catalog."""
    bytes: int | None
    """Null: not known."""
    why: str
    statements: tuple[str, ...]
    """By which a person takes it out; hotplace sends none of it."""


@answer
class PinnedUnits:
    """A pin, and how far it is fulfilled."""

    unit: str
    """Key or pattern."""
    pin: str
    state: str | None
    """Null: no plan has seen it."""
    units: int | None
    """That it governs."""
    satisfied: int | None
    why: str | None
    """What stands in the way."""


@answer
class SplitWorth:
    """The hot part of a unit on the fastest tier, the rest where it is."""

    unit: str
    border: BorderShown | None
    """Null: known by its blocks only."""
    hot_bytes: int
    whole_bytes: int
    of_reads_ratio: float
    of_reads_ratio_low: float
    of_reads_ratio_high: float
    fits: bool
    wait_saved_per_hour_seconds: float
    wait_saved_low_per_hour_seconds: float
    wait_saved_high_per_hour_seconds: float
    whole_fits: bool
    whole_wait_saved_per_hour_seconds: float
    memory_wait_saved_at_most_per_hour_seconds: float


@answer
class ConditionMissing:
    """What has to be seen of a move before it is proposed."""

    unit: str
    missing: tuple[str, ...]
    watched_seconds: float
    watched_seconds_needed: float
    waited_seconds: float
    waited_seconds_needed: float
    wait_saved_per_hour_seconds: float
    surely_saved_per_hour_seconds: float
    """The lower end by policy.certainty."""
    surely_saved_per_hour_seconds_needed: float


@answer
class PlanProspect(ValueOfPlan):
    """A plan as it looks now, which is not proposed yet."""

    created_at: datetime
    moves: tuple[PlannedMove, ...]
    conditions: tuple[ConditionMissing, ...]
    proposed_from: datetime | None
    """When it is proposed if the same goes on; null: not by that alone."""
    proposed_in_seconds: float | None
    daemon_plans_at: datetime | None


@answer
class PlanFound(ValueOfPlan):
    """What a plan is worth, and its moves if there are any."""

    created_at: datetime
    expires_at: datetime | None
    """Null: nothing is worth moving."""
    moves: tuple[PlannedMove, ...]


@answer
class Planned(PlanFound):
    """A plan of one mode; what only mode hsm has is null in the others."""

    database: str
    mode: str
    dry_run: bool
    proposal: ProposalStored | None
    spaces: tuple[SpaceChange, ...]
    left_behind: tuple[UnitLeftBehind, ...]
    pins: tuple[PinnedUnits, ...]
    script: str | None
    """The file of what a person carries out, where one was asked for."""
    why_nothing: tuple[str, ...]
    """Why this mode, or this time limit, leaves nothing to move; empty where something is, or verdicts say it."""
    tiers: tuple[TierShown, ...] | None
    ranking: tuple[UnitShown, ...] | None
    not_chosen: tuple[UnitShown, ...] | None
    advice: tuple[AdviceShown, ...] | None
    splits: tuple[SplitWorth, ...] | None
    """What splitting units would bring once the plan has run, what saves most first."""
    forecast_with_splits: ForecastShown | None
    """After the plan and the splits that save; null: none does."""
    prospect: PlanProspect | None


@answer
class ContainerDrained:
    """A container that is to go out of its space."""

    database: str
    mode: str
    dry_run: bool
    space: str
    container: ContainerShown


@answer
class ContainerByHand(ContainerDrained):
    """How a person takes a container out of its space."""

    proposal: None = None
    by_hand: WorkByHand | None
    moves: tuple[PlannedMove, ...] = ()


@answer
class ContainerPlanned(ContainerDrained, PlanShown):
    """How a container goes out of its space."""

    proposal: ProposalStored | None
    by_hand: None = None


@answer
class TableSplit:
    """A table that is to be split, and where."""

    database: str
    dry_run: bool
    unit: str
    column: str
    border: str
    seen: BorderSeen | None
    """Null: the border was given."""
    space: str


@answer
class SplitByHand(TableSplit):
    """How a person splits a table."""

    proposal: None = None
    by_hand: WorkByHand | None
    moves: tuple[PlannedMove, ...] = ()


@answer
class SplitPlanned(TableSplit, PlanShown):
    """How a table is split."""

    proposal: ProposalStored | None
    by_hand: None = None


@answer
class CheckOfPlace:
    """One thing that must hold of the place of a new space."""

    check: str
    """empty, owner, device, restart or standbys."""
    state: str
    """holds, fails or not checked."""
    sentence: str
    accepted: bool
    """It fails, and a person goes on all the same."""


@answer
class SpaceWanted:
    """A space that is to be made, and what was seen of its place."""

    database: str
    dry_run: bool
    space: str
    location: str
    tier: str
    checks: tuple[CheckOfPlace, ...]


@answer
class SpaceByHand(SpaceWanted):
    """How a person makes a space."""

    proposal: None = None
    by_hand: WorkByHand | None
    moves: tuple[PlannedMove, ...] = ()


@answer
class SpacePlanned(SpaceWanted, PlanShown):
    """How a space is made."""

    proposal: ProposalStored | None
    by_hand: None = None


@answer
class PinShown:
    """A pin."""

    unit: str
    """Key or pattern."""
    pin: str
    reason: str | None
    from_: str
    """command or configuration."""
    who: str | None
    until: datetime | None


@answer
class PinWithState(PinShown):
    """A pin with its state when last planned."""

    state: str | None
    """Null: no plan has seen it."""
    units: int | None
    satisfied: int | None
    why: str | None


@answer
class PinSet:
    """A pin that was set."""

    database: str
    pin: PinShown


@answer
class PinRemoved:
    """A pin that was removed."""

    database: str
    unpinned: str


@answer
class PinsListed:
    """The pins of one database."""

    database: str
    planned_at: datetime | None
    pins: tuple[PinWithState, ...]


@answer
class UndoProposed(PlanShown):
    """A proposal to take moves back."""

    proposal: int
    digest: str
    undoes: tuple[int, ...]
    """Numbers of the moves that it takes back."""
