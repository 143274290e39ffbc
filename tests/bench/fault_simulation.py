"""How many simulated runs among faults break a promise, and how fast they are: ``make fault-simulation`` for more."""

from __future__ import annotations

import time

from tests.bench.measurement import Measurement
from tests.fault_simulation.runs import repeat_command, run_seed
from tests.fault_simulation.site import Report

COMMAND = "python -m tests.bench fault_simulation"
SEEDS, QUICK_SEEDS = 1000, 20


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Seeds, violations of the promises, simulated hours a second."""
    seeds, started = QUICK_SEEDS if quick else SEEDS, time.perf_counter()
    reports = [run_seed(seed) for seed in range(seeds)]
    seconds, hours = time.perf_counter() - started, sum(report.hours for report in reports)
    faults = sum(sum(report.struck.values()) for report in reports)
    note = f"{hours:.0f} hours, {faults} faults and acts of people"
    return rows(seeds, [report for report in reports if report.violations], hours / seconds, note)


def rows(seeds: int, broken: list[Report], hours_per_second: float, note: str) -> list[Measurement]:
    """The lines of the results; of a promise that was broken the commands that repeat it."""
    violations = sum(len(report.violations) for report in broken)
    repeat = "; ".join(repeat_command(report.script.seed) for report in broken)
    return [
        Measurement(name="simulation.seeds", value=seeds, unit="runs", better="higher", command=COMMAND, note=note),
        Measurement(name="simulation.violations", value=violations, unit="of the promises", better="lower",
                    command=COMMAND, note=repeat or note),
        Measurement(name="simulation.hours_per_second", value=hours_per_second, unit="h/s", better="higher",
                    command=COMMAND, note="simulated hours by a second of the wall clock, one process"),
    ]  # fmt: skip
