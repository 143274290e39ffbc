"""What splitting units would bring, and at which border.

What splitting units would bring, of a planning: the answer, its forecast, and both as a document.

The border at which a table is best split, as looks into it have found it, or why none is known.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.model.answers.plans import SplitWorth
from agent.model.answers.units import BorderSeen, BorderShown
from agent.model.proposals import WorkForecast
from agent.planning.planner import Planning
from agent.sampling.block_heat import UnitBorders, insides_of, load_block_heat, load_borders
from connectors.model.moves import Border
from policies.evidence.borders import FoundBorder, Split, Wandering, wandering
from policies.evidence.range_heat import RangeHeat, concentrate
from policies.evidence.splitting import SplitAnswer, splits_of
from policies.placement.advice import border_sentences, inside_sentences, range_of
from policies.placement.sizing import forecast_with_splits


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitsOnPlan:
    """What splits would add to a plan."""

    answer: SplitAnswer
    forecast: WorkForecast | None  # after the plan and the splits that save; None: there is none


def split_answer_on(planning: Planning, ledger: Ledger, database: str) -> SplitAnswer:
    """What splits of the units that were looked into would bring once the plan has run."""
    answer = splits_of(planning.situation, planning.plan, planning.settings, insides_of(ledger, database))
    said = {each.key: _refusal(planning, each) for each in answer.splits if each.key in planning.refused_splits}
    return replace(answer, refused=said)


def _refusal(planning: Planning, split: Split) -> str:
    """How many times as much sessions would get done with a split, and why no plan offers it."""
    situation, plan = planning.weighed
    found = forecast_with_splits(situation, planning.settings, plan, [split])
    times = WorkForecast.of(found, planning.work, planning.settings.certainty).times
    brings = "" if times is None else f"It would bring {times:.1f} times as many {planning.work}. "
    return f"{brings}No plan offers it: {planning.refused_splits[split.key]}."


def splits_on(planning: Planning, ledger: Ledger, database: str) -> SplitsOnPlan:
    """The same with a forecast of what sessions then get done."""
    settings, (situation, plan) = planning.settings, planning.weighed
    answer = split_answer_on(planning, ledger, database)
    worth = [each for each in answer.splits if each.saves_per_hour > 0]
    forecast = None
    if worth:
        found = forecast_with_splits(situation, settings, plan, worth)
        forecast = WorkForecast.of(found, planning.work, settings.certainty)
    return SplitsOnPlan(answer=answer, forecast=forecast)


def split_worth(split: Split) -> SplitWorth:
    """One split as an answer has it; its border holds values of users."""
    return SplitWorth(
        unit=split.key,
        border=None if split.border is None else BorderShown(**asdict(split.border)),
        hot_bytes=split.hot_bytes,
        whole_bytes=split.whole_bytes,
        of_reads_ratio=split.of_reads,
        of_reads_ratio_low=split.low_of_reads,
        of_reads_ratio_high=split.high_of_reads,
        fits=split.fits,
        wait_saved_per_hour_seconds=split.saves_per_hour,
        wait_saved_low_per_hour_seconds=split.saves_low_per_hour,
        wait_saved_high_per_hour_seconds=split.saves_high_per_hour,
        whole_fits=split.whole_fits,
        whole_wait_saved_per_hour_seconds=split.whole_saves_per_hour,
        memory_wait_saved_at_most_per_hour_seconds=split.memory_saves_per_hour,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBorder:
    """A border that looks have found. Its values and sentences are user data."""

    border: Border
    newest: str  # greatest value of the column that was seen, as people read it
    sentences: tuple[str, ...]  # how certain it is, and how it wanders
    found: FoundBorder
    wander: Wandering


def seen_border(ledger: Ledger, database: DatabaseConfig, key: str) -> SeenBorder | str:
    """The border that the latest look at values has found; a text: why there is none, and what would tell.

    Args:
        ledger: which holds what looks have found.
        database: its configuration.
        key: of the table.
    """
    known = load_borders(ledger, database.name).get(key, UnitBorders())
    latest = wandering(known.looks)
    if latest is None:
        heat = load_block_heat(ledger, database.name).get(key)
        return _why_none(database, heat, known)
    found, wander = latest
    if not found.border.rolls or found.border.least is None:
        return (
            f"its hot rows are those with {range_of(found.border)}, which are not its newest: a split at one value "
            "would bring colder rows behind it along"
        )
    return SeenBorder(
        border=Border(column=found.border.column, value=found.border.least),
        newest=_newest(found),
        sentences=border_sentences(known.columns, known.looks, known.refused),
        found=found,
        wander=wander,
    )


def border_seen(found: FoundBorder, wander: Wandering) -> BorderSeen:
    """A border with its certainty and how it wanders; it holds values of users."""
    return BorderSeen(
        **asdict(found.border),
        is_time=found.is_time,
        looks=wander.looks,
        of_looks=wander.of_looks,
        per_day=wander.per_day,
        low_distance=wander.low_distance,
        high_distance=wander.high_distance,
    )


def _why_none(database: DatabaseConfig, heat: RangeHeat | None, known: UnitBorders) -> str:
    if heat is None and not database.block_looks_share:
        return "no look at the buffer pool has found one, because looks are off (block_looks: 0%)"
    if heat is None:
        return (
            "no look at the buffer pool has found one: an agent that watches for some hours looks into units that are "
            f"hot, large and not on the fastest tier (hotplace run --database {shlex.quote(database.name)})"
        )
    shape = concentrate(heat)
    where = inside_sentences(heat, shape, 0.0, database.tiers_in_use[0].name)
    if shape.part is None and not known.looks:
        return "; ".join(where)
    if not (database.border_values or known.refused or known.looks):
        return f"{where[0]}, but at which value they begin is not known: border_values is off, which reads values"
    values = border_sentences(known.columns, known.looks, known.refused)
    return "; ".join((where[0], *(values or ("its values have not been looked at yet",))))


def _newest(found: FoundBorder) -> str:
    if found.is_time:
        return datetime.fromtimestamp(found.newest, UTC).isoformat(sep=" ", timespec="seconds")
    return f"{found.newest:.15g}"
