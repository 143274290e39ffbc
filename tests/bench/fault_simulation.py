"""How many simulated runs among faults and forgers break a promise, and how fast they are.

``HOTPLACE_SEEDS`` names a file that ``make fault-simulation ARGS="--seeds 10000 --records FILE"`` has kept, and
``HOTPLACE_FORGED_SEEDS`` one of ``ARGS="--forgers --seeds 2000 --records FILE"``: then the figures are those of the
runs in it, and none is made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.measurement import Measurement
from tests.fault_simulation.records import Record, figures, load, record_forged, record_seed

KEPT_IN, FORGED_KEPT_IN = "HOTPLACE_SEEDS", "HOTPLACE_FORGED_SEEDS"
COMMAND = "python -m tests.bench fault_simulation"
SEEDS, FORGED_SEEDS, QUICK_SEEDS = 1000, 2000, 20


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Seeds, violations of the promises, simulated hours a second, forged approvals that had an effect."""
    honest = _runs(KEPT_IN, record_seed, QUICK_SEEDS if quick else SEEDS, quick=quick)
    forged = _runs(FORGED_KEPT_IN, record_forged, QUICK_SEEDS if quick else FORGED_SEEDS, quick=quick)
    return [*rows(*honest), *rows_of_forgers(*forged)]


def _runs(variable: str, record: Callable[[int], Record], seeds: int, *, quick: bool) -> tuple[dict[str, Any], str]:
    """The figures of runs, and the command that makes them."""
    kept = os.environ.get(variable)
    if kept and not quick:
        return figures(load(Path(kept)).values()), f"{variable}={Path(kept).name} {COMMAND}"
    return figures(map(record, range(seeds))), COMMAND


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


def rows_of_forgers(found: dict[str, Any], command: str = COMMAND) -> list[Measurement]:
    """The line of runs in which forgers write approvals: promises that were broken, of how many attempts."""
    note = f"{found['forged']} forged approvals in {found['seeds']} runs; all other promises count too"
    return [
        Measurement(name="simulation.forged_approvals", value=found["violations"], unit="of the promises",
                    better="lower", command=command, note="; ".join(found["repeat"]) or note),
    ]  # fmt: skip
