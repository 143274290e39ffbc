"""Partitions that go down once they have aged, by copy and SWITCH under a signed rule, on the emulated server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState
from connectors.kit.contract import LockNotObtained, SpaceFull
from connectors.kit.templates import TemplateKind
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from connectors.sqlserver.connector import SqlserverConnector
from tests.cli.site import finish
from tests.contract.asking import run
from tests.labs.calendar_site import DAY, Site, a_template, act, day
from tests.labs.sqlserver.lab import Lab, wait_until
from tests.labs.sqlserver.objects import ColumnOf, PartitionScheme, Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.sqlserver.world import FAST, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected, kill_at
from tests.sqlserver.moving.test_life import connection
from tests.sqlserver.test_partitions_by_calendar import KEY, SPLITTER, boundaries, empty_last
from tests.unit.samples import an_outcome

pytestmark = pytest.mark.by_turns
AGED = TemplateKind.AGED_PARTITION
SIGNED = (
    "CREATE TABLE [dbo].[hotplace_{tag}_new]",
    "CHECK ([id] IS NOT NULL AND [id] >= N'{low}' AND [id] < N'{last_row}')",
    "$PARTITION.[f_ps]([id]) = {number}",
    "SWITCH PARTITION {number} TO [dbo].[hotplace_{tag}_old]",
    "MERGE RANGE (N'{low}')",
    "SWITCH TO [dbo].[odd ]] days] PARTITION {number};",
)
BORN = [[FAST] * 6] * 2  # of the table and of its index


@pytest.fixture
def scheme(lab: Lab) -> PartitionScheme:
    """RANGE RIGHT, a boundary a day up to tomorrow's begin, all born on the fast disk."""
    lab.instance.accounts[SPLITTER.name] = SPLITTER
    return add_scheme(lab.shop, "ps", boundaries(-3, -2, -1, 0, 1), [FAST] * 6)


@pytest.fixture
def table(lab: Lab, scheme: PartitionScheme) -> Table:
    """With rows and an index, the last partition empty."""
    made = add_table(lab.shop, "odd ] days", space="ps", pages=100, column="id")
    made.columns[0] = ColumnOf(1, "id", "datetime2", 6, nullable=False)
    empty_last(lab, made)
    return made


@pytest.fixture
def connector(lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table) -> Iterator[SqlserverConnector]:
    """Who may copy."""
    with connected(lab, driver, tmp_path, SPLITTER, lock_timeout=1, partitions="switched") as found:
        yield found


def homes(lab: Lab, table: Table) -> list[list[str]]:
    """Filegroup of each partition of each index, from the model itself."""
    groups = lab.shop.storage.filegroups
    return [[groups[p.units[IN_ROW].filegroup].name for p in index.partitions] for index in table.indexes.values()]


def rows(table: Table) -> list[list[int]]:
    """Of each partition of each index."""
    return [[p.rows for p in index.partitions] for index in table.indexes.values()]


def made(lab: Lab) -> list[str]:
    """Tables that a move has made and not dropped."""
    return [found.name for found in lab.shop.tables.values() if found.name.startswith("hotplace_")]


def down(*numbers: int) -> list[list[str]]:
    """Where partitions are once those have gone down."""
    return [[SLOW if number in numbers else FAST for number in range(1, 7)]] * 2


def why(connector: SqlserverConnector, space: str = SLOW) -> str:
    """Why there is no template; "" where there is one."""
    found = connector.template(AGED, KEY, space, DAY)
    return found.sentence if isinstance(found, NoRoute) else ""


def test_aged_partitions_go_down(lab: Lab, table: Table, connector: SqlserverConnector) -> None:
    """The oldest first, with their indexes, every row; not the outermost ones; then nothing is due; and back."""
    template = a_template(connector, AGED, KEY, SLOW, 1)
    now, held = datetime.now(UTC), rows(table)
    routes = connector.routes_due(template, now)
    assert [route.bundle.key for route in routes] == [f"{KEY} partition {number}" for number in (2, 3)]
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    texts = "\n".join(text.sql for text in template.texts)
    for said in SIGNED:
        assert said in texts, said
    for differs in (day(-1), "hotplace_0", "PARTITION 4"):
        assert differs not in texts, "nothing of the example is signed"
    for route in routes:
        assert connector.inspect(route).home is Home.SOURCE
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    assert (homes(lab, table), rows(table), made(lab)) == (down(2, 3), held, [])
    assert connector.routes_due(template, now) == ()
    assert lab.instance.rows_moved == 0


