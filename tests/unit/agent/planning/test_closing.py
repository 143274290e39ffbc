"""The open part of a split table, closed: one move that copies nothing, or why there is no way."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from agent.model.proposals import CLOSE_PART
from agent.planning.single_moves import Splitting, close_part
from connectors.kit.contract import Connector
from connectors.model.moves import NoRoute, Route, Transfer
from policies.placement.dispatch import UnknownName
from tests.unit.agent.planning.test_splitting import DATABASE, READ, Engine
from tests.unit.samples import MADE_AT, a_route

TABLE, PART = "public.orders", "public.orders_p1"


class Closes(Engine):
    """It closes parts, and its login may."""

    missing = ""

    def route_close(self, table: str, border: str, to_space: str) -> Route:
        """It reads the part once."""
        assert (table, border) == (TABLE, "2030-03-01")
        read = Transfer(space="fast", bytes=READ, written=False)
        route = a_route(PART, to_space=to_space)
        return replace(route, bundle=replace(route.bundle, size_bytes=0, space="fast"), copies=(read,))

    def refuse_split(self, _: Route) -> NoRoute | None:
        """As `missing` says."""
        return NoRoute(code="rights", sentence=self.missing) if self.missing else None


def close(engine: Engine, to_space: str | None = None) -> Splitting:
    """How its part is closed, by the account that would do it."""
    side = cast(Connector, engine)
    return close_part(DATABASE, side, side, TABLE, "2030-03-01", to_space, MADE_AT, asked_by="ann")


def test_a_closing_is_proposed_as_one_move_that_copies_nothing() -> None:
    """To the first space of the fastest tier; what is read takes its time."""
    found = close(Closes())
    assert found.proposal is not None
    (move,) = found.proposal.moves
    assert (found.to_space, move.key, move.reason, move.size_bytes) == ("fast", PART, CLOSE_PART, 0)
    assert move.copy_seconds == pytest.approx(READ / DATABASE.policy_settings().copy_bytes_per_second)
    assert (found.proposal.purpose, found.proposal.asked_by) == ("close public.orders", "ann")
    assert move.sentence.startswith("public.orders_p1 ends at 2030-03-01: ")


def test_where_there_is_no_way() -> None:
    """An engine that closes nothing, a login that may not, and a space that is not there."""
    engine = Closes()
    engine.missing = "it lacks INSERT"
    for each, code in ((Engine(), "not_offered"), (engine, "rights")):
        found = close(each)
        assert found.proposal is None
        assert isinstance(found.answer, NoRoute)
        assert found.answer.code == code
    with pytest.raises(UnknownName, match="no space is named 'other'"):
        close(Closes(), "other")
