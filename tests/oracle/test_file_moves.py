"""A whole tablespace from place to place by its data files: by hand, and on the emulated server."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.contract import Interrupted, LockNotObtained
from connectors.model.moves import NoRoute, Route
from connectors.model.observation import Home, Progress
from connectors.oracle import file_moves
from connectors.oracle.catalog import DataFile, home_of_tablespace, place_of
from connectors.oracle.connector import OracleConnector
from tests.cli.site import Site, finish
from tests.contract.asking import bundle_of, demand_of, route_to, run
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, SLOW_SECONDS_PER_GB, OracleHarness, running_harness
from tests.labs.oracle.model import DataFile as LabFile
from tests.oracle.made import SETTINGS, bundle, server, standard

MIB = 1 << 20
HDD, SSD = "/hdd/oradata", "/ssd/oradata"
PLACES = (HDD, SSD, "+FAST")


def _file(number: int, path: str, **changes: Any) -> DataFile:
    return replace(DataFile(number, "SLOW", path, 100 * MIB, "ONLINE", "ONLINE"), **changes)


ONE = _file(7, f"{HDD}/slow01.dbf")
TWO = _file(8, f"{HDD}/slow02.dbf")


def _found(files: list[DataFile], to: str = SSD, **of: Any) -> tuple[Route, ...] | NoRoute:
    return file_moves.routes_of(files, bundle(), to, PLACES, server(**of), SETTINGS)


def _route(files: list[DataFile], to: str = SSD) -> Route:
    found = _found(files, to)
    assert isinstance(found, tuple)
    return found[0]


def _texts(steps: Any) -> list[str]:
    return [re.sub(r"^/\* hotplace move [0-9a-f]{8} \w+ \d+ \*/ ", "", step.sql) for step in steps]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/hdd/oradata/slow01.dbf", "/hdd/oradata"),
        ("+DATA/ORCL/DATAFILE/users.259.1", "+DATA"),
        ("D:\\oradata\\slow01.dbf", "D:\\oradata"),
    ],
)
def test_the_place_of_a_file(path: str, place: str) -> None:
    """A folder, or a disk group."""
    assert place_of(path) == place


def test_every_file_moves_and_moves_back() -> None:
    """By number, so that the way back is known before Oracle has named anything; never REUSE, never KEEP."""
    route = _route([ONE, TWO])
    assert _texts(route.steps) == [
        f"ALTER DATABASE MOVE DATAFILE 7 TO '{SSD}/slow01.dbf'",
        f"ALTER DATABASE MOVE DATAFILE 8 TO '{SSD}/slow02.dbf'",
    ]
    assert (
        _texts(route.undo_steps)
        == _texts(route.tidy_steps)
        == [
            f"ALTER DATABASE MOVE DATAFILE 7 TO '{HDD}/slow01.dbf'",
            f"ALTER DATABASE MOVE DATAFILE 8 TO '{HDD}/slow02.dbf'",
        ]
    )
    assert (route.online, route.transient_bytes) == (True, 100 * MIB)  # 200 MiB allocated, 100 of them segments
    assert not re.search("REUSE|KEEP", " ".join(_texts((*route.steps, *route.undo_steps))))


def test_oracle_names_what_it_manages() -> None:
    """In a disk group the group is named; from there, and from a name that Oracle made, a plain name (ORA-01276)."""
    assert _texts(_route([ONE], "+FAST").steps) == ["ALTER DATABASE MOVE DATAFILE 7 TO '+FAST'"]
    grouped = _route([_file(7, "+DATA/ORCL/DATAFILE/slow.259.1")])
    assert _texts(grouped.steps) == [f"ALTER DATABASE MOVE DATAFILE 7 TO '{SSD}/slow_7.dbf'"]
    assert _texts(grouped.undo_steps) == ["ALTER DATABASE MOVE DATAFILE 7 TO '+DATA'"]
    managed = _route([_file(7, f"{HDD}/o1_mf_slow_k1_.dbf")])
    assert _texts(managed.undo_steps) == [f"ALTER DATABASE MOVE DATAFILE 7 TO '{HDD}/slow_7.dbf'"]


def test_a_quote_in_a_path_stays_one() -> None:
    """A literal by Oracle's rules."""
    assert _texts(_route([_file(7, f"{HDD}/it's.dbf")]).steps)[0].endswith(f"TO '{SSD}/it''s.dbf'")


