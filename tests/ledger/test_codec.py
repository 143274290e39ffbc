"""Blobs: what goes in comes out to the bit, sums are conserved, damage is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from agent.ledger.measured.codec import (
    Later,
    Pieces,
    Values,
    decode_arrays,
    decode_history,
    encode_arrays,
    encode_history,
    merge_history,
    narrow,
)
from connectors.model.observation import I64
from tests.examples import examples

TYPES: list[np.dtype[Any]] = [np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.float64)]
PLAIN = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.datetime64_dtypes(),
    hnp.unicode_string_dtypes(max_len=5),
    hnp.byte_string_dtypes(max_len=5),
)


@st.composite
def intervals(draw: st.DrawFn, dtype: np.dtype[Any] | None = None, signals: int | None = None) -> tuple[I64, Values]:
    """Slots in any order, each once, with values of any kind."""
    slots = draw(st.lists(st.integers(0, 2**32 - 1), unique=True, max_size=40))
    shape = (draw(st.integers(0, 4)) if signals is None else signals, len(slots))
    chosen = dtype or draw(st.sampled_from(TYPES))
    values: Values = draw(hnp.arrays(chosen, shape))
    return np.array(slots, dtype=np.int64), values


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Equal to the bit: NaN payloads and negative zeros count."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@given(intervals())
def test_an_interval_comes_back_sorted_by_slot(interval: tuple[I64, Values]) -> None:
    """The same values under the same slots, to the bit."""
    slots, values = interval
    order = np.argsort(slots)
    back_slots, back_values = decode_history(encode_history(slots, values))
    assert _same(back_slots, slots[order])
    assert _same(back_values, values[:, order])


@given(st.lists(intervals(np.dtype(np.uint32), 2) | intervals(np.dtype(np.uint64), 2), min_size=1, max_size=6))
def test_folding_conserves_the_sum_of_every_slot(parts: list[tuple[I64, Values]]) -> None:
    """Exactly, for whole numbers below 2**64; slots are the union, each once, ascending."""
    parts = [(slots, values >> np.array(4, values.dtype)) for slots, values in parts]
    expected: dict[int, list[int]] = {}
    for slots, values in parts:
        for column, slot in enumerate(slots.tolist()):
            before = expected.get(slot, [0, 0])
            expected[slot] = [total + int(value) for total, value in zip(before, values[:, column], strict=True)]
    slots, sums = merge_history(parts)
    assert slots.tolist() == sorted(expected)
    assert [list(map(int, column)) for column in sums.T] == [expected[slot] for slot in sorted(expected)]
    assert _same(decode_history(encode_history(slots, sums))[1], sums)


@given(st.lists(st.lists(st.floats(0, 1e9), min_size=3, max_size=3), min_size=1, max_size=8))
def test_folding_conserves_sums_of_rates(rows: list[list[float]]) -> None:
    """As exactly as floating point adds."""
    slots = np.array([4, 0, 9], dtype=np.int64)
    merged, sums = merge_history([(slots, np.array([row])) for row in rows])
    assert merged.tolist() == [0, 4, 9]
    np.testing.assert_allclose(sums[0], np.array(rows).sum(axis=0)[[1, 0, 2]], rtol=1e-12)


@pytest.mark.parametrize(("most", "dtype"), [(0.0, np.uint32), (2.0**32 - 1, np.uint32), (2.0**32, np.uint64)])
def test_counts_of_a_long_outage_stay_whole(most: float, dtype: type[np.unsignedinteger[Any]]) -> None:
    """Counts take the narrower type while all fit, and the wider one beyond, whatever their size."""
    counts = np.array([[1.0, most], [0.0, 7.0]])
    assert narrow(counts).dtype == dtype
    assert np.array_equal(narrow(counts).astype(np.float64), counts)


def test_sums_do_not_overflow() -> None:
    """They widen where they must, and stay narrow where they fit."""
    slots = np.array([3], dtype=np.int64)
    big = np.full((1, 1), 2**32 - 1, dtype=np.uint32)
    assert merge_history([(slots, big)] * 3)[1].tolist() == [[3 * (2**32 - 1)]]
    assert merge_history([(slots, big // 4)] * 3)[1].dtype == np.uint32


@pytest.mark.parametrize("slots", [[-1], [1, 1], [2**32]])
def test_impossible_slots_are_refused(slots: list[int]) -> None:
    """Unassigned, twice, or beyond what a gap can say."""
    with pytest.raises(ValueError, match="slots of one interval"):
        encode_history(np.array(slots, dtype=np.int64), np.zeros((1, len(slots)), dtype=np.uint32))


@pytest.mark.parametrize("values", [np.zeros((2, 3), np.uint32), np.zeros(2, np.uint32), np.zeros((1, 2), np.int16)])
def test_impossible_values_are_refused(values: Any) -> None:
    """Another length, another shape, another type."""
    with pytest.raises(ValueError, match="history takes"):
        encode_history(np.array([1, 2], dtype=np.int64), values)


@given(st.dictionaries(st.text(max_size=8), hnp.arrays(PLAIN, hnp.array_shapes(min_dims=0, min_side=0)), max_size=4))
@settings(max_examples=examples(200))
def test_arrays_come_back_exactly(arrays: dict[str, NDArray[Any]]) -> None:
    """Any plain type, byte order, shape and name; in their order; writable."""
    back = decode_arrays(encode_arrays(arrays))
    assert list(back) == list(arrays)
    assert all(_same(back[name], array) and back[name].flags.writeable for name, array in arrays.items())


def test_arrays_that_are_not_contiguous_come_back() -> None:
    """Layout in memory is not part of the value."""
    array = np.arange(24.0).reshape(4, 6).T[::2]
    np.testing.assert_array_equal(decode_arrays(encode_arrays({"a": array}))["a"], array)


@pytest.mark.parametrize("array", [np.array([{}], dtype=object), np.zeros(2, dtype=[("a", "i4")])])
def test_objects_are_refused(array: NDArray[Any]) -> None:
    """Nothing that would need pickle is stored."""
    with pytest.raises(ValueError, match="plain types"):
        encode_arrays({"a": array})


@given(st.data())
def test_a_damaged_blob_is_refused(data: st.DataObject) -> None:
    """A flipped byte, a cut, or plain noise never comes back as numbers: each blob carries a checksum."""
    slots = np.arange(50, dtype=np.int64)
    history = encode_history(slots, np.arange(100, dtype=np.uint32).reshape(2, 50))
    arrays = encode_arrays({"a": np.arange(50.0)})
    for blob, decode in ((history, decode_history), (arrays, decode_arrays)):
        at = data.draw(st.integers(6, len(blob) - 1))
        flipped = bytes([*blob[:at], blob[at] ^ data.draw(st.integers(1, 255)), *blob[at + 1 :]])
        for damaged in (flipped, blob[:at], data.draw(st.binary(max_size=30))):
            with pytest.raises(ValueError):
                decode(damaged)


def test_bytes_that_no_array_claims_are_refused() -> None:
    """A blob whose frame is intact and holds more than its index says was not written by this code."""
    whole = zstandard.ZstdDecompressor().decompress(encode_arrays({"a": np.arange(5.0)}))
    longer = zstandard.ZstdCompressor(write_checksum=True).compress(whole + b"x")
    with pytest.raises(ValueError, match=f"has {len(whole) + 1} bytes, expected {len(whole)}"):
        decode_arrays(longer)


def test_one_kind_of_blob_is_not_the_other() -> None:
    """An intact blob of another kind is refused as well."""
    history = encode_history(np.arange(5, dtype=np.int64), np.ones((1, 5), dtype=np.uint32))
    arrays = encode_arrays({"a": np.arange(5.0)})
    with pytest.raises(ValueError):
        decode_history(arrays)
    with pytest.raises(ValueError):
        decode_arrays(history)


def test_bytes_made_in_pieces_are_packed_like_others() -> None:
    """A run of bytes that comes in pieces leaves the same blob as the whole run, and as none where there are none."""
    run = np.arange(200, dtype=np.uint8)
    for pieces in ([run[:7], run[7:7], run[7:]], []):
        whole = np.concatenate([run[:0], *pieces])
        late = Pieces(lambda pieces=pieces: pieces, len(whole))  # type: ignore[misc]  # a default binds the loop's value
        assert encode_arrays({"a": late, "b": run}) == encode_arrays({"a": whole, "b": run})
        np.testing.assert_array_equal(np.asarray(late), whole)


def test_columns_made_late_are_packed_like_others() -> None:
    """A column that is made when it is packed leaves the same bytes as the array, and is not made before."""
    figures, rows = np.linspace(0.0, 9.0, 10), np.array([3, 1, 9], dtype=np.int64)
    made: list[int] = []

    def make(some: I64) -> NDArray[Any]:
        made.append(len(some))
        return np.asarray(figures[some])

    late = Later(make, rows)
    assert sum(made) == 0
    assert encode_arrays({"a": late}) == encode_arrays({"a": figures[rows]})
    assert sum(made) == len(rows)


def test_history_that_holds_more_than_it_says_is_refused() -> None:
    """A blob whose frame is intact and that is longer or shorter than its head says was not written by this code."""
    whole = zstandard.ZstdDecompressor().decompress(
        encode_history(np.arange(5, dtype=np.int64), np.ones((1, 5), dtype=np.uint32))
    )
    for other in (whole + b"x", whole[:-1]):
        with pytest.raises(ValueError, match=f"with {len(other)} bytes, expected 1 and {len(whole)}"):
            decode_history(zstandard.ZstdCompressor(write_checksum=True).compress(other))
