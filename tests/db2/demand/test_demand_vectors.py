"""The connector's demand against the vectors, through the emulated server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.db2.conftest import Connect
from tests.db2.demand.held_out import HELD_OUT
from tests.db2.demand.runner import observed, played
from tests.db2.demand.vector import Vector
from tests.db2.demand.vectors import VECTORS
from tests.demand_vectors import faults
from tests.labs.db2.client import Db2, running_db2

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def wrong(db2: Db2, connect: Connect) -> Callable[[Vector], list[str]]:
    """What is wrong with what the connector says of a vector."""

    def ask(vector: Vector) -> list[str]:
        lab: Any = db2.lab
        with played(lab, vector):
            return faults(vector, observed(lab, connect(), vector))

    return ask


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_emulated_server_demand_of(wrong: Callable[[Vector], list[str]], vector: Vector) -> None:
    """Each unit's wait is within 15 %, or within what its counters bound; units rank as the truth ranks them."""
    assert wrong(vector) == []


@pytest.mark.parametrize("vector", HELD_OUT, ids=lambda vector: vector.name)
def test_emulated_server_demand_held_out(wrong: Callable[[Vector], list[str]], vector: Vector) -> None:
    """Likewise those that nobody looked at."""
    assert wrong(vector) == []
