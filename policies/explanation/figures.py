"""The numbers behind a verdict: what was measured, what it is worth, what moving costs, and the limits they met."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from connectors.model import I64, NO_WIDE
from policies.benefit.foreground_wait import copy_seconds, move_cost_seconds, payback_seconds, wait_per_hour
from policies.benefit.guards import hit_ratio
from policies.model.confidence import certain_share
from policies.model.plan import Plan, PolicySettings, RouteCost, Situation, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One unit's numbers, together with those of the units that move with it. NaN where a figure is not known."""

    verdict: Verdict
    bundle_bytes: int
    wait_now_per_hour: float  # seconds, where it is
    wait_fast_per_hour: float  # seconds, on the fastest tier
    saves_per_hour: float  # the difference, mean
    surely_saves_per_hour: float  # its lower end, on which it is decided
    floor_per_hour: float  # less is not worth a move
    demand_error_ratio: float  # standard error of the demand to come
    hotter_ratio: float  # demand by the hotter horizon over that which counts
    expected_index: float  # that a season promises; NaN: none does
    hit_ratio: float  # logical reads that the buffer pool answers
    copy_seconds: float
    cost_seconds: float  # of session time, the three below included
    log_seconds: float  # that of it which sessions wait longer for the log; 0 until a route was asked for
    blocked_seconds: float  # that which they wait for its locks
    follow_up_seconds: float  # that which it leaves to do
    payback_seconds: float
    payback_limit_seconds: float
    observed_seconds: float
    minimum_history_seconds: float
    cooling_seconds: float


def figures_of(situation: Situation, plan: Plan, row: int, settings: PolicySettings) -> Figures:
    """The numbers of one unit.

    Args:
        situation: what the plan was made from.
        plan: what came of it.
        row: of the unit table.
        settings: with which it was made.
    """
    units, heat = situation.units, situation.heat
    together = judged_together(situation, plan, row)
    size = np.array([int(units.size_bytes[together].sum())], dtype=np.int64)
    now, fast = waits(situation, together, settings)
    saves = now - fast
    route = route_cost_of(situation, together)
    copying = copying_of(situation, together, settings)
    cost = move_cost_seconds(np.array([copying]), situation.database, settings) + route.seconds
    return Figures(
        verdict=Verdict(int(plan.verdict[row])),
        bundle_bytes=int(size[0]),
        wait_now_per_hour=now,
        wait_fast_per_hour=fast,
        saves_per_hour=saves,
        surely_saves_per_hour=surely(situation, together, settings),
        floor_per_hour=settings.minimum_wait_saved_per_hour,
        demand_error_ratio=_at(heat.error, row, 0.0),
        hotter_ratio=_at(heat.hotter, row, 1.0),
        expected_index=_at(heat.expected, row, nan),
        hit_ratio=float(hit_ratio(heat.rates[:, [row]])[0]),
        copy_seconds=copying,
        cost_seconds=float(cost[0]),
        log_seconds=route.log_seconds,
        blocked_seconds=route.blocked_seconds,
        follow_up_seconds=route.follow_up_seconds,
        payback_seconds=float(payback_seconds(cost, np.array([saves]))[0]),
        payback_limit_seconds=settings.payback_limit_seconds,
        observed_seconds=float(heat.observed_seconds[together].min()),
        minimum_history_seconds=settings.minimum_history_seconds,
        cooling_seconds=float(situation.cooling_seconds[together].max()),
    )


def route_cost_of(situation: Situation, together: I64) -> RouteCost:
    """What the route of these units costs apart from copying; zero where none was requested."""
    keys = (situation.units.key[int(row)] for row in together)
    nothing = RouteCost(log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0)
    return next((cost for key in keys if (cost := situation.route_costs.get(key))), nothing)


def copying_of(situation: Situation, together: I64, settings: PolicySettings) -> float:
    """Seconds that moving these units takes: as their route says, as of the units, or by their size alone."""
    route = route_cost_of(situation, together)
    if route.copy_seconds is not None:
        return route.copy_seconds
    if situation.copy_seconds is not None:
        return float(situation.copy_seconds[together].sum(dtype=np.float64))
    return float(copy_seconds(situation.units.size_bytes[together].sum(), settings))


def whole_of(situation: Situation, plan: Plan, row: int) -> str:
    """The whole space that a unit was judged with, "" where it was judged with its own bundle."""
    at = NO_WIDE if plan.whole is None else int(plan.whole[row])
    return "" if at == NO_WIDE else situation.units.wide_names[at]


def judged_together(situation: Situation, plan: Plan, row: int) -> I64:
    """Rows of the units that a plan moves with that one or not at all."""
    units = situation.units
    if whole_of(situation, plan, row):
        assert plan.whole is not None, "without it nothing is judged as a whole"
        return np.flatnonzero(plan.whole == plan.whole[row])
    return np.flatnonzero(units.bundle == units.bundle[row])


def waits(situation: Situation, together: I64, settings: PolicySettings) -> tuple[float, float]:
    """Seconds per hour that some units of one space wait where they are and on the fastest tier."""
    home = int(situation.tier_of_space[situation.units.space[together[0]]])
    if not situation.tiers or home < 0:
        return nan, nan
    speeds = [tier.speed for tier in situation.tiers]
    wait = wait_per_hour(situation.heat.rates[:, together], speeds, settings).sum(axis=1)
    return float(wait[home]), float(wait[0])


def surely(situation: Situation, together: I64, settings: PolicySettings) -> float:
    """Lower end of what some units together save on the fastest tier, seconds per hour."""
    now, fast = waits(situation, together, settings)
    if now != now:
        return nan
    home = int(situation.tier_of_space[situation.units.space[together[0]]])
    own = situation.heat.error
    error = np.zeros(1) if own is None else own[together].max(keepdims=True)
    errors = (np.full(1, situation.tiers[home].speed.error_ratio), np.full(1, situation.tiers[0].speed.error_ratio))
    columns = (np.array([now - fast]), np.array([now]), np.array([fast]))
    return float((now - fast) * certain_share(*columns, error, errors, settings.certainty)[0])


def _at(column: np.ndarray | None, row: int, otherwise: float) -> float:
    return otherwise if column is None else float(column[row])
