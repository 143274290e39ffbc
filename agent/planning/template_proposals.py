"""Proposals that no policy has weighed: what a person asks for, and what is due under signed templates.

What is due under the templates that people have signed: next partitions and aged ones, as proposals.

No policy is asked: the statements come by the calendar, within bounds that a person has signed. Their rule approves
them at level ``auto``; else they wait for a decision like any other proposal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from agent.config.models import DatabaseConfig
from agent.ledger.rows import RuleRow, RuleState
from agent.model.proposals import ROLLING, Proposal, ProposedMove, purpose_of_template
from agent.planning.allowance import BY_HAND_LASTS
from agent.planning.routing import for_its_carrier
from connectors.kit.contract import Connector, FillsTemplates
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.formatting import format_bytes
from connectors.model.moves import Route
from connectors.model.observation import Catalog


def unweighed_proposal(
    database: DatabaseConfig,
    fingerprint: str,
    moves: Iterable[ProposedMove],
    now: datetime,
    purpose: str,
    *,
    asked_by: str = "",
    expires_at: datetime | None = None,
) -> Proposal:
    """A proposal that is compared with no bound.

    Args:
        database: its configuration.
        fingerprint: of the database that answers now.
        moves: in their order.
        now: the instant.
        purpose: what it is for, see ``agent.model.proposals``.
        asked_by: the person, where one did.
        expires_at: when it can no longer be approved; None: when any proposal made now expires.
    """
    moves = tuple(replace(move, route=for_its_carrier(move.route, database)) for move in moves)
    lasts = timedelta(seconds=database.proposal_expires_seconds)
    if any(move.by_hand for move in moves):
        lasts = max(lasts, BY_HAND_LASTS)
    return Proposal(
        database=database.name,
        fingerprint=fingerprint,
        created_at=now,
        expires_at=expires_at or now + lasts,
        wait_per_hour=0.0,
        wait_saved_per_hour=sum(move.wait_saved_per_hour for move in moves),
        bound_per_hour=0.0,
        gap_ratio=0.0,
        ceiling_ratio=None,
        moves=moves,
        purpose=purpose,
        asked_by=asked_by,
    )


def unweighed_move(
    ordinal: int, route: Route, reason: str, tier_of: Mapping[str, str], copy_bytes_per_second: float, sentence: str
) -> ProposedMove:
    """A move in a group of its own.

    Args:
        ordinal: of the move, and of its group.
        route: how it is done.
        reason: why, in a word.
        tier_of: name of the tier of each space that has one.
        copy_bytes_per_second: how fast data is copied.
        sentence: what people read.
    """
    bundle = route.bundle
    return ProposedMove(
        ordinal=ordinal,
        key=bundle.key,
        route=route,
        from_space=bundle.space,
        to_space=route.to_space,
        from_tier=tier_of.get(bundle.space, ""),
        to_tier=tier_of.get(route.to_space, ""),
        reason=reason,
        size_bytes=bundle.size_bytes,
        wait_saved_per_hour=0.0,
        copy_seconds=bundle.size_bytes / copy_bytes_per_second,
        payback_seconds=None,
        sentence=sentence,
        group=ordinal,
    )


_DONE = {
    TemplateKind.NEXT_PARTITION: "is made in",
    TemplateKind.AGED_PARTITION: "has aged: to",
    TemplateKind.CLOSED_PART: "gets an end, and the part behind it is made in",
}


def rolling_proposals(
    rules: Iterable[RuleRow],
    database: DatabaseConfig,
    connector: Connector,
    catalog: Catalog,
    fingerprint: str,
    now: datetime,
) -> Iterator[Proposal]:
    """A proposal for each open rule over a template under which something is due, and for no more than it allows.

    Args:
        rules: those of the database.
        database: its configuration.
        connector: asked what is due; changes nothing.
        catalog: as last read.
        fingerprint: of the database that answers now.
        now: the instant.

    Raises:
        ConnectorError: the engine did not answer.
    """
    for row in rules:
        template, left = row.rule.template, row.rule.most_a_day - row.used_today
        if template is None or row.state is not RuleState.OPEN or row.rule.fingerprint != fingerprint or left <= 0:
            continue
        due = connector.routes_due(template, now)[:left] if isinstance(connector, FillsTemplates) else ()
        routes = tuple(_first_bytes(due, row.rule.most_bytes))
        if routes:
            yield _proposal(row, template, routes, database, _tier_names(database, catalog), now)


def _first_bytes(routes: Iterable[Route], most_bytes: int) -> Iterator[Route]:
    """The first, and those that follow within so many bytes.

    The first one even where it alone is larger: no rule covers it, and a person is asked.
    """
    total = 0
    for route in routes:
        total += route.bundle.size_bytes
        if total > route.bundle.size_bytes and total > most_bytes:
            return
        yield route


def _tier_names(database: DatabaseConfig, catalog: Catalog) -> dict[str, str]:
    """The tier of each space that has one."""
    storage = database.resolve_spaces(catalog)
    tiers = zip(storage.spaces, storage.tier_of_space.tolist(), strict=True)
    return {space.name: storage.tiers[tier].name for space, tier in tiers if tier >= 0}


def _proposal(
    row: RuleRow, template: StatementTemplate, routes: Iterable[Route], database: DatabaseConfig,
    tiers: dict[str, str], now: datetime,
) -> Proposal:  # fmt: skip
    speed = database.policy_settings().copy_bytes_per_second
    moves = (_move(number, route, template.kind, tiers, speed) for number, route in enumerate(routes, start=1))
    expires = now + timedelta(seconds=database.proposal_expires_seconds)
    return unweighed_proposal(
        database, row.rule.fingerprint, moves, now, purpose_of_template(template),
        expires_at=min(row.rule.expires_at, expires),
    )  # fmt: skip


def _move(number: int, route: Route, kind: TemplateKind, tiers: dict[str, str], speed: float) -> ProposedMove:
    sentence = f"{route.bundle.key} ({format_bytes(route.bundle.size_bytes)}) {_DONE[kind]} {route.to_space}."
    return unweighed_move(number, route, ROLLING, tiers, speed, sentence)
