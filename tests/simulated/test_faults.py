"""Each fault does what it says, when it says so."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from connectors.kit.contract import (
    ConnectorError,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.simulated.settings import WHY, FaultKind, FaultPlan, SimulatedSettings
from policies.evidence.counter_deltas import Gap, difference
from tests.simulated.worlds import counter, make, move, space_of

INDEX = '"shop"."orders_pkey"'


def test_every_fault_has_its_reason() -> None:
    """Nobody has to guess why a correct agent must live through it."""
    assert set(WHY) == set(FaultKind)


def test_a_fault_that_never_strikes_is_a_mistake() -> None:
    """Neither `at` nor `probability` is refused."""
    with pytest.raises(ValidationError, match="probability"):
        SimulatedSettings.model_validate({"faults": [{"kind": "lost_sample"}]})


def test_chance_is_the_seeds() -> None:
    """A probability strikes about that often, and the same opportunities for the same seed."""
    settings = SimulatedSettings.model_validate({"faults": [{"kind": "lost_sample", "probability": 0.25}]})

    def struck(seed: int) -> list[bool]:
        plan = FaultPlan(settings.faults, seed)
        return [plan.strikes(FaultKind.LOST_SAMPLE) is not None for _ in range(2000)]

    assert struck(1) == struck(1) != struck(2)
    assert 400 < sum(struck(1)) < 600


def test_lost_sample() -> None:
    """The second sample is lost; the third spans the gap and has lost nothing."""
    _, connector, clock = make(faults=[{"kind": "lost_sample", "at": [2]}])
    clock.sleep(10.0)
    first = connector.sample()
    clock.sleep(10.0)
    with pytest.raises(TimedOut):
        connector.sample()
    clock.sleep(10.0)
    third = connector.sample()
    whole = difference(first, third, longest_seconds=3600.0)
    assert not isinstance(whole, Gap)
    assert whole.seconds == pytest.approx(20.0)


def test_counter_reset() -> None:
    """Another epoch, everything from zero, and the two samples make no interval."""
    _, connector, clock = make(faults=[{"kind": "counter_reset", "at": [2]}])
    clock.sleep(10.0)
    first = connector.sample()
    clock.sleep(10.0)
    second = connector.sample()
    assert second.epoch != first.epoch
    assert not len(second.physical_id)
    assert set(second.database.values()) == {0.0}
    assert isinstance(difference(first, second, longest_seconds=3600.0), Gap)


def test_unit_reset() -> None:
    """The hottest unit's counters fall while the epoch stays: it alone is not observed."""
    _, connector, clock = make(faults=[{"kind": "unit_reset", "at": [2]}])
    clock.sleep(10.0)
    first = connector.sample()
    clock.sleep(10.0)
    second = connector.sample()
    assert second.epoch == first.epoch
    interval = difference(first, second, longest_seconds=3600.0)
    assert not isinstance(interval, Gap)
    demand = connector.classify(interval, connector.catalog())
    units = connector.catalog().units
    unseen = interval.physical_id[~demand.observed]
    assert [units.key[row] for row in units.rows_of(unseen)] == ['"shop"."orders"']


def test_slow_catalog() -> None:
    """The catalog answers late, with the truth."""
    _, connector, clock = make(faults=[{"kind": "slow_catalog", "at": [1], "seconds": 45}])
    assert len(connector.catalog().units)
    assert clock.monotonic() == pytest.approx(45.0)


