"""PostgreSQL and Db2: counters that take long are asked for less often, whether the server answers or not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from connectors.db2.sampler import MonitorSampler
from connectors.kit.contract import ConnectorError, TimedOut
from connectors.postgresql.sampler import StatisticsSampler
from tests.virtual_clock import VirtualClock

INTERVAL, HOUR, LIMIT = 60.0, 3600.0, 50.0


class Elsewhere(ConnectorError):
    """The counters were read, and what follows is not looked at here."""


class SlowSession:
    """Stands in for a session: counters take so long, up to the limit of a statement, and nothing else is answered."""

    version = 160000

    def __init__(self, clock: VirtualClock, seconds: float) -> None:
        self.clock, self.seconds, self.spent, self.answered = clock, seconds, 0.0, 0

    def _read(self, *_: Any, **__: Any) -> list[Any]:
        taken = min(self.seconds, LIMIT)
        self.clock.sleep(taken)
        self.spent += taken
        if self.seconds > LIMIT:
            raise TimedOut(f"it took longer than {LIMIT:g} s")
        self.answered += 1
        return []

    copy = parts = _read

    def rows(self, *_: Any, **__: Any) -> list[Any]:
        """Not of interest."""
        raise Elsewhere("the counters are there")

    def optional_rows(self, *_: Any, **__: Any) -> None:
        """None that may be read."""


Made = Callable[[Any, VirtualClock], StatisticsSampler | MonitorSampler]
SAMPLERS: dict[str, Made] = {
    "postgresql": StatisticsSampler, "db2": lambda session, clock: MonitorSampler(session, clock, by_group=False),
}  # fmt: skip


@pytest.mark.parametrize("seconds", [4.0, 20.0, 49.0, 70.0])
@pytest.mark.parametrize("engine", SAMPLERS)
def test_reading_counters_never_takes_more_than_its_share(engine: str, seconds: float) -> None:
    """Calls of 49 s in a minute were four fifths of a core; after the first hour it is 5 % at most, time-outs too."""
    clock = VirtualClock()
    session = SlowSession(clock, seconds)
    sampler = SAMPLERS[engine](session, clock)
    spent: list[tuple[float, float]] = []
    due = 0.0
    while clock.monotonic() < 6 * HOUR:
        clock.sleep(max(0.0, due - clock.monotonic()))
        due = clock.monotonic() + INTERVAL
        spent.append((clock.monotonic(), session.spent))
        with suppress(TimedOut, Elsewhere):
            sampler.sample()
    began, before = next(pair for pair in spent if pair[0] >= HOUR)
    ended, after = spent[-1]
    one_more = session.seconds / (ended - began)  # where a reading lies at the border of what is counted
    assert (after - before) / (ended - began) <= 0.05 + one_more
    assert session.answered > 5 or seconds > LIMIT


@pytest.mark.parametrize("engine", SAMPLERS)
def test_what_is_quick_is_read_each_time(engine: str) -> None:
    """And a single slow answer changes nothing; the sentence of a rest says until when."""
    clock = VirtualClock()
    session = SlowSession(clock, 0.1)
    sampler = SAMPLERS[engine](session, clock)
    for seconds in (0.1, 30.0, 0.1, 0.1):
        session.seconds = seconds
        with pytest.raises(Elsewhere):
            sampler.sample()
        clock.sleep(INTERVAL)
    session.seconds = LIMIT + 1
    with suppress(TimedOut):
        sampler.sample()
    clock.sleep(INTERVAL)
    with suppress(TimedOut):
        sampler.sample()
    clock.sleep(INTERVAL)
    with pytest.raises(TimedOut, match=r"reads again in .*5% of the time"):
        sampler.sample()
