"""Filegroups, files and the pages that allocation units take in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from tests.labs.tds.backend import ServerError

PAGE = 8192
EXTENT = 8
IN_ROW, LOB, OVERFLOW = 1, 2, 3
UNIT_NAMES = {IN_ROW: "IN_ROW_DATA", LOB: "LOB_DATA", OVERFLOW: "ROW_OVERFLOW_DATA"}


@dataclass(slots=True)
class Volume:
    """A disk; ``mount`` is NULL in DMVs of a server on Linux."""

    mount: str
    total_bytes: int
    available_bytes: int
    seeks: bool

    @property
    def random_read_ms(self) -> float:
        """What one page takes that somebody waits for."""
        return 8.0 if self.seeks else 0.2

    @property
    def scan_read_ms(self) -> float:
        """What 64 pages in order take."""
        return 4.0 if self.seeks else 1.0


@dataclass(slots=True)
class FileCounters:
    """What dm_io_virtual_file_stats counts."""

    reads: int = 0
    bytes_read: int = 0
    read_ms: int = 0
    writes: int = 0
    bytes_written: int = 0
    write_ms: int = 0

    def read(self, reads: int, pages: int, milliseconds: int) -> None:
        """Count reads of so many pages in all, which took so long."""
        self.reads += reads
        self.bytes_read += pages * PAGE
        self.read_ms += milliseconds


@dataclass(slots=True)
class DataFile:
    """A file of a filegroup, or of the log (``filegroup`` 0). Sizes in pages."""

    file_id: int
    name: str
    path: str
    filegroup: int
    volume: Volume
    size: int
    max_size: int = -1
    growth: int = 8192
    used: int = 0
    percent_growth: bool = False
    closed: bool = False  # emptied: takes nothing new
    end: int = EXTENT  # page number behind the last extent; those of the first describe the file
    holes: list[tuple[int, int]] = field(default_factory=list)  # first page and pages of extents that were given back
    counters: FileCounters = field(default_factory=FileCounters)

    def room(self) -> int:
        """Pages it can still take, growth included."""
        if self.closed:
            return 0
        if self.max_size == -1 and self.growth:
            return max(self.size - self.used, 0) + self.volume.available_bytes // PAGE
        limit = max(self.max_size, self.size) if self.growth else self.size
        return max(limit - self.used, 0)

    def take(self, pages: int) -> None:
        """Use that many more, growing as needed."""
        self.used += pages
        self.size = max(self.size, self.used)

    def new_extents(self, pages: int) -> tuple[int, int]:
        """First page and pages of extents for so many pages or fewer: the lowest hole first."""
        wanted = -(-pages // EXTENT) * EXTENT
        if not self.holes:
            self.end += wanted
            return self.end - wanted, wanted
        first, free = self.holes.pop(0)
        if free > wanted:
            self.holes.insert(0, (first + wanted, free - wanted))
        return first, min(free, wanted)


@dataclass(slots=True)
class Filegroup:
    """A data space that holds rows."""

    space_id: int
    name: str
    is_default: bool = False
    read_only: bool = False


@dataclass(slots=True)
class AllocationUnit:
    """Pages of one kind of one partition, by file."""

    unit_id: int
    kind: int
    filegroup: int
    pages: dict[int, int] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)  # where they are, in the order in which they were allocated
    slack: dict[int, tuple[int, int]] = field(default_factory=dict)  # file -> the rest of its last extent there

    @property
    def total(self) -> int:
        """Pages in all files."""
        return sum(self.pages.values())

    def allocate(self, file: DataFile, pages: int) -> None:
        """Pages of a file: the rest of the last extent, then extents of its own."""
        while pages > 0:
            left = file.file_id in self.slack
            first, room = self.slack.pop(file.file_id) if left else file.new_extents(pages)
            taken = min(room, pages)
            if room > taken:
                self.slack[file.file_id] = (first + taken, room - taken)
            last = self.runs[-1] if self.runs else None
            if last is not None and (last.file_id, last.first + last.pages) == (file.file_id, first):
                last.pages += taken
            else:
                self.runs.append(Run(file.file_id, first, taken))
            pages -= taken

    def leave(self, file: DataFile, pages: int) -> None:
        """Give so many pages of a file back, the last ones first, and the extents that are empty then."""
        held = self._extents(file)
        self.slack.pop(file.file_id, None)
        for run in [run for run in reversed(self.runs) if run.file_id == file.file_id]:
            gone = min(run.pages, pages)
            run.pages, pages = run.pages - gone, pages - gone
        self.runs = [run for run in self.runs if run.pages]
        file.holes = sorted([*file.holes, *_in_rows(sorted(held - self._extents(file)))])

    def _extents(self, file: DataFile) -> set[int]:
        return {
            page // EXTENT for run in self.runs if run.file_id == file.file_id
            for page in range(run.first // EXTENT * EXTENT, run.first + run.pages, EXTENT)
        }  # fmt: skip

    def places(self) -> Places:
        """To look up where its pages are."""
        starts = [0]
        for run in self.runs:
            starts.append(starts[-1] + run.pages)
        return Places(self.runs, starts)


@dataclass(slots=True)
class Run:
    """Pages in a row of one file."""

    file_id: int
    first: int
    pages: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where the pages of an allocation unit are; ``starts``: position of each run's first page."""

    runs: list[Run]
    starts: list[int]

    def of(self, position: int) -> tuple[int, int]:
        """File and number of the page at a position, in the order in which pages were allocated."""
        at = bisect_right(self.starts, position) - 1
        run = self.runs[at]
        return run.file_id, run.first + position - self.starts[at]


