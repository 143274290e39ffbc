"""A ledger of two weeks: a database that waits, two proposals that were carried out, and what came of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.ledger.state_names import ADVICE, DECISION
from agent.model.states import MoveState
from agent.moving.verifier import measure
from agent.pages.content import Report, report_of
from agent.planning.decisions import decision_arrays
from agent.sampling.block_heat import save_block_heat
from agent.sampling.learned_state import fill_of, record_fill
from connectors.model.observation import DatabaseDemand, Role, RoleFigures
from policies.evidence.range_heat import RangeHeat, compare_looks, with_turnover
from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from tests.ledger.clock import StillClock
from tests.unit.policies.situations import GIB, MIB, Site, Unit
from tests.unit.samples import MADE_AT, a_move, a_proposal, an_effect

DATABASE = "shop"
DAYS = 14
NASTY = '</title><script>alert(1)</script>\x1b[31m & "x"'
WORK = DatabaseDemand(reads=1500.0, read_wait=7.2, write_wait=0.1, transactions=410.0, active=11.0)


def units_of(odd: str) -> tuple[Unit, ...]:
    """The units of the database, one of which has an odd name."""
    return (
        Unit(key="public.orders", size=6 * GIB, sync=310.0, space="fast"),
        Unit(key="public.order_lines", size=40 * GIB, sync=520.0),
        Unit(key="public.order_lines_pkey", size=3 * GIB, sync=240.0, space="fast"),
        Unit(key="public.customers", size=9 * GIB, sync=130.0),
        Unit(key="public.customers_email_key", size=900 * MIB, sync=85.0),
        Unit(key="audit.events_2026_02_with_a_name_that_is_rather_long", size=70 * GIB, sync=22.0),
        Unit(key="audit.events_2026_03_with_a_name_that_is_rather_long", size=12 * GIB, sync=61.0),
        Unit(key=f"public.{odd}", size=2 * GIB, sync=17.0),
        Unit(key="public.stock", size=5 * GIB, sync=44.0),
        Unit(key="public.prices", size=GIB, sync=12.0),
    )


def situation(odd: str = NASTY) -> Situation:
    """What the last plan saw."""
    site = Site(room={"fast": 16 * GIB, "slow": 400 * GIB}, database=WORK)
    roles = (
        RoleFigures(role=Role.LOG, name="wal", writes=200.0, write_seconds=0.9, waited_seconds=0.9),
        RoleFigures(role=Role.TEMP, name="temporary files", reads=40.0, waited_seconds=0.35),
    )
    return replace(site.situation(units_of(odd)), roles=roles, sessions=11.0)


@contextmanager
def ledger_of_two_weeks(folder: Path, odd: str = NASTY) -> Iterator[tuple[Ledger, StillClock]]:
    """The ledger, and its clock at the end of the fourteen days; ``odd`` is a part of names and persons."""
    clock = StillClock(MADE_AT)
    with Ledger.open(folder / "ledger.db", clock) as ledger:
        seen = situation(odd)
        slots = ledger.slots.of(DATABASE, seen.units.key)
        for hour in range(24 * DAYS):
            clock.sleep(3600.0)
            _sample(ledger, clock.now(), slots, hour)
            if hour >= 24 * (DAYS - 7):
                _plan(ledger, clock.now(), seen, hour)
            if hour == 24 * 9:
                _carry_out(ledger, clock, "public.orders", "public.order_lines_pkey", effect=-0.42)
            if hour == 24 * 11:
                _carry_out(ledger, clock, f"public.{odd}", effect=0.08)
        now = clock.now()
        ledger.proposals.store(
            a_proposal(a_move(key="public.customers"), created_at=now, expires_at=now + timedelta(days=1))
        )
        ledger.state.share_arrays(DATABASE, DECISION, clock.now(), decision_arrays(seen, PolicySettings()))
        sentence = f"The log of {odd} deserves a device of its own."
        advice = {"code": "faster", "subject": "log", "sentence": sentence, "wait_saved_per_hour_seconds": 900.0}
        ledger.state.save_document(DATABASE, ADVICE, [advice])
        save_block_heat(ledger, DATABASE, clock.now(), {f"public.{odd}": _inside(clock.now())})
        yield ledger, clock


def report_of_story(ledger: Ledger, clock: StillClock) -> Report:
    """All of it."""
    return report_of(ledger, DATABASE, MADE_AT - timedelta(hours=1), clock.now())


def daily(hour: int) -> float:
    """The load of an hour of the day: half as much at night."""
    return 1.0 + 0.5 * math.sin((hour % 24 - 8) / 24 * 2 * math.pi)


def _sample(ledger: Ledger, at: datetime, slots: np.ndarray, hour: int) -> None:
    """An hour of demand. The table of February cools while the one of March gets hot."""
    reads = np.array([unit.sync for unit in units_of(NASTY)]) * daily(hour)
    reads[5] *= 1 - hour / (24 * DAYS)
    reads[6] *= hour / (24 * DAYS)
    counts = np.rint(np.stack([reads * 3600, reads * 900, reads * 300])).astype(np.uint32)
    ledger.history.append(DATABASE, at, 3600.0, slots, counts)
    waited = (7.0 if hour < 24 * 9 else 4.1) * daily(hour)
    ledger.work.append(DATABASE, at, 3600.0, replace(WORK, read_wait=waited, transactions=400.0 * daily(hour)))


def _inside(at: datetime) -> RangeHeat:
    """A table into which was looked for two days: most of its reads go to its newest tenth."""
    heat, random, blocks = None, np.random.default_rng(1), 12_800
    for pair in range(96):
        hot = random.choice(np.arange(blocks * 9 // 10, blocks), 300, replace=False)
        came = np.unique(np.concatenate((hot, random.choice(blocks, 150, replace=False))))
        found = compare_looks(np.arange(0), came.astype(np.int64), blocks=blocks, block_bytes=8192, seconds=1.0)
        heat = with_turnover(heat, found, float(len(came)), at.timestamp() / 3600 - 48 + pair / 2)
    assert heat is not None
    return heat


def _plan(ledger: Ledger, at: datetime, seen: Situation, hour: int) -> None:
    """What the tiers hold at a plan: before day 9 the table and its index were on the slow one."""
    moved = 9 * GIB if hour < 24 * 9 else 0
    fast, slow = seen.spaces
    spaces = (
        replace(fast, used_bytes=fast.used_bytes - moved),
        replace(slow, used_bytes=slow.used_bytes + moved - (24 * DAYS - hour) * 20 * MIB),
    )
    record_fill(ledger, DATABASE, fill_of(at, replace(seen, spaces=spaces)))


def _carry_out(ledger: Ledger, clock: StillClock, *keys: str, effect: float) -> None:
    """Propose, approve, move, and measure what came of it."""
    moves = [a_move(at, key=key, size_bytes=3 * GIB) for at, key in enumerate(keys, start=1)]
    interval = {"saved_ratio_low": 0.38, "saved_ratio_high": 0.62, "wait_per_hour": 1800.0}
    number = ledger.proposals.store(
        a_proposal(*moves, created_at=clock.now(), expires_at=clock.now() + timedelta(days=1), **interval)
    )
    row = ledger.proposals.row(number)
    ledger.proposals.approve(number, digest=row.digest, who=f"ann {keys[-1]}", origin="db1", reason="agreed")
    before = DatabaseDemand(reads=1500.0, read_wait=7.0, transactions=400.0, active=11.0)
    after = replace(before, read_wait=7.0 * (1 + effect), transactions=520.0)
    found = measure(row.proposal, before, after, 900.0, effect=an_effect(effect, 0.03))
    for move in ledger.moves.rows(proposal_id=number):
        for state in (MoveState.PRECHECK, MoveState.RUNNING):
            ledger.moves.transition(move.id, state, "as it goes")
        step = ledger.moves.step_intent(move.id, 1, move.move.route.steps[0].sql)
        clock.sleep(240.0)
        ledger.moves.step_result(step, StepState.DONE, "")
        for state in (MoveState.PLACED, MoveState.SETTLING):
            ledger.moves.transition(move.id, state, "as it goes")
        own = replace(found, own_wait_per_read_before=0.0047, own_wait_per_read_after=0.00031, own_share=0.5)
        ledger.moves.record_outcome(move.id, own)
        ledger.moves.transition(move.id, MoveState.KEPT, found.sentence)
