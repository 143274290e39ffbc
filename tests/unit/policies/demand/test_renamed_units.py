"""Whose heat a unit without history takes over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from agent.sampling.learned import Learned, with_renamed_units, with_slots
from connectors.model.moves import UnitKind
from connectors.model.observation import I64, NO_PARENT, Bools, Signal, UnitTable
from policies.evidence import horizons, seasons
from policies.evidence.heat import (
    LENT,
    empty_heat,
    find_renames,
    handed_on,
    known_arrays,
    known_from_arrays,
    known_units,
    successors,
    update,
    view,
)
from policies.model.settings import PolicySettings
from tests.unit.policies.situations import MIB, demand


def units(*names: str, kind: UnitKind = UnitKind.TABLE, size: int = 8 * MIB) -> UnitTable:
    """Units with physical ids from 100 on."""
    count = len(names)
    return UnitTable(
        physical_id=np.arange(count, dtype=np.int64) + 100,
        key=names,
        kind=np.full(count, kind, dtype=np.int8),
        size_bytes=np.full(count, size, dtype=np.int64),
        space=np.zeros(count, dtype=np.int32),
        bundle=np.arange(count, dtype=np.int64),
        parent=np.full(count, NO_PARENT, dtype=np.int64),
    )


def column(*numbers: int) -> I64:
    """Slots."""
    return np.array(numbers, dtype=np.int64)


def flags(*bits: int) -> Bools:
    """Which units have no history."""
    return np.array(bits, dtype=np.bool_)


def pairs(found: tuple[I64, I64]) -> list[tuple[int, int]]:
    """Slot that gives and slot that takes."""
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


BEFORE = known_units(units("a", "b", "c"), column(0, 1, 2))


def test_a_renamed_unit_is_the_same_unit() -> None:
    """Same physical id, another key, and the old key gone: its heat comes along."""
    assert pairs(find_renames(BEFORE, units("a", "b2", "c"), column(0, 3, 2), flags(0, 1, 0))) == [(1, 3)]


def test_a_rebuilt_unit_needs_no_heir() -> None:
    """Same key, another physical id: the slot is the same, nothing is handed on."""
    rebuilt = replace(units("a", "b", "c"), physical_id=column(100, 102, 999))
    assert pairs(find_renames(BEFORE, rebuilt, column(0, 2, 1), flags(0, 0, 0))) == []


@pytest.mark.parametrize(
    ("now", "slots", "blank"),
    [
        (units("a", "b2", "c"), column(0, 3, 2), flags(0, 0, 0)),  # it has a history of its own
        (units("b", "b2", "c"), column(1, 3, 2), flags(0, 1, 0)),  # the old key is still there, elsewhere
        (units("a", "b2", "c", kind=UnitKind.INDEX), column(0, 3, 2), flags(0, 1, 0)),
        (units("a", "b2", "c", size=800 * MIB), column(0, 3, 2), flags(0, 1, 0)),
    ],
    ids=["own history", "old key lives", "another kind", "another size"],
)
def test_an_id_given_to_somebody_else_carries_nothing(now: UnitTable, slots: I64, blank: Bools) -> None:
    """A physical id alone is no identity."""
    assert pairs(find_renames(BEFORE, now, slots, blank)) == []


def test_a_new_partition_follows_the_youngest_before_it() -> None:
    """By the numbers in their names, 2026-10 comes after 2026-9; other families give nothing."""
    table = units("s.p_2026_8", "s.p_2026_9", "s.p_2026_10", "s.q_1", "s.q_2", kind=UnitKind.TABLE_PARTITION)
    assert pairs(successors(table, column(0, 1, 2, 3, 4), flags(0, 0, 1, 1, 1))) == [(1, 2)]


def test_tables_that_merely_look_alike_inherit_nothing() -> None:
    """Numbered tables are no partitions."""
    assert pairs(successors(units("t1", "t2"), column(0, 1), flags(0, 1))) == []


def test_a_partition_older_than_all_with_history_inherits_nothing() -> None:
    """What comes before the first known one has no predecessor."""
    table = units("p1", "p2", kind=UnitKind.INDEX_PARTITION)
    assert pairs(successors(table, column(0, 1), flags(1, 0))) == []


def test_what_is_handed_on_is_the_same_heat_with_less_weight() -> None:
    """The heir has the rate at once; after a while of its own it goes by what it does itself."""
    settings = PolicySettings(half_life_seconds=3600.0)
    state = update(empty_heat(2), demand(3600, {7: 12.0}), column(0), column(0), settings)
    state = handed_on(state, column(0), column(1), share=LENT)
    seen = view(state, column(0, 1))
    assert seen.rates[Signal.SYNC_READ].tolist() == pytest.approx([12.0, 12.0])
    assert seen.observed_seconds.tolist() == [3600.0, 1800.0]
    assert seen.error is not None
    later = view(update(state, demand(3600, {}), column(), column(0, 1), settings), column(0, 1))
    assert later.rates[Signal.SYNC_READ, 1] < later.rates[Signal.SYNC_READ, 0]
    assert handed_on(state, column(), column()) is state


def test_known_units_come_back() -> None:
    """What was stored is what was known."""
    again = known_from_arrays(known_arrays(BEFORE))
    assert again.slot.tolist() == [0, 1, 2]
    with pytest.raises(KeyError):
        known_from_arrays({})


def of_tables(*names: str, tables: tuple[int, ...], kind: UnitKind = UnitKind.TABLE_PARTITION) -> UnitTable:
    """Partitions of those tables, which are no units themselves."""
    return replace(units(*names, kind=kind), parent=column(*tables))


def test_a_new_partition_inherits_from_its_own_table_alone() -> None:
    """Tables of two tenants have names that differ in digits, and so have their partitions."""
    names = "tenant_1.events_p1", "tenant_2.events_p1", "tenant_2.events_p2"
    own = of_tables(*names, tables=(1, 2, 2))
    assert pairs(successors(own, column(0, 1, 2), flags(0, 0, 1))) == [(1, 2)]
    foreign = of_tables(*names, tables=(1, 2, 2))
    assert pairs(successors(foreign, column(0, 1, 2), flags(0, 1, 1))) == []


def test_the_index_of_a_new_partition_inherits_from_its_own_table_alone() -> None:
    """Its parent is the partition, whose parent is the table."""
    kinds = [UnitKind.TABLE_PARTITION] * 3 + [UnitKind.INDEX_PARTITION] * 3
    names = "t1.e_p1", "t2.e_p1", "t2.e_p2", "t1.e_p1_ix", "t2.e_p1_ix", "t2.e_p2_ix"
    made = replace(units(*names), kind=np.array(kinds, dtype=np.int8), parent=column(1, 2, 2, 100, 101, 102))
    slots = column(0, 1, 2, 3, 4, 5)
    assert pairs(successors(made, slots, flags(0, 0, 1, 0, 0, 1))) == [(1, 2), (4, 5)]
    assert pairs(successors(made, slots, flags(0, 1, 1, 0, 1, 1))) == []


def test_where_an_engine_names_no_table_the_key_does() -> None:
    """What comes before the partition's own name is the table."""
    names = "[tenant1].[days] partition 1", "[tenant2].[days] partition 1", "[tenant2].[days] partition 2"
    made = units(*names, kind=UnitKind.TABLE_PARTITION)
    assert pairs(successors(made, column(0, 1, 2), flags(0, 1, 1))) == []
    assert pairs(successors(made, column(0, 1, 2), flags(0, 0, 1))) == [(1, 2)]


