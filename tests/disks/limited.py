"""The product's slow disk, made full, broken, or divided by blocks."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from agent.demo.slow_disk import DeviceModel, SlowDisk, build_as, shape_of

_BLOCK, _MAPS, _BLOCKS = 8192, 8, 32768  # of limited_disk.c
_LIMITS = ("capacity_bytes", "used_bytes", "read_error_after", "write_error_after")


class _Map(ctypes.Structure):
    _fields_ = [("file", ctypes.c_uint64), *[(name, ctypes.c_uint64 * _BLOCKS) for name in ("reads", "device")]]


class LimitedDisk(SlowDisk):
    """A slow disk whose devices may be full or broken, and single blocks of whose files may be elsewhere."""

    SOURCE: ClassVar[Path] = Path(__file__).with_name("limited_disk.c")
    SHAPE: ClassVar[type[ctypes.Structure]] = shape_of(
        [(name, ctypes.c_uint64) for name in _LIMITS], [("maps", ctypes.c_uint64), ("map", _Map * _MAPS)]
    )

    def __init__(self, library: Path, control: Path) -> None:
        super().__init__(library, control)
        self._folders: list[tuple[str, Path]] = []  # device and folder

    def place(self, device: DeviceModel, folder: Path) -> None:
        """See ``SlowDisk.place``."""
        super().place(device, folder)
        self._folders.append((device.name, folder))

    def switch(self, on: bool) -> None:
        """See ``SlowDisk.switch``; switched off, nothing is refused either."""
        if on:
            self._count_used()
        super().switch(on)

    def limit(self, name: str, capacity_bytes: int | None) -> None:
        """Give the device of that name so much room in all; None: as much as the machine has.

        Room is counted in bytes of file length, from the files that are there when the model is switched on.
        """
        self._shared.device[self._names.index(name)].capacity_bytes = capacity_bytes or 0
        self._count_used()

    def used_bytes(self, name: str) -> int:
        """What the files of that device take up by the model's count, which is kept for devices with a capacity."""
        return int(self._shared.device[self._names.index(name)].used_bytes)

    def break_reads(self, name: str, after_bytes: int = 0) -> None:
        """Let reads of the device fail with EIO once so many more bytes were read, until ``mend``."""
        device = self._shared.device[self._names.index(name)]
        # At least 1: 0 means that nothing is broken.
        device.read_error_after = max(1, device.read_bytes + after_bytes)

    def break_writes(self, name: str, after_bytes: int = 0) -> None:
        """Let writes of the device fail with EIO once so many more bytes were written, until ``mend``."""
        device = self._shared.device[self._names.index(name)]
        device.write_error_after = max(1, device.write_bytes + after_bytes)

    def mend(self, name: str) -> None:
        """End all errors of the device."""
        device = self._shared.device[self._names.index(name)]
        device.read_error_after = device.write_error_after = 0

    def count_blocks(self, path: Path) -> None:
        """Count the reads of this file by its blocks of 8 KiB from now on; one of its blocks may then be placed alone.

        Raises:
            ValueError: the file is too long, or too many are counted already.
            OSError: it is not there.
        """
        status, row = path.stat(), int(self._shared.maps)
        if row >= _MAPS or status.st_size > _BLOCK * _BLOCKS:
            raise ValueError(f"at most {_MAPS} files of at most {_BLOCK * _BLOCKS} bytes: {path}")
        self._shared.map[row].file = _mark(status)
        self._shared.maps = row + 1

    def block_reads(self, path: Path) -> list[int]:
        """How often each of the file's blocks was read since ``count_blocks``."""
        return list(self._map(path).reads[: -(-path.stat().st_size // _BLOCK)])

    def place_blocks(self, path: Path, name: str | None, blocks: Iterable[int]) -> None:
        """Serve reads of these blocks of a counted file from the device of that name; None: from its folder's."""
        device, found = 0 if name is None else self._names.index(name) + 1, self._map(path)
        for block in blocks:
            found.device[block] = device

    def _map(self, path: Path) -> Any:  # fields of a ctypes structure have no static types
        mark = _mark(path.stat())
        return next(each for each in self._shared.map[: self._shared.maps] if each.file == mark)

    def _count_used(self) -> None:
        used = dict.fromkeys(self._names, 0)
        for device, folder in self._folders:
            files = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
            used[device] += sum(_length(path) for path in files)
        for row, length in enumerate(used.values()):
            self._shared.device[row].used_bytes = length


def _mark(status: os.stat_result) -> int:
    """A file as slow_disk.c knows it."""
    return (status.st_ino * 0x9E3779B97F4A7C15 & 2**64 - 1) ^ status.st_dev


def _length(path: Path) -> int:
    """Bytes of a file; 0 of what is gone by now."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def build(folder: Path) -> LimitedDisk:
    """See ``agent.demo.slow_disk.build``."""
    return build_as(LimitedDisk, folder)
