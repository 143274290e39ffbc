"""Steer what has begun, stop everything, and close spaces: ``pause``, ``resume``, ``cancel``, ``stop``, ``close`` ...

Steer a move that has begun: ``pause``, ``resume``, ``cancel``; or let agents send nothing at all: ``stop``.

These commands write a request into the ledger; the daemon obeys within a second or two and answers there. Whether
the command waits for the answer, is killed or never reads it, makes no difference to the move.

Which spaces are closed to arrivals? ``close``, ``reopen``; ``status`` lists them.
"""

from __future__ import annotations

import difflib
import shlex
from itertools import chain
from typing import Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import Reason, parse_option, refuse
from agent.cli.session import Session, actor
from agent.cli.under_way import move_head
from agent.ledger.errors import WrongState
from agent.ledger.rows import EVERY, MoveRow, OperatorRequestRow, RequestKind
from agent.ledger.state_names import STATUS
from agent.model.answers.decisions import MoveAsked, MovesAsked, SendingStopped, SpaceClosed
from agent.model.states import ACTIONABLE, STARTING, MoveState
from agent.model.units_of_measure import parse_seconds
from agent.service.fleet import Heartbeat, heartbeat_of
from agent.service.heard import daemon_of
from agent.terminal.errors import CommandError, ExitCode

POLL_SECONDS = 0.2
WAIT = "5s"  # for the daemon's answer
STOPS_WITHIN = "10s"  # an agent that lives has cancelled what ran

MoveIds = Annotated[
    list[int] | None, typer.Argument(min=1, metavar="[MOVE]...", help="Numbers that `hotplace history` shows.")
]
AllOption = Annotated[
    bool,
    typer.Option("--all", help="Every move that this can be asked of, in each configured database or in --database."),
]
WaitOption = Annotated[str, typer.Option("--wait", metavar="DURATION", help="How long to wait for the answer.")]


@command(HelpGroup.STEER, "hotplace pause 12 --reason 'backup runs'")
def pause(
    session: Session, moves: MoveIds = None, every: AllOption = False, reason: Reason = "", wait: WaitOption = WAIT
) -> None:
    """Hold a running move where the engine can, and let an approved one not begin; it goes on with `resume`."""
    steer(session, RequestKind.PAUSE, moves or [], every=every, reason=reason, wait=wait)


@command(HelpGroup.STEER, "hotplace resume 12")
def resume(
    session: Session, moves: MoveIds = None, every: AllOption = False, reason: Reason = "", wait: WaitOption = WAIT
) -> None:
    """Let a held move go on, within its window."""
    steer(session, RequestKind.RESUME, moves or [], every=every, reason=reason, wait=wait)


@command(HelpGroup.STEER, "hotplace cancel 12 --reason 'wrong week'")
def cancel(
    session: Session,
    moves: MoveIds = None,
    every: AllOption = False,
    reason: Reason = "",
    wait: WaitOption = WAIT,
    digest: Annotated[
        str,
        typer.Option(metavar="DIGEST", help="Of proposals that were approved together: what has not begun yet."),
    ] = "",
) -> None:
    """Give up an approved, running or held move; what it has copied is rolled back."""
    if not digest:
        steer(session, RequestKind.CANCEL, moves or [], every=every, reason=reason, wait=wait)
        return
    from agent.cli.approve import stop_list

    refuse({"MOVE": moves, "--all": every}, "it does not go with --digest")
    stop_list(session, digest, reason)


def steer(session: Session, kind: RequestKind, numbers: list[int], *, every: bool, reason: str, wait: str) -> None:
    """Ask it of moves and print their answers.

    Args:
        session: prints what comes of it.
        kind: what is asked.
        numbers: of the moves.
        every: all moves of the database that can still obey, in place of numbers.
        reason: for the record.
        wait: for the daemon's answer at most, as a duration.

    Raises:
        LedgerError: a move cannot be asked that.
        CommandError: neither moves nor all of them were named, or both.
    """
    if bool(numbers) == every:
        raise CommandError(
            f"say which moves to {kind}: their numbers, or --all",
            code=ExitCode.USAGE,
            advice="`hotplace history` shows the numbers.",
        )
    try:
        seconds = parse_seconds(wait)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--wait") from error
    submitted = _submit_to_all(session, kind, reason) if every else _submit(session, kind, numbers, reason)
    answers = _wait_for_answers(session, submitted, seconds)
    asked = [(_asked(session, row), row) for row in answers]
    for each, row in asked:
        said = each.answer or _later(session, session.ledger.moves.row(row.move_id).database)
        session.out.line(f"move {each.move} is asked to {kind}; {said}; it is {each.state}")
    if not asked:
        names = ", ".join(database.name for database in session.databases)
        session.out.line(f"no move of {names} can be asked to {kind}")
    only = session.databases[0].name if len(session.databases) == 1 else None
    session.out.document(MovesAsked(database=only, asked=tuple(each for each, _ in asked)))


