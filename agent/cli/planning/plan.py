"""What would be moved now, what for, and how exactly, in each of the balancer's modes? ``plan``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from agent.answers.kind import extend
from agent.answers.plans import Planned
from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.looking.spaces import print_spaces, space_changes
from agent.cli.options import parse_option, refuse
from agent.cli.planning.answer import plan_found, print_advice, print_next, proposal_stored
from agent.cli.planning.modes import (
    ModeName,
    mode_of,
    print_left_behind,
    print_mode_plan,
    print_pinned,
    units_left_behind,
)
from agent.cli.planning.pins import pinned_units
from agent.cli.planning.prospects import print_prospect, prospect_shown
from agent.cli.session import Session
from agent.cli.storage.draining import take_out
from agent.cli.watching import look, sentence_without_demand
from agent.explanation.advice import advice_on, advice_shown
from agent.explanation.pins import PinReport, pin_reports
from agent.explanation.prospects import Prospect
from agent.explanation.ranking import Ranking, ranking_of
from agent.explanation.read_times import read_times_text, tiers_shown
from agent.explanation.splits import SplitsOnPlan, split_worth, splits_on
from agent.model.proposals import BALANCE, Proposal
from agent.model.purposes import in_words
from agent.model.units_of_measure import parse_seconds
from agent.planning.planner import Planning
from agent.service.watch import Watch
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.throughput import forecast_facts, forecast_shown
from agent.terminal.wording import count_of_moves, print_moves, print_statements, print_value
from connectors.formatting import format_bytes, format_sessions, format_wait
from policies.model.plan import Advice, Verdict
from policies.modes.dispatch import Hsm, HsmSubtype, UnknownName
from policies.modes.spaces_after import spaces_after

HEAD = 10  # units of the ranking that are shown
WORTH = ("tiers", "ranking", "not_chosen", "advice", "splits", "forecast_with_splits", "prospect")
MOVED = frozenset({Verdict.PROMOTE, Verdict.DEMOTE})
RANKING_COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True), Column("benefit", number=True),
    Column("verdict"),
)  # fmt: skip

ProposeOption = Annotated[
    bool, typer.Option("--propose/--dry-run", help="Store the plan as a proposal, or only print it.")
]
ObserveOption = Annotated[
    float | None,
    typer.Option(min=0.05, metavar="SECONDS", help="Watch this long first; else only the stored heat is used."),
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


@command(Group.LOOK, "hotplace plan --observe 60")
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
) -> None:
    """Show what is worth moving, why not the others, and the exact statements; moves nothing."""
    wanted = mode_of(
        mode,
        {
            "--subtype": subtype, "--tier": tier, "--space": space, "--container": container,
            "--free-share": free_share,
        },
    )  # fmt: skip
    limit = math.inf if time_limit is None else parse_option(parse_seconds, time_limit, "--time-limit")
    if container is not None:  # it goes as a whole and whatever its heat
        refuse({"--time-limit": time_limit is not None, "--trace": trace}, "--container does not take it")
    watch = session.watch()
    try:
        if container is not None and take_out(session, watch, str(space), container, propose=propose):
            return
        look(session, watch, observe)
        usual = wanted == Hsm() and time_limit is None and not trace  # the plan that the daemon makes: it is kept
        planning = watch.plan(None if usual else wanted, limit, traced=trace)
        assert planning is not None, "there is a sample"
        proposal = watch.proposal(planning)
        worth = _worth_of(session, watch, planning, usual=usual) if mode is ModeName.HSM else None
        number = watch.propose(planning) if propose else None
        stored = None if number is None else session.ledger.proposals.row(number)
    except UnknownName as error:
        listing = "hotplace status --containers" if container else "hotplace status"
        raise CommandError(str(error), code=ExitCode.NOT_FOUND, advice=f"`{listing}` lists what there is.") from error
    finally:
        watch.close(save=observe is not None)
    reports = pin_reports(planning) if mode is ModeName.PREFERENCE else ()
    _print(session, planning, proposal, worth, reports)
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
            spaces=space_changes(spaces_after(planning.situation, planning.plan)),
            left_behind=units_left_behind(planning),
            pins=tuple(pinned_units(report) for report in reports),
            **_worth_shown(session, planning, worth),
        )
    )


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
    print_spaces(out, spaces_after(planning.situation, planning.plan))
    print_pinned(out, reports)
    print_left_behind(out, planning)
    shown = proposal or (worth.prospect.proposal if worth is not None and worth.prospect is not None else None)
    if shown is not None:
        print_statements(out, shown.moves)


def _print_worth(session: Session, planning: Planning, proposal: Proposal | None, worth: _Worth) -> None:
    """A plan of mode hsm: the answer, the ranking, the moves, why not the others, and advice."""
    out, ranking, prospect = session.out, worth.ranking, worth.prospect
    out.line(_answer(planning, ranking, proposal, prospect), style="bold")
    first = min(HEAD, len(ranking))
    out.heading(f"the {first} units of {len(ranking)} that fast storage is worth most to, in waiting sessions")
    out.table(RANKING_COLUMNS, (_ranking_cells(ranking, row) for row in range(first)))
    if proposal is not None:
        usual = planning.purpose == BALANCE
        out.heading("the plan" if usual else f"the plan: {in_words(planning.purpose)}")
        print_value(out, proposal)
        print_moves(out, proposal.moves)
    elif prospect is not None:
        print_prospect(session, prospect)
    else:
        out.facts(forecast_facts(planning.forecast()))
    out.sentence(f"read times: {read_times_text(planning.situation.tiers)}")
    not_chosen = _not_chosen(ranking)
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
        tuple(ranking.unit(row) for row in _not_chosen(ranking)),
        advice_shown(worth.advice),
        tuple(split_worth(each) for each in splits.answer.splits),
        forecast_shown(splits.forecast),
        prospect_shown(session, worth.prospect),
    )
    return dict(zip(WORTH, said, strict=True))


def _answer(planning: Planning, ranking: Ranking, proposal: Proposal | None, prospect: Prospect | None) -> str:
    """What is worth doing, in one line."""
    wait = format_wait(planning.plan.wait_per_hour)
    if proposal is not None:
        return f"worth moving: {_what_it_saves(proposal)} {wait}"
    if prospect is not None:
        return f"not proposed yet; as it looks now: {_what_it_saves(prospect.proposal)} {wait}"
    if spaces := _forgotten_spaces(ranking):
        return (
            f"nothing can be moved of what sessions wait for most: it is in {', '.join(spaces)}, for which no tier is "
            "configured (tiers: spaces)"
        )
    return f"nothing is worth moving; read wait by the model: {wait}"


def _forgotten_spaces(ranking: Ranking) -> list[str]:
    """Spaces of no tier, where most reads that sessions wait for go to them."""
    outside, waited_for = ranking.tier < 0, ranking.sync_reads
    if waited_for[outside].sum() <= waited_for[~outside].sum():
        return []
    return sorted({ranking.space_names[space] for space in ranking.space[outside & (waited_for > 0)].tolist()})


def _what_it_saves(proposal: Proposal) -> str:
    saved = proposal.wait_saved_per_hour
    brings = f"saves {format_sessions(saved)} of" if saved >= 0 else f"adds {format_sessions(-saved)} to"
    return f"{count_of_moves(proposal.moves)}, {format_bytes(proposal.bytes_moved)}; {brings}"


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
