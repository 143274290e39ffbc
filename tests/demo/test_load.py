"""The load: what it reports, what it survives, and that it always ends."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import psutil
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.demo.clients import SCAN, kinds
from agent.demo.load import LoadFailed, LoadReading, LoadSettings, ShopLoad, bucket_of, bucket_seconds, together
from tests.demo.conftest import Shop

QUICK = LoadSettings(clients=4, scan_rest_seconds=0.2, limit_seconds=60.0)
PATIENCE_SECONDS = 20.0


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until it holds, or fail."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@given(st.floats(min_value=1e-6, max_value=1e3))
def test_a_bucket_is_narrow(seconds: float) -> None:
    """A latency and the middle of its bucket differ by less than 2.5 %."""
    assert bucket_seconds(bucket_of(seconds)) == pytest.approx(seconds, rel=0.025)


@given(st.lists(st.lists(st.floats(min_value=1e-6, max_value=10.0), max_size=30), max_size=5))
def test_percentiles_of_readings_together_are_those_of_all_latencies(seconds: list[list[float]]) -> None:
    """However latencies are spread over readings, the histogram's percentiles are theirs within a bucket."""
    found = together(reading(latencies) for latencies in seconds)
    every = sorted(latency for latencies in seconds for latency in latencies)
    assert found.transactions == len(every)
    if not every:
        assert found.latency_p99_seconds != found.latency_p99_seconds  # NaN
        return
    for share, percentile in ((0.5, found.latency_p50_seconds), (0.99, found.latency_p99_seconds)):
        exact = every[max(0, -int(-share * len(every) // 1) - 1)]
        assert percentile == pytest.approx(exact, rel=0.025)
    assert found.per_second == pytest.approx(len(every) / len(seconds))


def reading(latencies: list[float]) -> LoadReading:
    """One second with these latencies."""
    histogram: dict[int, int] = {}
    for latency in latencies:
        histogram[bucket_of(latency)] = histogram.get(bucket_of(latency), 0) + 1
    return LoadReading(ended_monotonic=0.0, seconds=1.0, transactions=len(latencies), errors=0, latency=histogram)


@contextmanager
def running(shop: Shop, folder: Path, settings: LoadSettings = QUICK) -> Iterator[ShopLoad]:
    """A load that has begun to report."""
    with ShopLoad(shop.server.conninfo, shop.schema, folder, settings) as load:
        wait_for(lambda: len(load.readings()) > 0)
        yield load


@pytest.mark.postgresql
@pytest.mark.xdist_group("demo")
class TestOnAServer:
    """With the small shop, at the machine's own speed."""

    def test_every_kind_is_run_and_reported(self, shop: Shop, folder: Path) -> None:
        """Readings hold all kinds without an error, tile the time, and scans are no transactions."""
        with running(shop, folder) as load:
            wait_for(lambda: len(load.readings()) >= 3)
            readings = load.readings()
            everything = load.between(0.0, time.monotonic())
        seen = {kind for r in readings for kind in r.by_kind}
        assert seen == {kind.name for kind in kinds(shop.schema)} | {SCAN}
        assert sum(r.errors for r in readings) == 0
        assert all(
            after.ended_monotonic - after.seconds == pytest.approx(before.ended_monotonic)
            for before, after in itertools.pairwise(readings)
        )
        assert everything.transactions >= sum(n for r in readings for kind, n in r.by_kind.items() if kind != SCAN)
        assert 0 < everything.latency_p50_seconds <= everything.latency_p95_seconds <= everything.latency_p99_seconds
        assert load.between(time.monotonic(), time.monotonic() + 1).transactions == 0

    def test_cancelled_and_cut_sessions_are_counted_and_go_on(self, shop: Shop, folder: Path) -> None:
        """Every client survives a cancelled statement, a lock in its way and the end of its session."""
        schema = shop.schema
        with (
            psycopg.connect(shop.server.conninfo, autocommit=True) as dba,
            running(shop, folder) as load,
        ):
            with dba.transaction():
                dba.execute(f"LOCK TABLE {schema.hot} IN ACCESS EXCLUSIVE MODE".encode())
                waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                wait_for(lambda: (dba.execute(waiting).fetchone() or (0,))[0] >= 3)
                dba.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
            dba.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'hotplace demo%'"
            )
            wait_for(lambda: {"QueryCanceled", "AdminShutdown"} <= errors(load).keys())
            at = len(load.readings())
            wait_for(lambda: sum(r.transactions for r in load.readings()[at + 1 :]) > 0)
            total = errors(load)
            time.sleep(1.5)  # more than one reading, which comes once a second
            assert errors(load) == total  # new sessions are well

    def test_it_ends_at_its_limit(self, shop: Shop, folder: Path) -> None:
        """Nobody has to stop it."""
        with running(shop, folder, LoadSettings(clients=2, limit_seconds=2.0)) as load:
            wait_for(lambda: not load.running())
            assert load.readings()

    def test_it_ends_with_its_parent(self, shop: Shop, folder: Path) -> None:
        """A parent that is killed leaves no load behind."""
        script = """
import json, os, sys, time
from pathlib import Path
from agent.demo.load import DemoSchema, ShopLoad
order = json.loads(sys.argv[1])
load = ShopLoad(order["conninfo"], DemoSchema(**order["schema"]), Path(order["folder"]))
load.start()
while not load.readings(): time.sleep(0.1)
os.kill(os.getpid(), 9)
"""
        order = {"conninfo": shop.server.conninfo, "schema": asdict(shop.schema), "folder": str(folder)}
        parent = psutil.Popen([sys.executable, "-c", script, json.dumps(order)], stdin=subprocess.DEVNULL)
        children: list[psutil.Process] = []
        while parent.poll() is None:
            children = children or parent.children()
            time.sleep(0.05)
        assert len(children) == 1
        wait_for(lambda: not children[0].is_running() or children[0].status() == psutil.STATUS_ZOMBIE)

    def test_an_order_it_cannot_read_is_an_error_with_its_last_words(self, shop: Shop, folder: Path) -> None:
        """The parent hears why the process ended."""
        load = ShopLoad(shop.server.conninfo, shop.schema, folder, LoadSettings(clients=2))
        load._order["settings"] = {"colour": "blue"}
        load.start()
        try:
            wait_for(lambda: not load.running())
            with pytest.raises(LoadFailed, match="colour"):
                load.readings()
        finally:
            load.stop()
        load.stop()  # harmless

    def test_on_the_slow_disk_reads_follow_the_data(self, shop: Shop, folder: Path) -> None:
        """The server's reads are counted by the device of their tablespace, and change device with a move."""
        if shop.disk is None:
            pytest.skip("no C compiler")
        with psycopg.connect(shop.server.conninfo, autocommit=True) as dba:
            dba.execute(f"ALTER TABLE {shop.schema.cold[1]} SET TABLESPACE hdd_space".encode())  # leaves the buffers
            shop.disk.switch(True)
            try:
                count = f"SELECT sum(length(body)) FROM {shop.schema.cold[1]}".encode()
                before = shop.disk.counters()
                dba.execute(count)
                on_hdd = shop.disk.counters()
                dba.execute(f"ALTER TABLE {shop.schema.cold[1]} SET TABLESPACE ssd_space".encode())
                moved = shop.disk.counters()
                dba.execute(count)
                on_ssd = shop.disk.counters()
            finally:
                shop.disk.switch(False)
        assert on_hdd["hdd"].read_bytes > before["hdd"].read_bytes
        looked_at = on_hdd["ssd"].read_bytes - before["ssd"].read_bytes  # the planner opens the index, which is there
        assert looked_at < (on_hdd["hdd"].read_bytes - before["hdd"].read_bytes) / 100
        assert moved["ssd"].write_bytes > on_hdd["ssd"].write_bytes
        assert on_ssd["ssd"].read_bytes > moved["ssd"].read_bytes
        assert on_ssd["hdd"].read_bytes == moved["hdd"].read_bytes


def errors(load: ShopLoad) -> dict[str, int]:
    """Errors so far, by class."""
    found: dict[str, int] = {}
    for one in load.readings():
        for name, count in one.error_classes.items():
            found[name] = found.get(name, 0) + count
    return found
