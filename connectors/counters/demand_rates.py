"""From counts of one interval to demand: what every engine's ``classify`` ends with. Pure."""

from __future__ import annotations

import numpy as np

from connectors.model import F64, Bools, DatabaseDemand, Demand, Interval, Signal
from connectors.storage_io import SpaceFigures


def build_demand(
    interval: Interval,
    counts: F64,
    observed: Bools,
    *,
    estimated: frozenset[Signal],
    database: DatabaseDemand | None = None,
    spaces: SpaceFigures | None = None,
    waited_seconds: F64 | None = None,
) -> Demand:
    """Counts as rates; what was not observed has none.

    Args:
        interval: that they are of.
        counts: by signal and unit of the interval, shape ``(SIGNALS, n)``.
        observed: shape ``(n,)``, False where the interval says nothing about the unit.
        estimated: signals that the engine does not measure.
        database: None: the interval's own rates.
        spaces: rates, where the engine times each space.
        waited_seconds: that sessions waited for the reads of each unit in the interval, shape ``(n,)``, NaN where that
            is not measured; None: the engine does not measure it by unit.
    """
    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=np.where(observed, counts, 0.0) / interval.seconds,
        observed=observed,
        estimated=estimated,
        database=interval.database_rates() if database is None else database,
        spaces=spaces,
        roles=interval.role_rates(),
        waited=None if waited_seconds is None else np.where(observed, waited_seconds, np.nan) / interval.seconds,
    )
