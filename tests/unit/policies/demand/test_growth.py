"""How fast units grow, and the room that plans leave for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model import UnitTable
from policies.demand.growth import (
    KEPT_SECONDS,
    MOST_RATIO,
    bytes_per_second,
    expected_growth,
    remember_sizes,
    with_growth,
)
from policies.placement.balancer import make_plan
from policies.storage.capacity import room_bytes
from tests.unit.policies.situations import BARE, MIB, Site, Unit

HOUR = 3600.0


def catalog(**sizes: int) -> UnitTable:
    """Units of those sizes in MiB, by their keys in order."""
    return Site().situation([Unit(key=key, size=size * MIB) for key, size in sizes.items()]).units


def test_growth_is_seen_between_two_catalogs() -> None:
    """What grew, what shrank and what is new; within ten minutes nothing is said."""
    before = remember_sizes(None, catalog(a=10, b=10), 0.0)
    now = catalog(a=14, b=8, c=50)
    assert bytes_per_second(before, now, 60.0).tolist() == [0.0, 0.0, 0.0]
    assert bytes_per_second(before, now, HOUR).tolist() == [pytest.approx(4 * MIB / HOUR), 0.0, 0.0]


def test_the_older_catalog_is_half_a_day_old_or_more() -> None:
    """The newer takes its place after twelve hours, so growth that has ended is forgotten within a day."""
    sizes = remember_sizes(None, catalog(a=10), 0.0)
    sizes = remember_sizes(sizes, catalog(a=20), KEPT_SECONDS - 1)
    assert sizes.newer.at == 0.0
    sizes = remember_sizes(sizes, catalog(a=20), KEPT_SECONDS)
    assert bytes_per_second(sizes, catalog(a=20), KEPT_SECONDS + HOUR).tolist() > [0.0]
    sizes = remember_sizes(sizes, catalog(a=20), 2 * KEPT_SECONDS)
    assert bytes_per_second(sizes, catalog(a=20), 2 * KEPT_SECONDS + HOUR).tolist() == [0.0]


def test_expected_growth_is_bounded() -> None:
    """No more is left free than a move tolerates."""
    units = catalog(a=10, b=10)
    grown = expected_growth(np.array([1.0, 1e9]), units, 100.0)
    assert grown.tolist() == [100, int(MOST_RATIO * 10 * MIB)]


def test_a_space_is_less_free_and_not_more_used() -> None:
    """What is in it now is what is shown; a space of unknown room stays one."""
    situation = Site(room={"fast": 10 * MIB, "slow": None}).situation([
        Unit(key="a", size=10 * MIB, space="fast"), Unit(key="b", size=10 * MIB),
    ])  # fmt: skip
    fast, slow = with_growth(situation.spaces, situation.units, np.array([MIB, MIB]))
    assert (fast.used_bytes, room_bytes(fast, 0.0)) == (10 * MIB, 9 * MIB)
    assert room_bytes(slow, 0.0) is None
    assert slow == situation.spaces[1]


@pytest.mark.parametrize(("growth", "moved"), [(0, True), (1, True), (2, False)])
def test_a_plan_leaves_room_for_growth(growth: int, moved: bool) -> None:
    """Both what comes and what is there grow: 8 MiB come into 10 MiB that a resident shares."""
    site = Site(room={"fast": 10 * MIB, "slow": 10**15})
    units = [Unit(key="hot", size=8 * MIB, sync=50.0), Unit(key="there", size=8 * MIB, sync=60.0, space="fast")]
    situation = site.situation(units)
    grown = np.full(2, growth * MIB, dtype=np.int64)
    situation = replace(situation, growth=grown, spaces=with_growth(situation.spaces, situation.units, grown))
    plan = make_plan(situation, BARE)
    assert [move.key for move in plan.moves] == (["hot"] if moved else [])
    assert [move.size_bytes for move in plan.moves] == ([8 * MIB] if moved else [])
