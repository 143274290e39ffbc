"""The connector over IBM's own driver against the emulated server: what is sent, resumed, refused, and survived."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connectors.kit.contract import (
    CannotConnect,
    ConnectorError,
    LockNotObtained,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
)
from connectors.kit.findings import Severity
from connectors.model.moves import NoRoute, Route
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to, run
from tests.db2.conftest import Connect, names_asked
from tests.labs.db2.client import Db2, running_db2, wait_until
from tests.labs.db2.server import BLIND, FAST, SLOW, SUCCESSOR, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
PHASES = ("INIT", "COPY", "REPLAY", "SWAP", "CLEANUP")
KEY = "APP.ORDERS"


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """The lab with one table on the slow table space, as it was before when the test has ended."""
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, 2000)
    yield db2.lab
    db2.lab.drop_table("APP", "ORDERS")


def calls(lab: Any, since: int) -> list[str]:
    """Operations of ADMIN_MOVE_TABLE that reached the server."""
    return [text.rpartition(",")[2].strip(" ')") for text in lab.sent()[since:] if "ADMIN_MOVE_TABLE" in text]


@pytest.mark.parametrize("done", range(1, len(PHASES)))
def test_emulated_server_pitfall_20_a_killed_move_goes_on(lab: Any, connect: Connect, done: int) -> None:
    """Killed after any phase, the next run sends the phases that are left; REPLAY is repeated, which does no harm.

    After SWAP the table is where it should be, and CLEANUP is what is left to tidy.
    """
    route: Route = route_to(connect(), KEY, TS_FAST)
    before = len(lab.sent())
    with connect().open_mover() as killed:
        killed.prepare(route)
        for step in route.steps[:done]:
            killed.execute(step)
    connector = connect()
    left = [step.purpose for step in connector.inspect(route).leftovers]
    assert left == ([f"drop what the finished move of {KEY} has left"] if done == 4 else [])
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert calls(lab, before) == [*PHASES[:done], *(PHASES[2:] if done == 3 else PHASES[done:])]


def test_emulated_server_pitfall_20_a_move_belongs_to_who_began_it(lab: Any, connect: Connect) -> None:
    """Another account neither goes on with it nor begins anew: told by whom it was begun, before anything is sent."""
    mine, theirs = connect(), connect(SUCCESSOR)
    route: Route = route_to(mine, KEY, TS_FAST)
    with mine.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        at = len(lab.sent())
        with theirs.open_mover() as stranger:
            for step in (route.steps[0], route.steps[1]):
                with pytest.raises(StatementFailed, match="DB2INST1 has begun a move"):
                    stranger.execute(step)
        assert lab.sent()[at:] == []
        mover.execute(route.tidy_steps[0])


@pytest.mark.parametrize("key", [KEY, "index APP.ORDERS_PK"])
def test_emulated_server_an_open_move_elsewhere_is_not_taken_over(lab: Any, connect: Connect, key: str) -> None:
    """A move of it to another table space is open: the new one does not go on with that, but says so."""
    lab.create_space("TS_OTHER", FAST)
    try:
        connector = connect()
        first, second = route_to(connector, key, "TS_OTHER"), route_to(connector, key, TS_FAST)
        with connector.open_mover() as mover:
            mover.prepare(first)
            mover.execute(first.steps[0])
            mover.prepare(second)
            with pytest.raises(StatementFailed, match=r"is open, with its (rows|indexes) to TS_OTHER"):
                mover.execute(second.steps[0])
            mover.execute(first.tidy_steps[0])
    finally:
        lab.drop_space("TS_OTHER")


def test_emulated_server_what_was_swapped_and_not_cleaned_up_goes_back(lab: Any, connect: Connect) -> None:
    """Killed between SWAP and CLEANUP, and then another move of it: what is left goes first, then all of the phases."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    with connector.open_mover() as killed:
        killed.prepare(route)
        for step in route.steps[:4]:
            killed.execute(step)
    back = route_to(connector, KEY, TS_SLOW)
    before = len(lab.sent())
    run(connector, back)
    assert connector.inspect(back).home is Home.TARGET
    assert calls(lab, before) == ["CLEANUP", *PHASES]


