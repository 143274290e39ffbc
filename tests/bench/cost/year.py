"""A ledger of a year and what it costs to live with: 3,000 proposals, 71,250 moves, 90,750 audit rows, 14 dense days.

``history`` and ``report`` are run as commands, the start of the interpreter included. The idle share is the processor
time of one look at the ledger for something to do, which the daemon takes once a second and database. Then history is
kept for two days instead of fourteen, and the ledger gives back what that leaves free.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.ledger.measured.codec import encode_history
from agent.ledger.rows import HistorySettings
from agent.ledger.store.schema import history
from agent.model.clock import SystemClock
from agent.service.jobs import ACT_EVERY_SECONDS
from agent.service.watch import Watch
from connectors.model.observation import I64
from tests.bench.cost.history import SIGNALS, UNITS, rates
from tests.bench.measurement import Measurement, of_runs
from tests.ledger.life import Life, OneTransaction, live

PROGRAM = Path(sys.executable).with_name("hotplace")
COMMAND = "python -m tests.bench.cost.year"
COMMANDS = {"history": ("history", "--limit", "20"), "report": ("report", "--since", "7d")}
RUNS, LOOKS = 5, 300
DAY = timedelta(days=1)
KEPT = ((timedelta(), DAY, 60, 0), (DAY, 7 * DAY, 600, 600), (7 * DAY, 14 * DAY, 3600, 3600))  # ages, step, kind
TWO_DAYS = HistorySettings(as_sampled_seconds=DAY.total_seconds(), history_seconds=2 * DAY.total_seconds())
CONFIGURATION = """
level: propose
dry_run: false
ledger: {path: ledger.db}
databases:
  - name: shop
    engine: simulated
    connection: {scenario: oltp, seed: 7}
    tiers:
      - {name: ssd, kind: ssd, spaces: [ssd]}
      - {name: hdd, kind: hdd, spaces: [hdd]}
"""


def a_year(path: Path, now: datetime, *, proposals: int) -> Life:
    """Write the ledger; ``proposals`` below 3,000 for a shorter life of the same pace."""
    full = Life()
    share = proposals / full.proposals
    life = Life(
        proposals=proposals, second_steps=round(full.second_steps * share), days=full.days * share,
        first=now - full.days * share * DAY - timedelta(hours=2),
    )  # fmt: skip
    live(path, life)
    _dense_days(path, now)
    return life


def _dense_days(path: Path, now: datetime) -> None:
    """Fourteen days of history in which every unit had demand all the time, one row written again and again."""
    slots: I64 = np.arange(UNITS, dtype=np.int64)
    body = encode_history(slots, np.random.default_rng(7).poisson(rates(np.random.default_rng(7))).astype(np.uint32))
    database = OneTransaction(path)
    try:
        for youngest, oldest, apart, kind in KEPT:
            width = timedelta(seconds=apart)
            count = (oldest - youngest) // width
            for first in range(0, count, 50):
                ends = (now - youngest - at * width for at in range(first, min(first + 50, count)))
                about = {"database": "shop", "resolution_seconds": kind, "seconds": apart, "signals": SIGNALS}
                rows = [{**about, "started_at": end - width, "ended_at": end, "body": body} for end in ends]
                with database.write(durable=False) as transaction:
                    transaction.insert_all(history, rows)
    finally:
        database.close()


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Seconds of the two commands, the idle share, and what shrinking leaves."""
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hotplace.yaml").write_text(CONFIGURATION, encoding="utf-8")
        life = a_year(folder / "ledger.db", now, proposals=300 if quick else 3_000)
        note = f"{life.proposals:,} proposals, 14 days of {UNITS:,} units with demand every minute"
        return [*_commands(folder, note), _idle(folder, note), *_shrunk(folder, now, note)]


def _commands(folder: Path, note: str) -> list[Measurement]:
    lines = []
    for name, arguments in COMMANDS.items():
        runs = [_run(folder, *arguments) for _ in range(RUNS + 1)][1:]  # the first reads the file from the disk
        about = f"hotplace {' '.join(arguments)}; {note}"
        lines.append(of_runs(f"agent.year.{name}_seconds", runs, "s", COMMAND, note=about))
    return lines


def _run(folder: Path, *arguments: str) -> float:
    """Wall seconds of a command."""
    command = [str(PROGRAM), "--config", str(folder / "hotplace.yaml"), *arguments]
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def _idle(folder: Path, note: str) -> Measurement:
    config, clock = load(folder / "hotplace.yaml"), SystemClock()
    with Ledger.open(config.ledger.path, clock) as ledger:
        watch = Watch(config.database(), ledger, clock, level=config.level, dry_run=False)
        watch.act()
        used = time.process_time()
        for _ in range(LOOKS):
            if watch.act():
                raise RuntimeError("the ledger of a year has something to do")
        share = (time.process_time() - used) / LOOKS / ACT_EVERY_SECONDS
        watch.close(save=False)
    return of_runs("agent.year.idle_core_share", [share], "core", COMMAND, note=f"one database, nothing to do; {note}")


def _shrunk(folder: Path, now: datetime, note: str) -> list[Measurement]:
    clock, path = SystemClock(), folder / "ledger.db"
    with Ledger.open(path, clock) as ledger:
        before = path.stat().st_size
        started = time.perf_counter()
        ledger.history.fold(now, TWO_DAYS)
        folded = time.perf_counter()
        given = ledger.upkeep.give_back(60.0)
        took = time.perf_counter() - folded
    about = f"history kept for 2 days instead of 14, {before >> 20} MiB before; {note}"
    return [
        of_runs("agent.year.shrunk_ratio", [path.stat().st_size / before], "times", COMMAND, note=about),
        of_runs("agent.year.drop_seconds", [folded - started], "s", COMMAND, note=about),
        of_runs("agent.year.give_back_seconds", [took], "s", COMMAND, note=f"{given.bytes >> 20} MiB; {about}"),
    ]


if __name__ == "__main__":
    print(json.dumps(measurements(quick="--quick" in sys.argv), indent=2))
