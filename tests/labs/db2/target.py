"""What ADMIN_MOVE_TABLE asks of its target: table spaces that fit together, room, and a copy that can be recovered."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tests.labs.db2 import refusals
from tests.labs.db2.world import PAGE_SIZE, Part, Table, TableSpace, World

OPTIONS = frozenset({"KEEP", "COPY_USE_LOAD", "ALLOW_READ_ACCESS", "NO_STATS", "COPY_STATS"})
OTHER_GROUP = 0  # reason of SQL2104N: which number Db2 gives is not known
_OPTION = re.compile(r'\s*([A-Za-z_]+)\s*(?:"([^"]*)")?\s*(?:,|$)')
_COPY_YES = re.compile(r"\bCOPY\s+YES\s+TO\s+\S", re.IGNORECASE)


def options_of(text: str) -> dict[str, str]:
    """Options by name, with what LOAD is told where it is: COPY_USE_LOAD "COPY YES TO /backup".

    Raises:
        Refusal: SQL2105N.
    """
    found, at = {}, 0
    while at < len(text.rstrip()):
        option = _OPTION.match(text, at)
        if option is None or option[1].upper() not in OPTIONS:
            raise refusals.wrong_phase(1)
        found[option[1].upper()], at = option[2] or "", option.end()
    return found


def check_homes(table: str, data: TableSpace, index: TableSpace, long: TableSpace) -> None:
    """CREATE TABLE ... IN data INDEX IN index LONG IN long.

    Raises:
        Refusal: SQL0284N, SQL0285N, SQL2104N.
    """
    if len({space.partition_group for space in (data, index, long)}) > 1:
        raise refusals.phase_failed(OTHER_GROUP)
    if data.system_managed and not index is long is data:
        raise refusals.not_to_be_split(table, data.name)
    for clause, space in (("INDEX IN", index), ("LONG IN", long)):
        if space.system_managed and space is not data:
            raise refusals.system_managed(space.name, clause)


def check_room(world: World, table: Table, home: Part) -> None:
    """Nothing is copied into a space that has no room.

    Raises:
        Refusal: SQL0289N.
    """
    source = table.parts[0]
    index_pages = sum(index.pages for index in table.indexes)
    for name, pages in ((home.data, source.pages), (home.long, source.lob_pages), (home.index, index_pages)):
        if pages and pages * PAGE_SIZE > world.room(world.space(name)):
            raise refusals.space_full(name)


def statistics_after(table: Table, options: dict[str, str]) -> datetime | None:
    """Of when they are once the table is the copy: collected now, those it had, or none.

    Only a table that had any gets new ones.
    """
    if "COPY_STATS" in options and table.analysed:
        return table.analysed_at
    return datetime.now(UTC) if table.analysed and "NO_STATS" not in options else None


def load(world: World, key: tuple[str, str], options: str) -> None:
    """COPY by LOAD: NONRECOVERABLE unless it is told to leave a copy, and then no standby has the rows.

    Raises:
        Refusal: SQL2032N.
    """
    if _COPY_YES.search(options):
        return
    if world.behaviour.blocknonlogged == "YES":
        raise refusals.nonrecoverable_load()
    world.unrecoverable.add(key)
