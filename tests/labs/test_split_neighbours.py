"""What hangs on a table that is split: kept and compared, or refused by name, also where it came after the approval."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing

import psycopg
import pytest

from connectors.kit.contract import StatementFailed
from connectors.model.moves import Border, NoRoute
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import run
from tests.labs.postgresql import Cluster, client, installations, running_cluster, wait_until
from tests.labs.test_split import ORDERS, PARTS, a_bundle, only_newest, orders, split_route, state_after, way_back

__all__ = ["orders"]
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
]
AMONG = "1805"  # a border with 200 rows beyond it
TRIGGER = (
    "CREATE TRIGGER late BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"
)
LATE = {
    "view": "CREATE VIEW late AS SELECT id FROM orders",
    "materialized view": "CREATE MATERIALIZED VIEW late AS SELECT id FROM orders",
    "function of its rows": "CREATE FUNCTION late(orders) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "column of its type": "CREATE TABLE late (o orders)",
    "domain of its type": "CREATE DOMAIN late AS orders",
    "incoming key": "CREATE TABLE late (o bigint REFERENCES orders)",
    "key to itself": "ALTER TABLE orders ADD before bigint REFERENCES orders",
    "policy of another": "CREATE TABLE late (id int); CREATE POLICY p ON late USING (id IN (SELECT id FROM orders))",
    "statistics": "CREATE STATISTICS late ON id, customer FROM orders",
    "trigger": TRIGGER,
    "publication": "CREATE PUBLICATION late FOR TABLE orders",
    "publication of all": "CREATE PUBLICATION late FOR ALL TABLES",
    "rule": "CREATE RULE late AS ON DELETE TO orders DO INSTEAD NOTHING",
    "child": "CREATE TABLE late () INHERITS (orders)",
    "exclusion": "ALTER TABLE orders ADD CONSTRAINT late EXCLUDE USING btree (id WITH =)",
    "column": "ALTER TABLE orders ADD late int",
}


@only_newest
@pytest.mark.parametrize("border", ["1000000", AMONG])
def test_what_came_since_the_approval_is_not_lost(
    orders: psycopg.Connection, connector: PostgresqlConnector, border: str
) -> None:
    """It would follow the cold part, and miss all rows of the hot one: the split is rolled back."""
    orders.execute("VACUUM (ANALYZE) orders")
    route = split_route(connector, orders, "id", border)
    switch = next(at for at, step in enumerate(route.steps) if "ATTACH" in step.sql)
    for step in route.steps[:switch]:
        orders.execute(step.sql.encode())
    found = {what: state_after(orders, change, route.steps[switch]) for what, change in LATE.items()}
    assert [what for what, state in found.items() if state is None] == []


@only_newest
def test_what_came_since_the_approval_is_named(orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Before the first statement, as it would have been when the split was planned."""
    orders.execute("VACUUM (ANALYZE) orders")
    route = split_route(connector, orders, "id", AMONG)
    assert connector.inspect(route).home is Home.SOURCE
    orders.execute("CREATE VIEW late AS SELECT id FROM orders")
    found = connector.inspect(route)
    assert found.home is Home.ELSEWHERE
    assert "others depend on it" in found.sentence
    assert "view public.late" in found.sentence


AGAIN = {  # refused with the remedy to drop it, and to make it on the new table: for rows of both parts
    "triggers": (
        (
            "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.customer := 9; RETURN NEW; END $$;"
            "CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION noted()"
        ),
        "DROP TRIGGER t ON orders; DROP FUNCTION noted",
    ),
    "incoming_keys": ("CREATE TABLE lines (o bigint REFERENCES orders)", "DROP TABLE lines"),
    "dependents": ("CREATE VIEW v AS SELECT id FROM orders", "DROP VIEW v"),
    "statistics": ("CREATE STATISTICS s ON id, customer FROM orders", "DROP STATISTICS s"),
    "rules": ("CREATE RULE r AS ON DELETE TO orders DO INSTEAD NOTHING", "DROP RULE r ON orders"),
}


