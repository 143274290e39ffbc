"""What runs, what waits for a decision and how much room there is: ``status``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.daemon_state import DaemonState, daemon_of
from agent.cli.looking.under_way import UnderWay, move_line, under_way_document, under_way_of
from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.explanation.read_times import read_times_of_document
from agent.ledger import MoveRow, ProposalRow
from agent.model.states import EXPIRABLE, OPEN_PROPOSALS, UNDER_WAY, UNFINISHED, ProposalState
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from agent.terminal.output import Output
from agent.terminal.wording import count_of_moves, expiry, question, short_digest, state_text
from agent.verification.left_worse import left_worse_of
from connectors.formatting import format_bytes, format_wait

NO_ROOM_KNOWN = "room in each tier: no daemon has sampled it yet; hotplace balance --type usage shows it as it is now"


@command(Group.LOOK, "hotplace status")
def status(session: Session) -> None:
    """Show whether the daemon runs, open proposals, moves under way and the room in each tier."""
    now, ledger = session.clock.now(), session.ledger
    mode = "dry run: approved moves are not carried out" if session.config.dry_run else "approved moves are carried out"
    session.out.line(f"level {session.config.level}, {mode}")
    documents = []
    for database in session.databases:
        daemon = daemon_of(ledger, database, now, within=session.within_daemon)
        proposals = ledger.proposals.rows(database=database.name, states=OPEN_PROPOSALS)
        moves = ledger.moves.rows(database=database.name, states=UNDER_WAY)
        under_way = under_way_of(ledger, database, now)
        left_worse = list(left_worse_of(ledger, database.name).values())
        _print_status(session.out, database, daemon, proposals, moves, under_way, left_worse)
        documents.append(
            {
                **_status_document(database, daemon, proposals, moves),
                "groups_left_worse": left_worse,
                **under_way_document(under_way),
            }
        )
    session.out.document(
        {"level": session.config.level, "dry_run": session.config.dry_run, "at": now, "databases": documents}
    )


def _print_status(
    out: Output,
    database: DatabaseConfig,
    daemon: DaemonState,
    proposals: list[ProposalRow],
    moves: list[MoveRow],
    under_way: UnderWay,
    left_worse: Collection[str],
) -> None:
    out.heading(f"{database.name} ({database.engine})")
    out.line(daemon.sentence)
    out.line(under_way.window)
    for closed in under_way.closed:
        out.line(f"closed to arrivals: {closed.space}, by {closed.who}{': ' if closed.reason else ''}{closed.reason}")
    if daemon.status.get("untrusted"):
        out.line(f"{daemon.status['untrusted']}", style="bold red")
        out.line("next: hotplace audit verify")
    for sentence in left_worse:
        out.line(f"worse than before: {sentence}", style="red")
    if daemon.status.get("error"):
        out.line(f"its last sample failed: {daemon.status['error']}", style="red")
        out.line("next: hotplace doctor says how to fix it; the daemon retries automatically")
    if daemon.status.get("last_cycle"):
        out.line(f"last cycle: {daemon.status['last_cycle']}")
    print_proposals(out, proposals, moves)
    if not proposals:
        out.line("no open proposal")
    _print_under_way(out, moves, under_way)
    _print_rooms(out, daemon)


def _print_rooms(out: Output, daemon: DaemonState) -> None:
    """What a daemon saw last: this command asks the ledger alone, and so answers while a database is down."""
    rooms = daemon.status.get("spaces") or []
    if not rooms:
        out.line(NO_ROOM_KNOWN)
        return
    sampled_at = datetime.fromisoformat(str(daemon.status["last_sample"]))
    out.line(f"room when last sampled, {format_when(sampled_at)}:")
    out.table(
        (Column("tier"), Column("space"), *(Column(t, number=True) for t in ("used", "free", "capacity"))),
        [_room_cells(room) for room in rooms],
    )
    if tiers := daemon.status.get("tiers"):
        out.sentence(f"read times: {read_times_of_document(tiers)}")


def print_proposals(out: Output, proposals: list[ProposalRow], moves: Collection[MoveRow] = ()) -> None:
    """One line for each proposal.

    Args:
        out: where to.
        proposals: that are open.
        moves: of approved ones, that are under way.
    """
    for row in proposals:
        saved = row.proposal.wait_saved_per_hour
        brings = f"{'saves' if saved >= 0 else 'costs'} {format_wait(abs(saved))}"
        out.sentence(
            f"proposal {row.id} ({short_digest(row.digest)}; {question(row.proposal)}) is {row.state}: "
            f"{count_of_moves(row.proposal.moves)}, {brings}, {_what_is_open(row, moves)}"
        )


def _what_is_open(row: ProposalRow, moves: Collection[MoveRow]) -> str:
    """What a proposal waits for: its deadline matters only as long as a move has not begun."""
    states = {move.state for move in moves if move.proposal_id == row.id}
    if row.state is ProposalState.PROPOSED or states & EXPIRABLE:
        return expiry(row.proposal)
    return "being carried out" if states & UNFINISHED else "carried out, its outcome is not known yet"


def print_moves(out: Output, moves: list[MoveRow]) -> None:
    """One sentence for each move."""
    for row in moves:
        out.sentence(move_line(row, row.reason))


def _print_under_way(out: Output, moves: list[MoveRow], under_way: UnderWay) -> None:
    """Moves with how far they are; what is true of several is said once for them."""
    said = [(row, under_way.sentence(row)) for row in moves]
    for (state, sentence), alike in groupby(said, key=lambda pair: (pair[0].state, pair[1])):
        rows = [row for row, _ in alike]
        if len(rows) == 1:
            out.sentence(move_line(rows[0], sentence))
            continue
        out.sentence(f"{len(rows)} moves, {state_text(state)}{': ' if sentence else ''}{sentence}")
        for row in rows:
            out.line(f"  move {row.id}: {row.move.key} to {row.move.to_space}")


def _room_cells(room: Mapping[str, Any]) -> tuple[str, ...]:
    sizes = (room["used_bytes"], room["free_bytes"], room["capacity_bytes"])
    cells = ("not known" if size is None else format_bytes(size) for size in sizes)
    return (room["tier"] or "not managed", room["space"], *cells)


def _status_document(
    database: DatabaseConfig, daemon: DaemonState, proposals: list[ProposalRow], moves: list[MoveRow]
) -> dict[str, Any]:
    return {
        "database": database.name,
        "engine": database.engine,
        "daemon": {
            "state": daemon.word,
            "alive": daemon.alive,
            "last_heard_of_at": daemon.at,
            "age_seconds": daemon.age_seconds,
            "status": dict(daemon.status) or None,
        },
        "proposals": [proposal_document(row) for row in proposals],
        "moves": [move_document(row) for row in moves],
        "spaces": daemon.status.get("spaces"),
        "tiers": daemon.status.get("tiers"),
    }


def proposal_document(row: ProposalRow) -> dict[str, Any]:
    """A proposal as JSON values."""
    return {
        "id": row.id,
        "digest": row.digest,
        "state": row.state,
        "purpose": row.proposal.purpose,
        "asked_by": row.proposal.asked_by or None,
        "moves": len(row.proposal.moves),
        "wait_saved_per_hour_seconds": row.proposal.wait_saved_per_hour,
        "expires_at": row.proposal.expires_at,
    }


def move_document(row: MoveRow) -> dict[str, Any]:
    """A move as JSON values."""
    return {
        "id": row.id,
        "proposal": row.proposal_id,
        "unit": row.move.key,
        "to_space": row.move.to_space,
        "bytes": row.move.size_bytes,
        "state": row.state,
        "reason": row.reason,
        "at": row.updated_at,
    }
