"""Feeds a vector through the emulated server and the connector; ``tests.demand_vectors`` compares what is said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from connectors.model.observation import Interval
from policies.evidence.counter_deltas import difference
from tests.db2.demand.vector import Counted, Vector
from tests.demand_vectors import said


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
    seconds = said(demand, catalog, "db2")
    return {key: seconds[key] * demand.seconds / vector.seconds for key in vector.units() if key in seconds}
