"""UN ICC, Oracle on SSD: jobs at 1.16 to 6.8 times their speed, and the payroll that shows which waits count.

Twenty-one jobs were timed; these are the twelve whose figures are published one by one.

Each job is computing and foreground I/O; one pair of devices for all of them, and of each job only its I/O share. The
shares are what the published times ask for, so what can fail is that one of them is no share, that the plan does not
promise what the share says, or that a promise passes its ceiling.
"""

from __future__ import annotations

import pytest

from connectors.model.observation import DatabaseDemand
from policies.evidence.prices import HOUR, ceiling_ratio, wait_per_hour
from policies.model.plan import Plan, Situation
from policies.model.settings import PolicySettings
from policies.placement.balancer import make_plan
from tests.reproduction.amdahl import speedup
from tests.unit.policies.situations import GIB, HDD, SSD, Site, Unit

JOBS = {  # seconds before and after, or the ratio where only that is published
    "a": (925.0, 197.0),
    "b": (1104.0, 162.0),
    "c": (194.0, 37.0),
    "d": (542.0, 152.0),
    "e": (120.0, 60.0),
    "retro pay": (79_579.0, 66_655.0),
    "backup 1": (2.35, 1.0),
    "backup 2": (1.34, 1.0),
    "statistics": (2.54, 1.0),
    "views": (3.23, 1.0),
    "materialized view 1": (1.26, 1.0),
    "materialized view 2": (1.57, 1.0),
}
SETTINGS = PolicySettings(copy_bytes_per_second=500e6)
LEFT = SSD.random_read_seconds / HDD.random_read_seconds  # of a read's time, on SSD


def planned(units: list[Unit], database: DatabaseDemand, settings: PolicySettings = SETTINGS) -> tuple[Situation, Plan]:
    """A plan with room for everything."""
    picture = Site(room={"fast": 1000 * GIB, "slow": 10**15}, database=database).situation(units)
    return picture, make_plan(picture, settings)


@pytest.mark.parametrize("job", JOBS)
def test_row_10_every_job_by_its_io_share_alone(job: str) -> None:
    """Published: 1.16 to 6.8 times as fast. Ours: each within 1 % with an I/O share between 15 and 90 %."""
    before, after = JOBS[job]
    share = (1 - after / before) / (1 - LEFT)
    assert 0.15 <= share <= 0.90
    reads = 10 * share / HDD.random_read_seconds  # ten sessions, so that the job has something to wait for
    units = [Unit(key=f"{job}.t{at}", size=GIB, sync=reads / 8) for at in range(8)]
    picture, plan = planned(units, DatabaseDemand(read_wait=10 * share, active=10.0))
    promised = speedup(10.0, plan.wait_saved_per_hour / HOUR)
    assert promised == pytest.approx(before / after, rel=0.01)
    assert promised <= 1 / (1 - ceiling_ratio(picture.database))


def test_row_11_payroll_is_promised_what_its_users_wait_for() -> None:
    """Published: system I/O 117,748 -> 2,938 s, user I/O 8,907 -> 1,120 s of 79,579 s; measured 1.19x. Ours: 1.11x.

    A model of all waits says less than no time. The promise lies in [1.11, 1.25], below the ceiling of 1.126, and the
    unit that most is written to by background processes is not what it is promised for.
    """
    elapsed, user, system = 79_579.0, 8_907.0, 117_748.0
    left = 1_120.0 / user
    fast = HDD.random_read_seconds * left
    reads = user / elapsed / HDD.random_read_seconds
    written = system / elapsed / HDD.write_seconds
    units = [
        *(Unit(key=f"pay.t{at}", size=GIB, sync=reads / 20) for at in range(20)),
        Unit(key="pay.written", size=GIB, writes=written),
    ]
    tiers = (
        ("ssd", type(SSD)(random_read_seconds=fast, sequential_read_seconds=2e-5, write_seconds=1e-4), ("fast",)),
        ("hdd", HDD, ("slow",)),
    )
    database = DatabaseDemand(read_wait=user / elapsed, active=1.0)
    picture = Site(room={"fast": 1000 * GIB, "slow": 10**15}, tiers=tiers, database=database).situation(units)
    plan = make_plan(picture, PolicySettings(copy_bytes_per_second=500e6, maximum_moves=100))
    promised = speedup(1.0, plan.wait_saved_per_hour / HOUR)
    assert 1.11 <= round(promised, 2) <= 1.25
    assert promised <= 1 / (1 - ceiling_ratio(database)) < 1.127
    assert "pay.written" not in {move.key for move in plan.moves}
    writes = wait_per_hour(picture.heat.rates, [HDD], PolicySettings(write_wait_share=1.0)).sum() / HOUR
    assert writes > 1.0  # with background I/O counted, more would be saved than there is
    with pytest.raises(ValueError, match="cannot be saved"):
        speedup(1.0, float(writes))
