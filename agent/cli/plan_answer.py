"""What all commands that make a plan print.

What does a plan do to each space? The table and the JSON of it.

How ``plan`` says what is not proposed yet: what it would be, what has to be seen first, and from when on.

What all commands that make a plan print: the plan as JSON, advice, work by hand, what was stored, what is next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import datetime, timedelta

from agent.cli.session import Session
from agent.ledger.rows import ProposalRow
from agent.ledger.state_names import PLANNED, PLANNED_AFTER
from agent.model.answers.kind import extend, narrow
from agent.model.answers.plans import (
    ConditionMissing,
    PlanFound,
    PlanProspect,
    ProposalStored,
    SpaceChange,
    SpaceLoad,
)
from agent.model.proposals import Proposal
from agent.model.states import ProposalState
from agent.model.units_of_measure import format_when
from agent.planning.planner import Planning
from agent.planning.ranking import Condition, Prospect
from agent.service.schedule import young_plans
from agent.service.watch import Watch
from agent.terminal.columns import Column
from agent.terminal.deciding import print_details, print_summary
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import (
    expiry,
    forecast_shown,
    plan_shown,
    print_script,
    short_digest,
)
from connectors.model.formatting import format_bytes, format_ratio, format_seconds, written
from connectors.model.moves import ByHand
from policies.model.plan import Advice
from policies.placement.dispatch import Carried, SpacesAfter

COLUMNS = (
    Column("space"), Column("used", number=True), Column("fill", number=True), Column("reads/s", number=True),
    Column("read time/s", number=True),
)  # fmt: skip


def print_spaces(out: Output, spaces: SpacesAfter) -> None:
    """A line per managed space, each figure before and after the plan; nothing where no space is managed."""
    if not len(spaces):
        return
    out.heading("the spaces, before -> after")
    out.table(COLUMNS, [_cells(spaces, row) for row in range(len(spaces))])


def space_changes(spaces: SpacesAfter) -> tuple[SpaceChange, ...]:
    """The same with exact numbers."""
    return tuple(
        SpaceChange(
            space=spaces.space[row],
            tier=spaces.tier[row],
            before=_load(spaces.before, row),
            after=_load(spaces.after, row),
        )
        for row in range(len(spaces))
    )


def _load(carried: Carried, row: int) -> SpaceLoad:
    return SpaceLoad(**{column.name: getattr(carried, column.name)[row] for column in fields(carried)})


def _cells(spaces: SpacesAfter, row: int) -> tuple[str, ...]:
    pairs = zip(_texts(spaces.before, row), _texts(spaces.after, row), strict=True)
    return (f"{spaces.space[row]} ({spaces.tier[row]})", *(_change(*pair) for pair in pairs))


def _texts(carried: Carried, row: int) -> tuple[str, ...]:
    """The figures of one space for people, in the order of the columns."""
    return (
        format_bytes(int(carried.used_bytes[row])),
        format_ratio(float(carried.fill_ratio[row])),
        f"{carried.reads_per_second[row]:.1f}",
        format_seconds(float(carried.read_seconds_per_second[row])),
    )


def _change(before: str, after: str) -> str:
    """Both where they differ as they are shown."""
    return before if before == after else f"{before} -> {after}"


CONDITIONS_SHOWN = 5  # moves whose conditions are written one by one; JSON has all of them
A_MOMENT = timedelta(seconds=10)


def print_prospect(session: Session, prospect: Prospect) -> None:
    """The moves as it looks now with their interval, what is missing, and the time."""
    out = session.out
    print_summary(out, prospect.proposal, prospect.proposal.moves)
    out.heading("to be seen before it is proposed")
    _print_conditions(out, prospect)
    out.line(_when(session, prospect))
    print_details(out, prospect.proposal, prospect.proposal.moves)


def _print_conditions(out: Output, prospect: Prospect) -> None:
    for condition in prospect.conditions[:CONDITIONS_SHOWN]:
        out.line(f"{condition.unit}: {'; '.join(condition.missing) or 'nothing more'}")
    if len(prospect.conditions) > CONDITIONS_SHOWN:
        out.line(f"and of {len(prospect.conditions) - CONDITIONS_SHOWN} more moves; --json names them")


def _when(session: Session, prospect: Prospect) -> str:
    """From when on, and who then proposes it."""
    at = prospect.from_when
    if at is None or prospect.seconds is None:
        return (
            "from when on is not known: more of the same demand is not enough, read times have to be known better too; "
            "ask again later"
        )
    said = f"proposed from {format_when(at)} on (in {format_seconds(prospect.seconds)}), if the load stays as it is"
    planned = _daemon_plans_at(session, at)
    if planned is None:
        every = format_seconds(session.database.plan_seconds)
        return f"{said} and is watched from now on: start hotplace run, which plans every {every}"
    return f"{said}; the daemon's next plan then is at {format_when(planned)}"


def _daemon_plans_at(session: Session, at: datetime) -> datetime | None:
    """When the daemon plans for the first time from then on; None where none runs."""
    if not session.daemon().alive:
        return None
    stored = session.ledger.state.load_document(session.database.name, PLANNED)
    if stored is None:
        return at
    every = session.database.plan_seconds
    turns = max(1, math.ceil((at - stored[0]).total_seconds() / every))
    in_turn = stored[0] + timedelta(seconds=turns * every)
    return min((in_turn, *_young_plans_from(session, at)))


def _young_plans_from(session: Session, at: datetime) -> Iterator[datetime]:
    """When a young daemon plans before its turn, from ``at`` on: with the sample that has shown enough."""
    database = session.database
    stored = session.ledger.state.load_document(database.name, PLANNED_AFTER)
    if stored is None:
        return
    (planned, watched), step = stored, database.sample_seconds
    for later in young_plans(watched, database.policy_settings().minimum_history_seconds, database.plan_seconds):
        samples = math.ceil((later - watched) / step)
        # Its sample falls a little before or after, and this command took a moment to begin.
        if planned + timedelta(seconds=(samples + 1) * step) >= at - A_MOMENT:
            yield max(at, planned + timedelta(seconds=samples * step))


def prospect_shown(session: Session, prospect: Prospect | None) -> PlanProspect | None:
    """The same as an answer has it; None where something is proposed or nothing would be."""
    if prospect is None:
        return None
    at, plan = prospect.from_when, plan_shown(prospect.proposal)
    return narrow(
        PlanProspect,
        plan,
        conditions=tuple(_condition_missing(condition) for condition in prospect.conditions),
        proposed_from=at,
        proposed_in_seconds=prospect.seconds,
        daemon_plans_at=None if at is None else _daemon_plans_at(session, at),
    )


def _condition_missing(condition: Condition) -> ConditionMissing:
    return ConditionMissing(
        unit=condition.unit,
        missing=tuple(condition.missing),
        watched_seconds=condition.watched_seconds,
        watched_seconds_needed=condition.watched_seconds_needed,
        waited_seconds=condition.waited_seconds,
        waited_seconds_needed=condition.waited_seconds_needed,
        wait_saved_per_hour_seconds=condition.saves_per_hour,
        surely_saved_per_hour_seconds=condition.saves_at_least_per_hour,
        surely_saved_per_hour_seconds_needed=condition.saves_at_least_per_hour_needed,
    )


def print_advice(out: Output, advice: Sequence[Advice]) -> None:
    """Advice other than moves; prints nothing where there is none."""
    if advice:
        out.heading("advice other than moves")
    for each in advice:
        out.line(f"{each.code}: {each.sentence}")


def print_next(out: Output, proposal: Proposal | None, stored: ProposalRow | None, *, propose: bool) -> None:
    """What was stored and how to approve it, or how to store it."""
    out.line()
    if stored is not None and stored.state is not ProposalState.APPROVED:
        digest = short_digest(stored.digest)
        out.line(f"proposal {stored.id}, digest {digest}, {expiry(stored.proposal)}")
        out.line(f"next: hotplace approve {stored.id} --digest {digest}")
    elif stored is not None:
        out.line(f"proposal {stored.id}, which has the same moves, is {stored.state}")
    elif propose and proposal is None:
        out.line("there is nothing to propose")
    elif proposal is None:
        out.line("dry run: nothing was changed in the database")
    elif not propose:  # else ``require_stored`` says why not
        out.line("dry run: nothing was changed in the database; --propose stores the plan for approval")


def require_stored(watch: Watch, proposal: Proposal | None, stored: ProposalRow | None, *, propose: bool) -> None:
    """End a command that was to store a proposal and could not, once the plan itself is printed.

    Raises:
        CommandError: why not; a script would otherwise take it for stored.
    """
    if not propose or proposal is None or (stored is not None and stored.state is not ProposalState.APPROVED):
        return
    if stored is not None:
        raise CommandError(
            f"not stored: proposal {stored.id} has the same moves and is {stored.state}",
            code=ExitCode.REFUSED,
            advice=f"hotplace show {stored.id} says where they stand.",
        )
    why = watch.offers.why_not(proposal) or "another database answers than the one that the plan was made for"
    raise CommandError(
        f"not stored: {why}",
        code=ExitCode.REFUSED,
        advice="hotplace proposals shows what waits for a decision, hotplace history what is under way.",
    )


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
        summary=None,
    )


def proposal_stored(stored: ProposalRow | None) -> ProposalStored | None:
    """What to name when approving; None where nothing was stored."""
    if stored is None:
        return None
    return ProposalStored(id=stored.id, digest=stored.digest, expires_at=stored.proposal.expires_at)


def print_by_hand(out: Output, heading: str, answer: ByHand) -> None:
    """What a person has to do, with the exact statements, and why hotplace does not do it."""
    out.heading(heading)
    out.line(f"hotplace does not do it: {answer.because}")
    out.heading("the exact statements")
    print_script(out, "\n".join(map(written, answer.statements)))
