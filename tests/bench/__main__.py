"""Run every benchmark, write RESULTS.md and results.json: ``make bench``, or ``python -m tests.bench [NAME ...]``.

``--quick`` (``make bench-quick``) runs what is short and small versions of the laboratory, prints the page and writes
nothing: figures of small data do not belong among the others. Each benchmark runs in a process of its own, so that its
peak memory is its own and a failure costs the others nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.lab.__main__ import EXPERIMENTS, MINUTES
from tests.bench.lab.pace import FULL, ROUND
from tests.bench.measurement import Measurement
from tests.bench.published import page_of, write_rows

LAB = tuple(f"lab.{name}" for name in EXPERIMENTS)
COST = (
    "history",
    "history_week",
    "year",
    "agent_cost",
    "day",
    "cli_start",
    "exposition",
    "postgresql_cost",
    "oracle_cost",
    "sqlserver_cost",
    "db2_cost",
    "db2_i",
    "fleet",
)  # modules of tests.bench.cost
SHORT = ("history", "agent_cost", "cli_start", "db2_i")  # seconds each
QUICK_LAB = ("lab.disks", "lab.headline", "lab.kindness")  # the others take minutes even when small
SMALL_TOO = (
    "verify",
    "policy_baselines",
    "policy_wandering",
    "policy_births",
    "policy_ranges",
    "policy_growth",
    "policy_classes",
    "postgresql_cost",
    "oracle_cost",
    "history_week",
    "year",
    "day",
    "fleet",
    "fault_simulation",
)  # have a small version: measurements(quick=True)
SMALL_MATRICES = ("verify",)  # that several threads only slow down, here to less than half
TRACES = "traces"  # plays recorded loads, which are not kept here: run only where --traces says where they are
MODULES = (
    "policy",
    "policy_gap",
    "policy_baselines",
    "policy_wandering",
    "policy_births",
    "policy_ranges",
    "policy_growth",
    "policy_arrays",
    "policy_classes",
    "demand",
    "assess",
    "verify",
    "sampling",
    "prove",
    "fault_simulation",
    TRACES,
    *COST,
    *LAB,
)


def main() -> int:
    """Measure what is asked for, keep the other figures as they are; 1 when a benchmark failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODULES))
    parser.add_argument("--quick", action="store_true", help="what is short, and the laboratory small")
    parser.add_argument("--traces", metavar="FOLDER", type=Path, help="recorded loads, for the benchmark named traces")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(MODULES))
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(MODULES)}")
    if TRACES in given.names and given.traces is None:
        parser.error("where are the recorded loads? --traces FOLDER says it")
    if given.inside:
        print(json.dumps([line for name in given.names for line in _measured(name, given.traces, quick=given.quick)]))
        return 0
    every = [name for name in MODULES if name != TRACES or given.traces]
    names = given.names or ([*SHORT, *SMALL_TOO, *QUICK_LAB] if given.quick else every)
    return _run(names, given.traces, quick=given.quick)


def _run(names: Sequence[str], traces: Path | None, *, quick: bool) -> int:
    results: list[Measurement] = []
    failed: list[str] = []
    for name in names:
        started = time.monotonic()
        about = f"about {MINUTES[name.removeprefix('lab.')][quick]:g} minutes" if name in LAB else ""
        print(f"{name} ... {about}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "tests.bench", "--inside", *(["--quick"] if quick else []), name]
        command += ["--traces", str(traces)] if name == TRACES else []
        threads = {"OPENBLAS_NUM_THREADS": "1"} if name in SMALL_MATRICES else {}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **threads})
        if done.returncode:
            failed.append(name)
        else:
            results += json.loads(done.stdout.strip().splitlines()[-1])
        print(f"{name} took {time.monotonic() - started:.0f} s", file=sys.stderr)
        page = page_of(sorted(results, key=lambda line: line["name"])) if quick else write_rows(results)
    print(page)
    if failed:
        print(f"failed, their figures are as they were: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def module_of(name: str) -> str:
    """The module in which a benchmark is found."""
    return f"tests.bench.cost.{name}" if name in COST else f"tests.bench.{name}"


def _measured(name: str, traces: Path | None, *, quick: bool) -> list[Measurement]:
    """Run one benchmark in this process; ``traces``: the folder of recorded loads."""
    module = importlib.import_module(module_of(name))
    if name in LAB:
        lines: list[Measurement] = module.measurements(ROUND if quick else FULL)
    elif name == TRACES:
        lines = module.measurements(traces)
    elif name in SMALL_TOO:
        lines = module.measurements(quick=quick)
    else:
        lines = module.measurements()
    return lines


if __name__ == "__main__":
    sys.exit(main())
