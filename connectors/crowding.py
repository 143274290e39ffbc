"""How much others wait for what moves write to the log: followers that are behind, and room that runs out."""

from __future__ import annotations

from connectors.base import Crowding
from connectors.formatting import format_bytes, format_ratio

MIB = 1024 * 1024


def of_followers(who: str, behind_bytes: float, hold_mib: int, abort_mib: int) -> Crowding:
    """Log that has not reached who follows, against ``replica_queue_mib`` and ``replica_queue_abort_mib``."""
    said = f"{who} is {format_bytes(behind_bytes)} of log behind"
    return Crowding(
        hold=f"{said} (replica_queue_mib: {hold_mib})" if behind_bytes > hold_mib * MIB else "",
        abort=f"{said} (replica_queue_abort_mib: {abort_mib})" if behind_bytes > abort_mib * MIB else "",
    )


def of_log(what: str, used_ratio: float, hold_percent: int, abort_percent: int) -> Crowding:
    """Room for the log that is taken, against ``log_used_percent`` and ``log_used_abort_percent``; NaN: not known."""
    said = f"{what} is {format_ratio(used_ratio)} full"
    return Crowding(
        hold=f"{said} (log_used_percent: {hold_percent})" if used_ratio * 100 > hold_percent else "",
        abort=f"{said} (log_used_abort_percent: {abort_percent})" if used_ratio * 100 > abort_percent else "",
    )


def worst(*found: Crowding) -> Crowding:
    """Both reasons, each the first that there is."""
    return Crowding(
        hold=next((each.hold for each in found if each.hold), ""),
        abort=next((each.abort for each in found if each.abort), ""),
    )


def insist_on_order(settings: object) -> None:
    """Both second limits lie at or above the first ones.

    Raises:
        ValueError: what was given up would begin again at once.
    """
    for lower, upper in (
        ("replica_queue_mib", "replica_queue_abort_mib"),
        ("log_used_percent", "log_used_abort_percent"),
    ):
        first, second = getattr(settings, lower), getattr(settings, upper)
        if second < first:
            raise ValueError(
                f"{upper} ({second}) is below {lower} ({first}): a move would be given up before it is held"
            )
