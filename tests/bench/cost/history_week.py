"""Seven simulated days of history: 100,000 units, 3 signals, a sample a minute, folded every hour as the daemon does.

What is kept after a week is one figure, that the file has stopped growing long before is the other: what is folded
makes room for what comes. Sixty different minutes are written in turn, since making 10,080 takes longer than writing
them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.model.clock import SystemClock
from connectors.model.observation import I64
from tests.bench.cost.history import ACTIVE_SHARE, SIGNALS, START, UNITS, active_slots, rates
from tests.bench.measurement import Measurement, of_runs

COMMAND = "python -m tests.bench.cost.history_week"
HOURS, QUICK_HOURS = 7 * 24, 6
DAY = timedelta(days=1).total_seconds()
KEPT = HistorySettings(as_sampled_seconds=DAY, ten_minute_seconds=2 * DAY, history_seconds=3 * DAY)  # full by half way


@dataclass(frozen=True, slots=True)
class Week:
    """What a kind of load cost."""

    write_seconds: list[float]
    fold_seconds: list[float]
    file_bytes: list[int]  # after each hour
    oldest_hours: float  # age of the oldest row at the end


def week(share: float, hours: int) -> Week:
    """Live through so many hours."""
    minutes = _minutes(share)
    written, folded, sizes = [], [], []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ledger.db"
        with Ledger.open(path, SystemClock()) as ledger:
            for hour in range(hours):
                for minute, (slots, counts) in enumerate(minutes, start=1):
                    ended = START + timedelta(hours=hour, minutes=minute)
                    started = time.perf_counter()
                    ledger.history.append("bench", ended, 60.0, slots, counts)
                    written.append(time.perf_counter() - started)
                started = time.perf_counter()
                ledger.history.fold(START + timedelta(hours=hour + 1), KEPT)
                folded.append(time.perf_counter() - started)
                # The whole folder: what is not yet checkpointed is in the write-ahead log next to the file.
                sizes.append(sum(file.stat().st_size for file in path.parent.iterdir()))
            end = START + timedelta(hours=hours)
            oldest = next(iter(ledger.history.read("bench", START - timedelta(days=1), end)))
            return Week(written, folded, sizes, (end - oldest.ended_at) / timedelta(hours=1))


def _minutes(share: float) -> list[tuple[I64, NDArray[np.uint32]]]:
    """Sixty minutes of demand, slots and counts."""
    generator = np.random.default_rng(7)
    mean = rates(generator)
    chosen = [active_slots(generator, share) for _ in range(60)]
    return [(slots, generator.poisson(mean[:, slots]).astype(np.uint32)) for slots in chosen]


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Bytes kept, growth and times of both kinds."""
    hours = QUICK_HOURS if quick else HOURS
    return [line for kind, share in ACTIVE_SHARE.items() for line in _figures(kind, week(share, hours), hours)]


def _figures(kind: str, lived: Week, hours: int) -> list[Measurement]:
    about = f"{kind}, {UNITS:,} units, {SIGNALS} signals, {hours} hours of minutes"
    name = "agent.history_week"
    half = len(lived.file_bytes) // 2
    values = UNITS * SIGNALS * 60 * hours
    return [
        of_runs(f"{name}.write_ms.{kind}", [1000 * s for s in lived.write_seconds], "ms", COMMAND, note=about),
        of_runs(f"{name}.fold_seconds.{kind}", lived.fold_seconds, "s", COMMAND, note=f"each hour; {about}"),
        _line(f"{name}.bytes_per_value.{kind}", lived.file_bytes[-1] / values, "bytes",
              f"the whole file over every value that was written; {about}"),
        _line(f"{name}.file_mib.{kind}", max(lived.file_bytes) / 2**20, "MiB", f"at its largest; {about}"),
        _line(f"{name}.growth_ratio.{kind}", lived.file_bytes[-1] / lived.file_bytes[half], "times",
              f"the file at the end over the file half way; {about}"),
        _line(f"{name}.oldest_hours.{kind}", lived.oldest_hours, "hours",
              f"age of the oldest row, {KEPT.history_seconds / 3600:.0f} are kept; {about}"),
    ]  # fmt: skip


def _line(name: str, value: float, unit: str, note: str) -> Measurement:
    return Measurement(name=name, value=value, unit=unit, better="lower", command=COMMAND, note=note)


if __name__ == "__main__":
    print(json.dumps(measurements(quick="--quick" in sys.argv), indent=2))
