"""Closing the open part of a split table on a real server: there, back, refused by name, and by the calendar."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from connectors.model import Home, Route
from connectors.postgresql.connector import PostgresqlConnector
from connectors.splitting import REOPEN
from tests.contract.asking import run
from tests.labs.postgresql import Cluster
from tests.labs.test_split import (
    ADD,
    KEY,
    LEFT,
    answers,
    described,
    only_newest,
    orders,
    pytestmark,
    split_route,
)

__all__ = ["orders", "pytestmark"]
RANGES = """
    SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
     WHERE inhparent = 'orders'::regclass ORDER BY 1
"""


@pytest.fixture
def split_orders(orders: psycopg.Connection, connector: PostgresqlConnector) -> psycopg.Connection:
    """Split at a million, with rows on both sides."""
    run(connector, split_route(connector, orders, "id", "1000000"))
    orders.execute("SELECT setval('orders_id_seq', 999999)")
    orders.execute(ADD.encode())
    return orders


def close_route(connector: PostgresqlConnector, border: str) -> Route:
    """The route that closes the open part there."""
    found = connector.route_close(KEY, border, "fast")
    assert isinstance(found, Route), found
    return found


def way_back(route: Route) -> Route:
    """The route that its undo is."""
    return replace(route, name=REOPEN, steps=route.undo_steps, undo_steps=())


def steps_of(connector: PostgresqlConnector, dba: psycopg.Connection, route: Route) -> None:
    """Each step, with what users see after it."""
    seen = answers(dba)
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.steps:
            mover.execute(step)
            assert answers(dba) == seen, step.purpose


@only_newest
def test_there_and_back(
    cluster: Cluster, dbname: str, split_orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """No row is copied, later ones find the part behind it, and its way back leaves what pg_dump had seen."""
    before, ranges = described(cluster, dbname, "orders*"), split_orders.execute(RANGES).fetchall()
    file = split_orders.execute("SELECT pg_relation_filenode('orders_p1')").fetchone()
    route = close_route(connector, "2000000")
    assert (connector.inspect(route).home, route.bundle.size_bytes) == (Home.SOURCE, 0)
    steps_of(connector, split_orders, route)
    assert connector.inspect(route).home is Home.TARGET
    assert split_orders.execute("SELECT pg_relation_filenode('orders_p1')").fetchone() == file
    assert split_orders.execute(RANGES).fetchall() == [
        ranges[0], ("orders_p1", "FOR VALUES FROM ('1000000') TO ('2000000')"),
        ("orders_p2", "FOR VALUES FROM ('2000000') TO (MAXVALUE)"),
    ]  # fmt: skip
    assert split_orders.execute(LEFT).fetchone() == (0,)
    split_orders.execute("SELECT setval('orders_id_seq', 2000000)")
    split_orders.execute(ADD.encode())
    back = way_back(route)
    assert (connector.inspect(back).home, connector.inspect(back).size_bytes > 0) == (Home.SOURCE, True)
    steps_of(connector, split_orders, back)
    assert connector.inspect(back).home is Home.TARGET
    assert split_orders.execute(RANGES).fetchall() == ranges
    assert described(cluster, dbname, "orders*") == before
    assert split_orders.execute("SELECT count(*) FROM orders_p1").fetchone() == (4000,)
