"""What clients do, by pgbench: weighted scripts, one line a transaction, and what can be read from those lines."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from agent.demo.server import PrivateServer
from connectors.model.observation import F64, I64

FOREGROUND, BACKGROUND = "lab foreground", "lab background"  # names of their sessions
GRACE_SECONDS = 60.0  # what pgbench is given to end after its time
_NUMBERS = itertools.count(1)


class LoadFailed(Exception):
    """pgbench ended with an error; the message ends with its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One kind of transaction in pgbench's language."""

    name: str
    text: str
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Clients that draw from the same scripts, in one pgbench process."""

    scripts: tuple[Script, ...]
    clients: int
    rate: float = (
        0.0  # transactions a second in all, waiting time counted from when each was due; 0: as fast as it goes
    )
    foreground: bool = True  # False: its transactions are not counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """All clients together."""

    groups: tuple[Group, ...]

    @property
    def clients(self) -> int:
        """Sessions whose transactions count."""
        return sum(group.clients for group in self.groups if group.foreground)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A stretch of a run in numbers; seconds throughout, NaN without transactions."""

    per_second: float
    mean: float
    p99: float
    longest: float  # transaction
    stall: float  # longest time in which no transaction ended
    total: float  # all transactions' times added up
    transactions: int
    read_wait: float = float("nan")  # of a transaction, by the server's own clock; NaN: this server does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Every transaction, by the time it ended. Columns of one length."""

    started: float  # seconds since 1970, like ``ended``
    ended: F64
    latency: F64
    script: I64  # over all scripts of all foreground groups, in order

    def between(self, begin: float, end: float, script: int | None = None) -> Figures:
        """What ended in [begin, end) seconds after the start."""
        at = self.ended - self.started
        inside = (at >= begin) & (at < end) & ((self.script == script) if script is not None else True)
        latency, marks = self.latency[inside], np.concatenate(([begin], at[inside], [end]))
        some = len(latency) > 0
        return Figures(
            per_second=len(latency) / (end - begin),
            mean=float(latency.mean()) if some else float("nan"),
            p99=float(np.percentile(latency, 99)) if some else float("nan"),
            longest=float(latency.max()) if some else float("nan"),
            stall=float(np.diff(marks).max()),
            total=float(latency.sum()),
            transactions=len(latency),
        )


@dataclass(slots=True)
class Clients:
    """Running pgbench processes."""

    workload: Workload
    folder: Path
    processes: list[subprocess.Popen[bytes]]
    started: float
    seconds: float
    _words: list[Path] = field(default_factory=list)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.time() - self.started

    def check(self) -> None:
        """All groups still run.

        Raises:
            LoadFailed: one has ended.
        """
        for process, words in zip(self.processes, self._words, strict=True):
            if process.poll() is not None:
                raise LoadFailed(f"pgbench ended with {process.returncode}: {_errors(words)}")

    def sleep_until(self, seconds: float) -> None:
        """Wait until so many seconds after the start."""
        time.sleep(max(0.0, seconds - self.elapsed()))

    def finish(self) -> Run:
        """Wait for the end and read every line.

        Raises:
            LoadFailed: a process ended with an error or not at all.
        """
        for process, group in zip(self.processes, self.workload.groups, strict=True):
            if group.foreground:
                self._wait(process)
        self.stop()  # who rests in the background would end its rest first
        for process, words, group in zip(self.processes, self._words, self.workload.groups, strict=True):
            if process.returncode and group.foreground:
                raise LoadFailed(f"pgbench ended with {process.returncode}: {_errors(words)}")
        return self.read()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(max(0.0, self.seconds - self.elapsed()) + GRACE_SECONDS)
        except subprocess.TimeoutExpired as error:
            self.stop()
            raise LoadFailed(f"pgbench did not end within {GRACE_SECONDS:.0f} s of its time") from error

    def stop(self) -> None:
        """End them now; what they did is not read."""
        for process in self.processes:
            process.kill()
            process.wait()

    def read(self) -> Run:
        """Every line written so far."""
        parts, first = [], 0
        for number, group in enumerate(self.workload.groups):
            if group.foreground:
                parts += [_lines(path, first) for path in sorted(self.folder.glob(f"log{number}.*"))]
                first += len(group.scripts)
        lines = np.concatenate(parts) if parts else np.empty((0, 3))
        lines = lines[np.argsort(lines[:, 0])]
        return Run(started=self.started, ended=lines[:, 0], latency=lines[:, 1], script=lines[:, 2].astype(np.int64))


def _errors(words: Path) -> str:
    """The errors among what a pgbench has said."""
    return " ".join(line for line in words.read_text(errors="replace").splitlines() if "error" in line)[:600]


def _lines(path: Path, first: int) -> F64:
    """Columns end, latency, script of one log; a last line that is half written is left out."""
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if not whole:
        return np.empty((0, 3))
    columns = np.loadtxt(whole.splitlines(), usecols=(2, 3, 4, 5), ndmin=2)
    return np.column_stack((columns[:, 2] + columns[:, 3] / 1e6, columns[:, 0] / 1e6, columns[:, 1] + first))


def start(server: PrivateServer, folder: Path, workload: Workload, seconds: float, seed: int) -> Clients:
    """Start every group for so many seconds. Lines go into a folder of their own below ``folder``."""
    place = folder / f"load{next(_NUMBERS)}"
    place.mkdir()
    # By the wall clock, which is what pgbench's log lines have.
    clients = Clients(workload=workload, folder=place, processes=[], started=time.time(), seconds=seconds)
    for number, group in enumerate(workload.groups):
        words = place / f"words{number}"
        clients._words.append(words)
        with words.open("wb") as sink:
            clients.processes.append(
                subprocess.Popen(
                    _command(server, place, group, number, seconds, seed),
                    cwd=place, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
                    env={**os.environ, "PGAPPNAME": FOREGROUND if group.foreground else BACKGROUND},
                )
            )  # fmt: skip
    return clients


def _command(server: PrivateServer, place: Path, group: Group, number: int, seconds: float, seed: int) -> Sequence[str]:
    files = []
    for script in group.scripts:
        path = place / f"{number}-{script.name}.sql"
        path.write_text(script.text)
        files += ["-f", f"{path}@{script.weight}"]
    return [
        str(server.installation / "bin" / "pgbench"), "-n", "-M", "prepared", "-c", str(group.clients),
        "-T", str(max(1, round(seconds))), f"--random-seed={seed}", "-l", f"--log-prefix=log{number}",
        *(["-R", f"{group.rate:g}"] if group.rate else []), *files, server.conninfo,
    ]  # fmt: skip
