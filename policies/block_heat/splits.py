"""The types of a split: along which column, at which value, and what it would bring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueBorder:
    """The hot part of a unit as a range of one of its columns: ``least`` <= column < ``below``.

    Values are user data: they may be shown to who asks and stand in a proposal, and never in metrics, logs, recordings
    or bundles for support.
    """

    column: str  # not quoted
    type_name: str  # as the engine writes it, for example "bigint" or "timestamp with time zone"
    least: str | None  # as text that the engine reads back as this type; None: the part begins with the first row
    below: str | None  # None: it goes on to the newest row, and to those still to come
    fit: float  # of the reads that the best split by blocks takes beyond its share, how much this range takes, 0 to 1
    of_rows: float  # share of the unit's blocks that rows in this range fill
    of_reads: float  # share of the unit's reads from storage that go to them

    @property
    def rolls(self) -> bool:
        """Whether the part is the newest rows: those to come are born in it."""
        return self.below is None and self.least is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What splitting off the hot part of a unit would bring: it on the fastest tier, the rest where it is.

    Seconds of session wait per hour at today's latencies, as plans have them.
    """

    key: str  # of the unit
    physical_id: int
    border: ValueBorder | None  # None: the part is known by its blocks only
    hot_bytes: int
    whole_bytes: int
    of_reads: float  # share of the unit's reads from storage that go to the hot part
    low_of_reads: float  # 90 of 100 such shares lie between these two
    high_of_reads: float
    saves_per_hour: float  # expected, what gives way to it already taken off
    saves_low_per_hour: float
    saves_high_per_hour: float
    fits: bool  # the hot part fits on the fastest tier, if need be by what is worth less giving way
    whole_saves_per_hour: float  # all of it on the fastest tier, were there room
    whole_fits: bool  # whether there is, or can be made for less than it saves
    memory_saves_per_hour: float  # at most, of as much more buffer pool as the hot part has bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsplit:
    """A unit that was looked into and that no split helps, and what would help. Seconds of wait per hour."""

    key: str
    scattered: bool  # its heat is in few blocks all over it; False: in all of them alike
    whole_bytes: int
    whole_saves_per_hour: float  # all of it on the fastest tier, were there room
    whole_fits: bool  # as of a split
    memory_bytes: int  # of its hottest tenth
    memory_saves_per_hour: float  # at most, of so much more buffer pool
