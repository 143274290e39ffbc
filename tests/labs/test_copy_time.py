"""What a real server's routes say that they read and write, and how long that takes where no disk is modelled."""

from __future__ import annotations

import time

import numpy as np
import psycopg

from connectors.model.moves import CopyHabits
from connectors.model.observation import SIGNALS, Catalog, DatabaseDemand
from connectors.postgresql.connector import PostgresqlConnector
from policies.evidence.costs import around_seconds, route_seconds
from policies.model.plan import HeatView, Situation
from policies.model.settings import PolicySettings, Tier, TierSpeed
from tests.contract.asking import run
from tests.labs.test_moving import every_route, table

MEMORY = TierSpeed(random_read_seconds=1e-5, sequential_read_seconds=2e-6, write_seconds=1e-5)
COARSE = 12.0  # times too long or too short at most: machines differ, and nothing was learnt
ROWS = 80_000


def idle(catalog: Catalog) -> Situation:
    """Everything on one tier of memory's speed, and nobody there."""
    count = len(catalog.units)
    return Situation(
        units=catalog.units,
        heat=HeatView(rates=np.zeros((SIGNALS, count)), observed_seconds=np.ones(count), confidence=np.ones(count)),
        spaces=catalog.spaces,
        tiers=(Tier(name="memory", speed=MEMORY, spaces=tuple(space.name for space in catalog.spaces)),),
        tier_of_space=np.zeros(len(catalog.spaces), dtype=np.int32),
        pin=np.zeros(count, dtype=np.int8),
        cooling_seconds=np.zeros(count),
        database=DatabaseDemand(),
    )


def size_of(dba: psycopg.Connection, name: str) -> int:
    """Bytes of its main fork."""
    found = dba.execute("SELECT pg_relation_size(%s::regclass)", (name,)).fetchone()
    assert found is not None
    return int(found[0])


def test_a_rebuild_says_that_it_reads_its_table_twice(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """The heap where it is, before and after the index is written; a copy says that it reads what it moves, once."""
    table(dba)
    heap, index = size_of(dba, "thing"), size_of(dba, "thing_pkey")
    online, fast = every_route(connector, "public.thing_pkey", "fast")
    said = [(each.space, each.unit, each.bytes, each.written) for each in online.transfers]
    of_heap = ("slow", "public.thing", heap, False)
    assert said == [of_heap, ("fast", "", index, True), ("fast", "", index, False), of_heap]
    assert [(each.space, each.bytes, each.written) for each in fast.transfers] == [
        ("slow", index, False), ("fast", index, True),
    ]  # fmt: skip
    assert (online.drains, online.drains_users) == (1, 4)
    assert (fast.drains, fast.drains_users) == (0, 0)
    assert connector.copy_habits() == CopyHabits(index_reads_table=2)


def test_a_rebuild_reads_its_table_where_that_is(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """The table of an index may be in another space than the index."""
    table(dba)
    dba.execute("ALTER TABLE thing SET TABLESPACE fast")
    online, _ = every_route(connector, "public.thing_pkey", "fast")
    assert (online.transfers[0].space, online.transfers[0].unit) == ("fast", "public.thing")


def test_predicted_times_are_of_the_right_kind(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """A table of 45 MB and its index by both of its ways: neither 50 times too short nor too long."""
    table(dba, rows=ROWS)
    for key, space, way in (
        ("public.thing", "fast", 0),
        ("public.thing_pkey", "fast", 0),
        ("public.thing_pkey", "slow", 1),
    ):
        catalog = connector.catalog()
        route = every_route(connector, key, space)[way]
        rows = [list(catalog.units.key).index(key)]
        now, settings = idle(catalog), PolicySettings()
        said = sum(route_seconds(route, rows, now, settings)) + around_seconds(route, rows, now)
        began = time.monotonic()
        run(connector, route)
        assert said / COARSE < time.monotonic() - began < said * COARSE, (key, route.name, said)
