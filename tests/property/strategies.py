"""Situations of every kind, for the property tests of the policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from hypothesis import strategies as st

from policies.model.plan import Situation
from policies.model.settings import Pin, PolicySettings
from tests.unit.policies.situations import BARE, HDD, MIB, NVME, SSD, Site, Unit

TWO = (("ssd", SSD, ("fast",)), ("hdd", HDD, ("slow",)))
FOUR_SPACES = (("ssd", SSD, ("fast", "fast2")), ("hdd", HDD, ("slow", "slow2")))
THREE = (("nvme", NVME, ("fast",)), ("ssd", SSD, ("middle",)), ("hdd", HDD, ("slow",)))

RATES = st.sampled_from([0.0, 0.01, 0.1, 1.0, 10.0]) | st.floats(0.01, 200.0)
SIZES = st.sampled_from([1, 2, 8, 8, 24, 64]) | st.integers(1, 80)
ROOMS = st.sampled_from([0, 8, 40, 64, 10**6, None])  # MiB
PINS, WAYS = st.sampled_from(Pin), st.sampled_from([0, 1, 2])
ODD = ("prefetched", "writes", "logical", "pin", "cooling", "young", "together", "wide")
# What is odd about a unit, each thing by a chance of one in six. One choice: a choice for each thing took most of the
# time of most property tests.
ODDITIES = st.sampled_from(
    [frozenset(odd) for few in range(len(ODD) + 1) for odd in combinations(ODD, few) for _ in range(600 // 5**few or 1)]
)


@dataclass(frozen=True)
class Case:
    """Units and where they live, so that a test may shuffle or scale them before it asks for the situation."""

    site: Site
    units: tuple[Unit, ...]
    settings: PolicySettings

    def situation(self) -> Situation:
        """The situation."""
        return self.site.situation(self.units)


@st.composite
def units_in(draw: st.DrawFn, spaces: list[str], at_most: int, *, guards: bool) -> tuple[Unit, ...]:
    """Units spread over spaces; with guards also pins, cool-downs, short history, decoys and bundles."""
    homes = st.sampled_from(spaces)
    units = [
        Unit(key=f"u{at}", size=draw(SIZES) * MIB, sync=draw(RATES), space=draw(homes))
        for at in range(draw(st.integers(0, at_most)))
    ]
    return tuple(_guarded(draw, unit, at) for at, unit in enumerate(units)) if guards else tuple(units)


def _guarded(draw: st.DrawFn, unit: Unit, at: int) -> Unit:
    """Units of one bundle must share a space, so a bundle is formed by number and space."""
    odd = draw(ODDITIES)
    return replace(
        unit,
        prefetched=draw(RATES) if "prefetched" in odd else 0.0,
        writes=draw(RATES) if "writes" in odd else 0.0,
        logical=1e4 if "logical" in odd else None,
        pin=draw(PINS) if "pin" in odd else Pin.NONE,
        cooling=60.0 if "cooling" in odd else 0.0,
        observed=60.0 if "young" in odd else 1e6,
        bundle=sum(unit.space.encode()) if "together" in odd else 10**6 + at,
        wide=("", f"half of {unit.space}", unit.space)[draw(WAYS)] if "wide" in odd else "",
    )


@st.composite
def cases(draw: st.DrawFn, at_most: int = 14) -> Case:
    """Any situation with any guards."""
    tiers = draw(st.sampled_from([TWO, FOUR_SPACES, THREE]))
    spaces = [space for _, _, names in tiers for space in names]
    units = draw(units_in([*spaces, "unmanaged"], at_most, guards=True))
    room = {space: draw(ROOMS) for space in [*spaces, "unmanaged"]}
    settings = PolicySettings(
        maximum_moves=draw(st.sampled_from([1, 2, 4, 50])),
        head_room_ratio=draw(st.sampled_from([0.0, 0.125])),
        resident_bonus=draw(st.sampled_from([1.0, 1.5])),
        minimum_wait_saved_per_hour=draw(st.sampled_from([0.0, 1.0, 100.0])),
    )
    blocked = draw(st.sets(st.sampled_from([unit.key for unit in units]), max_size=2)) if units else set()
    site = Site(
        room={space: None if free is None else free * MIB for space, free in room.items()},
        tiers=tiers,
        no_route=dict.fromkeys(sorted(blocked), "it is locked"),
    )
    return Case(site, units, settings)


@st.composite
def bare_cases(draw: st.DrawFn, at_most: int = 10) -> Case:
    """Two tiers, room below for everything, no guard but capacity: what brute force can judge."""
    units = draw(units_in(["fast", "slow"], at_most, guards=False))
    return Case(Site(room={"fast": draw(st.integers(0, 200)) * MIB, "slow": 10**15}, tiers=TWO), units, BARE)
