"""Partitions that come and age by the calendar on the emulated server: made, moved, refused, under a signed rule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import oracledb
import pytest

from agent.model.states import MoveState
from connectors.kit.contract import LockNotObtained
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from connectors.oracle.connector import OracleConnector
from connectors.oracle.partitions import Partitioning, _why_no_more, _why_not
from tests.contract.asking import run
from tests.labs.calendar_site import DAY, Site, a_template, act, day
from tests.labs.oracle.harness import AGENT, PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import UNLIMITED

OWNER, TABLE = "Odd 100%", '"Odd 100%".ORDERS'
NEXT, AGED = TemplateKind.NEXT_PARTITION, TemplateKind.AGED_PARTITION
PARTITION = "PARTITION {} VALUES LESS THAN (TO_DATE('{}', 'YYYY-MM-DD')) TABLESPACE fast"


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """19c with an owner of a name that needs its quotes."""
    with running_harness("oracle by the calendar (emulated server)") as running:
        rights = {"CREATE TABLE", "SELECT ANY DICTIONARY"}
        quotas = {"SLOW": UNLIMITED, "FAST": UNLIMITED}
        running.database.add_user(OWNER, PASSWORD, privileges=rights, quotas=quotas).default_tablespace = "SLOW"
        running.database.add_tablespace("WIDE", "/ssd/wide.dbf", 1 << 20).block_size = 16384
        running.database.add_tablespace("OTHER", "/ssd/other.dbf", 1 << 20)
        yield running


@pytest.fixture
def owner(lab: OracleHarness) -> Iterator[oracledb.Cursor]:
    """Their session, with one partition a day from the day before yesterday to today, with rows, and indexes."""
    with lab.session(f'"{OWNER}"') as session:
        cursor = session.cursor()
        parts = ", ".join(PARTITION.format(f"P_{day(days, '%Y_%m_%d')}", day(days + 1)) for days in (-3, -2, -1, 0))
        cursor.execute(f"CREATE TABLE orders (at DATE NOT NULL, id NUMBER(5)) PARTITION BY RANGE (at) ({parts})")
        cursor.execute("CREATE INDEX orders_at ON orders (at) LOCAL")
        cursor.execute("CREATE INDEX orders_id ON orders (id)")
        for days in (-3, -2, -1, 0):
            cursor.execute(
                f"INSERT INTO orders SELECT TO_DATE('{day(days)} 12:00:00', 'YYYY-MM-DD HH24:MI:SS'), LEVEL FROM DUAL"
                " CONNECT BY LEVEL <= 50"
            )
        session.commit()
        yield cursor
        session.rollback()
    lab.database.drop_table(OWNER, "ORDERS")


@pytest.fixture
def connector(lab: OracleHarness, owner: oracledb.Cursor) -> Iterator[OracleConnector]:
    """The agent's."""
    made = lab.connector()
    yield made
    made.close()


def homes(lab: OracleHarness) -> dict[int, str]:
    """Where the partition of each day from today on is, and its piece of the local index where that is elsewhere."""
    table = lab.database.table(OWNER, "ORDERS")
    pieces = {each.part: each.tablespace for each in next(i for i in table.indexes if i.local).segments}
    found = {each.part: each.tablespace for each in table.segments}
    assert pieces.keys() == found.keys()
    names = {days: f"P_{day(days, '%Y_%m_%d')}" for days in range(-5, 10)}
    return {days: found[name] for days, name in names.items() if name in found}


def why(connector: OracleConnector, table: str = TABLE, space: str = "FAST", kind: TemplateKind = NEXT) -> str:
    """Why there is no template; "" where there is one."""
    found = connector.template(kind, table, space, DAY)
    return found.sentence if isinstance(found, NoRoute) else ""


def test_next_partitions_are_born_in_their_space(
    lab: OracleHarness, owner: oracledb.Cursor, connector: OracleConnector
) -> None:
    """With pieces of local indexes, without a gap; rows of tomorrow find them; then nothing is due."""
    template = a_template(connector, NEXT, TABLE, "FAST", 2)
    now = datetime.now(UTC)
    routes = connector.routes_due(template, now)
    assert [route.bundle.key for route in routes] == [f"{TABLE} PARTITION P_{day(days, '%Y_%m_%d')}" for days in (1, 2)]
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    assert routes[0].steps[0].sql.partition("*/ ")[2] == (
        f'ALTER TABLE "Odd 100%"."ORDERS" ADD PARTITION "P_{day(1, "%Y_%m_%d")}" VALUES LESS THAN (TO_DATE('
        f"'{day(2)} 00:00:00', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')) TABLESPACE \"FAST\""
    )
    for route in routes:
        assert connector.inspect(route).home is Home.SOURCE
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    assert homes(lab) == dict.fromkeys(range(-3, 3), "FAST")
    owner.execute(f"INSERT INTO orders SELECT TO_DATE('{day(2)}', 'YYYY-MM-DD'), 1 FROM DUAL")
    assert connector.routes_due(template, datetime.now(UTC)) == ()


