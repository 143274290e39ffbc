"""Worlds for the tests, each with a clock of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from connectors.model.moves import Bundle, UnitKind
from connectors.model.observation import I64
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import World
from tests.virtual_clock import VirtualClock


def make(**settings: Any) -> tuple[World, SimulatedConnector, VirtualClock]:
    """A world in memory, a connector to it and its clock."""
    clock = VirtualClock()
    world = World(SimulatedSettings(**settings), clock)
    return world, SimulatedConnector(world), clock


def move(connector: SimulatedConnector, word: str, key: str, space: str = "ssd", *, online: bool = False) -> None:
    """Run one move statement."""
    with connector.open_mover() as mover:
        mover.run(f'MOVE {word} {key} TO SPACE "{space}"{" ONLINE" if online else ""}')


def space_of(world: World, key: str) -> str:
    """Where a unit is."""
    row = world.placement.row(key)
    assert row is not None
    return world.placement.spaces[int(world.placement.units.space[row])].name


def counter(connector: SimulatedConnector, key: str, name: str) -> int:
    """One counter of one unit, by way of a sample."""
    units, sample = connector.catalog().units, connector.sample()
    wanted: I64 = units.physical_id[[list(units.key).index(key)]]
    return int(sample.counters[name][np.isin(sample.physical_id, wanted)].sum())


def single(connector: SimulatedConnector, key: str) -> Bundle:
    """A bundle of one unit."""
    units = connector.catalog().units
    row = list(units.key).index(key)
    return Bundle(
        key=key, physical_ids=(int(units.physical_id[row]),), unit_keys=(key,), kind=UnitKind(units.kind[row]),
        size_bytes=int(units.size_bytes[row]), space="hdd",
    )  # fmt: skip
