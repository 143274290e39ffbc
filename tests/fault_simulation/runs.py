"""One run of a script or a seed, what is left of one that fails, and the command that repeats it."""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from pathlib import Path

from tests.fault_simulation.fleet.script import draw_fleet
from tests.fault_simulation.oracles import Oracles
from tests.fault_simulation.script import Script, draw
from tests.fault_simulation.shrinking import shrink
from tests.fault_simulation.site import Report, run_script
from tests.frozen.ledgers import recorded_in

MEMORY = Path("/dev/shm")  # folders of our own in it; a ledger there is synchronised at once


def run(script: Script) -> Report:
    """One run in a folder of its own, which is removed."""
    folder = Path(tempfile.mkdtemp(prefix="hotplace-faults-", dir=MEMORY if MEMORY.is_dir() else None))
    started = time.process_time()
    gc.disable()  # what a run leaves behind goes at its end, all at once
    try:
        report = _run(script, folder)
        report.recorded = recorded_in(folder)
    finally:
        gc.enable()
        shutil.rmtree(folder, ignore_errors=True)
    report.seconds = time.process_time() - started
    return report


def _run(script: Script, folder: Path) -> Report:
    if script.fleet is None:
        return run_script(script, folder, Oracles)
    # Only here: a site alone needs no server.
    from tests.fault_simulation.fleet.oracles import FleetOracles
    from tests.fault_simulation.fleet.site import run_fleet_script

    return run_fleet_script(script, folder, FleetOracles)


def run_seed(seed: int, *, fleet: bool = False, forgers: bool = False) -> Report:
    """The run of a seed."""
    return run(draw_fleet(seed) if fleet else draw(seed, forgers=forgers))


def shrunk(report: Report) -> tuple[list[int], Report]:
    """The events of a failing run that it takes for the same oracle to fail."""
    script, oracle = report.script, report.violations[0].oracle
    last = report

    def fails(numbers: list[int]) -> bool:
        nonlocal last
        found = run(script.keep(numbers))
        same = any(each.oracle == oracle for each in found.violations)
        last = found if same else last
        return same

    return shrink(list(range(len(script.events))), fails), last


def repeat_command(seed: int, numbers: list[int] | None = None, *, fleet: bool = False, forgers: bool = False) -> str:
    """What repeats a run."""
    of = "--fleet " if fleet else "--forgers " if forgers else ""
    keep = "" if numbers is None else f" --keep {','.join(map(str, numbers)) or 'none'}"
    return f'make fault-simulation ARGS="{of}--seed {seed}{keep}"'
