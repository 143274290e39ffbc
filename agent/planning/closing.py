"""The open part of a split table, given an end ahead of its rows: a proposal of one move, or why there is no way."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from agent.config import DatabaseConfig
from agent.model.proposals import CLOSE, Proposal, ProposedMove
from agent.model.purposes import purpose_of_closing
from agent.planning.splitting import Splitting, refuse_by_rights, target_of
from agent.planning.unweighed import unweighed_move, unweighed_proposal
from connectors.base import Connector
from connectors.formatting import format_bytes
from connectors.model import NoRoute, Route
from connectors.splitting import Border, ClosesParts


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
    answer = _answer(mover_side or connector, table, border, target)
    if isinstance(answer, Route):
        answer = refuse_by_rights(mover_side, answer) or answer
    proposal: Proposal | None = None
    if isinstance(answer, Route):
        move = _move(answer, border, tiers, database.policy_settings().copy_bytes_per_second)
        fingerprint, purpose = connector.identify().fingerprint, purpose_of_closing(table)
        proposal = unweighed_proposal(database, fingerprint, [move], now, purpose, asked_by=asked_by)
    where = Border(column="", value=border)
    return Splitting(key=table, border=where, to_space=target, answer=answer, proposal=proposal)


def _answer(connector: Connector, table: str, border: str, to_space: str) -> Route | NoRoute:
    if not isinstance(connector, ClosesParts):
        return NoRoute(code="not_offered", sentence="the connector of this engine closes no parts")
    return connector.route_close(table, border, to_space)


def _move(route: Route, border: str, tiers: dict[str, str], bytes_per_second: float) -> ProposedMove:
    read = sum(transfer.bytes for transfer in route.transfers if not transfer.written)
    sentence = (
        f"{route.bundle.key} ends at {border}: {format_bytes(read)} are read once, and rows from there on are born "
        f"in a new part in {route.to_space}."
    )
    move = unweighed_move(1, route, CLOSE, tiers, bytes_per_second, sentence)
    return replace(move, copy_seconds=read / bytes_per_second)
