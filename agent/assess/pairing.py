"""Two exports of one database as an observation."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import inf

import numpy as np

from connectors.assessment import ByHand, Export, Observation, UnusableFile
from policies.demand.counter_deltas import Gap, difference


def observe_exports(engine: str, hand: ByHand, before: Export, after: Export, elapsed: float | None) -> Observation:
    """What happened between two exports.

    Args:
        engine: whose they are.
        hand: how it reads them.
        before: the earlier one.
        after: the later one.
        elapsed: seconds between them; None: by their own times.

    Raises:
        UnusableFile: the second is not later than the first, or what they hold does not belong together.
    """
    if elapsed is not None:
        after = replace(after, taken_at=before.taken_at + timedelta(seconds=elapsed))
    if after.taken_at <= before.taken_at:
        raise UnusableFile(
            after.path,
            f"is not later than {before.path}: {after.taken_at.isoformat()}",
            advice="Name the export before, then the one after, or say --elapsed 1h.",
        )
    try:
        with np.errstate(all="ignore"):  # figures that are too large are refused when all are there
            found = hand.read(before, after)
            interval = difference(found.before, found.after, longest_seconds=inf)
            demand = None if isinstance(interval, Gap) else found.classify(interval, found.catalog)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:  # not the query's cells
        raise UnusableFile(
            f"{before.path} and {after.path}",
            f"hold results that are not those of the queries: {error}",
            advice="Run the queries of hotplace assess --print-queries as they are, and export all of their columns.",
        ) from error
    if isinstance(interval, Gap):
        raise UnusableFile(after.path, interval.sentence, advice="Export both without a restart in between.")
    assert demand is not None, "only a gap has none"
    units = found.catalog.units
    return Observation(
        engine=engine,
        database=found.database,
        source=f"two exports of {engine} {found.version}",
        catalog=found.catalog,
        demand=demand,
        size_known=np.ones(len(units), dtype=np.bool_),
        least=np.ones(len(units)),
        most=np.ones(len(units)),
        notes=found.notes,
    )
