"""Single keys of a terminal, waited for while something is shown."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def single_keys() -> Iterator[bool]:
    """Have keys arrive one by one and unseen, as long as this lasts; whether there is a terminal to press them at."""
    if not sys.stdin.isatty():
        yield False
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)  # Ctrl-C stays an interrupt
        yield True
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def read_key(seconds: float) -> bytes | None:
    """The key that is pressed within that time, None when none is; empty where the terminal has gone."""
    terminal = sys.stdin.fileno()
    ready, _, _ = select.select([terminal], [], [], seconds)
    # Past Python's buffer: a key that waits in there would never make `select` ready.
    return os.read(terminal, 1) if ready else None
