"""Which units matter, and why is this one where it is? ``units`` and ``explain``."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from agent.answers.kind import extend
from agent.answers.units import AdviceExplained, AdviceShown, UnitExplained, UnitShown, UnitsRanked
from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.looking.explanation import estimate_of, explain_stored, figures_shown, number_lines, row_of
from agent.cli.looking.inside import show_inside
from agent.cli.options import Columns, parse_columns
from agent.cli.session import Session
from agent.explanation.advice import stored_advice
from agent.explanation.decisions import replay_decision, tiers_of_last_plan
from agent.explanation.ranking import Ranking, ranking_from_arrays
from agent.explanation.read_times import read_times_text, tiers_shown
from agent.ledger.state_names import RANKING
from agent.model.states import UNDOABLE
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.formatting import exact_bytes, format_bytes, format_ratio, format_seconds, format_sessions, format_wait
from policies.explanation.figures import Figures, figures_of
from policies.model.plan import Verdict

SHOWN = 20
NOT_MANAGED = "not managed"
BETWEEN_SAMPLES = timedelta(hours=1)  # at most: a move that ended earlier is in the ranking
COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True),
    Column("sync/s", number=True, leaves=2), Column("prefetch/s", number=True, leaves=4),
    Column("miss", number=True, leaves=3), Column("benefit", number=True), Column("saved", number=True, leaves=1),
    Column("verdict"),
)  # fmt: skip

BY_WORTH = "benefit"  # as it is ranked
SORTED_BY: dict[str, Callable[[Ranking], NDArray[Any]]] = {
    BY_WORTH: lambda ranking: ranking.benefit_per_hour,
    "saved": lambda ranking: ranking.saved_if_moved,
    "size": lambda ranking: ranking.size_bytes,
    "sync/s": lambda ranking: ranking.sync_reads,
    "prefetch/s": lambda ranking: ranking.prefetched_reads,
    "miss": lambda ranking: ranking.miss_ratio,
}


@command(Group.LOOK, "hotplace units --limit 10 --like 'public.*'")
def units(
    session: Session,
    limit: Annotated[int, typer.Option(min=1, help="Show this many.")] = SHOWN,
    everything: Annotated[bool, typer.Option("--all", help="Show all of them.")] = False,
    verdict: Annotated[
        str | None, typer.Option(help=f"Only those with this verdict: {', '.join(v.code for v in Verdict)}.")
    ] = None,
    like: Annotated[str | None, typer.Option(help="Only units whose key matches; * and ? as in file names.")] = None,
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help=f"Sort by this column, the most first: {', '.join(SORTED_BY)}.")
    ] = BY_WORTH,
    columns: Columns = "",
) -> None:
    """Rank units by the foreground wait that fast storage would save them."""
    wanted, titles = _verdict(verdict), parse_columns(columns, COLUMNS)
    figure = _figure(sort)
    at, ranking = stored_ranking(session)
    matching = list(_matching(ranking, wanted, like))
    if sort != BY_WORTH:
        matching.sort(key=lambda row: -float(figure(ranking)[row]))
    rows = matching if everything else matching[:limit]
    tiers = tiers_of_last_plan(session.ledger, session.database.name)
    ranked = UnitsRanked(
        database=session.database.name,
        ranked_at=at,
        tiers=tiers_shown(tiers),
        units_ranked=len(ranking),
        units_matching=len(matching),
        units=tuple(ranking.unit(row) for row in rows),
    )
    with session.out.through_pager():
        _print_units(session, ranked, _moved_since(session, at, ranking), titles)
        if tiers:
            session.out.sentence(f"read times: {read_times_text(tiers)}")
        if more := ranked.units_matching - len(ranked.units):
            session.out.line(f"{more} more: --all or --limit shows them")
    session.out.document(ranked)


def _print_units(session: Session, ranked: UnitsRanked, moved: int, titles: Sequence[str]) -> None:
    session.out.line(f"{ranked.database}: {ranked.units_ranked} units, ranked {format_when(ranked.ranked_at)}")
    session.out.line("benefit and saved: sessions that wait, on average")
    if estimate := estimate_of(session):
        session.out.line(f"estimates: {estimate}")
    if moved:
        session.out.line(
            f"moved since: {moved}; places and verdicts are those of before, until the next sample and plan"
        )
    session.out.table(COLUMNS, (_cells(unit) for unit in ranked.units), titles)


@command(Group.LOOK, "hotplace explain 'public.orders'")
def explain(
    session: Session,
    unit: Annotated[
        str,
        typer.Argument(help="Key of the unit as `hotplace units` prints it, or a log or space that the advice names."),
    ],
    proposal: Annotated[
        int | None, typer.Option(min=1, help="Explain the verdict with which this proposal was made, not the last one.")
    ] = None,
) -> None:
    """Show one unit's numbers and why it was chosen or not."""
    if proposal is not None:
        explain_stored(session, unit, proposal)
    else:
        explain_unit(session, unit)


