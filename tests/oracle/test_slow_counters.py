"""Counters of all segments that take long: how often Oracle is asked for them."""

from __future__ import annotations

from contextlib import suppress

import pytest

from connectors.kit.contract import TimedOut
from connectors.oracle.sampler import SegmentSampler
from connectors.oracle.sessions import Row
from tests.oracle.made import server
from tests.virtual_clock import VirtualClock

INTERVAL, HOUR = 60.0, 3600.0


class SlowInstances:
    """Stands in for all instances: the counters take so long, other queries nothing."""

    def __init__(self, clock: VirtualClock, seconds: float, limit: float = 60.0) -> None:
        self.clock, self.seconds, self.limit, self.spent = clock, seconds, limit, 0.0

    def rows(self, name: str, values: object = None, *, doing: str, limit: float | None = None) -> list[Row]:
        """None of anything."""
        if name == "sample":
            given = min(self.limit, limit or self.limit)
            self.clock.sleep(min(self.seconds, given))
            self.spent += min(self.seconds, given)
            if self.seconds > given:
                raise TimedOut(f"{doing}: it took longer than {given:g} s")
        return [("x", 1)] if name.startswith("epoch") else []


@pytest.mark.parametrize("seconds", [5.0, 30.0, 55.0, 70.0])
def test_reading_counters_never_takes_more_than_its_share(seconds: float) -> None:
    """Of 30 s a minute it was half a core, of 55 s nine tenths; after the first hour 5 % at most, time-outs too."""
    clock = VirtualClock()
    instances = SlowInstances(clock, seconds)
    sampler = SegmentSampler(instances, clock, server)  # type: ignore[arg-type]  # answers like one
    spent: list[tuple[float, float]] = []
    due = taken = 0.0
    while clock.monotonic() < 5 * HOUR:
        clock.sleep(max(0.0, due - clock.monotonic()))
        due = clock.monotonic() + INTERVAL
        spent.append((clock.monotonic(), instances.spent))
        with suppress(TimedOut):
            sampler.sample()
            taken += 1
    began, before = next(pair for pair in spent if pair[0] >= HOUR)
    ended, after = spent[-1]
    assert (after - before) / (ended - began) <= 0.05
    assert taken > 0 or seconds > instances.limit


def test_one_slow_answer_changes_nothing() -> None:
    """Two in a row do; a time-out does at once."""
    clock = VirtualClock()
    instances = SlowInstances(clock, 10.0)
    sampler = SegmentSampler(instances, clock, server)  # type: ignore[arg-type]  # answers like one
    for seconds, rests in ((10.0, False), (0.1, False), (10.0, False), (10.0, True)):
        instances.seconds = seconds
        sampler.sample()
        clock.sleep(INTERVAL)
        if rests:
            with pytest.raises(TimedOut, match="5% of the time"):
                sampler.sample()
