"""From counters to signals, by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from connectors.db2.catalog import Homes
from connectors.db2.counters import COUNTERS, KINDS
from connectors.db2.demand import ESTIMATED, classify
from connectors.db2.sampler import (
    BACKUPS,
    DISTURBED_ALL,
    column_names,
    disturbed_tables,
    epoch_of,
    log_figures,
    space_figures,
    space_key,
)
from connectors.db2.sessions import Row
from connectors.model.observation import Demand, Interval, Role, Signal

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOMES = Homes(np.array([1, 2, 3, 9], dtype=np.int64), np.array([4, 4, 5, 5], dtype=np.int64))


def told(number: int, **figures: float) -> dict[str, float]:
    """Figures of a table space in an interval; spaces in their names are written as _."""
    kinds = {f"{word} {kind}": 0.0 for word in ("physical", "async") for kind in KINDS}
    waits = dict.fromkeys(("sync_seconds", "prefetch_seconds", "direct_seconds"), 0.0)
    direct = dict.fromkeys(("direct_requests", "direct_sectors", "written"), 0.0)
    given = {word.replace("_DATA", " DATA").replace("_INDEX", " INDEX"): n for word, n in figures.items()}
    return {space_key(word, number): n for word, n in {**kinds, **waits, **direct, **given}.items()}


SPACES = told(4, physical_DATA=1000.0, async_DATA=750.0, written=80.0) | told(5, physical_DATA=500.0)


def interval(database: dict[str, float], restarted: tuple[bool, ...] = (False,) * 4, **deltas: list[float]) -> Interval:
    """Ten seconds of units 1, 2, 3 and 7."""
    none = [0.0] * 4
    return Interval(
        started_at=START,
        ended_at=START + timedelta(seconds=10),
        seconds=10.0,
        physical_id=np.array([1, 2, 3, 7], dtype=np.int64),
        deltas={name: np.array(deltas.get(name, none)) for name in COUNTERS},
        restarted=np.array(restarted),
        database=database,
    )


def rates(demand: Demand, signal: Signal) -> list[float]:
    """Of each unit."""
    return [float(rate) for rate in demand.rates[signal]]


def test_reads_take_the_share_of_their_space() -> None:
    """A quarter of space 4 was waited for, all of space 5: 400 -> 10/s and 30/s, 50 -> 5/s. Unit 7 has no home."""
    demand = classify(interval(SPACES, physical_reads=[400, 0, 50, 99]), HOMES)
    assert rates(demand, Signal.SYNC_READ) == [10.0, 0.0, 5.0, 0.0]
    assert rates(demand, Signal.PREFETCHED_READ) == [30.0, 0.0, 0.0, 0.0]
    assert demand.observed.tolist() == [True, True, True, False]
    assert demand.estimated == ESTIMATED


def test_a_space_that_tells_nothing_takes_the_share_of_all() -> None:
    """Space 5 restarted: of space 4 a quarter was waited for, so a quarter of everything."""
    demand = classify(interval({k: v for k, v in SPACES.items() if "5" not in k}, physical_reads=[0, 0, 40, 0]), HOMES)
    assert rates(demand, Signal.SYNC_READ) == [0.0, 0.0, 1.0, 0.0]


def test_writes_follow_the_rows_that_changed() -> None:
    """80 pages of space 4, three quarters of its changes in unit 1."""
    demand = classify(interval(SPACES, rows_changed=[300, 100, 0, 0]), HOMES)
    assert rates(demand, Signal.ASYNC_WRITE) == [6.0, 2.0, 0.0, 0.0]


def test_pitfall_05_direct_reads_are_requests() -> None:
    """Direct reads are I/Os, and are never mixed with pages."""
    demand = classify(interval(SPACES, direct_read_requests=[0, 20, 0, 0]), HOMES)
    assert rates(demand, Signal.DIRECT_READ) == [0.0, 2.0, 0.0, 0.0]
    assert not demand.rates[Signal.SYNC_READ].any()


def test_pitfall_28_a_utility_that_reads_through_the_pool_says_nothing() -> None:
    """While RUNSTATS runs its table is not observed, while a redistribution runs nothing is."""
    quiet = classify(
        interval({**SPACES, DISTURBED_ALL: 0.0}, physical_reads=[1, 1, 1, 1], disturbed=[0, 1, 0, 0]), HOMES
    )
    assert quiet.observed.tolist() == [True, False, True, False]
    loud = classify(interval({**SPACES, DISTURBED_ALL: 1.0}, physical_reads=[1, 1, 1, 1]), HOMES)
    assert not loud.observed.any()
    assert not loud.rates.any()


def test_pitfall_28_a_backup_leaves_demand_alone() -> None:
    """It reads past the buffer pool, so pool counters are those of sessions: only its own direct reads are no demand.

    An online backup used to void its interval: where one runs for hours a night, a night's demand was lost.
    """
    spaces = told(4, physical_DATA=40.0, sync_seconds=2.0, direct_requests=100.0, direct_seconds=60.0)
    both = {**spaces, "read_seconds": 62.0, BACKUPS: 1.0}
    reads: dict[str, Any] = {"physical_reads": [40.0, 0.0, 0.0, 0.0], "logical_reads": [40.0, 0.0, 0.0, 0.0]}
    demand = classify(interval(both, **reads, direct_read_requests=[0.0, 10.0, 0.0, 0.0]), HOMES)
    assert demand.observed.tolist() == [True, True, True, False]
    assert waited(demand)[:2] == pytest.approx([0.2, 0.6])  # 6 s of 60 s: a tenth of the direct reads were of unit 2
    assert demand.database.read_wait == pytest.approx(0.8)
    usual = classify(interval({**both, BACKUPS: 0.0}, **reads), HOMES)
    assert usual.database.read_wait == pytest.approx(6.2)


def test_units_have_their_part_of_the_sectors_where_others_read_more_at_a_time() -> None:
    """Half of the requests of space 4 were of unit 2, but a tenth of the sectors: a tenth of 60 s was its wait."""
    spaces = told(4, direct_requests=20.0, direct_sectors=1000.0, direct_seconds=60.0)
    direct: dict[str, Any] = {
        "direct_read_requests": [0.0, 10.0, 0.0, 0.0],
        "direct_read_sectors": [0.0, 100.0, 0.0, 0.0],
    }
    assert waited(classify(interval(spaces, **direct), HOMES))[:2] == pytest.approx([0.0, 0.6])


def waited(demand: Demand) -> list[float]:
    """Seconds per second of each unit."""
    assert demand.waited is not None
    return [float(seconds) for seconds in demand.waited]


LOOKED_UP: dict[str, Any] = {"physical_reads": [20.0, 80.0, 0.0, 0.0], "logical_reads": [20.0, 80.0, 0.0, 0.0]}


def test_scans_are_read_ahead_of_sessions() -> None:
    """80 of 100 pages were read ahead: those of unit 2, which scanned, although no counter tells pages found."""
    spaces = told(4, physical_DATA=100.0, async_DATA=80.0, sync_seconds=1.0)
    demand = classify(interval(spaces, **LOOKED_UP, scans=[0.0, 1.0, 0.0, 0.0]), HOMES)
    assert rates(demand, Signal.SYNC_READ)[:2] == [2.0, 0.0]
    assert rates(demand, Signal.PREFETCHED_READ)[:2] == [0.0, 8.0]
    assert waited(demand)[:2] == pytest.approx([0.1, 0.0])


def test_pages_that_were_found_were_read_ahead() -> None:
    """Both scanned; unit 1 found nothing and waited, unit 2 found every page."""
    spaces = told(4, physical_DATA=100.0, async_DATA=80.0, sync_seconds=1.0)
    found: dict[str, Any] = {"scans": [3.0, 1.0, 0.0, 0.0], "found_pages": [0.0, 80.0, 0.0, 0.0]}
    demand = classify(interval(spaces, **LOOKED_UP, **found), HOMES)
    assert rates(demand, Signal.SYNC_READ)[:2] == [2.0, 0.0]


def test_pages_not_found_are_not_believed_where_they_are_too_many() -> None:
    """The group pool of pureScale answers misses too: 100 pages not found, 20 read by sessions; scans decide."""
    spaces = told(4, physical_DATA=100.0, async_DATA=80.0)
    found: dict[str, Any] = {"scans": [0.0, 1.0, 0.0, 0.0], "found_pages": [1.0, 0.0, 0.0, 0.0]}
    demand = classify(interval(spaces, **LOOKED_UP, **found), HOMES)
    assert rates(demand, Signal.SYNC_READ)[:2] == [2.0, 0.0]


def test_each_kind_of_page_has_a_share_of_its_own() -> None:
    """Unit 1 is a table that was read ahead, unit 2 an index that was not; 20 pages were waited for, 2 s."""
    spaces = told(4, physical_DATA=80.0, async_DATA=80.0, physical_INDEX=20.0, sync_seconds=2.0, prefetch_seconds=3.0)
    reads: dict[str, Any] = {"physical_reads": [80.0, 20.0, 0.0, 0.0], "index_reads": [0.0, 20.0, 0.0, 0.0]}
    demand = classify(interval(spaces, **reads), HOMES)
    assert rates(demand, Signal.SYNC_READ)[:2] == [0.0, 2.0]
    assert waited(demand)[:2] == pytest.approx([0.3, 0.2])  # waits for prefetchers are of what they read


def test_waits_for_what_no_unit_read_are_of_no_unit() -> None:
    """Half of the pages of space 4 belong to nothing that is known: half of its wait too."""
    spaces = told(4, physical_DATA=200.0, sync_seconds=2.0)
    demand = classify(interval(spaces, physical_reads=[100.0, 0.0, 0.0, 0.0]), HOMES)
    assert waited(demand)[0] == pytest.approx(0.1)


def test_a_space_that_restarted_measures_no_wait() -> None:
    """Its figures fell: what its units waited is not known, and nothing else is taken for it."""
    demand = classify(interval(told(5, physical_DATA=9.0), physical_reads=[9.0, 0.0, 9.0, 0.0]), HOMES)
    assert np.isnan(waited(demand)[0])
    assert waited(demand)[2] == 0.0


def test_what_restarted_is_not_observed() -> None:
    """A table that was made anew is no evidence of cold."""
    demand = classify(interval(SPACES, (True, False, False, False), physical_reads=[5, 5, 5, 5]), HOMES)
    assert demand.observed.tolist() == [False, True, True, False]


def test_utilities_by_what_they_work_on() -> None:
    """RUNSTATS disturbs its table, a redistribution everything, a backup and a rebalance nobody."""
    rows: list[Row] = [
        (0, 7, "RUNSTATS", None, "APP", "ORDERS"),
        (0, 8, "REBALANCE", None, None, None),
    ]
    assert disturbed_tables(rows) == ({("APP", "ORDERS")}, False)
    assert disturbed_tables([*rows, (0, 9, "BACKUP", None, None, None)]) == ({("APP", "ORDERS")}, False)
    assert disturbed_tables([*rows, (0, 9, "REDISTRIBUTE", None, None, None)]) == ({("APP", "ORDERS")}, True)


def test_pitfall_06_an_activation_is_another_epoch() -> None:
    """The epoch holds the activation of every member, in whatever order they are told."""
    first, second = (0, START, 1, 1), (1, START + timedelta(hours=1), 1, 1)
    assert epoch_of([first, second]) == epoch_of([second, first])
    assert epoch_of([first, second]) != epoch_of([first, (1, START + timedelta(hours=2), 1, 1)])
    assert epoch_of([]) == ""


def space_row(number: int, member: int, name: str, group: str | None, **values: int) -> Row:
    """A row of sample_spaces."""
    known = {
        "TBSP_ID": number,
        "MEMBER": member,
        "TBSP_NAME": name,
        "TBSP_CONTENT_TYPE": "LARGE",
        "STORAGE_GROUP_NAME": group,
    }
    return tuple({**known, **values}.get(column, 0) for column in column_names("sample_spaces"))


def test_members_are_summed() -> None:
    """Two members read 30 and 50 pages of one table space, all waited for, in 0.4 s."""
    rows = [
        space_row(4, 0, "TS", "SG", POOL_DATA_P_READS=30, POOL_READ_TIME=100),
        space_row(4, 1, "TS", "SG", POOL_DATA_P_READS=50, POOL_READ_TIME=300),
    ]
    figures, database, _ = space_figures(rows, by_group=False)
    assert figures.name == ("TS",)
    assert figures.reads.tolist() == [80.0]
    assert figures.read_seconds.tolist() == [pytest.approx(0.4)]
    assert database["reads"] == 80.0
    assert database[space_key("physical DATA", 4)] == 80.0
    assert database[space_key("sync_seconds", 4)] == pytest.approx(0.4)


def test_storage_groups_sum_their_table_spaces() -> None:
    """Where storage groups are the spaces, so are their figures; a table space without one is itself."""
    rows = [
        space_row(4, 0, "A", "SG", POOL_DATA_P_READS=1),
        space_row(5, 0, "B", "SG", POOL_DATA_P_READS=2),
        space_row(6, 0, "OWN", None, POOL_DATA_P_READS=4),
    ]
    figures, *_ = space_figures(rows, by_group=True)
    assert dict(zip(figures.name, figures.reads.tolist(), strict=True)) == {"SG": 3.0, "OWN": 4.0}


def test_temporary_spaces_are_no_place_to_be() -> None:
    """Their reads count in the database and not as a space; they are judged by their own waits."""
    row = space_row(1, 0, "TEMP", None, POOL_TEMP_DATA_P_READS=9, POOL_READ_TIME=90, DIRECT_WRITE_REQS=2)
    at = column_names("sample_spaces").index("TBSP_CONTENT_TYPE")
    figures, database, temporary = space_figures([(*row[:at], "SYSTEMP", *row[at + 1 :])], by_group=False)
    assert figures.name == ()
    assert database["reads"] == 9.0
    (figure,) = temporary
    assert (figure.role, figure.name, figure.reads, figure.writes) == (Role.TEMP, "TEMP", 9.0, 2.0)
    assert figure.waited_seconds == figure.read_seconds == pytest.approx(0.09)


def test_waits_for_the_log_are_summed_over_members() -> None:
    """30 and 50 waits of 4 ms each; before 10.5 nobody tells, and nothing is said."""
    (log,) = log_figures([(0, "t", 1, 1, 30, 120), (1, "t", 1, 1, 50, 200)])
    assert (log.role, log.writes) == (Role.LOG, 80.0)
    assert log.waited_seconds == log.write_seconds == pytest.approx(0.32)
    assert log_figures([]) == ()
