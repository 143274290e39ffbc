"""One file out of a filegroup that keeps others: its pages go to those, then it is removed; the undo adds one again.

It is online in every edition. What has moved when it is stopped stays moved, and the same DBCC SHRINKFILE goes on.
Source: sql-docs, DBCC SHRINKFILE (EMPTYFILE) and ALTER DATABASE File and Filegroup Options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from connectors.model import Bundle, Home, Inspection, NoRoute, Route
from connectors.operations import Operation
from connectors.sqlserver.moving.emptying import EMPTY_PAGES
from connectors.sqlserver.reading.catalog import read_files
from connectors.sqlserver.reading.disks import folder_of
from connectors.sqlserver.reading.spaces import PAGE, File
from connectors.sqlserver.routes.file_move import (
    REPLICAS_STAY_SINCE,
    FilePlace,
    add_like,
    empty_files,
    file_route_of,
    route_by_files,
)
from connectors.sqlserver.routes.file_statements import PAGES_IN_MB, PRIMARY_FILE, grow_file, whole_mb
from connectors.sqlserver.routes.move_methods import MADE, Method, Statement
from connectors.sqlserver.routes.online import CLOUD
from connectors.sqlserver.routes.operations import GROW_FILE, file_step_of
from connectors.sqlserver.session.sessions import ReadSession


def removal_route(bundle: Bundle, files: Sequence[File], place: FilePlace) -> Route | NoRoute:
    """The way of the file ``bundle.container`` out of its filegroup, or why there is none.

    Args:
        bundle: names a file of the database.
        files: of the database.
        place: where they are.
    """
    file = next((each for each in files if each.name == bundle.container), None)
    if file is None:
        return NoRoute(code="gone", sentence=f"no filegroup has a file {bundle.container}")
    for applies, code, sentence in _against(file, files, place):
        if applies:
            return NoRoute(code=code, sentence=sentence)
    method = _method(place.database, file, place.server.major)
    return route_by_files(method, bundle, bundle.space, place.settings, undo_bytes=0)


def _against(file: File, files: Sequence[File], place: FilePlace) -> Iterator[tuple[bool, str, str]]:
    rest = [each for each in files if each.space == file.space and each.name != file.name]
    usable = [each for each in rest if each.state == "ONLINE" and not each.read_only]
    yield not place.writable, "standby", "the database is read-only here; files are removed on the primary"
    yield place.server.edition in CLOUD, "no_files", "the service itself decides where files lie"
    yield (
        file.file_id == PRIMARY_FILE,
        "primary_file",
        f"{file.name} is the primary file, which can be neither emptied nor removed (5212, 5020)",
    )
    yield bool(file.read_only), "read_only_space", f"filegroup {file.space} is read-only"
    yield not usable, "no_other", f"filegroup {file.space} has no other file that can take its pages"
    yield (
        place.replicated and place.server.major < REPLICAS_STAY_SINCE,
        "replicas",
        "on this version SHRINKFILE may suspend a replica (KB 3173471)",
    )


def _method(database: str, file: File, major: int) -> Method:
    """Back comes an empty file of the same growth in the same folder; its name waits for a log backup, so another."""
    name, folder = str(file.name), folder_of(str(file.path))
    again = add_like(database, replace(file, used_pages=file.size_pages), f"{MADE}_back_1", folder)
    return Method(
        "empty and remove a file",
        empty_files(database, [name], major),
        (replace(again, purpose=f"a file in {folder} in the place of {name}, which fills with what comes"),),
        tidy=(_reopen(database, name, file),),
        notes=(
            f"the other files of filegroup {file.space} take its pages in; indexes end up fragmented",
            "the moving account has to be db_owner: DBCC SHRINKFILE asks for no less",
            "it can be stopped at any time, and what has moved stays moved",
            "given up, the file is opened to new data again, which takes a change of its size: 1 MB more",
            "large objects move slowly (KB 324432); a reader of a snapshot holds it up until it ends",
            "its pages do not come back with the undo, which adds an empty file of the same size",
        ),
    )


def _reopen(database: str, name: str, file: File) -> Statement:
    pages = _reopened_pages(file)
    grown = Operation(GROW_FILE, {"file": name, "size_mb": whole_mb(pages)})
    return Statement(grow_file(database, name, pages), f"let {name} take new data again", grown)


def _reopened_pages(file: File) -> int:
    """Pages of the file once it was given up: changing its size is what lets it take new data."""
    return (file.size_pages or 0) + PAGES_IN_MB


def inspect_container(session: ReadSession, route: Route, *, running: bool) -> Inspection:
    """Whether the file that a route takes out, or puts back, is there.

    A file that has lost pages is held, unless a session works on it or the move was given up; its size shows which.

    Raises:
        ConnectorError: the server did not answer.
    """
    files = file_route_of(route)
    assert files is not None, f"{route.name} names no file"
    goes = bool(files.old)
    name = (files.old or files.new)[0]
    file = next((each for each in read_files(session) if each.name == name), None)
    pages = 0 if file is None else (file.size_pages if file.used_pages is None else file.used_pages) or 0
    held = goes and not running and file is not None and _half_way(file, pages, route)
    return Inspection(
        home=Home.SOURCE if (file is not None) == goes else Home.TARGET,
        sentence=f"there is no file {name}" if file is None else f"file {name} has {pages} pages in use",
        leftovers=route.tidy_steps if held else (),
        size_bytes=pages * PAGE if goes else 0,
        on_disk=None,
        running=running,
        paused=held,
    )


def _half_way(file: File, pages: int, route: Route) -> bool:
    """More pages have left it since the plan was made than any file has of its own, and it was not opened again."""
    begun = route.bundle.size_bytes // PAGE - pages > EMPTY_PAGES
    opened = file_step_of(route.tidy_steps[0])
    return begun and opened is not None and (file.size_pages or 0) < opened.size_mb * PAGES_IN_MB
