"""Looks at the buffer cache of one instance through ``V$BH``, over a session of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.kit.contract import Clock, ConnectorError
from connectors.model.blocks import BlockLook, BlockReader, ResidentBlocks, one_block_in, storage_mark
from connectors.model.observation import I64
from connectors.oracle.catalog import Entry, find_entries, of_ids
from connectors.oracle.driver import Driver
from connectors.oracle.sessions import ReadSession, Row, query
from connectors.oracle.settings import OracleSettings

ACTION = "look at blocks"
MOST_LISTED = 1 << 16  # blocks of all units, a row each on the wire
_FILE_BITS = 40  # above the number of a block within its file


@dataclass(frozen=True, slots=True)
class Extents:
    """Where a segment lies. Columns of shape ``(extents,)``, ascending by ``first``."""

    first: I64  # file and first block in one number
    blocks: I64
    offset: I64  # number of the first block within the segment
    block_bytes: int

    @property
    def total(self) -> int:
        """Blocks of the segment."""
        return int(self.blocks.sum())

    def numbers(self, file: I64, block: I64) -> I64:
        """Numbers within the segment, ascending, of blocks of files; others than the segment's are left out."""
        wanted = _place(file, block)
        at = np.searchsorted(self.first, wanted, side="right") - 1
        within = (at >= 0) & (wanted - self.first[at] < self.blocks[at])
        return np.sort(self.offset[at[within]] + wanted[within] - self.first[at[within]])


def extents_of(rows: Sequence[Row]) -> Extents:
    """From rows of ``sql/blocks_extents.sql``, in the order in which the segment got its extents."""
    file, block, blocks, size = np.array(rows, dtype=np.int64).reshape(len(rows), 4).T
    first = _place(file, block)
    order = np.argsort(first)
    offset = np.cumsum(blocks) - blocks
    block_bytes = int(size[0] // blocks[0]) if len(rows) else 0
    return Extents(first=first[order], blocks=blocks[order], offset=offset[order], block_bytes=block_bytes)


class CacheReader(BlockReader):
    """Reads ``V$BH`` of the instance that the session is on; what other instances hold is not seen."""

    def __init__(self, driver: Driver, settings: OracleSettings, clock: Clock) -> None:
        # Not over the session that samples: a look takes seconds where the cache is large. Nor is it recorded: a
        # recording holds no lists of blocks.
        self._session = ReadSession(driver, settings, action=ACTION)
        self._clock = clock
        self._instance: int | None = None
        self._extents: dict[int, tuple[tuple[int | None, int | None], Extents]] = {}  # with what they were read for

    def look(self, physical_ids: I64) -> BlockLook:
        """Four queries; extents of a unit are read again only when it has grown or moved.

        Units without a segment, and those in blocks of another size than the database's, are left out.

        Raises:
            ConnectorError: a subclass that says what may be done; also where the session has come to another instance.
        """
        began = self._clock.monotonic()
        block_bytes, buffers = self._pool()
        entries = find_entries(self._session, [int(each) for each in physical_ids])
        extents = {number: found for number, found in self._extents_of(entries) if found.block_bytes == block_bytes}
        counted = self._count_reads(list(extents))
        one_in = one_block_in(min(sum(each.total for each in extents.values()), buffers), MOST_LISTED)
        started = self._clock.monotonic()
        listed = self._list_blocks([entries[number].data_object_id for number in extents], one_in)
        return BlockLook(
            monotonic_seconds=started,
            server_seconds=self._clock.monotonic() - began,
            block_bytes=block_bytes,
            one_in=one_in,
            units=tuple(
                ResidentBlocks(
                    physical_id=number, blocks=each.total, reads=counted.get(number, 0.0),
                    resident=_resident(each, listed[listed[:, 0] == entries[number].data_object_id]),
                    storage=storage_mark(entries[number].data_object_id or 0), counts_at_once=True,
                )
                for number, each in extents.items()
            ),
        )  # fmt: skip

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _pool(self) -> tuple[int, int]:
        """Bytes of a block, and buffers."""
        instance, block_bytes, buffers = self._session.rows(query("blocks_pool"), doing="looking at the buffer pool")[0]
        before, self._instance = self._instance, int(instance)
        if before not in (None, self._instance):
            raise ConnectorError(
                f"looking at blocks: the session was on instance {before} and is on {instance} now",
                advice="The next look begins there.",
            )
        return int(block_bytes), int(buffers or 0)

    def _extents_of(self, entries: dict[int, Entry]) -> Iterator[tuple[int, Extents]]:
        for number, entry in entries.items():
            if entry.data_object_id is None or not entry.blocks:
                continue
            state, known = (entry.data_object_id, entry.blocks), self._extents.get(number)
            if known is None or known[0] != state:
                values = {"owner": entry.owner, "name": entry.name, "part": entry.part, "type": entry.type}
                rows = self._session.rows(query("blocks_extents"), values, doing="looking where a segment lies")
                known = self._extents[number] = state, extents_of(rows)
            yield number, known[1]

    def _count_reads(self, numbers: Sequence[int]) -> dict[int, float]:
        rows = self._session.rows
        found = [rows(query("blocks_read"), values, doing="counting reads of units") for values in of_ids(numbers)]
        return {int(number): float(blocks) for each in found for number, blocks in each}

    def _list_blocks(self, segments: Sequence[int | None], one_in: int) -> I64:
        """OBJD, FILE# and BLOCK# of the blocks in the cache, shape ``(blocks, 3)``."""
        found: list[Row] = []
        for values in of_ids([each for each in segments if each is not None]):
            found += self._session.rows(query("blocks"), {**values, "one_in": one_in}, doing="looking at blocks")
        return np.array(found, dtype=np.int64).reshape(len(found), 3)


def _resident(extents: Extents, listed: I64) -> I64:
    return extents.numbers(listed[:, 1], listed[:, 2])


def _place(file: I64, block: I64) -> I64:
    return (file << _FILE_BITS) + block
