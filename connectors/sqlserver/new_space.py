"""Making a filegroup with its first file in a folder, and removing both while they hold nothing.

``ADD FILEGROUP``, then ``ADD FILE``; back ``REMOVE FILE``, which wants an empty file (error 5042), then ``REMOVE
FILEGROUP``. Source: sql-docs, ALTER DATABASE File and Filegroup Options. SQL Server documents no view that looks into a
folder of its host, so of a place only its drive is compared with those of the data files.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import PureWindowsPath

from connectors.kit.clients import SQLCMD
from connectors.kit.places import not_checked
from connectors.model.moves import Locked, NoRoute, Operation, Parameter, Route, Step
from connectors.model.new_space import (
    DEVICE,
    DROP_SPACE,
    NEW_SPACE,
    Check,
    CheckState,
    SpaceAnswer,
    WantedSpace,
    accepted_of,
    bundle_of_space,
    notes_of,
    refuse_place,
)
from connectors.model.observation import Home, Inspection
from connectors.sqlserver.catalog import PAGE, File, folder_of, read_files
from connectors.sqlserver.ddl import CLOUD
from connectors.sqlserver.file_moves import FilePlace
from connectors.sqlserver.file_statements import add_file, remove_file
from connectors.sqlserver.keys import quote
from connectors.sqlserver.move_methods import Method, MethodStatement
from connectors.sqlserver.operations import (
    ADD_FILEGROUP,
    FIRST_FILE,
    LAST_FILE,
    REMOVE_FILEGROUP,
    operation_of,
)
from connectors.sqlserver.routes import number_of, tag_steps
from connectors.sqlserver.sessions import ReadSession, lock_timeout_statement

NAME_CHARACTERS = 128  # of a sysname
NOT_IN_FILES_TEXT = '/ \\ : * ? " < > |'
NOT_IN_FILES = frozenset(NOT_IN_FILES_TEXT) - {" "}
USUAL_BYTES = 2**30  # of the first file
NO_VIEW = "SQL Server documents no view that looks into a folder of its host"
BY_FILEGROUP = (
    "with move_by: filegroup whole filegroups change disks, and a new one is no target; name the new disk under disks"
)
NO_RIGHT = "it takes ALTER on the database, which the account that moves lacks"


def routes_new_space(wanted: WantedSpace, files: Sequence[File], place: FilePlace, *, may: bool) -> SpaceAnswer:
    """See ``MakesSpaces``.

    Args:
        wanted: the filegroup and its folder.
        files: those of the database.
        place: where they are.
        may: the login may alter the database.
    """
    folder = _with_separator(wanted.location)
    refusal = _refuse(wanted, folder, files, place)
    if refusal is not None:
        return SpaceAnswer(answer=refusal)
    checks = _checks(folder, files)
    refusal = refuse_place(wanted, checks)
    if refusal is not None:
        return SpaceAnswer(answer=refusal, checks=checks)
    method = _method(wanted, folder, place.database)
    number, limit = number_of(method), place.settings.move_timeout
    replicas = ("the folder has to be there on every replica, or the replica is suspended",) if place.replicated else ()
    route = Route(
        name=NEW_SPACE,
        bundle=bundle_of_space(wanted.name),
        to_space=wanted.name,
        prologue=(lock_timeout_statement(place.settings.lock_timeout),),
        steps=tag_steps(number, "step", method.there, limit),
        undo_steps=tag_steps(number, "undo", method.back, limit),
        tidy_steps=tag_steps(number, "tidy", method.tidy, limit),
        online=True,
        locks="none on any table",
        locked=Locked.NOTHING,
        log_bytes=0,
        transient_bytes=0,
        notes=(*notes_of(checks, wanted.accepted), *replicas),
    )
    return SpaceAnswer(answer=route if may else route.by_a_person(NO_RIGHT, SQLCMD), checks=checks)


def _with_separator(folder: str) -> str:
    """The folder as the server spells it, with its last separator."""
    separator = "/" if folder.startswith("/") else "\\"
    return folder.rstrip("/\\") + separator


def _refuse(wanted: WantedSpace, folder: str, files: Sequence[File], place: FilePlace) -> NoRoute | None:
    name = wanted.name
    absolute = folder.startswith("/") or PureWindowsPath(folder).is_absolute()
    taken = {file.space.lower() for file in files}
    names = {str(file.name).lower() for file in files}
    reasons = (
        (not name or not name.isprintable(), "name", "the name of a filegroup has printable characters only"),
        (len(name) > NAME_CHARACTERS, "name", f"the name of a filegroup has at most {NAME_CHARACTERS} characters"),
        (bool(NOT_IN_FILES & set(name)), "name", f"the name becomes that of a file: none of {NOT_IN_FILES_TEXT}"),
        (not folder.isprintable(), "location", "the location has printable characters only"),
        (not absolute, "location", "the location is an absolute folder of the server's host"),
        (place.server.edition in CLOUD, "cloud", "the service chooses where files lie"),
        (not place.writable, "standby", "the database is read-only here; filegroups are made on the primary"),
        (place.settings.move_by == "filegroup", "move_by", BY_FILEGROUP),
        (name.lower() in taken, "exists", f"there is a filegroup {name} already"),
        (_file_name(name).lower() in names, "exists", f"there is a file {_file_name(name)} already"),
    )  # fmt: skip
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _file_name(name: str) -> str:
    return f"{name}_1"


def _checks(folder: str, files: Sequence[File]) -> tuple[Check, ...]:
    """What paths say: of another drive than that of every data file, the place is on another device."""
    drive = PureWindowsPath(folder).drive.lower()
    data = sorted({PureWindowsPath(file.path).drive.lower() for file in files if file.path} - {""})
    if not drive or not data:
        return not_checked(NO_VIEW)
    state, words = CheckState.HOLDS, f"it is on drive {drive}, the data files on {', '.join(data)}"
    if drive in data:
        state, words = CheckState.FAILS, f"it is on drive {drive} as data files are, unless a volume is mounted there"
    seen = Check(name=DEVICE, state=state, sentence=words)
    return tuple(seen if check.name == DEVICE else check for check in not_checked(NO_VIEW))


def _method(wanted: WantedSpace, folder: str, database: str) -> Method:
    name, file = wanted.name, _file_name(wanted.name)
    pages = -(-(wanted.size_bytes or USUAL_BYTES) // PAGE)
    known: dict[str, Parameter] = {"filegroup": name, "file": file, "folder": folder, "accepted": wanted.accepted}
    alter = f"ALTER DATABASE {quote(database)}"
    drop = MethodStatement(
        f"{alter} REMOVE FILEGROUP {quote(name)}", f"remove the filegroup {name}, refused while it has a file",
        Operation(REMOVE_FILEGROUP, known),
    )  # fmt: skip
    return Method(
        NEW_SPACE,
        there=(
            MethodStatement(
                f"{alter} ADD FILEGROUP {quote(name)}", f"make the filegroup {name}", Operation(ADD_FILEGROUP, known)
            ),
            MethodStatement(
                add_file(database, name, file, folder, size_pages=pages), f"its first file in {folder}",
                Operation(FIRST_FILE, known),
            ),
        ),
        back=(
            MethodStatement(
                remove_file(database, file), f"remove {file}, refused unless it is empty", Operation(LAST_FILE, known)
            ),
            drop,
        ),
        tidy=(drop,),
    )  # fmt: skip


def space_of(route: Route) -> Operation | None:
    """What the route does to a filegroup; None: it is a route of another kind."""
    found = operation_of(route.steps[0])
    return found if route.name in {NEW_SPACE, DROP_SPACE} and found.name in {ADD_FILEGROUP, LAST_FILE} else None


def inspect_space(session: ReadSession, route: Route, made: Operation, *, running: bool) -> Inspection:
    """Whether the filegroup is there with its file, and, before it is made, whether its place is still fit.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name, file, folder = (made.text(word) for word in ("filegroup", "file", "folder"))
    every = read_files(session)
    own = [each for each in every if each.space.lower() == name.lower()]
    held = [each for each in own if each.file_id is not None]
    other = [each for each in held if each.name != file or folder_of(str(each.path)) != folder]
    if other:
        sentence = f"the filegroup {name} has the file {other[0].name} at {other[0].path}, which was not approved"
        return _inspection(route, Home.ELSEWHERE, sentence, running=running)
    if made.name == LAST_FILE:
        return _before_drop(route, name, own, held, running=running)
    if held:
        return _inspection(route, Home.TARGET, f"the filegroup {name} has its file in {folder}", running=running)
    wanted = WantedSpace(name=name, location=folder, accepted=accepted_of(made))
    against = None if running else refuse_place(wanted, _checks(folder, every))
    if against is not None:
        return _inspection(route, Home.ELSEWHERE, against.sentence, running=running)
    if own and not running:  # its file could not be made: it goes before the next try
        return _inspection(route, Home.SOURCE, f"the filegroup {name} has no file yet", leftovers=True, running=running)
    return _inspection(route, Home.SOURCE, f"there is no filegroup {name} with a file", running=running)


