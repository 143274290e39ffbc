"""A ledger of several databases: what agents wrote of themselves, proposals, moves and outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState
from connectors.model.moves import Locked
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal, a_route, an_outcome

ON_THE_WAY = (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED, MoveState.SETTLING)


def heard_of(ledger: Ledger, database: str, **more: Any) -> None:
    """Let the agent of a database write of itself, as after a sample."""
    status = {
        "host": "db1", "pid": 1, "engine": "postgresql", "error": None, "untrusted": None, "sample_seconds": 60.0,
        "spaces": [
            {"space": "fast", "tier": "ssd", "used_bytes": 3, "free_bytes": 7, "capacity_bytes": 10},
            {"space": "tape", "tier": None, "used_bytes": 1, "free_bytes": None, "capacity_bytes": None},
        ],
    }  # fmt: skip
    ledger.state.save_document(database, STATUS, status | more)


def proposed(ledger: Ledger, database: str, saves: float = 900.0, moves: int = 1, **changes: Any) -> int:
    """Store a proposal for a database that saves so many seconds an hour."""
    keys = {n: f"public.t{n}" for n in range(1, moves + 1)}
    listed = (a_move(n, key=key, route=replace(a_route(key), locked=Locked.NOTHING)) for n, key in keys.items())
    return ledger.proposals.store(
        a_proposal(
            *listed, database=database, wait_saved_per_hour=saves, fingerprint=f"cluster of {database}", **changes
        )
    )


def approve(ledger: Ledger, number: int) -> None:
    """Approve a proposal as anna at a terminal."""
    ledger.proposals.approve(number, who="anna", origin="tty", digest=ledger.proposals.row(number).digest)


def measured(ledger: Ledger, number: int, verdict: OutcomeVerdict, *, undo: bool = False) -> None:
    """Carry out an approved proposal and record what was measured for each of its moves."""
    for row in ledger.moves.rows(proposal_id=number):
        for state in ON_THE_WAY:
            ledger.moves.transition(row.id, state, "")
        ledger.moves.record_outcome(row.id, replace(an_outcome(verdict), undo=undo))


def a_fleet(ledger: Ledger, clock: StillClock) -> dict[str, int]:
    """Six databases, one of each need; proposals by database."""
    heard_of(ledger, "old")
    clock.sleep(600)
    for name in ("shop-1", "shop-2", "calm"):
        heard_of(ledger, name)
    heard_of(ledger, "broken", error="connection refused", engine="db2")
    heard_of(ledger, "forged", untrusted="audit row 7 was changed")
    return {
        "shop-1": proposed(ledger, "shop-1", 100.0),
        "shop-2": proposed(ledger, "shop-2", 5000.0, moves=2),
        "unwatched": proposed(ledger, "unwatched", 50.0),
        "broken": proposed(ledger, "broken", 9000.0),
    }
