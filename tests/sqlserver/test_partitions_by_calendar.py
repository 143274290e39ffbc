"""Partitions that come by the calendar on the emulated server: split off empty, or refused, under a signed rule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.model.states import MoveState
from connectors.kit.contract import LockNotObtained, StatementFailed
from connectors.kit.templates import TemplateKind
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.partitions import table_named
from tests.contract.asking import run
from tests.labs.calendar_site import DAY, Site, a_template, act, day
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import ColumnOf, PartitionScheme, Table
from tests.labs.sqlserver.world import FAST, MOVER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected
from tests.sqlserver.moving.test_life import connection

pytestmark = pytest.mark.by_turns
SPLITTER = Account(
    "splitter", "S3cret of who splits", MOVER.server_rights, MOVER.database_rights | {"SELECT", "INSERT"}
)
KEY = "[dbo].[odd ]] days]"
NEXT = TemplateKind.NEXT_PARTITION


def boundaries(*days: int) -> list[object]:
    """As style 126 writes them."""
    return [day(each, "%Y-%m-%dT00:00:00") for each in days]


@pytest.fixture
def scheme(lab: Lab) -> PartitionScheme:
    """RANGE RIGHT, a boundary a day up to tomorrow's begin, all on the slow disk."""
    lab.instance.accounts[SPLITTER.name] = SPLITTER
    return add_scheme(lab.shop, "ps", boundaries(-1, 0, 1), [SLOW] * 4)


@pytest.fixture
def table(lab: Lab, scheme: PartitionScheme) -> Table:
    """With rows and an index, the last partition empty."""
    made = add_table(lab.shop, "odd ] days", space="ps", pages=100, column="id")
    made.columns[0] = ColumnOf(1, "id", "datetime2", 8, nullable=False)
    empty_last(lab, made)
    return made


def empty_last(lab: Lab, table: Table) -> None:
    """No rows from tomorrow on."""
    for index in table.indexes.values():
        index.partitions[-1].rows = 0
        for unit in index.partitions[-1].units.values():
            lab.shop.storage.free(unit)


@pytest.fixture
def connector(lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table) -> Iterator[SqlserverConnector]:
    """Who may copy."""
    with connected(lab, driver, tmp_path, SPLITTER, lock_timeout=1) as found:
        yield found


def homes(lab: Lab, scheme: PartitionScheme) -> list[str]:
    """Filegroup of each partition."""
    names = {group.space_id: group.name for group in lab.shop.storage.filegroups.values()}
    return [names[number] for number in scheme.filegroups]


def why(connector: SqlserverConnector, key: str = KEY, space: str = FAST, days: int = 2) -> str:
    """Why there is no template; "" where there is one."""
    found = connector.template(NEXT, key, space, days * DAY)
    return found.sentence if isinstance(found, NoRoute) else ""


def test_next_partitions_are_born_in_their_filegroup(
    lab: Lab, scheme: PartitionScheme, table: Table, connector: SqlserverConnector
) -> None:
    """Split off the empty end, with their indexes, no row written; then nothing is due."""
    template = a_template(connector, NEXT, KEY, FAST, 3)
    now = datetime.now(UTC)
    routes = connector.routes_due(template, now)
    assert [route.bundle.key for route in routes] == [f"{KEY} partition {number}" for number in (5, 6)]
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    assert routes[0].steps[0].sql.partition("*/ ")[2] == (
        "SET XACT_ABORT ON; BEGIN TRANSACTION; IF EXISTS (SELECT 1 FROM [dbo].[odd ]] days] WITH (TABLOCKX, HOLDLOCK) "
        "WHERE $PARTITION.[f_ps]([id]) = 4) OR COALESCE((SELECT SUM(s.row_count) FROM sys.dm_db_partition_stats AS s "
        "WHERE s.object_id = OBJECT_ID(N'[dbo].[odd ]] days]') AND s.index_id <= 1 AND s.partition_number = 4), 1) "
        "<> 0 THROW 51000, N'hotplace: the partition is not empty any more', 1; "
        f"ALTER PARTITION SCHEME [ps] NEXT USED [ssd]; ALTER PARTITION FUNCTION [f_ps]() SPLIT RANGE "
        f"(N'{day(2)}T00:00:00'); COMMIT TRANSACTION"
    )
    for route in routes:
        assert connector.inspect(route).home is Home.SOURCE
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    assert homes(lab, scheme) == [SLOW] * 4 + [FAST] * 2
    assert scheme.function.boundaries == boundaries(-1, 0, 1, 2, 3)
    assert [p.rows for p in table.base.partitions] == [800, 800, 800, 0, 0, 0]
    assert lab.instance.rows_moved == 0
    assert connector.routes_due(template, datetime.now(UTC)) == ()


def test_range_left(lab: Lab, scheme: PartitionScheme, connector: SqlserverConnector) -> None:
    """The new partition ends at the new boundary, and what lies behind it stays where it was."""
    scheme.function.right = False
    (route,) = connector.routes_due(a_template(connector, NEXT, KEY, FAST, 1), datetime.now(UTC))
    assert route.bundle.key == f"{KEY} partition 4"
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert homes(lab, scheme) == [SLOW, SLOW, SLOW, FAST, SLOW]
    assert scheme.function.boundaries == boundaries(-1, 0, 1, 2)


