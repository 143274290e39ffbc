"""One partition by copy and SWITCH against an emulated server: what every interruption leaves, and what refuses it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.model.clock import SystemClock
from connectors.kit.contract import (
    ConnectorError,
    Interrupted,
    LockNotObtained,
    OutcomeUnknown,
    SpaceFull,
    StatementFailed,
)
from connectors.kit.settings import SecretSource
from connectors.model.moves import Bundle, Route, UnitKind
from connectors.model.observation import Home, Inspection
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.operations import dropped_table
from connectors.sqlserver.settings import SqlserverSettings
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab, running_lab, wait_until
from tests.labs.sqlserver.objects import PartitionScheme, Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.sqlserver.world import FAST, MOVER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import drivers

COPIER = Account("copier", "S3cret of the copier", MOVER.server_rights, MOVER.database_rights | {"SELECT", "INSERT"})
BEFORE, AFTER = [[SLOW, SLOW, SLOW]] * 2, [[SLOW, FAST, SLOW]] * 2
UNITS = ("[dbo].[days] partition 2", "[dbo].[days].[ix_days] partition 2")


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Standard edition of 2022."""
    with running_lab(engine_edition=2) as running:
        running.instance.accounts[COPIER.name] = COPIER
        yield running


@pytest.fixture
def scheme(lab: Lab) -> PartitionScheme:
    """Boundaries 10 and 20, all on the slow disk."""
    return add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])


@pytest.fixture
def parts(lab: Lab, scheme: PartitionScheme) -> Table:
    """A table on it with an aligned index."""
    return add_table(lab.shop, "days", space="ps", pages=400, column="id")


@pytest.fixture
def connector(lab: Lab, tmp_path: Path) -> Iterator[SqlserverConnector]:
    """One that switches partitions."""
    yield from connected(lab, tmp_path, partitions="switched")


@pytest.fixture
def rebuilding(lab: Lab, tmp_path: Path) -> Iterator[SqlserverConnector]:
    """One that builds their index anew."""
    yield from connected(lab, tmp_path, partitions="each")


def connected(lab: Lab, tmp_path: Path, **wishes: Any) -> Iterator[SqlserverConnector]:
    """Over FreeTDS, which is always there."""
    driver = drivers()[0]
    if driver.missing:
        pytest.skip(driver.missing)
    secret = tmp_path / "secret"
    secret.write_text(COPIER.password)
    wanted = SqlserverSettings(
        host="127.0.0.1",
        port=lab.server.port,
        database=lab.shop.name,
        user=COPIER.name,
        password=SecretSource(file=secret),
        driver=driver.path,
        encrypt="no",
        **wishes,
    )
    found = SqlserverConnector(wanted, SystemClock())
    yield found
    found.close()


def homes(lab: Lab, of: Table) -> list[list[str]]:
    """Filegroup of each partition of each index, from the model itself."""
    groups = lab.shop.storage.filegroups
    return [[groups[p.units[IN_ROW].filegroup].name for p in i.partitions] for i in of.indexes.values()]


def rows(of: Table) -> list[list[int]]:
    """Of each partition of each index."""
    return [[p.rows for p in i.partitions] for i in of.indexes.values()]


def made(lab: Lab) -> list[str]:
    """Tables that a move has made and not dropped."""
    return [found.name for found in lab.shop.tables.values() if found.name.startswith("hotplace_")]


def route_of(connector: SqlserverConnector, to_space: str = FAST, from_space: str = SLOW) -> Route:
    """The way of partition 2 with its index."""
    catalog = connector.catalog()
    row_of = {unit: at for at, unit in enumerate(catalog.units.key)}
    places = [row_of[unit] for unit in UNITS]
    assert len({int(catalog.units.bundle[at]) for at in places}) == 1  # they are one bundle
    wanted = Bundle(
        key=UNITS[0],
        physical_ids=tuple(int(catalog.units.physical_id[at]) for at in places),
        unit_keys=UNITS,
        kind=UnitKind.TABLE_PARTITION,
        size_bytes=int(catalog.units.size_bytes[places].sum()),
        space=from_space,
    )
    found = connector.routes(wanted, to_space)
    assert isinstance(found, tuple), found
    return found[0]


def carry_out(connector: SqlserverConnector, route: Route) -> ConnectorError | None:
    """As the executor does; the error that ended it."""
    with suppress(ConnectorError), connector.open_mover() as mover:
        try:
            mover.prepare(route)
            for step in route.steps:
                mover.execute(step)
        except ConnectorError as error:
            return error
    return None


