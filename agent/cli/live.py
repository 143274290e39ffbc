"""The live screen's loop: look, draw, wait for a key, run the command that it stands for.

``perform`` runs the commands themselves, with the same checks and the same audit, and keeps their output for a page.
Nothing is decided here. ``approve`` gets the digest of the proposal on the screen, so it applies only if the stored
proposal is still the same. The acting person is the user of the operating system, as for the commands.

``show`` is the loop, written directly on Rich. Textual would bring ten packages and 9 MB to the machine of a database
for one command, take 0.4 s of processor time to import where Rich takes 0.1 s, and draw nothing on TERM=dumb. What it
would save is done by pure functions (``live_view.press``, ``live_screen.draw``). Tests try these key by key without a
terminal, and ``tests/cli`` tries the whole in an emulated one.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from rich.console import Console
from rich.live import Live

from agent.cli.approve import give_approval, print_what_would_run
from agent.cli.live_picture import ScreenPicture, Watching
from agent.cli.live_screen import as_text, draw, last_top, share_rows, shown_units
from agent.cli.live_view import TYPED_OF_DIGEST, Act, Listing, Question, Run, ScreenPage, View, listing_of, press
from agent.cli.proposals import print_conflicts, print_proposal
from agent.cli.requests import steer
from agent.cli.session import Session
from agent.cli.undo import placed_moves, undo_moves
from agent.cli.units import explain_unit
from agent.config.models import DatabaseConfig
from agent.ledger.rows import RequestKind
from agent.planning.conflicts import Conflict, conflicts_of, with_proposal
from agent.terminal.keys import GONE, RESIZED, Keyboard, keyboard
from agent.terminal.transcript import Transcript
from agent.terminal.wording import print_statements
from connectors.kit.contract import HotplaceError

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


def perform(session: Session, database: DatabaseConfig, act: Act, width: int) -> ScreenPage | None:
    """Run the action of a key and return what it printed; None where a screen shows the effect anyway.

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
    return ScreenPage(title=_title(act), lines=tuple(out.lines) or ("",), question=question)


def _title(act: Act) -> str:
    return "help" if act.run is Run.HELP else f"{_COMMANDS[act.run]} {shlex.quote(act.name)}"


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
    moves = session.ledger.moves.as_they_are(proposal_id=number)
    print_proposal(session.out, row, moves)
    print_conflicts(session.out, _conflicts(session, number, row.proposal.database))
    print_statements(session.out, [move.move for move in moves])


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
    return with_proposal(conflicts_of(session.ledger, database), number)


SHORTEST_SECONDS = 0.1
PLAIN = {"dumb", "unknown"}  # terminals that know no escapes: each look is printed below the last one
ASKS_THE_DATABASE = {Run.UNDO, Run.UNDO_ALL}


def show(session: Session, seconds: float) -> None:
    """Show it until a key ends it; the terminal is then as it was.

    Args:
        session: of the command.
        seconds: from one look at the ledger to the next.
    """
    watched = [Watching(session.ledger, each, dry_run=session.config.dry_run) for each in session.databases]
    with keyboard() as keys, _ended_by_signals():
        if os.environ.get("TERM", "").lower() in PLAIN or not os.environ.get("TERM"):
            _print_again_and_again(session, watched, keys, seconds)
        else:
            with Live(console=session.out.console, screen=True, auto_refresh=False) as live:
                _Screen(session, watched, live).run(keys, seconds)


class _Screen:
    """What is shown now, and where."""

    def __init__(self, session: Session, watched: list[Watching], live: Live) -> None:
        self._session = session
        self._watched = watched
        self._live = live
        self._at = 0  # of the databases
        self._view = View()
        self._picture: ScreenPicture | None = None

    def run(self, keys: Keyboard | None, seconds: float) -> None:
        """Look, draw and obey until the end."""
        clock, looked = self._session.clock, None
        while True:
            if looked is None or clock.monotonic() - looked >= seconds:
                self._picture, looked = self._watching.look(clock.now()), clock.monotonic()
            listing = self._draw()
            left = max(0.0, looked + seconds - clock.monotonic())
            if keys is None:
                clock.sleep(left)
                continue
            key = keys.read(left)
            if key == GONE:
                return
            if key is None or key == RESIZED:
                continue
            console = self._live.console
            self._view, act = press(self._view, key, listing, last_top(self._view.page, console.width, console.height))
            if act is None:
                continue
            if act.run is Run.QUIT:
                return
            self._obey(act)
            looked = None

    @property
    def _watching(self) -> Watching:
        return self._watched[self._at]

    def _obey(self, act: Act) -> None:
        if act.run is Run.NEXT_DATABASE:
            self._at = (self._at + 1) % len(self._watched)
            self._view = replace(self._view, chosen=None)
            return
        if act.run in ASKS_THE_DATABASE:
            self._view = replace(self._view, message="asks the database ...")
            self._draw()
        page = perform(self._session, self._watching.database, act, self._live.console.width)
        self._view = replace(self._view, page=page, message="")

    def _draw(self) -> Listing:
        assert self._picture is not None, "there was a look"
        console = self._live.console
        listing = listing_of(self._picture, self._view)
        picture = _with_heat(self._picture, listing, self._view, self._watching, console.height)
        lines = draw(
            picture, listing, self._view, console.width, console.height,
            others=len(self._watched) - 1, blocks=has_blocks(console),
        )  # fmt: skip
        self._live.update(as_text(lines), refresh=True)
        return listing


def _with_heat(picture: ScreenPicture, listing: Listing, view: View, watching: Watching, height: int) -> ScreenPicture:
    """The picture with the heat of just those units that may be on a screen of so many lines."""
    keys = shown_units(listing, share_rows(listing, view.chosen, height, 0))
    return replace(picture, heat=watching.curves.heat(keys))


def has_blocks(console: Console) -> bool:
    """Whether the terminal's encoding has the characters of curves."""
    return console.encoding.lower().startswith("utf")


def _print_again_and_again(session: Session, watched: list[Watching], keys: Keyboard | None, seconds: float) -> None:
    """Each look at all databases below the last one, without a single escape."""
    console = session.out.console
    while True:
        for watching in watched:
            picture = watching.look(session.clock.now())
            listing = listing_of(picture, View())
            picture = _with_heat(picture, listing, View(), watching, console.height)
            lines = draw(picture, listing, View(), console.width, console.height, blocks=has_blocks(console))
            for line in lines[:-1]:  # without the line of keys: only q works here
                session.out.line(line.text.rstrip())
        session.out.line("q ends it")
        key = _wait(session, keys, seconds)
        if key in {"q", "Q", GONE}:
            return


def _wait(session: Session, keys: Keyboard | None, seconds: float) -> str | None:
    if keys is None:
        session.clock.sleep(seconds)
        return None
    return keys.read(seconds)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP end the display as Ctrl-C does: the terminal is put back first."""
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
