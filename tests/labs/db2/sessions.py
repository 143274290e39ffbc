"""Users of the emulated server, and what the server knows of each session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.labs.db2 import refusals


@dataclass(frozen=True, slots=True)
class User:
    """A login with its rights."""

    name: str  # as it logs in
    password: str
    administrator: bool = False  # SYSADM and DBADM
    may_not_use: frozenset[str] = frozenset()  # functions and views of the catalog, without their schema

    @property
    def authid(self) -> str:
        """As the catalog writes it."""
        return self.name.upper()


@dataclass
class Session:
    """One connection."""

    handle: int
    user: User
    lock_seconds: float
    pending: list[Callable[[], None]] = field(default_factory=list)  # what the next commit does
    forced: threading.Event = field(default_factory=threading.Event)
    lost: Callable[[], bool] = lambda: False  # whether the server has seen that the client is gone
    own_schema_in_path: bool = True  # CURRENT PATH is the default, which ends with the user's name
    running: str = ""  # the statement of the lab that it executes now

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Whether it became true in time.

        Raises:
            Refusal: the session was forced off meanwhile.
        """
        end = time.monotonic() + seconds
        while not until():
            if self.forced.is_set() or self.lost():
                raise refusals.forced()
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True
