"""A cycle under ``dry_run: true``: reading sessions send the queries of ``connectors/ENGINE/sql``, and nothing moves.

The lease is taken as always, over a session of its own, whose statements are not heard here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import connectors
from agent.config.models import DatabaseConfig, Level
from agent.ledger.ledger import Ledger
from agent.model.states import MoveState
from agent.service.daemon import claim
from agent.service.watch import Watch
from connectors.kit.contract import Row, Values
from connectors.kit.sessions import RetryingSession
from tests.contract.harness import EngineHarness, PlayTable
from tests.recordings.scene import READS, Scene

NO_STATEMENTS = {"room", "folder", "connection", "processors"}  # PostgreSQL's: asked of file system, driver and kernel
NO_ROWS = {"probe"}  # Oracle's: its own queries and views, asked for no row, so that privileges are checked


@dataclass(slots=True)
class Listening:
    """A tap that lets everything through and keeps the names."""

    names: set[str] = field(default_factory=set)
    within: int = 0  # questions that are being asked through it
    beside: list[str] = field(default_factory=list)  # what was asked without it

    def answer(self, name: str, values: Values, ask: Callable[[], list[Row]], *, doing: str) -> list[Row]:
        """The server's own answer."""
        del values, doing
        self.names.add(name)
        self.within += 1
        try:
            return ask()
        finally:
            self.within -= 1


@pytest.fixture
def tap(monkeypatch: pytest.MonkeyPatch) -> Listening:
    """Every session tells it what is asked beside it, and none that could move anything can be opened."""
    listening, with_retry = Listening(), RetryingSession._with_retry

    def heard(self: Any, read: Any, doing: str) -> Any:  # whatever a session reads
        if not listening.within:
            listening.beside.append(doing)
        return with_retry(self, read, doing)

    def refuse(*_: object) -> None:
        raise AssertionError("a dry run connects with the account that moves")

    monkeypatch.setattr(RetryingSession, "_with_retry", heard)
    monkeypatch.setattr(DatabaseConfig, "connect_mover_side", refuse)
    return listening


def test_a_cycle_sends_queries_only(
    scene: Scene,
    harness: EngineHarness,
    table: PlayTable,
    tap: Listening,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Sampled, planned, proposed, approved and acted upon: nothing but queries is sent, and nothing has moved."""
    engine, connect = scene.database.engine, scene.database.engine_record.tapped
    assert connect is not None
    connector = connect(scene.database.connection, harness.clock, tap)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a dry run opens a session that may write")

    monkeypatch.setattr(type(connector), "open_mover", refuse)
    with Ledger.open(tmp_path / "ledger.db", harness.clock) as ledger:
        watch = Watch(scene.database, ledger, harness.clock, level=Level.PROPOSE, dry_run=True, connector=connector)
        claim(watch)
        number = _proposed(watch, lambda: harness.read_randomly(table, READS))
        ledger.proposals.approve(number, who="ann", origin="here", digest=ledger.proposals.row(number).digest)
        watch.act()
        assert {row.state for row in ledger.moves.rows(database=scene.database.name)} == {MoveState.APPROVED}
        at = connector.catalog()
        watch.close()
    spaces = {key: at.spaces[space].name for key, space in zip(at.units.key, at.units.space, strict=True)}
    assert spaces[table.key] == harness.source_space
    assert tap.names
    assert tap.names - NO_STATEMENTS - NO_ROWS <= _queries(engine), tap.names - _queries(engine)
    assert not tap.beside


def _proposed(watch: Watch, read: Callable[[], None]) -> int:
    for _ in range(3):
        read()
        watch.sample()
    planning = watch.plan()
    assert planning is not None
    number = watch.propose(planning)
    assert number is not None
    return number


def _queries(engine: str) -> set[str]:
    return {path.stem for path in (Path(connectors.__path__[0]) / engine / "sql").rglob("*.sql")}
