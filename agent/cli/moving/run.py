"""Is it working, and what is it doing? ``run`` and ``status``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.daemon_state import DaemonState, daemon_of
from agent.cli.looking.under_way import UnderWay, move_line, under_way_document, under_way_of
from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.explanation.read_times import read_times_of_document
from agent.ledger import MoveRow, ProposalRow
from agent.ledger.state_names import STATUS
from agent.logs import set_up_logs
from agent.model.states import OPEN_PROPOSALS, UNDER_WAY, MoveState, ProposalState
from agent.model.units_of_measure import format_when
from agent.service.daemon import Daemon
from agent.service.memory import return_large_blocks
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Column, Output
from agent.terminal.wording import count_of_moves, expiry, question, seconds_per_hour, short_digest
from agent.verification.left_worse import left_worse_of
from connectors.base import HotplaceError
from connectors.formatting import format_bytes, format_seconds

NO_ROOM_KNOWN = "room in each tier: no daemon has sampled it yet; hotplace balance --type usage shows it as it is now"


@command(Group.SET_UP, "hotplace run --once")
def run(
    session: Session,
    once: Annotated[
        bool, typer.Option("--once", help="Two samples, a plan, whatever is approved, then end; for cron and tests.")
    ] = False,
) -> ExitCode:
    """Watch, propose and carry out what is approved, until SIGTERM; SIGHUP reads the configuration again."""
    config = session.config
    set_up_logs(as_json=config.log.format == "json" or session.options.as_json, level=config.log.level)
    if once:
        return _run_once(session)
    if session.options.database:
        raise CommandError(
            "the daemon watches every configured database",
            code=ExitCode.USAGE,
            advice="Leave --database out, use --once with it, or give each database a configuration of its own.",
        )
    return_large_blocks()
    Daemon(config, session.config_path, session.ledger, session.clock).run()
    return ExitCode.OK


def _run_once(session: Session) -> ExitCode:
    """One cycle of each database; failed moves show in the exit code."""
    started = session.clock.now()
    if not session.out.as_json:
        periods = ", ".join(format_seconds(database.sample_seconds) for database in session.databases)
        session.out.note(f"takes two samples, {periods} apart, and plans")
    config = session.config.model_copy(update={"databases": session.databases})
    failure: HotplaceError | None = None
    try:
        Daemon(config, session.config_path, session.ledger, session.clock).run_once()
    except HotplaceError as error:
        failure = error
    documents, ended = [], []
    for database in session.databases:
        stored = session.ledger.state.load_document(database.name, STATUS)
        proposals = session.ledger.proposals.rows(database=database.name, states={ProposalState.PROPOSED})
        ended += [row for row in session.ledger.moves.rows(database=database.name, since=started) if row.approved]
        documents.append(
            {
                "database": database.name,
                "status": stored[1] if stored else None,
                "proposals": [_proposal_document(row) for row in proposals],
            }
        )
        if stored is not None and stored[0] >= started and stored[1]["pid"] == os.getpid():  # else it was refused
            session.out.line(f"{database.name}: {stored[1]['last_cycle']}")
            _print_proposals(session.out, proposals)
    _print_moves(session.out, ended)
    if failure is not None:
        raise failure
    session.out.document({"databases": documents, "moves": [_move_document(row) for row in ended]})
    return ExitCode.MOVE_FAILED if any(row.state is MoveState.FAILED for row in ended) else ExitCode.OK


@command(Group.LOOK, "hotplace status")
def status(session: Session) -> None:
    """Show whether the daemon runs, open proposals, moves under way and the room in each tier."""
    now, ledger = session.clock.now(), session.ledger
    mode = "dry run: approved moves are not carried out" if session.config.dry_run else "approved moves are carried out"
    session.out.line(f"level {session.config.level}, {mode}")
    documents = []
    for database in session.databases:
        daemon = daemon_of(ledger, database, now)
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
    for sentence in left_worse:
        out.line(f"worse than before: {sentence}", style="red")
    if daemon.status.get("error"):
        out.line(f"its last sample failed: {daemon.status['error']}", style="red")
        out.line("next: hotplace doctor says what mends it; the daemon tries again by itself")
    if daemon.status.get("last_cycle"):
        out.line(f"last cycle: {daemon.status['last_cycle']}")
    _print_proposals(out, proposals)
    if not proposals:
        out.line("no open proposal")
    _print_moves(out, moves, under_way)
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
        out.line(f"read times: {read_times_of_document(tiers)}")


def _print_proposals(out: Output, proposals: list[ProposalRow]) -> None:
    for row in proposals:
        saved = row.proposal.wait_saved_per_hour
        brings = f"{'saves' if saved >= 0 else 'costs'} {seconds_per_hour(abs(saved))}"
        out.line(
            f"proposal {row.id} ({short_digest(row.digest)}; {question(row.proposal)}) is {row.state}: "
            f"{count_of_moves(row.proposal)}, {brings}, {expiry(row.proposal)}"
        )


def _print_moves(out: Output, moves: list[MoveRow], under_way: UnderWay | None = None) -> None:
    for row in moves:
        out.line(under_way.line(row) if under_way is not None else move_line(row, row.reason))


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
        "proposals": [_proposal_document(row) for row in proposals],
        "moves": [_move_document(row) for row in moves],
        "spaces": daemon.status.get("spaces"),
        "tiers": daemon.status.get("tiers"),
    }


def _proposal_document(row: ProposalRow) -> dict[str, Any]:
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


def _move_document(row: MoveRow) -> dict[str, Any]:
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
