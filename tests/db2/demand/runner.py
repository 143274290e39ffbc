"""Feeds a vector through the emulated server and the connector, and compares what is said with what is true.

What the connector says of a unit is seconds of wait per second. :func:`said` is the only place that takes it out of a
Demand.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from connectors.model import Catalog, Demand, Interval
from policies.demand.counter_deltas import difference
from tests.db2.demand.vector import Counted, Vector

GOAL = 0.15  # of a wait that the engine measures
SMALL = 0.002  # seconds per second: rounding of counters, and what is too little to rank by


@contextmanager
def played(lab: Any, vector: Vector) -> Iterator[None]:
    """Its spaces and tables, with the counters of before."""
    behaviour = lab.behave(members=len(vector.during))
    for space, group in vector.storage.items():
        lab.create_space(space, group)
    for name, table in vector.tables.items():
        pages = (table.pages, table.lob_pages)
        lab.create_from("APP", name, table.homes(), pages, dict(table.indexes), organized=table.organized)
    for member in range(len(vector.during)):
        _count(lab, vector, vector.before, member)
    if vector.utility:
        lab.utility(vector.utility)
    try:
        yield
    finally:
        lab.utility("")
        for name in vector.tables:
            lab.drop_table("APP", name)
        for space in vector.storage:
            lab.drop_space(space)
        lab.behave(**behaviour)


def _count(lab: Any, vector: Vector, counted: Counted, member: int) -> None:
    table_of = {index: name for name, table in vector.tables.items() for index in table.indexes}
    for name, counters in counted.tables.items():
        lab.count(dict(counters), table=name, member=member)
    for index, counters in counted.indexes.items():
        lab.count(dict(counters), table=table_of[index], index=index, member=member)
    for space, counters in counted.spaces.items():
        lab.count(dict(counters), space=space, member=member)


def observed(lab: Any, connector: Any, vector: Vector) -> dict[str, float]:
    """What the connector says of each unit of a vector that is being played; a unit that is not observed is missing."""
    before = connector.sample()
    for member, counted in enumerate(vector.during):
        _count(lab, vector, counted, member)
    time.sleep(0.01)
    interval = difference(before, connector.sample(), longest_seconds=3600.0)
    assert isinstance(interval, Interval), f"no interval: {interval}"
    catalog = connector.catalog()
    demand = connector.classify(interval, catalog)
    seconds = said(demand, catalog)
    return {key: seconds[key] * demand.seconds / vector.seconds for key in vector.units() if key in seconds}


def said(demand: Demand, catalog: Catalog) -> dict[str, float]:
    """Seconds per second that sessions wait for each observed unit; units that moved no counter have 0."""
    assert demand.waited is not None, "the connector says nothing of waits"
    rows = catalog.units.rows_of(demand.physical_id)
    found = dict.fromkeys(catalog.units.key, 0.0)
    for row, seconds, seen in zip(rows, demand.waited, demand.observed, strict=True):
        key = catalog.units.key[row]
        if row >= 0 and seen and np.isfinite(seconds):
            found[key] = float(seconds)
        elif row >= 0:
            del found[key]
    return found


def faults(vector: Vector, seconds: dict[str, float]) -> list[str]:
    """What is wrong with what was said: a wait beyond the goal or its bounds, a unit unobserved, a wrong order."""
    found = []
    for key in vector.units():
        low, high = _allowed(vector, key)
        if key not in seconds:
            found.append(f"{key} is not observed, and its counters tell {low:.3f} to {high:.3f} s/s")
        elif not low - SMALL <= seconds[key] <= high + SMALL:
            found.append(f"{key} is said to wait {seconds[key]:.3f} s/s, and it is {low:.3f} to {high:.3f}")
    for more, less in vector.order:
        if not seconds.get(more, 0.0) > seconds.get(less, 0.0):
            found.append(f"{more} is not said to wait longer than {less}")
    return found


def _allowed(vector: Vector, key: str) -> tuple[float, float]:
    truth = vector.truth.get(key, 0.0)
    return vector.bounds.get(key, (truth * (1 - GOAL), truth * (1 + GOAL)))


def worst_error(vector: Vector, seconds: dict[str, float]) -> float:
    """Largest error of a measured wait, relative to it; for a unit that has none, to all waits of the vector."""
    total = sum(vector.truth.values())
    errors = [0.0]
    for key in vector.units():
        truth = vector.truth.get(key, 0.0)
        if key not in vector.bounds:
            errors.append(abs(seconds.get(key, 0.0) - truth) / (truth or total))
    return max(errors)
