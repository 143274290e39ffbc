"""Four tables of four times the SSD: hotplace looks into them, says what a split brings, and splits what is worth it.

In each hotplace moves whole objects first, then looks into the table while the load goes on. Where its plan offers a
split by the newest rows of a table that grows, the border is put ahead of the newest row as the plan says, the
proposal approved by its digest and carried out, and rows are written until the hot part has aged in. Where it does
not, or refuses the split, the reason is kept: without growth no row would ever be born beyond a border, and scattered
heat has none. The load never stops.

Then three placements are measured by turns under that load, on the same files: the split's own, that of as many blocks
with hindsight, and the one without the split (placement.py). Looks come every second or two in place of every thirty,
so that a run takes minutes; what they cost is measured by ``inside``.

All four run at the same time, each on a server and disks of its own: they are bound by the modelled disks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import median
from typing import Any
from unittest.mock import patch

from agent.block_heat import border_looker, looker
from agent.demo.schema import SSD_SPACE
from agent.model.states import MoveState
from policies.model.plan import AdviceCode
from tests.bench.lab.asking import Unanswered, hotplace
from tests.bench.lab.figures import say
from tests.bench.lab.hotplace import ORIGIN, USUAL_POLICY, WHO, Hotplace, NotPlaced, watching
from tests.bench.lab.load import Clients, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import LabUnavailable, Rig, running_rig
from tests.bench.lab.split.cases import KEY, ROWS, Case, cases
from tests.bench.lab.split.placement import BlockPlacement, files_of
from tests.bench.lab.split.rows import age, newest, rows_lost

DEBIAN = 15  # the embedded servers lack pg_buffercache
SSD_SHARE, GROWTH = 0.25, 1.2  # of the table as large as it will be
SMALLER, SMALLEST = 0.0625, 0.04  # of the pace's scale; the least
SHORTER = 0.5  # of the pace's runs: turns are many
COUNT_SECONDS = 15.0  # that reads are counted by block before the first placement by them
POLICY = USUAL_POLICY + "head_room: 0.05"
CONNECTION = "index_route: fast, split_lock_limit: 30s"  # read-ahead of these small disks is small: a scan takes long
OF_DATABASE = "block_looks: 2%\n    border_values: true"
LOOK_SECONDS, MOST_LOOK_SECONDS = 25.0, 60.0
REST_SECONDS, SAVE_SECONDS, VALUES_SECONDS = 1.0, 0.0, 8.0  # in place of the looker's own
LEAST_AHEAD_SECONDS, SCAN_BYTES_PER_SECOND = 90.0, 5e6  # by which the border lies ahead of the newest row
LOAD_SECONDS = 420.0


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
    usual_stall: float = 0.0  # the same before the split
    seconds: float = 0.0  # from the first statement of the split to the last
    stall: float = 0.0  # longest time without the end of a transaction meanwhile
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
    with _looks_come_often(), ThreadPoolExecutor(len(chosen)) as pool:
        return list(pool.map(lambda case: run_case(case, pace, major), chosen))


@contextmanager
def _looks_come_often() -> Iterator[None]:
    with ExitStack() as stack:
        for module, name, seconds in (
            (looker, "REST_SECONDS", REST_SECONDS),
            (looker, "SAVE_EVERY_SECONDS", SAVE_SECONDS),
            (border_looker, "FIRST_SECONDS", VALUES_SECONDS),
            (border_looker, "EVERY_SECONDS", VALUES_SECONDS),
        ):
            stack.enter_context(patch.object(module, name, seconds))
        yield


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
    with watching(
        rig, name=name, policy=POLICY, connection=CONNECTION, of_database=OF_DATABASE
    ) as agent:  # fmt: skip
        agent.observe(rig.pace.warm_seconds + rig.pace.observe_seconds)
        _, moved = agent.decide(strict=False)
        say(f"  {case.name}: whole objects: {', '.join(f'{row.move.key} {row.state}' for row in moved) or 'none'}")
        document = look(agent)
        split = next((each for each in document["splits"] if each["unit"] == KEY), None)
        advice = next((each["sentence"] for each in _said_of_splits(document)), "nothing is said of a split")
        say(f"  {case.name}: {advice}")
        if split is None or split["border"] is None or split["wait_saved_per_hour_seconds"] <= 0:
            return Found(case=case, says=advice, lost=0)
        border = _ahead(rig, case) if case.grows else int(split["border"]["least"])
        try:
            proposal = hotplace(
                agent.config_path, "split", KEY, "--column", case.column, "--border", str(border), "--to", SSD_SPACE,
                "--propose",
            )["proposal"]  # fmt: skip
        except Unanswered as refused:
            return Found(case=case, says=str(refused), lost=0)
        return _split(case, agent, clients, proposal, border)


def look(agent: Hotplace) -> dict[str, Any]:
    """Look into the table until the plan has a word on it; the document of ``hotplace plan``."""
    began = time.monotonic()
    while True:
        agent.watch.plan()  # says which units are worth looks
        agent.watch.look_at_blocks()
        took = time.monotonic() - began
        if took > LOOK_SECONDS:
            agent.watch.sampler.save()
            document = hotplace(agent.config_path, "plan")
            if took > MOST_LOOK_SECONDS or _is_known(document):
                return document
        time.sleep(1.0)


def _is_known(document: dict[str, Any]) -> bool:
    """Whether the advice is about the table, and names the column where a split is worth it."""
    splits = [each for each in document["splits"] if each["unit"] == KEY]
    return bool(_said_of_splits(document)) and all(each["border"] is not None for each in splits)


def _said_of_splits(document: dict[str, Any]) -> list[dict[str, Any]]:
    codes = (AdviceCode.SPLIT, AdviceCode.NO_SPLIT)
    return [each for each in document["advice"] if each["subject"] == KEY and each["code"] in codes]


def _ahead(rig: Rig, case: Case) -> int:
    """A value that new rows reach only after the split, at the rate at which they come now."""
    with rig.session() as session:
        began, first = time.monotonic(), newest(session)
        time.sleep(3.0)
        last = newest(session)
        a_second = (last - first) / (time.monotonic() - began)
    size = next(relation.size_bytes for relation in rig.relations() if relation.key == KEY)
    return last + 100 + round(a_second * (LEAST_AHEAD_SECONDS + size / SCAN_BYTES_PER_SECOND))


def _split(case: Case, agent: Hotplace, clients: Clients, proposal: dict[str, Any], border: int) -> Found:
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
    run = clients.read()
    stall, usual = run.between(begin, end + 1.0).stall, run.between(begin - LOOK_SECONDS, begin).stall
    say(f"  {case.name}: split in {end - begin:.1f} s, longest stall {stall:.2f} s, before it {usual:.2f} s")
    if case.grows:
        say(f"  {case.name}: {age(agent.rig, case, border):,} values to age in")
    placement = BlockPlacement(agent.rig, before)
    time.sleep(COUNT_SECONDS)
    turns = tuple(_turn(case, agent.rig.pace, clients, placement) for _ in range(agent.rig.pace.runs))
    agent.watch.verify()
    (row,) = agent.ledger.moves.rows(proposal_id=proposal["id"])
    return Found(
        case=case, says=row.reason, lost=0, turns=turns, ssd_bytes=placement.ssd_bytes, seconds=end - begin,
        stall=stall, usual_stall=usual, state=row.state,
    )  # fmt: skip


def _turn(case: Case, pace: Pace, clients: Clients, placement: BlockPlacement) -> Turn:
    split = _measured(clients, pace)
    with placement.by_hindsight():
        hindsight = _measured(clients, pace)
    with placement.without_split():
        without = _measured(clients, pace)
    say(f"  {case.name}: split {split:,.0f}, hindsight {hindsight:,.0f}, without {without:,.0f} transactions/s")
    return Turn(split=split, hindsight=hindsight, without=without)


def _measured(clients: Clients, pace: Pace) -> float:
    """Transactions a second from now on; the first seconds are discarded."""
    begin = clients.elapsed() + pace.warm_again_seconds
    clients.sleep_until(begin + pace.run_seconds)
    return clients.read().between(begin, begin + pace.run_seconds).per_second
