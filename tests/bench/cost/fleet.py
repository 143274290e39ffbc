"""What a ledger of many databases costs: on a real PostgreSQL that syncs, with 10, 100 and 1,000 databases.

Each database has the document of an agent, a sizing curve and an open proposal of five moves. The commands are run as
programs, start included. Writes come from eight threads, each with sessions of its own, as from eight machines.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg
import yaml
from sqlalchemy import text

from agent.config.models import LedgerServer
from agent.demo.server import private_server
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import SIZING_CURVE
from agent.ledger.store.database import Database
from agent.model.clock import SystemClock
from connectors.model.observation import DatabaseDemand
from tests.bench.measurement import Measurement, of_runs
from tests.labs.postgresql import installations
from tests.ledger.fleet import heard_of, proposed

COMMAND = "python -m tests.bench fleet"
DATABASES, QUICK = (10, 100, 1000), (10, 100)
RUNS, THREADS, WRITES, DECISIONS = 5, 8, 400, 60
MOVES, POINTS = 5, 60
UNITS, READ = 1000, 200  # of a database, and those that are read in an interval
DAY_MINUTES = 24 * 60
SETTINGS = {"shared_buffers": "128MB", "max_connections": "60"}


def measurements(quick: bool = False) -> list[Measurement]:
    """Seconds of commands by the number of databases, and milliseconds of writes of the largest."""
    lines: list[Measurement] = []
    newest = installations()[max(installations())]
    for databases in QUICK if quick else DATABASES:
        with private_server(newest, SETTINGS) as server, tempfile.TemporaryDirectory() as folder:
            with psycopg.connect(host=str(server.folder), user="postgres", dbname="postgres", autocommit=True) as dba:
                dba.execute("CREATE DATABASE fleet")
            place = LedgerServer(host=str(server.folder), dbname="fleet", user="postgres")
            lines += _measured(place, Path(folder), databases)
            if databases == min(QUICK if quick else DATABASES):
                lines += _day(place, Path(folder))
            if databases == max(QUICK if quick else DATABASES):
                lines += _writes(place, Path(folder), databases)
                lines += _roll_ups(place, Path(folder), databases)
    return lines + [_growth(lines, command) for command in ("status", "sizing")]


def _growth(lines: list[Measurement], command: str) -> Measurement:
    """With which power of the number of databases a command's seconds grow, between the two largest numbers."""
    prefix = f"fleet.{command}_seconds."
    of_command = (line for line in lines if line["name"].startswith(prefix))
    seconds = {int(line["name"].removeprefix(prefix)): line["value"] for line in of_command}
    few, many = sorted(seconds)[-2:]
    power = math.log(seconds[many] / seconds[few]) / math.log(many / few)
    about = f"of the number of databases, from {few} to {many}; what a command needs to start counts"
    return _line(f"fleet.{command}_growth", power, "power", about)


def _measured(place: LedgerServer, folder: Path, databases: int) -> list[Measurement]:
    with _open(place, folder) as ledger:
        _fill(ledger, databases)
        size = ledger.figures()["bytes"] / databases
    config = _config(place, folder)
    status = _seconds(config, "status", "--all")
    sizing = _seconds(config, "sizing", "--all", "--more", "100GB")
    about = f"{databases} databases, a proposal of {MOVES} moves each; the whole command"
    return [
        of_runs(f"fleet.status_seconds.{databases}", status, "s", COMMAND, note=about),
        of_runs(f"fleet.sizing_seconds.{databases}", sizing, "s", COMMAND, note=about),
        _line(f"fleet.bytes_per_database.{databases}", size, "bytes", f"of the schema; {about}"),
    ]


def _day(place: LedgerServer, folder: Path) -> list[Measurement]:
    """A day of one database: samples of a minute of 1,000 units, of which a fifth is read."""
    rng = np.random.default_rng(7)
    with _open(place, folder) as ledger:
        began = datetime(2026, 3, 1, tzinfo=UTC)
        for minute in range(1, DAY_MINUTES + 1):
            at, read = began + timedelta(minutes=minute), np.sort(rng.choice(UNITS, READ, replace=False))
            counts = rng.integers(1, 3000, (3, READ)).astype(np.uint32)
            ledger.history.append("day", at, 60.0, read, counts)
            ledger.work.append("day", at, 60.0, DatabaseDemand(reads=float(counts.sum()) / 60, read_wait=0.5))
            ledger.samples.hand_over("day", at)
        ledger.samples.hand_over("day", at + timedelta(seconds=1))
        own, there = (_rows_and_bytes(each) for each in ledger.samples.places())
    about = f"on the server; on the agent's machine {own[0]} rows of {own[1]} bytes, before they are folded"
    return [
        _line("fleet.rows_per_database_day", there[0], "rows", f"of history and work {about}"),
        _line("fleet.history_bytes_per_database_day", there[1], "bytes", f"of their content {about}"),
    ]


def _rows_and_bytes(place: Database) -> tuple[int, int]:
    query = "SELECT count(*) AS rows, sum(length(body)) AS bytes FROM {} WHERE database = 'day'"
    with place.read() as reading:
        found = [reading.first(text(query.format(table))) for table in ("history", "work")]
    return sum(int(row.rows) for row in found), sum(int(row.bytes) for row in found)


def _open(place: LedgerServer, folder: Path) -> Ledger:
    return Ledger.open(place, SystemClock(), anchors=folder / "anchors", actor="bench")