def test_a_partition_of_that_name_that_is_another(
    owner: oracledb.Cursor, connector: OracleConnector, lab: OracleHarness
) -> None:
    """In another tablespace, or with another end: it is not what was to be made."""
    (route,) = connector.routes_due(a_template(connector, NEXT, TABLE, "FAST", 1), datetime.now(UTC))
    name = f"P_{day(1, '%Y_%m_%d')}"
    owner.execute(f"ALTER TABLE orders ADD {PARTITION.format(name, day(3))}")
    assert connector.inspect(route).home is Home.ELSEWHERE
    table = lab.database.table(OWNER, "ORDERS")
    table.bounds[name], table.segments[-1].tablespace = f"DATE '{day(2)}'", "SLOW"
    lab.database.generation += 1
    assert connector.inspect(route).home is Home.ELSEWHERE


def test_it_gives_up_where_others_hold_the_table(owner: oracledb.Cursor, connector: OracleConnector) -> None:
    """Nothing has changed then."""
    (route,) = connector.routes_due(a_template(connector, NEXT, TABLE, "FAST", 1), datetime.now(UTC))
    owner.execute(f"INSERT INTO orders SELECT TO_DATE('{day(0)}', 'YYYY-MM-DD'), 1 FROM DUAL")
    with pytest.raises(LockNotObtained):
        run(connector, route)
    assert connector.inspect(route).home is Home.SOURCE


def test_aged_partitions_go_by_the_ways_of_moves(lab: OracleHarness, connector: OracleConnector) -> None:
    """The oldest first, online, their pieces of indexes usable and where they were; one without rows stays."""
    template = a_template(connector, AGED, TABLE, "SLOW", 1)
    now = datetime.now(UTC)
    routes = connector.routes_due(template, now)
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    assert all('MOVE PARTITION "P_' in route.steps[0].sql and "ONLINE" in route.steps[0].sql for route in routes)
    for route in routes:
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    assert homes(lab) == {-3: "SLOW", -2: "SLOW", -1: "FAST", 0: "FAST"}
    assert not any(index.unusable for index in lab.database.table(OWNER, "ORDERS").indexes)
    assert connector.routes_due(template, now) == ()


def test_what_cannot_be_served(lab: OracleHarness, owner: oracledb.Cursor, connector: OracleConnector) -> None:
    """No such table or space, no right to it, no ranges of dates, names that say nothing, MAXVALUE, intervals."""
    assert why(connector) == ""
    assert "no partitioned table" in why(connector, "APP.NOTHING")
    assert "no partitioned table" in why(connector, f"{TABLE} PARTITION P1")
    assert "no tablespace NOWHERE" in why(connector, space="NOWHERE")
    assert "blocks of 16384" in why(connector, space="WIDE")
    assert "no quota in OTHER" in why(connector, space="OTHER")
    assert "is ONLINE, for UNDO data" in why(connector, space="UNDOTBS1")
    assert "with rows are in FAST" in why(connector, kind=AGED)
    owner.execute("CREATE TABLE ids (a NUMBER(5)) PARTITION BY RANGE (a) (PARTITION p1 VALUES LESS THAN (10))")
    assert "not of dates or times" in why(connector, f'"{OWNER}".IDS')
    lab.database.drop_table(OWNER, "IDS")
    table = lab.database.table(OWNER, "ORDERS")
    table.interval = "NUMTODSINTERVAL(1, 'DAY')"
    lab.database.generation += 1
    assert f"ALTER TABLE {TABLE} SET STORE IN (FAST)" in why(connector)
    assert why(connector, space="SLOW", kind=AGED) == ""
    table.interval = ""
    owner.execute("ALTER TABLE orders ADD PARTITION rest VALUES LESS THAN (MAXVALUE)")
    assert "MAXVALUE" in why(connector)
    table.bounds["REST"] = f"DATE '{day(2)}'"
    lab.database.generation += 1
    assert "does not say that its rows begin" in why(connector)
    table.bounds["REST"] = f"DATE '{day(5)}'"
    lab.database.generation += 1
    assert "of different lengths" in why(connector)


