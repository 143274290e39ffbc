"""The same seed replays a run exactly."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from connectors.kit.contract import TimedOut
from connectors.model.observation import Sample
from connectors.simulated.connector import SimulatedConnector, connect
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import shared_world
from tests.simulated.worlds import make
from tests.virtual_clock import VirtualClock

CHANCE = {"kind": "lost_sample", "probability": 0.3}


def _run(**settings: Any) -> list[Sample | None]:
    """Twenty samples, a minute apart; None where one was lost."""
    _, connector, clock = make(**settings)
    taken: list[Sample | None] = []
    for _ in range(20):
        clock.sleep(60.0)
        try:
            taken.append(connector.sample())
        except TimedOut:
            taken.append(None)
    return taken


def _equal(one: Sample | None, other: Sample | None) -> bool:
    if one is None or other is None:
        return one is other
    same_columns = all(np.array_equal(one.counters[name], other.counters[name]) for name in one.counters)
    plain = (one.taken_at, one.monotonic_seconds, one.epoch, one.database, one.server_seconds)
    return (
        same_columns
        and np.array_equal(one.physical_id, other.physical_id)
        and plain == (other.taken_at, other.monotonic_seconds, other.epoch, other.database, other.server_seconds)
    )


@pytest.mark.parametrize("scenario", ["oltp", "synthetic", "eight_tables"])
def test_same_seed_same_samples(scenario: str) -> None:
    """Two runs of one seed agree to the last bit, faults included."""
    one, other = (_run(scenario=scenario, seed=7, units=500, faults=(CHANCE,)) for _ in range(2))
    assert any(sample is None for sample in one)
    assert all(_equal(a, b) for a, b in zip(one, other, strict=True))


def test_another_seed_is_another_world() -> None:
    """Sizes and heat of the synthetic scenario come from the seed."""
    (one, *_), (other, *_) = _run(scenario="synthetic", seed=1), _run(scenario="synthetic", seed=2)
    assert not _equal(one, other)


def test_how_often_one_looks_does_not_matter() -> None:
    """Counters depend on the time that has passed, not on the number of samples."""
    _, often, clock = make()
    for _ in range(60):
        clock.sleep(1.0)
        often.sample()
    _, once, other_clock = make()
    other_clock.sleep(60.0)
    a, b = often.sample(), once.sample()
    assert all(int(np.abs(a.counters[name] - b.counters[name]).max()) <= 1 for name in a.counters)


def test_a_world_outlives_its_connections_and_not_its_clock() -> None:
    """Closing every connection forgets nothing; when the clock goes, so does the world."""
    clock = VirtualClock()
    connect(SimulatedSettings(), clock).open_mover().run('MOVE INDEX "shop"."orders_pkey" TO SPACE "ssd"')
    gc.collect()
    again = connect(SimulatedSettings(), clock)
    assert (
        again.catalog().spaces[1].used_bytes
        > connect(SimulatedSettings(), VirtualClock()).catalog().spaces[1].used_bytes
    )
    world = weakref.ref(shared_world(SimulatedSettings(), clock))
    del again, clock
    gc.collect()
    assert world() is None


def test_equal_settings_and_one_clock_share_a_world() -> None:
    """The reading and the moving connection of an agent see one world; another clock is another world."""
    clock = VirtualClock()
    reading = connect(SimulatedSettings(may_move=False), clock)
    moving = connect(SimulatedSettings(), clock)
    elsewhere = connect(SimulatedSettings(), VirtualClock())
    with moving.open_mover() as mover:
        mover.run('MOVE INDEX "shop"."orders_pkey" TO SPACE "ssd"')

    def on_ssd(connector: SimulatedConnector) -> bool:
        units = connector.catalog().units
        return int(units.space[list(units.key).index('"shop"."orders_pkey"')]) == 1

    assert [on_ssd(reading), on_ssd(elsewhere)] == [True, False]
