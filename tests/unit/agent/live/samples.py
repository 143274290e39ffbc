"""A picture of a database with a proposal, moves and units, made by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from agent.cli.live_picture import ScreenPicture
from agent.cli.under_way import UnderWay
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.states import MoveState, ProposalState
from agent.planning.ranking import Ranking
from agent.service.heard import DaemonState, daemon_status_of
from agent.service.sending import SendingFacts, judge
from connectors.model.observation import F64
from connectors.model.string_column import StringColumn
from policies.model.plan import Verdict
from tests.unit.samples import MADE_AT, MIB, a_move, a_proposal

DIGEST = "1a2b3c4d5e6f7890" * 4
ROOMS = [
    {
        "space": "fast",
        "tier": "ssd",
        "used_bytes": 6 << 30,
        "free_bytes": 2 << 30,
        "capacity_bytes": 8 << 30,
        "fill_ratio": 0.75,
    },
    {"space": "slow", "tier": "hdd", "used_bytes": 20 << 30, "free_bytes": None, "capacity_bytes": None},
]


def a_ranking(keys: Sequence[str]) -> Ranking:
    """Units that are worth less and less, and are larger and larger."""
    count = len(keys)
    worth: F64 = 3600.0 * np.arange(count, 0, -1, dtype=np.float64)
    zeros = np.zeros(count, dtype=np.int32)
    return Ranking(
        key=StringColumn.of(keys), size_bytes=MIB * np.arange(1, count + 1, dtype=np.int64), kind=zeros.astype(np.int8),
        space=zeros, tier=zeros, verdict=np.full(count, Verdict.PROMOTE, dtype=np.int8), logical_reads=worth,
        sync_reads=worth / 10, prefetched_reads=worth / 20, writes=worth / 30, benefit_per_hour=worth,
        saved_if_moved=worth / 2, observed_seconds=worth, confidence=worth / worth.max(initial=1.0),
        space_names=("slow",), tier_names=("hdd",), sentence=[f"{key} waits." for key in keys[:3]],
    )  # fmt: skip


def proposal_row(number: int = 1, state: ProposalState = ProposalState.PROPOSED, **changes: Any) -> ProposalRow:
    """A proposal of one move, in some state."""
    return ProposalRow(
        id=number, proposal=a_proposal(a_move(), **changes), digest=DIGEST, state=state, reason="", decided_at=None,
        decided_by="", decided_from="",
    )  # fmt: skip


def move_row(number: int = 1, state: MoveState = MoveState.APPROVED, *, key: str = "public.orders") -> MoveRow:
    """A move of proposal 1, in some state."""
    return MoveRow(
        id=number, proposal_id=1, database="shop", fingerprint="f", digest=DIGEST, move=a_move(key=key), state=state,
        reason="waits for its window", attempts=0, updated_at=MADE_AT, approved=True, planned_at=MADE_AT,
        expires_at=MADE_AT + timedelta(days=1),
    )  # fmt: skip


def a_picture(
    keys: Sequence[str] = ("public.orders", "public.customers", "public.events"),
    proposals: Sequence[ProposalRow] = (),
    moves: Sequence[MoveRow] = (),
    **changes: Any,
) -> ScreenPicture:
    """A database that a daemon watches."""
    status = daemon_status_of({"pid": 7, "spaces": ROOMS})
    given: dict[str, Any] = {
        "at": MADE_AT, "database": "shop", "engine": "postgresql",
        "sending": judge(SendingFacts(database="shop", ledger="l"), MADE_AT),
        "daemon": DaemonState(word="running", alive=True, age_seconds=2.0, at=MADE_AT, status=status),
        "under_way": UnderWay(
            running=None, waiting={}, requests={}, closed=(), window="moves may run at any time", open_now=True
        ),
        "proposals": proposals, "moves": moves, "ranking": a_ranking(keys), "waiting_now": 1.9,
        "waits": (math.nan, 0.5, 1.0, 1.9), "span": timedelta(hours=2),
        "heat": dict.fromkeys(keys, (math.nan, 1.0, 8.0)),
    }  # fmt: skip
    return ScreenPicture(**(given | changes))
