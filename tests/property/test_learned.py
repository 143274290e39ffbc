"""What samples teach is a function of intervals and catalogs alone: it survives a restart, and lost intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from agent.ledger.ledger import Ledger
from agent.sampling.learned import (
    Inventory,
    Learned,
    growth_of,
    learn,
    with_catalog,
    with_new_partitions,
    with_renamed_units,
    with_slots,
)
from agent.sampling.learned_state import load_devices, load_learned, save_learned
from connectors.model.moves import UnitKind
from connectors.model.observation import (
    I64,
    NO_PARENT,
    SIGNALS,
    Bools,
    DatabaseDemand,
    Demand,
    Signal,
    Space,
    UnitTable,
)
from policies.evidence import capacity, device, heat, horizons, seasons
from policies.model.settings import PolicySettings
from tests.examples import examples
from tests.ledger.clock import StillClock
from tests.unit.policies.situations import HDD, MIB, NOON, SSD

SETTINGS = PolicySettings()
SPEEDS = (SSD, HDD)
UNITS = 4
HOUR = 3600.0
SPACES = (
    Space(name="fast", path="/fast", capacity_bytes=None, used_bytes=0, free_bytes=None),
    Space(name="slow", path="/slow", capacity_bytes=None, used_bytes=0, free_bytes=None),
)


def units_of(keys: list[str], kind: UnitKind = UnitKind.TABLE, first_id: int = 1) -> UnitTable:
    """A catalog of units by key, the first half of them on the fast space."""
    count = len(keys)
    return UnitTable(
        physical_id=np.arange(first_id, first_id + count, dtype=np.int64),
        key=keys,
        kind=np.full(count, kind, dtype=np.int8),
        size_bytes=np.full(count, 10 * MIB, dtype=np.int64),
        space=(np.arange(count) * 2 >= count).astype(np.int32),
        bundle=np.arange(count, dtype=np.int64),
        parent=np.full(count, NO_PARENT, dtype=np.int64),
    )


def inventory_of(units: UnitTable, slots: I64) -> Inventory:
    """Two spaces, each a tier."""
    return Inventory(
        units=units, slots=slots, spaces=SPACES, tier_of_space=np.array([0, 1], dtype=np.int32), speeds=SPEEDS
    )


INVENTORY = inventory_of(units_of([f"u{at}" for at in range(UNITS)]), np.arange(UNITS, dtype=np.int64))


@dataclass(frozen=True)
class Step:
    """One interval: the rates of the units, which of them restarted, and whether its hours are measured."""

    rates: tuple[float, ...]
    restarted: frozenset[int]
    hours: float
    measured: bool


steps = st.lists(
    st.builds(
        Step,
        rates=st.tuples(*[st.sampled_from([0.0, 0.5, 3.0, 80.0])] * UNITS),
        restarted=st.frozensets(st.integers(0, UNITS - 1), max_size=2),
        hours=st.sampled_from([0.02, 1.0, 10.0]),
        measured=st.sampled_from([True, True, True, False]),
    ),
    max_size=14,
)


def demand_of(step: Step, ended_at: datetime) -> Demand:
    """Synchronous reads only, and the wait that they cause at the configured speeds."""
    rates = np.zeros((SIGNALS, UNITS))
    rates[Signal.SYNC_READ] = rates[Signal.LOGICAL_READ] = step.rates
    observed: Bools = ~np.isin(np.arange(UNITS), list(step.restarted))
    reads = float(sum(step.rates))
    work = DatabaseDemand(reads=reads, read_wait=reads * 0.004, transactions=1.0 + reads, active=reads / 10)
    return Demand(
        ended_at=ended_at, seconds=step.hours * HOUR, physical_id=INVENTORY.units.physical_id, rates=rates,
        observed=observed, estimated=frozenset(), database=work,
    )  # fmt: skip


def taught(learned: Learned, step: Step, ended_at: datetime) -> Learned:
    """What is known after one more interval."""
    located = INVENTORY.locate(demand_of(step, ended_at))
    return learn(learned, located, INVENTORY, SETTINGS, zone=UTC, measured=step.measured)


def fresh() -> Learned:
    """What is known after the first catalog."""
    return replace(with_slots(Learned(), INVENTORY.slots), devices=device.empty_devices(len(SPEEDS)))


def columns_of(learned: Learned) -> dict[str, NDArray[Any]]:
    """Everything that is kept bit by bit, copied: the next interval uses it up."""
    found = {
        "heat": heat.state_arrays(learned.heat),
        "seasons": seasons.season_arrays(learned.seasons),
        "horizons": horizons.horizon_arrays(learned.horizons),
        "devices": device.device_arrays(learned.devices),
        "units": {} if learned.units is None else heat.known_arrays(learned.units),
    }
    return {f"{part} {name}": array.copy() for part, arrays in found.items() for name, array in arrays.items()}


def assert_equal(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]], *parts: str) -> None:
    """Bit by bit, in those parts or in all."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        if not parts or name.split()[0] in parts:
            np.testing.assert_array_equal(found[name], array, err_msg=name)


