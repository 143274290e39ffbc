"""Which units matter, and why is this one where it is? ``units`` and ``explain``."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.looking.explanation import explain_stored, number_lines, numbers_document, row_of
from agent.cli.looking.inside import show_inside
from agent.cli.options import Columns, parse_columns
from agent.cli.session import Session
from agent.explanation.advice import stored_advice
from agent.explanation.decisions import replay_decision, tiers_of_last_plan
from agent.explanation.ranking import Ranking, ranking_from_arrays
from agent.explanation.read_times import read_times_document, read_times_text
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
    with session.out.through_pager():
        _print_units(session, at, ranking, rows, titles)
        if tiers:
            session.out.sentence(f"read times: {read_times_text(tiers)}")
        if len(rows) < len(matching):
            session.out.line(f"{len(matching) - len(rows)} more: --all or --limit shows them")
    session.out.document(
        {
            "database": session.database.name,
            "ranked_at": at,
            "tiers": read_times_document(tiers),
            "units_ranked": len(ranking),
            "units_matching": len(matching),
            "units": [ranking.document(row) for row in rows],
        }
    )


def _print_units(session: Session, at: datetime, ranking: Ranking, rows: Sequence[int], titles: Sequence[str]) -> None:
    session.out.line(f"{session.database.name}: {len(ranking)} units, ranked {format_when(at)}")
    session.out.line("benefit and saved: sessions that wait, on average")
    if moved := _moved_since(session, at, ranking):
        session.out.line(
            f"moved since: {moved}; places and verdicts are those of before, until the next sample and plan"
        )
    session.out.table(COLUMNS, (_cells(ranking, row) for row in rows), titles)


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
    document = ranking.document(row)
    session.out.line(ranking.key[row], style="bold")
    session.out.sentence(f"{document['verdict']}: {document['why'] or 'not near the top; the numbers say why'}")
    session.out.line()
    numbers = _numbers(session, ranking.key[row])
    session.out.facts([*_facts(ranking, row, at), *(number_lines(numbers) if numbers else [])])
    advice = advice_about(session, ranking.key[row])
    for each in advice:
        session.out.line(f"{each['code']}: {each['sentence']}")
    inside = show_inside(session, ranking.key[row], float(ranking.benefit_per_hour[row]))
    session.out.document(
        {
            "database": session.database.name,
            "ranked_at": at,
            "rank": row + 1,
            **document,
            "numbers": None if numbers is None else numbers_document(numbers),
            "advice": advice,
            "inside": inside,
        }
    )


def _show_advice(session: Session, subject: str, at: datetime, advice: Sequence[dict[str, Any]]) -> None:
    """What is advised about a log, a temporary or an undo space, which are no units."""
    session.out.line(subject, style="bold")
    for each in advice:
        session.out.line(f"{each['code']}: {each['sentence']}")
    session.out.document(
        {"database": session.database.name, "ranked_at": at, "subject": subject, "advice": list(advice)}
    )


def _numbers(session: Session, key: str) -> Figures | None:
    """The numbers behind the verdict of the last plan; None where that is not kept or did not know the unit."""
    decision = replay_decision(session.ledger, session.database.name)
    if decision is None or key not in decision.situation.units.key:
        return None
    row = list(decision.situation.units.key).index(key)
    return figures_of(decision.situation, decision.plan, row, decision.settings)


def advice_about(session: Session, key: str) -> list[dict[str, Any]]:
    """The advice of the last plan about a unit, other than moves."""
    return [each for each in stored_advice(session.ledger, session.database.name) if each["subject"] == key]


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


def _cells(ranking: Ranking, row: int) -> tuple[str, ...]:
    return (
        ranking.key[row],
        _tier(ranking, row),
        format_bytes(int(ranking.size_bytes[row])),
        f"{ranking.sync_reads[row]:,.1f}",
        f"{ranking.prefetched_reads[row]:,.1f}",
        format_ratio(float(ranking.miss_ratio[row])),
        format_sessions(float(ranking.benefit_per_hour[row])),
        format_sessions(float(ranking.saved_if_moved[row])),
        ranking.verdict_code(row),
    )


def _facts(ranking: Ranking, row: int, at: datetime) -> list[tuple[str, str]]:
    return [
        ("rank", f"{row + 1} of {len(ranking)}"),
        ("ranked", format_when(at)),
        ("kind", ranking.kind_word(row).replace("_", " ")),
        ("size", f"{format_bytes(int(ranking.size_bytes[row]))} ({exact_bytes(int(ranking.size_bytes[row]))})"),
        ("space", f"{ranking.space_names[int(ranking.space[row])]} (tier {_tier(ranking, row)})"),
        ("logical reads", f"{ranking.logical_reads[row]:,.1f} /s"),
        ("sync reads", f"{ranking.sync_reads[row]:,.1f} /s, a session waits for each"),
        ("prefetched reads", f"{ranking.prefetched_reads[row]:,.1f} /s, read ahead of the session"),
        ("writes", f"{ranking.writes[row]:,.1f} /s"),
        ("miss rate", format_ratio(float(ranking.miss_ratio[row]))),
        ("benefit", f"{format_wait(float(ranking.benefit_per_hour[row]))} on the fastest tier, not the slowest"),
        ("saved if moved", format_wait(float(ranking.saved_if_moved[row]))),
        ("watched for", format_seconds(float(ranking.observed_seconds[row]))),
        ("confidence", format_ratio(float(ranking.confidence[row]))),
    ]


def _tier(ranking: Ranking, row: int) -> str:
    tier = int(ranking.tier[row])
    return ranking.tier_names[tier] if tier >= 0 else "not managed"
