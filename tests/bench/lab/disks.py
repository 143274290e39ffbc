"""The disk model against its own parameters, by fio, which knows nothing of it: printed before every other figure.

The hdd's random reads are what every result rests on, and hold to one or two per cent. Scans and the SSD stay below
their parameters by what the reader itself takes between two reads, and by how soon the scheduler wakes it: there is no
read-ahead behind a reader's back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from agent.demo.server import temporary_folder
from agent.demo.slow_disk import HDD, SSD, DeviceModel, SlowDisk, available, build
from tests.bench.lab.figures import say, table
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import LabUnavailable
from tests.bench.measurement import Measurement

BLOCK = 8192
FILE_BYTES = 256 * 2**20
JOBS = 8
MISSING = "fio is not here: apt install fio (python -m tests.components does it as root on Debian)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One pattern on one device."""

    device: DeviceModel
    pattern: str  # fio's word
    jobs: int

    @property
    def expected(self) -> float:
        """Blocks a second by the parameters."""
        device = self.device
        if self.pattern == "read":
            in_place = device.channels == 1  # a lone reader leaves the one head where it goes on
            seconds = (0.0 if in_place else device.access_seconds) + device.chunk_bytes / device.bytes_per_second
            return device.chunk_bytes / BLOCK / seconds
        served = min(self.jobs, device.channels)
        transfer = BLOCK / device.bytes_per_second
        return min(served / (device.access_seconds + transfer), 1 / transfer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What fio measured."""

    check: Check
    measured: float  # blocks a second

    @property
    def ratio(self) -> float:
        """Measured over expected."""
        return self.measured / self.check.expected


CHECKS = tuple(
    Check(device=device, pattern=pattern, jobs=jobs)
    for device in (HDD, SSD)
    for pattern, jobs in (("randread", 1), ("randread", JOBS), ("read", 1))
)


def run(seconds: float) -> list[Checked]:
    """Every check, one after the other.

    Raises:
        LabUnavailable: no fio, or no compiler for the model.
    """
    can, why = available()
    if not can:
        raise LabUnavailable(why)
    if shutil.which("fio") is None:
        raise LabUnavailable(MISSING)
    folder = temporary_folder("hotplace-lab-")
    folder.chmod(0o755)
    try:
        disk = build(folder)
        files = {device.name: _place(disk, device, folder) for device in (HDD, SSD)}
        disk.switch(True)
        return [Checked(check=check, measured=_fio(disk, check, files[check.device.name], seconds)) for check in CHECKS]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(disk: SlowDisk, device: DeviceModel, folder: Path) -> Path:
    place = folder / device.name
    place.mkdir()
    file = place / "data"
    file.write_bytes(os.urandom(2**20) * (FILE_BYTES // 2**20))
    disk.place(device, place)
    return file


def _fio(disk: SlowDisk, check: Check, file: Path, seconds: float) -> float:
    """Reads a second."""
    runtime = f"{round(1000 * seconds)}ms"  # fio drops fractions: of less than a second nothing is left
    done = subprocess.run(
        ["fio", "--name=check", f"--filename={file}", f"--rw={check.pattern}", f"--bs={BLOCK}", "--ioengine=psync",
         f"--numjobs={check.jobs}", f"--runtime={runtime}", "--time_based", "--randrepeat=0", "--norandommap",
         "--invalidate=0", "--group_reporting", "--output-format=json"],
        env={**os.environ, **disk.environment}, cwd=file.parent, capture_output=True, text=True, check=True,
        timeout=seconds + 60,
    )  # fmt: skip
    return float(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]["iops"])


def measurements(pace: Pace) -> list[Measurement]:
    """Run, print the table, report how far the worst is off."""
    try:
        checked = run(pace.run_seconds / 6)
    except LabUnavailable as error:
        if shutil.which("fio") is not None or pace is FULL:
            raise
        say(f"disks: not validated, {error}")
        return []
    table(
        "the modelled disks, by fio (8 KiB blocks a second)",
        ("device", "pattern", "jobs", "by parameters", "measured", "ratio"),
        [
            (c.check.device.name, c.check.pattern, str(c.check.jobs), f"{c.check.expected:,.0f}", f"{c.measured:,.0f}",
             f"{c.ratio:.3f}")
            for c in checked
        ],
    )  # fmt: skip
    hdd = [c for c in checked if c.check.device is HDD and c.check.pattern == "randread"]
    return [
        Measurement(
            name="lab.disk.hdd_random_reads", value=hdd[1].measured, unit="1/s", better="higher",
            command="python -m tests.bench.lab disks",
            note=f"fio, {JOBS} readers on one spindle; by parameters {hdd[1].check.expected:.1f}",
        ),
        Measurement(
            name="lab.disk.hdd_random_error_max", value=max(abs(c.ratio - 1) for c in hdd), unit="of the parameters",
            better="lower", command="python -m tests.bench.lab disks",
            note="; ".join(f"{c.check.device.name} {c.check.pattern} x{c.check.jobs}: {c.ratio:.2f}" for c in checked),
        ),
    ]  # fmt: skip
