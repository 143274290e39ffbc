"""Every row of a switched partition is there afterwards: rows hidden from the copy, counts that lie, a way back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from connectors.kit.contract import ConnectorError, StatementFailed
from connectors.model.moves import NoRoute, Operation, Route
from connectors.model.observation import Home
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.operations import operation_of
from tests.labs.sqlserver.lab import Lab, wait_until
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.world import FAST, SLOW
from tests.sqlserver.moving.test_switching_server import (
    AFTER,
    BEFORE,
    COPIER,
    carry_out,
    connected,
    homes,
    interrupted,
    lab,
    made,
    part,
    parts,
    route_of,
    rows,
    scheme,
    tidied,
)

__all__ = ["lab", "parts", "scheme"]  # fixtures
HIDDEN = 900


@pytest.fixture
def connector(lab: Lab, tmp_path: Path) -> Iterator[SqlserverConnector]:
    """One that switches partitions."""
    yield from connected(lab, tmp_path, partitions="switched")


@pytest.fixture
def keeping(lab: Lab, tmp_path: Path) -> Iterator[SqlserverConnector]:
    """One that keeps the replaced rows for a week."""
    yield from connected(lab, tmp_path, partitions="switched", keep_original=7 * 86400.0)


def hide(table: Table, *, rows: int = HIDDEN) -> None:
    """A policy with a filter predicate that shows nobody so many rows of partition 2."""
    table.predicates = ("tenants",)
    table.base.partitions[1].hidden = rows


def test_a_table_with_a_security_predicate_is_refused_by_name(connector: SqlserverConnector, parts: Table) -> None:
    """The copy would be made of what the predicate shows, while SWITCH takes all rows away."""
    hide(parts)
    with pytest.raises(AssertionError, match="security policy"):
        route_of(connector)


def test_rows_that_a_predicate_hides_are_never_lost(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """The policy comes while the tables are made, unseen by every check before: all rows stay where they were."""
    held, route = rows(parts), route_of(connector)
    error = moved_with(connector, lab, route, lambda: hide(parts))
    assert isinstance(error, StatementFailed)
    assert "as many rows in the copy" in str(error)
    assert (rows(parts), homes(lab, parts)) == (held, BEFORE)
    assert tidied(connector, route).home is Home.SOURCE
    assert (rows(parts), made(lab)) == (held, [])


def moved_with(
    connector: SqlserverConnector, lab: Lab, route: Route, meanwhile: Callable[[], None]
) -> ConnectorError | None:
    """Carry a route out, and let something happen before the first row is copied; how it ended."""
    ended: list[ConnectorError | None] = []
    with lab.stopped_at("INSERT INTO"):
        moving = threading.Thread(target=lambda: ended.append(carry_out(connector, route)))
        moving.start()
        wait_until(lab.instance.stopped.is_set, "the tables are made")
        meanwhile()
    moving.join()
    return ended[0]


def hide_unseen(parts: Table) -> None:
    """Rows that a policy hides, and a storage whose own count is off by just as many: nothing tells it before."""
    hide(parts)
    parts.base.partitions[1].miscounted = -HIDDEN


def test_a_count_of_the_storage_that_is_off_drops_nothing(
    connector: SqlserverConnector, lab: Lab, parts: Table
) -> None:
    """The exact count refuses the DROP: the move is not placed, and the replaced rows take their place again."""
    held, route = rows(parts), route_of(connector)
    error = moved_with(connector, lab, route, lambda: hide_unseen(parts))
    assert "has not as many rows as were copied" in str(error)
    assert parts.base.partitions[1].rows == held[0][1] - HIDDEN, "the copy is what users see"
    found = connector.inspect(route)
    assert (found.home, "not counted yet" in found.sentence) == (Home.SPLIT, True)
    assert set(found.unfinished) <= set(route.tidy_steps)
    assert "has not as many rows" in str(carry_out(connector, replace(route, steps=found.leftovers)))
    assert carry_out(connector, replace(route, steps=found.unfinished)) is None
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, BEFORE, [])
    assert connector.inspect(route).home is Home.SOURCE
    assert lab.instance.rows_moved == 0


@pytest.mark.parametrize("what", [
    "rows that came", "a row that changed", "rows that a policy hides", "rows that the storage does not count",
])  # fmt: skip
def test_what_was_written_since_is_not_lost_by_the_way_back(
    connector: SqlserverConnector, lab: Lab, parts: Table, what: str
) -> None:
    """The replaced rows do not take their place again: both tables stay, and a person decides."""
    route = route_of(connector)
    moved_with(connector, lab, route, lambda: hide_unseen(parts))
    copy = parts.base.partitions[1]
    parts.predicates = ()
    if what == "a row that changed":
        copy.version += 1
    elif what == "rows that came":
        copy.rows += 1
    elif what == "rows that the storage does not count":
        copy.rows, copy.miscounted = copy.rows + 1, copy.miscounted - 1
    else:
        parts.predicates, copy.hidden, copy.rows = ("tenants",), 3, copy.rows + 3
    seen, found = rows(parts), connector.inspect(route)
    assert "rows were written since" in str(carry_out(connector, replace(route, steps=found.unfinished)))
    assert (rows(parts), homes(lab, parts), len(made(lab))) == (seen, AFTER, 2)
    assert connector.inspect(route).home is Home.SPLIT


def test_a_login_that_does_not_see_the_counts_moves_nothing(
    connector: SqlserverConnector, lab: Lab, parts: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be read is never taken for equal: neither by the storage's count nor by what was noted."""
    held, route = rows(parts), route_of(connector)

    def deny() -> None:
        monkeypatch.setattr(COPIER, "hidden", frozenset(made(lab)))

    error = moved_with(connector, lab, route, deny)
    assert "as many rows in the copy" in str(error)
    assert (rows(parts), homes(lab, parts)) == (held, BEFORE)


