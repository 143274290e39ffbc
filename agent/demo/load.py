"""A bounded closed-loop load on the demo's schema, from a process of its own, so that its CPU time counts for no other.

``Load`` starts the process (clients.py). Once a second it appends one line of JSON to a file that is read here. It
stops on SIGTERM, at the end of its parent (its standard input closes), and after a hard time limit, whichever comes
first.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from agent.demo.schema import DemoSchema
from connectors.base import HotplaceError

BUCKETS_PER_DECADE = 50  # of the latency histogram: each is 4.7 % wide
FASTEST_SECONDS = 1e-6
STOP_SECONDS = 5.0  # for the process to end before it is killed


class LoadFailed(HotplaceError):
    """The load process ended when it should have run; the message holds its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How much load, for how long at most."""

    clients: int = 8
    seed: int = 1
    think_seconds: float = 0.004  # a client's pause after each transaction: bounds CPU where storage does not
    scan_rest_seconds: float = 10.0  # between two scans
    limit_seconds: float = 300.0  # the process ends by then, whatever happens


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the clients did in about one second. Scans are counted but are no transactions of the clients."""

    ended_monotonic: float  # CLOCK_MONOTONIC, which all processes of a machine share
    seconds: float
    transactions: int
    errors: int
    by_kind: dict[str, int] = field(default_factory=dict)
    error_classes: dict[str, int] = field(default_factory=dict)
    latency: dict[int, int] = field(default_factory=dict)  # histogram: bucket -> transactions


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Several readings together."""

    seconds: float
    transactions: int
    errors: int
    per_second: float
    latency_mean_seconds: float  # the histogram's; NaN without transactions, like the percentiles
    latency_p50_seconds: float
    latency_p95_seconds: float
    latency_p99_seconds: float


def bucket_of(seconds: float) -> int:
    """The histogram's bucket of a latency."""
    return math.floor(BUCKETS_PER_DECADE * math.log10(max(seconds, FASTEST_SECONDS)))


def bucket_seconds(bucket: int) -> float:
    """A latency in the middle of a bucket."""
    return float(10 ** ((bucket + 0.5) / BUCKETS_PER_DECADE))


def together(readings: Iterable[Reading]) -> Throughput:
    """Throughput and latencies over several readings; percentiles are exact to the width of a bucket."""
    known = list(readings)
    latency: Counter[int] = Counter()
    for reading in known:
        latency.update(reading.latency)
    seconds = math.fsum(r.seconds for r in known)
    transactions = sum(r.transactions for r in known)
    total = sum(latency.values())
    mean = math.fsum(bucket_seconds(b) * n for b, n in latency.items()) / total if total else math.nan
    return Throughput(
        seconds=seconds,
        transactions=transactions,
        errors=sum(r.errors for r in known),
        per_second=transactions / seconds if seconds else math.nan,
        latency_mean_seconds=mean,
        latency_p50_seconds=_percentile(latency, 0.50),
        latency_p95_seconds=_percentile(latency, 0.95),
        latency_p99_seconds=_percentile(latency, 0.99),
    )


def _percentile(latency: Counter[int], share: float) -> float:
    rank, seen = share * sum(latency.values()), 0
    for bucket in sorted(latency):
        seen += latency[bucket]
        if seen >= rank:
            return bucket_seconds(bucket)
    return math.nan


class Load:
    """A running load process. Use as a context manager, or ``start`` and ``stop``."""

    def __init__(self, conninfo: str, schema: DemoSchema, folder: Path, settings: LoadSettings | None = None) -> None:
        self._order = {
            "conninfo": conninfo, "schema": asdict(schema), "settings": asdict(settings or LoadSettings()),
            "readings": str(folder / "load.jsonl"),
        }  # fmt: skip
        self._readings = folder / "load.jsonl"
        self._words = folder / "load.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; readings follow within about two seconds."""
        self._readings.write_bytes(b"")
        with self._words.open("wb") as words:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "agent.demo.clients"], stdin=subprocess.PIPE, stdout=words, stderr=words
            )
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps(self._order).encode() + b"\n")  # not an argument: a conninfo may hold a password
        stdin.flush()

    def running(self) -> bool:
        """Whether the process still runs."""
        return self._process is not None and self._process.poll() is None

    def readings(self) -> list[Reading]:
        """Every reading so far, oldest first.

        Raises:
            LoadFailed: the process ended with an error.
        """
        if self._process is not None and self._process.poll() not in (None, 0):
            raise LoadFailed(f"the load ended with {self._process.returncode}: {self._last_words()}")
        lines = self._readings.read_text(encoding="utf-8").split("\n")[:-1]  # the last may be half written
        return [_parse_reading(line) for line in lines]

    def between(self, started: float, ended: float) -> Throughput:
        """The readings that lie within two instants of ``time.monotonic()``, together."""
        return together(
            r for r in self.readings() if started <= r.ended_monotonic - r.seconds and r.ended_monotonic <= ended
        )

    def stop(self) -> None:
        """End the process; harmless when it does not run."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _last_words(self) -> str:
        return self._words.read_text(errors="replace").strip()[-600:]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _parse_reading(line: str) -> Reading:
    values = json.loads(line)
    values["latency"] = {int(bucket): count for bucket, count in values["latency"].items()}
    return Reading(**values)
