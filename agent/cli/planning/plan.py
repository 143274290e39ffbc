"""What would be moved now, what for, and how exactly? ``plan``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.planning.prospects import print_prospect, prospect_document
from agent.cli.session import Session
from agent.cli.watching import look, sentence_without_demand
from agent.explanation.advice import advice_document, advice_on
from agent.explanation.prospects import Prospect
from agent.explanation.ranking import Ranking, ranking_of
from agent.explanation.read_times import read_times_document, read_times_text
from agent.explanation.splits import SplitsOnPlan, split_document, splits_on
from agent.ledger import ProposalRow
from agent.model.proposals import Proposal
from agent.planning.planner import Planning
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.terminal.throughput import forecast_document, forecast_facts
from agent.terminal.wording import (
    count_of_moves,
    expiry,
    print_moves,
    print_statements,
    print_value,
    proposal_document,
    short_digest,
)
from connectors.containers import ByHand
from connectors.formatting import format_bytes, format_sessions, format_wait
from policies.model.plan import Advice, Verdict

HEAD = 10  # units of the ranking that are shown
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


@command(Group.LOOK, "hotplace plan --observe 60")
def plan(
    session: Session,
    propose: ProposeOption = False,
    observe: ObserveOption = None,
) -> None:
    """Show what is worth moving, why not the others, and the exact statements; moves nothing."""
    watch = session.watch()
    try:
        look(session, watch, observe)
        planning = watch.plan()
        assert planning is not None, "there is a sample"
        proposal, prospect = watch.proposal(planning), watch.prospect(planning)
        splits = splits_on(planning, session.ledger, session.database.name)
        number = watch.propose(planning) if propose else None
        stored = None if number is None else session.ledger.proposals.row(number)
    finally:
        watch.close(save=observe is not None)
    ranking = ranking_of(planning)
    advice = advice_on(planning, splits.answer, with_values=True)
    _print(session, planning, ranking, proposal, prospect, advice, splits)
    print_next(session.out, proposal, stored, propose=propose)
    if not ranking.observed_seconds.any():
        session.out.line(sentence_without_demand(session))
    session.out.document(
        {
            "database": session.database.name,
            "dry_run": not propose,
            "proposal": stored_document(stored),
            **_document(planning, ranking, proposal),
            "advice": advice_document(advice),
            "splits": [split_document(each) for each in splits.answer.splits],
            "forecast_with_splits": forecast_document(splits.forecast),
            "prospect": prospect_document(session, prospect),
        }
    )


def _print(
    session: Session,
    planning: Planning,
    ranking: Ranking,
    proposal: Proposal | None,
    prospect: Prospect | None,
    advice: Sequence[Advice],
    splits: SplitsOnPlan,
) -> None:
    out = session.out
    out.line(_answer(planning, ranking, proposal, prospect), style="bold")
    first = min(HEAD, len(ranking))
    out.heading(f"the {first} units of {len(ranking)} that fast storage is worth most to, in waiting sessions")
    out.table(RANKING_COLUMNS, (_ranking_cells(ranking, row) for row in range(first)))
    if proposal is not None:
        out.heading("the plan")
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
    print_advice(out, advice)
    if splits.forecast is not None:
        out.heading("with these splits")
        out.facts(forecast_facts(splits.forecast))
    shown = proposal or (prospect.proposal if prospect is not None else None)
    if shown is not None:
        print_statements(out, shown.moves)


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


def print_advice(out: Output, advice: Sequence[Advice]) -> None:
    """Advice other than moves; prints nothing where there is none."""
    if advice:
        out.heading("advice other than moves")
    for each in advice:
        out.line(f"{each.code}: {each.sentence}")


def print_next(out: Output, proposal: Proposal | None, stored: ProposalRow | None, *, propose: bool) -> None:
    """What was stored and how to approve it, or how to store it."""
    out.line()
    if stored is not None:
        digest = short_digest(stored.digest)
        out.line(f"proposal {stored.id}, digest {digest}, {expiry(stored.proposal)}")
        out.line(f"next: hotplace approve {stored.id} --digest {digest}")
    elif propose and proposal is None:
        out.line("there is nothing to propose")
    elif proposal is None:
        out.line("dry run: nothing was changed in the database")
    elif propose:
        out.line("not stored: what is approved, or an undo that waits for its answer, comes first; see hotplace status")
    else:
        out.line("dry run: nothing was changed in the database; --propose stores the plan for approval")


def _document(planning: Planning, ranking: Ranking, proposal: Proposal | None) -> dict[str, Any]:
    """The plan as JSON values with the ranking around it."""
    return {
        **plan_document(planning, proposal),
        "tiers": read_times_document(planning.situation.tiers),
        "ranking": [ranking.document(row) for row in range(min(HEAD, len(ranking)))],
        "not_chosen": [ranking.document(row) for row in _not_chosen(ranking)],
    }


def plan_document(planning: Planning, proposal: Proposal | None) -> dict[str, Any]:
    """The plan as JSON values; the value is there even where nothing is worth moving."""
    plan = planning.plan
    empty: dict[str, Any] = {
        "created_at": planning.made_at,
        "expires_at": None,
        "bytes": 0,
        "wait_per_hour_seconds": plan.wait_per_hour,
        "wait_saved_per_hour_seconds": plan.wait_saved_per_hour,
        "wait_saved_low_per_hour_seconds": plan.wait_saved_low_per_hour,
        "wait_saved_high_per_hour_seconds": plan.wait_saved_high_per_hour,
        "saved_ratio_low": plan.saved_ratio_low,
        "saved_ratio_high": plan.saved_ratio_high,
        "relief_per_hour_seconds": plan.relief_per_hour,
        "bound_per_hour_seconds": plan.bound_per_hour,
        "gap_ratio": plan.gap_ratio,
        "ceiling_ratio": plan.ceiling_ratio,
        "moves": [],
    }
    if proposal is not None:
        return proposal_document(proposal)
    return {**empty, "forecast": forecast_document(planning.forecast())}


def stored_document(stored: ProposalRow | None) -> dict[str, Any] | None:
    """What to name when approving; None where nothing was stored."""
    if stored is None:
        return None
    return {"id": stored.id, "digest": stored.digest, "expires_at": stored.proposal.expires_at}


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


def print_by_hand(out: Output, heading: str, answer: ByHand) -> None:
    """What a person has to do, with the exact statements, and why hotplace does not do it."""
    out.heading(heading)
    out.line(f"hotplace does not do it: {answer.because}")
    out.heading("the exact statements")
    for statement in answer.statements:
        out.line(statement)
