"""The cases of ``lab prove``, by the connector alone: units, every way there and back, and what a move keeps."""

from __future__ import annotations

import pytest

from agent.studies.prove.script import in_words, look
from connectors.kit.contract import Connector
from connectors.kit.proving import MOVES
from connectors.model.moves import Route
from connectors.model.observation import Home
from tests.contract.asking import bundle_of
from tests.contract.harness import Ability, EngineHarness, MakesCases


@pytest.mark.needs(Ability.CASES)
def test_each_case_goes_there_and_back_unchanged(harness: EngineHarness, connector: Connector) -> None:
    """Its units stand in the catalog; structure, rows, privileges, statistics and validity survive every way."""
    assert isinstance(harness, MakesCases)
    with harness.scratch() as (script, session):
        cases = [case for case in script.cases if case.purpose == MOVES]
        for case in cases:
            for statement in case.part("make"):
                session.run(statement.sql)
        catalog = connector.catalog()
        leading: dict[frozenset[int], str] = {}  # of each bundle the first of its units
        for key in (key for case in cases for key in case.units):
            leading.setdefault(frozenset(bundle_of(catalog, key).physical_ids), key)
        assert {bundle_of(catalog, key).space for key in leading.values()} == {harness.source_space}
        for case in cases:
            before = look(session, script, case)
            for key in case.units.keys() & set(leading.values()):
                _there_and_back(connector, key, harness.target_space)
            assert in_words(before.differences(look(session, script, case))) == ""


def _there_and_back(connector: Connector, key: str, space: str) -> None:
    """By each way there is; the move before may have given the unit another number."""
    ways = _routes(connector, key, space)
    for at in range(len(ways)):
        route = ways[0] if at == 0 else _routes(connector, key, space)[at]
        with connector.open_mover() as mover:
            for steps, home in ((route.steps, Home.TARGET), (route.undo_steps, Home.SOURCE)):
                mover.prepare(route)
                for step in steps:
                    mover.execute(step)
                assert connector.inspect(route).home is home, route.name


def _routes(connector: Connector, key: str, space: str) -> tuple[Route, ...]:
    found = connector.routes(bundle_of(connector.catalog(), key), space)
    assert isinstance(found, tuple), f"no way for {key}: {found}"
    return found
