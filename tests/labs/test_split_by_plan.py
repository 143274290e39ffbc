"""A plan splits a table whose whole does not fit, on a real server: proposed, approved, carried out."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import psycopg
import pytest

from agent.config.models import MAXIMUM_STALL_SECONDS
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import decision_of_proposal
from agent.model.approvals import refuse_stall
from agent.model.clock import SystemClock
from agent.model.proposals import Proposal
from agent.model.states import MoveState
from agent.moving.verifier import forecast_of_moves
from agent.planning.advice import advice_on
from agent.planning.decisions import replay_decision, store_decision
from agent.planning.planner import Planning, make_planning, proposal_of
from agent.planning.ranking import prospect_of
from agent.planning.splits import split_answer_on, splits_on
from agent.planning.undo import propose_undo
from agent.sampling.block_heat import UnitBorders, save_block_heat, save_borders
from agent.sampling.picture import Picture
from agent.service.watch import Watch
from connectors.model.moves import Border
from connectors.model.observation import SIGNALS, Signal
from policies.evidence.borders import BorderLook, FoundBorder, ValueBorder
from policies.evidence.heat import index_of
from policies.model.moves import MoveReason
from policies.model.plan import HeatView, Verdict
from policies.placement.verdicts import explain_verdict
from tests.cli.test_inside import newest
from tests.labs.test_long_transactions import Place, place
from tests.labs.test_split import KEY, PARTS, decide, only_newest, pytestmark

__all__ = ["place", "pytestmark"]
ROWS, FIRST = 60_000, 54_001
MIB = 2**20
TABLE = f"""
    CREATE TABLE orders (id bigint PRIMARY KEY, note text NOT NULL);
    INSERT INTO orders SELECT g, repeat(md5(g::text), 6) FROM generate_series(1, {ROWS}) AS g;
    VACUUM (ANALYZE) orders
"""


@pytest.fixture
def table(dba: psycopg.Connection) -> psycopg.Connection:
    """Fifteen mebibytes."""
    for statement in TABLE.split(";"):
        dba.execute(statement.encode())
    return dba


def hot(picture: Picture, rate: float = 200.0) -> Picture:
    """As if sessions had waited for that many reads of the table a second for a week, and the fast space were small."""
    units, count = picture.catalog.units, len(picture.catalog.units)
    rates = np.zeros((SIGNALS, count))
    rates[[Signal.SYNC_READ, Signal.LOGICAL_READ], units.key.index(KEY)] = rate, 2 * rate
    heat = HeatView(
        rates=rates, observed_seconds=np.full(count, 7 * 86400.0), confidence=np.ones(count), error=np.full(count, 0.05)
    )
    spaces = tuple(
        replace(each, free_bytes=6 * MIB, capacity_bytes=6 * MIB, used_bytes=0) if each.name == "fast" else each
        for each in picture.storage.spaces
    )
    lasting, waiting = index_of(heat.rates), rate * 0.006
    work = replace(
        picture.work, transactions=rate / 10, active=1.1 * waiting, read_wait=waiting, others_processor=0.0
    )  # fmt: skip
    storage = replace(picture.storage, spaces=spaces)
    return replace(picture, heat=heat, storage=storage, lasting_demand=lasting, work=work)


def planned(watch: Watch, ledger: Ledger, *, stall: float = 60.0) -> tuple[Planning, Proposal | None]:
    """A plan by what looks have found: the newest tenth takes most of the reads."""
    picture = watch.sampler.picture()
    assert picture is not None
    name, now = watch.database.name, SystemClock().now()
    found = ValueBorder(
        column="id", type_name="bigint", least=str(FIRST), below=None, fit=0.95, of_rows=0.1, of_reads=0.8
    )
    look = BorderLook(
        at_hour=0.0, found=FoundBorder(border=found, is_time=False, least=float(FIRST), below=None, newest=float(ROWS))
    )
    save_block_heat(ledger, name, now, {KEY: newest()})
    save_borders(ledger, name, {KEY: UnitBorders(looks=(look,))})
    database = watch.database.model_copy(update={"maximum_stall_seconds": stall})
    planning = make_planning(hot(picture), database, watch.connector, ledger, now)
    return planning, proposal_of(planning, database, watch.identity.fingerprint)


@only_newest
def test_a_plan_splits_what_does_not_fit(place: Place, table: psycopg.Connection) -> None:
    """One move among the plan's: explained, approved by its digest, carried out as any other, and taken back."""
    rows = table.execute("SELECT count(*), sum(hashtext(o::text)::bigint) FROM orders AS o").fetchall()
    with place.agent() as (watch, ledger):
        watch.sample()
        watch.sample()
        planning, proposal = planned(watch, ledger)
        assert proposal is not None
        (move,) = [each for each in proposal.moves if each.reason == MoveReason.SPLIT]
        assert (move.key, move.to_space, move.group) == (KEY, "fast", move.ordinal)
        assert 1 * MIB < move.size_bytes < 3 * MIB
        assert move.sentence.startswith(
            f"The newest 1.4 MiB of {KEY}, to which 80% of its reads go, split off to ssd save"
        )
        (of_plan,) = [each for each in planning.plan.moves if each.part]
        assert (of_plan.part, of_plan.rows) == (Border(column="id", value=str(FIRST)), ())
        row = planning.situation.units.key.index(KEY)
        assert Verdict(int(planning.plan.verdict[row])) is Verdict.SPLIT
        assert len(planning.plan.verdict) == len(planning.situation.units)
        assert not planning.plan.chosen[row]
        assert splits_on(planning, ledger, "real").answer.splits == ()  # what the plan does is no advice as well
        (condition,) = prospect_of(planning, proposal, planning.settings).conditions
        assert condition.unit == f"{KEY} (hot part)"
        number = ledger.proposals.store(proposal)
        explained_later(planning, ledger, number, move.sentence)
        decide(watch, ledger, number)
        (done,) = ledger.moves.rows(proposal_id=number)
        assert (done.move.key, done.state) == (KEY, MoveState.PLACED)
        assert table.execute(PARTS).fetchall() == [("orders_p0", FIRST - 1), ("orders_p1", ROWS - FIRST + 1)]
        back = propose_undo([done], watch.database, watch.connector, ledger, SystemClock().now())
        decide(watch, ledger, back)
    assert table.execute(PARTS).fetchall() == [("orders", ROWS)]
    assert table.execute("SELECT count(*), sum(hashtext(o::text)::bigint) FROM orders AS o").fetchall() == rows