def test_range_left(lab: Lab, scheme: PartitionScheme, table: Table, connector: SqlserverConnector) -> None:
    """A partition ends with its boundary; the first one has no beginning and stays."""
    scheme.function.right = False
    template = a_template(connector, AGED, KEY, SLOW, 1)
    routes = connector.routes_due(template, datetime.now(UTC))
    assert [route.bundle.key for route in routes] == [f"{KEY} partition {number}" for number in (2, 3)]
    assert "[id] > N'{low}' AND [id] <= N'{last_row}'" in "\n".join(text.sql for text in template.texts)
    run(connector, routes[0])
    assert homes(lab, table) == down(2)


def test_a_partition_without_rows_stays(table: Table, connector: SqlserverConnector) -> None:
    """Its statements would be others, and there is nothing to bring down."""
    for index in table.indexes.values():
        index.partitions[1].rows = 0
    (route,) = connector.routes_due(a_template(connector, AGED, KEY, SLOW, 1), datetime.now(UTC))
    assert route.bundle.key == f"{KEY} partition 3"


def test_the_last_one_may_still_get_rows(scheme: PartitionScheme, table: Table, connector: SqlserverConnector) -> None:
    """It has no end, however long ago it begins: a site that no longer splits keeps its new rows where they are."""
    scheme.function.boundaries[:] = boundaries(-6, -5, -4, -3, -2)
    table.base.partitions[-1].rows = 800
    routes = connector.routes_due(a_template(connector, AGED, KEY, SLOW, 1), datetime.now(UTC))
    assert [route.bundle.key for route in routes] == [f"{KEY} partition {number}" for number in (2, 3, 4, 5)]


def test_what_cannot_be_served(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table, connector: SqlserverConnector
) -> None:
    """No such filegroup, all there, no rows, what SWITCH refuses, and settings that exclude it."""
    assert why(connector) == ""
    assert "no filegroup nowhere" in why(connector, "nowhere")
    assert "with rows are in ssd" in why(connector, FAST)
    table.references = True
    assert "it has foreign keys" in why(connector)
    table.references = False
    for setting, value, said in (
        ("partitions", "each", "set partitions: switched"), ("offline_moves", False, "offline_moves: false"),
    ):  # fmt: skip
        wanted: dict[str, Any] = {"partitions": "switched", setting: value}
        with connected(lab, driver, tmp_path, SPLITTER, **wanted) as other:
            assert said in why(other)
            assert other.routes_due(a_template(connector, AGED, KEY, SLOW, 1), datetime.now(UTC)) == ()
    template = a_template(connector, AGED, KEY, SLOW, 1)
    table.checks = True
    assert connector.routes_due(template, datetime.now(UTC)) == ()
    table.checks = False
    for index in table.indexes.values():
        for part in index.partitions:
            part.rows = 0
    assert "has rows" in why(connector)


def test_a_table_without_other_indexes(table: Table, connector: SqlserverConnector) -> None:
    """No rebuild of its whole index takes the place of an exchange that is refused."""
    del table.indexes[2]
    assert why(connector) == ""
    table.change_tracked = True
    assert "its changes are tracked" in why(connector)


def test_what_stands_in_the_way(lab: Lab, table: Table, connector: SqlserverConnector) -> None:
    """Somebody holds the table, the target is full: nothing has changed."""
    held = rows(table)
    (route, _) = connector.routes_due(a_template(connector, AGED, KEY, SLOW, 1), datetime.now(UTC))
    with lab.held(table), pytest.raises(LockNotObtained):
        run(connector, route)
    assert (homes(lab, table), rows(table)) == (BORN, held)
    for step in connector.inspect(route).leftovers:
        with connector.open_mover() as mover:
            mover.prepare(route)
            mover.execute(step)
    with lab.full(SLOW), pytest.raises(SpaceFull):
        run(connector, route)
    assert (homes(lab, table), rows(table)) == (BORN, held)


def a_site(lab: Lab, driver: OdbcDriver, folder: Path) -> Site:
    """An agent over this server."""
    return Site(
        folder,
        {
            "engine": "sqlserver",
            "connection": connection(lab, driver, folder, SPLITTER) | {"partitions": "switched"},
            "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "settle": "0.2s",
        },
    )


