"""Spaces before and after plans, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from policies.model.plan import Situation
from policies.model.settings import PolicySettings, TierSpeed
from policies.placement.dispatch import Capacity, Drain, Usage, plan_mode, spaces_after
from tests.unit.policies.situations import HDD, MIB, SSD, Site, Unit

SETTINGS = PolicySettings(head_room_ratio=0.0)


def site(**room: int | None) -> Site:
    """Spaces with that many bytes free; those named ``fast`` are ssd, ``other`` is not managed."""
    slow = tuple(name for name in room if name.startswith("slow"))
    return Site(room=room, tiers=(("ssd", SSD, ("fast",)), ("hdd", HDD, slow)))


def test_a_drain_to_the_slower_tier() -> None:
    """The unit's bytes and reads go along; its read time grows to that of hdd. The fastest tier is listed first."""
    situation = site(slow=90 * MIB, other=0, fast=0).situation(
        [Unit(key="u", size=10 * MIB, space="fast", sync=10.0, prefetched=100.0), Unit(key="v", size=10 * MIB)]
    )
    found = spaces_after(situation, plan_mode(situation, SETTINGS, Drain(space="fast")))
    assert (found.space, found.tier) == (("fast", "slow"), ("ssd", "hdd"))
    assert found.before.used_bytes.tolist() == [10 * MIB, 10 * MIB]
    assert found.after.used_bytes.tolist() == [0, 20 * MIB]
    assert found.before.fill_ratio.tolist() == [1.0, 0.1]
    assert found.after.fill_ratio.tolist() == [0.0, 0.2]
    assert found.before.reads_per_second.tolist() == [110.0, 0.0]
    assert found.after.reads_per_second.tolist() == [0.0, 110.0]
    assert found.before.read_seconds_per_second.tolist() == pytest.approx([0.004, 0.0])
    assert found.after.read_seconds_per_second.tolist() == pytest.approx([0.0, 0.06])


def test_all_units_of_a_bundle_go() -> None:
    """Two units that move as one are both counted where they go."""
    situation = site(fast=0, slow=90 * MIB).situation(
        [Unit(key=key, size=MIB, space="fast", sync=5.0, bundle=7) for key in ("table", "index")]
    )
    found = spaces_after(situation, plan_mode(situation, SETTINGS, Drain(space="fast")))
    assert found.after.used_bytes.tolist() == [0, 2 * MIB]
    assert found.after.reads_per_second.tolist() == [0.0, 10.0]


def test_an_unknown_capacity_has_no_fill() -> None:
    """Bytes are known all the same."""
    situation = site(fast=None, slow=0).situation([Unit(key="u", space="fast")])
    found = spaces_after(situation, plan_mode(situation, SETTINGS, Usage()))
    assert np.isnan(found.before.fill_ratio[0])
    assert np.isnan(found.before.fill_ratio[1]), "a capacity of 0 has no share either"
    assert found.after.used_bytes.tolist() == [MIB, 0]


def test_what_others_use_counts_as_filled() -> None:
    """Of 100 MiB 20 are the database's and 50 are free: 50 % is filled, as mode capacity sees it."""
    situation = _with_free(site(fast=80 * MIB, slow=0).situation([Unit(key="u", size=20 * MIB, space="fast")]), 50)
    found = spaces_after(situation, plan_mode(situation, SETTINGS, Capacity()))
    assert found.before.used_bytes[0] == 20 * MIB
    assert found.before.fill_ratio[0] == 0.5


def _with_free(situation: Situation, mib: int) -> Situation:
    first, *others = situation.spaces
    return replace(situation, spaces=(replace(first, free_bytes=mib * MIB), *others))


@pytest.mark.parametrize("tiers", [(), (("hdd", HDD, ("slow",)),)], ids=["no tier", "one"])
def test_nothing_to_count(tiers: tuple[tuple[str, TierSpeed, tuple[str, ...]], ...]) -> None:
    """Without tiers no space is listed, without units an empty one."""
    situation = replace(site(slow=MIB), tiers=tiers).situation([])
    found = spaces_after(situation, plan_mode(situation, SETTINGS, Usage()))
    assert len(found) == len(tiers)
    assert found.after.used_bytes.tolist() == [0] * len(tiers)