def _before_drop(route: Route, name: str, own: Sequence[File], held: Sequence[File], *, running: bool) -> Inspection:
    if not own:
        return _inspection(route, Home.TARGET, f"there is no filegroup {name}", running=running)
    if not held:
        return _inspection(route, Home.SPLIT, f"the filegroup {name} is there without a file", running=running)
    return _inspection(route, Home.SOURCE, f"the filegroup {name} is there", running=running)


def _inspection(route: Route, home: Home, sentence: str, *, running: bool, leftovers: bool = False) -> Inspection:
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=running, finished=home is Home.TARGET,
        leftovers=route.tidy_steps if leftovers else (),
    )  # fmt: skip


class FilegroupInspector:
    """A filegroup that is made or removed, watched by the mover: what is done already is not done again."""

    cancel_holds = False

    def __init__(self, session: ReadSession, turn: threading.Lock) -> None:
        self._session, self._turn = session, turn

    def against(self) -> str:
        """Nothing: whether it still fits was looked at a moment ago."""
        return ""

    def done_before(self, step: Step) -> bool:
        """A filegroup or file that is there is not made, one that is gone is not removed."""
        found = operation_of(step)
        with self._turn:
            files = read_files(self._session)
        group = any(each.space.lower() == found.text("filegroup").lower() for each in files)
        file = any(each.name == found.text("file") for each in files)
        done = {ADD_FILEGROUP: group, FIRST_FILE: file, LAST_FILE: not file, REMOVE_FILEGROUP: not group}
        return done.get(found.name, False)

    def is_held(self) -> bool | None:
        """Never."""
        return None

    def bytes_built(self, _: Step, /) -> int | None:
        """None: nothing is copied."""
        return None

    def is_gone(self) -> bool:
        """Nothing that has to be there."""
        return False
