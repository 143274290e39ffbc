"""What do reports and exports say, without a connection? ``assess``."""

from __future__ import annotations

import shutil
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.session import Session
from agent.config.tiers import KINDS
from agent.model.answers.setup import Assessment as AssessmentShown
from agent.model.answers.setup import (
    Assessments,
    KindAssessed,
    KindCompared,
    OfferAssessed,
    PeriodsCompared,
    QueriesToExport,
    SpaceAssessed,
    UnitAssessed,
)
from agent.model.units_of_measure import parse_bytes, parse_seconds
from agent.planning.read_times import read_times_text
from agent.studies.assessed import AssessmentResult
from agent.studies.assessment import assess, assessment_shown, observe_exports
from agent.studies.assessment_files import LARGEST_EXPORT_BYTES, is_export, named_csv_rows, read_export, read_text
from agent.studies.counter_files import columns_known, observe_counters, read_counters
from agent.studies.exported_tables import columns_of
from agent.studies.periods_compared import Comparison, compare
from agent.studies.periods_compared import KindCompared as KindOfPeriods
from agent.terminal.charts import ChartMark, Curve, text_chart
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode, write_file
from agent.terminal.output import Output
from connectors.kit.assessment import FromFiles, Observation, UnusableFile
from connectors.kit.registry import engine_names, find_engine
from connectors.model.formatting import (
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from policies.evidence.prices import HOUR
from policies.model.settings import PolicySettings
from policies.placement.sizing import Point, Sizing

SHOWN = 12  # units of the table
SHOWN_PERCENT = (1, 5, 10, 25, 50, 100)  # rows of the curve, in addition to the knee
FAST_KINDS = ("ssd", "nvme")
PAIR = 2  # reports, of before and after


@command(HelpGroup.LOOK, "hotplace assess awrrpt_1_100_101.html --ssd 100GB", name="assess")
def assess_command(
    session: Session,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Reports, two of one database are compared; or two exports, before and after: folders or JSON files.",
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="Whose exports these are; reports say it themselves.")
    ] = None,
    print_queries: Annotated[
        str | None, typer.Option("--print-queries", metavar="ENGINE", help="Print the queries to run by hand.")
    ] = None,
    ssd: Annotated[
        str | None, typer.Option("--ssd", metavar="SIZE", help="Say what so much fast storage would bring.")
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="How fast that is: ssd or nvme.")] = "ssd",
    sizes: Annotated[
        Path | None, typer.Option("--sizes", metavar="FILE", help="Sizes for a report: the result of units.sql as CSV.")
    ] = None,
    elapsed: Annotated[
        str | None, typer.Option("--elapsed", help="Time between two exports that hold no clock.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write it as a page with pictures.")
    ] = None,
) -> ExitCode:
    """Say what sessions wait for, and what fast storage would bring, from reports and exports; asks no database."""
    if print_queries is not None:
        return _print_queries(session.out, print_queries)
    if not files:
        raise typer.BadParameter("name a report, or two exports", param_hint="FILE...")
    if kind not in FAST_KINDS:
        raise typer.BadParameter(f"{kind!r} is not one of {', '.join(FAST_KINDS)}", param_hint="--kind")
    offered = None if ssd is None else _quantity(ssd)
    settings = PolicySettings()
    try:
        observations = _observations(files, engine, sizes, elapsed)
        found = [assess(each, KINDS[kind], KINDS["hdd"], settings, offered=offered) for each in observations]
    except UnusableFile as error:
        raise CommandError(str(error), code=ExitCode.USAGE, advice=error.advice) from error
    answers = [assessment_shown(each) for each in found]
    for shown, each in zip(answers, found, strict=True):
        _print(session.out, shown, each, kind, offered)
    if html is not None:
        from agent.pages.assessed_page import assessed_page  # it brings what draws

        write_file(html, assessed_page(answers))
        session.out.line(f"written: {html}")
    compared = None
    if len(found) == PAIR == len(files):
        comparison = compare(*found)
        compared = _compared_shown(comparison)
        _print_comparison(session.out, comparison)
    session.out.document(Assessments(assessments=tuple(answers), compared=compared))
    return ExitCode.OK


def _quantity(text: str) -> int:
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--ssd") from error


