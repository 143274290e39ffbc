"""``sizing --break-even``: the five-minute rule by the site's own prices."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

from agent.cli.planning.amounts import amounts_of, more_than_zero, number
from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.model.units_of_measure import parse_bytes
from agent.terminal.columns import Column
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from agent.what_if.break_even import RAM, BreakEven, Prices, WrongUnit, break_even_document, break_even_of
from connectors.formatting import format_bytes, format_seconds

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
        gib=amounts_of(price, [RAM, *names], "--price", more_than_zero(number)),
        drive_iops=amounts_of(drive_iops, names, "--drive-iops", more_than_zero(number)),
        drive_bytes=amounts_of(drive_size, names, "--drive-size", more_than_zero(parse_bytes)),
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
