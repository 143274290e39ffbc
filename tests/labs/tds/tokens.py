"""The tokens of an answer, MS-TDS 2.2.7."""

from __future__ import annotations

import struct

from tests.labs.tds.backend import Info, Rows, ServerError
from tests.labs.tds.values import COLLATION, Column, encoder, type_info

MORE, ERROR, COUNT, ATTENTION = 0x01, 0x02, 0x10, 0x20
DONE, DONE_PROCEDURE, DONE_IN_PROCEDURE = 0xFD, 0xFE, 0xFF
TDS_VERSION = bytes.fromhex("74000004")
ENV_DATABASE, ENV_LANGUAGE, ENV_PACKET, ENV_COLLATION, ENV_BEGIN, ENV_COMMIT, ENV_ROLLBACK = 1, 2, 4, 7, 8, 9, 10
NULLABLE = 0x0009


def short_text(text: str) -> bytes:
    """B_VARCHAR: at most 255 characters."""
    return bytes((len(text.encode("utf-16-le")) // 2,)) + text.encode("utf-16-le")


def long_text(text: str) -> bytes:
    """US_VARCHAR."""
    data = text.encode("utf-16-le")
    return struct.pack("<H", len(data) // 2) + data


def done(token: int, status: int, rows: int = 0) -> bytes:
    """DONE, DONEPROC or DONEINPROC."""
    return struct.pack("<BHHQ", token, status, 0xC1 if status & COUNT else 0, rows)


def _message(token: int, number: int, state: int, severity: int, text: str, server: str) -> bytes:
    body = struct.pack("<iBB", number, state, severity) + long_text(text) + short_text(server) + short_text("")
    body += struct.pack("<i", 1)
    return struct.pack("<BH", token, len(body)) + body


def error(raised: ServerError, server: str) -> bytes:
    """ERROR, and the general one that goes with it."""
    told = _message(0xAA, raised.number, raised.state, raised.severity, str(raised), server)
    if raised.also:
        general = "The user does not have permission to perform this action."
        told += _message(0xAA, raised.also, 1, raised.severity, general, server)
    return told


def info(message: Info, server: str) -> bytes:
    """INFO."""
    return _message(0xAB, message.number, 1, 0, message.message, server)


def environment(kind: int, new: bytes, old: bytes = b"\0") -> bytes:
    """ENVCHANGE; ``new`` and ``old`` with their length bytes."""
    body = bytes((kind,)) + new + old
    return struct.pack("<BH", 0xE3, len(body)) + body


def collation() -> bytes:
    """ENVCHANGE of the collation."""
    return environment(ENV_COLLATION, bytes((len(COLLATION),)) + COLLATION)


def login_ack(program: str, version: tuple[int, int, int]) -> bytes:
    """LOGINACK."""
    body = b"\x01" + TDS_VERSION + short_text(program) + struct.pack(">BBH", *version)
    return struct.pack("<BH", 0xAD, len(body)) + body


def column_metadata(columns: tuple[Column, ...]) -> bytes:
    """COLMETADATA."""
    return struct.pack("<BH", 0x81, len(columns)) + b"".join(
        struct.pack("<IH", 0, NULLABLE) + type_info(column) + short_text(column.name) for column in columns
    )


def rows(result: Rows) -> bytes:
    """ROW after ROW."""
    encoders = [encoder(column) for column in result.columns]
    return b"".join(
        b"\xd1" + b"".join(encode(value) for encode, value in zip(encoders, row, strict=True)) for row in result.rows
    )


def return_status(value: int) -> bytes:
    """RETURNSTATUS of a procedure."""
    return struct.pack("<Bi", 0x79, value)


def return_value(ordinal: int, name: str, value: int) -> bytes:
    """RETURNVALUE of an integer output parameter."""
    head = struct.pack("<BH", 0xAC, ordinal) + short_text(name) + b"\x01" + struct.pack("<IH", 0, 0)
    return head + b"\x26\x04\x04" + struct.pack("<i", value)
