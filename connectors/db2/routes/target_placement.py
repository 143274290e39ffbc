"""Which table space of a storage group or folder a single table is moved to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from connectors.db2.reading.names import whole_name
from connectors.db2.reading.storage import AT_REST, NEVER_TOUCHED, Storage, TableSpace
from connectors.db2.settings import Db2Settings
from connectors.model import NoRoute, Route


def landing_in(
    storage: Storage, home: str, source: TableSpace | None, settings: Db2Settings, wanted: Sequence[str] = ()
) -> TableSpace | NoRoute:
    """The one that the configuration names, else the first by name that could take it; or why there is none.

    Pages have to be as large as where the table is: a row may be too long for smaller ones, and larger ones may have
    no buffer pool of their size. By name, not by room, so that the same move is the same proposal tomorrow.

    Args:
        storage: as it is now.
        home: the storage group, the folder, or the table space that is a space of its own.
        source: where the table is now; None: not known.
        settings: for ``landing``.
        wanted: names of those where it was before, when it goes back; the first one is the table's.
    """
    names = tuple(wanted) or tuple(name for name in (settings.landing.get(home),) if name)
    named = [space for space in map(storage.space_named, names) if space is not None and storage.home_of(space) == home]
    if len(named) < len(names):
        said = "it came from" if wanted else "landing: names"
        return NoRoute(code="no_landing", sentence=f"{said} {', '.join(names)}, but not all of them are in {home} now")
    if named:
        return named[0]
    for space in sorted(storage.spaces.values(), key=lambda space: space.name):
        if storage.home_of(space) == home and _takes(space, source):
            return space
    pages = "" if source is None else f" with pages of {source.page_bytes // 1024} KiB"
    return NoRoute(
        code="no_landing",
        sentence=f"{home} has no table space{pages} for single tables; create one, or name it in landing:",
    )


def with_landing(route: Route | NoRoute, home: str, space: TableSpace, leaves: Sequence[str]) -> Route | NoRoute:
    """A route to a table space, restated as one to its storage; ``leaves``: the table space of each unit now."""
    if isinstance(route, NoRoute):
        return route
    return replace(
        route,
        to_space=home,
        joins=whole_name(space.name),
        leaves=tuple(whole_name(name) for name in leaves),
        notes=(f"it goes to table space {space.name} of {home}", *route.notes),
    )


def _takes(space: TableSpace, source: TableSpace | None) -> bool:
    return (
        space.permanent
        and space.name not in NEVER_TOUCHED
        and space.state == "NORMAL"
        and space.mode == AT_REST
        and not space.system_managed
        and (source is None or (space.page_bytes, space.partition_group) == (source.page_bytes, source.partition_group))
    )
