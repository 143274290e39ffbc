"""Counters that take long: asked for by object, or less often, whether the server answers or not. All engines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from connectors.db2.sampler import MonitorSampler
from connectors.kit.contract import ConnectorError, TimedOut
from connectors.kit.counters import build_demand
from connectors.kit.rotation import Rotation
from connectors.model.observation import SIGNALS, Interval
from connectors.postgresql.sampler import StatisticsSampler
from policies.evidence.counter_deltas import Gap, difference
from policies.evidence.heat import empty_heat, update
from policies.model.settings import PolicySettings
from tests.slow_counters import ENGINES, FIRST_ID, SlowOracle, SlowPostgresql, core_share, wait_seen, watch
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

    def copy(self, *_: Any, **__: Any) -> list[Any]:
        """Ten columns without rows."""
        self._read()
        return [np.zeros(0, dtype=np.int64) for _ in range(10)]

    parts = _read

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


@pytest.mark.parametrize(("seconds", "objects"), [(5.0, 60), (70.0, 500)])
@pytest.mark.parametrize("engine", ENGINES)
def test_hot_objects_are_read_by_id_within_the_share(engine: str, seconds: float, objects: int) -> None:
    """After the first hour 5 % of a core at most, and what most waits belong to was read in the last two intervals."""
    slow = ENGINES[engine](VirtualClock())
    slow.seconds, slow.objects = seconds, objects
    turns = watch(slow, 2.5)
    assert core_share(turns) <= 0.05
    assert wait_seen(slow, turns) >= 0.95
    assert sum(turn.sample is not None for turn in turns) >= 0.9 * len(turns)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_has_a_limit_below_the_interval(engine: str) -> None:
    """Of 60 s 48, although the session would wait for ten minutes; each engine's call is given it."""
    slow = ENGINES[engine](VirtualClock())
    slow.objects, slow.seconds, slow.statement_timeout = 10, 0.5, 600.0
    sampler = slow.sampler()  # type: ignore[attr-defined]  # each has one
    sampler.sample()
    slow.clock.sleep(INTERVAL - 0.5)
    slow.seconds = 300.0
    before = slow.clock.monotonic()
    sampler.sample()
    assert slow.clock.monotonic() - before >= 48.0
    assert slow.limits[:2] == [None, pytest.approx(48.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_samples_a_moment_apart_leave_a_call_its_time(engine: str) -> None:
    """A person who watches for a second is not told that a call of half a second takes too long."""
    slow = ENGINES[engine](VirtualClock())
    slow.objects, slow.seconds = 10, 0.0
    sampler = slow.sampler()  # type: ignore[attr-defined]  # each has one
    first = sampler.sample()
    slow.clock.sleep(0.01)
    slow.seconds = 0.5
    assert sampler.sample().epoch == first.epoch
    assert slow.limits[:2] == [None, pytest.approx(3.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_not_read_is_no_evidence_of_cold(engine: str) -> None:
    """Each unit without a reading is marked, those that were never read included; the sample says how many."""
    turns = watch(ENGINES[engine](VirtualClock()), 0.3)
    before, after = (turn.sample for turn in turns[-2:])
    assert before is not None
    assert after is not None
    interval = difference(before, after, longest_seconds=HOUR)
    assert isinstance(interval, Interval)
    assert after.unread is not None
    assert after.coverage is not None
    assert 0 < after.coverage.never < after.coverage.units == 500
    assert np.isin(after.unread, interval.physical_id[interval.restarted]).all()
    assert "have not been read yet" in after.unread_sentence


@pytest.mark.parametrize("engine", ["postgresql", "db2", "oracle"])
def test_where_one_object_takes_as_long_as_all_it_rests(engine: str) -> None:
    """A view without an index is looked through for one as for all: all are read, one reading in 20 times its time."""
    slow = ENGINES[engine](VirtualClock())
    slow.seconds, slow.by_id = 30.0, False
    turns = watch(slow, 6.0)
    taken = [turn for turn in turns if turn.sample is not None and turn.at > HOUR]
    assert core_share(turns) <= 0.05
    assert 20 <= len(taken) <= 40
    assert all(turn.sample is not None and turn.sample.unread is None for turn in taken)


def test_parts_of_an_hour_keep_their_proportions() -> None:
    """Two scans and the 1,000 blocks that they read are told together: blocks without a scan would look waited for.

    Of an object that is read once in an hour each counter rises by its part of that hour, and is not rounded.
    """
    rotation, one = Rotation(np.array([0.0, 1.0])), np.array([8])
    rotation.know(one, np.array([1]))
    rotation.begin(0.0)
    rotation.put([1], one, np.array([[10], [5000]]), 0.0, 0.0)
    _, before, _ = rotation.totals()
    rotation.begin(3540.0)
    rotation.begin(3600.0)
    rotation.put([1], one, np.array([[12], [6000]]), 3600.0, 3600.0)
    _, after, unread = rotation.totals()
    assert len(unread) == 0
    assert (after - before)[:, 0] == pytest.approx([2 / 60, 1000 / 60])


def test_waits_are_told_as_they_were() -> None:
    """Per second, of hot objects and of such as are read once in a long while; to a tenth."""
    slow = SlowPostgresql(VirtualClock(), fall=0.97)
    samples = [turn.sample for turn in watch(slow, 3.0) if turn.sample is not None]
    told: dict[int, list[float]] = {}
    for before, after in pairwise(samples[60:]):
        interval = difference(before, after, longest_seconds=HOUR)
        if isinstance(interval, Gap):  # once, where all were tried again
            continue
        for at in np.flatnonzero(~interval.restarted):
            number = int(interval.physical_id[at]) - FIRST_ID
            told.setdefault(number, []).append(interval.deltas["blocks_fetched"][at] / interval.seconds)
    for number in (0, 20, 100):
        assert np.mean(told[number]) == pytest.approx(10 * slow.pace(number), rel=0.1), number


def test_counters_of_another_start_are_not_compared() -> None:
    """An instance that was started again counts from zero: each object is read twice before it says anything."""
    slow = SlowOracle(VirtualClock())
    sampler = slow.sampler()
    rows, start = slow.rows, ["first"]

    class Restarted:
        """The same server, with a start that can be changed."""

        def rows(self, name: str, *more: Any, **others: Any) -> list[Any]:
            """Of the epoch the start, else as before."""
            return [(start[0], 1)] if name.startswith("epoch") else rows(name, *more, **others)

    sampler._instances = Restarted()  # type: ignore[assignment]  # answers like them
    sampler.sample()
    for _ in range(3):
        slow.clock.sleep(INTERVAL)
        settled = sampler.sample()
    assert settled.unread is not None
    start[0] = "second"
    slow.clock.sleep(INTERVAL)
    after = sampler.sample()
    assert after.unread is not None
    assert len(after.unread) == 500
    assert isinstance(difference(settled, after, longest_seconds=HOUR), Gap)


def test_heat_does_not_take_unread_units_for_cold() -> None:
    """What was never read was never watched, so that no plan calls it cold; hot units were watched all along."""
    slow = SlowPostgresql(VirtualClock(), seconds=600.0)
    samples = [turn.sample for turn in watch(slow, 0.5) if turn.sample is not None]
    slots = np.arange(500, dtype=np.int64)
    heat = empty_heat(500)
    for before, after in pairwise(samples):
        interval = difference(before, after, longest_seconds=HOUR)
        if isinstance(interval, Gap):
            continue
        at = (interval.physical_id - FIRST_ID).astype(np.int64)
        demand = build_demand(interval, np.zeros((SIGNALS, len(at))), ~interval.restarted, estimated=frozenset())
        heat = update(heat, demand, at, slots, PolicySettings())
    last = samples[-1]
    assert last.coverage is not None
    assert last.coverage.never > 400
    assert int((heat.observed_seconds == 0).sum()) >= last.coverage.never
    assert (heat.weight[heat.observed_seconds == 0] == 0).all()
    assert heat.observed_seconds[0] > 600
