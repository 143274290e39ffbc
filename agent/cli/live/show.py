"""The loop of the live screen: look, draw, wait for a key, run what it stands for.

By hand over Rich, and not with textual: that would bring ten packages and 9 MB to the machine of a database for one
command, take 0.4 s of processor time to import where Rich takes 0.1 s, and draw nothing on TERM=dumb. What it would
save is done by pure functions here (``view.press``, ``screen.draw``), which tests try key by key without a terminal;
``tests/cli/live`` tries the whole in an emulated one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from rich.console import Console
from rich.live import Live

from agent.cli.live.acting import perform
from agent.cli.live.picture import Picture, Watching
from agent.cli.live.screen import as_text, draw, last_top, share_rows, shown_units
from agent.cli.live.view import Act, Listing, Run, View, listing_of, press
from agent.cli.session import Session
from agent.terminal.keys import GONE, RESIZED, Keyboard, keyboard

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
        self._picture: Picture | None = None

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


def _with_heat(picture: Picture, listing: Listing, view: View, watching: Watching, height: int) -> Picture:
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
            for line in lines[:-1]:  # without the keys, of which only q works here
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
