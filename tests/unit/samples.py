"""Hand-made proposals and moves for tests."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.proposals import Proposal, ProposedMove
from agent.moving.effect import Effect
from connectors.model.moves import Bundle, Route, Step, UnitKind

MADE_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIB = 1 << 20


def a_route(key: str = "public.orders", *, size_bytes: int = 64 * MIB, to_space: str = "fast") -> Route:
    """One statement there, one back."""
    bundle = Bundle(
        key=key, physical_ids=(1,), unit_keys=(key,), kind=UnitKind.TABLE, size_bytes=size_bytes, space="slow"
    )
    return Route(
        name="set tablespace",
        bundle=bundle,
        to_space=to_space,
        prologue=("SET lock_timeout = '500ms'",),
        steps=(Step(sql=f"ALTER TABLE {key} SET TABLESPACE {to_space}", purpose=f"move {key}"),),
        undo_steps=(Step(sql=f"ALTER TABLE {key} SET TABLESPACE slow", purpose=f"move {key} back"),),
        online=False,
        locks="ACCESS EXCLUSIVE on the table while it is copied",
        log_bytes=size_bytes,
        transient_bytes=0,
    )


def a_move(ordinal: int = 1, *, key: str = "public.orders", size_bytes: int = 64 * MIB, **changes: Any) -> ProposedMove:
    """One promotion worth 900 s an hour."""
    move = ProposedMove(
        ordinal=ordinal,
        key=key,
        route=a_route(key, size_bytes=size_bytes),
        from_space="slow",
        to_space="fast",
        from_tier="hdd",
        to_tier="ssd",
        reason="promote",
        size_bytes=size_bytes,
        wait_saved_per_hour=900.0,
        copy_seconds=2.0,
        payback_seconds=8.0,
        sentence="saves 900 s of read wait per hour",
    )
    return replace(move, **changes)


def a_proposal(*moves: ProposedMove, **changes: Any) -> Proposal:
    """A proposal of the given moves, valid for a day."""
    proposal = Proposal(
        database="shop",
        fingerprint="cluster 1 database 5",
        created_at=MADE_AT,
        expires_at=MADE_AT + timedelta(days=1),
        wait_per_hour=1200.0,
        wait_saved_per_hour=900.0,
        bound_per_hour=950.0,
        gap_ratio=0.05,
        ceiling_ratio=0.6,
        moves=moves,
    )
    return replace(proposal, **changes)


def an_effect(change: float, error: float = 0.01, *, further: float = 0.0, outside: float = 0.0) -> Effect:
    """A change of the wait for the same work, known to so much by many intervals."""
    return Effect(
        log_change=math.log1p(change), further=further, error=error, freedom=40.0, before=1440, after=15,
        outside=outside, hours_known=True,
    )  # fmt: skip


def an_outcome(verdict: OutcomeVerdict) -> Outcome:
    """A measured outcome with that verdict, whatever its figures."""
    return Outcome(
        verdict=verdict, measured=True, predicted_wait_saved_per_hour=900.0, predicted_saved_ratio=0.75,
        wait_per_transaction_before=0.01, wait_per_transaction_after=0.02, transactions_per_second_before=100.0,
        transactions_per_second_after=90.0, read_latency_before=0.005, read_latency_after=0.01, window_seconds=900.0,
        sentence="",
    )  # fmt: skip
