"""What sizes of fast storage would save, and the five-minute rule by the site's own prices.

``answer_of`` is a database's sizing curve with what its storage costs. Every surface shows this answer.

``break_even_of`` finds units on the wrong side of the five-minute rule, by the prices that a site gives.

Both only read: the catalog over the watching account, and the heat that the ledger keeps.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from agent.config.errors import NothingToSize
from agent.config.models import DatabaseConfig, Level
from agent.ledger.ledger import Ledger
from agent.model.answers.kind import extend, mapping_of
from agent.model.answers.sizing import (
    BreakEven,
    BreakEvens,
    CurveFiles,
    CurvePoint,
    CurveShown,
    DatabaseSized,
    PlannedTierShown,
    PriceShown,
    SizeOffered,
    UnitOnWrongSide,
    UnitsKeptBack,
    WithoutBuying,
    WithSplits,
)
from agent.model.proposals import WorkForecast
from agent.planning.planner import make_planning
from agent.planning.read_times import tiers_shown
from agent.planning.situation import situation_of
from agent.planning.splits import split_answer_on
from agent.service.watch import Watch
from agent.studies.planned_tier import PlannedTier, planned_tier_of, with_planned_tier
from agent.terminal.charts import ChartMark, Curve
from agent.terminal.wording import forecast_shown
from connectors.kit.contract import Clock
from policies.evidence.capacity import DAY
from policies.evidence.workload import CLOSED, OPEN
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import (
    GIB,
    PolicySettings,
    Tier,
    TierPrice,
    cost_per_year,
    drives_for,
    io_cost_per_year,
    wear_ratio,
)
from policies.placement.break_even import (
    LevelPrice,
    WrongSide,
    belong_above,
    belong_below,
    break_even_seconds,
    page_intervals,
)
from policies.placement.forecast import forecast
from policies.placement.sizing import Point, Sizing, SplitSizing, size_with_splits, sizing

KNEE_MEANS = (
    "the point of the upper curve farthest from the straight line between its ends: "
    "from there the next object saves less by the byte than the average of the database"
)
QUEUES_MEAN = (
    "savings take the remaining queues into account, with as many sessions as now, which ask again sooner; "
    "between: with queues as long as they are, and if no more work came however short they got"
)
QUEUES_OPEN = (
    "savings take the remaining queues into account, with as much work arriving as now, as hours or outcomes show; "
    "between: with queues as long as they are, and the same"
)
QUEUES_EITHER = (
    "savings take the remaining queues into account, if clients ask as soon as they are answered, which is not known "
    "yet; between: with queues as long as they are, and if work arrives by itself"
)
QUEUES_UNKNOWN = (
    "savings are at today's latencies: sessions are not counted here, "
    "so for the gain from shorter queues only an upper bound is known"
)


# Verdicts of what a plan moves, of what is fast already, and of what the curve leaves out too.
NOT_KEPT_BACK = frozenset(
    {
        Verdict.PROMOTE, Verdict.DEMOTE, Verdict.LEVELLED, Verdict.STAYS_FAST, Verdict.STAYS_SPARE, Verdict.PINNED,
        Verdict.NOT_MANAGED, Verdict.WOULD_NOT_FIT, Verdict.SPLIT,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBack:
    """Units that stay on slower storage for one reason, and what they would save on the fastest tier."""

    verdict: Verdict
    units: int
    saves_per_hour: float  # seconds, at today's latencies; more than there may be room for


@dataclass(frozen=True, slots=True, kw_only=True)
class Plannable:
    """What ``hotplace plan`` would do now about the room that there is."""

    moves: int
    saves_per_hour: float  # seconds, at today's latencies
    kept_back: tuple[KeptBack, ...]  # what would save most first


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingAnswer:
    """The curve of one database, with what its storage costs."""

    database: str
    tiers: tuple[Tier, ...]
    head_room_ratio: float
    sizing: Sizing
    block_bytes: int
    prices: tuple[TierPrice, TierPrice] = (TierPrice(), TierPrice())  # fastest tier, slowest tier
    watched_seconds: float  # the unit that was watched for longest
    plannable: Plannable | None = None  # None: no plan was made
    all_fast: WorkForecast | None = None  # with everything on the fastest tier; None: nothing was watched yet
    splits: SplitSizing | None = None  # None: no plan was made, or no unit is worth splitting
    planned_tier: PlannedTier | None = None  # the fastest tier, where it is not there yet

    @property
    def size_name(self) -> str:
        """The word for the size of the fastest tier; "": it is not there yet, and its size was not said."""
        if self.planned_tier is None:
            return "present"
        return "" if self.planned_tier.capacity_bytes is None else "planned"

    @property
    def idle_per_hour(self) -> float:
        """Seconds per hour that the present size could save beyond what it does, at today's latencies as plans say."""
        return max(0.0, self.sizing.present.today_per_hour - self.sizing.saved_now_today_per_hour)

    def cost(self, point: Point) -> float | None:
        """A year's price of the fastest tier at that size, and of the slowest for all that is not on it.

        I/Os where they have a price of their own; what is worn out before its time is bought again that much sooner.
        """
        (fast, slow), z = self.prices, self.sizing
        above = cost_per_year(point.size_bytes, fast, self.head_room_ratio)
        below = cost_per_year(z.managed_bytes - point.used_bytes, slow, self.head_room_ratio)
        if above is None or below is None:
            return None
        left = max(0.0, z.reads - point.reads), max(0.0, z.writes - point.writes)
        served = io_cost_per_year(point.reads, point.writes, fast) + io_cost_per_year(*left, slow)
        # Wear counts only beyond the endurance: storage that lasts longer than it is reckoned for costs no less.
        return above * max(1.0, self.wear(point) or 0.0) + below + served

    def wear(self, point: Point) -> float | None:
        """Bytes written to the fastest tier a day over what that size endures; None: no endurance is configured."""
        written = point.writes * self.block_bytes * DAY
        return wear_ratio(written, point.size_bytes, self.sizing.present.size_bytes, self.prices[0])

    def drives(self, point: Point) -> dict[str, int | None]:
        """Drives by their I/O rate: of the fastest tier, of the slowest, and of the slowest saved."""
        fast, slow = self.prices
        whole = drives_for(self.sizing.reads, self.sizing.writes, slow)
        left = drives_for(max(0.0, self.sizing.reads - point.reads), max(0.0, self.sizing.writes - point.writes), slow)
        saved = None if whole is None or left is None else whole - left
        return {"fast_drives": drives_for(point.reads, point.writes, fast), "slow_drives": left, "drives_saved": saved}


