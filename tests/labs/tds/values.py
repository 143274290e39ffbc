"""Column types and values of an emulated server: TYPE_INFO, ROW values and RPC parameters, MS-TDS 2.2.5.4 on."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import StrEnum

COLLATION = bytes.fromhex("0904d00034")  # SQL_Latin1_General_CP1_CI_AS
MAX_LENGTH = 0xFFFF
LONG_NULL = 0xFFFFFFFFFFFFFFFF
TICKS_PER_DAY = 86400 * 300  # datetime counts thirds of a hundredth of a second
EPOCH_1 = datetime(1, 1, 1)  # as below
EPOCH_1900 = datetime(1900, 1, 1)  # T-SQL's datetime has no zone
Value = None | bool | int | float | str | bytes | Decimal | datetime | date | time | uuid.UUID


class Kind(StrEnum):
    """Types a result column can have; the names are T-SQL's."""

    BIT = "bit"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    REAL = "real"
    FLOAT = "float"
    DECIMAL = "decimal"
    NVARCHAR = "nvarchar"
    VARCHAR = "varchar"
    VARBINARY = "varbinary"
    UNIQUEIDENTIFIER = "uniqueidentifier"
    DATETIME = "datetime"
    DATETIME2 = "datetime2"
    DATETIMEOFFSET = "datetimeoffset"
    DATE = "date"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Column:
    """A result column. ``size``: characters or bytes of strings (0: max), precision of decimals."""

    name: str
    kind: Kind
    size: int = 0
    scale: int = 7


_INTEGERS = {Kind.TINYINT: (1, "<B"), Kind.SMALLINT: (2, "<h"), Kind.INT: (4, "<i"), Kind.BIGINT: (8, "<q")}
_FLOATS = {Kind.REAL: (4, "<f"), Kind.FLOAT: (8, "<d")}
_STRINGS = {Kind.NVARCHAR: (0xE7, 2), Kind.VARCHAR: (0xA7, 1), Kind.VARBINARY: (0xA5, 1)}


def type_info(column: Column) -> bytes:
    """TYPE_INFO as COLMETADATA carries it."""
    kind = column.kind
    if kind in _INTEGERS:
        return bytes((0x26, _INTEGERS[kind][0]))
    if kind in _FLOATS:
        return bytes((0x6D, _FLOATS[kind][0]))
    if kind in _STRINGS:
        token, width = _STRINGS[kind]
        length = column.size * width or MAX_LENGTH
        return struct.pack("<BH", token, length) + (b"" if kind is Kind.VARBINARY else COLLATION)
    return {
        Kind.BIT: b"\x68\x01",
        Kind.DECIMAL: bytes((0x6A, 17, column.size or 38, column.scale)),
        Kind.UNIQUEIDENTIFIER: b"\x24\x10",
        Kind.DATETIME: b"\x6f\x08",
        Kind.DATETIME2: bytes((0x2A, column.scale)),
        Kind.DATETIMEOFFSET: bytes((0x2B, column.scale)),
        Kind.DATE: b"\x28",
        Kind.TIME: bytes((0x29, column.scale)),
    }[kind]


def encoder(column: Column) -> Callable[[Value], bytes]:
    """What turns a value of that column into its ROW bytes, NULL included."""
    kind = column.kind
    if kind in _STRINGS:
        return _string_encoder(column)
    if kind in _INTEGERS or kind in _FLOATS:
        size, form = {**_INTEGERS, **_FLOATS}[kind]
        pack = struct.Struct("<B" + form[1:]).pack
        return lambda value: b"\0" if value is None else pack(size, value)
    body = _BODIES[kind]
    return lambda value: b"\0" if value is None else _short(body(value, column.scale))


def _short(data: bytes) -> bytes:
    return bytes((len(data),)) + data


def _stringlike(value: Value) -> str | bytes:
    return value if isinstance(value, bytes) else str(value)


