"""Folders as spaces, for ``move_by: filegroup``: a filegroup lies where its files are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from connectors.model import Space
from connectors.sqlserver.reading.spaces import PAGE, File, Volume, container_of

Disks = Mapping[str, str]  # name -> folder, as the server spells it, with its last separator


def disk_of(path: str, disks: Disks) -> str:
    """The disk whose folder the path begins with, the longest one; the path's own folder where there is none."""
    under = [name for name, folder in disks.items() if path.lower().startswith(folder.lower())]
    if under:
        return max(under, key=lambda name: len(disks[name]))
    return folder_of(path)


def folder_of(path: str) -> str:
    """With its last separator, on either system."""
    cut = max(path.rfind("\\"), path.rfind("/"))
    return path[: cut + 1]


def homes(files: Iterable[File], disks: Disks) -> dict[str, str]:
    """The disk of each filegroup: the one that holds most of its pages."""
    pages: dict[str, dict[str, int]] = {}
    for file in files:
        if file.path is not None:
            held = pages.setdefault(file.space, {})
            disk = disk_of(file.path, disks)
            held[disk] = held.get(disk, 0) + _pages(file)
    return {space: max(held, key=lambda disk: held[disk]) for space, held in pages.items()}


def disk_spaces(files: Sequence[File], volumes: Mapping[int, Volume], disks: Disks) -> tuple[Space, ...]:
    """One space a disk, those of the configuration first. Room is what is free on the volumes under its files.

    A disk without a file of this database has no room that the server tells of: the configuration may.
    """
    found: dict[str, list[File]] = {name: [] for name in disks}
    for file in files:
        if file.path is not None:
            found.setdefault(disk_of(file.path, disks), []).append(file)
    return tuple(_space(name, disks.get(name, name), held, volumes) for name, held in found.items())


def _space(name: str, folder: str, files: list[File], volumes: Mapping[int, Volume]) -> Space:
    under = {volume.identity: volume.available for f in files if (volume := volumes.get(f.file_id or 0)) is not None}
    used = sum(_pages(file) for file in files) * PAGE
    free = sum(under.values()) if under else None
    return Space(
        name=name,
        path=folder,
        used_bytes=used,
        free_bytes=free,
        capacity_bytes=None if free is None else used + free,
        containers=tuple(container_of(file, volumes) for file in files),
    )


def _pages(file: File) -> int:
    return (file.size_pages or 0) if file.used_pages is None else file.used_pages
