"""What a move does: what it reads and writes where, whom it holds up, what it logs, leaves to do and has to keep."""

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
class Transfer:
    """Bytes that a move reads from a space or writes to one, from the first to the last; one after the other."""

    space: str  # where they are when the route is asked for, or where they go
    bytes: int
    written: bool = False  # False: read
    unit: str = ""  # key of the unit that is read, which an earlier move may have brought elsewhere; "": none
    work_ratio: float = 0.5  # of the server's own work on a byte that is read, logged and written: 1.0 in all
    whole: bool = False  # no other request comes between: the engine keeps the device for it

    def __post_init__(self) -> None:
        if self.bytes < 0 or not self.work_ratio >= 0:
            raise ValueError(f"a transfer of {self.bytes} bytes with {self.work_ratio} of the work is none")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyHabits:
    """How an engine copies, as far as it can be said of all units at once, before a route is asked for."""

    index_reads_table: int = 0  # times that moving an index reads its table; 0: the index itself is read
    whole: bool = False  # as of a ``Transfer``


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Work that a move leaves behind, besides its own statements."""

    what: str  # one sentence without a full stop
    seconds: float | None  # of a session's time, estimated; None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something that belongs to an object that the move rebuilds, and has to exist unchanged after the move."""

    what: str  # "index APP.ORDERS_PK"
    how: str  # what must not have changed of it: "primary key on +ID"
