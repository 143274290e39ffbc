"""Proposals stored before a step said what it does: recognised, inspected and carried out as before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from connectors.model.moves import Route, Step
from connectors.model.observation import Home
from connectors.oracle import operations
from connectors.oracle.file_moves import numbers_of
from connectors.oracle.operations import (
    MOVE_DATAFILE,
    MOVE_TABLE,
    SET_DEGREE,
    file_number,
    moving_file,
    operation_of,
    rebuild,
    set_degree,
    setting_degree,
)
from tests.contract.asking import route_to, run
from tests.labs.oracle.harness import AGENT, running_harness
from tests.labs.oracle.model import Quirks
from tests.ledger.before_operations import all_steps, as_stored_before, stored_routes
from tests.oracle.every_route import every_route
from tests.oracle.made import index


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Route]:
    """Routes of that version."""
    return stored_routes(tmp_path / "ledger.db", "oracle")


def test_stored_steps_mean_what_steps_say_today(stored: dict[str, Route]) -> None:
    """Of every form of route: the statements are the same, and all that decides is recognised as it is said now."""
    made = every_route()
    assert len(made) == 11
    for name, route in made.items():
        old, new = all_steps(stored[name]), all_steps(route)
        assert [step.sql for step in old] == [step.sql for step in new], name
        assert all(step.operation is None for step in old)
        for before, now in zip(old, new, strict=True):
            assert now.operation is not None
            assert operation_of(before) == now.operation or now.operation.name == MOVE_TABLE, now.sql
    assert numbers_of(stored["files 0"]) == numbers_of(made["files 0"]) == (7, 12)


@pytest.mark.parametrize("name", ["IX REBUILD", "IX */ REBUILD", "NOPARALLEL", "it's"])
def test_a_name_decides_nothing(name: str) -> None:
    """An index that is called like a clause: its degree is restored, not taken for a rebuild."""
    piece = index(name=name, degree="8")
    for statement in (set_degree(piece), rebuild(piece, "FAST", online=True, parallel=4)):
        assert operations.recognise(f"/* hotplace move 0 tidy 1 */ {statement.sql}") == statement.operation


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM DUAL",
        "/* t */ ALTER DATABASE MOVE DATAFILE x TO '/a'",
        '/* t */ ALTER INDEX "A"."B" REBUILDS',
        '/* t */ ALTER INDEX "A"."B" COALESCE',
        "/* t */ ALTER INDEX B NOPARALLEL",
    ],
)
def test_a_broken_twin_is_nothing(sql: str) -> None:
    """Text that is nearly such a statement is recognised as none, and moves no file."""
    step = Step(sql=sql, purpose="stored before")
    assert operations.recognise(sql) is None
    with pytest.raises(LookupError, match="no data file"):
        file_number(step)


def test_the_words_of_a_step_decide_nothing() -> None:
    """Another wording of the same operation is the same step."""
    step = Step(sql='/* t */ ALTER INDEX "A"."B" REBUILD', purpose="move", operation=moving_file(7))
    assert (operation_of(step).name, file_number(step)) == (MOVE_DATAFILE, 7)
    assert operation_of(replace(step, operation=setting_degree(index(), "NOPARALLEL"))).name == SET_DEGREE


@pytest.mark.parametrize("old", [True, False])
def test_emulated_server_what_tidies_up_is_found(stored: dict[str, Route], old: bool) -> None:
    """The rebuild of Standard Edition 12.1, stored before or now: an index left unusable names the approved step."""
    with running_harness("stored", (12, 1, 0, 2, 0), Quirks(edition="SE2")) as lab:
        table = lab.create("stored")
        lab.table(table).indexes[0].name = "I1"
        connector = lab.connect()
        route = stored["lab table"]
        if not old:
            route = route_to(connector, table.key, "FAST")
            assert as_stored_before(route).steps == stored["lab table"].steps
        with connector.open_mover() as mover:
            mover.prepare(route)
            mover.execute(route.steps[0])
        left = connector.inspect(route).leftovers
        assert [step.sql for step in left] == [route.tidy_steps[0].sql]
        run(connector, replace(route, steps=route.steps[1:]))
        seen = connector.inspect(route)
        assert (seen.home, seen.leftovers) == (Home.TARGET, ())
        connector.close()


def test_emulated_server_a_stored_move_of_files_runs(stored: dict[str, Route]) -> None:
    """Carried out and taken back, the dictionary asked after each."""
    with running_harness("stored files") as lab:
        lab.create("stored")
        lab.database.users[AGENT].privileges.add("ALTER DATABASE")
        connector, route = lab.connector(move_by="tablespace"), stored["lab files"]
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
        run(connector, route, undo=True)
        assert connector.inspect(route).home is Home.SOURCE
        connector.close()