@pytest.mark.parametrize(
    ("files", "to", "of", "code"),
    [
        ([], SSD, {}, "gone"),
        ([ONE], HDD, {}, "already_there"),
        ([ONE], "/elsewhere", {}, "no_space"),
        ([ONE], SSD, {"number": (11, 2)}, "edition"),
        ([ONE], SSD, standard(), "edition"),
        ([ONE], SSD, {"role": "PHYSICAL STANDBY"}, "standby"),
        ([ONE], SSD, {"container": "CDB$ROOT"}, "root_container"),
        ([_file(7, f"{HDD}/a.dbf", online_status="RECOVER")], SSD, {}, "space_not_online"),
        ([_file(7, f"{HDD}/a.dbf", tablespace_status="READ ONLY")], SSD, {}, "space_not_online"),
        ([_file(7, f"{HDD}/a.dbf"), _file(8, "/other/a.dbf")], SSD, {}, "same_name"),
    ],
)
def test_refusals_have_a_reason(files: list[DataFile], to: str, of: dict[str, Any], code: str) -> None:
    """Nothing is sent where it could not end well."""
    found = _found(files, to, **of)
    assert isinstance(found, NoRoute)
    assert found.code == code


def test_the_way_of_old_is_written_down() -> None:
    """Before 12.1 and in Standard Edition it is an outage: told, never sent."""
    found = _found([ONE], number=(11, 2))
    assert isinstance(found, NoRoute)
    assert 'ALTER TABLESPACE "SLOW" OFFLINE; copy the files; ALTER DATABASE RENAME FILE' in found.sentence


def test_the_catalog_tells_how_far_it_came() -> None:
    """All there, none there, some there: then the approved steps bring those back."""
    route = _route([ONE, TWO])
    there = [replace(file, path=f"{SSD}/slow0{at}.dbf") for at, file in enumerate((ONE, TWO), start=1)]
    assert file_moves.inspect_files([ONE, TWO], route)[0] is Home.SOURCE
    assert file_moves.inspect_files(there, route)[0] is Home.TARGET
    home, sentence, leftovers = file_moves.inspect_files([there[0], TWO], route)
    assert (home, leftovers) == (Home.SPLIT, (route.tidy_steps[0],))
    assert sentence == f"1 of 2 files of tablespace SLOW are in {SSD}, the others in {HDD}, {SSD}"
    assert file_moves.inspect_files([replace(ONE, number=9)], route)[0] is Home.ELSEWHERE


def test_most_of_its_bytes_make_its_home() -> None:
    """A tablespace over two places is where most of it is."""
    assert home_of_tablespace([ONE, TWO, _file(9, f"{SSD}/x.dbf", bytes=150 * MIB)]) == HDD


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """19c with a table, its index and its LOB in a tablespace of two files, and a disk group."""
    with running_harness("oracle 19, data files (emulated server)") as running:
        of = running.database
        of.users[AGENT].privileges.add("ALTER DATABASE")
        of.add_tablespace("GROUPED", "+FAST/ORCL/DATAFILE/grouped.1.1", 64 * MIB)
        space = of.add_tablespace("SALES", f"{HDD}/sales01.dbf", 64 * MIB)
        first = space.files[0]
        counters = [type(first.counters[0])()]
        space.files.append(LabFile(900, f"{HDD}/sales02.dbf", 64 * MIB, counters=counters))
        table = of.add_table(OWNER, "SALES", "SALES", 8 * MIB)
        of.add_index(table, "SALES_PK", "SALES", MIB, unique=True)
        of.add_lob(table, "DOC", "SALES", MIB)
        yield running


