"""Does a daemon watch a database, and what has it said of itself? Asked of the ledger and of this machine alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from agent.config.models import STALE_SAMPLES, DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.answers.kind import keys_of
from agent.model.answers.watching import DaemonStatus, JobShown, RoomOfSpace, ServerChangeShown, UnitsRead
from agent.model.units_of_measure import format_when
from agent.planning.read_times import stored_tier
from agent.service.process import start_of
from connectors.model.formatting import format_seconds

_Kind = TypeVar("_Kind")
JOB_INSTANTS = ("last_success", "last_failure", "failing_since")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonState:
    """What the ledger tells of the daemon of one database."""

    word: str  # running, late, stopped, never
    alive: bool  # running or late: under load it may be silent for a while, and still obeys
    age_seconds: float | None  # since it last wrote; None: it never did
    at: datetime | None
    status: DaemonStatus | None  # None: it never wrote one

    @property
    def sentence(self) -> str:
        """The state in words."""
        if self.at is None or self.age_seconds is None or self.status is None:
            return "no daemon has ever watched this database; start it with: hotplace run"
        seen = f"{format_when(self.at)} ({format_seconds(self.age_seconds)} ago)"
        return {
            "running": f"running as pid {self.status.pid}, last heard of at {seen}",
            "late": f"late: pid {self.status.pid} was last heard of at {seen}",
            "stopped": f"not running; last heard of at {seen}; start it with: hotplace run",
        }[self.word]

    def why_silent(self, database: str) -> str:
        """Why no agent acts on the database; "" where one does."""
        return "" if self.alive else why_silent(database, self.at)


def why_silent(database: str, heard_at: datetime | None) -> str:
    """Why no agent acts on a database; the instant is when one was last heard of, None for never."""
    if heard_at is None:
        return f"no agent has ever watched {database}"
    return f"no agent of {database} is heard of, the last one was at {format_when(heard_at)}"


def daemon_of(ledger: Ledger, database: DatabaseConfig, now: datetime, *, within: bool = False) -> DaemonState:
    """Whether a daemon watches that database, as far as the ledger and this machine tell.

    Args:
        ledger: what it wrote.
        database: the one that it watches.
        now: the present time.
        within: this very process is a daemon, and asks about itself.
    """
    stored = ledger.state.load_document(database.name, STATUS)
    if stored is None:
        return DaemonState(word="never", alive=False, age_seconds=None, at=None, status=None)
    at, status = stored[0], daemon_status_of(stored[1])
    age = max(0.0, (now - at).total_seconds())
    fresh = age <= STALE_SAMPLES * max(database.sample_seconds, 1.0)
    here = status.host == socket.gethostname()
    # A pid says something on its own machine only; of a daemon on another one nothing but its silence does.
    gone = here and not _is_process(status.pid, stored[1].get("process") or "", within=within)
    word = "stopped" if gone or not (fresh or here) else "running" if fresh else "late"
    return DaemonState(word=word, alive=word != "stopped", age_seconds=age, at=at, status=status)


def _is_process(pid: int, start: str, *, within: bool) -> bool:
    """Whether a process of this machine is the one that had the pid when it wrote; ``start`` is when that one began."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process belongs to another user
        pass
    now = start_of(pid)
    if start and now and now != start:
        return False  # pids are used again
    return within or pid != os.getpid()  # a command's own process is no daemon


def daemon_status_of(stored: Mapping[str, Any]) -> DaemonStatus:
    """What a daemon stored as ``agent.service.snapshot.status_document``; None for what its version did not write."""
    last, rooms, tiers = (stored.get(name) for name in ("last_sample", "spaces", "tiers"))
    jobs, changes, units_read = (stored.get(name) for name in ("jobs", "server_changes", "units_read"))
    read = {
        "at": datetime.fromisoformat(stored["at"]) if "at" in stored else None,
        "last_sample": None if last is None else datetime.fromisoformat(last),
        "spaces": None if rooms is None else tuple(_read(RoomOfSpace, room) for room in rooms),
        "tiers": None if tiers is None else tuple(map(stored_tier, tiers)),
        "units_read": None if units_read is None else _read(UnitsRead, units_read),
        "jobs": None if jobs is None else tuple(_read(JobShown, _with_instants(job, JOB_INSTANTS)) for job in jobs),
        "server_changes": None
        if changes is None
        else tuple(_read(ServerChangeShown, _with_instants(change, ("at",))) for change in changes),
    }
    return _read(DaemonStatus, {**stored, **read})


def _with_instants(stored: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """What was stored, with the values of those names as instants."""
    return {
        name: datetime.fromisoformat(value) if name in names and value is not None else value
        for name, value in stored.items()
    }


def _read(kind: type[_Kind], stored: Mapping[str, Any]) -> _Kind:
    """An answer of that kind; keys of newer versions are left out."""
    return kind(**{name: stored.get(key) for key, name in keys_of(kind).items()})
