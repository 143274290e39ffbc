"""The slow-disk laboratory: gives the files below chosen folders the service time of a disk.

Storage on one machine has one speed, so a demonstration of moving from slow to fast storage has nothing to measure.
Here a small library (slow_disk.c) is compiled and preloaded into a program; it makes every read and write below a
chosen folder wait as long as the modelled device would take, all processes queueing for the same device. What is
measured on it is a real server on a modelled disk; output based on it has to say so.

The figures of the two devices: a 7200 rpm disk of one spindle (5.4 ms to position, 160 MB/s, about 184 random reads a
second at any queue depth) and a plain SATA SSD (100 us, 16 channels, 500 MB/s).

Read-ahead of the disk is 1 MiB, not the 128 KiB of an untuned kernel (tuned's throughput-performance sets 4 MiB).
A sequential reader among eight random ones gets one chunk for each turn of the queue: with 128 KiB an online rebuild of
the demo's 10 MB index, which reads its 59 MB table twice, took 51 s where 1 MiB took 8 s. Random reads, which the
outcome rests on, cost the same with either.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from agent.demo.server import as_server_user, own
from connectors.kit.contract import HotplaceError

LIBRARY = "slow_disk.so"
COMPILERS = ("cc", "gcc", "clang")
CONTROL_VARIABLE = "HOTPLACE_SLOW_DISK"
PROBE = "/bin/true"  # a dynamically linked program that every system has

# The sizes of slow_disk.c
_DEVICES, _CHANNELS, _PLACEMENTS, _CHUNKS, _ENDS, _PATH_BYTES = 4, 16, 16, 64, 64, 1024
_MAGIC = 0x6B736964776F6C73


class SlowDiskUnavailable(HotplaceError):
    """This machine cannot give a folder another speed; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceModel:
    """A disk by its service time."""

    name: str
    channels: int  # requests served at once, 1 to 16; one channel has a head whose place counts
    access_seconds: float  # to reach a place
    bytes_per_second: float  # of the bus, shared by all channels
    chunk_bytes: int = 128 * 1024  # what read-ahead brings at a time


HDD = DeviceModel(name="hdd", channels=1, access_seconds=0.0054, bytes_per_second=160e6, chunk_bytes=1024 * 1024)
SSD = DeviceModel(name="ssd", channels=16, access_seconds=100e-6, bytes_per_second=500e6)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCounters:
    """What a device has done since it was made; only counted while the model is switched on."""

    reads: int  # calls
    read_bytes: int
    read_ahead_hits: int  # reads, or parts of one, that read-ahead had brought
    accesses: int  # times that a new place had to be reached
    writes: int
    write_bytes: int
    busy_seconds: float  # summed over channels


def shape_of(
    device_more: Sequence[tuple[str, Any]] = (), control_more: Sequence[tuple[str, Any]] = ()
) -> type[ctypes.Structure]:
    """The control file, with the fields that an experiment adds to each device and at the end."""
    device = [
        *[(name, ctypes.c_uint64) for name in ("channels", "access_ns", "bytes_per_second", "chunk_bytes")],
        ("channel_free", ctypes.c_uint64 * _CHANNELS),
        ("bus_free", ctypes.c_uint64),
        ("head", ctypes.c_uint64),
        ("next_chunk", ctypes.c_uint64),
        ("chunk", ctypes.c_uint64 * _CHUNKS),
        ("chunk_ready", ctypes.c_uint64 * _CHUNKS),
        ("next_end", ctypes.c_uint64),
        ("end", ctypes.c_uint64 * _ENDS),
        *[(name, ctypes.c_uint64) for name in ("reads", "read_bytes", "read_ahead_hits", "accesses")],
        *[(name, ctypes.c_uint64) for name in ("writes", "write_bytes", "busy_ns")],
        *device_more,
    ]
    control = [
        *[(name, ctypes.c_uint64) for name in ("magic", "bytes", "on", "generation", "attached", "placements")],
        ("device", _structure("Device", device) * _DEVICES),
        ("placement", _Placement * _PLACEMENTS),
        *control_more,
    ]
    return _structure("Control", control)


