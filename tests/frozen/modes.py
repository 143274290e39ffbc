"""The plan of every mode on what each engine's recording holds; and what a replayed recording comes to, word by word.

Modes decide without asking the engine: every bundle counts as one that has a way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from agent.studies.simulation import play_recording
from policies.model.plan import Plan, Situation, Verdict
from policies.model.settings import Pin
from policies.placement.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage, plan_mode
from tests.frozen.kept import Frozen
from tests.recordings.make import HARNESSES, MADE, figures_of

DIGITS = 6
MODES: dict[str, Mode] = {
    "hsm": Hsm(),
    "hsm ssd": Hsm(subtype=HsmSubtype.SSD, free_ratio=0.99),
    "hsm hdd": Hsm(subtype=HsmSubtype.HDD),
    "usage": Usage(),
    "capacity": Capacity(),
    "preference": Preference(),
}


def modes() -> Frozen:
    """By engine and mode; with the busiest unit pinned to stay away, and the idlest to come, for ``preference``."""
    found: dict[str, str] = {}
    for engine in HARNESSES:
        with play_recording(MADE / f"{engine}.recording") as again:
            planning = again.last.planning
            assert planning is not None
            figures = figures_of(again)
            situation, settings = replace(planning.situation, no_route={}, no_wide={}), planning.settings
        found[f"{engine}: replayed"] = "\n".join(_replayed(figures))
        asked = {**MODES, **{f"drain {space.name}": Drain(space=space.name) for space in situation.spaces}}
        for name, mode in asked.items():
            of = _pinned(situation) if isinstance(mode, Preference) else situation
            found[f"{engine}: {name}"] = "\n".join(_written(of, plan_mode(of, settings, mode)))
    return Frozen(found)


def _pinned(situation: Situation) -> Situation:
    reads = situation.heat.rates.sum(axis=0)
    pin = np.full(len(situation.units), Pin.NONE, dtype=np.int8)
    pin[int(np.argmax(reads))], pin[int(np.argmin(reads))] = Pin.MUST, Pin.NEVER
    return replace(situation, pin=pin)


def _replayed(figures: dict[str, object]) -> Iterator[str]:
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from (f"{name} {key}: {each:.{DIGITS}g}" for key, each in value.items())
        elif isinstance(value, list):
            yield from (f"{name}: {each}" for each in value)
        else:
            yield f"{name}: {value:.{DIGITS}g}"


def _written(situation: Situation, plan: Plan) -> Iterator[str]:
    figures = ("wait_per_hour", "wait_saved_per_hour", "bound_per_hour", "gap_ratio", "relief_per_hour",
               "wait_saved_low_per_hour", "wait_saved_high_per_hour")  # fmt: skip
    yield ", ".join(f"{name} {getattr(plan, name):.{DIGITS}g}" for name in figures)
    for move in plan.moves:
        yield f"{move.reason} {move.key} from {move.from_space} to {move.to_space}, group {move.group}"
    yield from (f"left behind: {each}" for each in plan.left_behind)
    for row, key in enumerate(situation.units.key):
        yield f"{key}: {Verdict(plan.verdict[row]).name.lower()} {float(plan.benefit_per_hour[row]):.{DIGITS}g}"
