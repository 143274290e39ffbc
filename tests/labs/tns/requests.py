"""What clients ask: calls and the piggybacks before them, read field by field."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from tests.labs.tns.backend import Bind
from tests.labs.tns.values import decode
from tests.labs.tns.wire import Reader

FIELD_VERSION = 12  # TTC of release 19: what the server claims, so clients send no later form
LONGEST_STRING = 32767


class Message(IntEnum):
    """First byte of a message."""

    PROTOCOL = 1
    DATA_TYPES = 2
    FUNCTION = 3
    ERROR = 4
    ROW_HEADER = 6
    ROW_DATA = 7
    PARAMETER = 8
    STATUS = 9
    IO_VECTOR = 11
    LOB_DATA = 14
    DESCRIBE = 16
    PIGGYBACK = 17
    ONE_WAY = 26


class Function(IntEnum):
    """Calls this server knows."""

    REEXECUTE = 4
    FETCH = 5
    LOGOFF = 9
    COMMIT = 14
    ROLLBACK = 15
    VERSION = 59
    REEXECUTE_AND_FETCH = 78
    EXECUTE = 94
    LOB = 96
    CLOSE_CURSORS = 105
    AUTH_TWO = 115
    AUTH_ONE = 118
    END_TO_END = 135
    PING = 147
    SESSION_RELEASE = 163


class Option(IntEnum):
    """Bits of an execute."""

    PARSE = 0x01
    BIND = 0x08
    DEFINE = 0x10
    EXECUTE = 0x20
    FETCH = 0x40
    COMMIT = 0x100
    DESCRIBE = 0x20000


COMMIT_AGAIN = 0x01  # in the second options of a statement that is executed again


class NotEmulatedError(Exception):
    """The client used a part of the protocol that this server does not have; the connection ends, loudly."""


@dataclass(slots=True)
class Execute:
    """A full execute."""

    options: int
    cursor: int
    sql: str
    rows: int  # to fetch along with it
    executions: int
    binds: list[Bind]
    defines: list[int]  # types that the client wants the columns in; empty: as described


@dataclass(slots=True)
class Attributes:
    """Module, action and the like, where the client changed them."""

    changed: dict[str, str] = field(default_factory=dict)


def read_credentials(reader: Reader) -> tuple[str, dict[str, str]]:
    """User and key-value pairs of either authentication phase."""
    has_user = reader.ub1()
    reader.number()
    reader.number()  # mode
    reader.ub1()
    pairs = reader.number()
    reader.skip(2)
    user = (reader.bytes() or b"").decode() if has_user else ""
    found = {}
    for _ in range(pairs):
        key, value = reader.text(), reader.text()
        reader.number()
        found[key] = value
    return user, found


def read_execute(reader: Reader) -> Execute:
    """The body of function 94."""
    options, cursor = reader.numbers(2)
    has_sql = reader.ub1()
    reader.number()  # length of the text
    reader.ub1()
    reader.number()  # length of the array below: 13
    reader.skip(2)
    _, rows, _ = reader.numbers(3)
    reader.ub1()
    binds = reader.number()
    reader.skip(5)
    reader.ub1()
    defines = reader.number()
    reader.number()
    reader.skip(3)
    reader.number()
    reader.ub1()
    reader.numbers(2)
    reader.ub1()
    reader.number()
    reader.ub1()
    _skip_since_12_2(reader)
    sql = (reader.bytes() or b"").decode() if has_sql else ""
    array = reader.numbers(13)
    wanted = [_read_bind(reader).kind for _ in range(defines)] if options & Option.DEFINE else []
    executions = array[1] if array[1] and not array[7] else 1
    described = [_read_bind(reader) for _ in range(binds)] if options & Option.BIND else []
    for _ in range(executions if described else 0):
        read_bind_row(reader, described)
    return Execute(options, cursor, sql, rows, executions, described, wanted)


def _skip_since_12_2(reader: Reader) -> None:
    """SQL signature, SQL id and chunk ids."""
    reader.ub1()
    reader.number()
    reader.ub1()
    reader.number()
    reader.skip(2)
    reader.number()


def _read_bind(reader: Reader) -> Bind:
    kind = reader.ub1()
    reader.skip(3)  # flags, precision, scale
    size, elements, _ = reader.numbers(3)
    if elements:
        raise NotEmulatedError("PL/SQL arrays as binds are not emulated")
    if reader.number():
        raise NotEmulatedError("objects as binds are not emulated")
    reader.numbers(2)  # version, character set
    form = reader.ub1()
    reader.numbers(2)  # characters, column id
    return Bind(kind, size, [], national=form == 2)


def read_bind_row(reader: Reader, binds: list[Bind]) -> None:
    """The values of one execution; those too long for a string come last."""
    if reader.ub1() != Message.ROW_DATA:
        raise NotEmulatedError("binds without a row")
    for bind in sorted(binds, key=lambda b: b.size > LONGEST_STRING):
        raw = reader.bytes()
        bind.values.append(None if raw is None else _decode(bind, raw))


def _decode(bind: Bind, raw: bytes) -> Any:
    try:
        return decode(raw, bind.kind, national=bind.national)
    except ValueError as error:
        raise NotEmulatedError(str(error)) from error


def read_release(reader: Reader) -> None:
    """The end of a request to a pooled server: a message that nobody answers."""
    function = reader.ub1()
    reader.ub1()  # sequence
    if function != Function.SESSION_RELEASE:
        raise NotEmulatedError(f"one-way function {function} is not emulated")
    reader.skip(2)  # tag
    reader.number()  # mode


def read_piggyback(reader: Reader) -> Attributes | list[int]:
    """What came along before a call: attributes, or cursors to close."""
    function = reader.ub1()
    reader.ub1()  # sequence
    match function:
        case Function.CLOSE_CURSORS:
            reader.ub1()
            return reader.numbers(reader.number())
        case Function.END_TO_END:
            return _read_end_to_end(reader)
    raise NotEmulatedError(f"piggyback {function} is not emulated")


_ATTRIBUTES = (("client_identifier", 0x0001), ("module", 0x0008), ("action", 0x0010))


def _read_end_to_end(reader: Reader) -> Attributes:
    reader.skip(2)
    flags = reader.number()
    present = []
    for name, _ in _ATTRIBUTES:
        reader.ub1()
        if reader.number():
            present.append(name)
    _skip_pointer_and_length(reader)
    reader.ub1()
    reader.number()
    for name in ("client_info", "", "", "dbop"):
        reader.ub1()
        if reader.number() and name:
            present.append(name)
    changed = {name: "" for name, flag in _ATTRIBUTES if flags & flag}
    for name in present:
        changed[name] = (reader.bytes() or b"").decode()
    return Attributes(changed)


def _skip_pointer_and_length(reader: Reader) -> None:
    reader.ub1()
    reader.number()
