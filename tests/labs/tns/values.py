"""Oracle's encodings of numbers and dates, as they travel in rows and binds."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from functools import lru_cache
from typing import Any


class OracleType(IntEnum):
    """Type numbers on the wire; those that this server sends or understands."""

    VARCHAR = 1
    NUMBER = 2
    LONG = 8
    DATE = 12
    RAW = 23
    CHAR = 96
    BINARY_DOUBLE = 101
    CLOB = 112
    BLOB = 113
    TIMESTAMP = 180
    TIMESTAMP_TZ = 181


@lru_cache(maxsize=65536)
def encode_number(value: int | Decimal) -> bytes:
    """NUMBER: an exponent of 100 and up to 20 base-100 digits, complemented for negative values."""
    sign, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int), f"no NUMBER: {value}"
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return b"\x80"
    if exponent % 2:
        text, exponent = text + "0", exponent - 1
    if len(text) % 2:
        text = "0" + text
    pairs = [int(text[at : at + 2]) for at in range(0, len(text), 2)]
    power = len(pairs) - 1 + exponent // 2
    while pairs[-1] == 0:
        pairs.pop()
    pairs = pairs[:20]
    if sign:
        tail = b"\x66" if len(pairs) < 20 else b""
        return bytes([~(power + 193) & 0xFF, *(101 - pair for pair in pairs)]) + tail
    return bytes([power + 193, *(pair + 1 for pair in pairs)])


def decode_number(raw: bytes) -> int | Decimal:
    """The other way round; integral values come as int."""
    if len(raw) == 1:
        return 0
    positive = bool(raw[0] & 0x80)
    mantissa = raw[1:-1] if not positive and raw[-1] == 102 else raw[1:]
    power = (raw[0] if positive else ~raw[0] & 0xFF) - 193
    pairs = [byte - 1 if positive else 101 - byte for byte in mantissa]
    digits = tuple(int(digit) for pair in pairs for digit in f"{pair:02}")
    exact = Decimal((0 if positive else 1, digits, 2 * (power - len(pairs) + 1)))  # no context, so nothing is rounded
    return int(exact) if exact == int(exact) else exact


def encode_datetime(value: datetime, kind: OracleType) -> bytes:
    """DATE in 7 bytes, TIMESTAMP in 11, TIMESTAMP WITH TIME ZONE in 13 (its fields in UTC)."""
    offset = value.utcoffset() or timedelta()
    moment = value.astimezone(UTC) if kind is OracleType.TIMESTAMP_TZ and value.tzinfo else value
    year = moment.year
    date = (year // 100 + 100, year % 100 + 100, moment.month, moment.day)
    fields = bytes((*date, moment.hour + 1, moment.minute + 1, moment.second + 1))
    if kind is OracleType.DATE:
        return fields
    fields += struct.pack(">I", moment.microsecond * 1000)
    if kind is OracleType.TIMESTAMP:
        return fields
    minutes = int(offset.total_seconds()) // 60
    return fields + bytes([minutes // 60 + 20, minutes % 60 + 60])


def decode_datetime(raw: bytes) -> datetime:
    """Any of the three; naive, as sent."""
    micro = struct.unpack(">I", raw[7:11])[0] // 1000 if len(raw) >= 11 else 0
    year = (raw[0] - 100) * 100 + raw[1] - 100
    return datetime(year, raw[2], raw[3], raw[4] - 1, raw[5] - 1, raw[6] - 1, micro)


def encode_double(value: float) -> bytes:
    """BINARY_DOUBLE: ordered like its bytes, so the sign bit is turned round."""
    raw = struct.pack(">d", value)
    return bytes([raw[0] | 0x80]) + raw[1:] if raw[0] < 0x80 else bytes(byte ^ 0xFF for byte in raw)


def decode_double(raw: bytes) -> float:
    """The other way round."""
    plain = bytes([raw[0] & 0x7F]) + raw[1:] if raw[0] & 0x80 else bytes(byte ^ 0xFF for byte in raw)
    return float(struct.unpack(">d", plain)[0])


def encode(value: Any, kind: OracleType, *, national: bool = False) -> bytes:
    """A value that is not None, as a column of that type."""
    if kind is OracleType.NUMBER:
        return encode_number(value if isinstance(value, int | Decimal) else Decimal(repr(float(value))))
    if kind in (OracleType.DATE, OracleType.TIMESTAMP, OracleType.TIMESTAMP_TZ):
        return encode_datetime(value, kind)
    if kind is OracleType.BINARY_DOUBLE:
        return encode_double(value)
    if kind is OracleType.RAW:
        return bytes(value)
    return str(value).encode("utf-16-be" if national else "utf-8")


def decode(raw: bytes, kind: int, *, national: bool = False) -> Any:
    """A bind value.

    Raises:
        ValueError: a type this server does not know.
    """
    match kind:
        case OracleType.NUMBER | 3:
            return decode_number(raw)
        case OracleType.DATE | OracleType.TIMESTAMP | OracleType.TIMESTAMP_TZ | 231:
            return decode_datetime(raw)
        case OracleType.BINARY_DOUBLE:
            return decode_double(raw)
        case OracleType.RAW | 24:
            return raw
        case OracleType.VARCHAR | OracleType.CHAR | OracleType.LONG:
            return raw.decode("utf-16-be" if national else "utf-8")
    raise ValueError(f"binds of type {kind} are not emulated")
