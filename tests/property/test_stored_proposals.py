"""Proposals become the texts, and again the proposals, that pydantic's own ``TypeAdapter`` would make of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from agent.model.proposals import Proposal, StoredDataclass, proposal_from_text, proposal_json
from connectors.model.moves import Step, Transfer
from tests.examples import examples
from tests.unit.samples import a_move, a_proposal

ADAPTER = TypeAdapter(Proposal)
PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=10), bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1), float: st.floats(allow_nan=False, allow_infinity=False),
    datetime: st.datetimes(timezones=st.just(UTC)),
}  # fmt: skip
STATEMENT = PLAIN[str].filter(lambda text: bool(text.strip()))


@dataclass(frozen=True, slots=True)
class Odd:
    """A field whose order JSON would not keep."""

    numbers: set[int]


def values(hint: Any) -> st.SearchStrategy[Any]:
    """What a field of that type may hold."""
    if hint in PLAIN:
        return PLAIN[hint]
    if is_dataclass(hint):
        return built(hint)  # type: ignore[arg-type]  # a class, as the types of fields are
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    inner = get_args(hint)
    if get_origin(hint) is tuple:
        return st.lists(values(inner[0]), max_size=2).map(tuple)
    if get_origin(hint) is Mapping:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=2)
    return st.one_of(*(st.none() if each is NoneType else values(each) for each in inner))


def built(of: type[Any]) -> st.SearchStrategy[Any]:
    """Any instance that the class accepts."""
    chosen = {each.name: values(hint) for each in fields(of) for hint in [get_type_hints(of)[each.name]]}
    if of is Step:  # it can be held and gone on with, or neither
        held = st.sampled_from([("", ""), ("hold", "go on")])
        chosen |= {"sql": STATEMENT}
        del chosen["pause_sql"], chosen["resume_sql"]
        return st.tuples(held, st.fixed_dictionaries(chosen)).map(
            lambda made: Step(pause_sql=made[0][0], resume_sql=made[0][1], **made[1])
        )
    if of is Transfer:
        chosen |= {"bytes": st.integers(0, 2**40), "work_ratio": st.floats(0, 9)}
    return st.builds(of, **chosen)


@settings(max_examples=examples(60), deadline=None)
@given(built(Proposal))
def test_texts_are_those_of_the_library(proposal: Proposal) -> None:
    """Any proposal: the same JSON values as ever, so that digests stay; and read back it is the same."""
    plain, library = proposal_json(proposal), ADAPTER.dump_python(proposal, mode="json")
    for move in library["moves"]:
        if move["route"]["by_hand"] is None:  # younger than the digests of other moves
            del move["route"]["by_hand"]
        elif not move["route"]["by_hand"]["opening"]:  # younger than the digests of other files
            del move["route"]["by_hand"]["opening"]
    assert plain == library
    text = json.dumps(plain)
    again = proposal_from_text(text)
    assert again == ADAPTER.validate_json(text)
    assert proposal_json(again) == plain


def _paths(plain: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    return [at, *(path for key, value in inside for path in _paths(value, (*at, key)))]


def _changed(plain: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same JSON values with one of them another."""
    changed = inner = json.loads(json.dumps(plain))
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


def _read(read: Callable[[str], Proposal], text: str) -> Proposal | str:
    try:
        return read(text)
    except ValidationError as error:
        return str([(each["loc"], each["type"]) for each in error.errors()])


@pytest.mark.parametrize("wrong", [None, "x", 7, 1.5, True, [], {}, ["x"], {"x": 1}, ...], ids=repr)
def test_what_is_wrong_is_refused_as_the_library_does(wrong: Any) -> None:
    """Each value of a proposal replaced by another, or left out (...): taken or refused for the same reason."""
    whole = proposal_json(a_proposal(a_move()))
    for path in _paths(whole)[1:]:
        text = json.dumps(_changed(whole, path, wrong))
        assert _read(proposal_from_text, text) == _read(ADAPTER.validate_json, text), path


def test_a_type_that_documents_do_not_have_is_said() -> None:
    """A new field of a proposal that could not be read back is found when the first one is stored, by its type."""
    with pytest.raises(TypeError, match=r"set\[int\]"):
        StoredDataclass(Odd).of_text("{}")
