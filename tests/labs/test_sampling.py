"""Counters of a real server against workloads made by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import psycopg
import pytest

from connectors.kit.contract import TimedOut
from connectors.kit.population import KindLook
from connectors.model.observation import Demand, Interval, Sample, Signal
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.sampler import KNOWS_CONTEXTS
from connectors.postgresql.sessions import ReadSession, query
from policies.evidence.counter_deltas import difference
from policies.evidence.device import empty_devices, observe
from policies.model.settings import PolicySettings, TierSpeed
from tests.labs.postgresql import Cluster, flush

BLOCK = 8192
TRIES = 6


def oid(dba: psycopg.Connection, name: str) -> int:
    """The oid of a relation."""
    row = dba.execute("SELECT %s::regclass::oid::bigint", (name,)).fetchone()
    assert row is not None
    return int(row[0])


def counter(sample: Sample, unit: int, name: str) -> int:
    """One counter of one unit, 0 where it is absent."""
    at = np.flatnonzero(sample.physical_id == unit)
    return int(sample.counters[name][at[0]]) if len(at) else 0


def demand_of(connector: PostgresqlConnector, load: Callable[[], object]) -> Demand:
    """What the connector makes of a load, the catalog read before."""
    catalog = connector.catalog()
    before = connector.sample()
    load()
    interval = difference(before, connector.sample(), longest_seconds=3600, known=catalog.units.physical_id)
    assert isinstance(interval, Interval), interval
    return connector.classify(interval, catalog)


def reads(demand: Demand, signal: Signal, unit: int) -> float:
    """How many blocks of that unit."""
    at = np.flatnonzero(demand.physical_id == unit)
    return float(demand.rates[signal, at[0]] * demand.seconds) if len(at) else 0.0


def filled(dba: psycopg.Connection, name: str, rows: int = 4000) -> int:
    """A table of about a block for every 7 rows; its oid."""
    dba.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, filler text)".encode())
    dba.execute(f"ALTER TABLE {name} ALTER filler SET STORAGE PLAIN".encode())
    dba.execute(f"INSERT INTO {name} SELECT g, repeat('x', 1000) FROM generate_series(1, {rows}) AS g".encode())
    dba.execute(f"VACUUM (ANALYZE) {name}".encode())
    flush(dba)
    return oid(dba, name)


def test_a_scan_is_counted_to_the_block(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """One full scan: its rows, one scan, every block once; read ahead, none waited for."""
    unit = filled(dba, "scanned")
    before = connector.sample()
    dba.execute("SET max_parallel_workers_per_gather = 0")
    dba.execute("SELECT sum(length(filler)) FROM scanned")
    flush(dba)
    after = connector.sample()
    size = dba.execute("SELECT pg_relation_size('scanned')").fetchone()
    assert size is not None
    assert counter(after, unit, "rows_scanned") - counter(before, unit, "rows_scanned") == 4000
    assert counter(after, unit, "scans") - counter(before, unit, "scans") == 1
    assert counter(after, unit, "blocks_fetched") - counter(before, unit, "blocks_fetched") == size[0] // BLOCK


def test_look_ups_are_waited_for(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """200 look-ups far apart in a table ten times the buffer pool are about 200 synchronous reads."""
    unit = filled(dba, "looked_up", rows=8000)

    def load() -> None:
        dba.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        for read in range(200):
            dba.execute("SELECT length(filler) FROM looked_up WHERE id = %s", (1 + read * 4241 % 8000,))
        flush(dba)

    demand = demand_of(connector, load)
    assert 150 <= reads(demand, Signal.SYNC_READ, unit) <= 200
    assert reads(demand, Signal.PREFETCHED_READ, unit) == 0
    assert demand.database.reads > 0
    assert demand.database.read_wait >= 0


def _own_reads(plan: dict[str, Any]) -> tuple[float, float]:
    """Blocks that a plan's root read from storage, and the seconds that this took."""
    name = "Shared I/O Read Time" if "Shared I/O Read Time" in plan else "I/O Read Time"  # since 17, before
    return float(plan["Shared Read Blocks"]), float(plan[name]) / 1000


