"""Routes of a whole table space: to another storage group, into automatic storage, to other files. Pure."""

from __future__ import annotations

from connectors.db2.names import identifier, literal
from connectors.db2.settings import Db2Settings
from connectors.db2.statements import Tagged, rebalance, swap_containers, to_automatic, using_group
from connectors.db2.storage import AT_REST, NEVER_TOUCHED, Group, Storage, TableSpace
from connectors.db2.table_move import lock_timeout
from connectors.model import Bundle, NoRoute, Route

REDIRECTED = (
    "restore it redirected (RESTORE DATABASE ... TABLESPACE ... REDIRECT; SET TABLESPACE CONTAINERS; "
    "RESTORE DATABASE ... CONTINUE)"
)
REBIND = "static packages keep their old access plans until they are bound again (REBIND); the list:"
PACKAGES = (
    "SELECT PKGSCHEMA, PKGNAME FROM SYSCAT.PACKAGEDEP AS D, SYSCAT.TABLES AS B "
    "WHERE D.BTYPE = 'T' AND D.BSCHEMA = B.TABSCHEMA AND D.BNAME = B.TABNAME AND B.TBSPACE = "
)


def space_route(
    storage: Storage, space: TableSpace | None, bundle: Bundle, to_group: str, settings: Db2Settings, *, purescale: bool
) -> Route | NoRoute:
    """The route, or why there is none.

    Args:
        storage: as it is now.
        space: the table space that the bundle is; None: it is gone.
        bundle: everything in it.
        to_group: name of the storage group to move it to.
        settings: limits.
        purescale: there a rebalance is not supported.
    """
    group = storage.groups.get(to_group)
    found = _refusal(space, group, bundle, to_group, purescale=purescale)
    if found is not None:
        return found
    assert space is not None, "a missing table space is refused above"
    assert group is not None, "a missing group is refused above"
    if not space.automatic:
        return _one_way(space, group)
    return _using_group(space, group, bundle, settings)


def _refusal(
    space: TableSpace | None, group: Group | None, bundle: Bundle, to_group: str, *, purescale: bool
) -> NoRoute | None:
    if space is None:
        return NoRoute(code="gone", sentence=f"the table space of {bundle.key} no longer exists")
    reasons = (
        (group is None, "no_space", f"there is no storage group {to_group}"),
        (
            group is not None and not group.paths,
            "paths_hidden",
            f"the paths of {to_group} cannot be read, so nobody could tell when the move has ended; see doctor",
        ),
        (space.group == to_group, "already_there", f"table space {space.name} is already in storage group {to_group}"),
        (space.name in NEVER_TOUCHED, "system_space", f"{space.name} is never moved"),
        (purescale, "purescale", "pureScale does not rebalance: move table by table (move_by: table)"),
        (
            not space.permanent,
            "temporary_space",
            f"{space.name} is temporary: create a new one in the target and drop it",
        ),
        (
            space.managed == "S",
            "sms",
            f"{space.name} is SMS, whose containers do not change: move its tables, or {REDIRECTED}",
        ),
        (
            space.mode != AT_REST,
            "rebalancing",
            f"{space.name} is being rebalanced ({space.mode}); wait until it has ended",
        ),
        (space.state != "NORMAL", "not_normal", f"{space.name} is in state {space.state}"),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _one_way(space: TableSpace, group: Group) -> NoRoute:
    """Of DMS: into automatic storage there is no way back, so that is written out for a person and not carried out.

    So is the swap of its containers, since nobody but a person knows which files and devices there may be.
    """
    files = [
        (f"{group.paths[0]}/{space.name}.{at}", space.container_pages[old]) for at, old in enumerate(space.containers)
    ]
    swap = f"; or keep it so: {swap_containers(space.name, files, space.containers)}" if files else ""
    return NoRoute(
        code="one_way",
        sentence=f"{space.name} is managed by its own containers. By hand, and for good: "
        f"{to_automatic(space.name, group.name)}; {rebalance(space.name)}{swap}",
    )


def _using_group(space: TableSpace, group: Group, bundle: Bundle, settings: Db2Settings) -> Route:
    back = using_group(space.name, space.group)
    words = Tagged(
        there=(
            (using_group(space.name, group.name), f"give table space {space.name} to storage group {group.name}"),
            (rebalance(space.name), f"copy the extents of {space.name}, unless that goes on by itself"),
        ),
        back=(
            (back, f"give table space {space.name} back to storage group {space.group}"),
            (rebalance(space.name), f"copy the extents of {space.name} back, unless that goes on by itself"),
        ),
        seconds=settings.move_timeout,
    )
    return Route(
        name="using stogroup",
        bundle=bundle,
        to_space=group.name,
        prologue=(lock_timeout(settings),),
        steps=words.steps(),
        undo_steps=words.undo_steps(),
        online=True,
        locks="none on its tables: extents are copied one by one while everybody works on",
        log_bytes=0,
        transient_bytes=max(0, space.total_bytes - bundle.size_bytes),  # all that is allocated moves, used or not
        notes=_notes(space, group),
    )


def _notes(space: TableSpace, group: Group) -> tuple[str, ...]:
    notes = [
        f"everything in {space.name} moves with it",
        f"{REBIND} {PACKAGES}{literal(space.name)}",
        f"{rebalance(space.name, 'SUSPEND')} pauses it, {rebalance(space.name, 'RESUME')} lets it go on",
        "an HADR standby needs the paths of the target group too; take a backup afterwards",
    ]
    if space.overhead >= 0 or space.transfer_rate >= 0:
        notes.append(
            f"the optimizer takes {space.name} for as slow as before, until "
            f"ALTER TABLESPACE {identifier(space.name)} OVERHEAD INHERIT TRANSFERRATE INHERIT"
        )
    notes.append(
        f"storage group {group.name} says OVERHEAD {group.overhead:g} ms, DEVICE READ RATE {group.read_rate:g} MB/s"
    )
    return tuple(notes)
