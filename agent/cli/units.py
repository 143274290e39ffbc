"""Which units matter, and why is this one where it is? ``units`` and ``explain``.

The numbers behind one verdict, and verdicts of earlier proposals, recomputed from what the ledger stored.

What ``explain`` shows of the heat inside a unit: where its reads go, over its blocks and over time.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import Columns, parse_columns
from agent.cli.session import Session
from agent.ledger.state_names import RANKING, decision_of_proposal
from agent.model.answers.kind import extend
from agent.model.answers.units import (
    AdviceExplained,
    AdviceShown,
    FiguresShown,
    HotPart,
    HotShare,
    HourInside,
    InsideUnit,
    UnitExplained,
    UnitShown,
    UnitsRanked,
    VerdictExplained,
)
from agent.model.states import UNDOABLE
from agent.model.units_of_measure import format_when
from agent.planning.advice import stored_advice
from agent.planning.decisions import ArchivedExplanation, load_archived_explanation, replay_decision, tiers_of_last_plan
from agent.planning.ranking import Ranking, ranking_from_arrays
from agent.planning.read_times import read_times_text, tiers_shown
from agent.planning.splits import border_seen
from agent.sampling.block_heat import UnitBorders, load_block_heat, load_borders
from agent.terminal.charts import heat_map
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode
from connectors.model.formatting import (
    exact_bytes,
    format_bytes,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)
from connectors.model.moves import key_matcher
from policies.evidence.borders import columns_to_read, wandering
from policies.evidence.range_heat import Concentration, RangeHeat, UnitPart, concentrate
from policies.model.plan import Verdict
from policies.placement.advice import border_sentences, inside_sentences
from policies.placement.verdicts import Figures, explain_verdict, figures_of

SUGGESTED = 5
SEARCHED = 5000  # top keys among which a similar one is looked for


def explain_stored(session: Session, unit: str, proposal: int) -> None:
    """Show the verdict that a unit had when a proposal was made.

    Covers every unit while the inputs of the plan are kept, and later the units that it moves and the hottest others.

    Raises:
        CommandError: nothing is stored for that proposal, or it did not contain the unit.
    """
    decision = replay_decision(session.ledger, session.database.name, decision_of_proposal(proposal))
    if decision is not None:
        row = row_of(decision.situation.units.key, unit)
        key, at = decision.situation.units.key[row], decision.made_at
        numbers = figures_of(decision.situation, decision.plan, row, decision.settings)
        sentence = explain_verdict(decision.situation, decision.plan, row, decision.settings)
        how = f"recomputed from the stored inputs of proposal {proposal}"
    else:
        archived = _archived_explanation(session, proposal)
        row = row_of(archived.keys, unit)
        key, at = archived.keys[row], archived.at
        numbers, sentence = archived.figures[row], archived.sentences[row]
        how = f"as stored with proposal {proposal}; only its main units are still kept"
    explained = VerdictExplained(
        database=session.database.name,
        proposal=proposal,
        decided_at=at,
        unit=key,
        verdict=numbers.verdict.code,
        why=sentence,
        numbers=figures_shown(numbers),
    )
    session.out.line(explained.unit, style="bold")
    session.out.line(f"{explained.verdict}: {explained.why}")
    session.out.line(f"{how}, {format_when(explained.decided_at)}")
    session.out.line()
    session.out.facts(number_lines(numbers, estimate=estimate_of(session)))
    session.out.document(explained)


def _archived_explanation(session: Session, proposal: int) -> ArchivedExplanation:
    found = load_archived_explanation(session.ledger, session.database.name, proposal)
    if found is None:
        raise CommandError(
            f"the inputs of proposal {proposal} are not stored",
            code=ExitCode.NOT_FOUND,
            advice="Only plans are explained later, not an undo or a container's move; see hotplace proposals --past.",
        )
    return found


def estimate_of(session: Session) -> str:
    """Why waits of the units of this database are estimates; "" where they are measured."""
    return session.database.engine_record.estimated_waits(session.database.connection)


def number_lines(numbers: Figures, *, estimate: str = "") -> list[tuple[str, str]]:
    """The numbers for people, one line each; ``estimate`` says why the wait is one."""
    together, floor = format_bytes(numbers.bundle_bytes), format_wait(numbers.floor_per_hour)
    saves, sure = format_wait(numbers.saves_per_hour), format_sessions(numbers.surely_saves_per_hour)
    now, fast = format_wait(numbers.wait_now_per_hour), format_sessions(numbers.wait_fast_per_hour)
    copying, cost = format_seconds(numbers.copy_seconds), format_seconds(numbers.cost_seconds)
    lines = [
        ("wait", f"{now} where it is, {fast} when fast" + (f" (estimate: {estimate})" if estimate else "")),
        ("saves", f"{saves}, at least {sure}; less than {floor} is not worth a move"),
        ("demand errs by", format_ratio(numbers.demand_error_ratio)),
        ("move", f"{together}, {copying} of copying, costs {cost} of session time"),
        *_of_route(numbers),
        ("payback", f"{_duration(numbers.payback_seconds)} of at most {format_seconds(numbers.payback_limit_seconds)}"),
        (
            "history",
            f"{format_seconds(numbers.observed_seconds)} of at least {format_seconds(numbers.minimum_history_seconds)}",
        ),
    ]
    if numbers.hotter_ratio > 1:
        lines.append(("other horizon", f"{numbers.hotter_ratio:.3g} times as hot"))
    if math.isfinite(numbers.expected_index):
        lines.append(("season", f"promises {format_wait(numbers.expected_index * 3600)} on a usual disk"))
    if numbers.cooling_seconds > 0:
        lines.append(("cools down for", format_seconds(numbers.cooling_seconds)))
    return lines


def _of_route(numbers: Figures) -> list[tuple[str, str]]:
    """The part of the cost that is the route's, where one was asked for."""
    parts = {"log": numbers.log_seconds, "locks": numbers.blocked_seconds, "afterwards": numbers.follow_up_seconds}
    listed = ", ".join(f"{format_seconds(seconds)} {what}" for what, seconds in parts.items() if seconds > 0)
    return [("of that", f"{listed} (estimated)")] if listed else []


