"""What is due under signed templates: no more than a rule allows today, and nothing of a rule that is not open."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.rows import RuleRow, RuleState
from agent.model.proposals import Proposal
from agent.planning.routing import derives
from agent.planning.template_proposals import rolling_proposals
from connectors.kit.contract import Connector
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import Route
from connectors.model.observation import Catalog, Space, UnitTable
from tests.ledger.clock import StillClock
from tests.ledger.test_template_rules import TEMPLATE, a_rule
from tests.unit.samples import MADE_AT, MIB, a_route

DATABASE = DatabaseConfig.model_validate(
    {"name": "shop", "engine": "simulated", "connection": {},
     "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}]}
)  # fmt: skip
RULE = RuleRow(
    number=1, rule=a_rule(StillClock()), state=RuleState.OPEN, reason="", closed_at=None, proposed_by="carl",
    proposed_at=MADE_AT, signed_by=("anna",), used_today=0, approved=(),
)  # fmt: skip


class Engine:
    """So many partitions are due."""

    def __init__(self, due: int) -> None:
        self._due = tuple(a_route(f"public.orders_{number}", to_space="slow") for number in range(1, due + 1))

    def template(self, *_: Any) -> StatementTemplate:
        """The one that was signed."""
        return TEMPLATE

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """All of them."""
        assert (template, now) == (TEMPLATE, MADE_AT)
        return self._due


def proposed(rule: RuleRow, engine: object) -> list[Proposal]:
    """What follows of one rule."""
    none = np.empty(0, dtype=np.int64)
    units = UnitTable(
        physical_id=none, key=(), kind=none.astype(np.int8), size_bytes=none, space=none.astype(np.int32), bundle=none,
        parent=none,
    )  # fmt: skip
    spaces = tuple(
        Space(name=name, path="", used_bytes=0, free_bytes=None, capacity_bytes=None) for name in ("fast", "slow")
    )
    catalog = Catalog(taken_at=MADE_AT, spaces=spaces, units=units)
    connector = cast(Connector, engine)
    return list(rolling_proposals([rule], DATABASE, connector, catalog, rule.rule.fingerprint, MADE_AT))


@pytest.mark.parametrize(("used", "due", "moved"), [(0, 2, 2), (0, 5, 3), (2, 5, 1)])
def test_no_more_than_a_rule_allows_today(used: int, due: int, moved: int) -> None:
    """Three a day; what is not taken today is due tomorrow."""
    (proposal,) = proposed(replace(RULE, used_today=used), Engine(due))
    assert [move.key for move in proposal.moves] == [f"public.orders_{number}" for number in range(1, moved + 1)]
    assert {(move.to_space, move.to_tier, move.size_bytes) for move in proposal.moves} == {("slow", "hdd", 64 * MIB)}
    assert [move.group for move in proposal.moves] == list(range(1, moved + 1)), "each is carried out or not for itself"
    assert proposal.expires_at == MADE_AT + timedelta(seconds=DATABASE.proposal_expires_seconds)


@pytest.mark.parametrize(("most", "moved"), [(129, 2), (128, 2), (127, 1), (1, 1)])
def test_no_more_bytes_than_one_proposal_may_move(most: int, moved: int) -> None:
    """64 MiB each; the first one is proposed whatever its size, for a person to see."""
    (proposal,) = proposed(replace(RULE, rule=replace(RULE.rule, most_bytes=most * MIB)), Engine(3))
    assert len(proposal.moves) == moved


@pytest.mark.parametrize(
    ("rule", "engine"),
    [
        (RULE, Engine(0)),
        (replace(RULE, used_today=3), Engine(5)),
        (replace(RULE, state=RuleState.CLOSED), Engine(5)),
        (replace(RULE, rule=replace(RULE.rule, template=None, mode="hsm")), Engine(5)),
        (RULE, object()),  # an engine that fills no templates
    ],
)
def test_nothing_is_proposed_where_nothing_is_due_or_allowed(rule: RuleRow, engine: object) -> None:
    """No empty proposals, and the engine is not asked in vain."""
    assert proposed(rule, engine) == []


def test_what_was_made_of_a_template_is_due_under_it_still() -> None:
    """Only the statements of what is due now count as made of it."""
    route = a_route("public.orders_2", to_space="slow")
    assert derives(cast(Connector, Engine(2)), route, TEMPLATE, MADE_AT)
    assert not derives(cast(Connector, Engine(1)), route, TEMPLATE, MADE_AT)
    assert not derives(cast(Connector, object()), route, TEMPLATE, MADE_AT)