def test_emulated_server_a_failed_copy_leaves_nothing(lab: Any, connect: Connect) -> None:
    """Without room the move is cancelled at once, and the same route works when there is room again."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    before = len(lab.sent())
    lab.fill(FAST, True)
    try:
        with pytest.raises(SpaceFull):
            run(connector, route)
    finally:
        lab.fill(FAST, False)
    assert calls(lab, before)[-1] == "CANCEL"
    assert not [f for f in connector.doctor() if f.code == "unfinished_move"]
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET


def test_emulated_server_an_unfinished_move_is_named(lab: Any, connect: Connect) -> None:
    """What a killed move has left is a finding, with the statement that ends it."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        (finding,) = (f for f in connector.doctor() if f.code == "unfinished_move")
        assert finding.remedy == "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','','','','','','','','','CANCEL')"
        mover.execute(route.tidy_steps[0])
    assert not [f for f in connector.doctor() if f.code == "unfinished_move"]


def test_emulated_server_pitfall_01_no_object_metrics_is_not_cold(lab: Any, connect: Connect) -> None:
    """With mon_obj_metrics at BASE nothing is sampled, and the doctor says what to do."""
    before = lab.behave(mon_obj_metrics="BASE")
    try:
        connector = connect()
        with pytest.raises(StatementFailed) as caught:
            connector.sample()
        assert "MON_OBJ_METRICS EXTENDED" in caught.value.advice
        (finding,) = (f for f in connector.doctor() if f.code == "mon_obj_metrics_off")
        assert finding.severity is Severity.ERROR
    finally:
        lab.behave(**before)


def test_emulated_server_pitfall_23_each_missing_function_is_named(lab: Any, connect: Connect) -> None:
    """Who may not execute MON_GET_TABLE hears that, with the GRANT of that very function."""
    connector = connect(BLIND)
    with pytest.raises(PrivilegeMissing):
        connector.sample()
    found = [f for f in connector.doctor() if f.code == "execute_missing"]
    missing = {f.values["function"]: f.remedy for f in found}
    assert missing["MON_GET_TABLE"] == 'GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_TABLE TO USER "BLIND"'
    assert {f.severity for f in found} == {Severity.ERROR}, "without it nothing can be sampled"
    assert "MON_GET_INDEX" not in missing


