"""Amdahl's law, by which published speed-ups are compared with the wait that a plan saves."""

from __future__ import annotations


def speedup(elapsed: float, saved: float) -> float:
    """How many times faster work of ``elapsed`` seconds gets when ``saved`` seconds of its waits are gone.

    Raises:
        ValueError: more would be saved than there is, which no placement can do.
    """
    if not 0 <= saved < elapsed:
        raise ValueError(f"{saved} s cannot be saved of {elapsed} s")
    return elapsed / (elapsed - saved)
