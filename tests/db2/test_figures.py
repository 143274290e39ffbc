"""The arithmetic of table spaces, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.db2.counters import KINDS, columns_of, hit_ratio, skew, space_totals
from connectors.db2.sampler import column_names

ZERO = dict.fromkeys(column_names("sample_spaces"), 0)


def one(**values: int) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Columns of a single row, zero but for what is given."""
    row = {**ZERO, **values}
    return dict(columns_of(tuple(row), [tuple(row.values())]))


def test_sync_reads_and_their_time() -> None:
    """(900 + 100) read, 400 of them ahead: 600 waited for; (4200 - 600) ms over 600 reads are 6 ms."""
    totals = space_totals(
        one(
            POOL_DATA_P_READS=900,
            POOL_INDEX_P_READS=100,
            POOL_ASYNC_DATA_READS=400,
            POOL_READ_TIME=4200,
            POOL_ASYNC_READ_TIME=600,
        )
    )
    assert (totals.physical[0], totals.asynchronous[0], totals.sync[0]) == (1000, 400, 600)
    assert totals.sync_read_seconds[0] == pytest.approx(3.6)


def test_pitfall_02_temporary_pages_belong_in() -> None:
    """Prefetchers read 50 temporary pages too: without them 30 - 60 would be negative; with them 20 were waited for."""
    totals = space_totals(one(POOL_DATA_P_READS=30, POOL_TEMP_DATA_P_READS=50, POOL_ASYNC_DATA_READS=60))
    assert totals.sync[0] == 20


def test_pitfall_03_column_organised_pages_count() -> None:
    """A table space of column-organised tables is not idle."""
    totals = space_totals(one(POOL_COL_P_READS=70, POOL_TEMP_COL_P_READS=10, POOL_ASYNC_COL_READS=30))
    assert (totals.physical[0], totals.sync[0]) == (80, 50)


@pytest.mark.parametrize("kind", KINDS)
def test_hit_ratio_leaves_prefetchers_out(kind: str) -> None:
    """IBM's formula: (80 found - 20 found by prefetchers) of 100 asked are 60 per cent."""
    values = {
        f"POOL_{kind}_LBP_PAGES_FOUND": 80,
        f"POOL_ASYNC_{kind}_LBP_PAGES_FOUND": 20,
        f"POOL_{kind}_L_READS": 90,
        f"POOL_TEMP_{kind}_L_READS": 10,
    }
    assert hit_ratio(one(**values))[0] == pytest.approx(0.6)


def test_nothing_asked_is_no_ratio() -> None:
    """No hit ratio can be told of what nobody read."""
    assert np.isnan(hit_ratio(one()))[0]


def test_writes_by_who_waits() -> None:
    """50 pages written, 45 by cleaners: 5 while a session waited, in (80 - 60) ms."""
    totals = space_totals(
        one(
            POOL_DATA_WRITES=40,
            POOL_INDEX_WRITES=10,
            POOL_ASYNC_DATA_WRITES=45,
            POOL_WRITE_TIME=80,
            POOL_ASYNC_WRITE_TIME=60,
        )
    )
    assert (totals.sync_writes[0], totals.async_writes[0]) == (5, 45)
    assert totals.sync_write_seconds[0] == pytest.approx(0.02)


def test_a_column_that_the_version_lacks_is_zero() -> None:
    """NULL stands for a column that is not there."""
    assert columns_of(("A",), [(None,), (3,)])["A"].tolist() == [0.0, 3.0]


@pytest.mark.parametrize(("reads", "expected"), [([100, 100], 0.0), ([300, 50, 50], 5 / 9), ([0, 0], 0.0), ([], 0.0)])
def test_skew(reads: list[int], expected: float) -> None:
    """1 - average / maximum: of 300, 50, 50 the average is 133.3, so 0.556."""
    assert skew(np.array(reads, dtype=np.float64)) == pytest.approx(expected)
