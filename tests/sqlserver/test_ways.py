"""Each way of moving, carried out on an emulated server and taken back, over the drivers that are here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyodbc
import pytest

from agent.model.clock import SystemClock
from connectors.kit.contract import Connector, Interrupted, Mover, Paused, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Severity
from connectors.kit.settings import SecretSource
from connectors.model.moves import Bundle, NoRoute, Route
from connectors.model.observation import Home, Progress
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.keys import Name
from connectors.sqlserver.settings import SqlserverSettings
from tests.contract.asking import bundle_of, run
from tests.labs.sqlserver.lab import FIRST_PAGES_SOON, Lab, wait_until
from tests.labs.sqlserver.statements_kept import Run
from tests.labs.sqlserver.world import ADMINISTRATOR, FAST, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver


@pytest.fixture
def connector(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> Iterator[Connector]:
    """A connector with every right, large objects moving with their tables."""
    secret = tmp_path / "secret"
    secret.write_text(ADMINISTRATOR.password)
    settings = SqlserverSettings(
        host="127.0.0.1",
        port=lab.server.port,
        database=lab.shop.name,
        user=ADMINISTRATOR.name,
        password=SecretSource(file=secret),
        driver=driver.path,
        encrypt="no",
        lob_moves=True,
    )
    found = SqlserverConnector(settings, SystemClock())
    yield found
    found.close()


def change_settings(connector: Connector, **changes: object) -> None:
    """As if the configuration had said so."""
    assert isinstance(connector, SqlserverConnector)
    connector._settings = connector._settings.model_copy(update=changes)


def routes_of(connector: Connector, key: str) -> tuple[Bundle, tuple[Route, ...]]:
    """The bundle that the unit leads, and every way to SSD."""
    bundle = bundle_of(connector.catalog(), key)
    found = connector.routes(bundle, FAST)
    assert isinstance(found, tuple), found
    return bundle, found


def there_and_back(connector: Connector, key: str) -> None:
    """By every way, nothing left behind in either place."""
    for at in range(len(routes_of(connector, key)[1])):
        bundle, routes = routes_of(connector, key)
        route = routes[at]
        run(connector, route)
        seen = connector.inspect(route)
        assert (seen.home, seen.leftovers) == (Home.TARGET, ()), route.name
        assert {bundle_of(connector.catalog(), unit).space for unit in bundle.unit_keys} == {FAST}
        run(connector, route, undo=True)
        seen = connector.inspect(route)
        assert (seen.home, seen.leftovers) == (Home.SOURCE, ()), route.name


def test_a_heap(lab: Lab, connector: Connector) -> None:
    """Through a clustered index, and a heap again."""
    table = add_table(lab.shop, "log", heap=True, pages=1000)
    there_and_back(connector, "[dbo].[log]")
    assert sorted(table.indexes) == [0, 2]


@pytest.mark.by_turns
def test_large_objects_follow_their_table(lab: Lab, connector: Connector) -> None:
    """Pitfall 16: table and large objects through a partition scheme, which is gone afterwards."""
    add_table(lab.shop, "mails", pages=1000, lob_pages=500)
    bundle, _ = routes_of(connector, "[dbo].[mails]")
    assert set(bundle.unit_keys) == {"[dbo].[mails]", "[dbo].[mails] lob"}
    there_and_back(connector, "[dbo].[mails]")
    assert not lab.shop.schemes
    assert not lab.shop.functions


def test_one_partition(lab: Lab, connector: Connector) -> None:
    """Only that partition changes its filegroup; the second scheme is gone when it is taken back (pitfall 37)."""
    add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    add_table(lab.shop, "days", space="ps", pages=500, column="id")
    _, routes = routes_of(connector, "[dbo].[days] partition 2")
    run(connector, routes[0])
    homes = [bundle_of(connector.catalog(), f"[dbo].[days] partition {n}").space for n in (1, 2, 3)]
    assert homes == [SLOW, FAST, SLOW]
    assert connector.inspect(routes[0]).leftovers == ()
    run(connector, routes[0], undo=True)
    assert connector.inspect(routes[0]).home is Home.SOURCE
    assert len(lab.shop.schemes) == 1


def test_an_interrupted_heap_is_tidied(lab: Lab, connector: Connector) -> None:
    """Stopped between its two statements: the rows are there, the temporary index is named and taken away."""
    table = add_table(lab.shop, "log", heap=True, pages=1000)
    _, (route, *_) = routes_of(connector, "[dbo].[log]")
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        left = connector.inspect(route).leftovers
        assert left == route.tidy_steps
        for step in left:
            mover.execute(step)
    assert connector.inspect(route).leftovers == ()
    assert connector.inspect(route).home is Home.TARGET
    assert 0 in table.indexes


def test_a_scheme_without_its_index_is_a_leftover(lab: Lab, connector: Connector) -> None:
    """Pitfall 37: stopped before the rebuild, the second scheme is empty and named."""
    add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    add_table(lab.shop, "days", space="ps", pages=500, column="id")
    _, (route, *_) = routes_of(connector, "[dbo].[days] partition 2")
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        assert connector.inspect(route).leftovers == route.tidy_steps
    with connector.open_mover() as mover:
        mover.prepare(replace(route, steps=route.tidy_steps))
        for step in route.tidy_steps:
            mover.execute(step)
    assert connector.inspect(route).leftovers == ()


@pytest.mark.by_turns
def test_every_stage_of_the_large_object_way_can_be_tidied(lab: Lab, connector: Connector) -> None:
    """Stopped after any of its six statements, the leftovers bring the table off the scheme and the helpers away."""
    for stop in range(1, 7):
        add_table(lab.shop, f"mails{stop}", pages=300, lob_pages=100)
        _, (route, *_) = routes_of(connector, f"[dbo].[mails{stop}]")
        with connector.open_mover() as mover:
            mover.prepare(route)
            for step in route.steps[:stop]:
                mover.execute(step)
            for step in connector.inspect(route).leftovers:
                mover.execute(step)
        seen = connector.inspect(route)
        assert seen.leftovers == ()
        assert seen.home is (Home.SOURCE if stop < 3 else Home.TARGET)
        assert not lab.shop.schemes


def test_pitfall_36_sizes_are_asked_again_before_acting(lab: Lab, connector: Connector) -> None:
    """Pitfall 36: exact sizes are those of the moment; 1000 and 500 pages of 8192 bytes."""
    add_table(lab.shop, "mails", pages=1000, lob_pages=500)
    units = connector.catalog().units
    rows = [list(units.key).index(key) for key in ("[dbo].[mails]", "[dbo].[mails] lob")]
    assert connector.exact_sizes(units.physical_id[rows]).tolist() == [8_192_000, 4_096_000]


def test_pitfall_22_progress_is_told_by_bytes(lab: Lab, connector: Connector) -> None:
    """Pitfall 22: percent_complete stays 0 for index builds; what the target has gained does not."""
    add_table(lab.shop, "orders", pages=1000)
    _, (route, *_) = routes_of(connector, "[dbo].[orders]")
    with connector.open_mover() as mover, lab.slow():
        mover.prepare(route)
        assert mover.progress() is None
        moving = threading.Thread(target=interrupted, args=(mover, route))
        moving.start()
        lab.running(route.steps[0].sql)
        seen = mover.progress()
        mover.interrupt()
        moving.join()
    assert seen is not None
    assert 0 <= seen.done_bytes <= seen.total_bytes == 8_192_000
    assert "[dbo].[orders]" in seen.sentence


def interrupted(mover: Mover, route: Route) -> None:
    """Run the first step, which somebody cancels."""
    with pytest.raises(Interrupted):
        mover.execute(route.steps[0])


@pytest.fixture(params=["indexes", "all"])
def pausing(request: pytest.FixtureRequest, lab: Lab, connector: Connector) -> Connector:
    """A connector whose routes begin with one that can be paused."""
    lab.instance.resumable_with_drop_existing = True
    change_settings(connector, resumable=request.param)
    return connector


def paused_halfway(lab: Lab, connector: Connector) -> Route:
    """The route of an index of 2000 pages, held in the middle of its build by a mover that is gone."""
    add_table(lab.shop, "orders", pages=16000)
    _, (route, *_) = routes_of(connector, "[dbo].[orders].[ix_orders]")
    with connector.open_mover() as mover, lab.slow(FIRST_PAGES_SOON):
        mover.prepare(route)
        seen: list[bool] = []

        def hold() -> None:
            wait_until(lambda: any(build.copied_pages for build in lab.shop.operations), "pages are copied")
            seen.append(mover.pause())

        holding = threading.Thread(target=hold)
        holding.start()
        with pytest.raises(Paused):
            mover.execute(route.steps[0])
        holding.join()
    assert seen == [True]
    return route


@pytest.mark.by_turns
def test_a_paused_build_goes_on_after_a_restart(lab: Lab, pausing: Connector) -> None:
    """Its pages stay, the catalog says that it is held, another session goes on; nothing is left behind."""
    route = paused_halfway(lab, pausing)
    (build,) = lab.shop.operations
    assert 0 < build.copied_pages < 2000
    seen = pausing.inspect(route)
    assert (seen.home, seen.paused, seen.running) == (Home.SOURCE, True, False)
    assert "paused" in seen.sentence
    with pausing.open_mover() as mover:
        mover.prepare(route)
        mover.resume(route.steps[0])
        for step in route.steps[1:]:
            mover.execute(step)
    seen = pausing.inspect(route)
    assert (seen.home, seen.paused, seen.leftovers) == (Home.TARGET, False, ())
    run(pausing, route, undo=True)
    assert pausing.inspect(route).home is Home.SOURCE


def test_a_paused_build_is_given_up(lab: Lab, pausing: Connector) -> None:
    """ABORT is what inspect() names as left over; afterwards the room is free again and nothing is held."""
    route = paused_halfway(lab, pausing)
    left = pausing.inspect(route).leftovers
    assert [step.sql.split()[-1] for step in left] == ["ABORT"]
    with pausing.open_mover() as mover:
        mover.prepare(replace(route, steps=left))
        for step in left:
            mover.execute(step)
    seen = pausing.inspect(route)
    assert (seen.home, seen.paused, seen.leftovers) == (Home.SOURCE, False, ())
    assert not lab.shop.operations


def test_pitfall_20_a_cancelled_resumable_build_is_held_and_says_so(lab: Lab, pausing: Connector) -> None:
    """Pitfall 20: cancelling only pauses it, so the mover does not claim that nothing has changed."""
    add_table(lab.shop, "orders", pages=16000)
    _, (route, *_) = routes_of(pausing, "[dbo].[orders].[ix_orders]")
    with pausing.open_mover() as mover, lab.slow(FIRST_PAGES_SOON):
        mover.prepare(route)

        def stop() -> None:
            wait_until(lambda: any(build.copied_pages for build in lab.shop.operations), "pages are copied")
            mover.interrupt()

        stopping = threading.Thread(target=stop)
        stopping.start()
        with pytest.raises(Paused):
            mover.execute(route.steps[0])
        stopping.join()
    assert pausing.inspect(route).paused


def test_an_index_that_was_built_and_not_used_is_a_leftover(lab: Lab, connector: Connector) -> None:
    """Killed between build and swap: the old index is in use, the new one is named and removed."""
    change_settings(connector, resumable="indexes")
    table = add_table(lab.shop, "orders", pages=800)
    _, (route, *_) = routes_of(connector, "[dbo].[orders].[ix_orders]")
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
    seen = connector.inspect(route)
    assert (seen.home, seen.paused) == (Home.SOURCE, False)
    assert [step.sql.partition("*/ ")[2].split(" [")[0] for step in seen.leftovers] == ["DROP INDEX"]
    with connector.open_mover() as mover:
        mover.prepare(replace(route, steps=seen.leftovers))
        for step in seen.leftovers:
            mover.execute(step)
    assert sorted(index.name or "" for index in table.indexes.values()) == ["ix_orders", "pk_orders"]


@pytest.mark.by_turns
def test_progress_of_a_resumable_build_is_its_pages(lab: Lab, pausing: Connector) -> None:
    """Bytes that it has allocated of those that the index has, before and after a pause; and a time that is left."""
    route = paused_halfway(lab, pausing)
    kept = lab.shop.operations[0].copied_pages
    assert pausing.inspect(route).paused
    with pausing.open_mover() as mover, lab.slow(FIRST_PAGES_SOON):
        mover.prepare(route)
        going = threading.Thread(target=mover.resume, args=(route.steps[0],))
        going.start()
        lab.running(route.steps[0].resume_sql)
        told: list[Progress] = []

        def look() -> bool:
            told.extend(seen for seen in (mover.progress(),) if seen is not None)
            return bool(told) and "left" in told[-1].sentence

        wait_until(look, "its pace is known")
        lab.instance.build_seconds = 0.0
        going.join()
    assert all(kept * 8192 <= seen.done_bytes <= seen.total_bytes == 2000 * 8192 for seen in told)


def test_pitfall_30_sessions_are_in_autocommit(connector: Connector) -> None:
    """Pitfall 30: in pyodbc's default transaction an index build keeps its locks, and ALTER DATABASE is refused."""
    with connector.open_mover() as mover:
        assert mover._hand.connection.autocommit  # type: ignore[attr-defined]  # looks inside


