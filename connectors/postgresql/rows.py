"""Reads the output of COPY ... TO STDOUT (FORMAT binary) into columns while it arrives.

Neither an object for each value nor the whole answer is held at any time: what has come is taken apart block by block.

The format is documented in the PostgreSQL manual under COPY, "Binary Format": a header of 19 bytes (plus an extension
area), then for each row a 16-bit count of fields and for each field a 32-bit length and its bytes, then -1 as a count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from io import BytesIO

import numpy as np

from connectors.model.observation import I64, Counts
from connectors.model.string_column import StringColumn

Parts = Iterable[bytes | bytearray | memoryview]  # as they arrive, cut anywhere
SIGNATURE = b"PGCOPY\n\xff\r\n\0"
TRAILER = b"\xff\xff"
BLOCK_BYTES = 2**18  # gathered before it is taken apart; the header is in the first
ROOM = 2**18  # numbers of a column that there is room for at first
_FIELD_BYTES = 12  # length word and a bigint
_LENGTH = struct.Struct(">i")
_END = struct.Struct("=q")
_NARROW = np.dtype(np.int16), np.dtype(np.int32)


def bigint_rows(parts: Parts, columns: int) -> list[Counts]:
    """Rows of that many bigint fields, none of them NULL, as columns, each as narrow as all of its values allow.

    Raises:
        ValueError: the data has another shape.
    """
    values, width = _Columns(columns), 2 + columns * _FIELD_BYTES
    for held in _blocks(parts):
        rows = (len(held) - len(TRAILER)) // width
        values.add(held[: rows * width])
        del held[: rows * width]
    return values.arrays()


def bigint_and_text_rows(
    parts: Parts, columns: int, left_out: list[str] | None = None
) -> tuple[list[Counts], StringColumn]:
    """Rows of that many bigint fields and one text field, none of them NULL, as columns; numbers as ``bigint_rows``.

    A row whose text is no UTF-8 is left out: no statement could name the object.

    Args:
        parts: as they arrive.
        columns: numbers of a row.
        left_out: is given the texts of rows that are left out, escaped.

    Raises:
        ValueError: the data has another shape.
    """
    fixed = 2 + columns * _FIELD_BYTES
    values, texts, ends = _Columns(columns), BytesIO(), bytearray()
    for held in _blocks(parts):
        numbers, at = bytearray(), 0
        while (text := at + fixed + _LENGTH.size) <= len(held):
            length = _LENGTH.unpack_from(held, at + fixed)[0]
            if length < 0 or text + length > len(held):
                break
            key = held[text : text + length]
            if key.isascii() or _is_utf8(key):
                numbers += held[at : at + fixed]
                # Into one buffer: a str for each of 100,000 keys takes more than the whole answer.
                texts.write(key)
                ends += _END.pack(texts.tell())
            elif left_out is not None:
                left_out.append(key.decode(errors="backslashreplace"))
            at = text + length
        values.add(numbers)
        del held[:at]
    return values.arrays(), StringColumn(texts.getvalue(), np.frombuffer(ends, dtype=np.int64))


def _is_utf8(text: bytearray) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Columns:
    """Bigint columns that grow block by block."""

    def __init__(self, columns: int) -> None:
        wire = [("fields", ">i2")]
        for column in range(columns):
            wire += [(f"length{column}", ">i4"), (f"value{column}", ">i8")]
        self._row = np.dtype(wire)
        self._columns = [_Column() for _ in range(columns)]

    def add(self, block: bytearray) -> None:
        """Take in whole rows as they are on the wire: of equal width, big-endian."""
        rows = np.frombuffer(block, dtype=self._row)
        for number, column in enumerate(self._columns):
            if bool((rows[f"length{number}"] != 8).any()):
                raise ValueError("a field is NULL or no bigint")
            column.add(rows[f"value{number}"].astype(np.int64))

    def arrays(self) -> list[Counts]:
        """What has been taken in."""
        return [column.values for column in self._columns]


class _Column:
    """Whole numbers in an array with room for more; a narrow one, which widens when a number comes that does not fit.

    The room is that of a large block, which is a mapping of its own (``agent.service.process``): its pages are
    taken as they are filled and given back at once. Ten small blocks that grow in turn leave as much behind in holes as
    they hold.
    """

    def __init__(self) -> None:
        self._room: Counts = np.empty(ROOM, dtype=np.int16)
        self._count = 0

    @property
    def values(self) -> Counts:
        """All of them."""
        return self._room[: self._count]

    def add(self, values: I64) -> None:
        """Append some."""
        count, width = self._count + len(values), max(self._room.dtype, width_of(values))
        if count > len(self._room) or width != self._room.dtype:
            held = self.values
            self._room = np.empty(max(len(self._room), 2 * count if count > len(self._room) else 0), dtype=width)
            self._room[: len(held)] = held
        self._room[self._count : count] = values
        self._count = count


def width_of(values: Counts) -> np.dtype[np.int16] | np.dtype[np.int32] | np.dtype[np.int64]:
    """The narrowest type that holds each of them."""
    lowest, highest = values.min(initial=0), values.max(initial=0)
    for width in _NARROW:
        if np.iinfo(width).min <= lowest and highest <= np.iinfo(width).max:
            return width
    return np.dtype(np.int64)


def narrow(values: Counts) -> Counts:
    """The values in the narrowest type that holds each of them."""
    narrow: Counts = np.empty(len(values), dtype=width_of(values))
    narrow[:] = values
    return narrow


def _blocks(parts: Parts) -> Iterator[bytearray]:
    """What has arrived, a block at a time and without the header; the reader deletes the whole rows in it.

    Raises:
        ValueError: this is no binary COPY data, or more than its trailer is left at the end.
    """
    held, has_begun = bytearray(), False
    for part in parts:
        held += part
        if len(held) >= BLOCK_BYTES:
            if not has_begun:
                _drop_header(held)
                has_begun = True
            yield held
    if not has_begun:
        _drop_header(held)
    yield held
    if held != TRAILER:
        raise ValueError(f"{len(held)} bytes left over after the last row, expected {len(TRAILER)}")


def _drop_header(held: bytearray) -> None:
    if not held.startswith(SIGNATURE):
        raise ValueError("this is no binary COPY data")
    extension: int = _LENGTH.unpack_from(held, len(SIGNATURE) + 4)[0]
    del held[: len(SIGNATURE) + 8 + extension]
