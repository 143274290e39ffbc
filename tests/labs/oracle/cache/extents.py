"""Where the extents of segments lie in the files of their tablespaces (rule 14g)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from connectors.model.observation import I64
from tests.labs.oracle.model import BLOCK, Segment, Tablespace

FIRST_BLOCK = 128  # of a file, behind its header and its own map
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_STEPS = (
    (_MIB, 64 * _KIB),
    (64 * _MIB, _MIB),
    (_GIB, 8 * _MIB),
)  # up to so many bytes of the segment, extents of so many
_LAST_STEP = 64 * _MIB


@dataclass(frozen=True, slots=True)
class Extent:
    """Blocks of one segment that lie together."""

    file: int
    block: int  # the first, in the file
    blocks: int


class ExtentMap:
    """Given once and kept: an extent does not move while its segment lives."""

    def __init__(self) -> None:
        self._given: dict[int, list[Extent]] = {}  # by data object

    def extents(self, segment: Segment, space: Tablespace) -> list[Extent]:
        """By EXTENT_ID; a segment that has grown is given more."""
        given = self._given.setdefault(segment.data_object_id, [])
        have = sum(extent.blocks for extent in given)
        while have < segment.blocks:
            wanted = min(_step(have * BLOCK) // BLOCK, segment.blocks - have)
            file = space.files[len(given) % len(space.files)].number
            given.append(Extent(file, self._room(file, wanted), wanted))
            have += wanted
        return given

    def keep_only(self, data_object_ids: set[int]) -> None:
        """Room of segments that are gone may be given again."""
        self._given = {number: given for number, given in self._given.items() if number in data_object_ids}

    def places(self, segment: Segment, space: Tablespace, blocks: I64) -> tuple[I64, I64]:
        """File and block in it of some blocks of a segment, by their number within it."""
        given = self.extents(segment, space)
        ends = np.cumsum([extent.blocks for extent in given], dtype=np.int64)
        at = np.searchsorted(ends, blocks, side="right")
        files, firsts, sizes = (
            np.array([getattr(extent, name) for extent in given], dtype=np.int64)
            for name in ("file", "block", "blocks")
        )
        return files[at], firsts[at] + blocks - (ends[at] - sizes[at])

    def _room(self, file: int, blocks: int) -> int:
        """The first hole that is large enough."""
        taken: dict[int, list[Extent]] = defaultdict(list)
        for given in self._given.values():
            for extent in given:
                taken[extent.file].append(extent)
        free = FIRST_BLOCK
        for extent in sorted(taken[file], key=lambda each: each.block):
            if extent.block - free >= blocks:
                break
            free = extent.block + extent.blocks
        return free


def _step(held: int) -> int:
    """Bytes of the next extent of a segment that has so many."""
    return next((step for upto, step in _STEPS if held < upto), _LAST_STEP)
