"""How the border of a unit's hot part wanders over looks at its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from policies.block_heat.borders import FoundBorder
from policies.block_heat.splits import ValueBorder

KEPT_LOOKS = 56  # two weeks at four a day
HOURS_A_DAY = 24.0
_LEAST_HOURS = 6.0  # between first and last look before a speed is worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderLook:
    """What one look at values found; None: no column has the hot part as a range of its values."""

    at_hour: float  # hours since the epoch
    found: FoundBorder | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wandering:
    """How the border of one column moved over looks; numbers are the column's, of times seconds."""

    looks: int  # that found this column
    of_looks: int  # in all
    hours: float  # between the first and the last of them
    per_day: float  # by which the border rises; NaN: not watched for long enough
    low_distance: float  # from the border to the newest value, least and greatest over looks; NaN: no newest part
    high_distance: float

    @property
    def agreement(self) -> float:
        """Share of all looks that found this column."""
        return self.looks / self.of_looks


def with_look(before: tuple[BorderLook, ...], look: BorderLook) -> tuple[BorderLook, ...]:
    """The history with one more look."""
    return (*before, look)[-KEPT_LOOKS:]


def wandering(looks: Iterable[BorderLook]) -> tuple[FoundBorder, Wandering] | None:
    """The latest border and how it got there; None where the latest look found none.

    The speed is the median over pairs of looks (Theil 1950, Sen 1968): one look that errs does not bend it.
    """
    all_looks = list(looks)
    latest = all_looks[-1].found if all_looks else None
    if latest is None:
        return None
    alike = [
        (each.at_hour, each.found)
        for each in all_looks
        if each.found is not None and each.found.border.column == latest.border.column
    ]
    hours = np.array([hour for hour, _ in alike])
    distances = [found.newest - found.least for _, found in alike if found.border.rolls and found.least is not None]
    return latest, Wandering(
        looks=len(alike), of_looks=len(all_looks), hours=float(hours[-1] - hours[0]),
        per_day=_median_slope(hours, [_number(found) for _, found in alike]) * HOURS_A_DAY,
        low_distance=min(distances, default=float("nan")), high_distance=max(distances, default=float("nan")),
    )  # fmt: skip


def _number(found: FoundBorder) -> float:
    """The end of the part that is a border."""
    number = found.below if found.least is None else found.least
    assert number is not None, "a part has at least one end"
    return number


def _median_slope(hours: np.ndarray[Any, np.dtype[np.float64]], numbers: list[float]) -> float:
    if hours[-1] - hours[0] < _LEAST_HOURS:
        return float("nan")
    first, second = np.triu_indices(len(hours), k=1)
    apart = hours[second] - hours[first]
    column = np.array(numbers)
    rises = (column[second] - column[first])[apart > 0] / apart[apart > 0]
    return float(np.median(rises))


def history_document(looks: Iterable[BorderLook]) -> list[dict[str, Any]]:
    """For the ledger, as JSON values."""
    return [{"at_hour": each.at_hour, "found": None if each.found is None else asdict(each.found)} for each in looks]


def history_from_document(document: Iterable[Mapping[str, Any]]) -> tuple[BorderLook, ...]:
    """From the ledger."""
    return tuple(BorderLook(at_hour=each["at_hour"], found=_border_from(each["found"])) for each in document)


def _border_from(document: Mapping[str, Any] | None) -> FoundBorder | None:
    if document is None:
        return None
    return FoundBorder(**{**document, "border": ValueBorder(**document["border"])})
