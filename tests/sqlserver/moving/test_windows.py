"""A sliding window goes on after a move of one of its partitions, and after its undo: emulated server.

Rule 1 of ``tests/labs/sqlserver/README.md``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytds
import pytest

from agent.model.clock import SystemClock
from connectors.kit.settings import SecretSource
from connectors.model.observation import Home
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.settings import SqlserverSettings
from tests.cli.site import Site
from tests.contract.asking import bundle_of, route_to, run
from tests.labs.sqlserver.conftest import connect
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import PartitionScheme, Table
from tests.labs.sqlserver.world import FAST, MOVER, READER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.moving.test_life import connection

pytestmark = pytest.mark.by_turns
PART = "[dbo].[days] partition 2"
NumberOf = Callable[[str], int]


@pytest.fixture
def window(lab: Lab) -> PartitionScheme:
    """RANGE RIGHT FOR VALUES (10, 20); its job has made the filegroup of the next range NEXT USED."""
    scheme = add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    scheme.next_used = scheme.filegroups[0]
    return scheme


@pytest.fixture
def days(lab: Lab, window: PartitionScheme) -> Table:
    """A table on it."""
    return add_table(lab.shop, "days", space="ps", pages=200, column="id")


@pytest.fixture
def number_of(lab: Lab) -> NumberOf:
    """The number of the error that the DBA's statement ends with; 0 where it ends well."""

    def ask(sql: str) -> int:
        try:
            with connect(lab) as session, session.cursor() as cursor:
                cursor.execute(sql)
        except pytds.DatabaseError as error:
            return int(error.number)
        return 0

    return ask


@pytest.fixture
def connector(lab: Lab, tmp_path: Path, driver: OdbcDriver, days: Table) -> Iterator[SqlserverConnector]:
    """One that may alter."""
    given = connection(lab, driver, tmp_path, MOVER)
    secret = SecretSource(file=Path(given.pop("password")["file"]))
    found = SqlserverConnector(SqlserverSettings(**given, password=secret), SystemClock())
    yield found
    found.close()


def test_the_window_slides_on_after_a_move(connector: SqlserverConnector, days: Table, number_of: NumberOf) -> None:
    """SPLIT of the next range works as before: what the move made has the NEXT USED of what it took the place of."""
    run(connector, route_to(connector, PART, FAST))
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)") == 0


def test_without_a_move_the_window_slides(days: Table, number_of: NumberOf) -> None:
    """The world of these tests is one whose SPLIT works."""
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)") == 0


def test_undo_puts_the_index_back_on_its_own_scheme(
    connector: SqlserverConnector, lab: Lab, window: PartitionScheme, days: Table, number_of: NumberOf
) -> None:
    """By the route's own undo: the scheme that it came from, nothing of ours is left, and the window slides on."""
    route = route_to(connector, PART, FAST)
    run(connector, route)
    run(connector, route, undo=True)
    assert days.base.data_space == window.space_id
    assert list(lab.shop.schemes) == [window.space_id]
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)") == 0


@pytest.fixture
def site(tmp_path: Path, lab: Lab, driver: OdbcDriver, days: Table) -> Site:
    """A site that watches with one login and moves with another."""
    return Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, READER),
            "move_connection": connection(lab, driver, tmp_path, MOVER),
            "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "settle": "0.2s",
            "policy": {"minimum_history": "0s"},
        },
    )


@contextmanager
def reading(lab: Lab, table: Table) -> Iterator[None]:
    """Sessions look up rows of the second partition inside, and wait for each."""
    done = threading.Event()

    def read() -> None:
        while not done.wait(0.02):
            lab.instance.read_randomly(lab.shop, table.base.partitions[1], 50)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()


def test_undo_of_a_proposal_leaves_no_scheme_of_ours(
    site: Site, lab: Lab, window: PartitionScheme, days: Table, number_of: NumberOf
) -> None:
    """`hotplace undo`, approved and carried out: the table is on its own scheme, which is the only one."""
    with reading(lab, days):
        found = site.good("plan", "--observe", "0.5", "--propose", "--json").document
    assert PART in [move["unit"] for move in found["moves"]], found
    number = str(found["proposal"]["id"])
    site.good("approve", number, "--yes")
    site.good("run", "--once")
    undo = site.good("undo", "--proposal", number, "--json").document
    site.good("approve", str(undo["proposal"]), "--yes")
    site.good("run", "--once")
    assert {scheme.name for scheme in lab.shop.schemes.values()} == {"ps"}
    assert days.base.data_space == window.space_id
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)") == 0


