"""An index comes after its table, as far as room allows."""

from __future__ import annotations

from dataclasses import replace

from connectors.model.moves import UnitKind
from policies.model.settings import PolicySettings
from policies.placement.balancer import make_plan
from tests.unit.policies.referee import carried_out
from tests.unit.policies.situations import MIB, Site, Unit

SETTINGS = replace(PolicySettings(), head_room_ratio=0.0)
TABLE = Unit(key="table", size=50 * MIB, sync=60.0)  # physical id 1000: the first row
INDEX = Unit(key="table_pkey", size=5 * MIB, sync=60.0, parent=1000, kind=UnitKind.INDEX)


def order(units: list[Unit], site: Site | None = None) -> list[str]:
    """Keys in the order of their moves, after the referee has carried them out."""
    situation = (site or Site()).situation(units)
    plan = make_plan(situation, SETTINGS)
    list(carried_out(situation, plan, SETTINGS))
    return [move.key for move in plan.moves]


def test_an_index_waits_for_its_table() -> None:
    """The index saves ten times as much per byte, and still its table goes first."""
    assert order([TABLE, INDEX]) == ["table", "table_pkey"]


def test_an_index_whose_table_stays_does_not_wait() -> None:
    """Only a table that moves in the same plan is waited for."""
    cold = replace(TABLE, sync=0.0)
    other = Unit(key="other", size=30 * MIB, sync=30.0)
    assert order([cold, INDEX, other]) == ["table_pkey", "other"]


def test_others_keep_their_order() -> None:
    """What belongs to no table of the plan stays where its saving per byte puts it."""
    dense = Unit(key="dense", size=MIB, sync=50.0)
    thin = Unit(key="thin", size=30 * MIB, sync=10.0)
    assert order([TABLE, INDEX, dense, thin]) == ["dense", "table", "table_pkey", "thin"]


def test_room_comes_before_comfort() -> None:
    """Where what gives way needs the room that the index leaves behind, the index goes first after all."""
    cold = Unit(key="cold", size=60 * MIB, space="fast")
    site = Site(room={"fast": 40 * MIB, "slow": 56 * MIB})
    moves = order([TABLE, INDEX, cold], site)
    assert moves.index("table_pkey") < moves.index("cold") < moves.index("table")
