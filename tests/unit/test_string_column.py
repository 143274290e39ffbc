"""A column of strings in one run of bytes is a sequence like any other."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger.measured.slots import KeyIndex
from connectors.model.string_column import StringColumn

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=12)


@given(WORDS, st.data())
def test_it_is_a_sequence_of_what_went_in(words: list[str], data: st.DataObject) -> None:
    """Length, order, rows from either end, slices, chosen rows, equality: as a tuple has them."""
    texts = StringColumn.of(iter(words))
    assert (list(texts), len(texts)) == (words, len(words))
    assert [texts[row] for row in range(-len(words), len(words))] == words + words
    assert texts == tuple(words)
    assert texts != [*words, "one more"]
    assert texts[1::2] == words[1::2]
    rows = data.draw(st.lists(st.integers(0, len(words) - 1)) if words else st.just([]))
    assert texts.take(np.array(rows, dtype=np.int64)) == [words[row] for row in rows]
    assert texts.followed_by(texts.take(np.array(rows, dtype=np.int64))) == words + [words[row] for row in rows]
    with pytest.raises(IndexError):
        texts[len(words)]


@given(WORDS)
def test_it_comes_back_from_what_is_stored(words: list[str]) -> None:
    """From its two arrays, and from the JSON list that older versions stored."""
    texts = StringColumn.of(words)
    assert StringColumn.from_arrays(texts.arrays("key"), "key") == texts
    older = {"key": np.frombuffer(json.dumps(words, ensure_ascii=False).encode(), dtype=np.uint8)}
    assert StringColumn.from_arrays(older, "key") == texts


def test_bytes_that_belong_to_no_string_are_refused() -> None:
    """Damaged ends raise instead of giving wrong names."""
    with pytest.raises(ValueError, match="do not end"):
        StringColumn(b"abc", np.array([1, 2]))


@given(WORDS, WORDS)
def test_keys_are_found_at_their_first_row(keys: list[str], wanted: list[str]) -> None:
    """As a search from the front would find them; -1 for what is not there."""
    found = KeyIndex(StringColumn.of(keys)).rows(StringColumn.of(wanted))
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]


@given(WORDS, WORDS)
def test_keys_of_one_hash_are_told_apart(keys: list[str], wanted: list[str]) -> None:
    """Were all hashes the same, every key would still be found, and only itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.ledger.measured.slots._hashes", lambda texts: np.zeros(len(texts), dtype=np.int64))
        found = KeyIndex(StringColumn.of(keys)).rows(StringColumn.of(wanted))
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]
