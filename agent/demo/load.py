"""A bounded closed-loop load on the demo's schema, in a process of its own, so that its CPU is nobody else's.

Each client has one session and one transaction in flight: it draws a kind of transaction, runs it, thinks a moment, and
draws again. One more client scans a table from end to end, rests, and scans again. Nothing is retried in secret: a
statement that fails (cancelled, locked out, server gone) is counted, and the client goes on.

``Load`` starts the process, ``python -m agent.demo.load`` is the process. Once a second it appends one line of JSON to
a file that the parent reads. It stops on SIGTERM, at the end of its parent (its standard input closes), and after a
hard time limit, whichever comes first.
"""

from __future__ import annotations

import io
import json
import math
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

import psycopg

from agent.demo.schema import MONTH_DAYS, DemoSchema
from connectors.base import HotplaceError

BUCKETS_PER_DECADE = 50  # of the latency histogram: each is 4.7 % wide
FASTEST_SECONDS = 1e-6
SCAN = "scan"
STOP_SECONDS = 5.0  # what the process is given to end by itself
FINISH_SECONDS = 1.0  # what it gives its clients for their last transaction
PAUSE_AFTER_ERROR_SECONDS = 0.05


class LoadFailed(HotplaceError):
    """The load process ended when it should have run; the message holds its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of transaction: a statement and how its parameters are drawn."""

    name: str
    weight: float
    statement: str
    parameters: Callable[[random.Random], tuple[object, ...]]


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


def kinds(schema: DemoSchema) -> tuple[Kind, ...]:
    """The transactions of the clients."""
    return (
        Kind(
            name="hot",
            weight=50,
            statement=f"SELECT customer, total, note FROM {schema.hot} WHERE id = %s",  # noqa: S608  # quoted names
            parameters=lambda draw: (draw.randint(1, schema.hot_rows),),
        ),
        Kind(
            name="cached",
            weight=30,
            statement=f"SELECT sum(price) FROM {schema.cached} WHERE id = ANY (%s)",  # noqa: S608
            parameters=lambda draw: ([draw.randint(1, schema.cached_rows) for _ in range(20)],),
        ),
        Kind(
            name="newest",
            weight=12,
            statement=f"SELECT address FROM {schema.partitioned}"  # noqa: S608
            f" WHERE sent = date '{schema.newest_first_day}' + %s::int AND id = %s",
            parameters=lambda draw: ((row := draw.randint(1, schema.partition_rows)) % MONTH_DAYS, row),
        ),
        Kind(
            name="append",
            weight=8,
            statement=f"INSERT INTO {schema.history} (at, what) VALUES (now(), %s)",  # noqa: S608
            parameters=lambda draw: (f"{draw.getrandbits(512):x}",),
        ),
    )


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


# ---- the parent's side


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
                [sys.executable, "-m", "agent.demo.load"], stdin=subprocess.PIPE, stdout=words, stderr=words
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
        return [_parsed(line) for line in lines]

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


def _parsed(line: str) -> Reading:
    values = json.loads(line)
    values["latency"] = {int(bucket): count for bucket, count in values["latency"].items()}
    return Reading(**values)


# ---- the process itself


@dataclass(frozen=True, slots=True)
class _Done:
    """One finished transaction or failure."""

    kind: str
    seconds: float
    error: str = ""


