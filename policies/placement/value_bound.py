"""An upper bound on what every plan saves, net of what its moves cost: quick where it is close, else searched for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from policies.placement.granularity_choice import GranularityProblem, choose_granularity, solve_dual
from policies.placement.placement_problem import PlacementProblem
from policies.solver.integer_rounding import rounded_bound
from policies.solver.placement import Bound, bound, place

WIDE_GAP = 0.001  # relative
_LEAST = 0.5  # microseconds per hour: waits are whole ones, so a smaller bound is rounding
_FEW_ITEMS = 3000  # up to which a wide gap is worth a search for a tighter bound ...
_SEARCHED_ITEMS = 15_000  # ... and up to which a short one; of more, searches see a core only


def value_bound(problem: PlacementProblem) -> Bound:
    """Upper bound on the wait that any placement saves from the present state, and which resources limit it.

    Guards, pins and limits are respected; resident bonus, preference and uncertainty are left out.
    """
    return bound(replace(problem.offers, gain=problem.plain))


def closer_bound(problem: PlacementProblem, gain: float, saved: float) -> float:
    """That bound, tightened while it leaves a wide gap above what a plan saves.

    With capacities rounded to whole items; by a short search for more than the plan saves; and of few items by an
    unhurried one. Of some dozen items the last is what the best placement saves.
    """
    offers = replace(problem.offers, gain=problem.plain)
    searches = (len(offers) <= _SEARCHED_ITEMS) + (len(offers) <= _FEW_ITEMS)
    closer = [lambda: rounded_bound(offers), lambda: place(offers, saved).bound, lambda: place(offers).bound]
    return _tighten(gain, saved, closer[: 1 + searches])


def granularity_bound(problem: GranularityProblem, saved: float) -> float:
    """The same over plans of all granularities: that of one would call it optimal although another may save more."""
    searched = [lambda: choose_granularity(problem).placement.bound] if len(problem) <= _FEW_ITEMS else []
    return _tighten(solve_dual(problem).bound, saved, searched)


def _tighten(gain: float, saved: float, closer: Sequence[Callable[[], float]]) -> float:
    if gain < _LEAST:
        return 0.0
    for each in closer:
        if gain - saved <= WIDE_GAP * gain:
            break
        gain = min(gain, max(saved, each()))
    return gain
