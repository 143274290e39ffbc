"""The sizing curve on situations that can be worked out by hand, and against published shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from connectors.model.observation import DatabaseDemand
from policies.evidence.prices import HOUR
from policies.model.settings import Pin
from policies.placement.sizing import Sizing, sizing
from tests.unit.policies.situations import BARE, GIB, HDD, MIB, NVME, SSD, Site, Unit

PER_READ = (HDD.random_read_seconds - SSD.random_read_seconds) * HOUR  # saved per hour by a read per second


def curve(units: Sequence[Unit], site: Site | None = None) -> Sizing:
    """The curve of these units without head-room."""
    return sizing((site or Site()).situation(units), BARE)


def by_power_law(exponent: float, count: int = 1000) -> list[Unit]:
    """Equal objects of which the hottest share f causes a share f ** exponent of the waits."""
    shares = [(at / count) ** exponent for at in range(count + 1)]
    return [Unit(key=f"t{at:04}", size=8 * MIB, sync=1e4 * (shares[at + 1] - shares[at])) for at in range(count)]


def test_three_tables() -> None:
    """10 MiB with 90 reads a second, 20 with 8 and 70 with 2: value, shadow price and knee by hand."""
    z = curve([Unit(key="hot", size=10 * MIB, sync=90), Unit(key="warm", size=20 * MIB, sync=8),
               Unit(key="cold", size=70 * MIB, sync=2)])  # fmt: skip
    assert z.managed_bytes == 100 * MIB
    assert z.all_fast_per_hour == pytest.approx(100 * PER_READ)
    assert z.at(5).bound_per_hour == pytest.approx(45 * PER_READ)
    assert z.at(5).saved_per_hour == 0, "no whole table fits"
    assert z.at(5).shadow_price == pytest.approx(9 * PER_READ * 1024)
    assert z.share(z.at(25)) == pytest.approx(0.90)
    assert z.share(z.at(30)) == pytest.approx(0.98)
    assert z.at(30).shadow_price == pytest.approx(2 / 70 * PER_READ * 1024)
    assert (z.knee.size_bytes, z.knee.units, z.knee.used_bytes) == (10 * MIB, 1, 10 * MIB)
    assert z.knee_distance == pytest.approx(0.90 - 0.10)
    assert z.at(100).shadow_price == 0
    assert [z.next_gib(z.at(percent)) for percent in (5, 30, 100)] == pytest.approx([55 * PER_READ, 2 * PER_READ, 0])


def test_the_knee_is_reached_by_whole_objects() -> None:
    """Where the upper curve bends, nothing is taken in part; from there a byte saves less than the average one."""
    z = curve(by_power_law(0.5))
    assert z.knee.saved_per_hour == pytest.approx(z.knee.bound_per_hour)
    average = z.all_fast_per_hour / (z.managed_bytes / GIB)
    assert z.knee.shadow_price < average
    assert z.knee.size_bytes / z.managed_bytes == pytest.approx(0.25, abs=0.002), "d/df f**0.5 is 1 at f = 1/4"


def test_headline_shares() -> None:
    """With the published skew, f ** 0.22, whole objects reach 60 % of the saving on 10 % and 73.7 % on 25 %."""
    z = curve(by_power_law(0.22))
    assert z.share(z.at(10)) >= 0.60
    assert z.share(z.at(20)) >= 0.70
    assert z.share(z.at(25)) >= 0.737
    assert z.knee.units / z.managed_units < 0.20, "few objects need the fastest tier; the hard part is which"


def test_a_giant_object_does_not_block_the_others() -> None:
    """The densest object is larger than the tier: the next ones come in, below the upper curve."""
    z = curve([Unit(key="giant", size=60 * MIB, sync=600), Unit(key="a", size=10 * MIB, sync=50),
               Unit(key="b", size=30 * MIB, sync=30)])  # fmt: skip
    assert z.at(10).saved_per_hour == pytest.approx(50 * PER_READ)
    assert z.at(10).bound_per_hour == pytest.approx(100 * PER_READ)
    assert z.at(60).saved_per_hour == pytest.approx(600 * PER_READ)


def crowded(sessions: float, waiting: float) -> Site:
    """So many sessions at a hundred transactions a second, of which so many wait for the hdd at a time."""
    return Site(database=DatabaseDemand(reads=180.0, read_wait=waiting, transactions=100.0, active=sessions))


EQUALS = [Unit(key="a", size=50 * MIB, sync=90), Unit(key="b", size=50 * MIB, sync=90)]


def test_a_full_queue_stays_full() -> None:
    """Eight sessions that only wait: with half of the reads gone they ask twice as often, and each waits half as long.

    Did they ask no more often, there would hardly be a queue.
    """
    z = curve(EQUALS, crowded(8.0, 7.9))
    half = z.at(50)
    assert z.sessions_known
    assert z.share(half) == pytest.approx(0.5, abs=0.03)
    assert half.today_per_hour == pytest.approx(90 * PER_READ)
    assert half.most_per_hour / z.all_fast_per_hour > 0.85


def test_work_that_arrives_by_itself_loses_its_queue() -> None:
    """Known to be open, half of the reads gone leave hardly a queue: what is likely is what was the most otherwise."""
    situation = crowded(8.0, 7.9).situation(EQUALS)
    either, closed, arriving = (sizing(replace(situation, load=each), BARE) for each in ("", "closed", "open"))
    assert [each.load for each in (either, closed, arriving)] == ["", "closed", "open"]
    assert either.at(50) == closed.at(50)
    assert arriving.at(50).saved_per_hour == arriving.at(50).most_per_hour == either.at(50).most_per_hour
    assert arriving.at(50).saved_per_hour > 1.5 * closed.at(50).saved_per_hour


def test_a_queue_that_goes_saves_more_than_what_left() -> None:
    """Half of eight sessions wait; the other half's work is the limit once reads go, so the queue for the rest ends."""
    z = curve(EQUALS, crowded(8.0, 4.0))
    half = z.at(50)
    assert 0.60 < z.share(half) < half.most_per_hour / z.all_fast_per_hour
    assert z.at(100).saved_per_hour == pytest.approx(180 * PER_READ, rel=0.02)


