"""A table that was split by a time, and the life of its parts by the calendar: closed, followed, brought down."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from agent.model.clock import SystemClock
from agent.model.states import MoveState
from connectors.kit.templates import TemplateKind
from connectors.model.moves import NoRoute
from connectors.postgresql.connector import PostgresqlConnector
from policies.model.settings import Pin
from tests.contract.asking import run
from tests.labs.calendar_site import DAY, LIMITS, Site, a_template, act
from tests.labs.postgresql import Cluster
from tests.labs.test_partitions_by_calendar import a_site
from tests.labs.test_split import KEY, only_newest, pytestmark, split_route

__all__ = ["pytestmark"]
FIRST = datetime(2100, 2, 1, tzinfo=UTC)
PARTS = """
    SELECT c.relname, coalesce(t.spcname, 'slow'), pg_get_expr(c.relpartbound, c.oid) ~ 'MAXVALUE'
      FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
     WHERE inhparent = 'orders'::regclass ORDER BY 1
"""


class Calendar(SystemClock):
    """Days of another century, and real seconds."""

    def __init__(self) -> None:
        self._shift = timedelta(0)

    def now(self) -> datetime:
        """The virtual instant."""
        return super().now() + self._shift

    def turn_to(self, at: datetime) -> None:
        """It is that instant."""
        self._shift = at - super().now()


def split_by_day(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """A table whose rows of the first of February on are born in its hot part."""
    dba.execute(
        "CREATE TABLE orders (made_at timestamptz NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, note text,"
        " PRIMARY KEY (made_at, id)) WITH (fillfactor = 90)"
    )
    dba.execute(
        "INSERT INTO orders (made_at, note) SELECT '2100-01-01'::date + g * '1h'::interval, 'old'"
        " FROM generate_series(1, 50) AS g"
    )
    run(connector, split_route(connector, dba, "made_at", "2100-02-01 00:00+00"))


@contextmanager
def load(cluster: Cluster, dbname: str, calendar: Calendar) -> Iterator[list[str]]:
    """Rows of the present that are added and read all the time; what went wrong."""
    wrong: list[str] = []
    ends = threading.Event()

    def go_on() -> None:
        with cluster.session(dbname) as session:
            while not ends.wait(0.005):
                at = calendar.now()
                try:
                    session.execute("INSERT INTO orders (made_at, note) VALUES (%s, 'new')", (at,))
                    found = session.execute("SELECT note FROM orders WHERE made_at = %s", (at,)).fetchall()
                except psycopg.Error as error:
                    wrong.append(str(error))
                else:
                    wrong.extend([] if ("new",) in found else [f"no row of {at}"])

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield wrong
    finally:
        ends.set()
        thread.join()


def before_the_first_day(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector
) -> tuple[Site, Calendar]:
    """A site whose table is split by day, and its calendar, three hours before the next part begins."""
    split_by_day(connector, dba)
    site, calendar = a_site(tmp_path, cluster, dba), Calendar()
    site.clock = calendar
    calendar.turn_to(FIRST - timedelta(hours=3))
    return site, calendar


@only_newest
def test_days_by_signed_rules(
    tmp_path: Path, cluster: Cluster, dbname: str, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Each day the open part gets its end, once; parts go down when they have aged; the load meets no error, no gap."""
    site, calendar = before_the_first_day(tmp_path, cluster, dba, connector)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.CLOSED_PART, KEY, "fast", 1), 1)
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.AGED_PARTITION, KEY, "slow", 1), 3)
        assert act(watch, jobs) == [], "the rows of the open part are still to come"
    with load(cluster, dbname, calendar) as wrong:
        for days in range(3):
            with_part_of_the_day(site, calendar, FIRST + timedelta(days=days, minutes=1 + days))
    assert wrong == []
    assert dba.execute(PARTS).fetchall() == [
        ("orders_p0", "slow", False), ("orders_p1", "slow", False), ("orders_p2", "fast", False),
        ("orders_p3", "fast", False), ("orders_p4", "fast", True),
    ]  # fmt: skip
    gaps = dba.execute("SELECT count(*), max(id) - min(id) + 1 FROM orders").fetchone()
    assert gaps is not None
    assert gaps[0] == gaps[1] > 100, "each row that was added is there"
    options = dba.execute("SELECT DISTINCT reloptions FROM pg_class WHERE relname ~ '^orders_p[0-9]$'")
    assert options.fetchall() == [(["fillfactor=90"],)]