def answer_of(
    database: DatabaseConfig,
    ledger: Ledger,
    clock: Clock,
    *,
    planned: bool = False,
    tier: PlannedTier | None = None,
) -> SizingAnswer:
    """Read catalog and stored heat over the watching account, and size. Stores nothing.

    Args:
        database: its configuration.
        ledger: what is known of it.
        clock: the instant.
        planned: also make the plan that ``hotplace plan`` would make now, if the tiers are there.
        tier: one that is not there yet; None: by the configuration (``planned_tier_of``).

    Raises:
        ConnectorError: it does not answer.
    """
    tier = tier or planned_tier_of(database)
    planned = planned and tier is None
    watch = Watch(database, ledger, clock, level=Level.OBSERVE, dry_run=True)
    try:
        watch.sample()
        picture = watch.sampler.picture()
        assert picture is not None, "there is a sample"
        planning = make_planning(picture, database, watch.connector, ledger, clock.now()) if planned else None
    finally:
        watch.close(save=False)
    settings = database.policy_settings()
    situation = situation_of(picture, database, ledger, settings, clock.now())
    if tier is not None:
        situation = with_planned_tier(situation, tier)
    curve = sizing(situation, settings)
    split = () if planning is None else split_answer_on(planning, ledger, database.name).splits
    return SizingAnswer(
        database=database.name,
        tiers=situation.tiers,
        head_room_ratio=settings.head_room_ratio,
        sizing=curve,
        all_fast=_with_all_fast(situation, settings, database.engine_record.work),
        splits=size_with_splits(situation, settings, split, curve),
        block_bytes=settings.block_bytes,
        prices=(price_of(situation.tiers[0]), price_of(situation.tiers[-1])),
        watched_seconds=float(situation.heat.observed_seconds.max(initial=0.0)),
        plannable=None if planning is None else plannable_of(planning.plan),
        planned_tier=tier,
    )


def _savings_definition(z: Sizing) -> str:
    by_load = {CLOSED: QUEUES_MEAN, OPEN: QUEUES_OPEN}
    return by_load.get(z.load, QUEUES_EITHER) if z.sessions_known else QUEUES_UNKNOWN