def test_one_session_has_no_queue() -> None:
    """Nobody stands before it, so what leaves is all that is saved."""
    half = curve(EQUALS, crowded(1.0, 0.5)).at(50)
    assert half.saved_per_hour == pytest.approx(90 * PER_READ, rel=0.02)
    assert half.most_per_hour == pytest.approx(90 * PER_READ, rel=0.02)


def test_without_sessions_an_idle_disks_latency_is_the_upper_end() -> None:
    """Reads of 5.5 ms where an idle disk takes 2.75: half busy, so with half of the reads left one takes 3.67."""
    hdd = replace(HDD, idle_read_seconds=HDD.random_read_seconds / 2)
    z = curve(EQUALS, Site(tiers=(("ssd", SSD, ("fast",)), ("hdd", hdd, ("slow",)))))
    half = z.at(50)
    assert not z.sessions_known
    assert half.saved_per_hour == half.today_per_hour
    assert half.most_per_hour == pytest.approx(90 * PER_READ + 90 * HDD.random_read_seconds / 3 * HOUR)


def test_where_things_are_now_is_another_question() -> None:
    """The curve is the same wherever the units are; only what is saved now differs."""
    units = [Unit(key="a", size=10 * MIB, sync=5), Unit(key="b", size=20 * MIB, sync=50)]
    below, above = curve(units), curve([replace(units[0], space="fast"), units[1]])
    assert [below.at(p).saved_per_hour for p in (0, 25, 50, 100)] == [
        above.at(p).saved_per_hour for p in (0, 25, 50, 100)
    ]
    assert below.saved_now_per_hour == 0
    assert above.saved_now_per_hour == pytest.approx(5 * PER_READ)


def test_present_size_is_what_units_may_fill() -> None:
    """Free room less head-room, and what is there already."""
    units = [Unit(key="a", size=20 * MIB, sync=5, space="fast"), Unit(key="b", size=500 * MIB, sync=1)]
    site = Site(room={"fast": 80 * MIB, "slow": 10**15})
    z = sizing(site.situation(units), replace(BARE, head_room_ratio=0.1))
    assert (z.present.size_bytes, z.present_known) == (90 * MIB, True)


