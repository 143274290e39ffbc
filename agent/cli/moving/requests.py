"""What shall become of a move that has begun? ``pause``, ``resume``, ``cancel``.

These commands write what is asked into the ledger; the daemon obeys within a second or two and answers there. Whether
the command waits for the answer, is killed or never reads it, makes no difference to the move.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.daemon_state import daemon_of
from agent.cli.deciding.approve import Reason
from agent.cli.session import Session, actor
from agent.ledger import AskRow, RequestKind, WrongState
from agent.model.states import ACTIONABLE, MoveState
from agent.model.units_of_measure import parse_seconds
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode

POLL_SECONDS = 0.2
WAIT = "5s"  # for the daemon's answer

MoveIds = Annotated[
    list[int] | None, typer.Argument(min=1, metavar="[MOVE]...", help="Numbers that `hotplace history` shows.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Every move of the database that this can be asked of.")]
WaitOption = Annotated[str, typer.Option("--wait", metavar="DURATION", help="How long to wait for the answer.")]


@command(Group.STEER, "hotplace pause 12 --reason 'backup runs'")
def pause(
    session: Session, moves: MoveIds = None, every: AllOption = False, reason: Reason = "", wait: WaitOption = WAIT
) -> None:
    """Hold a running move where the engine can, and let an approved one not begin; it goes on with `resume`."""
    _ask(session, RequestKind.PAUSE, moves or [], every=every, reason=reason, wait=wait)


@command(Group.STEER, "hotplace resume 12")
def resume(
    session: Session, moves: MoveIds = None, every: AllOption = False, reason: Reason = "", wait: WaitOption = WAIT
) -> None:
    """Let a held move go on, within its window."""
    _ask(session, RequestKind.RESUME, moves or [], every=every, reason=reason, wait=wait)


@command(Group.STEER, "hotplace cancel 12 --reason 'wrong week'")
def cancel(
    session: Session, moves: MoveIds = None, every: AllOption = False, reason: Reason = "", wait: WaitOption = WAIT
) -> None:
    """Give up an approved, running or held move; what it has copied is rolled back."""
    _ask(session, RequestKind.CANCEL, moves or [], every=every, reason=reason, wait=wait)


def _ask(session: Session, kind: RequestKind, numbers: list[int], *, every: bool, reason: str, wait: str) -> None:
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
    asked = _asked_of_all(session, kind, reason) if every else _asked_of(session, kind, numbers, reason)
    answers = _answers(session, asked, seconds)
    for row in answers:
        state = session.ledger.moves.row(row.move_id).state
        session.out.line(f"move {row.move_id} is asked to {kind}; {row.answer or _later(session)}; it is {state}")
    if not answers:
        session.out.line(f"no move of {session.database.name} can be asked to {kind}")
    session.out.document({"database": session.database.name, "asked": [_document(session, row) for row in answers]})


def _asked_of(session: Session, kind: RequestKind, numbers: list[int], reason: str) -> list[AskRow]:
    """Ask each; the first that refuses ends it."""
    who = actor()
    return [
        session.ledger.asks.ask(number, kind, who=who.who, origin=who.origin, reason=reason)
        for number in dict.fromkeys(numbers)
    ]


def _asked_of_all(session: Session, kind: RequestKind, reason: str) -> list[AskRow]:
    """Ask every move that it means something to."""
    who, asked = actor(), []
    for row in session.ledger.moves.rows(database=session.database.name, states=ACTIONABLE):
        try:
            asked.append(session.ledger.asks.ask(row.id, kind, who=who.who, origin=who.origin, reason=reason))
        except WrongState:
            continue  # it is so already
    return asked


def _answers(session: Session, asked: list[AskRow], seconds: float) -> list[AskRow]:
    """The asks with what became of them, as far as that is known in time; only a living daemon is waited for."""
    until = session.clock.monotonic() + seconds
    while True:
        rows = [next(row for row in session.ledger.asks.of_move(ask.move_id) if row.id == ask.id) for ask in asked]
        open_ = [row for row in rows if not row.answer and _is_for_the_daemon(session, row)]
        if not open_ or session.clock.monotonic() >= until:
            return rows
        session.clock.sleep(POLL_SECONDS)


def _is_for_the_daemon(session: Session, row: AskRow) -> bool:
    """Whether a daemon lives that will answer soon; what has not begun is simply not begun."""
    state = session.ledger.moves.row(row.move_id).state
    alive = daemon_of(session.ledger, session.database, session.clock.now()).alive
    return alive and state is not MoveState.APPROVED and not session.config.dry_run


def _later(session: Session) -> str:
    if session.config.dry_run:
        return "dry_run is on, so nothing is carried out"
    if daemon_of(session.ledger, session.database, session.clock.now()).alive:
        return "the daemon obeys as soon as it can; hotplace status shows when"
    return "no daemon runs; hotplace run obeys when it starts"


def _document(session: Session, row: AskRow) -> dict[str, Any]:
    move = session.ledger.moves.row(row.move_id)
    return {
        "move": row.move_id, "unit": move.move.key, "kind": row.kind, "who": row.who, "at": row.at,
        "answer": row.answer or None, "state": move.state, "reason": move.reason,
    }  # fmt: skip
