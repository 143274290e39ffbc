"""From counters to signals, with numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from connectors.model.observation import Catalog, Demand, Interval, Signal, Space, SpaceFigures, UnitTable
from connectors.oracle import demand
from connectors.oracle.catalog import Shape
from connectors.oracle.demand import share_of_waits
from connectors.oracle.sampler import COUNTERS, KINDS, SEGMENT, by_object, database_figures, space_figures

NAN = float("nan")
START = datetime(2026, 1, 5, 12, tzinfo=UTC)


def _catalog(spaces: list[int]) -> Catalog:
    count = len(spaces)
    ids = np.arange(100, 100 + count, dtype=np.int64)
    units = UnitTable(
        physical_id=ids,
        key=tuple(f"APP.T{n}" for n in range(count)),
        kind=np.zeros(count, dtype=np.int8),
        size_bytes=np.full(count, 1 << 30, dtype=np.int64),
        space=np.array(spaces, dtype=np.int32),
        bundle=ids,
        parent=np.full(count, -1, dtype=np.int64),
    )
    made = (Space(name=name, path="", used_bytes=0, free_bytes=None, capacity_bytes=None) for name in ("SLOW", "FAST"))
    return Catalog(taken_at=START, spaces=tuple(made), units=units)


def _shape(segments: list[int]) -> Shape:
    return Shape(block_bytes=np.full(len(segments), 8192.0), segment=np.array(segments, dtype=np.int64))


def _figures(reads: float) -> SpaceFigures:
    some = np.array([reads, NAN])
    return SpaceFigures(name=("SLOW", "FAST"), reads=some, read_seconds=some, writes=some, write_seconds=some)


def _interval(
    units: Sequence[Mapping[str, float]], spaces: SpaceFigures | None = None, seconds: float = 10.0
) -> Interval:
    return Interval(
        started_at=START,
        ended_at=START + timedelta(seconds=seconds),
        seconds=seconds,
        physical_id=np.arange(100, 100 + len(units), dtype=np.int64),
        deltas={name: np.array([unit.get(name, 0.0) for unit in units]) for name in COUNTERS},
        restarted=np.zeros(len(units), dtype=np.bool_),
        database={"reads": 50.0, "active_seconds": 20.0},
        spaces=spaces,
    )


def _classify(units: list[dict[str, float]], spaces: SpaceFigures | None = None) -> Demand:
    catalog = _catalog([0] * len(units))
    return demand.classify(_interval(units, spaces), catalog, _shape([100 + n for n in range(len(units))]))


def _blocks(found: Demand, signal: Signal) -> list[float]:
    return [float(rate) * found.seconds for rate in found.rates[signal]]


def test_look_ups_are_waited_for() -> None:
    """300 calls that read 300 blocks read one each: all of them were waited for."""
    found = _classify([{"blocks_read": 300, "requests": 300}])
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([300])
    assert _blocks(found, Signal.PREFETCHED_READ) == pytest.approx([0])


def test_a_scan_is_read_ahead() -> None:
    """10 calls of 128 blocks: 2 x 10 - 1280 is below zero, so no single-block read is certain (oracle.md f7)."""
    found = _classify([{"blocks_read": 1280, "requests": 10, "scans": 1}])
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([0])
    assert _blocks(found, Signal.PREFETCHED_READ) == pytest.approx([1280])


def test_direct_reads_are_taken_off_and_not_added() -> None:
    """Physical and logical reads include direct ones: 500 - 200 missed the cache (oracle.md f1)."""
    found = _classify([{"logical_reads": 900, "blocks_read": 500, "blocks_direct": 200, "requests": 302}])
    assert _blocks(found, Signal.DIRECT_READ) == pytest.approx([200])
    assert _blocks(found, Signal.LOGICAL_READ) == pytest.approx([700])
    sync, ahead = _blocks(found, Signal.SYNC_READ)[0], _blocks(found, Signal.PREFETCHED_READ)[0]
    assert (sync, ahead) == pytest.approx((104, 196))  # 2 x 302 - 500


def test_counts_read_a_moment_apart_never_go_below_zero() -> None:
    """More direct reads than reads, more direct writes than writes: clamped."""
    found = _classify([{"blocks_read": 5, "blocks_direct": 7, "requests": 5, "blocks_written": 1, "written_direct": 3}])
    assert bool(np.all(found.rates >= 0))
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([5])  # as many calls as blocks: each was waited for
    assert _blocks(found, Signal.SYNC_WRITE) == pytest.approx([1])


def test_files_lift_the_bound_of_a_mixed_segment() -> None:
    """100 look-ups and 10 calls of 128: alone 2 x 110 - 1380 says 0; the tablespace counted 100, no other was there."""
    found = _classify([{"blocks_read": 1380, "requests": 110}], _figures(100.0))
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([100])


def test_files_do_not_lift_what_another_may_have_done() -> None:
    """Another segment of 60 look-ups explains 60 of the 100; only 40 are left for the mixed one."""
    found = _classify([{"blocks_read": 1380, "requests": 110}, {"blocks_read": 60, "requests": 60}], _figures(100.0))
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([40, 60])


def test_what_flash_serves_is_not_promoted_twice() -> None:
    """Of 300 look-ups a flash cache served 120: 180 were waited for on disk."""
    found = _classify([{"blocks_read": 300, "requests": 300, "from_flash": 120}])
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([180])
    assert _blocks(found, Signal.PREFETCHED_READ) == pytest.approx([120])


def test_a_new_segment_says_nothing() -> None:
    """A moved or truncated object has another DATAOBJ#: the interval is no evidence (oracle.md f3)."""
    found = _classify([{"blocks_read": 300, "requests": 300, SEGMENT: 777}])
    assert found.observed.tolist() == [False]
    assert not found.rates.any()


