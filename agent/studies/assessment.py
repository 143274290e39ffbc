"""An observation from files judged by the product's own arithmetic, and as an answer.

``observe_exports`` makes an observation of two exports of one database.

``assess`` judges it: read times, waits, the sizing curve, a plan. No I/O, no clock. All data is taken to be on one
tier, "present", calibrated by what the files say (``policies.evidence.device``), and a faster tier is judged against
it. Spaces differ in speed, but a tier has one figure. So a unit's rates are scaled until the tier's speed gives the
wait that its own space's speed gives::

    wait = wait by the tier * read time of its space / read time of the tier
    rates * (wait - wait on fast storage) / (wait by the tier - wait on fast storage)

This leaves what the unit would save unchanged, to the second.

``assessment_shown`` is the assessment as an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from math import inf, isnan, nan

import numpy as np

from agent.model.answers import setup as answers
from agent.planning.read_times import tiers_shown
from agent.studies.assessed import AssessmentResult, Broken, Offer, Part, SpaceWaits, UnitWaits, broken
from agent.studies.assessment_files import EARLIEST, LATEST
from agent.studies.exported_tables import columns_of
from connectors.kit.assessment import CLOCK, SAY_WHEN, Export, FromFiles, Observation, UnusableFile, WaitKind, few_of
from connectors.kit.registry import find_engine
from connectors.model.formatting import format_seconds
from connectors.model.observation import F64, I64, Bools, Signal, Space, UnitTable
from policies.evidence.counter_deltas import Gap, contradiction, difference, in_measured_waits
from policies.evidence.device import LARGEST_FACTOR, calibrate, empty_devices, observe, observe_spaces
from policies.evidence.prices import HOUR, Prices, ceiling_ratio, with_bounded_waits
from policies.model.confidence import spread
from policies.model.plan import HeatView, Situation
from policies.model.settings import Pin, PolicySettings, Tier, TierSpeed
from policies.placement.balancer import make_plan
from policies.placement.sizing import Point, Sizing, sizing


def observe_exports(engine: str, hand: FromFiles, before: Export, after: Export, elapsed: float | None) -> Observation:
    """What happened between two exports.

    Args:
        engine: whose they are.
        hand: how it reads them.
        before: the earlier one.
        after: the later one.
        elapsed: seconds between them; None: by their own times.

    Raises:
        UnusableFile: the second is not later than the first, or what they hold does not belong together.
    """
    before, after, said = _in_time(before, after, elapsed)
    try:
        with np.errstate(all="ignore"):  # figures that are too large are refused when all are there
            found = hand.read(before, after)
            interval = difference(found.before, found.after, longest_seconds=inf)
            demand = interval if isinstance(interval, Gap) else found.classify(interval, found.catalog)
            demand = demand if isinstance(demand, Gap) else contradiction(demand) or demand
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:  # not the query's cells
        raise _misfit(hand.queries(), before, after, error) from error
    if isinstance(demand, Gap):
        raise UnusableFile(after.path, demand.sentence, advice="Export both without a restart or rebuild in between.")
    units = found.catalog.units
    anew = () if isinstance(interval, Gap) else _named(units, interval.physical_id[interval.restarted])
    if anew:
        said = (*said, f"counters of {few_of(anew)} began anew between the two: what they read is not known, not 0")
    return Observation(
        engine=engine,
        database=found.database,
        source=f"two exports of {engine} {found.version}",
        catalog=found.catalog,
        demand=demand,
        size_known=np.ones(len(units), dtype=np.bool_),
        least=np.ones(len(units)),
        most=np.ones(len(units)),
        notes=(*found.notes, *said, UNBOUNDED),
    )


def _named(units: UnitTable, physical_ids: I64) -> list[str]:
    """Units by their keys; those that the catalog does not have are left out."""
    rows = units.rows_of(physical_ids)
    return [units.key[row] for row in rows[rows >= 0].tolist()]


def _in_time(before: Export, after: Export, elapsed: float | None) -> tuple[Export, Export, tuple[str, ...]]:
    """Both exports with their times by the server's clock, and what to say of that.

    Raises:
        UnusableFile: they do not say when they were taken, or the second is not later than the first.
    """
    first, second = (_clock(each) for each in (before, after))
    said: tuple[str, ...] = ()
    if elapsed is not None:
        by_clock = None if first is None or second is None else (second - first).total_seconds()
        if by_clock is not None and not elapsed / CLOCKS_AGREE <= by_clock <= elapsed * CLOCKS_AGREE:
            said = (f"--elapsed says {format_seconds(elapsed)}, the server's clock {format_seconds(by_clock)}",)
        first = first or before.taken_at or SOME_TIME
        second = first + timedelta(seconds=elapsed)
    else:
        first, second = first or before.at, second or after.at
    if second <= first:
        raise UnusableFile(
            after.path,
            f"is not later than {before.path}: {second.isoformat()}",
            advice="Name the export before, then the one after, or say --elapsed 1h.",
        )
    return replace(before, taken_at=first), replace(after, taken_at=second), said


def _clock(export: Export) -> datetime | None:
    """The server's clock in an export; None where it holds none.

    Raises:
        UnusableFile: it holds something else.
    """
    if CLOCK not in export.results:
        return None
    try:
        ((said,),) = export.rows(CLOCK)
        found = datetime.fromisoformat(str(said).strip().replace("Z", "+00:00")[:LONGEST_TIME])
    except (TypeError, ValueError) as error:
        raise UnusableFile(
            export.path, f"the result of {CLOCK} is no time: {error}", advice="Export it as YYYY-MM-DD HH:MM:SS."
        ) from error
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    if not EARLIEST <= found <= LATEST:
        raise UnusableFile(export.path, f"the result of {CLOCK} is no time: {found.isoformat()}", advice=SAY_WHEN)
    return found


def _misfit(queries: Mapping[str, str], before: Export, after: Export, error: Exception) -> UnusableFile:
    """What to say of a result that is not its query's: where it is, and how it differs."""
    export = after if after.asked and after.asked[-1:] != [CLOCK] else before
    name = export.asked[-1] if export.asked else ""
    wide = {len(row) for row in export.results.get(name, ())}
    columns = columns_of(queries.get(name, ""))
    if columns and wide and wide != {len(columns)}:
        problem = f"the result of {name} has {min(wide)} columns, and its query {len(columns)}"
    else:
        problem = f"a result is not that of its query, {name} or one before it: {error}"
    return UnusableFile(
        export.path,
        problem,
        advice="Run the queries of hotplace assess --print-queries as they are, and export all of their columns.",
    )


