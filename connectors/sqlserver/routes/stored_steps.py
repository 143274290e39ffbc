"""Steps of proposals stored before a step said what it does: recognised by their SQL, as it was then.

Only for those: whatever is planned now carries ``Step.operation``. The forms below are frozen; a statement that is
worded otherwise today is not recognised here, and need not be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from connectors.model import Step
from connectors.operations import Operation, Parameter
from connectors.sqlserver.reading.disks import folder_of
from connectors.sqlserver.reading.keys import IDENTIFIER, unquote

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
