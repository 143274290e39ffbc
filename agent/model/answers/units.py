"""Units as ``units``, ``explain``, ``top`` and ``plan`` answer them, and how fast their tiers are."""

from __future__ import annotations

from datetime import datetime

from agent.model.answers.kind import answer


@answer
class TierShown:
    """How fast a tier is taken to be, how many requests it serves at a time, and how that is known."""

    name: str
    random_read_seconds: float
    measured: bool
    source: str
    least_read_seconds: float | None
    """What measured waits leave possible at least; null: they say nothing, or the time is measured."""
    most_read_seconds: float | None
    servers: float
    servers_least: float
    servers_most: float
    servers_source: str
    striped: bool | None
    """Whether several devices serve it; null: not known."""


@answer
class UnitShown:
    """A unit with its rates and its verdict."""

    unit: str
    kind: str
    bytes: int
    space: str
    tier: str | None
    """Null: its space is in no tier."""
    verdict: str
    why: str | None
    logical_reads_per_second: float
    sync_reads_per_second: float
    prefetched_reads_per_second: float
    writes_per_second: float
    miss_ratio: float
    benefit_seconds_per_hour: float
    """What it would wait on the slowest tier and not on the fastest."""
    wait_saved_per_hour_seconds: float
    """What the fastest tier would save it from where it is."""
    observed_seconds: float
    confidence: float


@answer
class UnitsRanked:
    """Units of one database, ranked by what fast storage is worth to them."""

    database: str
    ranked_at: datetime
    tiers: tuple[TierShown, ...]
    units_ranked: int
    units_matching: int
    units: tuple[UnitShown, ...]


@answer
class AdviceShown:
    """Something that helps and is no move."""

    code: str
    subject: str
    """The unit, space or log that it is about."""
    sentence: str
    wait_saved_per_hour_seconds: float | None


@answer
class FiguresShown:
    """The numbers behind a verdict, of the unit and what moves with it; waits in seconds."""

    bundle_bytes: int
    wait_now_per_hour: float | None
    wait_fast_per_hour: float | None
    saves_per_hour: float | None
    surely_saves_per_hour: float | None
    """The lower end, on which it is decided."""
    floor_per_hour: float | None
    """What saves less is not worth a move."""
    demand_error_ratio: float | None
    hotter_ratio: float | None
    expected_index: float | None
    hit_ratio: float | None
    copy_seconds: float | None
    cost_seconds: float | None
    log_seconds: float | None
    blocked_seconds: float | None
    follow_up_seconds: float | None
    payback_seconds: float | None
    payback_limit_seconds: float | None
    observed_seconds: float | None
    minimum_history_seconds: float | None
    cooling_seconds: float | None


@answer
class HotShare:
    """Which share of the reads the hottest blocks get, with the interval that holds it in 90 of 100 cases."""

    of_blocks: float
    of_reads: float
    low: float
    high: float


@answer
class HotPart(HotShare):
    """The part of a unit that gets most of its reads."""

    from_bytes: int
    bytes: int


@answer
class HourInside:
    """Reads in each range of a unit in one hour."""

    at: datetime
    reads_per_second: tuple[float, ...]


@answer
class BorderShown:
    """The hot part as a range of values, least <= column < below; values of users."""

    column: str
    type_name: str
    least: str | None
    below: str | None
    fit: float
    of_rows: float
    of_reads: float


@answer
class BorderSeen(BorderShown):
    """The same with its certainty and how it wanders."""

    is_time: bool
    looks: int
    of_looks: int
    per_day: float | None
    low_distance: float | None
    high_distance: float | None


@answer
class InsideUnit:
    """Where the reads of the unit go, by looks at the buffer pool."""

    shape: str
    """newest, range, scattered, even or unknown."""
    sentences: tuple[str, ...]
    hottest: tuple[HotShare, ...]
    part: HotPart | None
    coverage: float | None
    """Share of what the engine counted that the looks have seen."""
    blocks_seen: float
    pairs_of_looks: int
    range_bytes: int
    hours: tuple[HourInside, ...]
    columns: tuple[str, ...]
    """Columns by whose ranges the unit may be split, by the catalog."""
    border: BorderSeen | None
    values_refused: str | None


@answer
class UnitExplained(UnitShown):
    """Why the last plan chose a unit or not."""

    database: str
    ranked_at: datetime
    rank: int
    numbers: FiguresShown | None
    """Null: the inputs of the plan are not kept."""
    advice: tuple[AdviceShown, ...]
    inside: InsideUnit | None


@answer
class VerdictExplained:
    """The verdict that a unit had when a proposal was made."""

    database: str
    proposal: int
    decided_at: datetime
    unit: str
    verdict: str
    why: str
    numbers: FiguresShown


@answer
class AdviceExplained:
    """What the last plan advises about a log or a space, which is no unit."""

    database: str
    ranked_at: datetime
    subject: str
    advice: tuple[AdviceShown, ...]
