"""What makes a class an answer: fields by keyword, nothing changed later, equal to what says the same."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from agent.model.answers.kind import answer, extend, mapping_of, narrow, schema_of


@answer
class Base:
    """The least."""

    number: int
    """How many."""
    for_: str = "all"
    """Of what."""


@answer
class More(Base):
    """With one more."""

    listed: tuple[str, ...]
    """Each of them."""


def test_fields_are_given_by_keyword_and_none_is_forgotten() -> None:
    """A field that lacks, one that there is not, and a value without its name are refused; a default counts."""
    with pytest.raises(TypeError, match=r"More lacks number$"):
        More(listed=())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Base has no weight$"):
        Base(number=1, weight=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Base(1)  # type: ignore[call-arg]
    assert Base(number=1).for_ == "all"


def test_nothing_is_changed_later() -> None:
    """A field of an answer is neither set nor removed; a changed one is another answer."""
    made = Base(number=1)
    with pytest.raises(FrozenInstanceError, match="number of Base"):
        made.number = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="number of Base"):
        del made.number
    assert replace(made, number=2) == Base(number=2)
    assert made.number == 1


def test_answers_that_say_the_same_are_equal() -> None:
    """By class and values, defaults among them; copies are equal, too, and all is shown."""
    made = Base(number=1)
    assert made == Base(number=1, for_="all")
    assert len({made, Base(number=1, for_="all"), Base(number=2)}) == 2
    assert made not in (Base(number=2), More(number=1, listed=()), 1)
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made  # made here
    assert repr(made) == "Base(number=1, for_='all')"


def test_one_extends_another_and_becomes_its_part_again() -> None:
    """Keys keep their order, an underscore behind a word of Python's is no part of the key."""
    wide = extend(More, Base(number=1), listed=("a",))
    assert mapping_of(wide) == {"number": 1, "for": "all", "listed": ("a",)}
    assert narrow(Base, wide) == Base(number=1)
    assert schema_of(More, "hotplace more")["required"] == ["number", "for", "listed"]
