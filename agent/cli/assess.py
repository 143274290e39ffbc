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
from agent.model.answers.setup import Assessments, OfferAssessed, QueriesToExport, SpaceAssessed, UnitAssessed
from agent.model.units_of_measure import parse_bytes, parse_seconds
from agent.planning.read_times import read_times_text
from agent.studies.assessment import AssessmentResult, assess, assessment_shown, observe_exports
from agent.studies.assessment_files import csv_rows, is_export, read_export, read_text
from agent.terminal.charts import ChartMark, Curve, text_chart
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from connectors.kit.assessment import FromFiles, Observation, Row, UnusableFile
from connectors.kit.registry import engine_names, find_engine
from connectors.model.formatting import (
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from policies.model.settings import PolicySettings
from policies.placement.sizing import Point, Sizing

SHOWN = 12  # units of the table
SHOWN_PERCENT = (1, 5, 10, 25, 50, 100)  # rows of the curve, in addition to the knee
FAST_KINDS = ("ssd", "nvme")


@command(HelpGroup.LOOK, "hotplace assess awrrpt_1_100_101.html --ssd 100GB", name="assess")
def assess_command(
    session: Session,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Reports; or two exports, before and after: folders or JSON files."),
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
        str | None, typer.Option("--elapsed", help="Time between two exports; else by the times of the files.")
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
    session.out.document(Assessments(assessments=tuple(answers)))
    return ExitCode.OK


def _quantity(text: str) -> int:
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--ssd") from error


def _seconds(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--elapsed") from error


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
    exports = [path for path in files if is_export(path)]
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
    known_sizes: list[Row] = [] if sizes is None else csv_rows(sizes)
    return [_report(path, known_sizes) for path in files]


def _report(path: Path, sizes: list[Row]) -> Observation:
    """The report in a file, read by the engine that recognises it.

    Raises:
        UnusableFile: none does, or it cannot be used.
    """
    text = read_text(path)
    readers = [hand for name in engine_names() if (hand := find_engine(name).by_hand) is not None]
    for hand in readers:
        if hand.read_report is not None and hand.is_report(text):
            return hand.read_report(str(path), text, sizes)
    raise UnusableFile(
        str(path),
        "is no report that hotplace knows: neither STATSPACK report nor WORKLOAD REPOSITORY report begins it",
        advice="Name a Statspack or AWR report, or two exports: hotplace assess --print-queries ENGINE.",
        line=1,
    )


# -- printing --------------------------------------------------------------------------------------------------------


def _print(out: Output, shown: AssessmentShown, found: AssessmentResult, kind: str, offered: int | None) -> None:
    out.line(f"{shown.database}: {shown.source}", style="bold")
    out.facts([*_facts(shown), ("read times", read_times_text(found.tiers))])
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
    facts = [
        ("period", format_seconds(shown.seconds)),
        ("read wait", f"{format_wait(shown.read_wait_per_hour_seconds)}, by reads and read times"),
    ]
    if not isnan(measured):
        facts.append(("measured", f"{format_wait(measured)}, as the engine timed them"))
    if not isnan(ceiling):
        facts.append(("share", f"{format_ratio(ceiling)} of the sessions' time; other waits may get shorter too"))
    return facts


SPACE_COLUMNS = (
    Column("space"), Column("reads/s", number=True, leaves=2), Column("each", number=True, leaves=1),
    Column("wait", number=True), Column("saves", number=True), Column("size", number=True),
)  # fmt: skip
UNIT_COLUMNS = (
    Column("object", name=True), Column("wait", number=True), Column("between", number=True),
    Column("saves", number=True), Column("size", number=True),
)  # fmt: skip


def _space_cells(each: SpaceAssessed) -> list[str]:
    return [
        each.space, format_rate(each.random_reads_per_second), format_seconds(each.read_seconds),
        format_sessions(each.wait_per_hour_seconds), format_sessions(each.wait_saved_per_hour_seconds),
        _size(each.bytes),
    ]  # fmt: skip


def _unit_cells(each: UnitAssessed) -> list[str]:
    low, high = format_sessions(each.wait_low_per_hour_seconds), format_sessions(each.wait_high_per_hour_seconds)
    return [
        each.unit, format_sessions(each.wait_per_hour_seconds), low if low == high else f"{low} and {high}",
        format_sessions(each.wait_saved_per_hour_seconds), _size(each.bytes),
    ]  # fmt: skip


def _size(size: int | None) -> str:
    return "unknown" if size is None else format_bytes(size)


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
    low = format_sessions(max(0.0, offer.wait_saved_low_per_hour_seconds))
    high = format_sessions(offer.wait_saved_high_per_hour_seconds)
    saves = format_wait(offer.wait_saved_per_hour_seconds)
    out.line(f"saves {saves}, between {low} and {high}, at today's latencies")
    for unit in offer.units[:SHOWN]:
        out.line(f"  {unit.unit}: {format_bytes(unit.bytes)}, saves {format_wait(unit.wait_saved_per_hour_seconds)}")
