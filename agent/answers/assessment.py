"""What ``assess`` answers. Waits are per hour of the period that the files are about; null where one is not known."""

from __future__ import annotations

from collections.abc import Mapping

from agent.answers.kind import answer
from agent.answers.units import TierShown


@answer
class SpaceAssessed:
    """What sessions wait for reads of a space."""

    space: str
    random_reads_per_second: float
    read_seconds: float
    wait_per_hour_seconds: float
    wait_saved_per_hour_seconds: float
    """What fast storage would save."""
    bytes: int | None


@answer
class UnitAssessed:
    """What sessions wait for reads of an object, with the least and the most that the files leave possible."""

    unit: str
    space: str | None
    wait_per_hour_seconds: float
    wait_low_per_hour_seconds: float
    wait_high_per_hour_seconds: float
    wait_saved_per_hour_seconds: float
    bytes: int | None


@answer
class SizeAssessed:
    """One size of fast storage, and what it saves."""

    bytes: int
    wait_saved_per_hour_seconds: float
    wait_saved_at_todays_latencies_per_hour_seconds: float
    wait_saved_at_most_per_hour_seconds: float
    next_gib_saves_per_hour_seconds: float
    units: int
    used_bytes: int


@answer
class UnitOffered:
    """An object that would be put on the fast storage that is offered."""

    unit: str
    bytes: int
    wait_saved_per_hour_seconds: float


@answer
class OfferAssessed:
    """What the fast storage would bring that is offered, at today's latencies."""

    bytes: int
    wait_saved_per_hour_seconds: float
    wait_saved_low_per_hour_seconds: float
    wait_saved_high_per_hour_seconds: float
    units: tuple[UnitOffered, ...]


@answer
class Assessment:
    """What a report, or two exports, say of one database."""

    engine: str
    database: str
    source: str
    seconds: float
    """Length of the period."""
    read_wait_per_hour_seconds: float
    """By reads and read times."""
    measured_read_wait_per_hour_seconds: float
    """As the engine timed them."""
    read_wait_of_session_time_ratio: float
    """No storage saves more of the sessions' time."""
    tiers: tuple[TierShown, ...]
    spaces: tuple[SpaceAssessed, ...]
    units: tuple[UnitAssessed, ...]
    sized_wait_ratio: float
    """Share of the wait that is for objects of known size."""
    knee: SizeAssessed | None
    curve: tuple[SizeAssessed, ...] | None
    """Null: the files have no sizes."""
    offer: OfferAssessed | None
    notes: tuple[str, ...]
    """How sure this is."""


@answer
class Assessments:
    """Every database that the files are about."""

    assessments: tuple[Assessment, ...]


@answer
class QueriesToExport:
    """The queries whose results are the exports of an engine, by the name of their file."""

    engine: str
    queries: Mapping[str, str]
