"""The `connection:` part of a simulated database."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from connectors.simulated.server.faults import Fault

MOST_UNITS = 1_000_000


class SimulatedSettings(BaseModel):
    """Which world, at which speed, with which faults.

    Connections made in one process with equal settings (``may_move`` aside) and the same clock see one world. With
    ``state`` so do different processes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    scenario: Literal["oltp", "synthetic", "eight_tables"] = "oltp"
    seed: int = Field(default=1, ge=0)
    units: int = Field(default=1000, ge=1, le=MOST_UNITS)  # of the synthetic scenario
    state: Path | None = None  # JSON file; None: the world lives and dies with the process
    speed: float = Field(default=1.0, gt=0.0, le=1e6)  # virtual seconds per second of the clock
    may_move: bool = True  # whether this login has the right to move anything
    faults: tuple[Fault, ...] = ()

    @field_validator("state")
    @classmethod
    def _beside_the_configuration(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        """A relative path is meant from the folder of the configuration, wherever hotplace is started."""
        folder = (info.context or {}).get("folder")
        return path if path is None or folder is None else Path(folder) / path.expanduser()


SAMPLE_SETTINGS = """\
scenario: oltp      # oltp, synthetic (as many `units` as you like, Zipf heat) or eight_tables
seed: 1             # the same seed gives the same world
# units: 1000       # synthetic only, up to 1000000
state: simulated-world.json   # without it the world is forgotten at the end of each command
# speed: 1          # virtual seconds per second; rates are per second of your clock, so more looks busier
# faults:           # what shall go wrong, e.g. a lost sample and a lock that is not obtained
#   - {kind: lost_sample, probability: 0.05}
#   - {kind: lock_not_obtained, at: [1]}
"""
