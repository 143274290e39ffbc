"""What a unit is worth does not depend on where it was when it was seen: the same work, in whichever placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sampling.learned import Inventory, Learned, learn, with_slots
from agent.sampling.picture import view_heat
from connectors.model.observation import F64, SIGNALS, DatabaseDemand, Demand, Signal
from policies.evidence.device import calibrate, empty_devices
from policies.evidence.heat import at_pace, view
from policies.evidence.prices import session_share, wait_per_hour
from policies.model.settings import PolicySettings, Servers, TierSpeed
from tests.examples import examples
from tests.property.test_learned import SPACES, units_of
from tests.unit.policies.situations import HDD, NOON, SSD, Site
from tests.workloads.exact_network import ExactStation, solve

SETTINGS = PolicySettings()
UNITS = 4
HOURS = 3.0
TOLERANCE = 0.05  # of a unit's share of all worth, and of the order of what differs by more


@dataclass(frozen=True)
class Work:
    """Sessions, what they compute in between, and the reads of a transaction by unit."""

    sessions: int
    compute: float
    reads: tuple[float, ...]


works = st.builds(
    Work,
    sessions=st.integers(2, 40),
    compute=st.sampled_from([0.0005, 0.005, 0.05]),
    reads=st.tuples(*[st.sampled_from([0.0, 0.1, 1.0, 5.0])] * UNITS).filter(any),
)
placements = st.tuples(*[st.booleans()] * UNITS)


def interval(work: Work, fast: Sequence[bool], disks: int, idle: float) -> tuple[F64, DatabaseDemand]:
    """Reads a second of each unit with those units on the SSD, and what the database measures. Exact."""
    slow = sum(reads for reads, up in zip(work.reads, fast, strict=True) if not up)
    flash = (sum(work.reads) - slow) * SSD.random_read_seconds
    array = ExactStation(seconds=slow * idle, servers=disks, striped=True)
    found = solve([array], work.compute + flash, work.sessions)
    waited = float(found.waiting.sum()) if slow else 0.0
    rates = np.array(work.reads) * found.rate
    return rates, DatabaseDemand(
        reads=float(rates.sum()), read_wait=waited + flash * found.rate, transactions=found.rate,
        active=float(work.sessions),
    )  # fmt: skip


def lived(
    phases: Sequence[tuple[Work, Sequence[bool]]], *, disks: int, idle: float, configured: TierSpeed,
    restarted: Sequence[bool] = (False,) * UNITS,
) -> Learned:  # fmt: skip
    """What is known after some hours of each phase: its work, in its placement.

    ``restarted``: units whose counters restarted in the first interval of each phase, as a rebuild makes them do.
    """
    inventory = Inventory(
        units=units_of([f"u{at}" for at in range(UNITS)]), slots=np.arange(UNITS, dtype=np.int64), spaces=SPACES,
        tier_of_space=np.array([0, 1], dtype=np.int32), speeds=(SSD, configured),
    )  # fmt: skip
    learned = replace(with_slots(Learned(), inventory.slots), devices=empty_devices(2))
    now = NOON
    for work, fast in phases:
        units = replace(inventory.units, space=np.where(fast, 0, 1).astype(np.int32))
        inventory = replace(inventory, units=units)
        reads, database = interval(work, fast, disks, idle)
        rates = np.zeros((SIGNALS, UNITS))
        rates[Signal.SYNC_READ] = rates[Signal.LOGICAL_READ] = reads
        for part in range(6):
            now += timedelta(hours=HOURS / 6)
            observed = ~np.array(restarted) if part == 0 else np.ones(UNITS, dtype=np.bool_)
            demand = Demand(
                ended_at=now, seconds=HOURS / 6 * 3600, physical_id=inventory.units.physical_id, rates=rates * observed,
                observed=observed, estimated=frozenset(), database=database,
            )  # fmt: skip
            learned = learn(learned, inventory.locate(demand), inventory, SETTINGS, zone=UTC)
    return learned


def shares(learned: Learned) -> F64:
    """Each unit's share of all reads that decisions are made on, by either horizon. Shape ``(2, UNITS)``."""
    seen = view(learned.heat, np.arange(UNITS, dtype=np.int64))
    assert seen.steady is not None
    both = np.array([seen.rates[Signal.SYNC_READ], seen.steady[Signal.SYNC_READ]])
    return np.asarray(both / both.sum(axis=1, keepdims=True))


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(works, min_size=2, max_size=3),
    st.lists(placements, min_size=3, max_size=3),
    st.lists(placements, min_size=3, max_size=3),
    st.sampled_from([1, 8]),
    st.sampled_from([0.6, 1.0, 1.5]),
)
def test_the_same_work_is_worth_the_same_wherever_units_were(
    phases: list[Work], one: list[tuple[bool, ...]], other: list[tuple[bool, ...]], disks: int, off: float
) -> None:
    """Work that changes, in two histories of placements: the same shares and order, also where speeds are not true."""
    servers = Servers(count=disks, least=disks, most=disks, source="configured", striped=True)
    configured = replace(HDD, servers=servers)
    found = [
        shares(
            lived(
                list(zip(phases, where, strict=False)),
                disks=disks,
                idle=HDD.random_read_seconds * off,
                configured=configured,
            )
        )
        for where in (one, other)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=TOLERANCE)
    for row in range(2):
        before, after = found[0][row], found[1][row]
        clear = before[:, np.newaxis] - before > 2 * TOLERANCE
        assert np.all((after[:, np.newaxis] > after)[clear])


