"""Routes of a whole table space, and the way of one container out of its space.

Routes of a whole table space: to another storage group, into automatic storage, to other files. Pure.

Containers of table spaces and paths of storage groups, and the way of one of them out. Pure.

Db2 lets a container of a DMS table space go where the others hold everything up to the high-water mark, and copies its
extents to them while everybody works on. Containers of automatic storage are Db2's own: there a path of the storage
group goes, from under every table space of the group. Source: ALTER TABLESPACE, ALTER STOGROUP, Dropping DMS containers
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from connectors.db2.names import identifier, literal
from connectors.db2.operations import (
    Statement,
    StorageChange,
    Tagged,
    add_container,
    drop_container,
    drop_path,
    lower_high_water_mark,
    on_partitions,
    rebalance,
    reduce_space,
    swap_containers,
    to_automatic,
    using_group,
)
from connectors.db2.restrictions import packages_to_rebind, rebinds, redirected_restore, temporary_space
from connectors.db2.settings import Db2Settings
from connectors.db2.storage import AT_REST, NEVER_TOUCHED, OwnContainer, ServerStorage, StorageGroup, TableSpace
from connectors.db2.table_move import lock_timeout
from connectors.kit.clients import CLP
from connectors.model.formatting import comment
from connectors.model.moves import Bundle, ByHand, Container, FollowUp, Locked, NoRoute, Route, Step, Transfer

REBIND = "static packages keep their old access plans until they are bound again (REBIND); the list:"


@dataclass(frozen=True, slots=True)
class Instance:
    """What of a server decides how its table spaces may move."""

    purescale: bool = False  # there a rebalance is not supported
    partitions: int = 1  # database partitions


def space_route(
    storage: ServerStorage,
    space: TableSpace | None,
    bundle: Bundle,
    target: str,
    settings: Db2Settings,
    server: Instance,
    packages: Sequence[str] = (),
) -> Route | NoRoute:
    """The route, or why there is none.

    Args:
        storage: as it is now.
        space: the table space that the bundle is; None: it is gone.
        bundle: everything in it.
        target: name of the storage group, or of the folder for containers of its own, to move it to.
        settings: limits.
        server: what kind of instance it is.
        packages: of static SQL that use what is in it, as a person writes them.
    """
    group, folder = storage.groups.get(target), storage.folders.get(target)
    found = _refusal(storage, space, bundle, target, server)
    if found is not None:
        return found
    assert space is not None, "a missing table space is refused above"
    if folder is not None:
        route = _swap(space, target, folder, bundle, settings)
        if server.partitions > 1 or not space.only_files:
            route = _swapped_by_hand(route, space, folder, server)
    else:
        assert group is not None, "a target that is neither is refused above"
        route = (_using_group if space.automatic else _convert)(space, group, bundle, settings)
    route = replace(route, copies=_copies(space, bundle, target))
    if packages:
        route = replace(route, notes=(*route.notes, f"{len(packages)} package(s) now: {rebinds(packages)}"))
    return route


def _copies(space: TableSpace, bundle: Bundle, target: str) -> tuple[Transfer, ...]:
    """Every extent in use: small objects take whole ones, and one more of their map, so more than their bytes."""
    return (
        Transfer(space=bundle.space, bytes=space.used_bytes, unit=bundle.key),
        Transfer(space=target, bytes=space.used_bytes, written=True),
    )


def extents_then(route: Route) -> int:
    """Bytes of the table space when that route was planned, by extents; 0 of one stored before it said so."""
    return route.copies[0].bytes if route.copies else 0


def _refusal(
    storage: ServerStorage, space: TableSpace | None, bundle: Bundle, target: str, server: Instance
) -> NoRoute | None:
    if space is None:
        return NoRoute(code="gone", sentence=f"the table space of {bundle.key} no longer exists")
    reasons = (
        *_of_target(storage, space, target),
        (space.name in NEVER_TOUCHED, "system_space", f"{space.name} is never moved"),
        (server.purescale, "purescale", "pureScale does not rebalance: move table by table (move_by: table)"),
        (
            not space.permanent,
            "temporary_space",
            f"{space.name} is temporary. By hand: {temporary_space(space.name, target)}",
        ),
        (
            space.system_managed,
            "sms",
            f"{space.name} is SMS, whose containers stay: move its tables, or {redirected_restore(space.name, target)}",
        ),
        (
            not space.containers,
            "containers_hidden",
            f"the containers of {space.name} cannot be read, so the end of the move could not be seen; see doctor",
        ),
        (
            space.mode != AT_REST,
            "rebalancing",
            f"{space.name} is being rebalanced ({space.mode}); wait until it has ended",
        ),
        (space.state != "NORMAL", "not_normal", f"{space.name} is in state {space.state}"),
        *_of_folder(storage, space, target, server),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _of_target(storage: ServerStorage, space: TableSpace, target: str) -> tuple[tuple[bool, str, str], ...]:
    group, folder = storage.groups.get(target), storage.folders.get(target)
    hidden = group is None and any(each.group == target for each in storage.spaces.values())
    return (
        (
            group is None and folder is None and not hidden,
            "no_space",
            f"there is no storage group {target}, and the configuration names no folder so",
        ),
        (
            hidden or (group is not None and not group.paths),
            "paths_hidden",
            f"the paths of {target} cannot be read, so the end of the move could not be seen; see doctor",
        ),
        (storage.home_of(space) == target, "already_there", f"table space {space.name} is already in {target}"),
    )


def _of_folder(
    storage: ServerStorage, space: TableSpace, target: str, server: Instance
) -> tuple[tuple[bool, str, str], ...]:
    """Why no containers of its own can be put there."""
    to_folder = target in storage.folders
    return (
        (
            to_folder and space.automatic,
            "no_way_back",
            f"{space.name} is in automatic storage, from where no way leads back to containers of its own",
        ),
        (
            to_folder and not space.only_files and not space.own,
            "devices",
            f"{space.name} has devices; by hand: ALTER TABLESPACE {identifier(space.name)} ADD (DEVICE ...) DROP ...",
        ),
        (
            to_folder and server.partitions > 1 and not space.own,
            "several_members",
            f"the containers of {space.name} are named for each database partition (ON DBPARTITIONNUM); by hand",
        ),
    )


def _swap(space: TableSpace, name: str, folder: str, bundle: Bundle, settings: Db2Settings) -> Route:
    """New files in, the old ones out, in one statement: Db2 copies once, in two passes, while everybody works on."""
    old = tuple((path, space.container_pages[path]) for path in space.containers)
    # As many files of the same sizes: with others, stripe sets would differ and Db2 would spread extents in more
    # passes.
    new = tuple((f"{folder.rstrip('/')}/{space.name}.{at}", pages) for at, (_, pages) in enumerate(old))
    words = Tagged(
        there=(
            _swap_files(space, new, old, f"give table space {space.name} files in {folder} and take its old ones away"),
        ),
        back=(_swap_files(space, old, new, f"give table space {space.name} its old files back"),),
        seconds=settings.move_timeout,
    )
    return route_by_rebalance("swap containers", words, space, name, bundle, settings, _common_notes(space))


OwnContainers = Sequence[OwnContainer]
NO_REBALANCE = (
    "VALUES CASE WHEN EXISTS (SELECT 1 FROM TABLE(MON_GET_REBALANCE_STATUS({space}, -2)) AS R) "
    "THEN RAISE_ERROR('75001', 'still being rebalanced: wait, and run the rest from here') ELSE 0 END"
)


def _swapped_by_hand(route: Route, space: TableSpace, folder: str, server: Instance) -> Route:
    """The same for a person: devices change hands, and containers of several database partitions go one by one.

    In one statement a database partition may be named once (ALTER TABLESPACE), so there new containers come first and
    the old ones go once the rebalance has ended.
    """
    several = server.partitions > 1
    new = [
        OwnContainer(old.member, "FILE", f"{folder.rstrip('/')}/{space.name}.{at}", old.pages)
        for at, old in enumerate(space.own)
    ]
    there, back = ((new, space.own), (space.own, new))
    because = (
        f"the containers of {space.name} are named for each database partition (ON DBPARTITIONNUM)"
        if several
        else f"{space.name} has devices, and whose they are is not seen"
    )
    change = StorageChange(space.name, add=tuple(each.path for each in new), drop=space.containers)
    step = replace(route.steps[0], sql=_exchange(space, *there, several=several)[0], operation=change.as_operation())
    return replace(
        route, steps=(step,), undo_steps=(), tidy_steps=(), tidy_bytes=0,
        by_hand=ByHand(
            statements=_exchange(space, *there, several=several), because=because, run_with=CLP.run_with,
            undo=_exchange(space, *back, several=several),
        ),
    )  # fmt: skip


def _exchange(space: TableSpace, add: OwnContainers, drop: OwnContainers, *, several: bool) -> tuple[str, ...]:
    """Containers in and others out: in one statement, or where there are several database partitions in three."""
    if not several:
        changes = f"ADD ({_container_list(add, pages=True)}) DROP ({_container_list(drop)})"
        return (CLP.statement(f"ALTER TABLESPACE {identifier(space.name)} {changes}"),)
    members = sorted({each.member for each in (*add, *drop)})

    def of(word: str, which: OwnContainers, *, pages: bool) -> str:
        by_member = ((number, [each for each in which if each.member == number]) for number in members)
        clauses = [(number, _container_list(mine, pages=pages)) for number, mine in by_member if mine]
        return CLP.statement(on_partitions(space.name, word, clauses))

    return (
        of("ADD", add, pages=True),
        comment("extents spread over old and new ones. Until that has ended, this fails with SQLSTATE 75001 and the"),
        comment("file stops: run it again from this statement on"),
        CLP.statement(NO_REBALANCE.format(space=literal(space.name))),
        of("DROP", drop, pages=False),
    )


def _container_list(containers: OwnContainers, *, pages: bool = False) -> str:
    return ", ".join(f"{each.kind} {literal(each.path)}{f' {each.pages}' if pages else ''}" for each in containers)


Files = tuple[tuple[str, int], ...]  # path and pages of each


def _swap_files(space: TableSpace, add: Files, drop: Files, purpose: str) -> Statement:
    removed = tuple(path for path, _ in drop)
    change = StorageChange(space.name, add=tuple(path for path, _ in add), drop=removed)
    return Statement(swap_containers(space.name, add, removed), purpose, change.as_operation())


def _convert(space: TableSpace, group: StorageGroup, bundle: Bundle, settings: Db2Settings) -> Route:
    """Out of containers of its own into automatic storage: for good."""
    words = Tagged(
        there=(
            Statement(
                to_automatic(space.name, group.name),
                f"give table space {space.name} to storage group {group.name}, for good",
                StorageChange(space.name, group.name, converts=True).as_operation(),
            ),
            _rebalance(space, f"copy the extents of {space.name}"),
        ),
        back=(),
        seconds=settings.move_timeout,
    )
    notes = (
        "there is no way back to containers of its own; afterwards it moves between storage groups",
        *_common_notes(space),
        _said_speed(group),
    )
    return route_by_rebalance("convert to automatic storage", words, space, group.name, bundle, settings, notes)


FOLLOW_UP = (FollowUp(what="static packages are bound again by hand, or plan for the old storage", seconds=None),)


def route_by_rebalance(
    name: str,
    words: Tagged,
    space: TableSpace,
    target: str,
    bundle: Bundle,
    settings: Db2Settings,
    notes: tuple[str, ...],
) -> Route:
    """Statements that begin a rebalance; each can be suspended and resumed."""
    return Route(
        name=name,
        bundle=bundle,
        to_space=target,
        prologue=(lock_timeout(settings),),
        steps=tuple(_pausable(words, step, space.name) for step in words.steps()),
        undo_steps=tuple(_pausable(words, step, space.name) for step in words.undo_steps()),
        tidy_steps=_give_up(words, space),
        tidy_bytes=2 * bundle.size_bytes,  # to the end of what was begun, and all of it back
        online=True,
        locks="none on its tables: extents are copied one by one while everybody works on",
        locked=Locked.NOTHING,
        follow_up=FOLLOW_UP,
        log_bytes=0,
        transient_bytes=max(0, space.total_bytes - bundle.size_bytes),  # all that is allocated moves, used or not
        notes=notes,
    )


def _using_group(space: TableSpace, group: StorageGroup, bundle: Bundle, settings: Db2Settings) -> Route:
    words = Tagged(
        there=(
            _use_group(space, group.name, f"give table space {space.name} to storage group {group.name}"),
            _rebalance(space, f"copy the extents of {space.name}, unless Db2 has already begun to"),
        ),
        back=(
            _use_group(space, space.group, f"give table space {space.name} back to storage group {space.group}"),
            _rebalance(space, f"copy the extents of {space.name} back, unless Db2 has already begun to"),
        ),
        seconds=settings.move_timeout,
    )
    notes = [*_common_notes(space)]
    if space.overhead >= 0 or space.transfer_rate >= 0:
        notes.append(
            f"the optimizer takes {space.name} for as slow as before, until "
            f"ALTER TABLESPACE {identifier(space.name)} OVERHEAD INHERIT TRANSFERRATE INHERIT"
        )
    if space.reclaimable:
        notes.append(f"afterwards {reduce_space(space.name)} gives back what it has allocated and does not use")
    notes.append(_said_speed(group))
    return route_by_rebalance("using stogroup", words, space, group.name, bundle, settings, tuple(notes))


def _use_group(space: TableSpace, group: str, purpose: str) -> Statement:
    return Statement(using_group(space.name, group), purpose, StorageChange(space.name, group).as_operation())


def _rebalance(space: TableSpace, purpose: str) -> Statement:
    return Statement(rebalance(space.name), purpose, StorageChange(space.name).as_operation())


def _pausable(words: Tagged, step: Step, space: str) -> Step:
    """The rebalance that a step waits for can be held."""
    return replace(
        step,
        pause_sql=words.tag(rebalance(space, "SUSPEND"), "pause"),
        resume_sql=words.tag(rebalance(space, "RESUME"), "resume"),
    )


def _give_up(words: Tagged, space: TableSpace) -> tuple[Step, ...]:
    """What ends a held move where it began: a rebalance has to end before another may begin.

    A conversion has no way back; it can only be brought to its end.
    """
    resume = Statement(
        rebalance(space.name, "RESUME"),
        f"let the rebalance of {space.name} end, before it can go back",
        StorageChange(space.name, resumes=True).as_operation(),
    )
    return words.tidy(resume, *words.back)


def _common_notes(space: TableSpace) -> tuple[str, ...]:
    return (
        f"everything in {space.name} moves with it",
        f"{REBIND} {packages_to_rebind(space.name)}",
        f"{rebalance(space.name, 'SUSPEND')} pauses it, {rebalance(space.name, 'RESUME')} lets it go on",
        "an HADR standby needs the paths of the target too; take a backup afterwards",
    )


def _said_speed(group: StorageGroup) -> str:
    return f"storage group {group.name} says OVERHEAD {group.overhead:g} ms, DEVICE READ RATE {group.read_rate:g} MB/s"


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


def paths_of(storage: ServerStorage, group: StorageGroup) -> tuple[Container, ...]:
    """The paths of a storage group, with what its table spaces have allocated under each."""
    inside = [each for space in storage.spaces.values() if space.group == group.name for each in containers_of(space)]

    def under(path: str) -> int:
        return sum(each.size_bytes for each in inside if PurePosixPath(each.path).is_relative_to(path))

    return tuple(
        Container(name=path, path=path, size_bytes=under(path), used_bytes=under(path), growth_bytes=None)
        for path in group.paths
    )


def route_out(
    storage: ServerStorage, bundle: Bundle, settings: Db2Settings, server: Instance
) -> Route | ByHand | NoRoute:
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
                StorageChange(name, drop=(path,)).as_operation(),
            ),
        ),
        back=(
            Statement(
                add_container(name, path, space.container_pages[path]),
                f"give {path} back to table space {name}",
                StorageChange(name, add=(path,)).as_operation(),
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


def _path_out(storage: ServerStorage, group: StorageGroup, path: str) -> ByHand | NoRoute:
    if len(group.paths) < 2:
        return NoRoute(code="only_one", sentence=f"{path} is the only path of storage group {group.name}")
    spaces = sorted(space.name for space in storage.spaces.values() if space.group == group.name and space.permanent)
    return ByHand(
        statements=(drop_path(group.name, path), *(rebalance(name) for name in spaces)),
        because=f"it takes the path from under every table space of {group.name}, each with a rebalance of its own, "
        "and temporary ones give it up only when the database is next activated",
    )


def _from_automatic(storage: ServerStorage, space: TableSpace, container: str) -> ByHand | NoRoute:
    """A container of automatic storage cannot be named: its path goes."""
    group = storage.groups.get(space.group)
    paths = () if group is None else group.paths
    path = next((each for each in paths if PurePosixPath(container).is_relative_to(each)), None)
    if group is None or path is None:
        return NoRoute(code="paths_hidden", sentence=f"the paths of storage group {space.group} cannot be read")
    return _path_out(storage, group, path)
