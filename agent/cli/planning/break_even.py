"""``sizing --break-even``: the five-minute rule by the site's own prices."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

from agent.answers.sizing import BreakEven, UnitOnWrongSide
from agent.cli.planning.amounts import amounts_of, more_than_zero, number
from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.model.units_of_measure import parse_bytes
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.what_if.break_even import RAM, Prices, break_even_of
from connectors.formatting import format_bytes, format_seconds

UNITS_SHOWN = 10  # of each interval; JSON has all of them
COLUMNS = [
    Column("unit", name=True), Column("on"), Column("belongs on"), Column("size", number=True),
    Column("a page is read every", number=True), Column("spares", number=True),
]  # fmt: skip


def break_even(session: Session, price: Sequence[str], drive_iops: Sequence[str], drive_size: Sequence[str]) -> None:
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
    out.document(answer)


def levels_of(database: DatabaseConfig) -> list[str]:
    """The tiers that are compared: the fastest and the slowest."""
    return [database.tiers[0].name, database.tiers[-1].name]


def _print(out: Output, each: BreakEven) -> None:
    out.heading(f"{each.above} or {each.below}")
    seconds = each.break_even_seconds
    if seconds is None:
        out.line(f"not known: {each.missing}")
        return
    interval = "however seldom" if isinf(seconds) else f"more often than every {format_seconds(seconds)}"
    out.line(f"a page that is read {interval} costs less on {each.above} than its reads cost on {each.below}")
    if not each.wrong_side:
        out.line("every unit is on its side")
        return
    out.table(COLUMNS, [_cells(unit) for unit in each.wrong_side[:UNITS_SHOWN]])
    if len(each.wrong_side) > UNITS_SHOWN:
        out.line(f"and {len(each.wrong_side) - UNITS_SHOWN} more; --json names them")


def _cells(each: UnitOnWrongSide) -> tuple[str, ...]:
    every = "never" if isinf(each.seconds_between_reads) else format_seconds(each.seconds_between_reads)
    return each.unit, each.on, each.belongs_on, format_bytes(each.bytes), every, f"{each.spares:,.2f}"