def test_pitfall_40_blindness_is_not_taken_for_silence(lab: Lab, connector: Connector) -> None:
    """Pitfall 40: without VIEW SERVER STATE no other session is seen, so nobody says that nothing runs."""
    add_table(lab.shop, "orders", pages=1000)
    _, (route, *_) = routes_of(connector, "[dbo].[orders]")
    lab.instance.accounts[ADMINISTRATOR.name] = replace(
        ADMINISTRATOR, administrator=False, server_rights=frozenset({"VIEW ANY DEFINITION"})
    )
    connector._session._drop()  # type: ignore[attr-defined]  # looks inside
    with pytest.raises(PrivilegeMissing, match="other sessions"):
        connector.inspect(route)


def test_pitfall_41_a_paused_build_is_not_resumed_by_chance(lab: Lab, connector: Connector, driver: OdbcDriver) -> None:
    """Pitfall 41: while somebody's resumable build is paused no route is offered, and the reason names it."""
    add_table(lab.shop, "orders", pages=1000)
    session = pyodbc.connect(lab.string(driver, ADMINISTRATOR), autocommit=True)
    paused = "CREATE INDEX [half] ON [dbo].[orders] ([id] ASC) WITH (ONLINE = ON, RESUMABLE = ON) ON [ssd]"
    cursor = session.cursor()
    with lab.slow():
        building = threading.Thread(target=cancelled, args=(cursor, paused))
        building.start()
        wait_until(lambda: any(build.copied_pages for build in lab.shop.operations), "pages are copied")
        cursor.cancel()
        building.join()
    found = connector.routes(bundle_of(connector.catalog(), "[dbo].[orders]"), FAST)
    session.close()
    assert isinstance(found, NoRoute)
    assert found.code == "paused_build"
    assert "[half]" in found.sentence


