"""What is said of the column whose values tell the hot part of a unit from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan

from connectors.blocks import CandidateColumn
from connectors.formatting import format_ratio, format_seconds
from policies.block_heat.border_history import BorderLook, Wandering, wandering
from policies.block_heat.borders import FoundBorder, columns_to_read
from policies.block_heat.splits import ValueBorder

_SURE = 0.9  # fit, and agreement of looks, from which on a border is called sure


def range_of(border: ValueBorder) -> str:
    """The range as a condition; it holds values of users."""
    ends = [f"{border.column} {sign} {end}" for sign, end in ((">=", border.least), ("<", border.below)) if end]
    return " and ".join(ends)


def border_sentences(columns: Sequence[CandidateColumn], looks: Sequence[BorderLook], refused: str) -> tuple[str, ...]:
    """By which column the hot part can be told, where its border lies and how it wanders; with values of users.

    Args:
        columns: that the unit has; none: an index, or nothing was looked at.
        looks: at their values, oldest first.
        refused: why the last look read none; "": it did, or values may not be read.
    """
    if refused:
        return (f"by which values was not seen: {refused}",)
    found = wandering(looks)
    if found is not None:
        return _say_border(*found)
    wanted = ", ".join(each.name for each in columns_to_read(columns))
    if looks and wanted:
        return (f"no column was found whose values tell its hot part from the rest; looked at: {wanted}",)
    if wanted:
        may_be = f"by its catalog the hot part may be a range of {wanted}"
        return (f"{may_be}; with border_values on, which reads values, a look says so and where it begins",)
    return ()


def _say_border(found: FoundBorder, wander: Wandering) -> tuple[str, ...]:
    border = found.border
    sure = "" if min(border.fit, wander.agreement) >= _SURE else "perhaps "
    what = (
        f"by values: {sure}the rows with {range_of(border)}, {format_ratio(border.of_rows)} of it, which take "
        f"{format_ratio(border.of_reads)} of its reads ({format_ratio(border.fit)} of what the best part of its "
        f"blocks takes beyond its share; {wander.looks} of {wander.of_looks} looks found this column)"
    )
    return (what, *_say_wandering(found, wander))


def _say_wandering(found: FoundBorder, wander: Wandering) -> tuple[str, ...]:
    if found.is_time and isfinite(wander.low_distance):
        low, high = format_seconds(wander.low_distance), format_seconds(wander.high_distance)
        return (f"that is the newest {low}" if low == high else f"that is the newest {low} to {high} over looks",)
    if found.is_time or isnan(wander.per_day) or not wander.per_day:
        return ()
    return (f"its border moves by {wander.per_day:+,.0f} a day",)
