"""Which units are worth looks."""

from __future__ import annotations

from agent.sampling.block_looks import MOST_UNITS, units_worth_looks
from policies.placement.dispatch import plan_mode
from tests.unit.policies.situations import BARE, MIB, Site, Unit

SITE = Site(room={"fast": 100 * MIB, "slow": 10**15})


def chosen(*units: Unit) -> list[str]:
    """Keys of the units chosen with a plan of the default mode."""
    situation = SITE.situation(list(units))
    return [each.key for each in units_worth_looks(situation, plan_mode(situation, BARE))]


def test_a_hot_table_that_does_not_fit_is_looked_into() -> None:
    """What fits moves as a whole, and what is cold or small is not worth a look."""
    assert chosen(
        Unit(key="large", size=400 * MIB, sync=300.0),
        Unit(key="fits", size=50 * MIB, sync=200.0),
        Unit(key="cold", size=400 * MIB, sync=0.5),
        Unit(key="small", size=MIB, sync=100.0),
    ) == ["large"]


def test_the_hottest_come_first_and_only_a_few() -> None:
    """A look costs the same whichever units it is for, but lists grow."""
    units = [Unit(key=f"u{at}", size=400 * MIB, sync=100.0 + at) for at in range(MOST_UNITS + 4)]
    found = chosen(*units)
    assert len(found) == MOST_UNITS
    assert found[0] == f"u{MOST_UNITS + 3}"


def test_what_is_on_the_fastest_tier_is_not_looked_into() -> None:
    """It is where all of its parts belong."""
    assert chosen(Unit(key="there", size=60 * MIB, sync=300.0, space="fast")) == []


def test_an_idle_database_has_none() -> None:
    """Where no session waits no part is worth anything."""
    assert chosen(Unit(key="idle", size=400 * MIB)) == []
