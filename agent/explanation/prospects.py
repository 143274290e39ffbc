"""What would be proposed as it looks now, what has to be seen before it is, and from when on: for who asks early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import log

from agent.model.proposals import Proposal
from agent.planning.planner import Planning
from connectors.formatting import format_seconds, format_wait
from policies.benefit.prices import HOUR
from policies.explanation.figures import Figures, figures_of
from policies.model.plan import Plan, PlannedMove, PolicySettings, Situation
from policies.modes.prospects import moves_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What has to be seen of one move before it is proposed."""

    unit: str  # leading unit of the bundle
    watched_seconds: float
    watched_seconds_needed: float  # policy.minimum_history
    waited_seconds: float  # what its wait has cost since it is watched, at the rate seen
    waited_seconds_needed: float  # policy.regret times what moving it costs; 0: watched for long enough to be trusted
    saves_per_hour: float  # seconds, mean
    saves_at_least_per_hour: float  # the lower end by policy.certainty
    saves_at_least_per_hour_needed: float  # so that it is worth a move, and pays back in time

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be seen, in words; nothing where nothing is."""
        return tuple(self._missing())

    def _missing(self) -> Iterator[str]:
        if (more := self.watched_seconds_needed - self.watched_seconds) > 0:
            yield (
                f"{format_seconds(more)} more of watching: {format_seconds(self.watched_seconds)} of "
                f"{format_seconds(self.watched_seconds_needed)} so far (policy.minimum_history)"
            )
        if self.waited_seconds < self.waited_seconds_needed:
            yield (
                f"waits that cost as much as the move: {format_seconds(self.waited_seconds)} of "
                f"{format_seconds(self.waited_seconds_needed)} so far (policy.regret)"
            )
        if self.saves_at_least_per_hour < self.saves_at_least_per_hour_needed:
            yield (
                f"a gain that is sure enough: at least {format_wait(self.saves_at_least_per_hour)} as it "
                f"is known now, {format_wait(self.saves_at_least_per_hour_needed)} needed (policy.certainty)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A plan that is not proposed yet."""

    planning: Planning  # as it looks now
    proposal: Proposal  # the same; never stored
    conditions: tuple[Condition, ...]  # of its moves that gain, in their order
    seconds: float | None  # of watching, until it is proposed if the same goes on; None: not by that alone

    @property
    def from_when(self) -> datetime | None:
        """From when on it is proposed, if it is watched from now on and the same goes on."""
        return None if self.seconds is None else self.planning.made_at + timedelta(seconds=self.seconds)


def prospect_of(looks: Planning, proposal: Proposal, settings: PolicySettings) -> Prospect:
    """What has to be seen before a plan is proposed, and how long that takes if the same goes on.

    Args:
        looks: the plan as it looks now, made with ``as_it_looks``.
        proposal: made of it.
        settings: with which plans are made that are proposed.
    """
    gaining = [move for move in looks.plan.moves if move.wait_saved_per_hour > 0]
    judged = replace(looks.situation, by_mean=False)  # as it is for what is proposed
    return Prospect(
        planning=looks,
        proposal=proposal,
        conditions=tuple(_condition(judged, looks.plan, move, settings) for move in gaining),
        seconds=moves_after(judged, settings),
    )


def _condition(situation: Situation, plan: Plan, move: PlannedMove, settings: PolicySettings) -> Condition:
    """What has to be seen of one move; the same bounds as in ``policies.benefit.guards``."""
    figures = figures_of(situation, plan, move.rows[0], settings)
    remembered = min(figures.observed_seconds, settings.half_life_seconds / log(2.0))
    return Condition(
        unit=move.key,
        watched_seconds=figures.observed_seconds,
        watched_seconds_needed=settings.minimum_history_seconds,
        waited_seconds=figures.saves_per_hour * remembered / HOUR,
        waited_seconds_needed=_price(figures, settings),
        saves_per_hour=figures.saves_per_hour,
        saves_at_least_per_hour=figures.surely_saves_per_hour,
        saves_at_least_per_hour_needed=max(
            settings.minimum_wait_saved_per_hour, figures.cost_seconds * HOUR / settings.payback_limit_seconds
        ),
    )


def _price(figures: Figures, settings: PolicySettings) -> float:
    """What the waits have to have cost, in seconds."""
    young = figures.observed_seconds < settings.long_half_life_seconds and settings.minimum_history_seconds > 0
    return settings.regret_ratio * figures.cost_seconds if young else 0.0
