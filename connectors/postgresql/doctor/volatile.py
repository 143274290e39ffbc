"""Storage that loses what it holds when its machine restarts or moves, as far as this machine shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
# What local disks of machines in a cloud call themselves; network disks have other names. Sources: Amazon's "Identify
# instance store volumes" and Azure's "NVMe general FAQ".
INSTANCE_STORES = ("Amazon EC2 NVMe Instance Storage", "Microsoft NVMe Direct Disk")
_ESCAPE = re.compile(r"\\([0-7]{3})")


def find_volatile(path: Path, mounts: str, model_of: Callable[[str], str]) -> str:
    """Why what lies at a path does not survive a restart of its machine; "" where nothing shows that.

    Args:
        path: absolute, without links.
        mounts: as ``proc(5)`` describes /proc/[pid]/mountinfo.
        model_of: what a block device calls itself, by its major and minor number; "" where it has no name.
    """
    newest_first = map(_mount_of, reversed(mounts.splitlines()))  # a mount hides an older one at the same place
    place, number, kind = max(newest_first, key=lambda mount: _covers(mount[0], path))
    if kind in IN_MEMORY:
        return f"{place} is {kind}, which is memory"
    model = model_of(number)
    return f"{place} is an instance store ({model})" if model.startswith(INSTANCE_STORES) else ""


def volatile_here(path: str) -> str:
    """``find_volatile`` of a path of this machine; "" too where it cannot be seen."""
    try:
        return find_volatile(Path(path).resolve(), MOUNTS.read_text(encoding="utf-8", errors="replace"), _model_of)
    except (OSError, ValueError):  # another operating system, or a line of another shape
        return ""


def _mount_of(line: str) -> tuple[Path, str, str]:
    """Mount point, device number and kind of file system."""
    before, _, after = line.partition(" - ")
    fields = before.split(" ")
    place = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4])
    return Path(place), fields[2], after.split(" ")[0]


def _covers(place: Path, path: Path) -> int:
    """How much of the path the mount point is, -1 where the path is not below it; of equals the first counts."""
    return len(place.parts) if path.is_relative_to(place) else -1


def _model_of(number: str) -> str:
    device = Path("/sys/dev/block", number).resolve()
    for folder in (device, device.parent):  # a disk, or the disk of a partition
        try:
            return (folder / "device" / "model").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
    return ""
