"""A ledger of the version that did not store what a step does: an approved proposal for each of three engines.

The first routes of a proposal are those of the engine's ``every_route()``, the last are of its emulated server.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from agent.ledger.ledger import Ledger
from agent.ledger.store.schema import APPLICATION_ID
from connectors.model.moves import Route, Step
from tests.ledger.clock import StillClock

STORED = Path(__file__).with_name("ledger_before_operations.sql")


def restore(path: Path) -> None:
    """The ledger's file, as that version left it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(STORED.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def stored_routes(path: Path, engine: str) -> dict[str, Route]:
    """The approved routes of an engine by their names, read and checked by the ledger of today."""
    restore(path)
    with Ledger.open(path, StillClock(), actor="test") as ledger:
        (row,) = ledger.proposals.rows(database=engine)
        return {move.sentence: move.route for move in row.proposal.moves}


def all_steps(route: Route) -> tuple[Step, ...]:
    """There, back, and what tidies up."""
    return (*route.steps, *route.undo_steps, *route.tidy_steps)


def as_stored_before(route: Route) -> Route:
    """The route without what its steps do, as that version would have stored it."""
    steps, undo, tidy = (
        tuple(replace(step, operation=None) for step in some)
        for some in (route.steps, route.undo_steps, route.tidy_steps)
    )
    return replace(route, steps=steps, undo_steps=undo, tidy_steps=tidy)