@pytest.mark.parametrize(
    ("kind", "error", "home"),
    [
        ("lock_not_obtained", LockNotObtained, "hdd"),
        ("space_full", SpaceFull, "hdd"),
        ("broken_before", OutcomeUnknown, "hdd"),
        ("broken_after", OutcomeUnknown, "ssd"),
    ],
)
def test_a_move_that_is_struck(kind: str, error: type[ConnectorError], home: str) -> None:
    """The error says what may be done, the catalog what has happened; afterwards nothing is reserved or running."""
    world, connector, _ = make(faults=[{"kind": kind, "at": [1]}])
    free = world.placement.free_bytes()
    with pytest.raises(error):
        move(connector, "INDEX", INDEX)
    assert space_of(world, INDEX) == home
    assert not world.placement.running
    assert np.array_equal(world.placement.free_bytes(), free) == (home == "hdd")
    move(connector, "INDEX", INDEX)
    assert space_of(world, INDEX) == "ssd"


def test_a_broken_session_stays_broken() -> None:
    """After OutcomeUnknown the session is of no more use."""
    _, connector, _ = make(faults=[{"kind": "broken_after", "at": [1]}])
    with connector.open_mover() as mover:
        with pytest.raises(OutcomeUnknown):
            mover.run(f'MOVE INDEX {INDEX} TO SPACE "ssd"')
        with pytest.raises(ConnectorError, match="ended"):
            mover.run(f'MOVE INDEX {INDEX} TO SPACE "ssd"')


def test_an_index_rebuilt_online_has_another_id() -> None:
    """Its key and counters stay, its physical id does not: heat must go by the key."""
    _, connector, clock = make()
    clock.sleep(600.0)
    before, units = counter(connector, INDEX, "sync_reads"), connector.catalog().units
    old = int(units.physical_id[list(units.key).index(INDEX)])
    move(connector, "INDEX", INDEX, online=True)
    units = connector.catalog().units
    assert int(units.physical_id[list(units.key).index(INDEX)]) > old
    assert counter(connector, INDEX, "sync_reads") >= before > 0


def test_a_move_that_takes_too_long_is_rolled_back() -> None:
    """The step's time limit holds."""
    world, connector, _ = make()
    with connector.open_mover() as mover, pytest.raises(TimedOut):
        mover.run('MOVE TABLE "shop"."orders" TO SPACE "ssd"', timeout_seconds=1.0)
    assert not world.placement.running


def test_a_drop_in_mid_copy_ends_the_move() -> None:
    """Whoever drops the table wins; no room stays reserved."""
    world, connector, clock = make()
    table = '"shop"."measurements_2024q4"'
    free = int(world.placement.free_bytes()[1])
    clock.call_later(1.0, lambda: world.drop(table))
    with pytest.raises(ObjectGone):
        move(connector, "TABLE", table)
    assert int(world.placement.free_bytes()[1]) == free


def test_progress_rises_to_the_whole() -> None:
    """While it runs progress() tells bytes; before and after it tells nothing."""
    _, connector, clock = make()
    seen = []
    with connector.open_mover() as mover:

        def look() -> None:
            assert mover.progress() is not None
            seen.append(mover.progress())
            clock.call_later(1.0, look)

        assert mover.progress() is None
        clock.call_later(0.5, look)
        mover.run('MOVE TABLE "shop"."measurements_2024q4" TO SPACE "ssd"')
        assert mover.progress() is None
    bytes_done = [p.done_bytes for p in seen if p is not None]
    assert bytes_done == sorted(bytes_done)
    assert 0 < bytes_done[-1] <= 10**9


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "DROP TABLE x",
        'MOVE TABLE "a" TO SPACE "ssd"',
        'MOVE TABLE "a"."b" TO SPACE "ssd"; MOVE TABLE "a"."c" TO SPACE "ssd"',
        'MOVE TABLE "a"b"."c" TO SPACE "ssd"',
        'MOVE TABLE "shop"."orders_pkey" TO SPACE "ssd"',
        "SET LOCK_TIMEOUT -1 MS",
    ],
)
def test_what_is_not_understood_fails_loudly(sql: str) -> None:
    """Text that is no statement of the language, or names an object of another kind, is refused."""
    _, connector, _ = make()
    with connector.open_mover() as mover, pytest.raises(StatementFailed):
        mover.run(sql)