def _seconds(text: str) -> float:
    try:
        found = parse_seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--elapsed") from error
    if found <= 0:
        raise typer.BadParameter(f"{text!r} is no time between two exports", param_hint="--elapsed")
    return found


# -- files -----------------------------------------------------------------------------------------------------------


def _by_hand(name: str) -> FromFiles:
    found = find_engine(name).by_hand
    if found is None:
        known = [each for each in engine_names() if find_engine(each).by_hand is not None]
        raise CommandError(
            f"{name} cannot be assessed from files",
            code=ExitCode.USAGE,
            advice=f"Engines that can: {', '.join(known)}.",
        )
    return found


def _print_queries(out: Output, name: str) -> ExitCode:
    """Each query under the name that its result is saved as."""
    queries = _by_hand(name).queries()
    for query, text in queries.items():
        out.text(f"-- save the result as {query}.csv, with a header line\n{text.rstrip().rstrip(';')};\n\n")
    out.document(QueriesToExport(engine=name, queries=queries))
    return ExitCode.OK


def _observations(files: list[Path], engine: str | None, sizes: Path | None, elapsed: str | None) -> list[Observation]:
    counters = _counters(files, engine, elapsed)
    exports = [] if counters is not None else [path for path in files if is_export(path)]
    if sizes is not None and (counters is not None or exports):
        raise typer.BadParameter(
            "is for reports: counters and exports have sizes of their own, or none", param_hint="--sizes"
        )
    if counters is not None:
        return [counters]
    for path in exports:
        _refuse_other_tools(path)
    if exports and (len(exports) != 2 or len(files) != 2):
        raise UnusableFile(
            str(exports[0]), "is one export; they come in twos", advice="Name the one before, then the one after."
        )
    if exports:
        if engine is None:
            raise typer.BadParameter("say whose exports these are", param_hint="--engine")
        hand = _by_hand(engine)
        before, after = (read_export(path, hand.queries()) for path in exports)
        return [observe_exports(engine, hand, before, after, None if elapsed is None else _seconds(elapsed))]
    return [_report(path, sizes) for path in files]


def _refuse_other_tools(path: Path) -> None:
    """Refuse JSON of another tool by what it is."""
    if path.is_dir():
        return
    text = read_text(path, LARGEST_EXPORT_BYTES)
    for name in engine_names():
        hand = find_engine(name).by_hand
        if hand is not None:
            hand.refuse(str(path), text)


def _counters(files: list[Path], engine: str | None, elapsed: str | None) -> Observation | None:
    """One or two snapshots of counters of an engine's own views; None where the first file is something else."""
    hands = {name: hand for name in engine_names() if (hand := find_engine(name).by_hand) is not None}
    if engine is not None or len(files) > PAIR or files[0].suffix.lower() == ".json":
        return None
    found = [read_counters(path, hands) for path in files]
    *earlier, last = found
    if last is None or None in earlier:
        return None
    return observe_counters(earlier[0] if earlier else None, last, None if elapsed is None else _seconds(elapsed))


def _report(path: Path, sizes: Path | None) -> Observation:
    """The report in a file, read by the engine that recognises it.

    Raises:
        UnusableFile: none does, or it or the file of sizes cannot be used.
    """
    text = read_text(path)
    readers = [hand for name in engine_names() if (hand := find_engine(name).by_hand) is not None]
    for hand in readers:
        hand.refuse(str(path), text)
    for hand in readers:
        if hand.read_report is not None and hand.is_report(text):
            known = None if sizes is None else named_csv_rows(sizes, columns_of(hand.queries()[hand.sizes]))
            return hand.read_report(str(path), text, known)
    raise UnusableFile(
        str(path),
        "is no report that hotplace knows: neither STATSPACK report nor WORKLOAD REPOSITORY report begins it",
        advice=(
            "Name a Statspack or AWR report, two exports (hotplace assess --print-queries ENGINE), or CSV with the "
            f"columns of one of {', '.join(columns_known(readers))}."
        ),
        line=1,
    )


# -- printing --------------------------------------------------------------------------------------------------------


