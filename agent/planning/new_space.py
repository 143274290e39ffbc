"""The proposal of one new space that a person asks for: its statements, what was looked at, and how it is used then.

No policy is asked and nothing is moved. Where a person has to make the space, the answer is what he runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime

from agent.config.models import DatabaseConfig
from agent.model.proposals import SPACE, Proposal, purpose_of_space
from agent.planning.first_tier import USUAL
from agent.planning.template_proposals import unweighed_move, unweighed_proposal
from connectors.kit.contract import Connector
from connectors.model.moves import ByHand, NoRoute, Route
from connectors.model.new_space import DROP_SPACE, MakesSpaces, SpaceAnswer, WantedSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingSpace:
    """How one space is made."""

    wanted: WantedSpace
    tier: str
    found: SpaceAnswer
    proposal: Proposal | None  # None: there is no route

    @property
    def answer(self) -> Route | ByHand | NoRoute:
        """The way, or why there is none."""
        return self.found.answer


def make_space(
    database: DatabaseConfig,
    connector: Connector,
    mover_side: Connector | None,
    wanted: WantedSpace,
    tier: str | None,
    now: datetime,
    *,
    asked_by: str = "",
) -> MakingSpace:
    """What there is to do.

    Args:
        database: its configuration.
        connector: asked where there is no ``mover_side``; changes nothing.
        mover_side: of the account that would make it, asked also whether it may; None: not connected.
        wanted: name, place and size.
        tier: that the space is to belong to, which need not be configured yet; None: see ``tier_of_new``.
        now: the instant.
        asked_by: who wants it.

    Raises:
        ConnectorError: the engine did not answer.
    """
    name = tier_of_new(database, tier)
    asked = mover_side or connector
    found = SpaceAnswer(answer=NoRoute(code="not_offered", sentence="the connector of this engine makes no spaces"))
    if isinstance(asked, MakesSpaces):
        found = asked.routes_new_space(wanted, moves=mover_side is not None)
    proposal = None
    if isinstance(found.answer, Route):
        sentence = (
            f"a new space {wanted.name} is made in {wanted.location}; it holds nothing yet, and belongs to {name} once "
            f"it is named below the spaces of that tier. hotplace undo drops it while it is empty."
        )
        tiers = {wanted.name: name}
        speed = database.policy_settings().copy_bytes_per_second
        move = unweighed_move(1, found.answer, SPACE, tiers, speed, sentence)
        fingerprint, purpose = connector.identify().fingerprint, purpose_of_space(wanted.name)
        proposal = unweighed_proposal(database, fingerprint, [move], now, purpose, asked_by=asked_by)
    return MakingSpace(wanted=wanted, tier=name, found=found, proposal=proposal)


def tier_of_new(database: DatabaseConfig, tier: str | None) -> str:
    """The name of the tier that a new space is for: that one, else the fastest without a space, else the fastest.

    Where only one tier is configured, it is another one than that: an SSD, as ``sizing`` takes it.
    """
    if tier is not None:
        return tier
    if database.planned_tiers:
        return database.planned_tiers[0].name
    return USUAL if len(database.tiers) == 1 else database.tiers[0].name


def how_to_configure(database: DatabaseConfig, space: str, tier: str) -> tuple[str, ...]:
    """What a person writes into the configuration once the space is there, line by line."""
    if tier in {each.name for each in database.tiers}:
        return (f"then: name {space} below the spaces of the tier {tier} in the configuration",)
    return (
        f"then: add the tier {tier} to the configuration, the fastest first:",
        "  tiers:", f"    - name: {tier}", f"      spaces: [{json.dumps(space, ensure_ascii=False)}]",
    )  # fmt: skip


def route_of_dropping(done: Route) -> Route:
    """The way back of a new space: the statements that were approved with it, which refuse where it holds something."""
    back = None
    if done.by_hand is not None:
        back = replace(done.by_hand, statements=done.by_hand.undo, undo=())
    return replace(
        done, name=DROP_SPACE, steps=done.undo_steps, undo_steps=(), tidy_steps=(), notes=(), by_hand=back
    )  # fmt: skip
