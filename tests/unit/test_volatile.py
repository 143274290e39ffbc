"""What this machine says of the storage below a path: whether it lasts, and what its disks call themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.postgresql.doctor import find_volatile, say_devices

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


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """A disk of a cloud with a partition, a plain one, a volume of both, and one that says nothing."""
    numbers = tmp_path / "numbers"
    numbers.mkdir()
    disks = {"nvme1n1": ("259:3", "0", "1023", "Amazon Elastic Block Store"), "sdb": ("8:16", "1", "64", "ST4000NM")}
    for name, (number, rotates, depth, model) in disks.items():
        disk = tmp_path / name
        for file, text in (("queue/rotational", rotates), ("queue/nr_requests", depth), ("device/model", model)):
            (disk / file).parent.mkdir(parents=True, exist_ok=True)
            (disk / file).write_text(f"{text}\n")
        (disk / "dev").write_text(f"{number}\n")
        (numbers / number).symlink_to(disk)
    (tmp_path / "nvme1n1" / "nvme1n1p1").mkdir()
    (tmp_path / "nvme1n1" / "nvme1n1p1" / "partition").write_text("1")
    (numbers / "259:4").symlink_to(tmp_path / "nvme1n1" / "nvme1n1p1")
    (tmp_path / "dm-0" / "slaves").mkdir(parents=True)
    for name in disks:
        (tmp_path / "dm-0" / "slaves" / name).symlink_to(tmp_path / name)
    (numbers / "253:0").symlink_to(tmp_path / "dm-0")
    (tmp_path / "silent").mkdir()
    (numbers / "9:9").symlink_to(tmp_path / "silent")
    return numbers


CLOUD = (
    "nvme1n1 (Amazon Elastic Block Store, a network volume whose type says how many I/Os it serves), "
    "which does not rotate and takes 1023 requests at a time"
)
PLAIN = "sdb (ST4000NM), which calls itself rotating and takes 64 requests at a time"


@pytest.mark.parametrize(
    ("number", "said"),
    [("259:3", CLOUD), ("259:4", CLOUD), ("8:16", PLAIN), ("253:0", f"dm-0 made of {CLOUD}; {PLAIN}"), ("9:9", ""),
     ("0:26", "")],
)  # fmt: skip
def test_disks_say_what_they_are(devices: Path, number: str, said: str) -> None:
    """A disk, a partition of it, and each disk of a volume; nothing where nothing is seen."""
    assert say_devices(number, devices) == said
