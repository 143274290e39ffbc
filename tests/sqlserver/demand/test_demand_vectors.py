"""The connector's demand against the vectors, through the emulated server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demand_vectors import faults
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import READER
from tests.labs.tds.drivers import drivers
from tests.sqlserver.connected import connected
from tests.sqlserver.demand.held_out import HELD_OUT
from tests.sqlserver.demand.runner import build, observed
from tests.sqlserver.demand.vector import Vector
from tests.sqlserver.demand.vectors import VECTORS


@pytest.fixture
def wrong(lab: Lab, tmp_path: Path) -> Callable[[Vector], list[str]]:
    """What is wrong with what the connector says of a vector, over FreeTDS."""
    driver = drivers()[0]
    if driver.missing:
        pytest.skip(driver.missing)

    def ask(vector: Vector) -> list[str]:
        build(lab, vector)
        with connected(lab, driver, tmp_path, READER) as connector:
            return faults(vector, observed(lab, connector, vector), vector.together)

    return ask


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_demand_of(wrong: Callable[[Vector], list[str]], vector: Vector) -> None:
    """Each unit's wait is within 15 %, or within what its counters bound; units rank as the truth ranks them."""
    assert wrong(vector) == []


@pytest.mark.parametrize("vector", HELD_OUT, ids=lambda vector: vector.name)
def test_demand_held_out(wrong: Callable[[Vector], list[str]], vector: Vector) -> None:
    """Likewise those that are held out."""
    assert wrong(vector) == []