@pytest.fixture
def connector(lab: OracleHarness) -> Iterator[OracleConnector]:
    """Of the agent, moving whole tablespaces."""
    connected = lab.connector(move_by="tablespace", places=("/nvme/oradata",))
    yield connected
    connected.close()


def _paths(lab: OracleHarness) -> list[str]:
    return [place_of(file.path) for file in lab.database.tablespaces["SALES"].files]


def test_places_are_the_spaces(connector: OracleConnector) -> None:
    """Emulated server: folders with files, folders of the configuration, disk groups; one bundle a tablespace."""
    catalog = connector.catalog()
    spaces = {space.name: space for space in catalog.spaces}
    assert {"+FAST", "/hdd/oradata", "/ssd/oradata", "/nvme/oradata", "/u01/oradata"} == set(spaces)
    assert spaces["/hdd/oradata"].used_bytes == (1 << 30) + 128 * MIB
    assert spaces["/hdd/oradata"].free_bytes is None
    assert spaces["+FAST"].free_bytes == 4500 * MIB
    found = bundle_of(catalog, f"{OWNER}.SALES")
    assert set(found.unit_keys) == {"APP.SALES", "APP.SALES_PK INDEX", "APP.SALES LOB (DOC)"}
    assert found.space == HDD


def test_a_tablespace_moves_there_and_back(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: to a folder and to a disk group; ids, indexes and counters stay as they are."""
    before = [(s.data_object_id, s.tablespace) for s in lab.database.segments()]
    for place in ("/nvme/oradata", "+FAST"):
        route = route_to(connector, f"{OWNER}.SALES", place)
        run(connector, route)
        assert _paths(lab) == [place, place]
        assert connector.inspect(route).home is Home.TARGET
        run(connector, route, undo=True)
        assert _paths(lab) == [HDD, HDD]
        assert connector.inspect(route).home is Home.SOURCE
    assert [(s.data_object_id, s.tablespace) for s in lab.database.segments()] == before


def test_reads_are_timed_by_place(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: the speed of a place is measured, whatever its tablespaces are called (oracle.md f40)."""
    segment = lab.database.table(OWNER, "SALES").segments[0]
    demand, _ = demand_of(lab, connector, lambda: lab.database.read_randomly(segment, 1000, microseconds=6000))
    assert demand.spaces is not None
    at = demand.spaces.name.index(HDD)
    assert demand.spaces.read_seconds[at] / demand.spaces.reads[at] == pytest.approx(0.006)


def test_one_of_two_files_is_brought_back(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: interrupted between two files, the approved tidy step takes the first one back."""
    route = route_to(connector, f"{OWNER}.SALES", "/nvme/oradata")
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        found = connector.inspect(route)
        assert (found.home, found.leftovers) == (Home.SPLIT, (route.tidy_steps[0],))
        mover.execute(found.leftovers[0])
    assert connector.inspect(route).home is Home.SOURCE


def test_progress_and_interrupt(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: V$SESSION_LONGOPS shows the copy; a cancel leaves the file where it was."""
    route = route_to(connector, f"{OWNER}.SALES", "/nvme/oradata")
    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB / 20
    seen: list[Progress] = []
    with connector.open_mover() as mover:
        mover.prepare(route)

        def watch() -> None:
            until = time.monotonic() + 20
            while time.monotonic() < until and not seen:
                progress = mover.progress()
                if progress is not None and progress.done_bytes:
                    seen.append(progress)
                time.sleep(0.05)
            mover.interrupt()

        watcher = threading.Thread(target=watch)
        watcher.start()
        with pytest.raises(Interrupted):
            mover.execute(route.steps[0])
        watcher.join()
    assert seen[0].sentence.startswith("Online data file move")
    assert connector.inspect(route).home is Home.SOURCE


def test_a_file_that_is_being_moved_is_waited_for(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: ORA-63000 means somebody else moves it: later again."""
    route = route_to(connector, f"{OWNER}.SALES", "/nvme/oradata")
    lab.database.tablespaces["SALES"].files[0].moving = True
    with pytest.raises(LockNotObtained, match="ORA-63000"):
        run(connector, route)


@pytest.fixture
def site(lab: OracleHarness, tmp_path: Path) -> Site:
    """A configuration in which a disk group is the fast tier, and the table is pinned to it."""
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    connection = {
        "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": AGENT,
        "password": {"file": str(secret)}, "move_by": "tablespace",
    }  # fmt: skip
    return Site(
        tmp_path,
        {
            "name": "orders",
            "engine": "oracle",
            "connection": connection,
            "tiers": [
                {"name": "ssd", "spaces": ["+FAST"]},
                {"name": "hdd", "spaces": [{"name": HDD, "capacity": "100 GB"}]},
            ],
            "sample_every": "0.2s",
            "settle": "0.2s",
            "pins": [{"unit": "APP.SALES", "pin": "must"}],
            "policy": {"minimum_history": "0s"},
        },
    )


def test_a_life_by_data_files(lab: OracleHarness, site: Site) -> None:
    """Emulated server, command line: planned by a pin, approved, moved, undone; a disk group is the fast tier."""
    number, digest = site.propose()
    assert "ALTER DATABASE MOVE DATAFILE 900 TO '+FAST'" in site.good("show", str(number), "--sql").out
    site.good("approve", str(number), "--digest", digest)
    site.good("run", "--once")
    assert _paths(lab) == ["+FAST", "+FAST"]
    site.database["pins"] = []
    site.write()
    back = site.good("undo", "--proposal", str(number), "--json").document
    site.good("approve", str(back["proposal"]), "--digest", back["digest"])
    site.good("run", "--once")
    assert _paths(lab) == [HDD, HDD]


def test_one_file_of_several_is_written_out(lab: OracleHarness, site: Site) -> None:
    """Emulated server, command line: the statements and why they are not sent; nothing is stored, nothing changes."""
    spaces = site.good("status", "--containers", "--json").document["databases"][0]["containers"]
    space = next(each for each in spaces if each["space"] == HDD)
    files = {each["name"]: each["belongs_to"] for each in space["containers"]}
    assert files[f"{HDD}/sales02.dbf"] == "SALES"
    drain = ("plan", "--mode", "drain", "--space", HDD, "--container", f"{HDD}/sales02.dbf")
    document = site.good(*drain, "--propose", "--json").document
    written = document["by_hand"]["statements"]
    assert (document["moves"], document["proposal"], document["container"]["bytes"]) == ([], None, 64 * MIB)
    assert "ALTER DATABASE MOVE DATAFILE 900 TO '+FAST'" in written
    assert f"ALTER TABLESPACE \"SALES\" DROP DATAFILE '{HDD}/sales02.dbf'" in written
    text = site.good(*drain).out
    assert all(statement in text for statement in written)
    assert "hotplace does not do it: no statement empties a data file" in text
    assert site.good("proposals", "--json").document["proposals"] == []
    assert all(not file.moving for file in lab.database.tablespaces["SALES"].files)


def test_killed_between_two_files(lab: OracleHarness, site: Site) -> None:
    """Emulated server: kill -9 while the second file is copied; the server ends that copy, the agent finds both."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB / 50
    agent = site.start("run", "--once")
    until = time.monotonic() + 60
    while len(lab.database.long_operations) < 2:
        assert time.monotonic() < until, "the second file was never begun"
        assert agent.poll() is None, finish(agent)
        time.sleep(0.02)
    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB / 5  # however slow the machine is, it is caught in the middle
    agent.kill()
    finish(agent)
    assert sorted(_paths(lab)) == ["+FAST", HDD]
    lab.database.seconds_per_gb = 0.0
    until = time.monotonic() + 60
    while {m["state"] for m in site.good("history", "--json").document["moves"]} != {"settling"}:
        site.run("run", "--once")
        assert time.monotonic() < until, site.good("history").out
        time.sleep(0.2)
    assert _paths(lab) == ["+FAST", "+FAST"]
    site.good("audit", "verify")
