"""PostgreSQL's counters become signals: numbers worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.model.observation import NO_PARENT, Demand, Interval, Signal
from connectors.postgresql.catalog import Shape
from connectors.postgresql.demand import classify
from connectors.postgresql.sampler import COUNTERS

SECONDS = 10.0
AT = datetime(2026, 1, 1, tzinfo=UTC)
TABLE, INDEX = 100, 101
NAN = float("nan")


def interval(units: dict[int, dict[str, float]], database: dict[str, float] | None = None) -> Interval:
    """Ten seconds in which those counters rose."""
    ids = sorted(units)
    return Interval(
        started_at=AT,
        ended_at=AT + timedelta(seconds=SECONDS),
        seconds=SECONDS,
        physical_id=np.array(ids, dtype=np.int64),
        deltas={name: np.array([units[i].get(name, 0.0) for i in ids]) for name in COUNTERS},
        restarted=np.zeros(len(ids), dtype=np.bool_),
        database=database or {},
    )


def shape(blocks: float = 1000.0, rows: float = 50_000.0, toast_blocks: float = 0.0) -> Shape:
    """A table and its index of 100 blocks."""
    return Shape(
        physical_id=np.array([TABLE, INDEX], dtype=np.int64),
        parent=np.array([NO_PARENT, TABLE], dtype=np.int64),
        size_bytes=np.array([blocks + toast_blocks, 100.0]).astype(np.int64) * 8192,
        blocks=np.array([blocks, 100.0]),
        rows=np.array([rows, rows]),
    )


def of(demand: Demand, signal: Signal, unit: int = TABLE) -> float:
    """How many in the interval."""
    row = int(np.flatnonzero(demand.physical_id == unit)[0])
    return float(demand.rates[signal, row] * demand.seconds)


SERVER = {"server_reads": 1000.0, "server_read_seconds": 2.0, "scan_reads": 900.0, "scan_seconds": 0.5}


@pytest.mark.parametrize(
    ("database", "scans"),
    [
        ({"reads": 1000.0, "read_seconds": 2.0, **SERVER}, (90.0, 0.05)),
        ({"reads": 950.0, "read_seconds": 1.9, **SERVER}, (85.5, 0.0475)),  # the same shares of its own
        ({"reads": 1000.0, "read_seconds": 1.7995, **SERVER}, (90.0, 0.0449875)),  # whole microseconds of each read
        ({"reads": 800.0, "read_seconds": 2.0, **SERVER}, None),  # a fifth of the reads are another database's
        ({"reads": 1000.0, "read_seconds": 1.6, **SERVER}, None),  # a fifth of the wait
        ({"reads": 1000.0, "read_seconds": 2.0}, None),  # before 16
        ({"reads": 1000.0, "server_reads": 1000.0, "scan_reads": 900.0}, None),  # track_io_timing is off
        ({"reads": 0.0, "read_seconds": 0.0, **dict.fromkeys(SERVER, 0.0)}, None),
    ],
)
def test_the_servers_scans_are_this_databases_where_nearly_all_reads_are(
    database: dict[str, float], scans: tuple[float, float] | None
) -> None:
    """Per second of ten; elsewhere they are not known."""
    found = classify(interval({TABLE: {}}, database), shape(), new_blocks_missed=False).database
    if scans is None:
        assert np.isnan([found.scan_reads, found.scan_wait]).all()
    else:
        assert (found.scan_reads, found.scan_wait) == pytest.approx(scans)


def only(counters: dict[str, float], a_shape: Shape, *, old: bool = False) -> Demand:
    """The demand of one table alone."""
    return classify(interval({TABLE: counters}), a_shape, new_blocks_missed=old)


def test_misses_without_a_scan_are_waited_for() -> None:
    """1000 fetched, 700 hit: 300 reads somebody waited for, 1000 logical ones."""
    demand = only({"blocks_fetched": 1000, "blocks_hit": 700}, shape())
    assert of(demand, Signal.SYNC_READ) == pytest.approx(300)
    assert of(demand, Signal.PREFETCHED_READ) == 0
    assert of(demand, Signal.LOGICAL_READ) == pytest.approx(1000)
    assert bool(demand.observed.all())


def test_a_scan_explains_its_share_of_the_misses() -> None:
    """25,000 of 50,000 rows in 1000 blocks are 500 blocks: of 800 misses 500 were read ahead, 300 waited for."""
    demand = only({"blocks_fetched": 800, "rows_scanned": 25_000, "scans": 1}, shape())
    assert of(demand, Signal.PREFETCHED_READ) == pytest.approx(500)
    assert of(demand, Signal.SYNC_READ) == pytest.approx(300)


def test_scans_bound_what_rows_seem_to_say() -> None:
    """One scan reads no more than the table, even where stale statistics make its rows look like three tables."""
    demand = only({"blocks_fetched": 4000, "rows_scanned": 150_000, "scans": 1}, shape())
    assert of(demand, Signal.PREFETCHED_READ) == pytest.approx(1000)


def test_a_table_never_analyzed_is_judged_by_its_scans() -> None:
    """Without a number of rows each scan counts as the whole table."""
    demand = only({"blocks_fetched": 900, "rows_scanned": 10, "scans": 1}, shape(rows=NAN))
    assert of(demand, Signal.PREFETCHED_READ) == pytest.approx(900)
    assert of(demand, Signal.SYNC_READ) == 0


def test_vacuum_makes_nothing_hot() -> None:
    """One pass of VACUUM explains up to all blocks of the table and of its index, and nothing beyond."""
    demand = classify(
        interval({TABLE: {"blocks_fetched": 1000, "maintenance": 1}, INDEX: {"blocks_fetched": 130}}),
        shape(),
        new_blocks_missed=False,
    )
    assert of(demand, Signal.SYNC_READ) == 0
    assert of(demand, Signal.PREFETCHED_READ, INDEX) == pytest.approx(100)
    assert of(demand, Signal.SYNC_READ, INDEX) == pytest.approx(30)


def test_a_bitmap_scan_explains_what_its_rows_fill() -> None:
    """25,000 rows at 50 a block are a run of 500 blocks; beside 500 look-ups half of those 500 misses is a run's."""
    demand = only({"blocks_fetched": 800, "rows_fetched": 25_000}, shape())
    assert of(demand, Signal.PREFETCHED_READ) == pytest.approx(500)
    looked_up = {"rows_fetched": 500.0, "scans": 500.0}
    beside = interval({TABLE: {"blocks_fetched": 800, "rows_fetched": 25_000}, INDEX: looked_up})
    demand = classify(beside, shape(), new_blocks_missed=False)
    assert of(demand, Signal.PREFETCHED_READ) == pytest.approx(250)


