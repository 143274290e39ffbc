"""Columns as few bytes: byte planes and zstandard. No pickle anywhere; a damaged blob is refused, never guessed at.

A *history blob* holds one interval of the units that had any demand: ascending slots as gaps, then one row of values
per signal. Numbers that are mostly small have mostly empty high bytes; laid out plane by plane (all lowest bytes, all
second bytes ...) those cost next to nothing.

An *array blob* holds named arrays of any plain type exactly, bit by bit.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from typing import Any, Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

from connectors.model.observation import F64, I64

Values = NDArray[np.uint32] | NDArray[np.uint64] | NDArray[np.float64]
LEVEL = 3  # of history, which is kept
ARRAYS_LEVEL = 1  # of what is soon replaced; byte planes of heat get no smaller at 3, for twice the time
FORMAT = 1
_HEAD = struct.Struct("<BBHI")  # format, value type, signals, units
_TYPES: dict[int, np.dtype[Any]] = {
    0: np.dtype("<u4"),
    1: np.dtype("<u8"),
    2: np.dtype("<f8"),
}
_CODES = {dtype: code for code, dtype in _TYPES.items()}
_GAP = np.dtype("<u4")


class PackedColumn(Protocol):
    """An array, or what becomes one when it is packed."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements in each direction."""
        ...

    @property
    def nbytes(self) -> int:
        """Of all elements."""
        ...

    def __array__(self) -> NDArray[Any]: ...


class Later:
    """A column that is made when it is packed: of many such columns only one is held at a time."""

    def __init__(self, make: Callable[[I64], NDArray[Any]], rows: I64) -> None:
        """Nothing is made yet.

        Args:
            make: the elements of some rows, in their order.
            rows: all that are wanted.
        """
        self._make, self._rows = make, rows
        self.dtype: np.dtype[Any] = make(rows[:0]).dtype
        self.shape: tuple[int, ...] = rows.shape

    @property
    def nbytes(self) -> int:
        """Of all elements."""
        return len(self._rows) * self.dtype.itemsize

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All elements; built again on each call."""
        return np.asarray(self._make(self._rows), dtype=dtype)


class Pieces:
    """A run of bytes that is made piece by piece while it is packed."""

    dtype: np.dtype[Any] = np.dtype(np.uint8)

    def __init__(self, make: Callable[[], Iterable[NDArray[np.uint8]]], size: int) -> None:
        """Nothing is made yet.

        Args:
            make: the pieces, in their order.
            size: bytes of all of them.
        """
        self.make = make
        self.nbytes = size
        self.shape: tuple[int, ...] = (size,)

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All bytes; built again on each call."""
        return np.concatenate([np.zeros(0, np.uint8), *self.make()])


def narrow(counts: F64 | NDArray[np.uint64]) -> Values:
    """Whole numbers from 0 in the narrower of two types that holds all: an interval may be as long as an outage was."""
    fits = counts.max(initial=0) <= np.iinfo(_TYPES[0]).max
    return counts.astype(_TYPES[0] if fits else np.uint64)


def encode_history(slots: I64, values: Values) -> bytes:
    """Pack one interval.

    Args:
        slots: shape ``(n,)``, each at most once, in any order, 0 to 2**32 - 1.
        values: shape ``(signals, n)``, uint32, uint64 or float64.

    Raises:
        ValueError: shapes, types or slots are not as above.
    """
    code = _CODES.get(values.dtype)
    if code is None or values.ndim != 2 or values.shape[1:] != slots.shape:
        raise ValueError(
            f"history takes (signals, {len(slots)}) of uint32, uint64, float64; got {values.shape} {values.dtype}"
        )
    order = np.argsort(slots, kind="stable")
    # Gaps instead of slots: those of busy units are mostly small numbers, whose high bytes are empty planes.
    gaps = np.diff(slots[order], prepend=-1) - 1
    if len(gaps) and (gaps.min() < 0 or gaps.max() > np.iinfo(_GAP).max):
        raise ValueError(f"slots of one interval are not negative and each comes once: {slots[order][:5]} ...")
    head = _HEAD.pack(FORMAT, code, values.shape[0], len(slots))
    size = len(head) + len(gaps) * _GAP.itemsize + values.nbytes
    columns = chain((gaps.astype(_GAP),), (row[order] for row in values))
    return _compress(chain((head,), chain.from_iterable(map(_planes, columns))), size, LEVEL)


def decode_history(blob: bytes) -> tuple[I64, Values]:
    """Inverse of ``encode_history``: slots ascending, shape ``(n,)``, and values ``(signals, n)``.

    Raises:
        ValueError: the blob is damaged or of another format.
    """
    raw = _decompress(blob)
    try:
        version, code, signals, count = _HEAD.unpack_from(raw)
        dtype = _TYPES[code]
    except (struct.error, KeyError) as error:
        raise ValueError(f"not a history blob: {error}") from error
    size = _HEAD.size + count * (_GAP.itemsize + signals * dtype.itemsize)
    if version != FORMAT or len(raw) != size:
        raise ValueError(f"a history blob of format {version} with {len(raw)} bytes, expected {FORMAT} and {size}")
    gaps = _from_planes(raw, _HEAD.size, _GAP, count)
    slots = np.cumsum(gaps.astype(np.int64) + 1) - 1
    first, width = _HEAD.size + count * _GAP.itemsize, count * dtype.itemsize
    values = np.empty((signals, count), dtype=dtype)
    for row in range(signals):
        values[row] = _from_planes(raw, first + row * width, dtype, count)
    return slots, values


