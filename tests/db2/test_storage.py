"""Room, states, and where a table space is, by hand."""

from __future__ import annotations

import pytest

from connectors.db2.catalog import pages_of
from connectors.db2.inspection import Rebalance, at_rest, lies_under, space_home
from connectors.db2.mover import is_done
from connectors.db2.server import unpacked
from connectors.db2.space_move import space_route
from connectors.db2.statements import Homes, Phase
from connectors.db2.storage import _Live, _room, _space
from connectors.db2.tables import protocol_of
from connectors.model import Home, Route
from tests.db2.facts import SETTINGS, SPACE, STORAGE, bundle, space

CATALOG = (4, "TS", "D", "A", 4096, 32, -1.0, -1.0, "SG", 0)


def state(member: int, total: int, used: int, free: int, **flags: object) -> tuple[object, ...]:
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
    return (4, member, 4096, total, used, free, 0, *{**usual, **flags}.values(), None)


def test_pitfall_10_caching_by_the_system_is_inverted() -> None:
    """0 means that the operating system caches the files; unknown means nothing."""
    assert _Live.of([state(0, 1, 1, 0, cached=0)]).os_cached
    assert not _Live.of([state(0, 1, 1, 0, cached=1)]).os_cached
    assert not _Live.of([state(0, 1, 1, 0, cached=None)]).os_cached


def test_pitfall_09_automatic_storage_says_dms() -> None:
    """Not the type tells, but the flag of its own."""
    assert _space(CATALOG, [state(0, 1, 1, 0)], [], shared=False).group == "SG"
    assert _space(CATALOG, [state(0, 1, 1, 0, auto=0)], [], shared=False).group == ""


def test_pitfall_04_sizes_are_summed_but_not_on_purescale() -> None:
    """Two members of 100 pages are 200 pages on two partitions and 100 on a shared disk."""
    rows = [state(0, 100, 60, 40), state(1, 100, 60, 40)]
    assert _space(CATALOG, rows, [], shared=False).used_bytes == 120 * 4096
    assert _space(CATALOG, rows, [], shared=True).used_bytes == 60 * 4096
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


def route() -> Route:
    """From SLOW to FAST."""
    made = space_route(STORAGE, SPACE, bundle(space="SLOW"), "FAST", SETTINGS, purescale=False)
    assert isinstance(made, Route)
    return made


@pytest.mark.parametrize(
    ("containers", "settled", "home"),
    [
        (("/db/slow/a",), True, Home.SOURCE),
        (("/db/fast/a",), True, Home.TARGET),
        (("/db/slow/a", "/db/fast/a"), True, Home.ELSEWHERE),
        (("/db/fast2/a",), True, Home.ELSEWHERE),  # a path that only begins alike
        (("/db/slow/a", "/db/fast/a"), False, Home.SPLIT),
    ],
)
def test_where_a_table_space_is(containers: tuple[str, ...], settled: bool, home: Home) -> None:
    """Its containers say so; the group in the catalog is only a wish until they are there."""
    assert space_home(STORAGE, space(group="FAST", containers=containers), route(), settled=settled) is home


def test_pitfall_12_and_16_at_rest() -> None:
    """A rebalance that ended leaves no row: mode and dropped paths have to be at rest too."""
    assert at_rest(SPACE, Rebalance())
    assert not at_rest(SPACE, Rebalance(running=True))
    assert not at_rest(space(mode="FWD_REBAL"), Rebalance())
    assert not at_rest(space(paths_dropped=True), Rebalance())


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
    assert is_done(Phase("S", "T", Homes("", "", ""), operation), protocol_of([("STATUS", status)])) is done


@pytest.mark.parametrize(
    ("status", "is_open"),
    [("", False), ("COPY", True), ("CANCEL", True), ("COMPLETE", False), ("COMPLETE_WITH_WARNINGS", False)],
)
def test_pitfall_21_complete_has_a_sister(status: str, is_open: bool) -> None:
    """A move that ended with warnings has ended."""
    assert protocol_of([("STATUS", status)]).open is is_open


def test_versions_are_packed() -> None:
    """VVRRMMFF."""
    assert unpacked(12010400) == (12, 1, 4, 0)
    assert unpacked(10050900) == (10, 5, 9, 0)
