"""What history costs: 100,000 units, 3 signals, one interval a minute, written to a real ledger file and folded.

*Sparse* is a database as most are: 7 % of the units have demand in a minute, most of them the same ones every time,
with counts that differ widely from unit to unit. *Dense* is the worst case: every unit has demand in every minute.
Bytes are what the file grows by, page overhead included, divided by all units x signals x minutes, idle ones counted.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from connectors.model.observation import F64, I64
from tests.bench.measurement import Measurement, of_runs

COMMAND = "python -m tests.bench.cost.history"
UNITS, SIGNALS, MINUTES = 100_000, 3, 60
ACTIVE_SHARE = {"sparse": 0.07, "dense": 1.0}
STEADY_SHARE = 0.8  # of the active units are the same every minute
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one kind of load cost."""

    write_seconds: list[float]
    bytes_per_value: float
    folded_bytes_per_value: float
    fold_seconds: float


def rates(generator: np.random.Generator) -> F64:
    """Mean count per minute of each signal and unit, shape (SIGNALS, UNITS): a few units do most of the work."""
    mean: F64 = generator.lognormal(mean=2.0, sigma=1.8, size=(SIGNALS, UNITS)) * np.array([[1.0], [0.6], [0.3]])
    return mean


def active_slots(generator: np.random.Generator, share: float) -> I64:
    """The units with demand in one minute, ascending."""
    if share >= 1:
        return np.arange(UNITS, dtype=np.int64)
    count = int(UNITS * share)
    # Seeded anew each time: the steady ones are to be the same in every minute.
    steady = np.random.default_rng(1).choice(UNITS, int(count * STEADY_SHARE), replace=False)
    passing = generator.choice(UNITS, count - len(steady), replace=False)
    return np.union1d(steady, passing).astype(np.int64)


def cost(share: float) -> Cost:
    """Write one hour, then fold it by ten minutes."""
    generator = np.random.default_rng(7)
    mean = rates(generator)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ledger.db"
        Ledger.open(path, SystemClock()).close()
        empty = path.stat().st_size
        with Ledger.open(path, SystemClock()) as ledger:
            seconds = [_write_minute(ledger, generator, mean, share, minute) for minute in range(1, MINUTES + 1)]
        written = path.stat().st_size - empty
        with Ledger.open(path, SystemClock()) as ledger:
            started = time.perf_counter()
            report = ledger.history.fold(START + timedelta(days=2))
            fold_seconds = time.perf_counter() - started
    values = UNITS * SIGNALS * MINUTES
    return Cost(seconds, written / values, report.bytes_after / values, fold_seconds)


def _write_minute(ledger: Ledger, generator: np.random.Generator, mean: F64, share: float, minute: int) -> float:
    slots = active_slots(generator, share)
    counts: NDArray[np.uint32] = generator.poisson(mean[:, slots]).astype(np.uint32)
    started = time.perf_counter()
    ledger.history.append("bench", START + timedelta(minutes=minute), 60.0, slots, counts)
    return time.perf_counter() - started


def measurements() -> list[Measurement]:
    """Bytes and milliseconds, dense and sparse."""
    costs = {kind: cost(share) for kind, share in ACTIVE_SHARE.items()}
    name = "agent.history_bytes_per_value"
    lines = [_line(name, costs["dense"].bytes_per_value, "bytes", "the worst case: dense, as sampled")]
    for kind, measured in costs.items():
        about = f"{UNITS:,} units, {SIGNALS} signals, {ACTIVE_SHARE[kind]:.0%} of the units active in a minute"
        milliseconds = [seconds * 1000 for seconds in measured.write_seconds]
        lines += [
            _line(f"{name}.{kind}", measured.bytes_per_value, "bytes", f"as sampled, in the file; {about}"),
            _line(f"{name}.{kind}_folded", measured.folded_bytes_per_value, "bytes", f"by ten minutes; {about}"),
            of_runs(f"agent.history_write_ms.{kind}", milliseconds, "ms", COMMAND, note=f"one transaction; {about}"),
            _line(f"agent.history_fold_seconds.{kind}", measured.fold_seconds, "s", f"one hour of minutes; {about}"),
        ]
    return lines


def _line(name: str, value: float, unit: str, note: str) -> Measurement:
    return Measurement(name=name, value=value, unit=unit, better="lower", command=COMMAND, note=note)


if __name__ == "__main__":
    print(json.dumps(measurements(), indent=2))
