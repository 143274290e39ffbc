"""COPY's binary format becomes columns."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgresql import rows
from connectors.postgresql.rows import SIGNATURE, bigint_and_text_rows, bigint_rows

BIGINT = st.integers(-(2**63), 2**63 - 1)


def copied(values: list[tuple[object, ...]], extension: bytes = b"") -> bytes:
    """The rows as the server would send them."""
    out = SIGNATURE + struct.pack(">ii", 0, len(extension)) + extension
    for row in values:
        out += struct.pack(">h", len(row))
        for value in row:
            data = value.encode() if isinstance(value, str) else struct.pack(">q", value)
            out += struct.pack(">i", len(data)) + data
    return out + struct.pack(">h", -1)


def pieces(data: bytes, every: int = 7) -> Iterator[bytes]:
    """The same, cut anywhere."""
    return (data[start : start + every] for start in range(0, len(data), every))


@pytest.fixture(params=[32, 64, rows.BLOCK_BYTES], ids="blocks of {} bytes".format)
def _block(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks that hold the header and end within a row, and one that holds all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "BLOCK_BYTES", request.param)
        patch.setattr(rows, "ROOM", 2)
        yield


@pytest.mark.usefixtures("_block")
@given(st.lists(st.tuples(BIGINT, BIGINT, BIGINT)), st.binary(max_size=5))
def test_bigint_columns_come_back(values: list[tuple[int, int, int]], extension: bytes) -> None:
    """Every value arrives in its column, whatever the header's extension area holds and however it is cut."""
    found = bigint_rows(pieces(copied(list(values), extension)), 3)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == values


@pytest.mark.usefixtures("_block")
@given(st.lists(st.sampled_from([0, -(2**15), 2**15 - 1, 2**15, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1])))
def test_a_column_is_as_wide_as_its_numbers_need(values: list[int]) -> None:
    """16, 32 or 64 bits, in whichever block the widest number comes."""
    (column,) = bigint_rows(pieces(copied([(value,) for value in values])), 1)
    needed = max((16 if -(2**15) <= value < 2**15 else 32 if -(2**31) <= value < 2**31 else 64 for value in values),
                 default=16)  # fmt: skip
    assert column.tolist() == values
    assert column.dtype.itemsize * 8 == needed


@pytest.mark.usefixtures("_block")
@given(st.lists(st.tuples(BIGINT, BIGINT, st.text(max_size=40))))
def test_a_text_column_comes_back(values: list[tuple[int, int, str]]) -> None:
    """Numbers and texts of any length stay row by row together."""
    (one, two), texts = bigint_and_text_rows(pieces(copied(list(values))), 2)
    assert list(zip(one.tolist(), two.tolist(), texts, strict=True)) == values


@pytest.mark.parametrize("data", [b"no copy at all, really not", copied([(1, 2)]) + b"?"])
def test_other_data_is_refused(data: bytes) -> None:
    """Data of another shape raises instead of giving wrong numbers."""
    with pytest.raises(ValueError, match=r"COPY|left over"):
        bigint_rows([data], 2)


def test_a_null_is_refused() -> None:
    """A NULL among bigint fields raises: its row would be narrower than the others."""
    null = SIGNATURE + struct.pack(">ii", 0, 0) + struct.pack(">hi", 1, -1) + b"\0" * 8 + struct.pack(">h", -1)
    with pytest.raises(ValueError, match="NULL"):
        bigint_rows([null], 1)
    nothing = bigint_rows([copied([])], 4)
    assert [len(column) for column in nothing] == [0] * 4