PRESENT = "present"
UNBOUNDED = "waits of objects are divided as a plan divides them; exports set no bounds to that, so none are shown"
SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # of an export whose period alone is said
LONGEST_TIME = 26  # characters: SQL Server has seven places behind the second, Python six
CLOCKS_AGREE = 1.1  # a clock and a person, at most this much apart
FAST_SPACE = "fast storage"
LEAST_SHARE = 0.01  # of its reads, below which a unit's lower bound counts as this: an interval by factors knows no 0
LARGEST_RATE = 1e25  # of anything, a second: 64 bits within a microsecond are less
LARGEST_BYTES = 2.0**62  # of all units together, and of a space
LONG_WATCHED = 1e9  # seconds: the question is not whether to move now


def assess(
    observation: Observation, fast: TierSpeed, slow: TierSpeed, settings: PolicySettings, *, offered: int | None = None
) -> AssessmentResult:
    """Judge an observation.

    Args:
        observation: from files.
        fast: speed of the storage that is asked about, by its data sheet.
        slow: speed to start from where the files measure none.
        settings: shares of waits, head-room and certainty.
        offered: bytes of fast storage to fill; None: only the curve.

    Raises:
        UnusableFile: it holds figures that no server counts.
    """
    _insist_on_possible(observation)
    fast, slow = (replace(speed, by_default=True) for speed in (fast, slow))
    tiers = _tiers(observation, fast, slow, settings)
    observation = replace(observation, notes=(*observation.notes, *_note_on_quick_reads(tiers[1].speed, slow)))
    counted = _reads_of_spaces(observation)
    observation, settings = _as_measured(observation, settings, tiers[1].speed)
    situation = _situation(observation, tiers, settings, offered)
    own = _own_speed(observation, tiers[1].speed)
    by_tier = Prices.of(situation, settings).per_hour(situation.heat.rates)
    wait = by_tier[1] * own
    measured = observation.demand.database.read_wait * HOUR
    saves = np.maximum(0.0, wait - by_tier[0])
    if observation.stays is not None:
        saves = np.where(observation.stays, 0.0, saves)
    situation = replace(situation, heat=replace(situation.heat, rates=_scale(situation.heat.rates, by_tier, saves)))
    # After the scaling, since it changes the waits that are bounded.
    situation = with_bounded_waits(situation, settings)
    known = observation.size_known
    sized = _only(situation, known) if known.any() else None
    found = AssessmentResult(
        observation=observation,
        tiers=tiers,
        wait_per_hour=float(wait.sum()),
        measured_wait_per_hour=measured,
        ceiling_ratio=ceiling_ratio(observation.demand.database),
        spaces=_spaces(observation, counted, wait, saves),
        units=_units(observation, wait, saves, inf if isnan(measured) else measured),
        sizing=None if sized is None else sizing(sized, settings),
        sized_ratio=float(wait[known].sum() / wait.sum()) if wait.sum() > 0 else 0.0,
        offer=None
        if sized is None or offered is None
        else _offer_of(offered, sized, wait[known], observation, settings),
    )
    return _without_broken(found, broken(found))


