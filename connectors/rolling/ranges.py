"""A table that is partitioned by ranges of times: its ranges, in order, and where each partition is. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from connectors.model import NoRoute

# How names say when a range begins. Longer ones first: a year and month are the beginning of a day, too.
_NAMES = ("%Y_%m_%d_%H", "%Y%m%d%H", "%Y_%m_%d", "%Y%m%d", "%Y_%m", "%Y%m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """One partition and the times of its rows."""

    id: int  # the engine's, that units have; 0 of one that is to be made
    schema: str
    name: str  # "" where partitions have none
    key: str
    low: datetime | None  # None: it has no beginning
    high: datetime  # the first instant that is not in it
    space: str
    size_bytes: int

    @property
    def name_form(self) -> str:
        """How its name says when it begins, for ``strftime``; "" where it does not, or says it twice."""
        if self.low is None:
            return ""
        said = ((form, self.low.strftime(form)) for form in _NAMES)
        return next((form for form, text in said if self.name.count(text) == self.key.count(text) == 1), "")


@dataclass(frozen=True, kw_only=True)
class RangeTable:
    """A partitioned table and as many of its partitions as are ranges of one column of times."""

    key: str
    schema: str
    name: str
    time_format: str  # of ``strftime``: a time as a text of the column's type
    ranges: tuple[Range, ...]  # by their times
    why_not: str  # why it cannot be served by the calendar, one sentence without a full stop; "": it can
    why_no_more: str  # why it gets no further partition; "": it does

    def literal(self, at: datetime) -> str:
        """An instant as a text of the column's type."""
        return at.astimezone(UTC).strftime(self.time_format)

    @cached_property
    def next_high(self) -> datetime | None:
        """Where the range behind the last one ends, as long as those before it are; None: they have no common length.

        Calendar months count as of one length.
        """
        bounds = [(each.low, each.high) for each in self.ranges[-2:] if each.low is not None]
        if not bounds:
            return None
        if all(_is_month(*each) for each in bounds):
            return _next_month(bounds[-1][1])
        widths = {high - low for low, high in bounds}
        return bounds[-1][1] + widths.pop() if len(widths) == 1 else None

    @property
    def refusal(self) -> NoRoute | None:
        """Why no template can be made that adds partitions; None where one can."""
        if self.why_no_more:
            return NoRoute(code="no_next_partition", sentence=self.why_no_more)
        if self.next_high is not None:
            return None
        if not self.ranges or self.ranges[-1].low is None:
            sentence = f"{self.key} has no partition with a beginning and an end, after which the next one is made"
        else:
            sentence = f"the last two ranges of {self.key} are of different lengths"
        return NoRoute(code="no_common_length", sentence=sentence)


def refusal_of_name(table: RangeTable) -> NoRoute | None:
    """Why the next partition cannot be named after the last one; None where it can, or needs none."""
    last = table.ranges[-1]
    if last.name_form or not last.name:
        return None
    why = f"the name {last.name} does not say that its rows begin at {last.low:%F %T} UTC"
    return NoRoute(code="no_name", sentence=f"{table.key}: {why}")


def first_reason(key: str, *reasons: tuple[bool, str]) -> str:
    """The first sentence that applies, about that key; "" where none does."""
    return next((f"{key}: {why}" for applies, why in reasons if applies), "")


def instant_of(text: str) -> datetime:
    """A literal as an instant; those without a zone count as UTC.

    Raises:
        ValueError: it is none.
    """
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _is_month(low: datetime, high: datetime) -> bool:
    return low.replace(day=1, hour=0, minute=0, second=0, microsecond=0) == low and high == _next_month(low)


def _next_month(at: datetime) -> datetime:
    return at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1)
