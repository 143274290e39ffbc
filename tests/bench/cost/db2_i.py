"""Db2 for i by rows made by hand: a sample of 10,000 tables with an index each, and random reads next to those played.

No system was asked: what is measured is what the agent does with the answers, without a driver and without a server.
"""

from __future__ import annotations

import random
import time
from datetime import timedelta

from connectors.db2.sessions import Platform
from connectors.model.observation import Interval, Sample, Signal
from policies.evidence.counter_deltas import difference
from tests.bench.measurement import Measurement, of_runs
from tests.db2.hand_made import Double, connector_over, many_tables, of_table, on_disk

TABLES = 10_000
RUNS = 5
WORKLOADS = 10
SECONDS = 60.0
COMMAND = "python -m tests.bench db2_i"
NOTE = "hand-made rows, no server and no driver"


def measurements() -> list[Measurement]:
    """Processor seconds of a sample, and the largest error of random reads."""
    errors = [error_of(number) for number in range(WORKLOADS)]
    return [
        of_runs("db2.i.sample_seconds.10k", samples(), "s", COMMAND, note=f"{NOTE}; processor seconds"),
        {
            "name": "db2.i.random_reads_error_max",
            "value": round(max(errors), 6),
            "unit": "ratio",
            "better": "lower",
            "command": COMMAND,
            "note": f"{NOTE}; {WORKLOADS} workloads of scans and look-ups, each after another history since the IPL",
        },
    ]


def samples() -> list[float]:
    """Processor seconds of each run."""
    connector = connector_over(Platform.I, many_tables(TABLES))
    connector.catalog()
    spent = []
    for _ in range(RUNS):
        started = time.process_time()
        connector.sample()
        spent.append(time.process_time() - started)
    return spent


def error_of(number: int) -> float:
    """How far random reads of any table are from those played, as a share of its physical reads in the interval."""
    drawn = random.Random(number)
    names = [f"T{n}" for n in range(20)]
    history = {name: tuple(int(10 ** drawn.uniform(0, 9)) for _ in range(3)) for name in names}
    played = {name: (drawn.randrange(100_000), drawn.randrange(1, 100_000)) for name in names}
    double = Double(
        {
            "QSYS2.SYSPARTITIONDISK": [on_disk(of_table(name, history[name])) for name in names],
            "QSYS2.SYSPARTITIONSTAT": [of_table(name, history[name]) for name in names],
        }
    )
    connector = connector_over(Platform.I, double)
    catalog = connector.catalog()
    before = connector.sample()
    double.rows["QSYS2.SYSPARTITIONSTAT"] = [
        of_table(name, tuple(was + now for was, now in zip(history[name], (*of, sum(of)), strict=True)))
        for name, of in played.items()
    ]
    found = difference(before, _later(before, connector.sample()), longest_seconds=3600.0)
    assert isinstance(found, Interval), found
    demand = connector.classify(found, catalog)
    told = dict(zip(demand.physical_id.tolist(), demand.rates[Signal.SYNC_READ] * demand.seconds, strict=True))
    seen = dict(zip(demand.physical_id.tolist(), demand.observed.tolist(), strict=True))
    wanted = {f"SHOP.{name}": of for name, of in played.items()}
    errors = []
    for unit, key in zip(catalog.units.physical_id.tolist(), catalog.units.key, strict=True):
        scanned, looked_up = wanted[key]
        errors.append(abs(told[unit] - looked_up) / (scanned + looked_up) if seen[unit] else 1.0)
    return max(errors)


def _later(before: Sample, after: Sample) -> Sample:
    """The second sample, as if a minute had passed."""
    return Sample(
        taken_at=before.taken_at + timedelta(seconds=SECONDS),
        monotonic_seconds=before.monotonic_seconds + SECONDS,
        epoch=after.epoch,
        physical_id=after.physical_id,
        counters=after.counters,
        database=after.database,
        server_seconds=after.server_seconds,
    )