class _Clients:
    """The threads of the load process and what they report."""

    def __init__(self, conninfo: str, schema: DemoSchema, settings: LoadSettings) -> None:
        self._conninfo = conninfo
        self._schema = schema
        self._settings = settings
        self._done: SimpleQueue[_Done] = SimpleQueue()
        self.stopping = threading.Event()
        self._threads = [threading.Thread(target=self._scan, daemon=True)]  # daemons: a statement that hangs cannot
        for number in range(settings.clients):  # keep the process alive
            self._threads.append(threading.Thread(target=self._look_up, args=(number,), daemon=True))

    def start(self) -> None:
        """Start every client."""
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Let each client end its transaction and its session, but wait for none for long."""
        self.stopping.set()
        end = time.monotonic() + FINISH_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _look_up(self, number: int) -> None:
        draw = random.Random(f"{self._settings.seed} {number}")
        menu = kinds(self._schema)
        weights = [kind.weight for kind in menu]
        session = _Session(self._conninfo, f"hotplace demo client {number}")
        while not self.stopping.is_set():
            (kind,) = draw.choices(menu, weights)
            self._done.put(session.run(kind.name, kind.statement, kind.parameters(draw)))
            self.stopping.wait(draw.uniform(0, 2 * self._settings.think_seconds))
        session.close()

    def _scan(self) -> None:
        session = _Session(self._conninfo, "hotplace demo scan")
        statement = f"SELECT sum(seconds) FROM {self._schema.scanned}"  # noqa: S608
        while not self.stopping.is_set():
            self._done.put(session.run(SCAN, statement, ()))
            self.stopping.wait(self._settings.scan_rest_seconds)
        session.close()

    def reading(self, since: float) -> Reading:
        """Everything that was done since the last call, which was at ``since`` (monotonic seconds)."""
        done = list(_drained(self._done))
        now = time.monotonic()
        good = [d for d in done if not d.error]
        transactions = [d for d in good if d.kind != SCAN]
        return Reading(
            ended_monotonic=now,
            seconds=now - since,
            transactions=len(transactions),
            errors=len(done) - len(good),
            by_kind=dict(Counter(d.kind for d in good)),
            error_classes=dict(Counter(d.error for d in done if d.error)),
            latency=dict(Counter(bucket_of(d.seconds) for d in transactions)),
        )


class _Session:
    """One connection, made again when it breaks."""

    def __init__(self, conninfo: str, name: str) -> None:
        self._conninfo = conninfo
        self._name = name
        self._connection: psycopg.Connection | None = None

    def run(self, kind: str, statement: str, parameters: Sequence[object]) -> _Done:
        """One transaction of one statement; an error is an answer, not an end."""
        started = time.monotonic()
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._conninfo, autocommit=True, application_name=self._name)
            self._connection.execute(statement.encode(), parameters, prepare=True)
        except psycopg.Error as error:
            time.sleep(PAUSE_AFTER_ERROR_SECONDS)
            return _Done(kind, time.monotonic() - started, type(error).__name__)
        return _Done(kind, time.monotonic() - started)

    def close(self) -> None:
        """End the session."""
        if self._connection is not None:
            self._connection.close()


def _drained(queue: SimpleQueue[_Done]) -> Iterable[_Done]:
    with suppress(Empty):
        while True:
            yield queue.get_nowait()


def _wait_for_the_parent(order: io.RawIOBase, stopping: threading.Event) -> None:
    order.read(1)  # returns when the parent closes its end or dies
    stopping.set()


def main() -> None:
    """The load process: the order comes as one line of JSON on standard input."""
    source = io.FileIO(sys.stdin.fileno(), closefd=False)  # unbuffered: a buffer's lock would hang the exit
    order = json.loads(source.readline())
    schema, settings = DemoSchema(**order["schema"]), LoadSettings(**order["settings"])
    clients = _Clients(order["conninfo"], schema, settings)
    signal.signal(signal.SIGTERM, lambda *_: clients.stopping.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal reaches the parent too, which stops us
    threading.Thread(target=_wait_for_the_parent, args=(source, clients.stopping), daemon=True).start()
    end = time.monotonic() + settings.limit_seconds
    clients.start()
    with Path(order["readings"]).open("a", encoding="utf-8") as file:
        since = time.monotonic()
        while not clients.stopping.wait(1.0) and time.monotonic() < end:
            reading = clients.reading(since)
            since = reading.ended_monotonic
            file.write(json.dumps(asdict(reading)) + "\n")
            file.flush()
    clients.finish()


if __name__ == "__main__":
    main()
