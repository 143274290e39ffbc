"""One place prices a wait: each weight moves plan, explanation, advice, sizing, waits of tiers and assessment alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agent.studies.assessment import assess
from connectors.kit.assessment import Observation
from connectors.model.moves import UnitKind
from connectors.model.observation import Catalog, DatabaseDemand, Demand
from policies.evidence import prices
from policies.evidence.prices import HOUR, Prices, present_waits
from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from policies.placement.advice import cached_wait
from policies.placement.balancer import make_plan
from policies.placement.sizing import sizing
from policies.placement.verdicts import figures_of
from tests.unit.policies.situations import BARE, GIB, HDD, NOON, SSD, Site, Unit

UNITS = (
    Unit(key="look-ups", sync=50.0), Unit(key="scans", prefetched=4000.0), Unit(key="written", writes=900.0),
    Unit(key="logged", log_writes=20.0), Unit(key="documents", sync=40.0, kind=UnitKind.LOB),
)  # fmt: skip
Case = tuple[Situation, PolicySettings]


def site(**changes: Any) -> Situation:
    """All units on a disk with these times."""
    tiers = (("ssd", SSD, ("fast",)), ("hdd", replace(HDD, **changes), ("slow",)))
    return Site(room={"fast": GIB, "slow": 10**15}, tiers=tiers).situation(UNITS)


CHANGES: dict[str, Callable[[], Case]] = {
    "random reads": lambda: (site(random_read_seconds=0.011), BARE),
    "sequential reads": lambda: (site(sequential_read_seconds=0.0001), BARE),
    "writes": lambda: (site(write_seconds=0.01), BARE),
    "share of read-ahead": lambda: (site(), replace(BARE, prefetched_wait_share=0.5)),
    "share of writes": lambda: (site(), replace(BARE, write_wait_share=0.2)),
}


def exported(situation: Situation) -> Observation:
    """The same units as files without a connection tell of them: no read time, no measured wait."""
    units, count = situation.units, len(UNITS)
    return Observation(
        engine="postgresql", database="APP", source="two exports",
        catalog=Catalog(taken_at=NOON, spaces=situation.spaces, units=units),
        demand=Demand(
            ended_at=NOON, seconds=HOUR, physical_id=units.physical_id, rates=situation.heat.rates,
            observed=np.ones(count, dtype=np.bool_), estimated=frozenset(), database=DatabaseDemand(),
        ),
        size_known=np.ones(count, dtype=np.bool_), least=np.ones(count), most=np.ones(count),
    )  # fmt: skip


def told(situation: Situation, settings: PolicySettings) -> dict[str, float]:
    """What each surface says that sessions wait for all units where they are, seconds per hour."""
    plan = make_plan(situation, settings)
    fast_speed, slow_speed = (tier.speed for tier in situation.tiers)
    fast = Prices.of(situation, settings).per_hour(situation.heat.rates)[0].sum()
    return {
        "plan": plan.wait_per_hour,
        "explain": sum(figures_of(situation, plan, row, settings).wait_now_per_hour for row in range(len(UNITS))),
        "advice": cached_wait(situation, settings, 10 * GIB),
        "sizing": sizing(situation, settings).all_fast_per_hour + fast,
        "tiers": present_waits(situation, settings).sum() * HOUR,
        "assess": assess(exported(situation), fast_speed, slow_speed, settings).wait_per_hour,
    }


@pytest.mark.parametrize("change", CHANGES)
def test_a_weight_moves_every_surface(change: str) -> None:
    """By the same seconds: as ``Prices`` says."""
    before = told(site(), BARE)
    situation, settings = CHANGES[change]()
    after = told(situation, settings)
    expected = Prices.of(situation, settings).per_hour(situation.heat.rates)[1].sum()
    assert after == pytest.approx(dict.fromkeys(after, expected), abs=1e-4)
    assert after["plan"] - before["plan"] > 1.0


def test_pages_of_a_kind_that_count_half_do_so_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what LOBs cost is gone from every surface."""
    before = told(site(), BARE)
    monkeypatch.setattr(prices, "SHARES", {UnitKind.LOB: 0.5})
    after = told(site(), BARE)
    half = 40.0 * HDD.random_read_seconds * HOUR / 2
    assert {name: before[name] - after[name] for name in before} == pytest.approx(dict.fromkeys(before, half), abs=1e-4)


def test_a_units_price_depends_on_no_neighbour() -> None:
    """To the last digit, alone and among others."""
    situation = site()
    price = Prices.of(situation, BARE)
    together = price.per_hour(situation.heat.rates)
    for row in range(len(UNITS)):
        rows = np.array([row])
        assert np.array_equal(price.per_hour(situation.heat.rates[:, rows], rows)[:, 0], together[:, row])
