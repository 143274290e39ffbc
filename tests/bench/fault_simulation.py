"""How many simulated runs among faults break a promise, and how fast they are.

``HOTPLACE_SEEDS`` names a file that ``make fault-simulation ARGS="--seeds 10000 --records FILE"`` has kept: then the
figures are those of the runs in it, and none is made again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.bench.measurement import Measurement
from tests.fault_simulation.records import figures, load, record_seed

KEPT_IN = "HOTPLACE_SEEDS"
COMMAND = "python -m tests.bench fault_simulation"
SEEDS, QUICK_SEEDS = 1000, 20


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Seeds, violations of the promises, simulated hours a second."""
    kept = os.environ.get(KEPT_IN)
    if kept and not quick:
        return rows(figures(load(Path(kept)).values()), f"{KEPT_IN}={Path(kept).name} {COMMAND}")
    return rows(figures(map(record_seed, range(QUICK_SEEDS if quick else SEEDS))))


def rows(found: dict[str, Any], command: str = COMMAND) -> list[Measurement]:
    """The lines of the results; of a promise that was broken the commands that repeat it."""
    note = f"{found['hours']:.0f} hours, {found['faults']} faults and acts of people"
    return [
        Measurement(name="simulation.seeds", value=found["seeds"], unit="runs", better="higher", command=command,
                    note=note),
        Measurement(name="simulation.violations", value=found["violations"], unit="of the promises", better="lower",
                    command=command, note="; ".join(found["repeat"]) or note),
        Measurement(name="simulation.hours_per_second", value=found["hours_per_second"], unit="h/s", better="higher",
                    command=command, note="simulated hours by a second of one processor core"),
    ]  # fmt: skip
