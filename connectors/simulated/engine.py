"""How the registry finds the simulated engine."""

from __future__ import annotations

from connectors.kit.contract import Clock, Connector
from connectors.kit.registry import Engine, Inheritance
from connectors.simulated.settings import SAMPLE_SETTINGS, SimulatedSettings


def connect(settings: SimulatedSettings, clock: Clock) -> Connector:
    """A connector to a simulated database; the world is imported with it."""
    from connectors.simulated import connector

    return connector.connect(settings, clock)


ENGINE = Engine(
    name="simulated",
    title="Simulation",
    settings=SimulatedSettings,
    connect=connect,
    sample_settings=SAMPLE_SETTINGS,
    inheritance=Inheritance(
        place=(("scenario", "seed", "units", "state", "speed", "faults"),),  # which world
        own=("may_move",),
    ),
    sample_spaces=("ssd", "hdd"),
)
