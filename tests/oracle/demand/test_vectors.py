"""Demand of described workloads, on the emulated server: each unit's wait and their order against the truth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from tests.labs.oracle.harness import OracleHarness, running_harness
from tests.labs.oracle.model import BEHIND
from tests.oracle.demand.vectors import VECTORS, Judged, judge

GOAL = 0.15  # of the truth, for units that the counters measure


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A 19c lab for one vector."""
    with running_harness("oracle demand (emulated server)") as running:
        yield running


def _cases() -> list[Any]:
    """All vectors by their names."""
    return [pytest.param(vector, id=vector["name"]) for vector in VECTORS]


def _judged(lab: OracleHarness, vector: dict[str, Any]) -> list[Judged]:
    connector = lab.connect()
    try:
        return judge(lab, connector, vector)
    finally:
        connector.close()


@pytest.mark.parametrize("vector", _cases())
def test_the_wait_of_each_unit(lab: OracleHarness, vector: dict[str, Any]) -> None:
    """Within 15 % where the counters measure it, within what they leave open where not."""
    found = _judged(lab, vector)
    assert found
    wrong = [unit for unit in found if unit.error > GOAL]
    assert wrong == []


@pytest.mark.parametrize("vector", _cases())
def test_the_order_of_units(lab: OracleHarness, vector: dict[str, Any]) -> None:
    """Who waits longer comes first, where the counters tell them apart and they differ by more than the goal."""
    for one, other in combinations(_judged(lab, vector), 2):
        first, second = sorted((one, other), key=lambda unit: unit.truth)
        if second.least > first.most * (1 + GOAL):
            assert second.said > first.said, (first, second)


def _done(counters: dict[str, dict[str, int]]) -> dict[str, int]:
    return {name: counters["after"][name] - value for name, value in counters["before"].items()}


@pytest.mark.parametrize("vector", _cases())
def test_a_vector_agrees_with_itself(vector: dict[str, Any]) -> None:
    """Segments, files, events and statistics count the same reads; the waits of all units are those of the sessions."""
    segments = [_done(row["counters"]) for row in vector["segments"]]
    statistics, waits = _done(vector["statistics"]), _done(vector["waits"])
    files = [_done(counted) for counted in vector["files"].values()]
    behind = waits.get(f"db file sequential read{BEHIND}", 0)
    assert sum(one.get("physical reads", 0) for one in segments) + behind == statistics.get("physical reads", 0)
    calls = sum(one.get("physical read requests", 0) for one in segments) + behind
    assert calls == statistics.get("physical read IO requests", 0)
    assert sum(one.get("PHYRDS", 0) for one in files) == statistics.get("physical read total IO requests", 0)
    micro = sum(value for name, value in waits.items() if name.endswith("/us") and BEHIND not in name)
    waited = sum(row["wait"] for row in vector["segments"]) * vector["seconds"]
    assert waited == pytest.approx(micro / 1e6, rel=1e-3)
    assert all(row["least"] <= row["wait"] * 1.001 and row["wait"] <= row["most"] * 1.001 for row in vector["segments"])


def test_a_third_is_held_out() -> None:
    """At least twelve, a third of which is not used while the connector is changed."""
    assert len(VECTORS) >= 12
    assert 3 * sum(vector["held_out"] for vector in VECTORS) == len(VECTORS)
    assert all(vector["described"] and vector["observer"] for vector in VECTORS)