def reloaded(learned: Learned, folder: Path) -> Learned:
    """What the next process knows."""
    clock = StillClock()
    with Ledger.open(folder / "ledger.db", clock) as ledger:
        save_learned(ledger, "shop", clock.now(), learned, SPEEDS, with_work=True)
    with Ledger.open(folder / "ledger.db", clock) as ledger:
        return replace(load_learned(ledger, "shop"), devices=load_devices(ledger, "shop", SPEEDS))


@settings(deadline=None, max_examples=examples(25))
@given(steps, st.integers(0, 14))
def test_a_restart_in_between_changes_nothing(done: list[Step], restart: int) -> None:
    """Heat, seasons, horizons and tier speeds are the same bit by bit, learned in one go or over a restart."""
    at_once, restarted, ended_at = fresh(), fresh(), NOON
    with TemporaryDirectory() as folder:
        for number, step in enumerate(done):
            if number == restart:
                work = restarted.work.mean()
                restarted = reloaded(restarted, Path(folder))
                assert restarted.work.mean() == work or not work.reads >= 0
            ended_at += timedelta(hours=step.hours)
            at_once, restarted = taught(at_once, step, ended_at), taught(restarted, step, ended_at)
    assert_equal(columns_of(restarted), columns_of(at_once))


@settings(deadline=None, max_examples=examples(60))
@given(steps)
def test_units_that_restarted_learn_nothing_from_the_interval(done: list[Step]) -> None:
    """A slot without evidence keeps every sum, whatever the others did."""
    learned, ended_at = fresh(), NOON
    for step in done:
        before = columns_of(learned)
        ended_at += timedelta(hours=step.hours)
        learned = taught(learned, step, ended_at)
        after = columns_of(learned)
        for name in (name for name in before if name.startswith("heat")):
            lost = sorted(step.restarted)
            np.testing.assert_array_equal(after[name][..., lost], before[name][..., lost], err_msg=name)
        watched = [
            dict(zip(each["seasons slot"], each["seasons cell_seconds"].T, strict=True)) for each in (before, after)
        ]
        for slot in step.restarted & watched[0].keys():
            np.testing.assert_array_equal(watched[1][slot], watched[0][slot])


@settings(deadline=None, max_examples=examples(60))
@given(steps)
def test_hours_that_are_not_measured_teach_work_and_speeds_only(done: list[Step]) -> None:
    """Heat, seasons and horizons stay; what the whole database did counts at any hour, but not its sessions."""
    learned, ended_at = fresh(), NOON
    for step in done:
        before, sessions = columns_of(learned), learned.work.mean_sessions()
        ended_at += timedelta(hours=step.hours)
        learned = taught(learned, step, ended_at)
        if not step.measured:
            assert_equal(columns_of(learned), before, "heat", "seasons", "horizons")
            assert learned.work.mean().transactions > 0
            np.testing.assert_equal(learned.work.mean_sessions(), sessions)


def test_an_interval_teaches_heat_seasons_and_speed() -> None:
    """The units that were read are warm, the others are watched and cold, and the wait bounds the tier's read time."""
    learned = fresh()
    for hour in range(1, 4):
        learned = taught(
            learned, Step((80.0, 0.0, 0.0, 3.0), frozenset(), 1.0, measured=True), NOON + timedelta(hours=hour)
        )
    seen = heat.at_pace(heat.view(learned.heat, INVENTORY.slots), learned.work.pace())
    np.testing.assert_allclose(seen.rates[Signal.SYNC_READ], [80.0, 0.0, 0.0, 3.0], rtol=1e-5)
    np.testing.assert_array_equal(seen.observed_seconds, np.full(UNITS, 3 * HOUR))
    assert set(learned.seasons.slot.tolist()) == {0, 3}
    fast = device.calibrate(SPEEDS, learned.devices)[0]
    assert fast.most_read_seconds == pytest.approx(83 * 0.004 / 80, rel=0.01), "all the wait on its 80 reads per second"


def test_columns_change_in_place() -> None:
    """An interval makes no second copy of heat or seasons: at a million units each is tens of megabytes."""
    learned = taught(fresh(), Step((80.0, 1.0, 1.0, 3.0), frozenset(), 1.0, measured=True), NOON)
    after = taught(learned, Step((1.0, 1.0, 1.0, 80.0), frozenset(), 1.0, measured=True), NOON + timedelta(hours=1))
    for name in ("sums", "weight", "long_sums", "long_weight", "observed_seconds"):
        assert getattr(after.heat, name) is getattr(learned.heat, name), name
    assert after.seasons.demand is learned.seasons.demand