def _offer_of(offered: int, sized: Situation, wait: F64, observation: Observation, settings: PolicySettings) -> Offer:
    """What the offered bytes bring, between nothing and all that the moved units may have waited.

    Args:
        offered: bytes, head-room included.
        sized: the units whose size is known.
        wait: of each of them, seconds an hour.
        observation: with the bounds of that.
        settings: head-room and certainty.
    """
    plan = make_plan(sized, settings)
    moved = [row for move in plan.moves for row in move.rows]
    most = float((wait * observation.most[observation.size_known])[moved].sum())
    measured = observation.demand.database.read_wait * HOUR
    return Offer(
        size_bytes=offered, usable_bytes=int(offered * (1 - settings.head_room_ratio)), plan=plan,
        low_per_hour=min(max(0.0, plan.wait_saved_low_per_hour), plan.wait_saved_per_hour),
        high_per_hour=max(
            plan.wait_saved_per_hour, min(plan.wait_saved_high_per_hour, most, inf if isnan(measured) else measured)
        ),
    )  # fmt: skip


def _without_broken(found: AssessmentResult, broken: tuple[Broken, ...]) -> AssessmentResult:
    """The assessment without every figure that rests on what is contradicted."""
    if not broken:
        return found
    parts = {each.part for each in broken}
    spaces = () if parts & {Part.KINDS, Part.SPACES} else found.spaces
    units = () if parts & {Part.KINDS, Part.SPACES, Part.UNITS} else found.units
    curve = bool(units) and Part.CURVE not in parts
    kinds = () if Part.KINDS in parts else found.observation.kinds
    return replace(
        found, observation=replace(found.observation, kinds=kinds), spaces=spaces, units=units,
        wait_per_hour=nan if Part.KINDS in parts else found.wait_per_hour,
        measured_wait_per_hour=nan if Part.KINDS in parts else found.measured_wait_per_hour,
        ceiling_ratio=nan if Part.KINDS in parts else found.ceiling_ratio,
        sizing=found.sizing if curve else None, offer=found.offer if curve else None, withheld=broken,
    )  # fmt: skip


def _note_on_quick_reads(present: TierSpeed, slow: TierSpeed) -> Iterator[str]:
    """That the present speed is that of a cache: reads were quicker than any storage."""
    least = slow.random_read_seconds / LARGEST_FACTOR
    if present.measured and present.random_read_seconds <= least:
        yield (
            f"reads took less than {format_seconds(least)}, which is quicker than storage: most came from a cache of "
            "the system or of the array. The present storage is shown as quick as that; "
            "how quick it is itself, the files do not say"
        )


