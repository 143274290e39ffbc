"""How the registry finds the simulated engine."""

from connectors.inheritance import Inheritance
from connectors.registry import Engine
from connectors.simulated.connector import connect
from connectors.simulated.settings import SAMPLE_SETTINGS, SimulatedSettings

ENGINE = Engine(
    name="simulated",
    title="Simulation",
    settings=SimulatedSettings,
    connect=connect,
    sample_settings=SAMPLE_SETTINGS,
    inheritance=Inheritance(place=(("scenario", "seed", "units", "state", "speed", "faults"),)),  # which world
    sample_spaces=("ssd", "hdd"),
)
