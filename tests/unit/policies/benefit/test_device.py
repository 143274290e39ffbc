"""Device speeds: configuration corrected by measurement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand, Signal, SpaceFigures
from policies.evidence.device import (
    PRIOR_ERROR,
    DeviceState,
    calibrate,
    device_arrays,
    devices_from_arrays,
    empty_devices,
    observe,
    observe_spaces,
    reads_by_tier,
)
from policies.model.settings import PolicySettings, TierSpeed
from tests.unit.policies.situations import HDD, SSD, demand

SETTINGS = PolicySettings()
PRIOR = (SSD, HDD)
UNSURE = tuple(replace(s, error_ratio=PRIOR_ERROR, idle_read_seconds=s.random_read_seconds) for s in PRIOR)


def watched(
    state: DeviceState, fast: float, slow: float, wait: float, minutes: int = 60, reads: float = float("nan")
) -> DeviceState:
    """A time with those reads per second on each tier and that measured wait."""
    seen = demand(60, {1: fast, 2: slow}, database=DatabaseDemand(read_wait=wait, reads=reads))
    for _ in range(minutes):
        state = observe(state, PRIOR, seen, np.array([0, 1], dtype=np.int64), SETTINGS)
    return state


def test_nothing_measured_is_what_was_configured() -> None:
    """Without evidence the configured speeds stand, and are not called measured."""
    assert calibrate(PRIOR, empty_devices(2)) == UNSURE
    assert calibrate((), empty_devices(0)) == ()


def test_a_busy_disk_is_as_slow_as_sessions_find_it() -> None:
    """100 reads/s that wait 4.3 s a second take 43 ms each, queueing included; the idle tier stays as configured."""
    ssd, hdd = calibrate(PRIOR, watched(empty_devices(2), 0.0, 100.0, 4.3))
    assert hdd.random_read_seconds == pytest.approx(0.043, rel=0.01)
    assert hdd.sequential_read_seconds == pytest.approx(HDD.sequential_read_seconds * 0.043 / 0.0055, rel=0.01)
    assert hdd.write_seconds == HDD.write_seconds
    assert hdd.measured
    assert ssd == UNSURE[0]


def test_both_tiers_are_told_apart() -> None:
    """When the mix changes, each tier's own latency comes out: 11 ms and 0.4 ms."""
    state = empty_devices(2)
    for fast, slow in ((5000.0, 1.0), (10.0, 100.0), (3000.0, 20.0)):
        state = watched(state, fast, slow, fast * 0.0004 + slow * 0.011)
    ssd, hdd = calibrate(PRIOR, state)
    assert hdd.random_read_seconds == pytest.approx(0.011, rel=0.02)
    assert ssd.random_read_seconds == pytest.approx(0.0004, rel=0.02)
    assert ssd.measured


def test_little_evidence_moves_little() -> None:
    """A hundred reads against a prior worth a thousand shift the speed by a tenth of the way."""
    _, hdd = calibrate(PRIOR, watched(empty_devices(2), 0.0, 100 / 60, 100 / 60 * 0.011, minutes=1))
    assert hdd.random_read_seconds == pytest.approx(0.0055 * (1000 + 100 * 2) / 1100)
    assert hdd.source == "estimated"  # not what was configured any more


def test_reads_that_memory_answers_are_as_quick_as_they_were() -> None:
    """4.7 us each, a thousandth of what a disk takes: the wait that is shown is the one that sessions had."""
    _, hdd = calibrate(PRIOR, watched(empty_devices(2), 0.0, 50_000.0, 50_000 * 4.7e-6, minutes=20))
    assert hdd.random_read_seconds == pytest.approx(4.7e-6, rel=0.1)
    assert hdd.source == "measured"


def test_a_shown_time_is_within_what_waits_leave() -> None:
    """Whatever makes it shorter: the tier below it, or sessions that cannot wait so long."""
    speed = replace(SSD, random_read_seconds=3e-6, least_read_seconds=2.8e-6, most_read_seconds=6.4e-6)
    for shorter in (speed.cap(replace(HDD, random_read_seconds=2.5e-6)), speed.scale(0.5), speed.cap(None)):
        assert shorter.least_read_seconds <= shorter.random_read_seconds <= shorter.most_read_seconds


