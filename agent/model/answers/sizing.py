"""What ``sizing`` and ``simulate`` answer.

What ``sizing`` answers: curves, the five-minute rule and pools. Savings are per hour of the load as it is now.

What ``simulate`` answers: recorded history played again under other settings. Waits are the model's, in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.model.answers.kind import answer
from agent.model.answers.plans import ForecastShown, PlanFound, PlanShown
from agent.model.answers.units import AdviceShown, TierShown


@answer
class CurvePoint:
    """One size of the fastest tier that objects may fill, and what it saves."""

    bytes: int
    wait_saved_per_hour_seconds: float
    wait_saved_at_todays_latencies_per_hour_seconds: float
    wait_saved_at_most_per_hour_seconds: float
    """If no more work came however short the queues got."""
    bound_per_hour_seconds: float
    """No choice of objects saves more."""
    of_all_fast_ratio: float
    """Of what everything on the fastest tier would save."""


@answer
class CurveShown:
    """What the fastest tier saves over the slowest, by its size."""

    fastest_tier: str
    slowest_tier: str
    all_fast_wait_saved_per_hour_seconds: float
    present: CurvePoint
    knee: CurvePoint | None
    """Null: there is no knee, every byte saves as much as any other."""
    points: tuple[CurvePoint, ...]


@answer
class SizeOffered(CurvePoint):
    """One size with what is on it, what it costs and how many drives serve it; null where no price or rate is known."""

    of_managed_bytes_ratio: float
    next_gib_saves_per_hour_seconds: float
    units: int
    units_ratio: float
    used_bytes: int
    used_bytes_ratio: float
    cost_per_year: float | None
    """Of both tiers, head-room included."""
    wear_ratio: float | None
    """Bytes written a day over what that size endures."""
    fast_drives: int | None
    slow_drives: int | None
    drives_saved: int | None
    """Of the slowest tier."""


@answer
class UnitsKeptBack:
    """Units that stay on slower storage for one reason, and what they would save on the fastest tier."""

    verdict: str
    units: int
    wait_saved_per_hour_seconds: float


@answer
class WithoutBuying:
    """What the present size could save, and what a plan saves of it now."""

    could_save_per_hour_seconds: float
    plan_saves_per_hour_seconds: float | None
    """Null: no plan was made."""
    plan_moves: int | None
    kept_back: tuple[UnitsKeptBack, ...]
    """What would save most first."""


@answer
class WithSplits:
    """What the fastest tier as it is would do with the hot parts of units split off."""

    units: int
    bytes: int
    wait_saved_per_hour_seconds: float
    split_wait_saved_per_hour_seconds: float
    alike_bytes: int
    """Size that saves as much without splits."""


@answer
class PriceShown:
    """What a tier costs and endures; null where it is not configured."""

    per_gib_year: float | None
    per_io_year: float | None
    drive_iops: float | None
    raid: int
    endures_bytes_per_day: float | None


@answer
class CurveFiles:
    """Files that the curve was written to; null: not asked for."""

    csv: str | None
    svg: str | None


@answer
class PlannedTierShown:
    """A tier that is not there yet."""

    tier: str
    random_read_seconds: float
    speed_source: str
    """Where its speed comes from, in words."""
    capacity_bytes: int | None
    """Null: not said, so only the curve tells."""


@answer
class DatabaseSized(CurveShown):
    """The sizing curve of one database with what its storage costs."""

    database: str
    speeds_measured: bool
    tiers: tuple[TierShown, ...]
    head_room_ratio: float
    managed_bytes: int
    managed_units: int
    pinned_bytes: int
    """That must be on the fastest tier."""
    wait_saved_now_per_hour_seconds: float
    """By where things are."""
    all_fast_forecast: ForecastShown | None
    """With everything on the fastest tier, and what is then busiest; null where nothing was watched yet."""
    without_buying: WithoutBuying
    with_splits: WithSplits | None
    """Null: no unit is worth splitting."""
    watched_seconds: float
    """Of the unit that was watched for longest."""
    sessions_known: bool
    savings_definition: str
    present_size_known: bool
    present: SizeOffered
    """Of a tier that is not there yet: the size that it is to have, 0 bytes where that was not said."""
    planned_tier: PlannedTierShown | None
    """The fastest tier, where it is not there yet; else null."""
    knee_definition: str
    knee_distance_ratio: float
    """From the straight line between the ends, as a share of the curve's height."""
    knee: SizeOffered | None
    prices: Mapping[str, PriceShown]
    """Of the fastest and of the slowest tier, by name."""
    points: tuple[SizeOffered, ...]
    files: CurveFiles


