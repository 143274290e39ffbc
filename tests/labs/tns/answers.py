"""What the server says: descriptions, rows, values of PL/SQL, statuses and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.labs.tns.backend import Bind, Column, OracleError
from tests.labs.tns.lobs import Lobs
from tests.labs.tns.requests import FIELD_VERSION, Message, NotEmulatedError
from tests.labs.tns.values import OracleType, encode
from tests.labs.tns.wire import Writer

UTF8, UTF16 = 873, 2000
TRANSACTION_OPEN = 0x02
NO_MORE_ROWS = 1403
BANNER = b"x86_64/Linux 2.4.xx\0"
OUT, IN = 16, 32
LONG_RAW = 24


def protocol(writer: Writer) -> None:
    """Answer to the protocol negotiation: character sets and capabilities."""
    compile_caps = bytearray(55)
    compile_caps[0], compile_caps[4], compile_caps[7] = 6, 8 | 2 | 32, FIELD_VERSION
    compile_caps[15], compile_caps[26], compile_caps[27], compile_caps[37] = 0x29, 0x04, 1, 0x20
    runtime_caps = bytearray(13)
    runtime_caps[0], runtime_caps[6] = 2, 0x05
    writer.ub1(Message.PROTOCOL, 6, 0)
    writer.raw(BANNER, UTF8.to_bytes(2, "little"), b"\1", b"\0\0")
    formats = bytearray(11)
    formats[9:11] = UTF16.to_bytes(2, "big")
    writer.raw(len(formats).to_bytes(2, "big"), bytes(formats))
    writer.bytes(bytes(compile_caps))
    writer.bytes(bytes(runtime_caps))


def data_types(writer: Writer) -> None:
    """Answer to the negotiation of types: no conversion of any."""
    writer.ub1(Message.DATA_TYPES)
    writer.raw(b"\0\0")


def parameters(writer: Writer, pairs: Sequence[tuple[str, str, int]]) -> None:
    """Key, value and flag of an authentication phase."""
    writer.ub1(Message.PARAMETER)
    writer.number(len(pairs))
    for key, value, flag in pairs:
        writer.text(key)
        writer.text(value)
        writer.number(flag)


def status(writer: Writer, *, in_transaction: bool) -> None:
    """A call without a result went well."""
    writer.ub1(Message.STATUS)
    writer.number(TRANSACTION_OPEN if in_transaction else 0, 0)


def version(writer: Writer, banner: str, number: int) -> None:
    """Answer to function 59, which some clients call."""
    writer.ub1(Message.PARAMETER)
    writer.text(banner)
    writer.number(number)


def end(
    writer: Writer,
    *,
    cursor: int = 0,
    rowcount: int = 0,
    error: OracleError | None = None,
    number: int = 0,
    in_transaction: bool = False,
) -> None:
    """The end of a call, with or without an error; ``number`` alone is one that has no text (no more rows)."""
    number = error.number if error else number
    writer.ub1(Message.ERROR)
    writer.number(TRANSACTION_OPEN if in_transaction else 0, 0, 0, min(number, 65535), 0, 0, cursor)
    writer.number(error.offset if error else 0)
    writer.ub1(0, 0, 0, 0, 0, 0)
    writer.number(0, 0)  # rowid
    writer.ub1(0)
    writer.number(0, 0)
    writer.number(0)  # operating system
    writer.ub1(0, 0)
    writer.number(0, 0, 0)
    writer.number(0, 0, 0)  # batch errors
    writer.number(number, rowcount)
    if number:
        writer.bytes((f"{error}\n" if error else "ORA-01403: no data found\n").encode())


def describe(writer: Writer, columns: Sequence[Column]) -> None:
    """Names and types of a query's columns."""
    writer.ub1(Message.DESCRIBE, 0)
    writer.number(sum(column.size for column in columns), len(columns))
    if columns:
        writer.ub1(0)
    for position, column in enumerate(columns, start=1):
        _column(writer, column, position)
    writer.number(0, 0, 0, 0, 0, 0)  # date, flags, sizes, cache key


_SIZES = {
    OracleType.NUMBER: 22,
    OracleType.DATE: 7,
    OracleType.TIMESTAMP: 11,
    OracleType.TIMESTAMP_TZ: 13,
    OracleType.BINARY_DOUBLE: 8,
    OracleType.LONG: 0,
    OracleType.CLOB: 4000,
    OracleType.BLOB: 4000,
}
_CHARACTERS = (OracleType.VARCHAR, OracleType.CHAR, OracleType.LONG, OracleType.CLOB)
LOBS = (OracleType.CLOB, OracleType.BLOB)
INLINE = (OracleType.LONG, LONG_RAW)  # a LOB column that the client defined so comes as it is, without a locator


def _column(writer: Writer, column: Column, position: int) -> None:
    size = _SIZES.get(column.kind, column.size)
    character = column.kind in _CHARACTERS
    writer.ub1(column.kind, 0, column.precision & 0xFF, column.scale & 0xFF)
    writer.number(size, 0, 0)
    writer.number(0, 0)  # object id, version
    writer.number((UTF16 if column.national else UTF8) if character else 0)
    writer.ub1((2 if column.national else 1) if character else 0)
    writer.number(column.size if character else 0, 0)
    writer.ub1(int(column.nullable), 0)
    writer.text(column.name)
    writer.number(0, 0)  # schema and name of an object type
    writer.number(position, 0)


def row_header(writer: Writer) -> None:
    """Before the rows of one answer."""
    writer.ub1(Message.ROW_HEADER, 0)
    writer.number(0, 0, 0, 0, 0, 0)


def row(writer: Writer, columns: Sequence[Column], values: Sequence[Any], defines: Sequence[int], lobs: Lobs) -> None:
    """One row, in the types that the client defined if it did."""
    writer.ub1(Message.ROW_DATA)
    for column, value, kind in zip(columns, values, defines or [column.kind for column in columns], strict=True):
        if column.kind in LOBS:
            _lob(writer, value, kind, lobs)
            continue
        if value is None:
            writer.ub1(0)
        else:
            writer.bytes(encode(value, column.kind, national=column.national))
        if column.kind is OracleType.LONG:
            writer.number(0, 0)


def _lob(writer: Writer, value: str | bytes | None, kind: int, lobs: Lobs) -> None:
    if kind in LOBS:
        lobs.write(writer, value)
        return
    if kind not in INLINE:
        raise NotEmulatedError(f"LOB columns as type {kind} are not emulated")
    if value is None:
        writer.ub1(0)
    else:
        writer.bytes(value if isinstance(value, bytes) else value.encode())
    writer.number(0, 0)


def assigned(writer: Writer, binds: Sequence[Bind]) -> None:
    """Which binds PL/SQL wrote to, and their values."""
    writer.ub1(Message.IO_VECTOR, 0)
    writer.number(len(binds), 0, 0, 0, 0, 0)
    writer.ub1(*(OUT if bind.assigned else IN for bind in binds))
    if not any(bind.assigned for bind in binds):
        return
    writer.ub1(Message.ROW_DATA)
    for bind in binds:
        if bind.assigned:
            writer.bytes(b"" if bind.out is None else encode(bind.out, OracleType(bind.kind), national=bind.national))
            writer.number(0)
