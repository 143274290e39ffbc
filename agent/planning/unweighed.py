"""Proposals that no policy has weighed: what a person asks for, and what comes by the calendar under a signed rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from agent.config import DatabaseConfig
from agent.model.proposals import Proposal, ProposedMove
from connectors.model import Route


def unweighed_proposal(
    database: DatabaseConfig,
    fingerprint: str,
    moves: Iterable[ProposedMove],
    now: datetime,
    purpose: str,
    *,
    asked_by: str = "",
    expires_at: datetime | None = None,
) -> Proposal:
    """A proposal that is compared with no bound.

    Args:
        database: its configuration.
        fingerprint: of the database that answers now.
        moves: in their order.
        now: the instant.
        purpose: what it is for, see ``agent.model.purposes``.
        asked_by: the person, where one did.
        expires_at: when it can no longer be approved; None: when any proposal made now expires.
    """
    moves = tuple(moves)
    return Proposal(
        database=database.name,
        fingerprint=fingerprint,
        created_at=now,
        expires_at=expires_at or now + timedelta(seconds=database.proposal_expires_seconds),
        wait_per_hour=0.0,
        wait_saved_per_hour=sum(move.wait_saved_per_hour for move in moves),
        bound_per_hour=0.0,
        gap_ratio=0.0,
        ceiling_ratio=None,
        moves=moves,
        purpose=purpose,
        asked_by=asked_by,
    )


def unweighed_move(
    ordinal: int, route: Route, reason: str, tier_of: Mapping[str, str], copy_bytes_per_second: float, sentence: str
) -> ProposedMove:
    """A move in a group of its own.

    Args:
        ordinal: of the move, and of its group.
        route: how it is done.
        reason: why, in a word.
        tier_of: name of the tier of each space that has one.
        copy_bytes_per_second: how fast data is copied.
        sentence: what people read.
    """
    bundle = route.bundle
    return ProposedMove(
        ordinal=ordinal,
        key=bundle.key,
        route=route,
        from_space=bundle.space,
        to_space=route.to_space,
        from_tier=tier_of.get(bundle.space, ""),
        to_tier=tier_of.get(route.to_space, ""),
        reason=reason,
        size_bytes=bundle.size_bytes,
        wait_saved_per_hour=0.0,
        copy_seconds=bundle.size_bytes / copy_bytes_per_second,
        payback_seconds=None,
        sentence=sentence,
        group=ordinal,
    )
