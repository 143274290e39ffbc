"""Splitting a table on a real server: there, back, refused by name, and whole whatever happens in between."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.model.proposals import Proposal
from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from agent.service.watch import Watch
from connectors.kit.contract import StatementFailed
from connectors.model.moves import REJOIN, Border, Bundle, Locked, NoRoute, Route, Step, UnitKind
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.mover import PostgresqlMover
from policies.model.settings import Pin
from tests.contract.asking import run
from tests.documents import check_document
from tests.labs.postgresql import Cluster, client, installations, wait_until
from tests.labs.test_long_transactions import Place
from tests.unit.samples import a_proposal

ORDERS = '''
    CREATE ROLE split_owner; CREATE ROLE split_reader; CREATE ROLE split_writer;
    GRANT CREATE ON SCHEMA public TO split_owner;
    CREATE TABLE customers (id int PRIMARY KEY);
    INSERT INTO customers SELECT generate_series(0, 9);
    CREATE TABLE orders (
        dropped int,
        id bigint GENERATED ALWAYS AS IDENTITY (START 5 CACHE 3) PRIMARY KEY,
        made_at timestamptz NOT NULL DEFAULT now(),
        customer int REFERENCES customers,
        "a ""Note""" text CHECK (length("a ""Note""") > 0),
        twice int GENERATED ALWAYS AS (customer * 2) STORED,
        counted serial
    ) WITH (fillfactor = 80, toast.autovacuum_enabled = off);
    ALTER TABLE orders DROP dropped;
    ALTER TABLE orders ALTER customer SET STATISTICS 200, ALTER customer SET (n_distinct = 7);
    ALTER TABLE orders ALTER "a ""Note""" SET STORAGE EXTERNAL;
    ALTER TABLE orders ADD CONSTRAINT later UNIQUE (id, customer) DEFERRABLE INITIALLY DEFERRED;
    CREATE UNIQUE INDEX with_more ON orders (id, customer) INCLUDE (counted);
    CREATE INDEX ON orders (made_at) WITH (fillfactor = 50);
    CREATE INDEX "x Y" ON orders (customer) WHERE customer > 3;
    COMMENT ON TABLE orders IS $$it's all orders$$; COMMENT ON COLUMN orders.customer IS 'whose';
    COMMENT ON CONSTRAINT orders_pkey ON orders IS 'the key'; COMMENT ON INDEX orders_pkey IS 'its index';
    ALTER TABLE orders OWNER TO split_owner;
    GRANT SELECT ON orders TO split_reader WITH GRANT OPTION;
    GRANT UPDATE (customer) ON orders TO split_writer;
    GRANT USAGE ON SEQUENCE orders_id_seq TO split_writer;
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
    CREATE POLICY not_all ON orders TO split_writer USING (customer > 1);
    COMMENT ON POLICY not_all ON orders IS 'not all';
    ALTER TABLE orders REPLICA IDENTITY FULL;
    INSERT INTO orders (customer, "a ""Note""") SELECT g % 10, 'x' FROM generate_series(1, 2000) AS g;
