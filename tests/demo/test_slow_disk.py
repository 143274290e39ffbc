"""The disk model against its own parameters. Times are bounded by what a model cannot undercut, and loosely above."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent.demo import slow_disk
from agent.demo.slow_disk import HDD, SSD, DeviceModel, SlowDisk, SlowDiskUnavailable, available, build
from tests.disks.limited import LimitedDisk

BLOCK = 8192
MEGABYTE = 1024 * 1024
FILE_BYTES = 32 * MEGABYTE
HDD_READ_SECONDS = HDD.access_seconds + BLOCK / HDD.bytes_per_second
LOOSELY = 4.0  # how much longer than the model a busy machine may take

READ_AT_RANDOM = """
import os, random, sys
fd, draw = os.open(sys.argv[1], os.O_RDONLY), random.Random(int(sys.argv[2]))
blocks = os.fstat(fd).st_size // 8192
for _ in range(int(sys.argv[3])):
    assert len(os.pread(fd, 8192, draw.randrange(blocks) * 8192)) == 8192
"""
READ_THROUGH = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
if sys.argv[2] == "read":
    while os.read(fd, 8192): pass
elif sys.argv[2] == "preadv":
    buffers, at = [bytearray(8192) for _ in range(16)], 0
    while done := os.preadv(fd, buffers, at): at += done
else:
    for at in range(0, os.fstat(fd).st_size, 8192): os.pread(fd, 8192, at)
"""