def test_a_renamed_unit_keeps_its_heat_and_a_new_partition_borrows_some() -> None:
    """A key that changed under the same physical id takes all of it over; the partition after the youngest, half."""
    table = units_of(["orders"])
    slots: I64 = np.array([0], dtype=np.int64)
    learned = with_catalog(with_slots(Learned(), slots), table, slots, 0.0)
    warmed = heat.update(learned.heat, _reads(5.0), slots, slots, SETTINGS)
    learned = replace(learned, heat=warmed)
    renamed, moved = units_of(["purchases"]), np.array([1], dtype=np.int64)
    learned = with_renamed_units(with_slots(learned, moved), renamed, moved)
    assert learned.heat.observed_seconds.tolist() == [HOUR, HOUR]

    old, place = units_of(["log p1"], UnitKind.TABLE_PARTITION), np.array([0], dtype=np.int64)
    learned = with_catalog(with_slots(Learned(), place), old, place, 0.0)
    learned = replace(learned, heat=heat.update(learned.heat, _reads(5.0), place, place, SETTINGS))
    both, places = units_of(["log p1", "log p2"], UnitKind.TABLE_PARTITION), np.array([0, 1], dtype=np.int64)
    learned = with_new_partitions(with_slots(learned, places), both, places)
    assert learned.heat.observed_seconds.tolist() == [HOUR, HOUR * heat.LENT]


def test_growth_is_learnt_from_catalogs_and_kept(tmp_path: Path) -> None:
    """Bytes per second between two catalogs; a renamed table keeps it, and so does the ledger."""
    units, slots = units_of(["orders"]), np.array([0], dtype=np.int64)
    learned = with_catalog(fresh(), units, slots, 0.0)
    larger = replace(units, size_bytes=units.size_bytes + 7200)
    learned = with_catalog(learned, larger, slots, HOUR)
    assert growth_of(learned, slots).rate.tolist() == [2.0]
    assert growth_of(reloaded(learned, tmp_path), slots).rate.tolist() == [2.0]
    renamed, moved = replace(larger, key=["purchases"]), np.array([1], dtype=np.int64)
    learned = with_renamed_units(with_slots(learned, moved), renamed, moved)
    assert growth_of(learned, moved).rate.tolist() == [2.0]


def test_a_new_partition_is_expected_to_become_as_large_as_the_one_before() -> None:
    """Its family tells: the first megabyte of a partition does not promise a year of them."""
    one, place = units_of(["log p1"], UnitKind.TABLE_PARTITION), np.array([0], dtype=np.int64)
    learned = with_slots(Learned(), place)
    learned = replace(learned, heat=heat.update(learned.heat, _reads(5.0), place, place, SETTINGS))
    for hour in range(5):
        learned = with_catalog(learned, one, place, hour * HOUR)
    both, places = units_of(["log p1", "log p2"], UnitKind.TABLE_PARTITION), np.array([0, 1], dtype=np.int64)
    both = replace(both, size_bytes=both.size_bytes // np.array([1, 10]))
    learned = with_catalog(with_new_partitions(with_slots(learned, places), both, places), both, places, 5 * HOUR)
    larger = replace(both, size_bytes=both.size_bytes + np.array([0, 10]))
    learned = with_catalog(learned, larger, places, 6 * HOUR)
    most = growth_of(learned, places).most
    assert most.tolist() == [np.inf, capacity.LARGER * one.size_bytes[0] - larger.size_bytes[1]]


def test_saving_before_the_first_catalog_keeps_the_evidence_about_tiers(tmp_path: Path) -> None:
    """A daemon that never reached its database stores no speeds: it has not loaded those that are stored."""
    learned = taught(fresh(), Step((80.0, 1.0, 1.0, 3.0), frozenset(), 1.0, measured=True), NOON)
    kept = reloaded(learned, tmp_path).devices
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        save_learned(ledger, "shop", clock.now(), load_learned(ledger, "shop"), None, with_work=False)
        found = load_devices(ledger, "shop", SPEEDS)
    assert found.count.sum() > 0
    np.testing.assert_array_equal(found.gram, kept.gram)


def _reads(rate: float) -> Demand:
    """An hour of reads of the unit with physical id 1."""
    rates = np.zeros((SIGNALS, 1))
    rates[Signal.SYNC_READ] = rate
    return Demand(
        ended_at=NOON, seconds=HOUR, physical_id=np.array([1], dtype=np.int64), rates=rates,
        observed=np.array([True]), estimated=frozenset(), database=DatabaseDemand(),
    )  # fmt: skip