def test_a_segment_that_appears_started_from_zero() -> None:
    """The first reads of a known object bring its whole DATAOBJ#, which is the one of the catalog."""
    found = _classify([{"blocks_read": 300, "requests": 300, SEGMENT: 100}])
    assert found.observed.tolist() == [True]


def test_unknown_objects_are_not_observed() -> None:
    """An object that the catalog does not have, dropped or Oracle's own, gets no demand."""
    found = demand.classify(_interval([{"blocks_read": 9, "requests": 9}] * 2), _catalog([0]), _shape([100]))
    assert found.observed.tolist() == [True, False]


def test_an_empty_catalog_and_an_empty_interval() -> None:
    """Nothing comes of nothing."""
    assert demand.classify(_interval([]), _catalog([]), _shape([])).rates.shape == (6, 0)
    assert demand.classify(_interval([{"requests": 1}]), _catalog([]), _shape([])).observed.tolist() == [False]


def test_estimates_say_so() -> None:
    """Logical reads are sampled by the server, and the split of reads is a bound (oracle.md f6)."""
    assert {Signal.LOGICAL_READ, Signal.SYNC_READ, Signal.PREFETCHED_READ} == _classify([{}]).estimated


def test_space_figures_become_rates() -> None:
    """100 reads in 10 s are 10 a second; what nobody counted stays unknown."""
    found = _classify([{}], _figures(100.0)).spaces
    assert found is not None
    assert found.reads[0] == pytest.approx(10.0)
    assert np.isnan(found.reads[1])


def test_segments_of_one_object_are_folded() -> None:
    """An old and a new segment of one object: counters add up, and their ids tell that it moved."""
    ids, values = by_object([(5, 5, 1, 2, 0, 1, 0, 0, 0, 0), (5, 9, 10, 20, 0, 10, 0, 0, 0, 0), (6, 6, *[0] * 8)])
    assert ids.tolist() == [5]
    row = dict(zip(COUNTERS, values[:, 0].tolist(), strict=True))
    assert (row[SEGMENT], row["logical_reads"], row["blocks_read"], row["requests"]) == (
        23,
        11,
        22,
        11,
    )  # 1 x 5 + 2 x 9


def test_no_rows_make_an_empty_sample() -> None:
    """A database that nobody has touched."""
    ids, values = by_object([])
    assert (len(ids), values.shape) == (0, (len(COUNTERS), 0))


