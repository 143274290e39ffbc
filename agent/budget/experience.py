"""What earlier moves have taught, as the policies take it, and the record of what sessions lost while they ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from agent.budget.copy_history import copies_of, copy_time_evidence
from agent.config import DatabaseConfig
from agent.ledger import Ledger, SentRow
from agent.ledger.state_names import DISTURBED_INTERVALS
from connectors.model import DatabaseDemand, Interval
from policies.benefit.costs import Disturbed, learnt
from policies.model.plan import PolicySettings

REMEMBERED = 50  # intervals, the newest


def with_experience(
    database: DatabaseConfig, ledger: Ledger, sent: Sequence[SentRow], work: DatabaseDemand
) -> PolicySettings:
    """The configured settings with how long copies take and hold sessions up, as earlier moves taught.

    Args:
        database: its configuration.
        ledger: keeps the intervals in which moves ran.
        sent: its statements in the order they were sent.
        work: what it does now.
    """
    disturbed = disturbed_of(ledger, database.name)
    return learnt(database.policy_settings(), copies_of(sent), disturbed, work, copy_time_evidence(sent))


def disturbed_of(ledger: Ledger, database: str) -> list[Disturbed]:
    """The newest intervals in which moves ran, oldest first."""
    stored = ledger.state.load_document(database, DISTURBED_INTERVALS)
    return [] if stored is None else [_interval(plain) for plain in stored[1]]


def record_disturbed(ledger: Ledger, database: str, interval: Interval, *, during: float, calm: float) -> None:
    """Store an interval in which moves ran; the oldest beyond ``REMEMBERED`` is forgotten.

    Args:
        ledger: keeps it.
        database: its name.
        interval: in which moves ran.
        during: transactions per second in it.
        calm: transactions per second on average without moves.
    """
    seen = Disturbed(
        started_at=interval.started_at, ended_at=interval.ended_at, transactions=during, calm_transactions=calm
    )
    known = [*disturbed_of(ledger, database), seen][-REMEMBERED:]
    ledger.state.save_document(database, DISTURBED_INTERVALS, _document(known))


def _document(intervals: Iterable[Disturbed]) -> list[dict[str, Any]]:
    """Intervals as JSON values."""
    return [
        {name: v.isoformat() if isinstance(v, datetime) else v for name, v in asdict(interval).items()}
        for interval in intervals
    ]


def _interval(plain: dict[str, Any]) -> Disturbed:
    return Disturbed(
        started_at=datetime.fromisoformat(plain["started_at"]),
        ended_at=datetime.fromisoformat(plain["ended_at"]),
        transactions=plain["transactions"],
        calm_transactions=plain["calm_transactions"],
    )
