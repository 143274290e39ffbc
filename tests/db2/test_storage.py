"""Room, states, and where a table space is, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.db2.catalog import _table_space, pages_of
from connectors.db2.doctor import insist_on_object_metrics, storage_findings
from connectors.db2.inspection import Rebalance, _bytes_to_move, is_moving, space_arrived, space_home
from connectors.db2.mover import is_done
from connectors.db2.operations import Phase, StorageChange, TableHomes
from connectors.db2.sessions import Server, unpack_version
from connectors.db2.space_move import Instance, space_route
from connectors.db2.storage import ServerStorage, TableSpace, _group, _Live, _room, _space, lies_under
from connectors.db2.table_move import landing_in
from connectors.db2.tables import protocol_of
from connectors.kit.contract import StatementFailed
from connectors.model.moves import Route
from connectors.model.observation import Home
from tests.db2.facts import SETTINGS, SPACE, STORAGE, bundle, space

CATALOG = (4, "TS", "D", "A", 4096, 32, -1.0, -1.0, "SG", 0, "PG")


def state(member: int, total: int, used: int, free: int, limit: int = -1, **flags: object) -> tuple[object, ...]:
    """A row of space_states."""
    usual = {
        "auto": 1,
        "grows": 1,
        "hybrid": 0,
        "dropped": 0,
        "reclaim": 1,
        "cached": 1,
        "state": "NORMAL",
        "mode": "NO_REBAL",
    }
    return (4, member, 4096, total, used, free, 0, *{**usual, **flags}.values(), None, used + 4, limit)


def test_pitfall_10_caching_by_the_system_is_inverted() -> None:
    """0 means that the operating system caches the files; unknown means nothing."""
    assert _Live.of([state(0, 1, 1, 0, cached=0)]).os_cached
    assert not _Live.of([state(0, 1, 1, 0, cached=1)]).os_cached
    assert not _Live.of([state(0, 1, 1, 0, cached=None)]).os_cached


def test_pitfall_09_automatic_storage_says_dms() -> None:
    """Not the type tells, but the flag of its own."""
    assert _space(CATALOG, [state(0, 1, 1, 0)], [], shared=False).group == "SG"
    assert _space(CATALOG, [state(0, 1, 1, 0, auto=0)], [], shared=False).group == ""


def test_rule_22_a_table_space_that_was_not_touched_has_its_storage_group() -> None:
    """MON_GET_TABLESPACE has no row of it, SGNAME of the catalog does; without one it has containers of its own."""
    untouched = _space(CATALOG, [], [], shared=False)
    assert (untouched.group, untouched.automatic, untouched.grows) == ("SG", True, True)
    assert _space((*CATALOG[:8], None, *CATALOG[9:]), [], [], shared=False).group == ""


def test_a_path_that_is_dropped_has_no_room() -> None:
    """DROP_PENDING takes no more; another path on the same file system keeps its room. Unknown states are at rest."""
    row = (0, "SG", "Y", 0.0, 0.0, 0)
    paths = [("SG", 0, "/p", "IN_USE", 7, 200, 100), ("SG", 0, "/q", "DROP_PENDING", 7, 200, 100)]
    assert _group(row, paths, {}).free_bytes == 100
    assert _group(row, [*paths, ("SG", 0, "/r", "DROP_PENDING", 8, 200, 100)], {}).free_bytes == 100
    live = _Live.of([state(0, 1, 1, 0, state=None, mode=None)])
    assert (live.state, live.mode) == ("NORMAL", "NO_REBAL")


def test_rule_23_file_systems_are_those_of_their_hosts() -> None:
    """Four hosts, each with 100 bytes on a file system that it calls 7: 400, and 100 if all are one host or unknown."""
    row, paths = (0, "SG", "Y", 0.0, 0.0, 0), [("SG", member, "/p", "IN_USE", 7, 200, 100) for member in range(4)]
    assert _group(row, paths, {member: f"host{member}" for member in range(4)}).free_bytes == 400
    assert _group(row, paths, dict.fromkeys(range(4), "host")).free_bytes == 100
    assert _group(row, paths, {}).free_bytes == 100
    containers = [(4, member, 0, "/p/c", "FILE_EXTENT_TAG", 1, 7, 150, 50) for member in range(4)]
    apart = _space(CATALOG, [], containers, shared=False, hosts={member: f"host{member}" for member in range(4)})
    assert apart.container_room == 400


def test_pitfall_04_sizes_are_summed_but_not_on_purescale() -> None:
    """Two members of 100 pages are 200 pages on two partitions and 100 on a shared disk."""
    rows = [state(0, 100, 60, 40), state(1, 100, 60, 40)]
    assert _space(CATALOG, rows, [], shared=False).used_bytes == 120 * 4096
    assert _space(CATALOG, rows, [], shared=True).used_bytes == 60 * 4096
    assert _space(CATALOG, rows, [], shared=False).top_page == 64  # each member has a high-water mark of its own
    pages = [("S", "T", None, 0, 10, 4, 0, 0, 0, 0), ("S", "T", None, 1, 10, 4, 0, 0, 0, 0)]
    assert pages_of(pages, shared=False)[("S", "T", 0)].data == 20
    assert pages_of(pages, shared=True)[("S", "T", 0)].data == 10


def test_one_member_that_is_not_at_rest_decides() -> None:
    """A rebalance on any member is one."""
    rows = [state(0, 1, 1, 0), state(1, 1, 1, 0, mode="REV_REBAL", state="REBAL_IN_PROGRESS")]
    live = _Live.of(rows)
    assert (live.mode, live.state) == ("REV_REBAL", "REBAL_IN_PROGRESS")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([(0, 7, 100)], 100),
        ([(0, 7, 100), (0, 7, 100)], 100),  # two paths on one file system
        ([(0, 7, 100), (0, 8, 50)], 150),
        ([(0, 7, 100), (1, 9, 30)], 60),  # rows are spread evenly: the fuller member fills first
        ([(0, 7, 100), (1, 7, 100)], 100),  # both members on one file system
    ],
)
def test_room(found: list[tuple[int, int, int]], expected: int | None) -> None:
    """Bytes that can be put there."""
    assert _room(found) == expected


def test_room_of_a_table_space() -> None:
    """What is free within, and where it grows what its storage group has."""
    assert STORAGE.room_of(SPACE) == 10_000_000
    assert STORAGE.room_of(space(grows=False)) == 1_000_000
    assert STORAGE.room_of(space(group="", automatic=False)) == 10_000_000


@pytest.mark.parametrize(
    ("limits", "shared", "expected"),
    [
        ((-1, -1), False, None),
        ((1_000_000, -1), False, None),
        ((1_000_000, 1_000_000), False, 2_000_000),
        ((1_000_000, 1_000_000), True, 1_000_000),
        ((500, 500), False, 1000 * 4096),  # less than what is allocated: these are pages
    ],
)
def test_the_limit_of_a_table_space(limits: tuple[int, int], shared: bool, expected: int | None) -> None:
    """Bytes over all members; where any has none there is none."""
    rows = [state(member, 100, 60, 40, limit) for member, limit in enumerate(limits)]
    assert _space(CATALOG, rows, [], shared=shared).max_bytes == expected


def test_room_ends_at_the_limit() -> None:
    """What its storage has beyond that does not count."""
    assert STORAGE.room_of(space(max_bytes=2_500_000)) == 1_500_000
    assert STORAGE.room_of(space(max_bytes=1_000_000)) == 1_000_000  # what is allocated stays
    assert STORAGE.room_of(space(max_bytes=10**9)) == 10_000_000


def route() -> Route:
    """From SLOW to FAST."""
    made = space_route(STORAGE, SPACE, bundle(space="SLOW"), "FAST", SETTINGS, Instance())
    assert isinstance(made, Route)
    return made


TO_FAST = StorageChange("TS_SLOW", "FAST")


@pytest.mark.parametrize(
    ("facts", "home"),
    [
        (space(group="SLOW"), Home.SOURCE),
        (space(group="FAST", containers=("/db/fast/a",)), Home.TARGET),
        (space(group="FAST", containers=("/db/slow/a", "/db/fast/a")), Home.ELSEWHERE),
        (space(group="FAST", containers=("/db/slow/a", "/db/fast/a"), paths_dropped=True), Home.SOURCE),
        (space(group="FAST", containers=("/db/fast/a",), paths_dropped=True), Home.SOURCE),
        (space(group="FAST", containers=("/db/fast2/a",)), Home.ELSEWHERE),  # a path that only begins alike
        (space(group="FAST", containers=()), Home.TARGET),  # hidden: the group's word has to do
    ],
)
def test_where_a_table_space_is(facts: TableSpace, home: Home) -> None:
    """Its containers say so; one that was given to its group and waits for a REBALANCE is still where it was."""
    assert space_home(STORAGE, facts, route(), TO_FAST) is home


SWAP = StorageChange("TS_SLOW", add=("/ssd/a", "/ssd/b"), drop=("/hdd/a", "/hdd/b"))


@pytest.mark.parametrize(
    ("containers", "home"),
    [
        (("/ssd/a", "/ssd/b"), Home.TARGET),
        (("/hdd/a", "/hdd/b"), Home.SOURCE),
        (("/hdd/a", "/ssd/a"), Home.ELSEWHERE),
        (("/ssd/a",), Home.ELSEWHERE),
    ],
)
def test_where_containers_of_its_own_are(containers: tuple[str, ...], home: Home) -> None:
    """Exactly the files that the statement names, all of them and no other."""
    assert space_home(STORAGE, space(automatic=False, group="", containers=containers), route(), SWAP) is home


CONVERT = StorageChange("TS_SLOW", "FAST", converts=True)


@pytest.mark.parametrize(
    ("facts", "home"),
    [
        (space(automatic=False, group="", containers=("/hdd/a",)), Home.SOURCE),
        (space(group="FAST", hybrid=True, containers=("/hdd/a", "/db/fast/a")), Home.SOURCE),
        (space(group="FAST", containers=("/db/fast/a",)), Home.TARGET),
        (space(group="SLOW", containers=("/db/slow/a",)), Home.ELSEWHERE),
    ],
)
def test_where_a_converted_table_space_is(facts: TableSpace, home: Home) -> None:
    """A hybrid has not arrived: its old files are still in use until a REBALANCE has emptied them."""
    assert space_home(STORAGE, facts, route(), CONVERT) is home


def test_pitfall_12_no_row_is_not_done() -> None:
    """A rebalance that ended leaves no row: only with the mode at rest and no path dropped has it arrived."""
    there = space(group="FAST", containers=("/db/fast/a",))
    assert space_arrived(STORAGE, there, TO_FAST)
    assert not is_moving(there, Rebalance())
    assert is_moving(there, Rebalance(running=True))
    assert is_moving(replace(there, mode="FWD_REBAL"), Rebalance())


def test_pitfall_16_a_dropped_path_is_no_arrival() -> None:
    """As long as a path is DROP_PENDING, whoever dropped it, the table space has extents there."""
    there = space(group="FAST", containers=("/db/fast/a",))
    assert not space_arrived(STORAGE, replace(there, paths_dropped=True), TO_FAST)


def test_nothing_seen_is_not_arrived() -> None:
    """A table space whose containers may not be seen is under no path."""
    assert not lies_under(space(containers=()), ("/db/fast",))


@pytest.mark.parametrize(
    ("operation", "status", "done"),
    [
        ("INIT", "", False),
        ("INIT", "COPY", True),
        ("INIT", "COMPLETE", False),  # of an earlier move
        ("INIT", "CANCEL", False),
        ("COPY", "COPY", False),
        ("COPY", "REPLAY", True),
        ("REPLAY", "REPLAY", False),
        ("SWAP", "REPLAY", False),
        ("SWAP", "CLEANUP", True),
        ("CLEANUP", "CLEANUP", False),
        ("CLEANUP", "COMPLETE_WITH_WARNINGS", True),
    ],
)
def test_pitfall_20_a_move_goes_on_where_it_stopped(operation: str, status: str, done: bool) -> None:
    """STATUS names the phase that comes next."""
    assert is_done(Phase("S", "T", TableHomes("", "", ""), operation), protocol_of([("STATUS", status)])) is done


@pytest.mark.parametrize(
    ("status", "is_open"),
    [("", False), ("COPY", True), ("CANCEL", True), ("COMPLETE", False), ("COMPLETE_WITH_WARNINGS", False)],
)
def test_pitfall_21_complete_has_a_sister(status: str, is_open: bool) -> None:
    """A move that ended with warnings has ended."""
    assert protocol_of([("STATUS", status)]).open is is_open


def test_spaces_that_need_a_second_look() -> None:
    """Cached by the system, on a caching tier, between two groups: each is a finding, and a plain one is none."""
    odd = space(os_cached=True, caching_tier="LOCAL", paths_dropped=True)
    codes = {finding.code for finding in storage_findings(ServerStorage({4: odd}, {}))}
    assert codes == {"space_os_cached", "space_caching_tier", "space_half_moved"}
    assert not storage_findings(ServerStorage({4: space()}, {}))


def test_versions_are_packed() -> None:
    """VVRRMMFF."""
    assert unpack_version(12010400) == (12, 1, 4, 0)
    assert unpack_version(10050900) == (10, 5, 9, 0)


def test_pitfall_01_one_member_that_does_not_count_is_enough() -> None:
    """EXTENDED on one member and BASE on the other: that one's reads would look like none, so nothing is sampled."""
    server = Server(
        version=(11, 5, 0, 0), database="APP", created="", edition="", members=2, partitions=2, purescale=False,
        object_metrics=("EXTENDED", "BASE"), request_metrics=("BASE",), hadr_role="STANDARD",
    )  # fmt: skip
    assert not server.counts_objects
    with pytest.raises(StatementFailed, match="BASE/EXTENDED"):
        insist_on_object_metrics(server)
    insist_on_object_metrics(replace(server, object_metrics=("EXTENDED", "EXTENDED")))


