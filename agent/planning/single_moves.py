"""Proposals of one move that a person asks for: a split, the close of an open part, a container out of its space.

Each answer is a proposal of one move, or what a person has to do, or why there is no way. No policy is asked.

``split_table`` splits a table along a column. The cold part keeps its files and its place. Rows from the border on are
born in the other space, and those that exist already are moved there within the split's transaction.

``close_part`` gives the open part of a split table an end ahead of its rows.

``take_out`` empties one container of a space. The bytes stay in their space and only change containers, so all that
counts is the room of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.config.models import DatabaseConfig
from agent.model.proposals import (
    CLOSE_PART,
    CONTAINER,
    SPLIT,
    Proposal,
    ProposedMove,
    purpose_of_closing,
    purpose_of_container,
    purpose_of_split,
)
from agent.planning.routing import refuse_by_rights, split_route, table_to_split
from agent.planning.template_proposals import unweighed_move, unweighed_proposal
from connectors.kit.contract import Connector, TakesOut
from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import (
    CLOSE,
    WAYS_BACK,
    Border,
    Bundle,
    ByHand,
    ClosesParts,
    Container,
    Locked,
    NoRoute,
    Route,
    UnitKind,
    find_container,
    held_seconds,
    others,
    room_in,
)
from connectors.model.observation import Catalog, Space
from policies.evidence.capacity import room_bytes
from policies.evidence.durations import copy_interval
from policies.model.moves import RouteCost
from policies.model.settings import TaughtCopy
from policies.placement.dispatch import UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How one table is split, or its open part is closed."""

    key: str
    border: Border  # of a part that is closed with no column: it is the one that the table is partitioned by
    to_space: str
    answer: Route | ByHand | NoRoute
    proposal: Proposal | None  # None: there is no route


def split_table(
    database: DatabaseConfig,
    connector: Connector,
    mover_side: Connector | None,
    key: str,
    border: Border,
    to_space: str | None,
    now: datetime,
    *,
    asked_by: str = "",
    taught: Sequence[TaughtCopy] = (),
) -> Splitting:
    """What there is to do.

    Args:
        database: its configuration.
        connector: asked for the catalog, and for the way where there is no ``mover_side``; changes nothing.
        mover_side: of the account that would split it, asked for the way and whether it may; None: not connected.
        key: of the table.
        border: where it is split.
        to_space: of rows from the border on; None: the first space of the fastest tier.
        now: the instant.
        asked_by: who wants it.
        taught: finished moves, which teach how long it takes.

    Raises:
        UnknownName: there is no such unit or space.
        ConnectorError: the engine did not answer.
    """
    catalog = connector.catalog()
    row = _row_of(catalog, key)
    tiers, target = target_of(database, catalog, to_space)
    bundle = table_to_split(catalog.units, row, catalog.spaces[int(catalog.units.space[row])].name)
    answer = split_route(connector, mover_side, bundle, border, target)
    proposal = None
    if isinstance(answer, Route):
        border = _as_read(border, answer)
        move = _split_move(answer, border, tiers, database.policy_settings().copy_bytes_per_second, taught)
        purpose = purpose_of_split(move.key)
        fingerprint = connector.identify().fingerprint
        proposal = unweighed_proposal(database, fingerprint, [move], now, purpose, asked_by=asked_by)
    return Splitting(key=key, border=border, to_space=target, answer=answer, proposal=proposal)


def target_of(database: DatabaseConfig, catalog: Catalog, to_space: str | None) -> tuple[dict[str, str], str]:
    """The tier of each space, "" of those that have none; and the space that was asked for, or the fastest.

    Raises:
        UnknownName: there is no such space.
    """
    storage = database.resolve_spaces(catalog)
    spaces = list(zip(storage.spaces, storage.tier_of_space.tolist(), strict=True))
    tiers = {space.name: "" if tier < 0 else storage.tiers[tier].name for space, tier in spaces}
    target = to_space or next((space.name for space, tier in spaces if tier == 0), "")
    if target not in tiers:
        raise UnknownName(f"no space is named {target!r}; there are {', '.join(tiers)}")
    return tiers, target


def route_of_rejoining(done: Route, connector: Connector) -> Route:
    """The way back of a split or a closing: statements approved with it, with the bytes that they copy by now.

    Raises:
        ConnectorError: the engine did not answer.
    """
    route = replace(
        done, name=WAYS_BACK[done.name], to_space=done.bundle.space, steps=done.undo_steps, undo_steps=(), copies=(),
        tidy_steps=done.tidy_steps if done.name == CLOSE else (), arguments=(),
        locks=done.undo_locks or "no reads and no writes of the table while rows of its new part are copied back",
        locked=Locked.ALL, online=False, notes=(), follow_up=(), locked_copies=None, undo_locks="",
    )  # fmt: skip
    size = connector.inspect(route).size_bytes
    # The rows are in the space of the new part: read there, and written to where the rest always was.
    bundle = replace(done.bundle, size_bytes=size, space=done.to_space)
    return replace(route, bundle=bundle, log_bytes=size, undo_bytes=None)


