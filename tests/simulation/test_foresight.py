"""What an agent knows of times that it has not seen: seasons that come again, and partitions that are new."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agent.ledger.ledger import Ledger
from agent.service.watch import Watch
from connectors.model.moves import UnitKind
from connectors.simulated.scenarios import UnitSpec
from tests.simulation.site import MINUTE, Site
from tests.virtual_clock import EPOCH

HOUR = 60 * MINUTE
MB = 10**6
REPORT = '"shop"."month_end_report"'
READS = 2_000_000  # an hour, in the last three days of a month
STEP = 12  # hours between two samples


def lived(site: Site, watch: Watch, until: timedelta) -> None:
    """Sample until so long after the beginning, the first of a January; the report is read at the end of months."""
    world = site.world
    while site.clock.now() < EPOCH + until:
        now = site.clock.now()
        ending = (now + timedelta(days=3)).month != now.month
        world.touch(REPORT, random_pages=(READS if ending else 2) * STEP)
        site.clock.sleep(STEP * HOUR)
        watch.sample()


def carried_out(watch: Watch, ledger: Ledger) -> None:
    """Plan, approve, act, and let a cool-down pass for nobody."""
    planning = watch.plan()
    assert planning is not None
    number = watch.propose(planning)
    if number is not None:
        ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
        watch.act()


def comes_up(watch: Watch, key: str) -> bool:
    """Whether a plan made now would bring the unit to the fast tier."""
    planning = watch.plan()
    assert planning is not None
    return any(move.key == key and move.to_space == "ssd" for move in planning.plan.moves)


def test_a_month_end_table_is_there_before_its_fourth_month_end(tmp_path: Path) -> None:
    """Seen three times, it comes up while it is still cold, hours before its days begin; the third time it does not."""
    site = Site(tmp_path, sample_every=f"{STEP}h")
    site.world.create([UnitSpec(key=REPORT, kind=UnitKind.TABLE, size_bytes=200 * MB, space="hdd")])
    before = [timedelta(days=day, hours=-STEP) for day in (31 + 29 + 28, 31 + 29 + 31 + 27)]
    with site.agent() as (watch, ledger):
        site.clock.sleep(26 * 24 * HOUR)
        watch.sample()
        lived(site, watch, before[0])
        assert not comes_up(watch, REPORT)
        lived(site, watch, before[1])
        assert comes_up(watch, REPORT)
        carried_out(watch, ledger)
    assert site.homes()[REPORT] == "ssd"


def test_a_new_partition_is_placed_before_it_has_history(tmp_path: Path) -> None:
    """The quarter that begins is born with the heat of the one before it, and is promoted before anybody read it.

    A new table of the same size, of which nobody can know anything, is not.
    """
    site = Site(tmp_path, sample_every=f"{STEP}h")
    newest, other = (f'"shop"."{name}"' for name in ("measurements_2025q1", "something_else"))
    with site.agent() as (watch, ledger):
        watch.sample()
        lived_plainly(site, watch, 4 * 24 // STEP, STEP * HOUR)
        carried_out(watch, ledger)
        assert site.homes()['"shop"."measurements_2024q4"'] == "ssd"
        site.world.create(
            [
                UnitSpec(
                    key=newest,
                    kind=UnitKind.TABLE_PARTITION,
                    size_bytes=20 * MB,
                    space="hdd",
                    parent='"shop"."measurements"',
                ),
                UnitSpec(key=other, kind=UnitKind.TABLE, size_bytes=20 * MB, space="hdd"),
            ]
        )
        lived_plainly(site, watch, 1, 15 * MINUTE)
        assert comes_up(watch, newest)
        assert not comes_up(watch, other)


def lived_plainly(site: Site, watch: Watch, samples: int, every_seconds: float) -> None:
    """Let the load of the scenario pass alone."""
    for _ in range(samples):
        site.clock.sleep(every_seconds)
        watch.sample()
