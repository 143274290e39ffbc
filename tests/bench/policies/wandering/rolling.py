"""Rolling partitions: one a day, the newest days are read, and the partition of a week ago is read by day.

Frozen as ``frozen`` is: drawn before the policy was changed, and never changed to suit a policy. Each shape has a
number of hot days; a day-and-night rhythm lies over all reads, and partitions are dropped after three weeks. Those of
``rolling_3d`` fill in the course of their day, the others are loaded whole. Three and seven hot days and the partition
of a week ago take 80 to 90 % of the fast tier; one hot day takes a fifth, or its copies would take more than six
capacities a week whatever a policy does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model.moves import UnitKind
from tests.bench.policies.wandering import frozen
from tests.bench.policies.wandering.frozen import DAY, HOURS, SPOT_READS, USUAL_SHARE
from tests.bench.policies.wandering.shapes import Canvas, Draw, Shape, world_of
from tests.bench.policies.wandering.world import World
from tests.workloads.catalogue import GIB

SEEDS = (21, 22, 23)
DROPPED_DAYS = 21  # after which a partition is dropped
FADING = 0.85  # of the reads of a day that the day before takes, while both are hot
RHYTHM = 0.5  # the busiest hour of a day has 1.5 times the mean, the quietest half of it
LOOK_BACK_DAYS = 7
LOOK_BACK_HOURS = (9, 15)  # of the day, from and until
LOOK_BACK_SHARE = 0.25  # of SPOT_READS, for the partition of a week ago in these hours
FIRST_FILL = 0.05  # of its size that a partition has in its first hour, where it fills by the hour
STREAM = 1000  # of random numbers: no other shape draws from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling:
    """What differs among the shapes."""

    hot_days: int
    bytes_of_a_day: float
    fills: bool


ROLLING = {
    "rolling_1d": Rolling(hot_days=1, bytes_of_a_day=20.0 * GIB, fills=False),
    "rolling_3d": Rolling(hot_days=3, bytes_of_a_day=20.0 * GIB, fills=True),
    "rolling_7d": Rolling(hot_days=7, bytes_of_a_day=9.0 * GIB, fills=False),
}


def rolling_world(name: str, seed: int, *, hours: int = HOURS) -> World:
    """One of ``ROLLING``. Everything follows from the seed.

    Raises:
        KeyError: there is no such shape.
    """
    draw = np.random.default_rng([seed, STREAM, ROLLING[name].hot_days])
    return world_of(name, _drawn(ROLLING[name]), draw, seed, hours, frozen.UNITS)


def _drawn(shape: Rolling) -> Shape:
    def drawn(canvas: Canvas, draw: Draw) -> Canvas:
        first = len(canvas.catalogue)
        days = range(-DROPPED_DAYS, -(-canvas.hours // DAY))
        born = np.array(days, dtype=np.int64) * DAY + int(draw.integers(0, DAY))
        size = shape.bytes_of_a_day * draw.lognormal(0.0, 0.2, len(born))
        key = [f"app.orders_p{number:04d}" for number in range(len(born))]
        dropped = np.minimum(born + DROPPED_DAYS * DAY, canvas.hours)
        canvas = canvas.joined(key, UnitKind.TABLE_PARTITION, size, born, dropped)
        hour = np.arange(canvas.hours)[:, np.newaxis]
        age = hour - born
        day = age // DAY
        weight = np.where((age >= 0) & (day < shape.hot_days), FADING ** np.maximum(day, 0), 0.0)
        weight *= SPOT_READS / sum(FADING**at for at in range(shape.hot_days))
        by_day = (hour % DAY >= LOOK_BACK_HOURS[0]) & (hour % DAY < LOOK_BACK_HOURS[1])
        weight += np.where((day == LOOK_BACK_DAYS) & by_day, LOOK_BACK_SHARE * SPOT_READS, 0.0)
        rhythm = 1.0 - RHYTHM * np.cos(2 * np.pi * (hour % DAY - 2) / DAY)
        spot = canvas.spot.copy()
        spot[:, first:] = weight * rhythm
        grown = np.ones((canvas.hours, len(canvas.catalogue)))
        if shape.fills:
            grown[:, first:] = np.clip(FIRST_FILL + (1.0 - FIRST_FILL) * age / DAY, FIRST_FILL, 1.0)
        return replace(canvas.usually(USUAL_SHARE), spot=spot, grown=grown)

    return drawn
