"""``fleet proposals``: what waits for a decision anywhere, what saves most first."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from agent.cli.fleet.pages import document_rows, first_rows, say_rest, selection_of
from agent.cli.session import Session
from agent.fleet.reading import read_proposals
from agent.fleet.worth import ProposalHead
from agent.model.states import OPEN_PROPOSALS, ProposalState
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.wording import short_digest
from connectors.formatting import format_bytes, format_sessions, format_wait

COLUMNS = (
    Column("id", number=True), Column("database", name=True), Column("saves", number=True),
    Column("moves", number=True, leaves=2), Column("size", number=True), Column("state"), Column("for", leaves=4),
    Column("digest", leaves=3), Column("expires", leaves=1),
)  # fmt: skip


def show_proposals(
    session: Session, engine: str, states: Collection[ProposalState], *, everything: bool, limit: int | None
) -> None:
    """Print the list, or the document."""
    wanted = states or (None if everything else OPEN_PROPOSALS)
    heads = read_proposals(session.ledger, selection_of(session, engine), wanted)
    undecided = [head for head in heads if head.state is ProposalState.PROPOSED]
    saved = math.fsum(head.saved_per_hour for head in undecided)
    if heads:
        session.out.line(f"{len(undecided)} proposals wait for a decision, worth {format_wait(saved)}", style="bold")
        rows = first_rows(heads, limit)
        session.out.table(COLUMNS, [_cells(head) for head in rows])
        say_rest(session, len(heads), len(rows), "proposals")
        session.out.line("saves: sessions that no longer wait, on average; hotplace fleet approve ID ID ... decides")
    else:
        session.out.line("no such proposal in any database")
    session.out.document(
        {
            "undecided": len(undecided),
            "undecided_wait_saved_per_hour_seconds": saved,
            "proposals": [head_document(head) for head in document_rows(heads, limit)],
        }
    )


def _cells(head: ProposalHead) -> tuple[str, ...]:
    return (
        str(head.id), head.database, format_sessions(head.saved_per_hour), str(head.moves), format_bytes(head.bytes),
        head.state.value, head.purpose, short_digest(head.digest), format_when(head.expires_at),
    )  # fmt: skip


def head_document(head: ProposalHead) -> dict[str, Any]:
    """A proposal without its moves as JSON values."""
    return {
        "id": head.id,
        "database": head.database,
        "digest": head.digest,
        "state": head.state,
        "purpose": head.purpose,
        "asked_by": head.asked_by or None,
        "decided_by": head.decided_by or None,
        "moves": head.moves,
        "bytes": head.bytes,
        "wait_saved_per_hour_seconds": head.saved_per_hour,
        "created_at": head.created_at,
        "expires_at": head.expires_at,
    }