def _insist_on_possible(observation: Observation) -> None:
    """Whether anything can be computed of it: what follows may multiply any two of the figures."""
    demand, sizes = observation.demand, observation.catalog.units.size_bytes
    spaces = () if demand.spaces is None else astuple(demand.spaces)[1:]
    waited = () if demand.waited is None else demand.waited
    figures = np.concatenate([np.ravel(each) for each in (astuple(demand.database), waited, *spaces)])
    known = [size for space in observation.catalog.spaces for size in (space.used_bytes, space.free_bytes or 0)]
    possible = (
        bool((demand.rates >= 0).all() and (demand.rates <= LARGEST_RATE).all())
        and not (np.abs(figures) > LARGEST_RATE).any()  # NaN: not known
        and not (sizes < 0).any()
        and max(float(sizes.sum(dtype=np.float64)), *map(abs, known), 0.0) <= LARGEST_BYTES
    )
    if not possible:
        raise UnusableFile(
            observation.source,
            "a figure is negative or larger than any server counts",
            advice="Make the report or the exports again, and leave them as they are.",
        )


# -- the situation ---------------------------------------------------------------------------------------------------


def _as_measured(
    observation: Observation, settings: PolicySettings, present: TierSpeed
) -> tuple[Observation, PolicySettings]:
    """Demand and share of reads ahead as the daemon takes them: by measured waits, where the files hold them."""
    demand = observation.demand
    share = None if demand.waited is None else find_engine(observation.engine).prefetched_wait_share
    if share is not None:
        settings = replace(settings, prefetched_wait_share=share)
    believed = np.full(len(observation.catalog.spaces), present.random_read_seconds)
    return replace(observation, demand=in_measured_waits(demand, observation.catalog, believed)), settings


def _tiers(observation: Observation, fast: TierSpeed, slow: TierSpeed, settings: PolicySettings) -> tuple[Tier, Tier]:
    """Fast storage as configured, the present one as measured; fast storage is never slower than what there is."""
    demand, prior = observation.demand, (fast, slow)
    devices = empty_devices(2)
    if demand.spaces is not None:
        homes = {space.name: 1 for space in observation.catalog.spaces}
        devices = observe_spaces(devices, prior, demand, homes, settings)
    else:
        devices = observe(devices, prior, demand, np.ones(len(demand.physical_id), dtype=np.int64), settings)
    speeds = calibrate(prior, devices)
    # How far a mean that was timed may be off for a time to come is no question here: the answer is about the period.
    present = replace(speeds[1], error_ratio=0.0) if speeds[1].measured else speeds[1]
    fastest = replace(
        speeds[0], sequential_read_seconds=min(speeds[0].sequential_read_seconds, present.sequential_read_seconds)
    )
    names = tuple(space.name for space in observation.catalog.spaces)
    return Tier(name="fast", speed=fastest, spaces=(FAST_SPACE,)), Tier(name=PRESENT, speed=present, spaces=names)


def _situation(
    observation: Observation, tiers: tuple[Tier, Tier], settings: PolicySettings, offered: int | None
) -> Situation:
    catalog, demand = observation.catalog, observation.demand
    units, count = catalog.units, len(catalog.units)
    fast = Space(name=FAST_SPACE, path="", used_bytes=0, free_bytes=None, capacity_bytes=offered or 0)
    return Situation(
        units=units,
        heat=HeatView(
            rates=_by_row(observation),
            observed_seconds=np.full(count, LONG_WATCHED),
            confidence=np.ones(count),
            error=_errors(observation, settings),
        ),
        spaces=(*catalog.spaces, fast),
        tiers=tiers,
        tier_of_space=np.array([1] * len(catalog.spaces) + [0], dtype=np.int32),
        pin=np.full(count, Pin.NONE, dtype=np.int8),
        cooling_seconds=np.zeros(count),
        database=demand.database,
        by_mean=True,
        sessions=demand.database.active,
    )


def _by_row(observation: Observation) -> F64:
    """Rates by row of the unit table."""
    demand, units = observation.demand, observation.catalog.units
    rates = np.zeros((len(demand.rates), len(units)))
    row = units.rows_of(demand.physical_id)
    rates[:, row[row >= 0]] = demand.rates[:, row >= 0]
    return rates


def _errors(observation: Observation, settings: PolicySettings) -> F64:
    """Standard error of each unit's demand: half of its bounds, by factors, holds ``settings.certainty``."""
    low = np.maximum(observation.least, LEAST_SHARE)
    # The wider side for both: an error has one size, and the plan must not be surer than the worse of the two bounds.
    reach: F64 = np.maximum(np.log(observation.most), -np.log(low)) / spread(settings.certainty)
    return reach


