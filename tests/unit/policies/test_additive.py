"""The worth of a table and its index together: a lookup waits for both, one after the other, so their worths add up.

Lookups are played one by one here, page by page, without the model; the model's figures must come out of that.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from connectors.model.moves import UnitKind
from policies.model.settings import PolicySettings
from policies.placement.balancer import make_plan
from tests.unit.policies.situations import HDD, MIB, SSD, Site, Unit

SETTINGS = PolicySettings(head_room_ratio=0.0)
LOOKUPS = 3_600  # in an hour
COVERED = 0.25  # share of them that the index answers alone
LEAVES, ROWS = 1, 2  # pages that one of them reads of the index, and of the table if it has to
SPEED = {"fast": SSD.random_read_seconds, "slow": HDD.random_read_seconds}


def played(index: str, table: str, index_of_table: tuple[int, int] = (LEAVES, ROWS)) -> float:
    """Seconds that sessions wait in an hour, lookup by lookup; a row is read only once the index has named it."""
    waited = 0.0
    for number in range(LOOKUPS):
        clock = sum(SPEED[index] for _ in range(index_of_table[0]))
        if number % round(1 / COVERED):  # not covered
            clock += sum(SPEED[table] for _ in range(index_of_table[1]))
        waited += clock
    return waited


def counted() -> list[Unit]:
    """What an engine's counters say of the same hour."""
    asked = LOOKUPS / 3600
    return [
        Unit(key="table", sync=asked * (1 - COVERED) * ROWS, size=50 * MIB),
        Unit(key="index", sync=asked * LEAVES, size=10 * MIB, kind=UnitKind.INDEX),
    ]


@pytest.mark.parametrize("homes", list(product(("fast", "slow"), repeat=2)), ids="-".join)
def test_a_lookup_waits_for_the_sum(homes: tuple[str, str]) -> None:
    """Wherever table and index are, the model's wait is what the lookups waited."""
    table, index = homes
    units = [replace(unit, space=home) for unit, home in zip(counted(), homes, strict=True)]
    plan = make_plan(Site(room={"fast": 10**9, "slow": 10**15}).situation(units), SETTINGS)
    assert plan.wait_per_hour == pytest.approx(played(index, table))


def test_together_they_save_what_each_saves_alone() -> None:
    """The saving of both is the sum of the savings of either, played and planned."""
    none = played("slow", "slow")
    alone = none - played("fast", "slow"), none - played("slow", "fast")
    assert none - played("fast", "fast") == pytest.approx(sum(alone))
    plan = make_plan(Site(room={"fast": 10**9, "slow": 10**15}).situation(counted()), SETTINGS)
    assert plan.wait_saved_per_hour == pytest.approx(sum(alone))
    assert sorted(move.wait_saved_per_hour for move in plan.moves) == pytest.approx(sorted(alone))


def test_with_room_for_one_the_denser_goes_and_is_worth_it_alone() -> None:
    """An index of a fifth of the bytes goes first although its table stays behind, and loses nothing by that."""
    plan = make_plan(Site(room={"fast": 12 * MIB, "slow": 10**15}).situation(counted()), SETTINGS)
    assert [move.key for move in plan.moves] == ["index"]
    assert plan.wait_saved_per_hour == pytest.approx(played("slow", "slow") - played("fast", "slow"))


def test_what_moves_as_one_is_worth_the_sum() -> None:
    """Where an index and its table are one bundle, one without the other is not on offer, and the sum decides."""
    units = [replace(unit, bundle=7) for unit in counted()]
    tight = make_plan(Site(room={"fast": 12 * MIB, "slow": 10**15}).situation(units), SETTINGS)
    assert tight.moves == ()
    wide = make_plan(Site(room={"fast": 10**9, "slow": 10**15}).situation(units), SETTINGS)
    assert [len(move.rows) for move in wide.moves] == [2]
    assert wide.wait_saved_per_hour == pytest.approx(played("slow", "slow") - played("fast", "fast"))


def test_pages_read_ahead_count_for_less() -> None:
    """Rows that are read ahead of the session, as a bitmap scan does, hide behind its work: only a share adds up."""
    situation = Site(room={"fast": 10**9, "slow": 10**15}).situation([Unit(key="table", prefetched=100.0, size=MIB)])
    plan = make_plan(situation, SETTINGS)
    whole = 100.0 * HDD.sequential_read_seconds * 3600
    assert plan.wait_per_hour == pytest.approx(whole * SETTINGS.prefetched_wait_share)