def figures_shown(numbers: Figures) -> FiguresShown:
    """The numbers as answers have them."""
    return FiguresShown(**{name: value for name, value in asdict(numbers).items() if name != "verdict"})


def _duration(seconds: float) -> str:
    return format_seconds(seconds) if math.isfinite(seconds) else "never"


def similar_keys(keys: Sequence[str], text: str) -> list[str]:
    """A few keys that ``text`` may stand for."""
    plain = text.replace('"', "").casefold()
    holding = [key for key in keys if plain in key.replace('"', "").casefold()]
    near = difflib.get_close_matches(text, list(keys[:SEARCHED]), n=SUGGESTED)
    return (holding or near)[:SUGGESTED]


def _meanings(text: str) -> tuple[Callable[[str], bool], ...]:
    """Ways to read ``text`` as a key, the narrowest first."""
    plain = text.replace('"', "")
    folded, last = plain.casefold(), f".{plain.casefold()}"
    return (
        lambda key: key == text,
        lambda key: key.replace('"', "") == plain,
        lambda key: key.replace('"', "").casefold() == folded,
        lambda key: key.replace('"', "").casefold().endswith(last),
    )


def row_of(keys: Sequence[str], unit: str) -> int:
    """Row of the unit of that key; quotes, case and what stands before its name may be left out where that is clear."""
    rows: list[int] = []
    for meant in _meanings(unit):
        rows = [row for row, key in enumerate(keys) if meant(key)]
        if len(rows) == 1:
            return rows[0]
        # A wider way of reading would only add to those that are meant.
        if rows:
            break
    similar = [keys[row] for row in rows] or similar_keys(keys, unit)
    raise CommandError(
        f"several units could be meant by {unit!r}" if rows else f"no unit has the key {unit!r}",
        code=ExitCode.NOT_FOUND,
        advice=f"Did you mean: {', '.join(similar)}" if similar else "`hotplace units --all` lists them.",
    )


def show_inside(session: Session, key: str, saves_per_hour: float) -> InsideUnit | None:
    """Print what looks at the buffer pool have shown of a unit, and return it; None: nothing is stored.

    Args:
        session: to read from and print to.
        key: of the unit.
        saves_per_hour: seconds of wait that all of it would save on the fastest tier.
    """
    heat = load_block_heat(session.ledger, session.database.name).get(key)
    if heat is None:
        return None
    found, fastest = concentrate(heat), session.database.tiers_in_use[0].name
    borders = load_borders(session.ledger, session.database.name).get(key, UnitBorders())
    sentences = (
        *inside_sentences(heat, found, saves_per_hour, fastest),
        *border_sentences(borders.columns, borders.looks, borders.refused),
    )
    inside = _inside(heat, found, borders, sentences)
    _print_inside(session, inside)
    ends = [format_when(hour.at) for hour in (inside.hours[0], inside.hours[-1])]
    for line in heat_map(heat.by_hour, ends, heat.blocks * heat.block_bytes, session.out.console.width):
        session.out.line(line)
    return inside


def _print_inside(session: Session, inside: InsideUnit) -> None:
    session.out.line()
    session.out.line("inside", style="bold")
    for sentence in inside.sentences:
        session.out.line(sentence)
    if not inside.hottest:
        return
    listed = ", ".join(f"{format_ratio(each.of_blocks)}: {format_ratio(each.of_reads)}" for each in inside.hottest)
    of_all = "" if inside.coverage is None else f", {format_ratio(inside.coverage)} of what the engine counted"
    session.out.line(f"share of its reads in the hottest blocks: {listed}")
    session.out.line(
        f"blocks seen to come in: {inside.blocks_seen:,.0f}, pairs of looks: {inside.pairs_of_looks}{of_all}"
    )


def _inside(heat: RangeHeat, found: Concentration, borders: UnitBorders, sentences: tuple[str, ...]) -> InsideUnit:
    latest = wandering(borders.looks)
    return InsideUnit(
        shape=str(found.shape),
        sentences=sentences,
        hottest=tuple(HotShare(**asdict(each)) for each in found.hottest),
        part=None if found.part is None else _part(heat, found.part),
        coverage=None if isnan(found.coverage) else found.coverage,
        blocks_seen=heat.seen,
        pairs_of_looks=heat.pairs,
        range_bytes=heat.width * heat.block_bytes,
        hours=tuple(
            HourInside(
                at=datetime.fromtimestamp(hour * 3600, UTC), reads_per_second=tuple(round(rate, 3) for rate in rates)
            )
            for hour, rates in zip(heat.hour.tolist(), heat.by_hour.tolist(), strict=True)
        ),
        columns=tuple(each.name for each in columns_to_read(borders.columns)),
        border=None if latest is None else border_seen(*latest),
        values_refused=borders.refused or None,
    )


def _part(heat: RangeHeat, part: UnitPart) -> HotPart:
    return HotPart(
        from_bytes=part.first_block * heat.block_bytes, bytes=part.blocks * heat.block_bytes, **asdict(part.share)
    )


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


@command(HelpGroup.LOOK, "hotplace units --limit 10 --like 'public.*'", reads=True)
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


@command(HelpGroup.LOOK, "hotplace explain 'public.orders'", reads=True)
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
    means = None if like is None else key_matcher(like)
    for row in rows.tolist():
        if means is None or means(ranking.key[row]):
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