def test_emulated_server_samples_cost_the_same_for_any_number_of_tables(
    lab: Any, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One table or forty: a sample is the same number of statements, and so is a catalog."""
    from connectors.db2 import sessions

    sent: list[str] = []
    fetch = sessions.fetch_parts

    def counting(connection: Any, statement: str, *more: Any) -> Any:
        sent.append(statement)
        return fetch(connection, statement, *more)

    monkeypatch.setattr(sessions, "fetch_parts", counting)

    def cost(ask: Callable[[], object]) -> int:
        ask()  # columns are probed once
        sent.clear()
        ask()
        return len(sent)

    connector = connect()
    before = cost(connector.sample), cost(connector.catalog)
    for number in range(39):
        lab.create_table("APP", f"MANY{number}", f"MANY{number}_PK", TS_SLOW, 10)
    try:
        assert (cost(connector.sample), cost(connector.catalog)) == before
        assert before == (12, 11)  # six of a sample say which server this is and whether it counts objects
        assert len(connector.catalog().units) == 80
    finally:
        for number in range(39):
            lab.drop_table("APP", f"MANY{number}")


def test_emulated_server_an_untouched_table_is_zero_not_missing(lab: Any, connect: Connect) -> None:
    """A table that nobody read since activation is in the catalog with its size; no read of it is counted."""
    lab.restart()
    connector = connect()
    units, sample = connector.catalog().units, connector.sample()
    row = list(units.key).index(KEY)
    assert units.size_bytes[row] == 2000 * 4096
    assert not sample.counters["physical_reads"][sample.physical_id == units.physical_id[row]].any()


def test_emulated_server_a_rebalance_is_asked_for_where_none_begins(lab: Any, connect: Connect) -> None:
    """USING STOGROUP alone may begin nothing: then REBALANCE is sent, and otherwise it is not."""
    lab.create_space("TS_OWN", SLOW)
    lab.create_table("APP", "OWN", "OWN_PK", "TS_OWN", 500)
    connector = connect(move_by="table_space")
    try:
        for starts, expected in ((False, ["FAST", "REBALANCE"]), (True, ["FAST"])):
            before = lab.behave(rebalance_starts=starts)
            route = route_to(connector, "APP.OWN", FAST)
            at = len(lab.sent())
            try:
                run(connector, route)
            finally:
                lab.behave(**before)
            seen = connector.inspect(route)
            assert (seen.home, seen.on_disk, seen.running) == (Home.TARGET, True, False)
            altered = [text.partition(" /*")[0] for text in lab.sent()[at:] if text.startswith("ALTER")]
            assert [text.rpartition(" ")[2].strip('"') for text in altered] == expected
            run(connector, route, undo=True)
            assert connector.inspect(route).home is Home.SOURCE
    finally:
        lab.drop_table("APP", "OWN")
        lab.drop_space("TS_OWN")


def test_emulated_server_a_killed_rebalance_goes_on_in_the_server(lab: Any, connect: Connect) -> None:
    """Whoever asks next sees it running, and then done; progress is told meanwhile."""
    lab.create_space("TS_OWN", SLOW)
    lab.create_table("APP", "OWN", "OWN_PK", "TS_OWN", 2000)
    connector = connect(move_by="table_space", move_timeout=0.3)
    before = lab.behave(extents_per_second=0.5)  # of 72: it is still at work, however slow the machine is
    try:
        route = route_to(connector, "APP.OWN", FAST)
        with pytest.raises(ConnectorError) as caught:  # the time for it is up, the server goes on
            run(connector, route)
        assert caught.value.retry == "reconcile"
        seen = connector.inspect(route)
        assert (seen.home, seen.running) == (Home.SPLIT, True)
        lab.behave(extents_per_second=1e9)
        until = time.monotonic() + 20
        while connector.inspect(route).running and time.monotonic() < until:
            time.sleep(0.05)
        assert connector.inspect(route).home is Home.TARGET
    finally:
        lab.behave(**before)
        lab.drop_table("APP", "OWN")
        lab.drop_space("TS_OWN")


def test_emulated_server_pitfall_17_purescale_moves_tables_only(lab: Any, connect: Connect) -> None:
    """No table space is moved there, a table is."""
    before = lab.behave(pure_scale=True)
    try:
        connector = connect(move_by="table_space")
        found = connector.routes(bundle_of(connector.catalog(), KEY), FAST)
        assert isinstance(found, NoRoute)
        assert found.code == "purescale"
        assert connect().identify().topology == "purescale"
        assert route_to(connect(), KEY, TS_FAST).name == "admin_move_table"
    finally:
        lab.behave(**before)


def test_emulated_server_a_lost_lease_stays_lost(lab: Any, connect: Connect) -> None:
    """The driver reconnects by itself after a cut, without the lock: the lease must not come back with it."""
    lease = connect().acquire_lease("one")
    assert lease.is_held()
    lab.cut()
    assert not lease.is_held()
    assert not lease.is_held()


def test_emulated_server_reads_survive_a_cut(lab: Any, connect: Connect) -> None:
    """A session that died between two samples is opened anew, and the epoch tells that counters went on."""
    connector = connect()
    first = connector.sample()
    lab.cut()
    assert connector.sample().epoch == first.epoch
    lab.restart()
    assert connector.sample().epoch != first.epoch


def test_emulated_server_silence_ends(lab: Any, connect: Connect) -> None:
    """A server that takes requests and answers none costs the time limit and a little more, not for ever."""
    connector = connect(query_timeout=1.0, connect_timeout=1.0)
    connector.identify()
    before = lab.behave(silent=True)
    try:
        with pytest.raises(CannotConnect):
            connector.sample()
    finally:
        lab.behave(**before)


def test_emulated_server_an_interrupt_says_that_it_waits(
    lab: Any, connect: Connect, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IBM's driver cannot cancel: Ctrl-C says so at once, with the limit; it is obeyed when the statement ends."""
    monkeypatch.setattr(logging.getLogger("connectors"), "propagate", True)  # a command may have changed it
    connector = connect(query_timeout=600.0)
    connector.identify()
    lab.behave(silent=True)
    told: list[bool] = []

    def interrupt_and_let_it_end() -> None:
        wait_until(lambda: any(thread.name == "interruptible" for thread in threading.enumerate()), "it waits")
        os.kill(os.getpid(), signal.SIGINT)
        try:
            wait_until(lambda: "cannot be cancelled" in caplog.text, "it tells")
            told.append(True)
        finally:
            lab.behave(silent=False)

    person = threading.Thread(target=interrupt_and_let_it_end)
    person.start()
    with pytest.raises(KeyboardInterrupt):
        connector.sample()
    person.join()
    assert told == [True]
    (text,) = {record.getMessage() for record in caplog.records}  # of one event, told once to each who listens
    assert "cannot be cancelled" in text
    assert caplog.records[0].__dict__["fields"] == {"at_most": "605s", "limited_by": "query_timeout"}
    assert connector.sample().physical_id.size


def test_emulated_server_pitfall_08_indexes_are_known_by_number(lab: Any, connect: Connect) -> None:
    """MON_GET_INDEX gives no name, only the number within the table: it meets the name of SYSCAT.INDEXES."""
    connector = connect()
    lab.read_randomly("APP", "ORDERS", 7)
    units, sample = connector.catalog().units, connector.sample()
    number = units.physical_id[list(units.key).index("index APP.ORDERS_PK")]
    assert sample.counters["physical_reads"][sample.physical_id == number].tolist() == [7]


def test_emulated_server_pitfall_14_tenants_move_together(lab: Any, connect: Connect) -> None:
    """Whoever else lives there is in the bundle; the route says so, and what packages use; the system's never move."""
    lab.create_table("APP", "TENANT", "TENANT_PK", TS_SLOW, 10)
    lab.alter_table("APP", "TENANT", packages=["BILLING"])
    try:
        connector = connect(move_by="table_space")
        bundle = bundle_of(connector.catalog(), KEY)
        assert {KEY, "APP.TENANT", "index APP.TENANT_PK"} <= set(bundle.unit_keys)
        route = route_to(connector, KEY, FAST)
        assert f"everything in {TS_SLOW} moves with it" in route.notes
        assert route.notes[-1] == "1 package(s) now: REBIND PACKAGE APP.BILLING"
    finally:
        lab.drop_table("APP", "TENANT")
    assert not {"SYSCATSPACE", "SYSTOOLSPACE"} & {space.name for space in connect().catalog().spaces}


def test_emulated_server_pitfall_18_a_standby_needs_the_paths(lab: Any, connect: Connect) -> None:
    """On a primary doctor warns and every route says so; on a standby nothing is written."""
    before = lab.behave(hadr_role="PRIMARY")
    try:
        assert [f for f in connect().doctor() if f.code == "hadr_paths"]
        route = route_to(connect(move_by="table_space"), KEY, FAST)
        assert any("HADR standby needs the paths" in note for note in route.notes)
        lab.behave(hadr_role="STANDBY")
        assert not connect().identify().writable
        assert [c.available for c in connect().capabilities() if c.name == "moves"] == [False]
    finally:
        lab.behave(**before)


def test_emulated_server_pitfall_22_a_table_that_is_loaded_is_not_asked(lab: Any, connect: Connect) -> None:
    """ADMIN_GET_TAB_INFO waits for a LOAD: meanwhile the estimate has to do, and its name is never asked for."""
    connector = connect()
    units = connector.catalog().units
    number = units.physical_id[[list(units.key).index(KEY)]]
    route = route_to(connector, KEY, TS_FAST)
    lab.alter_table("APP", "ORDERS", rows=1)
    lab.utility("LOAD", "APP", "ORDERS")
    try:
        asked = names_asked(connector)
        assert connector.exact_sizes(number).tolist() == units.size_bytes[units.physical_id == number].tolist()
        assert connector.inspect(route).size_bytes == route.bundle.size_bytes
        assert "object_sizes" not in asked
        lab.utility("")
        connector.exact_sizes(number)
        assert "object_sizes" in asked
    finally:
        lab.utility("")


def test_emulated_server_pitfall_27_session_tables_are_nobodys(lab: Any, connect: Connect) -> None:
    """A temporary table of some session shows up in MON_GET_TABLE with 70 reads, and in no sample."""
    from connectors.db2.names import Part, physical_id

    sample = connect().sample()
    assert physical_id(Part.TABLE, "<65592><DB2INST1>", "WORK", 0, None) not in sample.physical_id


def test_emulated_server_a_backup_stands_in_the_way(lab: Any, connect: Connect) -> None:
    """Whether the two may run at once was never established: a table space does not move under a backup."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    lab.utility("BACKUP")
    try:
        with pytest.raises(LockNotObtained, match="a backup is running"):
            run(connector, route)
    finally:
        lab.utility("")


def test_emulated_server_buffer_pools_are_told(lab: Any, connect: Connect) -> None:
    """100 look-ups: of 400 pages asked for 200 were in the pool."""
    lab.restart()
    lab.read_randomly("APP", "ORDERS", 100)
    (finding,) = (f for f in connect().doctor() if f.code == "buffer_pool")
    assert "IBMDEFAULTBP (1,000 pages) answered 50.0% of requests" in finding.sentence
