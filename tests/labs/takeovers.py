"""One agent acts, one stands by; what becomes of the first, and how long the second takes."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.labs.fleet import DATABASE, LEDGER, TABLES, Fleet
from tests.labs.postgresql import wait_until

PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    """What was seen.

    Attributes:
        seconds: from the loss of the first agent until the second held the lease.
        statements: that began, by the log of the database's server; two are needed.
    """

    seconds: float
    statements: int

    @property
    def double_actions(self) -> int:
        """Statements that were sent once more than they had to be."""
        return self.statements - len(TABLES)


Loss = Callable[[Fleet, "subprocess.Popen[bytes]"], None]


def kill(fleet: Fleet, first: subprocess.Popen[bytes]) -> None:
    """The process is gone; what it has sent runs on in the server."""
    del fleet
    first.send_signal(signal.SIGKILL)


def freeze(fleet: Fleet, first: subprocess.Popen[bytes]) -> None:
    """The process stands still, and its sessions stay."""
    del fleet
    first.send_signal(signal.SIGSTOP)


def cut_from_ledger(fleet: Fleet, first: subprocess.Popen[bytes]) -> None:
    """It sees the database and not the ledger."""
    del first
    fleet.cut("one", LEDGER)


def cut_from_database(fleet: Fleet, first: subprocess.Popen[bytes]) -> None:
    """It sees the ledger and not the database."""
    del first
    fleet.cut("one", DATABASE)


def take_over(fleet: Fleet, lose: Loss) -> TakeOver:
    """Lose the first agent in its first statement; the second completes both moves, and the first then stands by."""
    with fleet.agent("one") as first:
        wait_until(lambda: "started" in fleet.log("one"), "the first agent", PATIENCE)
        with fleet.agent("two", "--standby") as second:
            wait_until(lambda: "stands by" in fleet.log("two"), "the standby", PATIENCE)
            fleet.approve_moves()
            wait_until(lambda: fleet.begun() == 1, "the first statement", PATIENCE)
            lost, before = time.monotonic(), fleet.token()
            lose(fleet, first)
            wait_until(lambda: fleet.token() > before, "another token", PATIENCE)
            seconds = time.monotonic() - lost
            wait_until(lambda: fleet.moved() == [*TABLES], "both moves", PATIENCE)
            wait_until(fleet.is_done, "what the ledger says", PATIENCE)
            _come_back(fleet, first, lose)
            assert second.poll() is None
            assert "acts from now on" in fleet.log("two")
    assert fleet.answer("audit", "verify")["ok"]
    return TakeOver(seconds=seconds, statements=fleet.begun())


def _come_back(fleet: Fleet, first: subprocess.Popen[bytes], lose: Loss) -> None:
    """The first agent wakes up, or sees everything again: it changes nothing, and stands by."""
    if lose is kill:
        return
    if lose is freeze:
        first.send_signal(signal.SIGCONT)
    else:
        fleet.mend("one", LEDGER if lose is cut_from_ledger else DATABASE)
    wait_until(lambda: "stands by" in fleet.log("one"), "the first agent to stand by", PATIENCE)
    wait_until(lambda: 'standing_by{database="real"} 1.0' in fleet.scrape("one"), "its metric", PATIENCE)
    assert "another agent acts on real by now" in fleet.log("one") or lose is cut_from_database
    assert first.poll() is None