def _in_rows(extents: list[int]) -> Iterator[tuple[int, int]]:
    """First page and pages of extents in a row."""
    begin = 0
    for at, extent in enumerate(extents):
        if at + 1 == len(extents) or extents[at + 1] != extent + 1:
            yield extents[begin] * EXTENT, (at + 1 - begin) * EXTENT
            begin = at + 1


class Storage:
    """The files of one database."""

    def __init__(self, name: str) -> None:
        self.database = name
        self.filegroups: dict[int, Filegroup] = {}
        self.files: dict[int, DataFile] = {}
        self._unit_ids = count(72057594040000001)

    def filegroup_named(self, name: str) -> Filegroup | None:
        """Names compare without case."""
        return next((g for g in self.filegroups.values() if g.name.lower() == name.lower()), None)

    def files_of(self, filegroup: int) -> list[DataFile]:
        """Its files, those being emptied included."""
        return [file for file in self.files.values() if file.filegroup == filegroup]

    def new_unit(self, kind: int, filegroup: int, pages: int = 0) -> AllocationUnit:
        """An allocation unit of that many pages; raises what ``grow`` raises."""
        unit = AllocationUnit(next(self._unit_ids), kind, filegroup)
        self.grow(unit, pages)
        return unit

    def grow(self, unit: AllocationUnit, pages: int) -> None:
        """Take pages, spread over the files in proportion to their room.

        Raises:
            ServerError: 1105, the filegroup is full.
        """
        files = [file for file in self.files_of(unit.filegroup) if file.room() > 0]
        room = sum(file.room() for file in files)
        if pages > room:
            group = self.filegroups[unit.filegroup].name
            message = (
                f"Could not allocate space for object in database '{self.database}' because the '{group}' filegroup is "
                "full. Create disk space by deleting unneeded files, dropping objects in the filegroup, adding "
                "additional files to the filegroup, or setting autogrowth on for existing files in the filegroup."
            )
            raise ServerError(1105, message, severity=17, state=2)
        left = pages
        for file in files:
            share = min(left, file.room(), -(-pages * file.room() // room))
            file.take(share)
            unit.pages[file.file_id] = unit.pages.get(file.file_id, 0) + share
            unit.allocate(file, share)
            left -= share

    def free(self, unit: AllocationUnit) -> None:
        """Give all its pages back."""
        for file_id, pages in unit.pages.items():
            self.files[file_id].used -= pages
            unit.leave(self.files[file_id], pages)
        unit.pages.clear()
