"""Rows of tables and indexes folded in columns, against the same done row by row in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from connectors.db2.counters import COUNTERS, by_unit, of_indexes, of_tables
from connectors.db2.names import Part, physical_id
from connectors.db2.sessions import Row

HOMES = 2**52  # a home and its complement come to this
Counts = dict[int, dict[str, int]]

COUNTS = st.none() | st.integers(0, 3) | st.integers(0, 2**40)
NAMES = st.tuples(st.sampled_from(["A", "B  "]), st.sampled_from(["T", "U ", 'Übel"']))
PARTITIONS = st.sampled_from([None, -1, 0, 1, 2])
PLACES = st.none() | st.integers(-1, 3)
TABLE_ROWS = st.tuples(NAMES, PARTITIONS, st.integers(0, 2), PLACES, PLACES, st.tuples(*[COUNTS] * 17)).map(
    lambda row: (*row[0], *row[1:5], *row[5])
)
INDEX_ROWS = st.tuples(NAMES, st.integers(1, 2), PARTITIONS, st.integers(0, 2), st.tuples(*[COUNTS] * 5)).map(
    lambda row: (*row[0], *row[1:4], *row[4])
)
DISTURBED = st.dictionaries(st.sampled_from([("A", "T"), ("B", "U"), ("C", "T")]), st.integers(1, 3))


@given(st.lists(TABLE_ROWS), st.lists(INDEX_ROWS), DISTURBED, st.integers(1, 4))
def test_columns_hold_what_row_by_row_comes_to(
    tables: list[Row], indexes: list[Row], disturbed: Mapping[tuple[str, str], int], at_once: int
) -> None:
    """Rows of one unit are added up, a home is the greatest, however the rows are cut; idle units are absent."""
    expected: Counts = {}
    for row in tables:
        add_table(expected, row, disturbed)
    for row in indexes:
        add_index(expected, row, disturbed)
    expected = {number: counts for number, counts in expected.items() if any(counts.values())}
    ids, counters = by_unit(
        [of_tables(part, disturbed) for part in cut(tables, at_once)]
        + [of_indexes(part, disturbed) for part in cut(indexes, at_once)]
    )
    assert ids.tolist() == sorted(expected)
    assert counters.dtype == np.int64
    for name, column in zip(COUNTERS, counters, strict=True):
        assert column.tolist() == [expected[number][name] for number in sorted(expected)]


def cut(rows: Sequence[Row], at_once: int) -> Iterable[Sequence[Row]]:
    """The rows in parts, none of them empty."""
    return [rows[at : at + at_once] for at in range(0, len(rows), at_once)]


def add_table(counts: Counts, row: Row, disturbed: Mapping[tuple[str, str], int]) -> None:
    """What one row of ``sample_tables`` says."""
    schema, name, partition, _, space, file, *reads, scans, _, inserted, updated, deleted, direct, _ = row[:19]
    schema, name, seen = schema.rstrip(), name.rstrip(), disturbed.get((schema.rstrip(), name.rstrip()), 0)
    data, data_read, xda, xda_read, col, col_read = (value or 0 for value in reads)
    sectors, data_found, xda_found, col_found = (value or 0 for value in row[19:])
    of = counts_of(counts, physical_id(Part.TABLE, schema, name, 0, partition))
    of["logical_reads"] += data + col
    of["physical_reads"] += data_read + col_read
    of["found_pages"] += data_found + col_found
    of["column_reads"] += col_read
    of["column_logical_reads"] += col
    of["column_found_pages"] += col_found
    of["scans"] += scans or 0
    of["rows_changed"] += (inserted or 0) + (updated or 0) + (deleted or 0)
    of["disturbed"] = seen
    of["home"] = max(of["home"], max(0, space or 0) * 2**20 + max(0, file or 0))
    of["home_complement"] = HOMES - of["home"]
    if xda or xda_read or direct:
        of = counts_of(counts, physical_id(Part.LOB, schema, name, 0, partition))
        of["logical_reads"] += xda
        of["physical_reads"] += xda_read
        of["xda_reads"] += xda_read
        of["found_pages"] += xda_found
        of["direct_read_requests"] += direct or 0
        of["direct_read_sectors"] += sectors
        of["disturbed"] = seen


def add_index(counts: Counts, row: Row, disturbed: Mapping[tuple[str, str], int]) -> None:
    """What one row of ``sample_indexes`` says."""
    schema, name, number, partition, _, logical, physical, scans, updates, found = row
    schema, name = schema.rstrip(), name.rstrip()
    of = counts_of(counts, physical_id(Part.INDEX, schema, name, number, partition))
    of["logical_reads"] += logical or 0
    of["physical_reads"] += physical or 0
    of["index_reads"] += physical or 0
    of["found_pages"] += found or 0
    of["scans"] += scans or 0
    of["rows_changed"] += updates or 0
    of["disturbed"] = disturbed.get((schema, name), 0)


def counts_of(counts: Counts, number: int) -> dict[str, Any]:
    """Of a unit, all zero at first."""
    return counts.setdefault(number, dict.fromkeys(COUNTERS, 0))
