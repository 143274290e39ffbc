"""Routes of a whole table space: to another storage group, into automatic storage, to other files. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from connectors.db2.reading.names import identifier
from connectors.db2.reading.storage import AT_REST, NEVER_TOUCHED, Group, Storage, TableSpace
from connectors.db2.routes.manual_statements import packages_to_rebind, rebinds, redirected_restore, temporary_space
from connectors.db2.routes.operations import SpaceChange
from connectors.db2.routes.statements import (
    Statement,
    Tagged,
    rebalance,
    reduce_space,
    swap_containers,
    to_automatic,
    using_group,
)
from connectors.db2.routes.table_move import lock_timeout
from connectors.db2.settings import Db2Settings
from connectors.model import Bundle, NoRoute, Route, Step
from connectors.move_effects import FollowUp, Locked, Transfer

REBIND = "static packages keep their old access plans until they are bound again (REBIND); the list:"


@dataclass(frozen=True, slots=True)
class Instance:
    """What of a server decides how its table spaces may move."""

    purescale: bool = False  # there a rebalance is not supported
    partitions: int = 1  # database partitions


def space_route(
    storage: Storage,
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
    storage: Storage, space: TableSpace | None, bundle: Bundle, target: str, server: Instance
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


def _of_target(storage: Storage, space: TableSpace, target: str) -> tuple[tuple[bool, str, str], ...]:
    group, folder = storage.groups.get(target), storage.folders.get(target)
    return (
        (
            group is None and folder is None,
            "no_space",
            f"there is no storage group {target}, and the configuration names no folder so",
        ),
        (
            group is not None and not group.paths,
            "paths_hidden",
            f"the paths of {target} cannot be read, so the end of the move could not be seen; see doctor",
        ),
        (storage.home_of(space) == target, "already_there", f"table space {space.name} is already in {target}"),
    )


def _of_folder(storage: Storage, space: TableSpace, target: str, server: Instance) -> tuple[tuple[bool, str, str], ...]:
    """Why no containers of its own can be put there."""
    to_folder = target in storage.folders
    return (
        (
            to_folder and space.automatic,
            "no_way_back",
            f"{space.name} is in automatic storage, from where no way leads back to containers of its own",
        ),
        (
            to_folder and not space.only_files,
            "devices",
            f"{space.name} has devices; by hand: ALTER TABLESPACE {identifier(space.name)} ADD (DEVICE ...) DROP ...",
        ),
        (
            to_folder and server.partitions > 1,
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


Files = tuple[tuple[str, int], ...]  # path and pages of each


def _swap_files(space: TableSpace, add: Files, drop: Files, purpose: str) -> Statement:
    removed = tuple(path for path, _ in drop)
    change = SpaceChange(space.name, add=tuple(path for path, _ in add), drop=removed)
    return Statement(swap_containers(space.name, add, removed), purpose, change.as_operation())


def _convert(space: TableSpace, group: Group, bundle: Bundle, settings: Db2Settings) -> Route:
    """Out of containers of its own into automatic storage: for good."""
    words = Tagged(
        there=(
            Statement(
                to_automatic(space.name, group.name),
                f"give table space {space.name} to storage group {group.name}, for good",
                SpaceChange(space.name, group.name, converts=True).as_operation(),
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


def _using_group(space: TableSpace, group: Group, bundle: Bundle, settings: Db2Settings) -> Route:
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
    return Statement(using_group(space.name, group), purpose, SpaceChange(space.name, group).as_operation())


def _rebalance(space: TableSpace, purpose: str) -> Statement:
    return Statement(rebalance(space.name), purpose, SpaceChange(space.name).as_operation())


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
        SpaceChange(space.name, resumes=True).as_operation(),
    )
    return words.tidy(resume, *words.back)


def _common_notes(space: TableSpace) -> tuple[str, ...]:
    return (
        f"everything in {space.name} moves with it",
        f"{REBIND} {packages_to_rebind(space.name)}",
        f"{rebalance(space.name, 'SUSPEND')} pauses it, {rebalance(space.name, 'RESUME')} lets it go on",
        "an HADR standby needs the paths of the target too; take a backup afterwards",
    )


def _said_speed(group: Group) -> str:
    return f"storage group {group.name} says OVERHEAD {group.overhead:g} ms, DEVICE READ RATE {group.read_rate:g} MB/s"
