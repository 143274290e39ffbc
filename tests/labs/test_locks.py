"""Every lock that a route claims, next to ``pg_locks`` while its statements run: objects, modes, and for how long."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime

import psycopg
import pytest

from connectors.kit.templates import TemplateKind
from connectors.model.moves import Route, Step
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import run
from tests.labs.calendar_site import a_template, day
from tests.labs.postgresql import WAIT_SECONDS, Cluster, installations
from tests.labs.test_moving import every_route
from tests.labs.test_split import only_newest, split_route

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
]
SHOP = """
    CREATE TABLE customers (id int PRIMARY KEY);
    INSERT INTO customers SELECT generate_series(0, 9);
    CREATE TABLE orders (id bigint PRIMARY KEY, customer int NOT NULL REFERENCES customers, note text);
    CREATE INDEX by_customer ON orders (customer);
    INSERT INTO orders SELECT g, g % 10, repeat('x', 100) FROM generate_series(1, 40000) AS g;
    CREATE MATERIALIZED VIEW kept AS SELECT id, note FROM orders;
"""
MODES = {  # as pg_locks has them, those that keep anything but reads, writes and row locks waiting, the strongest first
    "AccessExclusiveLock": "ACCESS EXCLUSIVE",
    "ExclusiveLock": "EXCLUSIVE",
    "ShareRowExclusiveLock": "SHARE ROW EXCLUSIVE",
    "ShareLock": "SHARE",
    "ShareUpdateExclusiveLock": "SHARE UPDATE EXCLUSIVE",
}
HELD = """
    SELECT relation::bigint, mode FROM pg_locks
     WHERE pid = %s AND granted AND locktype = 'relation' AND relation >= 16384 -- dropped ones, too
"""
# The table that an index or TOAST relation belongs to: who may not use a table uses neither of them.
OWNERS = """
    SELECT i.indexrelid::bigint, i.indrelid::bigint FROM pg_index AS i UNION ALL
    SELECT t.reltoastrelid::bigint, t.oid::bigint FROM pg_class AS t WHERE t.reltoastrelid <> 0
