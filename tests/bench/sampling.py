"""What reading counters costs a server whose call for all of them takes 70 s, in simulated time, and what is seen.

The server stands in for SQL Server (ends a call after 60 s; one object's counters cost their part of the 70 s) and for
Oracle (no cheaper way to a part of V$SEGSTAT). Hours two to five are measured: the first is spent on finding out.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from connectors.kit.contract import TimedOut
from connectors.oracle.sampler import SegmentSampler
from tests.bench.measurement import Measurement
from tests.oracle.made import server
from tests.oracle.test_slow_counters import SlowInstances
from tests.sqlserver.slow_counters import SlowCounters
from tests.virtual_clock import VirtualClock

COMMAND = "python -m tests.bench sampling"
INTERVAL, FIRST, END = 60.0, 3600.0, 5 * 3600.0
WAITS = 0.95  # of the true wait: the fewest units that have so much of it


def measurements() -> list[Measurement]:
    """Share of a core by engine, and which part of the units that are waited for was read lately."""
    cost, seen = _sqlserver()
    return [
        _line("sampling.core_share_at_70s_call.sqlserver", cost, "share of a core", "lower"),
        _line("sampling.wait_seen_at_70s_call.sqlserver", seen, "share of units", "higher"),
        _line("sampling.core_share_at_70s_call.oracle", _oracle(), "share of a core", "lower"),
    ]


def _line(name: str, value: float, unit: str, better: str) -> Measurement:
    return {
        "name": name, "value": value, "unit": unit, "better": "lower" if better == "lower" else "higher",
        "command": COMMAND, "note": "simulated clock; a call for all counters takes 70 s, a sample is due each minute",
    }  # fmt: skip


def _sqlserver() -> tuple[float, float]:
    stand_in = SlowCounters(VirtualClock())
    clock, sampler = stand_in.clock, stand_in.sampler()
    paces = np.array([stand_in.pace(each) for each in stand_in.ids()])
    hot = {stand_in.ids()[at] for at in range(int(np.searchsorted(np.cumsum(paces), WAITS * paces.sum())) + 1)}
    due, spent, shares = 0.0, [], []
    while clock.monotonic() < END:
        clock.sleep(max(0.0, due - clock.monotonic()))
        due = clock.monotonic() + INTERVAL
        spent.append((clock.monotonic(), stand_in.spent))
        sampler.sample()
        if clock.monotonic() >= FIRST:
            since = clock.monotonic() - 2 * INTERVAL
            read = {number for at, _, number in stand_in.asked[-1000:] if at >= since}
            shares.append(len(hot & read) / len(hot))
    return _share(spent), float(np.mean(shares))


def _oracle() -> float:
    clock = VirtualClock()
    instances = SlowInstances(clock, 70.0)
    sampler = SegmentSampler(instances, clock, server)  # type: ignore[arg-type]  # answers like one
    due, spent = 0.0, []
    while clock.monotonic() < END:
        clock.sleep(max(0.0, due - clock.monotonic()))
        due = clock.monotonic() + INTERVAL
        spent.append((clock.monotonic(), instances.spent))
        with suppress(TimedOut):
            sampler.sample()
    return _share(spent)


def _share(spent: list[tuple[float, float]]) -> float:
    """Of the time after the first hour; ``spent``: when a sample was begun, and what all before it had cost."""
    began, before = next(pair for pair in spent if pair[0] >= FIRST)
    ended, after = spent[-1]
    return (after - before) / (ended - began)
