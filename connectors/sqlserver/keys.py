"""Names of units, as people and statements write them, and the numbers that stand for units in columns. Pure.

A physical id packs object, index, partition and kind into 63 bits. Heap (index 0) and clustered index (1) are the table
itself and share a number, because a heap is moved by giving it a clustered index for a while.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from connectors.model.observation import I64

TABLE_INDEX = 1  # stands for heap and clustered index alike
INDEX_BITS, PARTITION_BITS = 10, 14  # index_id is below 1024 for what we look at, partitions at most 15,000
_LOB_SHIFT = 1
IDENTIFIER = r"\[(?:[^\]]|\]\])*\]"  # quoted
_NAME = r"\[((?:[^\]]|\]\])*)\]"
_KEY = re.compile(rf"{_NAME}\.{_NAME}(?:\.{_NAME})?(?: partition (\d+))?( lob)?")


@dataclass(frozen=True, slots=True)
class Name:
    """A key taken apart."""

    schema: str
    table: str
    index: str | None = None  # None: heap or clustered index
    partition: int | None = None  # None: not on a partition scheme
    lob: bool = False

    @property
    def key(self) -> str:
        """As ``Catalog.units.key`` holds it."""
        name = f"{quote(self.schema)}.{quote(self.table)}"
        if self.index is not None:
            name += f".{quote(self.index)}"
        if self.partition is not None:
            name += f" partition {self.partition}"
        return f"{name} lob" if self.lob else name


def quote(identifier: str) -> str:
    """An identifier by the rules of QUOTENAME."""
    return "[" + identifier.replace("]", "]]") + "]"


def unquote(identifier: str) -> str:
    """What ``quote`` was given."""
    return identifier[1:-1].replace("]]", "]")


def name_of(key: str) -> Name:
    """Take a key apart.

    Raises:
        ValueError: it is none.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"{key!r} is no key of a unit")
    schema, table, index = (None if part is None else part.replace("]]", "]") for part in match.group(1, 2, 3))
    assert schema is not None, "the pattern has it"
    assert table is not None, "the pattern has it"
    return Name(schema, table, index, None if match[4] is None else int(match[4]), match[5] is not None)


def unit_ids(object_id: I64, index_id: I64, partition: I64, lob: I64) -> I64:
    """Physical ids; equal where the unit is the same. Shape of the arguments."""
    index = np.maximum(index_id, TABLE_INDEX)
    packed = (object_id << INDEX_BITS | index) << PARTITION_BITS | partition
    return (packed << _LOB_SHIFT | lob).astype(np.int64)


@dataclass(frozen=True, slots=True)
class UnitParts:
    """A physical id taken apart; ``index_id`` 1 is a heap, too."""

    object_id: int
    index_id: int
    partition: int
    lob: bool


def unit_parts(physical_id: int) -> UnitParts:
    """What ``unit_ids`` has packed.

    >>> unit_parts(int(unit_ids(np.array([77]), np.array([0]), np.array([3]), np.array([1]))[0]))
    UnitParts(object_id=77, index_id=1, partition=3, lob=True)
    """
    packed = physical_id >> _LOB_SHIFT
    index = packed >> PARTITION_BITS
    return UnitParts(
        object_id=index >> INDEX_BITS,
        index_id=index & ((1 << INDEX_BITS) - 1),
        partition=packed & ((1 << PARTITION_BITS) - 1),
        lob=bool(physical_id & 1),
    )


def table_ids(physical_id: I64) -> I64:
    """The id of the first partition of the table that each unit belongs to."""
    objects = physical_id >> (INDEX_BITS + PARTITION_BITS + _LOB_SHIFT)
    ones = np.ones(len(objects), dtype=np.int64)
    return unit_ids(objects, ones, ones, np.zeros(len(objects), dtype=np.int64))


def index_ids(physical_id: I64) -> I64:
    """A number for all partitions of each unit's index, large objects apart."""
    lob = physical_id & np.int64(1)
    without = physical_id >> (PARTITION_BITS + _LOB_SHIFT) << (PARTITION_BITS + _LOB_SHIFT)
    return (without | lob).astype(np.int64)


def object_ids(physical_id: I64) -> I64:
    """The object_id of each unit."""
    return physical_id >> (INDEX_BITS + PARTITION_BITS + _LOB_SHIFT)
