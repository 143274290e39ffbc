"""People are counted, not keys, and not spellings of a name."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agent.model.signatures import NameUnclear, canonical_name, count_people, names_of_asker


@dataclass(frozen=True)
class Signed:
    """A signature, as far as people are counted by it."""

    key: str
    names: tuple[str, ...]


@pytest.mark.parametrize("name", ["anna", "Anna", " anna\t", "anna@db1.example", "ANNA@", "anna@x@y"])
def test_spellings_of_a_name_are_one(name: str) -> None:
    """Capitals, blanks around it and the host of an address do not make another person."""
    assert canonical_name(name) == "anna"


NONE = ("", " ", "@db1", "\u0430nna", "an na", "anna,bert", "-anna", "anna\u200b", "anna\nbert")


@pytest.mark.parametrize("name", NONE)
def test_a_name_that_may_look_like_another_is_none(name: str) -> None:
    """Letters of other alphabets, invisible characters, several names in one."""
    with pytest.raises(NameUnclear, match="cannot be distinguished from names that look like it"):
        canonical_name(name)


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ("anna", "anna"), ("root (sudo by anna)", "root anna"), ("root (sudo by Anna@db1)", "root anna"),
        ("root (sudo by bert) (sudo by anna)", "root bert anna"), ("_svc (sudo by anna)", "_svc anna"),
        ("anna (sudo by bert)", "anna bert"),
    ],
)  # fmt: skip
def test_behind_sudo_it_is_the_account_or_who_ran_it(who: str, names: str) -> None:
    """Each of them, since a person who is not behind sudo can set SUDO_USER to another's name."""
    assert names_of_asker(who) == set(names.split())


@pytest.mark.parametrize("who", [
    "root (sudo by anna", "root (sudo by )", "anna)", "root (doas by anna)", "\u0430nna (sudo by bert)",
])  # fmt: skip
def test_what_only_looks_like_sudo_is_no_name(who: str) -> None:
    """It could be anybody."""
    with pytest.raises(NameUnclear):
        names_of_asker(who)


ANNA, BERT, CARL = Signed("k1", ("anna",)), Signed("k2", ("bert",)), Signed("k3", ("carl",))


@pytest.mark.parametrize(
    ("signatures", "without", "people"),
    [
        ([], (), 0), ([ANNA], (), 1), ([ANNA, ANNA], (), 1), ([ANNA, BERT], (), 2), ([ANNA, BERT, CARL], (), 3),
        ([ANNA, Signed("k9", ("anna",))], (), 1),  # two keys of one person
        ([ANNA, Signed("k1", ("annette",))], (), 1),  # one key under two names
        ([ANNA, BERT, Signed("k9", ("anna", "bert"))], (), 1),  # a third line tells that both are one
        ([Signed("k9", ("anna", "bert")), BERT, ANNA, CARL], (), 2),
        ([ANNA, BERT], ("anna",), 1), ([ANNA, Signed("k1", ("annette",)), BERT], ("annette",), 1),
        ([ANNA, BERT], ("carl",), 2), ([ANNA, BERT], ("anna", "bert"), 0),
    ],
)  # fmt: skip
def test_names_and_keys_that_belong_together_are_one_person(
    signatures: list[Signed], without: tuple[str, ...], people: int
) -> None:
    """In whatever order they come; who does not count, does not under any of his names."""
    assert count_people(signatures, without) == people
    assert count_people(signatures[::-1], without) == people
