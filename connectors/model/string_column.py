"""Very many strings as one run of bytes: 100,000 keys take 3 MB, where that many str objects take 8."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

_I64 = NDArray[np.int64]
_ENDS = " ends"  # after the name of a stored column: where its strings end
_CHUNK = 4096  # strings taken up, copied or compared in one go: some bytes of work for each byte of theirs


class StringColumn(Sequence[str]):
    """An immutable column of strings. A row becomes a str when it is asked for."""

    __slots__ = ("_data", "_ends")

    def __init__(self, data: bytes, ends: _I64) -> None:
        """Take over what is already in one run.

        Args:
            data: all strings in UTF-8, one after the other.
            ends: where each ends in ``data``, shape ``(n,)``, not falling.

        Raises:
            ValueError: the last one does not end where the data does.
        """
        if (int(ends[-1]) if len(ends) else 0) != len(data):
            raise ValueError(f"{len(ends)} texts do not end with their {len(data)} bytes")
        self._data = data
        self._ends = ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """The strings of an iterable, which may yield them one by one."""
        if isinstance(texts, cls):
            return texts
        data, lengths, left = bytearray(), [np.zeros(0, dtype=np.int64)], iter(texts)
        while some := list(islice(left, _CHUNK)):
            joined = "".join(some)
            data += joined.encode()
            sizes = some if joined.isascii() else map(str.encode, some)
            lengths.append(np.fromiter(map(len, sizes), dtype=np.int64, count=len(some)))
        return cls(bytes(data), np.concatenate(lengths).cumsum())

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        data, start = self._data, 0
        for first in range(0, len(self), _CHUNK):  # an int object for each end, which is more than the string
            for end in self._ends[first : first + _CHUNK].tolist():
                yield data[start:end].decode()
                start = end

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> Self: ...

    def __getitem__(self, row: int | slice) -> str | Self:
        if isinstance(row, slice):
            return self.take(np.arange(len(self), dtype=np.int64)[row])
        end = int(self._ends[row])
        start = int(self._ends[row - 1]) if row % len(self) else 0
        return self._data[start:end].decode()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StringColumn):
            return self._data == other._data and np.array_equal(self._ends, other._ends)
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash((self._data, len(self._ends)))

    def __repr__(self) -> str:
        return f"StringColumn.of({list(self[:3])!r}{' and more' if len(self) > 3 else ''}, {len(self)} in all)"

    def take(self, rows: _I64) -> Self:
        """The strings of those rows, in that order."""
        data = bytearray()
        for piece in self.pieces(rows):
            data += piece.tobytes()
        return type(self)(bytes(data), self.ends(rows))

    def pieces(self, rows: _I64) -> Iterator[NDArray[np.uint8]]:
        """The bytes of the strings of those rows, in that order, some thousand strings at a time."""
        for first in range(0, len(rows), _CHUNK):
            yield self._bytes_of(rows[first : first + _CHUNK])[0]

    def ends(self, rows: _I64) -> _I64:
        """Where the strings of those rows would end, were they in one run. Shape of ``rows``."""
        lengths = self._lengths(rows)
        return lengths.cumsum(out=lengths)

    @property
    def nbytes(self) -> int:
        """Of all strings."""
        return len(self._data)

    @staticmethod
    def names_of(name: str) -> tuple[str, str]:
        """What ``arrays`` calls the bytes and the ends of a column of that name."""
        return name, f"{name}{_ENDS}"

    def followed_by(self, more: Self) -> Self:
        """These and then those."""
        if not len(self):
            return more
        return type(self)(self._data + more._data, np.concatenate((self._ends, more._ends + len(self._data))))

    def same(self, rows: _I64, other: StringColumn, other_rows: _I64) -> NDArray[np.bool_]:
        """Whether the string of each row equals that of the matching row of the other column. Shape of ``rows``."""
        same = np.equal(self._lengths(rows), other._lengths(other_rows), dtype=np.bool_)
        alike = np.flatnonzero(same)
        for first in range(0, len(alike), _CHUNK):
            some = alike[first : first + _CHUNK]
            ours, lengths = self._bytes_of(rows[some])
            theirs, _ = other._bytes_of(other_rows[some])
            # All strings at once: the number of differing bytes before each string's start and end tells whether any
            # lies in it. Comparing row by row would make two str objects for each.
            differing = np.concatenate(([0], np.cumsum(ours != theirs)))
            ends = lengths.cumsum()
            same[some] = differing[ends] == differing[ends - lengths]
        return same

    def _lengths(self, rows: _I64) -> _I64:
        """Bytes of the strings of some rows, which are not negative."""
        lengths = self._ends[rows]
        for first in range(0, len(rows), _CHUNK):
            some = rows[first : first + _CHUNK]
            lengths[first : first + _CHUNK] -= np.where(some > 0, self._ends[some - 1], 0)
        return lengths

    def _bytes_of(self, rows: _I64) -> tuple[NDArray[np.uint8], _I64]:
        """The strings of some rows one after the other, and the bytes of each. Takes 16 bytes for each of theirs."""
        lengths = self._lengths(rows)
        ends = lengths.cumsum()
        at = np.repeat(self._ends[rows] - ends, lengths)  # from a byte's place here to its place in our data
        at += np.arange(len(at), dtype=np.int64)
        return np.frombuffer(self._data, dtype=np.uint8)[at], lengths

    def arrays(self, name: str) -> dict[str, NDArray[np.integer[Any]]]:
        """The column as two plain arrays, for storing under that name."""
        run, ends = self.names_of(name)
        return {run: np.frombuffer(self._data, dtype=np.uint8), ends: self._ends}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """What ``arrays`` took apart. Ledgers of older versions hold one JSON list in its place.

        Raises:
            KeyError, ValueError: there is no such column.
        """
        ends = arrays.get(f"{name}{_ENDS}")
        return cls.of(json.loads(arrays[name].tobytes())) if ends is None else cls(arrays[name].tobytes(), ends)