def _submit(session: Session, kind: RequestKind, numbers: list[int], reason: str) -> list[OperatorRequestRow]:
    """Request it of each move; the first that refuses ends it."""
    who = actor()
    return [
        session.ledger.requests.submit(number, kind, who=who.who, origin=who.origin, reason=reason)
        for number in dict.fromkeys(numbers)
    ]


def _submit_to_all(session: Session, kind: RequestKind, reason: str) -> list[OperatorRequestRow]:
    """Request it of every move of the databases meant that can still obey."""
    who, submitted = actor(), []
    moves = session.ledger.moves
    for row in chain.from_iterable(moves.rows(database=each.name, states=ACTIONABLE) for each in session.databases):
        try:
            submitted.append(
                session.ledger.requests.submit(row.id, kind, who=who.who, origin=who.origin, reason=reason)
            )
        except WrongState:
            continue  # it is paused, running or ended already
    return submitted


def _wait_for_answers(
    session: Session, submitted: list[OperatorRequestRow], seconds: float
) -> list[OperatorRequestRow]:
    """The requests with their answers, as far as those arrive in time; waits only while a daemon is alive."""
    until = session.clock.monotonic() + seconds
    while True:
        rows = [_newest_version(session, row) for row in submitted]
        open_ = [row for row in rows if not row.answer and _is_for_the_daemon(session, row)]
        if not open_ or session.clock.monotonic() >= until:
            return rows
        session.clock.sleep(POLL_SECONDS)


def _newest_version(session: Session, request: OperatorRequestRow) -> OperatorRequestRow:
    """The request as the ledger has it now."""
    return next(row for row in session.ledger.requests.of_move(request.move_id) if row.id == request.id)


def _is_for_the_daemon(session: Session, row: OperatorRequestRow) -> bool:
    """Whether a daemon lives that will answer soon; what has not begun is simply not begun."""
    move = session.ledger.moves.row(row.move_id)
    return _is_watched(session, move.database) and move.state is not MoveState.APPROVED and not session.config.dry_run


def _is_watched(session: Session, database: str) -> bool:
    """Whether an agent is heard of that watches a database, which this machine need not have configured."""
    agents = (agent for agent in session.ledger.overview.agents() if agent.database == database)
    configured = next((each for each in session.config.databases if each.name == database), None)
    if configured is not None:
        return daemon_of(session.ledger, configured, session.clock.now()).alive
    return any(heartbeat_of(agent, session.clock.now()) is Heartbeat.HEARD for agent in agents)


def _later(session: Session, database: str) -> str:
    if session.config.dry_run:
        return "dry_run is on, so nothing is carried out"
    if _is_watched(session, database):
        return "the daemon obeys as soon as it can; hotplace status shows when"
    return "no daemon runs; hotplace run obeys when it starts"