def _string_encoder(column: Column) -> Callable[[Value], bytes]:
    width = _STRINGS[column.kind][1]
    encoding = {Kind.NVARCHAR: "utf-16-le", Kind.VARCHAR: "cp1252"}.get(column.kind)

    def data_of(value: str | bytes) -> bytes:
        return value if isinstance(value, bytes) else value.encode(encoding or "ascii")

    def limited(value: Value) -> bytes:
        if value is None:
            return struct.pack("<H", MAX_LENGTH)
        data = data_of(_stringlike(value))[: column.size * width]
        return struct.pack("<H", len(data)) + data

    def unlimited(value: Value) -> bytes:
        if value is None:
            return struct.pack("<Q", LONG_NULL)
        data = data_of(_stringlike(value))
        chunk = struct.pack("<I", len(data)) + data if data else b""
        return struct.pack("<Q", len(data)) + chunk + struct.pack("<I", 0)

    return limited if column.size else unlimited


def _decimal(value: Decimal, scale: int) -> bytes:
    digits = int(Decimal(value).scaleb(scale).to_integral_value())
    return bytes((digits >= 0,)) + abs(digits).to_bytes(16, "little")


def _time_ticks(value: datetime | time, scale: int) -> bytes:
    microseconds = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    length = 3 if scale <= 2 else 4 if scale <= 4 else 5
    ticks: int = microseconds * 10**scale // 1_000_000
    return ticks.to_bytes(length, "little")


def _days(value: date) -> bytes:
    return (value.toordinal() - 1).to_bytes(3, "little")


