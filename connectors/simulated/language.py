"""The simulated engine's own tiny language: all that can change it, and how names are quoted in it.

    MOVE TABLE "schema"."name" TO SPACE "space" [ONLINE]
    MOVE INDEX "schema"."name" TO SPACE "space" [ONLINE]
    PAUSE | RESUME | ABORT MOVE "schema"."name"
    SET LOCK_TIMEOUT 500 MS

``/* comments */`` are kept out of the way. ``TABLE`` also names a table partition, ``INDEX`` an index partition.
An online move can be paused by any session: it keeps its room and what it has copied until it is resumed or aborted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.kit.contract import StatementFailed

_NAME = r'"((?:[^"]|"")+)"'
_SKIP = r"(?>\s++|/\*.*?\*/)"  # a comment ends at its first end, whatever comes after it
_MOVE = re.compile(
    rf"{_SKIP}*+MOVE{_SKIP}++(TABLE|INDEX){_SKIP}++{_NAME}\.{_NAME}{_SKIP}++TO{_SKIP}++SPACE{_SKIP}++{_NAME}"
    rf"(?:{_SKIP}++(ONLINE))?{_SKIP}*+",
    re.DOTALL,
)
_CONTROL = re.compile(rf"{_SKIP}*+(PAUSE|RESUME|ABORT){_SKIP}++MOVE{_SKIP}++{_NAME}\.{_NAME}{_SKIP}*+", re.DOTALL)
_SET = re.compile(rf"{_SKIP}*+SET{_SKIP}++LOCK_TIMEOUT{_SKIP}++(\d+){_SKIP}++MS{_SKIP}*+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Move:
    """Bring a table with its LOBs, or an index, to a space."""

    word: str  # TABLE or INDEX
    key: str
    space: str
    online: bool


@dataclass(frozen=True, slots=True)
class Control:
    """Hold a move that runs, go on with one that is held, or roll one back."""

    word: str  # PAUSE, RESUME or ABORT
    key: str


@dataclass(frozen=True, slots=True)
class SetLockTimeout:
    """How long the session waits for locks."""

    seconds: float


def quote(name: str) -> str:
    """The name as an identifier. ``"`` is doubled; everything else may stand as it is."""
    return '"' + name.replace('"', '""') + '"'


def qualify(schema: str, name: str) -> str:
    """``"schema"."name"``: also the key of the unit."""
    return f"{quote(schema)}.{quote(name)}"


def _unquote(text: str) -> str:
    return text.replace('""', '"')


def parse(sql: str) -> Move | Control | SetLockTimeout:
    """The statement that ``sql`` is.

    Raises:
        StatementFailed: it is none of the language's.
    """
    if move := _MOVE.fullmatch(sql):
        word, schema, name, space, online = move.groups()
        return Move(word, qualify(_unquote(schema), _unquote(name)), _unquote(space), online is not None)
    if control := _CONTROL.fullmatch(sql):
        word, schema, name = control.groups()
        return Control(word, qualify(_unquote(schema), _unquote(name)))
    if timeout := _SET.fullmatch(sql):
        return SetLockTimeout(int(timeout[1]) / 1000.0)
    raise StatementFailed(
        f"the simulated engine does not understand: {sql[:200]}",
        advice='It knows MOVE TABLE|INDEX "schema"."name" TO SPACE "space" [ONLINE], PAUSE|RESUME|ABORT MOVE '
        '"schema"."name" and SET LOCK_TIMEOUT n MS.',
        native_code="SYNTAX",
    )
