"""Texts on which a backtracking matcher may take more than linear time, made from the expression itself.

Such time comes from a part that can be repeated in two ways (Kirrage, Rathnayake, Thielecke: Static Analysis for
Regular Expression Denial-of-Service Attacks, 2013): a text is something that leads to a repetition, then what is
pumped, then something that makes the match fail. Python's matcher does not remember where it failed, so the same holds
for ``search``, which begins again at each character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from re import _constants as kinds  # type: ignore[attr-defined]  # the only way to see how an expression is built
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ORDINARY = "a A0_-.,:;'\"()[]{}<>/\\\t\n%#~é"
CATEGORIES = {
    kinds.CATEGORY_DIGIT: r"\d", kinds.CATEGORY_NOT_DIGIT: r"\D", kinds.CATEGORY_SPACE: r"\s",
    kinds.CATEGORY_NOT_SPACE: r"\S", kinds.CATEGORY_WORD: r"\w", kinds.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)
SETS = (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.IN)
MOST_SAMPLES = 4  # of a part
MOST_PAIRED = 12  # characters
MOST_PLACES = 24  # of an expression, that a text may lead to
OUTSIDE = "\x01"  # that hardly any expression takes
ENDS = ("", OUTSIDE, "\n")

Node = tuple[Any, Any]


def attacks(pattern: str, flags: int) -> Iterator[tuple[str, str, str]]:
    """What leads there, what is pumped, and the end of texts to try."""
    tree = list(parser.parse(pattern, flags))
    alphabet = characters(tree, flags)
    places = list(dict.fromkeys(["", *leading(tree)]))[:MOST_PLACES]
    bodies = [text for text in repeated(tree, alphabet) if text]
    between = [text for text in tails(tree) if text]
    pairs = ("".join(pair) for pair in product(alphabet[:MOST_PAIRED], repeat=2))
    for pump in dict.fromkeys([*alphabet, *bodies, *places[1:], *between]):
        yield from (("", pump, end) for end in (*ENDS, *("".join(pair) for pair in product(alphabet[:2], repeat=2))))
    yield from (("", pump, end) for pump in dict.fromkeys(pairs) for end in ("", OUTSIDE))
    for place in places[1:]:
        for pump in dict.fromkeys([*alphabet, *bodies, *between]):
            yield from ((place, pump, end) for end in ("", OUTSIDE))


def likely(pattern: str, flags: int) -> Iterator[tuple[str, str, str]]:
    """The few of them that are tried wherever others are left out: what leads to each part, again and again."""
    places = dict.fromkeys(filter(None, leading(parser.parse(pattern, flags))))
    yield from (("", place, OUTSIDE) for place in list(places)[: MOST_PLACES - 1])


def characters(tree: Iterable[Node], flags: int) -> list[str]:
    """One character of each kind that the expression tells apart."""
    sets = list(sets_of(tree))
    found: dict[tuple[bool, ...], str] = {}
    named = (chr(code) for node in sets for code in codes_in(node))
    for each in (*named, *ORDINARY):
        found.setdefault(tuple(takes(node, each, flags) for node in sets), each)
    return list(dict.fromkeys([*found.values(), "\n"]))  # which anchors tell from all others


def sets_of(tree: Iterable[Node]) -> Iterator[Node]:
    """Every part that takes one character."""
    for kind, value in tree:
        if kind in SETS:
            yield (kind, value)
        else:
            for inner in parts_of(kind, value):
                yield from sets_of(inner)


def parts_of(kind: Any, value: Any) -> list[list[Node]]:  # as the parser has it
    """The sequences within a part."""
    if kind in REPEATS:
        return [list(value[2])]
    if kind is kinds.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind is kinds.SUBPATTERN:
        return [list(value[3])]
    if kind is kinds.ATOMIC_GROUP:
        return [list(value)]
    if kind in {kinds.ASSERT, kinds.ASSERT_NOT}:
        return [list(value[1])]
    return []


def codes_in(node: Node) -> Iterator[int]:
    """Code points that a set names, and those between whose ends it has."""
    kind, value = node
    if kind in {kinds.LITERAL, kinds.NOT_LITERAL}:
        yield value
    elif kind is kinds.IN:
        for inner, what in value:
            if inner is kinds.LITERAL:
                yield what
            elif inner is kinds.RANGE:
                yield from what


def takes(node: Node, character: str, flags: int) -> bool:
    """Whether a set takes a character."""
    kind, value = node
    spellings = {character, character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
    if kind is kinds.ANY:
        return character != "\n" or bool(flags & re.DOTALL)
    if kind is kinds.LITERAL:
        return chr(value) in spellings
    if kind is kinds.NOT_LITERAL:
        return chr(value) not in spellings
    negated = bool(value[0][0] is kinds.NEGATE)
    return negated != any(_item_takes(item, each) for item in value for each in spellings)


def _item_takes(item: Node, character: str) -> bool:
    kind, value = item
    if kind is kinds.LITERAL:
        return bool(ord(character) == value)
    if kind is kinds.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return bool(kind is kinds.CATEGORY and re.match(CATEGORIES[value], character))


def samples(tree: Iterable[Node]) -> list[str]:
    """Some texts that a sequence takes; what looks around counts as empty."""
    found = [""]
    for kind, value in tree:
        found = [f"{begin}{more}" for begin in found for more in _samples_of(kind, value)][:MOST_SAMPLES]
    return found


def _samples_of(kind: Any, value: Any) -> list[str]:  # as above
    if kind in SETS:
        codes = [chr(code) for code in codes_in((kind, value))]
        wanted = next((each for each in (*codes, *ORDINARY) if takes((kind, value), each, 0)), "a")
        return [wanted]
    if kind in REPEATS:
        inner = samples(value[2])
        return list(dict.fromkeys([inner[0] * max(1, value[0]), *inner[1:], *([""] if value[0] == 0 else [])]))
    if kind is kinds.BRANCH:
        return [text for branch in value[1] for text in samples(branch)[:2]]
    if kind in {kinds.SUBPATTERN, kinds.ATOMIC_GROUP}:
        return samples(parts_of(kind, value)[0])
    return [""]


def leading(tree: Iterable[Node], begin: str = "") -> Iterator[str]:
    """Texts up to each part, and through it."""
    for kind, value in tree:
        for inner in parts_of(kind, value):
            yield from leading(inner, begin)
        begin += _samples_of(kind, value)[0]
        yield begin


def tails(tree: Iterable[Node]) -> Iterator[str]:
    """What may come after each repetition, up to each part behind it."""
    nodes = list(tree)
    for at, (kind, value) in enumerate(nodes):
        for inner in parts_of(kind, value):
            yield from tails(inner)
        if kind in REPEATS:
            yield from leading(nodes[at + 1 :])


def repeated(tree: Iterable[Node], alphabet: Iterable[str]) -> Iterator[str]:
    """What is taken by the bodies of repetitions, alone and with a character before or after."""
    for kind, value in tree:
        for inner in parts_of(kind, value):
            yield from repeated(inner, alphabet)
        if kind in REPEATS:
            for text in samples(value[2]):
                yield text
                yield from (f"{text}{each}" for each in alphabet)
