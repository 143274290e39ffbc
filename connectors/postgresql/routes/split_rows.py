"""Rows from the border of a split on that are there already: whether there are any, whether they may be moved. Pure.

They are moved under a lock that keeps everybody out, so their bytes and the seconds of that lock have limits.
"""

from __future__ import annotations

from math import ceil

from connectors.formatting import format_bytes, format_seconds
from connectors.model import Bundle, NoRoute
from connectors.move_effects import Transfer
from connectors.postgresql.moving.present_rows import LEAST_SHARE
from connectors.postgresql.moving.split_table import BorderValue, Column, Table, seconds_until
from connectors.postgresql.routes.available import BUILD_WORK, SCAN_WORK
from connectors.postgresql.routes.split_refusals import list_names
from connectors.postgresql.settings import PostgresqlSettings
from connectors.splitting import held_seconds

MIB = 2**20
AHEAD = "a border ahead of the newest row moves nothing, hot rows age into the new part then"


def is_reached(table: Table, column: Column, border: BorderValue, present: float | None) -> bool:
    """Whether the border lies among the rows: by the clock or a sequence, or by the share of rows beyond it."""
    ahead = seconds_until(table, column, border)
    return (ahead is not None and ahead <= 0) or (present is not None and present >= LEAST_SHARE)


def moved_bytes(table: Table, present: float | None) -> int:
    """Of rows from the border on, with their part of each index; as if dead rows were spread over the table."""
    return ceil((present or 0.0) * table.bytes)


def transfers_of_rows(table: Table, moved: int, bundle: Bundle, space: str) -> tuple[Transfer, ...]:
    """The table is read to find the rows and once more to prove that no other is left, and they are written."""
    read = Transfer(space=bundle.space, bytes=table.heap_bytes, unit=bundle.key, work_ratio=SCAN_WORK)
    return read, Transfer(space=space, bytes=moved, written=True, work_ratio=BUILD_WORK), read


def refuse_rows(
    table: Table, present: float | None, bundle: Bundle, to_space: str, settings: PostgresqlSettings
) -> NoRoute | None:
    """Why rows that are there already are not moved; None where they may be."""
    if present is None and table.foreign_code:
        return NoRoute(
            code="foreign_code",
            sentence="rows from the border on are there already, and their number is not known: to have it estimated "
            f"would run {list_names(table.foreign_code)} with this login's rights; {AHEAD}",
        )
    if present is None:
        return NoRoute(
            code="no_statistics",
            sentence="rows from the border on are there already, and their number is not known: ANALYZE it, and let "
            f"this login read the column; or {AHEAD}",
        )
    moved = moved_bytes(table, present)
    there = f"rows from the border on are there already, about {format_bytes(moved)} with their index entries"
    if moved > settings.split_back_mib * MIB:
        return NoRoute(
            code="too_many_rows",
            sentence=f"{there}, and a split moves {settings.split_back_mib} MiB at most (split_back_mib): {AHEAD}",
            setting=f"split_back_mib: {settings.split_back_mib}",
        )
    seconds = held_seconds(transfers_of_rows(table, moved, bundle, to_space))
    if seconds > settings.split_lock_limit:
        limit = format_seconds(settings.split_lock_limit)
        return NoRoute(
            code="locked_too_long",
            sentence=f"{there}; to move them and to read the table twice would lock it for about "
            f"{format_seconds(seconds)}, longer than split_lock_limit ({limit}): {AHEAD}; or raise the limit and have "
            "it done in an hour without users",
            setting=f"split_lock_limit: {limit}",
        )
    return None
