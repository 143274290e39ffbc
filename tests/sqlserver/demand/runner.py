"""Feeds a vector through the emulated server and the connector, and compares what is said with what is true.

What the connector says of a unit is seconds of wait per second. :func:`said` is the only place that takes it out of a
Demand: by the rates and read times that all later decisions rest on.
"""

from __future__ import annotations

import re
import time

import numpy as np

from connectors.base import Connector
from connectors.model import F64, Catalog, Demand, Interval, Signal
from policies.demand.counter_deltas import difference
from policies.demand.measured_waits import in_measured_waits
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Partition
from tests.labs.sqlserver.world import add_scheme, add_table
from tests.sqlserver.demand.vector import Counted, Vector

GOAL = 0.15  # of a wait that the engine measures
SMALL = 0.002  # seconds per second: rounding of counters, and what is too little to rank by
_KEY = re.compile(r"\[dbo\]\.\[(\w+)\](?:\.\[(\w+)\])?(?: partition (\d+))?$")


def build(lab: Lab, vector: Vector) -> None:
    """Its tables, with the counters of before."""
    for name, table in vector.tables.items():
        space = table.space
        if table.boundaries:
            space = f"ps_{name}"
            add_scheme(lab.shop, space, list(table.boundaries), [table.space] * (len(table.boundaries) + 1))
        column = "id" if table.boundaries else None
        made = add_table(
            lab.shop, name, space=space, pages=table.pages, heap=table.heap, lob_pages=table.lob_pages, column=column
        )
        assert made.name == name
    count(lab, vector.before)
    lab.instance.extra_requests += vector.running


def count(lab: Lab, counted: Counted) -> None:
    """Let the counters rise."""
    with lab.instance.lock:
        for key, counters in counted.rows.items():
            _partition(lab, key).counters.update(counters)
        for space, (reads, pages, milliseconds) in counted.files.items():
            group = lab.shop.storage.filegroup_named(space)
            assert group is not None, f"no filegroup {space}"
            lab.shop.storage.files_of(group.space_id)[0].counters.read(reads, pages, milliseconds)
        pages_read = sum(pages for _, pages, _ in counted.files.values())
        lookups = sum(row.get("singleton_lookup_count", 0) for row in counted.rows.values())
        rises = {"Page reads/sec": pages_read, "Readahead pages/sec": counted.read_ahead}
        lab.instance.performance.update({**rises, "Page lookups/sec": 4 * lookups + pages_read})


def _partition(lab: Lab, key: str) -> Partition:
    found = _KEY.fullmatch(key)
    assert found, f"no heap, index or partition: {key}"
    table = lab.shop.table_named("dbo", found[1])
    assert table is not None, f"no table: {key}"
    index = table.index_named(found[2]) if found[2] else table.base
    assert index is not None, f"no index: {key}"
    return index.partitions[int(found[3] or 1) - 1]


def observed(lab: Lab, connector: Connector, vector: Vector) -> dict[str, float]:
    """What the connector says of each unit of a vector that was built; a unit that is not observed is missing."""
    before = connector.sample()
    count(lab, vector.during)
    time.sleep(0.01)
    interval = difference(before, connector.sample(), longest_seconds=3600.0)
    assert isinstance(interval, Interval), f"no interval: {interval}"
    catalog = connector.catalog()
    demand = connector.classify(interval, catalog)
    seconds = said(demand, catalog)
    return {key: seconds[key] * demand.seconds / vector.seconds for key in vector.units() if key in seconds}


def said(demand: Demand, catalog: Catalog) -> dict[str, float]:
    """Seconds per second that sessions wait for each observed unit; units that moved no counter have 0."""
    demand = in_measured_waits(demand, catalog)
    rows = catalog.units.rows_of(demand.physical_id)
    waited = demand.rates[Signal.SYNC_READ] * _latency(demand, catalog, rows)
    found = dict.fromkeys(catalog.units.key, 0.0)
    for row, seconds, seen in zip(rows, waited, demand.observed, strict=True):
        if row >= 0 and seen:
            found[catalog.units.key[row]] = float(seconds)
        elif row >= 0:
            del found[catalog.units.key[row]]
    return found


def _latency(demand: Demand, catalog: Catalog, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> F64:
    """Seconds of one read that a session waits for in each unit's space; where no space is timed, those of any read."""
    if demand.spaces is None:
        reads = demand.rates[Signal.SYNC_READ].sum()
        return np.full(len(rows), demand.database.read_wait / reads if reads > 0 else 0.0)
    figures = zip(demand.spaces.name, demand.spaces.reads, demand.spaces.read_seconds, strict=True)
    stated = {name: float(seconds / reads) for name, reads, seconds in figures if reads > 0}
    return np.array([stated.get(catalog.spaces[space].name, 0.0) for space in catalog.units.space[rows]])


def faults(vector: Vector, seconds: dict[str, float]) -> list[str]:
    """What is wrong with what was said: a wait or a sum beyond its goal or bounds, a unit unobserved, a wrong order."""
    found = []
    for key in vector.units():
        low, high = _allowed(vector, key)
        if key not in seconds:
            found.append(f"{key} is not observed, and its counters tell {low:.3f} to {high:.3f} s/s")
        elif not low - SMALL <= seconds[key] <= high + SMALL:
            found.append(f"{key} is said to wait {seconds[key]:.3f} s/s, and it is {low:.3f} to {high:.3f}")
    for keys in vector.together:
        true, stated = (sum(source.get(key, 0.0) for key in keys) for source in (vector.truth, seconds))
        if abs(stated - true) > GOAL * true + SMALL:
            found.append(f"{' and '.join(keys)} are said to wait {stated:.3f} s/s together, and it is {true:.3f}")
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
            errors.append(abs(seconds.get(key, 0.0) - truth) / (truth if truth > SMALL else total))
    return max(errors)
