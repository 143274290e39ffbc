"""The numbers behind a verdict: what was measured, what it is worth, what moving costs, and the limits they met."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from connectors.model import I64, NO_WIDE
from policies.benefit.bundles import MICRO, Bundles, bundle_of
from policies.benefit.guards import hit_ratio
from policies.benefit.move_cost import payback_seconds
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
    heat, together = situation.heat, judged_together(situation, plan, row)
    bundle = bundle_of(situation, together, settings)
    now, fast = waits(bundle)
    route = route_cost_of(situation, together)
    return Figures(
        verdict=Verdict(int(plan.verdict[row])),
        bundle_bytes=int(situation.units.size_bytes[together].sum()),
        wait_now_per_hour=now,
        wait_fast_per_hour=fast,
        saves_per_hour=now - fast,
        surely_saves_per_hour=surely(bundle),
        floor_per_hour=settings.minimum_wait_saved_per_hour,
        demand_error_ratio=_at(heat.error, row, 0.0),
        hotter_ratio=_at(heat.hotter, row, 1.0),
        expected_index=_at(heat.expected, row, nan),
        hit_ratio=float(hit_ratio(heat.rates[:, [row]])[0]),
        copy_seconds=float(bundle.copying[0] / MICRO),
        cost_seconds=float(bundle.cost[0] / MICRO),
        log_seconds=route.log_seconds,
        blocked_seconds=route.blocked_seconds,
        follow_up_seconds=route.follow_up_seconds,
        payback_seconds=payback(bundle),
        payback_limit_seconds=settings.payback_limit_seconds,
        observed_seconds=float(bundle.observed[0]),
        minimum_history_seconds=settings.minimum_history_seconds,
        cooling_seconds=float(bundle.cooling[0]),
    )


def route_cost_of(situation: Situation, together: I64) -> RouteCost:
    """What the route of these units costs apart from copying; zero where none was requested."""
    keys = (situation.units.key[int(row)] for row in together)
    nothing = RouteCost(log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0)
    return next((cost for key in keys if (cost := situation.route_costs.get(key))), nothing)


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


def waits(bundle: Bundles) -> tuple[float, float]:
    """Seconds per hour that a bundle waits where it is and on the fastest tier; NaN where it is not managed."""
    home = int(bundle.tier[0])
    return (nan, nan) if home < 0 else (float(bundle.wait[home, 0] / MICRO), float(bundle.wait[0, 0] / MICRO))


def surely(bundle: Bundles) -> float:
    """Lower end of what a bundle saves on the fastest tier, seconds per hour; NaN where it is not managed."""
    return nan if bundle.tier[0] < 0 else float(bundle.surely(bundle.saving_on(0), 0)[0] / MICRO)


def payback(bundle: Bundles) -> float:
    """How long the move must last to earn its cost, by what the colder horizon expects: as the guard counts it."""
    saved = bundle.saving_on(0) * bundle.colder
    return float(payback_seconds(bundle.cost, saved)[0])


def _at(column: np.ndarray | None, row: int, otherwise: float) -> float:
    return otherwise if column is None else float(column[row])
