"""Do copies and locks take as long as their intervals say, and does any lock last longer than its approval allows?

The tables and indexes of ``copy_time`` go there and back, on idle disks and while sessions read, with one ledger: each
move teaches the interval of the next. Approvals allow a lock as long as ``maximum_stall`` is by default; a move that
may keep others out for longer is approved by naming the upper end of its interval, as a person would. What was said is
of the stored proposal, what came is of the journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil
from statistics import median

from agent.config.models import MAXIMUM_STALL_SECONDS
from agent.ledger.rows import MoveRow
from agent.model.approvals import Conditions
from agent.model.states import MoveState
from agent.sampling.experience import predicted_seconds
from agent.sampling.prediction_errors import stalled_seconds
from connectors.model.formatting import format_seconds
from policies.model.settings import Pin
from tests.bench.lab.copy_time import CLIENTS, IDLE_SECONDS, POLICY, load, pin, tables
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import look_up
from tests.bench.lab.hotplace import ORIGIN, WHO, Hotplace, NotPlaced, watching
from tests.bench.lab.load import Group, Workload
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, running_rig
from tests.bench.measurement import Measurement

GOAL, WIDTH_GOAL = 0.9, 4.0
ROUNDS = 2  # there and back, each of other tables, idle as well as busy: 48 moves of six units
LOAD_SECONDS = 400.0  # at most
TAUGHT = 20  # moves after which intervals are to be narrow
COMMAND = "python -m tests.bench.lab copy_intervals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One move that arrived: what was said of it and what came."""

    when: str
    row: MoveRow
    seconds: float
    held: float | None  # that its lock kept others out; None: it does so for a moment only
    allowed: float  # by its approval

    @property
    def said(self) -> tuple[float, float]:
        """Seconds between which it was to end."""
        return self.row.move.copy_interval_seconds or (0.0, 0.0)

    @property
    def is_within(self) -> bool:
        """Whether it did."""
        return self.said[0] <= self.seconds <= self.said[1]

    @property
    def stall_is_within(self) -> bool:
        """Whether its lock lasted as long as said, where one was timed."""
        low, high = self.row.move.stall_interval_seconds or (0.0, 0.0)
        return self.held is None or low <= self.held <= high

    @property
    def width(self) -> float:
        """Upper over lower end."""
        return self.said[1] / max(self.said[0], 1e-9)


def run(pace: Pace, *, major: int = MAJOR) -> tuple[list[Seen], int]:
    """All moves in their order, and how many approvals were refused until a person named the time."""
    hot, warm, *moved = tables(pace)
    # What was approved once and still settles is not proposed again: each round has tables of its own.
    sets = [[replace(each, name=f"{each.name}_{number}") for each in moved] for number in range(2 * ROUNDS)]
    units = [[unit for each in some for unit in each.units] for some in sets]
    work = Workload(groups=(Group(scripts=(look_up(hot, 2), look_up(warm, 1)), clients=CLIENTS),))
    with running_rig(pace, major=major) as rig:
        rig.fill((hot, warm, *chain.from_iterable(sets)))
        with watching(rig, name="intervals", policy=POLICY) as agent:
            agent.observe(IDLE_SECONDS)
            seen, named = _rounds(agent, "idle", units[:ROUNDS])
            with load(rig, work, LOAD_SECONDS):
                pin(agent, (*hot.units, *warm.units), Pin.NEVER)
                agent.observe(pace.observe_seconds)
                more, named_busy = _rounds(agent, "busy", units[ROUNDS:])
    return seen + more, named + named_busy


def _rounds(agent: Hotplace, when: str, sets: Sequence[Sequence[str]]) -> tuple[list[Seen], int]:
    seen, named = [], 0
    for units in sets:
        for where in (Pin.MUST, Pin.NEVER):
            pin(agent, units, where)
            some, is_named = _moved(agent, when)
            seen += some
            named += is_named
            say(f"  {when}, {where}: {len(some)} of {len(units)} moves arrived")
    return seen, named


