"""What splitting units would bring, of a planning: the answer, its forecast, and both as a document."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agent.answers.plans import SplitWorth
from agent.answers.units import BorderShown
from agent.block_heat.insides import insides_of
from agent.ledger import Ledger
from agent.model.proposals import WorkForecast
from agent.planning.planner import Planning
from policies.benefit.splitting import SplitAnswer, splits_of
from policies.block_heat.splits import Split
from policies.sizing.splits import forecast_with_splits


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitsOnPlan:
    """What splits would add to a plan."""

    answer: SplitAnswer
    forecast: WorkForecast | None  # after the plan and the splits that save; None: there is none


def split_answer_on(planning: Planning, ledger: Ledger, database: str) -> SplitAnswer:
    """What splits of the units that were looked into would bring once the plan has run."""
    return splits_of(planning.situation, planning.plan, planning.settings, insides_of(ledger, database))


def splits_on(planning: Planning, ledger: Ledger, database: str) -> SplitsOnPlan:
    """The same with a forecast of what sessions then get done."""
    situation, settings, plan = planning.situation, planning.settings, planning.plan
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
