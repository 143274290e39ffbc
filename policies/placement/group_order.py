"""The order of a plan's groups beyond what each is worth: an index comes after the table it is built from.

Engines build an index in its new home by reading its table. When both go up, that reading is quick and disturbs nobody
once the table is there, and slow and in everybody's way before. Placement is not changed by it, only its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.model import UnitKind, UnitTable
from policies.benefit.bundles import Bundles
from policies.placement.placement_state import Group, PlacementState

INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


def tables_first(groups: Sequence[Group], bundles: Bundles, units: UnitTable, board: PlacementState) -> list[Group]:
    """The same groups with each index, where it moves alone and its table moves later, put right behind its table.

    Args:
        groups: in an order in which every hop finds room.
        bundles: of the situation.
        units: the unit table, for who belongs to whom.
        board: as it is before the first group; used up.

    Returns:
        The groups as given where the new order would leave a hop without room: the bytes that an index frees in its
        source may be what somebody else waits for.
    """
    alone = np.array([group.hops[0].bundle for group in groups if len(group.hops) == 1], dtype=np.int64)
    if not np.isin(units.kind[bundles.lead[alone]], INDEXES).any():
        return list(groups)
    position = {bundle: at for at, group in enumerate(groups) for bundle in _coming(group)}
    place = [float(at) for at in range(len(groups))]
    for at, group in enumerate(groups):
        if len(group.hops) == 1:
            table = _table_of(group.hops[0].bundle, bundles, units)
            place[at] = max(place[at], position.get(table, -1) + 0.5)
    order = [groups[at] for at in sorted(range(len(groups)), key=lambda at: (place[at], at))]
    return order if all(board.carry_out(group) for group in order) else list(groups)


def _coming(group: Group) -> tuple[int, ...]:
    """The bundle for which the group exists: its last hop."""
    return tuple(hop.bundle for hop in group.hops[-1:])


def _table_of(bundle: int, bundles: Bundles, units: UnitTable) -> int:
    """Bundle of the table that an index belongs to, -1 for what is no index."""
    lead = int(bundles.rows[bundles.start[bundle]])
    if units.kind[lead] not in INDEXES:
        return -1
    parent = int(units.parent[lead])
    row = int(units.rows_of(np.array([parent], dtype=np.int64))[0])
    return int(bundles.of_row[row]) if row >= 0 else -1