@only_newest
def test_remedies_of_refusals_work(orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """What was dropped before a split can be made after it, and holds for rows of both parts."""
    orders.execute("VACUUM (ANALYZE) orders")
    for code, (made, dropped) in AGAIN.items():
        orders.execute(made.encode())
        refused = connector.routes_split(a_bundle(orders), Border(column="id", value=AMONG), "fast")
        assert isinstance(refused, NoRoute)
        assert refused.code == code
        orders.execute(dropped.encode())
    route = split_route(connector, orders, "id", AMONG)
    run(connector, route)
    for made, _ in AGAIN.values():
        orders.execute(made.encode())
    orders.execute("UPDATE orders SET customer = 1 WHERE id IN (1804, 1805)")
    assert orders.execute("SELECT customer FROM orders WHERE id IN (1804, 1805)").fetchall() == [(9,), (9,)]
    assert orders.execute("SELECT count(*) FROM v WHERE id IN (1804, 1805)").fetchone() == (2,)
    orders.execute("INSERT INTO lines VALUES (1804), (1805)")
    orders.execute("DELETE FROM orders")
    orders.execute("DROP RULE r ON orders")
    for id_ in (1804, 1805):
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            orders.execute("DELETE FROM orders WHERE id = %s", (id_,))
    with pytest.raises(StatementFailed):
        run(connector, way_back(route))
    assert orders.execute("SELECT count(*) FROM v").fetchone() == (2000,)


@only_newest
def test_row_security_holds_after_a_split(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, connector: PostgresqlConnector, cleanup: ExitStack
) -> None:
    """A role under a policy sees, changes and inserts the same rows as before, in both parts, and no part by name."""
    orders.execute("ALTER ROLE split_writer LOGIN; GRANT SELECT, INSERT, DELETE ON orders TO split_writer")
    orders.execute("ALTER TABLE orders FORCE ROW LEVEL SECURITY")
    orders.execute("VACUUM (ANALYZE) orders")
    orders.execute("CREATE POLICY restrict_all ON orders AS RESTRICTIVE FOR DELETE USING (customer <> 5)")
    writer = cleanup.enter_context(cluster.session(dbname, user="split_writer"))

    def seen() -> list[object]:
        rows = writer.execute("SELECT count(*), sum(id), min(customer) FROM orders").fetchall()
        with writer.transaction(force_rollback=True):
            updated = writer.execute("UPDATE orders SET customer = 3").rowcount
        with writer.transaction(force_rollback=True):
            deleted = writer.execute("DELETE FROM orders").rowcount
        with pytest.raises(psycopg.errors.InsufficientPrivilege), writer.transaction(force_rollback=True):
            writer.execute("INSERT INTO orders (customer) VALUES (1)")
        return [rows, updated, deleted]

    before = seen()
    assert before[1:] == [1600, 1400]
    run(connector, split_route(connector, orders, "id", AMONG))
    assert seen() == before
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        writer.execute("SELECT FROM orders_p1")


@only_newest
def test_a_dump_of_the_table_alone_has_no_row(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """By its name pg_dump writes no part: the proposal says so, and by a pattern all are written."""
    orders.execute("VACUUM (ANALYZE) orders")
    route = split_route(connector, orders, "id", AMONG)
    assert any("pg_dump -t public.orders" in note for note in route.notes)
    run(connector, route)
    pg_dump = str(client("pg_dump", cluster.major))
    where = [pg_dump, "-h", str(cluster.server.folder), "-U", "postgres", "-a", dbname]

    def rows(*options: str) -> int:
        done = subprocess.run([*where, *options], check=True, capture_output=True, text=True)
        return sum(line.count("\t") >= 3 for line in done.stdout.splitlines())

    assert (rows("-t", "orders"), rows("-t", "orders*")) == (0, 2000)


def _decoding() -> int:
    """The newest version here that has a plugin of logical decoding besides its own; 0: none."""
    return max((major for major, at in installations().items() if any(at.glob("lib/**/test_decoding.so"))), default=0)


@pytest.fixture(scope="module")
def logical() -> Iterator[Cluster]:
    """A cluster whose log can be decoded."""
    if not (major := _decoding()):
        pytest.skip("no server here has test_decoding")
    with running_cluster(major) as cluster:
        cluster.server.stop()
        with (cluster.server.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write("wal_level = logical\n")
        cluster.server.start()
        yield cluster


def test_logical_replication_goes_on_or_a_split_is_refused(logical: Cluster, cleanup: ExitStack) -> None:
    """Published, subscribed or read by a slot it is refused by name; published by its root, both parts arrive."""
    names = [cleanup.enter_context(logical.database()) for _ in range(2)]
    here, there = (cleanup.enter_context(logical.session(name)) for name in names)
    here.execute(ORDERS.encode())
    here.execute("VACUUM (ANALYZE) orders")
    there.execute("CREATE TABLE orders (id bigint PRIMARY KEY, customer int); INSERT INTO orders VALUES (1, 1)")
    columns = "(id, customer)"
    if logical.major < 15:  # it publishes whole rows
        columns = ""
        there.execute('ALTER TABLE orders ADD made_at timestamptz, ADD "a ""Note""" text, ADD counted bigint')
    there.execute("ANALYZE orders")
    source, target = (cleanup.enter_context(closing(logical.connector(name))) for name in names)

    def refusal(connector: PostgresqlConnector, dba: psycopg.Connection, border: str = AMONG) -> str:
        found = connector.routes_split(a_bundle(dba), Border(column="id", value=border), "fast")
        return found.code if isinstance(found, NoRoute) else ""

    here.execute("SELECT pg_create_logical_replication_slot('decoded', 'test_decoding')")
    assert (refusal(source, here), refusal(target, there, "5")) == ("readers", "")
    here.execute("SELECT pg_drop_replication_slot('decoded')")
    here.execute(f"CREATE PUBLICATION p FOR TABLE orders {columns}".encode())
    # Both databases are of one server, on which the subscription cannot make its slot while it is made itself.
    here.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
    there.execute(
        f"CREATE SUBSCRIPTION s CONNECTION 'host={logical.server.folder} dbname={names[0]} user=postgres'"
        " PUBLICATION p WITH (create_slot = false, copy_data = false)".encode()
    )
    cleanup.callback(unsubscribe, logical, names[1], "s")
    assert (refusal(source, here), refusal(target, there, "5")) == ("publications", "subscriptions")
    here.execute("ALTER PUBLICATION p SET (publish_via_partition_root = true)")
    here.execute("ALTER TABLE orders REPLICA IDENTITY DEFAULT; ALTER PUBLICATION p DROP TABLE orders")
    there.execute("ALTER SUBSCRIPTION s REFRESH PUBLICATION")
    assert (refusal(source, here), refusal(target, there, "5")) == ("", "")
    run(source, split_route(source, here, "id", AMONG))
    here.execute(f"ALTER PUBLICATION p ADD TABLE orders {columns}".encode())
    there.execute("TRUNCATE orders")
    there.execute("ALTER SUBSCRIPTION s REFRESH PUBLICATION")
    wait_until(lambda: _all_of(there) == 2000, "rows of both parts are copied")
    here.execute("DELETE FROM orders WHERE id IN (1803, 1806)")
    wait_until(lambda: _all_of(there) == 1998, "changes of both parts arrive")
    assert here.execute(PARTS).fetchall() == [("orders_p0", 1799), ("orders_p1", 199)]


def test_changes_of_both_parts_are_published_by_the_same_key(logical: Cluster, cleanup: ExitStack) -> None:
    """The replica identity is an index, and there is no primary key: without it the hot part could not be updated."""
    dba = cleanup.enter_context(logical.session(cleanup.enter_context(logical.database())))
    dba.execute("CREATE TABLE orders (id bigint NOT NULL, customer int)")
    dba.execute("INSERT INTO orders SELECT n, n FROM generate_series(1, 2000) AS n")
    dba.execute(
        "CREATE UNIQUE INDEX orders_key ON orders (id); ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_key"
    )
    dba.execute("VACUUM (ANALYZE) orders")
    source = cleanup.enter_context(closing(logical.connector(dba.info.dbname)))
    run(source, split_route(source, dba, "id", AMONG))
    dba.execute("CREATE PUBLICATION p FOR TABLE orders WITH (publish_via_partition_root = true)")
    for number in (5, 1900):
        dba.execute("UPDATE orders SET customer = 0 WHERE id = %s", (number,))
    assert dba.execute("SELECT count(*) FROM orders WHERE customer = 0").fetchone() == (2,)


def _all_of(dba: psycopg.Connection) -> int:
    row = dba.execute("SELECT count(*) FROM orders").fetchone()
    assert row is not None
    return int(row[0])


def unsubscribe(cluster: Cluster, dbname: str, name: str) -> None:
    """Drop a subscription, and the slot that it has."""
    with cluster.session(dbname) as dba:
        dba.execute(f"DROP SUBSCRIPTION {name}".encode())
