"""Feeds a vector through the emulated server and the connector; ``tests.demand_vectors`` compares what is said."""

from __future__ import annotations

import re
import time

from connectors.kit.contract import Connector
from connectors.model.observation import Interval
from policies.evidence.counter_deltas import difference
from tests.demand_vectors import said
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Partition
from tests.labs.sqlserver.world import add_scheme, add_table
from tests.sqlserver.demand.vector import Counted, Vector

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
    seconds = said(demand, catalog, "sqlserver")
    return {key: seconds[key] * demand.seconds / vector.seconds for key in vector.units() if key in seconds}
