"""Names and numbers of units."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.sqlserver.keys import Name, name_of, object_ids, quote, table_ids, unit_ids
from connectors.sqlserver.sampler import COUNTERS, by_unit

NAMES = [
    Name("dbo", "t"),
    Name("dbo", "t", "ix"),
    Name("a.b", "t]t", "i[x", 3),
    Name("dbo", "t", None, 12, lob=True),
    Name("s", "t lob", "x partition 2"),
    Name("s", "Ünï 表", "'; DROP TABLE x --"),
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.key)
def test_a_key_is_read_as_it_was_written(name: Name) -> None:
    """Whatever the names hold, key and name are the same thing."""
    assert name_of(name.key) == name


def test_keys_as_written() -> None:
    """By the rules of QUOTENAME, with the partition and the kind after it."""
    assert Name("dbo", "a]b", "ix", 3, lob=True).key == "[dbo].[a]]b].[ix] partition 3 lob"
    assert quote("]") == "[]]]"


@pytest.mark.parametrize("key", ["dbo.t", "[dbo].[t", "[dbo]", "[dbo].[t] partition x", ""])
def test_nonsense_is_no_key(key: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="no key"):
        name_of(key)


def ids(*rows: tuple[int, int, int, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Physical ids of (object, index, partition, lob)."""
    columns = np.array(rows, dtype=np.int64).T
    return unit_ids(columns[0], columns[1], columns[2], columns[3])


def test_numbers_hold_the_largest_there_are() -> None:
    """Object 2^31-1, index 999, partition 15000 and LOB fit, and are told apart from their neighbours."""
    largest = ids((2**31 - 1, 999, 15000, 1))
    assert object_ids(largest).tolist() == [2**31 - 1]
    assert len(set(ids((5, 2, 1, 0), (5, 2, 1, 1), (5, 2, 2, 0), (5, 3, 1, 0), (6, 2, 1, 0)).tolist())) == 5


def test_a_heap_keeps_its_number_when_it_is_clustered() -> None:
    """Index 0 and 1 are the table itself."""
    assert ids((5, 0, 1, 0)).tolist() == ids((5, 1, 1, 0)).tolist()
    assert table_ids(ids((5, 7, 3, 1))).tolist() == ids((5, 1, 1, 0)).tolist()


def test_rows_of_one_unit_are_added_up() -> None:
    """Internal rowsets of a columnstore, and a heap beside its clustered index, are one unit; idle ones are absent."""
    ones, zeros = (1,) * len(COUNTERS), (0,) * len(COUNTERS)
    found, counters = by_unit([(5, 0, 1, *ones), (5, 1, 1, *ones), (6, 2, 1, *zeros), (4, 2, 1, *ones)])
    assert found.tolist() == ids((4, 2, 1, 0), (5, 1, 1, 0)).tolist()
    assert counters[0].tolist() == [1, 2]


def test_no_rows_are_no_units() -> None:
    """A server that has just started has no counters."""
    found, counters = by_unit([])
    assert len(found) == 0
    assert counters.shape == (len(COUNTERS), 0)
