"""One container out of its space: a proposal of one move, or what a person does, or why there is no way.

The bytes stay in their space and only change containers, so no policy is asked: what counts is the room of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from agent.config import DatabaseConfig
from agent.model.proposals import CONTAINER, Proposal, ProposedMove
from agent.model.purposes import purpose_of_container
from agent.planning.unweighed import unweighed_proposal
from connectors.base import Connector, TakesOut
from connectors.containers import ByHand, Container, find_container, others, room_in
from connectors.formatting import format_bytes
from connectors.model import Bundle, NoRoute, Route, Space, UnitKind
from policies.modes.dispatch import UnknownName
from policies.storage.capacity import room_bytes

ROOM_UNKNOWN = "room_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakingOut:
    """How one container leaves its space."""

    space: Space
    container: Container
    answer: Route | ByHand | NoRoute
    proposal: Proposal | None  # None: there is no route


def take_out(
    database: DatabaseConfig,
    connector: Connector,
    space_name: str,
    container_name: str,
    now: datetime,
    *,
    asked_by: str = "",
) -> TakingOut | None:
    """What there is to do; None where the container is the only one, so that the space itself is to be drained.

    Args:
        database: its configuration.
        connector: asked for the catalog and for the way; changes nothing.
        space_name: as the catalog has it.
        container_name: name or path of one of its containers.
        now: the instant.
        asked_by: who wants it.

    Raises:
        UnknownName: there is no such space, or no such container in it.
        ConnectorError: the engine did not answer.
    """
    storage = database.resolve_spaces(connector.catalog())
    names = [space.name for space in storage.spaces]
    if space_name not in names:
        raise UnknownName(f"no space is named {space_name!r}; there are {', '.join(names) or 'none'}")
    row = names.index(space_name)
    space = storage.spaces[row]
    container = find_container(space.containers, container_name)
    if container is None:
        known = ", ".join(each.name for each in space.containers) or "none that this login may see"
        raise UnknownName(f"no container of {space_name} is named {container_name!r}; there are {known}")
    if len(space.containers) == 1:
        return None
    answer = _answer(connector, space, container, database.policy_settings().head_room_ratio)
    tier = storage.tier_of_space[row]
    proposal = None
    if isinstance(answer, Route):
        seconds = answer.bundle.size_bytes / database.policy_settings().copy_bytes_per_second
        move = _move(answer, "" if tier < 0 else storage.tiers[tier].name, seconds)
        purpose = purpose_of_container(move.from_space, move.route.bundle.container)
        fingerprint = connector.identify().fingerprint
        proposal = unweighed_proposal(database, fingerprint, [move], now, purpose, asked_by=asked_by)
    return TakingOut(space=space, container=container, answer=answer, proposal=proposal)


def without(space: Space, container: str) -> Space:
    """The space as far as it can take in what that container gives up: its other containers of the same holder."""
    rest = others(space.containers, container)
    room = room_in(rest)
    return replace(
        space,
        used_bytes=0 if room is None else room.used_bytes,
        free_bytes=None if room is None else room.free_bytes,
        capacity_bytes=None if room is None else room.used_bytes + room.free_bytes,
        containers=rest,
    )


def put_back(route: Route) -> Route:
    """The way back of a container that was taken out: known when it left, since nothing else has a new name."""
    bundle = route.bundle if route.undo_bytes is None else replace(route.bundle, size_bytes=route.undo_bytes)
    name = f"{route.name}, back"  # what it teaches of speed is its own
    return replace(route, name=name, bundle=bundle, steps=route.undo_steps, undo_steps=(), tidy_steps=())


def _answer(
    connector: Connector, space: Space, container: Container, head_room_ratio: float
) -> Route | ByHand | NoRoute:
    if not isinstance(connector, TakesOut):
        return NoRoute(code="not_offered", sentence="this engine takes no single container out of a space")
    holder = container.holder or space.name
    if not others(space.containers, container.name):
        return NoRoute(code="only_one", sentence=f"it is the only container of {holder} in {space.name}")
    size = container.size_bytes if container.used_bytes is None else container.used_bytes
    bundle = Bundle(
        key=f"{container.name} of {holder}", physical_ids=(), unit_keys=(), kind=UnitKind.TABLE, size_bytes=size,
        space=space.name, container=container.name,
    )  # fmt: skip
    answer = connector.routes_out(bundle)
    if isinstance(answer, NoRoute):
        return answer
    refused = _without_room(bundle, space, head_room_ratio)
    # What a person does by hand is shown although the room is not known: he can look, the agent must not guess.
    unknown = refused is not None and refused.code == ROOM_UNKNOWN
    return answer if refused is None or (unknown and isinstance(answer, ByHand)) else refused


def _without_room(bundle: Bundle, space: Space, head_room_ratio: float) -> NoRoute | None:
    """Why the other containers cannot take it, or that their room is unknown; None where they can."""
    need, what = bundle.size_bytes, bundle.key
    room = room_bytes(without(space, bundle.container), head_room_ratio)
    if room is None:
        return NoRoute(code=ROOM_UNKNOWN, sentence=f"{what}: the free room of the other containers is unknown")
    if need <= room:
        return None
    left = format_bytes(max(room, 0))
    return NoRoute(
        code="no_room", sentence=f"{what} holds {format_bytes(need)}, the others have {left} above their head-room"
    )


def _move(route: Route, tier: str, copy_seconds: float) -> ProposedMove:
    what, space, size = route.bundle.key, route.bundle.space, route.bundle.size_bytes
    return ProposedMove(
        ordinal=1,
        key=what,
        route=route,
        from_space=space,
        to_space=space,
        from_tier=tier,
        to_tier=tier,
        reason=CONTAINER,
        size_bytes=size,
        wait_saved_per_hour=0.0,
        copy_seconds=copy_seconds,
        payback_seconds=None,
        sentence=f"{what} ({format_bytes(size)}) is emptied into the others and taken out of {space}.",
    )