def place(disk: SlowDisk, model: DeviceModel, folder: Path) -> Path:
    """Put ``folder`` on a device, with a file of many blocks in it."""
    folder.mkdir()
    file = folder / "data"
    file.write_bytes(os.urandom(MEGABYTE) * (FILE_BYTES // MEGABYTE))
    disk.place(model, folder)
    disk.switch(True)
    return file


def start(disk: SlowDisk, script: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Run a script on the disk."""
    command = [sys.executable, "-S", "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, **disk.environment})


def output_of(disk: SlowDisk, script: str, *arguments: object) -> list[str]:
    """The words that a script on the disk prints."""
    command = [sys.executable, "-S", "-c", script, *map(str, arguments)]
    environment = {**os.environ, **disk.environment}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


def run(disk: SlowDisk, script: str, *arguments: object, processes: int = 1) -> float:
    """Run a script in several processes, each with its number as the second argument; seconds until all are done."""
    started = time.monotonic()
    running = [start(disk, script, arguments[0], number, *arguments[1:]) for number in range(processes)]
    assert [process.wait(60) for process in running] == [0] * processes
    return time.monotonic() - started


@pytest.mark.parametrize("processes", [1, 8])
def test_one_spindle_serves_one_random_read_at_a_time(disk: SlowDisk, folder: Path, processes: int) -> None:
    """However many processes ask, a random read costs access and transfer, one after the other."""
    file = place(disk, HDD, folder / "hdd")
    seconds = run(disk, READ_AT_RANDOM, file, 160 // processes, processes=processes)
    counters = disk.counters()["hdd"]
    assert counters.reads == 160
    assert counters.accesses >= 150  # a read may by chance begin where a recent one ended
    assert counters.accesses * HDD_READ_SECONDS <= seconds < LOOSELY * 160 * HDD_READ_SECONDS


def test_an_ssd_serves_many_at_once(disk: SlowDisk, folder: Path) -> None:
    """Eight processes on the ssd finish sooner than its busy time on one channel, and far below the hdd's."""
    file = place(disk, SSD, folder / "ssd")
    seconds = run(disk, READ_AT_RANDOM, file, 1000, processes=8)
    counters = disk.counters()["ssd"]
    assert counters.reads == 8000
    assert seconds < 8000 * HDD_READ_SECONDS / 2
    assert counters.busy_seconds == pytest.approx(8000 * 116e-6, rel=0.5)


READ_BLOCKS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for block in sys.argv[2:]: os.pread(fd, 8192, int(block) * 8192)
"""


def test_blocks_are_counted_and_placed_one_by_one(limited: LimitedDisk, folder: Path) -> None:
    """A read of a block goes to the device where that block is; taken back it goes to the folder's again."""
    file = place(limited, HDD, folder / "hdd")
    place(limited, SSD, folder / "ssd")
    limited.count_blocks(file)
    limited.place_blocks(file, "ssd", [7, 4095])
    assert start(limited, READ_BLOCKS, file, 7, 7, 4095, 3, 100).wait(60) == 0
    reads = limited.block_reads(file)
    assert len(reads) == FILE_BYTES // BLOCK
    assert {block: count for block, count in enumerate(reads) if count} == {3: 1, 7: 2, 100: 1, 4095: 1}
    assert {name: each.reads for name, each in limited.counters().items()} == {"hdd": 2, "ssd": 3}
    limited.place_blocks(file, None, [7])
    assert start(limited, READ_BLOCKS, file, 7).wait(60) == 0
    assert {name: each.reads for name, each in limited.counters().items()} == {"hdd": 3, "ssd": 3}


@pytest.mark.parametrize("call", ["pread", "preadv", "read"])
def test_reading_through_a_file_pays_for_transfer_and_hardly_for_access(
    disk: SlowDisk, folder: Path, call: str
) -> None:
    """A lone sequential reader leaves the head in place: tens of megabytes a second, by every call that reads."""
    file = place(disk, HDD, folder / "hdd")
    started = time.monotonic()
    assert start(disk, READ_THROUGH, file, call).wait(60) == 0
    seconds = time.monotonic() - started
    counters = disk.counters()["hdd"]
    assert counters.read_bytes == FILE_BYTES
    assert counters.accesses <= 10
    assert 0.9 * FILE_BYTES / HDD.bytes_per_second < seconds < FILE_BYTES / 10e6


def test_a_scan_among_random_reads_pays_an_access_for_each_chunk_not_for_each_block(
    disk: SlowDisk, folder: Path
) -> None:
    """Read-ahead survives other readers, the head's place does not."""
    small = replace(HDD, chunk_bytes=128 * 1024)
    file = place(disk, small, folder / "hdd")
    disturber = start(disk, READ_AT_RANDOM, file, 0, 100_000)
    try:
        assert start(disk, READ_THROUGH, file, "pread").wait(60) == 0
    finally:
        disturber.kill()
        disturber.wait()
    counters = disk.counters()["hdd"]
    chunks = FILE_BYTES // small.chunk_bytes
    assert counters.read_ahead_hits > 10 * chunks
    assert counters.accesses > chunks / 2


def test_writes_are_cached_and_counted(disk: SlowDisk, folder: Path) -> None:
    """A write holds its writer up for the transfer alone; a sync pays one access."""
    place(disk, HDD, folder / "hdd")
    script = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for n in range(64): os.pwrite(fd, bytes(131072), n * 131072)
os.pwritev(fd, [bytes(8192)] * 2, 0)
os.write(fd, bytes(8192))
os.fsync(fd)
"""
    started = time.monotonic()
    assert start(disk, script, folder / "hdd" / "new").wait(60) == 0
    seconds = time.monotonic() - started
    counters = disk.counters()["hdd"]
    assert (counters.writes, counters.write_bytes) == (66, 64 * 131072 + 3 * 8192)
    assert counters.busy_seconds == pytest.approx(counters.write_bytes / HDD.bytes_per_second + HDD.access_seconds)
    assert counters.busy_seconds <= seconds < LOOSELY * 66 * HDD.access_seconds


FILL = """
import errno, os, sys
folder, written = sys.argv[1], 0
fd = os.open(folder + "/new", os.O_WRONLY | os.O_CREAT)
try:
    while written < 1 << 24: written += os.pwrite(fd, bytes(65536), written)
except OSError as error: print(written, errno.errorcode[error.errno])
try: os.posix_fallocate(fd, 0, 1 << 24)
except OSError as error: print(errno.errorcode[error.errno])
try: os.ftruncate(fd, 65536); print(os.pwrite(fd, bytes(65536), 65536))
except OSError as error: print(errno.errorcode[error.errno])
os.unlink(folder + "/new")
other = os.open(folder + "/other", os.O_WRONLY | os.O_CREAT)
try: print(os.write(other, bytes(1 << 20)))
except OSError as error: print(errno.errorcode[error.errno])
"""


def test_a_device_has_so_much_room_and_no_more(limited: LimitedDisk, folder: Path) -> None:
    """What would make a file longer than there is room fails with ENOSPC; cutting and removing give room back."""
    place(limited, SSD, folder / "ssd")
    limited.limit("ssd", FILE_BYTES + MEGABYTE)
    assert output_of(limited, FILL, folder / "ssd") == [str(MEGABYTE), "ENOSPC", "ENOSPC", "65536", str(MEGABYTE)]
    assert limited.used_bytes("ssd") == FILE_BYTES + MEGABYTE
    (folder / "ssd" / "other").unlink()  # not by a program on the disk: counted when the model is switched on
    limited.switch(True)
    assert limited.used_bytes("ssd") == FILE_BYTES
    limited.limit("ssd", None)
    assert output_of(limited, FILL, folder / "ssd") == ["65536", str(MEGABYTE)]  # nothing refused


def test_a_device_breaks_in_the_middle_and_can_be_mended(limited: LimitedDisk, folder: Path) -> None:
    """Reads and writes fail with EIO once so many bytes have passed, each for itself, until it is mended."""
    file = place(limited, SSD, folder / "ssd")
    limited.break_writes("ssd", after_bytes=MEGABYTE)
    assert output_of(limited, FILL, folder / "ssd")[:2] == [str(MEGABYTE), "EIO"]
    run(limited, READ_AT_RANDOM, file, 10)  # reads go on
    limited.break_reads("ssd", after_bytes=5 * BLOCK)
    assert start(limited, READ_AT_RANDOM, file, 0, 6).wait(60) == 1
    limited.mend("ssd")
    run(limited, READ_AT_RANDOM, file, 10)


def test_nothing_costs_or_counts_while_switched_off_or_elsewhere(disk: SlowDisk, folder: Path) -> None:
    """Off means off, and a folder whose name begins like a placed one is not on the device."""
    file = place(disk, HDD, folder / "hdd")
    disk.switch(False)
    run(disk, READ_AT_RANDOM, file, 1000)
    disk.switch(True)
    (folder / "hdd2").mkdir()
    elsewhere = folder / "hdd2" / "data"
    elsewhere.write_bytes(bytes(MEGABYTE))
    run(disk, READ_AT_RANDOM, elsewhere, 1000)
    assert disk.counters()["hdd"].reads == 0


def test_a_descriptor_used_again_belongs_to_the_new_file(disk: SlowDisk, folder: Path) -> None:
    """Closing, and placing one descriptor over another, makes the program forget which device it was; links resolve."""
    slow, fast = place(disk, HDD, folder / "hdd"), place(disk, SSD, folder / "ssd")
    (folder / "link").symlink_to(folder / "ssd")
    script = """
import os, sys
os.chdir(sys.argv[3])
fd = os.open(sys.argv[1], os.O_RDONLY); os.pread(fd, 8192, 81920); os.close(fd)
again = os.open("link/data", os.O_RDONLY); assert again == fd; os.pread(again, 8192, 81920)
other = os.open(sys.argv[1], os.O_RDONLY); os.dup2(other, again); os.pread(again, 8192, 819200)
"""
    assert start(disk, script, slow, fast, folder).wait(60) == 0
    assert (disk.counters()["hdd"].reads, disk.counters()["ssd"].reads) == (2, 1)


def test_folders_on_one_device_share_its_queue(disk: SlowDisk, folder: Path) -> None:
    """Two folders placed on a device of one name are one disk, and a program sees a folder that is placed later."""
    first, second = place(disk, HDD, folder / "one"), place(disk, HDD, folder / "two")
    run(disk, READ_AT_RANDOM, first, 5)
    run(disk, READ_AT_RANDOM, second, 5)
    assert disk.counters().keys() == {"hdd"}
    assert disk.counters()["hdd"].reads == 10


def test_killed_readers_leave_the_queue_usable(disk: SlowDisk, folder: Path) -> None:
    """The queue is a point in time, not a lock: nobody waits for the dead longer than their last request."""
    file = place(disk, HDD, folder / "hdd")
    readers = [start(disk, READ_AT_RANDOM, file, number, 100_000) for number in range(8)]
    while disk.counters()["hdd"].reads < 50:
        assert readers[0].poll() is None
        time.sleep(0.01)
    for reader in readers:
        reader.send_signal(signal.SIGKILL)
        reader.wait()
    assert run(disk, READ_AT_RANDOM, file, 1) < 5.0


def test_there_is_no_laboratory_without_a_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the reason names what was looked for."""
    monkeypatch.setenv("PATH", str(folder))
    assert available() == (False, "no C compiler was found (looked for cc, gcc, clang)")
    with pytest.raises(SlowDiskUnavailable, match="no C compiler"):
        build(folder)


@pytest.mark.usefixtures("disk")
def test_a_library_that_does_not_load_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told of a slow disk that is not in effect."""
    monkeypatch.setattr(slow_disk, "PROBE", "/nowhere/true")
    with pytest.raises(SlowDiskUnavailable, match="did not run"):
        build(folder)
    blank = folder / "a blank"
    blank.mkdir()
    with pytest.raises(SlowDiskUnavailable, match="blank or a colon"):
        build(blank)


@pytest.mark.usefixtures("disk")
@pytest.mark.parametrize("source", [SlowDisk.SOURCE, LimitedDisk.SOURCE], ids=["product", "experiment"])
def test_the_source_compiles_without_warnings(folder: Path, source: Path) -> None:
    """With all the usual warnings as errors."""
    options = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(
        [str(slow_disk._compiler()), *options, "-o", str(folder / "strict.so"), str(source), "-ldl"],
        check=True,
    )


def test_too_many_places_are_refused(disk: SlowDisk, folder: Path) -> None:
    """The control file has a fixed size, and says so."""
    with pytest.raises(ValueError, match="channels"):
        disk.place(DeviceModel(name="wide", channels=17, access_seconds=0.0, bytes_per_second=1e9), folder)
    for _ in range(16):
        disk.place(HDD, folder)
    with pytest.raises(ValueError, match="at most 16 folders"):
        disk.place(HDD, folder)
