"""A terminal emulator with a command in it: what a person would see, and keys."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyte

from tests.cli.site import SECONDS, Site


class Terminal:
    """One command at a terminal of its own, whose screen is kept as pyte sees it."""

    def __init__(
        self, site: Site, command: Sequence[str], columns: int, rows: int, environment: Mapping[str, str]
    ) -> None:
        self._ours, self._theirs = pty.openpty()
        self.before = termios.tcgetattr(self._theirs)
        self.raw = b""  # all that was written
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.resize(columns, rows)
        self.process = site.start_program(
            *command, stdin=self._theirs, stdout=self._theirs, stderr=self._theirs, start_new_session=True,
            preexec_fn=self._take_terminal, environment=environment,
        )  # fmt: skip

    def _take_terminal(self) -> None:
        """Make it the terminal that signals of its keys and of its size come from."""
        fcntl.ioctl(self._theirs, termios.TIOCSCTTY, 0)

    @property
    def text(self) -> str:
        """The screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def lines(self) -> list[str]:
        """The screen, line by line, as wide as it is."""
        return list(self._screen.display)

    @property
    def mode(self) -> list[Any]:
        """The terminal's settings now."""
        return termios.tcgetattr(self._theirs)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Give it another size."""
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, seen: str | Callable[[str], bool], seconds: float = SECONDS) -> str:
        """The screen once it shows a text, or is as wanted."""
        is_seen = (lambda text: seen in text) if isinstance(seen, str) else seen
        until = time.monotonic() + seconds
        while not is_seen(self.text):
            assert time.monotonic() < until, f"never seen: {seen}\n{self.text}"
            self._take_in(0.1)
        return self.text

    def end(self) -> int:
        """Wait until the command has ended, and return its exit code."""
        until = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < until, f"does not end\n{self.text}"
            self._take_in(0.05)
        while self._take_in(0.0):
            pass
        return int(self.process.returncode)

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def _take_in(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        read = os.read(self._ours, 65536)
        self.raw += read
        self._stream.feed(read)
        return True


@contextmanager
def at_terminal(
    site: Site, *arguments: str, columns: int = 80, rows: int = 24, **environment: str
) -> Iterator[Terminal]:
    """A command at an xterm of that size, unless the environment says otherwise; killed at the end if it still runs."""
    with program_at_terminal(site, site.command(*arguments), columns, rows, environment) as terminal:
        yield terminal


@contextmanager
def program_at_terminal(
    site: Site, command: Sequence[str], columns: int, rows: int, environment: Mapping[str, str]
) -> Iterator[Terminal]:
    """The same for any program."""
    terminal = Terminal(site, command, columns, rows, {"TERM": "xterm-256color", **environment})
    try:
        yield terminal
    finally:
        terminal.close()
