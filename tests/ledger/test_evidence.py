"""Evidence of an outcome from the ledger: work and history of the same time, priced where units were before."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from agent.config.files import load
from agent.config.models import DatabaseConfig, Level
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, StepState
from agent.ledger.state_names import work_before_proposal
from agent.model.outcomes import OutcomeVerdict, StatementInterval
from agent.model.proposals import SPLIT, ProposedMove
from agent.model.states import MoveState
from agent.moving import settling
from agent.moving.control import Control
from agent.moving.effect import Effect, estimate
from agent.moving.evidence import EvidenceReader, MovedWork, next_look, own_figures
from agent.sampling.picture import UnitHomes
from connectors.kit.contract import Connector
from connectors.model.observation import DatabaseDemand
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal, an_effect

SLOW, FAST = 0.010, 0.001
HEAD, TAIL, STAYS, QUICK = "public.head", "public.tail", "public.stays", "public.quick"
UNITS = (HEAD, TAIL, STAYS, QUICK)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def database(tmp_path: Path) -> DatabaseConfig:
    """A database that settles for five minutes."""
    path = tmp_path / "hotplace.yaml"
    path.write_text(
        "ledger: {path: ledger.db}\ndatabases:\n  - name: shop\n    engine: simulated\n"
        "    connection: {scenario: oltp}\n    settle: 5min\n    tiers:\n"
        "      - {name: ssd, kind: ssd, spaces: [ssd]}\n      - {name: hdd, kind: hdd, spaces: [hdd]}\n",
        encoding="utf-8",
    )
    return load(path).database()


def homes(ledger: Ledger) -> UnitHomes:
    """As the catalog shows it after both moves: only one table is still on the disk."""
    return UnitHomes(
        slots=ledger.slots.of("shop", UNITS), physical_id=np.arange(4), table=np.arange(4),
        tier=np.array([0, 0, 1, 0]), tiers=("ssd", "hdd"),
        read_seconds=np.array([[FAST, FAST / 10], [SLOW, SLOW / 10]]),
    )  # fmt: skip


def watch(ledger: Ledger, clock: StillClock, minutes: int, counts: tuple[int, ...], wait: float) -> None:
    """So many minutes of that many random reads of each unit, and a tenth as many read ahead."""
    slots = ledger.slots.of("shop", UNITS)
    order = np.argsort(slots)
    values = np.array([counts, [each // 10 for each in counts], [0] * len(counts)], dtype=np.uint32)[:, order]
    for _ in range(minutes):
        clock.at += MINUTE
        ledger.history.append("shop", clock.at, 60.0, slots[order], values)
        demand = DatabaseDemand(reads=sum(counts) / 60, read_wait=wait / 60, transactions=10.0)
        ledger.work.append("shop", clock.at, 60.0, demand)


def placed(ledger: Ledger, clock: StillClock, key: str, ordinal: int = 1, move: ProposedMove | None = None) -> MoveRow:
    """A proposal of one move, approved, carried out in a minute and settling."""
    move = move or a_move(ordinal, key=key)
    number = ledger.proposals.store(a_proposal(move, expires_at=clock.at + timedelta(days=1)))
    ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
    (row,) = ledger.moves.rows(proposal_id=number)
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(row.id, state, "test")
    step = ledger.moves.step_intent(row.id, 1, row.move.route.steps[0].sql)
    clock.at += MINUTE
    ledger.moves.step_result(step, StepState.DONE, "")
    for state in (MoveState.PLACED, MoveState.SETTLING):
        ledger.moves.transition(row.id, state, "test")
    return ledger.moves.row(row.id)


@pytest.fixture
def moved(ledger: Ledger, clock: StillClock) -> list[MoveRow]:
    """Ten minutes before, two proposals one after the other, eleven minutes after."""
    watch(ledger, clock, 10, (600, 300, 100, 1000), wait=12.0)
    rows = [placed(ledger, clock, HEAD), placed(ledger, clock, TAIL)]
    watch(ledger, clock, 11, (600, 300, 100, 1000), wait=4.0)
    return rows


def test_reads_are_priced_where_units_were(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """1,000 reads a minute from the disk and as many from the SSD, before the moves and after them."""
    look = next_look(ledger, database, moved[:1], clock.at, 0.0)
    assert look is not None
    found = EvidenceReader(ledger, "shop", homes(ledger), look.joint).read(look.before, look.after)
    each = (600 + 300 + 100) * SLOW * 1.01 + 1000 * FAST * 1.01  # a tenth as many are read ahead, for a tenth
    assert found.before.expected == pytest.approx([each] * 10)
    assert found.after.expected == pytest.approx([each] * 5)
    assert found.before.waited == pytest.approx([12.0] * 10)
    assert found.after.waited == pytest.approx([4.0] * 5)
    assert found.after.moved == pytest.approx([900 * SLOW * 1.01 / each] * 5)
    assert found.after.elsewhere == pytest.approx([1000 * FAST * 1.01 / each] * 5)
    reader = EvidenceReader(ledger, "shop", homes(ledger), look.joint)
    days, units = reader.history(*look.history, beside=reader.read(look.before, look.after))
    assert days.expected == pytest.approx([each] * 10)
    assert units is not None
    assert units.until.tolist() == days.at.tolist()
    assert (units.until - units.since).tolist() == [60.0] * 10
    assert units.moved == pytest.approx([990] * 10)
    assert units.every == pytest.approx([2200] * 10)


def test_the_parts_of_a_split_table_are_priced_where_the_table_was(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig
) -> None:
    """A table of the disk is two parts since: the reads of the one on the SSD are what the split spares."""
    watch(ledger, clock, 10, (600, 0, 100, 1000), wait=12.0)
    bundle = replace(a_move(1).route.bundle, key=HEAD, physical_ids=(7,), unit_keys=())
    move = a_move(1, key=HEAD, reason=SPLIT, from_tier="hdd", to_tier="ssd")
    row = placed(ledger, clock, HEAD, move=replace(move, route=replace(move.route, bundle=bundle)))
    watch(ledger, clock, 11, (100, 500, 100, 1000), wait=4.0)  # HEAD is the cold part's, TAIL the hot one's key now
    look = next_look(ledger, database, [row], clock.at, 0.0)
    assert look is not None
    parts = replace(
        homes(ledger), tier=np.array([1, 0, 1, 0]), physical_id=np.array([7, 8, 9, 10]), table=np.array([5, 5, 9, 10])
    )
    found = EvidenceReader(ledger, "shop", parts, look.joint).read(look.before, look.after)
    each = (600 + 100) * SLOW * 1.01 + 1000 * FAST * 1.01
    assert found.before.expected == pytest.approx([each] * 10)
    assert found.after.expected == pytest.approx([each] * 5)
    assert found.placed_after == pytest.approx([each - 500 * (SLOW - FAST) * 1.01] * 5)
    assert found.before.moved == pytest.approx(found.after.moved[0])


@pytest.mark.parametrize("reason", [SPLIT, "promote"])
def test_reads_that_a_split_adds_to_each_transaction_are_its_cost(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, reason: str
) -> None:
    """As many transactions read five times as many blocks, each as fast as before: no move does that, a split may."""
    watch(ledger, clock, 20, (60, 30, 10, 100), wait=1.0)
    row = placed(ledger, clock, HEAD, move=a_move(1, key=HEAD, reason=reason, from_tier="hdd", to_tier="hdd"))
    watch(ledger, clock, 11, (300, 150, 50, 500), wait=5.0)
    look = next_look(ledger, database, [row], clock.at, 0.0)
    assert look is not None
    evidence = EvidenceReader(ledger, "shop", homes(ledger), look.joint).read(look.before, look.after)
    effect = estimate(evidence.before, evidence.after)
    assert effect is not None
    assert evidence.split is (reason == SPLIT)
    if evidence.split:
        assert effect.change == pytest.approx(4.0, rel=0.1)
    else:
        assert effect.change < 0.05


def test_moves_at_the_same_time_share_their_effect(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """600 and 300 reads a minute came to the SSD: two thirds of the joint effect are the first one's."""
    for row in moved:
        look = next_look(ledger, database, [row], clock.at, 0.0)
        assert look is not None
        assert {each.id for each in look.joint} == {each.id for each in moved}
        assert look.after[1] - look.after[0] == timedelta(minutes=5)
        found = EvidenceReader(ledger, "shop", homes(ledger), look.joint).read(look.before, look.after)
        at = [each.id for each in look.joint].index(row.id)
        assert found.moved_after.shares()[at] == pytest.approx(2 / 3 if row is moved[0] else 1 / 3)