def _own_speed(observation: Observation, present: TierSpeed) -> F64:
    """Read time of each unit's space over that of the tier; 1 where the space's is not known."""
    times = _space_read_seconds(observation)[observation.catalog.units.space]
    ratio = times / present.random_read_seconds if present.random_read_seconds > 0 else np.ones(len(times))
    return np.where(np.isfinite(ratio) & (ratio > 0), ratio, 1.0)


def _space_read_seconds(observation: Observation) -> F64:
    """Of each space of the catalog, NaN where it is not known."""
    found, figures = np.full(len(observation.catalog.spaces), np.nan), observation.demand.spaces
    if figures is None:
        return found
    with np.errstate(invalid="ignore", divide="ignore"):
        seconds = dict(zip(figures.name, (figures.read_seconds / figures.reads).tolist(), strict=True))
    for row, space in enumerate(observation.catalog.spaces):
        found[row] = seconds.get(space.name, np.nan)
    return found


def _scale(rates: F64, by_tier: F64, saves: F64) -> F64:
    difference = by_tier[1] - by_tier[0]
    factor = np.divide(saves, difference, out=np.zeros(len(saves)), where=difference > 0)
    scaled: F64 = rates * factor
    return scaled


def _only(situation: Situation, rows: Bools) -> Situation:
    """The situation of some units."""
    if rows.all():
        return situation
    return situation.only(np.flatnonzero(rows))


# -- what is shown ---------------------------------------------------------------------------------------------------


def _reads_of_spaces(observation: Observation) -> F64:
    """Reads a second of each space of the catalog, as the files count them."""
    names = [space.name for space in observation.catalog.spaces]
    if observation.space_reads is not None:
        return np.array([observation.space_reads.get(name, nan) for name in names], dtype=np.float64)
    rates = _by_row(observation)[Signal.SYNC_READ]
    return np.bincount(observation.catalog.units.space, weights=rates, minlength=len(names)).astype(np.float64)


def _spaces(observation: Observation, reads: F64, wait: F64, saves: F64) -> tuple[SpaceWaits, ...]:
    units, times = observation.catalog.units, _space_read_seconds(observation)
    count = len(observation.catalog.spaces)

    def total(figures: F64 | Bools) -> list[float]:
        """The sum of a figure of units, by space; once over all units, since there may be many of both."""
        sums: list[float] = np.bincount(units.space, weights=figures, minlength=count).tolist()
        return sums

    sizes = np.zeros(count, dtype=np.int64)
    np.add.at(sizes, units.space, units.size_bytes)
    known = [whole > 0 and of_them == whole for whole, of_them in zip(
        total(np.ones(len(units))), total(observation.size_known), strict=True)]  # fmt: skip
    kinds = {kind.name: total(kind.by_unit) for kind in observation.kinds if kind.by_unit is not None}
    an_hour = HOUR / observation.demand.seconds
    columns = reads.tolist(), times.tolist(), total(wait), total(saves), sizes.tolist(), known
    found = (
        SpaceWaits(
            name=space.name, reads=each, read_seconds=seconds, wait_per_hour=waited, saves_per_hour=saved,
            size_bytes=size if all_known else None,
            by_kind={name: sums[row] * an_hour for name, sums in kinds.items() if sums[row] > 0},
        )
        for row, (space, each, seconds, waited, saved, size, all_known) in enumerate(zip(
            observation.catalog.spaces, *columns, strict=True))
    )  # fmt: skip
    return tuple(sorted(found, key=lambda each: (-each.wait_per_hour, each.name)))


def _units(observation: Observation, wait: F64, saves: F64, most: float) -> tuple[UnitWaits, ...]:
    """Units that anybody waits for, those that cost most first; no bound is more than is possible in all."""
    units, known = observation.catalog.units, observation.size_known
    rows = [row for row in np.argsort(-wait, kind="stable").tolist() if wait[row] > 0]
    kinds = [kind for kind in observation.kinds if kind.by_unit is not None]
    return tuple(
        UnitWaits(
            key=units.key[row],
            space=observation.catalog.spaces[int(units.space[row])].name,
            wait_per_hour=float(wait[row]),
            low_per_hour=float(wait[row] * observation.least[row]),
            high_per_hour=max(float(wait[row]), min(most, float(wait[row] * observation.most[row]))),
            saves_per_hour=float(saves[row]),
            size_bytes=int(units.size_bytes[row]) if known[row] else None,
            by_kind=_kinds_of_unit(kinds, row, HOUR / observation.demand.seconds),
        )
        for row in rows
    )


