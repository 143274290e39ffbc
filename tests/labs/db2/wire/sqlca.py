"""SQLCARD: how a DRDA server tells the outcome of a statement; read and written.

Layout (SQLCAGRP): null flag, SQLCODE, SQLSTATE(5), SQLERRPROC(8), then SQLCAXGRP: null flag, six SQLERRD integers,
11 warning flags, RDBNAM, message mixed, message single-byte; then SQLDIAGGRP. Integers in the server's byte order.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tests.labs.db2.wire.dss import Code, obj

LONGEST_MESSAGE = 70  # bytes of SQLERRMC
SEPARATOR = "\xff"  # between the tokens of a message
_PRODUCT = b"SQL11059"  # shown nowhere; eight bytes are demanded


@dataclass(frozen=True, slots=True)
class Sqlca:
    """One outcome."""

    code: int
    state: str
    message: str
    rows: int = 0  # that a statement has changed


def read_sqlca(body: bytes, order: str) -> Sqlca | None:
    """The outcome in the body of a SQLCARD; None for plain success. ``order`` is ">" or "<"."""
    if body[0] == 0xFF:
        return None
    (code,) = struct.unpack_from(f"{order}i", body, 1)
    state = body[5:10].decode()
    at = 18
    if body[at] == 0xFF:
        return Sqlca(code, state, "")
    (rows,) = struct.unpack_from(f"{order}i", body, at + 1 + 8)  # the third SQLERRD
    at += 1 + 24 + 11
    message = ""
    for _ in range(3):  # the database's name, the message mixed, the message single-byte
        (length,) = struct.unpack_from(">H", body, at)
        message = body[at + 2 : at + 2 + length].decode("utf-8", "replace") or message
        at += 2 + length
    return Sqlca(code, state, message, rows)


def sqlcard(answer: Sqlca | None, order: str) -> bytes:
    """The SQLCARD object that says so; None: plain success."""
    if answer is None:
        return obj(Code.SQLCARD, b"\xff")
    text = answer.message.encode("latin-1", "replace")[:LONGEST_MESSAGE]
    head = b"\x00" + struct.pack(f"{order}i", answer.code) + answer.state.encode() + _PRODUCT
    extension = b"\x00" + struct.pack(f"{order}6i", *([0] * 6)) + b" " * 11
    return obj(Code.SQLCARD, head, extension, b"\x00\x00", struct.pack(">H", len(text)), text, b"\x00\x00", b"\xff")