def cancelled(cursor: pyodbc.Cursor, statement: str) -> None:
    """Run a statement that somebody cancels."""
    with pytest.raises(pyodbc.Error):
        cursor.execute(statement)


def test_names_that_odbc_might_read(lab: Lab, connector: Connector) -> None:
    """Markers, escapes and comments of ODBC are names inside brackets."""
    for name in ("why?", "{fn now()}", "a]b", "{d '2026-01-01'}", "-- x", "/* x"):
        add_table(lab.shop, name, pages=50)
        _, (route, *_) = routes_of(connector, Name("dbo", name).key)
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET


def test_two_partitions_of_one_plan_do_not_undo_each_other(lab: Lab, connector: Connector) -> None:
    """Planned together, the second was planned on the scheme that the first one left: refused, planned again, moved."""
    add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    add_table(lab.shop, "days", space="ps", pages=50, column="id")
    second, third = (routes_of(connector, f"[dbo].[days] partition {n}")[1][0] for n in (2, 3))
    run(connector, second)
    with pytest.raises(StatementFailed, match="not what it was"):
        run(connector, third)
    run(connector, routes_of(connector, "[dbo].[days] partition 3")[1][0])
    homes = [bundle_of(connector.catalog(), f"[dbo].[days] partition {n}").space for n in (1, 2, 3)]
    assert homes == [SLOW, FAST, FAST]
    with pytest.raises(StatementFailed, match="did not make"):
        run(connector, second, undo=True)


