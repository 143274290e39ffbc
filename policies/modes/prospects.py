"""From when on would a plan move anything, if demand stayed as it was seen so far and was watched all the time?

Policies are pure, so this is asked of them: the situation is taken forward in time and planned for again. Units then
have been watched for longer, their mean errs less (by the square root of how long they were watched, as far back as
the long horizon remembers), and cool-downs have passed. Read times stay as sure as they are: how soon they become surer
depends on the load.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from policies.model.plan import HeatView, PolicySettings, Situation
from policies.modes.dispatch import plan_mode

FINE_RATIO = 0.02  # of the time found; and no finer than ...
FINE_SECONDS = 10.0


def moves_after(situation: Situation, settings: PolicySettings) -> float | None:
    """Seconds until a plan has a move; None where the same alone brings none.

    Args:
        situation: as it is now.
        settings: with which plans are made.
    """
    latest = settings.long_half_life_seconds + max(settings.cool_down_seconds, settings.minimum_history_seconds)
    longest = float(situation.heat.observed_seconds.max(initial=0.0))
    earliest = max(0.0, settings.minimum_history_seconds - longest)
    if _moves(situation, settings, earliest):
        return earliest
    if not _moves(situation, settings, latest):
        return None
    return _between(situation, settings, earliest, latest)


def _between(situation: Situation, settings: PolicySettings, without: float, with_moves: float) -> float:
    """The time from which on there are moves, between one without and one with: halved as often as it takes."""
    # Once a plan has moves, later ones are taken to have some too: cool-downs only pass, and errors only narrow.
    while with_moves - without > max(FINE_SECONDS, FINE_RATIO * with_moves):
        # Halved on a logarithmic scale: the answer may be minutes or days, and each look is a whole plan.
        middle = math.sqrt(max(without, FINE_SECONDS) * with_moves)
        if _moves(situation, settings, middle):
            with_moves = middle
        else:
            without = middle
    return with_moves


def _moves(situation: Situation, settings: PolicySettings, seconds: float) -> bool:
    """Whether a plan has moves so much later."""
    return bool(plan_mode(later(situation, settings, seconds), settings).moves)


def later(situation: Situation, settings: PolicySettings, seconds: float) -> Situation:
    """The situation so much later, the same demand having been watched meanwhile."""
    return replace(
        situation,
        heat=_with_time_passed(situation.heat, settings, seconds),
        cooling_seconds=np.maximum(situation.cooling_seconds - seconds, 0.0),
    )


def _with_time_passed(heat: HeatView, settings: PolicySettings, seconds: float) -> HeatView:
    """Heat after so many seconds of unchanged demand."""
    observed = heat.observed_seconds + seconds
    if heat.error is None:
        return replace(heat, observed_seconds=observed)
    memory = settings.long_half_life_seconds / math.log(2.0)
    then, now = np.minimum(observed, memory), np.minimum(heat.observed_seconds, memory)
    narrower = np.sqrt(np.divide(now, then, out=np.ones(len(observed)), where=then > 0))
    return replace(heat, observed_seconds=observed, error=heat.error * narrower)
