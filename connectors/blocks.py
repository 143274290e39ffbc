"""The contract for engines that tell which blocks of a unit their buffer pool holds; optional in a connector."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from connectors.model import I64

BLOCK_HEAT = "block_heat"  # the capability's name


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentBlocks:
    """The blocks of one unit that were in the buffer pool at a look."""

    physical_id: int
    blocks: int  # of the unit
    reads: float  # from storage, cumulative, by the engine's own counter; NaN: it counts none by unit
    resident: I64  # numbers of blocks, rising; of those that the look lists (``BlockLook.one_in``)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLook:
    """One look at the buffer pool."""

    monotonic_seconds: float  # when the server began to walk the pool, by the agent's clock
    server_seconds: float  # that it took, the way there and back included
    block_bytes: int
    one_in: int  # of so many blocks one is listed, chosen by its number and so the same at each look
    units: tuple[ResidentBlocks, ...]  # those that exist, in no order


class BlockReader(Protocol):
    """A session of its own, for looks. Use from one thread at a time."""

    def look(self, physical_ids: I64) -> BlockLook:
        """Which blocks of these units the pool holds. Takes no lock that others wait for.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...

    def close(self) -> None:
        """End the session."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class SeesBlocks(Protocol):
    """Optional in a connector: looks at the buffer pool, block by block.

    What a look costs and which privilege it needs stands in the engine's page; ``Connector.capabilities`` says whether
    this login may, under the name ``BLOCK_HEAT``.
    """

    def read_blocks(self) -> BlockReader:
        """A reader; the first look connects."""
        ...
