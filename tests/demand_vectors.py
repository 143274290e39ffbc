"""What the policies make of a connector's demand, and what is wrong with it: for the vectors of every engine.

A vector is a workload with its counters and with what sessions truly waited for each unit. What is said of a unit is
seconds of wait per second as all later decisions rest on it: by measured waits, and by the weights of every kind of
read, so that nothing counts twice unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from connectors.kit.registry import find_engine
from connectors.model.observation import F64, Catalog, Demand
from policies.evidence.counter_deltas import in_measured_waits, read_seconds
from policies.evidence.prices import HOUR, wait_per_hour
from policies.model.settings import PolicySettings, TierSpeed

GOAL = 0.15  # of a wait that the engine measures
SMALL = 0.002  # seconds per second: rounding of counters, and what is too little to rank by
SEEK_SECONDS, SEQUENTIAL_SECONDS = 0.0055, 0.00005  # of a spindle: of a random block, of a block within a run

SpeedOf = Callable[[str], TierSpeed]  # what is believed of a space, by its name


class Truth(Protocol):
    """What a vector says of its units: the wait of each, where only bounds of it are known, and who waits longer."""

    @property
    def truth(self) -> Mapping[str, float]:
        """Seconds per second by unit; what is missing is 0."""

    @property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """Of units whose wait the counters do not give."""

    @property
    def order(self) -> Sequence[tuple[str, str]]:
        """Pairs: the first is waited for longer than the second."""

    def units(self) -> Sequence[str]:
        """Keys of all of them."""


def settings_of(engine: str) -> PolicySettings:
    """Those of a database whose configuration says nothing about reads ahead."""
    return PolicySettings(prefetched_wait_share=find_engine(engine).prefetched_wait_share or 0.0)


def a_spindle(_space: str = "") -> TierSpeed:
    """A hard disk."""
    return TierSpeed(
        random_read_seconds=SEEK_SECONDS, sequential_read_seconds=SEQUENTIAL_SECONDS, write_seconds=SEEK_SECONDS
    )


def waits(demand: Demand, catalog: Catalog, engine: str, speed_of: SpeedOf = a_spindle) -> F64:
    """Seconds per second that sessions wait for each column of a demand, at the read time of its own space."""
    believed = np.array([speed_of(space.name).random_read_seconds for space in catalog.spaces])
    times = read_seconds(demand, catalog, believed)[catalog.units.rows_of(demand.physical_id)]
    rates, settings = in_measured_waits(demand, catalog, believed).rates, settings_of(engine)
    found = np.zeros(len(demand.physical_id))
    for column, row in enumerate(catalog.units.rows_of(demand.physical_id).tolist()):
        if row >= 0:
            believed_speed = speed_of(catalog.spaces[int(catalog.units.space[row])].name)
            speed = replace(believed_speed, random_read_seconds=float(times[column]))
            found[column] = wait_per_hour(rates[:, [column]], [speed], settings)[0, 0] / HOUR
    return found


def said(demand: Demand, catalog: Catalog, engine: str) -> dict[str, float]:
    """The same by key of each unit that was observed; units that moved no counter have 0."""
    found = dict.fromkeys(catalog.units.key, 0.0)
    rows = catalog.units.rows_of(demand.physical_id)
    for row, seconds, seen in zip(rows, waits(demand, catalog, engine), demand.observed, strict=True):
        if row >= 0 and seen:
            found[catalog.units.key[row]] = float(seconds)
        elif row >= 0:
            del found[catalog.units.key[row]]
    return found


def faults(vector: Truth, seconds: Mapping[str, float], together: Sequence[Sequence[str]] = ()) -> list[str]:
    """What is wrong with what was said: a wait beyond the goal or its bounds, a unit unobserved, a wrong order.

    Args:
        vector: the truth.
        seconds: that sessions are said to wait, by unit.
        together: units whose waits only have to be right as a sum.
    """
    found = []
    for key in vector.units():
        low, high = _allowed(vector, key)
        if key not in seconds:
            found.append(f"{key} is not observed, and its counters tell {low:.3f} to {high:.3f} s/s")
        elif not low - SMALL <= seconds[key] <= high + SMALL:
            found.append(f"{key} is said to wait {seconds[key]:.3f} s/s, and it is {low:.3f} to {high:.3f}")
    for keys in together:
        true, stated = (sum(source.get(key, 0.0) for key in keys) for source in (vector.truth, seconds))
        if abs(stated - true) > GOAL * true + SMALL:
            found.append(f"{' and '.join(keys)} are said to wait {stated:.3f} s/s together, and it is {true:.3f}")
    for more, less in vector.order:
        if not seconds.get(more, 0.0) > seconds.get(less, 0.0):
            found.append(f"{more} is not said to wait longer than {less}")
    return found


def _allowed(vector: Truth, key: str) -> tuple[float, float]:
    truth = vector.truth.get(key, 0.0)
    return vector.bounds.get(key, (truth * (1 - GOAL), truth * (1 + GOAL)))


def worst_error(vector: Truth, seconds: Mapping[str, float]) -> float:
    """Largest error of a measured wait, relative to it; for a unit that has none, to all waits of the vector."""
    total = sum(vector.truth.values())
    errors = [0.0]
    for key in vector.units():
        truth = vector.truth.get(key, 0.0)
        if key not in vector.bounds:
            errors.append(abs(seconds.get(key, 0.0) - truth) / (truth if truth > SMALL else total))
    return max(errors)