def test_what_the_site_has_set_is_put_back(lab: Lab, scheme: PartitionScheme, connector: SqlserverConnector) -> None:
    """NEXT USED, which SPLIT uses up."""
    slow = lab.shop.storage.filegroup_named(SLOW)
    assert slow is not None
    scheme.next_used = slow.space_id
    (route,) = connector.routes_due(a_template(connector, NEXT, KEY, FAST, 2), datetime.now(UTC))
    run(connector, route)
    assert scheme.next_used == slow.space_id
    assert homes(lab, scheme)[-1] == FAST


def test_rows_that_come_before_it_are_not_written(
    lab: Lab, scheme: PartitionScheme, table: Table, connector: SqlserverConnector
) -> None:
    """The statement sees them, under its lock, and takes everything back; from then on nothing is due."""
    template = a_template(connector, NEXT, KEY, FAST, 2)
    (route,) = connector.routes_due(template, datetime.now(UTC))
    table.base.partitions[-1].rows = 1
    with pytest.raises(StatementFailed, match="not empty any more"):
        run(connector, route)
    assert (scheme.function.boundaries, scheme.next_used) == (boundaries(-1, 0, 1), None)
    assert connector.inspect(route).home is Home.SOURCE
    assert connector.routes_due(template, datetime.now(UTC)) == ()
    assert "its last partition, 4, has rows" in why(connector)


def test_it_gives_up_where_others_hold_the_table(
    lab: Lab, scheme: PartitionScheme, table: Table, connector: SqlserverConnector
) -> None:
    """Nothing has changed then."""
    (route,) = connector.routes_due(a_template(connector, NEXT, KEY, FAST, 2), datetime.now(UTC))
    with lab.held(table), pytest.raises(LockNotObtained):
        run(connector, route)
    assert scheme.function.boundaries == boundaries(-1, 0, 1)


def test_a_partition_at_that_boundary_elsewhere(
    lab: Lab, scheme: PartitionScheme, connector: SqlserverConnector
) -> None:
    """Somebody has split there: it is not what was to be made."""
    template = a_template(connector, NEXT, KEY, FAST, 2)
    (route,) = connector.routes_due(template, datetime.now(UTC))
    (other,) = connector.routes_due(a_template(connector, NEXT, KEY, SLOW, 2), datetime.now(UTC))
    run(connector, other)
    assert connector.inspect(route).home is Home.ELSEWHERE
    assert connector.routes_due(template, datetime.now(UTC)) == ()


def test_what_cannot_be_served(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, scheme: PartitionScheme, table: Table, connector: SqlserverConnector
) -> None:
    """No such table or filegroup, other boundaries, another user of the function, too late, by files."""
    assert why(connector) == ""
    assert "no partitioned table" in why(connector, "dbo.nothing")
    assert "no partitioned table" in why(connector, "no key")
    assert "no partitioned table" in why(connector, f"{KEY} partition 1")
    assert "no filegroup nowhere" in why(connector, space="nowhere")
    assert "give --ahead more than" in why(connector, days=1)
    with connected(lab, driver, tmp_path, SPLITTER, move_by="filegroup", disks={"fast": "S:\\"}) as by_files:
        assert "move_by: filegroup" in why(by_files)
    scheme.function.boundaries[:] = boundaries(-9, 0, 1)
    assert "of different lengths" in why(connector)
    scheme.function.boundaries[:] = [*boundaries(-1, 0), f"{day(1)}T00:00:00.5"]
    assert "no whole second" in why(connector)
    scheme.function.boundaries[:] = boundaries(-1, 0, 1)
    add_table(lab.shop, "other", space="ps", pages=8, column="id")
    assert "another table or scheme uses f_ps" in why(connector)
    table.columns[0] = ColumnOf(1, "id", "int", 4, nullable=False)
    assert "are of int, not of dates or times" in why(connector)


def test_keys_without_brackets() -> None:
    """As people write them."""
    found = table_named("dbo.days")
    assert found is not None
    assert found.key == "[dbo].[days]"


def a_site(lab: Lab, driver: OdbcDriver, folder: Path) -> Site:
    """An agent over this server."""
    tiers = [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}]
    return Site(
        folder, {"engine": "sqlserver", "connection": connection(lab, driver, folder, SPLITTER), "tiers": tiers}
    )


def test_by_a_signed_rule(lab: Lab, driver: OdbcDriver, tmp_path: Path, scheme: PartitionScheme, table: Table) -> None:
    """By commands; made without a further question, and no more than is due."""
    site = a_site(lab, driver, tmp_path)
    printed = site.open_by_commands(tmp_path, KEY, "--ahead", "3d", "--to", FAST)
    assert "SPLIT RANGE (N'{low}')" in printed
    assert "$PARTITION.[f_ps]([id]) = {last})" in printed
    with site.agent() as (watch, ledger, jobs):
        done = act(watch, jobs)
        assert [row.state for row in done] == [MoveState.PLACED] * 2, [row.reason for row in done]
        assert homes(lab, scheme) == [SLOW] * 4 + [FAST] * 2
        assert act(watch, jobs) == []
        assert ledger.audit.verify().ok
    assert lab.instance.rows_moved == 0