def test_times_of_files_are_hundredths_of_a_second() -> None:
    """V$FILESTAT counts centiseconds: 250 of them are 2.5 s (oracle.md f9)."""
    found = space_figures([("SLOW", "/hdd/a.dbf", 1000, 250, 40, 100, 0, 0)])
    assert (found.reads[0], found.read_seconds[0], found.writes[0], found.write_seconds[0]) == (1000, 2.5, 40, 1.0)


def test_times_of_synchronous_reads_are_thousandths() -> None:
    """V$IOSTAT_FILE counts milliseconds, of reads that were waited for; it is taken where it counts (oracle.md f9)."""
    rows = [("SLOW", "/hdd/a.dbf", 1000, 250, 40, 100, 900, 1800), ("FAST", "/ssd/a.dbf", 50, 3, 0, 0, 0, 0)]
    found = space_figures(rows)
    assert found.name == ("FAST", "SLOW")
    assert list(found.reads) == [0, 900]
    assert list(found.read_seconds) == [0, 1.8]
    assert list(found.write_seconds) == [0, 1.0]


def test_figures_of_files_are_folded_by_place_and_instance() -> None:
    """Two files in one folder, one of them seen from two instances: 10 + 5 + 2 reads."""
    rows = [
        ("A", "/hdd/x/a.dbf", 10, 1, 1, 1, 0, 0),
        ("B", "/hdd/x/b.dbf", 5, 1, 1, 1, 0, 0),
        ("B", "/hdd/x/b.dbf", 2, 1, 1, 1, 0, 0),
        ("B", "+FAST/ORCL/DATAFILE/b.2.3", 7, 1, 1, 1, 0, 0),
    ]
    by_place = space_figures(rows, by_place=True)
    assert dict(zip(by_place.name, by_place.reads, strict=True)) == {"+FAST": 7, "/hdd/x": 17}
    by_name = space_figures(rows)
    assert dict(zip(by_name.name, by_name.reads, strict=True)) == {"A": 10, "B": 14}
    assert space_figures([]).name == ()


def test_no_more_is_waited_for_than_there_were_waits() -> None:
    """1000 single reads by the counters of segments, 400 waits by those of events: two fifths were waited for."""
    assert share_of_waits(1000.0, _waits(400, 0)) == pytest.approx(0.4)
    assert share_of_waits(1000.0, _waits(1200, 0)) == 1.0
    assert share_of_waits(1000.0, _waits(0, 5)) == pytest.approx(0.64)  # each for up to 128 blocks
    assert share_of_waits(1000.0, replace(_waits(0, 0), database={})) == 1.0
    assert share_of_waits(0.0, _waits(0, 0)) == 1.0


def _waits(single: int, batch: int) -> Interval:
    return replace(_interval([]), database={"single_block_waits": single, "batch_read_waits": batch})


def test_database_figures() -> None:
    """Waits are microseconds, DB time hundredths of a second, a transaction is a commit or a rollback."""
    rows = [("user commits", 7), ("user rollbacks", 1), ("DB time", 300), ("physical reads", 12)]
    rows += [("db file sequential read", 1_500_000), ("read by other session", 500_000), ("direct path write", 250_000)]
    rows += [("waits: db file sequential read", 300), ("waits: db file parallel read", 9)]
    rows += [("waits: db file sequential read", 20)]  # of a second instance
    times = {"transactions": 8, "active_seconds": 3.0, "reads": 12, "read_seconds": 2.0, "write_seconds": 0.25}
    times |= {"single_block_seconds": 1.5, "shared_read_seconds": 0.5, "single_block_waits": 320, "batch_read_waits": 9}
    found = database_figures(rows)
    assert {name: value for name, value in found.items() if value} == pytest.approx(times)
    assert found["multiblock_seconds"] == found["direct_read_waits"] == 0.0


def _timed(**of: float) -> dict[str, float]:
    """Waits and seconds by kind, those not named 0."""
    return {f"{kind}_{what}": 0.0 for kind in KINDS for what in ("waits", "seconds")} | of


def _waited(units: Sequence[Mapping[str, float]], spaces: SpaceFigures | None, **of: float) -> list[float]:
    interval = replace(_interval(units, spaces), database=_timed(**of))
    catalog, shape = _catalog([0] * len(units)), _shape([100 + n for n in range(len(units))])
    found = demand.classify(interval, catalog, shape).waited
    assert found is not None
    return [float(rate) * 10.0 for rate in found]


