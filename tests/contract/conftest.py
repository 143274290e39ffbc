"""The contract runs over every harness there is."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import compress, count

import pytest

from connectors.kit.contract import Connector
from connectors.kit.recorded_columns import table_of
from tests.contract.harness import Ability, EngineHarness, HarnessFactory, MakesCases, Pausing, PlayTable
from tests.recordings.scene import Scene, scene_of

SOURCES = (
    "tests.simulated.harness",
    "tests.labs.postgresql",
    "tests.labs.db2",
    "tests.labs.oracle.harness",
    "tests.labs.sqlserver.harness",
)
_NUMBERS = count(1)


def pytest_configure(config: pytest.Config) -> None:
    """Make the suite's own marker known."""
    config.addinivalue_line("markers", "needs(*abilities): what a harness must be able to do, see harness.Ability")


def _exists(module: str) -> bool:
    package = module.rpartition(".")[0]
    return find_spec(package) is not None and find_spec(module) is not None


def _factories() -> dict[str, HarnessFactory]:
    """Every engine's harness by name. Starts nothing."""
    found: dict[str, HarnessFactory] = {}
    for source in filter(_exists, SOURCES):
        offered = getattr(importlib.import_module(source), "contract_harnesses", None)
        found.update(offered() if offered else {})
    return found


FACTORIES = _factories()


def _never() -> dict[str, Mapping[Ability, str]]:
    """What an engine has not by its nature, by harness name: such a test does not exist for it."""
    never: dict[str, Mapping[Ability, str]] = {}
    for source in filter(_exists, SOURCES):
        module = importlib.import_module(source)
        lacking: Mapping[str, Mapping[Ability, str]] = getattr(module, "NEVER", {})
        never.update(lacking)
    return never


NEVER = _never()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not exist for an engine; what a machine lacks is skipped instead, in words."""
    never = [bool(_needs(item) & NEVER.get(_engine_of(item), {}).keys()) for item in items]
    if any(never):
        config.hook.pytest_deselected(items=list(compress(items, never)))
        items[:] = [item for item, is_never in zip(items, never, strict=True) if not is_never]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, and why."""
    for name, abilities in NEVER.items():
        for ability, why in abilities.items():
            terminalreporter.write_line(f"contract: no test of {name!r} to {ability.value}: {why}")


def _needs(item: pytest.Item) -> set[Ability]:
    return {ability for mark in item.iter_markers("needs") for ability in mark.args}


def _engine_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("harness", "")) if callspec else ""


def _parameter(name: str) -> object:
    """One engine stays in one worker, so that its server is started once."""
    marks = [pytest.mark.xdist_group(f"contract {name}")]
    if name.startswith("postgresql"):
        marks.append(pytest.mark.postgresql)
    if name.startswith("db2"):
        marks.append(pytest.mark.db2)
    return pytest.param(name, marks=marks)


@pytest.fixture(scope="session", params=[_parameter(name) for name in FACTORIES])
def harness(request: pytest.FixtureRequest) -> Iterator[EngineHarness]:
    """A running engine."""
    with FACTORIES[request.param]() as running:
        yield running


@pytest.fixture(autouse=True)
def _able(request: pytest.FixtureRequest, harness: EngineHarness) -> None:
    """Skip, in words, what the engine cannot do."""
    for mark in request.node.iter_markers("needs"):
        for ability in mark.args:
            assert isinstance(ability, Ability)
            if ability in harness.cannot:
                pytest.skip(f"{harness.name} cannot {ability.value}: {harness.cannot[ability]}")
            if ability is Ability.CASES and not isinstance(harness, MakesCases):
                pytest.skip(f"{harness.name} cannot {ability.value}: it has none yet, or its lab carries out no DDL")
            if ability is Ability.PAUSE and not isinstance(harness, Pausing):
                pytest.skip(f"{harness.name} cannot {ability.value}: its connector does not know how yet")


@pytest.fixture
def connector(harness: EngineHarness) -> Iterator[Connector]:
    """A connection with every right."""
    connected = harness.connect()
    yield connected
    connected.close()


@pytest.fixture
def table(harness: EngineHarness) -> Iterator[PlayTable]:
    """A table of its own for the test."""
    made = harness.create(f"play_{next(_NUMBERS)}")
    yield made
    harness.drop(made)


@pytest.fixture
def other_table(harness: EngineHarness) -> Iterator[PlayTable]:
    """A second one, that nobody touches."""
    made = harness.create(f"play_{next(_NUMBERS)}")
    yield made
    harness.drop(made)


@pytest.fixture
def scene(harness: EngineHarness, connector: Connector, table: PlayTable) -> Iterator[Scene]:
    """A table that is worth a move, in a database that is asked by queries."""
    if table_of(connector.identify().engine) is None:
        pytest.skip("a simulated database has no queries")
    with scene_of(harness, connector, table) as made:
        yield made