def _kinds_of_unit(kinds: Sequence[WaitKind], row: int, an_hour: float) -> dict[str, float]:
    seconds = {kind.name: float(kind.by_unit[row]) * an_hour for kind in kinds if kind.by_unit is not None}
    return {name: waited for name, waited in seconds.items() if waited > 0}


def assessment_shown(found: AssessmentResult) -> answers.Assessment:
    """Everything that the tables show, and more of each."""
    observation, curve = found.observation, found.sizing
    return answers.Assessment(
        engine=observation.engine,
        database=observation.database,
        source=observation.source,
        seconds=observation.demand.seconds,
        read_wait_per_hour_seconds=_whole_wait(found),
        measured_read_wait_per_hour_seconds=found.measured_wait_per_hour,
        read_wait_of_session_time_ratio=found.ceiling_ratio,
        waits_by_kind=tuple(_kind(each, found.observation.demand.seconds) for each in observation.kinds),
        tiers=tiers_shown(found.tiers),
        spaces=tuple(
            answers.SpaceAssessed(
                space=each.name,
                reads_per_second=each.reads,
                read_seconds=each.read_seconds,
                wait_per_hour_seconds=each.wait_per_hour,
                wait_saved_per_hour_seconds=each.saves_per_hour,
                wait_by_kind_per_hour_seconds=each.by_kind,
                bytes=each.size_bytes,
            )
            for each in found.spaces
        ),
        units=tuple(
            answers.UnitAssessed(
                unit=each.key,
                space=each.space,
                wait_per_hour_seconds=each.wait_per_hour,
                wait_low_per_hour_seconds=each.low_per_hour,
                wait_high_per_hour_seconds=each.high_per_hour,
                wait_saved_per_hour_seconds=each.saves_per_hour,
                wait_by_kind_per_hour_seconds=each.by_kind,
                bytes=each.size_bytes,
            )
            for each in found.units
        ),
        sized_wait_ratio=found.sized_ratio,
        knee=None if curve is None or not curve.knee_distance else _size(curve, curve.knee),
        curve=None if curve is None else tuple(_size(curve, point) for point in curve.points),
        offer=None if found.offer is None else _offer(found.offer),
        notes=tuple(observation.notes),
        withheld=tuple(
            answers.Withheld(part=each.part, section=each.section or None, why=each.sentence) for each in found.withheld
        ),
    )


def _whole_wait(found: AssessmentResult) -> float:
    """As the engine timed it; by reads and read times where it timed none."""
    return found.wait_per_hour if isnan(found.measured_wait_per_hour) else found.measured_wait_per_hour


def _kind(kind: WaitKind, seconds: float) -> answers.KindAssessed:
    return answers.KindAssessed(
        kind=kind.name, events=kind.events, waits=kind.waits, wait_per_hour_seconds=kind.seconds * HOUR / seconds,
        of_objects=kind.of_units,
    )  # fmt: skip


def _size(curve: Sizing, point: Point) -> answers.SizeAssessed:
    return answers.SizeAssessed(
        bytes=point.size_bytes,
        wait_saved_per_hour_seconds=point.saved_per_hour,
        wait_saved_at_todays_latencies_per_hour_seconds=point.today_per_hour,
        wait_saved_at_most_per_hour_seconds=point.most_per_hour,
        next_gib_saves_per_hour_seconds=curve.next_gib(point),
        units=point.units,
        used_bytes=point.used_bytes,
    )


def _offer(offer: Offer) -> answers.OfferAssessed:
    plan = offer.plan
    return answers.OfferAssessed(
        bytes=offer.size_bytes,
        usable_bytes=offer.usable_bytes,
        wait_saved_per_hour_seconds=plan.wait_saved_per_hour,
        wait_saved_low_per_hour_seconds=offer.low_per_hour,
        wait_saved_high_per_hour_seconds=offer.high_per_hour,
        units=tuple(
            answers.UnitOffered(
                unit=move.key, bytes=move.size_bytes, wait_saved_per_hour_seconds=move.wait_saved_per_hour
            )
            for move in plan.moves
        ),
    )
