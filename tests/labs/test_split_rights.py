"""The login with the fewest rights that can split a table: each that is missing is named with its remedy."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack

import psycopg
import pytest

from connectors.model.moves import Border, NoRoute, Route
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import run
from tests.labs.postgresql import Cluster
from tests.labs.test_long_transactions import Place
from tests.labs.test_split import (
    KEY,
    a_bundle,
    answers,
    described,
    only_newest,
    orders,
    place,
    pytestmark,
    split_route,
)

__all__ = ["orders", "place", "pytestmark"]
# What is missing, by the word that names it: a statement that takes it away.
TAKEN = {
    "the rights of its owner split_owner": 'REVOKE split_owner FROM "split mover"',
    "CREATE on its schema": "REVOKE CREATE ON SCHEMA public FROM split_owner, PUBLIC",
    "USAGE on its schema": "REVOKE USAGE ON SCHEMA public FROM split_owner, PUBLIC",
    "CREATE on tablespace fast": 'REVOKE CREATE ON TABLESPACE fast FROM "split mover"',
    "SELECT on it": "REVOKE SELECT ON orders FROM split_owner",
    "INSERT on it": "REVOKE INSERT ON orders FROM split_owner",
    "DELETE on it": "REVOKE DELETE ON orders FROM split_owner",
    "REFERENCES on customers": "REVOKE REFERENCES ON customers FROM split_owner",
    "USAGE on schema elsewhere": "REVOKE USAGE ON SCHEMA elsewhere FROM split_owner",
    "SELECT on the identity sequence orders_id_seq": "REVOKE SELECT ON SEQUENCE orders_id_seq FROM split_owner",
    "USAGE on type public.coin": "REVOKE USAGE ON TYPE coin FROM split_owner, PUBLIC",
    "BYPASSRLS": "ALTER TABLE orders FORCE ROW LEVEL SECURITY",
}
LEAST = """
    CREATE ROLE "split mover" LOGIN; GRANT pg_monitor, split_owner TO "split mover";
    GRANT CREATE ON TABLESPACE fast TO "split mover";
    REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT USAGE, CREATE ON SCHEMA public TO split_owner;
    CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO split_owner;
    ALTER TABLE customers SET SCHEMA elsewhere; GRANT REFERENCES ON elsewhere.customers TO split_owner;
    CREATE DOMAIN coin AS int; REVOKE USAGE ON TYPE coin FROM PUBLIC; GRANT USAGE ON TYPE coin TO split_owner;
    ALTER TABLE orders ADD paid coin;