def test_rows_that_lie_apart_are_single_reads() -> None:
    """A bitmap scan that found 100 rows in 100 blocks read at random: its rows would fill 2."""
    demand = only({"blocks_fetched": 100, "rows_fetched": 100}, shape())
    assert of(demand, Signal.SYNC_READ) == pytest.approx(98)


def test_leaves_of_a_range_are_a_run() -> None:
    """25,000 entries at 500 a leaf are 50 leaves one after the other; 200 look-ups of one entry hardly any."""
    demand = classify(
        interval({INDEX: {"blocks_fetched": 53, "rows_scanned": 25_000, "scans": 1}}), shape(), new_blocks_missed=False
    )
    assert of(demand, Signal.PREFETCHED_READ, INDEX) == pytest.approx(50 * 50 / 51)
    looked_up = {"blocks_fetched": 150.0, "rows_scanned": 200.0, "scans": 200.0, "rows_fetched": 200.0}
    demand = classify(interval({INDEX: looked_up}), shape(), new_blocks_missed=False)
    assert of(demand, Signal.SYNC_READ, INDEX) == pytest.approx(150, rel=0.001)


def test_index_misses_are_waited_for() -> None:
    """An index of which no entries are known to have been read in order was looked into."""
    demand = classify(interval({INDEX: {"blocks_fetched": 70, "blocks_hit": 20}}), shape(), new_blocks_missed=False)
    assert of(demand, Signal.SYNC_READ, INDEX) == pytest.approx(50)


@pytest.mark.parametrize(("old", "waited"), [(True, 0.0), (False, 200.0)])
def test_new_blocks_are_no_reads(old: bool, waited: float) -> None:
    """10,000 rows at 50 a block fill 200 blocks: versions that count these as missed are corrected."""
    demand = only({"blocks_fetched": 200, "rows_inserted": 10_000}, shape(), old=old)
    assert of(demand, Signal.SYNC_READ) == pytest.approx(waited)


def test_writes_are_bounded_by_blocks() -> None:
    """100 rows at 50 a block are 2 blocks, 8 TOAST chunks 2 more; 5000 changes cannot dirty more than 1000 blocks."""
    demand = only({"rows_inserted": 100, "toast_chunks": 8, "rows_changed": 5000}, shape())
    assert of(demand, Signal.ASYNC_WRITE) == pytest.approx(2 + 2 + 1000)


def test_a_unit_nobody_knows_is_not_observed() -> None:
    """What the catalog does not hold yet gives no evidence, hot or cold."""
    demand = classify(interval({999: {"blocks_fetched": 1e9}}), shape(), new_blocks_missed=False)
    assert not demand.observed.any()
    assert not demand.rates.any()


def test_an_empty_catalog_and_an_empty_interval() -> None:
    """Nothing known and nothing happened are both fine."""
    nothing = Shape(
        physical_id=np.empty(0, dtype=np.int64),
        parent=np.empty(0, dtype=np.int64),
        size_bytes=np.empty(0, dtype=np.int64),
        blocks=np.empty(0),
        rows=np.empty(0),
    )
    assert not classify(interval({5: {"blocks_fetched": 3}}), nothing, new_blocks_missed=True).rates.any()
    assert len(classify(interval({}), shape(), new_blocks_missed=False).physical_id) == 0


def test_the_database_in_rates() -> None:
    """Canonical figures become rates per second; what is not measured is NaN."""
    figures = {"reads": 500.0, "read_seconds": 2.5, "transactions": 40.0, "active_seconds": 20.0}
    database = classify(interval({}, figures), shape(), new_blocks_missed=False).database
    assert (database.reads, database.read_wait, database.transactions, database.active) == (50.0, 0.25, 4.0, 2.0)
    assert np.isnan(database.write_wait)


@given(
    st.fixed_dictionaries({name: st.floats(0, 1e12) for name in COUNTERS}),
    st.floats(0, 1e9),
    st.one_of(st.just(NAN), st.floats(0, 1e12)),
    st.booleans(),
)
def test_reads_never_exceed_misses(counters: dict[str, float], blocks: float, rows: float, old: bool) -> None:
    """Whatever the counters say, no rate is negative or not a number, and both kinds of reads add up to the misses."""
    demand = only(counters, shape(blocks, rows), old=old)
    assert bool((demand.rates >= 0).all())
    reads = of(demand, Signal.SYNC_READ) + of(demand, Signal.PREFETCHED_READ)
    missed = max(0.0, counters["blocks_fetched"] - counters["blocks_hit"])
    assert reads <= missed * (1 + 1e-9) + 1e-6
    assert old or reads == pytest.approx(missed, abs=1e-3)