"""
CLAIM = re.compile(rf"({'|'.join(sorted(MODES.values(), key=len, reverse=True))}) on ([^,;:()]+)")
OUTSIDE = ("CONCURRENTLY", "VACUUM", "ANALYZE")  # no transaction of ours may be around these
Locks = dict[int, str]  # oid -> the strongest mode
Watch = Callable[[psycopg.Connection, str], Locks]


@pytest.fixture
def shop(dba: psycopg.Connection) -> psycopg.Connection:
    """Tables, one of which refers to the other."""
    dba.execute(SHOP.encode())
    dba.execute("VACUUM (ANALYZE)")
    return dba


@pytest.fixture
def seen_while(cluster: Cluster, dbname: str) -> Watch:
    """Carries a statement out and tells what it locks of relations that were there before it."""

    def watch(dba: psycopg.Connection, statement: str) -> Locks:
        before = {int(oid) for (oid,) in dba.execute("SELECT oid::bigint FROM pg_class").fetchall()}
        owners: dict[int, int] = dict(dba.execute(OWNERS).fetchall())
        if any(word in statement for word in OUTSIDE):
            found = _watched(dba, statement, cluster, dbname)
        else:
            with dba.transaction():
                dba.execute(statement.encode())
                found = set(dba.execute(HELD, (dba.info.backend_pid,)).fetchall())
        locks = strongest((oid, MODES[mode]) for oid, mode in found if oid in before and mode in MODES)
        return {oid: mode for oid, mode in locks.items() if not _implied(oid, mode, locks, owners)}

    return watch


def _implied(oid: int, mode: str, locks: Locks, owners: dict[int, int]) -> bool:
    """Whether a table is locked as strongly to which this index or TOAST relation belongs."""
    order = list(MODES.values())
    while (oid := owners.get(oid, 0)) != 0:
        if oid in locks and order.index(locks[oid]) <= order.index(mode):
            return True
    return False


def _watched(dba: psycopg.Connection, statement: str, cluster: Cluster, dbname: str) -> set[tuple[int, str]]:
    """What another session sees of the locks of a statement, as often as it can look."""
    found, looks, done = set[tuple[int, str]](), threading.Event(), threading.Event()

    def look() -> None:
        with cluster.session(dbname) as other:
            while not done.is_set():
                looks.set()
                found.update(other.execute(HELD, (dba.info.backend_pid,)).fetchall())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        assert looks.wait(WAIT_SECONDS)  # to connect takes longer than some statements
        dba.execute(statement.encode())
    finally:
        done.set()
        watcher.join()
    return found


def strongest(locks: Iterable[tuple[int, str]]) -> Locks:
    """The strongest mode of each."""
    order, found = list(MODES.values()), Locks()
    for oid, mode in locks:
        found[oid] = min(mode, found.get(oid, mode), key=order.index)
    return found


def oids(dba: psycopg.Connection, *names: str) -> set[int]:
    """Of relations."""
    return {int(one(dba, f"SELECT '{name}'::regclass::oid::bigint")) for name in names}


def one(dba: psycopg.Connection, question: str) -> int:
    """The one value of a query."""
    row = dba.execute(question.encode()).fetchone()
    assert row is not None
    return int(row[0])


def claimed(locks: str, objects: dict[str, set[int]]) -> Locks:
    """What a route says, the objects by the words that it has for them."""
    found = CLAIM.findall(locks)
    assert found, locks
    told = [(mode, next(oids for words, oids in objects.items() if said.startswith(words))) for mode, said in found]
    return strongest((oid, mode) for mode, of in told for oid in of)


def taken(dba: psycopg.Connection, steps: Iterable[Step], seen_while: Watch) -> Locks:
    """By all steps of a way."""
    return strongest(lock for step in steps for lock in seen_while(dba, step.sql).items())


MOVED = {"table": "public.orders", "index": "public.by_customer", "materialized view": "public.kept"}


@pytest.mark.parametrize("kind", MOVED)
@only_newest
def test_locks_of_moves(shop: psycopg.Connection, connector: PostgresqlConnector, seen_while: Watch, kind: str) -> None:
    """Each route of each kind locks what it says, there and back."""
    key = MOVED[kind]
    own, table = oids(shop, key), oids(shop, "orders" if kind == "index" else key)
    for route in every_route(connector, key, "fast"):
        for steps in (route.steps, route.undo_steps):
            said = claimed(route.locks, {"the table": table, "the index": own, "the replaced index": own})
            seen = taken(shop, steps, seen_while)
            if route.online:  # its last lock is too short to be seen each time
                seen.update(dict.fromkeys(own, "ACCESS EXCLUSIVE"))
            assert seen == said, route.locks
            own = oids(shop, key)  # a rebuilt index has another one


@pytest.mark.parametrize("border", [1_000_000, 30_000])
@only_newest
def test_locks_of_splits(
    shop: psycopg.Connection, connector: PostgresqlConnector, seen_while: Watch, border: int
) -> None:
    """A split and its way back, ahead of the rows and among them, lock what they say, referenced tables included."""
    shop.execute("DROP MATERIALIZED VIEW kept")
    route = split_route(connector, shop, "id", str(border))
    cold = oids(shop, "orders")
    objects = {"the table": cold, "its parts": cold, "tables that its foreign": oids(shop, "customers")}
    seen = taken(shop, route.steps, seen_while)
    made = {oid: mode for oid in oids(shop, "orders", "orders_p1") if (mode := seen.pop(oid, ""))}
    assert set(made.values()) == {"SHARE UPDATE EXCLUSIVE"}  # what came with it, once it is read for its statistics
    assert seen == claimed(route.locks, objects)
    objects["the table"] = cold | oids(shop, "orders", "orders_p1")
    assert taken(shop, route.undo_steps, seen_while) == claimed(route.undo_locks, objects)


@only_newest
def test_locks_of_closing(shop: psycopg.Connection, connector: PostgresqlConnector, seen_while: Watch) -> None:
    """The close of an open part, and its way back, lock what they say."""
    shop.execute("DROP MATERIALIZED VIEW kept")
    run(connector, split_route(connector, shop, "id", "1000000"))
    route = connector.route_close("public.orders", "2000000", "fast")
    assert isinstance(route, Route)
    parts = oids(shop, "orders", "orders_p0", "orders_p1")
    objects = {
        "the table": parts, "the open part": oids(shop, "orders_p1"), "the part": oids(shop, "orders_p1"),
        "tables that its foreign": oids(shop, "customers"),
    }  # fmt: skip
    assert taken(shop, route.steps, seen_while) == claimed(route.locks, objects)
    objects["the table"] = parts | oids(shop, "orders_p2")
    assert taken(shop, route.undo_steps, seen_while) == claimed(route.undo_locks, objects)


@only_newest
def test_locks_of_partitions_made_ahead(
    dba: psycopg.Connection, connector: PostgresqlConnector, seen_while: Watch
) -> None:
    """A partition that is made ahead locks what it says."""
    dba.execute(
        "CREATE TABLE customers (id int PRIMARY KEY);"
        "CREATE TABLE days (at date NOT NULL, customer int REFERENCES customers) PARTITION BY RANGE (at)"
    )
    for at in (0, 1):
        dba.execute(
            f"CREATE TABLE days_{day(at, '%Y_%m_%d')} PARTITION OF days FOR VALUES FROM ('{day(at)}') TO "
            f"('{day(at + 1)}')".encode()
        )
    template = a_template(connector, TemplateKind.NEXT_PARTITION, "public.days", "fast", 3)
    route, *_ = connector.routes_due(template, datetime.now(UTC))
    objects = {"the table": oids(dba, "days"), "tables that its foreign": oids(dba, "customers")}
    assert taken(dba, route.steps, seen_while) == claimed(route.locks, objects)


def held_for(dba: psycopg.Connection, statement: str, cluster: Cluster, dbname: str, *relations: int) -> list[float]:
    """Seconds for which a statement keeps others out of each relation, as another session sees it."""
    seen, done = dict[int, list[float]](), threading.Event()

    def look() -> None:
        with cluster.session(dbname) as other:
            while not done.is_set():
                for oid, mode in other.execute(HELD, (dba.info.backend_pid,)).fetchall():
                    if mode in {"AccessExclusiveLock", "ShareRowExclusiveLock"}:
                        seen.setdefault(oid, []).append(time.monotonic())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        dba.execute(statement.encode())
    finally:
        done.set()
        watcher.join()
    return [seen[oid][-1] - seen[oid][0] if oid in seen else 0.0 for oid in relations]


@only_newest
def test_referenced_tables_are_locked_last(
    shop: psycopg.Connection, connector: PostgresqlConnector, cluster: Cluster, dbname: str
) -> None:
    """While rows move and the table is read, sessions read and write the tables that its foreign keys name."""
    shop.execute("DROP MATERIALIZED VIEW kept")
    shop.execute("INSERT INTO orders SELECT g, g % 10, repeat('x', 100) FROM generate_series(40001, 200000) AS g")
    shop.execute("VACUUM (ANALYZE) orders")
    route = split_route(connector, shop, "id", "150000")
    own, other = (one(shop, f"SELECT '{name}'::regclass::oid::bigint") for name in ("orders", "customers"))
    table, referenced = held_for(shop, route.steps[0].sql, cluster, dbname, own, other)
    assert 0 < referenced < 0.4 * table


@only_newest
def test_who_uses_a_referenced_table_is_waited_for(
    shop: psycopg.Connection, connector: PostgresqlConnector, cluster: Cluster, dbname: str, cleanup: ExitStack
) -> None:
    """An old transaction on it is named before anything is sent: rows would have moved in vain."""
    shop.execute("DROP MATERIALIZED VIEW kept")
    user = cleanup.enter_context(cluster.session(dbname))
    user.execute("BEGIN; SELECT FROM customers LIMIT 1")
    time.sleep(0.6)  # longer than lock_timeout
    for border in (1_000_000, 30_000):
        (found,) = connector.blockers(split_route(connector, shop, "id", str(border)))
        assert "holds AccessShareLock on public.customers" in found.sentence
