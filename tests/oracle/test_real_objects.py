"""The connector against objects, rights and places that the lab's README numbers, on the emulated server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from connectors.kit.contract import Connector
from connectors.kit.findings import Severity
from connectors.model.moves import Bundle, NoRoute, Route
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, demand_of, route_to, run, together
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks, Table

MIB = 1 << 20
NEW = (19, 22, 0, 0, 0)


@contextmanager
def _connected(
    version: tuple[int, ...] = NEW, quirks: Quirks | None = None
) -> Iterator[tuple[OracleHarness, Connector]]:
    with running_harness("oracle rules of objects (emulated server)", version, quirks) as lab:
        connector = lab.connect()
        yield lab, connector
        connector.close()


@pytest.fixture
def connected() -> Iterator[tuple[OracleHarness, Connector]]:
    """A lab of 19c with a connector of the agent's."""
    with _connected() as both:
        yield both


def _alone(connector: Connector, key: str) -> Bundle:
    """That unit without what else belongs to its table."""
    catalog = connector.catalog()
    units, at = catalog.units, list(catalog.units.key).index(key)
    whole = bundle_of(catalog, key)
    number = int(units.physical_id[at])
    return replace(whole, physical_ids=(number,), unit_keys=(key,), size_bytes=int(units.size_bytes[at]))


def _with_lob(lab: OracleHarness, table_bytes: int, lob_bytes: int) -> Table:
    """A table with an index, and a LOB next to it."""
    table = lab.database.add_table(OWNER, "MAILS", "SLOW", table_bytes)
    lab.database.add_index(table, "MAILS_PK", "SLOW", MIB, unique=True)
    lab.database.add_lob(table, "BODY", "SLOW", lob_bytes)
    return table


