"""What processes cost, read from /proc: processor time, resident and private memory."""

from __future__ import annotations

import os
from pathlib import Path


def backend_cpu_seconds(pid: int) -> float:
    """Processor time that a process of one thread has used, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used, ended threads included, to the clock's tick of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime, stime


def peak_rss_mib(pid: int) -> float:
    """Peak resident memory of a process so far."""
    return _status(pid, "VmHWM") / 1024


def rss_mib(pid: int) -> float:
    """Resident memory of a process now."""
    return _status(pid, "VmRSS") / 1024


def private_mib(pid: int) -> float:
    """Memory that a process has written in mappings of its own: a backend's caches, not its part of shared buffers."""
    total, own = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if "-" in word and not word.endswith(":"):
            own = rest[3] == "p"  # permissions, e.g. rw-p: private, rw-s: shared with other processes
        elif own and word == "Private_Dirty:":
            total += int(rest.split()[0])
    return total / 1024


def open_files(pid: int) -> int:
    """File descriptors that a process holds."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _status(pid: int, word: str) -> int:
    """A line of /proc/PID/status, in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{word}:"):
            return int(line.split()[1])
    raise ValueError(f"/proc/{pid}/status has no {word}")
