"""Counters that take too long to be read at once: what it costs the server, and what is seen and told of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from connectors.kit.contract import TimedOut
from connectors.kit.rotation import Rotation
from connectors.model.observation import Interval, Sample
from policies.evidence.counter_deltas import difference
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected
from tests.sqlserver.slow_counters import SlowCounters
from tests.virtual_clock import VirtualClock

INTERVAL = 60.0
HOUR = 3600.0


class TickingClock(VirtualClock):
    """One that goes on by a microsecond each time it is looked at."""

    def monotonic(self) -> float:
        """Later each time."""
        self.sleep(1e-6)
        return super().monotonic()


@dataclass(slots=True)
class Watched:
    """A server that was sampled for a while."""

    server: SlowCounters
    samples: list[Sample]
    at: list[float]  # when each was begun
    spent: list[float]  # by the server until then


def watch(server: SlowCounters, hours: float) -> Watched:
    """Sample each minute, or as soon after it as the last sample has ended."""
    clock, sampler = server.clock, server.sampler()
    found = Watched(server, [], [], [])
    due = 0.0
    while clock.monotonic() < hours * HOUR:
        clock.sleep(max(0.0, due - clock.monotonic()))
        due = clock.monotonic() + INTERVAL
        found.at.append(clock.monotonic())
        found.spent.append(server.spent)
        found.samples.append(sampler.sample())
    return found


@pytest.mark.parametrize("seconds", [5.0, 30.0, 70.0, 600.0])
def test_reading_counters_never_takes_more_than_its_share(seconds: float) -> None:
    """After the first hour 5 % of a core at most, whether a call is answered after 5 s or never; and samples come."""
    server = SlowCounters(VirtualClock(), seconds=seconds)
    seen = watch(server, 4.0)
    after = int(np.searchsorted(seen.at, HOUR))
    assert (seen.spent[-1] - seen.spent[after]) / (seen.at[-1] - seen.at[after]) <= 0.05
    assert len(seen.samples) >= 0.9 * 4 * HOUR / INTERVAL


def test_what_is_quick_is_read_at_once() -> None:
    """2.9 s a minute are within the share: nothing is asked by object, and nothing is left unread."""
    server = SlowCounters(VirtualClock(), seconds=2.9)
    seen = watch(server, 0.5)
    assert {name for _, name, _ in server.asked} == {"sample"}
    assert all(sample.unread is None and not sample.unread_sentence for sample in seen.samples)


def test_objects_that_are_waited_for_are_read_at_each_turn() -> None:
    """Those with 95 % of all waits were read in one of the last two intervals, once all have been read."""
    server = SlowCounters(VirtualClock())
    seen = watch(server, 4.0)
    paces = np.array([server.pace(each) for each in server.ids()])
    hot = {1001 + at for at in range(int(np.searchsorted(np.cumsum(paces), 0.95 * paces.sum())) + 1)}
    turns = seen.at[-30:]
    for now in turns:
        read = {number for at, _, number in server.asked if now - 2 * INTERVAL <= at <= now + INTERVAL}
        assert len(hot & read) / len(hot) >= 0.95


def test_the_others_have_their_turn() -> None:
    """Each of 500 objects is read within an hour and a half: 1.5 s a minute are left for them at least."""
    server = SlowCounters(VirtualClock())
    watch(server, 4.0)
    late = server.clock.monotonic() - 1.5 * HOUR
    assert {number for at, name, number in server.asked if at >= late and name == "sample_object"} == set(server.ids())


def test_waits_are_told_as_they_were() -> None:
    """Per second, of hot objects and of such as are read once in a long while; to a tenth, and nothing twice."""
    server = SlowCounters(VirtualClock(), fall=0.996)
    seen = watch(server, 5.0)
    told: dict[int, list[float]] = {}
    for before, after in zip(seen.samples[60:], seen.samples[61:], strict=False):
        interval = difference(before, after, longest_seconds=HOUR)
        assert isinstance(interval, Interval)
        for id_, ms in zip(
            interval.physical_id[~interval.restarted], interval.deltas["io_wait_ms"][~interval.restarted], strict=True
        ):
            told.setdefault(int(id_), []).append(float(ms) / interval.seconds)
    ids = [int(each) for each in server.units()]
    for at in (0, 10, 200, 400):
        assert np.mean(told[ids[at]]) == pytest.approx(server.pace(1001 + at), rel=0.1), at


def test_what_was_not_read_is_no_evidence_of_cold() -> None:
    """An interval marks each unit without a reading, those that were never read included."""
    server = SlowCounters(VirtualClock())
    seen = watch(server, 0.2)
    before, after = seen.samples[-2:]
    interval = difference(before, after, longest_seconds=HOUR)
    assert isinstance(interval, Interval)
    assert after.unread is not None
    assert len(after.unread) > 0
    assert np.isin(after.unread, interval.physical_id[interval.restarted]).all()
    assert "have not been read yet" in after.unread_sentence


def test_a_call_has_a_limit_below_the_interval() -> None:
    """Of 60 s 48, although the session would wait for ten minutes."""
    server = SlowCounters(VirtualClock(), objects=10, seconds=2.0, statement_timeout=600.0)
    sampler = server.sampler()
    sampler.sample()
    server.clock.sleep(58.0)
    server.seconds = 300.0
    began = server.clock.monotonic()
    sampler.sample()
    assert server.clock.monotonic() - began == pytest.approx(48.0)


def test_a_hiccup_ends() -> None:
    """A call that took long once is tried again after an hour or more, and is quick then: all are read at once."""
    server = SlowCounters(VirtualClock(), seconds=12.0)
    sampler = server.sampler()
    sampler.sample()
    server.seconds = 1.0
    for _ in range(120):
        server.clock.sleep(INTERVAL)
        last = sampler.sample()
    assert [name for _, name, _ in server.asked[-5:]] == ["sample"] * 5
    assert last.unread is None
    assert len(last.physical_id) > 0


def test_without_a_catalog_it_rests() -> None:
    """Which objects to ask for is not known: what ran into its limit is left alone as long as what was answered."""
    server = SlowCounters(VirtualClock(), objects=0, seconds=70.0)
    server.objects, sampler = 0, server.sampler()
    with pytest.raises(TimedOut):
        sampler.sample()
    before = len(server.asked)
    server.clock.sleep(10 * INTERVAL)
    with pytest.raises(TimedOut, match="5% of the time"):
        sampler.sample()
    assert len(server.asked) == before


def test_counters_that_fell_are_no_evidence() -> None:
    """A total that began anew says nothing of its interval, and goes on from there."""
    rotation = Rotation(np.ones(1))
    one = np.array([8])
    rotation.know(one, np.array([1]))
    for now, value, fresh, total in (
        (0.0, 500, False, 500),
        (60.0, 560, True, 560),
        (120.0, 7, False, 560),
        (180.0, 17, True, 570),
    ):
        rotation.begin(now)
        rotation.put([1], one, np.array([[value]]), now, now)
        _, totals, unread = rotation.totals()
        assert (len(unread) == 0, int(totals[0, 0])) == (fresh, total)


def test_emulated_server_is_asked_object_by_object(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Over the wire: with a budget that no call can keep, 300 look-ups a minute are told of the table alone."""
    orders = add_table(lab.shop, "orders", pages=80)
    add_table(lab.shop, "others", pages=80)
    clock = TickingClock()
    with connected(lab, driver, tmp_path, clock=clock, sample_budget=1e-9) as connector:
        catalog = connector.catalog()
        samples = [connector.sample()]
        for _ in range(3):
            clock.sleep(INTERVAL)
            lab.instance.read_randomly(lab.shop, orders.base.partitions[0], 300)
            samples.append(connector.sample())
        interval = difference(samples[-2], samples[-1], longest_seconds=HOUR)
        assert isinstance(interval, Interval)
        rates = dict(zip(interval.physical_id.tolist(), interval.deltas["lookups"].tolist(), strict=True))
    own = [id_ for id_, key in zip(catalog.units.physical_id, catalog.units.key, strict=True) if "[orders]" in key]
    assert rates.pop(int(own[0])) == pytest.approx(300.0)
    assert not any(rates.values())
    assert samples[-1].unread_sentence