def _datetime(value: datetime, _: int) -> bytes:
    since = value.replace(tzinfo=None) - EPOCH_1900
    ticks = round((since.seconds + since.microseconds / 1e6) * 300)
    return struct.pack("<iI", since.days + ticks // TICKS_PER_DAY, ticks % TICKS_PER_DAY)


def _offset(value: datetime, scale: int) -> bytes:
    shift = value.utcoffset() or timedelta(0)
    utc = value.astimezone(UTC) if value.tzinfo else value
    return _time_ticks(utc, scale) + _days(utc.date()) + struct.pack("<h", int(shift.total_seconds() // 60))


_BODIES: dict[Kind, Callable[..., bytes]] = {
    Kind.BIT: lambda value, _: bytes((bool(value),)),
    Kind.DECIMAL: _decimal,
    Kind.UNIQUEIDENTIFIER: lambda value, _: uuid.UUID(str(value)).bytes_le,
    Kind.DATETIME: _datetime,
    Kind.DATETIME2: lambda value, scale: _time_ticks(value, scale) + _days(value),
    Kind.DATETIMEOFFSET: _offset,
    Kind.DATE: lambda value, _: _days(value),
    Kind.TIME: _time_ticks,
}


class Reader:
    """A message, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self._data)

    def take(self, length: int) -> bytes:
        """The next bytes; ValueError when there are not so many."""
        taken = self._data[self.at : self.at + length]
        if len(taken) < length:
            raise ValueError(f"the message ends {length - len(taken)} bytes early")
        self.at += length
        return taken

    def number(self, form: str) -> int:
        """One little-endian integer, ``form`` as in struct."""
        return int(struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0])

    def text(self, length_form: str = "B") -> str:
        """UTF-16 text after its length in characters."""
        return self.take(2 * self.number(length_form)).decode("utf-16-le")

    def rest(self) -> bytes:
        """Everything left."""
        return self.take(len(self._data) - self.at)


_FIXED: dict[int, str] = {0x30: "B", 0x32: "?", 0x34: "h", 0x38: "i", 0x3B: "f", 0x3E: "d", 0x7F: "q"}
_NUMBERS: dict[int, dict[int, str]] = {
    0x26: {1: "B", 2: "h", 4: "i", 8: "q"},
    0x68: {1: "?"},
    0x6D: {4: "f", 8: "d"},
}


def read_parameter(reader: Reader) -> Value:
    """TYPE_INFO and value of an RPC parameter; ValueError for a type that is not known here."""
    token = reader.number("B")
    if token in _FIXED:
        return _unpack(_FIXED[token], reader)
    if token in _NUMBERS:
        reader.take(1)
        size = reader.number("B")
        return _unpack(_NUMBERS[token][size], reader) if size else None
    if token not in _PARAMETERS:
        raise ValueError(f"parameter of type 0x{token:02X} is not known to the emulated server")
    return _PARAMETERS[token](reader)


def _unpack(form: str, reader: Reader) -> Value:
    found: Value = struct.unpack("<" + form, reader.take(struct.calcsize("<" + form)))[0]
    return found


def _read_string(reader: Reader, encoding: str | None) -> Value:
    declared = reader.number("H")
    if encoding is not None:
        reader.take(5)
    data = _read_chunks(reader) if declared == MAX_LENGTH else _read_short(reader)
    return data if data is None or encoding is None else data.decode(encoding)


def _read_short(reader: Reader) -> bytes | None:
    length = reader.number("H")
    return None if length == MAX_LENGTH else reader.take(length)


def _read_chunks(reader: Reader) -> bytes | None:
    if reader.number("Q") == LONG_NULL:
        return None
    data = b""
    while length := reader.number("I"):
        data += reader.take(length)
    return data


def _read_text(reader: Reader, encoding: str | None) -> Value:
    reader.take(4 if encoding is None else 9)
    length = reader.number("i")
    if length < 0:
        return None
    data = reader.take(length)
    return data if encoding is None else data.decode(encoding)


def _read_decimal(reader: Reader) -> Value:
    _, _, scale = reader.take(3)
    data = reader.take(reader.number("B"))
    if not data:
        return None
    digits = Decimal(int.from_bytes(data[1:], "little")).scaleb(-scale)
    return digits if data[0] else -digits


def _read_datetime(reader: Reader) -> Value:
    reader.take(1)
    size = reader.number("B")
    if not size:
        return None
    if size == 4:
        return EPOCH_1900 + timedelta(days=reader.number("H"), minutes=reader.number("H"))
    days, ticks = reader.number("i"), reader.number("I")
    return EPOCH_1900 + timedelta(days=days, milliseconds=round(ticks * 10 / 3))


def _read_moment(reader: Reader, *, with_date: bool, with_offset: bool = False) -> Value:
    scale = reader.number("B")
    size = reader.number("B")
    if not size:
        return None
    rest = 3 * with_date + 2 * with_offset
    ticks = int.from_bytes(reader.take(size - rest), "little")
    of_day = timedelta(microseconds=ticks * 1_000_000 // 10**scale)
    if not with_date:
        return (EPOCH_1 + of_day).time()
    moment = EPOCH_1 + timedelta(days=int.from_bytes(reader.take(3), "little")) + of_day
    if not with_offset:
        return moment
    return moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=reader.number("h"))))


def _read_date(reader: Reader) -> Value:
    size = reader.number("B")
    return date.fromordinal(int.from_bytes(reader.take(size), "little") + 1) if size else None


def _read_guid(reader: Reader) -> Value:
    reader.take(1)
    data = reader.take(reader.number("B"))
    return uuid.UUID(bytes_le=data) if data else None


_PARAMETERS: dict[int, Callable[[Reader], Value]] = {
    0x1F: lambda _: None,
    0xE7: lambda reader: _read_string(reader, "utf-16-le"),
    0xEF: lambda reader: _read_string(reader, "utf-16-le"),
    0xA7: lambda reader: _read_string(reader, "cp1252"),
    0xAF: lambda reader: _read_string(reader, "cp1252"),
    0xA5: lambda reader: _read_string(reader, None),
    0xAD: lambda reader: _read_string(reader, None),
    0x63: lambda reader: _read_text(reader, "utf-16-le"),
    0x23: lambda reader: _read_text(reader, "cp1252"),
    0x22: lambda reader: _read_text(reader, None),
    0x6A: _read_decimal,
    0x6C: _read_decimal,
    0x6F: _read_datetime,
    0x2A: lambda reader: _read_moment(reader, with_date=True),
    0x2B: lambda reader: _read_moment(reader, with_date=True, with_offset=True),
    0x29: lambda reader: _read_moment(reader, with_date=False),
    0x28: _read_date,
    0x24: _read_guid,
}
