"""What keys run: the commands themselves, with the same checks and the same audit, their words kept for a page.

Nothing is decided here. ``approve`` gets the digest of the proposal that was on the screen, so that what is stored by
then has to be just that; who acts is the user of the operating system, as for the commands.
"""

from __future__ import annotations

from agent.cli.deciding.approve import give_approval, print_what_would_run
from agent.cli.deciding.proposals import print_conflicts, print_proposal
from agent.cli.deciding.undo import placed_moves, undo_moves
from agent.cli.live.view import TYPED_OF_DIGEST, Act, Page, Question, Run
from agent.cli.looking.units import explain_unit
from agent.cli.moving.requests import steer
from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.explanation.conflicts import Conflict, conflicts_of, with_proposal
from agent.ledger import RequestKind
from agent.terminal.transcript import Transcript
from connectors.base import HotplaceError

HELP = """\
The upper lines are of the database: how many sessions wait for reads on
average, by the time that the engine counts; how full its spaces are; when
moves may run. Below are open proposals, moves under way, and units. The lines
at the bottom say more of the row that is chosen.

up, down, j, k   choose a row; page up, page down, space, home, end go further
enter            explain the unit or what moves, show the proposal
a                approve a proposal: shows what would run, then asks for the
                 first eight characters of its digest; where approvals are
                 signed it shows what to sign
p                pause a move; a paused one goes on
u                propose to take back a move, or what a proposal has moved;
                 runs only once it is approved
s                sort units by the next column
/                show units and moves whose name holds a text; * and ? as in
                 file names; esc shows all
tab              the next database, where several are configured
q, Ctrl-C        end the display and nothing else

heat             reads that sessions waited for, over the time that is named
                 behind the waits; each unit by its own highest
by blocks        where in the file of a large hot table its reads go, as looks
                 at the buffer pool show; enter has it over time
benefit, saved   sessions that wait on average and would not on the fastest
                 tier; saved is by a move from where the unit is
"""


def perform(session: Session, database: DatabaseConfig, act: Act, width: int) -> Page | None:
    """Run what a key stands for and return what it printed; None where a screen shows the effect by itself.

    Args:
        session: of ``top``.
        database: that is shown.
        act: what to run; neither the end nor another database.
        width: cells of the page.
    """
    out = Transcript(width)
    part = session.of(database, out)
    question = None
    try:
        question = _run(part, act)
    except HotplaceError as error:
        out.problem(str(error), error.advice)
    return Page(title=_title(act), lines=tuple(out.lines) or ("",), question=question)


def _title(act: Act) -> str:
    return "help" if act.run is Run.HELP else f"{_COMMANDS[act.run]} {act.name}"


_COMMANDS = {
    Run.EXPLAIN: "hotplace explain", Run.SHOW: "hotplace show", Run.ASK_TO_APPROVE: "hotplace approve",
    Run.APPROVE: "hotplace approve", Run.UNDO: "hotplace undo", Run.UNDO_ALL: "hotplace undo --proposal",
    Run.PAUSE: "hotplace pause", Run.RESUME: "hotplace resume",
}  # fmt: skip


def _run(session: Session, act: Act) -> Question | None:
    """Run it; what has to be typed next, where that is something."""
    match act.run:
        case Run.HELP:
            session.out.text(HELP)
        case Run.EXPLAIN:
            explain_unit(session, act.name)
        case Run.SHOW:
            _show(session, int(act.name))
        case Run.ASK_TO_APPROVE:
            return _ask_to_approve(session, act)
        case Run.APPROVE:
            give_approval(session, int(act.name), digest=act.digest)
        case Run.UNDO:
            undo_moves(session, [session.ledger.moves.row(int(act.name))])
        case Run.UNDO_ALL:
            undo_moves(session, placed_moves(session, int(act.name)))
        case Run.PAUSE | Run.RESUME:
            kind = RequestKind.PAUSE if act.run is Run.PAUSE else RequestKind.RESUME
            steer(session, kind, [int(act.name)], every=False, reason="", wait="0s")
        case _:
            raise AssertionError(f"{act.run} is no command")
    return None


def _show(session: Session, number: int) -> None:
    row = session.ledger.proposals.row(number)
    print_proposal(session.out, row, session.ledger.moves.rows(proposal_id=number))
    print_conflicts(session.out, _conflicts(session, number, row.proposal.database))


def _ask_to_approve(session: Session, act: Act) -> Question | None:
    """What the command shows before it asks, or what it prints to be signed."""
    number = int(act.name)
    if session.config.signers is not None:
        give_approval(session, number, digest=act.digest)
        return None
    row = session.ledger.proposals.row(number)
    print_what_would_run(session, row, _conflicts(session, number, row.proposal.database))
    return Question(
        prompt=f"digest {row.digest[:16]}...: type its first {TYPED_OF_DIGEST} characters to approve: ",
        answer=row.digest[:TYPED_OF_DIGEST],
        act=Act(run=Run.APPROVE, name=act.name, digest=row.digest),
    )


def _conflicts(session: Session, number: int, database: str) -> list[Conflict]:
    return with_proposal(conflicts_of(session.ledger, database, session.clock.now()), number)
