"""What a move brings: the queue of one spindle, the cache, and what waits behind a copy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.simulated.scenarios import HDD, mean_value, with_background
from connectors.simulated.world_state import hit_ratios
from tests.simulated.worlds import counter, make, move

MEASURED_HDD, MEASURED_HOT = 125.0, 613.0  # a real PostgreSQL behind one spindle, see scenarios.eight_tables


def test_the_laboratory_is_reproduced() -> None:
    """All on hdd, then the hot eighth of the bytes on ssd: within 10 % of what a real server measured."""
    world, connector, _ = make(scenario="eight_tables")
    before = world.rates().transactions
    move(connector, "TABLE", '"lab"."t0"')
    move(connector, "INDEX", '"lab"."t0_pkey"')
    after = world.rates().transactions
    assert before == pytest.approx(MEASURED_HDD, rel=0.1)
    assert after == pytest.approx(MEASURED_HOT, rel=0.1)


def test_wait_per_transaction_falls() -> None:
    """Moving the hot table lowers what a transaction waits for reads."""
    world, connector, _ = make()

    def wait() -> float:
        return world.rates().read_seconds / world.rates().transactions

    before = wait()
    move(connector, "INDEX", '"shop"."orders_pkey"')
    after_index = wait()
    assert after_index < 0.9 * before


def test_moving_a_decoy_brings_next_to_nothing() -> None:
    """The busiest table is cached and the history only written: neither makes anybody faster."""
    world, connector, clock = make()
    clock.sleep(600.0)
    assert counter(connector, '"shop"."products"', "logical_reads") > counter(
        connector, '"shop"."orders"', "logical_reads"
    )
    before = world.rates().transactions
    move(connector, "TABLE", '"shop"."products"')
    assert world.rates().transactions == pytest.approx(before, rel=0.01)


def test_only_the_newest_partition_is_hot() -> None:
    """Partitions have counters of their own."""
    _, connector, clock = make()
    clock.sleep(600.0)
    quarters = [counter(connector, f'"shop"."measurements_2024q{q}"', "sync_reads") for q in (1, 2, 3, 4)]
    assert quarters[:2] == [0, 0]
    assert quarters[3] > 10 * quarters[2] > 0


def test_sessions_wait_while_bytes_are_copied() -> None:
    """An offline move of a table in use stops its sessions; online they go on, slower."""
    done = {}
    for online in (False, True):
        world, connector, clock = make(scenario="eight_tables")
        normal, before = world.rates().transactions, clock.monotonic()
        move(connector, "TABLE", '"lab"."t0"', online=online)
        connector.sample()
        done[online] = world.work / (normal * (clock.monotonic() - before))
    assert done[False] < 0.05
    assert 0.2 < done[True] < 0.9


def test_a_copy_takes_its_time() -> None:
    """67 MB at half the speed of the hdd, as measured: between 0.5 and 1.5 s."""
    _, connector, clock = make(scenario="eight_tables")
    before = clock.monotonic()
    move(connector, "TABLE", '"lab"."t0"')
    assert 0.5 < clock.monotonic() - before < 1.5


@given(
    demand=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=4),
    channels=st.integers(1, 8),
    sessions=st.integers(1, 32),
    think=st.floats(0.0, 10.0),
)
def test_throughput_keeps_the_operational_laws(demand: list[float], channels: int, sessions: int, think: float) -> None:
    """No station is more than busy, nobody waits less than he is served, and Little's law holds."""
    service = np.array(demand)
    servers = np.full(len(demand), float(channels))
    throughput, residence = mean_value(service, servers, sessions, think)
    assert throughput <= (servers / service).min() * (1 + 1e-9)
    assert np.all(residence >= service * (1 - 1e-9))
    assert throughput * (think + residence.sum()) == pytest.approx(sessions)


def test_one_session_never_queues() -> None:
    """Alone, a transaction takes the sum of its demands."""
    throughput, _ = mean_value(np.array([0.005, 0.001]), np.array([1.0, 4.0]), 1, 0.0)
    assert throughput == pytest.approx(1 / 0.006)


def test_background_writes_slow_sessions_down() -> None:
    """Work nobody waits for still keeps the device from those who do."""
    demand, channels, none = np.array([HDD.random_seconds]), np.array([1.0]), np.array([0.0])
    alone, _ = with_background(demand, none, none, channels, 8, 0.0)
    beside, _ = with_background(demand, demand, none, channels, 8, 0.0)
    assert alone == pytest.approx(180.0, rel=1e-6)
    assert beside == pytest.approx(90.0, rel=1e-3)


@given(
    reads=st.lists(st.floats(0.0, 100.0), min_size=1, max_size=20),
    size=st.floats(8192.0, 1e9),
    pool=st.floats(8192.0, 1e10),
)
def test_the_pool_is_never_overfull(reads: list[float], size: float, pool: float) -> None:
    """What is expected in the pool is no more than the pool, and hit ratios are ratios."""
    working = np.full(len(reads), size)
    hits = hit_ratios(np.array(reads), working, pool)
    assert np.all((hits >= 0) & (hits <= 1))
    referenced = np.array(reads) > 0
    assert float((hits * working)[referenced].sum()) <= pool * (1 + 1e-6)


def test_busier_units_are_cached_better() -> None:
    """Of two units of one size the one that is read more often is cached more."""
    hits = hit_ratios(np.array([10.0, 1.0]), np.array([1e8, 1e8]), 1e8)
    assert hits[0] > hits[1] > 0