def test_a_hot_table_leaves_its_cold_lob_behind(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 4: 2 MiB of rows go to a tablespace that has no room for 600 MiB of documents."""
    lab, connector = connected
    table = _with_lob(lab, 2 * MIB, 600 * MIB)
    found = connector.routes(_alone(connector, "APP.MAILS"), "FAST")
    assert not isinstance(found, NoRoute)
    run(connector, found[0])
    assert (table.segments[0].tablespace, table.lobs[0].segments[0].tablespace) == ("FAST", "SLOW")
    assert not table.indexes[0].unusable


def test_a_hot_lob_leaves_its_table_behind(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 4: documents that are read all day go, 600 MiB of rows stay, their indexes stay usable."""
    lab, connector = connected
    table = _with_lob(lab, 600 * MIB, 2 * MIB)
    found = connector.routes(_alone(connector, "APP.MAILS LOB (BODY)"), "FAST")
    assert not isinstance(found, NoRoute)
    run(connector, found[0])
    assert (table.segments[0].tablespace, table.lobs[0].segments[0].tablespace) == ("SLOW", "FAST")
    assert not table.indexes[0].unusable


def test_a_table_and_its_lob_can_be_planned_apart(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 4: what moves together is not more than what has to."""
    lab, connector = connected
    _with_lob(lab, 2 * MIB, 2 * MIB)
    catalog = connector.catalog()
    assert bundle_of(catalog, "APP.MAILS").unit_keys == ("APP.MAILS",)
    assert bundle_of(catalog, "APP.MAILS LOB (BODY)").unit_keys == ("APP.MAILS LOB (BODY)",)


def test_a_partition_of_an_iot_moves(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 6: by whichever unit stands for it; the other partition stays, the secondary index stays usable."""
    lab, connector = connected
    iot = lab.database.add_table(OWNER, "IOT", "SLOW", MIB, partitions=("P1", "P2"), iot=True)
    lab.database.add_index(iot, "IOT_IX", "SLOW", MIB)
    keys = [key for key in connector.catalog().units.key if "IOT" in key and key.endswith("PARTITION P1")]
    assert keys, "no unit stands for it"
    run(connector, route_to(connector, keys[0], "FAST"))
    assert [segment.tablespace for segment in iot.indexes[0].segments] == ["FAST", "SLOW"]
    assert not iot.indexes[1].unusable


def test_an_index_of_another_schema_in_11_2() -> None:
    """Rule 9a: a login that only has ALTER ANY INDEX is offered a way that works."""
    with _connected((11, 2, 0, 4, 0)) as (lab, connector):
        table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
        index = lab.database.add_index(table, "ORDERS_PK", "SLOW", MIB)
        run(connector, route_to(connector, "APP.ORDERS_PK INDEX", "FAST"))
        assert index.segments[0].tablespace == "FAST"


def test_a_database_without_xml_db_has_routes() -> None:
    """Rule 9b: what cannot be there need not be looked for."""
    with _connected(quirks=Quirks(xml=False)) as (lab, connector):
        table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
        run(connector, route_to(connector, "APP.ORDERS", "FAST"))
        assert table.segments[0].tablespace == "FAST"


def test_securefiles_are_not_planned_where_they_cannot_be(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 9d: the reason is given when the move is planned, not at night by ORA-43853."""
    lab, connector = connected
    _with_lob(lab, 2 * MIB, 2 * MIB)
    lab.database.tablespaces["FAST"].automatic = False
    lab.database.generation += 1
    found = connector.routes(bundle_of(connector.catalog(), "APP.MAILS LOB (BODY)"), "FAST")
    assert isinstance(found, NoRoute)
    assert "ORA-43853" in found.sentence


@pytest.mark.parametrize("version", [(11, 2, 0, 4, 0), NEW], ids=["11.2", "19"])
def test_waits_of_background_processes_are_left_out(version: tuple[int, ...]) -> None:
    """Rule 9f: 100 reads of sessions at 6 ms are 0.6 s, whatever SMON reads in the meantime."""
    with _connected(version) as (lab, connector):
        table = lab.database.add_table(OWNER, "CARDS", "SLOW", MIB)

        def work() -> None:
            lab.database.read_randomly(table.segments[0], 100, microseconds=6000)
            lab.database.read_behind("SLOW", 900, microseconds=6000)

        demand, _ = demand_of(lab, connector, work)
        assert demand.database.read_wait * demand.seconds == pytest.approx(0.6)


@pytest.mark.parametrize("version", [(11, 2, 0, 4, 0), NEW], ids=["11.2", "19"])
def test_what_is_in_the_recycle_bin_is_no_unit(version: tuple[int, ...]) -> None:
    """Rule 9g: neither the table nor its index."""
    with _connected(version) as (lab, connector):
        table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
        lab.database.add_index(table, "ORDERS_PK", "SLOW", MIB)
        assert len(connector.catalog().units) == 2
        lab.database.throw_away(OWNER, "ORDERS")
        assert list(connector.catalog().units.key) == []


def test_who_moves_the_newest_partition_hears_of_the_defaults(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 10a: the route says where later partitions will be made, and the statement that changes it."""
    lab, connector = connected
    lab.database.add_table(OWNER, "EVENTS", "SLOW", MIB, partitions=("P1", "P2"))
    route = route_to(connector, "APP.EVENTS PARTITION P2", "FAST")
    assert "MODIFY DEFAULT ATTRIBUTES" in _said(route)


def _said(route: Route) -> str:
    """Everything that a person is shown of it."""
    said: list[Any] = [step.sql for step in route.steps]
    return json.dumps([*said, *route.notes, *(str(each) for each in route.follow_up)])


@pytest.mark.parametrize("room", [4 * MIB, 0])
def test_indexes_that_are_built_again_are_shown_with_their_place(
    connected: tuple[OracleHarness, Connector], room: int
) -> None:
    """Rule 10b: what a move writes to the tablespace of an index is among its transfers, or it is refused there."""
    lab, connector = connected
    table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
    index = lab.database.add_index(table, "ORDERS_PK", "SLOW", 2 * MIB)
    space = lab.database.add_tablespace("IDX", "/hdd/oradata/idx01.dbf", 8 * MIB)
    lab.database.users[OWNER].quotas["IDX"] = -1
    index.segments[0].tablespace = "IDX"
    space.ballast = space.bytes - 2 * MIB - room
    lab.database.generation += 1
    found = connector.routes(bundle_of(connector.catalog(), "APP.ORDERS"), "FAST")
    if room:
        assert not isinstance(found, NoRoute)
        assert ("IDX", 2 * MIB) in {(each.space, each.bytes) for each in found[0].transfers if each.written}
    else:
        assert isinstance(found, NoRoute)


def test_a_table_and_its_index_build_the_index_once(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 9e: planned to the same place, it is built there by the move of its table: one copy of it in all."""
    lab, connector = connected
    table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
    index = lab.database.add_index(table, "ORDERS_PK", "SLOW", 2 * MIB)
    built = lab.database.next_id()
    keys = "APP.ORDERS", "APP.ORDERS_PK INDEX"
    assert len({route_to(connector, key, "FAST").unites for key in keys}) == 1
    found = connector.routes(together(connector, *keys), "FAST")
    assert not isinstance(found, NoRoute)
    assert [each.online for each in found] == [True, False]
    for route in found:
        run(connector, route)
        assert (table.segments[0].tablespace, index.segments[0].tablespace) == ("FAST", "FAST")
        assert index.segments[0].data_object_id == built + 2  # one number for each segment that was written
        assert connector.inspect(route).home is Home.TARGET
        run(connector, route, undo=True)
        assert (table.segments[0].tablespace, index.segments[0].tablespace) == ("SLOW", "SLOW")
        assert not index.unusable
        built = lab.database.next_id()


def test_a_release_without_the_clause_builds_the_index_once_too() -> None:
    """Rule 9e: 12.1 has no UPDATE INDEXES for whole tables; REBUILD puts the broken index where it is to be."""
    with _connected((12, 1, 0, 2, 0)) as (lab, connector):
        table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
        index = lab.database.add_index(table, "ORDERS_PK", "SLOW", 2 * MIB)
        found = connector.routes(together(connector, "APP.ORDERS", "APP.ORDERS_PK INDEX"), "FAST")
        assert not isinstance(found, NoRoute)
        assert len(found[0].steps) == 2
        run(connector, found[0])
        assert (table.segments[0].tablespace, index.segments[0].tablespace) == ("FAST", "FAST")
        run(connector, found[0], undo=True)
        assert (table.segments[0].tablespace, index.segments[0].tablespace) == ("SLOW", "SLOW")
        assert not index.unusable


def test_pieces_of_indexes_go_by_themselves(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 9h: their place in UPDATE INDEXES is not sure, so no plan unites them with their partition."""
    lab, connector = connected
    events = lab.database.add_table(OWNER, "EVENTS", "SLOW", MIB, partitions=("P1", "P2"))
    lab.database.add_index(events, "EVENTS_IX", "SLOW", MIB, local=True)
    lab.database.add_index(events, "EVENTS_GLOBAL", "SLOW", MIB)
    lead = "APP.EVENTS PARTITION P1"
    assert route_to(connector, lead, "FAST").unites
    for key in ("APP.EVENTS_IX INDEX PARTITION P1", "APP.EVENTS_GLOBAL INDEX"):
        assert not route_to(connector, key, "FAST").unites
        assert isinstance(connector.routes(together(connector, lead, key), "FAST"), NoRoute)


def test_two_indexes_are_no_one_move(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 9e: a REBUILD is of one index."""
    lab, connector = connected
    table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
    for name in ("ORDERS_PK", "ORDERS_IX"):
        lab.database.add_index(table, name, "SLOW", MIB)
    both = together(connector, "APP.ORDERS_PK INDEX", "APP.ORDERS_IX INDEX")
    assert isinstance(connector.routes(both, "FAST"), NoRoute)


def test_a_lob_of_a_partition_moves_alone_and_with_it(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 4: the rows are written again where they are, which needs room there and is among the copies."""
    lab, connector = connected
    table = lab.database.add_table(OWNER, "MAILS", "SLOW", 2 * MIB, partitions=("P1", "P2"))
    lab.database.add_lob(table, "BODY", "SLOW", MIB)
    lob = next(key for key in connector.catalog().units.key if "LOB" in key and key.endswith("P1"))
    alone = route_to(connector, lob, "FAST")
    rows = table.segments[0].bytes
    assert {(each.space, each.bytes) for each in alone.transfers if each.written} >= {("SLOW", rows)}
    run(connector, alone)
    homes = [segment.tablespace for segment in (*table.segments, *table.lobs[0].segments)]
    assert homes == ["SLOW", "SLOW", "FAST", "SLOW"]
    assert connector.inspect(alone).home is Home.TARGET
    run(connector, alone, undo=True)
    both = connector.routes(together(connector, "APP.MAILS PARTITION P1", lob), "FAST")
    assert not isinstance(both, NoRoute)
    run(connector, both[0])
    homes = [segment.tablespace for segment in (*table.segments, *table.lobs[0].segments)]
    assert homes == ["FAST", "SLOW", "FAST", "SLOW"]


def test_a_lob_stays_where_its_rows_find_no_room_to_be_written_again(
    connected: tuple[OracleHarness, Connector],
) -> None:
    """Rule 4: refused when it is planned, not by ORA-01652 at night."""
    lab, connector = connected
    space = lab.database.add_tablespace("ROWS", "/hdd/oradata/rows01.dbf", 8 * MIB)
    lab.database.users[OWNER].quotas["ROWS"] = -1
    table = _with_lob(lab, 2 * MIB, 2 * MIB)
    table.segments[0].tablespace = "ROWS"
    space.ballast = space.bytes - 3 * MIB
    lab.database.generation += 1
    found = connector.routes(bundle_of(connector.catalog(), "APP.MAILS LOB (BODY)"), "FAST")
    assert isinstance(found, NoRoute)
    assert "written again in ROWS" in found.sentence


def test_an_autonomous_database_gets_a_verdict() -> None:
    """Rule 10c: Oracle places its data there, and no tablespace can be chosen: the doctor says so."""
    with _connected(quirks=Quirks(cloud_service="OLTP")) as (_, connector):
        said = [found for found in connector.doctor() if found.severity is not Severity.OK]
        assert any("Autonomous" in found.sentence for found in said)


def test_a_database_in_rds_gets_a_verdict() -> None:
    """Rule 10d: there is RDSADMIN, and files below /rdsdbdata: one volume, unless a second one was added."""
    with _connected() as (lab, _):
        lab.database.add_user("RDSADMIN", "x")
        lab.database.add_tablespace("TENANTS", "/rdsdbdata/db/ORCL_A/datafile/o1_mf_tenants_x.dbf", 64 * MIB)
        fresh = lab.connect()
        try:
            said = [found for found in fresh.doctor() if found.severity is not Severity.OK]
        finally:
            fresh.close()
        assert any("RDS" in found.sentence for found in said)
