"""What the counters are turned into, with figures worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import Signal
from connectors.sqlserver.demand import classify, random_part
from tests.sqlserver.made import catalog, interval

READ_AHEAD = 512 * 1024
# 900 reads of one page and 100 of 64 pages: 900 * 8192 + 100 * 524288 bytes.
MIXED = (1000.0, 59801600.0, 4.0)


@pytest.mark.parametrize(
    ("reads", "read_bytes", "expected"),
    [(1000.0, 59801600.0, 900.0), (100.0, 100 * 8192.0, 100.0), (10.0, 10 * 524288.0, 0.0), (10.0, 99e6, 0.0)],
)
def test_reads_are_a_mixture_of_two_sizes(reads: float, read_bytes: float, expected: float) -> None:
    """Single pages are all random, pieces of the read-ahead size none, larger ones never negative."""
    assert random_part(np.array([reads]), np.array([read_bytes]), READ_AHEAD)[0] == pytest.approx(expected)


def test_waits_are_the_reads_that_were_waited_for() -> None:
    """900 random reads and 600 + 300 waits agree, so each unit keeps its waits: 60 and 30 a second."""
    seen = interval({"io_waits": (600, 300)}, units=2, files=MIXED)
    demand = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([60.0, 30.0])


def test_pitfall_1_several_sessions_may_wait_for_one_page() -> None:
    """Pitfall 1: with 1800 waits for 900 random reads each wait is half a read: 60 and 30 a second."""
    seen = interval({"io_waits": (1200, 600)}, units=2, files=MIXED)
    demand = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([60.0, 30.0])


def test_a_read_without_a_wait_is_not_foreground() -> None:
    """900 random reads and 90 waits: nobody waited for the others, so 9 a second and no more."""
    seen = interval({"io_waits": (90, 0)}, units=2, files=MIXED)
    demand = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([9.0, 0.0])


def test_sequential_pages_go_to_whoever_scans_most_pages() -> None:
    """6400 pages read ahead; 1 scan of 1000 pages and 3 of 1000: 1600 and 4800, which is 160 and 480 a second."""
    seen = interval({"scans": (1, 3), "io_waits": (450, 450)}, units=2, files=MIXED)
    demand = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.PREFETCHED_READ].tolist() == pytest.approx([160.0, 480.0])


def test_reads_of_an_extent_that_hardly_anybody_waits_for_are_sequential() -> None:
    """1000 reads of 64 KiB and 10 waits: 10 random reads, and 8000 - 10 pages in order."""
    seen = interval({"scans": (1,), "io_waits": (10,)}, units=1, files=(1000.0, 1000 * 65536.0, 4.0))
    demand = classify(seen, catalog(1000, homes=(0,)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.PREFETCHED_READ].tolist() == pytest.approx([799.0])
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([1.0])


def test_a_filegroup_that_only_scans_read_has_a_read_time() -> None:
    """100 reads of 512 KiB, 1 s of stall: 10 ms, which waits behind read-ahead are priced by."""
    seen = interval({"scans": (1,), "io_waits": (50,)}, units=1, files=(100.0, 100 * 524288.0, 1.0))
    spaces = classify(seen, catalog(1000, homes=(0,)), read_ahead_bytes=READ_AHEAD).spaces
    assert spaces is not None
    assert spaces.read_seconds[0] / spaces.reads[0] == pytest.approx(0.01)


def test_waits_are_told_as_they_were_measured() -> None:
    """90 s and 3 s over ten; what waited too shortly to be counted in milliseconds is not measured."""
    waits = {"io_waits": (3000, 3000, 40, 0), "io_wait_ms": (90_000, 3_000, 0, 0)}
    seen = interval(waits, units=4, files=MIXED)
    demand = classify(seen, catalog(1000, 1000, 1000, 1000, homes=(0, 0, 0, 0)), read_ahead_bytes=READ_AHEAD)
    assert demand.waited is not None
    assert demand.waited.tolist() == pytest.approx([9.0, 0.3, math.nan, 0.0], nan_ok=True)


def lobs(deltas: Mapping[str, tuple[float, ...]]) -> list[float]:
    """Seconds a second that rows and large objects of unit 10 are said to wait."""
    whole = catalog(100, 900, homes=(0, 0))
    units = replace(whole.units, physical_id=np.array([10, 11], dtype=np.int64))  # 11 is 10 with the last bit set
    demand = classify(interval(deltas, units=1), replace(whole, units=units), read_ahead_bytes=READ_AHEAD)
    assert demand.physical_id.tolist() == [10, 11][: len(demand.physical_id)]
    assert demand.waited is not None
    return [float(seconds) for seconds in demand.waited]


def test_waits_for_large_objects_are_theirs() -> None:
    """2000 rows sought and 10,000 pages of large objects, 12,000 waits: 5 of 6 of 96 s are for these."""
    counted = {"lookups": (2000,), "lob_pages": (10_000,), "io_waits": (12_000,), "io_wait_ms": (96_000,)}
    assert lobs({name: tuple(map(float, values)) for name, values in counted.items()}) == pytest.approx([1.6, 8.0])


def test_waits_beyond_the_rows_sought_are_for_large_objects() -> None:
    """100 rows sought, 1000 pages fetched, 800 waits, 50 of them on upper levels: at least 650 of 750 leaves."""
    counted = {
        "lookups": (100.0,),
        "lob_pages": (660.0,),
        "io_waits": (800.0,),
        "tree_io_waits": (50.0,),
        "io_wait_ms": (8000.0,),
    }
    assert lobs(counted) == pytest.approx([0.14, 0.66], abs=0.011)


def test_no_pages_of_large_objects_no_waits_for_them() -> None:
    """Everything that was waited for is the rows'."""
    assert lobs({"lookups": (100.0,), "io_waits": (100.0,), "io_wait_ms": (800.0,)}) == pytest.approx([0.08])


