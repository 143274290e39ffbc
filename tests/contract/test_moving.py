"""What happens when a connector moves something, or is kept from it."""

from __future__ import annotations

import pytest

from agent.planning.routing import derives
from connectors.kit.contract import (
    Connector,
    ConnectorError,
    Interrupted,
    LeaseHeld,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    Paused,
    PrivilegeMissing,
    Retry,
    SpaceFull,
    StatementFailed,
)
from connectors.model.moves import Locked, LogVolume, NoRoute, Route, Step
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to, run, together
from tests.contract.harness import Ability, EngineHarness, Pausing, PlayTable

WEIRD = ("two words", 'do"uble', "apo'strophe", "dot.ted", "Ünïcödé 表", "x" * 63, "per%cent", "semi;colon --", "{b}\\")


def test_routes_are_complete(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Each route names its way, its locks, tagged statements and how to take it back."""
    for key in (table.key, table.index_key):
        for route in _routes(connector, key, harness.target_space):
            assert route.name
            assert route.locks
            assert route.to_space == harness.target_space
            assert route.steps
            assert route.undo_steps
            assert all("/* hotplace" in step.sql for step in (*route.steps, *route.undo_steps))
            assert route.log_bytes >= 0
            assert (route.log_volume is LogVolume.NONE) is (route.log_bytes == 0)
            assert route.locked is not None
            assert route.lock_seconds >= 0
            assert not (route.online and route.locked is Locked.ALL)
            assert all(work.what and (work.seconds is None or work.seconds >= 0) for work in route.follow_up)
            assert route.transient_bytes >= 0


def _routes(connector: Connector, key: str, space: str) -> tuple[Route, ...]:
    """Every way there."""
    found = connector.routes(bundle_of(connector.catalog(), key), space)
    assert isinstance(found, tuple)
    assert found
    return found


def test_the_same_statements_when_asked_again(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """For the bundle and target of a stored route: else nothing approved under a standing rule would ever begin."""
    for key in (table.key, table.index_key):
        for route in _routes(connector, key, harness.target_space):
            assert derives(connector, route, None, harness.clock.now()), route.name


def test_no_route_to_an_unknown_space(connector: Connector, table: PlayTable) -> None:
    """A space that does not exist gives a reason in words, not an error."""
    found = connector.routes(bundle_of(connector.catalog(), table.key), "no such space")
    assert isinstance(found, NoRoute)
    assert found.sentence


def test_no_route_to_where_it_is(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Going nowhere needs no statement."""
    found = connector.routes(bundle_of(connector.catalog(), table.key), harness.source_space)
    assert isinstance(found, NoRoute)


def test_asking_for_routes_changes_nothing(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """After routes() everything is where it was."""
    route = route_to(connector, table.key, harness.target_space)
    assert connector.inspect(route).home is Home.SOURCE


def test_every_route_goes_there_and_back(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Executing a route shows TARGET, undoing it shows SOURCE, for table and index and every way there is."""
    for key in (table.key, table.index_key):
        for at in range(len(_routes(connector, key, harness.target_space))):
            route = _routes(connector, key, harness.target_space)[at]
            run(connector, route)
            there = connector.inspect(route)
            assert there.home is Home.TARGET, route.name
            assert there.on_disk in (True, None)
            assert bundle_of(connector.catalog(), key).space == harness.target_space
            run(connector, route, undo=True)
            assert connector.inspect(route).home is Home.SOURCE, route.name


@pytest.mark.needs(Ability.LOB)
def test_a_bundle_moves_as_one(harness: EngineHarness, connector: Connector) -> None:
    """No unit of a bundle stays behind, nor of bundles that a plan moves together."""
    table = harness.create("play_bundle", lob=True)
    try:
        assert table.lob_key is not None
        bundle = bundle_of(connector.catalog(), table.key)
        if table.lob_key not in bundle.unit_keys:
            bundle = together(connector, table.key, table.lob_key)
        found = connector.routes(bundle, harness.target_space)
        assert isinstance(found, tuple), found
        route = found[0]
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
        assert bundle_of(connector.catalog(), table.lob_key).space == harness.target_space
    finally:
        harness.drop(table)


@pytest.mark.needs(Ability.LOCK)
def test_a_lock_is_not_waited_for_long(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """While somebody uses the table the move gives up soon, and nothing has changed."""
    for route in _routes(connector, table.key, harness.target_space):
        began = harness.clock.monotonic()
        with harness.hold_lock(table), pytest.raises(LockNotObtained) as caught:
            run(connector, route)
        assert harness.clock.monotonic() - began < 60
        assert caught.value.retry is Retry.LATER
        assert connector.inspect(route).home is Home.SOURCE


@pytest.mark.needs(Ability.INTERRUPT)
def test_an_interrupt_leaves_it_where_it_was(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """A cancelled move raises Interrupted, leaves nothing running and the object at home."""
    route = route_to(connector, table.key, harness.target_space)
    with connector.open_mover() as mover:
        mover.prepare(route)
        with pytest.raises(Interrupted):
            harness.execute_interrupted(mover, route.steps[0])
    seen = connector.inspect(route)
    assert (seen.home, seen.running) == (Home.SOURCE, False)


@pytest.mark.needs(Ability.PAUSE)
def test_a_held_move_goes_on(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """A held move raises Paused, is at home and held by the catalog, and another session brings it to its end."""
    route = _held_route(harness, connector, table)
    seen = connector.inspect(route)
    assert (seen.home, seen.running, seen.paused) == (Home.SOURCE, False, True)
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.resume(route.steps[0])
        for step in route.steps[1:]:
            mover.execute(step)
    seen = connector.inspect(route)
    assert (seen.home, seen.paused) == (Home.TARGET, False)


@pytest.mark.needs(Ability.PAUSE)
def test_a_held_move_can_be_given_up(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """What inspect() names as left over, or else the step's undo, ends a held move: it is at home, not held."""
    route = _held_route(harness, connector, table)
    step = route.steps[0]
    ends = connector.inspect(route).leftovers or (Step(sql=step.undo_sql, purpose="give up"),)
    assert {end.sql for end in ends} <= {step.undo_sql, *(tidy.sql for tidy in route.tidy_steps)}
    with connector.open_mover() as mover:
        for end in ends:
            mover.execute(end)
    seen = connector.inspect(route)
    assert (seen.home, seen.running, seen.paused, seen.leftovers) == (Home.SOURCE, False, False, ())


def _held_route(harness: EngineHarness, connector: Connector, table: PlayTable) -> Route:
    """A route whose first step has been held in the middle, by a mover that is gone."""
    assert isinstance(harness, Pausing)
    route = harness.pausable_route(connector, table)
    assert route.steps[0].pausable
    with connector.open_mover() as mover:
        mover.prepare(route)
        with pytest.raises(Paused) as caught:
            harness.execute_paused(mover, route.steps[0])
    assert caught.value.retry is Retry.LATER
    return route


def test_what_does_not_run_cannot_be_held(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """pause() with nothing running sends nothing and says False."""
    route = route_to(connector, table.key, harness.target_space)
    with connector.open_mover() as mover:
        mover.prepare(route)
        assert mover.pause() is False
    assert connector.inspect(route).home is Home.SOURCE


@pytest.mark.needs(Ability.BREAK)
def test_a_broken_session_means_unknown(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """When the session dies under a statement nobody claims to know; inspect() does."""
    route = route_to(connector, table.key, harness.target_space)
    with connector.open_mover() as mover:
        mover.prepare(route)
        with pytest.raises(OutcomeUnknown) as caught:
            harness.execute_broken(mover, route.steps[0])
    assert caught.value.retry is Retry.RECONCILE
    assert connector.inspect(route).home in (Home.SOURCE, Home.TARGET)


@pytest.mark.needs(Ability.FULL)
def test_a_full_space_refuses(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Without room the move is refused for good and nothing has changed."""
    route = route_to(connector, table.key, harness.target_space)
    with harness.target_full(), pytest.raises(SpaceFull) as caught:
        run(connector, route)
    assert caught.value.retry is Retry.NEVER
    assert connector.inspect(route).home is Home.SOURCE


def test_a_dropped_object_is_gone(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Moving what was dropped meanwhile raises ObjectGone, and inspect() says GONE."""
    route = route_to(connector, table.key, harness.target_space)
    harness.drop(table)
    with pytest.raises(ObjectGone) as caught:
        run(connector, route)
    assert caught.value.advice
    assert connector.inspect(route).home is Home.GONE


def test_nonsense_is_refused(connector: Connector) -> None:
    """A statement the engine does not know fails loudly."""
    with connector.open_mover() as mover, pytest.raises(StatementFailed):
        mover.execute(Step(sql="PLEASE BE FASTER", purpose="nonsense"))


@pytest.mark.needs(Ability.RESTRICTED)
def test_a_login_without_the_right_is_told(harness: EngineHarness, table: PlayTable) -> None:
    """A login that may only look gets PrivilegeMissing with advice, and nothing has changed."""
    connector = harness.restricted_connect()
    try:
        route = route_to(connector, table.key, harness.target_space)
        with pytest.raises(PrivilegeMissing) as caught:
            run(connector, route)
        assert caught.value.advice
        assert connector.inspect(route).home is Home.SOURCE
    finally:
        connector.close()


@pytest.mark.needs(Ability.RESTRICTED)
def test_the_doctor_notices_a_missing_right(harness: EngineHarness) -> None:
    """Whoever may not move hears it from the doctor first, with the remedy."""
    connector = harness.restricted_connect()
    try:
        assert [f for f in connector.doctor() if f.severity in ("warning", "error") and f.remedy]
    finally:
        connector.close()


def test_the_lease_is_exclusive(harness: EngineHarness, connector: Connector) -> None:
    """One agent acts; the next one hears that, and may once the first has let go."""
    other = harness.connect()
    try:
        lease = connector.acquire_lease("first")
        assert lease.is_held()
        with pytest.raises(LeaseHeld) as caught:
            other.acquire_lease("second")
        assert caught.value.retry is Retry.LATER
        lease.release()
        lease.release()
        assert not lease.is_held()
        second = other.acquire_lease("second")
        assert second.is_held()
        second.release()
    finally:
        other.close()


@pytest.mark.needs(Ability.WEIRD_NAMES)
@pytest.mark.parametrize("name", WEIRD)
def test_any_name_goes_there_and_back(harness: EngineHarness, connector: Connector, name: str) -> None:
    """Whatever an object is called, its statements name it and nothing else."""
    table = harness.create(name)
    try:
        for key in (table.key, table.index_key):
            route = route_to(connector, key, harness.target_space)
            run(connector, route)
            assert connector.inspect(route).home is Home.TARGET
            run(connector, route, undo=True)
            assert connector.inspect(route).home is Home.SOURCE
    finally:
        harness.drop(table)


def test_a_closed_connector_says_so(harness: EngineHarness) -> None:
    """Using a connector after close() is a connector's error, not a crash of its driver; closing twice is harmless."""
    connector = harness.connect()
    connector.identify()
    connector.close()
    connector.close()
    with pytest.raises(ConnectorError):
        connector.sample()
