"""Rows of a table that ADMIN_MOVE_TABLE has moved are counted by the agent before CLEANUP drops what it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from connectors.db2.counting import Written, lost_rows
from connectors.kit.contract import ConnectorError
from connectors.model.moves import Route
from connectors.model.observation import Home
from tests.contract.asking import bundle_of
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEY, ME = "APP.ORDERS", ("APP", "ORDERS")


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """The lab with one table of 8,000 rows."""
    db2.lab.create_table(*ME, "ORDERS_PK", TS_SLOW, 2000)
    before = db2.lab.behave(swap_loses=())
    yield db2.lab
    db2.lab.behave(**before)
    for name in db2.lab.tables("APP"):
        db2.lab.drop_table("APP", name)


def a_route(connector: Any) -> Route:
    """The table to the fast table space."""
    found = connector.routes(bundle_of(connector.catalog(), KEY), TS_FAST)
    assert isinstance(found, tuple), found
    route: Route = found[0]
    return route


def carry_out(connector: Any, route: Route, before_cleanup: Callable[[], object] = bool) -> str:
    """As the executor does; what ended it, "" where nothing did."""
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.steps:
            if "CLEANUP" in step.sql:
                before_cleanup()
            try:
                mover.execute(step)
            except ConnectorError as error:
                return str(error)
    return ""


def test_emulated_server_rows_that_a_move_has_lost_keep_the_original(lab: Any, connect: Connect) -> None:
    """The statements all succeed, and a tenth of the rows is missing: CLEANUP is not called, nothing is placed."""
    connector = connect()
    route, rows = a_route(connector), lab.count_rows(*ME)
    lab.behave(swap_loses=("rows",))
    said = carry_out(connector, route)
    assert "rows" in said
    assert f"{rows:,}" in said
    assert lab.status(*ME) == "CLEANUP", "the original is there"
    found = connector.inspect(route)
    assert (found.home, "not counted yet" in found.sentence) == (Home.SPLIT, True)
    assert "CLEANUP" in found.leftovers[0].sql
    assert "rows" in carry_out(connector, replace(route, steps=found.leftovers)), "not by what tidies up, either"
    assert lab.count_rows("APP", "ORDERSAAAAAAxt") == rows
    lab.write_rows(*ME, inserted=rows - lab.count_rows(*ME))  # a person has put them back
    assert carry_out(connector, replace(route, steps=found.leftovers)) == ""
    assert connector.inspect(route).home is Home.TARGET


@pytest.mark.parametrize(
    ("inserted", "deleted", "lost", "goes"),
    [(5, 0, 0, True), (0, 7, 0, True), (5, 7, 0, True), (0, 0, 1, False), (5, 7, 8, False), (500, 0, 1, False)],
)
def test_emulated_server_what_is_written_meanwhile_is_no_loss(
    lab: Any, connect: Connect, inserted: int, deleted: int, lost: int, goes: bool
) -> None:
    """Rows that users insert and delete after SWAP are known by the table's counters: else nothing may differ."""
    connector = connect()
    route = a_route(connector)

    def meanwhile() -> None:
        lab.write_rows(*ME, inserted=inserted, deleted=deleted)
        lab.alter_table(*ME, rows=lab.count_rows(*ME) - lost)

    said = carry_out(connector, route, meanwhile)
    assert (said == "") is goes, said
    assert connector.inspect(route).home is (Home.TARGET if goes else Home.SPLIT)


@pytest.mark.parametrize(
    ("difference", "least", "most", "lost"),
    [
        (0, (0, 0), (0, 0), 0),
        (3, (0, 0), (0, 3), 0),  # written while SWAP or the count ran: in the figure or not
        (-3, (0, 0), (3, 0), 0),
        (4, (0, 0), (0, 3), 1),
        (-4, (0, 0), (3, 0), -1),
        (1, (500, 0), (500, 0), 501),
        (-499, (500, 0), (500, 0), 1),
        (-500, (500, 0), (502, 1), 0),
    ],
)
def test_how_many_rows_are_lost(difference: int, least: tuple[int, int], most: tuple[int, int], lost: int) -> None:
    """The figures agree if anything that may have been written in between explains them, and else not."""
    assert lost_rows(1000, 1000 - difference, Written(*least), Written(*most)) == lost


def test_emulated_server_after_a_restart_the_figures_have_to_agree(lab: Any, connect: Connect) -> None:
    """What was written between SWAP and a new session is not known: rows that differ are not taken for written."""
    connector = connect()
    route = a_route(connector)
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.steps[:-1]:
            mover.execute(step)
    found = connector.inspect(route)
    assert found.home is Home.SPLIT
    lab.write_rows(*ME, inserted=3)
    said = carry_out(connector, replace(route, steps=found.leftovers))
    assert "what was written since SWAP is not known" in said
    lab.write_rows(*ME, deleted=3)
    assert carry_out(connector, replace(route, steps=found.leftovers)) == ""
    assert connector.inspect(route).home is Home.TARGET