def test_two_moves_of_one_index_are_undone_together(
    site: Site, lab: Lab, window: PartitionScheme, days: Table, number_of: NumberOf
) -> None:
    """The second move made a scheme after the first: back over both, to its own, and nothing of ours is left."""
    moves = []
    for number in (2, 3):
        pin = {"unit": f"[[]dbo].[[]days] partition {number}", "pin": "must"}
        site.database["pins"] = [*site.database.get("pins", []), pin]
        site.write()
        found = site.good("plan", "--observe", "0.3", "--propose", "--json").document
        proposal = str(found["proposal"]["id"])
        site.good("approve", proposal, "--yes")
        done = site.good("run", "--once", "--json").document["moves"]
        (move,) = [row for row in done if str(row["id"]) not in moves]
        moves.append(str(move["id"]))
    assert len(lab.shop.schemes) == 3
    undo = site.good("undo", *moves, "--json").document
    site.good("approve", str(undo["proposal"]), "--yes")
    done = site.good("run", "--once", "--json").document
    assert [row["state"] for row in done["moves"] if str(row["id"]) not in moves] == ["placed", "placed"]
    assert {scheme.name for scheme in lab.shop.schemes.values()} == {"ps"}
    assert days.base.data_space == window.space_id
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)") == 0


def test_the_way_back_behind_another_heeds_who_uses_the_scheme_between(
    connector: SqlserverConnector, lab: Lab, days: Table
) -> None:
    """Another table was put on the first scheme meanwhile: it cannot be removed, so there is no such way back."""
    first = route_to(connector, PART, FAST)
    run(connector, first)
    between = next(scheme for scheme in lab.shop.schemes.values() if scheme.name.startswith("hotplace_"))
    other = "[dbo].[days] partition 3"
    second = route_to(connector, other, FAST)
    run(connector, second)
    (back, *_) = connector.routes_back(second, bundle_of(connector.catalog(), other))
    bundle = bundle_of(connector.catalog(), PART)
    assert connector.routes_back(first, bundle) == ()
    assert connector.routes_back(first, bundle, back)
    add_table(lab.shop, "others", space=between.name, pages=20, column="id")
    assert connector.routes_back(first, bundle, back) == ()


def test_what_is_left_of_the_way_back_is_removed(
    connector: SqlserverConnector, lab: Lab, window: PartitionScheme, days: Table
) -> None:
    """It ends before its last statement: the catalog shows the scheme, and the approved DROP is named for it."""
    done = route_to(connector, PART, FAST)
    run(connector, done)
    (back, *_) = connector.routes_back(done, bundle_of(connector.catalog(), PART))
    with connector.open_mover() as mover:
        mover.prepare(back)
        mover.execute(back.steps[0])
    seen = connector.inspect(back)
    assert (seen.home, days.base.data_space) == (Home.TARGET, window.space_id)
    assert [step.sql for step in seen.leftovers] == [step.sql for step in back.tidy_steps]
    with connector.open_mover() as mover:
        mover.prepare(replace(back, steps=seen.leftovers))
        for step in seen.leftovers:
            mover.execute(step)
    assert list(lab.shop.schemes) == [window.space_id]


def test_no_way_back_of_its_own_where_somebody_uses_our_scheme(
    connector: SqlserverConnector, lab: Lab, days: Table
) -> None:
    """Another table was put on it meanwhile: removing it would fail, so the way back is planned like any move."""
    done = route_to(connector, PART, FAST)
    run(connector, done)
    ours = next(scheme for scheme in lab.shop.schemes.values() if scheme.name.startswith("hotplace_"))
    add_table(lab.shop, "others", space=ours.name, pages=20, column="id")
    assert connector.routes_back(done, bundle_of(connector.catalog(), PART)) == ()


def test_a_scheme_of_ours_whose_next_used_is_used_up_is_a_finding(
    connector: SqlserverConnector, days: Table, number_of: NumberOf
) -> None:
    """After the first SPLIT doctor has the statement without which the second fails; with it, it does not."""
    run(connector, route_to(connector, PART, FAST))
    assert "next_used_missing" not in {finding.code for finding in connector.doctor()}
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)") == 0
    (found,) = [finding for finding in connector.doctor() if finding.code == "next_used_missing"]
    assert number_of("ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]") == 0
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (40)") == 7707
    assert number_of(found.remedy) == 0
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (40)") == 0