@answer
class UnitOnWrongSide:
    """A unit that belongs on another level by the five-minute rule."""

    unit: str
    on: str
    belongs_on: str
    bytes: int
    seconds_between_reads: float
    """Of one of its pages that reach storage, in the mean; null: it is not read."""
    spares: float
    """In the currency of the prices, for the time that they cover."""


@answer
class BreakEven:
    """Two levels, and the interval between reads of a page at which both cost the same."""

    above: str
    below: str
    break_even_seconds: float | None
    """Null: a price is missing, or a page belongs above however seldom it is read."""
    missing: str | None
    """Which price."""
    wrong_side: tuple[UnitOnWrongSide, ...]
    """What spares most first."""


@answer
class BreakEvens:
    """The five-minute rule by the prices of a site, for one database."""

    database: str
    page_bytes: int
    intervals: tuple[BreakEven, ...]


@answer
class ShareOfPool:
    """What one database gets of a pool."""

    database: str
    tier: str
    present_bytes: int
    present_size_known: bool
    bytes: int
    wait_saved_now_per_hour_seconds: float
    wait_saved_per_hour_seconds: float


@answer
class PoolShared:
    """How a pool of fast storage is best shared."""

    pool: str | None
    """Null: all databases, of which each keeps what it has."""
    budget_bytes: int
    used_bytes: int
    wait_saved_per_hour_seconds: float
    bound_per_hour_seconds: float
    """No other share saves more."""
    exact: bool
    gained_per_hour_seconds: float
    """More than the present sizes at their best."""
    next_gib_saves_per_hour_seconds: float
    databases: tuple[ShareOfPool, ...]


@answer
class PoolsShared:
    """How each pool is best shared, what gains most first."""

    pools: tuple[PoolShared, ...]


@answer
class MoveSimulated:
    """A move that would have been made."""

    at: datetime
    """When it would have ended."""
    unit: str
    from_space: str
    to_space: str
    bytes: int


@answer
class HistorySimulated:
    """What would have been done with the history of a database."""

    database: str
    plan_every_seconds: float
    since: datetime
    until: datetime
    observed_seconds: float
    intervals: int
    """That were played."""
    plans: int
    wait_as_it_is_seconds: float
    """Had nothing been moved."""
    wait_simulated_seconds: float
    wait_all_fast_seconds: float
    """Had everything been on the fastest tier."""
    saved_ratio: float
    bytes_moved: int
    moved_more_than_once: int
    """Units."""
    moves: tuple[MoveSimulated, ...]


@answer
class RecordingShown:
    """Where a recording comes from."""

    engine: str
    version: str
    """Of hotplace, which recorded it."""
    names: str
    """plain or hashed."""
    since: datetime
    until: datetime
    samples: int
    failed_samples: int
    ended: str | None
    """Why it ended; null: it is damaged."""
    damage: str | None


@answer
class RecordingSimulated(HistorySimulated):
    """What would have been done with a recording, and the plan at its end."""

    recording: RecordingShown
    plan: PlanFound | None
    """Null: none was made."""
    as_it_looks: PlanShown | None
    """A plan for which more has to be seen; null: there is none."""
    advice: tuple[AdviceShown, ...]
