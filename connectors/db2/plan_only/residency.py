"""Where the bytes of Db2 for i are, by disk unit: what is preferred says nothing of that. Pure.

``UNIT_TYPE`` 1 is an SSD. SYSDISKSTAT has a row for each path to a unit, also to one on which nothing lies yet, and
spanning indexes come again with every partition, which the query takes out with DISTINCT.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

SSD = 1
NOT_CONFIGURED = 0  # number of a unit that is in no ASP
Row = Sequence[object]


@dataclass(slots=True)
class Placed:
    """Bytes of one object by medium."""

    asp: int
    fast: int = 0
    slow: int = 0

    @property
    def size(self) -> int:
        """All of it."""
        return self.fast + self.slow

    @property
    def mostly_fast(self) -> bool:
        """Whether more than half is on SSDs; what has no bytes is nowhere, and so not there."""
        return self.fast * 2 > self.size


def total(parts: Sequence[Placed]) -> Placed:
    """Of an object that is shown in parts; it is in the ASP of its largest one."""
    largest = max(parts, key=lambda part: part.size)
    return Placed(largest.asp, sum(part.fast for part in parts), sum(part.slow for part in parts))


@dataclass(frozen=True, slots=True)
class Pool:
    """The units of one medium in one ASP."""

    asp: int
    fast: bool
    units: int
    capacity: int  # bytes
    free: int

    @property
    def name(self) -> str:
        """As tiers call it."""
        return pool_name(self.asp, fast=self.fast)


def pool_name(asp: int, *, fast: bool) -> str:
    """Of the SSDs or the other disks of an ASP."""
    return f"ASP{asp} {'SSD' if fast else 'HDD'}"


def space_of(at: Placed, known: Collection[str]) -> str:
    """Where an object is; one without bytes is on the disks of its ASP, or on its SSDs where it has no others."""
    slow = pool_name(at.asp, fast=False)
    fast = at.mostly_fast or (not at.size and slow not in known)
    return pool_name(at.asp, fast=True) if fast else slow


def bytes_by_object(rows: Iterable[Row], names: int) -> dict[tuple[str, ...], Placed]:
    """Bytes of each object.

    Args:
        rows: its names, then ASP_NUMBER, UNIT_NUMBER, UNIT_TYPE, UNIT_SPACE_USED; one for each unit it lies on.
        names: how many columns the name has.
    """
    found: dict[tuple[str, ...], Placed] = {}
    for row in rows:
        key = tuple(str(part or "").rstrip() for part in row[:names])
        asp, _, kind, used = (int(str(value or 0)) for value in row[names : names + 4])
        object_ = found.setdefault(key, Placed(asp))
        if kind == SSD:
            object_.fast += used
        else:
            object_.slow += used
    return found


def pools(rows: Iterable[Row]) -> tuple[Pool, ...]:
    """Media of each ASP.

    Args:
        rows: ASP_NUMBER, UNIT_NUMBER, UNIT_TYPE, capacity, UNIT_SPACE_AVAILABLE; units may repeat: their last rows
            count.
    """
    units: dict[tuple[int, int], tuple[bool, int, int]] = {}
    for row in rows:
        asp, unit, kind, capacity, free = (int(str(value or 0)) for value in row)
        if unit != NOT_CONFIGURED:
            units[asp, unit] = (kind == SSD, capacity, free)
    found: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    for (asp, _), (fast, capacity, free) in units.items():
        found.setdefault((asp, fast), []).append((capacity, free))
    return tuple(
        Pool(asp, fast, len(mine), sum(capacity for capacity, _ in mine), sum(free for _, free in mine))
        for (asp, fast), mine in sorted(found.items())
    )


def mixed_media_pools(found: Iterable[Pool]) -> frozenset[int]:
    """ASPs with both media: only there do *HSM and *MP balance anything."""
    media: dict[int, set[bool]] = {}
    for pool in found:
        media.setdefault(pool.asp, set()).add(pool.fast)
    return frozenset(asp for asp, kinds in media.items() if len(kinds) > 1)