def test_a_renamed_unit_keeps_its_season_and_its_horizons() -> None:
    """All that is known by slot goes with the name: heat, growth, habits, forecasts and what it has earned."""
    learned = Learned(units=BEFORE)
    monday = datetime(2026, 3, 2, 10, 30, tzinfo=UTC)
    index, seen = np.array([50.0, 200.0]), np.ones(8, dtype=np.bool_)
    learned = with_slots(learned, column(0, 1, 2, 7))
    season, horizon = learned.seasons, learned.horizons
    for week in range(3):
        at = monday + timedelta(weeks=week)
        season = seasons.learnt(season, at, 3600.0, column(0, 1), index, seen)
        horizon = horizons.watch_interval(horizon, season, at, 3600.0, column(0, 1), index, seen)
    before = replace(learned, seasons=season, horizons=horizon)
    cells, means = season.demand[:, :2].copy(), horizon.means.copy()
    after = with_renamed_units(before, units("a", "b2", "c"), column(0, 7, 2))
    assert after.seasons.slot.tolist() == after.horizons.slot.tolist() == [0, 7]
    assert (after.seasons.demand[:, :2] == cells).all()
    assert (after.horizons.means == means).all()
    other = with_renamed_units(replace(after, units=known_units(units("a", "b2", "c"), column(0, 7, 2))),
                               units("a2", "b2", "c"), column(3, 7, 2))  # fmt: skip
    assert other.seasons.slot.tolist() == other.horizons.slot.tolist() == [3, 7]
    moved = with_renamed_units(replace(other, units=known_units(units("a2", "b2", "c"), column(3, 7, 2))),
                               units("a2", "b3", "c"), column(3, 1, 2))  # fmt: skip
    assert moved.seasons.slot.tolist() == [1, 3]
    assert (moved.seasons.demand[:, :2] == cells[:, ::-1]).all()
    assert (moved.horizons.means == means[:, ::-1]).all()