def _print(out: Output, shown: AssessmentShown, found: AssessmentResult, kind: str, offered: int | None) -> None:
    out.line(f"{shown.database}: {shown.source}", style="bold")
    out.facts([*_facts(shown), ("read times", read_times_text(found.tiers))])
    for each in shown.withheld:
        where = f" ({each.section})" if each.section else ""
        out.line(f"withheld, {each.part}{where}: {each.why}", style="bold")
    if shown.waits_by_kind:
        out.heading("waits by kind of read")
        out.table(KIND_COLUMNS, [_kind_cells(each, shown.seconds) for each in shown.waits_by_kind])
    out.heading("spaces, by the sessions that wait for them on average")
    out.table(SPACE_COLUMNS, [_space_cells(each) for each in shown.spaces if each.wait_per_hour_seconds > 0])
    out.heading(f"objects, the first {min(SHOWN, len(shown.units))} of {len(shown.units)}")
    out.table(UNIT_COLUMNS, [_unit_cells(each) for each in shown.units[:SHOWN]])
    out.line("between: least and most that the files leave possible")
    if found.sizing is not None:
        _print_curve(out, found, found.sizing, kind)
    if offered is not None:
        _print_offer(out, shown.offer, kind, offered)
    if shown.notes:
        out.heading("how sure this is")
    for note in shown.notes:
        out.line(f"- {note}")
    out.line()


def _facts(shown: AssessmentShown) -> list[tuple[str, str]]:
    measured, ceiling = shown.measured_read_wait_per_hour_seconds, shown.read_wait_of_session_time_ratio
    how = "by reads and read times: no wait was timed" if isnan(measured) else "as the engine timed them"
    facts = [("period", format_seconds(shown.seconds))]
    if not isnan(shown.read_wait_per_hour_seconds):
        facts.append(("read wait", f"{format_wait(shown.read_wait_per_hour_seconds)}, {how}"))
    if not isnan(ceiling):
        facts.append(("share", f"{format_ratio(ceiling)} of the sessions' time; other waits may get shorter too"))
    return facts


KIND_COLUMNS = (
    Column("kind"), Column("waits", number=True), Column("each", number=True), Column("wait", number=True),
    Column("event", leaves=1),
)  # fmt: skip
SPACE_COLUMNS = (
    Column("space"), Column("reads/s", number=True, leaves=2), Column("one block", number=True, leaves=1),
    Column("wait", number=True), Column("saves", number=True), Column("size", number=True),
)  # fmt: skip
UNIT_COLUMNS = (
    Column("object", name=True), Column("wait", number=True), Column("between", number=True),
    Column("saves", number=True), Column("size", number=True),
)  # fmt: skip


def _kind_cells(each: KindAssessed, seconds: float) -> list[str]:
    whole = each.wait_per_hour_seconds * seconds / HOUR
    return [
        each.kind if each.of_objects else f"{each.kind} (not in the sum)", f"{each.waits:,.0f}",
        format_seconds(whole / each.waits) if each.waits else "", format_sessions(each.wait_per_hour_seconds),
        ", ".join(each.events),
    ]  # fmt: skip


def _space_cells(each: SpaceAssessed) -> list[str]:
    return [
        each.space, _known_rate(each.reads_per_second), format_seconds(each.read_seconds),
        format_sessions(each.wait_per_hour_seconds), format_sessions(each.wait_saved_per_hour_seconds),
        _size(each.bytes),
    ]  # fmt: skip


def _unit_cells(each: UnitAssessed) -> list[str]:
    low, high = format_sessions(each.wait_low_per_hour_seconds), format_sessions(each.wait_high_per_hour_seconds)
    return [
        each.unit, format_sessions(each.wait_per_hour_seconds), low if low == high else f"{low} and {high}",
        format_sessions(each.wait_saved_per_hour_seconds), _size(each.bytes),
    ]  # fmt: skip


def _known_rate(reads: float) -> str:
    return "unknown" if isnan(reads) else format_rate(reads)


def _size(size: int | None) -> str:
    return "unknown" if size is None else format_bytes(size)


COMPARED_COLUMNS = (
    Column("kind"), Column("before", number=True), Column("after", number=True),
    Column("a transaction before", number=True), Column("after", number=True),
)  # fmt: skip


