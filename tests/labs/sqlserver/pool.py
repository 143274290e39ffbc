"""The buffer pool: pages that were read stay until their buffers are needed, and it counts what it had to read."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.labs.sqlserver.storage import AllocationUnit

SECTION = 64  # buffers that are looked at for free ones at a time
FADES = 4  # what each pass divides a buffer's reference counter by


@dataclass(slots=True)
class Buffer:
    """A page in memory; ``position``: its place in its allocation unit."""

    unit_id: int
    position: int
    microseconds: int  # that its read took
    modified: bool = False
    uses: int = 1


class Pool:
    """The buffers of all databases, in the order of their addresses. For whoever holds the instance's lock."""

    def __init__(self, capacity: Callable[[], int]) -> None:
        """Empty; ``capacity`` says how many buffers it may have now."""
        self._capacity = capacity
        self._buffers: list[Buffer | None] = []
        self._at: dict[tuple[int, int], int] = {}
        self._free: deque[int] = deque()
        self._hand = 0
        self.reads: defaultdict[int, Counter[int]] = defaultdict(Counter)  # unit -> position -> reads from its file

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[Buffer]:
        return (buffer for buffer in self._buffers if buffer is not None)

    def holds(self, unit: AllocationUnit, position: int) -> bool:
        """Whether a page is in memory."""
        return (unit.unit_id, position) in self._at

    def touch(self, unit: AllocationUnit, position: int, *, microseconds: int, write: bool = False) -> bool:
        """Use a page; whether it had to be read, which takes so long."""
        key = (unit.unit_id, position)
        if missed := key not in self._at:
            self.reads[unit.unit_id][position] += 1
            self._put(Buffer(*key, microseconds))
        else:
            self._used(key).uses += 1
        self._used(key).modified |= write
        return missed

    def read(self, unit: AllocationUnit, position: int, *, microseconds: int) -> None:
        """Read a page from its file: one that is there has left meanwhile."""
        at = self._at.pop((unit.unit_id, position), None)
        if at is not None:
            self._empty(at)
        self.touch(unit, position, microseconds=microseconds)

    def checkpoint(self) -> None:
        """Every page is written."""
        for buffer in self:
            buffer.modified = False

    def clear(self) -> None:
        """Nothing is in memory; what was read is still counted."""
        self._buffers.clear()
        self._at.clear()
        self._free.clear()
        self._hand = 0

    def forget(self, unit: AllocationUnit) -> None:
        """Its pages are no more, or no longer where they were."""
        for key in [key for key in self._at if key[0] == unit.unit_id]:
            self._empty(self._at.pop(key))

    def _used(self, key: tuple[int, int]) -> Buffer:
        buffer = self._buffers[self._at[key]]
        assert buffer is not None
        return buffer

    def _empty(self, at: int) -> None:
        self._buffers[at] = None
        self._free.append(at)

    def _put(self, buffer: Buffer) -> None:
        capacity = max(1, self._capacity())
        while len(self._buffers) > capacity:  # memory was given back to the operating system
            self._give_back()
        if not self._free and len(self._buffers) < capacity:
            self._buffers.append(None)
            self._free.append(len(self._buffers) - 1)
        while not self._free:
            self._look_for_free_ones()
        at = self._free.popleft()
        self._buffers[at], self._at[buffer.unit_id, buffer.position] = buffer, at

    def _give_back(self) -> None:
        last = self._buffers.pop()
        if last is None:
            self._free.remove(len(self._buffers))
        else:
            del self._at[last.unit_id, last.position]
        self._hand = 0

    def _look_for_free_ones(self) -> None:
        """Examine one section: a counter that comes to 0 frees its buffer, after a write if it was modified."""
        for at in range(self._hand, min(self._hand + SECTION, len(self._buffers))):
            buffer = self._buffers[at]
            if buffer is None:
                continue
            buffer.uses //= FADES
            if not buffer.uses:
                del self._at[buffer.unit_id, buffer.position]
                self._empty(at)
        self._hand = (self._hand + SECTION) % (-(-len(self._buffers) // SECTION) * SECTION)
