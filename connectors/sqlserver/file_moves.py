"""Files of a filegroup to another disk, or one file out of it, and the truth about it.

Both kinds of move empty files with DBCC SHRINKFILE and then remove them. They are online in every edition and may be
stopped at any time: what has moved stays moved, and the same statement goes on. Source: sql-docs, DBCC SHRINKFILE
(EMPTYFILE) and ALTER DATABASE File and Filegroup Options.

``file_route`` moves a whole filegroup: it adds files on the other disk, and empties and removes the old ones. The
filegroup stays the same, so the home of a unit is a disk here: a folder that the configuration names. ``inspect_files``
tells where such a move stands.

``removal_route`` takes one file out of a filegroup that keeps others: its pages go to those. The undo adds a file
again. ``inspect_container`` tells whether the file is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from connectors.kit.contract import NotRecorded, ObjectGone, PrivilegeMissing
from connectors.model.moves import Bundle, Locked, NoRoute, Operation, Route, Step
from connectors.model.observation import Home, Inspection
from connectors.sqlserver.catalog import PAGE, File, disk_of, folder_of, read_files
from connectors.sqlserver.ddl import CLOUD, ServerFeatures
from connectors.sqlserver.file_statements import (
    PAGES_IN_MB,
    PRIMARY_FILE,
    add_file,
    empty_file,
    grow_file,
    remove_file,
    whole_mb,
)
from connectors.sqlserver.move_methods import MADE, Method, MethodStatement
from connectors.sqlserver.operations import ADD_FILE, EMPTY_FILE, GROW_FILE, REMOVE_FILE, FileStep, file_step_of
from connectors.sqlserver.routes import number_of, tag_steps
from connectors.sqlserver.sessions import ReadSession, lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings

SHIPPED = (
    "wherever its log backups are restored (log shipping; msdb.dbo.log_shipping_primary_databases lists it) the folder "
    "has to be there, or the restore stops at ADD FILE until it is given WITH MOVE"
)
CHANGING_KEYS = frozenset({2, 4, 5, 6})  # of sys.dm_database_encryption_keys
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
class DatabaseCopies:
    """What else is made of the files of a database.

    Attributes:
        seen: this login sees all databases of the server, and so every snapshot.
        snapshot: the name of a database snapshot; "": there is none that this login sees.
        mirrored: it is mirrored to another server.
        log_backups: its log can be backed up, and so restored elsewhere (log shipping), of which no view of a database
            tells.
        encryption: it is being encrypted, decrypted or given another key; None: it is encrypted, and whether that is
            being changed cannot be seen.
    """

    seen: bool = True
    snapshot: str = ""
    mirrored: bool = False
    log_backups: bool = False
    encryption: bool | None = False

    def against_folders(self) -> tuple[bool, str, str]:
        """Why no file may be added in a new folder, unless somebody says that it is there on the mirror."""
        why = (
            "the folder has to be on the mirror, or ADD FILE suspends mirroring: disks_on_replicas: true says "
            "that it is"
        )
        return self.mirrored, "mirror", why

    def against_removal(self) -> tuple[tuple[bool, str, str], ...]:
        """Why no file may be removed, which a server says only once a file has been emptied."""
        named = f"while database snapshot {self.snapshot} exists no file can be removed: drop it, or wait for its end"
        unseen = "a database snapshot, which keeps files from being removed, may exist unseen: GRANT VIEW ANY DATABASE"
        changing = (
            "while the database is encrypted, decrypted or given another key no file can be removed: wait for its end"
        )
        hidden = (
            "the database is encrypted, and no file can be removed while that is being changed, which cannot be seen: "
            "GRANT VIEW SERVER SECURITY STATE (before 2022 VIEW SERVER STATE)"
        )
        return (
            (bool(self.snapshot), "snapshots", named),
            (not self.seen, "snapshots_unseen", unseen),
            (bool(self.encryption), "encryption", changing),
            (self.encryption is None, "encryption_unseen", hidden),
        )


def read_copies(session: ReadSession) -> DatabaseCopies:
    """Snapshots and mirrors of the session's database.

    Raises:
        ConnectorError: the server did not answer.
    """
    try:
        rows = session.rows("database_copies", doing="looking for database snapshots and mirrors")
    except (
        ObjectGone,
        NotRecorded,
    ):  # Azure SQL Database has neither view nor snapshots; or an earlier version recorded
        return DatabaseCopies()
    sees_all, snapshot, mirrored, recovery_model, *encrypted = rows[0]  # an earlier version recorded four
    return DatabaseCopies(
        seen=bool(sees_all),
        snapshot=str(snapshot or ""),
        mirrored=bool(mirrored),
        log_backups=recovery_model != "SIMPLE",
        encryption=_is_changing(session, encrypted=bool(encrypted and encrypted[0])),
    )


def _is_changing(session: ReadSession, *, encrypted: bool) -> bool | None:
    try:
        rows = session.rows("encryption", doing="looking for a change of encryption")
    except NotRecorded:
        return False
    except PrivilegeMissing:
        return None if encrypted else False
    return any(int(state) in CHANGING_KEYS for (state,) in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """What a move by files depends on in addition to the files."""

    database: str  # its name
    server: ServerFeatures
    replicated: bool  # the database is in an availability group
    writable: bool = True  # it can be changed here; a readable secondary shows the primary's paths
    settings: SqlserverSettings  # disks and limits
    copies: DatabaseCopies = field(default_factory=DatabaseCopies)


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
    if place.copies.log_backups:
        method = replace(method, notes=(*method.notes, SHIPPED))
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
        *_offline(own),
        f"filegroup {filegroup} has a file that is not online and can be neither emptied nor removed",
    )
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
    if not place.settings.disks_on_replicas:
        yield place.copies.against_folders()
    yield from place.copies.against_removal()


def _offline(files: Sequence[File]) -> tuple[bool, str]:
    return any(file.state not in {"ONLINE", None} for file in files), "file_not_online"


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


def add_like(database: str, like: File, name: str, folder: str) -> MethodStatement:
    """A file that grows as the old one does, with room for what is in it."""
    pages = like.used_pages if like.used_pages is not None else (like.size_pages or 0)
    sql = add_file(database, like.space, name, folder, size_pages=pages, more=_growth(like))
    added = Operation(ADD_FILE, {"file": name, "filegroup": like.space, "folder": folder})
    return MethodStatement(sql, f"a file in {folder} in the place of {like.name}", added)


def _growth(like: File) -> str:
    limit = f", MAXSIZE = {like.max_size * 8}KB" if like.max_size is not None and like.max_size > 0 else ""
    if like.growth is None:
        return limit
    step = f"{like.growth}%" if like.percent_growth else f"{like.growth * 8}KB"
    return f"{limit}, FILEGROWTH = {step}"


def empty_files(database: str, files: Sequence[str], major: int) -> tuple[MethodStatement, ...]:
    """All of them emptied before the first is removed: what is left of one must not go into another old one."""
    return (
        *(_empty(file, major) for file in files),
        *(_remove(database, file) for file in files),
    )


def _remove(database: str, file: str) -> MethodStatement:
    removed = Operation(REMOVE_FILE, {"file": file})
    return MethodStatement(remove_file(database, file), f"remove {file}, refused until it is empty", removed)


def _empty(file: str, major: int) -> MethodStatement:
    """Held by cancelling it, which no statement does; the journal gets a comment in place of one."""
    sql, emptied = empty_file(file, major), Operation(EMPTY_FILE, {"file": file})
    return MethodStatement(
        sql, f"move the pages of {file} to the other files", emptied, pause=f"-- cancels: {sql}", resume=sql
    )


def is_pause_by_cancel(step: Step) -> bool:
    """Whether holding the step is cancelling it."""
    found = file_step_of(step)
    return found is not None and found.action == "empty"


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
    moved = any(not _is_emptied(file) for file in new)
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
    if all(_is_emptied(file) for file in there):
        return Home.SOURCE if all(_under(file, source) or file.name in files.old for file in rest) else Home.ELSEWHERE
    return Home.SPLIT


def _undo_of(route: Route) -> Route:
    """A route whose steps are those that take this one back."""
    return replace(route, steps=route.undo_steps)


def _under(file: File, folder: str) -> bool:
    # Without regard to case, since Windows has none; on Linux two folders that differ in case alone count as one.
    return bool(folder) and str(file.path).lower().startswith(folder.lower())


def _is_emptied(file: File) -> bool:
    pages = file.size_pages if file.used_pages is None else file.used_pages
    return (pages or 0) <= EMPTY_PAGES


def _sentence(files: FileRoute, own: list[File], *, held: bool) -> str:
    names = ", ".join(f"{file.path}" for file in own)
    return f"filegroup {files.filegroup} is in {names}" + (", half way" if held else "")


def _leftovers(route: Route, own: list[File]) -> tuple[Step, ...]:
    """Steps that bring everything back: the new files are emptied and removed."""
    names = {file.name for file in own}
    return tuple(s for s in route.tidy_steps if (found := file_step_of(s)) is not None and found.file in names)


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
    for applies, code, sentence in _against_removal(file, files, place):
        if applies:
            return NoRoute(code=code, sentence=sentence)
    method = _removal_method(place.database, file, place.server.major)
    return route_by_files(method, bundle, bundle.space, place.settings, undo_bytes=0)


def _against_removal(file: File, files: Sequence[File], place: FilePlace) -> Iterator[tuple[bool, str, str]]:
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
    yield (*_offline([file]), f"{file.name} is {file.state} and can be neither emptied nor removed")
    yield not usable, "no_other", f"filegroup {file.space} has no other file that can take its pages"
    yield (
        place.replicated and place.server.major < REPLICAS_STAY_SINCE,
        "replicas",
        "on this version SHRINKFILE may suspend a replica (KB 3173471)",
    )
    yield from place.copies.against_removal()


def _removal_method(database: str, file: File, major: int) -> Method:
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


def _reopen(database: str, name: str, file: File) -> MethodStatement:
    pages = _reopened_pages(file)
    grown = Operation(GROW_FILE, {"file": name, "size_mb": whole_mb(pages)})
    return MethodStatement(grow_file(database, name, pages), f"let {name} take new data again", grown)


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
    """Emptying has begun: more pages are gone than the file's own metadata takes, and it was not opened again."""
    begun = route.bundle.size_bytes // PAGE - pages > EMPTY_PAGES
    opened = file_step_of(route.tidy_steps[0])
    return begun and opened is not None and (file.size_pages or 0) < opened.size_mb * PAGES_IN_MB
