"""What notices are made from, as a watch and the ledger know it now."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from agent.config import STALE_SAMPLES, Storage
from agent.ledger import AWAY, Ledger
from agent.model.units_of_measure import format_when
from agent.notices.notifier import closed_rules, ended_moves, hurt_proposals
from agent.notices.reasons import ClosedRule, Ended, Facts, Hurt, Room
from agent.service.snapshot import Snapshot


def facts_of(snapshot: Snapshot, sample_seconds: float, ledger: Ledger, now: datetime) -> Facts:
    """Everything about one database that may be worth a notice; without the ledger, what the snapshot tells alone."""
    since_then: tuple[tuple[Ended, ...], tuple[Hurt, ...], tuple[ClosedRule, ...]] = ((), (), ())
    # Sent once the ledger is there again, if that is within the time for which ends are news.
    with suppress(*AWAY):
        name = snapshot.database
        since_then = ended_moves(ledger, name, now), hurt_proposals(ledger, name, now), closed_rules(ledger, name, now)
    ended, hurt, closed = since_then
    return Facts(
        database=snapshot.database,
        now=now,
        waiting=snapshot.waiting,
        ended=ended,
        hurt=hurt,
        closed_rules=closed,
        rooms=() if snapshot.storage is None else _rooms(snapshot.storage),
        stalled=_why_stalled(snapshot, sample_seconds, now),
    )


def _why_stalled(snapshot: Snapshot, sample_seconds: float, now: datetime) -> str:
    if snapshot.untrusted:
        return f"nothing is carried out, since the ledger is not trusted: {snapshot.untrusted}"
    if snapshot.ledger_error:
        return f"nothing is carried out, since the ledger is away: {snapshot.ledger_error}"
    cycle = snapshot.cycle
    if not snapshot.error:
        return ""
    if cycle is None:
        return f"it was never sampled: {snapshot.error}"
    if (now - cycle.taken_at).total_seconds() <= STALE_SAMPLES * sample_seconds:
        return ""
    return f"it was last sampled {format_when(cycle.taken_at)}: {snapshot.error}"


def _rooms(storage: Storage) -> tuple[Room, ...]:
    """Every managed space whose free bytes are known."""
    return tuple(
        Room(space=space.name, tier=storage.tiers[tier].name, used_bytes=space.used_bytes, free_bytes=space.free_bytes)
        for tier, space in zip(storage.tier_of_space.tolist(), storage.spaces, strict=True)
        if tier >= 0 and space.free_bytes is not None
    )
