"""The vectors themselves: their counters keep to what the documentation says of them, whatever any connector does."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.db2.demand.held_out import HELD_OUT
from tests.db2.demand.vector import Counted, Vector
from tests.db2.demand.vectors import VECTORS
from tests.demand_vectors import faults, worst_error
from tests.labs.db2.documented import NEWEST, views
from tests.over import over

KINDS = ("DATA", "INDEX", "XDA", "COL")
ALL = [*VECTORS, *HELD_OUT]


def by_name(vector: Vector) -> str:
    """For test ids."""
    return vector.name


@over("vector", ALL)
def test_counters_are_documented(vector: Vector) -> None:
    """Every counter is a column of its function."""
    known = views(NEWEST)
    for counted in (vector.before, *vector.during):
        groups = (("TABLE", counted.tables), ("INDEX", counted.indexes), ("TABLESPACE", counted.spaces))
        for function, rows in groups:
            for counters in rows.values():
                assert counters.keys() <= known[f"MON_GET_{function}"].columns.keys()


@over("vector", ALL)
def test_spaces_read_what_their_objects_read(vector: Vector) -> None:
    """Pages of each kind that a space read, from storage or the pool, are the sum over its objects."""
    for counted in (vector.before, *vector.during):
        for level in ("L", "P"):
            by_objects = _of_objects(vector, counted, level)
            for space, counters in counted.spaces.items():
                for kind in KINDS:
                    assert counters.get(f"POOL_{kind}_{level}_READS", 0) == by_objects[space, kind], (space, kind)


def _of_objects(vector: Vector, counted: Counted, level: str) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for name, table in vector.tables.items():
        data, index_space, _ = table.homes()
        for kind in ("DATA", "XDA", "COL"):
            found[data, kind] += counted.tables.get(name, {}).get(f"OBJECT_{kind}_{level}_READS", 0)
        for index in table.indexes:
            found[index_space, "INDEX"] += counted.indexes.get(index, {}).get(f"OBJECT_INDEX_{level}_READS", 0)
    return found


@over("vector", ALL)
def test_waits_of_a_space_are_those_of_its_units(vector: Vector) -> None:
    """What sessions waited in a space, by its four times, is the truth of its units and what belongs to no unit."""
    told: Counter[str] = Counter()
    for space, counters in ((s, c) for counted in vector.during for s, c in counted.spaces.items()):
        told[space] += counters.get("POOL_READ_TIME", 0) - counters.get("POOL_ASYNC_READ_TIME", 0)
        told[space] += counters.get("PREFETCH_WAIT_TIME", 0) + counters.get("DIRECT_READ_TIME", 0)
    true: Counter[str] = Counter(dict(vector.elsewhere_ms))
    for name, table in vector.tables.items():
        data, index, long = table.homes()
        owned = [(data, f"APP.{name}"), (long, f"APP.{name} lob"), *((index, f"index APP.{i}") for i in table.indexes)]
        for space, key in owned:
            true[space] += round(vector.truth.get(key, 0.0) * vector.seconds * 1000)
    assert {s: n for s, n in told.items() if n} == {s: n for s, n in true.items() if n}


@over("vector", ALL)
def test_what_is_said_of_units_fits_together(vector: Vector) -> None:
    """Keys are of units; the truth is within its bounds; no order contradicts the truth."""
    units = set(vector.units())
    assert vector.truth.keys() | vector.bounds.keys() | {key for pair in vector.order for key in pair} <= units
    for key, (low, high) in vector.bounds.items():
        assert low <= vector.truth.get(key, 0.0) <= high
    for more, less in vector.order:
        assert vector.truth.get(more, 0.0) > vector.truth.get(less, 0.0)


def test_enough_is_held_out() -> None:
    """At least twelve vectors, a third of them held out."""
    assert len(ALL) >= 12
    assert len(HELD_OUT) * 3 >= len(ALL)
    assert all(vector.held_out for vector in HELD_OUT)
    assert not any(vector.held_out for vector in VECTORS)
    assert len({vector.name for vector in ALL}) == len(ALL)


@over("vector", ALL)
def test_the_runner_accepts_the_truth_and_nothing_else(vector: Vector) -> None:
    """The truth has no fault; a wait that is said to be a fifth longer has, and so has a unit that is missing."""
    truth = {key: vector.truth.get(key, 0.0) for key in vector.units()}
    assert faults(vector, truth) == []
    assert worst_error(vector, truth) == 0.0
    for key, seconds in truth.items():
        low, high = vector.bounds.get(key, (seconds, seconds))
        wrong = {**truth, key: high * 1.2 + 0.01}
        assert any(key in fault for fault in faults(vector, wrong))
        assert any(key in fault for fault in faults(vector, {k: v for k, v in truth.items() if k != key}))
        if low == high == seconds and seconds:
            assert worst_error(vector, {**truth, key: seconds * 1.2}) == pytest.approx(0.2)


@pytest.mark.parametrize("vector", [vector for vector in ALL if vector.order], ids=by_name)
def test_the_runner_ranks(vector: Vector) -> None:
    """Two units whose waits change places are a fault."""
    more, less = vector.order[0]
    truth = {key: vector.truth.get(key, 0.0) for key in vector.units()}
    swapped = {**truth, more: truth[less], less: truth[more]}
    assert f"{more} is not said to wait longer than {less}" in faults(vector, swapped)
