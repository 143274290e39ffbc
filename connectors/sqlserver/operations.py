"""What a step of a SQL Server move does, also of steps that were stored before they said so. Pure.

``recognise`` serves proposals that were stored before a step said what it does: it reads the SQL of that time. Its
forms are frozen. A statement that is worded differently today is not recognised, and need not be, because every new
step carries ``Step.operation``.

``operation_of`` and the functions after it answer questions about that operation. Its parameters ``index``, ``table``,
``scheme``, ``file``, ``filegroup`` and ``folder`` are plain names. ``resumable`` means a build that can be paused;
``size_mb`` is a file's new size. ``new`` and ``old`` are the tables of a copy and of the rows that it replaces; with
``kept`` the old rows stay for a time, with ``counted`` they are not dropped before they are counted. ``builds`` is a
digest of what the statement makes, without how it is built and the move's own name for it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from connectors.model.moves import Operation, Parameter, Route, Step
from connectors.sqlserver.catalog import folder_of
from connectors.sqlserver.keys import IDENTIFIER, unquote

_TEXT = r"N'((?:[^']|'')*)'"
_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], dict[str, Parameter]]], ...] = (
    (
        "sqlserver.add_file",
        re.compile(
            rf"ALTER DATABASE {IDENTIFIER} ADD FILE \(NAME = ({IDENTIFIER}), FILENAME = {_TEXT},[^)]*\) "
            rf"TO FILEGROUP ({IDENTIFIER})$"
        ),
        lambda m: {"file": unquote(m[1]), "filegroup": unquote(m[3]), "folder": folder_of(m[2].replace("''", "'"))},
    ),
    (
        "sqlserver.empty_file",
        re.compile(rf"DBCC SHRINKFILE \({_TEXT}, EMPTYFILE\)"),
        lambda m: {"file": m[1].replace("''", "'")},
    ),
    (
        "sqlserver.grow_file",
        re.compile(rf"ALTER DATABASE {IDENTIFIER} MODIFY FILE \(NAME = ({IDENTIFIER}), SIZE = (\d+)MB\)$"),
        lambda m: {"file": unquote(m[1]), "size_mb": int(m[2])},
    ),
    (
        "sqlserver.remove_file",
        re.compile(rf"ALTER DATABASE {IDENTIFIER} REMOVE FILE ({IDENTIFIER})$"),
        lambda m: {"file": unquote(m[1])},
    ),
    (
        "sqlserver.drop_table",
        re.compile(rf"DROP TABLE {IDENTIFIER}\.({IDENTIFIER})$"),
        lambda m: {"table": unquote(m[1])},
    ),
    ("sqlserver.drop_index", re.compile(rf"DROP INDEX ({IDENTIFIER}) ON "), lambda m: {"index": unquote(m[1])}),
    ("sqlserver.create_scheme", re.compile("CREATE PARTITION SCHEME "), lambda _: {}),
    ("sqlserver.drop_scheme", re.compile("DROP PARTITION SCHEME "), lambda _: {}),
    ("sqlserver.drop_function", re.compile("DROP PARTITION FUNCTION "), lambda _: {}),
    (
        "sqlserver.abort_build",
        re.compile(rf"ALTER INDEX ({IDENTIFIER}) ON {IDENTIFIER}\.{IDENTIFIER} ABORT$"),
        lambda m: {"index": unquote(m[1])},
    ),
)
_PAUSE = re.compile(rf"ALTER INDEX ({IDENTIFIER}) ON {IDENTIFIER}\.{IDENTIFIER} PAUSE$")
_NUMBERED = re.compile(r"hotplace_[0-9a-f]{8}")
_ONLINE = re.compile(r"ONLINE = (?:ON \(WAIT_AT_LOW_PRIORITY \([^)]*\)\)|ON|OFF)")
_HOW = re.compile(r"(MAXDOP|SORT_IN_TEMPDB) = \w+")
_FULL_PAGES = re.compile(r"FILLFACTOR = 100, ")  # the same as none, which was not stated then


def recognise(step: Step) -> Operation | None:
    """The operation of the step; None for one that no decision rests on."""
    paused = _PAUSE.match(_without_tag(step.pause_sql))
    if paused is not None:
        return Operation("sqlserver.build_index", {"index": unquote(paused[1]), "resumable": True})
    statement = _without_tag(step.sql)
    for name, form, parameters in _FORMS:
        match = form.match(statement)
        if match is not None:
            return Operation(name, parameters(match))
    return None


def built_by(steps: Iterable[Step]) -> tuple[str, ...]:
    """What the statements build, without how and under which number, to be compared with those of another route."""
    found = (_NUMBERED.sub("hotplace_", _FULL_PAGES.sub("", _without_tag(step.sql))) for step in steps)
    return tuple(_HOW.sub("", _ONLINE.sub("", text)) for text in found)


def _without_tag(text: str) -> str:
    return text.partition("*/ ")[2]


BUILD_INDEX, SWAP_INDEX, ABORT_BUILD = "sqlserver.build_index", "sqlserver.swap_index", "sqlserver.abort_build"
CLUSTER_HEAP, DROP_INDEX = "sqlserver.cluster_heap", "sqlserver.drop_index"
CREATE_SCHEME, DROP_SCHEME = "sqlserver.create_scheme", "sqlserver.drop_scheme"
CREATE_FUNCTION, DROP_FUNCTION = "sqlserver.create_function", "sqlserver.drop_function"
CREATE_TABLE, DROP_TABLE = "sqlserver.create_table", "sqlserver.drop_table"
COUNT_TABLE, SWITCH_BACK = "sqlserver.count_table", "sqlserver.switch_back"
SPLIT_RANGE = "sqlserver.split_range"  # makes a partition
EXCHANGE, MOVE_EMPTY = "sqlserver.exchange_partition", "sqlserver.move_empty_partition"
ADD_FILE, EMPTY_FILE = "sqlserver.add_file", "sqlserver.empty_file"
GROW_FILE, REMOVE_FILE = "sqlserver.grow_file", "sqlserver.remove_file"
ADD_FILEGROUP, REMOVE_FILEGROUP = "sqlserver.add_filegroup", "sqlserver.remove_filegroup"
FIRST_FILE, LAST_FILE = "sqlserver.first_file", "sqlserver.last_file"  # of a filegroup that is made or dropped
_OF_FILES = {ADD_FILE: "add", EMPTY_FILE: "empty", GROW_FILE: "grow", REMOVE_FILE: "remove"}
_DIGEST_DIGITS = 16


@dataclass(frozen=True, slots=True)
class FileStep:
    """What a statement does to which file: add, empty, grow or remove."""

    action: str
    file: str
    filegroup: str = ""  # of an added file
    folder: str = ""  # of an added file, with its last separator
    size_mb: int = 0  # of a grown file


def operation_of(step: Step) -> Operation:
    """What the step does; of an empty name where nothing is known of it."""
    return step.operation or recognise(step) or Operation("")


def file_step_of(step: Step) -> FileStep | None:
    """What the step does to a file; None if it touches no file."""
    found = operation_of(step)
    action = _OF_FILES.get(found.name)
    if action is None:
        return None
    size = found.parameters.get("size_mb", 0)
    return FileStep(
        action, found.text("file"), found.text("filegroup"), found.text("folder"), size if isinstance(size, int) else 0
    )


def splitting_range(function: str, scheme: str, boundary: str) -> Operation:
    """The making of a partition at a new boundary of the function."""
    return Operation(SPLIT_RANGE, {"function": function, "scheme": scheme, "boundary": boundary})


def resumable_index(step: Step) -> str | None:
    """The index that the step builds so that the build can be paused; None where it builds none such."""
    found = operation_of(step)
    return found.text("index") if found.name == BUILD_INDEX and found.parameters.get("resumable") else None


def replaces_index(route: Route) -> bool:
    """Whether a second index takes the place of the one that moves: what hangs on that one goes with it."""
    return any(operation_of(step).name == SWAP_INDEX for step in route.steps)


def way_back(steps: Sequence[Step]) -> tuple[str, str] | None:
    """What steps that take an index back to its own partition scheme name: this one, and the one that they remove.

    None where they are no such steps, or of a version that did not store the names.
    """
    built = [operation_of(step).text("scheme") for step in steps if operation_of(step).name == BUILD_INDEX]
    dropped = [operation_of(step).text("scheme") for step in steps if operation_of(step).name == DROP_SCHEME]
    return (built[0], dropped[0]) if built and dropped and built[0] and dropped[0] else None


def dropped_table(step: Step) -> str | None:
    """The table, without its schema, that the step drops; None for another step."""
    found = operation_of(step)
    return found.text("table") if found.name == DROP_TABLE else None


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The tables that the exchange of a partition makes, and whether the replaced rows are kept for a time."""

    new: str
    old: str
    kept: bool = False


def exchanged_by(route: Route) -> Exchanged | None:
    """The tables of a route that exchanges a partition, or takes that back; None for another route."""
    for step in route.steps:
        found = operation_of(step)
        if found.name in (EXCHANGE, SWITCH_BACK) and found.text("old"):
            return Exchanged(found.text("new"), found.text("old"), bool(found.parameters.get("kept")))
    return None


def digest_of(statement: str) -> str:
    """For the parameter ``builds``."""
    return hashlib.sha256(statement.encode()).hexdigest()[:_DIGEST_DIGITS]