def test_what_lies_elsewhere_has_no_part_in_it() -> None:
    """Units of a filegroup whose files did not read get no pages and keep their waits."""
    seen = interval({"scans": (1, 1), "io_waits": (900, 50)}, units=2, files=MIXED)
    demand = classify(seen, catalog(1000, 1000, homes=(0, 1)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.PREFETCHED_READ].tolist() == pytest.approx([640.0, 0.0])
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([90.0, 5.0])


def test_read_times_are_those_of_random_reads() -> None:
    """4 s of stall over 1000 reads is 4 ms each; 900 of them random: 90 a second, 0.36 s of wait a second."""
    seen = interval({"io_waits": (600, 300)}, units=2, files=MIXED)
    spaces = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD).spaces
    assert spaces is not None
    assert spaces.name == ("HDD",)
    assert spaces.reads[0] == pytest.approx(90.0)
    assert spaces.read_seconds[0] == pytest.approx(0.36)


def test_pitfall_9_a_backup_is_not_reading() -> None:
    """Pitfall 9: an interval with a backup keeps the waits and forgets the files."""
    seen = interval({"io_waits": (90, 0), "scans": (1, 0)}, units=2, files=MIXED, database={"backups_seen": 1.0})
    demand = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD)
    assert demand.spaces is None
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([9.0, 0.0])
    assert demand.rates[Signal.PREFETCHED_READ].tolist() == [0.0, 0.0]
    assert demand.observed.all()


def test_pitfall_9_checkdb_and_index_builds_say_nothing_of_anyone() -> None:
    """Pitfall 9: an interval in which something read everything makes nothing hot and nothing cold."""
    seen = interval({"io_waits": (90, 0)}, units=2, files=MIXED, database={"sweeps_seen": 1.0})
    demand = classify(seen, catalog(1000, 1000, homes=(0, 0)), read_ahead_bytes=READ_AHEAD)
    assert not demand.observed.any()
    assert not demand.rates.any()


def test_without_file_counters_waits_still_count() -> None:
    """A login that may not see files ranks by waits alone."""
    seen = interval({"io_waits": (90, 10), "io_wait_ms": (900, 100)}, units=2)
    demand = classify(seen, catalog(1000, 1000, homes=(0, 1)), read_ahead_bytes=READ_AHEAD)
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([9.0, 1.0])
    assert demand.spaces is None
    assert demand.database.read_wait == pytest.approx(0.1)
    assert math.isnan(demand.database.reads)


def test_units_that_the_catalog_does_not_know_are_not_judged() -> None:
    """A table made a moment ago has no home yet; the interval says nothing of it."""
    seen = interval({"io_waits": (90, 50)}, units=2, files=MIXED)
    demand = classify(seen, catalog(1000, homes=(0,)), read_ahead_bytes=READ_AHEAD)
    assert demand.observed.tolist() == [True, False]
    assert demand.rates[Signal.SYNC_READ].tolist() == pytest.approx([9.0, 0.0])


def test_sessions_and_their_time_reach_whoever_forecasts() -> None:
    """Batches are timed and sessions are looked at: ten seconds of work of 40 seconds of sessions, 4 at a time."""
    figures = {"active_seconds": 40.0, "population_seconds": 90.0, "processor_seconds": 5.0, "transactions": 1000.0}
    seen = interval({"io_waits": (600,), "io_wait_ms": (6000,)}, units=1, files=MIXED, database=figures)
    whole = classify(seen, catalog(1000, homes=(0,)), read_ahead_bytes=READ_AHEAD).database
    assert (whole.active, whole.population, whole.processor, whole.transactions) == (4.0, 9.0, 0.5, 100.0)
    assert whole.read_wait == pytest.approx(0.6)


def test_nothing_at_all() -> None:
    """An empty interval over an empty catalog is an empty demand."""
    demand = classify(interval({}, units=0), catalog(homes=()), read_ahead_bytes=READ_AHEAD)
    assert demand.rates.shape[1] == 0
