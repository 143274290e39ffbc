"""Options that give tiers an amount each, as ``--price ssd=2.40 --price hdd=0.30``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import typer

_T = TypeVar("_T", int, float)


def amounts_of(given: Iterable[str], names: Sequence[str], option: str, parse: Callable[[str], _T]) -> dict[str, _T]:
    """Name -> amount, in the order of ``given``; of a name that is given twice the last.

    Args:
        given: NAME=AMOUNT each.
        names: that may be named.
        option: for the error.
        parse: reads an amount; raises ValueError with a sentence about it.

    Raises:
        typer.BadParameter: another name, or an amount that is none.
    """
    found: dict[str, _T] = {}
    for text in given:
        name, _, amount = text.rpartition("=")
        if name not in names:
            raise typer.BadParameter(f"{text!r}: write {' or '.join(f'{n}=NUMBER' for n in names)}", param_hint=option)
        try:
            found[name] = parse(amount)
        except ValueError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from error
    return found


def number(text: str) -> float:
    """A number.

    Raises:
        ValueError: it is none.
    """
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a number") from error


def more_than_zero(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    """The same parser for finite amounts above 0 only."""

    def parse_positive(text: str) -> _T:
        found = parse(text)
        if not 0 < found < float("inf"):
            raise ValueError("should be more than 0")
        return found

    return parse_positive
