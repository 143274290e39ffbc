"""Reads the output of COPY ... TO STDOUT (FORMAT binary) into columns, without an object for each value.

The format is documented in the PostgreSQL manual under COPY, "Binary Format": a header of 19 bytes (plus an extension
area), then for each row a 16-bit count of fields and for each field a 32-bit length and its bytes, then -1 as a count.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from connectors.model import I64

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_TRAILER_BYTES = 2
_FIELD_BYTES = 12  # length word and a bigint
_LENGTH = struct.Struct(">i")


def bigint_rows(data: bytes | bytearray, columns: int) -> I64:
    """Rows of that many bigint fields, none of them NULL. Shape ``(columns, rows)``.

    Raises:
        ValueError: the data has another shape.
    """
    start, width = _body(data), 2 + columns * _FIELD_BYTES
    rows, rest = divmod(len(data) - start - _TRAILER_BYTES, width)
    if rest:
        raise ValueError(f"{rest} bytes left over in rows of {columns} bigint fields")
    raw = np.frombuffer(data, dtype=np.uint8, count=rows * width, offset=start).reshape(rows, width)
    return _fields(raw, columns)


def bigint_and_text_rows(data: bytes | bytearray, columns: int) -> tuple[I64, list[str]]:
    """Rows of that many bigint fields and one text field, none of them NULL.

    Raises:
        ValueError: the data has another shape.
    """
    fixed = 2 + columns * _FIELD_BYTES
    at, end = _body(data), len(data) - _TRAILER_BYTES
    starts: list[int] = []
    texts: list[str] = []
    while at < end:
        text = at + fixed + 4
        length = _LENGTH.unpack_from(data, at + fixed)[0]
        starts.append(at)
        texts.append(data[text : text + length].decode())
        at = text + length
    if at != end:
        raise ValueError(f"rows end at byte {at} of {end}")
    if not starts:
        return np.empty((columns, 0), dtype=np.int64), []
    every = np.frombuffer(data, dtype=np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(every, fixed)
    return _fields(np.ascontiguousarray(windows[np.array(starts, dtype=np.int64)]), columns), texts


def _body(data: bytes | bytearray) -> int:
    """Where the first row starts."""
    if not data.startswith(SIGNATURE):
        raise ValueError("this is no binary COPY data")
    extension: int = _LENGTH.unpack_from(data, len(SIGNATURE) + 4)[0]
    return len(SIGNATURE) + 8 + extension


def _fields(raw: NDArray[np.uint8], columns: int) -> I64:
    """Values of rows of equal width, big-endian on the wire."""
    wire = [("fields", ">i2")]
    for column in range(columns):
        wire += [(f"length{column}", ">i4"), (f"value{column}", ">i8")]
    rows = np.ascontiguousarray(raw).view(np.dtype(wire)).reshape(-1)
    lengths = [rows[f"length{column}"] for column in range(columns)]
    if len(rows) and any(bool((length != 8).any()) for length in lengths):
        raise ValueError("a field is NULL or no bigint")
    values = np.empty((columns, len(rows)), dtype=np.int64)
    for column in range(columns):
        values[column] = rows[f"value{column}"]
    return values