'''
ADD = '''INSERT INTO orders (customer, "a ""Note""") SELECT g % 10, 'y' FROM generate_series(1, 2000) AS g''' ""
QUERIES = (
    "SELECT count(*), sum(id), sum(customer), sum(twice), sum(counted) FROM orders",
    "SELECT * FROM orders WHERE id = 17",
    "SELECT customer, count(*) FROM orders WHERE customer > 4 GROUP BY customer ORDER BY customer",
    "SELECT c.id, max(o.id) FROM customers AS c JOIN orders AS o ON o.customer = c.id GROUP BY c.id ORDER BY c.id",
)
LEFT = "SELECT count(*) FROM pg_constraint WHERE conname LIKE 'hotplace%'"
KEY = "public.orders"
NEWEST = max(installations(), default=0)
only_newest = pytest.mark.parametrize(
    "cluster", [pytest.param(NEWEST, marks=pytest.mark.xdist_group(f"postgresql {NEWEST}"))], indirect=True
)
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
]
PARTS = "SELECT tableoid::regclass::text, count(*) FROM orders GROUP BY 1 ORDER BY 1"


def a_bundle(dba: psycopg.Connection, key: str = KEY) -> Bundle:
    """The table in the slow space, as a proposal of a split has it."""
    (oid,) = dba.execute("SELECT %s::regclass::oid::bigint", (key,)).fetchone() or (0,)
    return Bundle(key=key, physical_ids=(oid,), unit_keys=(), kind=UnitKind.TABLE, size_bytes=0, space="slow")


def split_route(connector: PostgresqlConnector, dba: psycopg.Connection, column: str, value: str) -> Route:
    """The route that splits orders there."""
    found = connector.routes_split(a_bundle(dba), Border(column=column, value=value), "fast")
    assert isinstance(found, Route), found
    return found


def way_back(route: Route) -> Route:
    """The route that its undo is."""
    return replace(route, name=REJOIN, steps=route.undo_steps, undo_steps=(), locked=Locked.ALL)


def described(cluster: Cluster, dbname: str, table: str) -> str:
    """All that pg_dump says of the table's definition, of that very version where it is here."""
    command = [client("pg_dump", cluster.major), "-h", cluster.server.folder, "-U", "postgres", "-s"]
    done = subprocess.run([*map(str, command), "-t", table, dbname], check=True, capture_output=True, text=True)
    # Each run has a word of its own in these two lines.
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("\\restrict", "\\unrestrict")))


def answers(dba: psycopg.Connection) -> list[object]:
    """What users get from the table."""
    return [dba.execute(question.encode()).fetchall() for question in QUERIES]


@pytest.fixture
def orders(dba: psycopg.Connection) -> psycopg.Connection:
    """A table with most of what a table can have."""
    for role in ("split_owner", "split_reader", "split_writer"):
        dba.execute(f"DROP ROLE IF EXISTS {role}".encode())
    dba.execute(ORDERS.encode())
    return dba


def test_there_and_back(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """No byte is copied, users see the same table and rows at any time, and so does pg_dump in the end."""
    before, seen = described(cluster, dbname, "orders"), answers(orders)
    file = orders.execute("SELECT pg_relation_filenode('orders')").fetchone()
    route = split_route(connector, orders, "id", " 1000000 ")
    assert connector.inspect(route).home is Home.SOURCE
    for step in route.steps:
        with connector.open_mover() as mover:
            mover.prepare(route)
            mover.execute(step)
        assert answers(orders) == seen, step.purpose
    assert connector.inspect(route).home is Home.TARGET
    assert orders.execute("SELECT pg_relation_filenode('orders_p0')").fetchone() == file
    orders.execute("SELECT setval('orders_id_seq', 998999, true)")
    orders.execute(ADD.encode())
    assert orders.execute(PARTS).fetchall() == [("orders_p0", 3000), ("orders_p1", 1000)]
    spaces = orders.execute(
        "SELECT DISTINCT t.spcname FROM pg_class AS c JOIN pg_index AS i ON i.indrelid = 'orders_p1'::regclass"
        " JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE c.oid IN (i.indrelid, i.indexrelid)"
    )
    assert spaces.fetchall() == [("fast",)]
    seen = answers(orders)
    assert connector.inspect(way_back(route)).home is Home.SOURCE
    run(connector, route, undo=True)
    assert connector.inspect(way_back(route)).home is Home.TARGET
    assert "the border has been reached" in connector.inspect(route).sentence
    assert answers(orders) == seen
    assert described(cluster, dbname, "orders") == before
    orders.execute(ADD.encode())  # its sequence goes on


REFUSED = {
    "incoming_keys": "CREATE TABLE lines (o bigint REFERENCES orders)",
    "triggers": "CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW"
    " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "unheld_keys": "ALTER TABLE orders DISABLE TRIGGER ALL",
    "rules": "CREATE RULE r AS ON DELETE TO orders DO INSTEAD NOTHING",
    "publications": "CREATE PUBLICATION p FOR TABLE orders",
    "dependents": "CREATE VIEW v AS SELECT id FROM orders",
    "statistics": "CREATE STATISTICS s ON id, customer FROM orders",
    "unique": "ALTER TABLE orders ADD UNIQUE (counted)",
    "exclusion": "ALTER TABLE orders ADD EXCLUDE USING btree (id WITH =)",
    "not_valid": "ALTER TABLE orders ADD CHECK (customer < 100) NOT VALID",
    "no_inherit": "ALTER TABLE orders ADD CHECK (customer < 100) NO INHERIT",
    "inheritance": "CREATE TABLE more () INHERITS (orders)",
    "not_permanent": "ALTER TABLE orders SET UNLOGGED",
    "grantors": "SET ROLE split_reader; GRANT SELECT ON orders TO split_writer; RESET ROLE",
    "index_statistics": "CREATE INDEX e ON orders ((customer + 1)); ALTER INDEX e ALTER 1 SET STATISTICS 9",
    "sequence": "CREATE TABLE other (n bigint DEFAULT nextval('orders_id_seq'))",
    "no_statistics": "SELECT setval('orders_id_seq', 2000000)",
}


@only_newest
def test_what_is_refused(orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Each thing that a split would lose or break is named before anything is proposed."""
    bundle, found = a_bundle(orders), {}
    for code, statement in REFUSED.items():
        orders.execute("BEGIN")
        orders.execute(statement.encode())
        orders.execute("COMMIT")
        answer = connector.routes_split(bundle, Border(column="id", value="1000000"), "fast")
        found[code] = answer.code if isinstance(answer, NoRoute) else "none"
        orders.execute(UNDONE.get(code, b""))
    assert found == {code: code for code in REFUSED}


UNDONE = {
    "incoming_keys": b"DROP TABLE lines",
    "triggers": b"DROP TRIGGER t ON orders",
    "unheld_keys": b"ALTER TABLE orders ENABLE TRIGGER ALL",
    "rules": b"DROP RULE r ON orders",
    "publications": b"DROP PUBLICATION p",
    "dependents": b"DROP VIEW v",
    "statistics": b"DROP STATISTICS s",
    "unique": b"ALTER TABLE orders DROP CONSTRAINT orders_counted_key",
    "exclusion": b"ALTER TABLE orders DROP CONSTRAINT orders_id_excl",
    "not_valid": b"ALTER TABLE orders DROP CONSTRAINT orders_customer_check",
    "no_inherit": b"ALTER TABLE orders DROP CONSTRAINT orders_customer_check",
    "inheritance": b"DROP TABLE more",
    "not_permanent": b"ALTER TABLE orders SET LOGGED",
    "grantors": b"REVOKE SELECT ON orders FROM split_reader CASCADE",
    "index_statistics": b"DROP INDEX e",
    "sequence": b"DROP TABLE other",
}


@only_newest
def test_what_is_not_enforced_is_refused(
    cluster: Cluster, orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Since 18: VALIDATE CONSTRAINT, the remedy for one that was never checked, would not do."""
    if cluster.major < 18:
        pytest.skip("NOT ENFORCED came with 18")
    orders.execute("ALTER TABLE orders ADD CHECK (customer < 100) NOT ENFORCED")
    refused = connector.routes_split(a_bundle(orders), Border(column="id", value="1000000"), "fast")
    assert isinstance(refused, NoRoute)
    assert (refused.code, "drop" in refused.sentence) == ("not_enforced", True)


COLUMNS = {"no_column": "nothing", "generated": "twice", "nullable": "customer"}


@only_newest
def test_columns_that_do_not_do(orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """What no table can be partitioned by is said of the column."""
    bundle = a_bundle(orders)
    found = {
        code: connector.routes_split(bundle, Border(column=column, value="1000000"), "fast")
        for code, column in COLUMNS.items()
    }
    assert {code: answer.code for code, answer in found.items() if isinstance(answer, NoRoute)} == {
        code: code for code in COLUMNS
    }


CHANGES = (
    "CREATE INDEX ON orders (counted)",
    "GRANT DELETE ON orders TO split_writer",
    "ALTER TABLE orders ADD more text",
    "COMMENT ON COLUMN orders.id IS 'changed'",
    "ALTER TABLE orders ALTER customer SET STATISTICS 300",
    "ALTER POLICY not_all ON orders USING (customer > 2)",
    "ALTER TABLE orders ADD CHECK (customer < 100)",
    "CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
)
TAKEN_OVER = {"COMMENT ON COLUMN orders.id IS 'changed'", "ALTER TABLE orders ADD CHECK (customer < 100)"}
REACH_PARTS = {
    "ALTER TABLE orders ALTER customer SET STATISTICS 300",
    "ALTER TABLE orders ADD CHECK (customer < 100)",
}


@only_newest
def test_a_change_since_the_approval(orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """The server compares the table before and after within the transaction, so nothing that was added is lost."""
    route = split_route(connector, orders, "id", "1000000")
    for step in route.steps[:2]:
        orders.execute(step.sql.encode())
    there = {change: state_after(orders, change, route.steps[2]) for change in CHANGES}
    orders.execute(route.steps[2].sql.encode())
    back = {change: state_after(orders, change, route.undo_steps[0]) for change in CHANGES}
    # What LIKE takes over, or what reaches the parts too, is not lost whenever it came: the server has compared it.
    assert there == {change: None if change in TAKEN_OVER else "HP001" for change in CHANGES}
    assert back == {change: None if change in REACH_PARTS else "HP001" for change in CHANGES}


def state_after(dba: psycopg.Connection, change: str, step: Step) -> str | None:
    """What the server says to a step after a change, None where it does it; both are rolled back."""
    dba.execute("BEGIN")
    try:
        dba.execute(change.encode())
        dba.execute(step.sql.encode())
    except psycopg.Error as error:
        return error.sqlstate
    else:
        return None
    finally:
        dba.execute("ROLLBACK")


@only_newest
def test_a_statement_of_ours_is_no_function_of_users(connector: PostgresqlConnector) -> None:
    """What a DO statement raises by itself is blamed on no event trigger and on no part of an index."""
    step = Step(sql="DO $$ BEGIN RAISE EXCEPTION 'not as before'; END $$", purpose="split")
    with connector.open_mover() as mover, pytest.raises(StatementFailed, match="not as before") as caught:
        mover.execute(step)
    assert "function" not in caught.value.advice


@pytest.fixture
def place(tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, orders: psycopg.Connection) -> Place:
    """Agents next to the table."""
    return Place(tmp_path, cluster, dba)


def decide(watch: Watch, ledger: Ledger, number: int | None) -> None:
    """Approve it and carry it out."""
    assert number is not None
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    watch.act()


@only_newest
def test_the_command(place: Place) -> None:
    """A dry run of the command prints the very statements, as a document of its published schema."""
    arguments = ["split", KEY, "--column", "id", "--border", "1000000", "--to", "fast", "--json"]
    program = [sys.executable, "-m", "hotplace", "--config", str(place.path)]
    done = subprocess.run([*program, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    check_document(arguments, document)
    (move,) = document["moves"]
    with place.agent() as (watch, ledger):
        proposal, _ = approved(watch, ledger)
    assert [step["sql"] for step in move["statements"]] == [step.sql for step in proposal.moves[0].route.steps]
    assert place.dba.execute("SELECT relkind::text FROM pg_class WHERE relname = 'orders'").fetchone() == ("r",)


@only_newest
@pytest.mark.parametrize(
    ("unit", "border", "space", "code", "said"),
    [
        (KEY, "abc", "fast", 6, "'abc' is no value of id, whose type is bigint"),
        (KEY, "1e3", "fast", 6, "'1e3' is no value of id"),
        (KEY, "1000000", "nope", 7, "no space is named 'nope'"),
        ("public.nope", "1000000", "fast", 7, "no unit has the key 'public.nope'"),
    ],
)
def test_what_the_command_cannot_use_is_named(
    place: Place, unit: str, border: str, space: str, code: int, said: str
) -> None:
    """A value, a unit or a space that there is not: with the code of that and a next step, no fault of the program."""
    program = [sys.executable, "-m", "hotplace", "--config", str(place.path), "split", unit]
    done = subprocess.run(
        [*program, "--column", "id", "--border", border, "--to", space], check=False, capture_output=True, text=True
    )
    assert (done.returncode, said in done.stderr, "next: " in done.stderr) == (code, True, True), done.stderr


@only_newest
def test_the_border_is_said_as_the_server_reads_it(place: Place) -> None:
    """A time with its zone, and no word that means another day tomorrow."""
    with place.agent() as (watch, _):
        place.dba.execute("CREATE TABLE dated (at timestamptz NOT NULL)")
        for value in ("2099-09-01 00:00", "2099-09-01 02:00+02"):
            found = watch.split("public.dated", Border(column="at", value=value), "fast")
            assert found.border.value == "2099-09-01 00:00:00+00"
            assert found.proposal is not None
            assert "is split where at = 2099-09-01 00:00:00+00:" in found.proposal.moves[0].sentence
        found = watch.split("public.dated", Border(column="at", value="tomorrow"), "fast")
        assert found.border.value[:2] == "20"


@only_newest
def test_the_whole_way(cluster: Cluster, dbname: str, place: Place) -> None:
    """Proposed, approved, carried out, and taken back by an undo that is approved too, as the catalog has it."""
    before = described(cluster, dbname, "orders")
    with place.agent() as (watch, ledger):
        found = watch.split(KEY, Border(column="id", value="1000000"), None)
        assert found.to_space == "fast"
        decide(watch, ledger, ledger.proposals.store(found.proposal or a_proposal()))
        (row,) = ledger.moves.rows()
        assert (row.state, row.reason) == (MoveState.PLACED, "public.orders is partitioned")
        assert place.dba.execute(PARTS).fetchall() == [("orders_p0", 2000)]
        place.dba.execute("SELECT setval('orders_id_seq', 1000000)")
        place.dba.execute(ADD.encode())
        seen = answers(place.dba)
        back = propose_undo([row], watch.database, watch.connector, ledger, SystemClock().now())
        (move,) = ledger.proposals.row(back).proposal.moves
        assert move.size_bytes > 0
        assert (move.from_space, move.to_space) == ("fast", "slow")
        decide(watch, ledger, back)
        assert [(each.state, each.reason) for each in ledger.moves.rows(proposal_id=back)] == [
            (MoveState.PLACED, "public.orders is one table")
        ]
        assert answers(place.dba) == seen
        assert ledger.audit.verify().ok
    assert described(cluster, dbname, "orders") == before


@only_newest
def test_an_agent_that_dies(cluster: Cluster, dbname: str, place: Place) -> None:
    """After whichever statement, the next agent finds a whole table, splits it, and no constraint is left."""
    with closing(cluster.connector(dbname)) as connector:
        for step in range(3):
            proposal, number = _die_after(place, step)
            seen = answers(place.dba)
            with place.agent() as (watch, ledger):
                watch.act()
                (row,) = ledger.moves.rows(proposal_id=number)
                assert row.state is MoveState.PLACED, row.reason
            assert answers(place.dba) == seen
            assert place.dba.execute(LEFT).fetchone() == (0,)
            run(connector, proposal.moves[0].route, undo=True)


def _die_after(place: Place, step: int) -> tuple[Proposal, int]:
    """Propose, approve and begin a split, and die once that statement is done."""
    execute = PostgresqlMover.execute

    def dies(mover: PostgresqlMover, each: Step) -> None:
        execute(mover, each)
        if each == proposal.moves[0].route.steps[step]:
            raise AgentDied

    with place.agent() as (watch, ledger), pytest.MonkeyPatch.context() as patch:
        proposal, number = approved(watch, ledger, 1000000 + step)
        patch.setattr(PostgresqlMover, "execute", dies)
        with pytest.raises(AgentDied):
            watch.act()
    return proposal, number


def approved(watch: Watch, ledger: Ledger, border: int = 1000000) -> tuple[Proposal, int]:
    """A split of orders that waits for its turn."""
    proposal = watch.split(KEY, Border(column="id", value=str(border)), "fast").proposal
    assert proposal is not None
    number = ledger.proposals.store(proposal)
    ledger.proposals.approve(number, who="ann", origin="test", digest=proposal.digest)
    return proposal, number


@only_newest
def test_a_split_that_was_pinned_after_its_approval_does_not_begin(place: Place) -> None:
    """By a pattern; without the pin the next one is carried out."""
    with place.agent() as (watch, ledger):
        approved(watch, ledger)
        ledger.pins.pin("real", "public.ord*", Pin.NEVER, who="bert", reason="")
        (row,) = watch.act()
        assert row.state is MoveState.SKIPPED
        assert row.reason.startswith("public.orders is pinned to never (public.ord*)"), row.reason
        ledger.pins.unpin("real", "public.ord*", who="bert")
        approved(watch, ledger, 1000001)
        assert [each.state for each in watch.act()] == [MoveState.PLACED]


@only_newest
def test_a_pin_of_a_table_whose_name_is_a_pattern_is_of_no_other(place: Place, connector: PostgresqlConnector) -> None:
    """A key first, a pattern only where there is no such key: just before a move begins, too."""
    for name in ('"or*"', '"or B"'):
        place.dba.execute(f"CREATE TABLE {name} AS SELECT 1 AS id".encode())
    place.approve(connector, 'public."or B"')
    with place.agent() as (watch, ledger):
        ledger.pins.pin("real", 'public."or*"', Pin.NEVER, who="bert", reason="")
        assert [each.state for each in watch.act()] == [MoveState.PLACED]


class AgentDied(BaseException):
    """What kill -9 is to the rest of the process."""


@only_newest
def test_a_table_in_use(place: Place, cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """A lock that is not had in time puts the split off, and no constraint stays once the table can be had."""
    execute, user = PostgresqlMover.execute, cleanup.enter_context(cluster.session(dbname))
    with place.agent() as (watch, ledger):
        proposal, _ = approved(watch, ledger)

        def holds(mover: PostgresqlMover, each: Step) -> None:
            if each == proposal.moves[0].route.steps[2]:
                user.execute("BEGIN; SELECT FROM orders LIMIT 1")
            execute(mover, each)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PostgresqlMover, "execute", holds)
            watch.act()
        (row,) = ledger.moves.rows()
        assert row.state is MoveState.APPROVED, row.reason
        user.execute("COMMIT")
        wait_until(lambda: bool(watch.act()) and ledger.moves.row(row.id).state is MoveState.PLACED, "it is split")
        assert place.dba.execute(LEFT).fetchone() == (0,)
