"""How long copies take, against cases worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from connectors.model.moves import Bundle, CopyHabits, Locked, Route, Step, Transfer, UnitKind
from connectors.model.observation import DatabaseDemand
from policies.evidence.costs import (
    STATEMENT_SECONDS,
    Device,
    around_seconds,
    devices_of,
    factor_of,
    route_seconds,
    touches_per_second,
    transfer_seconds,
    usual_seconds,
)
from policies.model.plan import Situation
from policies.model.settings import CopyFactor, PolicySettings
from tests.unit.policies.situations import HDD, MIB, SSD, Site, Unit

SETTINGS = PolicySettings(copy_bytes_per_second=100 * MIB)  # 10 ms of the server's own for each MiB
QUEUED = replace(
    HDD, random_read_seconds=0.044, sequential_read_seconds=0.0004, idle_read_seconds=0.0055
)  # eight there
RUN = 128 * 0.00005  # seconds of an idle hdd for a MiB in a run
TURN = 0.044 + 0.0055  # everybody else's, then the head brought back


def route(*copies: Transfer, locked: Locked = Locked.NOTHING, drains: int = 0, size: int = 10 * MIB) -> Route:
    """A route of one statement from slow to fast."""
    bundle = Bundle(key="t", physical_ids=(1000,), unit_keys=("t",), kind=UnitKind.TABLE, size_bytes=size, space="slow")
    return Route(
        name="copy", bundle=bundle, to_space="fast", prologue=(), steps=(Step(sql="COPY", purpose="copies"),),
        undo_steps=(), online=locked is Locked.NOTHING, locks="", log_bytes=0, transient_bytes=0, locked=locked,
        drains=drains, copies=copies,
    )  # fmt: skip


def site(*units: Unit, active: float = 8.0) -> Situation:
    """Units on the hdd that eight sessions wait for."""
    tiers = (("ssd", SSD, ("fast",)), ("hdd", QUEUED, ("slow",)))
    return Site(tiers=tiers, database=DatabaseDemand(active=active, transactions=160.0)).situation(units)


BUSY = site(Unit(key="t", size=10 * MIB), Unit(key="hot", sync=8 / 0.044))


def test_as_many_wait_as_littles_law_says() -> None:
    """182 reads a second of 44 ms each are eight sessions at the hdd and none at the ssd; no more than are at work."""
    assert [device.waiting for device in devices_of(BUSY, SETTINGS)] == pytest.approx([0.0, 8.0])
    few = replace(BUSY, database=DatabaseDemand(active=2.0))
    assert [device.waiting for device in devices_of(few, SETTINGS)] == pytest.approx([0.0, 2.0])


def test_a_run_on_an_idle_device_takes_its_bytes() -> None:
    """10 MiB: the device's time in a run without its queue, and the server's share of the work, either way."""
    idle = Device(QUEUED, waiting=0.0)
    read, write = (Transfer(space="slow", bytes=10 * MIB, written=written) for written in (False, True))
    assert transfer_seconds(read, idle, SETTINGS) == pytest.approx(10 * RUN + 0.05)
    assert transfer_seconds(write, idle, SETTINGS) == pytest.approx(10 * RUN + 0.05)
    assert transfer_seconds(replace(read, work_ratio=2.0), None, SETTINGS) == pytest.approx(0.2)


def test_among_others_each_stretch_waits_its_turn() -> None:
    """11 stretches of a MiB, the first to get there; four times as many of a quarter. Writes do not wait."""
    busy = Device(QUEUED, waiting=8.0)
    read = Transfer(space="slow", bytes=10 * MIB)
    assert transfer_seconds(read, busy, SETTINGS) == pytest.approx(10 * RUN + 0.05 + 11 * TURN)
    short = Device(replace(QUEUED, read_ahead_bytes=MIB // 4), waiting=8.0)
    assert transfer_seconds(read, short, SETTINGS) == pytest.approx(10 * RUN + 0.05 + 41 * TURN)
    for alone in (replace(read, whole=True), replace(read, written=True)):
        assert transfer_seconds(alone, busy, SETTINGS) == pytest.approx(10 * RUN + 0.05)


def test_a_route_without_transfers_copies_its_bundle_once() -> None:
    """Read where it is, written where it goes."""
    read, write = route_seconds(route(), [0], BUSY, SETTINGS)
    assert read == pytest.approx(10 * RUN + 0.05 + 11 * TURN)
    assert write == pytest.approx(10 * 128 * 0.00002 + 0.05)


def test_a_build_reads_its_table_as_often_as_it_says_and_where_it_will_be() -> None:
    """Twice 10 MiB on the hdd; once the table has gone to the ssd before it, neither queue nor head costs anything."""
    heap = Transfer(space="slow", bytes=10 * MIB, unit="t")
    build = route(heap, Transfer(space="fast", bytes=MIB, written=True), heap, size=MIB)
    first, written, second = route_seconds(build, [0], BUSY, SETTINGS)
    assert first == second == pytest.approx(10 * RUN + 0.05 + 11 * TURN)
    assert written == pytest.approx(128 * 0.00002 + 0.005)
    later = route_seconds(build, [0], BUSY, SETTINGS, brought={"t": "fast"})
    assert later[0] == later[2] == pytest.approx(10 * 128 * 0.00002 + 0.05)


def test_who_is_locked_out_leaves_the_device_to_the_copy() -> None:
    """Each of eight sessions touches the table 25 times a second: nine log 9 / 25ths later the copy runs alone."""
    hot = site(Unit(key="t", size=10 * MIB, sync=8 / 0.044, logical=800.0))
    assert touches_per_second(np.array([0]), hot) == pytest.approx(25.0)
    online = sum(route_seconds(route(), [0], hot, SETTINGS))
    locked = sum(route_seconds(route(locked=Locked.ALL), [0], hot, SETTINGS))
    alone = 10 * RUN + 0.05 + 10 * 128 * 0.00002 + 0.05
    assert online == pytest.approx(alone + 11 * TURN)
    assert locked == pytest.approx(alone + np.log(9.0) / 25.0)


def test_a_lock_on_a_table_or_an_index_stops_who_uses_either() -> None:
    """Queries plan over all indexes of a table, so a lock on one of them stops those who read the table by another."""
    units = (
        Unit(key="t", logical=400.0, sync=1.0),
        Unit(key="t_a", logical=200.0, sync=1.0, parent=1000, kind=UnitKind.INDEX),
        Unit(key="t_b", logical=200.0, sync=1.0, parent=1000, kind=UnitKind.INDEX),
        Unit(key="other", logical=9e9, sync=1.0),
    )
    for row in range(3):
        assert touches_per_second(np.array([row]), site(*units)) == pytest.approx(25.0)


def test_a_lock_that_nobody_touches_changes_nothing() -> None:
    """The others go on reading, and the copy among them."""
    assert route_seconds(route(locked=Locked.ALL), [0], BUSY, SETTINGS) == route_seconds(route(), [0], BUSY, SETTINGS)


def test_what_waits_for_transactions_waits_as_long_as_one_lasts() -> None:
    """Eight at work and 160 done a second: 50 ms each, three times. Where they are not counted, none is known."""
    assert around_seconds(route(drains=3), [0], BUSY) == pytest.approx(STATEMENT_SECONDS + 0.15)
    uncounted = replace(BUSY, database=DatabaseDemand())
    assert around_seconds(route(drains=3), [0], uncounted) == STATEMENT_SECONDS


@pytest.mark.parametrize(
    ("ages", "oldest", "active", "every", "one"),
    [
        (0.0, math.nan, 8.0, 0.0, 0.0),  # nothing was open when it was looked at
        (300.0, math.nan, 8.0, 300.0, 300.0 / 8),  # a report among short ones: what waits for all waits for the report
        (24.0, 8.2, 8.0, 8.2, 3.0),  # eight alike: not for one after the other, but for the last
        (0.04, 0.04, 0.1, 0.04, 0.04),  # one time in ten one is there
    ],
)
def test_ages_of_transactions_that_were_seen_are_what_is_waited_for(
    ages: float, oldest: float, active: float, every: float, one: float
) -> None:
    """A transaction that is found half over lasts as long again, whatever the mean of all of them."""
    units = (Unit(key="t", size=10 * MIB, logical=9e9),)
    seen = site(*units)
    seen = replace(seen, database=replace(seen.database, open_ages=ages, oldest_open=oldest, active=active))
    taken = around_seconds(replace(route(drains=1), drains_users=4), [0], seen)
    touched = min(1.0, 9e9 * active / seen.database.transactions)
    assert taken == pytest.approx(STATEMENT_SECONDS + every + 4 * touched * one)


@pytest.mark.parametrize(("logical", "waits"), [(0.0, 0.0), (8.0, 0.1), (9e9, 1.0)])
def test_what_waits_for_users_waits_as_far_as_there_are_some(logical: float, waits: float) -> None:
    """Two look-ups a second of 50 ms each: one time in ten one is there; not for those of other tables."""
    units = (Unit(key="t", size=10 * MIB, logical=logical), Unit(key="other", logical=9e9))
    taken = around_seconds(replace(route(drains=1), drains_users=4), [0], site(*units))
    assert taken == pytest.approx(STATEMENT_SECONDS + 0.05 * (1 + 4 * waits))


def test_units_are_planned_with_what_their_routes_will_say() -> None:
    """A table read and written once; an index with its table read twice where the engine builds it, else itself."""
    units = (
        Unit(key="t", size=10 * MIB, sync=8 / 0.044),
        Unit(key="i", size=MIB, parent=1000, kind=UnitKind.INDEX),
    )
    situation = site(*units)
    table, index = usual_seconds(situation, SETTINGS, CopyHabits(index_reads_table=2))
    heap = 10 * RUN + 11 * TURN
    assert table == pytest.approx(heap + 10 * 128 * 0.00002 + 0.1 + STATEMENT_SECONDS)
    assert index == pytest.approx(2 * heap + 128 * 0.00002 + 0.01 + STATEMENT_SECONDS)
    assert usual_seconds(situation, SETTINGS, CopyHabits())[1] == pytest.approx(
        RUN + 2 * TURN + 128 * 0.00002 + 0.01 + STATEMENT_SECONDS
    )


def test_a_kind_that_nobody_has_seen_takes_as_long_as_all_do() -> None:
    """The factor of its own, else that of all, else none."""
    own = CopyFactor(route="copy", from_tier="hdd", to_tier="ssd", factor=3.0)
    overall = CopyFactor(route="", from_tier="", to_tier="", factor=2.0)
    assert factor_of((overall, own), ("copy", "hdd", "ssd")) == 3.0
    assert factor_of((overall, own), ("copy", "ssd", "hdd")) == 2.0
    assert factor_of((), ("copy", "hdd", "ssd")) == 1.0
    doubled = replace(SETTINGS, copy_factors=(overall,))
    assert usual_seconds(BUSY, doubled, CopyHabits()) == pytest.approx(2 * usual_seconds(BUSY, SETTINGS, CopyHabits()))
