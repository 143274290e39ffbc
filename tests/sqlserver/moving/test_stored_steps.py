"""Proposals stored before a step said what it does: recognised, inspected and carried out as before."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.kit.contract import Paused
from connectors.model.moves import Operation, Route, Step
from connectors.model.observation import Home
from connectors.sqlserver import operations
from connectors.sqlserver.operations import dropped_table, file_step_of, operation_of, resumable_index
from connectors.sqlserver.plan_drift import drift_reason
from tests.contract.asking import run
from tests.labs.sqlserver.harness import running_harness
from tests.labs.sqlserver.lab import running_lab
from tests.labs.sqlserver.world import add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.ledger.before_operations import all_steps, as_stored_before, stored_routes
from tests.sqlserver.every_route import every_route
from tests.sqlserver.made import bundle, index, settings, table
from tests.sqlserver.moving.test_files import connected
from tests.sqlserver.test_routes import ENTERPRISE_2019, found

DECIDING = {
    operations.DROP_INDEX,
    operations.DROP_SCHEME,
    operations.DROP_FUNCTION,
    operations.DROP_TABLE,
    operations.ABORT_BUILD,
}

# Forms whose statements are others today; what is stored of them is refused before its first statement.
WORDED_OTHERWISE = {"partition", "switch", "empty"}  # a scheme without NEXT USED; other eyes count rows today
REFUSED = {"switch"}  # its statements come in another order, too


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Route]:
    """Routes of that version."""
    return stored_routes(tmp_path / "ledger.db", "sqlserver")


def unnumbered(name: str | None) -> str | None:
    """A name without the number of its move, which follows from the text of its statements."""
    return None if name is None else re.sub(r"hotplace_[0-9a-f]{8}", "hotplace_", name)


def test_stored_steps_mean_what_steps_say_today(stored: dict[str, Route]) -> None:
    """Of every form of route: the statements build the same, and all that decides is recognised as it is said now."""
    made = every_route()
    assert len(made) == 18
    for name, route in made.items():
        old, new = all_steps(stored[name]), all_steps(route)
        if name.split()[0] not in WORDED_OTHERWISE:
            assert operations.built_by(old) == operations.built_by(new), name
        assert all(step.operation is None for step in old)
        assert all(step.operation is not None for step in new)
        for before, now in zip(old, new, strict=True) if name.split()[0] not in REFUSED else ():
            assert file_step_of(before) == file_step_of(now), now.sql
            assert unnumbered(resumable_index(before)) == unnumbered(resumable_index(now)), now.sql
            assert unnumbered(dropped_table(before)) == unnumbered(dropped_table(now)), now.sql
            names = {operation_of(step).name for step in (before, now)}
            assert len(names) == 1 or not names & DECIDING, now.sql
        first = {operation_of(route.steps[0]).name, operation_of(stored[name].steps[0]).name}
        assert len(first) == 1 or operations.CREATE_SCHEME not in first, name


@pytest.mark.parametrize(
    "sql",
    [
        "--",
        "SELECT 1",
        "/* t */ DROP TABLE [a].[b] ON x",
        "/* t */ ALTER DATABASE [a] REMOVE FILE b",
        "DROP TABLE [a].[b]",
    ],
)
def test_a_broken_twin_is_nothing(sql: str) -> None:
    """Text that is nearly such a statement is recognised as none."""
    assert operations.recognise(Step(sql=sql, purpose="stored before")) is None


def test_the_words_of_a_step_decide_nothing() -> None:
    """Another wording of the same operation is the same step."""
    added = Operation(operations.ADD_FILE, {"file": "a", "filegroup": "HDD", "folder": "S:\\"})
    step = Step(sql="EXEC add_a_file", purpose="move", operation=added)
    assert file_step_of(step) == operations.FileStep("add", "a", "HDD", "S:\\")
    dropped = Operation(operations.DROP_TABLE, {"table": "t"})
    assert dropped_table(replace(step, sql="/* t */ DROP TABLE [x].[y]", operation=dropped)) == "t"


@pytest.mark.parametrize("old", [True, False])
def test_what_is_built_is_compared_and_not_how(old: bool) -> None:
    """Other MAXDOP, other sort: still fits; another fill factor since: does not. Stored before or now."""
    then = found(table(index()), maxdop=8, sort_in_tempdb=True)[1]
    approved = as_stored_before(then) if old else then
    assert drift_reason(table(index()), approved, ENTERPRISE_2019, settings(maxdop=1)) == ""
    changed = drift_reason(table(index(fill_factor=70)), approved, ENTERPRISE_2019, settings())
    assert changed == f"{bundle().key} is not what it was when this was planned"


def test_emulated_server_a_stored_route_by_files_runs(
    stored: dict[str, Route], driver: OdbcDriver, tmp_path: Path
) -> None:
    """Carried out and taken back, the catalog asked after each."""
    with running_lab(major=15, engine_edition=2) as lab:
        add_table(lab.shop, "orders", pages=4000)
        connector, route = connected(lab, driver, tmp_path), stored["lab files"]
        run(connector, route)
        seen = connector.inspect(route)
        assert (seen.home, seen.leftovers, seen.paused, seen.on_disk) == (Home.TARGET, (), False, True)
        run(connector, route, undo=True)
        assert connector.inspect(route).home is Home.SOURCE
        connector.close()


def test_emulated_server_a_stored_resumable_build_runs(stored: dict[str, Route], driver: OdbcDriver) -> None:
    """Held in the middle, found held by the catalog, gone on with to its end."""
    with running_harness(driver) as harness:
        harness.create("stored")
        harness._tables["stored"].indexes[2].name = "i1"  # type: ignore[attr-defined]  # the lab's own harness
        connector, route = harness.connect(), stored["lab twin"]
        with connector.open_mover() as mover:
            mover.prepare(route)
            with pytest.raises(Paused):
                harness.execute_paused(mover, route.steps[0])  # type: ignore[attr-defined]  # the lab's own harness
        seen = connector.inspect(route)
        assert (seen.home, seen.paused) == (Home.SOURCE, True)
        assert [operation_of(step).name for step in seen.leftovers] == [operations.ABORT_BUILD]
        with connector.open_mover() as mover:
            mover.prepare(route)
            mover.resume(route.steps[0])
            mover.execute(route.steps[1])
        assert connector.inspect(route).home is Home.TARGET
        connector.close()
