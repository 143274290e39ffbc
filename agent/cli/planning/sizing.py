"""How much fast storage is worth buying, and for which database? ``sizing``."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.planning.amounts import amounts_of, number
from agent.cli.planning.break_even import break_even as break_even_command
from agent.cli.session import Session
from agent.cli.watching import sentence_without_demand
from agent.explanation.read_times import read_times_text
from agent.terminal.charts import text_chart
from agent.terminal.columns import Column
from agent.terminal.errors import exit_code_of
from agent.terminal.exit_codes import ExitCode
from agent.terminal.files import write_file
from agent.terminal.output import Output
from agent.what_if.sizing import (
    KNEE_MEANS,
    QUEUES_MEAN,
    QUEUES_UNKNOWN,
    KeptBack,
    SizingAnswer,
    answer_document,
    answer_of,
    csv_text,
    curve_of,
    fleet_document,
    ratio_of,
)
from connectors.base import HotplaceError
from connectors.formatting import exact_bytes, format_bytes, format_ratio, format_sessions, format_wait
from policies.benefit.foreground_wait import HOUR
from policies.sizing.curve import Point, Sizing
from policies.sizing.splits import SplitSizing
from policies.storage.purchase import WRITE_FACTORS, TierPrice, price_per

NEARLY_ALL = 0.9  # of what could be saved: a plan that saves more needs no excuse
KEPT_BACK_SHOWN = 3  # reasons
SHOWN_PERCENT = (1, 5, 10, 25, 50, 100)  # rows of the table, in addition to the knee and the present size


@command(Group.LOOK, "hotplace sizing --price ssd=2.40 --price hdd=0.30 --svg curve.svg", name="sizing")
def sizing_command(
    session: Session,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Rank all configured databases: where does the next GiB help most?")
    ] = False,
    csv_file: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the curve as CSV.")] = None,
    svg_file: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Also draw it as SVG.")] = None,
    price: Annotated[
        list[str] | None, typer.Option(metavar="TIER=AMOUNT", help="Price of a tier per GiB and year; repeat it.")
    ] = None,
    drive_iops: Annotated[
        list[str] | None, typer.Option(metavar="TIER=IOPS", help="I/Os per second one drive can do; repeat it.")
    ] = None,
    raid: Annotated[
        int | None, typer.Option(help="RAID level of the drives, 1, 5 or 6; default as configured, else 5.")
    ] = None,
    break_even: Annotated[
        bool,
        typer.Option("--break-even", help="How often must a page be read to belong in RAM, or on the fastest tier?"),
    ] = False,
    drive_size: Annotated[
        list[str] | None, typer.Option(metavar="TIER=SIZE", help="What one drive holds, for --break-even; repeat it.")
    ] = None,
) -> ExitCode:
    """Show how much fast storage is worth having: the curve, its knee, and what the next GiB saves."""
    if raid not in {None, *WRITE_FACTORS}:
        raise typer.BadParameter(f"{raid} is not one of 1, 5, 6", param_hint="--raid")
    prices, files = (price or (), drive_iops or ()), (csv_file, svg_file)
    if fleet:
        if any((*files, *prices, drive_size, break_even)):
            raise typer.BadParameter("the ranking of databases takes no prices and no files", param_hint="--fleet")
        return _fleet(session)
    if break_even:
        if any((*files, raid)):
            raise typer.BadParameter("it takes prices and drives, and writes no files", param_hint="--break-even")
        return break_even_command(session, *prices, drive_size or ())
    if drive_size:
        raise typer.BadParameter("it is for --break-even only", param_hint="--drive-size")
    return _one(session, *prices, raid, csv_file=csv_file, svg_file=svg_file)


# -- one database ----------------------------------------------------------------------------------------------------


def _one(
    session: Session,
    price: Iterable[str],
    drive_iops: Iterable[str],
    raid: int | None,
    *,
    csv_file: Path | None,
    svg_file: Path | None,
) -> ExitCode:
    """The curve on the terminal and in the files that were asked for."""
    answer = answer_of(session.database, session.ledger, session.clock, planned=True)
    answer = replace(answer, prices=_prices(answer, price, drive_iops, raid))
    files = {"csv": (csv_file, csv_text), "svg": (svg_file, _svg_text)}
    written = {kind: (path, text) for kind, (path, text) in files.items() if path is not None}
    for path, text in written.values():
        write_file(path, text(answer))
    _print(session, answer)
    for path, _ in written.values():
        session.out.line(f"written: {path}")
    session.out.document({**answer_document(answer), "files": {kind: path for kind, (path, _) in written.items()}})
    return ExitCode.OK


def _svg_text(answer: SizingAnswer) -> str:
    from agent.plots.curve import curve_figure  # only a picture needs the library that draws it

    return curve_figure(curve_of(answer)).document()


def _prices(
    answer: SizingAnswer, price: Iterable[str], drive_iops: Iterable[str], raid: int | None
) -> tuple[TierPrice, TierPrice]:
    """What was said of the fastest and of the slowest tier: here, or else in the configuration."""
    names = [answer.tiers[0].name, answer.tiers[-1].name]
    cost, rate = amounts_of(price, names, "--price", number), amounts_of(drive_iops, names, "--drive-iops", number)
    try:
        fast, slow = (
            replace(known, gib_year=cost.get(name, known.gib_year), drive_iops=rate.get(name), raid=raid or known.raid)
            for name, known in zip(names, answer.prices, strict=True)
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--price, --drive-iops") from error
    return fast, slow


def _print(session: Session, answer: SizingAnswer) -> None:
    out = session.out
    z, fast, slow = answer.sizing, answer.tiers[0].name, answer.tiers[-1].name
    out.line(f"{answer.database}: what {fast} saves over {slow}", style="bold")
    out.facts(_facts(answer))
    if reasons := _why_no_curve(session, answer):
        for line in reasons:
            out.line(line)
        return
    out.heading(f"share of {format_wait(z.all_fast_per_hour)} saved, by bytes on {fast}")
    for line in text_chart(curve_of(answer), shutil.get_terminal_size().columns):
        out.line(line)
    knee = "K knee, " if z.knee_distance else ""
    out.line(f"# whole objects, . upper bound, {knee}P present size")
    out.line()
    out.table(_columns(answer), [_cells(answer, name, point) for name, point in _rows(z)])
    out.line("saves, next GiB saves: sessions that no longer wait, on average")
    out.line(QUEUES_MEAN if z.sessions_known else QUEUES_UNKNOWN)
    _print_advice(out, answer)
    if answer.cost(z.knee) is not None:
        out.line(f"cost: a year of {fast} at that size and of {slow} for the rest, head-room included; "
                 "per session: for each waiting session saved")  # fmt: skip
    wear = answer.wear(z.knee)
    if wear is not None:
        worn = f", so it is bought {wear:.3g} times as often" if wear > 1 else ""
        out.line(f"wear: at its knee {fast} is written {format_ratio(wear)} of what it endures a day{worn}")
    if any(price.drive_iops for price in answer.prices):
        _print_drives(out, answer)


def _why_no_curve(session: Session, answer: SizingAnswer) -> list[str]:
    """What is missing for a curve, and what to do; empty where nothing is."""
    if not answer.watched_seconds:
        return ["how much it would serve is not known", sentence_without_demand(session)]
    if answer.sizing.all_fast_per_hour <= 0:
        return [
            "no demand is known that fast storage would serve quicker: there is nothing to buy it for",
            "next: let `hotplace run` watch for a while, or: hotplace plan --observe 60",
        ]
    return []


def _print_drives(out: Output, answer: SizingAnswer) -> None:
    """By which rates drives were counted."""
    rates = [
        f"{tier.name} {price.drive_iops:,.0f}"
        for tier, price in zip((answer.tiers[0], answer.tiers[-1]), answer.prices, strict=True)
        if price.drive_iops
    ]
    raids = sorted({price.raid for price in answer.prices if price.drive_iops})
    writes = ", ".join(f"RAID {raid} makes {WRITE_FACTORS[raid]} I/Os of a write" for raid in raids)
    out.line(f"drives by I/O rate, not by bytes: IOPS per drive {', '.join(rates)}; {writes}")
    out.line("a block that was read ahead counts as one I/O, so numbers of drives are upper bounds")


def _facts(answer: SizingAnswer) -> list[tuple[str, str]]:
    z = answer.sizing
    known = "" if z.present_known else ", at least: the room of a space is unknown"
    facts = [
        ("managed", f"{z.managed_units} units, {format_bytes(z.managed_bytes)} ({exact_bytes(z.managed_bytes)})"),
        ("all on it saves", format_wait(z.all_fast_per_hour)),
        ("saved now", f"{format_wait(z.saved_now_per_hour)}, by where things are"),
        ("present size", f"{format_bytes(z.present.size_bytes)} to fill{known}"),
        ("read times", read_times_text(answer.tiers)),
    ]
    if z.pinned_bytes:
        facts.append(("pinned", f"{format_bytes(z.pinned_bytes)} must be on it, and come first"))
    if len(answer.tiers) > 2:
        facts.append(("middle tiers", "left out: what is not on the fastest tier counts as on the slowest"))
    return facts


def _rows(z: Sizing) -> list[tuple[str, Point]]:
    """Named points by size."""
    named = [(f"{percent}%", z.at(percent)) for percent in SHOWN_PERCENT]
    named.append(("present", z.present))
    if z.knee_distance:
        named.append(("knee", z.knee))
    return sorted(named, key=lambda row: row[1].size_bytes)


# Which columns leave a narrow terminal first; drives and money are what one who buys has asked for.
LEAVES = {
    "size": 0,
    "saves": 0,
    "of all": 0,
    "next GiB saves": 0,
    "at best": 2,
    "between": 3,
    "units": 4,
    "of units": 5,
    "of bytes": 5,
}


def _columns(answer: SizingAnswer) -> list[Column]:
    titles = ["size", "saves", "between", "of all", "at best", "next GiB saves", "units", "of units", "of bytes"]
    if answer.cost(answer.sizing.knee) is not None:
        titles += ["cost/year", "per session"]
    titles += list(_drive_titles(answer).values())
    return [Column("point"), *(Column(title, number=True, leaves=LEAVES.get(title, 1)) for title in titles)]


def _drive_titles(answer: SizingAnswer) -> dict[str, str]:
    known = answer.drives(answer.sizing.knee)
    titles = {
        "fast_drives": f"{answer.tiers[0].name} drives",
        "slow_drives": f"{answer.tiers[-1].name} drives",
        "drives_saved": f"{answer.tiers[-1].name} drives saved",
    }
    return {key: title for key, title in titles.items() if known[key] is not None}


def _cells(answer: SizingAnswer, name: str, point: Point) -> list[str]:
    z = answer.sizing
    cells = [
        name,
        format_bytes(point.size_bytes),
        format_sessions(point.saved_per_hour),
        f"{format_sessions(point.today_per_hour)} and {format_sessions(point.most_per_hour)}",
        format_ratio(z.share(point)),
        format_sessions(point.bound_per_hour),
        format_sessions(z.next_gib(point)),
        str(point.units),
        format_ratio(ratio_of(point.units, z.managed_units)),
        format_ratio(ratio_of(point.used_bytes, z.managed_bytes)),
    ]
    cost = answer.cost(point)
    if cost is not None:
        cells += [
            f"{cost:,.2f}",
            f"{price_per(cost, point.saved_per_hour / HOUR):,.3g}" if point.saved_per_hour else "-",
        ]
    drives = answer.drives(point)
    return cells + [str(drives[key]) for key in _drive_titles(answer)]


def _print_advice(out: Output, answer: SizingAnswer) -> None:
    """What the curve says, in sentences."""
    z, fast = answer.sizing, answer.tiers[0].name
    out.line()
    if z.present.saved_per_hour - z.saved_now_per_hour > 0.01 * z.all_fast_per_hour:
        for line in without_buying(answer):
            out.line(line)
    if answer.splits is not None:
        out.line(split_line(answer.splits, fast))
    if not z.knee_distance:
        out.line("there is no knee: every GiB saves about as much as any other")
        return
    out.line(f"knee: {KNEE_MEANS}")
    gap = z.knee.size_bytes - z.present.size_bytes
    if gap > 0:
        more = max(0.0, z.knee.saved_per_hour - z.present.saved_per_hour)
        capacity = gap / (1 - answer.head_room_ratio)
        out.line(
            f"{fast} is below its knee: {format_bytes(capacity)} more, head-room included, "
            f"would save {format_wait(more)} more"
        )
    else:
        out.line(f"{fast} is at its knee or beyond it: another GiB saves {format_wait(z.next_gib(z.present))}")


def split_line(found: SplitSizing, fast: str) -> str:
    """What the fast storage that there is would do if units were split."""
    what = "the hot part of 1 unit" if found.units == 1 else f"the hot parts of {found.units} units"
    saves = f"{format_wait(found.split_saved_per_hour)} in place of {format_wait(found.saved_per_hour)}"
    if found.alike_bytes <= found.size_bytes:
        return f"with {what} split off, {format_bytes(found.size_bytes)} of {fast} would save {saves}"
    return (
        f"with {what} split off, {format_bytes(found.size_bytes)} of {fast} do what {format_bytes(found.alike_bytes)} "
        f"do without: they would save {saves}; hotplace plan says which"
    )


def without_buying(answer: SizingAnswer) -> list[str]:
    """What the room that there is could save, what a plan saves of it now, and why not more."""
    idle, found = answer.idle_per_hour, answer.plannable
    lines = [f"without buying: the present size could save {format_wait(idle)} more at today's latencies"]
    if found is None:
        return lines
    moves = f"{found.moves} move{'' if found.moves == 1 else 's'}"
    saves = f"has {moves}, which save{'s' if found.moves == 1 else ''} {format_wait(found.saves_per_hour)}"
    lines.append(f"hotplace plan {saves if found.moves else 'moves nothing of it now'}")
    if found.saves_per_hour < NEARLY_ALL * idle:
        kept = [f"{each.verdict.code} ({_units(each)})" for each in found.kept_back[:KEPT_BACK_SHOWN]]
        others = "what is there would have to give way, which does not pay for the moves"
        lines.append(f"why not more: {', '.join(kept) or others}; see hotplace units, hotplace explain UNIT")
    return lines


def _units(each: KeptBack) -> str:
    return f"{each.units} unit{'' if each.units == 1 else 's'}, {format_wait(each.saves_per_hour)}"


# -- all databases ---------------------------------------------------------------------------------------------------


def _fleet(session: Session) -> ExitCode:
    """Every database by what its next GiB saves; one that cannot be read is named and does not stop the others."""
    answers: list[SizingAnswer] = []
    failed: list[tuple[str, HotplaceError]] = []
    for database in session.databases:
        try:
            answers.append(answer_of(database, session.ledger, session.clock))
        except HotplaceError as error:
            failed.append((database.name, error))
    answers.sort(key=lambda answer: (-answer.sizing.next_gib(answer.sizing.present), answer.database))
    if answers:
        session.out.line("where the next GiB of fast storage helps most", style="bold")
        session.out.table(FLEET_COLUMNS, [_fleet_cells(answer) for answer in answers])
    for name, problem in failed:
        session.out.problem(f"{name}: {problem}", problem.advice)
    session.out.document(
        {
            "fleet": [{"rank": rank, **fleet_document(answer)} for rank, answer in enumerate(answers, start=1)],
            "failed": [{"database": name, "error": str(problem)} for name, problem in failed],
        }
    )
    return exit_code_of(failed[0][1]) if failed else ExitCode.OK


FLEET_COLUMNS = (
    Column("database", name=True), Column("tier"), Column("present size", number=True, leaves=2),
    Column("next GiB saves", number=True),
    Column("knee", number=True), Column("missing", number=True, leaves=1), Column("would save", number=True),
)  # fmt: skip


def _fleet_cells(answer: SizingAnswer) -> tuple[str, ...]:
    row = fleet_document(answer)
    return (
        answer.database,
        answer.tiers[0].name,
        format_bytes(answer.sizing.present.size_bytes) + ("" if answer.sizing.present_known else " or more"),
        format_sessions(row["next_gib_saves_per_hour_seconds"]),
        format_bytes(row["knee_bytes"]) if row["knee_bytes"] is not None else "none",
        format_bytes(row["missing_bytes"]),
        format_sessions(row["missing_saves_per_hour_seconds"]),
    )
