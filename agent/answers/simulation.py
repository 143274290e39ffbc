"""What ``simulate`` answers: recorded history played again under other settings. Waits are the model's, in seconds."""

from __future__ import annotations

from datetime import datetime

from agent.answers.kind import answer
from agent.answers.plans import PlanFound, PlanShown
from agent.answers.units import AdviceShown


@answer
class MoveSimulated:
    """A move that would have been made."""

    at: datetime
    """When it would have ended."""
    unit: str
    from_space: str
    to_space: str
    bytes: int


@answer
class HistorySimulated:
    """What would have been done with the history of a database."""

    database: str
    plan_every_seconds: float
    since: datetime
    until: datetime
    observed_seconds: float
    intervals: int
    """That were played."""
    plans: int
    wait_as_it_is_seconds: float
    """Had nothing been moved."""
    wait_simulated_seconds: float
    wait_all_fast_seconds: float
    """Had everything been on the fastest tier."""
    saved_ratio: float
    bytes_moved: int
    moved_more_than_once: int
    """Units."""
    moves: tuple[MoveSimulated, ...]


@answer
class RecordingShown:
    """Where a recording comes from."""

    engine: str
    version: str
    """Of hotplace, which recorded it."""
    names: str
    """plain or hashed."""
    since: datetime
    until: datetime
    samples: int
    failed_samples: int
    ended: str | None
    """Why it ended; null: it is damaged."""
    damage: str | None


@answer
class RecordingSimulated(HistorySimulated):
    """What would have been done with a recording, and the plan at its end."""

    recording: RecordingShown
    plan: PlanFound | None
    """Null: none was made."""
    as_it_looks: PlanShown | None
    """A plan for which more has to be seen; null: there is none."""
    advice: tuple[AdviceShown, ...]
