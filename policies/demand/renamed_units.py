"""Heat for a unit without history: that of its own former name, or of the partition before it.

A unit is known by its key, so a rebuild or a failover, which change only physical ids, lose nothing. A rename changes
the key and keeps the physical id: then the heat is the same unit's. A new partition is of no age that its table did not
have before: the youngest before it was like it when it was new, so it is born with half of what is known of that one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model import I8, I64, Bools, UnitKind, UnitTable

PARTITIONS = (UnitKind.TABLE_PARTITION, UnitKind.INDEX_PARTITION)
LENT = 0.5  # of what is known of the partition before: what it does itself soon outweighs that
SAME_SIZE = 2.0  # a renamed unit has not grown or shrunk by more than this factor ...
SLACK_BYTES = 2**20  # ... and this much; some engines give a dropped unit's id to the next one
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownUnits:
    """Units that a catalog held when it was read, by physical id."""

    physical_id: I64  # ascending
    slot: I64
    kind: I8
    size_bytes: I64


def known_units(units: UnitTable, slots: I64) -> KnownUnits:
    """The units of a catalog, to be remembered."""
    return KnownUnits(
        physical_id=units.physical_id, slot=slots, kind=units.kind.astype(np.int8), size_bytes=units.size_bytes
    )


def find_renames(before: KnownUnits, units: UnitTable, slots: I64, blank: Bools) -> tuple[I64, I64]:
    """Slots that heat leaves and slots to which it goes, of units that have another key now.

    Args:
        before: the catalog before.
        units: the catalog now.
        slots: of its units.
        blank: units without any history.
    """
    if not len(before.physical_id) or not blank.any():
        return _none()
    at = np.minimum(np.searchsorted(before.physical_id, units.physical_id), len(before.physical_id) - 1)
    old = before.slot[at]
    size, was = units.size_bytes.astype(np.float64), before.size_bytes[at].astype(np.float64)
    # The same physical id is not enough: some engines give a dropped table's id to the next one created, which would
    # inherit the heat of a stranger.
    alike = (np.maximum(size, was) <= SAME_SIZE * np.minimum(size, was) + SLACK_BYTES) & (units.kind == before.kind[at])
    # An old slot that another unit of the catalog still uses was not renamed away.
    same = blank & alike & (before.physical_id[at] == units.physical_id) & (old != slots) & ~np.isin(old, slots)
    return old[same], slots[same]


def successors(units: UnitTable, slots: I64, blank: Bools) -> tuple[I64, I64]:
    """Slots of the youngest partitions with history, and of the partitions without that come after them.

    Partitions belong together when their keys differ in numbers only; by those numbers they are ordered.
    """
    partitions = np.isin(units.kind, PARTITIONS)
    if not (partitions & blank).any():
        return _none()
    families: dict[tuple[str, int], list[tuple[tuple[int, ...], int]]] = {}
    for row in np.flatnonzero(partitions).tolist():
        key = units.key[row]
        family = _NUMBER.sub("#", key), int(units.kind[row])
        # Numbers as integers and not as text: by text p10 comes before p9, and the heat of the oldest partition would
        # go to the newest.
        families.setdefault(family, []).append((tuple(map(int, _NUMBER.findall(key))), row))
    pairs = [pair for family in families.values() for pair in _pairs(sorted(family), blank)]
    donors, heirs = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    return slots[donors], slots[heirs]


def _pairs(family: list[tuple[tuple[int, ...], int]], blank: Bools) -> list[tuple[int, int]]:
    """Donor and heir rows within one family, oldest first."""
    pairs, donor = [], -1
    for _, row in family:
        if not blank[row]:
            donor = row
        elif donor >= 0:
            pairs.append((donor, row))
    return pairs


def _none() -> tuple[I64, I64]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def known_arrays(known: KnownUnits) -> dict[str, NDArray[Any]]:
    """The units as named arrays, for storing."""
    return {name: getattr(known, name) for name in ("physical_id", "slot", "kind", "size_bytes")}


def known_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> KnownUnits:
    """The units that ``known_arrays`` took apart.

    Raises:
        KeyError: an array is missing.
    """
    return KnownUnits(**{name: arrays[name] for name in ("physical_id", "slot", "kind", "size_bytes")})
