"""Routes, findings, threads and settings of the simulated connector, beyond what the contract asks of everyone."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
import yaml
from pydantic import ValidationError

from agent.model.clock import SystemClock
from connectors.kit.contract import Interrupted
from connectors.kit.findings import Severity
from connectors.kit.registry import find_engine
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.scenarios import eight_tables
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import World
from tests.simulated.worlds import make, move, single, space_of

ORDERS = '"shop"."orders"'


def test_the_registry_knows_it_and_its_sample_is_valid() -> None:
    """What `init` writes is what the settings accept, word for word."""
    engine = find_engine("simulated")
    settings = engine.settings.model_validate(yaml.safe_load(engine.sample_settings))
    assert isinstance(settings, SimulatedSettings)
    uncommented = (
        engine.sample_settings.replace("# units", "units").replace("# faults", "faults").replace("#   -", "  -")
    )
    assert engine.settings.model_validate(yaml.safe_load(uncommented))


@pytest.mark.parametrize("wrong", [{"unit": 5}, {"units": 0}, {"units": 1_000_001}, {"speed": 0}, {"scenario": "olap"}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    """Unknown keys and values out of range do not pass."""
    with pytest.raises(ValidationError):
        SimulatedSettings.model_validate(wrong)


@pytest.mark.parametrize(
    ("key", "space", "code"),
    [
        (ORDERS, "nvme", "no_such_space"),
        (ORDERS, "hdd", "already_there"),
        ('"shop"."documents" LOB "body"', "ssd", "moves_with_table"),
    ],
)
def test_why_there_is_no_route(key: str, space: str, code: str) -> None:
    """Each refusal has its code and a sentence."""
    _, connector, _ = make()
    refusal = connector.routes(single(connector, key), space)
    assert isinstance(refusal, NoRoute)
    assert refusal.code == code
    assert refusal.sentence.endswith(".")


def test_no_route_for_what_is_gone_or_too_large() -> None:
    """A dropped table, and one that would never fit, have none either."""
    world, connector, _ = make()
    bundle = single(connector, ORDERS)
    large = connector.routes(replace(bundle, size_bytes=10**12), "ssd")
    world.drop(ORDERS)
    gone = connector.routes(bundle, "ssd")
    assert isinstance(large, NoRoute)
    assert isinstance(gone, NoRoute)
    assert (large.code, gone.code) == ("too_large", "gone")


def test_online_is_the_kinder_way() -> None:
    """It comes first, says that sessions go on, and asks for more room."""
    _, connector, _ = make()
    found = connector.routes(single(connector, ORDERS), "ssd")
    assert isinstance(found, tuple)
    online, offline = found
    assert (online.online, offline.online) == (True, False)
    assert online.transient_bytes > offline.transient_bytes == 0


def test_inspect_notices_a_third_home() -> None:
    """Somebody moved the table elsewhere, or half of it: the route is told, not the journal."""
    world, connector, _ = make()
    documents = '"shop"."documents"'
    bundle = replace(single(connector, documents), unit_keys=(documents, f'{documents} LOB "body"'), space="hdd")
    found = connector.routes(bundle, "ssd")
    assert isinstance(found, tuple)
    world.placement.units.space[world.placement.row(documents)] = 1
    assert connector.inspect(found[0]).home is Home.SPLIT
    elsewhere = replace(found[0], to_space="nvme", bundle=replace(bundle, unit_keys=(documents,)))
    assert connector.inspect(elsewhere).home is Home.ELSEWHERE


def test_the_doctor_never_hides_that_it_is_a_model() -> None:
    """Model, memory, faults and fullness are findings of their own."""
    world, connector, _ = make(faults=[{"kind": "lost_sample", "at": [5]}])
    codes = {finding.code: finding.severity for finding in connector.doctor()}
    assert codes["model"] is Severity.INFO
    assert codes["in_memory"] is Severity.INFO
    assert codes["faults"] is Severity.WARNING
    assert "space_nearly_full" not in codes
    move(connector, "TABLE", '"shop"."measurements_2024q4"')
    move(connector, "TABLE", '"shop"."customers"')
    assert "space_nearly_full" in {finding.code for finding in connector.doctor()}
    assert world.placement.free_bytes()[1] >= 0


def test_one_device_is_worth_a_warning() -> None:
    """Where all spaces share a device nothing can be gained, and the doctor says so."""
    scenario = eight_tables(1, 0)
    same = replace(scenario.spaces[1], device=scenario.spaces[0].device)
    clock = SystemClock()
    world = World(SimulatedSettings(), clock, replace(scenario, spaces=(scenario.spaces[0], same)))
    assert "one_device" in {finding.code for finding in SimulatedConnector(world).doctor()}


def test_another_thread_samples_and_interrupts() -> None:
    """On a real clock a move runs beside samples, and stops within a moment of being told."""
    world = World(SimulatedSettings(), SystemClock())
    reading, moving = SimulatedConnector(world), SimulatedConnector(world)
    mover, ended = moving.open_mover(), []

    def run() -> None:
        try:
            mover.run(f'MOVE TABLE {ORDERS} TO SPACE "ssd"')
        except Interrupted as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 10
    while mover.progress() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(reading.sample().counters)
    assert reading.catalog().spaces[1].free_bytes == 0
    mover.interrupt()
    thread.join(timeout=10)
    assert len(ended) == 1
    assert space_of(world, ORDERS) == "hdd"
    assert not world.placement.running