def tidied(connector: SqlserverConnector, route: Route) -> Inspection:
    """As the reconciler does: what inspect() names and was approved is sent; what it says then."""
    wait_until(lambda: not connector.inspect(route).running, "the server has ended the statement before")
    found = connector.inspect(route)
    assert set(found.leftovers) <= set(route.tidy_steps)
    assert carry_out(connector, replace(route, steps=found.leftovers)) is None
    return connector.inspect(route)


STATEMENTS = (
    "CREATE TABLE [dbo].[hotplace_",
    "_old_1] PRIMARY KEY",
    "INSERT INTO",
    "ROWCOUNT_BIG",
    "sp_addextendedproperty",
    "SWITCH PARTITION",
    "MERGE RANGE",
    "SPLIT RANGE",
    "dm_db_partition_stats",
    "SWITCH TO",
    "COMMIT",
)


def interrupted(connector: SqlserverConnector, lab: Lab, route: Route, statement: str) -> None:
    """Begin the move, and end its session on the server where that statement waits."""
    ended: list[ConnectorError | None] = []
    with lab.stopped_at(statement):
        moving = threading.Thread(target=lambda: ended.append(carry_out(connector, route)))
        moving.start()
        wait_until(lab.instance.stopped.is_set, f"{statement} is there")
        mine = [session for session in lab.instance.sessions.values() if session.program == "hotplace move"]
        mine[0].cut.set()
        wait_until(lambda: mine[0].spid not in lab.instance.sessions, "the server has ended it")
        moving.join()
    assert isinstance(ended[0], OutcomeUnknown)


def test_a_session_that_ends_before_any_statement(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """All rows stay in the table; inspect() says where they are and tidies what is left, and the move is begun anew."""
    held, route = rows(parts), route_of(connector)
    for statement in STATEMENTS:
        interrupted(connector, lab, route, statement)
        assert (rows(parts), homes(lab, parts), parts.lock_holders) == (held, BEFORE, {}), statement
        assert tidied(connector, route).home is Home.SOURCE, statement
        assert made(lab) == [], statement
    interrupted(connector, lab, route, "DROP TABLE")
    assert (rows(parts), homes(lab, parts), len(made(lab))) == (held, AFTER, 2)
    assert tidied(connector, route).home is Home.TARGET
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, AFTER, [])
    assert lab.instance.rows_moved == 0


def test_there_and_back(connector: SqlserverConnector, lab: Lab, scheme: PartitionScheme, parts: Table) -> None:
    """Writers wait while it is copied, readers do not; pages are conserved; NEXT USED is what it was; and back."""
    group = lab.shop.storage.filegroup_named("PRIMARY")
    assert group is not None
    scheme.next_used = group.space_id
    held, used = rows(parts), sum(file.used for file in lab.shop.storage.files.values())
    route = route_of(connector)
    with lab.stopped_at("SWITCH PARTITION"):
        moving = threading.Thread(target=lambda: carry_out(connector, route))
        moving.start()
        wait_until(lab.instance.stopped.is_set, "it is copied")
        assert set(parts.lock_holders.values()) == {"S"}
    moving.join()
    assert connector.inspect(route).home is Home.TARGET
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, AFTER, [])
    assert sum(file.used for file in lab.shop.storage.files.values()) == used
    assert scheme.next_used == group.space_id
    assert carry_out(connector, route_of(connector, SLOW, FAST)) is None
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, BEFORE, [])


def test_failures_leave_everything_where_it_was(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """Somebody holds the table, the target is full, it is cancelled: nothing has changed, nothing is left."""
    held, route = rows(parts), route_of(connector)
    with lab.held(parts):
        assert isinstance(carry_out(connector, route), LockNotObtained)
    assert tidied(connector, route).home is Home.SOURCE
    with lab.full(FAST):
        assert isinstance(carry_out(connector, route), SpaceFull)
    assert tidied(connector, route).home is Home.SOURCE
    with lab.slow(), connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.steps[:6]:
            mover.execute(step)

        def stop() -> None:
            lab.running(route.steps[6].sql)
            mover.interrupt()

        stopping = threading.Thread(target=stop)
        stopping.start()
        with pytest.raises(Interrupted):
            mover.execute(route.steps[6])
        stopping.join()
    assert tidied(connector, route).home is Home.SOURCE
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, BEFORE, [])