def test_a_faster_tier_never_comes_out_slower() -> None:
    """Reads of the slow tier found in the file system's cache make it as fast as the fast one, and gains zero."""
    ssd, hdd = calibrate(PRIOR, watched(empty_devices(2), 0.0, 10_000.0, 10_000 * 0.0001))
    assert hdd.random_read_seconds == pytest.approx(0.0001, rel=0.1)
    assert ssd.random_read_seconds == hdd.random_read_seconds
    assert ssd.source == "estimated"


@pytest.mark.parametrize("wait", [float("nan"), -1.0])
def test_an_interval_without_a_measured_wait_teaches_nothing(wait: float) -> None:
    """Engines that do not time reads leave the configured speeds alone."""
    assert not watched(empty_devices(2), 0.0, 100.0, wait).gram.any()


def test_an_interval_whose_reads_are_mostly_elsewhere_teaches_nothing() -> None:
    """If the database read ten times what is known by tier, its wait says nothing about the tiers."""
    assert not watched(empty_devices(2), 0.0, 100.0, 4.3, reads=1000.0).gram.any()
    assert not watched(empty_devices(2), 0.0, 0.0, 4.3).gram.any()


def test_reads_of_the_system_catalog_do_not_slow_down_the_tiers() -> None:
    """A fifth of all reads, and of all wait, is for what is no unit: a read of 11 ms stays one of 11 ms."""
    state = watched(empty_devices(2), 0.0, 80.0, 100 * 0.011, reads=100.0)
    _, hdd = calibrate(PRIOR, state)
    assert hdd.random_read_seconds == pytest.approx(0.011, rel=0.01)
    alone = watched(empty_devices(2), 0.0, 80.0, 80 * 0.011, reads=80.0)
    assert np.argmax(state.points[1, :, 0]) == np.argmax(alone.points[1, :, 0])
    np.testing.assert_allclose(state.points[1].sum(axis=0)[1], alone.points[1].sum(axis=0)[1])


# A real PostgreSQL 18 (io_method = worker), 20 s: two clients look up rows that the operating system has cached, and a
# third reads a table from end to end. Blocks and seconds by pg_stat_database, parts of both by pg_stat_io. By the
# clients' own EXPLAIN (ANALYZE, BUFFERS) a look-up took 11.8 us a block.
REPORT = DatabaseDemand(reads=170_024.0, read_wait=0.69814, scan_reads=169_818.5, scan_wait=0.69579)


def with_scans(
    database: DatabaseDemand, *, ahead: float, singles: float, prior: tuple[TierSpeed, ...] = (SSD, HDD), row: int = 0
) -> tuple[TierSpeed, ...]:
    """Speeds after ten minutes of those reads a second, ahead and one by one, on one tier."""
    seen = demand(60, {1: singles}, database=database)
    seen.rates[Signal.PREFETCHED_READ] = ahead
    state = empty_devices(2)
    for _ in range(10):
        state = observe(state, prior, seen, np.array([row], dtype=np.int64), SETTINGS)
    return calibrate(prior, state)


def test_what_scans_waited_is_not_the_time_of_a_look_up() -> None:
    """Of 0.7 s waited a second look-ups took 2.4 ms: 11.4 us each, and a block of a scan 4.1 us."""
    ssd, _ = with_scans(REPORT, ahead=169_819.0, singles=205.0)
    assert ssd.random_read_seconds == pytest.approx(11.4e-6, rel=0.1)
    assert ssd.sequential_read_seconds == pytest.approx(4.1e-6, rel=0.01)
    assert ssd.measured


def test_scans_that_are_not_timed_apart_share_one_factor_with_look_ups() -> None:
    """Before PostgreSQL 16 the same load makes a look-up fourteen times as long: nothing there tells otherwise."""
    nan = float("nan")
    ssd, _ = with_scans(replace(REPORT, scan_reads=nan, scan_wait=nan), ahead=169_819.0, singles=205.0)
    assert ssd.random_read_seconds / SSD.random_read_seconds == pytest.approx(
        ssd.sequential_read_seconds / SSD.sequential_read_seconds
    )
    assert ssd.random_read_seconds > 100e-6


