"""What short commands cost: processor time of whole processes, from the interpreter's start to its end.

The ledger that is read holds one proposal whose moves were carried out. Python's compiled modules are written by a run
that is not counted, as an installed package has them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.bench.measurement import Measurement, of_runs

COMMAND = "python -m tests.bench cli_start"
RUNS = 7
CONFIG = """\
level: propose
dry_run: false
ledger: {path: ledger.db}
metrics: {enabled: false}
log: {level: warning}
databases:
- name: shop
  engine: simulated
  connection: {scenario: oltp, state: world.json, speed: 60}
  tiers: [{name: ssd, spaces: [ssd]}, {name: hdd, spaces: [hdd]}]
  sample_every: 0.2s
  settle: 0.2s
  policy: {minimum_history: 0s, regret: 0}
"""
PREPARE = ("plan --observe 0.3 --propose", "approve 1 --yes", "run --once")
STARTS = {"version": "--version", "help": "--help", "completion": "", "completed_units": ""}
IN_BASH = {"_HOTPLACE_COMPLETE": "complete_bash"}
COMPLETE = {
    "completion": {**IN_BASH, "COMP_WORDS": "hotplace pro", "COMP_CWORD": "1"},
    "completed_units": {**IN_BASH, "COMP_WORDS": "hotplace explain shop.", "COMP_CWORD": "2"},
}
READS = ("history", "proposals", "show 1", "outcomes", "pin --list", "status")


def measurements() -> list[Measurement]:
    """Seconds of each command; of each kind also the slowest command's median, the row without a suffix."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hotplace.yaml").write_text(CONFIG, encoding="utf-8")
        for arguments in PREPARE:
            processor_seconds(folder, arguments)
        starts = {kind: _runs(folder, arguments, COMPLETE.get(kind, {})) for kind, arguments in STARTS.items()}
        reads = {arguments.split()[0]: _runs(folder, arguments, {}) for arguments in READS}
    return [*_lines("agent.cli_start_seconds", starts), *_lines("agent.cli_ledger_seconds", reads)]


def processor_seconds(folder: Path, arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """Processor time of one command as a process of its own.

    Raises:
        CalledProcessError: the command failed.
    """
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [Path(sys.executable).with_name("hotplace"), *arguments.split()],
        cwd=folder, env={**inherited, **(environment or {})}, check=True, capture_output=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _runs(folder: Path, arguments: str, environment: Mapping[str, str]) -> list[float]:
    processor_seconds(folder, arguments, environment)  # compiles what was never imported before
    return [processor_seconds(folder, arguments, environment) for _ in range(RUNS)]


def _lines(name: str, seconds: Mapping[str, list[float]]) -> list[Measurement]:
    """The row of the slowest command and a row for each."""
    lines = [
        of_runs(f"{name}.{kind}", runs, "s", COMMAND, note="processor time of the process")
        for kind, runs in seconds.items()
    ]
    slowest = max(lines, key=lambda line: line["value"])
    note = f"the slowest of them: {slowest['name'].rpartition('.')[2]}"
    return [{**slowest, "name": name, "note": note}, *lines]


if __name__ == "__main__":
    print(json.dumps(measurements(), indent=2))