def _print_comparison(out: Output, found: Comparison) -> None:
    out.heading("before and after, for equal work")
    if found.refused:
        out.line(f"not compared: {found.refused}")
        return
    before, after = format_seconds(found.before_wait), format_seconds(found.after_wait)
    out.line(f"a transaction waits {before} for reads before, {after} after")
    out.line(f"for as much work as before that saves {format_wait(found.saves_per_hour)}")
    out.table(COMPARED_COLUMNS, [_compared_cells(each) for each in found.kinds])


def _compared_cells(each: KindOfPeriods) -> list[str]:
    times = ["none" if isnan(time) else format_seconds(time) for time in (each.before_seconds, each.after_seconds)]
    return [each.name, *times, f"{each.before_per_transaction:.3g}", f"{each.after_per_transaction:.3g}"]


def _compared_shown(found: Comparison) -> PeriodsCompared:
    return PeriodsCompared(
        refused=found.refused or None,
        before_wait_per_transaction_seconds=found.before_wait,
        after_wait_per_transaction_seconds=found.after_wait,
        wait_saved_per_hour_seconds=found.saves_per_hour,
        kinds=tuple(
            KindCompared(
                kind=each.name, before_seconds=each.before_seconds, after_seconds=each.after_seconds,
                before_per_transaction=each.before_per_transaction, after_per_transaction=each.after_per_transaction,
            )
            for each in found.kinds
        ),
    )  # fmt: skip


def _print_curve(out: Output, found: AssessmentResult, z: Sizing, kind: str) -> None:
    if z.all_fast_per_hour <= 0:
        out.line()
        out.line(f"{kind} would save nothing: reads are as quick already")
        return
    out.heading(f"share of {format_wait(z.all_fast_per_hour)} saved, by bytes on {kind}")
    for line in text_chart(_curve(found, z, kind), shutil.get_terminal_size().columns):
        out.line(line)
    rows = [(f"{percent}%", z.at(percent)) for percent in SHOWN_PERCENT]
    if z.knee_distance:
        rows.append(("knee", z.knee))
    out.table(
        CURVE_COLUMNS, [_curve_cells(z, name, point) for name, point in sorted(rows, key=lambda r: r[1].size_bytes)]
    )
    if found.sized_ratio < 1:
        out.line(f"the curve is of objects whose size is known: {format_ratio(found.sized_ratio)} of the wait")


CURVE_COLUMNS = (
    Column("point"), Column("size", number=True), Column("saves", number=True), Column("of all", number=True),
    Column("next GiB saves", number=True), Column("objects", number=True),
)  # fmt: skip


def _curve_cells(z: Sizing, name: str, point: Point) -> list[str]:
    return [
        name, format_bytes(point.size_bytes), format_sessions(point.saved_per_hour), format_ratio(z.share(point)),
        format_sessions(z.next_gib(point)), str(point.units),
    ]  # fmt: skip


def _curve(found: AssessmentResult, z: Sizing, kind: str) -> Curve:
    mark = ChartMark(sign="K", name="knee", size_bytes=z.knee.size_bytes, saved_per_hour=z.knee.saved_per_hour)
    return Curve(
        title=f"{found.observation.database}: what {kind} saves",
        size_bytes=[point.size_bytes for point in z.points],
        saved_per_hour=[point.saved_per_hour for point in z.points],
        bound_per_hour=[point.bound_per_hour for point in z.points],
        most_bytes=max(1, z.managed_bytes),
        most_per_hour=max(z.all_fast_per_hour, 1e-9),
        marks=(mark,) if z.knee_distance else (),
    )


def _print_offer(out: Output, offer: OfferAssessed | None, kind: str, offered: int) -> None:
    out.heading(f"{format_bytes(offered)} of {kind}")
    if offer is None:
        out.line("what it would bring is not known: the files have no sizes; see --sizes")
        return
    out.line(f"usable {format_bytes(offer.usable_bytes)}: a plan keeps the rest free as head-room, the curve has none")
    low = format_sessions(offer.wait_saved_low_per_hour_seconds)
    high = format_sessions(offer.wait_saved_high_per_hour_seconds)
    saves = format_wait(offer.wait_saved_per_hour_seconds)
    out.line(f"saves {saves}, between {low} and {high}, at today's latencies")
    for unit in offer.units[:SHOWN]:
        out.line(f"  {unit.unit}: {format_bytes(unit.bytes)}, saves {format_wait(unit.wait_saved_per_hour_seconds)}")