def test_one_partition_has_no_beginning(owner: oracledb.Cursor, connector: OracleConnector, lab: OracleHarness) -> None:
    """How long the next one is, only two of them say."""
    first = PARTITION.format("P_2026_01_01", "2026-01-02")
    owner.execute(f"CREATE TABLE young (at DATE) PARTITION BY RANGE (at) ({first})")
    assert "no partition with a beginning and an end" in why(connector, f'"{OWNER}".YOUNG')
    lab.database.drop_table(OWNER, "YOUNG")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Partitioning("LIST", "NONE", 1, None, None, 0, 0), "not partitioned by ranges of one column"),
        (Partitioning("RANGE", "NONE", 2, None, None, 0, 0), "not partitioned by ranges of one column"),
        (Partitioning("RANGE", "HASH", 1, None, None, 0, 0), "subpartitions"),
        (Partitioning("RANGE", "NONE", 1, None, "IOT", 0, 0), "index-organised"),
        (Partitioning("RANGE", "NONE", 1, None, None, 1, 0), "LOB columns"),
        (Partitioning("RANGE", "NONE", 1, None, None, 0, 1), "partitioned by reference"),
    ],
)
def test_kinds_of_tables_that_cannot(how: Partitioning, said: str) -> None:
    """Each with its reason."""
    bounds = [("P", "F", 1, "1")]
    assert said in _why_not("A.B", how, (), {"TO_DATE("}) + _why_no_more("A.B", how, "FAST", bounds)


def test_servers_that_cannot(lab: OracleHarness, connector: OracleConnector) -> None:
    """A standby, and a configuration by which whole tablespaces move."""
    by_files = lab.connector(move_by="tablespace")
    assert "data files" in why(by_files)
    by_files.close()
    template = a_template(connector, NEXT, TABLE, "FAST", 1)
    lab.database.quirks = type(lab.database.quirks)(role="PHYSICAL STANDBY")
    try:
        assert "no DDL here" in why(connector)
        assert connector.routes_due(template, datetime.now(UTC)) == ()
    finally:
        lab.database.quirks = type(lab.database.quirks)()


def test_indexes_with_a_place_of_their_own(
    lab: OracleHarness, owner: oracledb.Cursor, connector: OracleConnector
) -> None:
    """Are left to it, and the route says so."""
    owner.execute("ALTER INDEX orders_at MODIFY DEFAULT ATTRIBUTES TABLESPACE slow")
    (route,) = connector.routes_due(a_template(connector, NEXT, TABLE, "FAST", 1), datetime.now(UTC))
    assert route.notes == (
        'pieces of local indexes are made where these have their default: "Odd 100%".ORDERS_AT in SLOW',
    )
    run(connector, route)
    index = next(each for each in lab.database.table(OWNER, "ORDERS").indexes if each.local)
    assert index.segments[-1].tablespace == "SLOW"


def test_pieces_of_indexes_that_have_other_names(lab: OracleHarness, connector: OracleConnector) -> None:
    """A template names the partition only: refused by name."""
    index = next(each for each in lab.database.table(OWNER, "ORDERS").indexes if each.local)
    for segment in index.segments:
        segment.part = f"X{segment.part}"
    lab.database.generation += 1
    assert "is not named after" in why(connector, space="SLOW", kind=AGED)


def a_site(lab: OracleHarness, folder: Path) -> Site:
    """An agent over this server."""
    secret = folder / "password"
    secret.write_text(PASSWORD)
    connection = {
        "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": AGENT,
        "password": {"file": str(secret)},
    }  # fmt: skip
    tiers = [{"name": "ssd", "spaces": ["FAST"]}, {"name": "hdd", "spaces": ["SLOW"]}]
    return Site(folder, {"engine": "oracle", "connection": connection, "tiers": tiers})


def test_a_day_by_signed_rules(lab: OracleHarness, owner: oracledb.Cursor, tmp_path: Path) -> None:
    """By commands; made and brought down without a further question, as many as the rules allow; all rows are there."""
    site = a_site(lab, tmp_path)
    printed = site.open_by_commands(tmp_path, TABLE, "--ahead", "2d", "--to", "FAST")
    assert "ADD PARTITION \"P_{partition}\" VALUES LESS THAN (TO_DATE('{high}'" in printed
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, AGED, TABLE, "SLOW", 0), 9)
        done = act(watch, jobs)
        assert {row.state for row in done} == {MoveState.PLACED}, [row.reason for row in done]
        assert homes(lab) == {-3: "SLOW", -2: "SLOW", -1: "SLOW", 0: "FAST", 1: "FAST", 2: "FAST"}
        assert act(watch, jobs) == []
        assert ledger.audit.verify().ok
    assert owner.execute(f"SELECT COUNT(*) FROM {TABLE}").fetchall() == [(200,)]


def test_what_is_no_longer_due_is_not_sent(lab: OracleHarness, owner: oracledb.Cursor, tmp_path: Path) -> None:
    """A partition that a person has made in the meantime is left alone, and nothing is sent."""
    site = a_site(lab, tmp_path)
    with site.agent() as (watch, ledger, jobs):
        template = a_template(watch.connector, NEXT, TABLE, "FAST", 1)
        assert isinstance(template, StatementTemplate)
        site.sign(watch, ledger, template, 9)
        watch.sample()
        watch.sample()
        jobs.plan(watch)
        owner.execute(f"ALTER TABLE orders ADD {PARTITION.format('MINE', day(2))}")
        (row,) = watch.act()
        assert row.state is MoveState.SKIPPED
        assert "other statements than the connector makes now" in row.reason
        assert ledger.moves.steps(row.id) == []
