"""Two simulated databases, one list: the second one waits for the outcome of the first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import WAITING_MOVES
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState
from agent.service.watch import Watch
from tests.unit.samples import an_outcome
from tests.virtual_clock import VirtualClock

CONFIG = """
level: propose
dry_run: false
ledger: {path: ledger.db}
databases:
"""
DATABASE = """
  - name: NAME
    engine: simulated
    connection: {scenario: oltp, seed: SEED}
    sample_every: 1min
    settle: 5min
    proposal_expires: 12h
    tiers: [{name: ssd, kind: ssd, spaces: [ssd]}, {name: hdd, kind: hdd, spaces: [hdd]}]
    policy: {minimum_history: 10min}
"""
MINUTE = 60.0


class Pair:
    """Two agents on one ledger, and an approved list in which the first database goes first."""

    def __init__(self, folder: Path) -> None:
        path = folder / "hotplace.yaml"
        seeds = (("first", "31"), ("second", "32"))
        path.write_text(CONFIG + "".join(DATABASE.replace("NAME", n).replace("SEED", s) for n, s in seeds))
        config, self.clock = load(path), VirtualClock()
        self.ledger = Ledger.open(config.ledger.path, self.clock)
        self.watches = [
            Watch(database, self.ledger, self.clock, level=config.level, dry_run=False) for database in config.databases
        ]
        self.numbers = self._approved()

    def _approved(self) -> list[int]:
        self.sample(20)
        numbers = [self._propose(watch) for watch in self.watches]
        digest = self.ledger.lists.document(numbers, numbers[:1])[0].digest
        self.ledger.lists.approve(numbers, numbers[:1], who="eva", origin="tty", digest=digest)
        return numbers

    def _propose(self, watch: Watch) -> int:
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        return number

    def sample(self, minutes: int) -> None:
        """Both sample once a minute, measure and act."""
        for _ in range(minutes):
            for watch in self.watches:
                watch.sample()
                watch.verify()
            self.clock.sleep(MINUTE)

    def states(self, at: int) -> set[MoveState]:
        """What the moves of one of the two are."""
        return {row.state for row in self.ledger.moves.rows(proposal_id=self.numbers[at])}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Two agents with an approved list."""
    made = Pair(tmp_path)
    yield made
    for watch in made.watches:
        watch.close()
    made.ledger.close()


def test_the_second_wave_begins_after_the_outcome_of_the_first(pair: Pair) -> None:
    """It waits and says why; the first is carried out, settles and is measured; then the second begins."""
    first, second = pair.watches
    second.act()
    waiting = pair.ledger.state.load_document("second", WAITING_MOVES)
    assert waiting is not None
    assert all("goes before it, is not measured yet" in why for why in waiting[1].values())
    assert pair.states(1) == {MoveState.APPROVED}
    first.act()
    second.act()
    assert pair.states(1) == {MoveState.APPROVED}
    for _ in range(60):
        pair.sample(1)
        if pair.ledger.lists.went_before(pair.numbers[:1])[0].verdict is not None:
            break
        second.act()
        assert pair.states(1) == {MoveState.APPROVED}
    second.act()
    assert MoveState.APPROVED not in pair.states(1)
    assert pair.ledger.audit.verify().ok


def test_the_second_wave_never_begins_where_the_first_hurt(pair: Pair) -> None:
    """Its moves end as skipped, with the reason; no statement of it was sent."""
    first, second = pair.watches
    first.act()
    for row in pair.ledger.moves.rows(proposal_id=pair.numbers[0]):
        pair.ledger.moves.record_outcome(row.id, an_outcome(OutcomeVerdict.HURT))
    second.act()
    rows = pair.ledger.moves.rows(proposal_id=pair.numbers[1])
    assert {row.state for row in rows} == {MoveState.SKIPPED}
    assert all("goes before it, hurt" in row.reason for row in rows)
    assert not pair.ledger.moves.sent_statements("second", pair.clock.now().replace(year=2000))