def test_what_an_earlier_version_learned_fades_as_fast_as_it_was_learned() -> None:
    """Ten minutes that knew no scans apart and forty that do: a fifth of the weight is of the wrong 140 us."""
    nan = float("nan")
    seen = demand(60, {1: 205.0}, database=REPORT)
    seen.rates[Signal.PREFETCHED_READ] = 169_819.0
    state = empty_devices(2)
    for minute in range(50):
        database = replace(REPORT, scan_reads=nan, scan_wait=nan) if minute < 10 else REPORT
        state = observe(state, PRIOR, replace(seen, database=database), np.array([0], dtype=np.int64), SETTINGS)
    assert calibrate(PRIOR, state)[0].random_read_seconds == pytest.approx(11.4e-6 + 140e-6 / 5, rel=0.2)


def test_a_report_from_the_disk_beside_look_ups_of_cached_rows() -> None:
    """1,600 look-ups a second wait 12 ms, 45,000 blocks of a scan 2.2 s: the disk is as slow in runs as it is."""
    database = DatabaseDemand(reads=46_600.0, read_wait=2.212, scan_reads=45_000.0, scan_wait=2.2)
    _, hdd = with_scans(database, ahead=45_000.0, singles=1_600.0, row=1)
    assert hdd.random_read_seconds == pytest.approx(0.012 / 1_600, rel=0.1)  # so memory answers them
    assert hdd.sequential_read_seconds == pytest.approx(2.2 / 45_000, rel=0.01)


@pytest.mark.parametrize(("ahead", "singles"), [(90_000.0, 10_000.0), (60_000.0, 40_000.0)])
def test_scans_are_as_many_as_the_server_counts(ahead: float, singles: float) -> None:
    """Stale statistics took a part of the scans for look-ups: 10,000 blocks were none of scans, of 0.2 ms each."""
    database = DatabaseDemand(reads=100_000.0, read_wait=2.9, scan_reads=90_000.0, scan_wait=0.9)
    ssd, _ = with_scans(database, ahead=ahead, singles=singles)
    assert ssd.random_read_seconds == pytest.approx(0.0002, rel=0.01)
    assert ssd.sequential_read_seconds == pytest.approx(1e-5, rel=0.01)


def test_scans_alone_say_nothing_of_a_look_up() -> None:
    """All reads are a scan's: blocks in runs are measured, single reads stay as configured."""
    database = DatabaseDemand(reads=90_000.0, read_wait=0.9, scan_reads=90_000.0, scan_wait=0.9)
    ssd, _ = with_scans(database, ahead=90_000.0, singles=0.0)
    assert ssd.random_read_seconds == SSD.random_read_seconds
    assert ssd.source == "configured"
    assert ssd.sequential_read_seconds == pytest.approx(1e-5, rel=0.01)


def test_reads_on_unmanaged_spaces_belong_to_no_tier() -> None:
    """Tier -1 is left out."""
    seen = demand(60, {1: 5.0, 2: 7.0, 3: 9.0})
    assert reads_by_tier(seen, np.array([0, -1, 0], dtype=np.int64), 2)[1].tolist() == [14.0, 0.0]


def test_stored_evidence_comes_back() -> None:
    """Arrays of the evidence make the same evidence; wrong ones are refused."""
    state = watched(empty_devices(2), 10.0, 100.0, 4.3)
    assert calibrate(PRIOR, devices_from_arrays(device_arrays(state))) == calibrate(PRIOR, state)
    with pytest.raises(ValueError, match="lacks moment"):
        devices_from_arrays({"gram": state.gram})
    with pytest.raises(ValueError, match="shapes"):
        devices_from_arrays({"gram": state.gram, "moment": np.zeros(3)})
    with pytest.raises(ValueError, match="shapes"):
        devices_from_arrays({**device_arrays(state), "scan_moment": np.zeros(3)})
    with pytest.raises(ValueError, match="cannot calibrate 3"):
        calibrate((SSD, HDD, HDD), state)


