"""Closing the open part of a split table on a real server: there, back, refused by name, and by the calendar."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import psycopg
import pytest

from agent.model.clock import SystemClock
from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from connectors.kit.contract import StatementFailed
from connectors.model.moves import REOPEN, Route
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from tests.cli.site import run_here
from tests.contract.asking import run
from tests.documents import check_document
from tests.labs.postgresql import Cluster, wait_until
from tests.labs.test_long_transactions import Place
from tests.labs.test_split import (
    ADD,
    KEY,
    LEFT,
    answers,
    decide,
    described,
    only_newest,
    orders,
    place,
    pytestmark,
    split_route,
    state_after,
)
from tests.labs.test_split import way_back as split_back
from tests.labs.test_split_rows import partition_part

__all__ = ["orders", "place", "pytestmark"]
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
    return replace(route, name=REOPEN, steps=route.undo_steps, undo_steps=(), to_space=route.bundle.space)


def steps_of(connector: PostgresqlConnector, dba: psycopg.Connection, route: Route) -> None:
    """Each step, with what users see after it."""
    seen = answers(dba)
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.steps:
            mover.execute(step)
            assert answers(dba) == seen, step.purpose


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
    same = (
        "SELECT array_agg(DISTINCT relreplident::text) FROM pg_class WHERE relname LIKE 'orders_p_' AND relkind = 'r'"
    )
    assert split_orders.execute(same).fetchone() == (["f"],)
    split_orders.execute("SELECT setval('orders_id_seq', 2000000)")
    split_orders.execute(ADD.encode())
    back = way_back(route)
    assert (connector.inspect(back).home, connector.inspect(back).size_bytes > 0) == (Home.SOURCE, True)
    steps_of(connector, split_orders, back)
    assert connector.inspect(back).home is Home.TARGET
    assert split_orders.execute(RANGES).fetchall() == ranges
    assert described(cluster, dbname, "orders*") == before
    assert split_orders.execute("SELECT count(*) FROM orders_p1").fetchone() == (4000,)


TRIGGER = "CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"
INVALID = """
    CREATE INDEX bad ON orders_p1 (counted); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'bad'::regclass
"""
# What a person has done to the split table, and how it is taken back.
REFUSED = {
    "no_open_part": ("ALTER TABLE orders DETACH PARTITION orders_p1",
                     "ALTER TABLE orders ATTACH PARTITION orders_p1 FOR VALUES FROM (1000000) TO (MAXVALUE)"),
    "default_partition": ("CREATE TABLE rest PARTITION OF orders DEFAULT", "DROP TABLE rest"),
    "incoming_keys": ("CREATE TABLE lines (o bigint REFERENCES orders)", "DROP TABLE lines"),
    "triggers": (TRIGGER, "DROP TRIGGER t ON orders"),
    "publications": ("CREATE PUBLICATION p FOR TABLE orders_p1", "DROP PUBLICATION p"),
    "invalid_index": (INVALID, "DROP INDEX bad"),
    "schema": ("CREATE SCHEMA more; ALTER TABLE orders_p1 SET SCHEMA more",
               "ALTER TABLE more.orders_p1 SET SCHEMA public"),
    "owner": ("ALTER TABLE orders_p1 OWNER TO split_writer", "ALTER TABLE orders_p1 OWNER TO split_owner"),
    "not_permanent": ("ALTER TABLE orders_p1 SET UNLOGGED", "ALTER TABLE orders_p1 SET LOGGED"),
}  # fmt: skip
# Other tables, with what cannot be closed about them.
OTHERS = {
    "not_by_range": "CREATE TABLE {0} (k int NOT NULL) PARTITION BY LIST (k)",
    "nullable": "CREATE TABLE {0} (k int) PARTITION BY RANGE (k)",
    "no_beginning": "CREATE TABLE {0} (k int NOT NULL) PARTITION BY RANGE (k);"
    "CREATE TABLE {0}_p1 PARTITION OF {0} FOR VALUES FROM (MINVALUE) TO (MAXVALUE)",
    "no_table": "CREATE TABLE {0} (k int NOT NULL) PARTITION BY RANGE (k);"
    "CREATE TABLE {0}_p1 PARTITION OF {0} FOR VALUES FROM (1) TO (MAXVALUE) PARTITION BY HASH (k)",
    "partition": "CREATE TABLE root (k int NOT NULL) PARTITION BY RANGE (k);"
    "CREATE TABLE {0} PARTITION OF root FOR VALUES FROM (1) TO (MAXVALUE) PARTITION BY RANGE (k);"
    "CREATE TABLE {0}_p1 PARTITION OF {0} FOR VALUES FROM (1) TO (MAXVALUE)",
    "not_partitioned": "CREATE TABLE {0} (k int NOT NULL)",
}  # fmt: skip
BORDERS = {"before_its_beginning": "1000000", "too_near": "1000500"}  # the sequence is beyond


@only_newest
def test_what_is_refused(split_orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Whatever a closing would lose, read under a lock or not carry on is named before anything is proposed."""
    found = {}
    for code, (statement, undone) in REFUSED.items():
        split_orders.execute(statement.encode())
        found[code] = connector.route_close(KEY, "2000000", "fast")
        split_orders.execute(undone.encode())
    for code, statement in OTHERS.items():
        split_orders.execute(statement.format(f"a_{code}").encode())
        found[code] = connector.route_close(f"public.a_{code}", "2000000", "fast")
    found |= {code: connector.route_close(KEY, border, "fast") for code, border in BORDERS.items()}
    found["no_space"] = connector.route_close(KEY, "2000000", "other")
    assert {code: getattr(each, "code", "none") for code, each in found.items()} == {code: code for code in found}
    assert isinstance(connector.route_close(KEY, "2000000", "fast"), Route)


