"""The vocabulary: what its types refuse and how rows are found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.model.moves import Step
from connectors.model.observation import NO_PARENT, SIGNALS, Catalog, DatabaseDemand, Demand, Space, UnitTable


def units(ids: list[int]) -> UnitTable:
    """A table of units with the given physical ids and made-up columns."""
    n = len(ids)
    return UnitTable(
        physical_id=np.array(ids, dtype=np.int64),
        key=[f"s.t{i}" for i in ids],
        kind=np.zeros(n, dtype=np.int8),
        size_bytes=np.ones(n, dtype=np.int64),
        space=np.zeros(n, dtype=np.int32),
        bundle=np.array(ids, dtype=np.int64),
        parent=np.full(n, -1, dtype=np.int64),
    )


@given(st.sets(st.integers(0, 50)), st.lists(st.integers(0, 60)))
def test_rows_of_finds_exactly_the_units_that_exist(ids: set[int], asked: list[int]) -> None:
    """Each known id gives its own row, each unknown one gives -1."""
    table = units(sorted(ids))
    rows = table.rows_of(np.array(asked, dtype=np.int64))
    for wanted, row in zip(asked, rows, strict=True):
        if wanted in ids:
            assert table.physical_id[row] == wanted
        else:
            assert row == -1


def test_every_part_belongs_to_its_whole_table() -> None:
    """Partitions 7 and 8 of table 5, an index of 7 and a subpartition of 8 are one table, 11 is another."""
    parts = replace(units([7, 8, 9, 10, 11]), parent=np.array([5, 5, 7, 8, NO_PARENT], dtype=np.int64))
    assert parts.table_of().tolist() == [5, 5, 5, 5, 11]


def test_ids_must_ascend() -> None:
    """A table whose ids are not ascending and unique cannot be made."""
    with pytest.raises(ValueError, match="not ascending"):
        units([2, 1])
    with pytest.raises(ValueError, match="not ascending"):
        units([1, 1])


def test_columns_must_have_one_length() -> None:
    """A table with a short column cannot be made."""
    good = units([1, 2])
    with pytest.raises(ValueError, match="differ in length"):
        UnitTable(
            physical_id=good.physical_id, key=["only one"], kind=good.kind, size_bytes=good.size_bytes,
            space=good.space, bundle=good.bundle, parent=good.parent,
        )  # fmt: skip


def test_an_unknown_space_is_named_with_the_known_ones() -> None:
    """The error holds the wrong name and the right ones."""
    space = Space(name="fast", path="", used_bytes=0, free_bytes=None, capacity_bytes=None)
    catalog = Catalog(taken_at=datetime.now(UTC), spaces=(space,), units=units([]))
    assert catalog.space_row("fast") == 0
    with pytest.raises(LookupError, match=r"'fats'.*fast"):
        catalog.space_row("fats")


def test_a_demand_with_the_wrong_shape_is_refused() -> None:
    """Rates are signals by units, over a time that passed."""
    right = np.zeros((SIGNALS, 1))
    ids, observed = np.array([1], dtype=np.int64), np.array([True])
    common = {"ended_at": datetime.now(UTC), "physical_id": ids, "observed": observed}
    with pytest.raises(ValueError, match="shape"):
        Demand(seconds=1.0, rates=right.T, estimated=frozenset(), database=DatabaseDemand(), **common)  # type: ignore[arg-type]  # fields by name
    with pytest.raises(ValueError, match="lasts"):
        Demand(seconds=0.0, rates=right, estimated=frozenset(), database=DatabaseDemand(), **common)  # type: ignore[arg-type]  # fields by name


def test_a_step_without_a_statement_is_refused() -> None:
    """Blank SQL is a mistake that shows at once."""
    with pytest.raises(ValueError, match="copy the table"):
        Step(sql=" ", purpose="copy the table")
