"""The contracts for engines that tell of the inside of units; optional in a connector.

``SeesBlocks``: which blocks of a unit the buffer pool holds. ``SeesValues``: values of a column at borders of block
ranges. These are user data, though only the least and the greatest of a column in single blocks: they are not recorded,
logged or counted by a metric, and ``values_at`` is called only where the configuration allows it.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np

from connectors.model.observation import F64, I64

BLOCK_HEAT = "block_heat"  # the capability's name


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentBlocks:
    """The blocks of one unit that were in the buffer pool at a look."""

    physical_id: int
    blocks: int  # of the unit
    reads: float  # from storage, cumulative, by the engine's own counter; NaN: it counts none by unit
    resident: I64  # numbers of blocks, rising; of those that the look lists (``BlockLook.one_in``)
    # What tells each of them apart at the next look, where their numbers may change as more is known; None: the number.
    identity: I64 | None = None
    # That the read of each of them took, 0 of a page that was made in the pool and not read; None: the engine does not
    # say.
    read_seconds: F64 | None = None
    storage: int = 0  # see ``storage_mark``: what is known by numbers of blocks holds for this storage alone
    counts_at_once: bool = False  # ``reads`` holds every read that has ended by the look; else sessions report later

    @property
    def identities(self) -> I64:
        """What tells the resident blocks apart from look to look, in the order of ``resident``."""
        return self.resident if self.identity is None else self.identity


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLook:
    """One look at the buffer pool."""

    monotonic_seconds: float  # when the server began to walk the pool, by the agent's clock
    server_seconds: float  # that it took, the way there and back included
    block_bytes: int
    one_in: int  # of so many blocks one is listed, chosen by its number and so the same at each look
    units: tuple[ResidentBlocks, ...]  # those that exist, in no order


def storage_mark(*identities: int) -> int:
    """One number of 32 bits for the engine's identities of a unit's storage, which change when it is rewritten.

    PostgreSQL: the filenode; SQL Server: allocation units; Oracle: the data object id. What was learned by positions of
    blocks says nothing of other storage: a rewrite puts rows elsewhere.

    >>> storage_mark(16385) == storage_mark(16385), storage_mark(16385) == storage_mark(16390)
    (True, False)
    """
    return zlib.crc32(",".join(map(str, identities)).encode())


def one_block_in(listed: int, most: int) -> int:
    """Of how many blocks one is listed, so that no more than ``most`` of so many are: a power of two.

    >>> [one_block_in(blocks, 1000) for blocks in (0, 1000, 1001, 5000)]
    [1, 1, 2, 8]
    """
    return 1 << max(0, -(-listed // most) - 1).bit_length()


class Reader(Protocol):
    """A session of its own, for looks, and a context that closes it. Use from one thread at a time."""

    def close(self) -> None:
        """End the session."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BlockReader(Reader, Protocol):
    """Looks at the buffer pool, block by block."""

    def look(self, physical_ids: I64) -> BlockLook:
        """Which blocks of these units the pool holds. Takes no lock that others wait for.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...


@runtime_checkable
class SeesBlocks(Protocol):
    """Optional in a connector: looks at the buffer pool, block by block.

    What a look costs and which privilege it needs stands in the engine's page; ``Connector.capabilities`` says whether
    this login may, under the name ``BLOCK_HEAT``.
    """

    def read_blocks(self) -> BlockReader:
        """A reader; the first look connects."""
        ...


# -- values at borders of block ranges ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateColumn:
    """A column whose ranges a table could be split by, as the catalog describes it: no values."""

    name: str  # not quoted
    type_name: str  # as the engine writes it
    is_time: bool  # its numbers are seconds since the epoch
    is_key: bool  # the primary key, a unique key or the partition key begins with it
    nullable: bool
    correlation: float  # -1 to 1, between its values and the order of rows in the file; NaN: not known
    readable: bool  # this login may read its values


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value of a column."""

    number: float  # for comparing; finite
    text: str  # as the engine reads it back


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockValues:
    """Least and greatest value of a column in one block."""

    block: int
    least: Value
    greatest: Value


def evenly_first(borders: I64) -> Iterator[int]:
    """Borders in an order in which those that were reached when time is over lie evenly: the ends, then middles.

    >>> list(evenly_first(np.arange(5)))
    [0, 4, 2, 1, 3]
    """
    rising = np.unique(borders).tolist()
    yield from dict.fromkeys((*rising[:1], *rising[-1:]))
    between = deque([(0, len(rising) - 1)])
    while between:
        low, high = between.popleft()
        middle = (low + high) // 2
        if low < middle:
            yield rising[middle]
            between += [(low, middle), (middle, high)]


class ValueReader(Reader, Protocol):
    """Looks at values of a column in single blocks."""

    def candidates(self, physical_id: int) -> tuple[CandidateColumn, ...]:
        """Columns of a unit with an order that numbers or times have; none of an index. Reads the catalog alone.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...

    def values_at(self, physical_id: int, column: str, borders: I64, seconds: float) -> tuple[BlockValues, ...]:
        """Values in the two blocks at each of some borders: in the one before it, and in the one that begins there.

        Args:
            physical_id: of the unit.
            column: name of a candidate.
            borders: numbers of blocks.
            seconds: no further border is looked at after this time, and no look lasts longer; in the order of
                ``evenly_first``.

        Returns:
            By block, rising; without blocks that hold no value of it, and of borders that were reached.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...


@runtime_checkable
class SeesValues(Protocol):
    """Optional in a connector: values at borders of block ranges."""

    def read_values(self) -> ValueReader:
        """A reader; the first call of it connects."""
        ...
