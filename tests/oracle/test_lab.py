"""The connector against the emulated server, over the real python-oracledb: what the contract does not ask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from connectors.kit.contract import Connector, ConnectorError, LockNotObtained, TimedOut
from connectors.kit.findings import Severity
from connectors.model.moves import NoRoute, Route, Step
from connectors.model.observation import Home, Interval, Signal
from connectors.oracle.sampler import SEGMENT
from policies.evidence.counter_deltas import OTHER_EPOCH, Gap, difference
from tests.contract.asking import bundle_of, demand_of, reads_of, route_to, run, together
from tests.labs.oracle.harness import OWNER, SLOW_SECONDS_PER_GB, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks

MIB = 1 << 20


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """Enterprise Edition, 19c, one instance."""
    with running_harness("oracle 19 (emulated server)") as running:
        yield running


@pytest.fixture(scope="module")
def cluster() -> Iterator[OracleHarness]:
    """Standard Edition, 12.1, two instances."""
    quirks = Quirks(edition="SE2", instances=2)
    with running_harness("oracle 12.1 SE2 RAC (emulated server)", (12, 1, 0, 2, 0), quirks) as running:
        yield running


@pytest.fixture
def connector(lab: OracleHarness) -> Iterator[Connector]:
    """Of the agent, on 19c."""
    connected = lab.connect()
    yield connected
    connected.close()


@pytest.fixture
def member(cluster: OracleHarness) -> Iterator[Connector]:
    """Of the agent, on the cluster."""
    connected = cluster.connect()
    yield connected
    connected.close()


def _homes(connector: Connector) -> dict[str, str]:
    catalog = connector.catalog()
    rows = zip(catalog.units.key, catalog.units.space, strict=True)
    return {key: catalog.spaces[space].name for key, space in rows}


def test_a_partition_moves_online_and_its_indexes_stay(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: one partition goes, the other and both index partitions stay, usable."""
    table = lab.database.add_table(OWNER, "SALES", "SLOW", MIB, partitions=("P1", "P2"))
    index = lab.database.add_index(table, "SALES_IX", "SLOW", MIB, local=True)
    route = route_to(connector, "APP.SALES PARTITION P1", "FAST")
    assert route.online
    run(connector, route)
    homes = _homes(connector)
    assert homes["APP.SALES PARTITION P1"] == "FAST"
    assert {homes[f"APP.{key}"] for key in ("SALES PARTITION P2", "SALES_IX INDEX PARTITION P1")} == {"SLOW"}
    assert not index.unusable
    assert connector.inspect(route).leftovers == ()