@only_newest
def test_a_pin_holds_against_a_rule(
    tmp_path: Path, cluster: Cluster, dbname: str, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """What a rule would bring to the fast tier stays where a pin forbids it; without the pin it comes."""
    site, calendar = before_the_first_day(tmp_path, cluster, dba, connector)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.CLOSED_PART, KEY, "fast", 1), 1)
        ledger.pins.pin(watch.database.name, f"{KEY}*", Pin.NEVER, who="bert", reason="")
    calendar.turn_to(FIRST + timedelta(minutes=1))
    with site.agent() as (watch, ledger, jobs):
        (row,) = act(watch, jobs)
        assert row.state is MoveState.SKIPPED
        assert row.reason.startswith(f"{KEY}_p1 is pinned to never ({KEY}*)"), row.reason
        assert act(watch, jobs) == [], "once a day, as the rule has it"
        ledger.pins.unpin(watch.database.name, f"{KEY}*", who="bert")
    calendar.turn_to(FIRST + timedelta(days=1, minutes=2))
    with site.agent() as (watch, _, jobs):
        assert {row.state for row in act(watch, jobs)} == {MoveState.PLACED}


def with_part_of_the_day(site: Site, calendar: Calendar, at: datetime) -> None:
    """An agent that lives at that time: it closes the part that is being filled, and not a second one."""
    calendar.turn_to(at)
    with site.agent() as (watch, ledger, jobs):
        done = act(watch, jobs)
        assert {row.state for row in done} == {MoveState.PLACED}, [row.reason for row in done]
        assert [row.move.route.name for row in done].count("close") == 1
        assert act(watch, jobs) == []
        assert {row.decided_by for row in ledger.proposals.rows()} <= {
            "standing rule 1 of anna", "standing rule 2 of anna"
        }  # fmt: skip
        assert ledger.audit.verify().ok


@only_newest
def test_what_no_rule_can_be_signed_for(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """A table with an open part gets no next partition; a rule that closes it wants whole, long parts."""
    split_by_day(connector, dba)
    site = a_site(tmp_path, cluster, dba)

    def why(seconds: int, kind: TemplateKind = TemplateKind.CLOSED_PART, table: str = KEY) -> str:
        found = connector.template(kind, table, "fast", seconds)
        return found.sentence if isinstance(found, NoRoute) else ""

    assert "its last partition orders_p1 has no end, as a split leaves it" in why(DAY, TemplateKind.NEXT_PARTITION)
    dba.execute("ALTER TABLE orders_p1 REPLICA IDENTITY USING INDEX orders_p1_pkey")
    assert "the REPLICA IDENTITY of its open part is an index" in why(DAY)
    dba.execute("ALTER TABLE orders_p1 REPLICA IDENTITY DEFAULT")
    assert "whole seconds" in why(0)
    assert "make parts longer" in why(30)
    assert "no partitioned table" in why(DAY, table="public.nothing")
    done = site.hotplace("rules", "propose", "--table", KEY, "--close", "1d", "--to", "fast", *LIMITS)
    assert done.code == 0, done.err
    assert "closed part of public.orders to fast" in done.out
    both = ("--close", "1d", "--aged", "1d", "--to", "fast")
    assert site.hotplace("rules", "propose", "--table", KEY, *both, *LIMITS).code == 2


@only_newest
def test_days_without_an_agent(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """The part is longer then, and ends with a day as ever; where rows are already there, nothing is due."""
    split_by_day(connector, dba)
    template = a_template(connector, TemplateKind.CLOSED_PART, KEY, "fast", 1)
    assert connector.routes_due(template, FIRST - timedelta(seconds=1)) == (), "its rows are still to come"
    (route,) = connector.routes_due(template, FIRST + timedelta(days=5, hours=7))
    assert {each.name: each.value for each in route.arguments} | {"tag": ""} == {
        "partition": "orders_p1", "opened": "orders_p2", "low": "2100-02-01 00:00:00+00",
        "high": "2100-02-07 00:00:00+00", "tag": "",
    }  # fmt: skip
    assert template.find_refusal(route, FIRST + timedelta(days=5, hours=7)) == ""
    dba.execute("INSERT INTO orders (made_at, note) SELECT '2100-02-09'::date, g FROM generate_series(1, 50) AS g")
    dba.execute("ANALYZE orders_p1")
    assert connector.routes_due(template, FIRST + timedelta(days=5, hours=7)) == ()