def test_read_times_per_space_teach_each_tier_by_itself() -> None:
    """100 reads/s that waited 1.1 s a second on hdd take 11 ms, 1,000 that waited 0.4 s on ssd take 0.4 ms."""
    figures = SpaceFigures(
        name=("fast", "slow", "unmanaged"),
        reads=np.array([1000.0, 100.0, 9e9]),
        read_seconds=np.array([0.4, 1.1, 9e9]),
        writes=np.full(3, np.nan),
        write_seconds=np.full(3, np.nan),
    )
    seen = replace(demand(60, {1: 1.0}), spaces=figures)
    state = empty_devices(2)
    for _ in range(60):
        state = observe_spaces(state, PRIOR, seen, {"fast": 0, "slow": 1}, SETTINGS)
    ssd, hdd = calibrate(PRIOR, state)
    assert hdd.random_read_seconds == pytest.approx(0.011, rel=0.01)
    assert ssd.random_read_seconds == pytest.approx(0.0004, rel=0.01)
    assert hdd.measured
    assert ssd.measured


def test_a_space_without_figures_teaches_nothing() -> None:
    """NaN reads of a new space leave the configured speed."""
    nothing = np.full(1, np.nan)
    figures = SpaceFigures(name=("slow",), reads=nothing, read_seconds=nothing, writes=nothing, write_seconds=nothing)
    state = observe_spaces(
        empty_devices(2), PRIOR, replace(demand(60, {}), spaces=figures), {"fast": 0, "slow": 1}, SETTINGS
    )
    assert calibrate(PRIOR, state) == UNSURE


def test_a_speed_is_the_surer_the_longer_and_steadier_it_was_measured() -> None:
    """An hour of equal minutes leaves a tenth of the first doubt; minutes that contradict each other leave more."""
    seconds = (0.011, 0.011), (0.005, 0.017)
    steady, jumping = empty_devices(2), empty_devices(2)
    for minute in range(60):
        steady = watched(steady, 0.0, 100.0, 100 * seconds[0][minute % 2], minutes=1)
        jumping = watched(jumping, 0.0, 100.0, 100 * seconds[1][minute % 2], minutes=1)
    sure, unsure = (calibrate(PRIOR, state)[1].error_ratio for state in (steady, jumping))
    assert sure < 0.1 * PRIOR_ERROR * 2 < unsure < PRIOR_ERROR
    assert calibrate(PRIOR, steady)[0].error_ratio == PRIOR_ERROR


def test_evidence_of_older_versions_says_nothing_about_its_error() -> None:
    """Arrays without the new columns are taken over; the speed stays, its error is that of a configured one."""
    state = watched(empty_devices(2), 0.0, 100.0, 1.1)
    older = {name: device_arrays(state)[name] for name in ("gram", "moment")}
    assert not devices_from_arrays(older).scan_gram.any()
    again = calibrate(PRIOR, devices_from_arrays(older))
    assert again[1].random_read_seconds == calibrate(PRIOR, state)[1].random_read_seconds
    assert again[1].error_ratio == pytest.approx(PRIOR_ERROR, rel=0.05)


def mixed(state: DeviceState, fast: float, slow: float, seconds: tuple[float, float], minutes: int) -> DeviceState:
    """So many minutes with those reads per second on ssd and hdd, each taking so long."""
    return watched(state, fast, slow, fast * seconds[0] + slow * seconds[1], minutes=minutes)


def test_a_thousandth_of_the_waits_says_nothing_about_a_speed() -> None:
    """An ssd with 0.1 % of the waits stays configured, whether it is as configured, ten times slower or faster.

    By hand: 500 reads/s of hdd at 5.5 ms are 2.75 s a second, 13.75 of ssd at 0.2 ms 2.75 ms. All that the ssd could
    have taken is all of the wait, 1,000 times as configured, which is beyond belief; all it took may be nothing.
    """
    for seconds in (0.0002, 0.002, 0.00002):
        ssd, hdd = calibrate(PRIOR, mixed(empty_devices(2), 13.75, 500.0, (seconds, 0.0055), 600))
        assert ssd.source == "configured"
        assert ssd.random_read_seconds == pytest.approx(0.0002, rel=0.02)
        assert ssd.error_ratio == PRIOR_ERROR
        assert hdd.source == "measured"
        assert hdd.random_read_seconds == pytest.approx(0.0055, rel=0.01)
        assert ssd.least_read_seconds <= 0.0002 <= ssd.most_read_seconds or ssd.most_read_seconds == 0.0


