"""Is a trace on, and what has it collected? Read and written in the ledger, without the arrays that it collects."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import TRACE, TRACE_FIGURES


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMark:
    """Whether demand is collected, and for which time."""

    on: bool = False
    since: datetime | None = None  # when it was last switched on
    until: datetime | None = None  # when it ends
    who: str = ""
    generation: int = 0  # grows with every clear: what was collected before no longer counts

    def collects(self, at: datetime) -> bool:
        """Whether an interval that ended then belongs to it."""
        return self.on and (self.since is None or at > self.since) and (self.until is None or at <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFigures:
    """What was collected."""

    generation: int = 0
    intervals: int = 0
    seconds: float = 0.0
    last: datetime | None = None


def read_mark(ledger: Ledger, database: str) -> TraceMark:
    """The mark as it is."""
    stored = ledger.state.load_document(database, TRACE)
    return TraceMark() if stored is None else TraceMark(**_times(stored[1], "since", "until"))


def write_mark(ledger: Ledger, database: str, mark: TraceMark) -> None:
    """Change what is wanted; goes into the audit chain."""
    ledger.state.save_document(database, TRACE, plain(mark))
    ledger.audit.record("trace.on" if mark.on else "trace.off", database, who=mark.who, generation=mark.generation)


def read_figures(ledger: Ledger, database: str) -> TraceFigures:
    """What has been collected since the last clear."""
    stored = ledger.state.load_document(database, TRACE_FIGURES)
    figures = TraceFigures() if stored is None else TraceFigures(**_times(stored[1], "last"))
    generation = read_mark(ledger, database).generation
    # Compared by generation, since a clear only raises the mark's: the daemon may just be storing an interval of the
    # trace before.
    return figures if figures.generation == generation else TraceFigures(generation=generation)


def plain(values: TraceMark | TraceFigures) -> dict[str, Any]:
    """Either as JSON values, as the ledger keeps them."""
    return {name: v.isoformat() if isinstance(v, datetime) else v for name, v in asdict(values).items()}


def _times(plain: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**plain, **{name: datetime.fromisoformat(plain[name]) for name in names if plain[name]}}