def merge_history(parts: list[tuple[I64, Values]]) -> tuple[I64, Values]:
    """Add up intervals with the same signals: the union of their slots, the sum of their values.

    Whole numbers stay whole and never overflow; uint32 is kept where the sums fit.
    """
    floats = any(values.dtype.kind == "f" for _, values in parts)
    wide = np.dtype("<f8") if floats else np.dtype("<u8")
    slots = np.concatenate([slots for slots, _ in parts])
    # Widened before they are added: an hour of 32-bit counts wraps around, and would come out as almost nothing.
    values = np.concatenate([values.astype(wide) for _, values in parts], axis=1)
    order = np.argsort(slots, kind="stable")
    merged, starts = np.unique(slots[order], return_index=True)
    if not len(merged):
        return merged, values.astype(_TYPES[0])
    sums = np.add.reduceat(values[:, order], starts, axis=1)
    return merged, sums if floats else narrow(sums)


def encode_arrays(arrays: Mapping[str, PackedColumn]) -> bytes:
    """Pack named arrays of plain types (numbers, truth values, times, fixed-width text), any shape.

    Raises:
        ValueError: an array holds Python objects or records.
    """
    index = []
    for name, array in arrays.items():
        if array.dtype.hasobject or array.dtype.names is not None:
            raise ValueError(f"the array {name} holds {array.dtype}; only plain types are stored")
        index.append([name, array.dtype.str, list(array.shape)])
    text = json.dumps(index, ensure_ascii=False).encode()
    head = struct.pack("<BI", FORMAT, len(text)) + text
    size = len(head) + sum(array.nbytes for array in arrays.values())
    bodies = chain.from_iterable(map(_body, arrays.values()))
    return _compress(chain((head,), bodies), size, ARRAYS_LEVEL)


def decode_arrays(blob: bytes) -> dict[str, NDArray[Any]]:
    """Inverse of ``encode_arrays``; the arrays are the caller's own and writable.

    Raises:
        ValueError: the blob is damaged or of another format.
    """
    raw = _decompress(blob)
    try:
        version, length = struct.unpack_from("<BI", raw)
        offset = struct.calcsize("<BI") + length
        index = json.loads(raw[offset - length : offset])
    except (struct.error, ValueError) as error:
        raise ValueError(f"not an array blob: {error}") from error
    if version != FORMAT:
        raise ValueError(f"an array blob of format {version}, expected {FORMAT}")
    arrays: dict[str, NDArray[Any]] = {}
    for name, type_, shape in index:
        dtype, count = np.dtype(type_), math.prod(shape)
        arrays[name] = _from_planes(raw, offset, dtype, count).reshape(shape)
        offset += count * dtype.itemsize
    if offset != len(raw):
        raise ValueError(f"an array blob has {len(raw)} bytes, expected {offset}")
    return arrays


def _body(column: PackedColumn) -> Iterator[bytes]:
    """The bytes of a column as they are stored, some at a time."""
    if isinstance(column, Pieces):  # bytes are a plane of their own
        return (piece.tobytes() for piece in column.make())
    return _planes(np.ascontiguousarray(column).reshape(-1))


def _planes(column: NDArray[Any]) -> Iterator[bytes]:
    """The bytes of a one-dimensional array: all first bytes, all second bytes and so on, one of these at a time."""
    if not column.size or not column.dtype.itemsize:
        return
    planes = np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.dtype.itemsize).T
    for plane in planes:
        yield plane.tobytes()


def _from_planes(raw: bytes, offset: int, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """Inverse of ``_planes`` for ``count`` elements at ``offset``; a new, writable array."""
    if not count or not dtype.itemsize:
        return np.empty(count, dtype=dtype)
    planes = np.frombuffer(raw, dtype=np.uint8, count=count * dtype.itemsize, offset=offset)
    return np.array(planes.reshape(dtype.itemsize, count).T, order="C").view(dtype).reshape(count)


def _compress(parts: Iterable[bytes], size: int, level: int) -> bytes:
    """One frame of some parts, which come to ``size`` bytes; only one of them is held at a time."""
    # With a checksum: without it a flipped bit unpacks into other numbers, and heat of unknown origin is worse than
    # none.
    packer = zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj(size=size)
    packed = BytesIO()  # hands over what it holds; joining parts would hold all of it twice
    for part in parts:
        packed.write(packer.compress(part))
    packed.write(packer.flush())
    return packed.getvalue()


def _decompress(blob: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompress(blob)
    # Memory and type: of a size that cannot be, and of a value that is no blob.
    except (zstandard.ZstdError, MemoryError, TypeError) as error:
        raise ValueError(f"a blob cannot be unpacked: {error}") from error
