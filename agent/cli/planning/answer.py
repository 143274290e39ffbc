"""What all commands that make a plan print: the plan as JSON, advice, work by hand, what was stored, what is next."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answers.kind import extend
from agent.answers.plans import PlanFound, ProposalStored, WorkByHand
from agent.ledger import ProposalRow
from agent.model.proposals import Proposal
from agent.planning.planner import Planning
from agent.terminal.output import Output
from agent.terminal.throughput import forecast_shown
from agent.terminal.wording import expiry, plan_shown, print_script, short_digest
from connectors.containers import ByHand
from connectors.scripts import written
from policies.model.plan import Advice


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


def plan_found(planning: Planning, proposal: Proposal | None) -> PlanFound:
    """A plan; what it is worth is known even where nothing is worth moving."""
    if proposal is not None:
        return extend(PlanFound, plan_shown(proposal))
    plan = planning.plan
    return PlanFound(
        created_at=planning.made_at,
        expires_at=None,
        moves=(),
        bytes=0,
        wait_per_hour_seconds=plan.wait_per_hour,
        wait_saved_per_hour_seconds=plan.wait_saved_per_hour,
        wait_saved_low_per_hour_seconds=plan.wait_saved_low_per_hour,
        wait_saved_high_per_hour_seconds=plan.wait_saved_high_per_hour,
        saved_ratio_low=plan.saved_ratio_low,
        saved_ratio_high=plan.saved_ratio_high,
        relief_per_hour_seconds=plan.relief_per_hour,
        bound_per_hour_seconds=plan.bound_per_hour,
        gap_ratio=plan.gap_ratio,
        ceiling_ratio=plan.ceiling_ratio,
        forecast=forecast_shown(planning.forecast()),
    )


def proposal_stored(stored: ProposalRow | None) -> ProposalStored | None:
    """What to name when approving; None where nothing was stored."""
    if stored is None:
        return None
    return ProposalStored(id=stored.id, digest=stored.digest, expires_at=stored.proposal.expires_at)


def work_by_hand(answer: object) -> WorkByHand | None:
    """What a person has to do, where that is the answer."""
    if not isinstance(answer, ByHand):
        return None
    return WorkByHand(statements=tuple(answer.statements), because=answer.because)


def print_by_hand(out: Output, heading: str, answer: ByHand) -> None:
    """What a person has to do, with the exact statements, and why hotplace does not do it."""
    out.heading(heading)
    out.line(f"hotplace does not do it: {answer.because}")
    out.heading("the exact statements")
    print_script(out, "\n".join(map(written, answer.statements)))