def test_all_partitions_of_an_index_move_together(lab: Lab, connector: Connector) -> None:
    """One bundle, one scheme, one build: the whole table is there, and back; its index is another bundle."""
    change_settings(connector, partitions="together")
    add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    add_table(lab.shop, "days", space="ps", pages=50, column="id")
    bundle, (route, *_) = routes_of(connector, "[dbo].[days] partition 1")
    assert bundle.unit_keys == tuple(f"[dbo].[days] partition {number}" for number in (1, 2, 3))
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert {bundle_of(connector.catalog(), key).space for key in bundle.unit_keys} == {FAST}
    assert bundle_of(connector.catalog(), "[dbo].[days].[ix_days] partition 1").space == SLOW
    run(connector, route, undo=True)
    assert connector.inspect(route).home is Home.SOURCE
    assert len(lab.shop.schemes) == 1


def test_pitfall_7_what_is_in_memory_is_told_on_demand_only(lab: Lab, connector: Connector) -> None:
    """Pitfall 7: 250 of 1000 pages are a quarter; not unless wanted, and not of a pool larger than allowed."""
    table = add_table(lab.shop, "orders", pages=1000)
    lab.instance.pool_pages = 2 * 131072  # 2 GiB
    lab.instance.read_randomly(lab.shop, table.base.partitions[0], 250)
    for allowed, told in ((0.0, False), (1.9, False), (2.0, True)):
        change_settings(connector, residency_up_to_gib=allowed)
        _, (route, *_) = routes_of(connector, "[dbo].[orders]")
        assert ("25% of the index was in memory when this was planned" in route.notes) is told