def test_rows_that_a_copy_replaces_are_never_dropped_before_it(
    connector: SqlserverConnector, lab: Lab, parts: Table
) -> None:
    """Were there rows in the second table while the partition is still where it was, nothing would name its DROP."""
    route = route_of(connector)
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.steps[:6]:
            mover.execute(step)
    strange = next(found for found in lab.shop.tables.values() if found.name.endswith("_old"))
    strange.base.partitions[0].rows = 7
    found = connector.inspect(route)
    assert [dropped_table(step) for step in found.leftovers] == [strange.name.replace("_old", "_new")]


def test_an_empty_range_changes_filegroups_without_a_row(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """By one statement; had a row come meanwhile, it is refused and nothing has changed."""
    for found in parts.indexes.values():
        found.partitions[1].rows = 0
    route = route_of(connector)
    assert len(route.steps) == 1
    with connector.open_mover() as mover:
        mover.prepare(route)
        parts.base.partitions[1].rows = 1
        with pytest.raises(ConnectorError, match="not empty any more"):
            mover.execute(route.steps[0])
        assert (homes(lab, parts), parts.lock_holders) == (BEFORE, {})
        parts.base.partitions[1].rows = 0
        mover.execute(route.steps[0])
    assert homes(lab, parts) == AFTER
    assert connector.inspect(route).home is Home.TARGET
    assert lab.instance.rows_moved == 0


@pytest.mark.parametrize("mark", ["change_tracked", "captured", "references", "referenced", "checks"])
def test_what_the_catalog_says_against_it(connector: SqlserverConnector, parts: Table, mark: str) -> None:
    """Each is seen by the connector's own query, so that the server is never asked."""
    setattr(parts, mark, True)
    with pytest.raises(AssertionError, match="SWITCH is not for"):
        route_of(connector)


def test_a_change_feed_is_seen_before_anything_is_copied(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """SWITCH would be refused after the copy (22750, 22751)."""
    lab.shop.change_feed = True
    with pytest.raises(AssertionError, match="22750"):
        route_of(connector)


def test_a_function_that_two_tables_share_is_left_alone(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """The other table's partition would go along."""
    add_table(lab.shop, "others", space="ps", pages=8, column="id")
    with pytest.raises(AssertionError, match="another table or scheme uses"):
        route_of(connector)


def part(number: int, from_space: str) -> Bundle:
    """One partition of the table's rows."""
    unit = f"[dbo].[days] partition {number}"
    return Bundle(
        key=unit,
        physical_ids=(number,),
        unit_keys=(unit,),
        kind=UnitKind.TABLE_PARTITION,
        size_bytes=400 * 8192,
        space=from_space,
    )


def test_two_partitions_of_one_index_change_places(rebuilding: SqlserverConnector, lab: Lab) -> None:
    """Both routes are known before either runs: 1 leaves the fast disk, 2 takes its place; out of turn 2 is refused."""
    add_scheme(lab.shop, "ps", [10, 20], [FAST, SLOW, SLOW])
    parts = add_table(lab.shop, "days", space="ps", pages=400, column="id")
    held = rows(parts)
    down = rebuilding.routes(part(1, FAST), SLOW)
    assert isinstance(down, tuple)
    up = rebuilding.routes_after(part(2, SLOW), FAST, down[0])
    assert isinstance(up, tuple)
    assert "TO ([hdd], [ssd], [hdd], [hdd])" in up[0].steps[0].sql, "the last one is NEXT USED"
    refused = carry_out(rebuilding, up[0])
    assert isinstance(refused, StatementFailed)
    assert "not what it was when this was planned" in str(refused)
    assert carry_out(rebuilding, down[0]) is None
    assert rebuilding.inspect(up[0]).home is Home.SOURCE
    assert carry_out(rebuilding, up[0]) is None
    assert (homes(lab, parts)[0], rows(parts)) == ([SLOW, FAST, SLOW], held)
    assert rebuilding.inspect(down[0]).home is rebuilding.inspect(up[0]).home is Home.TARGET


def test_nothing_is_foreseen_behind_another_way(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """A SWITCH writes nothing else anew, so that nothing has to follow it."""
    found = connector.routes_after(part(3, SLOW), FAST, route_of(connector))
    assert not isinstance(found, tuple)
    assert found.code == "not_foreseen"