def test_the_time_of_a_look_up_holds_no_wait_of_scans(
    cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Look-ups of cached files beside scans: what is learned of a single read is what the look-ups themselves took.

    In the best of a few tries: while the server reads a catalog it may lose the processor for longer than all look-ups
    take. Before 16 nothing tells scans apart.
    """
    speed = TierSpeed(random_read_seconds=0.0002, sequential_read_seconds=0.000016, write_seconds=0.0001)
    pages = 2000 / 7
    filled(dba, "looked_up", rows=2000)
    filled(dba, "scanned", rows=2000)
    dba.execute("SET enable_bitmapscan = off; SET enable_seqscan = off; SET max_parallel_workers_per_gather = 0")
    own: list[tuple[float, float]] = []

    def load() -> None:
        for number in range(600):
            if number % 10 == 0:
                dba.execute("SELECT sum(length(filler)) FROM scanned")
            found = dba.execute(
                "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT length(filler) FROM looked_up WHERE id = %s",
                (1 + number * 1061 % 2000,),
            ).fetchone()
            assert found is not None
            own.append(_own_reads(found[0][0]["Plan"]))
        flush(dba)

    def learned_and_own() -> tuple[float, float]:
        own.clear()
        demand = demand_of(connector, load)
        database, (blocks, seconds) = demand.database, np.sum(own, axis=0)
        if cluster.major >= KNOWS_CONTEXTS // 10000:
            assert 30 * pages < database.scan_reads * demand.seconds < 61 * pages  # what is not still in buffers
            assert 0 < database.scan_wait < database.read_wait
        on_it = np.zeros(len(demand.physical_id), dtype=np.int64)
        state = observe(empty_devices(1), (speed,), demand, on_it, PolicySettings())
        factor = float(state.moment[0] / state.gram[0, 0])  # without the weight of the configured speed
        return factor * speed.random_read_seconds, seconds / blocks

    learned, true = learned_and_own()
    if cluster.major < KNOWS_CONTEXTS // 10000:
        assert learned > 2 * true
        return
    errors = [abs(learned / true - 1)]
    while errors[-1] > 0.3 and len(errors) < TRIES:
        learned, true = learned_and_own()
        errors.append(abs(learned / true - 1))
    assert errors[-1] <= 0.3, errors


def test_a_bitmap_scan_is_a_run(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Half of a table by a bitmap scan, in the order of its blocks: read ahead, as if it were a sequential scan."""
    unit = filled(dba, "mapped", rows=8000)

    def load() -> None:
        dba.execute("SET enable_seqscan = off; SET enable_indexscan = off")
        dba.execute("SELECT sum(length(filler)) FROM mapped WHERE id <= 4000")
        flush(dba)

    demand = demand_of(connector, load)
    assert reads(demand, Signal.PREFETCHED_READ, unit) >= 500
    assert reads(demand, Signal.SYNC_READ, unit) <= 0.05 * reads(demand, Signal.PREFETCHED_READ, unit)


def test_vacuum_and_analyze_are_no_demand(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """VACUUM and ANALYZE of a cold table read it, and no session waits for that."""
    unit = filled(dba, "cold")
    index = oid(dba, "cold_pkey")

    def load() -> None:
        dba.execute("DELETE FROM cold WHERE id % 5 = 0")
        dba.execute("VACUUM (ANALYZE, FREEZE, DISABLE_PAGE_SKIPPING) cold")
        flush(dba)

    demand = demand_of(connector, load)
    assert reads(demand, Signal.PREFETCHED_READ, unit) > 100
    few = 5  # blocks of the free space and visibility maps
    assert reads(demand, Signal.SYNC_READ, unit) <= few
    assert reads(demand, Signal.SYNC_READ, index) <= few


def test_appending_is_no_reading(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """New rows at the end of a table are writes; hardly a read that anybody waited for, in any version."""
    unit = filled(dba, "appended")

    def load() -> None:
        dba.execute("INSERT INTO appended SELECT g, repeat('x', 1000) FROM generate_series(9001, 12000) AS g")
        flush(dba)

    demand = demand_of(connector, load)
    assert reads(demand, Signal.ASYNC_WRITE, unit) == pytest.approx(3000 / 7, rel=0.1)
    assert reads(demand, Signal.SYNC_READ, unit) < 0.1 * 3000 / 7


def test_toast_is_counted_with_its_table(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Reading long values shows on the table that owns them; TOAST relations are no units."""
    connector.sample()  # before the table exists: its TOAST table is met later
    dba.execute("CREATE TABLE documents (id int PRIMARY KEY, body text)")
    dba.execute("ALTER TABLE documents ALTER body SET STORAGE EXTERNAL")
    dba.execute("INSERT INTO documents SELECT g, repeat('x', 40000) FROM generate_series(1, 100) AS g")
    dba.execute("VACUUM ANALYZE documents")
    flush(dba)
    unit, toast = (
        oid(dba, "documents"),
        dba.execute("SELECT reltoastrelid::bigint FROM pg_class WHERE relname = 'documents'"),
    )
    row = toast.fetchone()
    assert row is not None
    catalog = connector.catalog()
    before = connector.sample()
    assert counter(before, unit, "toast_chunks") >= 100 * 20
    assert row[0] not in before.physical_id
    dba.execute("SELECT sum(length(substr(body, 39000))) FROM documents")
    flush(dba)
    after = connector.sample()
    heap = dba.execute("SELECT pg_relation_size('documents')").fetchone()
    assert heap is not None
    assert counter(after, unit, "blocks_fetched") - counter(before, unit, "blocks_fetched") > heap[0] // BLOCK
    assert row[0] not in catalog.units.physical_id
    sizes = dict(zip(catalog.units.key, catalog.units.size_bytes, strict=True))
    assert sizes["public.documents"] > 100 * 40000


def test_toast_of_a_rebuilt_table_is_found_again(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """VACUUM FULL gives a table another TOAST table; its reads still count for the table."""
    dba.execute("CREATE TABLE rebuilt (body text); ALTER TABLE rebuilt ALTER body SET STORAGE EXTERNAL")
    dba.execute("INSERT INTO rebuilt SELECT repeat('x', 40000) FROM generate_series(1, 50)")
    flush(dba)
    connector.sample()
    dba.execute("VACUUM FULL rebuilt")
    flush(dba)
    before = connector.sample()
    dba.execute("SELECT count(*) FROM rebuilt WHERE length(substr(body, 30000)) > 0")
    flush(dba)
    grown = counter(connector.sample(), oid(dba, "rebuilt"), "blocks_fetched")
    assert grown - counter(before, oid(dba, "rebuilt"), "blocks_fetched") >= 50


def test_ids_are_held_once(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Where every unit has counters, catalog and samples share one column of ids; not once a unit has come."""
    filled(dba, "orders")
    ids = connector.catalog().units.physical_id
    assert connector.sample().physical_id is ids
    assert connector.sample().physical_id is ids
    filled(dba, "more")
    later = connector.sample().physical_id
    assert len(later) > len(ids)
    assert connector.sample().physical_id is later


def test_system_relations_and_our_own_reads_are_not_there(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Sampling and reading the catalog, over and over, moves no counter of a sample."""
    filled(dba, "quiet", rows=10)
    before = connector.sample()
    for _ in range(3):
        connector.catalog()
        connector.doctor()
    after = connector.sample()
    assert bool((after.physical_id >= 16384).all())
    assert np.array_equal(before.physical_id, after.physical_id)
    for name, values in before.counters.items():
        assert np.array_equal(values, after.counters[name]), name


def test_a_rebuilt_index_is_not_hot(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """REINDEX CONCURRENTLY copies the counters of a lifetime to a new oid: that is no demand of the interval."""
    filled(dba, "indexed")
    dba.execute("SET enable_seqscan = off")
    for number in range(300):
        dba.execute("SELECT id FROM indexed WHERE id = %s", (number,))
    flush(dba)

    def load() -> None:
        dba.execute("REINDEX INDEX CONCURRENTLY indexed_pkey")
        flush(dba)

    demand = demand_of(connector, load)
    new = oid(dba, "indexed_pkey")
    assert reads(demand, Signal.LOGICAL_READ, new) == 0
    assert not demand.observed[np.flatnonzero(demand.physical_id == new)].any()


def test_read_times_are_left_out_when_nobody_measures_them(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack
) -> None:
    """With track_io_timing off there are no read seconds, rather than zero of them."""
    dba.execute(f"ALTER DATABASE {dbname} SET track_io_timing = off".encode())
    blind = cluster.connector(dbname)
    cleanup.callback(blind.close)
    of_scans = {"server_reads", "scan_reads"} if cluster.major >= KNOWS_CONTEXTS // 10000 else set()
    assert set(blind.sample().database) == of_scans | {
        "reads",
        "transactions",
        "active_seconds",
        "population_seconds",
        "processor_seconds",
        "processors_seconds",
        "others_processor_seconds",
        "open_ages_seconds",
        "oldest_open_seconds",
    }


def test_a_reset_starts_an_epoch(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """The epoch stays from sample to sample, and changes with a reset of the database and of a single table."""
    unit = filled(dba, "reset_me", rows=10)
    first = connector.sample().epoch
    assert connector.sample().epoch == first
    dba.execute("SELECT pg_stat_reset_single_table_counters(%s::bigint::oid)", (unit,))
    flush(dba)  # on 14 a collector does it, when it comes to it
    second = connector.sample().epoch
    dba.execute("SELECT pg_stat_reset()")
    flush(dba)
    assert len({first, second, connector.sample().epoch}) == 3


def test_an_empty_database_gives_an_empty_sample(connector: PostgresqlConnector) -> None:
    """No relation, no row: columns of length zero."""
    sample = connector.sample()
    assert len(sample.physical_id) == 0
    assert all(len(column) == 0 for column in sample.counters.values())
    assert len(connector.catalog().units) == 0


def test_sessions_in_use_and_processor_time_are_counted(
    dbname: str, connector: PostgresqlConnector, cluster: Cluster
) -> None:
    """Two sessions that just asked are in use, the agent's own is not; the server's processes took processor time."""
    with ExitStack() as stack:
        sessions = [stack.enter_context(cluster.session(dbname)) for _ in range(2)]

        def load() -> None:
            for _ in range(300):
                for session in sessions:
                    session.execute("SELECT count(*) FROM generate_series(1, 3000)")

        load()
        connector.sample()
        demand = demand_of(connector, load)
    assert 2 <= demand.database.population <= 3  # and the one that looks on in this test
    assert 0 < demand.database.processor <= demand.database.processors


def test_processors_that_are_added_count_from_then_on(
    connector: PostgresqlConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at the first look and four at the second are at most four, whatever the clock says."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(2))
    before = connector.sample()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4))
    interval = difference(before, connector.sample(), longest_seconds=60.0)
    assert isinstance(interval, Interval)
    assert 2 <= interval.database_rates().processors <= 4.01


@pytest.mark.parametrize(("used", "others"), [(7.0, 0.0), (10.0, 3.0), (None, None)])
def test_what_other_programs_use_is_what_the_server_does_not(
    connector: PostgresqlConnector, monkeypatch: pytest.MonkeyPatch, used: float | None, others: float | None
) -> None:
    """The server took two seconds; everybody two or five; or nothing tells."""
    looks = iter([(5.0, 4.0, None if used is None else 5.0), (7.0, 4.0, used)])
    monkeypatch.setattr("connectors.postgresql.sessions.server_processors", lambda *_: next(looks))
    interval = difference(connector.sample(), connector.sample(), longest_seconds=60.0)
    assert isinstance(interval, Interval)
    assert interval.database.get("others_processor_seconds") == others
    assert interval.database_rates().processors == pytest.approx(4.0)


def test_sessions_are_seen_by_kind(dbname: str, connector: PostgresqlConnector, cluster: Cluster) -> None:
    """One application between two transactions, another in the midst of one; which of them reads was not seen yet."""
    with ExitStack() as stack:
        pausing, inside = (stack.enter_context(cluster.session(dbname)) for _ in range(2))
        for session, name in ((pausing, "shop"), (inside, "reports")):
            session.execute(f"SET application_name = '{name}'".encode())
        stack.enter_context(inside.transaction())
        inside.execute("SELECT pg_sleep(0.1)")
        reading = ReadSession(cluster.settings(dbname))
        stack.callback(reading.close)
        looks = [KindLook.of_row(row) for row in reading.rows(query("session_kinds"), doing="testing")]
        kinds = {look.kind.split("/")[1]: look for look in looks}
        assert (kinds["shop"].between, kinds["shop"].inside) == ((1.0, 1.0, 1.0), 0.0)
        assert (kinds["reports"].between, kinds["reports"].inside) == ((0.0, 0.0, 0.0), 1.0)
        assert 0.1 <= kinds["reports"].inside_seconds <= 10.0
        assert 0.0 < kinds["shop"].between_seconds[0] < 1.0
        assert kinds["shop"].working == kinds["reports"].reading == 0.0
        connector.sample()
        session_seen = difference(connector.sample(), connector.sample(), longest_seconds=60.0)
        assert isinstance(session_seen, Interval)
        assert 0.1 <= session_seen.database_rates().oldest_open <= session_seen.database_rates().open_ages <= 10.0
        assert "readers_seconds" not in connector.sample().database


def test_a_call_for_counters_has_a_limit_of_its_own(connector: PostgresqlConnector) -> None:
    """The server ends it long before ``statement_timeout``; the next query has the session's own limit again."""
    session = connector._session
    with pytest.raises(TimedOut):
        session.rows(b"SELECT pg_sleep(20)", doing="sampling counters", limit=0.2)
    assert session.rows(b"SHOW statement_timeout", doing="looking") == [("30s",)]
    with pytest.raises(TimedOut):
        session.copy(b"COPY (SELECT pg_sleep(20)) TO STDOUT", list, doing="sampling counters", limit=0.2)
