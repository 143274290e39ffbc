"""Limits in bytes, and background work that comes with the transactions or keeps its own pace: by exact networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import DatabaseDemand, Role, RoleFigures
from policies.model.plan import PacedShare, Situation
from policies.model.settings import PolicySettings, TierLimits
from policies.placement.forecast import forecast
from policies.placement.forecast_figures import Forecast
from tests.unit.policies.situations import HDD, MIB, Site, Unit
from tests.workloads.exact_network import ExactStation, Solved, solve

SETTINGS = PolicySettings()
BLOCK = SETTINGS.block_bytes
SESSIONS, SERVICE, COMPUTE = 8, 0.0054, 0.0003
SURE = TierLimits(io_per_second=1e9, bytes_per_second=1e15)  # no limit, and known to be none


def happens(*stations: float, think: float = 0.004) -> Solved:
    """Eight sessions that need so many seconds of each station for a transaction, and compute."""
    known = [ExactStation(seconds=each, servers=1) for each in stations]
    return solve([*known, ExactStation(seconds=COMPUTE, servers=2)], think, SESSIONS)


def seen(now: Solved, waiting: float, **background: float) -> DatabaseDemand:
    """What the engine counts of it."""
    return DatabaseDemand(
        reads=now.rate, read_wait=waiting, transactions=now.rate, active=float(now.waiting.sum()),
        population=float(SESSIONS), processor=COMPUTE * now.rate, processors=2.0, **background,
    )  # fmt: skip


def two_tiers(database: DatabaseDemand, units: list[Unit], read_seconds: float, *limits: TierLimits) -> Situation:
    """A fast tier that takes no time, and one disk; their limits, the fast tier's first."""
    fast = replace(HDD, random_read_seconds=1e-6, sequential_read_seconds=1e-9, write_seconds=1e-9)
    slow = replace(HDD, random_read_seconds=read_seconds, idle_read_seconds=SERVICE)
    found = Site(database=database, tiers=(("ssd", fast, ("fast",)), ("hdd", slow, ("slow",)))).situation(units)
    return replace(found, tiers=tuple(replace(t, limits=each) for t, each in zip(found.tiers, limits, strict=True)))


def placed(situation: Situation, *tiers: int) -> Forecast:
    """The forecast with each unit on that tier."""
    return forecast(situation, SETTINGS, np.array(tiers, dtype=np.int64))


@pytest.mark.parametrize("mib", [2, 8, 30])
def test_a_volume_carries_no_more_bytes_than_it_can(mib: int) -> None:
    """All reads go to a volume of 2, 8 or 30 MiB a second: what comes is what the exact network says."""
    carries = mib * MIB
    now, then = happens(SERVICE), happens(BLOCK / carries)
    waiting = float(now.waiting[0])
    limits = TierLimits(io_per_second=1e9, bytes_per_second=carries)
    situation = two_tiers(seen(now, waiting), [Unit(key="a", sync=now.rate)], waiting / now.rate, limits, TierLimits())
    found = placed(situation, 0)
    assert found.transactions == pytest.approx(then.rate, rel=0.08)
    assert found.interval.low <= then.rate <= found.interval.high
    if mib == 2:
        assert found.limit == "ssd carries 2.0 MiB a second at most"
        assert found.busiest.startswith("ssd: 9")
    without = placed(replace(situation, tiers=(replace(situation.tiers[0], limits=SURE), situation.tiers[1])), 0)
    assert without.transactions > found.transactions


def test_a_volume_that_holds_the_present_work_up_is_read_backwards() -> None:
    """A disk behind a controller of 1.2 MiB a second: half of the reads leave it, and the exact network comes."""
    carries = 1.2 * MIB
    now, then = happens(SERVICE, BLOCK / carries), happens(SERVICE / 2, BLOCK / carries / 2)
    waiting = float(now.waiting[:2].sum())
    units = [Unit(key=key, sync=now.rate / 2) for key in "ab"]
    slow = TierLimits(bytes_per_second=carries)
    found = placed(two_tiers(seen(now, waiting), units, waiting / now.rate, SURE, slow), 0, 1)
    assert found.transactions == pytest.approx(then.rate, rel=0.08)
    assert found.interval.low <= then.rate <= found.interval.high


@pytest.mark.parametrize("part", [0.0, 1.0])
def test_reads_ahead_that_are_known_to_follow_the_work_or_not(part: float) -> None:
    """A disk half busy with reads ahead, at their own pace or with the transactions: each forecast is its own."""
    ahead = 0.4
    # What keeps its own pace makes the disk slower by its share; what comes with the work adds to each transaction.
    service = SERVICE / (1 - ahead)
    now = happens(service)
    waiting = float(now.waiting[0])
    units = [Unit(key="goes", sync=now.rate / 2), Unit(key="stays", sync=now.rate / 2),
             Unit(key="scanned", prefetched=ahead / HDD.sequential_read_seconds)]  # fmt: skip
    situation = two_tiers(seen(now, waiting), units, waiting / now.rate, SURE, TierLimits())
    share = PacedShare(least=part, share=part, most=part)
    known = placed(replace(situation, paced=replace(situation.paced, read_ahead=share)), 0, 1, 1)
    unknown = placed(situation, 0, 1, 1)
    assert known.interval.high / known.interval.low < unknown.interval.high / unknown.interval.low
    assert (known.transactions > unknown.transactions) == (part == 0.0)


def test_writes_that_keep_their_own_pace_leave_more_room() -> None:
    """The more of the writes comes with the transactions, the less the disk has left for their reads."""
    now = happens(SERVICE / 0.7)
    waiting = float(now.waiting[0])
    units = [Unit(key="goes", sync=now.rate / 2), Unit(key="stays", sync=now.rate / 2, writes=300.0)]
    situation = two_tiers(seen(now, waiting), units, waiting / now.rate, SURE, TierLimits())

    def found(least: float, share: float, most: float) -> Forecast:
        paced = replace(situation.paced, writes=PacedShare(least=least, share=share, most=most))
        return placed(replace(situation, paced=paced), 0, 1)

    own, half, with_work = found(0, 0, 0), found(0, 0.5, 1), found(1, 1, 1)
    assert own.transactions > half.transactions > with_work.transactions
    assert half.interval.high > with_work.interval.high
    assert placed(situation, 0, 1) == with_work


def test_a_log_with_a_pace_of_its_own_queues_no_longer() -> None:
    """What the log does at its own pace is no bottleneck of more transactions, and no end of the interval."""
    now = happens(SERVICE, 0.003)
    log = RoleFigures(role=Role.LOG, name="pg_wal", waited_seconds=float(now.waiting[1]))
    waiting = float(now.waiting[0])
    situation = two_tiers(seen(now, waiting), [Unit(key="a", sync=now.rate)], waiting / now.rate, SURE, TierLimits())
    situation = replace(situation, roles=(log,))
    never = PacedShare(least=0.0, share=0.0, most=0.0)
    own = placed(replace(situation, paced=replace(situation.paced, log=never)), 0)
    with_work = placed(situation, 0)
    assert with_work.busiest.startswith("pg_wal")
    assert own.busiest != with_work.busiest
    assert own.interval.low > with_work.interval.low
