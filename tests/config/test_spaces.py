"""Configured tiers beside the spaces that a database really has."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.errors import ConfigError
from agent.config.models import DatabaseConfig
from agent.config.tiers import with_capacity
from connectors.model.observation import Catalog, Space, UnitTable
from policies.model.settings import Tier, TierSpeed
from tests.config.yaml_texts import loaded, values, written

GIB = 2**30


def catalog(*spaces: Space) -> Catalog:
    """Spaces without units."""
    none = np.zeros(0, dtype=np.int64)
    units = UnitTable(
        physical_id=none, key=(), kind=none.astype(np.int8), size_bytes=none, space=none.astype(np.int32),
        bundle=none, parent=none,
    )  # fmt: skip
    return Catalog(taken_at=datetime(2026, 1, 1, tzinfo=UTC), spaces=spaces, units=units)


def space(name: str, *, used: int = 0, free: int | None = None, capacity: int | None = None) -> Space:
    """A space by its figures."""
    return Space(name=name, path="", used_bytes=used, free_bytes=free, capacity_bytes=capacity)


def database(**tier: object) -> DatabaseConfig:
    """The small configuration, its first tier changed."""
    plain = values()
    plain["databases"][0]["tiers"][0] |= tier
    return loaded(written(plain)).database()


def test_every_space_gets_its_tier_and_strangers_get_none() -> None:
    """Rows follow the catalog, tiers the configuration, fastest first."""
    storage = database().resolve_spaces(catalog(space("hdd"), space("other"), space("ssd")))
    assert [tier.name for tier in storage.tiers] == ["ssd", "hdd"]
    assert storage.tier_of_space.tolist() == [1, -1, 0]
    assert storage.tier_of_space.dtype == np.int32
    assert [each.name for each in storage.spaces] == ["hdd", "other", "ssd"]


def test_a_space_that_does_not_exist_is_named_with_its_nearest_neighbour() -> None:
    """Every missing space at once, each with its path and the name that was probably meant."""
    with pytest.raises(ConfigError) as refusal:
        database(spaces=["fast_ssd", "ssdd"]).resolve_spaces(catalog(space("ssd"), space("fast_sdd")))
    found = {problem.path: problem.message for problem in refusal.value.problems}
    assert list(found) == [
        "databases.shop.tiers[0].spaces[0]", "databases.shop.tiers[0].spaces[1]", "databases.shop.tiers[1].spaces[0]",
    ]  # fmt: skip
    assert "no space 'fast_ssd'; did you mean 'fast_sdd'?" in found["databases.shop.tiers[0].spaces[0]"]
    assert "there are fast_sdd, ssd" in found["databases.shop.tiers[1].spaces[0]"]


def test_a_place_stands_for_the_spaces_in_it() -> None:
    """A folder or disk group: every space whose path is in it; a name wins over a place, an inner place over others."""
    spaces = ["/data/ssd", "+FAST", "by_name"]
    plain = values()
    plain["databases"][0]["tiers"][0]["spaces"] = spaces
    plain["databases"][0]["tiers"][1]["spaces"] = ["/data", "+SLOW"]
    found = loaded(written(plain)).database().resolve_spaces(
        catalog(
            at("a", "/data/ssd/a.dbf"), at("b", "/data/b.dbf"), at("by_name", "/data/c.dbf"),
            at("d", "/database/d.dbf"), at("e", "+FAST/orcl/e.dbf"), at("f", "+SLOW"), at("g", ""),
        )
    )  # fmt: skip
    assert found.tier_of_space.tolist() == [0, 1, 0, -1, 0, 1, -1]


def test_an_outer_place_may_be_empty_for_now() -> None:
    """Every space in it may live in an inner one: that is no mistake."""
    plain = values()
    plain["databases"][0]["tiers"][0]["spaces"] = ["/data/ssd"]
    plain["databases"][0]["tiers"][1]["spaces"] = ["/data"]
    found = loaded(written(plain)).database().resolve_spaces(catalog(at("a", "/data/ssd/a.dbf")))
    assert found.tier_of_space.tolist() == [0]


def test_a_place_without_a_space_is_missing() -> None:
    """A name of no folder stands for nothing but itself."""
    with pytest.raises(ConfigError, match="no space '/ssd'"):
        database(spaces=["/ssd"]).resolve_spaces(catalog(at("ssd", "/hdd/ssd"), space("hdd")))


def at(name: str, path: str) -> Space:
    """A space by its path."""
    return Space(name=name, path=path, used_bytes=0, free_bytes=None, capacity_bytes=None)


def test_a_configured_capacity_limits_what_the_engine_says() -> None:
    """The smaller capacity counts, and no more is free than it leaves."""
    limited = database(spaces=[{"name": "ssd", "capacity": "10 GiB"}])
    large = space("ssd", used=4 * GIB, free=90 * GIB, capacity=100 * GIB)
    row = limited.resolve_spaces(catalog(large, space("hdd"))).spaces[0]
    assert (row.capacity_bytes, row.free_bytes) == (10 * GIB, 6 * GIB)


@pytest.mark.parametrize(
    ("known", "configured", "capacity", "free"),
    [
        (space("s", used=4), None, None, None),
        (space("s", used=4), 10, 10, 6),
        (space("s", used=4, free=3), 10, 10, 3),
        (space("s", used=4, free=3), None, None, 3),
        (space("s", used=4, free=3, capacity=7), 100, 7, 3),
        (space("s", used=12, free=3, capacity=20), 10, 10, 0),
        (space("s", used=4, capacity=7), None, 7, 3),
    ],
)
def test_unknown_figures_stay_unknown_and_known_ones_bound(
    known: Space, configured: int | None, capacity: int | None, free: int | None
) -> None:
    """Nothing is invented; an overfull space has no room, never a negative one."""
    row = with_capacity(known, configured)
    assert (row.capacity_bytes, row.free_bytes) == (capacity, free)


SIZES = st.none() | st.integers(0, 2**50)


@given(used=st.integers(0, 2**50), free=SIZES, capacity=SIZES, configured=SIZES)
def test_completing_only_ever_takes_room_away(
    used: int, free: int | None, capacity: int | None, configured: int | None
) -> None:
    """However the figures lie, neither capacity nor free room grows, and doing it twice changes nothing."""
    row = with_capacity(space("s", used=used, free=free, capacity=capacity), configured)
    if capacity is not None:
        assert row.capacity_bytes is not None
        assert row.capacity_bytes <= capacity
    if free is not None:
        assert row.free_bytes is not None
        assert 0 <= row.free_bytes <= free
    assert with_capacity(row, configured) == row


def test_the_kind_gives_the_speed_and_given_figures_win() -> None:
    """A tier called ssd is one; a figure in the file stands above its kind."""
    assert database().tiers[0].tier == Tier(
        name="ssd",
        spaces=("ssd",),
        speed=TierSpeed(random_read_seconds=0.0002, sequential_read_seconds=0.000016, write_seconds=0.0001),
    )
    assert database(kind="nvme").tiers[0].speed.random_read_seconds == 0.0001
    changed = database(random_read="0.3ms", write=0).tiers[0].speed
    assert (changed.random_read_seconds, changed.sequential_read_seconds, changed.write_seconds) == (
        0.0003,
        0.000016,
        0,
    )
    free_hand = database(name="flash", random_read="1ms", sequential_read="2us", write="3us").tiers[0].speed
    assert free_hand == TierSpeed(random_read_seconds=0.001, sequential_read_seconds=2e-6, write_seconds=3e-6)
