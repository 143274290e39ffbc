"""COPY's binary format becomes columns."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgresql.rows import SIGNATURE, bigint_and_text_rows, bigint_rows

BIGINT = st.integers(-(2**63), 2**63 - 1)


def copied(rows: list[tuple[object, ...]], extension: bytes = b"") -> bytes:
    """The rows as the server would send them."""
    out = SIGNATURE + struct.pack(">ii", 0, len(extension)) + extension
    for row in rows:
        out += struct.pack(">h", len(row))
        for value in row:
            data = value.encode() if isinstance(value, str) else struct.pack(">q", value)
            out += struct.pack(">i", len(data)) + data
    return out + struct.pack(">h", -1)


@given(st.lists(st.tuples(BIGINT, BIGINT, BIGINT)), st.binary(max_size=5))
def test_bigint_columns_come_back(rows: list[tuple[int, int, int]], extension: bytes) -> None:
    """Every value arrives in its column, whatever the header's extension area holds."""
    found = bigint_rows(copied(list(rows), extension), 3)
    assert found.shape == (3, len(rows))
    assert [tuple(row) for row in found.T.tolist()] == rows


@given(st.lists(st.tuples(BIGINT, BIGINT, st.text(max_size=40))))
def test_a_text_column_comes_back(rows: list[tuple[int, int, str]]) -> None:
    """Numbers and texts of any length stay row by row together."""
    numbers, texts = bigint_and_text_rows(copied(list(rows)), 2)
    assert [(int(a), int(b), text) for (a, b), text in zip(numbers.T, texts, strict=True)] == rows


@pytest.mark.parametrize("data", [b"no copy at all, really not", copied([(1, 2)]) + b"?"])
def test_other_data_is_refused(data: bytes) -> None:
    """Data of another shape raises instead of giving wrong numbers."""
    with pytest.raises(ValueError, match=r"COPY|left over"):
        bigint_rows(data, 2)


def test_a_null_is_refused() -> None:
    """A NULL among bigint fields raises: its row would be narrower than the others."""
    null = SIGNATURE + struct.pack(">ii", 0, 0) + struct.pack(">hi", 1, -1) + b"\0" * 8 + struct.pack(">h", -1)
    with pytest.raises(ValueError, match="NULL"):
        bigint_rows(null, 1)
    assert bigint_rows(copied([]), 4).shape == (4, 0)
    assert np.issubdtype(bigint_rows(copied([]), 4).dtype, np.int64)