@command(HelpGroup.STEER, "hotplace stop --all --reason 'storage fails'")
def stop(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="All databases of the ledger, of all machines.")] = False,
    lift: Annotated[bool, typer.Option("--lift", help="End the stop: agents may send again.")] = False,
    reason: Reason = "",
    wait: Annotated[
        str, typer.Option("--wait", metavar="DURATION", help="How long to wait for what runs to end.")
    ] = STOPS_WITHIN,
) -> None:
    """Let no agent send anything: what runs is cancelled and nothing begins, until `hotplace stop --lift`."""
    seconds = parse_option(parse_seconds, wait, "--wait")
    who, stops = actor(), session.ledger.stops
    if lift:
        wanted = None if every else [session.database.name]
        lifted = stops.lift(wanted, who=who.who, origin=who.origin, reason=reason)
        for name in lifted:
            session.out.line(f"{_all_or(name)}: agents send again what is approved")
        if not lifted:
            session.out.line("nothing was stopped")
        session.out.document(SendingStopped(stopped=False, databases=tuple(lifted), running=()))
        return
    owned = session.ledger.owned_databases() if every else {session.database.name}
    names = [EVERY] if owned is None else sorted(owned)
    new = stops.begin(names, who=who.who, origin=who.origin, reason=reason)
    for name in names:
        session.out.line(
            f"{_all_or(name)}: {'stopped' if name in new else 'was stopped already'}; no agent sends anything"
        )
    running = _wait_for_the_end(session, None if owned is None else set(names), seconds)
    for row in running:
        session.out.line(
            f"move {row.id} of {row.database} is still {row.state}: its agent cancels it once it is heard of; "
            "its statement can be ended at the server",
            style="bold red",
        )
    if not running:
        session.out.line("no move runs")
    lifting = "hotplace stop --lift --all" if every else f"hotplace stop --lift --database {shlex.quote(names[0])}"
    session.out.line(f"agents send again after: {lifting}")
    shown = tuple(map(move_head, running))
    session.out.document(SendingStopped(stopped=True, databases=tuple(names), running=shown))


def _all_or(name: str) -> str:
    return "all databases of this ledger" if name == EVERY else name


def _wait_for_the_end(session: Session, databases: set[str] | None, seconds: float) -> list[MoveRow]:
    """Moves of these databases, or of all, that still run once the time is over; waits no longer than any does."""
    until = session.clock.monotonic() + seconds
    while True:
        moves = session.ledger.moves.rows(states=STARTING)
        running = [row for row in moves if databases is None or row.database in databases]
        if not running or session.clock.monotonic() >= until:
            return running
        session.clock.sleep(POLL_SECONDS)


def _asked(session: Session, row: OperatorRequestRow) -> MoveAsked:
    move = session.ledger.moves.row(row.move_id)
    return MoveAsked(
        move=row.move_id, unit=move.move.key, kind=row.kind, who=row.who, at=row.at, answer=row.answer or None,
        state=move.state, reason=move.reason,
    )  # fmt: skip


SpaceName = Annotated[str, typer.Argument(metavar="SPACE", help="A space as `hotplace status` lists it.")]


@command(HelpGroup.STEER, "hotplace close old_ssd --reason 'to be removed'")
def close(session: Session, space: SpaceName, reason: Reason = "") -> None:
    """Close a space to arrivals: no plan and no move brings anything to it until it is reopened."""
    _check_known(session, space)
    database = session.database.name
    changed = session.ledger.arrivals.close(database, space, who=actor().who, reason=reason)
    session.out.line(f"{space} is closed to arrivals{'' if changed else ' already'}")
    session.out.document(SpaceClosed(database=database, space=space, closed=True, changed=changed))


@command(HelpGroup.STEER, "hotplace reopen old_ssd")
def reopen(session: Session, space: SpaceName, reason: Reason = "") -> None:
    """Open a space again that was closed by hand or by a drain."""
    database = session.database.name
    if not session.ledger.arrivals.open(database, space, who=actor().who, reason=reason):
        closed = ", ".join(row.space for row in session.ledger.arrivals.rows(database)) or "none"
        raise CommandError(f"{space!r} is not closed", code=ExitCode.NOT_FOUND, advice=f"Closed to arrivals: {closed}.")
    session.out.line(f"{space} is open again; the next plan may use it")
    session.out.document(SpaceClosed(database=database, space=space, closed=False, changed=True))


def _check_known(session: Session, space: str) -> None:
    """Refuse a name that the last sample does not hold; before the first sample every name is taken.

    Raises:
        CommandError: there is no such space; the nearest is named.
    """
    stored = session.ledger.state.load_document(session.database.name, STATUS)
    known = [room["space"] for room in stored[1].get("spaces", [])] if stored else []
    if known and space not in known:
        near = difflib.get_close_matches(space, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
        raise CommandError(f"no space is named {space!r}", code=ExitCode.NOT_FOUND, advice=hint)
