"""One partition, and two that change places, through the command line, an emulated server behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.site import Site
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import PartitionScheme, Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.sqlserver.world import FAST, MOVER, READER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import kill_at
from tests.sqlserver.moving.test_life import connection, reading, states

pytestmark = pytest.mark.by_turns
SWITCHER = Account(
    "switcher", "S3cret of the copier", MOVER.server_rights, MOVER.database_rights | {"SELECT", "INSERT"}
)


@pytest.fixture
def scheme(lab: Lab) -> PartitionScheme:
    """Three ranges on the slow disk, by id."""
    return add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])


@pytest.fixture
def days(lab: Lab, scheme: PartitionScheme) -> Table:
    """A table on it with an aligned index."""
    return add_table(lab.shop, "days", space="ps", pages=500, column="id")


@pytest.fixture
def site(tmp_path: Path, lab: Lab, driver: OdbcDriver, days: Table) -> Site:
    """A site that moves single partitions by SWITCH, with a login that may copy."""
    lab.instance.accounts[SWITCHER.name] = SWITCHER
    switched = {"partitions": "switched"}
    return Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, READER) | switched,
            "move_connection": connection(lab, driver, tmp_path, SWITCHER) | switched,
            "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "settle": "0.2s",
            "maximum_stall": "10min",
            "policy": {"minimum_history": "0s"},
        },
    )


def homes(lab: Lab, table: Table) -> list[list[str]]:
    """Filegroup of each partition of each index, from the model itself."""
    names = {group.space_id: group.name for group in lab.shop.storage.filegroups.values()}
    return [[names[p.units[IN_ROW].filegroup] for p in index.partitions] for index in table.indexes.values()]


def rows(table: Table) -> list[list[int]]:
    """Rows of each partition of each index."""
    return [[p.rows for p in index.partitions] for index in table.indexes.values()]


def made(lab: Lab) -> list[str]:
    """Tables that a move has made and not dropped."""
    return [table.name for table in lab.shop.tables.values() if table.name.startswith("hotplace_")]


def approved(site: Site, lab: Lab, days: Table) -> int:
    """A proposal that moves what is hot, partitions 2 and 3, approved."""
    with reading(lab, days):
        found = site.good("plan", "--observe", "1", "--propose", "--json").document
    assert {move["unit"] for move in found["moves"]} == {f"[dbo].[days] partition {number}" for number in (2, 3)}, found
    number = int(found["proposal"]["id"])
    site.good("approve", str(number), "--yes")
    return number


BEFORE = [[SLOW, SLOW, SLOW]] * 2
AFTER = [[SLOW, FAST, FAST]] * 2


def test_two_partitions_of_one_index_move_in_one_plan(site: Site, lab: Lab, days: Table) -> None:
    """Partitions 2 and 3 with their indexes go, 1 is not written; taken back, and all rows are where they were."""
    held = rows(days)
    number = approved(site, lab, days)
    assert "SWITCH PARTITION 2" in site.good("show", str(number), "--sql").out
    moved = site.good("run", "--once", "--json").document["moves"]
    assert {row["state"] for row in moved} == {"placed"}, moved
    assert (homes(lab, days), rows(days), made(lab)) == (AFTER, held, [])
    undo = site.good("undo", "--proposal", str(number), "--json").document
    site.good("approve", str(undo["proposal"]), "--yes")
    site.good("run", "--once")
    assert (homes(lab, days), rows(days), made(lab)) == (BEFORE, held, [])
    assert lab.instance.rows_moved == 0
    site.good("audit", "verify")


def test_killed_in_the_exchange(site: Site, lab: Lab, days: Table) -> None:
    """Kill -9 between MERGE and SPLIT: no row is lost or seen twice, and the next run brings it to its end."""
    held = rows(days)
    approved(site, lab, days)
    kill_at(lab, "SPLIT RANGE", lambda: site.start("run", "--once"))
    assert (homes(lab, days), rows(days), len(made(lab))) == (BEFORE, held, 2)
    site.good("run", "--once")
    assert (homes(lab, days), rows(days), made(lab)) == (AFTER, held, [])
    assert set(states(site).values()) <= {"placed", "settling", "kept"}
    assert lab.instance.rows_moved == 0


def test_two_partitions_of_one_index_change_places(site: Site, lab: Lab) -> None:
    """The fast disk is full of a cold partition: it is built away and the hot one in, by one plan of two rebuilds."""
    for login in ("connection", "move_connection"):
        site.database[login]["partitions"] = "each"
    site.database["policy"]["head_room"] = 0
    site.write()
    add_scheme(lab.shop, "places", [10], [FAST, SLOW])
    table = add_table(lab.shop, "swap", space="places", pages=500, column="id")
    del table.indexes[2]
    lab.shop.storage.grow(table.base.partitions[0].units[IN_ROW], 300)  # room to sort in, too
    with lab.full(FAST):
        with reading(lab, table):
            found = site.good("plan", "--observe", "1.5", "--propose", "--json").document
        assert [move["unit"] for move in found["moves"]] == [f"[dbo].[swap] partition {n}" for n in (1, 2)], found
        site.good("approve", str(found["proposal"]["id"]), "--yes")
        moved = site.good("run", "--once", "--json").document["moves"]
    assert {row["state"] for row in moved} == {"placed"}, moved
    assert homes(lab, table) == [[SLOW, FAST]]