def explain_unit(session: Session, unit: str) -> None:
    """Print the numbers of a unit in the last plan and why it was chosen or not.

    Raises:
        CommandError: nothing was ranked yet, or no unit has that key.
    """
    at, ranking = stored_ranking(session)
    if unit not in ranking.key and (advice := advice_about(session, unit)):
        _show_advice(session, unit, at, advice)
        return
    row = row_of(ranking.key, unit)
    shown = ranking.unit(row)
    session.out.line(shown.unit, style="bold")
    session.out.sentence(f"{shown.verdict}: {shown.why or 'not near the top; the numbers say why'}")
    session.out.line()
    numbers = _numbers(session, shown.unit)
    rank = [("rank", f"{row + 1} of {len(ranking)}"), ("ranked", format_when(at))]
    session.out.facts(
        [*rank, *_facts(shown), *(number_lines(numbers, estimate=estimate_of(session)) if numbers else [])]
    )
    advice = advice_about(session, shown.unit)
    _print_advice(session, advice)
    inside = show_inside(session, shown.unit, shown.benefit_seconds_per_hour)
    session.out.document(
        extend(
            UnitExplained,
            shown,
            database=session.database.name,
            ranked_at=at,
            rank=row + 1,
            numbers=None if numbers is None else figures_shown(numbers),
            advice=advice,
            inside=inside,
        )
    )


def _show_advice(session: Session, subject: str, at: datetime, advice: tuple[AdviceShown, ...]) -> None:
    """What is advised about a log, a temporary or an undo space, which are no units."""
    session.out.line(subject, style="bold")
    _print_advice(session, advice)
    session.out.document(AdviceExplained(database=session.database.name, ranked_at=at, subject=subject, advice=advice))


def _print_advice(session: Session, advice: Iterable[AdviceShown]) -> None:
    for each in advice:
        session.out.line(f"{each.code}: {each.sentence}")


def _numbers(session: Session, key: str) -> Figures | None:
    """The numbers behind the verdict of the last plan; None where that is not kept or did not know the unit."""
    decision = replay_decision(session.ledger, session.database.name)
    if decision is None or key not in decision.situation.units.key:
        return None
    row = list(decision.situation.units.key).index(key)
    return figures_of(decision.situation, decision.plan, row, decision.settings)


def advice_about(session: Session, key: str) -> tuple[AdviceShown, ...]:
    """The advice of the last plan about a unit, other than moves."""
    return tuple(each for each in stored_advice(session.ledger, session.database.name) if each.subject == key)


def stored_ranking(session: Session) -> tuple[datetime, Ranking]:
    """The ranking of the last plan and when it was made.

    Raises:
        CommandError: nothing was ranked yet.
    """
    stored = session.ledger.state.load_arrays(session.database.name, RANKING)
    if stored is None:
        raise CommandError(
            f"nothing is ranked yet for {session.database.name}",
            code=ExitCode.NOT_FOUND,
            advice="Let `hotplace run` watch it for a while, or look for half a minute: hotplace plan --observe 30",
        )
    return stored[0], ranking_from_arrays(stored[1])


def _moved_since(session: Session, at: datetime, ranking: Ranking) -> int:
    """How many units a move has brought elsewhere since the sample that a ranking was made from."""
    rows = session.ledger.moves.rows(database=session.database.name, states=UNDOABLE, since=at - BETWEEN_SAMPLES)
    homes = {row.move.key: row.move.to_space for row in rows}
    ranked = (
        (key, ranking.space_names[int(ranking.space[row])]) for row, key in enumerate(ranking.key) if key in homes
    )
    return sum(homes[key] != space for key, space in ranked) if homes else 0


def _figure(title: str) -> Callable[[Ranking], NDArray[Any]]:
    if title not in SORTED_BY:
        raise typer.BadParameter(f"{title!r} is none of {', '.join(SORTED_BY)}", param_hint="--sort")
    return SORTED_BY[title]


def _verdict(code: str | None) -> Verdict | None:
    if code is None:
        return None
    known = {verdict.code: verdict for verdict in Verdict}
    if code not in known:
        raise typer.BadParameter(f"{code!r} is none of {', '.join(known)}", param_hint="--verdict")
    return known[code]


def _matching(ranking: Ranking, verdict: Verdict | None, like: str | None) -> Iterator[int]:
    rows = np.arange(len(ranking)) if verdict is None else np.flatnonzero(ranking.verdict == verdict)
    for row in rows.tolist():
        if like is None or fnmatch.fnmatchcase(ranking.key[row], like):
            yield row


def _cells(unit: UnitShown) -> tuple[str, ...]:
    return (
        unit.unit,
        unit.tier or NOT_MANAGED,
        format_bytes(unit.bytes),
        f"{unit.sync_reads_per_second:,.1f}",
        f"{unit.prefetched_reads_per_second:,.1f}",
        format_ratio(unit.miss_ratio),
        format_sessions(unit.benefit_seconds_per_hour),
        format_sessions(unit.wait_saved_per_hour_seconds),
        unit.verdict,
    )


def _facts(unit: UnitShown) -> list[tuple[str, str]]:
    return [
        ("kind", unit.kind.replace("_", " ")),
        ("size", f"{format_bytes(unit.bytes)} ({exact_bytes(unit.bytes)})"),
        ("space", f"{unit.space} (tier {unit.tier or NOT_MANAGED})"),
        ("logical reads", f"{unit.logical_reads_per_second:,.1f} /s"),
        ("sync reads", f"{unit.sync_reads_per_second:,.1f} /s, a session waits for each"),
        ("prefetched reads", f"{unit.prefetched_reads_per_second:,.1f} /s, read ahead of the session"),
        ("writes", f"{unit.writes_per_second:,.1f} /s"),
        ("miss rate", format_ratio(unit.miss_ratio)),
        ("benefit", f"{format_wait(unit.benefit_seconds_per_hour)} on the fastest tier, not the slowest"),
        ("saved if moved", format_wait(unit.wait_saved_per_hour_seconds)),
        ("watched for", format_seconds(unit.observed_seconds)),
        ("confidence", format_ratio(unit.confidence)),
    ]
