"""An agent that took over has no samples of the time before the moves: it judges by the hours that the server has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from agent.config.models import DatabaseConfig, Level
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.ledger.state_names import work_before_proposal
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.moving.evidence import EvidenceReader, Evidences
from agent.moving.settling import Settling
from connectors.kit.contract import Connector
from connectors.model.observation import DatabaseDemand
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, open_ledger
from tests.ledger.servers import LedgerServers
from tests.ledger.test_evidence import FAST, HEAD, SLOW, UNITS, database, homes, placed
from tests.unit.samples import MADE_AT

__all__ = ["database"]
pytestmark = ON_SERVER
TEN_MINUTES = timedelta(minutes=10)
BEFORE, AFTER = 20, 6  # hours


@pytest.fixture
def agents(servers: LedgerServers, tmp_path: Path, clock: StillClock) -> Iterator[tuple[Ledger, Ledger]]:
    """Two machines, each with a file of samples of its own."""
    place = servers.emptied()
    clock.at = MADE_AT.replace(hour=0, minute=0, second=0, microsecond=0)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (open_ledger(place, tmp_path / name / "ledger.db", clock) for name in ("one", "two"))
    with one, two:
        yield one, two


def watch(ledger: Ledger, clock: StillClock, hours: int, wait: float) -> None:
    """Samples of ten minutes; each hour begins idle and ends busy, and each read waits ``wait`` times its read time."""
    slots = ledger.slots.of("shop", UNITS)
    order = np.argsort(slots)
    for number in range(6 * hours):
        clock.at += TEN_MINUTES
        load = 1 + number % 6 + (number // 6) % 4
        counts = np.array([600, 300, 100, 1000]) * load
        asked = (counts[:3].sum() * SLOW + counts[3] * FAST) / 600
        values = np.array([counts, counts * 0, counts * 0], dtype=np.float64)[:, order]
        ledger.history.append("shop", clock.at, 600.0, slots[order], values)
        waited = wait * asked * (1 + load / 10)
        demand = DatabaseDemand(reads=float(counts.sum()) / 600, read_wait=waited, transactions=10.0 * load)
        ledger.work.append("shop", clock.at, 600.0, demand)
        ledger.samples.hand_over("shop", clock.at)


def move(ledger: Ledger, clock: StillClock) -> MoveRow:
    """One table goes to the fast disk; what was waited before is stored, as by any agent that begins a move."""
    row = placed(ledger, clock, HEAD)
    before = {"transactions": 40.0, "reads": 12.0, "read_wait": 0.1}
    ledger.state.save_document("shop", work_before_proposal(row.proposal_id), before)
    return row


def evidence_of(ledger: Ledger, clock: StillClock, row: MoveRow) -> Evidences:
    """Of all that was seen."""
    begun = clock.at - AFTER * timedelta(hours=1) - timedelta(minutes=1)
    reader = EvidenceReader(ledger, "shop", homes(ledger), [row])
    return reader.read((begun - BEFORE * timedelta(hours=1), begun), (begun + timedelta(minutes=1), clock.at))


def judged(ledger: Ledger, clock: StillClock, database: DatabaseConfig) -> Outcome:
    """What a daemon says at its last look."""
    outcomes = Settling(database, ledger, clock, Level.OBSERVE, asked_by="").judge(
        cast(Connector, None), lambda: homes(ledger)
    )
    assert len(outcomes) == 1
    return outcomes[0]


@pytest.mark.parametrize(("factor", "verdict"), [(0.3, OutcomeVerdict.HELPED), (2.5, OutcomeVerdict.HURT)])
def test_hours_are_compared_with_hours(
    agents: tuple[Ledger, Ledger], clock: StillClock, database: DatabaseConfig, factor: float, verdict: OutcomeVerdict
) -> None:
    """The agent's own samples after the moves are joined to hours; the verdict is right, and says what it is of."""
    one, two = agents
    watch(one, clock, BEFORE, 1.0)
    row = move(one, clock)
    watch(two, clock, AFTER, factor)
    found = evidence_of(two, clock, row)
    assert found.by_hour
    assert (len(found.before), len(found.after)) == (BEFORE - 1, AFTER + 1), "the last hour before ends with the move"
    assert found.after.seconds.sum() == AFTER * 3600.0
    assert len(found.placed_after) == len(found.after)
    outcome = judged(two, clock, database)
    assert (outcome.verdict, "means of hours" in outcome.rests_on) == (verdict, True)


def test_no_effect_is_not_called_one(
    agents: tuple[Ledger, Ledger], clock: StillClock, database: DatabaseConfig
) -> None:
    """Though an hour with quiet and busy minutes waits for more than its mean load would."""
    one, two = agents
    watch(one, clock, BEFORE, 1.0)
    move(one, clock)
    watch(two, clock, AFTER, 1.0)
    assert judged(two, clock, database).verdict in {OutcomeVerdict.NEUTRAL, OutcomeVerdict.CANNOT_TELL}


@pytest.mark.parametrize(("hours", "why"), [(5, "means of hours"), (0, "another agent saw the time before the moves")])
def test_few_hours_are_no_evidence(
    agents: tuple[Ledger, Ledger], clock: StillClock, database: DatabaseConfig, hours: int, why: str
) -> None:
    """Before the moves: it cannot be told, at once, since more time after them tells no more; and it is said why."""
    one, two = agents
    watch(one, clock, hours, 1.0)
    move(one, clock)
    watch(two, clock, AFTER, 2.5)
    outcome = judged(two, clock, database)
    assert (outcome.verdict, why in outcome.rests_on) == (OutcomeVerdict.CANNOT_TELL, True)


def test_who_has_all_samples_compares_them(agents: tuple[Ledger, Ledger], clock: StillClock) -> None:
    """The agent that stayed reads none of the hours that it has sent."""
    one, _ = agents
    watch(one, clock, BEFORE, 1.0)
    row = move(one, clock)
    watch(one, clock, AFTER, 1.0)
    found = evidence_of(one, clock, row)
    assert not found.by_hour
    assert (len(found.before), len(found.after)) == (6 * BEFORE, 6 * AFTER)