def test_a_table_space_grows_as_its_extents_do() -> None:
    """400,000 bytes of units in 1,000,000 of extents: still 400,000, and half as many more when the extents are."""
    made = route()
    assert made.transfers[0].bytes == SPACE.used_bytes
    assert _bytes_to_move(SPACE, TO_FAST, made) == 400_000
    assert _bytes_to_move(space(used_bytes=1_500_000), TO_FAST, made) == 600_000
    assert _bytes_to_move(SPACE, TO_FAST, replace(made, copies=())) == SPACE.used_bytes  # stored by an older version


@pytest.mark.parametrize("changed", [{"partition_group": "PG_HISTORY"}, {"managed": "S"}])
def test_single_tables_land_where_they_can_be(changed: dict[str, str]) -> None:
    """Not in another partition group, nor in SMS: such a table space of the target is passed over."""
    other = space(number=6, name="A_FIRST", group="FAST", **changed)
    storage = ServerStorage({**STORAGE.spaces, 6: other}, STORAGE.groups)
    found = landing_in(storage, "FAST", SPACE, SETTINGS)
    assert isinstance(found, TableSpace)
    assert found.name == "TS_FAST"


@pytest.mark.parametrize(("state", "lost"), [
    ("NORMAL", False), ("REBAL_IN_PROGRESS", False), ("BACKUP_PENDING", True), ("OFFLINE", True)
])  # fmt: skip
def test_a_table_space_that_waits_for_a_person_takes_no_data(state: str, lost: bool) -> None:
    """Nothing is proposed to go there until then, and people are told."""
    found = _table_space(STORAGE, replace(SPACE, state=state))
    assert found.lost == (f"it is in state {state}" if lost else "")
