"""Placement by block with hindsight: as many blocks on the SSD as the split has there, those that were read most.

The disk model counts reads by block, and serves single blocks from another device. So the reference is measured and not
worked out: the same server, the same files, the same load that never stops, and only the device that each block's reads
are charged to is another one. Which blocks are best is taken from their counts while the split's own placement was
measured. An array that moves extents can come near it, a database that places whole objects cannot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.demo.load import SSD_SPACE
from agent.demo.slow_disk import HDD, SSD
from tests.bench.lab.rig import Rig

BLOCK = 8192
_FILES = """
SELECT pg_relation_filepath(c.oid), coalesce(t.spcname, '') = %s
  FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
 WHERE c.relkind IN ('r', 'i') AND n.nspname = 'public'
 ORDER BY c.oid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One relation's blocks."""

    path: Path
    on_ssd: bool


def files_of(rig: Rig) -> tuple[File, ...]:
    """Heaps and indexes of the experiment."""
    with rig.session() as session:
        rows = session.execute(_FILES, (SSD_SPACE,)).fetchall()
    return tuple(File(path=rig.server.data / path, on_ssd=fast) for path, fast in rows)


class BlockPlacement:
    """Reads of the tables' blocks, counted from now on, and the other placements that they are served by."""

    def __init__(self, rig: Rig, before: Collection[File]) -> None:
        """Begin to count; relations that are made later are not among them.

        Args:
            rig: with a table that is split.
            before: its files before that.
        """
        self._disk, self._before = rig.disk, frozenset(before)
        self.files = files_of(rig)
        for file in self.files:
            self._disk.count_blocks(file.path)

    @property
    def ssd_bytes(self) -> int:
        """As many as files on the SSD have."""
        return BLOCK * self._ssd_blocks

    @property
    def _ssd_blocks(self) -> int:
        return sum(_blocks(file) for file in self.files if file.on_ssd)

    @contextmanager
    def by_hindsight(self) -> Iterator[None]:
        """Inside, the blocks that were read most so far are on the SSD, as many as were there, and no others."""
        reads = [np.array(self._disk.block_reads(file.path)) for file in self.files]
        everything = np.concatenate(reads)
        best = np.zeros(len(everything), dtype=bool)
        best[np.argsort(-everything, kind="stable")[: self._ssd_blocks]] = True
        edges = np.cumsum([len(each) for each in reads])[:-1]
        with self._elsewhere(np.split(best, edges)):
            yield

    @contextmanager
    def without_split(self) -> Iterator[None]:
        """Inside, what was born on the SSD is on the hdd, as if the table were whole."""
        with self._elsewhere([np.full(_blocks(file), file.on_ssd and file in self._before) for file in self.files]):
            yield

    @contextmanager
    def _elsewhere(self, on_ssd: list[NDArray[np.bool_]]) -> Iterator[None]:
        for file, fast in zip(self.files, on_ssd, strict=True):
            name = HDD.name if file.on_ssd else SSD.name
            self._disk.place_blocks(file.path, name, np.flatnonzero(fast != file.on_ssd).tolist())
        try:
            yield
        finally:
            for file, fast in zip(self.files, on_ssd, strict=True):
                self._disk.place_blocks(file.path, None, range(len(fast)))


def _blocks(file: File) -> int:
    return file.path.stat().st_size // BLOCK