def _with_all_fast(situation: Situation, settings: PolicySettings, work: str) -> WorkForecast | None:
    """What sessions get done with everything that is managed on the fastest tier."""
    if not situation.heat.observed_seconds.any():
        return None
    managed = situation.tier_of_space[situation.units.space] >= 0
    tier = np.where(managed, 0, -1).astype(np.int64)
    return WorkForecast.of(forecast(situation, settings, tier), work, settings.certainty)


def plannable_of(plan: Plan) -> Plannable:
    """What a plan does, and what it leaves where it is for another reason than room."""
    kept = [
        KeptBack(verdict=verdict, units=int(held.sum()), saves_per_hour=float(plan.wait_saved_if_moved[held].sum()))
        for verdict in Verdict
        if verdict not in NOT_KEPT_BACK and (held := (plan.verdict == verdict) & (plan.wait_saved_if_moved > 0)).any()
    ]
    return Plannable(
        moves=len(plan.moves),
        saves_per_hour=plan.wait_saved_per_hour,
        kept_back=tuple(sorted(kept, key=lambda each: -each.saves_per_hour)),
    )


def price_of(tier: Tier) -> TierPrice:
    """What the configuration says of a tier's price and endurance."""
    limits = tier.limits
    known = {} if limits.raid is None else {"raid": limits.raid}
    return TierPrice(
        gib_year=limits.gib_year, io_year=limits.io_year, written_bytes_per_day=limits.written_bytes_per_day, **known
    )


def curve_of(answer: SizingAnswer) -> Curve:
    """The curve with its named sizes, for people."""
    z = answer.sizing
    marks = [ChartMark(sign="K", name="knee", size_bytes=z.knee.size_bytes, saved_per_hour=z.knee.saved_per_hour)]
    if answer.size_name:
        marks.append(
            ChartMark(
                sign="P", name=f"{answer.size_name} size", size_bytes=z.present.size_bytes,
                saved_per_hour=z.present.saved_per_hour,
            )
        )  # fmt: skip
    return Curve(
        title=f"{answer.database}: what {answer.tiers[0].name} saves over {answer.tiers[-1].name}",
        size_bytes=[point.size_bytes for point in z.points],
        saved_per_hour=[point.saved_per_hour for point in z.points],
        bound_per_hour=[point.bound_per_hour for point in z.points],
        between_per_hour=[(point.today_per_hour, point.most_per_hour) for point in z.points],
        most_bytes=max(1, z.managed_bytes),
        most_per_hour=max(z.all_fast_per_hour, 1e-9),
        marks=tuple(marks[0 if z.knee_distance else 1 :]),
    )


def curve_shown(answer: SizingAnswer) -> CurveShown:
    """The curve without what its storage costs."""
    z = answer.sizing
    return CurveShown(
        fastest_tier=answer.tiers[0].name,
        slowest_tier=answer.tiers[-1].name,
        all_fast_wait_saved_per_hour_seconds=z.all_fast_per_hour,
        present=_curve_point(z, z.present),
        knee=_curve_point(z, z.knee) if z.knee_distance else None,
        points=tuple(_curve_point(z, point) for point in z.points),
    )


def database_sized(answer: SizingAnswer, files: CurveFiles) -> DatabaseSized:
    """The curve of one database, and the files that it was written to."""
    z = answer.sizing
    return extend(
        DatabaseSized,
        curve_shown(answer),
        database=answer.database,
        speeds_measured=answer.tiers[0].speed.measured and answer.tiers[-1].speed.measured,
        tiers=tiers_shown(answer.tiers),
        head_room_ratio=answer.head_room_ratio,
        managed_bytes=z.managed_bytes,
        managed_units=z.managed_units,
        pinned_bytes=z.pinned_bytes,
        wait_saved_now_per_hour_seconds=z.saved_now_per_hour,
        all_fast_forecast=forecast_shown(answer.all_fast),
        without_buying=_without_buying(answer),
        with_splits=None if answer.splits is None else _with_splits(answer.splits),
        watched_seconds=answer.watched_seconds,
        sessions_known=z.sessions_known,
        savings_definition=_savings_definition(z),
        present_size_known=z.present_known,
        present=_size_offered(answer, z.present),
        planned_tier=None if answer.planned_tier is None else _planned_shown(answer.planned_tier),
        knee_definition=KNEE_MEANS,
        knee_distance_ratio=z.knee_distance,
        knee=_size_offered(answer, z.knee) if z.knee_distance else None,
        prices=_prices_shown(answer),
        points=tuple(_size_offered(answer, point) for point in z.points),
        files=files,
    )