def test_an_index_partition_moves_alone(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: rebuilt elsewhere, and back."""
    table = lab.database.add_table(OWNER, "VISITS", "SLOW", MIB, partitions=("P1", "P2"))
    lab.database.add_index(table, "VISITS_IX", "SLOW", MIB, local=True)
    route = route_to(connector, "APP.VISITS_IX INDEX PARTITION P2", "FAST")
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    run(connector, route, undo=True)
    assert connector.inspect(route).home is Home.SOURCE


def test_an_index_organised_table_moves(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: its segment is an index by name and the table by key."""
    lab.database.add_table(OWNER, "RATES", "SLOW", MIB, iot=True)
    route = route_to(connector, "APP.RATES", "FAST")
    assert route.steps[0].sql.endswith('ALTER TABLE "APP"."RATES" MOVE ONLINE TABLESPACE "FAST"')
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET


def test_lobs_return_each_to_its_own_place(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: the table lived in SLOW and its LOB in USERS; undo knows (oracle.md f19)."""
    table = lab.database.add_table(OWNER, "MAILS", "SLOW", MIB)
    lab.database.add_lob(table, "BODY", "USERS", MIB)
    lab.database.users[OWNER].quotas["USERS"] = -1
    found = connector.routes(together(connector, "APP.MAILS", "APP.MAILS LOB (BODY)"), "FAST")
    assert not isinstance(found, NoRoute)
    route = found[0]
    run(connector, route)
    assert {_homes(connector)[key] for key in ("APP.MAILS", "APP.MAILS LOB (BODY)")} == {"FAST"}
    run(connector, route, undo=True)
    homes = _homes(connector)
    assert (homes["APP.MAILS"], homes["APP.MAILS LOB (BODY)"]) == ("SLOW", "USERS")


def test_a_move_that_leaves_a_lob_shows_as_split(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: somebody moved the table without naming its LOB."""
    table = lab.database.add_table(OWNER, "NOTES", "SLOW", MIB)
    lab.database.add_lob(table, "BODY", "SLOW", MIB)
    found = connector.routes(together(connector, "APP.NOTES", "APP.NOTES LOB (BODY)"), "FAST")
    assert not isinstance(found, NoRoute)
    route = found[0]
    with connector.open_mover() as mover:
        mover.execute(Step(sql='ALTER TABLE "APP"."NOTES" MOVE TABLESPACE "FAST" UPDATE INDEXES', purpose="half"))
    assert connector.inspect(route).home is Home.SPLIT


def test_a_moved_segment_is_not_cold(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: after a move DATAOBJ# is another one; that interval says nothing, the next one does (f3)."""
    table = lab.create("fresh")
    lab.read_randomly(table, 50)
    connector.catalog()
    route = route_to(connector, table.key, "FAST")

    def moved() -> None:
        run(connector, route)
        lab.read_randomly(table, 40)

    demand, catalog = demand_of(lab, connector, moved)
    at = catalog.units.rows_of(demand.physical_id)
    seen = {catalog.units.key[row]: bool(o) for row, o in zip(at, demand.observed, strict=True) if row >= 0}
    assert seen[table.key] is False
    demand, catalog = demand_of(lab, connector, lambda: lab.read_randomly(table, 70))
    assert reads_of(demand, catalog, Signal.SYNC_READ)[table.key] == pytest.approx(70)
    lab.drop(table)


def test_the_first_reads_of_an_object_count(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: no row in V$SEGSTAT before, 25 reads after: 25 reads."""
    table = lab.create("untouched")
    demand, catalog = demand_of(lab, connector, lambda: lab.read_randomly(table, 25))
    assert reads_of(demand, catalog, Signal.SYNC_READ)[table.key] == pytest.approx(25)
    lab.drop(table)


def test_read_times_by_tablespace(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: 200 reads of 5 ms each are one second of SLOW and nothing of FAST."""
    table = lab.create("timed")
    demand, _ = demand_of(lab, connector, lambda: lab.read_randomly(table, 200))
    assert demand.spaces is not None
    slow, fast = (demand.spaces.name.index(name) for name in ("SLOW", "FAST"))
    assert demand.spaces.reads[slow] * demand.seconds == pytest.approx(200)
    assert demand.spaces.read_seconds[slow] * demand.seconds == pytest.approx(1.0)
    assert demand.spaces.reads[fast] == 0
    assert demand.database.read_wait * demand.seconds == pytest.approx(1.0)
    lab.drop(table)


def test_a_dropped_object_does_not_come_back(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: an entry that vanishes keeps its last values, so nothing is made of its return (a1.6)."""
    table = lab.create("shortlived")
    lab.read_randomly(table, 30)
    before = connector.sample()
    lab.drop(table)
    after = connector.sample()
    assert bool(np.isin(before.physical_id, after.physical_id).all())
    gone = difference(before, after, longest_seconds=60.0)
    assert isinstance(gone, Interval | Gap)


def _held_up(mover: Any, route: Route, step: Step) -> None:
    """Send an online step without the look at open transactions that comes before it."""
    mover.prepare(replace(route, online=False))
    mover.execute(step)


def test_a_running_online_move_does_not_wait_for_ever(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: a transaction that began after the look is noticed by the watcher (oracle.md f22)."""
    table = lab.create("waited")
    route = route_to(connector, table.key, "FAST")
    with lab.hold_lock(table), connector.open_mover() as mover, pytest.raises(LockNotObtained) as caught:
        _held_up(mover, route, route.steps[0])
    assert caught.value.native_code == "ORA-01013"
    assert connector.inspect(route).home is Home.SOURCE
    lab.drop(table)


def test_a_step_has_a_deadline_of_its_own(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: it is cancelled, which the server confirms; a driver's time-out would tell nothing."""
    table = lab.create("late")
    route = route_to(connector, table.key, "FAST")
    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB
    try:
        with connector.open_mover() as mover:
            mover.prepare(route)
            with pytest.raises(TimedOut):
                mover.execute(replace(route.steps[0], timeout_seconds=0.7))
    finally:
        lab.database.seconds_per_gb = 0.0
    assert connector.inspect(route).home is Home.SOURCE
    lab.drop(table)


def test_progress_is_seen_and_ends(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: V$SESSION_LONGOPS of the moving session, and nothing when no step runs."""
    table = lab.create("watched")
    route = route_to(connector, table.key, "FAST")
    seen: list[str] = []
    lab.database.long_operations.clear()
    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB
    ended = threading.Event()
    try:
        with connector.open_mover() as mover:
            mover.prepare(route)
            assert mover.progress() is None

            def look() -> None:
                while not ended.wait(0.05):
                    found = mover.progress()
                    if found is not None:
                        assert 0 <= found.done_bytes <= found.total_bytes
                        seen.append(found.sentence)
                        lab.database.seconds_per_gb = 0.0  # it has been seen and may end

            looker = threading.Thread(target=look)
            looker.start()
            try:
                mover.execute(route.steps[0])
            finally:
                ended.set()
                looker.join()
            assert mover.progress() is None
    finally:
        lab.database.seconds_per_gb = 0.0
    assert seen[0].startswith("Table Scan")
    lab.drop(table)


def test_indexes_left_unusable_are_repaired(cluster: OracleHarness, member: Connector) -> None:
    """Emulated server: 12.1 moves first and rebuilds then; stopped between, the repair is among the approved steps."""
    table = cluster.create("HALFWAY")
    route = route_to(member, table.key, "FAST")
    assert len(route.steps) == 2
    with member.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
    halfway = member.inspect(route)
    assert (halfway.home, len(halfway.leftovers)) == (Home.TARGET, 1)
    assert halfway.leftovers[0] in route.tidy_steps
    with member.open_mover() as mover:
        mover.prepare(route)
        mover.execute(halfway.leftovers[0])
    assert member.inspect(route).leftovers == ()
    assert not cluster.table(table).indexes[0].unusable
    cluster.drop(table)


def test_counters_of_all_instances_are_summed(cluster: OracleHarness, member: Connector) -> None:
    """Emulated server: 30 reads here and 12 there are 42 (oracle.md f10)."""
    table = cluster.create("SHARED")
    segment = cluster.table(table).segments[0]

    def load() -> None:
        cluster.database.read_randomly(segment, 30, instance=1)
        cluster.database.read_randomly(segment, 12, instance=2)

    demand, catalog = demand_of(cluster, member, load)
    assert reads_of(demand, catalog, Signal.SYNC_READ)[table.key] == pytest.approx(42)
    assert member.identify().topology == "cluster"
    cluster.drop(table)


def test_an_instance_that_restarts_costs_one_interval(cluster: OracleHarness, member: Connector) -> None:
    """Emulated server: the other one's counters go on, and yet nothing is concluded (oracle.md f4)."""
    table = cluster.create("RESTARTED")
    cluster.read_randomly(table, 20)
    before = member.sample()
    cluster.database.restart(2)
    after = member.sample()
    found = difference(before, after, longest_seconds=60.0)
    assert isinstance(found, Gap)
    assert found.code == OTHER_EPOCH
    cluster.drop(table)


def test_a_restart_during_a_sample_makes_none(lab: OracleHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulated server: counters that belong to two epochs are not a sample."""
    connector = lab.connector()
    read, names = connector._session.rows, []

    def rows(statement: str, values: Any = None, *, doing: str, **more: Any) -> Any:
        names.append(doing)
        if doing == "sampling files":
            lab.database.restart()
        return read(statement, values, doing=doing, **more)

    monkeypatch.setattr(connector._session, "rows", rows)
    try:
        connector.identify()
        names.clear()
        with pytest.raises(ConnectorError, match="started while"):
            connector.sample()
        assert len(names) == 7  # statements of a sample, whatever the size
    finally:
        connector.close()


def test_segment_ids_are_no_work(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: the first counter is the DATAOBJ# of the catalog."""
    table = lab.create("counted")
    lab.read_randomly(table, 5)
    sample = connector.sample()
    segment = lab.table(table).segments[0]
    at = sample.physical_id.tolist().index(segment.object_id)
    assert int(sample.counters[SEGMENT][at]) == segment.data_object_id
    lab.drop(table)


@pytest.mark.parametrize(
    ("quirk", "code"),
    [("long_column", "long_column"), ("clustered", "cluster"), ("queue", "queue"), ("nested", "nested_table")],
)
def test_what_cannot_move_is_refused_by_the_catalog(
    lab: OracleHarness, connector: Connector, quirk: str, code: str
) -> None:
    """Emulated server: the dictionary shows it and no statement is made (oracle.md c8)."""
    table = lab.database.add_table(OWNER, f"ODD_{quirk.upper()}", "SLOW", MIB)
    setattr(table, quirk, True)
    lab.database.generation += 1
    found = connector.routes(bundle_of(connector.catalog(), f"APP.{table.name}"), "FAST")
    assert getattr(found, "code", "") == code


def test_a_master_of_a_rowid_log_is_refused(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: its fast refresh would fail with ORA-12034 (oracle.md f20)."""
    table = lab.database.add_table(OWNER, "MASTER", "SLOW", MIB)
    table.mview_log = "ROWID"
    lab.database.generation += 1
    found = connector.routes(bundle_of(connector.catalog(), "APP.MASTER"), "FAST")
    assert getattr(found, "code", "") == "rowid_log"


@pytest.mark.parametrize(
    "version", [(11, 2, 0, 4, 0), (12, 2, 0, 1, 0), (23, 4, 0, 24, 5)], ids=lambda v: f"{v[0]}.{v[1]}"
)
def test_other_releases(version: tuple[int, ...]) -> None:
    """Emulated server: the queries for a release read only what that release documents; a move goes there and back.

    The wire is that of a later release: thin mode does not speak to a real 11.2, thick mode cannot run here.
    """
    quirks = Quirks(container="") if version < (12, 1) else Quirks()
    with running_harness("another release (emulated server)", version, quirks) as lab:
        table = lab.create("ORDERS", lob=True)
        connector = lab.connect()
        try:
            assert connector.identify().version_number == version[:2]
            demand, catalog = demand_of(lab, connector, lambda: lab.read_randomly(table, 25))
            assert reads_of(demand, catalog, Signal.SYNC_READ)[table.key] == pytest.approx(25)
            route = route_to(connector, table.key, "FAST")
            run(connector, route)
            assert connector.inspect(route).home is Home.TARGET
            assert not lab.table(table).indexes[0].unusable
            run(connector, route, undo=True)
            assert connector.inspect(route).home is Home.SOURCE
            wrong = {found.code for found in connector.doctor() if found.severity is not Severity.OK}
            assert wrong == ({"journal_rights_missing"} if version < (12, 1) else set())
        finally:
            connector.close()


def test_an_interrupted_rebuild_is_told(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: the call that cleans up is for a DBA, and no part of the route (ORA-08104)."""
    table = lab.create("journalled")
    route = route_to(connector, table.index_key, "FAST")
    assert connector.inspect(route).leftovers == ()
    number = lab.table(table).indexes[0].object_id
    lab.database.add_table(OWNER, f"SYS_JOURNAL_{number}", "SLOW", MIB)
    (left,) = connector.inspect(route).leftovers
    assert f"SYS.DBMS_REPAIR.ONLINE_INDEX_CLEAN({number})" in left.sql
    assert left not in route.tidy_steps
    lab.database.drop_table(OWNER, f"SYS_JOURNAL_{number}")
    lab.drop(table)


def test_totals_since_the_start_rank_nothing(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: a million reads before the first sample count for nothing, forty after it do (oracle.md f2)."""
    once, now = lab.create("once"), lab.create("now")
    lab.read_randomly(once, 1_000_000)
    demand, catalog = demand_of(lab, connector, lambda: lab.read_randomly(now, 40))
    assert reads_of(demand, catalog, Signal.SYNC_READ) == {now.key: pytest.approx(40)}
    lab.drop(once)
    lab.drop(now)


def test_a_parallel_rebuild_leaves_the_degree_as_it_was(lab: OracleHarness) -> None:
    """Emulated server: REBUILD PARALLEL stores its degree; the route restores it, and inspect sees where it did not."""
    table = lab.create("wide")
    index = lab.table(table).indexes[0]
    index.degree = "3"
    connector = lab.connector(parallel=4)
    try:
        route = route_to(connector, str(table.index_key), "FAST")
        with connector.open_mover() as mover:
            mover.prepare(route)
            mover.execute(route.steps[0])
            assert index.degree == "4"
            (left,) = connector.inspect(route).leftovers
            assert left in route.tidy_steps
            mover.execute(left)
        assert index.degree == "3"
        assert connector.inspect(route).leftovers == ()
        run(connector, route, undo=True)
        assert (index.degree, index.segments[0].tablespace) == ("3", "SLOW")
    finally:
        connector.close()
        lab.drop(table)
