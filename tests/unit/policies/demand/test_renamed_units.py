"""Whose heat a unit without history takes over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.moves import UnitKind
from connectors.model.observation import I64, NO_PARENT, Bools, Signal, UnitTable
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
