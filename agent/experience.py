"""What the ledger knows of earlier moves, as the policies take it: how fast they copied, and what sessions lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from agent.config import DatabaseConfig
from agent.ledger import Ledger, MoveRow, StepState
from agent.states import MoveState
from policies.costs import Copy, Disturbed, learnt
from policies.plan import PolicySettings

FINISHED = frozenset({MoveState.PLACED, MoveState.SETTLING, MoveState.KEPT})
REMEMBERED = 50  # moves and intervals, the newest
DISTURBED = "work while moves ran"  # name under which the ledger keeps the intervals


def experienced(database: DatabaseConfig, ledger: Ledger) -> PolicySettings:
    """The configured settings with the copy rate and slow-down that earlier moves of this database have taught."""
    return learnt(database.policy_settings(), copies_of(ledger, database.name), disturbed_of(ledger, database.name))


def copies_of(ledger: Ledger, database: str) -> list[Copy]:
    """The newest finished moves, oldest first."""
    rows = ledger.moves(database=database, states=FINISHED)
    newest = sorted(rows, key=lambda row: (row.updated_at, row.id))[-REMEMBERED:]
    return [copy for row in newest if (copy := _copy(ledger, row)) is not None]


def _copy(ledger: Ledger, row: MoveRow) -> Copy | None:
    """From the first statement to the end of the last; None where one was held, failed or was lost sight of."""
    steps = ledger.steps(row.id)
    ends = [step.ended_at for step in steps if step.ended_at is not None]
    if not steps or len(ends) < len(steps) or any(step.state is not StepState.DONE for step in steps):
        return None
    return Copy(size_bytes=row.move.size_bytes, started_at=steps[0].intended_at, ended_at=max(ends))


def disturbed_of(ledger: Ledger, database: str) -> list[Disturbed]:
    """The newest intervals in which moves ran, oldest first."""
    stored = ledger.load_document(database, DISTURBED)
    return [] if stored is None else [_interval(plain) for plain in stored[1]]


def disturbed_document(intervals: Iterable[Disturbed]) -> list[dict[str, Any]]:
    """Intervals as JSON values."""
    return [
        {name: v.isoformat() if isinstance(v, datetime) else v for name, v in asdict(interval).items()}
        for interval in intervals
    ]


def newest(intervals: Sequence[Disturbed], more: Disturbed) -> list[Disturbed]:
    """The intervals with one more, no more than are remembered."""
    return [*intervals, more][-REMEMBERED:]


def _interval(plain: dict[str, Any]) -> Disturbed:
    return Disturbed(
        started_at=datetime.fromisoformat(plain["started_at"]),
        ended_at=datetime.fromisoformat(plain["ended_at"]),
        transactions=plain["transactions"],
        calm_transactions=plain["calm_transactions"],
    )
