"""How many simulated runs among faults break a promise, and how fast they are: ``make fault-simulation`` for more."""

from __future__ import annotations

import time

from tests.bench.measurement import Measurement
from tests.fault_simulation.__main__ import run_seed

COMMAND = "python -m tests.bench fault_simulation"
SEEDS, QUICK_SEEDS = 1000, 20


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Seeds, violations of the promises, simulated hours a second."""
    seeds, started = QUICK_SEEDS if quick else SEEDS, time.perf_counter()
    reports = [run_seed(seed) for seed in range(seeds)]
    seconds, hours = time.perf_counter() - started, sum(report.hours for report in reports)
    faults = sum(sum(report.struck.values()) for report in reports)
    violations = sum(len(report.violations) for report in reports)
    return rows(seeds, violations, hours / seconds, f"{hours:.0f} hours, {faults} faults and acts of people")


def rows(seeds: int, violations: int, hours_per_second: float, note: str) -> list[Measurement]:
    """The lines of the results."""
    return [
        Measurement(name="simulation.seeds", value=seeds, unit="runs", better="higher", command=COMMAND, note=note),
        Measurement(name="simulation.violations", value=violations, unit="of the promises", better="lower",
                    command=COMMAND, note=note),
        Measurement(name="simulation.hours_per_second", value=hours_per_second, unit="h/s", better="higher",
                    command=COMMAND, note="simulated hours by a second of the wall clock, one process"),
    ]  # fmt: skip