def test_pitfall_38_query_store_is_not_assumed_to_be_on(lab: Lab, connector: Connector) -> None:
    """Pitfall 38: asked only where wanted; off is said; 10 * 64 + 90 * 1 pages in 10 + 90 reads are 7.3 a read."""

    def told() -> list[str]:
        return [f.sentence for f in connector.doctor() if f.code.startswith("query_store")]

    assert told() == []
    change_settings(connector, query_store=True)
    assert told() == ["Query Store is OFF in this database"]
    lab.shop.statements.switch("READ_WRITE")
    lab.shop.statements.run("SELECT a", Run(executions=10, elapsed=1, pages=640, operations=10))
    lab.shop.statements.run("SELECT b", Run(executions=90, elapsed=1, pages=90, operations=90))
    assert told() == ["by Query Store a read fetched 7.3 pages on average: 730 pages in 100 reads"]


def test_query_profiles_name_what_is_read_just_now(lab: Lab, connector: Connector) -> None:
    """Asked only where wanted; operators and threads add up; other databases and what reads nothing are left out."""
    orders = add_table(lab.shop, "orders").object_id

    def told() -> list[str]:
        return [f.sentence for f in connector.doctor() if f.code == "query_profiles"]

    def wanted(yes: bool) -> None:
        change_settings(connector, query_profiles=yes)

    table = {"object_id": orders, "index_id": 1, "row_count": 30, "estimate_row_count": 100}
    lab.instance.query_profiles = [
        {**table, "session_id": 90, "thread_id": 1, "physical_read_count": 5, "read_ahead_count": 64},
        {**table, "session_id": 90, "thread_id": 2, "physical_read_count": 7, "lob_physical_read_count": 1},
        {**table, "session_id": 91, "physical_read_count": 1000, "database_id": 4711},
        {**table, "session_id": 91, "index_id": 2, "logical_read_count": 1000},
        {"session_id": 91, "object_id": 4711, "index_id": 3, "physical_read_count": 99},
    ]
    assert told() == []
    wanted(True)
    assert told() == [
        (
            "1 session(s) read object_id 4711, index_id 3 from disk right now: "
            "99 reads and 0 read ahead so far, 0 of an estimated 0 rows"
        ),
        (
            f"1 session(s) read [dbo].[orders] (object_id {orders}, index_id 1) from disk right now: "
            "13 reads and 64 read ahead so far, 60 of an estimated 200 rows"
        ),
    ]
    lab.instance.query_profiles = []
    assert told() == ["no running query that the server profiles reads this database from disk right now"]


def test_query_profiles_are_bounded(lab: Lab, connector: Connector) -> None:
    """Of 30 indexes that are read the doctor names the ten that are read most."""
    lab.instance.query_profiles = [
        {"session_id": 90, "object_id": number, "index_id": 1, "physical_read_count": number} for number in range(1, 31)
    ]
    change_settings(connector, query_profiles=True)
    told = [f.values["object_id"] for f in connector.doctor() if f.code == "query_profiles"]
    assert told == [str(number) for number in range(30, 20, -1)]


def test_query_profiles_that_are_denied_leave_the_rest_of_the_doctor(
    lab: Lab, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A remark that cannot be had is a warning; every other finding is there."""
    before = {f.code for f in connector.doctor()}
    denied = replace(ADMINISTRATOR, denied=frozenset({"sys.dm_exec_query_profiles"}))
    monkeypatch.setitem(lab.instance.accounts, ADMINISTRATOR.name, denied)
    change_settings(connector, query_profiles=True)
    found = {f.code: f for f in connector.doctor()}
    assert found.keys() == before | {"query_profiles_unseen"}
    assert found["query_profiles_unseen"].severity is Severity.WARNING
    assert "dm_exec_query_profiles" in found["query_profiles_unseen"].sentence


def test_pitfall_13_an_index_that_was_changed_since_is_not_put_back(lab: Lab, connector: Connector) -> None:
    """Pitfall 13: a fill factor given after the plan would be lost; the move is refused and nothing has changed."""
    table = add_table(lab.shop, "orders", pages=50)
    _, (route, *_) = routes_of(connector, "[dbo].[orders]")
    table.base.options.fill_factor = 70
    with pytest.raises(StatementFailed, match="not what it was"):
        run(connector, route)
    assert connector.inspect(route).home is Home.SOURCE
