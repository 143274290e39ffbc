"""A whole filegroup to another disk by its files: new ones there, the old ones emptied and removed. Pure.

It is online in every edition, and may be stopped at any time: what has moved stays moved, and the same DBCC SHRINKFILE
goes on. It changes no filegroup, so the home of a unit is a disk here: a folder that the configuration names. Source:
sql-docs, DBCC SHRINKFILE (EMPTYFILE) and ALTER DATABASE File and Filegroup Options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from connectors.model import Bundle, NoRoute, Route, Step
from connectors.move_effects import Locked
from connectors.operations import Operation
from connectors.sqlserver.reading.disks import disk_of, folder_of
from connectors.sqlserver.reading.spaces import File
from connectors.sqlserver.routes.available import number_of, tag_steps
from connectors.sqlserver.routes.file_statements import PRIMARY_FILE, add_file, empty_file, remove_file
from connectors.sqlserver.routes.move_methods import MADE, Method, Statement
from connectors.sqlserver.routes.online import CLOUD, Server
from connectors.sqlserver.routes.operations import ADD_FILE, EMPTY_FILE, REMOVE_FILE, FileStep, file_step_of
from connectors.sqlserver.session.sessions import lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings

LOG_FACTOR = 1.2  # every page that moves is logged, in small transactions
REPLICAS_STAY_SINCE = 14  # before, SHRINKFILE could suspend a replica (KB 3173471)


@dataclass(frozen=True, slots=True)
class FileRoute:
    """The files of a route: those that it makes, those that it empties, and the folder that it goes to."""

    filegroup: str  # "" where it makes no file: it tidies up
    folder: str
    new: tuple[str, ...]
    old: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """What a move by files depends on in addition to the files."""

    database: str  # its name
    server: Server
    replicated: bool  # the database is in an availability group
    writable: bool = True  # it can be changed here; a readable secondary shows the primary's paths
    settings: SqlserverSettings  # disks and limits


def file_route_of(route: Route) -> FileRoute | None:
    """The files of the route; None if it does not move by files."""
    steps = [found for step in route.steps if (found := file_step_of(step)) is not None]
    if not steps:
        return None
    added = [step for step in steps if step.action == "add"]
    old = tuple(step.file for step in steps if step.action == "empty")
    first = added[0] if added else FileStep("add", "")
    return FileRoute(first.filegroup, first.folder, tuple(step.file for step in added), old)


def file_route(
    filegroup: str | None, bundle: Bundle, to_disk: str, files: Sequence[File], place: FilePlace
) -> Route | NoRoute:
    """The route of everything in one filegroup, or why there is none.

    Args:
        filegroup: that the bundle is; None: it is gone.
        bundle: everything in it.
        to_disk: name of a configured disk.
        files: of the database.
        place: where they are.
    """
    own = [file for file in files if file.space == filegroup and file.file_id is not None]
    if not place.writable:
        return NoRoute(code="standby", sentence="the database is read-only here; moves happen on the primary")
    for applies, code, sentence in _against(filegroup, bundle, to_disk, own, place):
        if applies:
            return NoRoute(code=code, sentence=sentence)
    assert filegroup is not None, "a missing filegroup is refused above"
    method = _method(place.database, filegroup, own, place.settings.disks[to_disk], place.server.major)
    return route_by_files(method, bundle, to_disk, place.settings)


def route_by_files(
    method: Method, bundle: Bundle, to_space: str, settings: SqlserverSettings, *, undo_bytes: int | None = None
) -> Route:
    """The route of a method that empties files; ``undo_bytes``: that its undo copies, None: as many as the move."""
    number, limit = number_of(method), settings.move_timeout
    return Route(
        name=method.name,
        bundle=bundle,
        to_space=to_space,
        prologue=(lock_timeout_statement(settings.lock_timeout),),
        steps=tag_steps(number, "step", method.there, limit),
        undo_steps=tag_steps(number, "undo", method.back, limit),
        tidy_steps=tag_steps(number, "tidy", method.tidy, limit),
        tidy_bytes=bundle.size_bytes if method.tidy_copies else 0,
        online=True,
        locks="none on its tables but for a moment: pages are moved some at a time, in small transactions",
        locked=Locked.BRIEFLY,
        lock_seconds=settings.lock_timeout,
        log_bytes=round(bundle.size_bytes * LOG_FACTOR),
        transient_bytes=0,
        undo_bytes=undo_bytes,
        notes=method.notes,
    )


def _against(
    filegroup: str | None, bundle: Bundle, to_disk: str, own: Sequence[File], place: FilePlace
) -> Iterator[tuple[bool, str, str]]:
    disks = place.settings.disks
    there = {disk_of(str(file.path), disks) for file in own}
    yield filegroup is None, "gone", f"{bundle.key} no longer exists"
    yield to_disk not in disks, "no_space", f"{to_disk} is none of the configured disks"
    yield place.server.edition in CLOUD, "no_files", "the service itself decides where files lie"
    yield not own, "no_files", f"filegroup {filegroup} has no file"
    yield there == {to_disk}, "already_there", f"filegroup {filegroup} is already on {to_disk}"
    yield (
        any(file.file_id == PRIMARY_FILE for file in own),
        "primary_file",
        f"{filegroup} has the primary file, which cannot be emptied (5212); doctor prints the offline statements",
    )
    yield any(file.read_only for file in own), "read_only_space", f"filegroup {filegroup} is read-only"
    yield (
        place.replicated and place.server.major < REPLICAS_STAY_SINCE,
        "replicas",
        "on this version SHRINKFILE may suspend a replica (KB 3173471)",
    )
    yield (
        place.replicated and not place.settings.disks_on_replicas,
        "replicas",
        "the folder has to be there on every replica, or ADD FILE suspends it: disks_on_replicas: true says that it is",
    )


def _method(database: str, filegroup: str, own: Sequence[File], folder: str, major: int) -> Method:
    """As many new files as there are old ones, so that their number stays; then each old one is emptied and removed."""
    new = [f"{MADE}_{at}" for at in range(1, len(own) + 1)]
    back = [f"{MADE}_back_{at}" for at in range(1, len(own) + 1)]
    old = [str(file.name) for file in own]
    return Method(
        "files of the filegroup",
        (
            *(add_like(database, file, name, folder) for file, name in zip(own, new, strict=True)),
            *empty_files(database, old, major),
        ),
        (
            *(add_like(database, f, n, folder_of(str(f.path))) for f, n in zip(own, back, strict=True)),
            *empty_files(database, new, major),
        ),
        tidy=empty_files(database, new, major),
        tidy_copies=True,
        notes=(
            f"everything in filegroup {filegroup} goes with it",
            "it can be stopped at any time, and what has moved stays moved; indexes end up fragmented",
            "large objects move slowly (KB 324432); a reader of a snapshot holds it up until it ends",
            "take a log backup before a name of a removed file is used again",
        ),
    )


def add_like(database: str, like: File, name: str, folder: str) -> Statement:
    """A file that grows as the old one does, with room for what is in it."""
    pages = like.used_pages if like.used_pages is not None else (like.size_pages or 0)
    sql = add_file(database, like.space, name, folder, size_pages=pages, more=_growth(like))
    added = Operation(ADD_FILE, {"file": name, "filegroup": like.space, "folder": folder})
    return Statement(sql, f"a file in {folder} in the place of {like.name}", added)


def _growth(like: File) -> str:
    limit = f", MAXSIZE = {like.max_size * 8}KB" if like.max_size is not None and like.max_size > 0 else ""
    if like.growth is None:
        return limit
    step = f"{like.growth}%" if like.percent_growth else f"{like.growth * 8}KB"
    return f"{limit}, FILEGROWTH = {step}"


def empty_files(database: str, files: Sequence[str], major: int) -> tuple[Statement, ...]:
    """All of them emptied before the first is removed: what is left of one must not go into another old one."""
    return (
        *(_empty(file, major) for file in files),
        *(_remove(database, file) for file in files),
    )


def _remove(database: str, file: str) -> Statement:
    removed = Operation(REMOVE_FILE, {"file": file})
    return Statement(remove_file(database, file), f"remove {file}, refused until it is empty", removed)


def _empty(file: str, major: int) -> Statement:
    """Held by cancelling it, which no statement does; the journal gets a comment in place of one."""
    sql, emptied = empty_file(file, major), Operation(EMPTY_FILE, {"file": file})
    return Statement(
        sql, f"move the pages of {file} to the other files", emptied, pause=f"-- cancels: {sql}", resume=sql
    )


def is_pause_by_cancel(step: Step) -> bool:
    """Whether holding the step is cancelling it."""
    found = file_step_of(step)
    return found is not None and found.action == "empty"
