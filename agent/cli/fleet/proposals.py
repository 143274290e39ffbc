"""``proposals --all``: what waits for a decision anywhere, what saves most first."""

from __future__ import annotations

import math
from collections.abc import Collection

from agent.answers.fleet import ProposalOfDatabase, ProposalsOfFleet
from agent.cli.fleet.pages import document_rows, first_rows, say_rest, selection_of
from agent.cli.session import Session
from agent.fleet.reading import read_proposals
from agent.fleet.worth import ProposalHead
from agent.model.states import ProposalState
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.wording import short_digest
from connectors.formatting import format_bytes, format_sessions, format_wait

COLUMNS = (
    Column("id", number=True), Column("database", name=True), Column("saves", number=True),
    Column("moves", number=True, leaves=2), Column("size", number=True), Column("state"), Column("for", leaves=4),
    Column("digest", leaves=3), Column("expires", leaves=1),
)  # fmt: skip


def show_proposals(session: Session, engine: str, wanted: Collection[ProposalState] | None, limit: int | None) -> None:
    """Print the list of proposals in the wanted states, or the document."""
    heads = read_proposals(session.ledger, selection_of(session, engine), wanted)
    proposals = tuple(map(proposal_of_database, heads))
    undecided = [each for each in proposals if each.state is ProposalState.PROPOSED]
    saved = math.fsum(each.wait_saved_per_hour_seconds for each in undecided)
    if proposals:
        session.out.line(f"{len(undecided)} proposals wait for a decision, worth {format_wait(saved)}", style="bold")
        rows = first_rows(proposals, limit)
        session.out.table(COLUMNS, [_cells(each) for each in rows])
        say_rest(session, len(proposals), len(rows), "proposals")
        session.out.line("saves: sessions that no longer wait, on average; hotplace approve --all ID ID ... decides")
    else:
        session.out.line("no such proposal in any database")
    session.out.document(
        ProposalsOfFleet(
            undecided=len(undecided),
            undecided_wait_saved_per_hour_seconds=saved,
            proposals=tuple(document_rows(proposals, limit)),
        )
    )


def _cells(each: ProposalOfDatabase) -> tuple[str, ...]:
    return (
        str(each.id), each.database, format_sessions(each.wait_saved_per_hour_seconds), str(each.moves),
        format_bytes(each.bytes), each.state.value, each.purpose, short_digest(each.digest),
        format_when(each.expires_at),
    )  # fmt: skip


def proposal_of_database(head: ProposalHead) -> ProposalOfDatabase:
    """A proposal without its moves as an answer has it."""
    return ProposalOfDatabase(
        id=head.id,
        database=head.database,
        digest=head.digest,
        state=head.state,
        purpose=head.purpose,
        asked_by=head.asked_by or None,
        decided_by=head.decided_by or None,
        moves=head.moves,
        bytes=head.bytes,
        wait_saved_per_hour_seconds=head.saved_per_hour,
        created_at=head.created_at,
        expires_at=head.expires_at,
    )