def test_unknown_room_is_said() -> None:
    """A tier of unknown size counts with what it holds."""
    units = [Unit(key="a", size=20 * MIB, sync=5, space="fast"), Unit(key="b", size=500 * MIB, sync=1)]
    z = curve(units, Site(room={"fast": None, "slow": 10**15}))
    assert (z.present.size_bytes, z.present_known) == (20 * MIB, False)
    assert z.present.saved_per_hour == pytest.approx(5 * PER_READ)


def test_pins() -> None:
    """What must be there comes first however cold, what must never be counts nowhere."""
    z = curve([Unit(key="must", size=10 * MIB, sync=1, pin=Pin.MUST), Unit(key="hot", size=10 * MIB, sync=100),
               Unit(key="never", size=80 * MIB, sync=10**4, pin=Pin.NEVER)])  # fmt: skip
    assert z.pinned_bytes == 10 * MIB
    assert z.all_fast_per_hour == pytest.approx(101 * PER_READ)
    assert z.at(10).saved_per_hour == pytest.approx(1 * PER_READ)
    assert z.at(20).saved_per_hour == pytest.approx(101 * PER_READ)
    assert (z.knee.size_bytes, z.knee.units) == (20 * MIB, 2)


def test_a_bundle_counts_as_one() -> None:
    """A table with its LOBs comes whole or not at all."""
    z = curve([Unit(key="t", size=10 * MIB, sync=80, bundle=7), Unit(key="lob", size=40 * MIB, bundle=7),
               Unit(key="x", size=50 * MIB, sync=20)])  # fmt: skip
    assert z.at(40).saved_per_hour == 0
    assert z.at(50).saved_per_hour == pytest.approx(80 * PER_READ)
    assert z.at(50).units == 2


def test_unmanaged_units_do_not_count() -> None:
    """What configuration gives no tier is no part of the question."""
    site = Site(room={"fast": 0, "slow": 10**15, "elsewhere": 10**15})
    z = curve([Unit(key="a", size=MIB, sync=1), Unit(key="b", size=MIB, sync=9, space="elsewhere")], site)
    assert (z.managed_bytes, z.managed_units, z.reads) == (MIB, 1, 1.0)


def test_three_tiers_are_held_against_the_slowest() -> None:
    """With a middle tier the saving is still over the slowest one."""
    tiers = (("nvme", NVME, ("fast",)), ("ssd", SSD, ("middle",)), ("hdd", HDD, ("slow",)))
    site = Site(room={"fast": 0, "middle": 0, "slow": 10**15}, tiers=tiers)
    z = curve([Unit(key="a", size=MIB, sync=1)], site)
    assert z.all_fast_per_hour == pytest.approx((HDD.random_read_seconds - NVME.random_read_seconds) * HOUR)


def test_equal_objects_have_no_knee() -> None:
    """Thousands of equal objects: every GiB is worth the same, and the curve says so."""
    z = curve([Unit(key=f"t{at:04}", size=MIB, sync=1.0) for at in range(3000)])
    assert z.knee_distance == 0
    assert z.at(50).saved_per_hour == pytest.approx(1500 * PER_READ)
    assert z.next_gib(z.at(50)) == pytest.approx(1024 * PER_READ), "more than a GiB is left"


@pytest.mark.parametrize("units", [[], [Unit(key="idle")], [Unit(key="empty", size=0)]])
def test_nothing_to_save(units: list[Unit]) -> None:
    """No units, or none that anybody waits for: a flat curve and no knee."""
    z = curve(units)
    assert (z.all_fast_per_hour, z.knee_distance, z.share(z.knee), z.knee.shadow_price) == (0, 0, 0, 0)


def test_what_has_no_bytes_costs_none() -> None:
    """An object without a size yet is on any tier, one of no bytes included."""
    z = curve([Unit(key="new", size=0, sync=3), Unit(key="b", size=MIB, sync=1)])
    assert z.at(0).saved_per_hour == z.at(0).bound_per_hour == pytest.approx(3 * PER_READ)


def test_without_tiers() -> None:
    """Nothing can be sized where configuration knows no tier."""
    with pytest.raises(ValueError, match="tiers"):
        sizing(replace(Site().situation([]), tiers=()), BARE)
