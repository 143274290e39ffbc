"""Storage that does not survive a restart, by the table of mounts and what disks call themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.postgresql.doctor import find_volatile

MOUNTS = """\
22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw
30 22 0:26 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw
31 22 259:3 / /fast rw shared:5 master:2 - xfs /dev/nvme1n1 rw
32 22 259:4 / /lasting rw shared:6 - xfs /dev/nvme2n1 rw
33 31 0:40 / /fast/my\\040cache rw shared:7 - tmpfs none rw
34 22 0:41 / /hidden rw - tmpfs none rw
35 34 259:4 / /hidden rw - xfs /dev/nvme2n1 rw
"""
MODELS = {"259:3": "Amazon EC2 NVMe Instance Storage", "259:4": "Amazon Elastic Block Store"}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/var/lib/postgresql", ""),
        ("/dev/shm/fast", "/dev/shm is tmpfs, which is memory"),
        ("/fast/pg", "/fast is an instance store (Amazon EC2 NVMe Instance Storage)"),
        ("/fastest/pg", ""),
        ("/fast/my cache/pg", "/fast/my cache is tmpfs, which is memory"),
        ("/lasting/pg", ""),
        ("/hidden/pg", ""),
    ],
)
def test_the_mount_that_holds_a_path_decides(path: str, why: str) -> None:
    """The longest mount point, the newest where one hides another; a name is no prefix of a longer one."""
    assert find_volatile(Path(path), MOUNTS, lambda number: MODELS.get(number, "")) == why
