"""A split whose border lies among the rows, moved in one transaction, bounded in bytes and seconds, and taken back."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from agent.model.clock import SystemClock
from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from agent.sampling.block_heat import UnitBorders, save_borders
from agent.terminal.errors import ExitCode
from connectors.kit.contract import StatementFailed, TimedOut
from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import Border, Locked, NoRoute
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from policies.evidence.borders import BorderLook, FoundBorder, ValueBorder
from tests.cli.test_inside import ID
from tests.contract.asking import run
from tests.documents import check_document
from tests.labs.postgresql import Cluster, wait_until
from tests.labs.test_long_transactions import Place
from tests.labs.test_split import (
    ADD,
    KEY,
    PARTS,
    a_bundle,
    answers,
    approved,
    decide,
    described,
    only_newest,
    orders,
    place,
    pytestmark,
    split_route,
    way_back,
)

__all__ = ["orders", "place", "pytestmark"]
LATE_KEY = "ALTER TABLE orders ADD FOREIGN KEY (customer) REFERENCES customers DEFERRABLE INITIALLY DEFERRED"
CONTENTS = "SELECT count(*), sum(hashtext(o::text)::bigint) FROM orders AS o"


@pytest.fixture
def analyzed(orders: psycopg.Connection) -> psycopg.Connection:
    """The table with statistics, and with a foreign key that is checked at the end of a transaction."""
    orders.execute(LATE_KEY.encode())
    orders.execute("VACUUM (ANALYZE) orders")
    return orders


def test_rows_move_and_come_back(
    cluster: Cluster, dbname: str, analyzed: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """The same rows before, between and after; those from the border on lie in the other space."""
    before, seen = described(cluster, dbname, "orders"), [answers(analyzed), analyzed.execute(CONTENTS).fetchall()]
    route = split_route(connector, analyzed, "id", "1805")
    assert route.locked is Locked.ALL
    size = analyzed.execute("SELECT pg_total_relation_size('orders')").fetchone()
    assert size is not None
    assert route.bundle.size_bytes == pytest.approx(0.1 * size[0], rel=0.05)
    assert connector.inspect(route).home is Home.SOURCE
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert analyzed.execute(PARTS).fetchall() == [("orders_p0", 1800), ("orders_p1", 200)]
    assert [answers(analyzed), analyzed.execute(CONTENTS).fetchall()] == seen
    analyzed.execute(ADD.encode())
    assert analyzed.execute(PARTS).fetchall() == [("orders_p0", 1800), ("orders_p1", 2200)]
    seen = [answers(analyzed), analyzed.execute(CONTENTS).fetchall()]
    assert connector.inspect(way_back(route)).size_bytes > 0
    run(connector, route, undo=True)
    assert [answers(analyzed), analyzed.execute(CONTENTS).fetchall()] == seen
    assert described(cluster, dbname, "orders") == before


CAPS: dict[str, dict[str, Any]] = {"too_many_rows": {"split_back_mib": 1}}


@only_newest
def test_what_is_too_much_is_refused(cluster: Cluster, dbname: str, analyzed: psycopg.Connection) -> None:
    """By the bytes, with the figures, the setting and what to do; without statistics, by that."""
    # The rows come to more than a megabyte.
    analyzed.execute('UPDATE orders SET "a ""Note""" = (SELECT string_agg(md5(g::text), $$$$) FROM '
                     "generate_series(1, 200) AS g) WHERE id >= 1005")  # fmt: skip
    analyzed.execute("VACUUM (ANALYZE) orders")
    found = {}
    for code, setting in CAPS.items():
        with closing(cluster.connector(dbname, **setting)) as connector:
            found[code] = connector.routes_split(a_bundle(analyzed), Border(column="id", value="1005"), "fast")
    assert {code: each.code for code, each in found.items() if isinstance(each, NoRoute)} == {
        code: code for code in CAPS
    }
    for code, setting in CAPS.items():
        refused, (name,) = found[code], setting
        assert isinstance(refused, NoRoute)
        assert name in refused.sentence
        assert "hot rows age into the new part" in refused.sentence
        assert refused.setting.startswith(f"{name}: ")