def test_each_kind_of_wait_goes_to_who_read_so() -> None:
    """60 look-ups at 6 ms, 10 calls of 128 blocks at 20 ms, 50 blocks of a LOB one by one past the cache at 6 ms."""
    look_ups, scanned = {"blocks_read": 60, "requests": 60}, {"blocks_read": 1280, "requests": 10}
    large = {"blocks_read": 50, "blocks_direct": 50, "requests": 50}
    files = _times(reads=60, seconds=0.36)
    of = {"single_block_waits": 60, "single_block_seconds": 0.36, "multiblock_waits": 10, "multiblock_seconds": 0.2}
    of |= {"direct_read_waits": 50, "direct_read_seconds": 0.3}
    assert _waited([look_ups, scanned, large], files, **of) == pytest.approx([0.36, 0.2, 0.3])


def test_a_direct_scan_gets_what_single_reads_leave() -> None:
    """50 single direct reads at 6 ms take 0.3 s of the 0.35; the scan, issued ahead, waited for the rest."""
    large = {"blocks_read": 50, "blocks_direct": 50, "requests": 50}
    scanned = {"blocks_read": 3840, "blocks_direct": 3840, "requests": 30}
    of = {"direct_read_waits": 55, "direct_read_seconds": 0.35, "single_block_waits": 1, "single_block_seconds": 0.006}
    assert _waited([large, scanned], _times(reads=1, seconds=0.006), **of) == pytest.approx([0.3, 0.05])


def test_waits_of_others_are_not_given_away() -> None:
    """Of 40 scattered reads the segments made 10: three quarters of their time were for what is never moved."""
    of = {"multiblock_waits": 40, "multiblock_seconds": 0.8}
    assert _waited([{"blocks_read": 1280, "requests": 10}], None, **of) == pytest.approx([0.2])


def test_waiting_for_another_session_s_read_counts() -> None:
    """0.1 s of ``read by other session`` go where the reads were waited for: 3 to 1."""
    units = [{"blocks_read": 30, "requests": 30}, {"blocks_read": 10, "requests": 10}]
    of = {"single_block_waits": 40, "single_block_seconds": 0.4, "shared_read_waits": 9, "shared_read_seconds": 0.1}
    assert _waited(units, _times(reads=40, seconds=0.4), **of) == pytest.approx([0.375, 0.125])


def test_nothing_is_measured_where_nothing_is_timed() -> None:
    """TIMED_STATISTICS off: waits are counted and all times are 0."""
    interval = replace(_interval([{"requests": 9, "blocks_read": 9}]), database=_timed(single_block_waits=9))
    assert demand.classify(interval, _catalog([0]), _shape([100])).waited is None


def test_the_index_of_a_lob_counts_with_its_lob() -> None:
    """Object 101 is the index of LOB 100, and no unit: its 7 reads are the LOB's, its segment says nothing of it."""
    interval = _interval([{"requests": 5, "blocks_read": 5}, {"requests": 7, "blocks_read": 7, SEGMENT: 101}])
    shape = replace(_shape([100]), parts=np.array([[101], [100]]))
    found = demand.classify(interval, _catalog([0]), shape)
    assert found.physical_id.tolist() == [100]
    assert found.observed.tolist() == [True]
    assert _blocks(found, Signal.SYNC_READ) == pytest.approx([12])


def _times(*, reads: float, seconds: float) -> SpaceFigures:
    count, took = np.array([reads, NAN]), np.array([seconds, NAN])
    return SpaceFigures(name=("SLOW", "FAST"), reads=count, read_seconds=took, writes=count, write_seconds=took)


def test_instances_are_summed_before_segments_are_told_apart() -> None:
    """One segment counted on two instances is no second segment of its object."""
    once = by_object([(7, 70, 5, 5, 0, 5, 0, 0, 0, 0)])
    twice = by_object([(7, 70, 2, 2, 0, 2, 0, 0, 0, 0), (7, 70, 3, 3, 0, 3, 0, 0, 0, 0)])
    assert (once[0] == twice[0]).all()
    assert (once[1] == twice[1]).all()