def test_hot_data_that_was_moved_does_not_make_the_ssd_impossibly_fast() -> None:
    """Before the move the hdd's queue made its reads 44 ms; without it they are 5.5. The ssd keeps its 0.2 ms.

    The sum alone, with 44 ms for the hdd, leaves less than nothing for the ssd: the regression ends at its clamp, 2 us.
    """
    state = mixed(empty_devices(2), 0.0, 180.0, (0.0002, 0.044), 60)
    for minutes in (1, 10, 60, 600):
        after = mixed(state, 3000.0, 30.0, (0.0002, 0.0055), minutes)
        ssd, _ = calibrate(PRIOR, after)
        assert ssd.random_read_seconds == pytest.approx(0.0002, rel=0.35), minutes
        if ssd.source != "measured":
            assert ssd.least_read_seconds < 0.0002 < ssd.most_read_seconds < 0.0003


def test_what_waits_leave_possible_by_hand() -> None:
    """Half of the wait by configuration on either tier, and as much as configured was measured.

    All of it on the ssd is twice its time, all on the hdd twice its own; either may have taken next to nothing. So
    neither is measured, both stay as configured, and what is left reaches to twice as long, less what the other takes
    at the very least: a third of the ssd's time, 1 us of the hdd's.
    """
    state = mixed(empty_devices(2), 2750.0, 100.0, (0.0002, 0.0055), 60)
    ssd, hdd = calibrate(PRIOR, state)
    assert (ssd.source, hdd.source) == ("configured", "configured")
    assert (ssd.random_read_seconds, hdd.random_read_seconds) == (0.0002, 0.0055)
    assert ssd.most_read_seconds == pytest.approx(0.0002 * (2 - 1e-6 / 0.0055))
    assert hdd.most_read_seconds == pytest.approx(0.0055 * (2 - 1 / 3))
    assert (ssd.least_read_seconds, hdd.least_read_seconds) == pytest.approx((1e-6, 1e-6))


def test_nine_tenths_of_the_waits_are_enough() -> None:
    """With ssd reads a tenth of the wait, however wrong their time may be, the hdd's is known within a factor of 2."""
    ssd, hdd = calibrate(PRIOR, mixed(empty_devices(2), 275.0, 90.0, (0.0002, 0.0055), 60))
    assert (ssd.source, hdd.source) == ("configured", "measured")
    assert hdd.random_read_seconds == pytest.approx(0.0055, rel=0.01)
    assert hdd.least_read_seconds == hdd.most_read_seconds == 0.0
    assert 0 < ssd.least_read_seconds < 0.0002 < ssd.most_read_seconds


@given(
    fast=st.floats(0.0, 5_000.0),
    slow=st.floats(0.0, 500.0),
    true=st.tuples(st.floats(0.4, 2.5), st.floats(0.1, 15.0)),
    minutes=st.integers(1, 200),
)
@example(fast=1e-12, slow=79.0, true=(1.0, 2.0), minutes=16)  # next to nothing: a difference of sums is rounding
def test_what_is_called_measured_is_right_within_a_factor_of_two(
    fast: float, slow: float, true: tuple[float, float], minutes: int
) -> None:
    """Whatever mix of reads was seen, of tiers within what is believed possible; and what is left holds the truth."""
    seconds = true[0] * 0.0002, true[1] * 0.0055
    speeds = calibrate(PRIOR, mixed(empty_devices(2), fast, slow, seconds, minutes))
    for speed, truth in zip(speeds, seconds, strict=True):
        if speed.measured:
            assert truth / 2.01 <= speed.random_read_seconds <= truth * 2.01
        elif speed.most_read_seconds:
            assert speed.least_read_seconds * 0.999 <= truth <= speed.most_read_seconds * 1.001
