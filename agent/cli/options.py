"""Options that several commands take.

Options that several commands take: all databases, columns, quantities, instants named by a date or a duration.

Options that give tiers an amount each, as ``--price ssd=2.40 --price hdd=0.30``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, TypeVar

import typer

from agent.model.units_of_measure import parse_seconds
from agent.terminal.columns import Column, choose_columns
from connectors.kit.contract import Clock

_V = TypeVar("_V")
Columns = Annotated[
    str, typer.Option("--columns", metavar="TITLES", help="Show these columns only, in this order: unit,tier,size")
]

Reason = Annotated[str, typer.Option(help="Why, for the record.")]
AllDatabases = Annotated[
    bool, typer.Option("--all", help="All databases of the ledger, those of other machines too; --database: a pattern.")
]
Engine = Annotated[str, typer.Option("--engine", metavar="ENGINE", help="With --all: only databases of this engine.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="With --all: show so many at most; default: what a screen holds.")
]


def refuse(given: Mapping[str, object], why: str) -> None:
    """Refuse the first option that was given although it says nothing here.

    Args:
        given: values by option; what is false was not given.
        why: what is wrong with it, in words that follow its name.

    Raises:
        BadParameter: one was given.
    """
    for option, value in given.items():
        if value:
            raise typer.BadParameter(why, param_hint=option)


def refuse_without_all(given: Mapping[str, object]) -> None:
    """Refuse options that are about all databases of the ledger.

    Raises:
        BadParameter: one was given.
    """
    refuse(given, "it is for --all only")


def parse_columns(text: str, columns: Sequence[Column]) -> tuple[str, ...]:
    """The titles that --columns names; none for all.

    Raises:
        BadParameter: a title that no column has.
    """
    titles = tuple(title.strip() for title in text.split(",") if title.strip())
    try:
        choose_columns(columns, titles)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--columns") from error
    return titles


def parse_option(parse: Callable[[str], _V], text: str, option: str) -> _V:
    """The value of an option's text.

    Raises:
        BadParameter: the text is none.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def begin_of(text: str, clock: Clock) -> datetime:
    """The instant that --since means, a duration ago.

    Raises:
        BadParameter: it is no duration.
    """
    return clock.now() - timedelta(seconds=parse_option(parse_seconds, text, "--since"))


def end_of(text: str, clock: Clock, option: str) -> datetime:
    """The instant that a date, a time or a duration from now names; without a zone, in that of this machine.

    Raises:
        BadParameter: it is none of them, or is over already.
    """
    now = clock.now()
    try:
        end = datetime.fromisoformat(text).astimezone()
    except ValueError:
        try:
            end = now + timedelta(seconds=parse_seconds(text))
        except ValueError as error:
            raise typer.BadParameter(
                f"{text!r} is neither a date like 2030-01-31 nor a duration like 30d", param_hint=option
            ) from error
    if end <= now:
        raise typer.BadParameter(f"{text!r} is over already", param_hint=option)
    return end


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
