"""Containers of table spaces and paths of storage groups, and the way of one of them out. Pure.

Db2 lets a container of a DMS table space go where the others hold everything up to the high-water mark, and copies its
extents to them while everybody works on. Containers of automatic storage are Db2's own: there a path of the storage
group goes, from under every table space of the group. Source: ALTER TABLESPACE, ALTER STOGROUP, Dropping DMS containers
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from connectors.containers import ByHand, Container
from connectors.db2.reading.names import identifier, literal
from connectors.db2.reading.storage import AT_REST, NEVER_TOUCHED, Group, Storage, TableSpace
from connectors.db2.routes.operations import SpaceChange
from connectors.db2.routes.space_move import Instance, route_by_rebalance
from connectors.db2.routes.statements import (
    Statement,
    Tagged,
    add_container,
    drop_container,
    drop_path,
    lower_high_water_mark,
    rebalance,
)
from connectors.db2.settings import Db2Settings
from connectors.model import Bundle, NoRoute, Route

NAME = "drop container"


def containers_of(space: TableSpace) -> tuple[Container, ...]:
    """Those of one table space; none of them grows to take in what another gives up."""
    return tuple(
        Container(
            name=path,
            path=path,
            size_bytes=pages * space.page_bytes,
            used_bytes=space.share_of(path),
            holder=space.name,
        )
        for path, pages in sorted(space.container_pages.items())
    )


def paths_of(storage: Storage, group: Group) -> tuple[Container, ...]:
    """The paths of a storage group, with what its table spaces have allocated under each."""
    inside = [each for space in storage.spaces.values() if space.group == group.name for each in containers_of(space)]

    def under(path: str) -> int:
        return sum(each.size_bytes for each in inside if PurePosixPath(each.path).is_relative_to(path))

    return tuple(
        Container(name=path, path=path, size_bytes=under(path), used_bytes=under(path), growth_bytes=None)
        for path in group.paths
    )


def route_out(storage: Storage, bundle: Bundle, settings: Db2Settings, server: Instance) -> Route | ByHand | NoRoute:
    """The way of ``bundle.container`` out of its table space or storage group, or why there is none.

    Args:
        storage: as it is now.
        bundle: names a space of the catalog and one of its containers.
        settings: limits.
        server: what kind of instance it is.
    """
    group = storage.groups.get(bundle.space)
    if group is not None and bundle.container in group.paths:
        return _path_out(storage, group, bundle.container)
    space = next((each for each in storage.spaces.values() if bundle.container in each.container_pages), None)
    if space is None:
        return NoRoute(code="gone", sentence=f"no table space has a container {bundle.container}")
    for applies, code, sentence in _against(space, server):
        if applies:
            return NoRoute(code=code, sentence=sentence)
    if space.automatic:
        return _from_automatic(storage, space, bundle.container)
    return _by_hand(space, bundle.container, server) or _drop(space, bundle, settings)


def _against(space: TableSpace, server: Instance) -> Iterator[tuple[bool, str, str]]:
    yield space.name in NEVER_TOUCHED, "system_space", f"{space.name} is never touched"
    yield server.purescale, "purescale", "pureScale neither drops containers nor rebalances"
    yield space.managed == "S", "sms", f"{space.name} is SMS, whose containers stay: drain the whole space"
    yield (
        space.mode != AT_REST,
        "rebalancing",
        f"{space.name} is being rebalanced ({space.mode}); wait until it has ended",
    )
    yield space.state != "NORMAL", "not_normal", f"{space.name} is in state {space.state}"


def _by_hand(space: TableSpace, path: str, server: Instance) -> ByHand | None:
    """Why hotplace cannot do it; None if it can."""
    if not space.only_files:
        sql = f"ALTER TABLESPACE {identifier(space.name)} DROP (<FILE or DEVICE> {literal(path)})"
        return ByHand(statements=(sql,), because=f"{space.name} has devices, and the way back would need their kind")
    if server.partitions > 1:
        sql = f"{drop_container(space.name, path)} ON DBPARTITIONNUM (<number>)"
        return ByHand(statements=(sql,), because="its containers are named for each database partition")
    left = sum(pages - space.extent_pages for other, pages in space.container_pages.items() if other != path)
    if space.top_page <= left:
        return None
    lower = (lower_high_water_mark(space.name),) if space.reclaimable else ()
    how = "once LOWER HIGH WATER MARK has ended (MON_GET_EXTENT_MOVEMENT_STATUS)" if lower else "after a REORG"
    return ByHand(
        statements=(*lower, drop_container(space.name, path)),
        because=f"its high-water mark is at page {space.top_page}, the other containers hold {left}: it goes {how}",
    )


def _drop(space: TableSpace, bundle: Bundle, settings: Db2Settings) -> Route:
    path, name = bundle.container, space.name
    words = Tagged(
        there=(
            Statement(
                drop_container(name, path),
                f"take {path} out of table space {name}",
                SpaceChange(name, drop=(path,)).as_operation(),
            ),
        ),
        back=(
            Statement(
                add_container(name, path, space.container_pages[path]),
                f"give {path} back to table space {name}",
                SpaceChange(name, add=(path,)).as_operation(),
            ),
        ),
        seconds=settings.move_timeout,
    )
    notes = (
        f"the other containers of {name} take its extents in; the file is deleted when they have",
        f"{rebalance(name, 'SUSPEND')} pauses it, {rebalance(name, 'RESUME')} lets it go on",
        "the moving account has to be in SYSCTRL_GROUP or SYSADM_GROUP",
        "take a backup afterwards: a restore asks for the containers that there were",
    )
    found = route_by_rebalance(NAME, words, space, bundle.space, bundle, settings, notes)
    return replace(found, transient_bytes=0, follow_up=())


def _path_out(storage: Storage, group: Group, path: str) -> ByHand | NoRoute:
    if len(group.paths) < 2:
        return NoRoute(code="only_one", sentence=f"{path} is the only path of storage group {group.name}")
    spaces = sorted(space.name for space in storage.spaces.values() if space.group == group.name and space.permanent)
    return ByHand(
        statements=(drop_path(group.name, path), *(rebalance(name) for name in spaces)),
        because=f"it takes the path from under every table space of {group.name}, each with a rebalance of its own, "
        "and temporary ones give it up only when the database is next activated",
    )


def _from_automatic(storage: Storage, space: TableSpace, container: str) -> ByHand | NoRoute:
    """A container of automatic storage cannot be named: its path goes."""
    group = storage.groups.get(space.group)
    paths = () if group is None else group.paths
    path = next((each for each in paths if PurePosixPath(container).is_relative_to(each)), None)
    if group is None or path is None:
        return NoRoute(code="paths_hidden", sentence=f"the paths of storage group {space.group} cannot be read")
    return _path_out(storage, group, path)
