"""What runs, what waits for a decision and how much room there is: ``status``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import AllDatabases, Engine, Limit, refuse, refuse_without_all
from agent.cli.session import Session
from agent.cli.under_way import (
    move_head,
    move_line,
    trace_sentence,
    trace_shown,
    under_way_of,
    under_way_shown,
)
from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.answers.kind import extend
from agent.model.answers.watching import (
    ContainersOfSpace,
    DaemonHeard,
    DaemonStatus,
    DatabaseStatus,
    MoveListed,
    OpenProposal,
    RoomOfSpace,
    SendingShown,
    StatusShown,
)
from agent.model.proposals import ProposedMove
from agent.model.states import EXPIRABLE, OPEN_PROPOSALS, UNDER_WAY, UNFINISHED, ProposalState
from agent.model.summary import summary_of
from agent.model.units_of_measure import format_when
from agent.moving.left_worse import left_worse_of
from agent.planning.first_tier import next_step, what_is_missing
from agent.planning.read_times import read_times_of
from agent.sampling.trace_marks import read_figures, read_mark
from agent.service.fleet import Heartbeat
from agent.service.heard import DaemonState, daemon_of
from agent.service.sending import SAID_BESIDE, Hindrance, look_from_outside
from agent.terminal.columns import Column
from agent.terminal.deciding import would_run
from agent.terminal.output import Output
from agent.terminal.wording import count_of_moves, expiry, question, short_digest, state_text
from connectors.model.formatting import format_bytes, format_ratio, format_wait

SAYS_ALL = frozenset({Hindrance.LEDGER_MOVED, Hindrance.NOT_SEEN})  # what else the ledger holds is old, or not known
SAID_ELSEWHERE = frozenset({"allowed", Hindrance.DRY_RUN, *SAID_BESIDE})  # the dry run: above all databases
NO_ROOM_KNOWN = "room in each tier: no daemon has sampled it yet; hotplace plan --mode usage shows it as it is now"


@command(HelpGroup.LOOK, "hotplace status --all --database 'shop-*'", reads=True)
def status(
    session: Session,
    containers: Annotated[
        bool,
        typer.Option("--containers", help="Also the files, devices and folders of each space; asks the database."),
    ] = False,
    everything: AllDatabases = False,
    engine: Engine = "",
    state: Annotated[
        Heartbeat | None, typer.Option("--state", help="With --all: only where the agent is in this state.")
    ] = None,
    limit: Limit = None,
    metrics: Annotated[
        bool,
        typer.Option("--metrics", help="With --all: Prometheus's text format, for text files of a node exporter."),
    ] = False,
) -> None:
    """Show whether the daemon runs, open proposals, moves under way and the room in each tier."""
    if not everything:
        refuse_without_all({"--engine": engine, "--state": state, "--limit": limit, "--metrics": metrics})
        _show_configured(session, containers=containers)
        return
    from agent.cli.fleet import (
        show_metrics,  # one database needs none of it
        show_status,  # one database needs none of it
    )

    refuse({"--containers": containers}, "it takes no --all")
    if metrics:
        refuse({"--engine": engine, "--state": state, "--limit": limit}, "it takes no --metrics")
        show_metrics(session)
    else:
        show_status(session, engine, state, limit)


def _show_configured(session: Session, *, containers: bool) -> None:
    """Each database of the configuration, or the one that --database names."""
    ledger, databases = session.ledger, session.databases  # before anything is printed: it may not be there
    session.out.line(f"level {session.config.level}, {_mode(session)}")
    found = tuple(_show_database(session, each, ledger, containers=containers) for each in databases)
    level, dry_run = session.config.level, session.config.dry_run
    session.out.document(StatusShown(level=level, dry_run=dry_run, at=session.clock.now(), databases=found))


def _mode(session: Session) -> str:
    return "dry run: approved moves are not carried out" if session.config.dry_run else "approved moves are carried out"


def _show_database(session: Session, database: DatabaseConfig, ledger: Ledger, *, containers: bool) -> DatabaseStatus:
    """Print how one database is; the same as an answer."""
    out, now = session.out, session.clock.now()
    daemon = daemon_of(ledger, database, now, within=session.within_daemon)
    under_way = under_way_of(ledger, database, now)
    rows = ledger.moves.as_they_are(database=database.name, states=UNDER_WAY)
    sending = look_from_outside(ledger, database, daemon, now, dry_run=session.config.dry_run).shown
    mark, figures = read_mark(ledger, database.name), read_figures(ledger, database.name)
    found = extend(
        DatabaseStatus,
        under_way_shown(under_way),
        database=database.name,
        engine=database.engine,
        daemon=_daemon_heard(daemon),
        sending=sending,
        proposals=open_proposals(ledger, database.name, OPEN_PROPOSALS),
        moves=tuple(map(move_listed, rows)),
        spaces=daemon.status and daemon.status.spaces,
        tiers=daemon.status and daemon.status.tiers,
        groups_left_worse=tuple(left_worse_of(ledger, database.name).values()),
        trace=trace_shown(mark, figures),
        next_step=next_step(database) or None,
        containers=None,
    )
    if sending.state in SAYS_ALL:
        out.heading(f"{found.database} ({found.engine})")
        _print_hindrance(out, sending)
        return found
    _print_health(out, found, daemon.sentence)
    if mark.on or figures.intervals:
        out.line(trace_sentence(mark, figures, now, sampled=daemon.alive))
    print_proposals(out, found.proposals, found.moves)
    if not found.proposals:
        out.line("no open proposal")
    _print_under_way(out, found.moves, [under_way.sentence(row) for row in rows])
    _print_rooms(out, found)
    if found.next_step:
        out.line(f"{what_is_missing(database)}; next: {found.next_step}")
    return replace(found, containers=_show_containers(session, database)) if containers else found


def _show_containers(session: Session, database: DatabaseConfig) -> tuple[ContainersOfSpace, ...]:
    """The containers of each space: asked for only on demand, since it brings arrays and the engine."""
    from agent.cli.modes import show_containers

    return show_containers(session.of(database, session.out))


def _print_health(out: Output, found: DatabaseStatus, daemon: str) -> None:
    """Whether it is watched, and what is wrong; the first is the sentence of the daemon."""
    out.heading(f"{found.database} ({found.engine})")
    out.line(daemon)
    out.line(found.window.sentence)
    for closed in found.closed_spaces:
        why = f": {closed.reason}" if closed.reason else ""
        out.line(f"closed to arrivals: {closed.space}, by {closed.who}{why}")
    status = found.daemon.status
    if found.sending.state not in SAID_ELSEWHERE:
        _print_hindrance(out, found.sending)
    if status is not None:
        _print_jobs(out, status)
    for sentence in found.groups_left_worse:
        out.line(f"worse than before: {sentence}", style="red")
    if status is not None and status.error:
        out.line(f"its last sample failed: {status.error}", style="red")
        out.line("next: hotplace doctor says how to fix it; the daemon retries automatically")
    if status is not None and status.last_cycle:
        out.line(f"last cycle: {status.last_cycle}")
    if status is not None and status.units_read is not None:
        out.line(status.units_read.sentence, style="yellow")
        out.line("what was not read is not taken for cold; next: hotplace doctor says what helps")


def _print_hindrance(out: Output, sending: SendingShown) -> None:
    """Why nothing is sent, and what to do about it."""
    out.line(sending.sentence, style="bold red")
    if sending.next_step:
        out.line(f"next: {sending.next_step}")


def _print_jobs(out: Output, status: DaemonStatus) -> None:
    """Jobs that failed at their last try, but for samples, and what has changed about the server."""
    for job in status.jobs or ():
        if job.failing_since is not None and job.job != "sample":
            out.line(f"{job.job} has failed since {format_when(job.failing_since)}: {job.error}", style="red")
    for change in status.server_changes or ():
        out.line(f"the server has changed, {format_when(change.at)}: {change.sentence}", style="yellow")


def _print_rooms(out: Output, found: DatabaseStatus) -> None:
    """What a daemon saw last: this command asks the ledger alone, and so answers while a database is down."""
    status = found.daemon.status
    if status is None or status.last_sample is None or not found.spaces:
        out.line(NO_ROOM_KNOWN)
        return
    out.line(f"room when last sampled, {format_when(status.last_sample)}:")
    out.table(
        (Column("tier"), Column("space"), *(Column(t, number=True) for t in ("own bytes", "free", "capacity", "fill"))),
        [_room_cells(room) for room in found.spaces],
    )
    if found.tiers:
        out.sentence(f"read times: {read_times_of(found.tiers)}")


def print_proposals(out: Output, proposals: Iterable[OpenProposal], moves: Collection[MoveListed] = ()) -> None:
    """One line for each proposal.

    Args:
        out: where to.
        proposals: that are open.
        moves: of approved ones, that are under way.
    """
    for each in proposals:
        saved = each.wait_saved_per_hour_seconds
        brings = f"{'saves' if saved >= 0 else 'costs'} {format_wait(abs(saved))}"
        out.sentence(
            f"proposal {each.id} ({short_digest(each.digest)}; {question(each)}) is {each.state}: "
            f"{count_of_moves(range(each.moves))}, {brings}, {_what_is_open(each, moves)}"
        )


def _what_is_open(proposal: OpenProposal, moves: Collection[MoveListed]) -> str:
    """What a proposal waits for: its deadline matters only as long as a move has not begun."""
    states = {move.state for move in moves if move.proposal == proposal.id}
    if proposal.state is ProposalState.PROPOSED or states & EXPIRABLE:
        return expiry(proposal)
    return "being carried out" if states & UNFINISHED else "carried out, its outcome is not known yet"


def print_moves(out: Output, moves: Iterable[MoveListed]) -> None:
    """One sentence for each move."""
    for move in moves:
        out.sentence(move_line(move, move.reason or ""))


def _print_under_way(out: Output, moves: Iterable[MoveListed], sentences: Iterable[str]) -> None:
    """Moves with how far they are; what is true of several is said once for them."""
    said = zip(moves, sentences, strict=True)
    for (state, sentence), alike in groupby(said, key=lambda pair: (pair[0].state, pair[1])):
        group = [move for move, _ in alike]
        if len(group) == 1:
            out.sentence(move_line(group[0], sentence))
            continue
        out.sentence(f"{len(group)} moves, {state_text(state)}{': ' if sentence else ''}{sentence}")
        for move in group:
            out.line(f"  move {move.id}: {move.unit} to {move.to_space}")


def _room_cells(room: RoomOfSpace) -> tuple[str, ...]:
    sizes = (room.used_bytes, room.free_bytes, room.capacity_bytes)
    cells = ("not known" if size is None else format_bytes(size) for size in sizes)
    fill = "not known" if room.fill_ratio is None else format_ratio(room.fill_ratio)
    return (room.tier or "not managed", room.space, *cells, fill)


def _daemon_heard(daemon: DaemonState) -> DaemonHeard:
    return DaemonHeard(
        state=daemon.word,
        alive=daemon.alive,
        last_heard_of_at=daemon.at,
        age_seconds=daemon.age_seconds,
        status=daemon.status,
    )


def open_proposals(ledger: Ledger, database: str, states: Collection[ProposalState]) -> tuple[OpenProposal, ...]:
    """Proposals in these states as an answer has them, without moves."""
    rows = ledger.proposals.rows(database=database, states=states)
    moves = ledger.moves.by_proposal(rows)
    return tuple(_open_proposal(row, would_run(moves[row.id])) for row in rows)


def _open_proposal(row: ProposalRow, moves: Sequence[ProposedMove]) -> OpenProposal:
    return OpenProposal(
        id=row.id,
        digest=row.digest,
        state=row.state,
        purpose=row.proposal.purpose,
        asked_by=row.proposal.asked_by or None,
        moves=len(row.proposal.moves),
        wait_saved_per_hour_seconds=row.proposal.wait_saved_per_hour,
        expires_at=row.proposal.expires_at,
        summary=summary_of(row.proposal, moves, row.id),
    )


def move_listed(row: MoveRow) -> MoveListed:
    """A move as an answer has it."""
    return extend(MoveListed, move_head(row), proposal=row.proposal_id, reason=row.reason, at=row.updated_at)