def _row_of(catalog: Catalog, key: str) -> int:
    for row, known in enumerate(catalog.units.key):
        if known == key:
            return row
    raise UnknownName(f"no unit has the key {key!r}; `hotplace units --all` lists them")


def _as_read(border: Border, route: Route) -> Border:
    """The border as its engine reads it: a time with its zone, no `tomorrow`, nothing that a type cuts off."""
    operation = route.steps[0].operation
    value = "" if operation is None else operation.text("border")
    return replace(border, value=value or border.value)


def _split_move(
    route: Route, border: Border, tiers: dict[str, str], bytes_per_second: float, taught: Sequence[TaughtCopy]
) -> ProposedMove:
    read = sum(transfer.bytes for transfer in route.transfers if not transfer.written)
    where = f"{route.bundle.key} is split where {border.column} = {border.value}: rows from there on"
    if route.locked is Locked.ALL:  # rows are moved, under a lock for as long as that takes
        seconds = held_seconds(route.transfers)
        sentence = f"{where}, {_what_moves(route, seconds * route.locked_ratio)}"
    else:
        seconds = read / bytes_per_second
        stays = f"what is there stays, and {format_bytes(read)} are read once."
        sentence = f"{where} are stored in {route.to_space}; {stays}"
    move = unweighed_move(1, route, SPLIT, tiers, bytes_per_second, sentence)
    between = copy_interval(taught, (route.name, move.from_tier, move.to_tier), seconds)
    cost = RouteCost(
        log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0, copying=(seconds,), copy_seconds=seconds,
        copy_low_seconds=min(seconds, between.low), copy_high_seconds=max(seconds, between.high),
    )  # fmt: skip
    return replace(move, copy_seconds=seconds, cost=cost)


def _what_moves(route: Route, seconds: float) -> str:
    size, space = format_bytes(route.bundle.size_bytes), route.to_space
    return (
        f"about {size} by the server's statistics, are moved to {space} while the table is locked for about "
        f"{format_seconds(seconds)}, and new ones are stored there; the rest stays."
    )


def close_part(
    database: DatabaseConfig, connector: Connector, mover_side: Connector | None, table: str, border: str,
    to_space: str | None, now: datetime, *, asked_by: str = "",
) -> Splitting:  # fmt: skip
    """What there is to do.

    Args:
        database: its configuration.
        connector: asked for the catalog, and for the way where there is no ``mover_side``; changes nothing.
        mover_side: of the account that would do it; None: not connected.
        table: its key.
        border: where its open part is to end.
        to_space: of rows from the border on; None: the first space of the fastest tier.
        now: the instant.
        asked_by: who wants it.

    Raises:
        UnknownName: there is no such space.
        ConnectorError: the engine did not answer.
    """
    tiers, target = target_of(database, connector.catalog(), to_space)
    answer = _close_answer(mover_side or connector, table, border, target)
    if isinstance(answer, Route):
        answer = refuse_by_rights(mover_side, answer) or answer
    proposal: Proposal | None = None
    where = Border(column="", value=border)
    if isinstance(answer, Route):
        where = _as_read(where, answer)
        move = _close_move(answer, where.value, tiers, database.policy_settings().copy_bytes_per_second)
        fingerprint, purpose = connector.identify().fingerprint, purpose_of_closing(table)
        proposal = unweighed_proposal(database, fingerprint, [move], now, purpose, asked_by=asked_by)
    return Splitting(key=table, border=where, to_space=target, answer=answer, proposal=proposal)


def _close_answer(connector: Connector, table: str, border: str, to_space: str) -> Route | NoRoute:
    if not isinstance(connector, ClosesParts):
        return NoRoute(code="not_offered", sentence="the connector of this engine closes no parts")
    return connector.route_close(table, border, to_space)


def _close_move(route: Route, border: str, tiers: dict[str, str], bytes_per_second: float) -> ProposedMove:
    read = sum(transfer.bytes for transfer in route.transfers if not transfer.written)
    sentence = (
        f"{route.bundle.key} ends at {border}: {format_bytes(read)} are read once, and rows from there on are stored "
        f"in a new part in {route.to_space}."
    )
    move = unweighed_move(1, route, CLOSE_PART, tiers, bytes_per_second, sentence)
    return replace(move, copy_seconds=read / bytes_per_second)


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
    answer = _container_answer(connector, space, container, database.policy_settings().head_room_ratio)
    tier = storage.tier_of_space[row]
    proposal = None
    if isinstance(answer, Route):
        seconds = answer.bundle.size_bytes / database.policy_settings().copy_bytes_per_second
        move = _container_move(answer, "" if tier < 0 else storage.tiers[tier].name, seconds)
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


def _container_answer(
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


def _container_move(route: Route, tier: str, copy_seconds: float) -> ProposedMove:
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
