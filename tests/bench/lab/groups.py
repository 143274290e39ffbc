"""Experiment 8: what a plan makes room for grows before it is carried out, and no longer fits.

The SSD is full of colder tables; the hot one waits on the hdd. hotplace watches the load and proposes to bring it up,
with the demotions that make room for it. After the approval the hot table grows by a tenth. Nothing of its group may
begin then: its demotions alone would leave the database slower than before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, groups_of
from agent.model.states import MoveState
from policies.model.moves import MoveReason
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import look_up
from tests.bench.lab.hotplace import Hotplace, watching
from tests.bench.lab.load import Group, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

ROWS = 500_000  # of the hot table at scale 1
HOT = "hot"
COLD = 4  # tables on the SSD, which together are a little larger than the hot table with its key
COLD_SHARE = 0.30  # of its rows, each: a heap of 128 bytes a row against heap and key of 150
GROWTH = 0.15  # of its rows, after the approval
HOT_WEIGHT, COLD_WEIGHT = 90, 1
LIMIT_SECONDS = 60.0
COMMAND = "python -m tests.bench.lab groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of the groups with demotions in them."""

    groups: int
    skipped: int  # whose end did not fit
    begun: int  # of these: something of it was sent to the server all the same
    moved: frozenset[str]  # units of them that are elsewhere than before
    says: str  # the reason at the first that was skipped


def tables(pace: Pace) -> tuple[Table, ...]:
    """The hot one first."""
    rows = round(ROWS * pace.scale)
    cold = (Table(name=f"cold{number}", rows=round(rows * COLD_SHARE)) for number in range(COLD))
    return (Table(name=HOT, rows=rows), *cold)


def workload(made: Sequence[Table]) -> Workload:
    """Nearly all look-ups go to the hot table."""
    weights = [HOT_WEIGHT] + [COLD_WEIGHT] * (len(made) - 1)
    return Workload(groups=(Group(scripts=tuple(map(look_up, made, weights)), clients=8),))


def run(pace: Pace, *, major: int = MAJOR) -> Found:
    """One run from a fresh start."""
    made = tables(pace)
    with running_rig(pace, major=major) as rig:
        rig.fill(made)
        cold = {f"public.{each.name}" for each in made[1:]}
        size_of = {relation.key: relation.size_bytes for relation in rig.relations()}
        rig.place(cold)
        rig.give_ssd(sum(size_of[key] for key in cold) + 2**20)
        clients = start(rig.server, rig.folder, workload(made), LIMIT_SECONDS, seed=7)
        try:
            with watching(rig) as agent:
                _approve(agent, pace)
                _grow(rig, made[0])
                before = rig.on_ssd()
                agent.watch.act()
                return _found(agent.ledger, before ^ rig.on_ssd())
        finally:
            clients.stop()


def _approve(agent: Hotplace, pace: Pace) -> None:
    """Once a plan makes room for the hot table, approve it.

    Raises:
        AssertionError: there is no such plan within the time.
    """
    until = time.monotonic() + LIMIT_SECONDS / 2
    while time.monotonic() < until:
        agent.observe(pace.observe_seconds)
        planning = agent.plan()
        reasons = {move.reason for move in planning.plan.moves}
        moved = {move.key for move in planning.plan.moves}
        if f"public.{HOT}" in moved and MoveReason.MAKE_ROOM in reasons:
            assert agent.approve(planning), "a plan with moves is a proposal"
            return
    raise AssertionError(f"no plan makes room for {HOT}: {planning.plan.moves}")


def _grow(rig: Rig, hot: Table) -> None:
    """Rows come in, at the machine's own speed."""
    rig.disk.switch(False)
    with rig.session() as session:
        session.execute(
            sql.SQL("INSERT INTO {} SELECT i, i, repeat('x', {}) FROM generate_series({}, {}) AS i").format(
                sql.Identifier(hot.name), *map(sql.Literal, (hot.filler, hot.rows + 1, round(hot.rows * (1 + GROWTH))))
            )
        )
        session.execute("CHECKPOINT")
    rig.disk.switch(True)


def _found(ledger: Ledger, changed: frozenset[str]) -> Found:
    """The groups of the one proposal that make room for something, by the ledger and by the catalog."""
    groups = [group for group in groups_of(ledger.moves.rows()) if len(group) > 1]
    skipped = [group for group in groups if group[-1].state is not MoveState.PLACED]
    begun = [group for group in skipped if any(ledger.moves.steps(row.id) for row in group)]
    for group in groups:
        for row in group:
            say(f"  move {row.move.ordinal} of group {row.move.group}, {row.move.key}: {row.state}, {row.reason}")
    return Found(
        groups=len(groups), skipped=len(skipped), begun=len(begun),
        moved=changed & {row.move.key for group in skipped for row in group},
        says=_reason(skipped),
    )  # fmt: skip


def _reason(skipped: Sequence[Sequence[MoveRow]]) -> str:
    return skipped[0][-1].reason if skipped else ""


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = run(pace, major=major)
    table(
        f"groups whose end has grown too large, PostgreSQL {major}",
        ("groups", "end does not fit", "begun all the same", "units moved in vain"),
        [(str(found.groups), str(found.skipped), str(found.begun), str(len(found.moved)))],
    )  # fmt: skip
    assert found.skipped, "the hot table has grown, and its group fits all the same: nothing was tried"
    return [
        Measurement(
            name="lab.postgresql.group_left_worse", value=found.begun, unit=f"of {found.skipped}", better="lower",
            command=COMMAND, note=f"begun although their end did not fit, goal 0; {found.says}",
        )
    ]  # fmt: skip
