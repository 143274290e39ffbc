"""What a connector does when its server falls silent: connections stay open, and no answer ever comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from connectors.kit.contract import CannotConnect, Connector, ConnectorError, OutcomeUnknown, Retry, TimedOut
from connectors.model.observation import Home
from tests.contract.asking import route_to
from tests.contract.harness import Ability, EngineHarness, FallsSilent, PlayTable
from tests.labs.silence import SilentWay, silent_way

ENOUGH_SECONDS = 20.0  # for limits of a second or two, an answer that may be late, and a busy machine
pytestmark = pytest.mark.needs(Ability.SILENCE)


@pytest.fixture
def way(harness: EngineHarness) -> Iterator[SilentWay]:
    """To the server of the harness."""
    assert isinstance(harness, FallsSilent)
    with silent_way(harness.server_address) as found:
        yield found


def begin(work: Callable[[], object]) -> Future[tuple[object, float]]:
    """Do the work in a thread that nothing waits for at the end of the tests; its result, and how long it took."""
    done: Future[tuple[object, float]] = Future()
    started = time.monotonic()

    def do() -> None:
        try:
            done.set_result((work(), time.monotonic() - started))
        except ConnectorError as error:
            done.set_result((error, time.monotonic() - started))
        except Exception as error:  # noqa: BLE001 (a fault, for the test to raise)
            done.set_exception(error)

    threading.Thread(target=do, daemon=True).start()
    return done


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # python-oracledb leaves its socket
def test_silence_costs_a_time_limit_and_no_more(
    harness: EngineHarness, connector: Connector, table: PlayTable, way: SilentWay
) -> None:
    """Reading, connecting and the lease say that the server is silent; a move never claims to be rolled back."""
    assert isinstance(harness, FallsSilent)
    route_to(connector, table.key, harness.target_space)  # what an emulated server does for the first time takes long
    reading, fresh, moving = (harness.connect_through(way) for _ in range(3))
    route = route_to(moving, table.key, harness.target_space)
    reading.identify()
    lease = moving.acquire_lease("silence")
    mover = moving.open_mover()
    mover.prepare(route)
    way.fall_silent()

    def move() -> None:
        try:
            mover.execute(route.steps[0])
        finally:
            mover.close()

    def is_held() -> bool:
        held = lease.is_held()
        lease.release()
        return held

    begun = [begin(work) for work in (reading.sample, fresh.identify, is_held, move)]
    sampled, connected, held, moved = (each.result(4 * ENOUGH_SECONDS) for each in begun)
    assert isinstance(sampled[0], CannotConnect | TimedOut)
    assert isinstance(connected[0], CannotConnect)
    assert {sampled[0].retry, connected[0].retry} == {Retry.LATER}
    assert held[0] is False
    assert isinstance(moved[0], OutcomeUnknown | CannotConnect)
    assert max(seconds for _, seconds in (sampled, connected, held, moved)) < ENOUGH_SECONDS
    for each in (reading, fresh, moving):
        each.close()
    way.close()
    assert connector.inspect(route).home is Home.SOURCE