def test_the_figures_of_one_move(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """12 s a minute became 4; two thirds of the 8 s saved are the first one's, over its 660 reads."""
    look = next_look(ledger, database, moved[:1], clock.at, 0.0)
    assert look is not None
    found = EvidenceReader(ledger, "shop", homes(ledger), look.joint).read(look.before, look.after)
    effect = Effect(
        log_change=float(np.log(4 / 12)), further=0.0, error=0.01, freedom=9.0, before=10, after=5, outside=0.0,
        hours_known=False,
    )  # fmt: skip
    own = own_figures(found, effect, 0)
    level = 12.0 / ((1000 * SLOW + 1000 * FAST) * 1.01)
    before = 600 * SLOW * 1.01 * level
    assert own is not None
    assert own.share == pytest.approx(2 / 3)
    assert own.reads_per_second == pytest.approx((660 / 60, 660 / 60))
    assert own.wait_per_read == pytest.approx((before / 660, (before - 8 * 2 / 3) / 660))


def test_what_moves_later_ends_the_time_after(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """A third move begins when the first look was possible: what comes after it is not compared, what was before is."""
    begun = clock.at
    later = placed(ledger, clock, STAYS)
    watch(ledger, clock, 11, (600, 300, 100, 1000), wait=3.0)
    look = next_look(ledger, database, moved[:1], clock.at, 0.0)
    assert look is not None
    assert later.id not in {each.id for each in look.joint}
    assert look.after[1] == begun
    assert look.last
    own = next_look(ledger, database, [later], clock.at, 0.0)
    assert own is not None
    assert own.before == (begun - timedelta(minutes=6), begun)
    assert [each.id for each in own.joint] == [later.id]


def test_a_look_that_could_not_tell_waits_for_twice_as_much(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """After five minutes were looked at the next look takes ten, and is the last: before was not seen for longer."""
    first = next_look(ledger, database, moved[:1], clock.at, 0.0)
    assert first is not None
    assert not first.last
    assert next_look(ledger, database, moved[:1], clock.at, 300.0) is None
    watch(ledger, clock, 5, (600, 300, 100, 1000), wait=4.0)
    look = next_look(ledger, database, moved[:1], clock.at, 300.0)
    assert look is not None
    assert look.seconds >= 600.0
    assert look.last


def test_what_can_be_measured_no_longer_is_judged_by_less(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Harm by three standard errors is looked at again, and called hurt at the last look."""
    monkeypatch.setattr(settling, "effect_of", lambda *_, **__: an_effect(0.4, error=0.116))
    before = {"transactions": 10.0, "reads": 33.0, "read_wait": 0.2}
    for row in moved:
        ledger.state.save_document("shop", work_before_proposal(row.proposal_id), before)
    judging = settling.Settling(database, ledger, clock, Level.OBSERVE, asked_by="")
    engine = cast(Connector, None)  # asked for statements and ways back only
    assert judging.judge(engine, lambda: homes(ledger)) == ()
    watch(ledger, clock, 5, (600, 300, 100, 1000), wait=4.0)
    assert judging.judge(engine, lambda: homes(ledger))[0].verdict is OutcomeVerdict.HURT


def test_outcomes_are_judged_beside_statements_that_stayed(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement reads the table that moves, two read others: by the ledger's counts those two are the control."""
    generator = np.random.default_rng(8)

    def minutes(count: int) -> None:
        for _ in range(count):
            head, stays, quick = (int(each) for each in generator.integers(200, 800, 3))
            watch(ledger, clock, 1, (head, 0, stays, quick), wait=1.0)
            reads = np.array([each + each // 10 for each in (head, stays, quick)], dtype=np.float64)
            ledger.statements.append("shop", StatementInterval(
                started_at=clock.at - MINUTE, ended_at=clock.at, ids=("head", "stays", "quick"), reads=reads,
                executions=reads, seconds=reads * 0.02, read_wait=reads * 0.01,
            ))  # fmt: skip

    minutes(40)
    row = placed(ledger, clock, HEAD)
    ledger.state.save_document("shop", work_before_proposal(row.proposal_id), {"transactions": 10.0, "read_wait": 0.2})
    minutes(11)
    controls: list[Control | None] = []

    def effect_of(*given: object) -> Effect:
        controls.append(cast(Control | None, given[-1]))
        return an_effect(0.0)

    monkeypatch.setattr(settling, "effect_of", effect_of)
    judging = settling.Settling(database, ledger, clock, Level.OBSERVE, asked_by="")
    judging.judge(cast(Connector, None), lambda: homes(ledger))
    (control,) = controls
    assert control is not None
    assert sorted(control.ids) == ["quick", "stays"]


def test_late_samples_lengthen_the_first_look(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """Two samples in the 90 s of the first look are too few: all 150 s that were seen are looked at."""
    short = database.model_copy(update={"settle_seconds": 90.0})
    look = next_look(ledger, short, moved[:1], clock.at - 7 * MINUTE, 0.0)
    assert look is not None
    assert look.seconds == 150.0


def test_without_homes_all_reads_count_alike(
    ledger: Ledger, clock: StillClock, database: DatabaseConfig, moved: list[MoveRow]
) -> None:
    """An agent that has not sampled yet knows no units: reads of the whole database are what is compared."""
    look = next_look(ledger, database, moved[:1], clock.at, 0.0)
    assert look is not None
    found = EvidenceReader(ledger, "shop", None, look.joint).read(look.before, look.after)
    assert found.after.expected == pytest.approx([2000.0] * 5)
    assert own_figures(found, None, 0) is None


def test_few_reads_are_counted_too(ledger: Ledger, clock: StillClock) -> None:
    """Half a read a second is counted; only where an engine counts none do transactions stand for them."""
    for reads in (0.5, 0.5, math.nan):
        clock.at += MINUTE
        demand = DatabaseDemand(reads=reads, read_wait=0.1, transactions=10.0)
        ledger.work.append("shop", clock.at, 60.0, demand)
    reader = EvidenceReader(ledger, "shop", None, [])
    counted, neither = (clock.at - 3 * MINUTE, clock.at - MINUTE), (clock.at - MINUTE, clock.at)
    found = reader.read(counted, neither)
    assert found.before.expected == pytest.approx([30.0, 30.0])
    assert found.after.expected == pytest.approx([600.0])


@pytest.mark.parametrize("moves", [1, 3])
def test_moves_that_change_nothing_share_alike(moves: int) -> None:
    """By what each is read where none changes anything; where none is read either, the same each."""
    none = np.zeros(moves)
    read = np.arange(1.0, moves + 1)
    assert MovedWork(reads=none, at_source=none, at_target=none).shares() == pytest.approx(np.full(moves, 1 / moves))
    alike = MovedWork(reads=read, at_source=read, at_target=read)
    assert alike.shares() == pytest.approx(read / read.sum())
