"""Writes the names that an engine may give to one thing without a statement for each of them, and loses none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from connectors.route import Step

_TOKENS = re.compile(r'"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*(?:\]|\Z)|[^\s"\[.]+|.', re.DOTALL)  # of any engine's
_NUMBERED = re.compile(r"(.*?)(?<!\d)(\d++)(\D*+)", re.ASCII)  # around the last number
FEWEST = 3  # names that are written by their first and last


@dataclass(frozen=True, slots=True)
class OtherNames:
    """A step and, where each of its variants differs from it in one token only, those tokens.

    Attributes:
        statements: that are written in full: the step's own, and each variant that differs in more than a name.
        names: of the variants that take the place of one token of the step's own statement; a run of names that count
            upwards is its first and its last, each name a pair of the two.
    """

    statements: tuple[str, ...]
    names: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """``"x_ccnew1" to "x_ccnew9"``, "" where there are no other names."""
        return ", ".join(first if first == last else f"{first} to {last}" for first, last in self.names)


def other_names_of(step: Step) -> OtherNames:
    """The step's statements as one, and the names that differ in the others.

    >>> others = tuple(f'DROP INDEX "b_c{n}"' for n in "123")
    >>> step = Step(sql='DROP INDEX "b_c"', purpose="tidy", variants=others)
    >>> other_names_of(step).statements, other_names_of(step).text
    (('DROP INDEX "b_c"',), '"b_c1" to "b_c3"')
    """
    if not all(sql.isprintable() for sql in step.statements):
        return OtherNames(step.statements, ())  # a name over two lines could end the line that lists it
    own = _TOKENS.findall(step.sql)
    found = [(sql, _place_that_differs(own, _TOKENS.findall(sql))) for sql in step.variants]
    places = {place for _, place in found if place is not None}
    if len(places) != 1:  # none, or more than one name: a list would not say which is which
        return OtherNames(step.statements, ())
    (place,) = places
    named = [sql for sql, at in found if at is not None]
    others = tuple(sql for sql, at in found if at is None)
    names = [_TOKENS.findall(sql)[place] for sql in named]
    return OtherNames((step.sql, *others), tuple(_runs(names)))


def _place_that_differs(own: Sequence[str], other: Sequence[str]) -> int | None:
    """Which token is another one; None: none, several, or there are more of them or fewer."""
    if len(own) != len(other):
        return None
    places = [at for at, (one, two) in enumerate(zip(own, other, strict=True)) if one != two]
    return places[0] if len(places) == 1 else None


def _runs(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """First and last of each run of names that count upwards by one; shorter runs name by name."""
    begins = [0, *(at for at, (one, two) in enumerate(pairwise(names), start=1) if not _follows(one, two)), len(names)]
    for begin, end in pairwise(begins):
        if end - begin < FEWEST:
            yield from ((name, name) for name in names[begin:end])
        else:
            yield names[begin], names[end - 1]


def _follows(one: str, two: str) -> bool:
    """Whether the second is the first with its last number counted up by one; none is written with zeros in front."""
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(two)
    if first is None or second is None or first[1] != second[1] or first[3] != second[3]:
        return False
    number = int(first[2])
    return (first[2], second[2]) == (str(number), str(number + 1))