def explained_later(planning: Planning, ledger: Ledger, number: int, sentence: str) -> None:
    """The stored inputs give the same verdict and sentence again, and hold no value of a user's column."""
    store_decision(ledger, "real", planning, decision_of_proposal(number))
    replayed = replay_decision(ledger, "real", decision_of_proposal(number))
    assert replayed is not None
    assert np.array_equal(replayed.plan.verdict, planning.plan.verdict)
    row = planning.situation.units.key.index(KEY)
    assert explain_verdict(replayed.situation, replayed.plan, row, replayed.settings) == sentence
    stored = ledger.state.load_arrays("real", decision_of_proposal(number))
    assert stored is not None
    proposal = ledger.proposals.row(number).proposal
    two = replace(proposal, moves=(*proposal.moves, *proposal.moves))  # as if another move had not run
    expected, found = planning.forecast(), forecast_of_moves(ledger, number, two, proposal.moves)
    assert found is not None
    assert found.per_second == pytest.approx(expected.per_second)
    assert str(FIRST).encode() not in stored[1]["ranges"].tobytes()


@only_newest
def test_no_plan_splits_what_would_stall_too_long(place: Place, table: psycopg.Connection) -> None:
    """Where the lock may last longer than ``maximum_stall`` nothing is offered, and the advice says what to do."""
    with place.agent() as (watch, ledger):
        watch.sample()
        watch.sample()
        planning, proposal = planned(watch, ledger, stall=0.001)
        assert proposal is None
        assert not planning.plan.moves
        assert not planning.ranges
        advice = advice_on(planning, split_answer_on(planning, ledger, "real"))
        (said,) = [each.sentence for each in advice if each.subject == KEY]
        found = re.search(r" It would bring ([0-9.]+) times as many transactions\. (No plan .*)", said)
        assert found is not None
        assert float(found[1]) > 1.5, said
        assert found[2].startswith(f"No plan offers it: a split of {KEY} may hold up others for up to ")
        assert found[2].endswith(
            f" s, longer than maximum_stall (1 ms): `hotplace split {KEY} --propose` proposes it, and `hotplace "
            f"approve` with --stall allows it that time. `hotplace split {KEY} --column id --border VALUE` shows how, "
            "with a value ahead of the newest row: then no row is copied."
        )
        ahead = watch.split(KEY, Border(column="id", value=str(2 * ROWS)), None).proposal
        assert ahead is not None
        assert refuse_stall(ahead.moves, MAXIMUM_STALL_SECONDS) == ""  # by default, however large the table
