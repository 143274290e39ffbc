"""What would be moved now, or split, and how exactly? ``plan`` and ``split``.

Looking for a while before a command answers, next to a daemon or without one; what to do where nothing was seen.

Can one table be split, and by which statements? ``split``.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.modes import (
    ModeName,
    mode_of,
    print_left_behind,
    print_mode_plan,
    print_pinned,
    take_out,
    units_left_behind,
)
from agent.cli.options import parse_option, refuse
from agent.cli.pins import pinned_units
from agent.cli.plan_answer import (
    plan_found,
    print_advice,
    print_by_hand,
    print_next,
    print_prospect,
    print_spaces,
    proposal_stored,
    prospect_shown,
    require_stored,
    space_changes,
)
from agent.cli.session import Session
from agent.cli.units import row_of, stored_ranking
from agent.config.models import DatabaseConfig
from agent.ledger.rows import ProposalRow
from agent.model.answers.kind import extend
from agent.model.answers.plans import Planned, SplitByHand, SplitPlanned, TableSplit
from agent.model.proposals import BALANCE, Proposal, in_words
from agent.model.units_of_measure import parse_seconds, parse_seconds_of_command
from agent.planning.advice import PinReport, advice_on, advice_shown, pin_reports
from agent.planning.first_tier import next_step, what_is_missing
from agent.planning.planner import Planning
from agent.planning.ranking import Prospect, Ranking, ranking_of
from agent.planning.read_times import read_times_text, tiers_shown
from agent.planning.single_moves import Splitting
from agent.planning.splits import SeenBorder, SplitsOnPlan, border_seen, seen_border, split_worth, splits_on
from agent.service.watch import Watch
from agent.terminal.columns import Column
from agent.terminal.deciding import print_details, print_notes, print_summary
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.hand_script import require_new, why_not_by_hand, write_script
from agent.terminal.output import Output
from agent.terminal.wording import (
    count_of_moves,
    forecast_facts,
    forecast_shown,
    plan_shown,
    print_statements,
    work_by_hand,
)
from connectors.model.formatting import format_bytes, format_seconds, format_sessions, format_wait
from connectors.model.moves import Border, ByHand, NoRoute
from policies.model.moves import MoveReason
from policies.model.plan import Advice, Verdict
from policies.placement.dispatch import Hsm, HsmSubtype, Mode, UnknownName, spaces_after, why_nothing

SHORTEST_LOOK_SECONDS = 0.05
LONGEST_NAP_SECONDS = 0.25  # between looks at the progress bar
PARTS = 6  # of a look: how much demand varies shows between samples ...
SHORTEST_PART_SECONDS = 5.0  # ... unless they follow too closely
BESIDE_A_DAEMON = (
    "a daemon watches this database: what it has learnt is used and, for this answer alone, what is seen meanwhile"
)


def look(session: Session, watch: Watch, observe: float | None) -> None:
    """Sample, and go on sampling if asked to watch. Only the reading connector of the watch is ever used.

    Next to a daemon nothing of it is kept, and nothing counts twice: what the daemon knows was read before the first of
    these samples.
    """
    if observe and session.daemon().alive:
        session.out.note(BESIDE_A_DAEMON)
    watch.sample()
    if not observe:
        return
    parts = max(1, min(PARTS, int(observe / SHORTEST_PART_SECONDS)))
    columns = (TextColumn("watching"), BarColumn(), TimeRemainingColumn())
    console = session.out.progress_console
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("watching", total=observe)
        for _ in range(parts):
            left = observe / parts
            while left > 0:
                nap = min(left, LONGEST_NAP_SECONDS)
                session.clock.sleep(nap)
                left -= nap
                progress.advance(task, nap)
            watch.sample()


def _seconds_to_watch(text: str) -> float:
    """How long --observe is to watch.

    Raises:
        BadParameter: it is no duration, or none to see anything in.
    """
    seconds = parse_option(parse_seconds_of_command, text, "--observe")
    if seconds < SHORTEST_LOOK_SECONDS:
        raise typer.BadParameter(
            f"{text!r} is too short to see anything; give at least {format_seconds(SHORTEST_LOOK_SECONDS)}",
            param_hint="--observe",
        )
    return seconds


def sentence_without_demand(session: Session) -> str:
    """What to do where no demand is known yet, or never will be."""
    database = session.database
    if why := database.engine_record.uncounted(database.connection):
        return f"next: {why}, so nothing is ranked: pin what you know to be hot, then hotplace plan --mode preference"
    if not session.daemon().alive:
        return "next: nothing was watched yet; look for a minute with hotplace plan --observe 60, or start hotplace run"
    every = format_seconds(database.sample_seconds)
    return f"next: the daemon has only begun; it knows something with its second sample, {every} after the first"


HEAD = 10  # units of the ranking that are shown
WORTH = ("tiers", "ranking", "not_chosen", "advice", "splits", "forecast_with_splits", "prospect")
MOVED = frozenset({Verdict.PROMOTE, Verdict.DEMOTE, Verdict.SPLIT})
RANKING_COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True), Column("benefit", number=True),
    Column("verdict"),
)  # fmt: skip

ProposeOption = Annotated[
    bool, typer.Option("--propose/--dry-run", help="Store the plan as a proposal, or only print it.")
]
ObserveOption = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="Watch this long first (60s, 1m); else only the stored heat is used."),
]

TimeLimit = Annotated[
    str | None, typer.Option("--time-limit", metavar="DURATION", help="The copies take no longer: 30min, 2h.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worth:
    """What a plan of mode hsm says beyond its moves: what else is worth doing, and what is not."""

    ranking: Ranking
    prospect: Prospect | None
    advice: Sequence[Advice]
    splits: SplitsOnPlan


@command(HelpGroup.LOOK, "hotplace plan --observe 60")
def plan(
    session: Session,
    mode: Annotated[ModeName, typer.Option("--mode", help="What the plan is to do.")] = ModeName.HSM,
    subtype: Annotated[
        HsmSubtype | None, typer.Option(help="hsm: all, only clear cold from the fastest tier, only fill it.")
    ] = None,
    tier: Annotated[str | None, typer.Option(help="usage, capacity: only this tier.")] = None,
    space: Annotated[str | None, typer.Option(help="drain: the space to be emptied.")] = None,
    container: Annotated[
        str | None,
        typer.Option(help="drain: only this file, device or folder of it, as `hotplace status --containers` lists it."),
    ] = None,
    free_share: Annotated[
        str | None, typer.Option(metavar="RATIO", help="hsm ssd: share to be free; default 20%.")
    ] = None,
    time_limit: TimeLimit = None,
    trace: Annotated[bool, typer.Option("--trace", help="Rank by what `hotplace trace` collected, alone.")] = False,
    propose: ProposeOption = False,
    observe: ObserveOption = None,
    sql: Annotated[bool, typer.Option("--sql", help="Also the exact statements, at the end.")] = False,
    script: Annotated[
        Path | None,
        typer.Option("--script", metavar="FILE", help="Write what a person carries out of the plan to one new file."),
    ] = None,
) -> None:
    """Show what is worth moving, what it brings, locks and takes, and why not the others; moves nothing."""
    session.only_reads = observe is None and not propose  # what is seen while it watches is kept
    if script is not None:
        require_new(script)  # before anything is watched for minutes
    wanted = mode_of(
        mode,
        {
            "--subtype": subtype, "--tier": tier, "--space": space, "--container": container,
            "--free-share": free_share,
        },
    )  # fmt: skip
    seconds = None if observe is None else _seconds_to_watch(observe)
    limit = math.inf if time_limit is None else parse_option(parse_seconds, time_limit, "--time-limit")
    if container is not None:  # it goes as a whole and whatever its heat
        unwanted = {"--time-limit": time_limit is not None, "--trace": trace, "--script": script is not None}
        refuse(unwanted, "--container does not take it")
    watch = session.watch(asks_mover=True)
    try:
        if container is not None and take_out(session, watch, str(space), container, propose=propose):
            return
        look(session, watch, seconds)
        usual = wanted == Hsm() and time_limit is None and not trace  # the plan that the daemon makes: it is kept
        planning = watch.plan(None if usual else wanted, limit, traced=trace)
        assert planning is not None, "there is a sample"
        proposal = watch.proposal(planning)
        worth = _worth_of(session, watch, planning, usual=usual) if mode is ModeName.HSM else None
        later = worth is not None and worth.prospect is not None
        why = () if proposal or later else _why_nothing(watch, planning, wanted, limit, traced=trace)
        unwritten = None if script is None else _nothing_by_hand(script, proposal, worth)
        number = watch.propose(planning) if propose and unwritten is None else None
        stored = None if number is None else session.ledger.proposals.row(number)
    except UnknownName as error:
        raise _not_found(error, "hotplace status --containers" if container else "hotplace status") from error
    finally:
        watch.close(save=observe is not None)
    reports = pin_reports(planning) if mode is ModeName.PREFERENCE else ()
    _print(session, planning, proposal, worth, reports)
    for sentence in why:
        session.out.sentence(sentence)
    if sql:
        _print_sql(session.out, proposal, worth)
    if unwritten is not None:
        raise unwritten
    require_stored(watch, proposal, stored, propose=propose)
    written_to = None if script is None or proposal is None else _write_script(session, script, proposal, stored)
    print_next(session.out, proposal, stored, propose=propose)
    if worth is not None and not worth.ranking.observed_seconds.any():
        session.out.line(sentence_without_demand(session))
    session.out.document(
        extend(
            Planned,
            plan_found(planning, proposal),
            database=session.database.name,
            mode=mode.value,
            dry_run=not propose,
            proposal=proposal_stored(stored),
            spaces=space_changes(spaces_after(*planning.weighed)),
            left_behind=units_left_behind(planning),
            pins=tuple(pinned_units(report) for report in reports),
            script=written_to,
            why_nothing=why,
            **_worth_shown(session, planning, worth),
        )
    )


def _why_nothing(watch: Watch, planning: Planning, mode: Mode, limit: float, *, traced: bool) -> tuple[str, ...]:
    """Why there is nothing to move: the time limit, if there would be something without it, else the mode."""
    if math.isfinite(limit):
        unlimited = watch.plan(mode, traced=traced)
        proposal = None if unlimited is None else watch.proposal(unlimited)
        if proposal is not None:
            seconds, key = min((_group_seconds(proposal, move.group), move.key) for move in proposal.moves)
            shortest = f"the shortest useful move, of {key}, is predicted to copy for {format_seconds(seconds)}"
            return (f"{format_seconds(limit)} is too short: {shortest}",)
    return why_nothing(planning.situation, planning.settings, mode)


def _group_seconds(proposal: Proposal, group: int | None) -> float:
    """How long the moves copy that are begun together."""
    return sum(move.copy_seconds for move in proposal.moves if move.group == group)


def _nothing_by_hand(path: Path, proposal: Proposal | None, worth: _Worth | None) -> CommandError | None:
    """Why there is nothing to write; None where there is. Nothing is stored then."""
    if proposal is not None:
        return why_not_by_hand(path, proposal.moves)
    young = worth is not None and worth.prospect is not None
    return CommandError(
        f"nothing is written to {path}, because nothing is proposed{' yet' if young else ''}",
        code=ExitCode.REFUSED,
        advice="Above is why, and what has to be seen first; what is pinned is planned by --mode preference.",
    )


def _write_script(session: Session, path: Path, proposal: Proposal, stored: ProposalRow | None) -> str:
    """Write what a person carries out; the path as an answer has it.

    Raises:
        CommandError: the file exists or cannot be written.
    """
    of = proposal if stored is None else stored.proposal
    write_script(path, of, of.moves, None if stored is None else stored.id)
    session.out.heading("by hand")
    session.out.line(f"{path} written, mode 0600: {count_of_moves(of.by_hand)} that a person carries out")
    return str(path)


def _worth_of(session: Session, watch: Watch, planning: Planning, *, usual: bool) -> _Worth:
    """What else there is to say of a plan of mode hsm; what is not proposed yet only where the daemon would plan so."""
    splits = splits_on(planning, session.ledger, session.database.name)
    return _Worth(
        ranking=ranking_of(planning), prospect=watch.prospect(planning) if usual else None,
        advice=advice_on(planning, splits.answer, with_values=True), splits=splits,
    )  # fmt: skip


def _print(
    session: Session,
    planning: Planning,
    proposal: Proposal | None,
    worth: _Worth | None,
    reports: tuple[PinReport, ...],
) -> None:
    out = session.out
    if worth is None:
        print_mode_plan(out, planning, proposal)
    else:
        _print_worth(session, planning, proposal, worth)
    print_spaces(out, spaces_after(*planning.weighed))
    print_pinned(out, reports)
    print_left_behind(out, planning)


def _print_sql(out: Output, proposal: Proposal | None, worth: _Worth | None) -> None:
    """The statements of the plan, or of what it would be as things look now."""
    shown = proposal or (worth.prospect.proposal if worth is not None and worth.prospect is not None else None)
    if shown is not None:
        print_statements(out, shown.moves)


def _print_worth(session: Session, planning: Planning, proposal: Proposal | None, worth: _Worth) -> None:
    """A plan of mode hsm: the answer, the ranking, the moves, why not the others, and advice."""
    out, ranking, prospect = session.out, worth.ranking, worth.prospect
    out.line(_answer(session.database, planning, ranking, proposal, prospect), style="bold")
    if proposal is None and _knows_nothing(session.database, ranking):
        return
    if step := next_step(session.database):
        out.line(f"next: {step}")
    if proposal is not None:
        if planning.purpose != BALANCE:
            out.line(f"for: {in_words(planning.purpose)}")
        print_summary(out, proposal, proposal.moves)
        print_details(out, proposal, proposal.moves)
    elif prospect is not None:
        print_prospect(session, prospect)
    else:
        out.facts(forecast_facts(planning.forecast()))
    first = min(HEAD, len(ranking))
    out.heading(f"the {first} units of {len(ranking)} that fast storage is worth most to, in waiting sessions")
    out.table(RANKING_COLUMNS, (_ranking_cells(ranking, row) for row in range(first)))
    out.sentence(f"read times: {read_times_text(planning.situation.tiers)}")
    not_chosen = [] if what_is_missing(session.database) else _not_chosen(ranking)
    if not_chosen:
        out.heading("why not the others at the top")
    for row in not_chosen:
        out.sentence(f"{ranking.verdict_code(row)}: {_why(ranking, row)}")
    print_advice(out, worth.advice)
    if worth.splits.forecast is not None:
        out.heading("with these splits")
        out.facts(forecast_facts(worth.splits.forecast))


def _worth_shown(session: Session, planning: Planning, worth: _Worth | None) -> dict[str, object]:
    """What only a plan of mode hsm says; None each where it is of another mode."""
    if worth is None:
        return dict.fromkeys(WORTH)
    ranking, splits = worth.ranking, worth.splits
    said = (
        tiers_shown(planning.situation.tiers),
        ranking.units(HEAD),
        () if _knows_nothing(session.database, ranking) else tuple(map(ranking.unit, _not_chosen(ranking))),
        advice_shown(worth.advice),
        tuple(split_worth(each) for each in splits.answer.splits),
        forecast_shown(splits.forecast),
        prospect_shown(session, worth.prospect),
    )
    return dict(zip(WORTH, said, strict=True))


def _answer(
    database: DatabaseConfig,
    planning: Planning,
    ranking: Ranking,
    proposal: Proposal | None,
    prospect: Prospect | None,
) -> str:
    """What is worth doing, in one line."""
    wait = format_wait(planning.plan.wait_per_hour)
    if proposal is not None:
        return f"worth moving: {_what_it_saves(proposal)} {wait}"
    if prospect is not None:
        return f"not proposed yet; as it looks now: {_what_it_saves(prospect.proposal)} {wait}"
    if _knows_nothing(database, ranking):
        return "nothing was watched yet, so nothing is known of any unit"
    if spaces := _forgotten_spaces(ranking):
        return (
            f"what sessions wait for most cannot be moved: it is in {', '.join(spaces)}, for which no tier is "
            "configured (tiers: spaces)"
        )
    if missing := what_is_missing(database):
        return f"{missing}; read wait by the model: {wait}"
    return f"nothing is worth moving; read wait by the model: {wait}"


def _knows_nothing(database: DatabaseConfig, ranking: Ranking) -> bool:
    """Whether no unit was watched, although the engine counts reads: then no figure and no verdict is worth a line."""
    return not (ranking.observed_seconds.any() or database.engine_record.uncounted(database.connection))


def _forgotten_spaces(ranking: Ranking) -> list[str]:
    """Spaces of no tier, where most reads that sessions wait for go to them."""
    outside, waited_for = ranking.tier < 0, ranking.sync_reads
    if waited_for[outside].sum() <= waited_for[~outside].sum():
        return []
    return sorted({ranking.space_names[space] for space in ranking.space[outside & (waited_for > 0)].tolist()})


def _what_it_saves(proposal: Proposal) -> str:
    saved = proposal.wait_saved_per_hour
    brings = f"saves {format_sessions(saved)} of" if saved >= 0 else f"adds {format_sessions(-saved)} to"
    return f"{_what_it_does(proposal)}; {brings}"


def _what_it_does(proposal: Proposal) -> str:
    """How much is moved; of a plan that only splits a table, which part, and how many times as much then gets done."""
    first, forecast = proposal.moves[0], proposal.forecast
    if len(proposal.moves) > 1 or first.reason != MoveReason.SPLIT:
        return f"{count_of_moves(proposal.moves)}, {format_bytes(proposal.bytes_moved)}"
    part = f"split off the newest {format_bytes(first.size_bytes)} of {first.key}"
    if forecast is None or forecast.times is None:
        return part
    return f"{part}: {forecast.times:.1f} times as many {forecast.work}"


def _not_chosen(ranking: Ranking) -> list[int]:
    """Rows of the busiest and most valuable units that stay where they are."""
    count = len(ranking)
    busiest = (-ranking.logical_reads).argsort(kind="stable")[:HEAD].tolist()
    rows = dict.fromkeys([*range(min(HEAD, count)), *busiest])
    return [row for row in rows if Verdict(int(ranking.verdict[row])) not in MOVED]


def _why(ranking: Ranking, row: int) -> str:
    return ranking.sentence[row] if row < len(ranking.sentence) else ranking.key[row]


def _ranking_cells(ranking: Ranking, row: int) -> tuple[str, ...]:
    tier = int(ranking.tier[row])
    return (
        ranking.key[row],
        ranking.tier_names[tier] if tier >= 0 else "not managed",
        format_bytes(int(ranking.size_bytes[row])),
        format_sessions(float(ranking.benefit_per_hour[row])),
        ranking.verdict_code(row),
    )


@command(HelpGroup.LOOK, "hotplace split public.orders --column made_at --border '2030-02-01'")
def split(
    session: Session,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Key of a table, as `hotplace units` has it.")],
    column: Annotated[
        str | None, typer.Option(help="By the values of this column; default: as looks found it.")
    ] = None,
    border: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="Rows from this value on belong to the new part; default: as looks found it."
        ),
    ] = None,
    to_space: Annotated[
        str | None, typer.Option("--to", metavar="SPACE", help="Where these are stored; default: on the fastest tier.")
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="Of a split table: end its open part at --border, make the next behind it.")
    ] = False,
    propose: ProposeOption = False,
) -> None:
    """Split a table into a cold part that stays and one for new rows, with the exact statements."""
    session.only_reads = not propose
    seen = None if close or (column and border) else _find_seen(session, unit, column, border)
    asked = Border(column=str(column), value=str(border)) if seen is None else seen.border
    if close:
        _check_closing(column, border)
    watch = session.watch(asks_mover=True)
    try:
        found = watch.close_part(unit, asked.value, to_space) if close else watch.split(unit, asked, to_space)
        if isinstance(found.answer, NoRoute):
            what = f"cannot be closed at {asked.value}" if close else f"cannot be split along {asked.column}"
            raise CommandError(
                f"{unit} {what}: {found.answer.sentence}",
                code=ExitCode.REFUSED,
                advice=_advice(unit, seen),
            )
        number = watch.offers.store(found.proposal) if propose else None
    except UnknownName as error:
        raise _not_found(error, "hotplace status") from error
    finally:
        watch.close(save=False)
    stored = None if number is None else session.ledger.proposals.row(number)
    for sentence in () if seen is None else seen.sentences:
        session.out.line(sentence)
    _print_split(session.out, found, stored, propose=propose)
    require_stored(watch, found.proposal, stored, propose=propose)
    session.out.document(_split_answer(session, found, seen, stored, propose=propose))


def _not_found(error: UnknownName, listing: str) -> CommandError:
    return CommandError(str(error), code=ExitCode.NOT_FOUND, advice=f"`{listing}` lists what there is.")


def _check_closing(column: str | None, border: str | None) -> None:
    """Whether it is said where the open part ends, and no more.

    Raises:
        CommandError: it is not.
    """
    if border is None or column is not None:
        advice = "Give --close with a --border ahead of the newest row; the column is that of the split."
        raise CommandError("a part is closed at a --border, by no --column", code=ExitCode.USAGE, advice=advice)


def _find_seen(session: Session, unit: str, column: str | None, border: str | None) -> SeenBorder:
    """The border that looks found, where none was given.

    Raises:
        CommandError: there is none, half of one was given, it is one of another column, or no unit has that key.
    """
    if border is not None:
        raise CommandError("--border is a value of a column", code=ExitCode.USAGE, advice="Give --column as well.")
    seen = seen_border(session.ledger, session.database, unit)
    if isinstance(seen, str):
        _insist_on_unit(session, unit)
        advice = "hotplace split UNIT --column NAME --border VALUE splits it where you say."
        raise CommandError(f"no border of {unit} is known: {seen}", code=ExitCode.REFUSED, advice=advice)
    if column not in (None, seen.border.column):
        raise CommandError(
            f"looks found a border of {seen.border.column}, not of {column}",
            code=ExitCode.REFUSED,
            advice=f"Give the --border of {column}, or no --column.",
        )
    return seen


def _insist_on_unit(session: Session, unit: str) -> None:
    """See that a unit exists: by the last plan, else by the database, where it may be newer.

    Raises:
        CommandError: it does not.
    """
    with suppress(CommandError):
        row_of(stored_ranking(session)[1].key, unit)
        return
    watch = session.watch()
    try:
        row_of(watch.connector.catalog().units.key, unit)
    finally:
        watch.close(save=False)


def _advice(unit: str, seen: SeenBorder | None) -> str:
    if seen is None:
        return f"hotplace explain {shlex.quote(unit)} says where its reads go."
    command = f"hotplace split {shlex.quote(unit)} --column {shlex.quote(seen.border.column)} --border VALUE"
    return (
        f"looks found {seen.border.column} >= {seen.border.value} as its hot part. Hot rows age into a part that "
        f"begins later: `{command}` with a value ahead of the newest row ({seen.newest} when it was looked at)."
    )


def _print_split(out: Output, found: Splitting, stored: ProposalRow | None, *, propose: bool) -> None:
    if found.proposal is not None:
        (move,) = found.proposal.moves
        out.heading(f"the plan ({move.reason})")
        print_summary(out, found.proposal, found.proposal.moves)
        print_notes(out, found.proposal.moves)
        print_statements(out, found.proposal.moves)
        print_next(out, found.proposal, stored, propose=propose)
    elif isinstance(found.answer, ByHand):
        print_by_hand(out, f"{found.key} is split by hand", found.answer)


def _split_answer(
    session: Session, found: Splitting, seen: SeenBorder | None, stored: ProposalRow | None, *, propose: bool
) -> SplitPlanned | SplitByHand:
    split = TableSplit(
        database=session.database.name,
        dry_run=not propose,
        unit=found.key,
        column=found.border.column,
        border=found.border.value,
        seen=None if seen is None else border_seen(seen.found, seen.wander),
        space=found.to_space,
    )
    if found.proposal is None:
        return extend(SplitByHand, split, by_hand=work_by_hand(found.answer))
    return extend(SplitPlanned, split, plan_shown(found.proposal), proposal=proposal_stored(stored))