CHANGED = {
    "ALTER TABLE orders ADD more text": "HP001",
    "ALTER TABLE orders RENAME TO others; CREATE TABLE orders (LIKE others)": "HP001",
    "ALTER TABLE orders DETACH PARTITION orders_p1;"
    "ALTER TABLE orders ATTACH PARTITION orders_p1 FOR VALUES FROM (1000000) TO (3000000)": "HP001",
    "ALTER TABLE orders DETACH PARTITION orders_p1": "HP001",
    "CREATE INDEX ON orders (counted)": None,  # the next part gets it as well
}


@only_newest
def test_a_change_since_the_approval(split_orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Another table, other columns or other bounds end the transaction; what reaches all parts does not."""
    route = close_route(connector, "2000000")
    for step in route.steps[:2]:
        split_orders.execute(step.sql.encode())
    assert {change: state_after(split_orders, change, route.steps[2]) for change in CHANGED} == CHANGED
    split_orders.execute(route.steps[2].sql.encode())
    for step in route.undo_steps[:2]:
        split_orders.execute(step.sql.encode())
    once_more = "ALTER TABLE orders DETACH PARTITION orders_p2"
    assert state_after(split_orders, once_more, route.undo_steps[2]) == "HP001"
    assert state_after(split_orders, "SELECT 1", route.undo_steps[2]) is None


@only_newest
@pytest.mark.parametrize("part", ["orders_p1", "orders_p2"])
def test_a_part_that_was_partitioned_since_is_not_opened_again(
    split_orders: psycopg.Connection, connector: PostgresqlConnector, part: str
) -> None:
    """Its size is that of its parts, and indexes of theirs would go with it: named before, and by the server."""
    route = close_route(connector, "2000000")
    run(connector, route)
    if part == "orders_p2":
        partition_part(split_orders, part, "2000000")
    else:
        split_orders.execute("ALTER TABLE orders DETACH PARTITION orders_p1; DROP TABLE orders_p1")
        split_orders.execute(
            "CREATE TABLE orders_p1 PARTITION OF orders FOR VALUES FROM (1000000) TO (2000000) PARTITION BY RANGE (id)"
            " TABLESPACE fast"
        )
        split_orders.execute("CREATE TABLE orders_p1_a PARTITION OF orders_p1 DEFAULT")
    seen, back = answers(split_orders), way_back(route)
    found = connector.inspect(back)
    assert (found.home, f"{part} is no ordinary table any more" in found.sentence) == (Home.ELSEWHERE, True)
    with connector.open_mover() as mover:
        mover.prepare(back)
        with pytest.raises(StatementFailed, match=f"{part} is no ordinary table any more"):
            mover.execute(back.steps[-1])
    assert answers(split_orders) == seen


@only_newest
def test_who_uses_another_part_is_waited_for(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """It would wait for all of the table: named before a try, there, back, and on the way back of the split."""
    orders.execute("CREATE TABLE unrelated (id int)")
    split = split_route(connector, orders, "id", "1000000")
    run(connector, split)
    route = close_route(connector, "2000000")
    ways = [route, way_back(route), split_back(split)]
    with cluster.session(dbname) as other:
        for table, named in (("unrelated", ""), ("orders_p0", "public.orders_p0"), ("customers", "public.customers")):
            other.execute("BEGIN")
            other.execute(f"SELECT count(*) FROM {table}".encode())
            orders.execute("SELECT pg_sleep(0.6)")  # longer than lock_timeout
            for way in ways:
                found = [each.sentence for each in connector.blockers(way)]
                assert len(found) == bool(named), (way.name, found)
                assert all(each.endswith(f"holds AccessShareLock on {named}") for each in found)
                # What takes a constraint away again locks the part alone: it is not kept waiting for the others.
                assert connector.blockers(way, tidying=True) == ()
            other.execute("COMMIT")
        other.execute("BEGIN; LOCK TABLE ONLY orders IN ACCESS SHARE MODE")
        orders.execute("SELECT pg_sleep(0.6)")
        said = [[each.sentence.partition(", holds ")[2] for each in connector.blockers(way)] for way in ways]
        assert said == [*[["AccessShareLock on public.orders"]] * 2, ["AccessShareLock on it"]]


@only_newest
def test_no_try_begins_while_another_part_is_used(
    cluster: Cluster, dbname: str, split_orders: psycopg.Connection, place: Place
) -> None:
    """Each try would stall everybody for lock_timeout: nothing is sent, until the other part is free."""
    split_orders.execute("VACUUM ANALYZE orders")
    with place.agent() as (watch, ledger), cluster.session(dbname) as report:
        report.execute("BEGIN; SELECT count(*) FROM orders_p0")
        split_orders.execute("SELECT pg_sleep(1.2)")
        found = watch.close_part(KEY, "2000000", None)
        assert found.proposal is not None
        decide(watch, ledger, ledger.proposals.store(found.proposal))
        (row,) = ledger.moves.rows()
        assert (row.state, ledger.moves.steps(row.id)) == (MoveState.APPROVED, [])
        report.execute("COMMIT")
        wait_until(lambda: bool(watch.act()) and ledger.moves.row(row.id).state is MoveState.PLACED, "it is closed")


@only_newest
def test_by_an_agent(split_orders: psycopg.Connection, place: Place) -> None:
    """Asked for by the command, proposed, approved and carried out; undone, unless the part has gone down since."""
    arguments = ["split", KEY, "--close", "--border", "2000000", "--json"]
    program = [sys.executable, "-m", "hotplace", "--config", str(place.path)]
    done = subprocess.run([*program, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_document(arguments, json.loads(done.stdout))
    (shown,) = json.loads(done.stdout)["moves"]
    with place.agent() as (watch, ledger):
        found = watch.close_part(KEY, "2000000", None)
        assert found.proposal is not None
        steps = found.proposal.moves[0].route.steps
        assert [each["sql"] for each in shown["statements"]] == [each.sql for each in steps]
        decide(watch, ledger, ledger.proposals.store(found.proposal))
        (row,) = ledger.moves.rows()
        assert (row.state, row.reason) == (MoveState.PLACED, "public.orders_p1 has an end")
        seen, now = answers(split_orders), SystemClock().now()
        for space, state in (("slow", MoveState.SKIPPED), ("fast", MoveState.PLACED)):
            split_orders.execute(f"ALTER TABLE orders_p1 SET TABLESPACE {space}".encode())
            number = propose_undo([ledger.moves.row(row.id)], watch.database, watch.connector, ledger, now)
            decide(watch, ledger, number)
            assert [each.state for each in ledger.moves.rows(proposal_id=number)] == [state], space
            ledger.moves.settle_undos("real")
        assert answers(split_orders) == seen
        assert ledger.audit.verify().ok
    assert [name for name, _ in split_orders.execute(RANGES)] == ["orders_p0", "orders_p1"]


@only_newest
def test_what_the_command_refuses(place: Place) -> None:
    """No border, a column, and a table that was never split."""
    refused = (
        (["--close"], 2, "a part is closed at a --border"),
        (["--close", "--border", "7", "--column", "id"], 2, "a part is closed at a --border"),
        (["--close", "--border", "7"], 6, "public.orders cannot be closed at 7: it is no partitioned table"),
    )
    for arguments, code, words in refused:
        done = run_here("--config", str(place.path), "split", KEY, *arguments)
        assert (done.code, words in done.err) == (code, True), done.err
