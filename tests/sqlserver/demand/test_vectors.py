"""The vectors themselves: their counters keep to what the documentation says of them, whatever any connector does."""

from __future__ import annotations

import pytest

from tests.labs.sqlserver.documented import documented
from tests.over import over
from tests.sqlserver.demand.held_out import HELD_OUT
from tests.sqlserver.demand.vector import Vector
from tests.sqlserver.demand.vectors import VECTORS

ALL = [*VECTORS, *HELD_OUT]
NEWEST = 16


def by_name(vector: Vector) -> str:
    """For test ids."""
    return vector.name


@over("vector", ALL)
def test_counters_are_documented(vector: Vector) -> None:
    """Every counter is a column of the view."""
    view = documented("sys.dm_db_index_operational_stats", NEWEST)
    assert view is not None
    for counted in (vector.before, vector.during):
        for counters in counted.rows.values():
            assert counters.keys() <= view.columns.keys()


@over("vector", ALL)
def test_waits_of_a_row_are_those_of_its_units(vector: Vector) -> None:
    """What a row waited is the truth of its heap or index and, where it has one, of its LOB part."""
    for key, counters in vector.during.rows.items():
        waited = counters.get("page_io_latch_wait_in_ms", 0) / 1000 / vector.seconds
        true = vector.truth.get(key, 0.0) + vector.truth.get(f"{key} lob", 0.0)
        assert true == pytest.approx(waited), key
    assert {key.removesuffix(" lob") for key in vector.truth} <= vector.during.rows.keys()


@over("vector", ALL)
def test_files_saw_every_request(vector: Vector) -> None:
    """A request reads 1 to 64 pages (a backup's 128), and nothing is read ahead that was not read."""
    largest = 128 if vector.running else 64
    for counted in (vector.before, vector.during):
        for reads, pages, _ in counted.files.values():
            assert reads <= pages <= largest * reads
        assert counted.read_ahead <= sum(pages for _, pages, _ in counted.files.values())


@over("vector", ALL)
def test_the_part_is_in_the_whole(vector: Vector) -> None:
    """Waits on upper levels are contained in all waits."""
    for counters in vector.during.rows.values():
        for name in ("count", "in_ms"):
            whole = counters.get(f"page_io_latch_wait_{name}", 0)
            assert counters.get(f"tree_page_io_latch_wait_{name}", 0) <= whole


@over("vector", ALL)
def test_what_is_said_of_units_fits_together(vector: Vector) -> None:
    """Keys are of units; the truth is within its bounds; no order contradicts the truth."""
    units = set(vector.units())
    named = {key for group in (*vector.order, *vector.together) for key in group}
    assert vector.truth.keys() | vector.bounds.keys() | named <= units
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