"""


@pytest.fixture
def mover(cluster: Cluster, dbname: str, orders: psycopg.Connection, cleanup: ExitStack) -> PostgresqlConnector:
    """A connector of that login, and statistics of the table."""
    cleanup.callback(orders.execute, b'DROP OWNED BY "split mover" CASCADE; DROP ROLE "split mover"')
    orders.execute(LEAST.encode())
    orders.execute("SET search_path = public, elsewhere")
    orders.execute("VACUUM (ANALYZE) orders")
    made = cluster.connector(dbname, user="split mover")
    cleanup.callback(made.close)
    return made


@only_newest
def test_each_missing_right_is_named(orders: psycopg.Connection, mover: PostgresqlConnector) -> None:
    """By its word and its remedy, which mends it; a split does not begin before."""
    bundle = a_bundle(orders)
    route = mover.routes_split(bundle, Border(column="id", value="1805"), "fast")
    assert isinstance(route, Route), route
    assert mover.refuse_split(route) is None
    for word, taken in TAKEN.items():
        orders.execute(taken.encode())
        refused = mover.refuse_split(route)
        assert refused is not None, word
        assert refused.sentence.startswith(f"the login that would do it lacks {word}"), refused
        found = mover.inspect(route)
        assert (found.home, found.sentence) == (Home.ELSEWHERE, refused.sentence)
        remedies = refused.sentence.partition(": ")[2] if word != "BYPASSRLS" else refused.sentence.rpartition(": ")[2]
        orders.execute(remedies.encode())
        assert mover.refuse_split(route) is None, word


@only_newest
def test_the_same_rights_close_a_part(orders: psycopg.Connection, mover: PostgresqlConnector) -> None:
    """There and back, by the login with the fewest; what is missing for it is named, too."""
    run(mover, split_route(mover, orders, "id", "1000000"))
    seen = orders.execute("SELECT count(*), sum(id) FROM orders").fetchall()
    route = mover.route_close(KEY, "2000000", "fast")
    assert isinstance(route, Route), route
    for word in ("the rights of its owner split_owner", "CREATE on its schema", "CREATE on tablespace fast"):
        orders.execute(TAKEN[word].encode())
        refused = mover.refuse_split(route)
        assert refused is not None, word
        assert refused.sentence.startswith(f"the login that would do it lacks {word}"), refused
        assert mover.inspect(route).sentence == refused.sentence
        orders.execute(refused.sentence.partition(": ")[2].encode())
    for undo in (False, True):
        run(mover, route, undo=undo)
        assert orders.execute("SELECT count(*), sum(id) FROM orders").fetchall() == seen
    assert mover.inspect(route).home is Home.SOURCE


@only_newest
def test_no_proposal_without_the_rights(place: Place, orders: psycopg.Connection, mover: PostgresqlConnector) -> None:
    """The account that moves is asked when a split is planned, not the one that watches."""
    assert mover.identify()
    text = place.path.read_text()
    place.path.write_text(
        re.sub(r"connection: \{host: ([^,]*), dbname: ([^,]*),.*\}", r"connection: {host: \1, dbname: \2, user: looker}"
               "\n    move_connection: {user: split mover}", text)
    )  # fmt: skip
    border = Border(column="id", value="1805")
    program = [sys.executable, "-m", "hotplace", "--config", str(place.path), "split", KEY]
    command = subprocess.run(
        [*program, "--column", "id", "--border", "1805", "--to", "fast"], capture_output=True, check=False
    )
    assert b"are moved to fast" in command.stdout, "the account that watches does not see that rows are there already"
    with place.agent() as (watch, _):
        assert isinstance(watch.split(KEY, border, "fast").answer, Route)
        orders.execute(TAKEN["INSERT on it"].encode())
        found = watch.split(KEY, border, "fast")
        assert isinstance(found.answer, NoRoute)
        assert (found.answer.code, found.proposal) == ("rights", None)
    orders.execute("GRANT SELECT (id) ON orders TO looker")  # by its statistics the rows that would move are counted
    place.path.write_text(place.path.read_text().replace("dry_run: false", "dry_run: true"))
    with place.agent() as (watch, _):
        assert isinstance(watch.split(KEY, border, "fast").answer, Route), "in a dry run the account is not asked"


@only_newest
def test_doctor_names_schemas(orders: psycopg.Connection, mover: PostgresqlConnector) -> None:
    """In which owners of tables may make none, with the grant that mends it."""
    orders.execute(TAKEN["CREATE on its schema"].encode())
    (found,) = [
        each for each in mover.doctor() if each.code == "split_schema_missing" and "split_owner" in each.sentence
    ]
    assert found.remedy == "GRANT CREATE ON SCHEMA public TO split_owner;"
    orders.execute(found.remedy.encode())
    assert "split_schema" in {each.code for each in mover.doctor()}


@only_newest
@pytest.mark.parametrize("border", ["1000000", "1805"])
def test_the_least_rights_are_enough(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, mover: PostgresqlConnector, border: str
) -> None:
    """There and back, whether rows are moved or not, users see the same and pg_dump too."""
    before, seen = described(cluster, dbname, "orders"), answers(orders)
    route = mover.routes_split(a_bundle(orders), Border(column="id", value=border), "fast")
    assert isinstance(route, Route), route
    run(mover, route)
    assert mover.inspect(route).home is Home.TARGET
    assert answers(orders) == seen
    run(mover, route, undo=True)
    assert answers(orders) == seen
    assert described(cluster, dbname, "orders") == before


DEFAULTS = """
    ALTER DEFAULT PRIVILEGES FOR ROLE split_owner, postgres GRANT ALL ON TABLES TO split_reader WITH GRANT OPTION;
    ALTER DEFAULT PRIVILEGES FOR ROLE split_owner, postgres GRANT SELECT, INSERT ON TABLES TO PUBLIC, "odd; -- role";
    ALTER DEFAULT PRIVILEGES FOR ROLE split_owner, postgres GRANT ALL ON SEQUENCES TO PUBLIC, split_reader;
"""
GRANTED = """
    SELECT pg_get_userbyid(p.grantee), p.privilege_type, p.is_grantable FROM pg_class AS c, aclexplode(c.relacl) AS p
     WHERE c.oid = %s::regclass AND p.grantee <> c.relowner ORDER BY 1, 2, 3
"""


@only_newest
@pytest.mark.parametrize("border", ["1805", "1000000"])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("policies", [False, True])
def test_a_part_is_open_to_whom_the_whole_is(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, connector: PostgresqlConnector, cleanup: ExitStack,
    border: str, plain: bool, policies: bool,
) -> None:  # fmt: skip
    """And to its owner alone where policies say which rows are seen; what new tables are given by default is not added.

    A backup reads part by part.
    """
    cleanup.callback(orders.execute, b'DROP OWNED BY "odd; -- role" CASCADE; DROP ROLE "odd; -- role"')
    orders.execute(b'CREATE ROLE "odd; -- role"')
    if plain:  # with the privileges that every table has
        orders.execute("REVOKE ALL ON orders, orders_id_seq FROM split_reader, split_writer")
        orders.execute("REVOKE ALL (customer) ON orders FROM split_writer")
        orders.execute("UPDATE pg_class SET relacl = NULL WHERE relname IN ('orders', 'orders_id_seq')")
    if not policies:
        orders.execute("ALTER TABLE orders DISABLE ROW LEVEL SECURITY")
    orders.execute(DEFAULTS.encode())
    wanted = [] if policies else orders.execute(GRANTED.encode(), (KEY,)).fetchall()
    assert bool(wanted) is not (plain or policies)
    orders.execute("VACUUM (ANALYZE) orders")
    before, seen = described(cluster, dbname, "orders"), answers(orders)
    route = split_route(connector, orders, "id", border)
    run(connector, route)
    assert orders.execute(GRANTED.encode(), ("orders_p1",)).fetchall() == wanted
    close = connector.route_close(KEY, "2000000", "fast")
    assert isinstance(close, Route), close
    run(connector, close)
    assert orders.execute(GRANTED.encode(), ("orders_p2",)).fetchall() == wanted
    run(connector, close, undo=True)
    if not plain:
        orders.execute(
            "GRANT SELECT ON orders_p1 TO split_reader WITH GRANT OPTION"
        )  # as on the whole: nothing is lost
    run(connector, route, undo=True)
    assert described(cluster, dbname, "orders") == before
    assert answers(orders) == seen
