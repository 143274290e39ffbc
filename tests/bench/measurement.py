"""One measured figure, and the helpers that measure it."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Literal, NotRequired, TypedDict


class Measurement(TypedDict):
    """One line of results.json."""

    name: str
    value: float
    unit: str
    better: Literal["lower", "higher"]
    command: str
    spread: NotRequired[str]  # "min to max of N runs"
    note: NotRequired[str]


def timed(work: Callable[[], object], runs: int) -> list[float]:
    """Wall seconds of each run."""
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds


def of_runs(
    name: str, values: list[float], unit: str, command: str, *, better: Literal["lower", "higher"] = "lower",
    note: str = "",
) -> Measurement:  # fmt: skip
    """The median of several runs, with the spread."""
    measurement = Measurement(
        name=name,
        value=statistics.median(values),
        unit=unit,
        better=better,
        command=command,
        spread=f"{min(values):.4g} to {max(values):.4g}, {len(values)} runs" if len(values) > 1 else "one run",
    )
    if note:
        measurement["note"] = note
    return measurement


def peak_rss_mib() -> float:
    """Peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_process(module: str, *arguments: str, timeout_seconds: float = 900.0) -> list[Measurement]:
    """Run a bench module in a process of its own, so that its peak memory is its own; it prints JSON at the end."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        timeout=timeout_seconds,
        check=True,
    )
    measured: list[Measurement] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured
