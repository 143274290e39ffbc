"""Routes of a plan: which moves become one, which take turns, and what is learnt of those without a way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

import pytest

from agent.planning.planner import _costs_to_weigh
from agent.planning.routing import Routed, combine_moves, derives, find_routes
from connectors.kit.contract import Connector
from connectors.model.moves import Bundle, NoRoute, Route, Step, UnitKind
from policies.model.moves import MoveReason, RouteCost
from policies.placement.balancer import make_plan
from tests.unit.policies.situations import BARE, MIB, Site, Unit

TS = "table space TS"


@dataclass
class Engine:
    """Answers with a route for everything, but for what it is told."""

    rewrites: Mapping[str, str] = field(default_factory=dict)  # by unit
    combines: bool = False
    joins: str = ""
    refuses: frozenset[str] = frozenset()  # units or wholes
    unites: Mapping[str, str] = field(default_factory=dict)  # by unit
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """One route of one step."""
        self.asked.append(bundle.unit_keys)
        if self.refuses & {bundle.wide or bundle.key}:
            return NoRoute(code="no", sentence="it does not move")
        return (
            Route(
                name="move", bundle=bundle, to_space=to_space, prologue=(), steps=(Step(sql="MOVE", purpose="move"),),
                undo_steps=(), online=True, locks="", log_bytes=0, transient_bytes=0,
                rewrites=self.rewrites.get(bundle.key, ""), combines=self.combines,
                joins="" if bundle.wide else self.joins, unites=self.unites.get(bundle.key, ""),
            ),
        )  # fmt: skip


def asked(units: Sequence[Unit], engine: Engine, moves: int = 50) -> Routed:
    """The plan of some units, with the routes of that engine."""
    settings = replace(BARE, maximum_moves=moves)
    situation = Site().situation(units)
    return find_routes(situation, settings, make_plan(situation, settings), cast(Connector, engine))


def family() -> list[Unit]:
    """A table, its index, and somebody else, all hot."""
    return [
        Unit(key="t", sync=50.0),
        Unit(key="i", sync=90.0, kind=UnitKind.INDEX, parent=1000),
        Unit(key="u", sync=70.0),
    ]


def test_what_one_statement_does_is_one_move() -> None:
    """The table leads, the figures are those of both, and the route moves both."""
    apart = asked(family(), Engine())
    found = asked(family(), Engine(rewrites={"t": "T", "i": "T"}, combines=True))
    assert not found.refused
    (joint,) = (move for move in found.plan.moves if len(move.rows) == 2)
    assert (joint.key, joint.size_bytes, joint.reason) == ("t", 2 * MIB, MoveReason.PROMOTE)
    assert joint.sentence.startswith("t with i (2.0 MiB) on ssd saves")
    two = [move for move in apart.plan.moves if move.key != "u"]
    assert joint.wait_saved_per_hour == pytest.approx(sum(move.wait_saved_per_hour for move in two))
    assert [route.bundle.unit_keys for route in found.routes if route.bundle.key == "t"] == [("t", "i")]
    assert len(found.routes) == len(found.plan.moves) == 2
    assert found.plan.wait_saved_per_hour == apart.plan.wait_saved_per_hour


def test_without_such_a_route_they_take_turns() -> None:
    """The first of the plan goes, the other waits."""
    found = asked(family(), Engine(rewrites={"t": "T", "i": "T"}))
    (why,) = found.refused.bundles.values()
    assert why == "another move of this plan rewrites T; this one can follow in a later plan"


@dataclass
class Uniting(Engine):
    """A table can be moved with LOBs and indexes, but two indexes are no one move."""

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """As Oracle: the table or a LOB leads."""
        if len(bundle.unit_keys) > 1 and bundle.kind == UnitKind.INDEX:
            return NoRoute(code="apart", sentence="two indexes")
        return Engine.routes(self, bundle, to_space)


def test_what_can_be_one_move_becomes_one_and_what_cannot_goes_by_itself() -> None:
    """The indexes come first and cannot be one; the table leads its LOB and both; a stranger is left alone."""
    units = [
        Unit(key="i", sync=90.0, kind=UnitKind.INDEX, parent=1002),
        Unit(key="j", sync=80.0, kind=UnitKind.INDEX, parent=1002),
        Unit(key="t", sync=70.0),
        Unit(key="lob", sync=95.0, kind=UnitKind.LOB, parent=1002),
        Unit(key="u", sync=60.0),
    ]
    found = asked(units, Uniting(unites=dict.fromkeys(("i", "j", "t", "lob"), "T")))
    (joint,) = (route.bundle for route in found.routes if len(route.bundle.unit_keys) > 1)
    assert (joint.key, set(joint.unit_keys)) == ("t", {"t", "lob", "i", "j"})
    assert len(found.routes) == 2

    apart = asked(units[:2], Uniting(unites={"i": "T", "j": "T"}))
    assert not apart.refused
    assert [route.bundle.unit_keys for route in apart.routes] == [("i",), ("j",)]


@dataclass
class Foreseeing(Engine):
    """One that can tell what comes after a first route."""

    def routes_after(self, bundle: Bundle, to_space: str, before: Route) -> tuple[Route, ...] | NoRoute:
        """The same, with the first in its name."""
        found = self.routes(bundle, to_space)
        return found if isinstance(found, NoRoute) else (replace(found[0], name=f"after {before.bundle.key}"),)


def swapped(engine: Engine) -> Routed:
    """The plan of a full fast tier whose only resident is a cold part of what the hot part belongs to."""
    units = [Unit(key="cold", size=2 * MIB, space="fast"), Unit(key="hot", size=2 * MIB, sync=90.0)]
    situation = Site(room={"fast": 0, "slow": 10**15}).situation(units)
    plan = make_plan(situation, BARE)
    assert [move.key for move in plan.moves] == ["cold", "hot"]
    return find_routes(situation, BARE, plan, cast(Connector, engine))


def test_two_parts_of_one_thing_change_places_in_one_plan() -> None:
    """What gave way goes first, and what it gave way for follows: neither waits for a turn that never comes."""
    parts = {"cold": "I", "hot": "I"}
    found = swapped(Foreseeing(rewrites=parts))
    assert not found.refused
    assert [(r.bundle.key, r.name) for r in found.routes] == [("cold", "move"), ("hot", "after cold")]
    assert "hot" in swapped(Engine(rewrites=parts)).refused.bundles  # an engine that cannot foresee it
    assert [r.name for r in swapped(Foreseeing()).routes] == ["move", "move"]  # nothing is written twice


def test_one_other_part_follows_what_gave_way() -> None:
    """A third one waits for a later plan: what the first two leave cannot be foreseen for it."""
    units = [
        Unit(key="cold", size=2 * MIB, space="fast"),
        Unit(key="colder", size=2 * MIB, space="fast"),
        Unit(key="hot", size=4 * MIB, sync=90.0),
    ]
    situation = Site(room={"fast": 0, "slow": 10**15}).situation(units)
    plan = make_plan(situation, BARE)
    assert sorted(move.key for move in plan.moves) == ["cold", "colder", "hot"]
    engine = Foreseeing(rewrites=dict.fromkeys(("cold", "colder", "hot"), "I"))
    assert set(find_routes(situation, BARE, plan, cast(Connector, engine)).refused.bundles) == {"hot"}


def test_a_route_is_derived_again_by_its_bundle() -> None:
    """Just the same statements, among those that the connector makes now; where it makes none, no."""
    bundle = Bundle(key="t", physical_ids=(1,), unit_keys=("t",), kind=UnitKind.TABLE, size_bytes=1, space="slow")
    made = Engine().routes(bundle, "fast")
    assert isinstance(made, tuple)
    (route,) = made
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert derives(cast(Connector, Engine()), route, None, now)
    other = replace(route, steps=(Step(sql="DROP", purpose="move"),))
    assert not derives(cast(Connector, Engine()), other, None, now)
    assert not derives(cast(Connector, Engine(refuses=frozenset({"t"}))), route, None, now)


def test_two_that_come_up_still_take_turns() -> None:
    """Following is for what has to give way; two writings of one thing are no plan otherwise."""
    found = asked(family(), Foreseeing(rewrites={"t": "T", "i": "T"}))
    assert len(found.refused.bundles) == 1


def test_nobody_moves_into_what_moves_itself() -> None:
    """A table space that leaves in the same plan would take the newcomer along."""
    units = [Unit(key="a", sync=50.0, wide=TS), Unit(key="b", sync=50.0, wide=TS), Unit(key="u", sync=70.0)]
    found = asked(units, Engine(joins=TS), moves=2)
    why = f"{TS}, where it would go, moves in this plan; this one can follow in a later plan"
    assert found.refused.bundles == {"u": why}
    assert not asked(units, Engine(joins="table space OTHER"), moves=2).refused


def test_a_whole_without_a_way_is_remembered_by_its_name() -> None:
    """Its members may still go by themselves in the next round."""
    units = [Unit(key="a", sync=50.0, wide=TS), Unit(key="b", sync=50.0, wide=TS)]
    found = asked(units, Engine(refuses=frozenset({TS})), moves=1)
    situation = found.refused.learnt(Site().situation(units))
    assert (situation.no_wide, situation.no_route) == ({TS: "it does not move"}, {})
    assert not any(move.wide for move in make_plan(situation, BARE).moves)


def test_what_a_route_costs_is_weighed_once() -> None:
    """Of a dear one the plan is made again with its cost; not for a whole, and not where the plan knew it already."""
    units = [Unit(key="a", sync=50.0, wide=TS), Unit(key="b", sync=50.0, wide=TS), *family()[::2]]
    situation = Site().situation(units)
    plan = make_plan(situation, replace(BARE, maximum_moves=3))
    assert {bool(move.wide) for move in plan.moves} == {True, False}
    dear = [RouteCost(log_seconds=0.0, blocked_seconds=1e9, follow_up_seconds=0.0)] * len(plan.moves)
    cheap = [RouteCost(log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0)] * len(plan.moves)
    own = {move.key for move in plan.moves if not move.wide}
    assert set(_costs_to_weigh(situation, plan, dear, BARE)) == own
    assert _costs_to_weigh(situation, plan, cheap, BARE) == {}
    slow = [replace(cost, copy_seconds=1e9) for cost in cheap]  # it copies for longer than anybody thought
    assert set(_costs_to_weigh(situation, plan, slow, BARE)) == own
    known = min(own)
    situation = replace(situation, route_costs={known: dear[0]})
    assert set(_costs_to_weigh(situation, plan, dear, BARE)) == own - {known}


def test_an_order_that_finds_no_room_is_not_taken() -> None:
    """Where cold data makes room in between, the two wait for the later turn; and what goes down joins nobody."""
    units = [
        Unit(key="cold", size=2 * MIB, space="fast"),
        Unit(key="t", size=2 * MIB, sync=90.0),
        Unit(key="i", size=2 * MIB, sync=20.0, kind=UnitKind.INDEX, parent=1001),
    ]
    site = Site(room={"fast": 2 * MIB, "slow": 10**15})
    situation = site.situation(units)
    plan = make_plan(situation, BARE)
    assert [move.key for move in plan.moves] == ["t", "cold", "i"]
    later = combine_moves(plan, 0, 2, situation, BARE)
    assert later is not None
    assert [move.key for move in later.moves] == ["cold", "t"]
    assert combine_moves(plan, 0, 1, situation, BARE) is None
