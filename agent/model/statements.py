"""What single statements did between two readings, and how their time changed with moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from connectors.formatting import format_seconds

if TYPE_CHECKING:  # commands that show outcomes do without arrays
    from connectors.model import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementInterval:
    """The statements that took most time between two readings; columns of one length, NaN where not counted."""

    started_at: datetime
    ended_at: datetime
    ids: tuple[str, ...]
    executions: F64
    seconds: F64  # elapsed, of all executions
    read_wait: F64  # of them, seconds waited for reads
    reads: F64  # blocks

    @property
    def length(self) -> float:
        """Seconds between the readings."""
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementChange:
    """One statement before and after moves, per execution; NaN where the engine does not count."""

    id: str
    executions_before: float  # counted in the time that was compared
    executions_after: float
    seconds_before: float
    seconds_after: float
    read_wait_before: float
    read_wait_after: float
    reads_before: float
    reads_after: float
    change: float  # of its time by its waits for reads, at the same load; 0.5: half as long again
    change_low: float  # ends of the interval that holds 90 % of effects
    change_high: float

    @property
    def sentence(self) -> str:
        """In words, without a full stop."""
        took = f"{format_seconds(self.seconds_before)} became {format_seconds(self.seconds_after)} per execution"
        if not math.isnan(self.read_wait_before):
            waits = format_seconds(self.read_wait_before), format_seconds(self.read_wait_after)
            took += f", read wait in it {waits[0]} and {waits[1]}"
        ends = f"{self.change_low:+.0%} to {self.change_high:+.0%}"
        return f"statement {self.id}: {took}; {self.change:+.0%} at the same load ({ends})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStatements:
    """How the statements of a database fared with moves."""

    compared: int  # that ran often enough before and after
    slower_count: int  # of them surely so; of all of these ``slower`` are the worst, by time added
    faster_count: int
    slower: tuple[StatementChange, ...] = ()
    faster: tuple[StatementChange, ...] = ()

    @property
    def sentence(self) -> str:
        """In words, without a full stop."""
        if not self.compared:
            return "no statement ran often enough before and after to be compared"
        return f"of {self.compared} statements {self.slower_count} are slower, {self.faster_count} faster"
