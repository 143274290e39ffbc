"""The clients of the demo's load: the process ``python -m agent.demo.clients``, which ``load.ShopLoad`` starts.

Each client has one session and one transaction in flight: it draws a kind of transaction, runs it, thinks a moment, and
draws again. One more client scans a table from end to end, rests, and scans again. Nothing is retried in secret: a
statement that fails (cancelled, locked out, server gone) is counted, and the client goes on.
"""

from __future__ import annotations

import io
import json
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import psycopg

from agent.demo.load import AUDIT_CHARACTERS, MONTH_DAYS, DemoSchema, LoadReading, LoadSettings, bucket_of

SCAN = "scan"
FINISH_SECONDS = 1.0  # what the process gives its clients for their last transaction
PAUSE_AFTER_ERROR_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionKind:
    """One kind of transaction: a statement and how its parameters are drawn."""

    name: str
    weight: float
    statement: str
    parameters: Callable[[random.Random], tuple[object, ...]]


def kinds(schema: DemoSchema) -> tuple[TransactionKind, ...]:
    """The transactions of the clients."""
    return (
        TransactionKind(
            name="hot",
            weight=50,
            statement=f"SELECT customer, total, note FROM {schema.hot} WHERE id = %s",  # quoted names
            parameters=lambda draw: (draw.randint(1, schema.hot_rows),),
        ),
        TransactionKind(
            name="cached",
            weight=30,
            statement=f"SELECT sum(price) FROM {schema.cached} WHERE id = ANY (%s)",
            parameters=lambda draw: ([draw.randint(1, schema.cached_rows) for _ in range(20)],),
        ),
        TransactionKind(
            name="newest",
            weight=12,
            statement=f"SELECT address FROM {schema.partitioned}"
            f" WHERE sent = date '{schema.newest_first_day}' + %s::int AND id = %s",
            parameters=lambda draw: ((row := draw.randint(1, schema.partition_rows)) % MONTH_DAYS, row),
        ),
        TransactionKind(
            name="append",
            weight=8,
            statement=f"INSERT INTO {schema.history} (at, what) VALUES (now(), %s)",
            parameters=lambda draw: (f"{draw.getrandbits(4 * AUDIT_CHARACTERS):x}",),
        ),
    )


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
        # A generator for each client: with one for all, the order in which threads get at it would decide who draws
        # what.
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
        statement = f"SELECT sum(seconds) FROM {self._schema.scanned}"
        while not self.stopping.is_set():
            self._done.put(session.run(SCAN, statement, ()))
            self.stopping.wait(self._settings.scan_rest_seconds)
        session.close()

    def reading(self, since: float) -> LoadReading:
        """Everything that was done since the last call, which was at ``since`` (monotonic seconds)."""
        done = list(_drain(self._done))
        now = time.monotonic()
        good = [d for d in done if not d.error]
        transactions = [d for d in good if d.kind != SCAN]
        return LoadReading(
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
            # A server that is away would be asked thousands of times a second.
            time.sleep(PAUSE_AFTER_ERROR_SECONDS)
            return _Done(kind, time.monotonic() - started, type(error).__name__)
        return _Done(kind, time.monotonic() - started)

    def close(self) -> None:
        """End the session."""
        if self._connection is not None:
            self._connection.close()


def _drain(queue: SimpleQueue[_Done]) -> Iterable[_Done]:
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
