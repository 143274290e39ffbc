"""The connector against rules of DDL that the lab's README numbers, on the emulated server over the real driver."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from connectors.kit.contract import Connector, LockNotObtained
from connectors.model.moves import NoRoute, Route
from tests.contract.asking import bundle_of, route_to, run
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Table

MIB = 1 << 20


@contextmanager
def _connected(version: tuple[int, ...] = (19, 22, 0, 0, 0)) -> Iterator[tuple[OracleHarness, Connector]]:
    with running_harness("oracle rules of DDL (emulated server)", version) as lab:
        connector = lab.connect()
        yield lab, connector
        connector.close()


@pytest.fixture
def connected() -> Iterator[tuple[OracleHarness, Connector]]:
    """A lab of 19c with a connector of the agent's."""
    with _connected() as both:
        yield both


def _events(lab: OracleHarness, partitions: tuple[str, ...] = ("P1", "P2"), indexes: int = 1) -> Table:
    table = lab.database.add_table(OWNER, "EVENTS", "SLOW", MIB, partitions=partitions)
    for number in range(indexes):
        lab.database.add_index(table, f"EVENTS_{number}", "SLOW", MIB // 8, local=True)
    return table


def _carried_out(connector: Connector, route: Route) -> None:
    """As the agent does: the steps, and then whatever inspect() says is left and approved."""
    run(connector, route)
    left = [step for step in connector.inspect(route).leftovers if step in route.tidy_steps]
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in left:
            mover.execute(step)


def _refusal(connector: Connector, key: str) -> str:
    """Why the unit does not move, or why there is no such unit: "" where a route is offered."""
    catalog = connector.catalog()
    if key not in list(catalog.units.key):
        return "no unit"
    found = connector.routes(bundle_of(catalog, key), "FAST")
    return found.code if isinstance(found, NoRoute) else ""


def test_an_index_out_of_use_is_left_alone(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 1: pieces that a loading job had marked UNUSABLE stay so, in every partition of the table."""
    lab, connector = connected
    table = _events(lab)
    with lab.session() as owner:
        for part in ("P1", "P2"):
            owner.cursor().execute(f"ALTER INDEX APP.EVENTS_0 MODIFY PARTITION {part} UNUSABLE")
    _carried_out(connector, route_to(connector, "APP.EVENTS PARTITION P1", "FAST"))
    assert table.segments[0].tablespace == "FAST"
    assert table.indexes[0].unusable == {"P1", "P2"}


def test_a_partial_index_stays_partial(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 1: a partition with INDEXING OFF gets no entries from a move, neither its own nor another's."""
    lab, connector = connected
    table = _events(lab)
    lab.database.exclude_from_indexing(table, "P2")
    _carried_out(connector, route_to(connector, "APP.EVENTS PARTITION P1", "FAST"))
    assert table.indexes[0].unusable == {"P2"}


@pytest.mark.parametrize("version", [(11, 2, 0, 4, 0), (19, 22, 0, 0, 0)], ids=["11.2", "19"])
def test_what_the_move_broke_is_usable_again(version: tuple[int, ...]) -> None:
    """Rule 1, the other half: indexes that were usable before are usable afterwards."""
    with _connected(version) as (lab, connector):
        table = _events(lab)
        lab.database.add_index(table, "EVENTS_GLOBAL", "SLOW", MIB // 8)
        _carried_out(connector, route_to(connector, "APP.EVENTS PARTITION P1", "FAST"))
        assert table.segments[0].tablespace == "FAST"
        assert not any(index.unusable for index in table.indexes)


def test_what_tidies_does_not_grow_with_the_table(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 1: the move of one of 40 partitions breaks its own index pieces only: six statements can mend it."""
    lab, connector = connected
    _events(lab, tuple(f"P{number}" for number in range(40)), indexes=6)
    route = route_to(connector, "APP.EVENTS PARTITION P7", "FAST")
    assert len(route.tidy_steps) <= 6
    assert len(json.dumps([step.sql for step in route.tidy_steps])) < 2000


@pytest.mark.parametrize("name", ["DR$NOTES_TX$I", "MDRT_1F89F$", "DR#NOTES_TX0001$I", "PLAIN"])
def test_a_table_of_a_domain_index_never_moves_alone(connected: tuple[OracleHarness, Connector], name: str) -> None:
    """Rule 2: by SECONDARY, whatever it is called."""
    lab, connector = connected
    base = lab.database.add_table(OWNER, "BASE", "SLOW", MIB)
    lab.database.add_domain_index(base, "DOMAIN_IX", name, "SLOW", MIB)
    assert _refusal(connector, f"{OWNER}.{name}")
    assert base.indexes[0].failed is False


@pytest.mark.parametrize("name", ["DR$NOTES_TX$I", "MDRT_1F89F$", "MDXT_2A$", "SYS_FBA_TCRV_70001"])
def test_names_of_oracle_s_own_do_not_move(connected: tuple[OracleHarness, Connector], name: str) -> None:
    """Rule 2: also where nothing is marked as secondary, as after an import."""
    lab, connector = connected
    lab.database.add_table(OWNER, name, "SLOW", MIB)
    assert _refusal(connector, f"{OWNER}.{name}")


@pytest.mark.parametrize("kind", ["VECTOR", "NEW IN 30ai"])
def test_an_index_of_an_unknown_kind_keeps_its_table(connected: tuple[OracleHarness, Connector], kind: str) -> None:
    """Rule 2: by DBA_INDEXES.INDEX_TYPE, in every plan, whole or by partition; the other indexes may still move."""
    lab, connector = connected
    base = lab.database.add_table(OWNER, "BASE", "SLOW", MIB)
    lab.database.add_index(base, "BASE_IX", "SLOW", MIB)
    lab.database.add_index(base, "BASE_V", "SLOW", MIB, kind=kind)
    lab.database.add_index(_events(lab), "EVENTS_V", "SLOW", MIB, kind=kind)
    for _ in range(2):
        assert _refusal(connector, f"{OWNER}.BASE") == "unknown_index"
        assert _refusal(connector, f"{OWNER}.EVENTS PARTITION P1") == "unknown_index"
        assert _refusal(connector, f"{OWNER}.BASE_V INDEX") == "index_kind"
        assert _refusal(connector, f"{OWNER}.BASE_IX INDEX") == ""


@pytest.mark.parametrize(("follows", "place"), [(False, "SLOW"), (True, "FAST")])
def test_the_look_after_a_move_says_where_lobs_of_xml_columns_are(*, follows: bool, place: str) -> None:
    """Rule 4b: they stay by the manual and went along in a report; room is kept for them either way."""
    with _connected() as (lab, connector):
        lab.database.quirks = replace(lab.database.quirks, xml_lobs_follow=follows)
        base = lab.database.add_table(OWNER, "BASE", "SLOW", MIB)
        lob = lab.database.add_lob(base, "SYS_NC00004$", "SLOW", 3 * MIB)
        route = route_to(connector, "APP.BASE", "FAST")
        assert route.transient_bytes >= 3 * MIB
        run(connector, route)
        assert lob.segments[0].tablespace == place
        assert f"LOBs of its object or XML columns: {3 * MIB} bytes in {place}" in connector.inspect(route).sentence


def test_an_index_of_a_secondary_table_does_not_move(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 2: DR$...$X is as much part of the domain index as its table."""
    lab, connector = connected
    base = lab.database.add_table(OWNER, "BASE", "SLOW", MIB)
    stored = lab.database.add_domain_index(base, "DOMAIN_IX", "DR$DOMAIN_IX$I", "SLOW", MIB)
    lab.database.add_index(stored, "DR$DOMAIN_IX$X", "SLOW", MIB)
    assert _refusal(connector, f"{OWNER}.DR$DOMAIN_IX$X INDEX")


def test_a_mapping_table_is_no_unit_of_its_own(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 2: SYS_IOT_MAP_n cannot be named in an ALTER TABLE."""
    lab, connector = connected
    iot = lab.database.add_table(OWNER, "IOT", "SLOW", MIB, iot=True)
    mapping = lab.database.add_mapping(iot, "SLOW", MIB)
    assert _refusal(connector, f"{OWNER}.{mapping.name}")


def test_a_history_table_does_not_move(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 2: SYS_FBA_HIST_n is altered by the flashback archiver only (ORA-55622)."""
    lab, connector = connected
    history = lab.database.archive(_events(lab), "SLOW", MIB)
    assert _refusal(connector, f"{OWNER}.{history.name}")


def test_a_partition_of_a_tracked_table_does_not_move(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 2: MOVE PARTITION of a table in a flashback archive is ORA-55610: planned, it would fail by day."""
    lab, connector = connected
    lab.database.archive(_events(lab), "SLOW", MIB)
    assert _refusal(connector, f"{OWNER}.EVENTS PARTITION P1")


def test_a_busy_table_moves_online(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 3: short transactions that overlap leave no moment without a lock; an online move needs none."""
    lab, connector = connected
    table = lab.database.add_table(OWNER, "BUSY", "SLOW", MIB)
    route = route_to(connector, "APP.BUSY", "FAST")
    assert route.online
    stop, held = threading.Event(), threading.Event()

    def work() -> None:
        with lab.session() as one, lab.session() as other:
            while not stop.is_set():
                for session, before in ((one, other), (other, one)):
                    session.cursor().execute("LOCK TABLE APP.BUSY IN ROW EXCLUSIVE MODE")
                    before.commit()
                    held.set()
                    stop.wait(0.02)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        held.wait(10)
        for once_more in (True, True, False):  # on a busy machine a transaction of an instant may last for seconds
            try:
                run(connector, route)
                break
            except LockNotObtained:
                if not once_more:
                    raise
    finally:
        stop.set()
        worker.join()
    assert table.segments[0].tablespace == "FAST"


def test_a_lock_elsewhere_in_the_table_does_not_count(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 3: an open transaction in partition P2 does not keep P1 from moving."""
    lab, connector = connected
    table = _events(lab)
    route = route_to(connector, "APP.EVENTS PARTITION P1", "FAST")
    with lab.session() as writer:
        writer.cursor().execute("LOCK TABLE APP.EVENTS PARTITION (P2) IN ROW EXCLUSIVE MODE")
        run(connector, route)
    assert table.segments[0].tablespace == "FAST"


def test_a_database_that_was_upgraded_moves_offline(connected: tuple[OracleHarness, Connector]) -> None:
    """Rule 7: 19c with COMPATIBLE 12.1.0 has no MOVE ONLINE of a table; the first route that is offered works."""
    lab, _ = connected
    table = lab.database.add_table(OWNER, "OLD", "SLOW", MIB)
    lab.database.parameters["compatible"] = "12.1.0"
    lab.database.generation += 1
    fresh = lab.connect()
    try:
        route = route_to(fresh, "APP.OLD", "FAST")
        assert not route.online
        run(fresh, route)
    finally:
        fresh.close()
    assert table.segments[0].tablespace == "FAST"
