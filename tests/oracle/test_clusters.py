"""Clusters and nested tables: units that are counted and never moved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.model.moves import NoRoute
from tests.contract.asking import bundle_of
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.oracle.made import MIB


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """A 19c lab with a cluster of two tables, and a table with a nested one."""
    with running_harness("oracle clusters (emulated server)") as running:
        running.database.add_cluster(OWNER, "CLU", "SLOW", 2 * MIB, ("CLU_A", "CLU_B"))
        table = running.database.add_table(OWNER, "CARTS", "SLOW", MIB)
        running.database.add_nested_table(table, "CARTS_ITEMS", "SLOW", MIB)
        yield running


@pytest.mark.parametrize(
    ("key", "size", "code"), [("APP.CLU CLUSTER", 2 * MIB, "cluster"), ("APP.CARTS_ITEMS", MIB, "nested_table")]
)
def test_it_is_counted_and_stays(lab: OracleHarness, key: str, size: int, code: str) -> None:
    """Emulated server: in the catalog with its size, and with the reason why it has no route."""
    connector = lab.connect()
    try:
        catalog = connector.catalog()
        assert int(catalog.units.size_bytes[list(catalog.units.key).index(key)]) == size
        found = connector.routes(bundle_of(catalog, key), "FAST")
    finally:
        connector.close()
    assert isinstance(found, NoRoute)
    assert found.code == code