def test_one_a_day_and_none_after_one_that_hurt(lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table) -> None:
    """Caps hold; the next day comes the next one, unless the rule was closed meanwhile."""
    site = a_site(lab, driver, tmp_path)
    with site.agent() as (watch, ledger, jobs):
        number = site.sign(watch, ledger, a_template(watch.connector, AGED, KEY, SLOW, 1), 1)
        (moved,) = act(watch, jobs)
        assert act(watch, jobs) == []
        assert homes(lab, table) == down(2)
        ledger.moves.record_outcome(moved.id, an_outcome(OutcomeVerdict.HURT))
        assert act(watch, jobs) == []
        assert ledger.rules.row(number).reason == "proposal 1 hurt"
    assert homes(lab, table) == down(2)


def test_killed_in_the_exchange(lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table) -> None:
    """Kill -9 between MERGE and SPLIT: no row is lost or seen twice, the next run moves both; and back, signed."""
    site, held = a_site(lab, driver, tmp_path), rows(table)
    printed = site.open_by_commands(tmp_path, KEY, "--aged", "1d", "--to", SLOW)
    assert "MERGE RANGE (N'{low}')" in printed
    kill_at(lab, "SPLIT RANGE", lambda: site.start("run", "--once"))
    assert (homes(lab, table), rows(table), len(made(lab))) == (BORN, held, 2)
    with site.agent() as (watch, ledger, jobs):
        watch.act()
        assert (homes(lab, table), rows(table), made(lab)) == (down(2, 3), held, [])
        assert act(watch, jobs) == []
        undo = str(site.hotplace("undo", "--proposal", "1", "--json").document["proposal"])
        signature = tmp_path / "undo.sig"
        signature.write_text(site.anna.sign(site.hotplace("approve", undo).out))
        assert site.hotplace("approve", undo, "--signature", str(signature)).code == 0
        assert [row.state for row in watch.act()] == [MoveState.PLACED] * 2
        assert ledger.audit.verify().ok
    assert (homes(lab, table), rows(table), made(lab)) == (BORN, held, [])
    assert lab.instance.rows_moved == 0


def hide(table: Table, rows: int) -> None:
    """A policy with a filter predicate that shows nobody so many rows of partition 2."""
    table.predicates = ("tenants",)
    table.base.partitions[1].hidden = rows


def moved_with(lab: Lab, site: Site, meanwhile: Callable[[], None]) -> None:
    """Run the agent once, and let something happen before it copies the first row."""
    with lab.stopped_at("INSERT INTO"):
        agent = site.start("run", "--once")
        wait_until(lambda: lab.instance.stopped.is_set() or agent.poll() is not None, "it is there")
        meanwhile()
    finish(agent)


def test_rows_that_a_policy_hides_are_not_lost_unattended(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table
) -> None:
    """1,000 rows became 100: a policy that comes after every check ends the move, and every row is where it was."""
    site, held = a_site(lab, driver, tmp_path), rows(table)
    site.open_by_commands(tmp_path, KEY, "--aged", "1d", "--to", SLOW)
    moved_with(lab, site, lambda: hide(table, 700))
    assert (homes(lab, table), rows(table), made(lab)) == (BORN, held, [])
    with site.agent() as (watch, ledger, _):
        states = {row.state for row in ledger.moves.rows(database="real")}
        assert MoveState.PLACED not in states
        assert any("as many rows in the copy" in row.reason for row in ledger.moves.rows(database="real"))
        watch.act()
    assert (homes(lab, table), rows(table), made(lab)) == (BORN, held, [])


def test_replaced_rows_take_their_place_again_unattended(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, table: Table
) -> None:
    """The storage miscounts by as many rows as are hidden: the exact count refuses, and the agent takes it back."""
    site, held = a_site(lab, driver, tmp_path), rows(table)
    site.open_by_commands(tmp_path, KEY, "--aged", "1d", "--to", SLOW)

    def lie() -> None:
        hide(table, 700)
        table.base.partitions[1].miscounted = -700

    moved_with(lab, site, lie)
    with site.agent() as (watch, ledger, _):
        first = min(ledger.moves.rows(database="real"), key=lambda row: row.id)
        assert first.state is MoveState.FAILED, first.reason
        assert "not as many rows as were copied" in first.reason
        watch.act()
    assert (homes(lab, table), rows(table), made(lab)) == (BORN, held, [])
    assert lab.instance.rows_moved == 0
