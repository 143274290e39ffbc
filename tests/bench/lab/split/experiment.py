"""Four tables of four times the SSD: hotplace looks into them, says what a split brings, and splits what is worth it.

In each hotplace moves whole objects first, then looks into the table while the load goes on. Where its plan offers a
split by the newest rows of a table that grows, the border is put ahead of the newest row as the plan says, the
proposal approved by its digest and carried out, and rows are written until the hot part has aged in. Tables that do not
grow are split where hotplace itself has found the border: rows that are hot already move in one transaction. Where it
has found none, as in scattered heat, it refuses, and the reason is kept. The load never stops.

Then three placements are measured by turns under that load, on the same files: the split's own, that of as many blocks
with hindsight, and the one without the split (placement.py). Looks come every second or two in place of every thirty,
so that a run takes minutes; what they cost is measured by ``inside``.

All four run at the same time, each on a server and disks of its own: they are bound by the modelled disks.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import median
from typing import Any

from agent.model.states import MoveState
from tests.bench.lab.asking import Unanswered
from tests.bench.lab.figures import say
from tests.bench.lab.hotplace import ORIGIN, USUAL_POLICY, WHO, Hotplace, NotPlaced, watching
from tests.bench.lab.load import Clients, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import LabUnavailable, Rig, running_rig
from tests.bench.lab.split.cases import ROWS, Case, cases
from tests.bench.lab.split.deciding import (
    LOOK_SECONDS,
    advice_in,
    ahead_of,
    is_offered,
    look,
    looks_come_often,
    propose,
)
from tests.bench.lab.split.placement import BlockPlacement, files_of
from tests.bench.lab.split.rows import age, rows_lost

DEBIAN = 15  # the embedded servers lack pg_buffercache
SSD_SHARE, GROWTH = 0.25, 1.2  # of the table as large as it will be
SMALLER, SMALLEST = 0.0625, 0.04  # of the pace's scale; the least
SHORTER = 0.5  # of the pace's runs: turns are many
COUNT_SECONDS = 15.0  # that reads are counted by block before the first placement by them
POLICY = USUAL_POLICY + "head_room: 0.05"
CONNECTION = "index_route: fast"
OF_DATABASE = "block_looks: 2%\n    border_values: true"
LOAD_SECONDS = 420.0
WRITTEN_SECONDS = 3.0  # after which pgbench has written the lines of what has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The three placements, one after the other, in transactions a second."""

    split: float
    hindsight: float
    without: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of one case."""

    case: Case
    says: str  # the plan's word on the table, or why the split was refused
    lost: int  # rows
    turns: tuple[Turn, ...] = ()  # none: nothing was split
    ssd_bytes: int = 0
    seconds: float = 0.0  # from the first statement of the split to the last
    stall: float = 0.0  # longest time without the end of a transaction meanwhile
    usual_stall: float = 0.0  # the same in the seconds before
    state: str = ""  # of the move, once it was verified

    def per_second(self, placement: str) -> float:
        """Transactions, the middle of the turns."""
        return float(median(attrgetter(placement)(each) for each in self.turns))

    @property
    def gain_share(self) -> float:
        """Throughput after the split over the most that as many blocks with hindsight gave, whose counts grow."""
        return self.per_second("split") / max(each.hindsight for each in self.turns)

    @property
    def gain(self) -> float:
        """Times the throughput without the split."""
        return self.per_second("split") / self.per_second("without")


def run(pace: Pace, names: tuple[str, ...] = (), major: int = DEBIAN) -> list[Found]:
    """Every case, or those of some names.

    Raises:
        LabUnavailable: no such server, no compiler for the disk model, or no pg_buffercache.
    """
    pace = replace(pace.shorter(SHORTER), scale=max(SMALLEST, pace.scale * SMALLER))
    made = cases(round(ROWS * pace.scale))
    chosen = [case for name, case in made.items() if not names or name in names]
    with looks_come_often(), ThreadPoolExecutor(len(chosen)) as pool:
        return list(pool.map(lambda case: run_case(case, pace, major), chosen))


def run_case(case: Case, pace: Pace, major: int = DEBIAN) -> Found:
    """One table from its first row to its last.

    Raises:
        LabUnavailable: see ``run``.
        LoadFailed: the load ended before.
        NotPlaced: a move was approved and did not succeed.
    """
    with running_rig(pace, major=major) as rig:
        rig.build(case.statements)
        with rig.session() as dba:
            if not dba.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_buffercache'").fetchone():
                raise LabUnavailable(f"PostgreSQL {major} here lacks pg_buffercache: --major {DEBIAN}")
            dba.execute("CREATE EXTENSION pg_buffercache")
        rig.give_ssd(int(rig.total_bytes() * SSD_SHARE * (GROWTH if case.grows else 1.0)))
        clients = start(rig.server, rig.folder, case.workload, LOAD_SECONDS, seed=24)
        try:
            found = _watched(case, rig, clients)
            clients.check()
            return replace(found, lost=rows_lost(rig, case))
        finally:
            clients.stop()


def _watched(case: Case, rig: Rig, clients: Clients) -> Found:
    name = case.name.replace(" ", "_")
    with watching(rig, name=name, policy=POLICY, connection=CONNECTION, of_database=OF_DATABASE) as agent:
        agent.observe(rig.pace.warm_seconds + rig.pace.observe_seconds)
        _, moved = agent.decide(strict=False)
        say(f"  {case.name}: whole objects: {', '.join(f'{row.move.key} {row.state}' for row in moved) or 'none'}")
        document = look(agent)
        says = advice_in(document)
        say(f"  {case.name}: {says}")
        if case.grows and not is_offered(document):
            return Found(case=case, says=says, lost=0)
        border = ahead_of(rig, case) if case.grows else None
        try:
            proposal = propose(agent, case, border)
        except Unanswered as refused:
            return Found(case=case, says=" ".join(str(refused).rpartition("error: ")[2].split()), lost=0)
        return _split(case, agent, clients, proposal, border)


def _split(case: Case, agent: Hotplace, clients: Clients, proposal: dict[str, Any], border: int | None) -> Found:
    """Approve it, carry it out, let the table age, and measure.

    Raises:
        NotPlaced: the split did not succeed.
    """
    before = files_of(agent.rig)
    agent.ledger.proposals.approve(proposal["id"], who=WHO, origin=ORIGIN, digest=proposal["digest"])
    begin = clients.elapsed()
    rows = agent.carry_out()
    end = clients.elapsed()
    if [row.state for row in rows] != [MoveState.PLACED]:
        raise NotPlaced("; ".join(f"{row.move.key}: {row.state}, {row.reason}" for row in rows) or "no split ran")
    agent.watch.verify()
    if border is not None:
        say(f"  {case.name}: {age(agent.rig, case, border):,} values to age in")
    placement = BlockPlacement(agent.rig, before)
    time.sleep(COUNT_SECONDS)
    agent.watch.verify()  # before other placements are tried
    turns = _turns(agent.rig.pace, clients, placement)
    (row,) = agent.ledger.moves.rows(proposal_id=proposal["id"])
    run = clients.read()
    return Found(
        case=case, says=row.reason, lost=0, turns=turns, ssd_bytes=placement.ssd_bytes, seconds=end - begin,
        stall=run.between(begin, end + 1.0).stall, usual_stall=run.between(begin - LOOK_SECONDS, begin).stall,
        state=row.state,
    )  # fmt: skip


def _turns(pace: Pace, clients: Clients, placement: BlockPlacement) -> tuple[Turn, ...]:
    """Each placement for a while, and again."""
    began = list[float]()
    for _ in range(pace.runs):
        began.append(_rest(clients, pace))
        with placement.by_hindsight():
            began.append(_rest(clients, pace))
        with placement.without_split():
            began.append(_rest(clients, pace))
    time.sleep(WRITTEN_SECONDS)
    run = clients.read()
    rates = [run.between(each, each + pace.run_seconds).per_second for each in began]
    return tuple(Turn(split=a, hindsight=b, without=c) for a, b, c in zip(*[iter(rates)] * 3, strict=True))


def _rest(clients: Clients, pace: Pace) -> float:
    """Let the load go on until a run is over; when it began, which is after the first seconds of the placement."""
    begin = clients.elapsed() + pace.warm_again_seconds
    clients.sleep_until(begin + pace.run_seconds)
    return begin