def _prices_shown(answer: SizingAnswer) -> dict[str, PriceShown]:
    """What the fastest and the slowest tier cost, by name."""
    tiers = answer.tiers[0].name, answer.tiers[-1].name
    return {
        name: PriceShown(
            per_gib_year=price.gib_year,
            per_io_year=price.io_year,
            drive_iops=price.drive_iops,
            raid=price.raid,
            endures_bytes_per_day=price.written_bytes_per_day,
        )
        for name, price in zip(tiers, answer.prices, strict=True)
    }


def _planned_shown(planned: PlannedTier) -> PlannedTierShown:
    return PlannedTierShown(
        tier=planned.tier.name, random_read_seconds=planned.tier.speed.random_read_seconds,
        speed_source=planned.speed_source, capacity_bytes=planned.capacity_bytes,
    )  # fmt: skip


def _with_splits(found: SplitSizing) -> WithSplits:
    """What the same size does with splits."""
    return WithSplits(
        units=found.units,
        bytes=found.size_bytes,
        wait_saved_per_hour_seconds=found.saved_per_hour,
        split_wait_saved_per_hour_seconds=found.split_saved_per_hour,
        alike_bytes=found.alike_bytes,
    )


def _without_buying(answer: SizingAnswer) -> WithoutBuying:
    """What the present size could save, and what a plan saves of it."""
    found = answer.plannable
    kept = () if found is None else found.kept_back
    # The curve leaves all waits within what sessions can wait; those of single units today are not cut by that.
    most, together = max(0.0, answer.idle_per_hour), sum(each.saves_per_hour for each in kept)
    share = most / together if together > most else 1.0
    return WithoutBuying(
        could_save_per_hour_seconds=answer.idle_per_hour,
        plan_saves_per_hour_seconds=None if found is None else found.saves_per_hour,
        plan_moves=None if found is None else found.moves,
        kept_back=tuple(
            UnitsKeptBack(
                verdict=each.verdict.code, units=each.units, wait_saved_per_hour_seconds=each.saves_per_hour * share
            )
            for each in kept
        ),
    )


def _curve_point(curve: Sizing, point: Point) -> CurvePoint:
    return CurvePoint(
        bytes=point.size_bytes,
        wait_saved_per_hour_seconds=point.saved_per_hour,
        wait_saved_at_todays_latencies_per_hour_seconds=point.today_per_hour,
        wait_saved_at_most_per_hour_seconds=point.most_per_hour,
        bound_per_hour_seconds=point.bound_per_hour,
        of_all_fast_ratio=curve.share(point),
    )


def _size_offered(answer: SizingAnswer, point: Point) -> SizeOffered:
    """One point with what it costs; None where no price is configured."""
    z = answer.sizing
    return extend(
        SizeOffered,
        _curve_point(z, point),
        of_managed_bytes_ratio=ratio_of(point.size_bytes, z.managed_bytes),
        next_gib_saves_per_hour_seconds=z.next_gib(point),
        units=point.units,
        units_ratio=ratio_of(point.units, z.managed_units),
        used_bytes=point.used_bytes,
        used_bytes_ratio=ratio_of(point.used_bytes, z.managed_bytes),
        cost_per_year=answer.cost(point),
        wear_ratio=answer.wear(point),
        **answer.drives(point),
    )


def csv_text(points: Sequence[SizeOffered]) -> str:
    """The curve as CSV, one line a point, columns named as in JSON; what is not known is empty."""
    rows = [mapping_of(point) for point in points]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def ratio_of(part: float, whole: float) -> float:
    """The share of a part in a whole, 0 where there is no whole."""
    return part / whole if whole else 0.0


RAM = "ram"  # its name among those of the tiers


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenPrices:
    """What was given with the command, by level; what is missing is taken from the configuration."""

    gib: Mapping[str, float] = field(default_factory=dict)
    drive_iops: Mapping[str, float] = field(default_factory=dict)
    drive_bytes: Mapping[str, int] = field(default_factory=dict)


