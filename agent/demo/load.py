"""A small shop on two tablespaces, and a bounded closed-loop load on it.

``build`` makes the shop: one thing worth moving, and a decoy for every wrong way to choose it.

| relation | what it is | where | what should happen to it |
|---|---|---|---|
| shop.orders and its key | read at random, larger than the buffer pool | hdd | to ssd |
| newest partition of shop.shipments and its key | read at random; its older sisters are idle | hdd | to ssd |
| shop.price_list | busiest by logical reads, always in the buffer pool | hdd | stays |
| shop."click stream" | large, read by sequential scans only | hdd | stays |
| shop.audit_log | appended to, never read | hdd | stays |
| shop.invoices_2019, shop.invoices_2020 | cold, and fill the ssd | ssd | give way as far as room is needed |

``ShopLoad`` starts the load as a process of its own (``clients.py``), so that its CPU time counts for no other. Once a
second the process appends one line of JSON to a file that is read here. It stops on SIGTERM, at the end of its parent
(its standard input closes), or after a hard time limit, whichever comes first.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from connectors.kit.contract import HotplaceError

HDD_SPACE, SSD_SPACE = "hdd_space", "ssd_space"
MEGABYTE = 1024 * 1024
SSD_CAPACITY_BYTES = 160 * MEGABYTE  # at scale 1; holds the cold data or the hot data, not both
BUILDERS = 2  # sessions that fill tables at the same time

# io_method stays PostgreSQL 18's own (worker): workers inherit the disk model, a lookup's single block is read by its
# own session either way, and throughput came out the same with sync. What people run is the better thing to show.
SERVER_SETTINGS: Mapping[str, str] = {
    "shared_buffers": "16MB",  # a quarter of the hot table, so that its reads reach storage
    "max_connections": "40",
    "autovacuum": "off",  # nothing but the load and the moves reads storage while it is measured
    "track_io_timing": "on",
    "fsync": "off",  # a throw-away cluster
    "full_page_writes": "off",
    "max_wal_size": "2GB",  # no checkpoint in the middle
    "checkpoint_timeout": "1h",
    "max_parallel_workers_per_gather": "0",  # one scan is one reader
    "maintenance_work_mem": "64MB",
    "jit": "off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSchema:
    """What was built: the role of each relation, and how many rows the load may ask for.

    Names are qualified and quoted as PostgreSQL's ``quote_ident`` does it, ready for SQL.
    """

    hot: str
    hot_index: str
    cached: str
    scanned: str
    history: str
    cold: tuple[str, ...]
    partitioned: str  # the parent, which has no storage
    newest_partition: str
    newest_partition_index: str
    idle_partitions: tuple[str, ...]
    hot_rows: int  # ids run from 1
    cached_rows: int
    newest_first_day: str  # of the newest partition, YYYY-MM-DD
    partition_rows: int
    ssd_capacity_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relation:
    """One table to fill: statements run in order, ``{rows}`` is replaced."""

    rows: int
    space: str
    statements: Sequence[str]


_ORDERS = _Relation(
    rows=460_000,
    space=HDD_SPACE,
    statements=(
        "CREATE TABLE shop.orders (id bigint, customer int, placed timestamptz, total numeric(10,2), note text)",
        """INSERT INTO shop.orders
           SELECT i, i % 50000, timestamptz '2026-01-01Z' + i * interval '30 s', i % 977, repeat(md5(i::text), 2) || i
             FROM generate_series(1, {rows}) AS i""",
        "ALTER TABLE shop.orders ADD PRIMARY KEY (id)",
    ),
)
_PRICE_LIST = _Relation(
    rows=8_000,
    space=HDD_SPACE,
    statements=(
        "CREATE TABLE shop.price_list (id bigint, price numeric(10,2), label text)",
        "INSERT INTO shop.price_list SELECT i, i % 977, md5(i::text) FROM generate_series(1, {rows}) AS i",
        "ALTER TABLE shop.price_list ADD PRIMARY KEY (id)",
    ),
)
_CLICK_STREAM = _Relation(
    rows=26_000,
    space=HDD_SPACE,
    statements=(
        'CREATE TABLE shop."click stream" (seen timestamptz, seconds int, page text)',
        """INSERT INTO shop."click stream"
           SELECT timestamptz '2026-01-01Z' + i * interval '1 s', i % 977, repeat(md5(i::text), 30)
             FROM generate_series(1, {rows}) AS i""",
    ),
)
AUDIT_CHARACTERS = (
    58 * 32
)  # of an entry: four to a page, so that written pages count next to the page that an insert touches
_AUDIT_LOG = _Relation(
    rows=6_000,
    space=HDD_SPACE,
    statements=(
        "CREATE TABLE shop.audit_log (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz, what text)",
        """INSERT INTO shop.audit_log (at, what)
           SELECT timestamptz '2026-01-01Z' + i * interval '1 min', repeat(md5(i::text), 58)
             FROM generate_series(1, {rows}) AS i""",
        "ALTER TABLE shop.audit_log ADD PRIMARY KEY (id)",
    ),
)
_COLD_YEARS = {"2019": 42_000, "2020": 19_000}
_MONTHS = ("2026-02", "2026-03", "2026-04", "2026-05", "2026-06")
_MONTH_ROWS = 70_000
MONTH_DAYS = 28  # of the shortest month


def _invoices(year: str, rows: int) -> _Relation:
    table = f"shop.invoices_{year}"
    return _Relation(
        rows=rows,
        space=SSD_SPACE,
        statements=(
            f"CREATE TABLE {table} (id bigint, body text)",
            f"INSERT INTO {table} SELECT i, repeat(md5(i::text), 55) FROM generate_series(1, {{rows}}) AS i",
            f"ALTER TABLE {table} ADD PRIMARY KEY (id)",
        ),
    )


def _shipments(rows: int) -> _Relation:
    """One table of months; row ``i`` of each month was sent ``i % MONTH_DAYS`` days after its first."""
    months = [
        f'CREATE TABLE shop."shipments {month}" PARTITION OF shop.shipments'
        f" FOR VALUES FROM ('{month}-01') TO (date '{month}-01' + interval '1 month')"
        for month in _MONTHS
    ]
    fills = [
        f"""INSERT INTO shop."shipments {month}"
            SELECT date '{month}-01' + i % {MONTH_DAYS}, i, repeat(md5(i::text), 4)
              FROM generate_series(1, {{rows}}) AS i"""  # names and numbers of this module
        for month in _MONTHS
    ]
    parent = "CREATE TABLE shop.shipments (sent date, id bigint, address text) PARTITION BY RANGE (sent)"
    key = "ALTER TABLE shop.shipments ADD PRIMARY KEY (sent, id)"
    return _Relation(rows=rows, space=HDD_SPACE, statements=(parent, *months, *fills, key))


def build(conninfo: str, hdd_folder: Path, ssd_folder: Path, *, scale: float = 1.0) -> DemoSchema:
    """Make the tablespaces and the tables, vacuumed, analyzed and checkpointed, the cached one in the buffer pool.

    Args:
        conninfo: of a superuser on an empty database.
        hdd_folder: of the tablespace ``hdd_space``; empty, owned by the server's user.
        ssd_folder: of the tablespace ``ssd_space``; likewise.
        scale: of all row counts; below 1 the hot table may fit the buffer pool.

    Raises:
        psycopg.Error: a statement was refused.
    """
    with psycopg.connect(conninfo, autocommit=True) as session:
        for space, folder in ((HDD_SPACE, hdd_folder), (SSD_SPACE, ssd_folder)):
            session.execute(
                sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(sql.Identifier(space), sql.Literal(str(folder)))
            )
        session.execute("CREATE SCHEMA shop")
    cold = [_invoices(year, rows) for year, rows in _COLD_YEARS.items()]
    relations = (_ORDERS, _shipments(_MONTH_ROWS), *cold, _CLICK_STREAM, _AUDIT_LOG, _PRICE_LIST)  # longest first
    with ThreadPoolExecutor(BUILDERS) as builders:
        list(builders.map(lambda relation: _fill(conninfo, relation, scale), relations))
    with psycopg.connect(conninfo, autocommit=True) as session:
        session.execute("VACUUM (ANALYZE)")
        session.execute("CHECKPOINT")
        # A table this busy was in the buffer pool long before anybody looks; its first reads would be a start-up's.
        session.execute("SET enable_seqscan = off")
        session.execute("SELECT sum(price) FROM shop.price_list WHERE id > 0")
    return _schema_at(scale)


def _fill(conninfo: str, relation: _Relation, scale: float) -> None:
    with psycopg.connect(conninfo) as session:
        session.execute(sql.SQL("SET default_tablespace = {}").format(sql.Identifier(relation.space)))
        for statement in relation.statements:
            session.execute(statement.replace("{rows}", str(_scale(relation.rows, scale))).encode())


def _scale(rows: int, scale: float) -> int:
    return max(100, round(rows * scale))


def _schema_at(scale: float) -> DemoSchema:
    newest = _MONTHS[-1]
    return DemoSchema(
        hot="shop.orders",
        hot_index="shop.orders_pkey",
        cached="shop.price_list",
        scanned='shop."click stream"',
        history="shop.audit_log",
        cold=tuple(f"shop.invoices_{year}" for year in _COLD_YEARS),
        partitioned="shop.shipments",
        newest_partition=f'shop."shipments {newest}"',
        newest_partition_index=f'shop."shipments {newest}_pkey"',
        idle_partitions=tuple(f'shop."shipments {month}"' for month in _MONTHS[:-1]),
        hot_rows=_scale(_ORDERS.rows, scale),
        cached_rows=_scale(_PRICE_LIST.rows, scale),
        newest_first_day=f"{newest}-01",
        partition_rows=_scale(_MONTH_ROWS, scale),
        ssd_capacity_bytes=round(SSD_CAPACITY_BYTES * scale),
    )


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
class LoadReading:
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


def together(readings: Iterable[LoadReading]) -> Throughput:
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


class ShopLoad:
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

    def readings(self) -> list[LoadReading]:
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


def _parse_reading(line: str) -> LoadReading:
    values = json.loads(line)
    values["latency"] = {int(bucket): count for bucket, count in values["latency"].items()}
    return LoadReading(**values)