def test_replaced_rows_are_kept_for_as_long_as_was_asked(keeping: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """Counted first; then the move is placed, the rows take their room and are dropped when their time has come."""
    held, route = rows(parts), route_of(keeping)
    assert route.stays_bytes == route.bundle.size_bytes
    assert carry_out(keeping, route) is None
    found = keeping.inspect(route)
    assert (found.home, found.finished) == (Home.TARGET, True)
    assert "kept until 2026-01-09" in found.sentence
    assert (found.remnants[0].space, found.remnants[0].size_bytes) == (SLOW, 400 * 8192 + 50 * 8192)
    assert "until when" in keeping.blockers(route, tidying=True)[0].sentence
    assert "is kept until a later time" in str(carry_out(keeping, replace(route, steps=found.leftovers)))
    assert (rows(parts), len(made(lab))) == (held, 2)
    lab.instance.later = timedelta(days=8)
    assert keeping.blockers(route, tidying=True) == ()
    assert tidied(keeping, route).leftovers == ()
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, AFTER, [])


def test_kept_rows_take_their_place_again(keeping: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """The undo of a move whose original is kept copies nothing."""
    held, route = rows(parts), route_of(keeping)
    assert carry_out(keeping, route) is None
    there = replace(route.bundle, space=FAST)
    (back,) = keeping.routes_back(route, there)
    assert (back.name, back.to_space) == ("SWITCH of the kept rows", SLOW)
    assert not any("INSERT" in step.sql for step in back.steps)
    assert carry_out(keeping, back) is None
    assert (rows(parts), homes(lab, parts), made(lab)) == (held, BEFORE, [])
    assert keeping.inspect(back).home is Home.TARGET
    assert (lab.instance.rows_moved, keeping.routes_back(route, there)) == (0, ())


def test_the_way_back_of_a_group_does_not_meet_kept_rows(keeping: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """Its own tables have other names, and the kept rows go when their time has come."""
    held, route = rows(parts), route_of(keeping)
    assert carry_out(keeping, route) is None
    back = replace(
        route, bundle=replace(route.bundle, space=FAST), to_space=SLOW, steps=route.undo_steps, undo_steps=route.steps
    )
    assert carry_out(keeping, back) is None
    assert keeping.inspect(back).home is Home.TARGET
    assert (rows(parts), homes(lab, parts), len(made(lab))) == (held, BEFORE, 2)
    assert keeping.inspect(route).leftovers, "the way there is looked at again, and its rows go in time"


@pytest.mark.parametrize("statement", ["NOT IN (0, COALESCE", "DATEADD"])
def test_a_session_that_ends_before_the_count(
    keeping: SqlserverConnector, lab: Lab, parts: Table, statement: str
) -> None:
    """The move is not placed until the rows are counted, which the next look makes up for."""
    held, route = rows(parts), route_of(keeping)
    interrupted(keeping, lab, route, statement)
    assert keeping.inspect(route).home is Home.SPLIT
    found = tidied(keeping, route)
    assert (found.home, found.finished, rows(parts)) == (Home.TARGET, True, held)


def test_an_older_approval_drops_nothing_uncounted(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """A DROP that counts nothing, as versions before had it, is not named as long as its table has rows."""
    route = route_of(connector)
    interrupted(connector, lab, route, "DROP TABLE")
    plain = tuple(
        replace(step, operation=Operation(operation_of(step).name, {"table": operation_of(step).text("table")}))
        for step in route.tidy_steps
    )
    assert connector.inspect(replace(route, tidy_steps=plain)).leftovers == ()


def test_tables_of_a_move_are_no_units_to_move(keeping: SqlserverConnector, parts: Table) -> None:
    """A plan must not take kept rows elsewhere."""
    assert carry_out(keeping, route_of(keeping)) is None
    catalog = keeping.catalog()
    unit = next(key for key in catalog.units.key if "_old]" in key)
    wanted = replace(part(1, SLOW), key=unit, unit_keys=(unit,))
    found = keeping.routes(wanted, FAST)
    assert isinstance(found, NoRoute)
    assert found.code == "made_by_move"


def test_a_range_whose_rows_are_hidden_is_not_empty(connector: SqlserverConnector, lab: Lab, parts: Table) -> None:
    """The look for rows goes through the policy; the storage's count does not."""
    for found in parts.indexes.values():
        found.partitions[1].rows = 0
    route = route_of(connector)
    with connector.open_mover() as mover:
        mover.prepare(route)
        hide(parts, rows=5)
        parts.base.partitions[1].rows = 5
        with pytest.raises(ConnectorError, match="not empty any more"):
            mover.execute(route.steps[0])
    assert homes(lab, parts) == BEFORE
