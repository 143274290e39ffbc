"""The truth about a filegroup that changes disks by its files."""

from __future__ import annotations

from dataclasses import replace

from connectors.model import Home, Inspection, Route, Step
from connectors.sqlserver.reading.catalog import read_files
from connectors.sqlserver.reading.spaces import PAGE, File
from connectors.sqlserver.routes.file_move import FileRoute, file_route_of
from connectors.sqlserver.routes.operations import file_step_of
from connectors.sqlserver.session.sessions import ReadSession

EMPTY_PAGES = 64  # a file without rows has pages of its own: header, PFS, GAM, SGAM and the like


def inspect_files(session: ReadSession, route: Route, files: FileRoute, *, running: bool) -> Inspection:
    """Where the files of the filegroup are. A move that has begun and is not at work is held: it can go on.

    Raises:
        ConnectorError: the server did not answer.
    """
    own = [file for file in read_files(session) if file.space == files.filegroup and file.path is not None]
    if not own:
        return Inspection(
            home=Home.GONE,
            sentence=f"filegroup {files.filegroup} no longer exists",
            size_bytes=0,
            on_disk=None,
            running=running,
        )
    home = _home(own, route, files)
    new = [file for file in own if file.name in files.new]
    moved = any(not _empty(file) for file in new)
    unfinished = bool(new) and any(file.name in files.old for file in own)
    held = not running and moved and unfinished
    pages = session.rows("filegroup_pages", files.filegroup, doing=f"reading the size of {files.filegroup}")
    return Inspection(
        home=home,
        sentence=_sentence(files, own, held=held),
        size_bytes=int(pages[0][0]) * PAGE,
        on_disk=True if home is Home.TARGET else None,
        leftovers=_leftovers(route, own) if unfinished and not running else (),
        running=running,
        paused=held,
    )


def _home(own: list[File], route: Route, files: FileRoute) -> Home:
    """By folders, so that it is true of a move that was taken back, whose files have new names, too."""
    back = file_route_of(_undo_of(route))
    source = "" if back is None else back.folder
    there = [file for file in own if _under(file, files.folder)]
    if len(there) == len(own):
        return Home.TARGET
    rest = [file for file in own if file not in there]
    if all(_empty(file) for file in there):
        return Home.SOURCE if all(_under(file, source) or file.name in files.old for file in rest) else Home.ELSEWHERE
    return Home.SPLIT


def _undo_of(route: Route) -> Route:
    """A route whose steps are those that take this one back."""
    return replace(route, steps=route.undo_steps)


def _under(file: File, folder: str) -> bool:
    # Without regard to case, since Windows has none; on Linux two folders that differ in case alone are not told apart.
    return bool(folder) and str(file.path).lower().startswith(folder.lower())


def _empty(file: File) -> bool:
    pages = file.size_pages if file.used_pages is None else file.used_pages
    return (pages or 0) <= EMPTY_PAGES


def _sentence(files: FileRoute, own: list[File], *, held: bool) -> str:
    names = ", ".join(f"{file.path}" for file in own)
    return f"filegroup {files.filegroup} is in {names}" + (", half way" if held else "")


def _leftovers(route: Route, own: list[File]) -> tuple[Step, ...]:
    """Steps that bring everything back: the new files are emptied and removed."""
    names = {file.name for file in own}
    return tuple(s for s in route.tidy_steps if (found := file_step_of(s)) is not None and found.file in names)
