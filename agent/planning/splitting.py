"""A table split along a column: a proposal of one move, or what a person does, or why there is no way.

The cold part keeps its files and its place, so no policy is asked; rows from the border on are born in the other space,
and those that are there already are moved to it within the split's transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from agent.config import DatabaseConfig
from agent.model.proposals import SPLIT, Proposal, ProposedMove
from agent.model.purposes import purpose_of_split
from agent.planning.unweighed import unweighed_move, unweighed_proposal
from connectors.base import Connector
from connectors.containers import ByHand
from connectors.formatting import format_bytes, format_seconds
from connectors.model import Bundle, Catalog, NoRoute, Route, UnitKind
from connectors.move_effects import Locked
from connectors.splitting import CLOSE, WAYS_BACK, Border, KnowsRightsToSplit, SplitsTables, held_seconds
from policies.modes.dispatch import UnknownName


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

    Raises:
        UnknownName: there is no such unit or space.
        ConnectorError: the engine did not answer.
    """
    catalog = connector.catalog()
    row = _row_of(catalog, key)
    tiers, target = target_of(database, catalog, to_space)
    bundle = _bundle(catalog, row)
    answer = _answer(mover_side or connector, bundle, border, target)
    if isinstance(answer, Route):
        answer = refuse_by_rights(mover_side, answer) or answer
    proposal = None
    if isinstance(answer, Route):
        move = _move(answer, border, tiers, database.policy_settings().copy_bytes_per_second)
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
        locks="no reads and no writes of the table while rows of its new part are copied back", locked=Locked.ALL,
        online=False, notes=(), follow_up=(),
    )  # fmt: skip
    size = connector.inspect(route).size_bytes
    # The rows are in the space of the new part: read there, and written to where the rest always was.
    bundle = replace(done.bundle, size_bytes=size, space=done.to_space)
    return replace(route, bundle=bundle, log_bytes=size, undo_bytes=None)


def _row_of(catalog: Catalog, key: str) -> int:
    for row, known in enumerate(catalog.units.key):
        if known == key:
            return row
    raise UnknownName(f"no unit is named {key!r}; hotplace units lists them")


def _bundle(catalog: Catalog, row: int) -> Bundle:
    """The table, of which no byte is copied."""
    units = catalog.units
    return Bundle(
        key=units.key[row],
        physical_ids=(int(units.physical_id[row]),),
        unit_keys=(),
        kind=UnitKind(int(units.kind[row])),
        size_bytes=0,
        space=catalog.spaces[int(units.space[row])].name,
    )


def _answer(connector: Connector, bundle: Bundle, border: Border, to_space: str) -> Route | ByHand | NoRoute:
    if bundle.kind not in (UnitKind.TABLE, UnitKind.TABLE_PARTITION):
        return NoRoute(code="no_table", sentence="only a table is split")
    if not isinstance(connector, SplitsTables):
        return NoRoute(code="not_offered", sentence="the connector of this engine splits no tables")
    return connector.routes_split(bundle, border, to_space)


def refuse_by_rights(mover_side: Connector | None, route: Route) -> NoRoute | None:
    """Which rights the account that would do it lacks; None: none, or it is not connected."""
    return mover_side.refuse_split(route) if isinstance(mover_side, KnowsRightsToSplit) else None


def _move(route: Route, border: Border, tiers: dict[str, str], bytes_per_second: float) -> ProposedMove:
    read = sum(transfer.bytes for transfer in route.transfers if not transfer.written)
    where = f"{route.bundle.key} is split where {border.column} = {border.value}: rows from there on"
    if route.locked is Locked.ALL:  # rows are moved, under a lock for as long as that takes
        seconds = held_seconds(route.transfers)
        sentence = f"{where}, {_what_moves(route, seconds)}"
    else:
        seconds = read / bytes_per_second
        stays = f"what is there stays, and {format_bytes(read)} are read once."
        sentence = f"{where} are born in {route.to_space}; {stays}"
    move = unweighed_move(1, route, SPLIT, tiers, bytes_per_second, sentence)
    return replace(move, copy_seconds=seconds)


def _what_moves(route: Route, seconds: float) -> str:
    size, space = format_bytes(route.bundle.size_bytes), route.to_space
    return (
        f"about {size} by the server's statistics, are moved to {space} while the table is locked for about "
        f"{format_seconds(seconds)}, and new ones are born there; the rest stays."
    )