def _moved(agent: Hotplace, when: str) -> tuple[list[Seen], bool]:
    """Plan, approve with the usual limit or with a named one, carry out; whether a time had to be named.

    Raises:
        NotPlaced: none of the moves arrived.
    """
    number = agent.watch.propose(agent.plan())
    if number is None:
        return [], False
    row = agent.ledger.proposals.row(number)
    longest = max((each.stall_interval_seconds or (0.0, 0.0))[1] for each in row.proposal.moves)
    allowed = max(float(ceil(longest)), MAXIMUM_STALL_SECONDS)
    conditions = Conditions(most_stall_seconds=allowed)
    agent.ledger.proposals.approve(number, who=WHO, origin=ORIGIN, digest=row.digest, conditions=conditions)
    rows = agent.carry_out()
    arrived = [_seen(agent, when, each, allowed) for each in rows if each.state is MoveState.PLACED]
    if not arrived:
        raise NotPlaced("; ".join(f"{each.move.key}: {each.state}, {each.reason}" for each in rows) or "no moves ran")
    return arrived, longest > MAXIMUM_STALL_SECONDS


def _seen(agent: Hotplace, when: str, row: MoveRow, allowed: float) -> Seen:
    steps = agent.ledger.moves.steps(row.id)
    took = sum(((step.ended_at or step.intended_at) - step.intended_at).total_seconds() for step in steps)
    return Seen(when=when, row=row, seconds=took, held=stalled_seconds(row.move, steps), allowed=allowed)


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    before = os.getloadavg()[0]
    seen, named = run(pace, major=major)
    columns = ("when", "unit", "route", "model", "around", "said from", "to", "took", "lock held", "allowed")
    table(f"intervals of copies, PostgreSQL {major}", columns, [_row(each) for each in seen])
    locked = [each for each in seen if each.held is not None]
    over = [each for each in locked if (each.held or 0.0) > each.allowed]
    width = median(each.width for each in seen[TAUGHT:]) if len(seen) > TAUGHT else float("nan")
    by_round = ", ".join(
        f"{when} {_share(each.is_within for each in seen if each.when == when):.2f}" for when in ("idle", "busy")
    )
    loaded = f"load of the machine {before:.1f} before, {os.getloadavg()[0]:.1f} after; PostgreSQL {major}"
    return [
        {"name": "lab.postgresql.copy_interval_coverage", "value": _share(each.is_within for each in seen),
         "unit": "share", "better": "higher", "command": COMMAND,
         "note": f"goal {GOAL:g}; {len(seen)} moves, {by_round}; upper over lower end {width:.2f} in the median after "
                 f"{TAUGHT} moves, goal {WIDTH_GOAL:g}; {loaded}"},
        {"name": "lab.postgresql.stall_interval_coverage", "value": _share(each.stall_is_within for each in locked),
         "unit": "share", "better": "higher", "command": COMMAND,
         "note": f"goal {GOAL:g}; {len(locked)} moves under a lock"},
        {"name": "lab.postgresql.stalls_over_limit", "value": float(len(over)), "unit": "moves", "better": "lower",
         "command": COMMAND,
         "note": f"goal 0; of {len(locked)} under a lock; {named} plans had moves whose time had to be named"},
    ]  # fmt: skip


def _share(which: Iterable[bool]) -> float:
    some = list(which)
    return sum(some) / len(some) if some else float("nan")


def _row(each: Seen) -> tuple[str, ...]:
    held = "-" if each.held is None else format_seconds(each.held)
    said = (format_seconds(end) for end in each.said)
    cost = each.row.move.cost
    model = predicted_seconds(each.row.move), None if cost is None else cost.around_seconds
    modelled = ("-" if seconds is None else format_seconds(seconds) for seconds in model)
    return (each.when, each.row.move.key, each.row.move.route.name, *modelled, *said,
            format_seconds(each.seconds), held,
            format_seconds(each.allowed))  # fmt: skip
