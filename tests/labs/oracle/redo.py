"""Redo: what is written, archived into the recovery area, and sent to standbys. Sizes in bytes, lags in seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

GB = 2**30
FIRST_SEQUENCE = 100
GROUPS = 3


@dataclass(slots=True)
class Destination:
    """One standby that this database feeds."""

    number: int  # of LOG_ARCHIVE_DEST_n
    status: str = "VALID"
    error: str = ""
    synchronous: bool = False
    logs_not_received: int = 0
    logs_not_applied: int = 0  # of those that it has received
    gap_status: str = "NO GAP"
    unsent_share: float = 0.0  # of the redo that is written, which does not get there as fast
    unsent: float = 0.0  # bytes of that

    @property
    def synchronized(self) -> bool:
        """Whether a failover to it would lose nothing."""
        return self.synchronous and self.status == "VALID" and not self.logs_not_received and not self.unsent


@dataclass(slots=True)
class Redo:
    """Of one database; a thread of redo that an instance of its own writes is not modelled."""

    log_bytes: int = GB // 2  # of each online log
    written: int = 0
    area_limit: int = 100 * GB  # of the recovery area; 0: there is none
    area_used: int = GB
    area_reclaimable: int = 0
    destinations: list[Destination] = field(default_factory=list)
    transport_lag: int | None = 0  # of this database where it is a standby; None: nothing was received yet
    apply_lag: int | None = 0

    @property
    def sequence(self) -> int:
        """Of the log that is written now."""
        return FIRST_SEQUENCE + self.written // self.log_bytes

    def not_received(self, to: Destination) -> int:
        """Logs that a destination lacks."""
        return to.logs_not_received + int(to.unsent // self.log_bytes)

    def write(self, size: int) -> None:
        """Redo of some work; each log that is full is archived into the recovery area."""
        before = self.sequence
        self.written += size
        for to in self.destinations:
            to.unsent += size * to.unsent_share
        if self.area_limit:
            self.area_used += (self.sequence - before) * self.log_bytes


def interval(seconds: int | None) -> str | None:
    """As V$DATAGUARD_STATS writes it: '+00 00:00:05'."""
    if seconds is None:
        return None
    minutes, left = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"+{days:02} {hours:02}:{minutes:02}:{left:02}"
