"""How busy each unit is at each hour: the same units with a day, a week, a month end, a drift or a sudden crowd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from connectors.model.observation import F64, I64, Bools
from tests.virtual_clock import EPOCH
from tests.workloads.catalogue import Catalogue, mixed

NOISE = 0.35  # sigma of the logarithm, anew every hour
QUIET = 0.05  # of its mean, when it is not a unit's time
DAY, WEEK = 24, 168  # hours
START = EPOCH.date()  # of every workload: a Monday, and the first of a month


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Units and their demand over time. Hour 0 is midnight of ``START``."""

    name: str
    catalogue: Catalogue
    factors: F64  # (hours, n) what each unit's mean rates are multiplied by

    @property
    def hours(self) -> int:
        """How long it lasts."""
        return len(self.factors)

    def rates(self, hour: int) -> F64:
        """Demand within that hour, ``(SIGNALS, n)`` per second."""
        rates: F64 = self.catalogue.rates * self.factors[hour]
        return rates


Shape = Callable[[int, int, np.random.Generator], F64]  # hours, units, draw -> factors (hours, units)


def stationary(hours: int, units: int, draw: np.random.Generator) -> F64:
    """Nothing changes but chance."""
    return np.ones((hours, units))


def day_night(hours: int, units: int, draw: np.random.Generator) -> F64:
    """Half of the units work from 8 to 20, a third from 22 to 6, the others always."""
    hour = np.arange(hours) % DAY
    who = draw.choice(3, size=units, p=(0.50, 0.35, 0.15))
    return _at_times(who, (hour >= 8) & (hour < 20), (hour >= 22) | (hour < 6), hour >= 0)


def weekly(hours: int, units: int, draw: np.random.Generator) -> F64:
    """Half work from Monday to Friday, a quarter on Saturday and Sunday, a tenth on Mondays only, the others always."""
    day = np.arange(hours) // DAY % 7
    who = draw.choice(4, size=units, p=(0.50, 0.25, 0.10, 0.15))
    return _at_times(who, day < 5, day >= 5, day == 0, day >= 0)


def month_end(hours: int, units: int, draw: np.random.Generator) -> F64:
    """A quarter of the units work in the last three days of the month only, eight times as hard; the others always."""
    days = [START + timedelta(days=day) for day in range(-(-hours // DAY))]
    last = np.repeat([(day + timedelta(days=3)).month != day.month for day in days], DAY)[:hours]
    who = draw.random(units) < 0.25
    return np.where(who[np.newaxis, :], np.where(last, 8.0, QUIET)[:, np.newaxis], 1.0)


def drifting(hours: int, units: int, draw: np.random.Generator) -> F64:
    """Every unit's heat wanders: its logarithm by 1 a week, pulled back to its mean within about three weeks."""
    factors = np.empty((hours, units))
    level = np.zeros(units)
    step = 1.0 / np.sqrt(WEEK)
    for hour in range(hours):
        level += draw.normal(0.0, step, units) - level / (3 * WEEK)
        factors[hour] = np.exp(level)
    return factors


def flash_crowd(hours: int, units: int, draw: np.random.Generator) -> F64:
    """Three times a week, for two to twelve hours, five units chosen at random are a hundred times as busy."""
    factors = np.ones((hours, units))
    for _ in range(max(1, 3 * hours // WEEK)):
        start = int(draw.integers(0, hours))
        crowd = draw.choice(units, size=5, replace=False)
        factors[start : start + int(draw.integers(2, 13)), crowd] = 100.0
    return factors


SHAPES: dict[str, Shape] = {
    "stationary": stationary,
    "day_night": day_night,
    "weekly": weekly,
    "month_end": month_end,
    "drifting": drifting,
    "flash_crowd": flash_crowd,
}


def workload(name: str, seed: int, *, units: int = 300, hours: int = 6 * WEEK) -> Workload:
    """One of ``SHAPES`` over a mixed database. Everything follows from the seed.

    Raises:
        KeyError: there is no such shape.
    """
    draw = np.random.default_rng([seed, sorted(SHAPES).index(name)])
    catalogue = mixed(units, seed)
    noise = draw.lognormal(-(NOISE**2) / 2, NOISE, (hours, units))
    return Workload(name=name, catalogue=catalogue, factors=SHAPES[name](hours, units, draw) * noise)


def _at_times(who: I64, *times: Bools) -> F64:
    """Factor 1 while it is a unit's time and ``QUIET`` otherwise; ``who`` says whose times a unit keeps."""
    factors: F64 = np.where(np.stack(times)[who].T, 1.0, QUIET)
    return factors