def _fill(ledger: Ledger, databases: int) -> None:
    """What agents have written of each database."""
    random, now = np.random.default_rng(3), datetime.now(UTC)
    for number in range(databases):
        name = f"db-{number:04}"
        heard_of(ledger, name)
        sizes = np.cumsum(random.lognormal(22, 1, POINTS)).astype(int).tolist()
        saved = np.cumsum(np.sort(random.pareto(1.5, POINTS))[::-1] * random.lognormal(3, 2)).tolist()
        curve = {"tier": "ssd", "present_bytes": 0, "present_known": True}
        ledger.state.save_document(name, SIZING_CURVE, {**curve, "points": [[0, 0.0], *zip(sizes, saved, strict=True)]})
        proposed(
            ledger, name, float(random.lognormal(6, 2)), moves=MOVES, created_at=now, expires_at=now + timedelta(days=1)
        )


def _config(place: LedgerServer, folder: Path) -> Path:
    """A configuration that names the ledger, and one database of this machine."""
    path = folder / "hotplace.yaml"
    server = {"host": place.host, "dbname": place.dbname, "user": place.user}
    database = {
        "name": "db-0000", "engine": "simulated", "connection": {"scenario": "oltp"},
        "tiers": [{"name": "ssd", "spaces": ["ssd"]}, {"name": "hdd", "spaces": ["hdd"]}],
    }  # fmt: skip
    values = {"ledger": {"postgresql": server, "anchors": str(folder / "anchors")}, "databases": [database]}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def _seconds(config: Path, *arguments: str) -> list[float]:
    """Wall seconds of a command, run as a program."""
    command = [sys.executable, "-c", "from agent.cli.main import main; main()", "--config", str(config), *arguments]
    seconds = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    return seconds


def _writes(place: LedgerServer, folder: Path, databases: int) -> list[Measurement]:
    """Heartbeats, which wait for no disk, and decisions, which do and come one after the other."""
    with ExitStack() as opened:
        ledgers = [opened.enter_context(_open(place, folder)) for _ in range(THREADS)]
        names = [f"db-{number:04}" for number in range(databases)]
        beats, wall = _side_by_side(ledgers, WRITES, lambda ledger, n: heard_of(ledger, names[n % databases]))
        decisions, _ = _side_by_side(
            ledgers, DECISIONS, lambda ledger, n: ledger.audit.record("bench", str(n), who="x")
        )
    about = f"{THREADS} writers, {databases} databases"
    return [
        _line("fleet.ledger_write_ms_p99", _p99(beats), "ms", f"an agent's document; {about}"),
        _line("fleet.ledger_write_ms_median", statistics.median(beats), "ms", f"an agent's document; {about}"),
        {
            **_line("fleet.ledger_writes_per_second", len(beats) / wall, "1/s", f"documents; {about}"),
            "better": "higher",
        },
        _line("fleet.ledger_decision_ms_p99", _p99(decisions), "ms", f"a row of the chain, on disk; {about}"),
    ]


def _roll_ups(place: LedgerServer, folder: Path, databases: int) -> list[Measurement]:
    """The hour of each database, sent at the same time by eight machines that have sampled all of it."""
    with ExitStack() as opened:
        ledgers = [opened.enter_context(_open(place, folder / f"machine-{n}")) for n in range(THREADS)]
        each = databases // THREADS
        began = datetime(2026, 3, 1, tzinfo=UTC)
        for at, ledger in enumerate(ledgers):
            for number in range(at * each, (at + 1) * each):
                _sample_hour(ledger, f"db-{number:04}", began)
        over = began + timedelta(hours=1, seconds=1)
        took, wall = _side_by_side(ledgers, each, lambda ledger, n: ledger.samples.hand_over(f"db-{n:04}", over))
    about = f"an hour of {UNITS} units, {READ} of them read; {THREADS} machines, {databases} databases"
    return [
        _line("fleet.roll_up_ms_p99", _p99(took), "ms", about),
        _line("fleet.roll_up_ms_median", statistics.median(took), "ms", about),
        {**_line("fleet.roll_ups_per_second", len(took) / wall, "1/s", about), "better": "higher"},
    ]


def _sample_hour(ledger: Ledger, database: str, began: datetime) -> None:
    """Samples of ten minutes: how many an hour is made of changes nothing in what is sent."""
    rng = np.random.default_rng(7)
    for minutes in range(10, 61, 10):
        at, read = began + timedelta(minutes=minutes), np.sort(rng.choice(UNITS, READ, replace=False))
        counts = rng.integers(1, 3000, (3, READ)).astype(np.uint32)
        ledger.history.append(database, at, 600.0, read, counts)
        ledger.work.append(database, at, 600.0, DatabaseDemand(reads=float(counts.sum()) / 600, read_wait=0.5))


def _side_by_side(
    ledgers: list[Ledger], times: int, write: Callable[[Ledger, int], object]
) -> tuple[list[float], float]:
    """Milliseconds of each write, all ledgers writing at once, and the seconds that all took."""

    def drive(at: int) -> list[float]:
        took = []
        for number in range(times):
            started = time.perf_counter()
            write(ledgers[at], at * times + number)
            took.append(1000 * (time.perf_counter() - started))
        return took

    started = time.perf_counter()
    with ThreadPoolExecutor(len(ledgers)) as threads:
        found = [each for part in threads.map(drive, range(len(ledgers))) for each in part]
    return found, time.perf_counter() - started


def _p99(values: list[float]) -> float:
    return float(np.percentile(values, 99))


def _line(name: str, value: float, unit: str, note: str) -> Measurement:
    return Measurement(name=name, value=value, unit=unit, better="lower", command=COMMAND, note=note)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    print(json.dumps(measurements(quick=parser.parse_args().quick), indent=2))
