"""``sizing --break-even``: the five-minute rule by the site's own prices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isinf
from typing import TypeVar

import typer

from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.model.units_of_measure import parse_bytes
from agent.terminal.columns import Column
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from agent.what_if.break_even import RAM, BreakEven, Prices, WrongUnit, break_even_document, break_even_of
from connectors.formatting import format_bytes, format_seconds

_T = TypeVar("_T", int, float)
UNITS_SHOWN = 10  # of each interval; JSON has all of them
COLUMNS = [
    Column("unit", name=True), Column("on"), Column("belongs on"), Column("size", number=True),
    Column("a page is read every", number=True), Column("spares", number=True),
]  # fmt: skip


def break_even(
    session: Session, price: Sequence[str], drive_iops: Sequence[str], drive_size: Sequence[str]
) -> ExitCode:
    """Show the intervals, and what is on the wrong side of each."""
    names = levels_of(session.database)
    prices = Prices(
        gib=_by_level(price, [RAM, *names], "--price", _amount),
        drive_iops=_by_level(drive_iops, names, "--drive-iops", _amount),
        drive_bytes=_by_level(drive_size, names, "--drive-size", parse_bytes),
    )
    answer = break_even_of(session.database, session.ledger, session.clock, prices)
    out = session.out
    out.line(f"{answer.database}: pages of {format_bytes(answer.page_bytes)} by the five-minute rule", style="bold")
    for each in answer.intervals:
        _print(out, each)
    out.line("in the mean of all pages of a unit; spares: what the prices say, for as long as they are for")
    out.document(break_even_document(answer))
    return ExitCode.OK


def levels_of(database: DatabaseConfig) -> list[str]:
    """The tiers that are compared: the fastest and the slowest."""
    return [database.tiers[0].name, database.tiers[-1].name]


def _print(out: Output, each: BreakEven) -> None:
    out.heading(f"{each.above} or {each.below}")
    if each.seconds is None:
        out.line(f"not known: {each.missing}")
        return
    interval = "however seldom" if isinf(each.seconds) else f"more often than every {format_seconds(each.seconds)}"
    out.line(f"a page that is read {interval} costs less on {each.above} than its reads cost on {each.below}")
    if not each.wrong:
        out.line("every unit is on its side")
        return
    out.table(COLUMNS, [_cells(unit) for unit in each.wrong[:UNITS_SHOWN]])
    if len(each.wrong) > UNITS_SHOWN:
        out.line(f"and {len(each.wrong) - UNITS_SHOWN} more; --json names them")


def _cells(unit: WrongUnit) -> tuple[str, ...]:
    every = "never" if isinf(unit.interval_seconds) else format_seconds(unit.interval_seconds)
    return unit.key, unit.on, unit.to, format_bytes(unit.size_bytes), every, f"{unit.spares:,.2f}"


def _by_level(given: Iterable[str], names: Sequence[str], option: str, parse: Callable[[str], _T]) -> dict[str, _T]:
    found: dict[str, _T] = {}
    for text in given:
        name, _, amount = text.rpartition("=")
        if name not in names:
            raise typer.BadParameter(f"{text!r}: write {' or '.join(f'{n}=NUMBER' for n in names)}", param_hint=option)
        try:
            found[name] = parse(amount)
        except ValueError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from error
        if not 0 < found[name] < float("inf"):
            raise typer.BadParameter(f"{text!r}: should be more than 0", param_hint=option)
    return found


def _amount(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a number") from error
