"""How much fast storage is worth buying, and for which database? ``sizing``.

``sizing --break-even``: the five-minute rule by the site's own prices.

``sizing --all``: how pools of fast storage are best shared, and where the next bytes bring most.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.fleet import document_rows, first_rows, say_rest, say_unseen, selection_of
from agent.cli.options import (
    AllDatabases,
    Limit,
    amounts_of,
    more_than_zero,
    number,
    parse_option,
    refuse,
    refuse_without_all,
)
from agent.cli.plan import sentence_without_demand
from agent.cli.session import Session
from agent.config.models import DatabaseConfig
from agent.ledger.rows import EVERY
from agent.ledger.state_names import SIZING_CURVE
from agent.model.answers.sizing import (
    BreakEven,
    CurveFiles,
    DatabaseSized,
    PlannedTierShown,
    PoolShared,
    PoolsShared,
    PriceShown,
    ShareOfPool,
    SizeOffered,
    UnitOnWrongSide,
    UnitsKeptBack,
    WithoutBuying,
    WithSplits,
)
from agent.model.units_of_measure import parse_bytes, parse_seconds
from agent.planning.first_tier import how_to_use
from agent.planning.read_times import read_times_text
from agent.service.pools import PoolMember, PoolShare, SharedPool, members_of, share_budget, share_more
from agent.studies.planned_tier import PlannedTier, planned_tier_of, tiers_compared
from agent.studies.sizing import (
    RAM,
    BreakEvenPrices,
    SizingAnswer,
    answer_of,
    break_even_of,
    csv_text,
    curve_of,
    database_sized,
)
from agent.terminal.charts import text_chart
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode, write_file
from agent.terminal.output import Output
from agent.terminal.wording import forecast_facts
from connectors.model.formatting import (
    exact_bytes,
    format_bytes,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from policies.evidence.prices import HOUR
from policies.model.settings import WRITE_FACTORS, TierPrice, price_per
from policies.placement.pool import PoolTooSmall

UNITS_SHOWN = 10  # of each interval; JSON has all of them
BREAK_EVEN_COLUMNS = [
    Column("unit", name=True), Column("on"), Column("belongs on"), Column("size", number=True),
    Column("a page is read every", number=True), Column("spares", number=True),
]  # fmt: skip


def show_break_even(
    session: Session,
    price: Sequence[str],
    drive_iops: Sequence[str],
    drive_size: Sequence[str],
    planned: PlannedTier | None,
) -> None:
    """Show the intervals, and what is on the wrong side of each."""
    names = tiers_compared(session.database, planned)
    prices = BreakEvenPrices(
        gib=amounts_of(price, [RAM, *names], "--price", more_than_zero(number)),
        drive_iops=amounts_of(drive_iops, names, "--drive-iops", more_than_zero(number)),
        drive_bytes=amounts_of(drive_size, names, "--drive-size", more_than_zero(parse_bytes)),
    )
    answer = break_even_of(session.database, session.ledger, session.clock, prices, planned)
    out = session.out
    out.line(f"{answer.database}: pages of {format_bytes(answer.page_bytes)} by the five-minute rule", style="bold")
    for each in answer.intervals:
        _print_break_even(out, each)
    out.line("reads: the mean of all pages of a unit; spares: in the currency of the prices, for the time they cover")
    out.document(answer)


def _print_break_even(out: Output, each: BreakEven) -> None:
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
    out.table(BREAK_EVEN_COLUMNS, [_break_even_cells(unit) for unit in each.wrong_side[:UNITS_SHOWN]])
    if len(each.wrong_side) > UNITS_SHOWN:
        out.line(f"and {len(each.wrong_side) - UNITS_SHOWN} more; --json names them")


def _break_even_cells(each: UnitOnWrongSide) -> tuple[str, ...]:
    every = "never" if isinf(each.seconds_between_reads) else format_seconds(each.seconds_between_reads)
    return each.unit, each.on, each.belongs_on, format_bytes(each.bytes), every, f"{each.spares:,.2f}"


POOL_COLUMNS = (
    Column("database", name=True), Column("tier", leaves=2), Column("now", number=True), Column("share", number=True),
    Column("change", number=True, leaves=1), Column("saves now", number=True), Column("would save", number=True),
)  # fmt: skip
USUAL_MORE = 100 * 10**9  # bytes
ALL = "all databases"


@dataclass(frozen=True, slots=True)
class _Pool:
    name: str
    members: list[PoolMember]
    budget: int | None  # None: only what comes on top is shared


def show_sizing(session: Session, pool: str, more: str, limit: int | None) -> None:
    """Print each pool, or the document."""
    extra = parse_option(parse_bytes, more, "--more") if more else None
    shared = []
    for each in _pools(session, pool):
        if not each.members:
            session.out.line(f"{each.name}: no agent has planned for a database of it yet, so no curve is known")
            continue
        found = _pool_shared(each, _share(each, extra))
        _print_pools(session, each.name, found, limit)
        shared.append(replace(found, databases=tuple(document_rows(found.databases, limit))))
    session.out.document(PoolsShared(pools=tuple(shared)))


def _pools(session: Session, name: str) -> Iterator[_Pool]:
    """The configured pools with their databases; without any all databases as one, whose sizes stay.

    Raises:
        BadParameter: no pool has that name.
    """
    pools = [pool for pool in session.config.pools if name in {"", pool.name}]
    if name and not pools:
        known = ", ".join(pool.name for pool in session.config.pools) or "none"
        raise typer.BadParameter(f"no pool is named {name!r}; configured: {known}", param_hint="--pool")
    curves = session.ledger.overview.documents(SIZING_CURVE, selection_of(session, "").pattern)
    say_unseen(session)
    for pool in pools:
        yield _Pool(pool.name, members_of(curves, pool.databases), pool.budget_bytes)
    if not pools:
        yield _Pool(ALL, members_of(curves, [EVERY]), None)


def _share(pool: _Pool, more: int | None) -> SharedPool:
    """The best use of a pool.

    Raises:
        CommandError: it does not hold what is pinned.
    """
    if more is not None or pool.budget is None:
        return share_more(pool.members, USUAL_MORE if more is None else more)
    try:
        return share_budget(pool.members, pool.budget)
    except PoolTooSmall as error:
        raise CommandError(
            f"pool {pool.name}: {error}",
            code=ExitCode.REFUSED,
            advice="Raise its budget, or remove pins of what must be on the fastest tier: hotplace pin --list.",
        ) from error


def _print_pools(session: Session, name: str, pool: PoolShared, limit: int | None) -> None:
    out, bound = session.out, pool.bound_per_hour_seconds
    out.line(f"{name}: {format_bytes(pool.budget_bytes)} for {len(pool.databases)} databases", style="bold")
    changed = [share for share in pool.databases if share.bytes != share.present_bytes]
    rows = first_rows(changed, limit)
    if rows:
        out.table(POOL_COLUMNS, [_pool_cells(share) for share in rows])
    say_rest(session, len(changed), len(rows), "databases")
    kept = len(pool.databases) - len(changed)
    if kept and not changed:
        out.line("each keeps its present size")
    elif kept:
        out.line(f"{kept} more {'keeps its present size' if kept == 1 else 'keep their present sizes'}")
    out.line(f"would save {format_wait(pool.gained_per_hour_seconds)} more than the present sizes at their best")
    out.line(f"another GiB saves {format_wait(pool.next_gib_saves_per_hour_seconds)} at most, wherever it goes")
    if not pool.exact:
        left = format_ratio((bound - pool.wait_saved_per_hour_seconds) / bound)
        out.line(f"no other share saves more than {left} beyond that")
    out.line("bytes that objects may fill: head-room comes on top; saves: sessions that no longer wait, on average")


def _pool_cells(share: ShareOfPool) -> tuple[str, ...]:
    change = share.bytes - share.present_bytes
    return (
        share.database, share.tier,
        format_bytes(share.present_bytes) + ("" if share.present_size_known else " or more"),
        format_bytes(share.bytes), f"{'+' if change > 0 else '-'}{format_bytes(abs(change))}",
        format_sessions(share.wait_saved_now_per_hour_seconds), format_sessions(share.wait_saved_per_hour_seconds),
    )  # fmt: skip


def _pool_shared(pool: _Pool, found: SharedPool) -> PoolShared:
    return PoolShared(
        pool=pool.name if pool.budget is not None else None,
        budget_bytes=found.budget_bytes,
        used_bytes=found.plan.bytes,
        wait_saved_per_hour_seconds=found.plan.saved,
        bound_per_hour_seconds=found.plan.bound,
        exact=found.plan.exact,
        gained_per_hour_seconds=found.gained_per_hour,
        next_gib_saves_per_hour_seconds=found.next_gib_per_hour,
        databases=tuple(map(_share_of_pool, found.shares)),
    )


def _share_of_pool(share: PoolShare) -> ShareOfPool:
    return ShareOfPool(
        database=share.member.curve.name,
        tier=share.member.tier,
        present_bytes=share.member.present_bytes,
        present_size_known=share.member.present_known,
        bytes=share.bytes,
        wait_saved_now_per_hour_seconds=share.saved_now_per_hour,
        wait_saved_per_hour_seconds=share.saved_per_hour,
    )


NEARLY_ALL = 0.9  # of what could be saved: a plan that saves more needs no excuse
KEPT_BACK_SHOWN = 3  # reasons
NVME = "nvme"  # the fastest kind, for an example
SHOWN_PERCENT = (1, 5, 10, 25, 50, 100)  # rows of the table, in addition to the knee and the present size


@command(
    HelpGroup.LOOK, "hotplace sizing --tier ssd --size 500GiB --price ssd=2.40 --price hdd=0.30", name="sizing",
    reads=True,
)  # fmt: skip
def sizing_command(
    session: Session,
    tier: Annotated[
        str | None, typer.Option(metavar="NAME", help="A faster tier that is not there yet; nvme and ssd say its kind.")
    ] = None,
    random_read: Annotated[
        str | None, typer.Option(metavar="DURATION", help="What one random read takes on that tier: 0.3ms.")
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="SIZE", help="What that tier is to hold: 500GiB.")] = None,
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
    everything: AllDatabases = False,
    pool: Annotated[
        str, typer.Option("--pool", metavar="NAME", help="With --all: only this pool of the configuration.")
    ] = "",
    more: Annotated[
        str, typer.Option("--more", metavar="SIZE", help="With --all: keep what each has, and share so much on top.")
    ] = "",
    limit: Limit = None,
) -> None:
    """Show how much fast storage is worth having: the curve, its knee, and what the next GiB saves."""
    if raid not in {None, *WRITE_FACTORS}:
        raise typer.BadParameter(f"{raid} is not one of 1, 5, 6", param_hint="--raid")
    prices, files = (price or (), drive_iops or ()), {"--csv": csv_file, "--svg": svg_file, "--raid": raid}
    if everything:
        given = {
            "--tier": tier, "--random-read": random_read, "--size": size, "--price": price, "--drive-iops": drive_iops,
            "--drive-size": drive_size, "--break-even": break_even,
        }  # fmt: skip
        refuse({**files, **given}, "it takes no --all")
        show_sizing(session, pool, more, limit)
        return
    refuse_without_all({"--pool": pool, "--more": more, "--limit": limit})
    planned = _find_planned_tier(session, tier, random_read, size)
    if break_even:
        refuse({**files, "--size": size}, "--break-even does not take it")
        show_break_even(session, *prices, drive_size or (), planned)
        return
    refuse({"--drive-size": drive_size}, "it is for --break-even only")
    _one(session, planned, *prices, raid, csv_file=csv_file, svg_file=svg_file)


def _find_planned_tier(
    session: Session, name: str | None, random_read: str | None, size: str | None
) -> PlannedTier | None:
    """The tier that is not there yet, by options and configuration.

    Raises:
        BadParameter: it is there already, or an amount is none.
    """
    seconds = random_read and parse_option(more_than_zero(parse_seconds), random_read, "--random-read")
    capacity = size and parse_option(more_than_zero(parse_bytes), size, "--size")
    try:
        return planned_tier_of(
            session.database, name, random_read_seconds=seconds or None, capacity_bytes=capacity or None
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--tier") from error


def _one(
    session: Session,
    planned: PlannedTier | None,
    price: Iterable[str],
    drive_iops: Iterable[str],
    raid: int | None,
    *,
    csv_file: Path | None,
    svg_file: Path | None,
) -> None:
    """The curve on the terminal and in the files that were asked for."""
    answer = answer_of(session.database, session.ledger, session.clock, planned=True, tier=planned)
    answer = replace(answer, prices=_prices(answer, price, drive_iops, raid))
    found = database_sized(answer, CurveFiles(csv=_name(csv_file), svg=_name(svg_file)))
    if csv_file is not None:
        write_file(csv_file, csv_text(found.points))
    if svg_file is not None:
        write_file(svg_file, _svg_text(answer))
    _print(session, answer, found)
    for path in (csv_file, svg_file):
        if path is not None:
            session.out.line(f"written: {path}")
    session.out.document(found)


def _name(file: Path | None) -> str | None:
    return None if file is None else str(file)


def _svg_text(answer: SizingAnswer) -> str:
    from agent.pages.plots import curve_figure  # only a picture needs the library that draws it

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


def _print(session: Session, answer: SizingAnswer, found: DatabaseSized) -> None:
    out, fast, slow = session.out, found.fastest_tier, found.slowest_tier
    out.line(f"{found.database}: what {fast} saves over {slow}", style="bold")
    out.facts(_facts(answer, found))
    if reasons := _why_no_curve(session, found):
        for line in reasons:
            out.line(line)
        return
    if answer.all_fast is not None:
        out.heading(f"with everything on {fast}")
        out.facts(forecast_facts(answer.all_fast))
    out.heading(f"share of {format_wait(found.all_fast_wait_saved_per_hour_seconds)} saved, by bytes on {fast}")
    for line in text_chart(curve_of(answer), shutil.get_terminal_size().columns):
        out.line(line)
    size = answer.size_name
    out.line(f"# whole objects, . upper bound{', K knee' if found.knee else ''}{f', P {size} size' if size else ''}")
    out.line()
    out.table(_columns(found), [_cells(found, name, point) for name, point in _rows(found, size)])
    out.line("saves, next GiB saves: sessions that no longer wait, on average")
    out.line(found.savings_definition)
    _print_advice(out, found, session.database)
    _print_cost(out, found)


def _print_cost(out: Output, found: DatabaseSized) -> None:
    """What the figures of money, wear and drives are."""
    fast, slow = found.fastest_tier, found.slowest_tier
    if found.present.cost_per_year is not None:
        out.line(f"cost: a year of {fast} at that size and of {slow} for the rest, head-room included; "
                 "per session: for each waiting session saved")  # fmt: skip
    wear = None if found.knee is None else found.knee.wear_ratio
    if wear is not None:
        worn = f", so it is bought {wear:.3g} times as often" if wear > 1 else ""
        out.line(f"wear: at its knee {fast} is written {format_ratio(wear)} of what it endures a day{worn}")
    if any(price.drive_iops for price in found.prices.values()):
        _print_drives(out, found.prices)


def _why_no_curve(session: Session, found: DatabaseSized) -> list[str]:
    """What is missing for a curve, and what to do; empty where nothing is."""
    if not found.managed_units:
        slowest = found.slowest_tier
        return [
            f"nothing is managed: {slowest} has no space with a table or an index in it",
            f"next: name the space where the tables lie below the spaces of {slowest}; hotplace doctor lists them",
        ]
    if not found.watched_seconds:
        return ["how much it would serve is not known", sentence_without_demand(session)]
    fast, slow = found.tiers[0], found.tiers[-1]
    if found.planned_tier is not None and fast.random_read_seconds >= slow.random_read_seconds:
        here, there = (format_seconds(tier.random_read_seconds) for tier in (slow, fast))
        source = found.planned_tier.speed_source
        why = f"a random read takes {there} on it, {source}, and {here} ({slow.source}) on {slow.name}"
        return [
            f"{fast.name} is not faster: {why}",
            f"next: name a faster one, for example: hotplace sizing --tier {NVME} --random-read 0.1ms",
        ]
    if found.all_fast_wait_saved_per_hour_seconds <= 0:
        return [
            "no demand is known that fast storage would serve quicker: there is nothing to buy it for",
            "next: let `hotplace run` watch for a while, or: hotplace plan --observe 60",
        ]
    return []


def _print_drives(out: Output, prices: Mapping[str, PriceShown]) -> None:
    """By which rates drives were counted."""
    rates = [f"{tier} {price.drive_iops:,.0f}" for tier, price in prices.items() if price.drive_iops]
    raids = sorted({price.raid for price in prices.values() if price.drive_iops})
    writes = ", ".join(f"RAID {raid} makes {WRITE_FACTORS[raid]} I/Os of a write" for raid in raids)
    out.line(f"drives by I/O rate, not by bytes: IOPS per drive {', '.join(rates)}; {writes}")
    out.line("a block that was read ahead counts as one I/O, so numbers of drives are upper bounds")


def _facts(answer: SizingAnswer, found: DatabaseSized) -> list[tuple[str, str]]:
    known = "" if found.present_size_known else ", at least: the room of a space is unknown"
    size = f"{format_bytes(found.managed_bytes)} ({exact_bytes(found.managed_bytes)})"
    facts = [
        ("managed", f"{found.managed_units} units, {size}"),
        ("all on it saves", format_wait(found.all_fast_wait_saved_per_hour_seconds)),
        ("saved now", f"{format_wait(found.wait_saved_now_per_hour_seconds)}, by where things are"),
        *_size_facts(found, known),
        ("read times", read_times_text(answer.tiers)),
    ]
    if found.pinned_bytes:
        facts.append(("pinned", f"{format_bytes(found.pinned_bytes)} must be on it, and come first"))
    if len(found.tiers) > 2:
        facts.append(("middle tiers", "left out: what is not on the fastest tier counts as on the slowest"))
    return facts


def _size_facts(found: DatabaseSized, known: str) -> list[tuple[str, str]]:
    planned = found.planned_tier
    if planned is None:
        return [("present size", f"{format_bytes(found.present.bytes)} to fill{known}")]
    read = f"{format_seconds(planned.random_read_seconds)} a random read, {planned.speed_source}"
    size = "not said (--size); the curve has all sizes"
    if planned.capacity_bytes is not None:
        size = f"{format_bytes(planned.capacity_bytes)}, of which {format_bytes(found.present.bytes)} to fill"
    return [(planned.tier, f"not there yet: {read}"), ("planned size", size)]


def _rows(found: DatabaseSized, size_name: str) -> list[tuple[str, SizeOffered]]:
    """Named points by size."""
    by_size = {point.bytes: point for point in found.points}
    named = [(f"{percent}%", by_size[found.managed_bytes * percent // 100]) for percent in SHOWN_PERCENT]
    if size_name:
        named.append((size_name, found.present))
    if found.knee is not None:
        named.append(("knee", found.knee))
    return sorted(named, key=lambda row: row[1].bytes)


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


def _columns(found: DatabaseSized) -> list[Column]:
    titles = ["size", "saves", "between", "of all", "at best", "next GiB saves", "units", "of units", "of bytes"]
    if found.present.cost_per_year is not None:
        titles += ["cost/year", "per session"]
    titles += [title for title, _ in _drives(found, found.present)]
    return [Column("point"), *(Column(title, number=True, leaves=LEAVES.get(title, 1)) for title in titles)]


def _drives(found: DatabaseSized, point: SizeOffered) -> list[tuple[str, int]]:
    """Numbers of drives with their titles, as far as they are known."""
    drives = (
        (f"{found.fastest_tier} drives", point.fast_drives),
        (f"{found.slowest_tier} drives", point.slow_drives),
        (f"{found.slowest_tier} drives saved", point.drives_saved),
    )
    return [(title, number) for title, number in drives if number is not None]


def _cells(found: DatabaseSized, name: str, point: SizeOffered) -> list[str]:
    saved = point.wait_saved_per_hour_seconds
    today = point.wait_saved_at_todays_latencies_per_hour_seconds
    cells = [
        name,
        format_bytes(point.bytes),
        format_sessions(saved),
        f"{format_sessions(today)} and {format_sessions(point.wait_saved_at_most_per_hour_seconds)}",
        format_ratio(point.of_all_fast_ratio),
        format_sessions(point.bound_per_hour_seconds),
        format_sessions(point.next_gib_saves_per_hour_seconds),
        str(point.units),
        format_ratio(point.units_ratio),
        format_ratio(point.used_bytes_ratio),
    ]
    cost = point.cost_per_year
    if cost is not None:
        cells += [f"{cost:,.2f}", f"{price_per(cost, saved / HOUR):,.3g}" if saved else "-"]
    return cells + [str(drives) for _, drives in _drives(found, point)]


def _print_advice(out: Output, found: DatabaseSized, database: DatabaseConfig) -> None:
    """What the curve says, in sentences."""
    present, knee, fast = found.present, found.knee, found.fastest_tier
    out.line()
    if found.planned_tier is not None:
        for line in _advice_on_planned(found, found.planned_tier, database):
            out.line(line)
        return
    idle = present.wait_saved_per_hour_seconds - found.wait_saved_now_per_hour_seconds
    if idle > 0.01 * found.all_fast_wait_saved_per_hour_seconds:
        for line in without_buying(found.without_buying):
            out.line(line)
    if found.with_splits is not None:
        out.line(split_line(found.with_splits, fast))
    if knee is None:
        out.line("there is no knee: every GiB saves about as much as any other")
        return
    out.line(f"knee: {found.knee_definition}")
    gap = knee.bytes - present.bytes
    if gap > 0:
        more = max(0.0, knee.wait_saved_per_hour_seconds - present.wait_saved_per_hour_seconds)
        capacity = gap / (1 - found.head_room_ratio)
        out.line(
            f"{fast} is below its knee: {format_bytes(capacity)} more, head-room included, "
            f"would save {format_wait(more)} more"
        )
    else:
        saves = format_wait(present.next_gib_saves_per_hour_seconds)
        out.line(f"{fast} is at its knee or beyond it: another GiB saves {saves}")


def _advice_on_planned(found: DatabaseSized, planned: PlannedTierShown, database: DatabaseConfig) -> Iterator[str]:
    """What a tier would save at its size and at its knee, and how it comes to be used."""
    knee, fast = found.knee, found.fastest_tier
    if planned.capacity_bytes is not None:
        saves = format_wait(found.present.wait_saved_per_hour_seconds)
        yield f"{format_bytes(planned.capacity_bytes)} of {fast} would save {saves}"
    if knee is None:
        yield "there is no knee: every GiB saves about as much as any other"
    else:
        yield f"knee: {found.knee_definition}"
        capacity = format_bytes(knee.bytes / (1 - found.head_room_ratio))
        yield f"{capacity} of {fast}, head-room included, reach it: {format_wait(knee.wait_saved_per_hour_seconds)}"
    yield f"next: {how_to_use(database, fast)}"


def split_line(found: WithSplits, fast: str) -> str:
    """What the fast storage that there is would do if units were split."""
    what = "the hot part of 1 unit" if found.units == 1 else f"the hot parts of {found.units} units"
    saves = (
        f"{format_wait(found.split_wait_saved_per_hour_seconds)} in place of "
        f"{format_wait(found.wait_saved_per_hour_seconds)}"
    )
    size = format_bytes(found.bytes)
    if found.alike_bytes <= found.bytes:
        return f"with {what} split off, {size} of {fast} would save {saves}"
    return (
        f"with {what} split off, {size} of {fast} do what {format_bytes(found.alike_bytes)} "
        f"do without: they would save {saves}; hotplace plan says which"
    )


def without_buying(found: WithoutBuying) -> list[str]:
    """What the room that there is could save, what a plan saves of it now, and why not more."""
    idle, saved, moves = found.could_save_per_hour_seconds, found.plan_saves_per_hour_seconds, found.plan_moves
    lines = [f"without buying: the present size could save {format_wait(idle)} more at today's latencies"]
    if saved is None or moves is None:
        return lines
    saves = f"has {moves} move{'' if moves == 1 else 's'}, which save{'s' if moves == 1 else ''} {format_wait(saved)}"
    lines.append(f"hotplace plan {saves if moves else 'moves nothing of it now'}")
    if saved < NEARLY_ALL * idle:
        kept = [f"{each.verdict} ({_units(each)})" for each in found.kept_back[:KEPT_BACK_SHOWN]]
        others = "what is there would have to give way, which does not pay for the moves"
        lines.append(f"why not more: {', '.join(kept) or others}; see hotplace units, hotplace explain UNIT")
    return lines


def _units(each: UnitsKeptBack) -> str:
    return f"{each.units} unit{'' if each.units == 1 else 's'}, {format_wait(each.wait_saved_per_hour_seconds)}"
