"""Proposals stored before a step said what it does: recognised, inspected and carried out as before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.db2 import operations
from connectors.db2.operations import Phase, StorageChange, TableHomes, change_of, move_table, phase_of, using_group
from connectors.model.moves import Route, Step
from connectors.model.observation import Home
from tests.contract.asking import run
from tests.db2.conftest import Connect
from tests.db2.every_route import every_route
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import SLOW, TS_SLOW
from tests.ledger.before_operations import all_steps, stored_routes


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Route]:
    """Routes of that version."""
    return stored_routes(tmp_path / "ledger.db", "db2")


def test_stored_steps_mean_what_steps_say_today(stored: dict[str, Route]) -> None:
    """Of every form of route: the statements are the same, and the old ones are recognised as what the new ones say."""
    made = every_route()
    assert len(made) == 6
    for name, route in made.items():
        old, new = all_steps(stored[name]), all_steps(route)
        assert [step.sql for step in old] == [step.sql for step in new], name
        assert all(step.operation is None for step in old)
        assert all(step.operation is not None for step in new)
        assert [(phase_of(step), change_of(step)) for step in old] == [(phase_of(s), change_of(s)) for s in new], name
        assert all((phase_of(step) is None) != (change_of(step) is None) for step in new), name


@pytest.mark.parametrize("wording", ["CALL X", 'ALTER TABLESPACE "OTHER" REBALANCE'])
def test_the_words_of_a_step_decide_nothing(wording: str) -> None:
    """Another wording of the same operation is the same step."""
    call = Phase("APP", "ORDERS", TableHomes("A", "B", "C"), "INIT")
    assert phase_of(Step(sql=wording, purpose="move", operation=call.as_operation())) == call
    change = StorageChange("TS", add=("/a",), drop=("/b", "/c"))
    assert change_of(Step(sql=wording, purpose="move", operation=change.as_operation())) == change


@pytest.mark.parametrize("name", ["T", "it's", 'a "b"', "dot.ted", "Ünï 表", "/* x */ --", "new\nline", "x,'y'"])
def test_statements_are_recognised(name: str) -> None:
    """What was written is read back, whatever the names hold."""
    homes = TableHomes(f"{name}1", f"{name}2", f"{name}3")
    call = Step(sql=move_table("S", name, homes, "KEEP", "INIT") + " /* hotplace move 0 step 1 */", purpose="move")
    assert phase_of(call) == Phase("S", name, homes, "INIT")
    assert change_of(call) is None
    change = Step(sql=using_group(name, f"{name}G") + " /* hotplace move 0 step 1 */", purpose="move")
    assert phase_of(change) is None
    assert change_of(change) == StorageChange(name, f"{name}G")


@pytest.mark.parametrize(
    "broken",
    [
        move_table("S", "T", None, "", "COPY").replace("'COPY'", "COPY"),
        move_table("S", "T", None, "", "COPY").replace(",''", "", 1),
        move_table("S", "T", None, "", "COPY").replace("MOVE_TABLE", "MOVE_TABLE_UTIL"),
        "ALTER TABLESPACE TS REBALANCE",
        'ALTER TABLESPACE "TS_SLOW" REBALANCE RESUMED',
        "ALTER TABLESPACE \"TS\" ADD (FILE '/a' 1) DROP",
        "ALTER TABLESPACE \"TS_SLOW\" DROP (FILE '/a' 400)",
        'ALTER TABLESPACE "TS" MANAGED BY AUTOMATIC STORAGE USING STOGROUP "G" REBALANCE',
        'ALTER TABLESPACE "TS" MANAGED BY DATABASE USING STOGROUP "G"',
    ],
)
def test_other_statements_are_not_taken_for_one(broken: str) -> None:
    """A broken twin is recognised as nothing: an argument or the quotes missing, another procedure, half a swap."""
    assert operations.recognise(broken) is None


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """An emulated server with the tables of the stored routes."""
    with running_db2("11.5") as running:
        running.lab.create_table("APP", "BY_TABLE", "BY_TABLE_PK", TS_SLOW, 500)
        running.lab.create_space("TS_MOVED", SLOW)
        running.lab.create_table("APP", "BY_SPACE", "BY_SPACE_PK", "TS_MOVED", 500)
        yield running


@pytest.mark.db2
@pytest.mark.xdist_group("db2")
@pytest.mark.parametrize(("name", "move_by"), [("lab table", "table"), ("lab space", "table_space")])
def test_emulated_server_a_stored_route_runs(
    stored: dict[str, Route], connect: Connect, name: str, move_by: str
) -> None:
    """Carried out and taken back over IBM's driver, the catalog asked after each."""
    route, connector = stored[name], connect(move_by=move_by)
    assert connector.inspect(route).home is Home.SOURCE
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    run(connector, route, undo=True)
    assert connector.inspect(route).home is Home.SOURCE
