"""Where blocks of the cache lie within their segment; nothing here asks a server."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from connectors.oracle.blocks import extents_of

BLOCK = 8192


def test_blocks_are_numbered_in_the_order_in_which_the_segment_got_them() -> None:
    """The second extent lies before the first one, in another file or in the same; what is not the segment's goes."""
    extents = extents_of([(5, 128, 8, 8 * BLOCK), (4, 640, 8, 8 * BLOCK), (5, 64, 16, 16 * BLOCK)])
    assert (extents.total, extents.block_bytes) == (32, BLOCK)
    file = np.array([5, 4, 5, 5, 5, 4, 9])
    block = np.array([128, 647, 64, 79, 80, 639, 128])
    assert extents.numbers(file, block).tolist() == [0, 15, 16, 31]


def test_a_segment_without_extents_has_no_blocks() -> None:
    """One that was dropped between two queries."""
    assert extents_of([]).total == 0
    assert extents_of([]).block_bytes == 0


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=12), st.randoms())
def test_every_block_has_one_number(drawn: list[tuple[int, int]], random: object) -> None:
    """Whatever the extents: asked for all of its blocks a segment has all numbers, each once."""
    rows, end = [], {1: 8, 2: 8, 3: 8}
    for file, blocks in drawn:
        rows.append((file, end[file], blocks, blocks * BLOCK))
        end[file] += blocks + 1
    random.shuffle(rows)  # type: ignore[attr-defined]  # extents follow one another wherever they lie
    places = np.array([(file, first + at) for file, first, blocks, _ in rows for at in range(blocks)])
    numbers = extents_of(rows).numbers(places[:, 0], places[:, 1])
    assert numbers.tolist() == list(range(len(places)))
