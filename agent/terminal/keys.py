"""Single keys of a terminal, waited for while something is shown; a change of its size counts as one.

By hand and not by curses: what is shown stays Rich's, and a key is a few bytes.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

RESIZED = "resized"  # the terminal has another size now
GONE = ""  # there is no terminal any more
ESCAPE = "escape"
ESCAPE_SECONDS = 0.05  # that the rest of a key's bytes may take after its first; a slow line may break keys apart
CHUNK = 1024  # bytes
_NAMED = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x1b[5~": "page up", "\x1b[6~": "page down",
    "\x1b[H": "home", "\x1b[F": "end", "\x1bOH": "home", "\x1bOF": "end", "\x1b[1~": "home", "\x1b[4~": "end",
    "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace", "\x04": "q",
}  # fmt: skip


class Keyboard:
    """The keys of the terminal at standard input, one by one."""

    def __init__(self, terminal: int, woken: int) -> None:
        """Read a terminal.

        Args:
            terminal: its descriptor; keys arrive there one by one and unseen.
            woken: becomes readable when the terminal's size has changed.
        """
        self._terminal = terminal
        self._woken = woken
        self._pending: list[str] = []

    def read(self, seconds: float) -> str | None:
        """The next key within that time: a character, or a name like ``up``; ``RESIZED``; None: nothing happened."""
        if not self._pending:
            ready, _, _ = select.select([self._terminal, self._woken], [], [], seconds)
            if self._woken in ready:
                os.read(self._woken, CHUNK)
                return RESIZED
            if not ready:
                return None
            self._pending = split_keys(self._read_whole())
            if not self._pending:
                return GONE
        return self._pending.pop(0)

    def _read_whole(self) -> str:
        """What has arrived; after an escape also what follows it at once, since it begins the names of keys."""
        # Past Python's buffer: a key that waits in there would never make `select` ready.
        read = os.read(self._terminal, CHUNK)
        if read.endswith(b"\x1b") and select.select([self._terminal], [], [], ESCAPE_SECONDS)[0]:
            read += os.read(self._terminal, CHUNK)
        return read.decode(errors="replace")


@contextmanager
def keyboard() -> Iterator[Keyboard | None]:
    """Have keys arrive one by one and unseen, as long as this lasts; None where there is no terminal for them."""
    if not sys.stdin.isatty():
        yield None
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    handler = signal.signal(signal.SIGWINCH, lambda *_: _write_byte(wake))
    try:
        tty.setcbreak(terminal)  # Ctrl-C stays an interrupt
        yield Keyboard(terminal, woken)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
        os.close(woken)
        os.close(wake)


def _write_byte(pipe: int) -> None:
    with suppress(BlockingIOError):  # it is full of bytes that say the same
        os.write(pipe, b"\0")


def split_keys(text: str) -> list[str]:
    r"""What was typed as keys; sequences that stand for no key used here are left out.

    >>> split_keys("j\x1b[A\x1b[1;5Pq\x1b")
    ['j', 'up', 'q', 'escape']
    """
    keys = []
    while text:
        length = _key_length(text)
        key, text = text[:length], text[length:]
        if key in _NAMED:
            keys.append(_NAMED[key])
        elif key == "\x1b":
            keys.append(ESCAPE)
        elif key.isprintable():
            keys.append(key)
    return keys


def _key_length(text: str) -> int:
    """Characters of the first key: of an escape sequence all up to its last letter (ECMA-48, 5.4)."""
    if not text.startswith(("\x1b[", "\x1bO")):
        return 1
    for at, character in enumerate(text[2:], start=2):
        if "@" <= character <= "~":
            return at + 1
    return len(text)