@only_newest
def test_rows_that_are_not_counted_are_not_moved(orders: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """A table that was never analyzed is refused with what to do, not guessed about."""
    refused = connector.routes_split(a_bundle(orders), Border(column="id", value="1805"), "fast")
    assert isinstance(refused, NoRoute)
    assert (refused.code, "ANALYZE" in refused.sentence) == ("no_statistics", True)


FUTURE = """
    CREATE TABLE orders (due date NOT NULL, weight numeric NOT NULL);
    INSERT INTO orders SELECT '2100-01-01'::date + g, g FROM generate_series(1, 30) AS g; ANALYZE orders;
"""


@only_newest
def test_rows_are_seen_by_statistics(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Dates that lie ahead of the clock are rows like others; beyond the last of few values is no row."""
    dba.execute(FUTURE.encode())
    locked = {
        (column, value): split_route(connector, dba, column, value).locked
        for column, value in (("due", "2100-01-21"), ("due", "2100-03-01"), ("weight", "20"), ("weight", "31"))
    }
    assert list(locked.values()) == [Locked.ALL, Locked.BRIEFLY, Locked.ALL, Locked.BRIEFLY]
    seen = dba.execute(CONTENTS).fetchall()
    run(connector, split_route(connector, dba, "due", "2100-01-21"))
    assert dba.execute(PARTS).fetchall() == [("orders_p0", 19), ("orders_p1", 11)]
    assert dba.execute(CONTENTS).fetchall() == seen


@only_newest
def test_the_server_holds_both_limits(cluster: Cluster, dbname: str, analyzed: psycopg.Connection) -> None:
    """More rows than were counted, or a slower disk: its own transaction is rolled back, and the table is as before."""
    seen = analyzed.execute(CONTENTS).fetchall()
    with closing(cluster.connector(dbname, lock_timeout="5s")) as connector, cluster.session(dbname) as user:
        route = split_route(connector, analyzed, "id", "1805")
        assert "the server ends it after 2 s" in route.locks
        user.execute("BEGIN; SELECT FROM customers WHERE id = 5 FOR UPDATE")  # the foreign key waits for it
        with pytest.raises(TimedOut, match="not finished within 2 s"):
            run(connector, route)
        user.execute("COMMIT")
        short = replace(route.steps[0], timeout_seconds=0.001)  # as if it had grown since it was approved
        assert "the server ends that after 1 ms" in connector.inspect(replace(route, steps=(short,))).sentence
        assert connector.inspect(route).home is Home.SOURCE
    assert analyzed.execute(CONTENTS).fetchall() == seen
    with closing(cluster.connector(dbname, split_back_mib=1)) as connector:
        route = split_route(connector, analyzed, "id", "1805")
        analyzed.execute('UPDATE orders SET "a ""Note""" = (SELECT string_agg(md5(g::text), $$$$) FROM '
                         "generate_series(1, 2000) AS g) WHERE id >= 1805")  # fmt: skip
        seen = analyzed.execute(CONTENTS).fetchall()
        with pytest.raises(StatementFailed, match="larger than the 1048576 bytes that may be copied"):
            run(connector, route)
        assert connector.inspect(route).home is Home.ELSEWHERE  # by its size it would not begin now
    assert analyzed.execute(CONTENTS).fetchall() == seen


def partition_part(dba: psycopg.Connection, part: str, border: str) -> None:
    """Put a partitioned table of the same name in the place of an open part, with an index of its own."""
    dba.execute(
        f"""ALTER TABLE orders DETACH PARTITION {part}; DROP TABLE {part};
        CREATE TABLE {part} PARTITION OF orders FOR VALUES FROM ({border}) TO (MAXVALUE) PARTITION BY RANGE (id);
        CREATE TABLE {part}_a PARTITION OF {part} FOR VALUES FROM ({border}) TO (MAXVALUE);
        CREATE INDEX mine ON {part}_a (counted)""".encode()
    )
    dba.execute("SELECT setval('orders_id_seq', %s)", (int(border),))
    dba.execute(ADD.encode())


@only_newest
def test_a_part_that_was_partitioned_since_is_not_taken_back(
    orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Its size is that of its parts, and indexes of theirs would go with it: named before, and by the server."""
    route = split_route(connector, orders, "id", "1000000")
    run(connector, route)
    partition_part(orders, "orders_p1", "1000000")
    seen = orders.execute(CONTENTS).fetchall()
    found = connector.inspect(way_back(route))
    assert (found.home, "orders_p1 is no ordinary table any more" in found.sentence) == (Home.ELSEWHERE, True)
    assert connector.inspect(route).home is Home.TARGET
    with pytest.raises(StatementFailed, match="orders_p1 is no ordinary table any more"):
        run(connector, route, undo=True)
    assert orders.execute(CONTENTS).fetchall() == seen
    assert orders.execute("SELECT to_regclass('mine') IS NOT NULL").fetchone() == (True,)


@only_newest
def test_a_size_that_cannot_be_asked_for_is_not_none(
    cluster: Cluster, dbname: str, orders: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """While another session has the part exclusively, the last size that the server knows counts."""
    route = split_route(connector, orders, "id", "1000000")
    run(connector, route)
    orders.execute("SELECT setval('orders_id_seq', 1000000)")
    orders.execute(ADD.encode())
    orders.execute("ANALYZE orders_p1")
    with cluster.session(dbname) as holder:
        holder.execute("BEGIN; LOCK TABLE orders_p1")
        assert connector.inspect(way_back(route)).size_bytes > 0


@only_newest
def test_the_command_and_the_whole_way(place: Place) -> None:
    """Bytes and seconds are in the sentence and the document; approved, it is done, and taken back by an undo."""
    place.dba.execute("VACUUM (ANALYZE) orders")
    seen = place.dba.execute(CONTENTS).fetchall()
    arguments = ["split", KEY, "--column", "id", "--border", "1805", "--to", "fast"]
    program = [sys.executable, "-m", "hotplace", "--config", str(place.path), *arguments]
    done = subprocess.run([*program, "--json"], check=True, capture_output=True, text=True)
    document = json.loads(done.stdout)
    check_document(arguments, document)
    (shown,) = document["moves"]
    assert shown["bytes"] > 0
    assert shown["locked"] == "all"
    assert shown["copy_seconds"] > shown["stall_seconds"] > 0  # what mends it afterwards keeps no one out
    assert f"about {format_bytes(shown['bytes'])} by the server's statistics" in shown["why"]
    assert f"locked for about {format_seconds(shown['stall_seconds'])}" in shown["why"]
    with place.agent() as (watch, ledger):
        proposal, number = approved(watch, ledger, 1805)
        assert proposal.moves[0].sentence == shown["why"]
        watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert row.state is MoveState.PLACED, row.reason
        assert place.dba.execute(PARTS).fetchall() == [("orders_p0", 1800), ("orders_p1", 200)]
        back = propose_undo([row], watch.database, watch.connector, ledger, SystemClock().now())
        decide(watch, ledger, back)
        assert [each.state for each in ledger.moves.rows(proposal_id=back)] == [MoveState.PLACED]
    assert place.dba.execute(CONTENTS).fetchall() == seen


@only_newest
def test_no_border_given(place: Place) -> None:
    """The one that looks have found is taken, with how certain it is; refused by a limit, it says what to do."""
    place.dba.execute("VACUUM (ANALYZE) orders")
    program = [sys.executable, "-m", "hotplace", "--config", str(place.path), "split", KEY, "--json"]
    with place.agent() as (_, ledger):
        border = ValueBorder(
            column="id", type_name="bigint", least="1805", below=None, fit=0.93, of_rows=0.1, of_reads=0.8
        )
        found = FoundBorder(border=border, is_time=False, least=1805.0, below=None, newest=2004.0)
        looks = tuple(BorderLook(at_hour=hour, found=found) for hour in (0.0, 12.0))
        save_borders(ledger, "real", {KEY: UnitBorders(columns=(ID,), looks=looks)})
    document = json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    check_document(["split", KEY], document)
    assert (document["column"], document["border"]) == ("id", "1805")
    assert (document["seen"]["fit"], document["seen"]["looks"], document["seen"]["of_reads"]) == (0.93, 2, 0.8)
    assert document["moves"][0]["locked"] == "all"
    place.dba.execute('''UPDATE orders SET "a ""Note""" = (SELECT string_agg(md5(g::text), $$$$) FROM
                         generate_series(1, 300) AS g)''')  # fmt: skip
    place.dba.execute("VACUUM (ANALYZE) orders")
    place.path.write_text(place.path.read_text().replace("lock_timeout: 0.2s,", "split_back_mib: 1,"))
    done = subprocess.run(program[:-1], check=False, capture_output=True, text=True)
    assert done.returncode == ExitCode.REFUSED
    said = " ".join(done.stderr.split())
    assert "a split moves 1 MiB at most" in said
    assert "--column id --border VALUE` with a value ahead of the newest row (2004 when" in said


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@only_newest
def test_rows_that_come_while_it_waits_are_seen(
    cluster: Cluster, dbname: str, analyzed: psycopg.Connection, connector: PostgresqlConnector, isolation: str
) -> None:
    """Whatever isolation a DBA made the default: a row committed while the way back waits for its lock stays."""
    route = split_route(connector, analyzed, "id", "1805")
    run(connector, route)
    analyzed.execute(f"ALTER DATABASE {dbname} SET default_transaction_isolation = '{isolation}'".encode())
    before = answers(analyzed)
    with cluster.session(dbname) as user, closing(cluster.connector(dbname, lock_timeout="10s")) as patient:
        user.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        user.execute(ADD.encode())
        waiting = threading.Thread(target=run, args=(patient, route), kwargs={"undo": True})
        waiting.start()
        blocked = "SELECT count(*) FROM pg_locks WHERE relation = 'orders'::regclass AND NOT granted"
        wait_until(lambda: analyzed.execute(blocked).fetchone() == (1,), "the way back waits for its lock")
        user.execute("COMMIT")
        waiting.join()
    assert connector.inspect(route).home is Home.SOURCE
    after = answers(analyzed)
    assert after != before
    assert analyzed.execute("SELECT count(*) FROM orders").fetchone() == (4000,)


@only_newest
def test_the_statement_itself_wants_read_committed(
    cluster: Cluster, dbname: str, analyzed: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Where a person runs it: no row is moved by what could miss some."""
    route = split_route(connector, analyzed, "id", "1805")
    run(connector, route)
    with cluster.session(dbname) as person:
        person.execute("SET default_transaction_isolation = 'repeatable read'")
        with pytest.raises(psycopg.Error, match="READ COMMITTED"):
            person.execute(route.undo_steps[0].sql.encode())
    assert connector.inspect(route).home is Home.TARGET
