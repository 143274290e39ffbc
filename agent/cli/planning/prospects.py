"""How ``plan`` says what is not proposed yet: what it would be, what has to be seen first, and from when on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from agent.answers.kind import narrow
from agent.answers.plans import ConditionMissing, PlanProspect
from agent.cli.session import Session
from agent.explanation.prospects import Condition, Prospect
from agent.ledger.state_names import PLANNED, PLANNED_AFTER
from agent.model.units_of_measure import format_when
from agent.service.schedule import young_plans
from agent.terminal.output import Output
from agent.terminal.wording import plan_shown, print_moves, print_value
from connectors.formatting import format_seconds

CONDITIONS_SHOWN = 5  # moves whose conditions are written one by one; JSON has all of them
A_MOMENT = timedelta(seconds=10)


def print_prospect(session: Session, prospect: Prospect) -> None:
    """The moves as it looks now with their interval, what is missing, and the time."""
    out = session.out
    out.heading("as it looks now")
    print_value(out, prospect.proposal)
    print_moves(out, prospect.proposal.moves)
    out.heading("to be seen before it is proposed")
    _print_conditions(out, prospect)
    out.line(_when(session, prospect))


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
