"""The order of a plan's groups beyond their worth: an index comes after its table.

Engines build an index in its new space by reading the table. If both are promoted, that reading is fast and disturbs no
sessions once the table is on the fast tier; before, it is slow and competes with them. Only the order changes, not the
placement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.model import UnitKind, UnitTable
from policies.benefit.bundles import Bundles
from policies.model.relocation import Group
from policies.placement.placement_state import PlacementState

INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


def tables_first(groups: Sequence[Group], bundles: Bundles, units: UnitTable, state: PlacementState) -> list[Group]:
    """The groups with each index that moves alone placed directly after its table, where the table moves later.

    Args:
        groups: in an order in which every relocation finds room.
        bundles: of the situation.
        units: the unit table, for the parent of each index.
        state: before the first group; used up.

    Returns:
        the groups as given if the new order would leave a relocation without room: another move may wait for the bytes
        that an index frees in its source.
    """
    alone = np.array([group.relocations[0].bundle for group in groups if len(group.relocations) == 1], dtype=np.int64)
    if not np.isin(units.kind[bundles.lead[alone]], INDEXES).any():
        return list(groups)
    position = {bundle: at for at, group in enumerate(groups) for bundle in _coming(group)}
    place = [float(at) for at in range(len(groups))]
    for at, group in enumerate(groups):
        if len(group.relocations) == 1:
            table = _table_of(group.relocations[0].bundle, bundles, units)
            # Half a place behind the table: a swap of the two groups would also bring the table forward, ahead of
            # groups that are worth more.
            place[at] = max(place[at], position.get(table, -1) + 0.5)
    order = [groups[at] for at in sorted(range(len(groups)), key=lambda at: (place[at], at))]
    return order if all(state.carry_out(group) for group in order) else list(groups)


def _coming(group: Group) -> tuple[int, ...]:
    """The bundle for which the group exists: that of its last relocation."""
    return tuple(relocation.bundle for relocation in group.relocations[-1:])


def _table_of(bundle: int, bundles: Bundles, units: UnitTable) -> int:
    """Bundle of the table that an index belongs to, -1 for other units."""
    lead = int(bundles.rows[bundles.start[bundle]])
    if units.kind[lead] not in INDEXES:
        return -1
    parent = int(units.parent[lead])
    row = int(units.rows_of(np.array([parent], dtype=np.int64))[0])
    return int(bundles.of_row[row]) if row >= 0 else -1
