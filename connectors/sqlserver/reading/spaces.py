"""Filegroups with their room: in their files, and what the files may still grow on their volumes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from connectors.containers import Container
from connectors.model import Space

PAGE = 8192
UNLIMITED, LOG_LIMIT = -1, 268435456  # max_size of a file: without limit; 2 TB, which stands for none in old catalogs


@dataclass(frozen=True, slots=True)
class File:
    """A row of ``sql/spaces.sql``, in its order."""

    space_id: int
    space: str
    read_only: int
    file_id: int | None  # None: the filegroup has no file
    name: str | None
    path: str | None
    size_pages: int | None
    max_size: int | None
    growth: int | None
    state: str | None
    used_pages: int | None  # None: this login may not know
    percent_growth: int = 0  # growth is in percent, not in pages


@dataclass(frozen=True, slots=True)
class Volume:
    """Room on the volume under a file."""

    mount_point: str | None  # None on Linux
    total: int
    available: int
    seeks: int | None = None  # 0: solid state, 1: disk, 2: unknown, None: the server does not say

    @property
    def identity(self) -> tuple[object, ...]:
        """The same for files on one volume; volumes without a mount point count as one where their figures agree.

        So room may be understated and is never counted twice.
        """
        return (self.mount_point,) if self.mount_point else (self.total, self.available)


def spaces_of(files: Sequence[File], volumes: Mapping[int, Volume], in_units: Mapping[int, int]) -> tuple[Space, ...]:
    """One space a filegroup, in the order of the files.

    Args:
        files: sorted by filegroup.
        volumes: by file_id; a file that is absent lies where this login cannot look.
        in_units: bytes that the catalog's units hold, by filegroup, for when file space may not be seen.
    """
    grouped = groupby(files, key=lambda file: (file.space_id, file.space))
    return tuple(_space(name, list(rows), volumes, in_units.get(number, 0)) for (number, name), rows in grouped)


def _space(name: str, rows: list[File], volumes: Mapping[int, Volume], in_units: int) -> Space:
    files = [file for file in rows if file.file_id is not None]
    known = all(file.used_pages is not None for file in files)
    used = sum(file.used_pages or 0 for file in files) * PAGE if known else in_units
    inside = max(0, sum(file.size_pages or 0 for file in files) * PAGE - used)
    usable = [file for file in files if file.state == "ONLINE" and not file.read_only]
    growth = _growth(usable, volumes)
    free = None if growth is None else (inside + growth if usable else 0)
    return Space(
        name=name,
        path=next((file.path for file in files if file.path), ""),
        used_bytes=used,
        free_bytes=free,
        capacity_bytes=None if free is None else used + free,
        containers=tuple(container_of(file, volumes) for file in files),
    )


def container_of(file: File, volumes: Mapping[int, Volume]) -> Container:
    """One file of a filegroup."""
    volume, limit = volumes.get(file.file_id or 0), growth_limit(file)
    available = None if volume is None else volume.available
    usable = file.state == "ONLINE" and not file.read_only
    return Container(
        name=str(file.name),
        path=str(file.path),
        size_bytes=(file.size_pages or 0) * PAGE,
        used_bytes=None if file.used_pages is None else file.used_pages * PAGE,
        growth_bytes=0 if not (limit and usable) else None if available is None else min(limit, available),
        device="" if volume is None else repr(volume.identity),
        holder=file.space,
    )


def _growth(files: Iterable[File], volumes: Mapping[int, Volume]) -> int | None:
    """Bytes that the files may still grow; None where a file may grow and its volume cannot be seen."""
    room: dict[tuple[object, ...], int] = {}
    wanted: dict[tuple[object, ...], int] = {}
    for file in files:
        limit = growth_limit(file)
        if limit == 0:
            continue
        volume = volumes.get(file.file_id or 0)
        if volume is None:
            return None
        room[volume.identity] = volume.available
        wanted[volume.identity] = wanted.get(volume.identity, 0) + min(limit, volume.available)
    return sum(min(room[at], wanted[at]) for at in wanted)


def growth_limit(file: File) -> int:
    """Bytes that the file may grow by its own settings."""
    if not file.growth or file.max_size == 0:
        return 0
    if file.max_size in {None, UNLIMITED, LOG_LIMIT}:
        return 2**62
    return max(0, ((file.max_size or 0) - (file.size_pages or 0)) * PAGE)
