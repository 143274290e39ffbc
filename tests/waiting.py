"""Waiting for what another program does, without taking the processor from it by asking all the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
SHARE = 4  # of the processor time that a question takes, until the next one


def wait_for(holds: Callable[[], Answer], what: str, seconds: float, *, every: float = 0.02) -> Answer:
    """Ask until the answer is true, and return it.

    Args:
        holds: the question. One that takes long, as a whole command does, is asked more seldom.
        what: is waited for.
        seconds: after which it is given up.
        every: seconds between two questions that take no time.

    Raises:
        AssertionError: it never was.
    """
    until = time.monotonic() + seconds
    while True:
        began = time.thread_time()
        if answer := holds():
            return answer
        assert time.monotonic() < until, f"not within {seconds:.0f} s: {what}"
        time.sleep(max(every, SHARE * (time.thread_time() - began)))
