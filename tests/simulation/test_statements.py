"""One statement that gets slower among winners: the whole agent, over an engine that tells statements apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATEMENT_TEXTS
from agent.model.outcomes import Outcome, OutcomeVerdict, outcome_from_json, outcome_json
from agent.model.states import MoveState
from agent.moving.statement_texts import statement_lines, texts_of
from agent.service.notifier import hurt_proposals
from agent.service.watch import Watch
from agent.terminal.output import plain_value
from agent.terminal.wording import outcome_shown
from connectors.kit.contract import PrivilegeMissing
from connectors.kit.statements import StatementCounters
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.world import World
from tests.simulation.site import MINUTE, Site

STATEMENTS = 8
VICTIM = "s3"


class TellingConnector(SimulatedConnector):
    """A client that tells statements apart: each has its share of all waits, one of them more of it once moves ran."""

    def __init__(self, world: World, *, worse: float = 1.0) -> None:
        super().__init__(world)
        self.worse, self.moved, self.refused, self.asked = worse, False, "", 0
        self._totals: dict[str, float] = {}
        self._counters = np.zeros((4, STATEMENTS))
        self._random = np.random.default_rng(4)

    def read_statements(self, most: int) -> StatementCounters:
        """Counters that have grown with those of the world since they were read last."""
        assert most >= STATEMENTS
        self.asked += 1
        if self.refused:
            raise PrivilegeMissing(self.refused)
        totals = self.sample().database
        grown = {name: value - self._totals.get(name, 0.0) for name, value in totals.items()}
        self._totals = dict(totals)
        factor = np.exp(self._random.normal(0, 0.05, STATEMENTS))
        if self.moved:
            factor[int(VICTIM[1:])] *= self.worse
        waits = grown["read_seconds"] / STATEMENTS * factor
        ran = np.full(STATEMENTS, grown["transactions"])
        self._counters += [ran, waits + 0.001 * ran, waits, np.full(STATEMENTS, grown["reads"] / STATEMENTS)]
        ran, seconds, waited, reads = self._counters.copy()
        return StatementCounters(
            taken_at=self._world.clock.now(), epoch="1", ids=tuple(f"s{each}" for each in range(STATEMENTS)),
            executions=ran, seconds=seconds, read_wait=waited, reads=reads, server_seconds=0.25,
        )  # fmt: skip

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """As many words as there are statements."""
        return {each: f"SELECT {each}" for each in ids}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop that is read every minute, since it settles in five."""
    return Site(tmp_path, policy="maximum_moves: 3")


@contextmanager
def agent(site: Site, connector: TellingConnector) -> Iterator[tuple[Watch, Ledger]]:
    """An agent that watches over that connector."""
    config = site.config
    with Ledger.open(config.ledger.path, site.clock) as ledger:
        watch = Watch(
            config.database(), ledger, site.clock, level=config.level, dry_run=False, connector=connector
        )  # fmt: skip
        yield watch, ledger
        watch.close()


def moved(site: Site, watch: Watch, ledger: Ledger, connector: TellingConnector) -> tuple[int, Outcome]:
    """Approve, move and measure; the proposal and its outcome."""
    number = site.approved(watch, ledger)
    watch.act()
    connector.moved = True
    for _ in range(60):
        site.clock.sleep(MINUTE)
        watch.sample()
        if found := watch.verify():
            return number, found[0]
    raise AssertionError("never measured")


@pytest.mark.parametrize("windows", ["", "statements: texts"])
def test_hurt_for_some(site: Site, windows: str) -> None:
    """All together wait less, one statement waits longer: the verdict and a notice say so, and a person decides."""
    site.windows = windows
    connector = TellingConnector(site.world, worse=40.0)
    with agent(site, connector) as (watch, ledger):
        number, outcome = moved(site, watch, ledger, connector)
        assert outcome.verdict is OutcomeVerdict.HURT_FOR_SOME
        assert outcome.change < -0.2, "all together it helped"
        assert outcome.statements is not None
        assert [each.id for each in outcome.statements.slower] == [VICTIM]
        assert outcome.statements.faster_count == STATEMENTS - 1
        assert outcome.sentence.startswith(f"hurt for some: of {STATEMENTS} statements 1 are slower")
        assert outcome_from_json(outcome_json(outcome)) == outcome
        assert plain_value(outcome_shown(outcome)) == outcome_json(outcome), "as it is stored"
        assert {row.state for row in ledger.moves.rows(proposal_id=number)} == {MoveState.KEPT}
        (told,) = hurt_proposals(ledger, "sim", site.clock.now())
        assert VICTIM in told.sentence
        texts = texts_of(ledger, "sim")
        assert set(texts) == ({f"s{each}" for each in (3, *_first_gains(outcome))} if windows else set())
        lines = list(statement_lines(outcome, texts))
        assert ("SELECT s3" in lines[1]) == bool(windows)
        assert "SELECT" not in str([row.facts for row in ledger.audit.rows(100)])


def _first_gains(outcome: Outcome) -> list[int]:
    assert outcome.statements is not None
    return [int(each.id[1:]) for each in outcome.statements.faster]


def test_only_winners(site: Site) -> None:
    """Where none got slower the verdict is as without statements; gains are listed."""
    connector = TellingConnector(site.world)
    with agent(site, connector) as (watch, ledger):
        _, outcome = moved(site, watch, ledger, connector)
        assert outcome.verdict is OutcomeVerdict.HELPED
        assert outcome.statements is not None
        assert (outcome.statements.slower_count, len(outcome.statements.faster)) == (0, 5)
        assert hurt_proposals(ledger, "sim", site.clock.now()) == ()


def test_statements_that_are_not_wanted(site: Site) -> None:
    """Then the engine is never asked for them, and texts that were kept when they were wanted are forgotten."""
    site.windows = "statements: none"
    connector = TellingConnector(site.world, worse=40.0)
    with agent(site, connector) as (watch, ledger):
        ledger.state.save_document("sim", STATEMENT_TEXTS, {"7": "SELECT 1"})
        _, outcome = moved(site, watch, ledger, connector)
        assert (outcome.verdict, outcome.statements) == (OutcomeVerdict.HELPED, None)
        assert connector.asked == 0
        assert texts_of(ledger, "sim") == {}


def test_statements_that_are_refused(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Sampling goes on, the reason is logged once, and the next try comes an hour later."""
    connector = TellingConnector(site.world)
    connector.refused = "no right to read statements"
    with agent(site, connector) as (watch, ledger):
        _, outcome = moved(site, watch, ledger, connector)
        assert (outcome.verdict, outcome.statements) == (OutcomeVerdict.HELPED, None)
        assert connector.asked == 1
        connector.refused = ""
        for _ in range(70):
            site.clock.sleep(MINUTE)
            watch.sample()
        assert connector.asked > 3
        assert len(ledger.statements.between("sim", site.clock.now().replace(year=2000), site.clock.now())) > 3


def test_what_reading_them_costs_is_counted(site: Site) -> None:
    """The server's time of each reading is in the metric of the agent's own cost."""
    connector = TellingConnector(site.world)
    with agent(site, connector) as (watch, _):
        watch.sample()
        assert watch.snapshot.server_seconds >= 0.25
