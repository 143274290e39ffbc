"""Rows as the output of COPY ... TO STDOUT (FORMAT binary) and back, for answers that are kept or brought as rows.

``reading.rows`` takes the same format apart into columns, for many.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
TRAILER = b"\xff\xff"
_COUNT, _LENGTH, _NUMBER = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


def to_copy(rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    """Rows of whole numbers and texts as the server would send them.

    Raises:
        struct.error: a value is neither.
    """
    yield SIGNATURE + struct.pack(">ii", 0, 0)
    for row in rows:
        yield _COUNT.pack(len(row)) + b"".join(map(_field, row))
    yield TRAILER


def from_copy(data: bytes, *, text_last: bool) -> list[tuple[Any, ...]]:
    """Rows of bigints, the last field of each a text if ``text_last``, from what the server sent.

    Raises:
        struct.error: the data has another shape.
    """
    at, rows = len(SIGNATURE) + 8 + _LENGTH.unpack_from(data, len(SIGNATURE) + 4)[0], []
    while (fields := _COUNT.unpack_from(data, at)[0]) >= 0:
        at, row = at + _COUNT.size, []
        for _ in range(fields):
            length = _LENGTH.unpack_from(data, at)[0]
            at += _LENGTH.size
            row.append(data[at : at + length])
            at += length
        numbers = [_NUMBER.unpack(value)[0] for value in (row[:-1] if text_last else row)]
        rows.append((*numbers, row[-1].decode()) if text_last else tuple(numbers))
    return rows


def _field(value: object) -> bytes:
    if isinstance(value, str):
        text = value.encode()
        return _LENGTH.pack(len(text)) + text
    return _LENGTH.pack(_NUMBER.size) + _NUMBER.pack(value)
