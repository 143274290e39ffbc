"""The two ways this engine can move a bundle, as statements."""

from __future__ import annotations

from connectors.base import ObjectGone
from connectors.model import Bundle, Home, Inspection, NoRoute, Route, Step, UnitKind
from connectors.move_effects import Locked, Transfer
from connectors.simulated.server.language import quote
from connectors.simulated.server.placement import ONLINE_ROOM, WORD
from connectors.simulated.server.world import World

TAG = "/* hotplace */"
LOCK_SECONDS = 0.5
PROLOGUE = (f"{TAG} SET LOCK_TIMEOUT {round(LOCK_SECONDS * 1000)} MS",)


def routes(world: World, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
    """Online first, then offline, or why there is none."""
    refusal = _refusal(world, bundle, to_space)
    return refusal or (_route(bundle, to_space, online=True), _route(bundle, to_space, online=False))


def _refusal(world: World, bundle: Bundle, to_space: str) -> NoRoute | None:
    """Why the bundle cannot go there, None if it can."""
    with world.turn():
        try:
            target = world.placement.space_row(to_space)
        except ObjectGone as gone:
            return NoRoute(code="no_such_space", sentence=f"{gone}.")
        row = world.placement.row(bundle.key)
        if row is None:
            return NoRoute(code="gone", sentence=f"{bundle.key} does not exist.")
        if UnitKind(world.placement.units.kind[row]) not in WORD:
            return NoRoute(code="moves_with_table", sentence=f"{bundle.key} moves only with its table.")
        if bundle.space == to_space:
            return NoRoute(code="already_there", sentence=f"{bundle.key} is in {to_space} already.")
        if bundle.size_bytes > world.placement.spaces[target].capacity_bytes:
            return NoRoute(code="too_large", sentence=f"{bundle.key} is larger than all of {to_space}.")
        return None


def _statement(bundle: Bundle, space: str, *, online: bool) -> str:
    suffix = " ONLINE" if online else ""
    return f"{TAG} MOVE {WORD[bundle.kind]} {bundle.key} TO SPACE {quote(space)}{suffix}"


def _control(word: str, bundle: Bundle) -> str:
    return f"{TAG} {word} MOVE {bundle.key}"


def _step(bundle: Bundle, there: str, back: str, to_space: str, *, online: bool) -> Step:
    """The move itself; an online one can be held and gone on with."""
    return Step(
        sql=there,
        purpose=f"bring {bundle.key} to {to_space}",
        undo_sql=back,
        pause_sql=_control("PAUSE", bundle) if online else "",
        resume_sql=_control("RESUME", bundle) if online else "",
    )


def _abort(bundle: Bundle) -> Step:
    return Step(sql=_control("ABORT", bundle), purpose=f"roll back the held move of {bundle.key}")


def _route(bundle: Bundle, to_space: str, *, online: bool) -> Route:
    there, back = (_statement(bundle, space, online=online) for space in (to_space, bundle.space))
    return Route(
        name="move online" if online else "move",
        bundle=bundle,
        to_space=to_space,
        prologue=PROLOGUE,
        steps=(_step(bundle, there, back, to_space, online=online),),
        undo_steps=(Step(sql=back, purpose=f"bring {bundle.key} back to {bundle.space}"),),
        tidy_steps=(_abort(bundle),) if online else (),
        tidy_locks="None: what was copied is thrown away." if online else "",
        online=online,
        locks="Exclusive for an instant at the end." if online else "Exclusive on the table while bytes are copied.",
        log_bytes=bundle.size_bytes,
        locked=Locked.BRIEFLY if online else Locked.ALL,
        lock_seconds=LOCK_SECONDS,
        transient_bytes=int(bundle.size_bytes * ONLINE_ROOM) if online else 0,
        copies=(
            Transfer(space=bundle.space, bytes=bundle.size_bytes, unit=bundle.key, whole=True),
            Transfer(space=to_space, bytes=bundle.size_bytes, written=True),
        ),
    )


def inspect(world: World, route: Route) -> Inspection:
    """Where the units of the bundle are now, by their keys."""
    with world.turn():
        placement = world.placement
        rows = [placement.row(key) for key in route.bundle.unit_keys]
        living = [row for row in rows if row is not None]
        if len(living) < len(rows):
            return Inspection(home=Home.GONE, sentence=f"{route.bundle.key} was dropped.", size_bytes=0, on_disk=None)
        names = {placement.spaces[int(placement.units.space[row])].name for row in living}
        home = _home(names, route)
        held = placement.move_of(route.bundle.key)
        paused = held is not None and held.paused
        return Inspection(
            home=home,
            sentence=f"{route.bundle.key} is in {', '.join(sorted(names))}{', its move is held' if paused else ''}.",
            size_bytes=int(placement.units.size_bytes[living].sum()),
            on_disk=None,  # there are no files to look at
            leftovers=(_abort(route.bundle),) if paused else (),
            running=placement.being_moved(living) and not paused,
            paused=paused,
        )


def _home(names: set[str], route: Route) -> Home:
    """What the spaces of a bundle's units mean for its move."""
    if names == {route.to_space}:
        return Home.TARGET
    if names == {route.bundle.space}:
        return Home.SOURCE
    return Home.SPLIT if names == {route.to_space, route.bundle.space} else Home.ELSEWHERE