def break_even_of(
    database: DatabaseConfig,
    ledger: Ledger,
    clock: Clock,
    prices: BreakEvenPrices,
    tier: PlannedTier | None = None,
) -> BreakEvens:
    """Work out RAM against the fastest tier, RAM against the slowest, and these two against each other.

    ``tier``: one that is not there yet; None: by the configuration (``planned_tier_of``).

    Raises:
        NothingToSize: prices are missing for every interval; it names them.
        ConnectorError: it does not answer.
    """
    tier = tier or planned_tier_of(database)
    settings = database.policy_settings()
    watch = Watch(database, ledger, clock, level=Level.OBSERVE, dry_run=True)
    try:
        watch.sample()
        picture = watch.sampler.picture()
        assert picture is not None, "there is a sample"
        situation = situation_of(picture, database, ledger, settings, clock.now())
    finally:
        watch.close(save=False)
    if tier is not None:
        situation = with_planned_tier(situation, tier)
    ram = LevelPrice(name=RAM, gib=prices.gib.get(RAM, settings.ram_gib_year))
    fast, slow = (level_price(situation, tier, prices) for tier in (0, -1))
    pairs = [(ram, fast), (ram, slow), (fast, slow)]
    answer = BreakEvens(
        database=database.name,
        page_bytes=settings.block_bytes,
        intervals=tuple(_interval(situation, *pair, settings.block_bytes) for pair in pairs),
    )
    missing = [each.missing for each in answer.intervals if each.missing is not None]
    if len(missing) == len(pairs):
        raise NothingToSize("; ".join(dict.fromkeys(missing)), advice=ADVICE)
    return answer


ADVICE = (
    "Give --price ram=AMOUNT and --price TIER=AMOUNT per GiB, and of each tier --drive-size TIER=SIZE and "
    "--drive-iops TIER=IOPS; or ram_price, price and io_price in the configuration."
)


def level_price(situation: Situation, tier: int, prices: BreakEvenPrices) -> LevelPrice:
    """What a tier costs: by its drives where these are given, else by the price of its I/Os."""
    name, limits = situation.tiers[tier].name, situation.tiers[tier].limits
    gib, size = prices.gib.get(name, limits.gib_year), prices.drive_bytes.get(name)
    by_drive = LevelPrice.of_drive(
        name, gib=gib, drive_gib=None if size is None else size / GIB, drive_iops=prices.drive_iops.get(name)
    )
    return LevelPrice(name=name, gib=gib, access=limits.io_year if by_drive.access is None else by_drive.access)


def _interval(situation: Situation, above: LevelPrice, below: LevelPrice, page_bytes: int) -> BreakEven:
    try:
        seconds = break_even_seconds(page_bytes, above, below)
    except ValueError as error:
        return BreakEven(above=above.name, below=below.name, break_even_seconds=None, missing=str(error), wrong_side=())
    units = situation.units
    size = units.size_bytes.astype(np.int64)
    tier = situation.tier_of_space[units.space]
    rows = {each.name: row for row, each in enumerate(situation.tiers)}
    speed = situation.tiers[rows[below.name]].speed
    run = min(1.0, speed.sequential_read_seconds / speed.random_read_seconds) if speed.random_read_seconds > 0 else 1.0
    interval = page_intervals(situation.heat.rates, size, page_bytes, run)
    risen = belong_above(interval, size, tier == rows[below.name], above, seconds)
    wrong = [*_named(situation, risen, below.name, above.name)]
    if above.name in rows:  # what the buffer pool holds cannot be sent out of it
        watched = situation.heat.observed_seconds >= seconds
        fallen = belong_below(interval, size, (tier == rows[above.name]) & watched, above, seconds)
        wrong += _named(situation, fallen, above.name, below.name)
    return BreakEven(
        above=above.name, below=below.name, break_even_seconds=seconds, missing=None,
        wrong_side=tuple(sorted(wrong, key=lambda each: (-each.spares, each.unit))),
    )  # fmt: skip


def _named(situation: Situation, found: WrongSide, on: str, to: str) -> Sequence[UnitOnWrongSide]:
    units = situation.units
    return [
        UnitOnWrongSide(
            unit=units.key[row], on=on, belongs_on=to, bytes=int(units.size_bytes[row]),
            seconds_between_reads=interval, spares=spares,
        )
        for row, interval, spares in zip(
            found.rows.tolist(), found.interval.tolist(), found.spares.tolist(), strict=True
        )
    ]  # fmt: skip
