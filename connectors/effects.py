"""What a move does beside copying: whom it holds up, what it logs, what it leaves to do, what has to survive it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MINIMAL_LOG = 0.5  # share of a bundle's bytes: a move that logs less does not log what it copies


class Locked(StrEnum):
    """What other sessions cannot do with the units of a move while it runs."""

    NOTHING = "nothing"
    BRIEFLY = "briefly"  # all of them, for a moment at its begin or end
    WRITES = "writes"  # reads go on
    ALL = "all"


class LogVolume(StrEnum):
    """How much of a move goes into the transaction log."""

    NONE = "none"
    MINIMAL = "minimal"  # what was allocated, not what was copied
    FULL = "full"  # every byte

    @classmethod
    def of(cls, log_bytes: int, copied_bytes: int) -> LogVolume:
        """How an estimate of the log compares with what is copied."""
        if not log_bytes:
            return cls.NONE
        return cls.FULL if log_bytes > MINIMAL_LOG * copied_bytes else cls.MINIMAL


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Work that a move leaves behind, beside its own statements."""

    what: str  # one sentence without a full stop
    seconds: float | None  # of a session's time, estimated; None: nobody can say


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something that belongs to what a move makes anew, and has to be there as it was when it has arrived."""

    what: str  # "index APP.ORDERS_PK"
    how: str  # what must not have changed of it: "primary key on +ID"
