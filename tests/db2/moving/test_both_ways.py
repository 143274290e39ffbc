"""Single tables and whole table spaces between storage groups: where tables land, and what moves with what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.db2.inspection import home_among, would_go_astray, would_move_back
from connectors.db2.names import parts_of, whole_name, whole_of
from connectors.db2.storage import ServerStorage, TableSpace
from connectors.db2.table_move import landing_in, table_route, with_landing
from connectors.model.moves import Bundle, NoRoute, Route, UnitKind
from connectors.model.observation import Home
from tests.db2.facts import FAST, FAST_SPACE, SETTINGS, SLOW, SPACE, STORAGE, TABLE, space, table

BOTH = Bundle(
    key="APP.ORDERS", physical_ids=(1, 2), unit_keys=("APP.ORDERS", "index APP.ORDERS_PK"), kind=UnitKind.TABLE,
    size_bytes=400_000, space="SLOW",
)  # fmt: skip
INDEX_SPACE = replace(SPACE, number=6, name="TS_INDEX")


def storage(*spaces: TableSpace) -> ServerStorage:
    """Two groups and these table spaces."""
    return ServerStorage({at: replace(each, number=at) for at, each in enumerate(spaces)}, {"SLOW": SLOW, "FAST": FAST})


def route(bundle: Bundle = BOTH, **changes: object) -> Route:
    """Of a bundle to FAST, where it lands in TS_FAST."""
    found = with_landing(
        table_route(table(**changes), bundle, SPACE, FAST_SPACE, SETTINGS), "FAST", FAST_SPACE, ["TS_SLOW"] * 2
    )
    assert isinstance(found, Route), found
    return found


def test_a_table_and_its_indexes_go_with_one_call() -> None:
    """INIT names the landing for all three; told as a way from group to group, it says what it joins and leaves."""
    found = route()
    assert "'ORDERS','TS_FAST','TS_FAST','TS_FAST'" in found.steps[0].sql
    assert (found.to_space, found.joins, found.combines) == ("FAST", "table space TS_FAST", True)
    assert found.leaves == ("table space TS_SLOW",) * 2
    assert not any("index" in note and "room once more" in note for note in found.notes)


def test_it_goes_back_to_where_each_part_was() -> None:
    """Data and indexes came from two table spaces, and return to those."""
    back = replace(BOTH, homes=(whole_name("TS_SLOW"), whole_name("TS_INDEX")))
    found = table_route(table(space="TS_FAST", index_space="TS_FAST"), back, FAST_SPACE, SPACE, SETTINGS)
    assert isinstance(found, Route)
    assert "'ORDERS','TS_SLOW','TS_INDEX','TS_SLOW'" in found.steps[0].sql


def test_lobs_of_another_table_space_stay_or_go_alone() -> None:
    """A LOB object that lives elsewhere is a bundle of its own."""
    only_table = replace(BOTH, physical_ids=(1,), unit_keys=("APP.ORDERS",))
    parted = {"lobs": True, "lob_space": "TS_LOB"}
    assert "'ORDERS','TS_FAST','TS_SLOW','TS_LOB'" in route(only_table, **parted).steps[0].sql
    lobs = replace(only_table, key="APP.ORDERS lob", unit_keys=("APP.ORDERS lob",))
    assert "'ORDERS','TS_SLOW','TS_SLOW','TS_FAST'" in route(lobs, **parted).steps[0].sql


@pytest.mark.parametrize(
    ("spaces", "expected"),
    [
        ((SPACE, FAST_SPACE), "TS_FAST"),
        ((replace(FAST_SPACE, name="A", state="BACKUP_PENDING"), FAST_SPACE), "TS_FAST"),
        ((replace(FAST_SPACE, name="B"), replace(FAST_SPACE, name="A", page_bytes=8192)), "B"),
        ((replace(FAST_SPACE, name="A", permanent=False), replace(FAST_SPACE, name="SYSTOOLSPACE")), None),
        ((replace(FAST_SPACE, name="A", mode="FWD_REBAL"),), None),
        ((SPACE,), None),
    ],
)
def test_where_a_single_table_lands(spaces: tuple[TableSpace, ...], expected: str | None) -> None:
    """The first by name of the group that is fit and has pages of the same size, or none."""
    found = landing_in(storage(*spaces), "FAST", SPACE, SETTINGS)
    assert (found.code if isinstance(found, NoRoute) else found.name) == (expected or "no_landing")


def test_the_configuration_names_where_it_lands() -> None:
    """And is told when that is somewhere else."""
    chosen = SETTINGS.model_copy(update={"landing": {"FAST": "Z"}})
    there = storage(FAST_SPACE, replace(FAST_SPACE, name="Z"))
    found = landing_in(there, "FAST", SPACE, chosen)
    assert isinstance(found, TableSpace)
    assert found.name == "Z"
    gone = landing_in(storage(FAST_SPACE, replace(SPACE, name="Z")), "FAST", SPACE, chosen)
    assert isinstance(gone, NoRoute)
    assert gone.sentence == "landing: names Z, but not all of them are in FAST now"


def test_whoever_goes_back_lands_where_it_was() -> None:
    """Not in the first by name; and nowhere when that has moved meanwhile."""
    there = storage(replace(SPACE, name="A"), SPACE, FAST_SPACE)
    found = landing_in(there, "SLOW", FAST_SPACE, SETTINGS, ["TS_SLOW"])
    assert isinstance(found, TableSpace)
    assert found.name == "TS_SLOW"
    assert isinstance(landing_in(there, "SLOW", FAST_SPACE, SETTINGS, ["TS_FAST"]), NoRoute)


def test_homes_are_told_by_group() -> None:
    """A table of two table spaces of one group is in that group."""
    found, both = route(), storage(SPACE, INDEX_SPACE, FAST_SPACE)
    assert home_among(("TS_INDEX", "TS_SLOW"), found, both) is Home.SOURCE
    assert home_among(("TS_FAST",), found, both) is Home.TARGET
    assert home_among(("TS_FAST", "TS_SLOW"), found, both) is Home.SPLIT


def test_a_landing_that_has_moved_takes_nobody() -> None:
    """Its table space is in another group now: the route has to be made again."""
    assert would_go_astray(STORAGE, route()) == ""
    moved = storage(SPACE, space(name="TS_FAST", group="SLOW"))
    assert would_go_astray(moved, route()) == "table space TS_FAST is no longer in FAST: plan again"


def test_what_else_a_statement_would_move() -> None:
    """Only parts that do not go are looked at: LOBs that have moved since would be brought back."""
    assert would_move_back(TABLE, parts_of(BOTH), route()) == ""
    only_index = replace(BOTH, key="index APP.ORDERS_PK", physical_ids=(2,), unit_keys=("index APP.ORDERS_PK",))
    stale = would_move_back(table(space="TS_FAST"), parts_of(only_index), route(only_index))
    assert "bring the table back to TS_SLOW" in stale
    parted = route(BOTH, lobs=True, lob_space="TS_LOB")
    assert "its LOBs moved to TS_FAST" in would_move_back(table(lobs=True, lob_space="TS_FAST"), parts_of(BOTH), parted)


@pytest.mark.parametrize("name", ["TS_DATA", "my space", 'a"b'])
def test_names_of_wholes_come_back(name: str) -> None:
    """Quoted where a person would have to quote them."""
    assert whole_of(whole_name(name)) == name
