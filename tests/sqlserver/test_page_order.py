"""How pages of a unit are put in order from some of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model.observation import I64
from connectors.sqlserver.blocks import EXTENT, PageOrder
from tests.examples import examples

EXTENTS = 400


def pages_of(files: int, apart: int) -> tuple[I64, I64]:
    """File and number of each page of a unit that took extents from its files in turns, one of so many of each."""
    extent = np.repeat(np.arange(EXTENTS), EXTENT)
    page = (40 + extent // files * apart) * EXTENT + np.tile(np.arange(EXTENT), EXTENTS)
    return 3 + extent % files, page


@pytest.mark.parametrize(("files", "apart"), [(1, 1), (1, 5), (4, 1), (4, 3)])
def test_with_all_extents_seen_the_order_is_exact(files: int, apart: int) -> None:
    """Whatever lies between them; of several files the same stretch of each is one range."""
    file, page = pages_of(files, apart)
    order = PageOrder()
    order.learn(file[::EXTENT], page[::EXTENT])
    numbers = order.numbers(file, page, EXTENTS)
    assert np.abs(numbers - np.arange(len(page))).max() <= (files - 1) * EXTENT


@pytest.mark.parametrize(("files", "apart", "most"), [(1, 1, 0.02), (1, 3, 0.1), (2, 1, 0.04)])
def test_what_was_not_seen_is_put_where_it_is_likely(files: int, apart: int, most: float) -> None:
    """A newest tenth of which all pages were seen, and one page of sixteen of the rest: so far off at most."""
    file, page = pages_of(files, apart)
    chance = np.random.default_rng(3)
    seen = np.flatnonzero((chance.random(len(page)) < 1 / 16) | (np.arange(len(page)) >= len(page) * 9 // 10))
    order = PageOrder()
    for look in np.array_split(chance.permutation(seen), 5):
        order.learn(file[look], page[look])
    numbers = order.numbers(file[seen], page[seen], EXTENTS)
    assert np.abs(numbers - seen).max() <= most * len(page)
    assert numbers.max() < len(page)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5000)), min_size=1, unique=True), st.integers(0, 900))
def test_every_page_has_a_number_of_its_own(pages: list[tuple[int, int]], extents: int) -> None:
    """Within the unit, in the order of the file, and a page keeps its place in its extent."""
    file, page = np.array(pages, dtype=np.int64).T
    order = PageOrder()
    order.learn(file, page)
    numbers = order.numbers(file, page, extents)
    assert len(np.unique(numbers)) == len(pages)
    assert 0 <= numbers.min() <= numbers.max() < max(extents, order.seen) * EXTENT
    assert (numbers % EXTENT == page % EXTENT).all()
    for number in np.unique(file):
        own = np.argsort(page[file == number])
        assert (np.diff(numbers[file == number][own]) > 0).all()


def test_nothing_seen_is_nothing_numbered() -> None:
    """Before the first page."""
    empty = np.empty(0, dtype=np.int64)
    assert PageOrder().numbers(empty, empty, 10).tolist() == []