def _structure(name: str, fields: Sequence[tuple[str, Any]]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": fields})


class _Placement(ctypes.Structure):
    _fields_ = [("device", ctypes.c_uint64), ("length", ctypes.c_uint64), ("folder", ctypes.c_char * _PATH_BYTES)]


class SlowDisk:
    """A compiled library and the control file it shares with every program it is preloaded into. Made by ``build``."""

    SOURCE: ClassVar[Path] = Path(__file__).with_name("slow_disk.c")
    SHAPE: ClassVar[type[ctypes.Structure]] = shape_of()

    def __init__(self, library: Path, control: Path) -> None:
        self._library = library
        self._control_path = control
        control.write_bytes(bytes(ctypes.sizeof(self.SHAPE)))
        with control.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        # ctypes reads and writes whole aligned 64-bit fields, which is all that the library's atomics need of it
        self._shared: Any = self.SHAPE.from_buffer(self._memory)
        self._names: list[str] = []
        self._shared.magic, self._shared.bytes, self._shared.generation = _MAGIC, ctypes.sizeof(self.SHAPE), 1

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program needs in its environment to live on these disks."""
        preload = ":".join(filter(None, (str(self._library), os.environ.get("LD_PRELOAD", ""))))
        return {"LD_PRELOAD": preload, CONTROL_VARIABLE: str(self._control_path)}

    @property
    def attached(self) -> int:
        """How many programs have started on these disks: proof that the library is in effect."""
        return int(self._shared.attached)

    def place(self, device: DeviceModel, folder: Path) -> None:
        """Put ``folder`` on a device. Folders placed on devices of one name share that device's queue.

        Raises:
            ValueError: the folder's path is too long, or there are too many devices or folders.
        """
        path = os.fsencode(folder.resolve())
        row = int(self._shared.placements)
        if len(path) >= _PATH_BYTES or row >= _PLACEMENTS:
            raise ValueError(f"at most {_PLACEMENTS} folders with paths below {_PATH_BYTES} bytes: {folder}")
        placement = self._shared.placement[row]
        placement.device, placement.length, placement.folder = self._device_row(device), len(path), path
        self._shared.placements = row + 1
        self._shared.generation += 1  # last: programs look their files up again

    def _device_row(self, model: DeviceModel) -> int:
        if model.name in self._names:
            return self._names.index(model.name)
        if len(self._names) >= _DEVICES or not 1 <= model.channels <= _CHANNELS:
            raise ValueError(f"at most {_DEVICES} devices of 1 to {_CHANNELS} channels: {model.name}")
        device = self._shared.device[len(self._names)]
        device.channels = model.channels
        device.access_ns = round(model.access_seconds * 1e9)
        device.bytes_per_second = round(model.bytes_per_second)
        device.chunk_bytes = model.chunk_bytes
        self._names.append(model.name)
        return len(self._names) - 1

    def switch(self, on: bool) -> None:
        """Model on, or off: then everything runs at the machine's own speed and nothing is counted."""
        self._shared.on = int(on)

    def counters(self) -> dict[str, DeviceCounters]:
        """What each device has done, by name."""
        return {name: _counters(self._shared.device[row]) for row, name in enumerate(self._names)}


def _counters(device: Any) -> DeviceCounters:  # noqa: ANN401  # fields of a ctypes structure have no static types
    return DeviceCounters(
        reads=device.reads,
        read_bytes=device.read_bytes,
        read_ahead_hits=device.read_ahead_hits,
        accesses=device.accesses,
        writes=device.writes,
        write_bytes=device.write_bytes,
        busy_seconds=device.busy_ns / 1e9,
    )


def available() -> tuple[bool, str]:
    """Whether this machine can run the laboratory, and the reason in one sentence."""
    if sys.platform != "linux":
        return False, f"preloading works on Linux, this is {sys.platform}"
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False, "the disk model needs a 64-bit system"
    compiler = _compiler()
    if compiler is None:
        return False, f"no C compiler was found (looked for {', '.join(COMPILERS)})"
    return True, f"the disk model is compiled with {compiler} and preloaded into the server"


_Disk = TypeVar("_Disk", bound=SlowDisk)


def build(folder: Path) -> SlowDisk:
    """``build_as`` of the plain model."""
    return build_as(SlowDisk, folder)


def build_as(kind: type[_Disk], folder: Path) -> _Disk:
    """Compile the library into ``folder`` and prove that programs of the server's user load it.

    Args:
        kind: the model, or an experiment's with more in it.
        folder: exists and is for this alone; it is given to the server's user, who must be able to reach it.

    Raises:
        SlowDiskUnavailable: no compiler, the compiler failed, or the library does not load (noexec, musl, ...).
    """
    can, why = available()
    if not can:
        raise SlowDiskUnavailable(why)
    library, control = folder / LIBRARY, folder / "control"
    if set(str(library)) & set(" :\n"):
        raise SlowDiskUnavailable(f"LD_PRELOAD cannot name {library}: it holds a blank or a colon")
    _compile(kind.SOURCE, library)
    disk = kind(library, control)
    for path in (folder, library, control):
        own(path)
    _prove(disk)
    return disk


def _compiler() -> str | None:
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def _compile(source: Path, library: Path) -> None:
    compiler = str(_compiler())
    options = ["-O2", "-std=gnu11", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    try:
        done = subprocess.run([compiler, *options], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowDiskUnavailable(f"{compiler} did not run: {error}") from error
    if done.returncode:
        raise SlowDiskUnavailable(f"{compiler} could not compile the disk model: {done.stderr.strip()[-300:]}")


def _prove(disk: SlowDisk) -> None:
    """Run a program as the server's user; the library counts it, or was not loaded."""
    try:
        done = subprocess.run(
            [PROBE], env={**os.environ, **disk.environment}, capture_output=True, text=True, timeout=20, check=False,
            cwd="/", **as_server_user(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowDiskUnavailable(f"a program with the disk model preloaded did not run: {error}") from error
    # By the library's own count: a loader that cannot preload only prints a warning and runs the program at full speed.
    if not disk.attached:
        raise SlowDiskUnavailable(f"the disk model was compiled but did not load: {done.stderr.strip()[-300:]}")