def test_yesterday_on_the_ssd_is_not_worth_more_than_today_on_disks() -> None:
    """Twelve hours of one partition at 20 times the pace, then twelve of the next at the pace of one disk."""
    yesterday, today = Work(8, 0.0005, (1.0, 0.0, 0.1, 0.0)), Work(8, 0.0005, (0.0, 1.0, 0.1, 0.0))
    up = (True, False, False, False)
    learned = lived([(yesterday, up)] * 4 + [(today, up)] * 4, disks=1, idle=HDD.random_read_seconds, configured=HDD)
    seen = view(learned.heat, np.arange(UNITS, dtype=np.int64))
    rates = interval(yesterday, up, 1, HDD.random_read_seconds)[0], interval(today, up, 1, HDD.random_read_seconds)[0]
    assert rates[0][0] > 5 * rates[1][1]  # as counted
    assert seen.steady is not None
    for horizon in (seen.rates, seen.steady):
        assert horizon[Signal.SYNC_READ, 1] > horizon[Signal.SYNC_READ, 0]


@pytest.mark.parametrize("restarted", [0, 1, 2])
def test_a_unit_whose_counters_restarted_takes_no_weight_from_the_others(restarted: int) -> None:
    """The interval lacks its reads, not its waits: the others' share of all worth is as if nothing had been rebuilt."""
    work = Work(8, 0.0005, (4.0, 2.0, 1.0, 0.5))
    lost = [unit == restarted for unit in range(UNITS)]
    for up in ((False,) * UNITS, (True, True, True, False)):
        whole, lacking = (
            shares(lived([(work, up)], disks=1, idle=HDD.random_read_seconds, configured=HDD, restarted=each))
            for each in ((False,) * UNITS, lost)
        )
        np.testing.assert_allclose(whole, lacking, atol=0.01)


def test_more_sessions_still_count_for_more() -> None:
    """By day 30 sessions on many disks, by night one: a unit of the day is worth more than one of the night."""
    day, night = Work(30, 0.005, (1.0, 0.0, 0.0, 0.0)), Work(2, 0.005, (0.0, 1.0, 0.0, 0.0))
    servers = Servers(count=48, least=48, most=48, source="configured", striped=True)
    down = (False,) * UNITS
    learned = lived(
        [(day, down), (night, down)], disks=48, idle=HDD.random_read_seconds, configured=replace(HDD, servers=servers)
    )
    seen = view(learned.heat, np.arange(UNITS, dtype=np.int64))
    assert seen.rates[Signal.SYNC_READ, 0] > 5 * seen.rates[Signal.SYNC_READ, 1]


def test_what_is_shown_are_reads_at_the_pace_of_now() -> None:
    """Where nothing changes, rates are those that were counted, on whichever tier."""
    work = Work(8, 0.002, (1.0, 0.5, 0.1, 0.0))
    for where in ((False,) * UNITS, (True, True, False, False)):
        learned = lived([(work, where)] * 3, disks=1, idle=HDD.random_read_seconds, configured=HDD)
        counted, _ = interval(work, where, 1, HDD.random_read_seconds)
        slots = np.arange(UNITS, dtype=np.int64)
        seen = view_heat(learned, slots, np.array(where), NOON + timedelta(hours=9), 24.0)
        paced = at_pace(view(learned.heat, slots), learned.work.pace())
        assert seen.rates[Signal.SYNC_READ] == pytest.approx(counted, rel=1e-4)
        assert paced.rates[Signal.SYNC_READ] == pytest.approx(counted, rel=1e-4)


@pytest.mark.parametrize("work", [Work(8, 0.0005, (1.0, 0.0, 0.1, 0.05)), Work(8, 0.005, (1.0, 0.0, 0.1, 0.05)),
                                  Work(40, 0.05, (1.0, 0.5, 0.1, 0.05))])  # fmt: skip
def test_what_units_shows_is_the_same_where_sessions_wait_for_disks(work: Work) -> None:
    """Seconds of wait an hour, within a fifth, though what is up is read up to eight times as fast."""
    shown = []
    slots = np.arange(UNITS, dtype=np.int64)
    for where in ((False,) * UNITS, (True, False, False, False)):
        learned = lived([(work, where)] * 3, disks=1, idle=HDD.random_read_seconds, configured=HDD)
        seen = view_heat(learned, slots, np.array(where), NOON + timedelta(hours=9), 24.0)
        waits = wait_per_hour(seen.rates, calibrate((SSD, HDD), learned.devices), SETTINGS)
        benefit = waits[1] - waits[0]
        database = DatabaseDemand(active=float(work.sessions))
        shown.append(benefit * session_share(Site(database=database).situation([]), benefit))
    assert shown[0] == pytest.approx(shown[1], rel=0.2)
    assert shown[0][0] > 1800
